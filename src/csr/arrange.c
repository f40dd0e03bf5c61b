/* The same entries in another order: rows sorted, transposed, renumbered. */
#include "core/memory.h"
#include "csr/csr.h"

#include <string.h>

static void insertion_sort(cmg_index *indices, double *values, cmg_size length)
{
    for (cmg_size k = 1; k < length; ++k) {
        const cmg_index j = indices[k];
        const double v = values[k];
        cmg_size p = k;
        for (; p > 0 && indices[p - 1] > j; --p) {
            indices[p] = indices[p - 1];
            values[p] = values[p - 1];
        }
        indices[p] = j;
        values[p] = v;
    }
}

/* Merge sort of long rows; `ti` and `tv` have room for the row. */
static void merge_sort(cmg_index *indices, double *values, cmg_size length, cmg_index *ti,
                       double *tv)
{
    if (length <= 32) {
        insertion_sort(indices, values, length);
        return;
    }
    const cmg_size half = length / 2;
    merge_sort(indices, values, half, ti, tv);
    merge_sort(indices + half, values + half, length - half, ti, tv);
    memcpy(ti, indices, (size_t)length * sizeof *ti);
    memcpy(tv, values, (size_t)length * sizeof *tv);
    cmg_size a = 0;
    cmg_size b = half;
    for (cmg_size k = 0; k < length; ++k) {
        const bool left = b == length || (a < half && ti[a] <= ti[b]);
        const cmg_size from = left ? a++ : b++;
        indices[k] = ti[from];
        values[k] = tv[from];
    }
}

cmg_status cmgi_csr_sort(cmg_context *ctx, cmgi_csr *A)
{
    const cmg_size longest = cmgi_csr_longest_row(&A->view);
    const cmg_size room = longest > 32 ? longest : 0;
    CMGI_SCOPED(ctx, room * ctx->threads, cmg_index, ti);
    CMGI_SCOPED(ctx, room * ctx->threads, double, tv);
#pragma omp parallel num_threads(ctx->threads) if (A->rows > 1024)
    {
        const cmg_size mine = room * cmgi_thread();
#pragma omp for schedule(static)
        for (cmg_size i = 0; i < A->rows; ++i) {
            const cmg_size first = A->indptr[i];
            const cmg_size length = A->indptr[i + 1] - first;
            if (!cmgi_csr_ascends(&A->view, i)) {
                merge_sort(A->indices + first, A->values + first, length, ti + mine, tv + mine);
            }
        }
    }
    return CMG_OK;
}

/*
 * Every thread owns a contiguous part of the rows of A. count[t cols + j] becomes the place where
 * thread t puts its first entry of column j, so that the entries of a column come in the order of
 * rows.
 */
cmg_status cmgi_csr_transpose(cmg_context *ctx, const cmg_csr *A, cmgi_csr *T)
{
    const cmg_size nnz = A->indptr[A->rows];
    const int parts = A->rows > 4096 ? ctx->threads : 1;
    cmgi_scoped_csr made = {0};
    CMGI_TRY(cmgi_csr_alloc(ctx, A->cols, A->rows, nnz, &made));
    CMGI_SCOPED_ZERO(ctx, A->cols * parts, cmg_size, count);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int t = 0; t < parts; ++t) {
        const cmg_size last = A->indptr[A->rows * (t + 1) / parts];
        for (cmg_size k = A->indptr[A->rows * t / parts]; k < last; ++k) {
            ++count[t * A->cols + A->indices[k]];
        }
    }
    cmg_size at = 0;
    for (cmg_size j = 0; j < A->cols; ++j) {
        made.indptr[j] = at;
        for (int t = 0; t < parts; ++t) {
            const cmg_size here = count[t * A->cols + j];
            count[t * A->cols + j] = at;
            at += here;
        }
    }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int t = 0; t < parts; ++t) {
        for (cmg_size i = A->rows * t / parts; i < A->rows * (t + 1) / parts; ++i) {
            for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
                const cmg_size to = count[t * A->cols + A->indices[k]]++;
                made.indices[to] = (cmg_index)i;
                made.values[to] = A->values[k];
            }
        }
    }
    *T = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_csr_permute(cmg_context *ctx, const cmg_csr *A, const cmg_index *row_perm,
                            const cmg_index *col_perm, bool sort_columns, cmgi_csr *B)
{
    cmgi_scoped cmg_index *position = NULL;
    cmgi_scoped_csr made = {0};
    if (col_perm != NULL) {
        CMGI_TRY(cmgi_alloc(ctx, A->cols, sizeof *position, &position));
    }
    for (cmg_size k = 0; col_perm != NULL && k < A->cols; ++k) {
        position[col_perm[k]] = (cmg_index)k;
    }
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, A->rows, A->cols, &made));
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = row_perm != NULL ? row_perm[k] : k;
        made.indptr[k + 1] = A->indptr[i + 1] - A->indptr[i];
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 1024)
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = row_perm != NULL ? row_perm[k] : k;
        const cmg_size to = made.indptr[k];
        const cmg_size from = A->indptr[i];
        for (cmg_size e = 0; e < A->indptr[i + 1] - from; ++e) {
            const cmg_index j = A->indices[from + e];
            made.indices[to + e] = position != NULL ? position[j] : j;
            made.values[to + e] = A->values[from + e];
        }
    }
    if (sort_columns) {
        CMGI_TRY(cmgi_csr_sort(ctx, &made));
    }
    *B = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

/* The numbers of the entries ride through the renumbering as values, exact below 2^53. */
cmg_status cmgi_csr_permute_from(cmg_context *ctx, const cmg_csr *A, const cmg_index *row_perm,
                                 const cmg_index *col_perm, bool sort_columns, cmg_size **from,
                                 cmgi_csr *B)
{
    const cmg_size nnz = A->indptr[A->rows];
    cmg_csr numbers = *A;
    CMGI_SCOPED(ctx, nnz, double, number);
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof **from, from));
    for (cmg_size k = 0; k < nnz; ++k) {
        number[k] = (double)k;
    }
    numbers.values = number;
    CMGI_TRY(cmgi_csr_permute(ctx, &numbers, row_perm, col_perm, sort_columns, B));
    for (cmg_size k = 0; k < nnz; ++k) {
        (*from)[k] = (cmg_size)B->values[k];
        B->values[k] = A->values[(*from)[k]];
    }
    return CMG_OK;
}
