/*
 * SPAI with patterns that grow where the residual is: with r = e_i^T - m A, a new column j in row i
 * of M can lower the squared norm of r by (r . A(j,:))^2 / |A(j,:)|^2 (its one-dimensional
 * minimum). In every step the best `add` candidates among the rows j of A that meet r enter, those
 * only that are better than the mean, and the row is solved anew.
 *
 * Source  Grote and Huckle 1997, sections 3 and 4, equation (3.6).
 */
#include "csr/by_rows.h"
#include "smoothers/rows.h"
#include "smoothers/spai.h"

#include <math.h>
#include <string.h>

typedef struct grower {
    const cmg_csr *A;
    const cmg_csr *T;    /* A^T: row l lists the rows of A that meet column l */
    const double *norm2; /* |A(j,:)|^2 */
    const cmgi_spai_growth *growth;
    bool counted;
    const cmgi_csr *S;    /* the pattern to begin with */
    cmgi_spai_work *work; /* of the threads */
    cmgi_row_work *found; /* likewise: candidates, and their gains */
    cmgi_slab rows;
} grower;

/* r = e_i - sum_p x_p A(J_p,:) in the local numbering; returns |r|. */
static double residual(const grower *g, cmg_size i, const cmg_index *J, cmg_size length,
                       cmgi_spai_work *work)
{
    const cmg_csr *A = g->A;
    const cmg_index at = cmgi_spai_local(work, (cmg_index)i);
    memset(work->b, 0, (size_t)work->met * sizeof *work->b);
    if (at >= 0) {
        work->b[at] = 1;
    }
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            work->b[cmgi_spai_local(work, A->indices[k])] -= work->x[p] * A->values[k];
        }
    }
    double sum = 0;
    for (cmg_index l = 0; l < work->met; ++l) {
        sum += work->b[l] * work->b[l];
    }
    return sqrt(sum);
}

/* Gain of every row of A that meets r and is not in J yet; returns the mean. */
static double find_candidates(const grower *g, const cmg_index *J, cmg_size length,
                              const cmgi_spai_work *work, cmgi_row_work *c)
{
    cmgi_index_map_clear(&c->map);
    for (cmg_index l = 0; l < work->met; ++l) {
        const cmg_index column = work->list[l];
        for (cmg_size k = g->T->indptr[column]; k < g->T->indptr[column + 1]; ++k) {
            const cmg_index before = c->map.length;
            const cmg_index at = cmgi_index_map_add(&c->map, g->T->indices[k]);
            c->H[at] = (at == before ? 0 : c->H[at]) + work->b[l] * g->T->values[k];
        }
    }
    double sum = 0;
    for (cmg_index at = 0; at < c->map.length; ++at) {
        const double norm2 = g->norm2[c->map.list[at]];
        c->H[at] = norm2 > 0 ? c->H[at] * c->H[at] / norm2 : 0;
        sum += c->H[at];
    }
    for (cmg_size p = 0; p < length; ++p) {
        const cmg_index at = cmgi_index_map_find(&c->map, J[p]);
        sum -= at >= 0 ? c->H[at] : 0;
        if (at >= 0) {
            c->H[at] = -1;
        }
    }
    const cmg_size fresh = c->map.length - length;
    return fresh > 0 ? fmax(sum, 0) / (double)fresh : 0;
}

/* Appends the best candidates to J; ties go to the smaller index. Returns the new length. */
static cmg_size enlarge(const grower *g, double mean, cmgi_row_work *c, cmg_index *J,
                        cmg_size length)
{
    for (int a = 0; a < g->growth->add; ++a) {
        cmg_index best = -1;
        for (cmg_index at = 0; at < c->map.length; ++at) {
            const bool better = best < 0 || c->H[at] > c->H[best] ||
                                (c->H[at] == c->H[best] && c->map.list[at] < c->map.list[best]);
            best = better ? at : best;
        }
        if (best < 0 || c->H[best] <= 0 || c->H[best] < mean * (1 - 1e-12)) {
            break;
        }
        c->H[best] = -1;
        J[length++] = c->map.list[best];
    }
    return length;
}

static cmg_size smaller(cmg_size a, cmg_size b)
{
    return a < b ? a : b;
}

static bool make_row(const void *user, cmg_size i, int thread)
{
    const grower *g = user;
    const cmg_size begin = g->S->indptr[i];
    cmg_size length = g->S->indptr[i + 1] - begin;
    cmg_index *J = g->rows.columns + i * g->rows.room;
    cmgi_spai_work *work = &g->work[thread];
    cmgi_row_work *c = &g->found[thread];
    memcpy(J, g->S->indices + begin, (size_t)length * sizeof *J);
    cmgi_spai_row(g->A, i, J, length, g->counted, work);
    for (int step = 0; step < g->growth->steps; ++step) {
        if (residual(g, i, J, length, work) <= g->growth->epsilon) {
            break;
        }
        const cmg_size longer = enlarge(g, find_candidates(g, J, length, work, c), c, J, length);
        if (longer == length) {
            break;
        }
        length = longer;
        cmgi_spai_row(g->A, i, J, length, g->counted, work);
    }
    g->rows.length[i] = length;
    memcpy(g->rows.values + i * g->rows.room, work->x, (size_t)length * sizeof *work->x);
    return true;
}

cmg_status cmgi_spai_adaptive(cmg_context *ctx, const cmg_csr *A, const cmgi_spai_growth *growth,
                              bool counted, cmgi_csr *S)
{
    const cmg_size n = A->rows;
    const cmg_size room =
        smaller(cmgi_csr_longest_row(&S->view) + (cmg_size)growth->steps * growth->add, n);
    const cmg_size local = smaller(room * cmgi_csr_longest_row(A), A->cols);
    cmgi_scoped_csr transposed = {0};
    cmgi_scoped_csr made = {0};
    cmg_size bad = 0;
    grower g = {.A = A, .growth = growth, .counted = counted, .S = S};
    CMGI_RELEASED(cmgi_slab_free, ctx, &g.rows);
    CMGI_RELEASED(cmgi_spai_work_destroy, ctx, &g.work);
    CMGI_RELEASED(cmgi_row_work_destroy, ctx, &g.found);
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &transposed));
    g.T = &transposed.view;
    CMGI_SCOPED(ctx, n, double, norm2);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < n; ++i) {
        norm2[i] = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            norm2[i] += A->values[k] * A->values[k];
        }
    }
    g.norm2 = norm2;
    CMGI_TRY(cmgi_slab_create(ctx, n, room, &g.rows));
    CMGI_TRY(cmgi_spai_work_create(ctx, A->cols, room, local, local * room, &g.work));
    const cmg_size most = smaller(local * cmgi_csr_longest_row(&transposed.view), n);
    CMGI_TRY(cmgi_row_work_create(ctx, most, most, &g.found));
    CMGI_TRY(cmgi_each_row(ctx, "adaptive SPAI", n, make_row, &g, &bad));
    CMGI_TRY(cmgi_slab_compact(ctx, n, n, &g.rows, &made));
    cmgi_csr_free(ctx, S);
    *S = cmgi_csr_pass_on(&made);
    return CMG_OK;
}
