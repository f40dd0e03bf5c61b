#include "mg/multigrid.h"

#include <math.h>

/* Relative differences that count as rounding, of A in fp64 and of cycles in fp64 and fp32. */
static const double ROUNDING = 1e-9;
static const double ROUNDING_FP32 = 1e-3;

/* Two random vectors, the image of one of them, and scalars. */
typedef struct trial {
    cmg_context *ctx;
    cmg_size n;
    cmg_precision precision;
    void *u[2];
    void *image;
    double *scalars;
} trial;

static cmg_status begin(trial *t)
{
    const size_t size = cmgi_precision_bytes(t->precision);
    CMGI_TRY(cmgi_alloc_device(t->ctx, 4, sizeof *t->scalars, &t->scalars));
    CMGI_TRY(cmgi_alloc_device(t->ctx, t->n, size, &t->image));
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_alloc_device(t->ctx, t->n, size, &t->u[k]));
        CMGI_TRY(t->ctx->backend->random(t->ctx, t->precision, t->n, (uint64_t)k + 1, 0, t->u[k]));
    }
    return CMG_OK;
}

/* The image of u[k] times the other one, and the squares that its size is made of. */
static cmg_status note(const trial *t, int k)
{
    const cmgi_backend *on = t->ctx->backend;
    const void *squared = k == 0 ? t->image : t->u[1];
    CMGI_TRY(on->dot(t->ctx, t->precision, t->n, 1, t->image, t->u[1 - k], t->scalars + k));
    return on->dot(t->ctx, t->precision, t->n, 1, squared, squared, t->scalars + 2 + k);
}

/* |(image0, u1) - (u0, image1)| over what a matrix without any symmetry would show. */
static cmg_status compare(const trial *t, double *difference)
{
    double s[4];
    CMGI_TRY(cmgi_to_host(t->ctx, s, t->scalars, sizeof s));
    double n = (double)t->n;
    CMGI_TRY(cmgi_all_sum(t->ctx, &n, 1));
    const double size = sqrt(s[2] * s[3] / fmax(n, 1));
    *difference = size > 0 ? fabs(s[0] - s[1]) / size : 0;
    return CMG_OK;
}

/* A on vectors whose entries in Dirichlet rows have been solved away. */
static cmg_status try_matrix(trial *t, const cmgi_levels *levels, double *difference)
{
    const cmgi_writeback apply = {.kind = CMGI_WB_APPLY, .y = t->image};
    for (int k = 0; levels->boundary != NULL && k < 2; ++k) {
        const cmgi_writeback clean = {
            .kind = CMGI_WB_AXPBY, .alpha = -1, .beta = 1, .c = t->u[k], .y = t->u[k]};
        CMGI_TRY(cmgi_matrix_spmv(levels->A, &apply, t->u[k]));
        CMGI_TRY(cmgi_matrix_spmv(levels->boundary, &clean, t->image));
    }
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_matrix_spmv(levels->A, &apply, t->u[k]));
        CMGI_TRY(note(t, k));
    }
    return compare(t, difference);
}

static cmg_status try_cycle(trial *t, cmgi_cycle *cycle, double *difference)
{
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_cycle_run(cycle, t->u[k], t->image));
        CMGI_TRY(note(t, k));
    }
    return compare(t, difference);
}

bool cmgi_symmetric_by_design(const cmgi_multigrid *mg, int total)
{
    const cmg_solver_options *o = &mg->options;
    bool symmetric = mg->levels.symmetric_inverse && (mg->levels.boundary == NULL || total == 1) &&
                     mg->divided == NULL && o->pre == o->post &&
                     (o->cycle == CMG_CYCLE_V || o->cycle == CMG_CYCLE_W) &&
                     o->matrix.values == CMG_VALUES_FULL &&
                     cmgi_schedule_least(&mg->schedule) == CMG_VALUES_FULL;
    for (int l = 0; l + 1 < total && symmetric; ++l) {
        symmetric = mg->levels.level[l].smoother.symmetric &&
                    !cmgi_hierarchy_has(cmgi_multigrid_hierarchy(mg), l, CMG_ROLE_R);
    }
    return symmetric;
}

cmg_status cmgi_symmetry_look(cmg_context *ctx, const cmgi_levels *levels, cmgi_cycle *cycle,
                              cmgi_symmetry *symmetry)
{
    const cmg_size n = levels->level[0].rows;
    const cmgi_box *box = cmgi_matrix_box(levels->A); /* an even one is its transpose */
    trial wide = {.ctx = ctx, .n = n, .precision = CMG_FP64};
    trial low = {.ctx = ctx, .n = n, .precision = cmgi_cycle_precision(cycle)};
    CMGI_FREED(ctx, &wide.u[0], &wide.u[1], &wide.image, &wide.scalars, &low.u[0], &low.u[1],
               &low.image, &low.scalars);
    double matrix = 0;
    double cycles = 0;
    *symmetry = (cmgi_symmetry){levels->symmetric, levels->symmetric};
    /* matrices in fp32 were looked at no further than to their rounding */
    if (levels->symmetric && (low.precision == CMG_FP64 || (box != NULL && box->even))) {
        return CMG_OK;
    }
    CMGI_TRY(begin(&wide));
    CMGI_TRY(try_matrix(&wide, levels, &matrix));
    if (low.precision == CMG_FP64) {
        CMGI_TRY(try_cycle(&wide, cycle, &cycles));
    } else if (!levels->symmetric) {
        CMGI_TRY(begin(&low));
        for (int k = 0; k < 2; ++k) {
            CMGI_TRY(ctx->backend->convert(ctx, wide.n, wide.precision, wide.u[k], low.precision,
                                           low.u[k]));
        }
        CMGI_TRY(try_cycle(&low, cycle, &cycles));
    }
    symmetry->matrix = !(matrix > ROUNDING);
    symmetry->cycle = !(cycles > (low.precision == CMG_FP64 ? ROUNDING : ROUNDING_FP32));
    return CMG_OK;
}
