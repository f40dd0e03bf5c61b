/*
 * ISAI, the incomplete sparse approximate inverse: M A = I on the pattern of M. Row i of M on the
 * columns J solves the square system m A(J,J) = e_i(J), cheaper than the least squares of SPAI and
 * as parallel. For a symmetric A the symmetric part of M is taken, Dirichlet columns decoupled.
 *
 * Source  Anzt, Huckle, Braeckle and Dongarra, Incomplete sparse approximate inverses for parallel
 *         preconditioning, Parallel Comput. 71 (2018), there for triangular factors.
 */
#include "csr/small_dense.h"
#include "smoothers/pattern.h"
#include "smoothers/rows.h"
#include "smoothers/smoother.h"

enum { TAU, POWER };

static const cmgi_key keys[] = {
    [TAU] = CMGI_KEY_TAU,
    [POWER] = CMGI_KEY_POWER("pattern of that matrix to a power"),
    {.key = NULL},
};

typedef struct rows {
    const cmg_csr *T; /* A^T */
    cmgi_csr *M;
    cmgi_row_work *work;
} rows;

/* Row i of M from row i of the pattern; false when A(J,J) is singular. */
static bool make_row(const void *user, cmg_size i, int thread)
{
    const rows *r = user;
    const cmgi_csr *M = r->M;
    cmgi_row_work *w = &r->work[thread];
    const cmg_size begin = M->indptr[i];
    const cmg_size length = M->indptr[i + 1] - begin;
    cmgi_small_gather(r->T, M->indices + begin, length, &w->map, w->H);
    for (cmg_size p = 0; p < length; ++p) {
        M->values[begin + p] = M->indices[begin + p] == i ? 1 : 0;
    }
    return cmgi_small_lu(length, w->H, 1, M->values + begin);
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmgi_csr *M = &out->factor[0];
    cmgi_scoped_csr B = {0};
    cmgi_scoped_csr transposed = {0};
    rows r = {.M = M};
    cmg_size bad = source->A.rows;
    bool symmetric = false;
    CMGI_RELEASED(cmgi_row_work_destroy, ctx, &r.work);
    out->factors = 1;
    CMGI_TRY(cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
    CMGI_TRY(!symmetric ? cmgi_csr_transpose(ctx, &source->A, &transposed) : CMG_OK);
    r.T = symmetric ? &B.view : &transposed.view;
    CMGI_TRY(cmgi_pattern(ctx, symmetric ? &B.view : &source->A, value[TAU], (int)value[POWER], M));
    const cmg_size longest = cmgi_csr_longest_row(&M->view);
    CMGI_TRY(cmgi_row_work_create(ctx, longest, longest * longest, &r.work));
    CMGI_TRY(cmgi_each_row(ctx, "ISAI", source->A.rows, make_row, &r, &bad));
    CMGI_CHECK(ctx, bad >= source->A.rows, CMG_ERR_SINGULAR,
               "isai: level %d: the local matrix of row %lld is singular", source->level,
               (long long)bad);
    return symmetric ? cmgi_symmetrize(ctx, M) : CMG_OK;
}

static const char *const examples[] = {"tau=0", "power=2", NULL};
const cmgi_smoother_method cmgi_smoother_isai = {
    .name = "isai",
    .text = "incomplete approximate inverse, M A = I on a pattern",
    .omega = CMGI_OMEGA_AUTO,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
