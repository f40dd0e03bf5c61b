/* Copy bandwidth of the backend's memory: the ceiling that every product is measured against. */
#include "core/backend.h"
#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>

/* 128 MiB an array: several times the last cache of the machines seen. */
enum { LENGTH = 1 << 24, LENGTH_CUDA = 1 << 27, SAMPLES = 5, COPIES = 2 };

static cmg_status time_copies(cmg_context *ctx, cmg_size length, const double *x, double *y,
                              int copies, double *seconds)
{
    CMGI_TRY(cmg_context_synchronize(ctx));
    const double start = cmgi_seconds();
    for (int k = 0; k < copies; ++k) {
        CMGI_TRY(ctx->backend->convert(ctx, length, CMG_FP64, x, CMG_FP64, y));
    }
    CMGI_TRY(cmg_context_synchronize(ctx));
    *seconds = (cmgi_seconds() - start) / copies;
    return CMG_OK;
}

cmg_status cmg_context_bandwidth(cmg_context *ctx, double *gb_per_second)
{
    CMGI_CONTEXT(ctx);
    CMGI_NOT_NULL(gb_per_second);
    const cmg_size length = cmgi_on_cuda(ctx) ? LENGTH_CUDA : LENGTH;
    if (ctx->bandwidth == 0) {
        double samples[SAMPLES];
        double warm_up = 0;
        CMGI_SCOPED_DEVICE(ctx, length, double, x);
        CMGI_SCOPED_DEVICE(ctx, length, double, y);
        CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, length, 1.25, x));
        CMGI_TRY(time_copies(ctx, length, x, y, 1, &warm_up));
        for (int s = 0; s < SAMPLES; ++s) {
            CMGI_TRY(time_copies(ctx, length, x, y, COPIES, &samples[s]));
        }
        qsort(samples, SAMPLES, sizeof samples[0], cmgi_ascending_double);
        ctx->bandwidth = 2.0 * (double)length * sizeof(double) / samples[SAMPLES / 2] * 1e-9;
    }
    *gb_per_second = ctx->bandwidth;
    return CMG_OK;
}
