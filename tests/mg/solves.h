/* Solves with random vectors, and their residuals by plain loops. */
#pragma once
#include "mg/solver.h"
#include "oracle.h"
#include "poisson.h"

static inline cmg_vector *vector_of(cmg_size n, uint64_t seed)
{
    return vector_random(n, CMG_FP64, seed);
}

static inline cmg_vector *vector_for(const cmg_hierarchy *h, uint64_t seed)
{
    return vector_of(cmg_hierarchy_rows(h, 0), seed);
}

static inline cmg_vector *zero_for(const cmg_hierarchy *h)
{
    return vector_new(cmg_hierarchy_rows(h, 0), CMG_FP64);
}

/* x, for a solve from zero. */
static inline cmg_vector *from_zero(cmg_vector *x)
{
    CHECK_OK(cmg_vector_fill(x, 0));
    return x;
}

/* ||b - A x|| / ||b|| by plain loops. */
static inline double true_residual(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *vb = values_of(b);
    scoped double *vx = values_of(x);
    return relative_residual(&A, vb, vx);
}

static inline cmg_report solve_with(cmg_solver *s, const cmg_vector *b, cmg_vector *x)
{
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    return report;
}

/* Texts and history of the report go with the solver. */
static inline cmg_report solve(cmg_hierarchy *h, const cmg_solver_options *o, const cmg_vector *b,
                               cmg_vector *x)
{
    scoped_solver *s = solver_new(h, o);
    cmg_report report = solve_with(s, b, x);
    report.history = NULL;
    report.fallback = NULL;
    return report;
}

/* There is no solver with these options, and the message has these words. */
static inline void refuse(cmg_hierarchy *h, const char *options, cmg_status status,
                          const char *words)
{
    const cmg_solver_options o = solver_options("%s", options);
    cmg_solver *s = NULL;
    CHECK_REFUSED(cmg_solver_create(h, &o, &s), status, words);
    CHECK(s == NULL);
}

/* A of a level becomes factor A + shift I. */
static inline void change_level(cmg_hierarchy *h, int level, double factor, double shift)
{
    const cmg_csr A = csr_of(h, level, CMG_ROLE_A);
    scoped double *values = scaled_copy(A.values, A.indptr[A.rows], factor);
    EACH_ENTRY (&A, i, k) {
        values[k] += A.indices[k] == i ? shift : 0;
    }
    CHECK_OK(cmg_hierarchy_update(h, level, CMG_ROLE_A, values));
}

/* Every level matrix times a factor. */
static inline void scale(cmg_hierarchy *h, double factor)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        change_level(h, l, factor, 0);
    }
}

/* Counts and cycles are known with Jacobi. */
static inline cmg_solver_options defaults(void)
{
    return solver_options("smoother=jacobi");
}
