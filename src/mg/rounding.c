#include "mg/rounding.h"

#include <float.h>
#include <math.h>

/* Sparse direct solvers leave 0.5 to 1.2 eps on problems with jumps of 1e6 to 1e9. */
static const double ROUNDINGS = 4;
/* An x that rounding of this size spoils is no solution: A is singular, b outside its range. */
static const double LEAST = 0.01;

/* Norm with v scaled by `largest`, its largest entry, so that squares stay in range. */
static double norm(cmg_size n, const double *v, double largest)
{
    double sum = 0;
    for (cmg_size i = 0; i < n && largest > 0; ++i) {
        const double m = v[i] / largest;
        sum += m * m;
    }
    return largest * sqrt(sum);
}

/* || |A| |x| + |b| || and ||b - A x||, which takes the place of b. */
static double magnitude(cmg_context *ctx, const cmg_csr *A, const cmg_index *perm, double *b,
                        const double *x, double *row, double *residual)
{
    double largest = 0;
    double most = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size at = perm != NULL ? perm[i] : i;
        row[at] = x[i];
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : largest, most)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size at = perm != NULL ? perm[i] : i;
        double m = fabs(b[i]);
        for (cmg_size k = A->indptr[at]; k < A->indptr[at + 1]; ++k) {
            const double term = A->values[k] * row[A->indices[k]];
            m += fabs(term);
            b[i] -= term;
        }
        row[A->rows + i] = m;
        largest = fmax(largest, m);
        most = isnan(b[i]) ? INFINITY : fmax(most, fabs(b[i]));
    }
    (void)ctx;
    *residual = norm(A->rows, b, most);
    return norm(A->rows, row + A->rows, largest);
}

/* Outcomes that rounding can be behind. */
static bool may_be_rounding(cmg_outcome outcome)
{
    return outcome == CMG_STAGNATED || outcome == CMG_ITERATION_LIMIT || outcome == CMG_BREAKDOWN ||
           outcome == CMG_INDEFINITE_PRECONDITIONER;
}

cmg_status cmgi_rounding_look(cmgi_multigrid *mg, const double *b, const double *x)
{
    cmg_context *ctx = mg->ctx;
    cmgi_krylov *k = mg->krylov;
    const cmg_size n = k->system.n;
    const size_t bytes = (size_t)n * sizeof(double);
    cmg_csr A;
    double *host = NULL;
    if (!may_be_rounding(k->outcome) || !isfinite(k->rhs_norm) ||
        mg->generation != mg->h->generation) {
        return CMG_OK;
    }
    cmg_status status = CMG_OK;
    double level = 0;
    double own = 0; /* ||b - A x|| */
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, 4 * n, sizeof *host, &host));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, host, b, bytes));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, host + n, x, bytes));
    if (mg->parts != NULL) {
        CMGI_TRY_GOTO(done, cmgi_parts_magnitude(mg->parts, host, host + n, &level));
    } else {
        CMGI_TRY_GOTO(done, cmg_hierarchy_get_csr(mg->h, 0, CMG_ROLE_A, NULL, 0, &A));
        level = magnitude(ctx, &A, mg->levels.level[0].perm, host, host + n, host + 2 * n, &own);
    }
    if (mg->parts == NULL && mg->levels.A->format->elements && isfinite(own)) {
        k->residual = fmax(k->residual, own); /* elements are A within rounding alone */
        k->history[k->iterations] = k->residual;
    }
    const double most = fmin(ROUNDINGS * DBL_EPSILON * level, LEAST * k->rhs_norm);
    /* false where one is no number, or where rounding is more of b than may be left */
    if (DBL_EPSILON * level <= LEAST * k->rhs_norm && k->residual <= most) {
        k->outcome = CMG_ROUNDING;
    }
done:
    cmgi_free(ctx, host);
    return status;
}
