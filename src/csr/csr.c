/* CSR on the host: life, the check of hostile data, facts of rows. */
#include "csr/csr.h"

#include "core/search.h"
#include "csr/kinds.h"

#include <stdlib.h>

cmg_status cmgi_csr_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmg_size nnz, cmgi_csr *A)
{
    cmgi_scoped_csr made = {.rows = rows, .cols = cols};
    CMGI_CHECK(ctx, rows >= 0 && cols >= 0 && nnz >= 0, CMG_ERR_ARG,
               "matrix of %lld x %lld with %lld entries", (long long)rows, (long long)cols,
               (long long)nnz);
    CMGI_TRY(cmgi_alloc(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *made.values, &made.values));
    made.indptr[0] = 0;
    made.indptr[rows] = nnz;
    *A = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_csr_alloc_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr *A)
{
    *A = (cmgi_csr){.rows = rows, .cols = cols};
    return cmgi_alloc_zero(ctx, rows + 1, sizeof *A->indptr, &A->indptr);
}

cmg_status cmgi_csr_alloc_entries(cmg_context *ctx, cmgi_csr *A)
{
    cmgi_add_up(A->indptr, A->rows);
    CMGI_TRY(cmgi_alloc(ctx, A->indptr[A->rows], sizeof *A->indices, &A->indices));
    return cmgi_alloc(ctx, A->indptr[A->rows], sizeof *A->values, &A->values);
}

cmg_status cmgi_csr_alloc_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D)
{
    CMGI_TRY(cmgi_csr_alloc(ctx, n, n, n, D));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 4096)
    for (cmg_size i = 0; i < n; ++i) {
        D->indptr[i] = i;
        D->indices[i] = (cmg_index)i;
    }
    return CMG_OK;
}

void cmgi_csr_free(cmg_context *ctx, cmgi_csr *A)
{
    cmgi_resident_drop(ctx, A);
    if (!A->borrowed) {
        CMGI_FREE(ctx, A->indptr, A->indices, A->values);
    }
    cmgi_kinds_destroy(ctx, &A->kinds);
    *A = (cmgi_csr){0};
}

void cmgi_csr_end(cmgi_csr *A)
{
    const void *const owned[] = {A->there, A->kinds, A->indptr, A->indices, A->values};
    for (int k = 0; k < (A->borrowed ? 2 : 5); ++k) {
        if (owned[k] != NULL) {
            cmgi_csr_free(cmgi_owner(owned[k]), A);
            return;
        }
    }
}

cmgi_csr cmgi_csr_pass_on(cmgi_csr *A)
{
    const cmgi_csr held = *A;
    *A = (cmgi_csr){0};
    return held;
}

cmg_status cmgi_csr_copy(cmg_context *ctx, const cmg_csr *from, cmgi_csr *to)
{
    const cmg_size nnz = from->indptr[from->rows];
    CMGI_TRY(cmgi_csr_alloc(ctx, from->rows, from->cols, nnz, to));
    cmgi_copy(ctx, to->indptr, from->indptr, (size_t)(from->rows + 1) * sizeof *to->indptr);
    cmgi_copy(ctx, to->indices, from->indices, (size_t)nnz * sizeof *to->indices);
    cmgi_copy(ctx, to->values, from->values, (size_t)nnz * sizeof *to->values);
    return CMG_OK;
}

cmg_status cmgi_csr_check_sizes(cmg_context *ctx, const char *name, const cmg_csr *A)
{
    CMGI_CHECK(ctx, A->rows >= 0 && A->cols >= 0 && A->rows <= INT32_MAX && A->cols <= INT32_MAX,
               CMG_ERR_SHAPE, "%s: %lld x %lld is not a size of 0 .. 2147483647 rows and columns",
               name, (long long)A->rows, (long long)A->cols);
    CMGI_CHECK(ctx, A->indptr != NULL, CMG_ERR_ARG, "%s: indptr is NULL", name);
    return CMG_OK;
}

static cmg_status check_shape(cmg_context *ctx, const char *name, const cmg_csr *A)
{
    CMGI_TRY(cmgi_csr_check_sizes(ctx, name, A));
    CMGI_CHECK(ctx, A->indptr[0] == 0, CMG_ERR_SHAPE, "%s: indptr[0] is %lld, not 0", name,
               (long long)A->indptr[0]);
    cmg_size bad = A->rows; /* first row of an impossible length */
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size first = A->indptr[i]; /* below 0: a row before is bad */
        const cmg_size end = A->indptr[i + 1];
        if ((first < 0 || end < first || end - first > A->cols) && i < bad) {
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

/* Without an early exit, so that several columns are looked at at once. */
bool cmgi_csr_ascends(const cmg_csr *A, cmg_size i)
{
    const cmg_size begin = A->indptr[i];
    const cmg_size end = A->indptr[i + 1];
    int descends = 0;
    for (cmg_size k = begin + 1; k < end; ++k) {
        descends |= A->indices[k - 1] >= A->indices[k];
    }
    return begin == end ||
           (descends == 0 && A->indices[begin] >= 0 && A->indices[end - 1] < A->cols);
}

/*
 * First entry of the row that is out of range or a duplicate, -1 if none. `seen[j]` holds the last
 * row plus one that had column j.
 */
static cmg_size bad_entry(const cmg_csr *A, cmg_size i, cmg_index **seen)
{
    const cmg_size end = A->indptr[i + 1];
    for (cmg_size k = A->indptr[i]; k < end; ++k) {
        if (A->indices[k] < 0 || A->indices[k] >= A->cols) {
            return k;
        }
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
            const cmg_size k = cmgi_csr_ascends(A, i) ? -1 : bad_entry(A, i, &seen);
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
    CMGI_CHECK(ctx, bad != -2, CMG_ERR_MEMORY, "%s: out of memory while looking for duplicates",
               name);
    if (bad < 0) {
        return CMG_OK;
    }
    const cmg_index j = A->indices[bad];
    CMGI_CHECK(ctx, j >= 0 && j < A->cols, CMG_ERR_SHAPE,
               "%s: row %lld: column %lld is out of range [0, %lld)", name, (long long)bad_row,
               (long long)j, (long long)A->cols);
    return cmgi_fail(ctx, CMG_ERR_SHAPE, "%s: row %lld: column %lld is duplicated", name,
                     (long long)bad_row, (long long)j);
}

cmg_size cmgi_csr_longest_row(const cmg_csr *A)
{
    cmg_size longest = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

cmg_size cmgi_csr_search_diagonal(const cmg_csr *A, cmg_size i)
{
    const cmg_size end = A->indptr[i + 1];
    cmg_size k = cmgi_search_index(A->indices, A->indptr[i], end, (cmg_index)i);
    if (k < end && A->indices[k] == i) {
        return k;
    }
    for (k = A->indptr[i]; k < end && A->indices[k] != i; ++k) { /* rows need not be sorted */
    }
    return k;
}

void cmgi_csr_apply(const cmg_context *ctx, const cmg_csr *A, const double *restrict x,
                    double *restrict y)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k] * x[A->indices[k]];
        }
        y[i] = sum;
    }
}

void cmgi_csr_diagonal(cmg_context *ctx, const cmg_csr *A, double *diagonal)
{
    (void)ctx;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        diagonal[i] = cmgi_csr_diagonal_at(A, i);
    }
}

cmg_size cmgi_csr_row_of(const cmg_csr *A, cmg_size k)
{
    return cmgi_search_size(A->indptr, 0, A->rows, k + 1) - 1; /* the last i with indptr[i] <= k */
}

cmg_size cmgi_csr_zero_diagonal(const cmg_csr *A)
{
    cmg_size i = 0;
    while (i < A->rows && cmgi_csr_diagonal_at(A, i) != 0) {
        ++i;
    }
    return i;
}

bool cmgi_csr_is_diagonal(const cmg_context *ctx, const cmg_csr *A)
{
    bool diagonal = A->rows == A->cols && A->indptr[A->rows] <= A->rows;
    const cmg_size rows = diagonal ? A->rows : 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : diagonal)       \
    if (rows > 4096)
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        diagonal = diagonal && length <= 1 && (length == 0 || A->indices[A->indptr[i]] == i);
    }
    (void)ctx;
    return diagonal;
}
