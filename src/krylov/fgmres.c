/*
 * Flexible GMRES with restarts, for any A and a C that may vary: x in x0 + span Z with
 *
 *   z_j = C v_j;  w = A z_j;  h_ij = (w, v_i), w -= h_ij v_i for i <= j;  v_(j+1) = w / ||w||
 *   x = x0 + Z y,  ||b - A x|| = min || g - H y ||,  g = ||r|| e_1
 *
 * H is made upper triangular by Givens rotations as it grows, and |g_(j+1)| is the residual norm.
 * Vectors are allocated as they are needed, so that a short iteration holds few.
 *
 * The host runs the loop: step j works on j vectors, and a body that is recorded once cannot grow.
 * The coefficients of a column stay in the backend's memory until all of them are there; then the
 * host waits once.
 *
 * Source  Saad 1993, SIAM J. Sci. Comput. 14, doi:10.1137/0914028; Saad 2003, algorithm 9.6.
 */
#include "krylov/krylov.h"

#include <math.h>

cmg_status cmgi_arnoldi_create(cmg_context *ctx, int restart, cmgi_arnoldi *a)
{
    const cmg_size m = restart;
    CMGI_TRY(cmgi_alloc_zero(ctx, m + 1, sizeof *a->V, &a->V));
    CMGI_TRY(cmgi_alloc_zero(ctx, m, sizeof *a->Z, &a->Z));
    CMGI_TRY(cmgi_alloc_zero(ctx, (m + 1) * m, sizeof *a->H, &a->H));
    CMGI_TRY(cmgi_alloc_zero(ctx, m, sizeof *a->cosine, &a->cosine));
    CMGI_TRY(cmgi_alloc_zero(ctx, m, sizeof *a->sine, &a->sine));
    CMGI_TRY(cmgi_alloc_zero(ctx, m + 1, sizeof *a->g, &a->g));
    return cmgi_alloc_device(ctx, m + 2, sizeof *a->column, &a->column);
}

void cmgi_arnoldi_clear(cmg_context *ctx, int restart, cmgi_arnoldi *a)
{
    for (int j = 0; j <= restart && a->V != NULL; ++j) {
        cmgi_free_device(ctx, a->V[j]);
    }
    for (int j = 0; j < restart && a->Z != NULL; ++j) {
        cmgi_free_device(ctx, a->Z[j]);
    }
    CMGI_FREE(ctx, a->V, a->Z, a->H, a->cosine, a->sine, a->g);
    cmgi_free_device(ctx, a->column);
    *a = (cmgi_arnoldi){0};
}

static cmg_status need(cmgi_krylov *k, double **vector)
{
    return *vector != NULL ? CMG_OK
                           : cmgi_alloc_device(k->system.ctx, k->system.n, sizeof **vector, vector);
}

/* v_0 = r / ||r||, g = ||r|| e_1, with r in work[0]. */
static cmg_status start(cmgi_krylov *k)
{
    cmg_context *ctx = k->system.ctx;
    cmgi_arnoldi *a = &k->arnoldi;
    double norm = 0;
    a->used = 0;
    CMGI_TRY(cmgi_krylov_norm(k, k->work[0], &norm));
    a->g[0] = norm;
    CMGI_TRY(need(k, &a->V[0]));
    return ctx->backend->axpby(ctx, CMG_FP64, k->system.n, norm > 0 ? 1 / norm : 0, k->work[0], 0.0,
                               a->V[0]);
}

/* x += Z y with H y = g; the columns are used up. */
static cmg_status finish(cmgi_krylov *k)
{
    cmg_context *ctx = k->system.ctx;
    cmgi_arnoldi *a = &k->arnoldi;
    const int m = k->options.restart;
    for (int j = a->used - 1; j >= 0; --j) {
        const double *column = a->H + (cmg_size)j * (m + 1);
        const double y = column[j] != 0 ? a->g[j] / column[j] : 0;
        for (int i = 0; i < j; ++i) {
            a->g[i] -= column[i] * y;
        }
        CMGI_TRY(ctx->backend->axpby(ctx, CMG_FP64, k->system.n, y, a->Z[j], 1.0, k->x));
    }
    a->used = 0;
    return CMG_OK;
}

/* Column j of H, and w orthogonal to what is there; h_(j+1,j) = ||w||. */
static cmg_status orthogonalise(cmgi_krylov *k, int j, double *w)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = k->system.n;
    cmgi_arnoldi *a = &k->arnoldi;
    double *column = a->H + (cmg_size)j * (k->options.restart + 1);
    double *one = a->column + k->options.restart + 1;
    double *h = a->column;
    CMGI_TRY(on->fill(ctx, CMG_FP64, 1, 1.0, one));
    for (int i = 0; i <= j; ++i) {
        CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, w, a->V[i], h + i));
        CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, -1, h + i, one, a->V[i], w));
    }
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, w, w, h + j + 1));
    CMGI_TRY(cmgi_to_host(ctx, column, h, (size_t)(j + 2) * sizeof *h));
    column[j + 1] = sqrt(column[j + 1]);
    return CMG_OK;
}

/* Rotates the new column as those before, and makes its last entry 0; false where it has entries
 * that are not finite, which the length of the rotated one then is. */
static bool rotate(cmgi_krylov *k, int j)
{
    cmgi_arnoldi *a = &k->arnoldi;
    double *column = a->H + (cmg_size)j * (k->options.restart + 1);
    for (int i = 0; i < j; ++i) {
        const double upper = column[i];
        column[i] = a->cosine[i] * upper + a->sine[i] * column[i + 1];
        column[i + 1] = -a->sine[i] * upper + a->cosine[i] * column[i + 1];
    }
    const double length = hypot(column[j], column[j + 1]);
    a->cosine[j] = length > 0 ? column[j] / length : 1;
    a->sine[j] = length > 0 ? column[j + 1] / length : 0;
    column[j] = length;
    a->g[j + 1] = -a->sine[j] * a->g[j];
    a->g[j] *= a->cosine[j];
    return isfinite(length);
}

static cmg_status step(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    cmgi_arnoldi *a = &k->arnoldi;
    if (a->used == k->options.restart) {
        CMGI_TRY(finish(k));
        CMGI_TRY(A->residual(A->user, k->b, k->x, k->work[0]));
        CMGI_TRY(start(k));
    }
    const int j = a->used;
    double *w = k->work[1];
    CMGI_TRY(need(k, &a->Z[j]));
    CMGI_TRY(need(k, &a->V[j + 1]));
    CMGI_TRY(cmgi_krylov_precondition(k, a->V[j], a->Z[j]));
    CMGI_TRY(A->apply(A->user, CMG_FP64, a->Z[j], w, NULL, NULL));
    CMGI_TRY(orthogonalise(k, j, w));
    const double norm = a->H[(cmg_size)j * (k->options.restart + 1) + j + 1];
    CMGI_TRY(on->axpby(ctx, CMG_FP64, A->n, norm > 0 ? 1 / norm : 0, w, 0.0, a->V[j + 1]));
    const bool finite = rotate(k, j);
    a->used = finite ? j + 1 : j; /* x gets nothing of such a column */
    const double rr = finite ? a->g[j + 1] * a->g[j + 1] : NAN;
    CMGI_TRY(cmgi_to_device(ctx, k->scalars, &rr, sizeof rr));
    const cmgi_test test = {.what = CMGI_TEST_NOTE,
                            .update = {.kind = CMGI_CG_NORM, .stop = k->stop, .rr = k->scalars}};
    return on->test(ctx, 1, &test);
}

/* The residual at the end goes into r, which nothing else needs. */
const cmgi_iteration cmgi_fgmres = {
    .start = start, .step = step, .finish = finish, .vectors = 2, .scratch = 0, .host = true};
