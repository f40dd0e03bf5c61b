/* Vector kernels of the CPU backend: OpenMP over static chunks, SIMD inside. */
#include "core/blocks.h"
#include "core/each.h"
#include "core/memory.h"
#include "core/random.h"

#include <string.h>

#include "core/vector_each.inc"

/* Values, and rows of several columns, of a part of a sum. */
enum { BLOCK = 4096, ROWS = 1024 };

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

/* Room for so many partial sums; what they were is lost. */
static cmg_status reserve(cmg_context *ctx, cmg_size length)
{
    double *larger = NULL;
    if (ctx->partials_length >= length) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, length, sizeof *larger, &larger));
    cmgi_free_device(ctx, ctx->partials);
    ctx->partials = larger;
    ctx->partials_length = length;
    return CMG_OK;
}

/* The sums of k columns, of partial sums of each. */
static void sum_partials(const double *partials, cmg_size parts, int k, double *result)
{
    for (int c = 0; c < k; ++c) {
        result[c] = 0;
    }
    for (cmg_size part = 0; part < parts; ++part) {
        for (int c = 0; c < k; ++c) {
            result[c] += partials[part * k + c];
        }
    }
}

/* What a block of a vector adds to a sum. */
typedef double (*block_fn)(const void *of, double a, cmg_size first, cmg_size last);

/* Blocks [from, to). */
static void sum_part(double *partials, cmg_size n, block_fn block, const void *of, double a,
                     cmg_size from, cmg_size to)
{
    for (cmg_size k = from; k < to; ++k) {
        partials[k] = block(of, a, k * BLOCK, cmgi_block_end(k, n, BLOCK));
    }
}

static cmg_status sum_blocks(cmg_context *ctx, cmg_size n, block_fn block, const void *of, double a,
                             double *result)
{
    const cmg_size blocks = cmgi_block_count(n, BLOCK);
    const int parts = cmgi_part_count(ctx->threads, n);
    CMGI_TRY(reserve(ctx, blocks));
    CMGI_PARTS(
        parts, p,
        sum_part(ctx->partials, n, block, of, a, blocks * p / parts, blocks * (p + 1) / parts));
    sum_partials(ctx->partials, blocks, 1, result);
    return CMG_OK;
}

static cmg_status fill(cmg_context *ctx, cmg_precision p, cmg_size n, double value, void *x)
{
    IN(p, fill)(ctx->threads, n, value, x);
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

static cmg_status dot(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                      const void *y, double *result)
{
    const cmg_size parts = cmgi_block_count(n, ROWS);
    if (k == 1) {
        return sum_blocks(ctx, n, IN(p, dot_block), (const void *[]){x, y}, 0, result);
    }
    CMGI_TRY(reserve(ctx, parts * k));
    IN(p, dot_columns)(ctx->threads, n, k, x, y, ctx->partials);
    sum_partials(ctx->partials, parts, k, result);
    return CMG_OK;
}

static cmg_status sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    (void)ctx;
    sum_partials(x, n, 1, result);
    return CMG_OK;
}

static cmg_status direction(cmg_context *ctx, cmg_size n, int k, const cmgi_direction *d)
{
    double beta[CMG_COLUMNS];
    for (int c = 0; c < k; ++c) {
        beta[c] = d->den[c] != 0 ? d->num[c] / d->den[c] : 0;
    }
    if (k > 1) {
        IN(d->pz, direction_columns)(ctx->threads, n, k, beta, d->z, d->p);
    } else if (*beta == 0) {
        return convert(ctx, n, d->pz, d->z, d->pp, d->p);
    } else if (d->pp == CMG_FP32 || d->pz == CMG_FP64) {
        IN(d->pp, direction)(ctx->threads, n, *beta, d->z, d->p);
    } else {
        const float *restrict from = d->z;
        double *restrict to = d->p;
#pragma omp parallel for simd num_threads(ctx->threads) schedule(static) if (n > CMGI_PARALLEL_FROM)
        for (cmg_size i = 0; i < n; ++i) {
            to[i] = (double)from[i] + *beta * to[i];
        }
    }
    return CMG_OK;
}

static cmg_status add_ratio(cmg_context *ctx, cmg_precision p, cmg_size n, double a,
                            const double *num, const double *den, const void *x, void *y)
{
    return axpby(ctx, p, n, *den != 0 ? a * (*num / *den) : 0, x, 1, y);
}

static cmg_status jacobi_step(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s)
{
    CMGI_TRY(dot(ctx, s->precision, n, 1, s->p, s->q, s->curvature));
    const double scale = *s->curvature != 0 ? -(s->rho[0] / *s->curvature) : 0;
    CMGI_TRY(sum_blocks(ctx, n, IN(s->precision, jacobi_block), s, scale, s->rho + 1));
    const cmgi_direction p = cmgi_jacobi_direction(s);
    return direction(ctx, n, 1, &p);
}

/* The update of one column: blocks are summed where x and r change, and r . r where they rest. */
static cmg_status update_one(cmg_context *ctx, cmg_size n, const cmgi_cg_update *u)
{
    const double a = cmgi_cg_length(u, 0);
    if (a == 0) {
        CMGI_TRY(u->kind != CMGI_CG_STEP && u->single != NULL
                     ? convert(ctx, n, u->precision, u->r, CMG_FP32, u->single)
                     : CMG_OK);
        CMGI_TRY(u->copy != NULL ? convert(ctx, n, CMG_FP64, u->r, CMG_FP64, u->copy) : CMG_OK);
        CMGI_TRY(u->zero != NULL ? fill(ctx, CMG_FP64, n, 0.0, u->zero) : CMG_OK);
        return dot(ctx, u->precision, n, 1, u->r, u->r, u->rr);
    }
    return sum_blocks(ctx, n, IN(u->precision, update_block), u, a, u->rr);
}

/* Rows of one part, and what they add to r . r; a column that rests is not touched, whatever its p
 * and q have become. */
static void update_rows(cmg_size n, int k, const cmgi_cg_update *u, const double *a, cmg_size part,
                        double *restrict sum)
{
    memset(sum, 0, (size_t)k * sizeof *sum);
    for (cmg_size i = part * ROWS; i < cmgi_block_end(part, n, ROWS); ++i) {
        double *r = (double *)u->r + i * k;
        if (u->kind == CMGI_CG_STEP) {
            const double *p = (const double *)u->p + i * k;
            const double *q = (const double *)u->q + i * k;
            double *x = (double *)u->x + i * k;
#pragma omp simd
            for (int c = 0; c < k; ++c) {
                x[c] = a[c] != 0 ? x[c] + a[c] * p[c] : x[c];
                r[c] = a[c] != 0 ? r[c] - a[c] * q[c] : r[c];
            }
        }
#pragma omp simd
        for (int c = 0; c < k; ++c) {
            sum[c] += r[c] * r[c];
        }
        for (int c = 0; u->single != NULL && c < k; ++c) {
            u->single[i * k + c] = (float)r[c];
        }
    }
}

static cmg_status update_columns(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u)
{
    const cmg_size parts = cmgi_block_count(n, ROWS);
    double a[CMG_COLUMNS];
    CMGI_TRY(reserve(ctx, parts * k));
    for (int c = 0; c < k; ++c) {
        a[c] = cmgi_cg_length(u, c);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n * k > CMGI_PARALLEL_FROM)
    for (cmg_size part = 0; part < parts; ++part) {
        update_rows(n, k, u, a, part, ctx->partials + part * k);
    }
    sum_partials(ctx->partials, parts, k, u->rr);
    return CMG_OK;
}

static cmg_status cg_update(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u)
{
    CMGI_TRY(k == 1 ? update_one(ctx, n, u) : update_columns(ctx, n, k, u));
    for (int c = 0; c < k; ++c) {
        cmgi_cg_note(u, c);
    }
    return CMG_OK;
}

static cmg_status semi_update(cmg_context *ctx, cmg_size n, int k, const cmgi_semi_update *u)
{
    if (k > 1) {
        IN(u->precision, semi_columns)(ctx->threads, n, k, u);
    } else if (u->stop->running) {
        IN(u->precision, semi)(ctx->threads, n, u);
    }
    return CMG_OK;
}

static cmg_status test(cmg_context *ctx, int k, const cmgi_test *t)
{
    (void)ctx;
    for (int c = 0; c < k; ++c) {
        cmgi_test_column(t, c);
    }
    return CMG_OK;
}

cmg_status cmgi_draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, cmg_size first,
                     void *x)
{
    return draw_each(ctx, (cmgi_place)cmgi_column(ctx), n, &(drawing){p, seed, (uint64_t)first, x});
}

cmg_status cmgi_copy_block(cmg_context *ctx, const cmgi_block_copy *b)
{
    return copy_each(ctx, (cmgi_place)cmgi_column(ctx), b->rows * b->columns, b);
}

const cmgi_backend cmgi_backend_cpu = {
    .name = "cpu",
    .collapse_rows = 32,
    .coarsen_rows = 400,
    .memory = "host",
    .few_columns = 2,
    .memory_free = cmgi_host_memory_free,
    .fill = fill,
    .random = cmgi_draw,
    .convert = convert,
    .axpby = axpby,
    .dot = dot,
    .sum = sum,
    .direction = direction,
    .add_ratio = add_ratio,
    .jacobi_step = jacobi_step,
    .cg_update = cg_update,
    .semi_update = semi_update,
    .test = test,
    .copy_block = cmgi_copy_block,
};
