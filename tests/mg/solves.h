/* Solves with random vectors, and their residuals by plain loops. */
#pragma once
#include "core/memory.h"
#include "core/random.h"
#include "mg/solver.h"
#include "oracle.h"
#include "poisson.h"

static inline cmg_vector *vector_of(cmg_size n, uint64_t seed)
{
    scoped double *values = malloc(((size_t)n + 1) * sizeof *values);
    for (cmg_size i = 0; i < n; ++i) {
        values[i] = 2 * cmgi_random(&seed) - 1;
    }
    return vector_from(n, CMG_FP64, values);
}

/* ||b - A x|| / ||b|| by plain loops. */
static inline double true_residual(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *vb = malloc((size_t)A.rows * sizeof *vb);
    scoped double *vx = malloc((size_t)A.rows * sizeof *vx);
    CHECK_OK(cmg_vector_get(b, vb));
    CHECK_OK(cmg_vector_get(x, vx));
    double rr = 0;
    double bb = 0;
    for (cmg_size i = 0; i < A.rows; ++i) {
        double r = vb[i];
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            r -= A.values[k] * vx[A.indices[k]];
        }
        rr += r * r;
        bb += vb[i] * vb[i];
    }
    return sqrt(rr / bb);
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
        scoped double *values = malloc((size_t)A.indptr[A.rows] * sizeof *values);
        for (cmg_size k = 0; k < A.indptr[A.rows]; ++k) {
            values[k] = factor * A.values[k];
        }
        CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
    }
}

static inline cmg_solver_options defaults(void)
{
    cmg_solver_options o = solver_defaults();
    CHECK_OK(
        cmg_solver_options_set(&o, "smoother=jacobi")); /* counts and cycles are known with it */
    return o;
}
