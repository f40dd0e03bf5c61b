/* A smoother made from a matrix alone, and its factors multiplied out. */
#pragma once
#include "smoothers/smoother.h"
#include "smoothers/model.h"

static inline cmgi_smoother_factors *factors_new(void)
{
    return calloc(1, sizeof(cmgi_smoother_factors));
}

/* "name:key=value" of A; to be discarded. */
static inline cmgi_smoother_factors *factors_make(const cmgi_csr *A, const char *name)
{
    cmgi_smoother_factors *made = factors_new();
    const cmgi_smoother_source source = {.ctx = ctx, .A = A->view};
    CHECK_OK(cmgi_smoother_make(&source, name, 0, made));
    return made;
}

static inline void factors_discard(cmgi_smoother_factors **made)
{
    if (*made != NULL) {
        cmgi_smoother_factors_clear(ctx, *made);
    }
    free(*made);
}

#define scoped_factors scoped_by(factors_discard) cmgi_smoother_factors

/* Factor f dense, malloc'ed; the inverse of a triangle where the factors stand for that. */
static inline double *factor_dense(const cmgi_smoother_factors *made, int f)
{
    double *F = dense_of(&made->factor[f].view);
    if (made->solves) {
        double *inverse = inverse_of(made->factor[f].rows, F);
        free(F);
        F = inverse;
    }
    return F;
}

/* The product of all factors, dense, malloc'ed. */
static inline double *factors_dense(const cmgi_smoother_factors *made)
{
    double *M = factor_dense(made, 0);
    for (int f = 1; f < made->factors; ++f) {
        double *F = factor_dense(made, f);
        double *next = model_multiply(made->factor[f].rows, F, M);
        free_all(F, M);
        M = next;
    }
    return M;
}
