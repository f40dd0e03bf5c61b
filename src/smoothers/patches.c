/*
 * Additive element patches, preassembled:
 *
 *     M = W ( sum_e R_e^T A_e^(-1) R_e ) W,   A_e = R_e A R_e^T,   w_i = (number of patches with
 * i)^(-1/2)
 *
 * where R_e picks the unknowns of element e. M is symmetric positive definite whenever A is, and
 * has no entries that A has not. The elements are found as cliques of the matrix graph, see
 * cliques.h, so that no mesh is asked for; tau leaves weak couplings out of that graph.
 *
 * Source  Smith, Bjorstad and Gropp, Domain Decomposition, 1996, section 1.3, with the smallest
 * overlapping subdomains there are.
 */
#include "csr/cliques.h"
#include "csr/small_dense.h"
#include "smoothers/pattern.h"
#include "smoothers/rows.h"
#include "smoothers/smoother.h"

#include <math.h>
#include <string.h>

enum { TAU };
enum { LIMIT = 256 }; /* largest patch */

static const cmgi_key keys[] = {
    [TAU] = {.key = "tau",
             .text = "couplings with |a_ij| <= tau sqrt(|a_ii a_jj|) join no patch; 0 = all join",
             .high = 1},
    {.key = NULL},
};

typedef struct assembly {
    cmg_context *ctx;
    const cmg_csr *A;
    const cmgi_cliques *patches;
    bool symmetric;
    cmgi_row_work *threads;
    double *weight;  /* w */
    double *inverse; /* of the patches of a chunk, square of the largest patch each */
    cmg_size bad;    /* first patch that is singular */
} assembly;

enum { CHUNK = 4096 };

/* M(J, J) += W X W; both J and the rows of M ascend. */
static void scatter(const assembly *a, cmg_size e, const double *X, cmgi_csr *M)
{
    const cmg_index *J = a->patches->members + a->patches->first[e];
    const cmg_size n = a->patches->first[e + 1] - a->patches->first[e];
    for (cmg_size i = 0; i < n; ++i) {
        cmg_size k = M->indptr[J[i]];
        for (cmg_size j = 0; j < n; ++j) {
            while (M->indices[k] != J[j]) {
                ++k;
            }
            M->values[k] += a->weight[J[i]] * X[i * n + j] * a->weight[J[j]];
        }
    }
}

/* Inverses in parallel, chunk by chunk; their sum in the order of the patches. */
static cmg_status sum_patches(assembly *a, cmgi_csr *M)
{
    const cmg_size count = a->patches->count;
    const cmg_size room = a->patches->largest * a->patches->largest;
    for (cmg_size first = 0; first < count; first += CHUNK) {
        const cmg_size last = first + CHUNK < count ? first + CHUNK : count;
        cmg_size bad = count;
        CMGI_TRY(cmgi_progress(a->ctx, "element patches", first, count));
#pragma omp parallel for num_threads(a->ctx->threads) schedule(dynamic, 64) reduction(min : bad)
        for (cmg_size e = first; e < last; ++e) {
            cmgi_row_work *w = &a->threads[cmgi_thread()];
            const cmg_size at = a->patches->first[e];
            const cmg_size n = a->patches->first[e + 1] - at;
            cmgi_small_gather(a->A, a->patches->members + at, n, &w->map, w->H);
            if (!cmgi_small_invert(n, w->H, a->symmetric, a->inverse + (e - first) * room)) {
                bad = e < bad ? e : bad;
            }
        }
        if (bad < count) {
            a->bad = bad;
            return CMG_OK;
        }
        for (cmg_size e = first; e < last; ++e) {
            scatter(a, e, a->inverse + (e - first) * room, M);
        }
    }
    return CMG_OK;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_csr *M = &out->factor[0];
    cmgi_scoped_csr B = {0};
    cmgi_cliques patches = {0};
    assembly a = {.ctx = ctx, .patches = &patches, .bad = -1};
    CMGI_FREED(ctx, &a.weight, &a.inverse);
    CMGI_RELEASED(cmgi_row_work_destroy, ctx, &a.threads);
    CMGI_RELEASED(cmgi_cliques_free, ctx, &patches);
    out->factors = 1;
    CMGI_TRY(cmgi_decouple(ctx, &source->A, false, &B, &a.symmetric));
    a.A = a.symmetric ? &B.view : &source->A;
    CMGI_TRY(cmgi_pattern(ctx, a.A, source->arguments->value[TAU], 1, M));
    CMGI_TRY(cmgi_symmetrize(ctx, M));
    memset(M->values, 0, (size_t)M->indptr[M->rows] * sizeof *M->values);
    CMGI_TRY(cmgi_cliques_find(ctx, M, LIMIT, &patches));
    const cmg_size square = patches.largest * patches.largest;
    const cmg_size chunk = patches.count < CHUNK ? patches.count : CHUNK;
    CMGI_TRY(cmgi_alloc_zero(ctx, a.A->rows, sizeof *a.weight, &a.weight));
    CMGI_TRY(cmgi_alloc(ctx, chunk * square, sizeof *a.inverse, &a.inverse));
    CMGI_TRY(cmgi_row_work_create(ctx, patches.largest, square, &a.threads));
    for (cmg_size k = 0; k < patches.first[patches.count]; ++k) {
        a.weight[patches.members[k]] += 1;
    }
    for (cmg_size i = 0; i < a.A->rows; ++i) {
        a.weight[i] = 1 / sqrt(a.weight[i]);
    }
    CMGI_TRY(sum_patches(&a, M));
    CMGI_CHECK(ctx, a.bad < 0, CMG_ERR_SINGULAR,
               "patches: level %d: the matrix of the patch around row %lld is singular",
               source->level, (long long)patches.members[patches.first[a.bad]]);
    return CMG_OK;
}

static const char *const examples[] = {"tau=0.1", NULL};
const cmgi_smoother_method cmgi_smoother_patches = {
    .name = "patches",
    .text = "additive inverses of element matrices, found in the matrix graph",
    .omega = CMGI_OMEGA_AUTO,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
