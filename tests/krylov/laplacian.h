/* A model matrix as a linear system, and iterations with it. */
#pragma once
#include "core/vector.h"
#include "krylov/krylov.h"
#include "spmv/matrix.h"
#include "test.h"

/* -u'' with a shift on n points. */
static inline cmg_matrix *laplacian(cmg_size n, double shift)
{
    scoped_csr A = csr_line(n, 2 + shift, 1);
    return matrix_new(&A.view, NULL);
}

static inline cmg_status laplacian_apply(void *user, cmg_precision p, const void *x, void *y,
                                         double *xy, cmgi_addends *left)
{
    (void)left; /* *xy is always made */
    const cmg_matrix *A = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    CMGI_TRY(cmgi_matrix_spmv(A, &w, x));
    return xy != NULL ? A->ctx->backend->dot(A->ctx, p, A->rows, 1, x, y, xy) : CMG_OK;
}

static inline cmg_status laplacian_residual(void *user, const double *b, const double *x, double *r)
{
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r};
    return cmgi_matrix_spmv(user, &w, x);
}

/* An iteration that has ended; freed at the end of the block where it is a scoped_run. */
typedef struct run {
    cmgi_krylov *k;
    const cmgi_krylov_column *c; /* outcome, iterations, history of column 0 */
    cmg_vector *b;
    cmg_vector *solution;
    double *x;       /* its values */
    double relative; /* ||b - A x|| / ||b|| by plain loops, of a test that fills it in */
} run;

static inline void run_free(run *r)
{
    cmgi_krylov_destroy(&r->k);
    cmg_vector_destroy(&r->b);
    cmg_vector_destroy(&r->solution);
    free(r->x);
    r->x = NULL;
}

#define scoped_run scoped_by(run_free) run

/* With b, and from the guess or 0; `columns` of them, interleaved. The caller solves. */
static inline run run_begin(const cmgi_linear_system *system, const cmgi_iteration_options *options,
                            int columns, const double *b, const double *guess)
{
    run r = {.x = NULL};
    CHECK_OK(cmgi_krylov_create(system, options, &r.k));
    r.b = columns_from(system->n, columns, b);
    r.solution = columns_new(system->n, columns);
    if (guess != NULL) {
        CHECK_OK(cmg_vector_set(r.solution, guess));
    }
    return r;
}

static inline void run_solve(run *r)
{
    CHECK_OK(cmgi_krylov_solve(r->k, r->b->data, r->solution->data));
    r->c = r->k->column;
    r->x = values_of(r->solution);
}
