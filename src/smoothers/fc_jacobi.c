/*
 * Jacobi on the fine rows F, twice, and then on the coarse rows C of a level whose restriction is
 * the identity on C and ideal on the rest (csr/ideal.h):
 *
 *     M = F_1 F_0,   F_0 = [ D^-1 (2 I - A_FF D^-1)  . ]   F_1 = [ I             .    ]
 *                          [ .                       I ]         [ -D^-1 A_CF    D^-1 ]
 *
 * Both are matrices with at most the entries of A. On a level without such an R all rows are coarse
 * ones, and M is that of Jacobi.
 *
 * Source  Manteuffel, Ruge, Southworth, SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1144350,
 *         section 4.
 */
#include "csr/by_rows.h"
#include "csr/ideal.h"
#include "csr/place.h"
#include "hierarchy/hierarchy.h"
#include "smoothers/smoother.h"

typedef struct half {
    const cmg_csr *A;
    const double *inverse; /* 1 / a_ii */
    const bool *coarse;
    bool second; /* F_1 */
} half;

static cmg_size half_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const half *h = user;
    const cmg_csr *A = h->A;
    const bool own = h->coarse[i] == h->second; /* else a row of the identity */
    const cmg_size end = A->indptr[own ? i + 1 : i];
    cmg_size length = 0;
    bool placed = false;
    for (cmg_size k = A->indptr[i]; k <= end; ++k) {
        const cmg_index j = k < end ? A->indices[k] : (cmg_index)i;
        const bool diagonal = j == i && !placed;
        const bool other = j != i && !h->coarse[j] && A->values[k] != 0;
        if (diagonal || other) {
            if (columns != NULL) {
                const double d = h->inverse[i];
                columns[length] = j;
                values[length] = diagonal    ? (own ? d : 1)
                                 : h->second ? -d * A->values[k]
                                             : -d * A->values[k] * h->inverse[j];
            }
            ++length;
        }
        placed = placed || diagonal;
    }
    return length;
}

/* coarse[i] of the level's R; all where it has none that is ideal. */
static cmg_status find_coarse(const cmgi_smoother_source *source, bool *coarse, bool *found)
{
    cmg_context *ctx = source->ctx;
    const cmg_csr *A = &source->A;
    cmgi_scoped cmg_index *row = NULL;
    cmg_csr R;
    *found = source->h != NULL && source->frame == NULL &&
             cmgi_hierarchy_view(source->h, source->level, CMG_ROLE_R, NULL, 0, &R);
    if (*found) {
        CMGI_TRY(cmgi_alloc(ctx, R.rows, sizeof *row, &row));
        CMGI_TRY(cmgi_ideal_rows(ctx, &R, row, found));
        *found = *found && cmgi_ideal_holds(A, &R, row);
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        coarse[i] = !*found;
    }
    for (cmg_size r = 0; *found && r < R.rows; ++r) {
        coarse[row[r]] = true;
    }
    return CMG_OK;
}

static const double ALONE = 0.7; /* damping of Jacobi, on levels without fine rows */

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const cmg_size n = source->A.rows;
    bool found = false;
    CMGI_SCOPED(ctx, n, double, inverse);
    CMGI_SCOPED(ctx, n, bool, coarse);
    CMGI_TRY(find_coarse(source, coarse, &found));
    cmgi_csr_diagonal(ctx, &source->A, inverse);
    CMGI_TRY(cmgi_invert_at(ctx, CMGI_HOST, n, inverse, inverse));
    out->stage[0] = found ? 1 : ALONE;
    for (int f = found ? 0 : 1; f < 2; ++f) {
        const half row = {&source->A, inverse, coarse, f == 1};
        CMGI_TRY(cmgi_csr_by_rows(ctx, n, n, half_row, &row, &out->factor[out->factors]));
        ++out->factors;
    }
    return CMG_OK;
}

const cmgi_smoother_method cmgi_smoother_fc_jacobi = {
    .name = "fc-jacobi",
    .text = "Jacobi on fine rows, twice, then on coarse ones",
    .omega = 1.0,
    .make = make,
};
