/*
 * SPAI with patterns that grow where the residual is: with r = e_i^T - m A, a new column j in row i
 * of M can lower the squared norm of r by (r . A(j,:))^2 / |A(j,:)|^2 (its one-dimensional
 * minimum). In every step the best `add` candidates among the rows j of A that meet r enter, those
 * only that are better than the mean, and the row is solved anew.
 *
 * Source  Grote and Huckle 1997, sections 3 and 4, equation (3.6).
 */
#include "smoothers/spai.h"
#include "core/search.h"

#include <math.h>
#include <string.h>

typedef struct grower {
    const cmg_csr *A;
    const cmg_csr *T;    /* A^T: row l lists the rows of A that meet column l */
    const double *norm2; /* |A(j,:)|^2 */
    const cmgi_spai_growth *growth;
    bool counted;
} grower;

/* A thread's candidates. */
typedef struct candidates {
    cmgi_index_map rows;
    double *gain;
} candidates;

/* r = e_i - sum_p x_p A(J_p,:) in the local numbering; returns |r|. */
static double residual(const grower *g, cmg_size i, const cmg_index *J, cmg_size length,
                       cmgi_spai_work *work)
{
    const cmg_csr *A = g->A;
    const cmg_index at = cmgi_index_map_find(&work->map, (cmg_index)i);
    memset(work->b, 0, (size_t)work->map.length * sizeof *work->b);
    if (at >= 0) {
        work->b[at] = 1;
    }
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            work->b[cmgi_index_map_find(&work->map, A->indices[k])] -= work->x[p] * A->values[k];
        }
    }
    double sum = 0;
    for (cmg_index l = 0; l < work->map.length; ++l) {
        sum += work->b[l] * work->b[l];
    }
    return sqrt(sum);
}

/* Gain of every row of A that meets r and is not in J yet; returns the mean. */
static double find_candidates(const grower *g, const cmg_index *J, cmg_size length,
                              const cmgi_spai_work *work, candidates *c)
{
    cmgi_index_map_clear(&c->rows);
    for (cmg_index l = 0; l < work->map.length; ++l) {
        const cmg_index column = work->map.list[l];
        for (cmg_size k = g->T->indptr[column]; k < g->T->indptr[column + 1]; ++k) {
            const cmg_index before = c->rows.length;
            const cmg_index at = cmgi_index_map_add(&c->rows, g->T->indices[k]);
            c->gain[at] = (at == before ? 0 : c->gain[at]) + work->b[l] * g->T->values[k];
        }
    }
    double sum = 0;
    for (cmg_index at = 0; at < c->rows.length; ++at) {
        const double norm2 = g->norm2[c->rows.list[at]];
        c->gain[at] = norm2 > 0 ? c->gain[at] * c->gain[at] / norm2 : 0;
        sum += c->gain[at];
    }
    for (cmg_size p = 0; p < length; ++p) {
        const cmg_index at = cmgi_index_map_find(&c->rows, J[p]);
        sum -= at >= 0 ? c->gain[at] : 0;
        if (at >= 0) {
            c->gain[at] = -1;
        }
    }
    const cmg_size fresh = c->rows.length - length;
    return fresh > 0 ? fmax(sum, 0) / (double)fresh : 0;
}

/* Appends the best candidates to J; ties go to the smaller index. Returns the new length. */
static cmg_size enlarge(const grower *g, double mean, candidates *c, cmg_index *J, cmg_size length)
{
    for (int a = 0; a < g->growth->add; ++a) {
        cmg_index best = -1;
        for (cmg_index at = 0; at < c->rows.length; ++at) {
            const bool better =
                best < 0 || c->gain[at] > c->gain[best] ||
                (c->gain[at] == c->gain[best] && c->rows.list[at] < c->rows.list[best]);
            best = better ? at : best;
        }
        if (best < 0 || c->gain[best] <= 0 || c->gain[best] < mean * (1 - 1e-12)) {
            break;
        }
        c->gain[best] = -1;
        J[length++] = c->rows.list[best];
    }
    return length;
}

static cmg_size grow_row(const grower *g, cmg_size i, cmg_index *J, cmg_size length,
                         cmgi_spai_work *work, candidates *c)
{
    cmgi_spai_row(g->A, i, J, length, g->counted, work);
    for (int step = 0; step < g->growth->steps; ++step) {
        if (residual(g, i, J, length, work) <= g->growth->epsilon) {
            break;
        }
        const double mean = find_candidates(g, J, length, work, c);
        const cmg_size longer = enlarge(g, mean, c, J, length);
        if (longer == length) {
            break;
        }
        length = longer;
        cmgi_spai_row(g->A, i, J, length, g->counted, work);
    }
    return length;
}

static cmg_size smaller(cmg_size a, cmg_size b)
{
    return a < b ? a : b;
}

/* Rows of M, `room` places each: columns and values, and their lengths. */
typedef struct slab {
    cmg_size room;
    cmg_index *columns;
    double *values;
    cmg_size *indptr;
} slab;

static cmg_status grow_rows(cmg_context *ctx, const grower *g, const cmgi_csr *S,
                            cmgi_spai_work *work, candidates *c, slab *rows)
{
    enum { CHUNK = 8192 };
    for (cmg_size first = 0; first < S->rows; first += CHUNK) {
        const cmg_size last = smaller(first + CHUNK, S->rows);
        CMGI_TRY(cmgi_progress(ctx, "adaptive SPAI", first, S->rows));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 32)
        for (cmg_size i = first; i < last; ++i) {
            const cmg_size begin = S->indptr[i];
            const cmg_size length = S->indptr[i + 1] - begin;
            const int t = cmgi_thread();
            cmg_index *J = rows->columns + i * rows->room;
            memcpy(J, S->indices + begin, (size_t)length * sizeof *J);
            const cmg_size grown = grow_row(g, i, J, length, &work[t], &c[t]);
            memcpy(rows->values + i * rows->room, work[t].x, (size_t)grown * sizeof(double));
            rows->indptr[i + 1] = grown;
        }
    }
    return CMG_OK;
}

static cmg_status compact(cmg_context *ctx, slab *rows, cmgi_csr *S)
{
    const cmg_size n = S->rows;
    cmgi_csr made = {0};
    cmgi_add_up(rows->indptr, n);
    CMGI_TRY(cmgi_csr_alloc(ctx, n, S->cols, rows->indptr[n], &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size at = rows->indptr[i];
        const size_t length = (size_t)(rows->indptr[i + 1] - at);
        made.indptr[i] = at;
        memcpy(made.indices + at, rows->columns + i * rows->room, length * sizeof *made.indices);
        memcpy(made.values + at, rows->values + i * rows->room, length * sizeof *made.values);
    }
    cmgi_csr_free(ctx, S);
    *S = made;
    return cmgi_csr_sort(ctx, S);
}

static void squared_norms(cmg_context *ctx, const cmg_csr *A, double *norm2)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k] * A->values[k];
        }
        norm2[i] = sum;
    }
}

static cmg_status create_candidates(cmg_context *ctx, cmg_size room, candidates *c)
{
    for (int t = 0; t < ctx->threads; ++t) {
        CMGI_TRY(cmgi_index_map_create(ctx, room, &c[t].rows));
        CMGI_TRY(cmgi_alloc(ctx, room, sizeof(double), &c[t].gain));
    }
    return CMG_OK;
}

cmg_status cmgi_spai_adaptive(cmg_context *ctx, const cmg_csr *A, const cmgi_spai_growth *growth,
                              bool counted, cmgi_csr *S)
{
    const cmg_csr pattern = cmgi_csr_view(S);
    const cmg_size n = A->rows;
    cmgi_csr transposed = {0};
    double *norm2 = NULL;
    candidates *c = NULL;
    cmgi_spai_work *work = NULL;
    slab rows = {
        .room = smaller(cmgi_csr_longest_row(&pattern) + (cmg_size)growth->steps * growth->add, n)};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, A, &transposed));
    const cmg_csr T = cmgi_csr_view(&transposed);
    const cmg_size local = smaller(rows.room * cmgi_csr_longest_row(A), A->cols);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *norm2, &norm2));
    squared_norms(ctx, A, norm2);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n * rows.room, sizeof *rows.columns, &rows.columns));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n * rows.room, sizeof *rows.values, &rows.values));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n + 1, sizeof *rows.indptr, &rows.indptr));
    CMGI_TRY_GOTO(done, cmgi_spai_work_create(ctx, rows.room, local, local * rows.room, &work));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, ctx->threads, sizeof *c, &c));
    CMGI_TRY_GOTO(done, create_candidates(ctx, smaller(local * cmgi_csr_longest_row(&T), n), c));
    const grower g = {A, &T, norm2, growth, counted};
    CMGI_TRY_GOTO(done, grow_rows(ctx, &g, S, work, c, &rows));
    CMGI_TRY_GOTO(done, compact(ctx, &rows, S));
done:
    for (int t = 0; c != NULL && t < ctx->threads; ++t) {
        cmgi_index_map_destroy(ctx, &c[t].rows);
        cmgi_free(ctx, c[t].gain);
    }
    cmgi_free(ctx, c);
    cmgi_spai_work_destroy(ctx, &work);
    CMGI_FREE(ctx, rows.columns, rows.values, rows.indptr, norm2);
    cmgi_csr_free(ctx, &transposed);
    return status;
}
