/*
 * ISAI, the incomplete sparse approximate inverse: M A = I on the pattern of M. Row i of M on the
 * columns J solves the square system m A(J,J) = e_i(J), cheaper than the least squares of SPAI and
 * as parallel. For a symmetric A the symmetric part of M is taken, Dirichlet columns decoupled.
 *
 * Source  Anzt, Huckle, Braeckle and Dongarra, Incomplete sparse approximate inverses for parallel
 *         preconditioning, Parallel Comput. 71 (2018), there for triangular factors.
 */
#include "smoothers/pattern.h"
#include "smoothers/small_dense.h"
#include "smoothers/smoother.h"

#include <string.h>

enum { TAU, POWER };

static const cmgi_key keys[] = {
    [TAU] = {.key = "tau",
             .text = "pattern: entries with |a_ij| > tau sqrt(|a_ii a_jj|); 0 = all of A",
             .standard = 0.04,
             .high = 1},
    [POWER] = {.key = "power",
               .text = "pattern of that matrix to a power",
               .standard = 1,
               .high = 4,
               .integer = true},
    {.key = NULL},
};

/* Work space of one thread. */
typedef struct work {
    cmgi_index_map map;
    double *H;
} work;

/* Row i of M from row i of the pattern; false when A(J,J) is singular. T = A^T. */
static bool make_row(const cmg_csr *T, cmg_size i, cmgi_csr *M, work *w)
{
    const cmg_size begin = M->indptr[i];
    const cmg_size length = M->indptr[i + 1] - begin;
    cmgi_small_gather(T, M->indices + begin, length, &w->map, w->H);
    for (cmg_size p = 0; p < length; ++p) {
        M->values[begin + p] = M->indices[begin + p] == i ? 1 : 0;
    }
    return cmgi_small_lu(length, w->H, 1, M->values + begin);
}

static cmg_status make_rows(cmg_context *ctx, const cmg_csr *T, work *w, cmgi_csr *M, cmg_size *bad)
{
    enum { CHUNK = 16384 };
    cmg_size first_bad = T->rows;
    for (cmg_size first = 0; first < T->rows; first += CHUNK) {
        const cmg_size last = first + CHUNK < T->rows ? first + CHUNK : T->rows;
        CMGI_TRY(cmgi_progress(ctx, "ISAI", first, T->rows));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) reduction(min : first_bad)
        for (cmg_size i = first; i < last; ++i) {
            if (!make_row(T, i, M, &w[cmgi_thread()])) {
                first_bad = i < first_bad ? i : first_bad;
            }
        }
    }
    *bad = first_bad;
    return CMG_OK;
}

/* ISAI of A given T = A^T. */
static cmg_status solve_rows(const cmgi_smoother_source *source, const cmg_csr *A, const cmg_csr *T,
                             cmgi_csr *M)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmg_size longest = 0;
    cmg_size bad = A->rows;
    work *w = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_pattern(ctx, A, value[TAU], (int)value[POWER], M));
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size length = M->indptr[i + 1] - M->indptr[i];
        longest = length > longest ? length : longest;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, ctx->threads, sizeof *w, &w));
    for (int t = 0; t < ctx->threads; ++t) {
        CMGI_TRY_GOTO(done, cmgi_index_map_create(ctx, longest, &w[t].map));
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, longest * longest, sizeof(double), &w[t].H));
    }
    CMGI_TRY_GOTO(done, make_rows(ctx, T, w, M, &bad));
    if (bad < A->rows) {
        status = cmgi_fail(ctx, CMG_ERR_SINGULAR,
                           "isai: level %d: the local matrix of row %lld is singular",
                           source->level, (long long)bad);
    }
done:
    for (int t = 0; w != NULL && t < ctx->threads; ++t) {
        cmgi_index_map_destroy(ctx, &w[t].map);
        cmgi_free(ctx, w[t].H);
    }
    cmgi_free(ctx, w);
    return status;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_csr *M = &out->factor[0];
    cmgi_csr B = {0};
    cmgi_csr transposed = {0};
    bool symmetric = false;
    cmg_status status = CMG_OK;
    out->factors = 1;
    CMGI_TRY_GOTO(done, cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
    const cmg_csr decoupled = cmgi_csr_view(&B);
    if (symmetric) {
        CMGI_TRY_GOTO(done, solve_rows(source, &decoupled, &decoupled, M));
        CMGI_TRY_GOTO(done, cmgi_symmetrize(ctx, M));
    } else {
        CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &source->A, &transposed));
        const cmg_csr T = cmgi_csr_view(&transposed);
        CMGI_TRY_GOTO(done, solve_rows(source, &source->A, &T, M));
    }
done:
    cmgi_csr_free(ctx, &B);
    cmgi_csr_free(ctx, &transposed);
    return status;
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
