/* CG for callers with operators of their own: arrays are wrapped as vectors at the border. */
#include "core/ranks.h"
#include "core/report.h"
#include "core/vector.h"
#include "krylov/krylov.h"
#include "mg/busy.h"
#include "mg/options.h"
#include "spmv/matrix.h"

struct cmg_cg_solver {
    cmg_context *ctx;
    atomic_flag busy; /* while it works */
    cmg_operator A;
    cmg_operator C;           /* apply NULL = none */
    const cmg_matrix *matrix; /* in fp64, with which A does nothing but multiply, or NULL */
    cmgi_krylov *krylov;
};

static cmg_status apply_operator(cmg_context *ctx, const cmg_operator *op, const double *x,
                                 double *y)
{
    const struct cmg_vector in = {.ctx = ctx,
                                  .n = op->cols,
                                  .columns = 1,
                                  .precision = CMG_FP64,
                                  .data = (void *)(uintptr_t)x};
    struct cmg_vector out = {
        .ctx = ctx, .n = op->rows, .columns = 1, .precision = CMG_FP64, .data = y};
    ctx->message[0] = '\0';
    const cmg_status status = op->apply(op->user, &in, &out);
    CMGI_CHECK(ctx, status >= CMG_OK && status <= CMG_ERR_INTERNAL, CMG_ERR_ARG,
               "cg: an operator returned the status %d, which does not exist", (int)status);
    return status == CMG_OK || ctx->message[0] != '\0'
               ? status
               : cmgi_fail(ctx, status, "cg: an operator returned %s", cmg_status_name(status));
}

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    const cmg_cg_solver *cg = user;
    (void)left; /* *xy is always made */
    if (cg->matrix != NULL && xy != NULL) {
        return cmgi_matrix_apply_dot(cg->matrix, x, y, xy, NULL);
    }
    CMGI_TRY(apply_operator(cg->ctx, &cg->A, x, y));
    return xy != NULL ? cg->ctx->backend->dot(cg->ctx, p, cg->A.rows, 1, x, y, xy) : CMG_OK;
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const cmg_cg_solver *cg = user;
    cmg_context *ctx = cg->ctx;
    CMGI_TRY(apply_operator(ctx, &cg->A, x, r));
    return ctx->backend->axpby(ctx, CMG_FP64, cg->A.rows, 1.0, b, -1.0, r);
}

static cmg_status precondition(void *user, const void *r, void *z)
{
    const cmg_cg_solver *cg = user;
    return apply_operator(cg->ctx, &cg->C, r, z);
}

cmg_status cmg_cg_create(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                         const cmg_solver_options *options, cmg_cg_solver **cg)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, A != NULL && cg != NULL, CMG_ERR_ARG, "cg: A or the out-pointer is NULL");
    CMGI_CHECK(ctx, A->apply != NULL && (C == NULL || C->apply != NULL), CMG_ERR_ARG,
               "cg: operator %s has no function", A->apply == NULL ? "A" : "C");
    CMGI_CHECK(ctx, A->rows == A->cols, CMG_ERR_SHAPE, "cg: A is %lld x %lld, not square",
               (long long)A->rows, (long long)A->cols);
    CMGI_CHECK(ctx, C == NULL || (C->rows == A->rows && C->cols == A->rows), CMG_ERR_SHAPE,
               "cg: C is %lld x %lld, A has %lld rows", (long long)C->rows, (long long)C->cols,
               (long long)A->rows);
    cmg_solver_options own;
    CMGI_TRY(cmgi_group_agree(ctx, cmgi_solver_options_take(ctx, options, &own)));
    CMGI_TRY(cmgi_solver_options_agree(ctx, &own));
    CMGI_CHECK(ctx, own.krylov != CMG_KRYLOV_DEFECT, CMG_ERR_UNSUPPORTED,
               "cg: operators have one precision, defect correction needs two");
    CMGI_CHECK(ctx, own.krylov != CMG_KRYLOV_SEMI, CMG_ERR_UNSUPPORTED,
               "cg: of operators the interval of eigenvalues that krylov=semi needs is not known");
    CMGI_SCOPED_ZERO(ctx, 1, cmg_cg_solver, made);
    made->ctx = ctx;
    atomic_flag_clear(&made->busy);
    made->A = *A;
    const cmg_matrix *M = A->apply == cmg_matrix_operator(NULL).apply ? A->user : NULL;
    made->matrix = M != NULL && M->options.precision == CMG_FP64 && M->perm == NULL ? M : NULL;
    if (C != NULL) {
        made->C = *C;
    }
    const bool named = own.krylov != CMG_KRYLOV_AUTO && own.krylov != CMG_KRYLOV_NONE;
    const cmgi_iteration_options iteration =
        cmgi_solver_iteration(&own, named ? own.krylov : CMG_KRYLOV_CG);
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = A->rows,
                                       .user = made,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = C != NULL ? precondition : NULL,
                                       .recordable = own.loop == CMG_LOOP_GRAPH};
    CMGI_TRY(cmgi_krylov_create(&system, &iteration, &made->krylov));
    *cg = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmg_cg_set_limits(cmg_cg_solver *cg, double rtol, double atol, int max_it)
{
    CMGI_ALONE(cg);
    const cmgi_iteration_options *now = &cg->krylov->options;
    cmg_solver_options wanted;
    cmg_solver_options own;
    cmg_solver_options_default(&wanted);
    wanted.rtol = rtol < 0 ? now->rtol : rtol;
    wanted.atol = atol < 0 ? now->atol : atol;
    wanted.max_it = max_it == 0 ? now->max_it : max_it;
    CMGI_TRY(cmgi_solver_options_take(cg->ctx, &wanted, &own));
    cmgi_iteration_options limits = cmgi_solver_iteration(&own, now->method);
    limits.monitor = now->monitor;
    limits.monitor_user = now->monitor_user;
    return cmgi_krylov_limit(cg->krylov, &limits);
}

void cmg_cg_destroy(cmg_cg_solver **cg)
{
    if (cg != NULL && *cg != NULL) {
        cmgi_krylov_destroy(&(*cg)->krylov);
        cmgi_free((*cg)->ctx, *cg);
        *cg = NULL;
    }
}

cmg_status cmg_cg_solve(cmg_cg_solver *cg, const cmg_vector *b, cmg_vector *x, cmg_report *report)
{
    CMGI_ALONE(cg);
    cmg_context *ctx = cg->ctx;
    CMGI_CHECK(ctx, b != NULL && x != NULL, CMG_ERR_ARG, "cg: A, b or x is NULL");
    CMGI_CHECK(ctx, b->n == cg->A.rows && x->n == cg->A.rows, CMG_ERR_SHAPE,
               "cg: b has %lld and x %lld entries, A has %lld rows", (long long)b->n,
               (long long)x->n, (long long)cg->A.rows);
    CMGI_CHECK(ctx, b->columns == 1 && x->columns == 1, CMG_ERR_SHAPE,
               "cg: b has %d columns and x %d, not one", b->columns, x->columns);
    CMGI_CHECK(ctx, b->precision == CMG_FP64 && x->precision == CMG_FP64, CMG_ERR_ARG,
               "cg: b and x have to be fp64");
    CMGI_CHECK(ctx, !cmgi_vectors_overlap(b, x), CMG_ERR_ARG,
               "cg: b and x are the same vector or overlap");
    CMGI_CHECK(ctx, b->ctx == ctx && x->ctx == ctx, CMG_ERR_ARG,
               "cg: b or x belongs to another context");
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_report", report, sizeof *report));
    cmgi_krylov *k = cg->krylov;
    const double begin = cmgi_seconds();
    CMGI_TRY(cmgi_krylov_solve(k, b->data, x->data));
    const cmg_report made = {
        .outcome = k->column->outcome,
        .iterations = k->column->iterations,
        .starts = k->column->starts,
        .residual = k->column->residual,
        .rhs_norm = k->column->rhs_norm,
        .relative_residual = cmgi_krylov_relative(k->column->residual, k->column->rhs_norm),
        .range_residual = cmgi_krylov_relative(k->column->residual, k->column->rhs_norm),
        .loop = k->used,
        .solve_seconds = cmgi_seconds() - begin};
    cmgi_sized_give(&made, report);
    return CMG_OK;
}

cmg_status cmg_cg(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                  const cmg_vector *b, cmg_vector *x, const cmg_solver_options *options,
                  cmg_report *report)
{
    cmgi_scoped_by(cmg_cg_destroy) cmg_cg_solver *cg = NULL;
    CMGI_TRY(cmg_cg_create(ctx, A, C, options, &cg));
    return cmg_cg_solve(cg, b, x, report);
}
