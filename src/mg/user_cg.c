/* CG for callers with operators of their own: arrays are wrapped as vectors at the border. */
#include "core/report.h"
#include "core/timer.h"
#include "core/vector.h"
#include "krylov/krylov.h"
#include "mg/options.h"

typedef struct operator_pair {
    cmg_context *ctx;
    const cmg_operator *A;
    const cmg_operator *C;
} operator_pair;

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
    if (status != CMG_OK && ctx->message[0] == '\0') {
        return cmgi_fail(ctx, status, "cg: an operator returned %s", cmg_status_name(status));
    }
    return status;
}

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy)
{
    const operator_pair *pair = user;
    CMGI_TRY(apply_operator(pair->ctx, pair->A, x, y));
    return xy != NULL ? pair->ctx->backend->dot(pair->ctx, p, pair->A->rows, x, y, xy) : CMG_OK;
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const operator_pair *pair = user;
    cmg_context *ctx = pair->ctx;
    CMGI_TRY(apply_operator(ctx, pair->A, x, r));
    return ctx->backend->axpby(ctx, CMG_FP64, pair->A->rows, 1.0, b, -1.0, r);
}

static cmg_status precondition(void *user, const void *r, void *z)
{
    const operator_pair *pair = user;
    return apply_operator(pair->ctx, pair->C, r, z);
}

static cmg_status check(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                        const cmg_vector *b, const cmg_vector *x)
{
    CMGI_CHECK(ctx, A->apply != NULL && (C == NULL || C->apply != NULL), CMG_ERR_ARG,
               "cg: operator %s has no function", A->apply == NULL ? "A" : "C");
    CMGI_CHECK(ctx, A->rows == A->cols, CMG_ERR_SHAPE, "cg: A is %lld x %lld, not square",
               (long long)A->rows, (long long)A->cols);
    CMGI_CHECK(ctx, C == NULL || (C->rows == A->rows && C->cols == A->rows), CMG_ERR_SHAPE,
               "cg: C is %lld x %lld, A has %lld rows", (long long)C->rows, (long long)C->cols,
               (long long)A->rows);
    CMGI_CHECK(ctx, b->n == A->rows && x->n == A->rows, CMG_ERR_SHAPE,
               "cg: b has %lld and x %lld entries, A has %lld rows", (long long)b->n,
               (long long)x->n, (long long)A->rows);
    CMGI_CHECK(ctx, b->columns == 1 && x->columns == 1, CMG_ERR_SHAPE,
               "cg: b has %d columns and x %d, not one", b->columns, x->columns);
    CMGI_CHECK(ctx, b->precision == CMG_FP64 && x->precision == CMG_FP64, CMG_ERR_ARG,
               "cg: b and x have to be fp64");
    CMGI_CHECK(ctx, !cmgi_vectors_overlap(b, x), CMG_ERR_ARG,
               "cg: b and x are the same vector or overlap");
    CMGI_CHECK(ctx, b->ctx == ctx && x->ctx == ctx, CMG_ERR_ARG,
               "cg: b or x belongs to another context");
    return CMG_OK;
}

cmg_status cmg_cg(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                  const cmg_vector *b, cmg_vector *x, const cmg_solver_options *options,
                  cmg_report *report)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(ctx, A != NULL && b != NULL && x != NULL, CMG_ERR_ARG, "cg: A, b or x is NULL");
    CMGI_TRY(check(ctx, A, C, b, x));
    cmg_solver_options own;
    CMGI_TRY(cmgi_solver_options_take(ctx, options, &own));
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_report", report, sizeof *report));
    CMGI_CHECK(ctx, own.krylov != CMG_KRYLOV_DEFECT, CMG_ERR_UNSUPPORTED,
               "cg: operators have one precision, defect correction needs two");
    const cmg_solver_options *o = &own;
    const cmgi_iteration_options iteration = {
        .method = o->krylov == CMG_KRYLOV_AUTO || o->krylov == CMG_KRYLOV_NONE ? CMG_KRYLOV_CG
                                                                               : o->krylov,
        .restart = o->restart,
        .rtol = o->rtol,
        .atol = o->atol,
        .dtol = o->dtol,
        .max_it = o->max_it,
        .monitor = o->monitor,
        .monitor_user = o->monitor_user};
    const double begin = cmgi_seconds();
    operator_pair pair = {.ctx = ctx, .A = A, .C = C};
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = A->rows,
                                       .user = &pair,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = C != NULL ? precondition : NULL};
    cmgi_krylov *k = NULL;
    CMGI_TRY(cmgi_krylov_create(&system, &iteration, &k));
    const cmg_status status = cmgi_krylov_solve(k, b->data, x->data);
    if (status == CMG_OK) {
        const cmg_report made = {.outcome = k->outcome,
                                 .iterations = k->iterations,
                                 .starts = k->starts,
                                 .residual = k->residual,
                                 .rhs_norm = k->rhs_norm,
                                 .relative_residual =
                                     k->rhs_norm == 0 ? 0 : k->residual / k->rhs_norm,
                                 .loop = k->used,
                                 .solve_seconds = cmgi_seconds() - begin};
        cmgi_sized_give(&made, report);
    }
    cmgi_krylov_destroy(&k);
    return status;
}
