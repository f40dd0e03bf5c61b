/* CSR on the host: checks of hostile data, sorting, transposition, renumbering, products. */
#include "csr/csr.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

cmg_status cmgi_csr_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmg_size nnz, cmgi_csr *A)
{
    cmgi_csr made = {.rows = rows, .cols = cols};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, rows >= 0 && cols >= 0 && nnz >= 0, CMG_ERR_ARG,
               "matrix of %lld x %lld with %lld entries", (long long)rows, (long long)cols,
               (long long)nnz);
    CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, nnz, sizeof *made.values, &made.values));
    made.indptr[0] = 0;
    made.indptr[rows] = nnz;
    *A = made;
    return CMG_OK;
failed:
    cmgi_csr_free(ctx, &made);
    return status;
}

void cmgi_csr_free(cmg_context *ctx, cmgi_csr *A)
{
    if (!A->borrowed) {
        cmgi_free(ctx, A->indptr);
        cmgi_free(ctx, A->indices);
        cmgi_free(ctx, A->values);
    }
    *A = (cmgi_csr){0};
}

cmg_status cmgi_csr_copy(cmg_context *ctx, const cmg_csr *from, cmgi_csr *to)
{
    const cmg_size nnz = from->indptr[from->rows];
    cmgi_csr made = {0};
    CMGI_TRY(cmgi_csr_alloc(ctx, from->rows, from->cols, nnz, &made));
    cmgi_copy(ctx, made.indptr, from->indptr, (size_t)(from->rows + 1) * sizeof *made.indptr);
    cmgi_copy(ctx, made.indices, from->indices, (size_t)nnz * sizeof *made.indices);
    cmgi_copy(ctx, made.values, from->values, (size_t)nnz * sizeof *made.values);
    *to = made;
    return CMG_OK;
}

/* ------------------------------------------------------------------ check */

static cmg_status check_shape(cmg_context *ctx, const char *name, const cmg_csr *A)
{
    CMGI_CHECK(ctx, A->rows >= 0 && A->cols >= 0 && A->rows <= INT32_MAX && A->cols <= INT32_MAX,
               CMG_ERR_SHAPE, "%s: %lld x %lld is not a size of 0 .. 2147483647 rows and columns",
               name, (long long)A->rows, (long long)A->cols);
    CMGI_CHECK(ctx, A->indptr != NULL, CMG_ERR_ARG, "%s: indptr is NULL", name);
    CMGI_CHECK(ctx, A->indptr[0] == 0, CMG_ERR_SHAPE, "%s: indptr[0] is %lld, not 0", name,
               (long long)A->indptr[0]);
    cmg_size bad = A->rows; /* first row of an impossible length */
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        if ((A->indptr[i + 1] < A->indptr[i] || A->indptr[i + 1] - A->indptr[i] > A->cols) &&
            i < bad) {
            bad = i;
        }
    }
    CMGI_CHECK(ctx, bad == A->rows, CMG_ERR_SHAPE,
               "%s: row %lld: indptr goes from %lld to %lld, but a row has 0 .. %lld entries", name,
               (long long)bad, (long long)A->indptr[bad], (long long)A->indptr[bad + 1],
               (long long)A->cols);
    CMGI_CHECK(ctx, A->indptr[A->rows] == 0 || (A->indices != NULL && A->values != NULL),
               CMG_ERR_ARG, "%s: indices or values are NULL", name);
    return CMG_OK;
}

/*
 * First entry of the row that is out of range or there twice, -1 if none. `seen[j]` holds the last
 * row plus one that had column j; it is only needed where the columns do not ascend.
 */
static cmg_size bad_entry(const cmg_csr *A, cmg_size i, cmg_index **seen)
{
    const cmg_size end = A->indptr[i + 1];
    bool ascends = true;
    for (cmg_size k = A->indptr[i]; k < end; ++k) {
        const cmg_index j = A->indices[k];
        if (j < 0 || j >= A->cols) {
            return k;
        }
        ascends = ascends && (k == A->indptr[i] || A->indices[k - 1] < j);
    }
    if (ascends) {
        return -1;
    }
    if (*seen == NULL) {
        *seen = calloc((size_t)A->cols, sizeof **seen);
    }
    for (cmg_size k = A->indptr[i]; k < end && *seen != NULL; ++k) {
        cmg_index *last = &(*seen)[A->indices[k]];
        if (*last == i + 1) {
            return k;
        }
        *last = (cmg_index)(i + 1);
    }
    return *seen != NULL ? -1 : -2;
}

cmg_status cmgi_csr_check(cmg_context *ctx, const char *name, const cmg_csr *A)
{
    CMGI_TRY(check_shape(ctx, name, A));
    cmg_size bad_row = A->rows;
    cmg_size bad = -1;
#pragma omp parallel num_threads(ctx->threads) if (A->rows > 4096)
    {
        cmg_index *seen = NULL;
#pragma omp for schedule(static)
        for (cmg_size i = 0; i < A->rows; ++i) {
            const cmg_size k = bad_entry(A, i, &seen);
            if (k != -1) {
#pragma omp critical(cmgi_csr_check)
                if (i < bad_row) {
                    bad_row = i;
                    bad = k;
                }
            }
        }
        free(seen);
    }
    CMGI_CHECK(ctx, bad != -2, CMG_ERR_MEMORY, "%s: no memory to look for duplicates", name);
    if (bad < 0) {
        return CMG_OK;
    }
    const cmg_index j = A->indices[bad];
    CMGI_CHECK(ctx, j >= 0 && j < A->cols, CMG_ERR_SHAPE,
               "%s: row %lld: column %lld is out of range [0, %lld)", name, (long long)bad_row,
               (long long)j, (long long)A->cols);
    return cmgi_fail(ctx, CMG_ERR_SHAPE, "%s: row %lld: column %lld is there twice", name,
                     (long long)bad_row, (long long)j);
}

/* ------------------------------------------------------------------ facts */

cmg_size cmgi_csr_longest_row(const cmg_csr *A)
{
    cmg_size longest = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* The last row i with indptr[i] <= k. */
cmg_size cmgi_csr_row_of(const cmg_csr *A, cmg_size k)
{
    cmg_size low = 0;
    cmg_size high = A->rows;
    while (high - low > 1) {
        const cmg_size middle = low + (high - low) / 2;
        if (A->indptr[middle] <= k) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

bool cmgi_csr_identity_row(const cmg_csr *A, cmg_size i)
{
    bool diagonal = false;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        if (A->indices[k] == i) {
            diagonal = A->values[k] != 0;
        } else if (A->values[k] != 0) {
            return false;
        }
    }
    return diagonal;
}

bool cmgi_csr_is_diagonal(const cmg_csr *A)
{
    if (A->rows != A->cols || A->indptr[A->rows] != A->rows) {
        return false;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        if (A->indptr[i] != i || A->indices[i] != i) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ order within rows */

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

static bool is_sorted(const cmg_index *indices, cmg_size length)
{
    for (cmg_size k = 1; k < length; ++k) {
        if (indices[k] < indices[k - 1]) {
            return false;
        }
    }
    return true;
}

cmg_status cmgi_csr_sort(cmg_context *ctx, cmgi_csr *A)
{
    const cmg_csr view = cmgi_csr_view(A);
    const cmg_size longest = cmgi_csr_longest_row(&view);
    const cmg_size room = longest > 32 ? longest : 0;
    cmg_index *ti = NULL;
    double *tv = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * ctx->threads, sizeof *ti, &ti));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * ctx->threads, sizeof *tv, &tv));
#pragma omp parallel num_threads(ctx->threads) if (A->rows > 1024)
    {
        const cmg_size mine = room * cmgi_thread();
#pragma omp for schedule(static)
        for (cmg_size i = 0; i < A->rows; ++i) {
            const cmg_size first = A->indptr[i];
            const cmg_size length = A->indptr[i + 1] - first;
            if (!is_sorted(A->indices + first, length)) {
                merge_sort(A->indices + first, A->values + first, length, ti + mine, tv + mine);
            }
        }
    }
done:
    cmgi_free(ctx, ti);
    cmgi_free(ctx, tv);
    return status;
}

/* ------------------------------------------------------------------ transpose */

/*
 * Every thread owns a contiguous part of the rows of A. count[t cols + j] becomes the place where
 * thread t puts its first entry of column j, so that the entries of a column come in the order of
 * rows.
 */
static void count_columns(const cmg_csr *A, cmg_size first, cmg_size last, cmg_size *count)
{
    for (cmg_size k = A->indptr[first]; k < A->indptr[last]; ++k) {
        ++count[A->indices[k]];
    }
}

static void place_rows(const cmg_csr *A, cmg_size first, cmg_size last, cmg_size *next, cmgi_csr *T)
{
    for (cmg_size i = first; i < last; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size at = next[A->indices[k]]++;
            T->indices[at] = (cmg_index)i;
            T->values[at] = A->values[k];
        }
    }
}

cmg_status cmgi_csr_transpose(cmg_context *ctx, const cmg_csr *A, cmgi_csr *T)
{
    const cmg_size nnz = A->indptr[A->rows];
    const int parts = A->rows > 4096 ? ctx->threads : 1;
    cmg_size *count = NULL;
    cmgi_csr made = {0};
    CMGI_TRY(cmgi_csr_alloc(ctx, A->cols, A->rows, nnz, &made));
    cmg_status status = cmgi_alloc_zero(ctx, A->cols * parts, sizeof *count, &count);
    if (status != CMG_OK) {
        cmgi_csr_free(ctx, &made);
        return status;
    }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int t = 0; t < parts; ++t) {
        count_columns(A, A->rows * t / parts, A->rows * (t + 1) / parts, count + t * A->cols);
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
        place_rows(A, A->rows * t / parts, A->rows * (t + 1) / parts, count + t * A->cols, &made);
    }
    cmgi_free(ctx, count);
    *T = made;
    return CMG_OK;
}

/* ------------------------------------------------------------------ renumbering */

/* position[perm[k]] = k */
static cmg_status invert_permutation(cmg_context *ctx, const cmg_index *perm, cmg_size n,
                                     cmg_index **position)
{
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof **position, position));
    for (cmg_size k = 0; k < n; ++k) {
        (*position)[perm[k]] = (cmg_index)k;
    }
    return CMG_OK;
}

cmg_status cmgi_csr_permute(cmg_context *ctx, const cmg_csr *A, const cmg_index *row_perm,
                            const cmg_index *col_perm, bool sort_columns, cmgi_csr *B)
{
    cmg_index *position = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    if (col_perm != NULL) {
        CMGI_TRY(invert_permutation(ctx, col_perm, A->cols, &position));
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, A->rows, A->cols, A->indptr[A->rows], &made));
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = row_perm != NULL ? row_perm[k] : k;
        made.indptr[k + 1] = made.indptr[k] + A->indptr[i + 1] - A->indptr[i];
    }
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
        CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, &made));
    }
    *B = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    cmgi_free(ctx, position);
    return status;
}

/* ------------------------------------------------------------------ product */

/* Columns of row i of A B, unsorted; mark[j] == i + 1 says that j is there. Returns their number.
 */
static cmg_size merge_pattern(const cmg_csr *A, const cmg_csr *B, cmg_size i, cmg_index *mark,
                              cmg_index *columns)
{
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            const cmg_index j = B->indices[e];
            if (mark[j] != i + 1) {
                mark[j] = (cmg_index)(i + 1);
                if (columns != NULL) {
                    columns[length] = j;
                }
                ++length;
            }
        }
    }
    return length;
}

static void multiply_row(const cmg_csr *A, const cmg_csr *B, cmg_size i, cmg_index *mark,
                         double *sum, cmgi_csr *C)
{
    cmg_index *columns = C->indices + C->indptr[i];
    const cmg_size length = merge_pattern(A, B, i, mark, columns);
    qsort(columns, (size_t)length, sizeof *columns, cmgi_ascending_index);
    for (cmg_size e = 0; e < length; ++e) {
        sum[columns[e]] = 0;
    }
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            sum[B->indices[e]] += A->values[k] * B->values[e];
        }
    }
    for (cmg_size e = 0; e < length; ++e) {
        C->values[C->indptr[i] + e] = sum[columns[e]];
    }
}

cmg_status cmgi_csr_multiply(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, cmgi_csr *C)
{
    CMGI_CHECK(ctx, A->cols == B->rows, CMG_ERR_SHAPE,
               "product: A has %lld columns, B has %lld rows", (long long)A->cols,
               (long long)B->rows);
    cmg_index *mark = NULL;
    double *sum = NULL;
    cmg_size *indptr = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    const cmg_size room = B->cols * ctx->threads;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, room, sizeof *mark, &mark));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room, sizeof *sum, &sum));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, A->rows + 1, sizeof *indptr, &indptr));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        indptr[i + 1] = merge_pattern(A, B, i, mark + B->cols * cmgi_thread(), NULL);
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        indptr[i + 1] += indptr[i];
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, A->rows, B->cols, indptr[A->rows], &made));
    memcpy(made.indptr, indptr, (size_t)(A->rows + 1) * sizeof *indptr);
    memset(mark, 0, (size_t)room * sizeof *mark);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size mine = B->cols * cmgi_thread();
        multiply_row(A, B, i, mark + mine, sum + mine, &made);
    }
    *C = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    cmgi_free(ctx, mark);
    cmgi_free(ctx, sum);
    cmgi_free(ctx, indptr);
    return status;
}
