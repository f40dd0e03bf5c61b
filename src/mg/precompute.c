/* Smoothers computed once and kept in the hierarchy, where "file:NAME" finds them. */
#include "hierarchy/hierarchy.h"

#include "core/random.h"
#include "core/report.h"
#include "smoothers/pattern.h"
#include "smoothers/spectrum.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 8 };

/* |g - M A g|^2; x and y are work vectors. */
static double sample(cmg_context *ctx, const cmg_csr *A, const cmgi_smoother_factors *M,
                     const double *g, double *x, double *y)
{
    double sum = 0;
    cmgi_csr_apply(ctx, A, g, x);
    for (int f = 0; f < M->factors; ++f) {
        cmgi_csr_apply(ctx, &M->factor[f].view, x, y);
        double *const swap = x;
        x = y;
        y = swap;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        sum += (g[i] - x[i]) * (g[i] - x[i]);
    }
    return sum;
}

/*
 * Estimate of ||I - M A||_F / ||I||_F with M = F_(k-1) ... F_0: the mean of |(I - M A) g|^2 over a
 * few vectors g of random signs, whose expectation is the square of the norm (Hutchinson 1990).
 * Dirichlet columns are left out where that makes A symmetric. Deterministic.
 */
static cmg_status find_quality(cmg_context *ctx, const cmg_csr *A, const cmgi_smoother_factors *M,
                               double *quality)
{
    cmgi_scoped_csr decoupled = {0};
    bool symmetric = false;
    double sum = 0;
    uint64_t seed = 1990;
    const cmg_size n = A->rows;
    CMGI_TRY(cmgi_decouple(ctx, A, false, &decoupled, &symmetric));
    CMGI_SCOPED(ctx, 3 * n, double, work);
    for (int s = 0; s < SAMPLES; ++s) {
        for (cmg_size i = 0; i < n; ++i) {
            work[i] = cmgi_random(&seed) < 0.5 ? -1 : 1;
        }
        sum += sample(ctx, symmetric ? &decoupled.view : A, M, work, work + n, work + 2 * n);
    }
    *quality = n > 0 ? sqrt(sum / SAMPLES / (double)n) : 0;
    return CMG_OK;
}

/* info: NULL, or what is asked for; the estimates cost several products with A. */
static cmg_status make(cmg_hierarchy *h, int level, const char *smoother, cmgi_smoother_factors *M,
                       cmg_smoother_info *info)
{
    cmg_context *ctx = h->ctx;
    const double begin = cmgi_seconds();
    cmgi_smoother_source source = {.ctx = ctx, .h = h, .level = level};
    cmgi_spectrum spectrum;
    CMGI_TRY(cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, &source.A));
    CMGI_TRY(cmgi_smoother_make(&source, smoother, 0, M));
    CMGI_TRY(cmgi_smoother_is_product(ctx, M, smoother));
    CMGI_CHECK(
        ctx, M->stages == 1, CMG_ERR_UNSUPPORTED,
        "smooth: %s is a schedule of %d dampings, not a matrix to be kept; its base can be kept",
        smoother, M->stages);
    const double seconds = cmgi_seconds() - begin;
    const double omega = M->stage[0];
    cmgi_csr *last = &M->factor[M->factors - 1]; /* damping belongs to the matrix that is kept */
    for (cmg_size k = 0; k < last->indptr[last->rows] && omega != 1; ++k) {
        last->values[k] *= omega;
    }
    M->stage[0] = 1;
    if (info == NULL) {
        return CMG_OK;
    }
    *info = (cmg_smoother_info){.seconds = seconds, .omega = omega, .factors = M->factors};
    for (int f = 0; f < M->factors; ++f) {
        const cmgi_csr *F = &M->factor[f];
        const cmg_size nnz = F->indptr[F->rows];
        info->nnz += nnz;
        info->bytes += (size_t)(F->rows + 1) * sizeof *F->indptr +
                       (size_t)nnz * (sizeof *F->indices + sizeof *F->values);
    }
    CMGI_TRY(find_quality(ctx, &source.A, M, &info->quality));
    CMGI_TRY(cmgi_spectrum_estimate(&source, M->factor, M->factors, CMGI_LANCZOS_STEPS, &spectrum));
    info->lambda_max = spectrum.largest;
    return CMG_OK;
}

cmg_status cmg_hierarchy_smooth(cmg_hierarchy *h, int level, const char *smoother,
                                const char *save_as, cmg_smoother_info *info)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, level >= 0 && level < h->levels, CMG_ERR_ARG,
               "smooth: level %d is not in 0 .. %d", level, h->levels - 1);
    CMGI_CHECK(ctx, smoother != NULL, CMG_ERR_ARG, "smooth: the smoother's name is NULL");
    CMGI_CHECK(ctx,
               save_as != NULL && save_as[0] != '\0' && strlen(save_as) < CMGI_MAX_NAME &&
                   strpbrk(save_as, "/:") == NULL,
               CMG_ERR_ARG, "smooth: \"%s\" is not a name of 1 .. %d characters without / and :",
               save_as != NULL ? save_as : "NULL", CMGI_MAX_NAME - 1);
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_smoother_info", info, sizeof *info));
    cmg_smoother_info made;
    CMGI_SCOPED_ZERO(ctx, 1, cmgi_smoother_factors, M);
    CMGI_RELEASED(cmgi_smoother_factors_clear, ctx, M);
    ctx->level = level + 1;
    cmg_status status = make(h, level, smoother, M, info != NULL ? &made : NULL);
    ctx->level = 0;
    CMGI_TRY(status);
    cmgi_hierarchy_drop_smoother(h, level, save_as);
    for (int f = 0; f < M->factors && status == CMG_OK; ++f) {
        status = cmgi_hierarchy_take_csr(h, level, CMG_ROLE_SMOOTHER, save_as, f, &M->factor[f]);
    }
    if (status != CMG_OK) {
        cmgi_hierarchy_drop_smoother(h, level, save_as);
        return status;
    }
    cmgi_sized_give(&made, info);
    return CMG_OK;
}
