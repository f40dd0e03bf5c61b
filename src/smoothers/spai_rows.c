/*
 * Rows of sparse approximate inverses by normal equations, a sixth of the work of Householder QR,
 * or by that where they lose too much; in parallel over rows, see spai.h.
 *
 * Source  Grote and Huckle, Parallel preconditioning with sparse approximate inverses, SIAM J. Sci.
 *         Comput. 18 (1997), section 2.
 */
#include "smoothers/spai.h"

#include "core/inline.h"
#include "csr/small_dense.h"
#include "smoothers/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * Turns x into the Householder vector v with (I - 2 v v^T / v^T v) x = r e_1, scaled so that
 * 2 / v^T v = 1 / (r (r - x_1)) needs no division later: *scale gets it. Returns r, or 0, and x
 * stays, when x is to rounding nothing beside the part of its column above, of squared norm above2.
 */
static double reflect(cmg_size n, double *restrict x, double tolerance, double above2,
                      double *scale)
{
    const double norm2 = cmgi_dot(n, x, x);
    if (!(norm2 > tolerance * tolerance * (above2 + norm2))) {
        return 0;
    }
    const double r = x[0] > 0 ? -sqrt(norm2) : sqrt(norm2);
    *scale = 1 / (r * (r - x[0]));
    x[0] -= r;
    return r;
}

void cmgi_qr_solve(cmg_size m, cmg_size n, double *restrict L, double *restrict b,
                   double *restrict diagonal, double *restrict x)
{
    const double tolerance = DBL_EPSILON * (double)(m + n);
    cmg_size row =
        0; /* rank of the columns before k, and the row of R that column k is to end in */
    for (cmg_size k = 0; k < n; ++k) {
        double *v = L + k * m + row;
        const double above2 = cmgi_dot(row, L + k * m, L + k * m);
        double scale = 0;
        diagonal[k] = reflect(m - row, v, tolerance, above2, &scale);
        if (diagonal[k] == 0) {
            continue;
        }
        for (cmg_size j = k + 1; j < n; ++j) {
            double *y = L + j * m + row;
            cmgi_subtract(m - row, scale * cmgi_dot(m - row, v, y), v, y);
        }
        cmgi_subtract(m - row, scale * cmgi_dot(m - row, v, b + row), v, b + row);
        ++row;
    }
    for (cmg_size k = n - 1; k >= 0; --k) {
        x[k] = 0;
        if (diagonal[k] != 0) {
            --row;
            x[k] = b[row] / diagonal[k];
            cmgi_subtract(row, x[k], L + k * m, b);
        }
    }
}

/* Pivots of L^T L that keep this share of the square of their column lose at most about 1 / SHARE
 * units of rounding. */
static const double SHARE = 1.0 / 1024;
enum { LANES = 4 };

static cmg_size width_of(cmg_size n)
{
    return (n + LANES - 1) / LANES * LANES;
}

cmg_status cmgi_spai_work_create(cmg_context *ctx, cmg_size all, cmg_size columns, cmg_size rows,
                                 cmg_size entries, cmgi_spai_work **work)
{
    cmgi_spai_work *made = NULL;
    CMGI_RELEASED(cmgi_spai_work_destroy, ctx, &made);
    CMGI_TRY(cmgi_alloc_zero(ctx, ctx->threads, sizeof *made, &made));
    for (int t = 0; t < ctx->threads; ++t) {
        CMGI_TRY(cmgi_alloc(ctx, rows + 1, sizeof(cmg_index), &made[t].list));
        CMGI_TRY(cmgi_alloc_zero(ctx, all, sizeof(cmg_index), &made[t].local));
        CMGI_TRY(cmgi_alloc(ctx, entries, sizeof(double), &made[t].L));
        CMGI_TRY(cmgi_alloc(ctx, rows, sizeof(double), &made[t].b));
        CMGI_TRY(cmgi_alloc(ctx, rows, sizeof(double), &made[t].weight));
        CMGI_TRY(cmgi_alloc(ctx, columns, sizeof(double), &made[t].diagonal));
        CMGI_TRY(cmgi_alloc(ctx, columns, sizeof(double), &made[t].x));
        CMGI_TRY(cmgi_alloc(ctx, rows * width_of(columns), sizeof(double), &made[t].rows));
        CMGI_TRY(cmgi_alloc(ctx, entries, sizeof(cmg_index), &made[t].place));
        CMGI_TRY(cmgi_alloc(ctx, columns * width_of(columns), sizeof(double), &made[t].G));
    }
    *work = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmgi_spai_work_destroy(cmg_context *ctx, cmgi_spai_work **work)
{
    for (int t = 0; *work != NULL && t < ctx->threads; ++t) {
        cmgi_spai_work *w = &(*work)[t];
        CMGI_FREE(ctx, w->list, w->local, w->L, w->b, w->weight, w->diagonal, w->x, w->rows,
                  w->place, w->G);
    }
    cmgi_free(ctx, cmgi_pass_on(work));
}

/*
 * x by the normal equations L^T L x = L^T b, by rows of L and of the upper triangle of L^T L; false
 * where a pivot is too small for that, which the values of L alone decide.
 */
CMGI_WIDE static bool solve_normal(const cmg_csr *A, const cmg_index *J, cmg_size n, cmg_index own,
                                   cmgi_spai_work *work)
{
    const cmg_size width = width_of(n);
    double *restrict x = work->x;
    const cmg_index *place = work->place;
    for (cmg_size p = 0; p < n; ++p) {
        const cmg_size begin = A->indptr[J[p]];
        const cmg_size length = A->indptr[J[p] + 1] - begin;
        for (cmg_size c = p / LANES * LANES; c < width; c += LANES) {
            double sum[LANES] = {0};
            for (cmg_size e = 0; e < length; ++e) {
                const double *restrict l = work->rows + place[e] * width + c;
                const double value = A->values[begin + e] * work->weight[place[e]];
                for (int t = 0; t < LANES; ++t) {
                    sum[t] += value * l[t];
                }
            }
            memcpy(work->G + p * width + c, sum, sizeof sum);
        }
        place += length;
        work->diagonal[p] = work->G[p * width + p];
        x[p] = own < 0 ? 0 : work->rows[own * width + p] * work->weight[own];
    }
    for (cmg_size k = 0; k < n; ++k) {
        const double *restrict row = work->G + k * width;
        if (!(row[k] > SHARE * work->diagonal[k])) {
            return false;
        }
        work->diagonal[k] = 1 / row[k];
        for (cmg_size r = k + 1; r < n; ++r) {
            double *restrict to = work->G + r * width;
            const double factor = row[r] * work->diagonal[k];
            for (cmg_size c = r / LANES * LANES; c < width; c += LANES) {
                for (int t = 0; t < LANES; ++t) {
                    to[c + t] -= factor * row[c + t];
                }
            }
            x[r] -= factor * x[k];
        }
    }
    for (cmg_size k = n - 1; k >= 0; --k) {
        x[k] *= work->diagonal[k];
        for (cmg_size r = 0; r < k; ++r) {
            x[r] -= work->G[r * width + k] * x[k];
        }
    }
    return true;
}

void cmgi_spai_row(const cmg_csr *A, cmg_size i, const cmg_index *J, cmg_size length, bool counted,
                   cmgi_spai_work *work)
{
    cmg_size count = 0;
    work->met = 0;
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            const cmg_index j = A->indices[k];
            const cmg_index found = cmgi_spai_local(work, j);
            const cmg_index at = found < 0 ? work->met : found;
            work->list[work->met] = j; /* no branch: which ones are new cannot be foretold */
            work->met += found < 0;
            work->local[j] = at;
            work->place[count++] = at;
        }
    }
    const cmg_size m = work->met;
    const cmg_size width = width_of(length);
    memset(work->rows, 0, (size_t)(m * width) * sizeof *work->rows);
    memset(work->weight, 0, (size_t)m * sizeof *work->weight);
    count = 0;
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            const cmg_index at = work->place[count++];
            work->rows[at * width + p] += A->values[k];
            work->weight[at] += 1;
        }
    }
    for (cmg_size l = 0; l < m && !counted; ++l) {
        work->weight[l] = 1;
    }
    const cmg_index own = cmgi_spai_local(work, (cmg_index)i);
    if (solve_normal(A, J, length, own, work)) {
        return;
    }
    for (cmg_size l = 0; l < m; ++l) { /* every equation times the square root of its weight */
        for (cmg_size k = 0; k < length; ++k) {
            work->L[k * m + l] = sqrt(work->weight[l]) * work->rows[l * width + k];
        }
        work->b[l] = l == own ? sqrt(work->weight[l]) : 0;
    }
    cmgi_qr_solve(m, length, work->L, work->b, work->diagonal, work->x);
}

typedef struct rows {
    const cmg_csr *A;
    bool counted;
    cmgi_spai_work *work;
    cmgi_csr *S;
} rows;

static bool make_row(const void *user, cmg_size i, int thread)
{
    const rows *r = user;
    cmgi_spai_work *mine = &r->work[thread];
    const cmg_size begin = r->S->indptr[i];
    const cmg_size length = r->S->indptr[i + 1] - begin;
    cmgi_spai_row(r->A, i, r->S->indices + begin, length, r->counted, mine);
    memcpy(r->S->values + begin, mine->x, (size_t)length * sizeof *mine->x);
    return true;
}

cmg_status cmgi_spai_static(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S)
{
    cmg_size sizes[3] = {0}; /* most columns, local rows and local entries of a row of S */
    cmg_size bad = 0;
    rows r = {.A = A, .counted = counted, .S = S};
    CMGI_RELEASED(cmgi_spai_work_destroy, ctx, &r.work);
    for (cmg_size i = 0; i < S->rows; ++i) {
        const cmg_size columns = S->indptr[i + 1] - S->indptr[i];
        cmg_size met = 0;
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            met += A->indptr[S->indices[k] + 1] - A->indptr[S->indices[k]];
        }
        met = met < A->cols ? met : A->cols;
        sizes[0] = columns > sizes[0] ? columns : sizes[0];
        sizes[1] = met > sizes[1] ? met : sizes[1];
        sizes[2] = met * columns > sizes[2] ? met * columns : sizes[2];
    }
    CMGI_TRY(cmgi_spai_work_create(ctx, A->cols, sizes[0], sizes[1], sizes[2], &r.work));
    return cmgi_each_row(ctx, "SPAI", S->rows, make_row, &r, &bad);
}
