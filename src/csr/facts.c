/* Facts of a matrix on the host; see facts.h. On a grid most rows are the row before, one column
 * on: of those nothing is computed again, nor looked at by who gets to know. */
#include "csr/facts.h"

#include "core/lanes.h"
#include "core/memory.h"
#include "csr/small_dense.h"

#include <math.h>
#include <string.h>

enum { SMALL = 4096 };

/* Of one row: a_ii, the sum of magnitudes, and the largest of those beside the diagonal; the second
 * largest, too, where the row may be a line. */
typedef struct row_look {
    double value;
    double diagonal;
    double sum;
    double most;
    double second;
} row_look;

double cmgi_row_magnitude(const cmg_csr *A, cmg_size i)
{
    cmgi_row_sum sum = {{0}};
    for (cmg_size k = A->indptr[i], e = 0; k < A->indptr[i + 1]; ++k, ++e) {
        cmgi_row_add(&sum, e, fabs(A->values[k]));
    }
    return cmgi_row_total(&sum);
}

/* fmax is a call, and past what is no number as this. */
static inline double above(double x, double y)
{
    return y > x ? y : x;
}

static row_look look_at_row(const cmg_csr *A, cmg_size i)
{
    const double *values = A->values + A->indptr[i];
    const cmg_size n = A->indptr[i + 1] - A->indptr[i];
    const cmg_size k = cmgi_csr_diagonal_entry(A, i) - A->indptr[i];
    const double value = k < n ? values[k] : 0;
    row_look row = {value, fabs(value), cmgi_row_magnitude(A, i), cmgi_largest(k, values), 0};
    if (k < n) {
        row.most = above(row.most, cmgi_largest(n - k - 1, values + k + 1));
    }
    double most = 0;
    for (cmg_size e = 0; e < n && 2 * row.most > CMGI_LINE * row.diagonal; ++e) {
        const double other = e == k ? 0 : fabs(values[e]);
        const double less = other < most ? other : most;
        row.second = less > row.second ? less : row.second;
        most = other > most ? other : most;
    }
    return row;
}

/* Of the rows from .. to - 1. */
static cmgi_csr_facts look_at_rows(const cmg_csr *A, cmg_size from, cmg_size to, cmg_size first,
                                   cmg_size last, const cmgi_row_looks *looks)
{
    cmgi_csr_facts f = {.known = true, .bad = -1, .rows.least = INFINITY};
    row_look row = {0};
    for (cmg_size i = from; i < to; ++i) {
        uint8_t same = 0; /* what it has of the row before */
        if (i > 0 && cmgi_csr_same_columns(A, i, i - 1, 1)) {
            const double *values = A->values + A->indptr[i];
            const cmg_size length = A->indptr[i + 1] - A->indptr[i];
            same = memcmp(values, values - length, (size_t)length * sizeof *values) == 0
                       ? CMGI_SAME_ROWS
                       : CMGI_SAME_COLUMNS;
        }
        if (i == from || same != CMGI_SAME_ROWS) {
            row = look_at_row(A, i);
            f.bad = f.bad < 0 && (row.diagonal == 0 || !isfinite(row.sum)) ? i : f.bad;
            f.rows.gershgorin = above(f.rows.gershgorin, row.sum * (1 / row.diagonal));
            f.rows.coupling = above(f.rows.coupling, row.most * (1 / row.diagonal));
        }
        if (looks->wanted) {
            looks->same[i] = same;
            looks->diagonal[i] = row.value;
        }
        const bool own = i >= first && i < last;
        const double two = row.most + row.second;
        f.rows.most = own ? above(f.rows.most, row.diagonal) : f.rows.most;
        f.rows.least = own && row.diagonal < f.rows.least ? row.diagonal : f.rows.least;
        f.rows.identity += own && row.most == 0;
        f.dominated += own && row.sum <= (1 + CMGI_DOMINATED) * row.diagonal;
        f.rows.lines += own && two > CMGI_LINE * row.diagonal;
        f.strong_lines += own && two > CMGI_STRONG_LINE * row.diagonal &&
                          A->indptr[i + 1] - A->indptr[i] >= CMGI_STRONG_ENTRIES;
    }
    return f;
}

/* The same of rows that are met so many times. */
static void add_facts(const cmgi_csr_facts *part, cmg_size many, cmgi_csr_facts *all)
{
    const bool sooner = part->bad >= 0 && (all->bad < 0 || part->bad < all->bad);
    all->bad = sooner ? part->bad : all->bad;
    all->rows.identity += many * part->rows.identity;
    all->dominated += many * part->dominated;
    all->rows.lines += many * part->rows.lines;
    all->strong_lines += many * part->strong_lines;
    all->rows.gershgorin = fmax(all->rows.gershgorin, part->rows.gershgorin);
    all->rows.coupling = fmax(all->rows.coupling, part->rows.coupling);
    all->rows.most = fmax(all->rows.most, part->rows.most);
    all->rows.least = fmin(all->rows.least, part->rows.least);
}

void cmgi_csr_facts_of_kinds(const cmg_csr *kinds, const cmg_index *row, const cmg_size *many,
                             cmgi_csr_facts *facts)
{
    const cmgi_row_looks none = {0};
    *facts = (cmgi_csr_facts){.known = true, .bad = -1, .rows.least = INFINITY};
    for (cmg_size k = 0; k < kinds->rows; ++k) {
        cmgi_csr_facts of = look_at_rows(kinds, k, k + 1, k, k + 1, &none);
        of.bad = of.bad < 0 ? -1 : row[k];
        add_facts(&of, many[k], facts);
    }
}

cmg_status cmgi_csr_facts_take(cmg_context *ctx, const cmg_csr *A, cmg_size first, cmg_size last,
                               cmgi_csr_facts *facts)
{
    const int parts = A->rows > SMALL ? ctx->threads : 1;
    cmgi_csr_facts all = {
        .known = true, .bad = -1, .rows.least = INFINITY, .looks.wanted = facts->looks.wanted};
    CMGI_FREED(ctx, &all.looks.same, &all.looks.diagonal);
    cmgi_csr_facts_forget(ctx, facts);
    if (all.looks.wanted) {
        CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *all.looks.same, &all.looks.same));
        CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *all.looks.diagonal, &all.looks.diagonal));
    }
    CMGI_SCOPED(ctx, parts, cmgi_csr_facts, part);
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        part[p] = look_at_rows(A, A->rows * p / parts, A->rows * (p + 1) / parts, first, last,
                               &all.looks);
    }
    for (int p = 0; p < parts; ++p) {
        add_facts(&part[p], 1, &all);
    }
    CMGI_PASS_ON(&all, facts);
    return CMG_OK;
}

void cmgi_csr_facts_forget(cmg_context *ctx, cmgi_csr_facts *facts)
{
    if (!facts->looks.borrowed) {
        CMGI_FREE(ctx, facts->looks.same, facts->looks.diagonal);
    }
    facts->looks = (cmgi_row_looks){0};
}
