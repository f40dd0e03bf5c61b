/* Matrices over several ranks: columns, rows of others, transpose, product. */
#include "ranks/rows.h"

#include "csr/by_rows.h"

#include <string.h>

void cmgi_rows_mark_outer(const cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                          cmg_size last, bool *outer)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        cmg_size k = A->indptr[i];
        while (k < A->indptr[i + 1] && A->indices[k] >= first && A->indices[k] < last) {
            ++k;
        }
        outer[i] = outer[i] || k < A->indptr[i + 1];
    }
    (void)ctx;
}

cmg_status cmgi_rows_columns(cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                             cmg_size last, const bool *outer, cmgi_numbers *columns)
{
    cmg_size down = -INT64_MAX; /* minus the least */
    cmg_size most = -1;
    cmg_size count = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : down, most)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size end = A->indptr[outer == NULL || outer[i] ? i + 1 : i];
        for (cmg_size k = A->indptr[i]; k < end; ++k) {
            const bool outside = A->indices[k] < first || A->indices[k] >= last;
            down = outside && -A->indices[k] > down ? -A->indices[k] : down;
            most = outside && A->indices[k] > most ? A->indices[k] : most;
        }
    }
    const cmg_size range = most < 0 ? 0 : most + down + 1;
    CMGI_SCOPED_ZERO(ctx, range, bool, occurs); /* each number from the least to the most */
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < (range > 0 ? A->rows : 0); ++i) {
        const cmg_size end = A->indptr[outer == NULL || outer[i] ? i + 1 : i];
        for (cmg_size k = A->indptr[i]; k < end; ++k) {
            if (A->indices[k] < first || A->indices[k] >= last) {
#pragma omp atomic write
                occurs[A->indices[k] + down] = true;
            }
        }
    }
    for (cmg_size j = 0; j < range; ++j) {
        count += occurs[j];
    }
    CMGI_TRY(cmgi_alloc(ctx, count, sizeof *columns->number, &columns->number));
    columns->count = count;
    count = 0;
    for (cmg_size j = 0; count < columns->count; ++j) {
        columns->number[count] = j - down;
        count += occurs[j];
    }
    return CMG_OK;
}

cmg_size cmgi_numbers_find(const cmgi_numbers *numbers, cmg_size number)
{
    const cmg_size low = cmgi_search_size(numbers->number, 0, numbers->count, number);
    return low < numbers->count && numbers->number[low] == number ? low : -1;
}

/* Positions of A's columns in `columns`, which has them all. */
static cmg_status place(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_numbers *columns,
                        cmg_index **places)
{
    const cmg_size nnz = A->indptr[A->rows];
    CMGI_CHECK(ctx, columns->count <= INT32_MAX, CMG_ERR_MEMORY,
               "%lld columns on one rank do not fit 32 bits", (long long)columns->count);
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof **places, places));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 100000)
    for (cmg_size k = 0; k < nnz; ++k) {
        (*places)[k] = (cmg_index)cmgi_numbers_find(columns, A->indices[k]);
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
    cmgi_scoped cmg_size *asked = NULL;
    cmgi_scoped char *answer = NULL;
    CMGI_SCOPED(ctx, 3 * ((cmg_size)ranks + 1), cmg_size, at);
    cmg_size *asked_at = at + ranks + 1;
    cmg_size *unused = asked_at + ranks + 1;
    cmgi_numbers_divide(wanted, part, ranks, at);
    CMGI_TRY(cmgi_group_swap(ctx, sizeof *asked, wanted->number, at, &asked, asked_at));
    CMGI_TRY(cmgi_alloc(ctx, asked_at[ranks], size, &answer));
    for (cmg_size k = 0; k < asked_at[ranks]; ++k) {
        const cmg_size i = asked[k] - part[cmgi_rank(ctx)];
        memcpy(answer + (size_t)k * size, (const char *)own + (size_t)i * size, size);
    }
    return cmgi_group_swap(ctx, size, answer, asked_at, entries, unused);
}

typedef struct entry {
    cmg_size row;
    cmg_size col;
    double value;
} entry;

cmg_status cmgi_rows_fetch(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                           const cmgi_numbers *wanted, cmgi_own_rows *rows)
{
    const int ranks = cmgi_ranks(ctx);
    cmgi_scoped cmg_size *asked = NULL;
    cmgi_scoped entry *got = NULL;
    cmg_size to = 0;
    CMGI_SCOPED_ZERO(ctx, 4 * ((cmg_size)ranks + 1), cmg_size, at);
    cmg_size *asked_at = at + ranks + 1;
    cmg_size *send_at = asked_at + ranks + 1;
    cmg_size *got_at = send_at + ranks + 1;
    cmgi_numbers_divide(wanted, part, ranks, at);
    CMGI_TRY(cmgi_group_swap(ctx, sizeof *asked, wanted->number, at, &asked, asked_at));
    for (int r = 0; r < ranks; ++r) {
        for (cmg_size k = asked_at[r]; k < asked_at[r + 1]; ++k) {
            const cmg_size i = asked[k] - A->first;
            send_at[r + 1] += A->indptr[i + 1] - A->indptr[i];
        }
    }
    cmgi_add_up(send_at, ranks);
    CMGI_SCOPED(ctx, send_at[ranks], entry, send);
    for (cmg_size k = 0; k < asked_at[ranks]; ++k) {
        const cmg_size i = asked[k] - A->first;
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            send[to++] = (entry){asked[k], A->indices[e], A->values[e]};
        }
    }
    CMGI_TRY(cmgi_group_swap(ctx, sizeof *send, send, send_at, &got, got_at));
    CMGI_TRY(cmgi_rows_alloc(ctx, 0, wanted->count, got_at[ranks], rows));
    to = 0;
    for (cmg_size i = 0; i < wanted->count; ++i) {
        for (; to < got_at[ranks] && got[to].row == wanted->number[i]; ++to) {
            rows->indices[to] = got[to].col;
            rows->values[to] = got[to].value;
        }
        rows->indptr[i + 1] = to;
    }
    return CMG_OK;
}

cmg_status cmgi_rows_gather(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                            cmg_size cols, cmgi_csr *whole)
{
    const int ranks = cmgi_ranks(ctx);
    CMGI_CHECK(ctx, cols <= INT32_MAX, CMG_ERR_MEMORY,
               "a level of %lld columns is too large for one rank", (long long)cols);
    CMGI_SCOPED(ctx, ranks + 1, cmg_size, at);
    CMGI_TRY(cmgi_group_offsets(ctx, A->indptr[A->rows], at));
    CMGI_TRY(cmgi_csr_alloc(ctx, part[ranks], cols, at[ranks], whole));
    CMGI_TRY(cmgi_group_gather_parts(ctx, A->indptr + 1, part, sizeof *at, whole->indptr + 1));
    for (int r = 1; r < ranks; ++r) {
        for (cmg_size i = part[r]; i < part[r + 1]; ++i) {
            whole->indptr[i + 1] += at[r];
        }
    }
    CMGI_SCOPED(ctx, at[ranks], cmg_size, columns);
    CMGI_TRY(cmgi_group_gather_parts(ctx, A->indices, at, sizeof *columns, columns));
    CMGI_TRY(cmgi_group_gather_parts(ctx, A->values, at, sizeof *whole->values, whole->values));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (at[ranks] > 4096)
    for (cmg_size k = 0; k < at[ranks]; ++k) {
        whole->indices[k] = (cmg_index)columns[k];
    }
    return CMG_OK;
}

/* The entries of A whose columns other ranks have as rows, by these, then in A's order; *list is a
 * new array. */
static cmg_status list_others(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                              cmg_size *at, entry **list)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    entry *out = NULL;
    CMGI_SCOPED_ZERO(ctx, A->rows, bool, outer);
    cmgi_rows_mark_outer(ctx, A, part[me], part[me + 1], outer);
    memset(at, 0, ((size_t)ranks + 1) * sizeof *at);
    for (int pass = 0; pass < 2; ++pass) { /* counts, then lists: at[r + 1] moves on to its end */
        for (cmg_size i = 0; i < A->rows; ++i) {
            for (cmg_size k = A->indptr[i]; outer[i] && k < A->indptr[i + 1]; ++k) {
                const cmg_size r = cmgi_search_size(part + 1, 0, ranks - 1, A->indices[k] + 1);
                if (r != me && pass > 0) {
                    out[at[r + 1]] = (entry){A->first + i, A->indices[k], A->values[k]};
                }
                at[r + 1] += r != me;
            }
        }
        if (pass == 0) {
            cmgi_add_up(at, ranks);
            CMGI_TRY(cmgi_alloc(ctx, at[ranks], sizeof *out, &out));
            memmove(at + 1, at, (size_t)ranks * sizeof *at);
        }
    }
    *list = out;
    return CMG_OK;
}

/* What A^T is made of: entries of ranks before, own rows, entries of ranks after this one. */
typedef struct columns_of {
    const cmgi_own_rows *A;
    cmg_size first; /* own columns */
    cmg_size cols;
    const entry *got;
    cmg_size before;
} columns_of;

/* cmgi_csr_row_fn: each entry of others is a row. */
static cmg_size own_columns(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const columns_of *c = user;
    const cmg_size row = i - c->before;
    const bool own = row >= 0 && row < c->A->rows;
    const entry *other = own ? NULL : c->got + (row < 0 ? i : i - c->A->rows);
    const cmg_size *numbers = own ? c->A->indices + c->A->indptr[row] : &other->col;
    const double *from = own ? c->A->values + c->A->indptr[row] : &other->value;
    const cmg_size count = own ? c->A->indptr[row + 1] - c->A->indptr[row] : 1;
    cmg_size length = 0;
    for (cmg_size k = 0; k < count; ++k) {
        const cmg_size j = numbers[k] - c->first;
        const bool here = j >= 0 && j < c->cols;
        if (here && columns != NULL) {
            columns[length] = (cmg_index)j;
            values[length] = from[k];
        }
        length += here;
    }
    return length;
}

cmg_status cmgi_rows_transpose(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *col_part,
                               cmgi_own_rows *T)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const cmg_size cols = col_part[me + 1] - col_part[me];
    cmgi_scoped entry *send = NULL;
    cmgi_scoped entry *got = NULL;
    cmgi_scoped_csr own = {0};
    cmgi_scoped_csr transposed = {0};
    CMGI_SCOPED(ctx, 2 * ((cmg_size)ranks + 1), cmg_size, at);
    cmg_size *got_at = at + ranks + 1;
    CMGI_TRY(list_others(ctx, A, col_part, at, &send));
    CMGI_TRY(cmgi_group_swap(ctx, sizeof *send, send, at, &got, got_at));
    const columns_of c = {A, col_part[me], cols, got, got_at[me]};
    const cmg_size rows = A->rows + got_at[ranks];
    CMGI_CHECK(ctx, rows <= INT32_MAX && cols <= INT32_MAX, CMG_ERR_MEMORY,
               "%lld columns on one rank do not fit 32 bits", (long long)rows);
    CMGI_TRY(cmgi_csr_by_rows(ctx, rows, cols, own_columns, &c, &own));
    CMGI_TRY(cmgi_csr_transpose(ctx, &own.view, &transposed));
    CMGI_TRY(cmgi_rows_take(ctx, &transposed, col_part[me], T));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (cols > 4096)
    for (cmg_size k = 0; k < T->indptr[cols]; ++k) {
        const cmg_size row = transposed.indices[k] - c.before;
        const bool mine = row >= 0 && row < A->rows;
        T->indices[k] =
            mine ? A->first + row : got[row < 0 ? row + c.before : row + c.before - A->rows].row;
    }
    return CMG_OK;
}

cmg_status cmgi_rows_multiply(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_own_rows *B,
                              const cmg_size *part, cmgi_own_rows *C)
{
    cmgi_numbers inner = {0};
    cmgi_numbers outer = {0};
    cmgi_own_rows fetched = {0};
    cmg_index *places[2] = {NULL, NULL};
    cmgi_scoped_csr product = {0};
    CMGI_FREED(ctx, &places[0], &places[1], &inner.number, &outer.number);
    CMGI_RELEASED(cmgi_rows_free, ctx, &fetched);
    CMGI_TRY(cmgi_rows_columns(ctx, A, 0, 0, NULL, &inner));
    CMGI_TRY(cmgi_rows_fetch(ctx, B, part, &inner, &fetched));
    CMGI_TRY(cmgi_rows_columns(ctx, &fetched, 0, 0, NULL, &outer));
    CMGI_TRY(place(ctx, A, &inner, &places[0]));
    CMGI_TRY(place(ctx, &fetched, &outer, &places[1]));
    const cmg_csr left = {A->rows, inner.count, A->indptr, places[0], A->values};
    const cmg_csr right = {inner.count, outer.count, fetched.indptr, places[1], fetched.values};
    CMGI_TRY(cmgi_csr_multiply(ctx, &left, &right, &product));
    CMGI_TRY(cmgi_rows_take(ctx, &product, A->first, C));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (C->rows > 4096)
    for (cmg_size k = 0; k < C->indptr[C->rows]; ++k) {
        C->indices[k] = outer.number[product.indices[k]];
    }
    return CMG_OK;
}
