/*
 * Write-back: what happens to the row sum s = (A x)_i before it is stored. One functor for every
 * format and backend; the vectors have the matrix's precision and its number of rows.
 *
 *   APPLY     y_i = s
 *   AXPBY     y_i = alpha s + beta c_i          c may be y; beta = 0 does not read c
 *   RESIDUAL  y_i = b_i - s                     b may be y
 *   JACOBI    y_i = c_i + alpha d_i (b_i - s)   c is usually the vector that is multiplied
 *   MOMENTUM  y_i = c_i + beta (c_i - e_i) + alpha d_i (b_i - s)
 *   FROM_ZERO y_i = s + alpha d_i b_i           a correction s after a step of Jacobi from zero
 *
 * MOMENTUM is a step of a three-term recurrence: alpha s in place of the last term where d is NULL;
 * e NULL counts as 0; e may be y.
 *
 * Of several columns every one has its row sum and its vectors, d serves them all.
 *
 * Formats that have `dots` in their row of the table also leave x . y with APPLY, slice by slice,
 * where `dots` is given: an inner product without a pass of its own. Cells of a lattice leave it
 * block by block.
 */
#pragma once
#include "core/inline.h"

typedef enum cmgi_wb_kind {
    CMGI_WB_APPLY = 0,
    CMGI_WB_AXPBY,
    CMGI_WB_RESIDUAL,
    CMGI_WB_JACOBI,
    CMGI_WB_MOMENTUM,
    CMGI_WB_FROM_ZERO,
    CMGI_WB_KINDS
} cmgi_wb_kind;

/* X(KIND) for every kind: instantiations and selectors are generated from this list. */
#define CMGI_WB_LIST(X) X(APPLY) X(AXPBY) X(RESIDUAL) X(JACOBI) X(MOMENTUM) X(FROM_ZERO)

typedef struct cmgi_writeback {
    cmgi_wb_kind kind;
    double alpha;
    double beta;
    const void *b;
    const void *c;
    const void *d;
    const void *e;
    void *y;
    int columns;  /* of x and of all vectors but d, interleaved; 0 and 1 are one */
    double *dots; /* APPLY of a square matrix: one sum a slice of CMGI_SLICE rows; NULL = none */
} cmgi_writeback;

/* The functor in one precision; `kind` is a compile-time constant wherever it matters. */
#define CMGI_WB_DEFINE(T, SUFFIX)                                                                  \
    typedef struct cmgi_wb_##SUFFIX {                                                              \
        T alpha;                                                                                   \
        T beta;                                                                                    \
        const T *b;                                                                                \
        const T *c;                                                                                \
        const T *d;                                                                                \
        const T *e;                                                                                \
        T *y;                                                                                      \
        double *dots;                                                                              \
    } cmgi_wb_##SUFFIX;                                                                            \
    CMGI_INLINE cmgi_wb_##SUFFIX cmgi_wb_cast_##SUFFIX(const cmgi_writeback *w)                    \
    {                                                                                              \
        cmgi_wb_##SUFFIX v;                                                                        \
        v.alpha = (T)w->alpha;                                                                     \
        v.beta = (T)w->beta;                                                                       \
        v.b = (const T *)w->b;                                                                     \
        v.c = (const T *)w->c;                                                                     \
        v.d = (const T *)w->d;                                                                     \
        v.e = (const T *)w->e;                                                                     \
        v.y = (T *)w->y;                                                                           \
        v.dots = w->dots;                                                                          \
        return v;                                                                                  \
    }                                                                                              \
    CMGI_INLINE T cmgi_wb_value_##SUFFIX(cmgi_wb_kind kind, const cmgi_wb_##SUFFIX *w,             \
                                         long long i, T s)                                         \
    {                                                                                              \
        switch (kind) {                                                                            \
        case CMGI_WB_AXPBY:                                                                        \
            return w->beta == 0 ? w->alpha * s : w->alpha * s + w->beta * w->c[i];                 \
        case CMGI_WB_RESIDUAL:                                                                     \
            return w->b[i] - s;                                                                    \
        case CMGI_WB_JACOBI:                                                                       \
            return w->c[i] + w->alpha * w->d[i] * (w->b[i] - s);                                   \
        case CMGI_WB_MOMENTUM:                                                                     \
            s = w->d != NULL ? w->d[i] * (w->b[i] - s) : s;                                        \
            return w->c[i] + w->beta * (w->c[i] - (w->e != NULL ? w->e[i] : 0)) + w->alpha * s;    \
        case CMGI_WB_FROM_ZERO:                                                                    \
            return s + w->alpha * w->d[i] * w->b[i];                                               \
        default:                                                                                   \
            return s;                                                                              \
        }                                                                                          \
    }
CMGI_WB_DEFINE(double, f64)
CMGI_WB_DEFINE(float, f32)
