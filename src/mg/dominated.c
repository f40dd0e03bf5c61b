/*
 * Matrices of which Jacobi's method alone takes care, so that levels would only cost: time steps
 * that are short for the mesh, mass matrices, random walks, whatever the diagonal dominates in most
 * rows.
 *
 *     z = D^-1 r,  r <- r - (r, A z) / (A z, A z) A z
 *
 * With the eigenvalues of D^-1 A in a .. b of the right half-plane the residual falls by
 * (b - a) / (b + a) a step and later on never faster: Eisenstat, Elman, Schultz, SIAM J. Numer.
 * Anal. 20 (1983). Row sums bound that rate from above only, and often not below 1: a few rows with
 * twice their diagonal beside it do no harm.
 */
#include "mg/multigrid.h"

#include <math.h>

enum { STEPS = 6, LAST = 2 };
static const double SHARE = 0.5;
/* A step, at the end: D^-1 A then has a condition of 6, and CG or GMRES take some 20 products. */
static const double RATE = 0.72;

/* Factor by which the last steps reduce the residual, the mean of one. */
static cmg_status measure(cmg_context *ctx, const cmg_csr *A, double *const v[4], double *rate)
{
    const cmg_size n = A->rows;
    const cmgi_backend *on = ctx->backend;
    double *const d = v[0];
    double *const r = v[1];
    double *const z = v[2];
    double *const q = v[3];
    double rr[STEPS + 1] = {0};
    for (cmg_size i = 0; i < n; ++i) {
        d[i] = 1 / cmgi_csr_diagonal_at(A, i);
        r[i] = (double)((uint64_t)i * 2654435761U % 1024) / 512 - 1; /* a hash in -1 .. 1 */
    }
    for (int step = 0; step < STEPS; ++step) {
        double rq = 0;
        double qq = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 4096)
        for (cmg_size i = 0; i < n; ++i) {
            z[i] = d[i] * r[i];
        }
        cmgi_csr_apply(ctx, A, z, q);
        CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, r, q, &rq));
        CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, q, q, &qq));
        if (!(rq > 0) || !isfinite(qq)) { /* the left half-plane */
            return CMG_OK;
        }
        CMGI_TRY(on->axpby(ctx, CMG_FP64, n, -rq / qq, q, 1, r));
        CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, r, r, &rr[step + 1]));
    }
    *rate = rr[STEPS] > 0 ? pow(rr[STEPS] / rr[STEPS - LAST], 0.5 / LAST) : 0;
    return CMG_OK;
}

cmg_status cmgi_dominated(cmg_context *ctx, const cmg_csr *A, const cmgi_csr_facts *facts,
                          bool *enough)
{
    double *v[4] = {NULL};
    double rate = 1;
    CMGI_FREED(ctx, &v[0], &v[1], &v[2], &v[3]);
    *enough = false;
    if ((double)facts->dominated < SHARE * (double)A->rows || facts->bad >= 0) {
        return CMG_OK;
    }
    for (int k = 0; k < 4; ++k) {
        CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *v[k], &v[k]));
    }
    CMGI_TRY(measure(ctx, A, v, &rate));
    *enough = rate <= RATE;
    return CMG_OK;
}
