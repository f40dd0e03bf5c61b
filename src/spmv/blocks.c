/* Blocks of a CSR; see blocks.h. */
#include "spmv/blocks.h"

#include "core/order.h"

#include <stdlib.h>
#include <string.h>

/* Share of the stored entries that are in the matrix, from which blocks are worth their zeros. */
static const double worth = 0.75;

/* Block columns of block row r, unsorted, and their number; mark[j] == r + 1: j is there. */
static cmg_size collect(const cmg_csr *A, int size, cmg_size r, cmg_index *mark, cmg_index *columns)
{
    cmg_size count = 0;
    for (cmg_size k = A->indptr[r * size]; k < A->indptr[(r + 1) * size]; ++k) {
        const cmg_index j = A->indices[k] / size;
        if (mark[j] != r + 1) {
            mark[j] = (cmg_index)(r + 1);
            if (columns != NULL) {
                columns[count] = j;
            }
            ++count;
        }
    }
    return count;
}

/* Lengths of block rows first .. last - 1 into indptr[r + 1], or their columns into `indices`. */
static void collect_rows(const cmg_csr *A, int size, cmg_size first, cmg_size last, cmg_index *mark,
                         cmgi_csr *pattern)
{
    memset(mark, 0, (size_t)pattern->cols * sizeof *mark);
    for (cmg_size r = first; r < last; ++r) {
        if (pattern->indices == NULL) {
            pattern->indptr[r + 1] = collect(A, size, r, mark, NULL);
            continue;
        }
        cmg_index *columns = pattern->indices + pattern->indptr[r];
        const cmg_size count = collect(A, size, r, mark, columns);
        qsort(columns, (size_t)count, sizeof *columns, cmgi_ascending_index);
    }
}

static void collect_all(const cmg_csr *A, int size, int threads, cmg_index *mark, cmgi_csr *pattern)
{
    const cmg_size n = pattern->rows;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
        collect_rows(A, size, n * t / threads, n * (t + 1) / threads, mark + t * pattern->cols,
                     pattern);
    }
}

cmg_status cmgi_blocks_pattern(cmg_context *ctx, const cmg_csr *A, int size, cmgi_csr *pattern)
{
    enum { MOST_THREADS = 16, FEW = 4096 }; /* marks cost 4 bytes a column and thread */
    const cmg_size rows = A->rows / size;
    const cmg_size cols = A->cols / size;
    const int most = ctx->threads < MOST_THREADS ? ctx->threads : MOST_THREADS;
    const int threads = rows > FEW ? most : 1;
    cmgi_scoped_csr made = {.rows = rows, .cols = cols};
    cmgi_scoped cmg_index *mark = NULL;
    CMGI_TRY(cmgi_alloc(ctx, cols * threads, sizeof *mark, &mark));
    CMGI_TRY(cmgi_alloc_zero(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    collect_all(A, size, threads, mark, &made);
    for (cmg_size r = 0; r < rows; ++r) {
        made.indptr[r + 1] += made.indptr[r];
    }
    CMGI_TRY(cmgi_alloc(ctx, made.indptr[rows], sizeof *made.indices, &made.indices));
    collect_all(A, size, threads, mark, &made);
    *pattern = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

/* True when the rows of every block row hold the same numbers, each in its own component. */
static bool all_identity(const cmg_csr *A, int size)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        const int component = (int)(i % size);
        const cmg_size first = A->indptr[i - component];
        const cmg_size begin = A->indptr[i];
        const cmg_size length = A->indptr[i + 1] - begin;
        if (A->indptr[i - component + 1] - first != length) {
            return false;
        }
        for (cmg_size e = 0; e < length; ++e) {
            if (A->indices[begin + e] % size != component ||
                A->indices[begin + e] - component != A->indices[first + e] ||
                A->values[begin + e] != A->values[first + e]) {
                return false;
            }
        }
    }
    return true;
}

static cmg_status mostly_full(cmg_context *ctx, const cmg_csr *A, int size, bool *full)
{
    cmgi_csr pattern = {0};
    CMGI_TRY(cmgi_blocks_pattern(ctx, A, size, &pattern));
    const double stored = (double)pattern.indptr[pattern.rows] * size * size;
    *full = (double)A->indptr[A->rows] >= worth * stored;
    cmgi_csr_free(ctx, &pattern);
    return CMG_OK;
}

static bool divides(const cmg_csr *A, int size)
{
    return A->rows % size == 0 && A->cols % size == 0;
}

cmg_status cmgi_blocks_find(cmg_context *ctx, const cmg_csr *A, int wanted, bool numbers,
                            cmgi_blocks *found)
{
    *found = (cmgi_blocks){1, false};
    if (wanted > 0) {
        CMGI_CHECK(ctx, divides(A, wanted), CMG_ERR_SHAPE,
                   "blocks of %d do not divide a matrix of %lld x %lld", wanted, (long long)A->rows,
                   (long long)A->cols);
        *found = (cmgi_blocks){wanted, numbers && wanted > 1 && all_identity(A, wanted)};
        return CMG_OK;
    }
    for (int size = CMGI_BLOCK_MOST; size > 1 && A->indptr[A->rows] > 0; --size) {
        bool full = false;
        if (!divides(A, size)) {
            continue;
        }
        if (numbers && all_identity(A, size)) {
            *found = (cmgi_blocks){size, true};
            return CMG_OK;
        }
        CMGI_TRY(mostly_full(ctx, A, size, &full));
        if (full) {
            *found = (cmgi_blocks){size, false};
            return CMG_OK;
        }
    }
    return CMG_OK;
}
