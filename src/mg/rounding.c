/*
 * Whether a residual is as small as fp64 allows: || b - A x || <= c eps || |A| |x| + |b| ||. The
 * right side is what rounding the entries of x and b, and the sums of b - A x, makes of it; factors
 * of A leave residuals of about that size, too. Only under || b || / 100 is x worth that name.
 *
 * Source  Oettli and Prager 1964, doi:10.1007/BF01386090; Higham, Accuracy and Stability of
 *         Numerical Algorithms, 2002, section 7.1.
 */
#include "mg/multigrid.h"

#include "core/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sparse direct solvers leave 0.5 to 1.2 eps on problems with jumps of 1e6 to 1e9. */
static const double ROUNDINGS = 4;
/* An x that rounding of this size spoils is no solution: A is singular, b outside its range. */
static const double LEAST = 0.01;

/* || |A| |x| + |b| || and ||b - A x||, which takes the place of b. */
static double magnitude(cmg_context *ctx, const cmg_csr *A, const cmg_index *perm, double *b,
                        const double *x, double *row, double *residual)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size at = perm != NULL ? perm[i] : i;
        row[at] = x[i];
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size at = perm != NULL ? perm[i] : i;
        double m = fabs(b[i]);
        for (cmg_size k = A->indptr[at]; k < A->indptr[at + 1]; ++k) {
            const double term = A->values[k] * row[A->indices[k]];
            m += fabs(term);
            b[i] -= term;
        }
        row[A->rows + i] = m;
    }
    (void)ctx;
    *residual = cmgi_host_norm(A->rows, b);
    return cmgi_host_norm(A->rows, row + A->rows);
}

/*
 * A lower bound of || |A| |x| + |b| || with the A that was solved with, where the hierarchy has
 * newer values, or no CSR: |A x'| over x' with the entries of x and random signs. Of a row of three
 * entries every other x' finds all of |A| |x|. The vectors are on the host, 2 n of them in `work`.
 */
static cmg_status magnitude_taken(cmgi_multigrid *mg, const double *b, const double *x,
                                  double *work, double *level)
{
    enum { TRIES = 8 };
    cmg_context *ctx = mg->ctx;
    cmgi_krylov *k = mg->krylov;
    const cmg_size n = k->system.n;
    const size_t bytes = (size_t)n * sizeof(double);
    double *most = work + n;
    memset(most, 0, bytes);
    for (uint64_t t = 1; t <= TRIES; ++t) {
        for (cmg_size i = 0; i < n; ++i) {
            work[i] = cmgi_random_at(t, (uint64_t)i) < 0 ? -x[i] : x[i];
        }
        CMGI_TRY(cmgi_to_device(ctx, k->work[0], work, bytes));
        CMGI_TRY(k->system.apply(mg, CMG_FP64, k->work[0], k->work[1], NULL, NULL));
        CMGI_TRY(cmgi_to_host(ctx, work, k->work[1], bytes));
        for (cmg_size i = 0; i < n; ++i) {
            most[i] = fmax(most[i], fabs(work[i]));
        }
    }
    for (cmg_size i = 0; i < n; ++i) {
        most[i] += fabs(b[i]);
    }
    *level = cmgi_host_norm(n, most);
    return CMG_OK;
}

cmg_status cmgi_rounding_look(cmgi_multigrid *mg, const double *b, const double *x)
{
    cmg_context *ctx = mg->ctx;
    cmgi_krylov *k = mg->krylov;
    const cmg_size n = k->system.n;
    const size_t bytes = (size_t)n * sizeof(double);
    cmg_csr A;
    const cmg_outcome outcome = k->column->outcome;
    const bool may_be_rounding = outcome == CMG_STAGNATED || outcome == CMG_ITERATION_LIMIT ||
                                 outcome == CMG_BREAKDOWN ||
                                 outcome == CMG_INDEFINITE_PRECONDITIONER;
    if (!may_be_rounding || !isfinite(k->column->rhs_norm) ||
        mg->generation != cmgi_multigrid_caller(mg)->generation) {
        return CMG_OK;
    }
    double level = 0;
    double own = 0; /* ||b - A x|| */
    CMGI_SCOPED(ctx, 4 * n, double, host);
    CMGI_TRY(cmgi_to_host(ctx, host, b, bytes));
    CMGI_TRY(cmgi_to_host(ctx, host + n, x, bytes));
    if (mg->divided != NULL) {
        CMGI_TRY(cmgi_divided_by(ctx)->magnitude(mg->divided, host, host + n, &level));
    } else if (mg->levels.values != mg->h->values ||
               cmgi_hierarchy_kinds(mg->h, 0, CMG_ROLE_A) != NULL) {
        CMGI_TRY(magnitude_taken(mg, host, host + n, host + 2 * n, &level));
    } else {
        CMGI_TRY(cmg_hierarchy_get_csr(mg->h, 0, CMG_ROLE_A, NULL, 0, &A));
        level = magnitude(ctx, &A, mg->levels.level[0].perm, host, host + n, host + 2 * n, &own);
    }
    if (own > 0 && cmgi_levels_rows(&mg->levels)->format->elements && isfinite(own)) {
        k->column->residual =
            fmax(k->column->residual, own); /* elements are A within rounding alone */
        k->column->history[k->column->iterations] = k->column->residual;
    }
    const double most = fmin(ROUNDINGS * DBL_EPSILON * level, LEAST * k->column->rhs_norm);
    /* false where one is no number, or where rounding is more of b than may be left */
    if (DBL_EPSILON * level <= LEAST * k->column->rhs_norm && k->column->residual <= most) {
        k->column->outcome = CMG_ROUNDING;
    }
    return CMG_OK;
}
