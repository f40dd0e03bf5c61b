#include "transfer/null_space.h"

#include "core/ranks.h"
#include "core/memory.h"
#include "csr/small_dense.h"
#include "transfer/aggregate.h"

#include <math.h>
#include <string.h>

static const double DEPENDENT = 1e-10; /* what is left of a vector that the others give already */

void cmgi_null_space_free(cmg_context *ctx, cmgi_null_space *space)
{
    cmgi_free(ctx, space->q);
    *space = (cmgi_null_space){0};
}

enum { SOME_ROWS = 1 << 12, MOST = 8 }; /* looked at before all others; unknowns a node */
enum { FEW_ROWS = 64 };                 /* of those, fetched from a device before the rest */

/*
 * |(A v)_i| <= tolerance sum_j |a_ij| max(|v_j|, least) is 0. Rounding of an entry of v is that of
 * the largest one, or of the coordinates that it was made of: a rotation has small ones near its
 * middle, as exact as the others.
 */
typedef struct limits {
    double tolerance;
    double least;
} limits;

/* The first row where A v is not 0, n where there is none. */
static cmg_size first_row(cmg_context *ctx, const cmg_csr *A, const double *v, limits zero)
{
    enum { ROWS = 1 << 14 }; /* looked at together */
    cmg_size found = A->rows;
    for (cmg_size begin = 0; begin < A->rows && found == A->rows; begin += ROWS) {
        const cmg_size end = begin + ROWS < A->rows ? begin + ROWS : A->rows;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : found) if (A->rows > ROWS)
        for (cmg_size i = begin; i < end; ++i) {
            double sum = 0;
            double size = 0;
            for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
                const double at = v[A->indices[k]];
                sum += A->values[k] * at;
                size += fabs(A->values[k]) * fmax(fabs(at), zero.least);
            }
            found = fabs(sum) <= zero.tolerance * size ? found : (i < found ? i : found);
        }
    }
    (void)ctx;
    return found;
}

/* A^T v = 0, too: else b is to be orthogonal to something else. */
static cmg_status is_left(cmg_context *ctx, const cmg_csr *A, const double *v, limits zero,
                          bool *left)
{
    *left = true;
    CMGI_SCOPED_ZERO(ctx, 2 * A->cols, double, sum);
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum[A->indices[k]] += A->values[k] * v[i];
            sum[A->cols + A->indices[k]] += fabs(A->values[k]) * fmax(fabs(v[i]), zero.least);
        }
    }
    for (cmg_size j = 0; j < A->cols && *left; ++j) {
        *left = fabs(sum[j]) <= zero.tolerance * sum[A->cols + j];
    }
    return CMG_OK;
}

cmg_status cmgi_null_space_take(cmg_context *ctx, cmg_size n, double *v, cmgi_null_space *space)
{
    double norms[2] = {cmgi_dot(n, v, v), 0}; /* squared: before and after */
    for (int pass = 0; pass < 2 * space->count; ++pass) {
        const double *q = space->q + (pass % space->count) * n;
        double s = cmgi_dot(n, q, v);
        CMGI_TRY(cmgi_all_sum(ctx, &s, 1));
        cmgi_subtract(n, s, q, v);
    }
    norms[1] = cmgi_dot(n, v, v);
    CMGI_TRY(cmgi_all_sum(ctx, norms, 2));
    if (norms[1] > DEPENDENT * DEPENDENT * norms[0]) {
        double *q = space->q + space->count * n;
        for (cmg_size i = 0; i < n; ++i) {
            q[i] = v[i] / sqrt(norms[1]);
        }
        ++space->count;
    }
    return CMG_OK;
}

static limits limits_of(const cmg_hierarchy *h, int level, cmg_size n, const double *v)
{
    cmg_size length = 0;
    const double *x = NULL;
    if (h->level[level].exact_nullspace) {
        return (limits){.tolerance = CMGI_NULL_GIVEN};
    }
    limits zero = {.tolerance = CMGI_NULL_ROUNDING, .least = cmgi_largest(n, v)};
    const bool rotation = zero.least != 1; /* unless it is stored; the others are of ones */
    if (rotation && cmgi_hierarchy_vector(h, level, "nullspace", NULL) == NULL &&
        cmg_hierarchy_get_vector(h, level, "coords", NULL, &length, &x) == CMG_OK) {
        zero.least = fmax(zero.least, cmgi_largest(length, x));
    }
    return zero;
}

/* Candidate c of B, n x vectors by rows, tried and taken. */
static cmg_status try_candidate(const cmg_hierarchy *h, int level, const double *B, int vectors,
                                int c, double *v, cmgi_null_space *space)
{
    cmg_context *ctx = h->ctx;
    const bool exact = h->level[level].exact_nullspace;
    bool left = true;
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, &A));
    for (cmg_size i = 0; i < A.rows; ++i) {
        v[i] = B[i * vectors + c];
    }
    const limits zero = limits_of(h, level, A.rows, v);
    const cmg_size row = first_row(ctx, &A, v, zero);
    CMGI_CHECK(ctx, row == A.rows || !exact, CMG_ERR_ARG,
               "level %d: nullspace vector %d is marked as exact, but A times it is not 0 in row "
               "%lld",
               level, c, (long long)row);
    if (row < A.rows) {
        return CMG_OK;
    }
    CMGI_TRY(is_left(ctx, &A, v, zero, &left));
    return left ? cmgi_null_space_take(ctx, A.rows, v, space) : CMG_OK;
}

/*
 * Whether some rows of A take a translation of nodes to 0, which all that is found here begins
 * with: most matrices are done with that.
 */
static bool may_have_one(const cmg_csr *A, int block)
{
    bool alive[MOST] = {false};
    int left = block;
    if (block > MOST) {
        return true;
    }
    memset(alive, 1, (size_t)block);
    for (cmg_size i = 0; i < A->rows && left > 0; ++i) {
        double sum[MOST] = {0};
        double size = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum[A->indices[k] % block] += A->values[k];
            size += fabs(A->values[k]);
        }
        for (int c = 0; c < block; ++c) {
            left -= alive[c] && fabs(sum[c]) > CMGI_NULL_ROUNDING * size;
            alive[c] = alive[c] && fabs(sum[c]) <= CMGI_NULL_ROUNDING * size;
        }
    }
    return left > 0;
}

/* The same of a level: of a few rows first, as mostly they do, then of some from everywhere, as
 * inner rows of a mesh may come before those at its rim. */
static cmg_status look_at_first(const cmg_hierarchy *h, int level, bool *may)
{
    const cmgi_resident *there = NULL;
    const cmgi_kinds *kinds = cmgi_hierarchy_kinds(h, level, CMG_ROLE_A);
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmg_size most = n < SOME_ROWS ? n : SOME_ROWS;
    cmg_index row[SOME_ROWS];
    cmgi_csr head = {0};
    cmg_csr A = {0};
    CMGI_TRY(kinds == NULL ? cmgi_hierarchy_matrix(h, level, &there, &A) : CMG_OK);
    *may = true;
    for (cmg_size rows = most < FEW_ROWS ? most : FEW_ROWS; *may; rows = most) {
        for (cmg_size i = 0; i < rows; ++i) {
            row[i] = (cmg_index)(i < FEW_ROWS ? i : i * n / most);
        }
        CMGI_TRY(kinds != NULL ? cmgi_kinds_rows(h->ctx, kinds, &head)
                               : cmgi_rows_on_host(h->ctx, &A, there, row, rows, &head));
        *may = may_have_one(&head.view, cmgi_unknowns_of_node(h, level));
        cmgi_csr_free(h->ctx, &head);
        if (rows == most || kinds != NULL) {
            break;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_null_space_find(const cmg_hierarchy *h, int level, cmgi_null_space *space)
{
    cmg_context *ctx = h->ctx;
    const cmg_size n = cmg_hierarchy_rows(h, level);
    cmgi_scoped double *B = NULL;
    int block = 1;
    int vectors = 0;
    cmgi_null_space made = {0};
    CMGI_RELEASED(cmgi_null_space_free, ctx, &made);
    *space = (cmgi_null_space){0};
    cmg_size length = 0;
    const double *given = NULL;
    const bool stored =
        cmg_hierarchy_get_vector(h, level, "nullspace", NULL, &length, &given) == CMG_OK;
    bool may = stored;
    if (n > 0 && !stored) {
        CMGI_TRY(look_at_first(h, level, &may));
    }
    if (n == 0 || !may) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_near_null_space(h, level, &block, &vectors, &B));
    vectors = vectors < CMGI_NULL_VECTORS ? vectors : CMGI_NULL_VECTORS;
    CMGI_SCOPED(ctx, n, double, v);
    CMGI_TRY(cmgi_alloc(ctx, n * vectors, sizeof *made.q, &made.q));
    for (int c = 0; c < vectors; ++c) {
        CMGI_TRY(try_candidate(h, level, B, vectors, c, v, &made));
    }
    if (made.count > 0) {
        CMGI_PASS_ON(&made, space);
    }
    return CMG_OK;
}
