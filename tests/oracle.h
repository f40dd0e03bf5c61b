/*
 * The residual of every solve of a test, computed anew from the hierarchy's own CSR in the caller's
 * numbering with sums in long double. cmg_solver_solve is replaced by oracle_solve, so that a test
 * that includes this asks the oracle wherever it solves.
 */
#pragma once
#include "mg/solver.h"
#include "test.h"

typedef struct oracle_norms {
    double residual;
    double rhs;
    double magnitude; /* of |A| |x| + |b|: rounding is measured by it */
} oracle_norms;

/* ||b - A x||, ||b||, || |A| |x| + |b| || */
static inline oracle_norms oracle_measure(const cmg_hierarchy *h, const double *b, const double *x)
{
    const cmgi_kinds *kinds = cmgi_hierarchy_kinds(h, 0, CMG_ROLE_A);
    cmgi_csr own = {0}; /* of templates that the library does not expand */
    if (kinds != NULL) {
        CHECK_OK(cmgi_kinds_fill(ctx, kinds, &own));
    }
    const cmgi_csr *A = kinds != NULL ? &own : cmgi_hierarchy_find(h, 0, CMG_ROLE_A, NULL, 0);
    long double rr = 0;
    long double bb = 0;
    long double mm = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double r = b[i];
        long double m = fabsl((long double)b[i]);
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const long double term = (long double)A->values[k] * x[A->indices[k]];
            r -= term;
            m += fabsl(term);
        }
        rr += r * r;
        bb += (long double)b[i] * b[i];
        mm += m * m;
    }
    cmgi_csr_free(ctx, &own);
    return (oracle_norms){(double)sqrtl(rr), (double)sqrtl(bb), (double)sqrtl(mm)};
}

/*
 * What is said to have converged has, and the reported residual is the true one. Not asked of
 * several columns, nor where the hierarchy is no longer the one that the solver was built from.
 */
static inline void oracle_judge(const cmg_solver *s, const cmg_vector *b, const cmg_vector *x,
                                const cmg_report *report)
{
    const size_t bytes = (size_t)s->mg.levels.level[0].rows * sizeof(double);
    scoped double *vb = malloc(bytes + 1);
    scoped double *vx = malloc(bytes + 1);
    CHECK_OK(cmg_vector_get(b, vb));
    CHECK_OK(cmg_vector_get(x, vx));
    const oracle_norms norms = oracle_measure(cmgi_multigrid_caller(&s->mg), vb, vx);
    const double rounding = 1e-13 * norms.magnitude;
    const double told = s->mg.options.rtol * norms.rhs;
    const double tolerance = fmax(told, s->mg.options.atol) * (1 + 1e-6) + rounding;
    const bool good = norms.residual <= tolerance &&
                      fabs(norms.residual - report->residual) <= 1e-6 * norms.residual + rounding;
    CHECK_SAY(good,
              "converged with ||b - A x|| = %.6e, reported %.6e, ||b|| = %.6e, tolerance %.6e",
              norms.residual, report->residual, norms.rhs, tolerance);
}

static inline cmg_status oracle_solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x,
                                      cmg_report *report)
{
    cmg_report own = {.size = sizeof own};
    cmg_report *told = report != NULL ? report : &own;
    const cmg_status status = cmg_solver_solve(s, b, x, told);
    if (status == CMG_OK && cmg_outcome_converged(told->outcome) && cmg_vector_columns(b) == 1 &&
        s->mg.generation == cmgi_multigrid_caller(&s->mg)->generation) {
        oracle_judge(s, b, x, told);
    }
    return status;
}

#define cmg_solver_solve(s, b, x, report) oracle_solve(s, b, x, report)
