/* Matrices over several ranks: columns, rows of others, transpose, product. */
#include "ranks/rows.h"

#include "core/memory.h"
#include "core/search.h"

#include <stdlib.h>
#include <string.h>

/* The rank whose block has the row. */
static int owner_of(const cmg_size *part, int ranks, cmg_size row)
{
    return (int)cmgi_search_size(part + 1, 0, ranks - 1, row + 1);
}

static int ascending(const void *a, const void *b)
{
    const cmg_size x = *(const cmg_size *)a;
    const cmg_size y = *(const cmg_size *)b;
    return (x > y) - (x < y);
}

void cmgi_rows_inside(const cmg_context *ctx, const cmgi_own_rows *A, cmg_size first, cmg_size last,
                      bool *inner)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        cmg_size k = A->indptr[i];
        while (k < A->indptr[i + 1] && A->indices[k] >= first && A->indices[k] < last) {
            ++k;
        }
        inner[i] = inner[i] && k == A->indptr[i + 1];
    }
    (void)ctx;
}

cmg_status cmgi_rows_columns(cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                             cmg_size last, cmgi_numbers *columns)
{
    const cmg_size nnz = A->indptr[A->rows];
    cmg_size *number = NULL;
    cmg_size count = 0;
    cmg_size kept = 0;
    for (cmg_size k = 0; k < nnz; ++k) {
        count += A->indices[k] < first || A->indices[k] >= last;
    }
    CMGI_TRY(cmgi_alloc(ctx, count, sizeof *number, &number));
    count = 0;
    for (cmg_size k = 0; k < nnz; ++k) {
        if (A->indices[k] < first || A->indices[k] >= last) {
            number[count++] = A->indices[k];
        }
    }
    qsort(number, (size_t)count, sizeof *number, ascending);
    for (cmg_size k = 0; k < count; ++k) {
        if (kept == 0 || number[k] != number[kept - 1]) {
            number[kept++] = number[k];
        }
    }
    *columns = (cmgi_numbers){kept, number};
    return CMG_OK;
}

cmg_size cmgi_numbers_find(const cmgi_numbers *numbers, cmg_size number)
{
    const cmg_size low = cmgi_search_size(numbers->number, 0, numbers->count, number);
    return low < numbers->count && numbers->number[low] == number ? low : -1;
}

/* The same matrix with columns that are positions in `columns`, which has them all. */
static cmg_status place(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_numbers *columns,
                        cmgi_csr *local)
{
    const cmg_size nnz = A->indptr[A->rows];
    CMGI_CHECK(ctx, columns->count <= INT32_MAX, CMG_ERR_MEMORY,
               "%lld columns on one rank do not fit 32 bits", (long long)columns->count);
    CMGI_TRY(cmgi_csr_alloc(ctx, A->rows, columns->count, nnz, local));
    memcpy(local->indptr, A->indptr, (size_t)(A->rows + 1) * sizeof *A->indptr);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 100000)
    for (cmg_size k = 0; k < nnz; ++k) {
        local->indices[k] = (cmg_index)cmgi_numbers_find(columns, A->indices[k]);
        local->values[k] = A->values[k];
    }
    return CMG_OK;
}

void cmgi_numbers_divide(const cmgi_numbers *wanted, const cmg_size *part, int ranks, cmg_size *at)
{
    cmg_size k = 0;
    at[0] = 0;
    for (int r = 0; r < ranks; ++r) {
        while (k < wanted->count && wanted->number[k] < part[r + 1]) {
            ++k;
        }
        at[r + 1] = k;
    }
}

cmg_status cmgi_entries_fetch(cmg_context *ctx, const void *own, size_t size, const cmg_size *part,
                              const cmgi_numbers *wanted, void *entries)
{
    const int ranks = cmgi_ranks(ctx);
    cmg_size *at = NULL; /* three arrays of ranks + 1 */
    cmg_size *asked = NULL;
    char *answer = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, 3 * ((cmg_size)ranks + 1), sizeof *at, &at));
    cmg_size *asked_at = at + ranks + 1;
    cmg_size *unused = asked_at + ranks + 1;
    cmgi_numbers_divide(wanted, part, ranks, at);
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, sizeof *asked, wanted->number, at, &asked, asked_at));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, asked_at[ranks], size, &answer));
    for (cmg_size k = 0; k < asked_at[ranks]; ++k) {
        const cmg_size i = asked[k] - part[cmgi_rank(ctx)];
        memcpy(answer + (size_t)k * size, (const char *)own + (size_t)i * size, size);
    }
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, size, answer, asked_at, entries, unused));
done:
    CMGI_FREE(ctx, answer, asked, at);
    return status;
}

/* Lengths, columns and values of the rows asked for, rank by rank. */
typedef struct packed {
    cmg_size *length;
    cmg_size *columns;
    double *values;
    cmg_size *at; /* entries before each rank's, ranks + 1 */
} packed;

static cmg_status pack(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *asked,
                       const cmg_size *asked_at, packed *p)
{
    const int ranks = cmgi_ranks(ctx);
    cmg_size entries = 0;
    CMGI_TRY(cmgi_alloc(ctx, asked_at[ranks], sizeof *p->length, &p->length));
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *p->at, &p->at));
    p->at[0] = 0;
    for (int r = 0; r < ranks; ++r) {
        for (cmg_size k = asked_at[r]; k < asked_at[r + 1]; ++k) {
            const cmg_size i = asked[k] - A->first;
            p->length[k] = A->indptr[i + 1] - A->indptr[i];
            entries += p->length[k];
        }
        p->at[r + 1] = entries;
    }
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *p->columns, &p->columns));
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *p->values, &p->values));
    entries = 0;
    for (cmg_size k = 0; k < asked_at[ranks]; ++k) {
        const cmg_size from = A->indptr[asked[k] - A->first];
        memcpy(p->columns + entries, A->indices + from, (size_t)p->length[k] * sizeof *p->columns);
        memcpy(p->values + entries, A->values + from, (size_t)p->length[k] * sizeof *p->values);
        entries += p->length[k];
    }
    return CMG_OK;
}

cmg_status cmgi_rows_fetch(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                           const cmgi_numbers *wanted, cmgi_own_rows *rows)
{
    const int ranks = cmgi_ranks(ctx);
    packed p = {0};
    cmg_size *at = NULL; /* four arrays of ranks + 1 */
    cmg_size *asked = NULL;
    cmg_size *length = NULL;
    cmg_status status = CMG_OK;
    *rows = (cmgi_own_rows){.rows = wanted->count};
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, 4 * ((cmg_size)ranks + 1), sizeof *at, &at));
    cmg_size *asked_at = at + ranks + 1;
    cmg_size *got_at = asked_at + ranks + 1;
    cmg_size *unused = got_at + ranks + 1;
    cmgi_numbers_divide(wanted, part, ranks, at);
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, sizeof *asked, wanted->number, at, &asked, asked_at));
    CMGI_TRY_GOTO(done, pack(ctx, A, asked, asked_at, &p));
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, sizeof *length, p.length, asked_at, &length, got_at));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows->rows + 1, sizeof *rows->indptr, &rows->indptr));
    rows->indptr[0] = 0;
    for (cmg_size i = 0; i < rows->rows; ++i) {
        rows->indptr[i + 1] = rows->indptr[i] + length[i];
    }
    CMGI_TRY_GOTO(done,
                  cmgi_group_swap(ctx, sizeof *p.columns, p.columns, p.at, &rows->indices, unused));
    CMGI_TRY_GOTO(done,
                  cmgi_group_swap(ctx, sizeof *p.values, p.values, p.at, &rows->values, unused));
done:
    CMGI_FREE(ctx, p.length, p.columns, p.values, p.at);
    CMGI_FREE(ctx, length, asked, at);
    return status;
}

cmg_status cmgi_rows_gather(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                            cmg_size cols, cmgi_csr *whole)
{
    const int ranks = cmgi_ranks(ctx);
    const cmg_size own = A->indptr[A->rows];
    cmg_size *at = NULL;
    cmg_size *columns = NULL;
    cmg_size *length = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, cols <= INT32_MAX, CMG_ERR_MEMORY,
               "a level of %lld columns is too large for one rank", (long long)cols);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, ranks + 1, sizeof *at, &at));
    CMGI_TRY_GOTO(done, cmgi_group_gather(ctx, &own, sizeof own, at + 1));
    at[0] = 0;
    cmgi_add_up(at, ranks);
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, part[ranks], cols, at[ranks], whole));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *length, &length));
    for (cmg_size i = 0; i < A->rows; ++i) {
        length[i] = A->indptr[i + 1] - A->indptr[i];
    }
    CMGI_TRY_GOTO(done,
                  cmgi_group_gather_parts(ctx, length, part, sizeof *length, whole->indptr + 1));
    cmgi_add_up(whole->indptr, whole->rows);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, at[ranks], sizeof *columns, &columns));
    CMGI_TRY_GOTO(done, cmgi_group_gather_parts(ctx, A->indices, at, sizeof *columns, columns));
    CMGI_TRY_GOTO(
        done, cmgi_group_gather_parts(ctx, A->values, at, sizeof *whole->values, whole->values));
    for (cmg_size k = 0; k < at[ranks]; ++k) {
        whole->indices[k] = (cmg_index)columns[k];
    }
done:
    CMGI_FREE(ctx, at, columns, length);
    return status;
}

typedef struct entry {
    cmg_size row;
    cmg_size col;
    double value;
} entry;

/* The entries of A whose columns other ranks have as rows, by these, then in A's order; *list is a
 * new array. */
static cmg_status list_others(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                              cmg_size *at, entry **list)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    entry *out = NULL;
    memset(at, 0, ((size_t)ranks + 1) * sizeof *at);
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        if (A->indices[k] < part[me] || A->indices[k] >= part[me + 1]) {
            ++at[owner_of(part, ranks, A->indices[k]) + 1];
        }
    }
    cmgi_add_up(at, ranks);
    CMGI_TRY(cmgi_alloc(ctx, at[ranks], sizeof *out, &out));
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            if (A->indices[k] < part[me] || A->indices[k] >= part[me + 1]) {
                const int r = owner_of(part, ranks, A->indices[k]);
                out[at[r]++] = (entry){A->first + i, A->indices[k], A->values[k]};
            }
        }
    }
    for (int r = ranks; r > 0; --r) {
        at[r] = at[r - 1];
    }
    at[0] = 0;
    *list = out;
    return CMG_OK;
}

/* T's indptr, from its own entries of A^T and those that came. */
static void count_rows(const cmgi_own_rows *A, const entry *got, cmg_size count, cmgi_own_rows *T)
{
    memset(T->indptr, 0, (size_t)(T->rows + 1) * sizeof *T->indptr);
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        const cmg_size j = A->indices[k] - T->first;
        if (j >= 0 && j < T->rows) {
            ++T->indptr[j + 1];
        }
    }
    for (cmg_size k = 0; k < count; ++k) {
        ++T->indptr[got[k].col - T->first + 1];
    }
    cmgi_add_up(T->indptr, T->rows);
}

/* Entries in the order of their rows in A: indptr[j] moves on to the end of row j. */
static void put_entry(cmgi_own_rows *T, cmg_size row, cmg_size col, double value)
{
    const cmg_size to = T->indptr[col - T->first]++;
    T->indices[to] = row;
    T->values[to] = value;
}

static void put_own(const cmgi_own_rows *A, cmgi_own_rows *T)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size j = A->indices[k] - T->first;
            if (j >= 0 && j < T->rows) {
                put_entry(T, A->first + i, A->indices[k], A->values[k]);
            }
        }
    }
}

cmg_status cmgi_rows_transpose(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *col_part,
                               cmgi_own_rows *T)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const cmg_size rows = col_part[me + 1] - col_part[me];
    entry *send = NULL;
    entry *got = NULL;
    cmg_size *at = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, 2 * ((cmg_size)ranks + 1), sizeof *at, &at));
    cmg_size *got_at = at + ranks + 1;
    CMGI_TRY_GOTO(done, list_others(ctx, A, col_part, at, &send));
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, sizeof *send, send, at, &got, got_at));
    const cmg_size own = A->indptr[A->rows] - at[ranks];
    CMGI_TRY_GOTO(done, cmgi_rows_alloc(ctx, col_part[me], rows, own + got_at[ranks], T));
    count_rows(A, got, got_at[ranks], T);
    for (cmg_size k = 0; k < got_at[me]; ++k) {
        put_entry(T, got[k].row, got[k].col, got[k].value);
    }
    put_own(A, T);
    for (cmg_size k = got_at[me]; k < got_at[ranks]; ++k) {
        put_entry(T, got[k].row, got[k].col, got[k].value);
    }
    for (cmg_size i = rows; i > 0; --i) {
        T->indptr[i] = T->indptr[i - 1];
    }
    T->indptr[0] = 0;
done:
    CMGI_FREE(ctx, send, got, at);
    return status;
}

cmg_status cmgi_rows_multiply(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_own_rows *B,
                              const cmg_size *part, cmgi_own_rows *C)
{
    cmgi_numbers inner = {0};
    cmgi_numbers outer = {0};
    cmgi_own_rows fetched = {0};
    cmgi_csr left = {0};
    cmgi_csr right = {0};
    cmgi_csr product = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_rows_columns(ctx, A, 0, 0, &inner));
    CMGI_TRY_GOTO(done, cmgi_rows_fetch(ctx, B, part, &inner, &fetched));
    CMGI_TRY_GOTO(done, cmgi_rows_columns(ctx, &fetched, 0, 0, &outer));
    CMGI_TRY_GOTO(done, place(ctx, A, &inner, &left));
    CMGI_TRY_GOTO(done, place(ctx, &fetched, &outer, &right));
    CMGI_TRY_GOTO(done, cmgi_csr_multiply(ctx, &left.view, &right.view, &product));
    const cmg_size nnz = product.indptr[product.rows];
    CMGI_TRY_GOTO(done, cmgi_rows_alloc(ctx, A->first, A->rows, nnz, C));
    memcpy(C->indptr, product.indptr, (size_t)(A->rows + 1) * sizeof *C->indptr);
    memcpy(C->values, product.values, (size_t)nnz * sizeof *C->values);
    for (cmg_size k = 0; k < nnz; ++k) {
        C->indices[k] = outer.number[product.indices[k]];
    }
done:
    cmgi_csr_free(ctx, &left);
    cmgi_csr_free(ctx, &right);
    cmgi_csr_free(ctx, &product);
    cmgi_rows_free(ctx, &fetched);
    CMGI_FREE(ctx, inner.number, outer.number);
    return status;
}
