/* Facts about CSR matrices and vectors that `cmg info` shows and judges. */
#include "facts.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>

static double largest_value(const cmg_csr *A)
{
    double largest = 0;
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        largest = fmax(largest, fabs(A->values[k]));
    }
    return largest;
}

/* A^T in arrays of its own. */
typedef struct transposed {
    cmg_size *indptr;
    cmg_index *indices;
    double *values;
} transposed;

static transposed transpose(const cmg_csr *A)
{
    const size_t nnz = (size_t)A->indptr[A->rows];
    transposed T = {tool_alloc((size_t)A->cols + 2, sizeof *T.indptr),
                    tool_alloc(nnz, sizeof *T.indices), tool_alloc(nnz, sizeof *T.values)};
    cmg_size *next = T.indptr + 1; /* shifted by one, so that filling ends with the row pointers */
    for (size_t k = 0; k < nnz; ++k) {
        ++next[A->indices[k] + 1];
    }
    for (cmg_size j = 0; j < A->cols; ++j) {
        next[j + 1] += next[j];
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size at = next[A->indices[k]]++;
            T.indices[at] = (cmg_index)i;
            T.values[at] = A->values[k];
        }
    }
    return T;
}

double transposed_difference(const cmg_csr *B, const cmg_csr *A)
{
    transposed T = transpose(A);
    double *row = tool_alloc((size_t)B->cols, sizeof *row); /* b_i: - (A^T)_i:, zero in between */
    double worst = 0;
    for (cmg_size i = 0; i < B->rows; ++i) {
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            row[B->indices[k]] += B->values[k];
        }
        for (cmg_size k = T.indptr[i]; k < T.indptr[i + 1]; ++k) {
            row[T.indices[k]] -= T.values[k];
        }
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            worst = fmax(worst, fabs(row[B->indices[k]]));
            row[B->indices[k]] = 0;
        }
        for (cmg_size k = T.indptr[i]; k < T.indptr[i + 1]; ++k) {
            worst = fmax(worst, fabs(row[T.indices[k]]));
            row[T.indices[k]] = 0;
        }
    }
    free(T.indptr);
    free(T.indices);
    free(T.values);
    free(row);
    const double largest = largest_value(A);
    return largest > 0 ? worst / largest : worst;
}

cmg_size mark_identity_rows(const cmg_csr *A, bool *identity)
{
    cmg_size count = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        cmg_size others = 0;
        bool diagonal = false;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            diagonal = diagonal || (A->indices[k] == i && A->values[k] != 0);
            others += A->indices[k] != i && A->values[k] != 0;
        }
        identity[i] = diagonal && others == 0;
        count += identity[i];
    }
    return count;
}

static bool row_has_nonzero(const cmg_csr *A, cmg_size i)
{
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        if (A->values[k] != 0) {
            return true;
        }
    }
    return false;
}

cmg_size count_zero_rows(const cmg_csr *A, const bool *skip)
{
    cmg_size count = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        count += (skip == NULL || !skip[i]) && !row_has_nonzero(A, i);
    }
    return count;
}

cmg_size count_zero_columns(const cmg_csr *A, const bool *skip)
{
    bool *seen = tool_alloc((size_t)A->cols, sizeof *seen);
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        seen[A->indices[k]] = seen[A->indices[k]] || A->values[k] != 0;
    }
    cmg_size count = 0;
    for (cmg_size j = 0; j < A->cols; ++j) {
        count += (skip == NULL || !skip[j]) && !seen[j];
    }
    free(seen);
    return count;
}

cmg_size count_marked_rows(const cmg_csr *A, const bool *marked)
{
    cmg_size count = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        count += marked[i] && row_has_nonzero(A, i);
    }
    return count;
}

double largest_row_sum(const cmg_csr *A)
{
    double worst = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k];
        }
        worst = fmax(worst, fabs(sum));
    }
    const double largest = largest_value(A);
    return largest > 0 ? worst / largest : worst;
}

double relative_residual(const cmg_csr *A, const double *x, const double *b)
{
    double r2 = 0;
    double b2 = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double r = b[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            r -= A->values[k] * x[A->indices[k]];
        }
        r2 += r * r;
        b2 += b[i] * b[i];
    }
    return b2 > 0 ? sqrt(r2 / b2) : sqrt(r2);
}
