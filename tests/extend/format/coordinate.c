/*
 * Coordinate format: every entry with its row and its column, in the order of the rows,
 *
 *       [ 1 . 2 . ]      row     0 0 1 3 3
 *       [ . 3 . . ]      column  0 2 1 0 3
 *       [ . . . . ]      value   1 2 3 4 5
 *       [ 4 . . 5 ]
 *
 * Entry (i,j) is where row[k] = i and column[k] = j.
 */
#include "spmv/matrix.h"

/* Its place in the list; a constant in cmg.h may name it, too. */
enum { COORDINATE = CMG_FORMAT_TUNE + 1 };

typedef struct coordinate {
    cmg_index *row;    /* nnz */
    cmg_index *column; /* nnz */
} coordinate;

static size_t bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return (size_t)s->nnz * (2 * sizeof(cmg_index) + cmgi_precision_bytes(options->precision));
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const cmg_csr *csr = from->csr;
    coordinate *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(A->ctx, 1, sizeof *S, &S));
    A->data = S;
    A->stored = A->nnz;
    CMGI_TRY(cmgi_alloc(A->ctx, A->nnz, sizeof *S->row, &S->row));
    CMGI_TRY(cmgi_alloc(A->ctx, A->nnz, sizeof *S->column, &S->column));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    for (cmg_size i = 0; i < csr->rows; ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            S->row[k] = (cmg_index)i;
            S->column[k] = csr->indices[k];
            cmgi_matrix_put(A, k, k, csr->values[k]);
        }
    }
    A->bytes = (size_t)A->nnz *
               (sizeof *S->row + sizeof *S->column + cmgi_precision_bytes(A->options.precision));
    return CMG_OK;
}

/* One body a precision; a row is written once its sum is known, empty rows too. */
#define MULTIPLY(T, SUFFIX)                                                                        \
    static void multiply_##SUFFIX(const cmg_matrix *A, const cmgi_writeback *w, const T *x)        \
    {                                                                                              \
        const cmgi_wb_##SUFFIX f = cmgi_wb_cast_##SUFFIX(w);                                       \
        const coordinate *S = A->data;                                                             \
        const T *value = A->values;                                                                \
        cmg_size k = 0;                                                                            \
        for (cmg_size i = 0; i < A->rows; ++i) {                                                   \
            T sum = 0;                                                                             \
            for (; k < A->stored && S->row[k] == i; ++k) {                                         \
                sum += value[k] * x[S->column[k]];                                                 \
            }                                                                                      \
            f.y[i] = cmgi_wb_value_##SUFFIX(w->kind, &f, i, sum);                                  \
        }                                                                                          \
    }
MULTIPLY(double, f64)
MULTIPLY(float, f32)

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->options.precision == CMG_FP64) {
        multiply_f64(A, w, x);
    } else {
        multiply_f32(A, w, x);
    }
    return CMG_OK;
}

static void destroy(cmg_matrix *A)
{
    coordinate *S = A->data;
    if (S != NULL) {
        cmgi_free(A->ctx, S->row);
        cmgi_free(A->ctx, S->column);
        cmgi_free(A->ctx, S);
    }
}

/* Where it also has kernels for CUDA, they are in coordinate.cu: .spmv_cuda = CMGI_CUDA_FN(...). */
const cmgi_format cmgi_format_coordinate = {.id = (cmg_format)COORDINATE,
                                            .bytes = bytes,
                                            .build = build,
                                            .spmv_cpu = multiply,
                                            .destroy = destroy};
