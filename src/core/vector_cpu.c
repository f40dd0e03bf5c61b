/* Vector kernels of the CPU backend: OpenMP over static chunks, SIMD inside. */
#include "core/columns.h"
#include "core/memory.h"
#include "core/random.h"

#include <string.h>

/* Shorter loops run on one thread: starting a team costs about as much as this many values. */
enum { PARALLEL_FROM = 16384 };
/* Reductions are summed block by block of this many values, whatever the number of threads. */
enum { BLOCK = 4096 };

static cmg_size block_count(cmg_size n)
{
    return (n + BLOCK - 1) / BLOCK;
}

static cmg_size block_end(cmg_size k, cmg_size n)
{
    return (k + 1) * BLOCK < n ? (k + 1) * BLOCK : n;
}

#define T double
#define NAME(f) f##_f64
#include "core/vector_cpu.inc"
#undef T
#undef NAME
#define T float
#define NAME(f) f##_f32
#include "core/vector_cpu.inc"
#undef T
#undef NAME

static cmg_status reserve_partials(cmg_context *ctx, cmg_size blocks)
{
    if (ctx->partials_length >= blocks) {
        return CMG_OK;
    }
    double *larger = NULL;
    CMGI_TRY(cmgi_alloc(ctx, blocks, sizeof(double), &larger));
    cmgi_free(ctx, ctx->partials);
    ctx->partials = larger;
    ctx->partials_length = blocks;
    return CMG_OK;
}

static double sum_partials(const double *partials, cmg_size blocks)
{
    double sum = 0;
    for (cmg_size k = 0; k < blocks; ++k) {
        sum += partials[k];
    }
    return sum;
}

static cmg_status fill(cmg_context *ctx, cmg_precision p, cmg_size n, double value, void *x)
{
    if (p == CMG_FP64) {
        fill_f64(ctx->threads, n, value, x);
    } else {
        fill_f32(ctx->threads, n, (float)value, x);
    }
    return CMG_OK;
}

static cmg_status draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, void *x)
{
    if (p == CMG_FP64) {
        random_f64(ctx->threads, n, seed, x);
    } else {
        random_f32(ctx->threads, n, seed, x);
    }
    return CMG_OK;
}

static cmg_status convert(cmg_context *ctx, cmg_size n, cmg_precision px, const void *x,
                          cmg_precision py, void *y)
{
    if (px == py && px == CMG_FP64) {
        axpby_f64(ctx->threads, n, 1, x, 0, y);
    } else if (px == py) {
        axpby_f32(ctx->threads, n, 1, x, 0, y);
    } else if (px == CMG_FP64) {
        const double *restrict from = x;
        float *restrict to = y;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (float)from[i];
        }
    } else {
        const float *restrict from = x;
        double *restrict to = y;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (double)from[i];
        }
    }
    return CMG_OK;
}

static cmg_status axpby(cmg_context *ctx, cmg_precision p, cmg_size n, double a, const void *x,
                        double b, void *y)
{
    if (p == CMG_FP64) {
        axpby_f64(ctx->threads, n, a, x, b, y);
    } else {
        axpby_f32(ctx->threads, n, (float)a, x, (float)b, y);
    }
    return CMG_OK;
}

static cmg_status dot(cmg_context *ctx, cmg_precision p, cmg_size n, const void *x, const void *y,
                      double *result)
{
    CMGI_TRY(reserve_partials(ctx, block_count(n)));
    if (p == CMG_FP64) {
        dot_f64(ctx->threads, n, x, y, ctx->partials);
    } else {
        dot_f32(ctx->threads, n, x, y, ctx->partials);
    }
    *result = sum_partials(ctx->partials, block_count(n));
    return CMG_OK;
}

static cmg_status sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    (void)ctx;
    *result = sum_partials(x, n);
    return CMG_OK;
}

static cmg_status direction(cmg_context *ctx, cmg_size n, const double *num, const double *den,
                            cmg_precision pz, const void *z, cmg_precision pp, void *p)
{
    const double beta = *den != 0 ? *num / *den : 0;
    if (pp == CMG_FP32) {
        direction_f32(ctx->threads, n, (float)beta, z, p);
    } else if (pz == CMG_FP64) {
        direction_f64(ctx->threads, n, beta, z, p);
    } else {
        const float *restrict from = z;
        double *restrict to = p;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (double)from[i] + beta * to[i];
        }
    }
    return CMG_OK;
}

static cmg_status add_ratio(cmg_context *ctx, cmg_size n, double a, const double *num,
                            const double *den, const double *x, double *y)
{
    axpby_f64(ctx->threads, n, *den != 0 ? a * (*num / *den) : 0, x, 1, y);
    return CMG_OK;
}

static cmg_status cg_update(cmg_context *ctx, cmg_size n, const cmgi_cg_update *u)
{
    const cmg_size blocks = block_count(n);
    if (!(*u->pq > 0) || !(*u->rz >= 0) || (u->stop != NULL && !u->stop->running)) {
        CMGI_TRY(dot(ctx, u->precision, n, u->r, u->r, u->rr));
        cmgi_cg_note(u);
        return CMG_OK;
    }
    CMGI_TRY(reserve_partials(ctx, blocks));
    const bool low = u->precision == CMG_FP32;
    const double a = *u->rz / *u->pq;
    double *partials = ctx->partials;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > PARALLEL_FROM)
    for (cmg_size k = 0; k < blocks; ++k) {
        partials[k] = low ? update_block_f32(u, (float)a, k * BLOCK, block_end(k, n))
                          : update_block_f64(u, a, k * BLOCK, block_end(k, n));
    }
    *u->rr = sum_partials(partials, blocks);
    cmgi_cg_note(u);
    return CMG_OK;
}

static cmg_status cg_note(cmg_context *ctx, const cmgi_cg_update *u)
{
    (void)ctx;
    cmgi_cg_note(u);
    return CMG_OK;
}

static cmg_status stop_begin(cmg_context *ctx, cmgi_stop *stop, const cmgi_limits *limits,
                             const double *bb, const double *rr)
{
    (void)ctx;
    cmgi_stop_begin(stop, limits, *bb, *rr);
    return CMG_OK;
}

static cmg_status stop_exact(cmg_context *ctx, cmgi_stop *stop, const double *rr)
{
    (void)ctx;
    stop->exact = sqrt(*rr);
    return CMG_OK;
}

static cmg_status stop_note(cmg_context *ctx, cmgi_stop *stop, const double *rr)
{
    (void)ctx;
    cmgi_stop_note(stop, 1, 1, *rr);
    return CMG_OK;
}

static cmg_status permute(cmg_context *ctx, cmg_precision p, cmg_size n, const cmg_index *perm,
                          bool scatter, const void *x, void *y)
{
    if (p == CMG_FP64) {
        permute_f64(ctx->threads, n, perm, scatter, x, y);
    } else {
        permute_f32(ctx->threads, n, perm, scatter, x, y);
    }
    return CMG_OK;
}

static cmg_status scatter(cmg_context *ctx, cmg_precision p, cmg_size n, const double *x,
                          const cmg_size *map, void *y)
{
    if (p == CMG_FP64) {
        scatter_f64(ctx->threads, n, x, map, y);
    } else {
        scatter_f32(ctx->threads, n, x, map, y);
    }
    return CMG_OK;
}

const cmgi_backend cmgi_backend_cpu = {
    .name = "cpu",
    .collapse_rows = 32,
    .coarsen_rows = 400,
    .memory = "host",
    .memory_free = cmgi_host_memory_free,
    .fill = fill,
    .random = draw,
    .convert = convert,
    .axpby = axpby,
    .dot = dot,
    .sum = sum,
    .direction = direction,
    .add_ratio = add_ratio,
    .cg_update = cg_update,
    .cg_note = cg_note,
    .stop_begin = stop_begin,
    .stop_exact = stop_exact,
    .stop_note = stop_note,
    .permute = permute,
    .scatter = scatter,
    .column_move = cmgi_column_move_cpu,
    .column_dots = cmgi_column_dots_cpu,
    .column_directions = cmgi_column_directions_cpu,
    .column_updates = cmgi_column_updates_cpu,
};
