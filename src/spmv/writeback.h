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
 * Kernels know three kinds, which cmgi_wb_reduce maps these to: MOMENTUM and
 *
 *   SCALED    y_i = alpha s
 *   SUM       y_i = alpha s + beta d_i c_i      d NULL counts as 1
 *
 * MOMENTUM is a step of a three-term recurrence: alpha s in place of the last term where d is NULL;
 * e NULL counts as 0; e may be y.
 *
 * Of several columns every one has its row sum and its vectors, d serves them all.
 *
 * Formats that have `dots` in their row of the table also leave x . y with APPLY in fp64, slice by
 * slice, where `dots` is given: an inner product without a pass of its own. Cells of a lattice
 * leave it block by block.
 */
#pragma once
#include "core/inline.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum cmgi_wb_kind {
    CMGI_WB_APPLY = 0,
    CMGI_WB_AXPBY,
    CMGI_WB_RESIDUAL,
    CMGI_WB_JACOBI,
    CMGI_WB_MOMENTUM,
    CMGI_WB_FROM_ZERO,
    CMGI_WB_KINDS, /* number of the kinds above, which products are asked for */
    CMGI_WB_SCALED,
    CMGI_WB_SUM
} cmgi_wb_kind;

/* X(KIND) for every kind of a kernel: instantiations and selectors are generated from this list. */
#define CMGI_WB_LIST(X) X(SCALED) X(SUM) X(MOMENTUM)

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

/* The same write-back as a kind of CMGI_WB_LIST; factors of 1 and -1 do not round. */
CMGI_INLINE cmgi_writeback cmgi_wb_reduce(const cmgi_writeback *w)
{
    cmgi_writeback v = *w;
    switch (w->kind) {
    case CMGI_WB_APPLY:
        v.kind = CMGI_WB_SCALED;
        v.alpha = 1;
        break;
    case CMGI_WB_AXPBY:
        v.kind = w->beta == 0 ? CMGI_WB_SCALED : CMGI_WB_SUM;
        v.d = NULL;
        break;
    case CMGI_WB_RESIDUAL:
        v.kind = CMGI_WB_SUM;
        v.alpha = -1;
        v.beta = 1;
        v.c = w->b;
        v.d = NULL;
        break;
    case CMGI_WB_FROM_ZERO:
        v.kind = CMGI_WB_SUM;
        v.alpha = 1;
        v.beta = w->alpha;
        v.c = w->b;
        break;
    case CMGI_WB_JACOBI:
        v.kind = CMGI_WB_MOMENTUM;
        v.beta = 0;
        v.e = NULL;
        break;
    default:
        break;
    }
    return v;
}

/*
 * The functor in one precision; `kind` is a compile-time constant wherever it matters. `join` takes
 * what row i has in b, c, d and e, 0 where there is none: a kernel loads them before it sums the
 * row and holds them in registers. `value` reads them itself.
 */
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
    CMGI_INLINE T cmgi_wb_join_##SUFFIX(cmgi_wb_kind kind, const cmgi_wb_##SUFFIX *w, T b, T c,    \
                                        T d, T e, T s)                                             \
    {                                                                                              \
        switch (kind) {                                                                            \
        case CMGI_WB_SUM:                                                                          \
            return w->alpha * s + (w->d != NULL ? w->beta * d : w->beta) * c;                      \
        case CMGI_WB_MOMENTUM:                                                                     \
            return c + w->beta * (c - e) + w->alpha * (w->d != NULL ? d * (b - s) : s);            \
        default:                                                                                   \
            return w->alpha * s;                                                                   \
        }                                                                                          \
    }                                                                                              \
    CMGI_INLINE T cmgi_wb_value_##SUFFIX(cmgi_wb_kind kind, const cmgi_wb_##SUFFIX *w,             \
                                         long long i, T s)                                         \
    {                                                                                              \
        const bool momentum = kind == CMGI_WB_MOMENTUM;                                            \
        const bool reads = kind != CMGI_WB_SCALED;                                                 \
        const bool scaled = reads && w->d != NULL;                                                 \
        return cmgi_wb_join_##SUFFIX(kind, w, momentum && scaled ? w->b[i] : 0,                    \
                                     reads ? w->c[i] : 0, scaled ? w->d[i] : 0,                    \
                                     momentum && w->e != NULL ? w->e[i] : 0, s);                   \
    }
CMGI_WB_DEFINE(double, f64)
CMGI_WB_DEFINE(float, f32)
