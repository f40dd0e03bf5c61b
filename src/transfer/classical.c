#include "transfer/classical.h"

#include "core/each.h"
#include "core/order.h"
#include "core/search.h"
#include "transfer/aggregate.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "transfer/classical.inc"

CMGI_CSR_BY_BODY(weigh, weigh_row, weighing)
CMGI_CSR_BY_BODY(cut, cut_row, cutting)

cmg_status cmgi_classical_interpolation(cmg_context *ctx, const cmg_csr *A, const cmgi_splitting *s,
                                        int most, cmgi_csr *P)
{
    const cmgi_place at = s->at;
    cmgi_csr N = {.rows = A->rows, .cols = s->coarse};
    cmgi_csr M = {.rows = A->rows, .cols = A->rows};
    cmgi_csr Q = {0};
    cmgi_csr made = {.rows = A->rows, .cols = s->coarse};
    weighing w = {.S = s->S.view, .number = s->number};
    cutting c = {.A = *A, .number = s->number, .most = most > 0 ? most : INT_MAX};
    cmg_size nnz = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(N), CMGI_ARRAYS(M), CMGI_ARRAYS(Q), CMGI_ARRAYS(made), &w.beta);
    CMGI_TRY(cmgi_alloc_at(ctx, at, A->rows, sizeof *w.beta, &w.beta));
    CMGI_TRY(weigh(ctx, at, &w, &N, &nnz));
    w.fine = true;
    CMGI_TRY(weigh(ctx, at, &w, &M, &nnz));
    CMGI_TRY(cmgi_csr_multiply_at(ctx, at, &M.view, &N.view, &Q));
    c.Q = Q.view;
    CMGI_TRY(cut(ctx, at, &c, &made, &nnz));
    return cmgi_csr_settle_at(ctx, at, &made, P);
}

cmg_status cmgi_classical(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double theta, int most,
                          cmgi_csr *P)
{
    cmgi_splitting s = {0};
    CMGI_RELEASED(cmgi_splitting_free, ctx, &s);
    CMGI_TRY(cmgi_split(ctx, at, A, theta, &s));
    return s.coarse > 0 && s.coarse < A->rows ? cmgi_classical_interpolation(ctx, A, &s, most, P)
                                              : CMG_OK;
}

/* ------------------------------------------------------------------ choice */

enum { SAMPLE = 128, MOST = 1 << 16 };
/* Of the largest coupling of a row. */
static const double TINY = 0.01;
static const double ROUNDED = 1e-13; /* 0 but for rounding, as of trilinear elements along axes */

/* Of the rows of a sample. */
typedef struct sampled {
    cmg_size one; /* rows in reach of one coupling */
    cmg_size two;
    cmg_size couplings;
    cmg_size weak;
    double sizes; /* of a_ij and a_ji; of their differences, the larger ones, a_ij */
    double differences;
    double larger;
    double own;
    double opposed; /* of other sign than the diagonal */
    cmg_size tiny;
} sampled;

/* Rows around those of a sample: all of A, or copies of some of a matrix on the device. */
typedef struct surroundings {
    cmg_csr rows;
    cmg_index *of; /* which rows these are, ascending; NULL = all */
    double theta;
    cmg_index *list; /* MOST */
    cmg_size count;
} surroundings;

static cmg_size place_of(const surroundings *s, cmg_index i)
{
    return s->of != NULL ? cmgi_search_index(s->of, 0, s->rows.rows, i) : i;
}

/* Sorts a list and leaves each number once; returns how many these are. */
static cmg_size once_each(cmg_index *list, cmg_size count)
{
    cmg_size kept = 0;
    cmgi_sort_indices(list, count);
    for (cmg_size k = 0; k < count; ++k) {
        list[kept] = list[k];
        kept += k + 1 == count || list[k + 1] != list[k];
    }
    return kept;
}

/* Adds the columns of row i that are not 0 to the list. */
static void add_columns(surroundings *s, cmg_index i)
{
    const cmg_csr *A = &s->rows;
    const cmg_size at = place_of(s, i);
    for (cmg_size k = A->indptr[at]; k < A->indptr[at + 1] && s->count < MOST; ++k) {
        s->list[s->count] = A->indices[k];
        s->count += A->values[k] != 0;
    }
}

static void look_at_couplings(const surroundings *s, cmg_index i, sampled *to)
{
    const cmg_csr *A = &s->rows;
    const cmg_size at = place_of(s, i);
    const double diagonal = cmgi_csr_entry(A, at, i);
    const double sign = diagonal < 0 ? 1 : -1;
    double largest = 0;
    double sum = 0;
    for (cmg_size k = A->indptr[at]; k < A->indptr[at + 1]; ++k) {
        const double size = A->indices[k] != i ? sign * A->values[k] : 0;
        largest = size > largest ? size : largest;
        sum += fabs(size);
    }
    const double rounded = ROUNDED * largest;
    largest = sum > CMGI_ISOLATED * fabs(diagonal) ? largest : INFINITY;
    for (cmg_size k = A->indptr[at]; k < A->indptr[at + 1]; ++k) {
        const double there = A->values[k];
        if (A->indices[k] == i || there == 0) {
            continue;
        }
        const double back = cmgi_csr_entry(A, place_of(s, A->indices[k]), i);
        ++to->couplings;
        to->weak += !(sign * there > 0 && sign * there >= s->theta * largest);
        to->tiny += fabs(there) < TINY * largest && fabs(there) > rounded;
        to->sizes += fabs(there) + fabs(back);
        to->differences += fabs(there - back);
        to->larger += fmax(fabs(there), fabs(back));
        to->own += fabs(there);
        to->opposed += sign * there > 0 ? fabs(there) : 0;
    }
}

cmg_status cmgi_look_for_levels(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                                double theta, cmgi_suits *suits)
{
    const cmg_size n = A->rows;
    const cmg_size step = n > SAMPLE ? n / SAMPLE | 1 : 1; /* odd: not along a side of a grid */
    surroundings s = {.rows = *A, .theta = theta};
    sampled of = {0};
    cmgi_scoped_csr near = {0};
    cmgi_scoped_csr rows = {0};
    cmg_index row[2 * SAMPLE];
    cmg_size count = 0;
    CMGI_FREED(ctx, &s.list, &s.of);
    for (cmg_size i = step / 2; i < n; i += step) {
        row[count++] = (cmg_index)i;
    }
    CMGI_TRY(cmgi_alloc(ctx, MOST, sizeof *s.list, &s.list));
    if (there != NULL) { /* the rows and those that they are coupled to */
        CMGI_TRY(cmgi_rows_on_host(ctx, A, there, row, count, &near));
        const cmg_size nnz = near.indptr[count];
        CMGI_TRY(cmgi_alloc(ctx, count + nnz, sizeof *s.of, &s.of));
        memcpy(s.of, row, (size_t)count * sizeof *row);
        memcpy(s.of + count, near.indices, (size_t)nnz * sizeof *row);
        CMGI_TRY(cmgi_rows_on_host(ctx, A, there, s.of, once_each(s.of, count + nnz), &rows));
        s.rows = rows.view;
    }
    for (cmg_size k = 0; k < count; ++k) {
        s.count = 0;
        look_at_couplings(&s, row[k], &of);
        add_columns(&s, row[k]);
        const cmg_size coupled = s.count;
        for (cmg_size j = 0; j < coupled; ++j) {
            add_columns(&s, s.list[j]);
        }
        of.one += coupled > 0 ? coupled - 1 : 0;
        of.two += coupled > 0 ? once_each(s.list, s.count) - 1 : 0;
    }
    const bool symmetric = of.couplings > 0 && of.differences <= 1e-8 * of.sizes;
    const bool host = ctx->backend->alloc == NULL;
    const bool quadratic = host ? 12 * of.weak >= 7 * of.couplings
                                : 2 * of.weak >= of.couplings && 2 * of.two >= 13 * of.one;
    const bool jumps = of.opposed >= 0.999 * of.own && 25 * of.tiny >= of.couplings;
    suits->plane = 10 * of.two < 36 * of.one;
    suits->classical = symmetric && (suits->plane || quadratic || jumps);
    suits->weak = symmetric && (suits->plane || host) && 50 * of.weak >= of.couplings;
    suits->flow = of.sizes > 0 && of.differences >= 0.6 * of.sizes && of.larger >= 0.7 * of.sizes &&
                  of.opposed >= 0.6 * of.own;
    return CMG_OK;
}
