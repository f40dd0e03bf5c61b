/* Matrices for the tests: random, banded, power-law rows, empty rows, odd shapes. */
#pragma once
#include "spmv/writeback.h"
#include "test.h"

typedef struct suite_row {
    const char *name;
    cmg_size rows;
    cmg_size cols;
    int kind;  /* 0 random, 1 banded, 2 power law, 3 every third row empty, 4 one full row, 5
                  diagonal */
    int width; /* entries a row, about */
} suite_row;

static const suite_row suite[] = {
    {"zero rows", 0, 0, 0, 0},
    {"zero rows, 5 columns", 0, 5, 0, 0},
    {"5 rows, no columns", 5, 0, 0, 0},
    {"one entry", 1, 1, 5, 1},
    {"one full row", 1, 70, 0, 70},
    {"one column", 70, 1, 0, 1},
    {"empty", 40, 40, 0, 0},
    {"31", 31, 31, 0, 5},
    {"32", 32, 32, 0, 5},
    {"33", 33, 33, 0, 5},
    {"banded", 1000, 1000, 1, 9},
    {"power law", 700, 700, 2, 300},
    {"empty rows", 257, 257, 3, 7},
    {"full row", 129, 129, 4, 3},
    {"wide", 65, 700, 0, 40},
    {"tall", 700, 65, 0, 3},
    {"diagonal", 100, 100, 5, 1},
    {"big", 12011, 12011, 1, 27},
};
enum { SUITE = sizeof suite / sizeof suite[0] };

static inline cmg_size suite_length(const suite_row *s, cmg_size i, uint64_t *seed)
{
    cmg_size length = s->width;
    switch (s->kind) {
    case 0:
        length = s->width > 0 ? (cmg_size)(cmgi_random(seed) * 2 * s->width) : 0;
        break;
    case 2:
        length = 1 + (cmg_size)(s->width / (1.0 + (double)((i * 7919) % s->rows)));
        break;
    case 3:
        length = i % 3 == 0 ? 0 : s->width;
        break;
    case 4:
        length = i == s->rows / 2 ? s->cols : s->width;
        break;
    default:
        break;
    }
    return length < s->cols ? length : s->cols;
}

/* Columns of a row: a random start, then a stride coprime to nothing in particular, all different.
 */
static inline cmgi_csr suite_make(const suite_row *s)
{
    uint64_t seed = 17;
    cmgi_csr A = {0};
    cmg_size *indptr = calloc((size_t)s->rows + 1, sizeof *indptr);
    for (cmg_size i = 0; i < s->rows; ++i) {
        indptr[i + 1] = indptr[i] + suite_length(s, i, &seed);
    }
    CHECK_OK(cmgi_csr_alloc(ctx, s->rows, s->cols, indptr[s->rows], &A));
    memcpy(A.indptr, indptr, ((size_t)s->rows + 1) * sizeof *indptr);
    free(indptr);
    for (cmg_size i = 0; i < s->rows; ++i) {
        const cmg_size length = A.indptr[i + 1] - A.indptr[i];
        const cmg_size begin = s->kind == 1   ? (i > length / 2 ? i - length / 2 : 0)
                               : s->kind == 5 ? i
                                              : (cmg_size)(cmgi_random(&seed) * (double)s->cols);
        for (cmg_size e = 0; e < length; ++e) {
            A.indices[A.indptr[i] + e] = (cmg_index)((begin + e) % s->cols);
            A.values[A.indptr[i] + e] = 2 * cmgi_random(&seed) - 1;
        }
    }
    return A;
}

/* y = A x and the sum of |a_ij x_j|, by plain loops. */
static inline void suite_multiply(const cmgi_csr *A, const double *x, double *y, double *magnitude)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        y[i] = 0;
        magnitude[i] = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            y[i] += A->values[k] * x[A->indices[k]];
            magnitude[i] += fabs(A->values[k] * x[A->indices[k]]);
        }
    }
}

static inline cmg_matrix *compress(const cmgi_csr *A, cmg_precision precision, cmg_values values)
{
    cmg_matrix_options options =
        matrix_options("format=compressed precision=%s values=%s", WORD("precision", precision),
                       WORD("values", values));
    return matrix_new(&A->view, &options);
}

/* What a write-back makes of the row sum s, as writeback.h says. */
static inline double suite_writeback(const cmgi_writeback *w, double s, double b, double c,
                                     double d, double e)
{
    switch (w->kind) {
    case CMGI_WB_AXPBY:
        return w->alpha * s + w->beta * c;
    case CMGI_WB_RESIDUAL:
        return b - s;
    case CMGI_WB_JACOBI:
        return c + w->alpha * d * (b - s);
    case CMGI_WB_MOMENTUM:
        return c + w->beta * (c - (w->e != NULL ? e : 0)) +
               w->alpha * (w->d != NULL ? d * (b - s) : s);
    case CMGI_WB_FROM_ZERO:
        return s + w->alpha * d * b;
    default:
        return s;
    }
}
