/* Vector kernels of the CPU backend: OpenMP over static chunks, SIMD inside. */
#include "core/blocks.h"
#include "core/columns.h"
#include "core/memory.h"
#include "core/random.h"

enum { BLOCK = 4096 }; /* values of a part of a sum */

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

/* A kernel in precision p. */
#define IN(p, kernel) ((p) == CMG_FP64 ? kernel##_f64 : kernel##_f32)

static cmg_status reserve_partials(cmg_context *ctx, cmg_size n)
{
    return cmgi_reserve(ctx, &ctx->partials, &ctx->partials_length, cmgi_block_count(n, BLOCK));
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
    IN(p, fill)(ctx->threads, n, value, x);
    return CMG_OK;
}

static cmg_status draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, void *x)
{
    IN(p, random)(ctx->threads, n, seed, x);
    return CMG_OK;
}

static cmg_status convert(cmg_context *ctx, cmg_size n, cmg_precision px, const void *x,
                          cmg_precision py, void *y)
{
    if (px == py) {
        IN(px, axpby)(ctx->threads, n, 1, x, 0, y);
    } else if (px == CMG_FP64) {
        const double *restrict from = x;
        float *restrict to = y;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > CMGI_PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (float)from[i];
        }
    } else {
        const float *restrict from = x;
        double *restrict to = y;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > CMGI_PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (double)from[i];
        }
    }
    return CMG_OK;
}

static cmg_status axpby(cmg_context *ctx, cmg_precision p, cmg_size n, double a, const void *x,
                        double b, void *y)
{
    IN(p, axpby)(ctx->threads, n, a, x, b, y);
    return CMG_OK;
}

static cmg_status dot(cmg_context *ctx, cmg_precision p, cmg_size n, const void *x, const void *y,
                      double *result)
{
    CMGI_TRY(reserve_partials(ctx, n));
    IN(p, dot)(ctx->threads, n, x, y, ctx->partials);
    *result = sum_partials(ctx->partials, cmgi_block_count(n, BLOCK));
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
    if (pp == CMG_FP32 || pz == CMG_FP64) {
        IN(pp, direction)(ctx->threads, n, beta, z, p);
    } else {
        const float *restrict from = z;
        double *restrict to = p;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > CMGI_PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (double)from[i] + beta * to[i];
        }
    }
    return CMG_OK;
}

static cmg_status add_ratio(cmg_context *ctx, cmg_precision p, cmg_size n, double a,
                            const double *num, const double *den, const void *x, void *y)
{
    return axpby(ctx, p, n, *den != 0 ? a * (*num / *den) : 0, x, 1, y);
}

/* Blocks [from, to). */
static void jacobi_part(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s, double scale,
                        cmg_size from, cmg_size to)
{
    for (cmg_size k = from; k < to; ++k) {
        ctx->partials[k] =
            IN(s->precision, jacobi_block)(s, scale, k * BLOCK, cmgi_block_end(k, n, BLOCK));
    }
}

static cmg_status jacobi_step(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s)
{
    const cmg_size blocks = cmgi_block_count(n, BLOCK);
    const int parts = cmgi_part_count(ctx->threads, n);
    CMGI_TRY(dot(ctx, s->precision, n, s->p, s->q, s->curvature));
    const double scale = *s->curvature != 0 ? -(s->rho[0] / *s->curvature) : 0;
    CMGI_PARTS(parts, p,
               jacobi_part(ctx, n, s, scale, blocks * p / parts, blocks * (p + 1) / parts));
    s->rho[1] = sum_partials(ctx->partials, blocks);
    return direction(ctx, n, s->rho + 1, s->rho, s->precision, s->z, s->precision, s->p);
}

/* Blocks [from, to). */
static void update_part(cmg_context *ctx, cmg_size n, const cmgi_cg_update *u, double a,
                        cmg_size from, cmg_size to)
{
    for (cmg_size k = from; k < to; ++k) {
        ctx->partials[k] =
            IN(u->precision, update_block)(u, a, k * BLOCK, cmgi_block_end(k, n, BLOCK));
    }
}

static cmg_status cg_update(cmg_context *ctx, cmg_size n, const cmgi_cg_update *u)
{
    const cmg_size blocks = cmgi_block_count(n, BLOCK);
    if (!(*u->pq > 0) || !(*u->rz >= 0) || (u->stop != NULL && !u->stop->running)) {
        CMGI_TRY(dot(ctx, u->precision, n, u->r, u->r, u->rr));
        cmgi_cg_note(u);
        return CMG_OK;
    }
    CMGI_TRY(reserve_partials(ctx, n));
    const double a = *u->rz / *u->pq;
    const int parts = cmgi_part_count(ctx->threads, n);
    CMGI_PARTS(parts, p, update_part(ctx, n, u, a, blocks * p / parts, blocks * (p + 1) / parts));
    *u->rr = sum_partials(ctx->partials, blocks);
    cmgi_cg_note(u);
    return CMG_OK;
}

static cmg_status cg_note(cmg_context *ctx, const cmgi_cg_update *u)
{
    (void)ctx;
    cmgi_cg_note(u);
    return CMG_OK;
}

static cmg_status cg_merge(cmg_context *ctx, cmgi_cg_sums *sums, cmgi_stop *stop)
{
    (void)ctx;
    cmgi_cg_merge(sums, stop);
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
    IN(p, permute)(ctx->threads, n, perm, scatter, x, y);
    return CMG_OK;
}

static cmg_status scatter(cmg_context *ctx, cmg_precision p, cmg_size n, const double *x,
                          const cmg_size *map, void *y)
{
    IN(p, scatter)(ctx->threads, n, x, map, y);
    return CMG_OK;
}

const cmgi_backend cmgi_backend_cpu = {
    .name = "cpu",
    .collapse_rows = 32,
    .coarsen_rows = 400,
    .memory = "host",
    .few_columns = 2,
    .memory_free = cmgi_host_memory_free,
    .fill = fill,
    .random = draw,
    .convert = convert,
    .axpby = axpby,
    .dot = dot,
    .sum = sum,
    .direction = direction,
    .add_ratio = add_ratio,
    .jacobi_step = jacobi_step,
    .cg_update = cg_update,
    .cg_note = cg_note,
    .cg_merge = cg_merge,
    .stop_begin = stop_begin,
    .stop_exact = stop_exact,
    .stop_note = stop_note,
    .permute = permute,
    .scatter = scatter,
    .column_move = cmgi_column_move_cpu,
    .column_dots = cmgi_column_dots_cpu,
    .column_directions = cmgi_column_directions_cpu,
    .column_updates = cmgi_column_updates_cpu,
    .column_units = cmgi_column_units_cpu,
    .column_images = cmgi_column_images_cpu,
};
