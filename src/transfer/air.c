#include "transfer/air.h"

#include "core/memory.h"
#include "core/order.h"
#include "csr/by_rows.h"
#include "csr/ideal.h"
#include "transfer/classical.h"

#include <math.h>

/*
 * Entries of R below are left out, and the others solved for again, at distance 1 and 2: in the
 * plane a fifth less entries of coarse levels, in space a third to a half, for the same iterations
 * or one more.
 */
static const double LEAST[] = {0.05, 0.02};

typedef struct surroundings {
    const cmg_csr *A;
    const cmg_index *number;
    double *largest; /* size of the couplings of every row */
    const cmg_coarsen_options *options;
} surroundings;

/* Adds the fine rows that row i is coupled to; returns how many there are. */
static int reach(const surroundings *s, cmg_index i, int count, cmg_index *list)
{
    const cmg_csr *A = s->A;
    const double least = s->options->near * s->largest[i];
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1] && count < CMGI_IDEAL_MOST; ++k) {
        const cmg_index j = A->indices[k];
        bool wanted =
            fabs(A->values[k]) >= least && s->number[j] < 0 && j != i && A->values[k] != 0;
        for (int p = 0; wanted && p < count; ++p) {
            wanted = list[p] != j;
        }
        if (wanted) {
            list[count++] = j;
        }
    }
    return count;
}

/* Coarse row c and the fine rows near it, ascending. */
static int gather_near(const surroundings *s, cmg_index c, cmg_index *N)
{
    N[0] = c;
    int count = reach(s, c, 1, N);
    const int near = s->options->distance > 1 ? count : 1;
    for (int p = 1; p < near; ++p) {
        count = reach(s, N[p], count, N);
    }
    cmgi_sort_indices(N, count);
    return count;
}

/* Row of R of coarse row c; returns its length. */
static cmg_size restrict_to(const surroundings *s, cmg_index c, cmg_index *N, double *z)
{
    const double least = LEAST[s->options->distance - 1];
    const int count = gather_near(s, c, N);
    int kept = 0;
    cmgi_ideal_solve(s->A, c, count, N, z);
    for (int p = 0; p < count; ++p) {
        if (fabs(z[p]) >= least) {
            N[kept++] = N[p];
        }
    }
    if (kept < count) {
        cmgi_ideal_solve(s->A, c, kept, N, z);
    }
    return kept;
}

static cmg_status restriction(cmg_context *ctx, const cmg_csr *A, const cmg_coarsen_options *o,
                              const cmgi_splitting *split, cmgi_csr *R)
{
    surroundings s = {A, split->number, NULL, o};
    cmgi_slab rows = {0};
    int longest = 0;
    CMGI_FREED(ctx, &s.largest);
    CMGI_RELEASED(cmgi_slab_free, ctx, &rows);
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *s.largest, &s.largest));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        s.largest[i] = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const double size = A->indices[k] != i ? fabs(A->values[k]) : 0;
            s.largest[i] = size > s.largest[i] ? size : s.largest[i];
        }
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : longest)
    for (cmg_size i = 0; i < A->rows; ++i) {
        cmg_index N[CMGI_IDEAL_MOST];
        const int length = s.number[i] >= 0 ? gather_near(&s, (cmg_index)i, N) : 0;
        longest = length > longest ? length : longest;
    }
    CMGI_TRY(cmgi_slab_create(ctx, split->coarse, longest, &rows));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size r = split->number[i];
        if (r >= 0) {
            rows.length[r] = restrict_to(&s, (cmg_index)i, rows.columns + r * rows.room,
                                         rows.values + r * rows.room);
        }
    }
    return cmgi_slab_compact(ctx, split->coarse, A->rows, &rows, R);
}

cmg_status cmgi_air(cmg_context *ctx, const cmg_csr *A, double theta, const cmg_coarsen_options *o,
                    cmgi_csr *P, cmgi_csr *R)
{
    cmgi_splitting s = {0};
    CMGI_RELEASED(cmgi_splitting_free, ctx, &s);
    CMGI_TRY(cmgi_split_in_order(ctx, A, theta, &s));
    if (s.coarse > 0 && s.coarse < A->rows) {
        CMGI_TRY(cmgi_classical_interpolation(ctx, A, &s, o->interpolation, P));
        return restriction(ctx, A, o, &s, R);
    }
    return CMG_OK;
}

cmg_status cmgi_air_values(cmg_context *ctx, const cmg_csr *A, cmgi_csr *R)
{
    bool all = false;
    CMGI_SCOPED(ctx, R->rows, cmg_index, row);
    CMGI_TRY(cmgi_ideal_rows(ctx, &R->view, row, &all));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size r = 0; r < (all ? R->rows : 0); ++r) {
        const cmg_size k = R->indptr[r];
        cmgi_ideal_solve(A, row[r], (int)(R->indptr[r + 1] - k), R->indices + k, R->values + k);
    }
    return CMG_OK;
}
