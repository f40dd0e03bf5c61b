/* How near M A is to 1: the mean of |g - scale M A g|^2 over vectors g of random signs. */
#include "smoothers/quality.h"

#include "core/random.h"
#include "smoothers/pattern.h"

#include <math.h>

enum { SAMPLES = 8 };

/* |g - scale M A g|^2; x and y are work vectors. */
static double sample(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *factor, int factors,
                     double scale, const double *g, double *x, double *y)
{
    double sum = 0;
    cmgi_csr_apply(ctx, A, g, x);
    for (int f = 0; f < factors; ++f) {
        cmgi_csr_apply(ctx, &factor[f].view, x, y);
        double *const swap = x;
        x = y;
        y = swap;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double r = g[i] - scale * x[i];
        sum += r * r;
    }
    return sum;
}

cmg_status cmgi_quality(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *factor, int factors,
                        double scale, double *quality)
{
    cmgi_scoped_csr decoupled = {0};
    bool symmetric = false;
    cmgi_scoped double *work = NULL;
    double sum = 0;
    uint64_t seed = 1990;
    const cmg_size n = A->rows;
    CMGI_TRY(cmgi_decouple(ctx, A, false, &decoupled, &symmetric));
    CMGI_TRY(cmgi_alloc(ctx, 3 * n, sizeof *work, &work));
    for (int s = 0; s < SAMPLES; ++s) {
        for (cmg_size i = 0; i < n; ++i) {
            work[i] = cmgi_random(&seed) < 0.5 ? -1 : 1;
        }
        sum += sample(ctx, symmetric ? &decoupled.view : A, factor, factors, scale, work, work + n,
                      work + 2 * n);
    }
    *quality = n > 0 ? sqrt(sum / SAMPLES / (double)n) : 0;
    return CMG_OK;
}
