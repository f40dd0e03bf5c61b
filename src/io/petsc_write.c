/* PETSc binary objects, written; see petsc.h for the form. */
#include "io/petsc.h"

enum { BLOCK = 1 << 13 };

static cmg_status put_indices(cmgi_output *output, cmg_size count, const cmg_index *values)
{
    return cmgi_output_numbers(output, count, sizeof *values, values, true);
}

static cmg_status put_lengths(cmgi_output *output, const cmg_csr *A)
{
    cmg_index lengths[BLOCK];
    for (cmg_size first = 0; first < A->rows; first += BLOCK) {
        const cmg_size n = A->rows - first < BLOCK ? A->rows - first : BLOCK;
        for (cmg_size k = 0; k < n; ++k) {
            lengths[k] = (cmg_index)(A->indptr[first + k + 1] - A->indptr[first + k]);
        }
        CMGI_TRY(put_indices(output, n, lengths));
    }
    return CMG_OK;
}

static bool is_sorted(const cmg_csr *A)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i] + 1; k < A->indptr[i + 1]; ++k) {
            if (A->indices[k] < A->indices[k - 1]) {
                return false;
            }
        }
    }
    return true;
}

cmg_status cmgi_petsc_put_matrix(cmgi_output *output, const cmg_csr *A)
{
    cmg_context *ctx = output->ctx;
    if (!is_sorted(A)) { /* PETSc relies on ascending columns */
        cmgi_csr sorted = {0};
        CMGI_TRY(cmgi_csr_copy(ctx, A, &sorted));
        cmg_status status = cmgi_csr_sort(ctx, &sorted);
        if (status == CMG_OK) {
            status = cmgi_petsc_put_matrix(output, &sorted.view);
        }
        cmgi_csr_free(ctx, &sorted);
        return status;
    }
    const cmg_size nnz = A->indptr[A->rows];
    const cmg_index header[4] = {CMGI_PETSC_MAT, (cmg_index)A->rows, (cmg_index)A->cols,
                                 nnz < INT32_MAX ? (cmg_index)nnz : INT32_MAX};
    CMGI_TRY(put_indices(output, 4, header));
    CMGI_TRY(put_lengths(output, A));
    CMGI_TRY(put_indices(output, nnz, A->indices));
    return cmgi_output_numbers(output, nnz, sizeof *A->values, A->values, true);
}

cmg_status cmgi_petsc_put_vector(cmgi_output *output, cmg_size n, const double *values)
{
    const cmg_index header[2] = {CMGI_PETSC_VEC, (cmg_index)n};
    CMGI_CHECK(output->ctx, n <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%s: %lld entries are more than 32-bit indices hold", output->path, (long long)n);
    CMGI_TRY(put_indices(output, 2, header));
    return cmgi_output_numbers(output, n, sizeof *values, values, true);
}
