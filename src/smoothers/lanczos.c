/*
 * Conjugate gradients with preconditioner M run the Lanczos process: with their coefficients
 * alpha_k, beta_k the matrix
 *
 *     T_kk = 1/alpha_k + beta_(k-1)/alpha_(k-1),   T_(k,k+1) = sqrt(beta_k)/alpha_k
 *
 * has the Ritz values of M A. The largest one is below the largest eigenvalue; adding the residual
 * norm T_(m,m+1) |s_m| of its Ritz vector, s_m the last component, makes up for that.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 6.7.3; Zhou and Li,
 * Bounding the spectrum of large Hermitian matrices, Linear Algebra Appl. 435 (2011), (2.10).
 */
#include "smoothers/lanczos.h"

#include <math.h>
#include <string.h>

enum { HEAD = 3 };               /* steps that tell whether the later ones are needed again */
static const double NEAR = 0.05; /* change of their coefficients, as a share of the largest */

/* Places of the scalars: rho_k = r_k . z_k, then p_k . A p_k, then the look at symmetry. */
enum {
    RHO = 0,
    CURVATURE = CMGI_LANCZOS_STEPS + 1,
    BACK = CURVATURE + CMGI_LANCZOS_STEPS, /* p_0 . A p_1 */
    LENGTH,                                /* p_0 . p_0 */
    SIZE,                                  /* A p_1 . A p_1 */
    THERE                                  /* p_1 . A p_0 */
};

cmg_status cmgi_pencil_open(cmgi_pencil *P, int count)
{
    void **const vectors[] = {&P->r, &P->z, &P->p, &P->q, &P->t};
    CMGI_TRY(cmgi_alloc_device(P->ctx, CMGI_LANCZOS_SCALARS, sizeof *P->scalar, &P->scalar));
    for (int v = 0; v < count; ++v) {
        CMGI_TRY(cmgi_alloc_device(P->ctx, P->n, cmgi_precision_bytes(P->precision), vectors[v]));
    }
    return CMG_OK;
}

void cmgi_pencil_close(cmg_context *ctx, cmgi_pencil *P)
{
    CMGI_FREE_DEVICE(ctx, P->scalar, P->r, P->z, P->p, P->q, P->t);
}

cmg_status cmgi_pencil_multiply(const cmg_matrix *A, const void *x, void *y)
{
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    return cmgi_matrix_spmv(A, &w, x);
}

cmg_status cmgi_pencil_precondition(const cmgi_pencil *P, const void *r, void *z)
{
    const void *x = r;
    if (P->apply != NULL) {
        return P->apply(P->user, r, z);
    }
    for (int f = 0; f < P->factors; ++f) {
        void *y = (P->factors - 1 - f) % 2 == 0 ? z : P->t;
        CMGI_TRY(cmgi_pencil_multiply(P->M[f], x, y));
        x = y;
    }
    return CMG_OK;
}

cmg_status cmgi_pencil_dot(const cmgi_pencil *P, const void *x, const void *y, int place)
{
    return P->ctx->backend->dot(P->ctx, P->precision, P->n, 1, x, y, P->scalar + place);
}

/* Of an M that costs more than A, a cycle, the last image, which T->next alone needs, is not
 * formed.
 */
static bool ends(const cmgi_pencil *P, int k)
{
    return P->apply != NULL && k + 1 == P->steps;
}

/* q = A p_k; with D^-1 alone t has p_0, and A p_0 is in q before. */
static cmg_status apply(const cmgi_pencil *P, bool look, int k)
{
    CMGI_TRY(look && k == 1 ? cmgi_pencil_dot(P, P->p, P->q, THERE) : CMG_OK);
    CMGI_TRY(cmgi_pencil_multiply(P->A, P->p, P->q));
    if (look && k == 0) {
        return P->ctx->backend->axpby(P->ctx, P->precision, P->n, 1, P->p, 0, P->t);
    }
    if (look && k == 1) {
        CMGI_TRY(cmgi_pencil_dot(P, P->t, P->q, BACK));
        CMGI_TRY(cmgi_pencil_dot(P, P->t, P->t, LENGTH));
        CMGI_TRY(cmgi_pencil_dot(P, P->q, P->q, SIZE));
    }
    return CMG_OK;
}

/* Step k of the iteration; r_k, z_k and p_k become those of k + 1. */
static cmg_status step(const cmgi_pencil *P, bool look, int k)
{
    const cmgi_backend *on = P->ctx->backend;
    const bool jacobi = on->jacobi_step != NULL && cmgi_pencil_is_jacobi(P);
    const cmgi_jacobi_step s = {.precision = P->precision,
                                .inverse = jacobi ? P->M[0]->values : NULL,
                                .q = P->q,
                                .p = P->p,
                                .r = P->r,
                                .z = P->z,
                                .rho = P->scalar + RHO + k,
                                .curvature = P->scalar + CURVATURE + k};
    const cmgi_direction p = cmgi_jacobi_direction(&s);
    CMGI_TRY(apply(P, look, k));
    if (jacobi) {
        return on->jacobi_step(P->ctx, P->n, &s);
    }
    CMGI_TRY(cmgi_pencil_dot(P, P->p, P->q, CURVATURE + k));
    if (ends(P, k)) {
        return CMG_OK;
    }
    CMGI_TRY(on->add_ratio(P->ctx, P->precision, P->n, -1, s.rho, s.curvature, P->q, P->r));
    CMGI_TRY(cmgi_pencil_precondition(P, P->r, P->z));
    CMGI_TRY(cmgi_pencil_dot(P, P->r, P->z, RHO + k + 1));
    return on->direction(P->ctx, P->n, 1, &p);
}

/* Adds the coefficients of step k; false when there is nothing more to come. */
static bool note_step(const cmgi_pencil *P, const double *s, double allowed, cmgi_tridiagonal *T)
{
    /* rounding alone keeps the residual of an invariant space from 0 */
    const double invariant = P->precision == CMG_FP64 || P->apply != NULL ? 1e-24 : 1e-10;
    const int k = T->count;
    const double rho = s[RHO + k];
    const double next = ends(P, k) ? 0 : s[RHO + k + 1];
    const double sign =
        s[RHO] < 0 ? -1 : 1;     /* M A is as positive where both are negative definite */
    if (allowed > 0 && k == 1) { /* else nothing has looked at symmetry */
        const double size = sqrt(3 * s[LENGTH] * s[SIZE] / (double)P->total);
        if (!(fabs(s[THERE] - s[BACK]) <= allowed * size)) {
            return false;
        }
    }
    if (!(sign * rho > 0) || !(sign * s[CURVATURE + k] > 0)) {
        return false;
    }
    const double alpha = rho / s[CURVATURE + k];
    const double beta = fmax(next / rho, 0);
    const double before =
        k > 0 ? fmax(rho / s[RHO + k - 1], 0) / (s[RHO + k - 1] / s[CURVATURE + k - 1]) : 0;
    const bool last = fabs(next) <= invariant * fabs(s[RHO]) || k + 1 == P->total;
    if (!last && sign * next < 0) {
        return false;
    }
    T->diagonal[k] = 1 / alpha + before;
    T->next = last ? 0 : sqrt(beta) / alpha;
    T->off[k] = T->next;
    T->count += 1;
    T->definite = last || T->count == P->steps;
    return !T->definite;
}

/* After the first steps: what `before` has is enough, where their coefficients, which are moments
 * of the spectrum, are nearly those, and T becomes whole with it. */
static bool renew(const cmgi_tridiagonal *before, cmgi_tridiagonal *T)
{
    double size = 0;
    double change = 0;
    for (int k = 0; k < HEAD && before != NULL; ++k) {
        size = fmax(size, before->diagonal[k]);
        change = fmax(change, fabs(T->diagonal[k] - before->diagonal[k]));
        change = fmax(change, fabs(T->off[k] - before->off[k]));
    }
    if (before == NULL || T->count != HEAD || T->definite || !(change <= NEAR * size)) {
        return false;
    }
    cmgi_tridiagonal whole = *before;
    memcpy(whole.diagonal, T->diagonal, HEAD * sizeof *T->diagonal);
    memcpy(whole.off, T->off, HEAD * sizeof *T->off);
    whole.renewed = true;
    *T = whole;
    return true;
}

cmg_status cmgi_lanczos(const cmgi_pencil *P, double allowed, const cmgi_tridiagonal *before,
                        cmgi_tridiagonal *T)
{
    const bool here = P->ctx->backend->alloc == NULL;
    const bool whole = before != NULL && before->definite && before->count == P->steps;
    double read[CMGI_LANCZOS_SCALARS] = {0};
    before = whole && P->steps > HEAD ? before : NULL;
    *T = (cmgi_tridiagonal){0};
    CMGI_TRY(cmgi_pencil_precondition(P, P->r, P->z));
    CMGI_TRY(cmgi_pencil_dot(P, P->r, P->z, RHO));
    CMGI_TRY(P->ctx->backend->axpby(P->ctx, P->precision, P->n, 1, P->z, 0, P->p));
    for (int k = 0; k < P->steps; ++k) {
        cmgi_threads_adapt(P->ctx);
        CMGI_TRY(step(P, allowed > 0, k));
        if (here && !note_step(P, P->scalar, allowed, T)) {
            return CMG_OK;
        }
        if (!here && before != NULL && k + 1 == HEAD) {
            CMGI_TRY(cmgi_to_host(P->ctx, read, P->scalar, sizeof read));
            while (T->count < HEAD) {
                if (!note_step(P, read, allowed, T)) {
                    return CMG_OK;
                }
            }
        }
        if (k + 1 == HEAD && renew(before, T)) {
            return CMG_OK;
        }
    }
    CMGI_TRY(cmgi_to_host(P->ctx, read, P->scalar, sizeof read));
    while (!here && note_step(P, read, allowed, T)) {
    }
    return CMG_OK;
}

void cmgi_ritz_values(const cmgi_tridiagonal *T, cmgi_spectrum *spectrum)
{
    const int m = T->count;
    const double margin = T->next > 0 ? 1.02 : 1;
    double full[CMGI_LANCZOS_STEPS * CMGI_LANCZOS_STEPS] = {0};
    double vectors[CMGI_LANCZOS_STEPS * CMGI_LANCZOS_STEPS];
    for (int k = 0; k < m; ++k) {
        full[k * m + k] = T->diagonal[k];
        if (k + 1 < m) {
            full[k * m + k + 1] = T->off[k];
            full[(k + 1) * m + k] = T->off[k];
        }
    }
    cmgi_eigen_symmetric(m, full, vectors, spectrum->ritz);
    spectrum->count = m;
    spectrum->largest = spectrum->ritz[m - 1];
    for (int k = 0; k < m; ++k) {
        spectrum->weight[k] = vectors[k] * vectors[k];
        const double residual = T->next * fabs(vectors[(m - 1) * m + k]);
        spectrum->largest = fmax(spectrum->largest, margin * (spectrum->ritz[k] + residual));
    }
}
