/* Facts of a matrix on the host; see facts.h. On a grid most rows are the row before, one column
 * on: of those nothing is computed again. */
#include "csr/facts.h"

#include "core/memory.h"
#include "csr/resident.h"

#include <math.h>
#include <string.h>

enum { SMALL = 4096 };

/* Of one row: |a_ii|, the sum of magnitudes, and the two largest of those beside the diagonal. */
typedef struct row_look {
    double diagonal;
    double sum;
    double most;
    double second;
} row_look;

static row_look look_at_row(const cmg_csr *A, cmg_size i)
{
    row_look row = {0, cmgi_row_magnitude(A, i), 0, 0};
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const double a = fabs(A->values[k]);
        const double other = A->indices[k] == i ? 0 : a;
        const double less = other < row.most ? other : row.most;
        row.diagonal += a - other;
        row.second = less > row.second ? less : row.second;
        row.most = other > row.most ? other : row.most;
    }
    return row;
}

static bool repeats(const cmg_csr *A, cmg_size i)
{
    const cmg_size begin = A->indptr[i];
    const cmg_size length = A->indptr[i + 1] - begin;
    return begin - A->indptr[i - 1] == length &&
           memcmp(A->values + begin, A->values + A->indptr[i - 1],
                  (size_t)length * sizeof *A->values) == 0 &&
           cmgi_csr_same_columns(A, i, i - 1, 1);
}

/* Of the rows from .. to - 1. */
static cmgi_csr_facts look_at_rows(const cmg_csr *A, cmg_size from, cmg_size to, cmg_size first,
                                   cmg_size last)
{
    cmgi_csr_facts f = {.known = true, .bad = -1};
    row_look row = {0};
    for (cmg_size i = from; i < to; ++i) {
        if (i == from || !repeats(A, i)) {
            row = look_at_row(A, i);
            f.bad = f.bad < 0 && (row.diagonal == 0 || !isfinite(row.sum)) ? i : f.bad;
            f.gershgorin = fmax(f.gershgorin, row.sum * (1 / row.diagonal));
        }
        const bool own = i >= first && i < last;
        const double two = row.most + row.second;
        f.identity += own && row.most == 0;
        f.dominated += own && row.sum <= (1 + CMGI_DOMINATED) * row.diagonal;
        f.lines += own && two > CMGI_LINE * row.diagonal;
        f.strong_lines += own && two > CMGI_STRONG_LINE * row.diagonal &&
                          A->indptr[i + 1] - A->indptr[i] >= CMGI_STRONG_ENTRIES;
    }
    return f;
}

cmg_status cmgi_csr_facts_take(cmg_context *ctx, const cmg_csr *A, cmg_size first, cmg_size last,
                               cmgi_csr_facts *facts)
{
    const int parts = A->rows > SMALL ? ctx->threads : 1;
    cmgi_csr_facts all = {.known = true, .bad = -1};
    cmgi_csr_facts *part = NULL;
    CMGI_TRY(cmgi_alloc(ctx, parts, sizeof *part, &part));
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        part[p] = look_at_rows(A, A->rows * p / parts, A->rows * (p + 1) / parts, first, last);
    }
    for (int p = 0; p < parts; ++p) {
        all.bad = all.bad < 0 ? part[p].bad : all.bad;
        all.identity += part[p].identity;
        all.dominated += part[p].dominated;
        all.lines += part[p].lines;
        all.strong_lines += part[p].strong_lines;
        all.gershgorin = fmax(all.gershgorin, part[p].gershgorin);
    }
    cmgi_free(ctx, part);
    *facts = all;
    return CMG_OK;
}
