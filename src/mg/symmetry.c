#include "mg/multigrid.h"

#include "smoothers/lanczos.h"

#include <math.h>

/* Relative differences that count as rounding, of A in fp64 and of cycles in fp64 and fp32. */
static const double ROUNDING = 1e-9;
static const double ROUNDING_FP32 = 1e-3;

/* The two random vectors of a trial; z is the image of one of them. */
static void *vector(const cmgi_pencil *P, int k)
{
    return k == 0 ? P->r : P->p;
}

static cmg_status begin(cmgi_pencil *P)
{
    CMGI_TRY(cmgi_pencil_open(P, 3));
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(
            P->ctx->backend->random(P->ctx, P->precision, P->n, (uint64_t)k + 1, 0, vector(P, k)));
    }
    return CMG_OK;
}

/* The image of vector k times the other one, and the squares that its size is made of. */
static cmg_status note(const cmgi_pencil *P, int k)
{
    const void *squared = k == 0 ? P->z : P->p;
    CMGI_TRY(cmgi_pencil_dot(P, P->z, vector(P, 1 - k), k));
    return cmgi_pencil_dot(P, squared, squared, 2 + k);
}

/* |(image0, u1) - (u0, image1)| over what a matrix without any symmetry would show. */
static cmg_status compare(const cmgi_pencil *P, double *difference)
{
    double s[4];
    CMGI_TRY(cmgi_to_host(P->ctx, s, P->scalar, sizeof s));
    double n = (double)P->n;
    CMGI_TRY(cmgi_all_sum(P->ctx, &n, 1));
    const double size = sqrt(s[2] * s[3] / fmax(n, 1));
    *difference = size > 0 ? fabs(s[0] - s[1]) / size : 0;
    return CMG_OK;
}

static cmg_status try_cycle(const cmgi_pencil *P, cmgi_cycle *cycle, double *difference)
{
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_cycle_run(cycle, vector(P, k), P->z));
        CMGI_TRY(note(P, k));
    }
    return compare(P, difference);
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
    cmgi_pencil wide = {.ctx = ctx, .n = n, .precision = CMG_FP64};
    cmgi_pencil low = {.ctx = ctx, .n = n, .precision = cmgi_cycle_precision(cycle)};
    CMGI_RELEASED(cmgi_pencil_close, ctx, &wide, &low);
    double matrix = 0;
    double cycles = 0;
    *symmetry = (cmgi_symmetry){levels->symmetric, levels->symmetric};
    /* matrices in fp32 were looked at no further than to their rounding */
    if (levels->symmetric && (low.precision == CMG_FP64 || (box != NULL && box->even))) {
        return CMG_OK;
    }
    CMGI_TRY(begin(&wide));
    for (int k = 0; levels->boundary != NULL && k < 2; ++k) { /* Dirichlet rows are solved away */
        void *u = vector(&wide, k);
        const cmgi_writeback clean = {
            .kind = CMGI_WB_AXPBY, .alpha = -1, .beta = 1, .c = u, .y = u};
        CMGI_TRY(cmgi_pencil_multiply(levels->A, u, wide.z));
        CMGI_TRY(cmgi_matrix_spmv(levels->boundary, &clean, wide.z));
    }
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_pencil_multiply(levels->A, vector(&wide, k), wide.z));
        CMGI_TRY(note(&wide, k));
    }
    CMGI_TRY(compare(&wide, &matrix));
    if (low.precision == CMG_FP64) {
        CMGI_TRY(try_cycle(&wide, cycle, &cycles));
    } else if (!levels->symmetric) {
        CMGI_TRY(begin(&low));
        for (int k = 0; k < 2; ++k) {
            CMGI_TRY(ctx->backend->convert(ctx, n, wide.precision, vector(&wide, k), low.precision,
                                           vector(&low, k)));
        }
        CMGI_TRY(try_cycle(&low, cycle, &cycles));
    }
    symmetry->matrix = !(matrix > ROUNDING);
    symmetry->cycle = !(cycles > (low.precision == CMG_FP64 ? ROUNDING : ROUNDING_FP32));
    return CMG_OK;
}
