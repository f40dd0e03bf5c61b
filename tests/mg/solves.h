/* Solves with random vectors, and their residuals by plain loops. */
#pragma once
#include "mg/solver.h"
#include "oracle.h"
#include "poisson.h"

static inline cmg_vector *vector_of(cmg_size n, uint64_t seed)
{
    return vector_random(n, CMG_FP64, seed);
}

/* ||b - A x|| / ||b|| by plain loops. */
static inline double true_residual(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *vb = values_of(b);
    scoped double *vx = values_of(x);
    return relative_residual(&A, vb, vx);
}

static inline cmg_report solve(cmg_hierarchy *h, const cmg_solver_options *o, cmg_vector *b,
                               cmg_vector *x)
{
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
    scoped_solver *s = solver_new(h, o);
    if (s != NULL) {
        CHECK_OK(cmg_solver_solve(s, b, x, &report));
        report.history = NULL;
        report.fallback = NULL;
    }
    return report;
}

/* Every level matrix times a factor. */
static inline void scale(cmg_hierarchy *h, double factor)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
        scoped double *values = scaled_copy(A.values, A.indptr[A.rows], factor);
        CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
    }
}

/* Counts and cycles are known with Jacobi. */
static inline cmg_solver_options defaults(void)
{
    return solver_options("smoother=jacobi");
}
