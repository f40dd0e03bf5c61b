/*
 * Spectrum of M A by the Lanczos process that conjugate gradients with preconditioner M run anyway:
 * with their coefficients alpha_k, beta_k the matrix
 *
 *     T_kk = 1/alpha_k + beta_(k-1)/alpha_(k-1),   T_(k,k+1) = sqrt(beta_k)/alpha_k
 *
 * has the Ritz values of M A. The largest one is below the largest eigenvalue; adding the residual
 * norm T_(m,m+1) |s_m| of its Ritz vector, s_m the last component, makes up for that.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 6.7.3; Zhou and Li,
 * Bounding the spectrum of large Hermitian matrices, Linear Algebra Appl. 435 (2011), (2.10).
 */
#include "smoothers/spectrum.h"

#include "core/memory.h"
#include "core/random.h"
#include "smoothers/pattern.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 4096, POWER_STEPS = 25 };

/* What is applied, and its vectors. */
typedef struct problem {
    cmg_context *ctx;
    const cmg_csr *A;
    const cmgi_csr *factor;
    int factors;
    double *partial; /* block sums */
    double *r;
    double *z;
    double *p;
    double *q;
    double *t;
} problem;

static void product(const problem *P, const cmg_csr *A, const double *restrict x,
                    double *restrict y)
{
#pragma omp parallel for num_threads(P->ctx->threads) schedule(static) if (P->A->rows > BLOCK)
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k] * x[A->indices[k]];
        }
        y[i] = sum;
    }
}

/* z = M r; t is used in between. */
static void precondition(const problem *P)
{
    const double *x = P->r;
    for (int f = 0; f < P->factors; ++f) {
        const cmg_csr F = cmgi_csr_view(&P->factor[f]);
        double *y = (P->factors - 1 - f) % 2 == 0 ? P->z : P->t;
        product(P, &F, x, y);
        x = y;
    }
}

/* Sums of fixed blocks, added in order. */
static double dot(const problem *P, const double *restrict x, const double *restrict y)
{
    const cmg_size n = P->A->rows;
    const cmg_size blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(P->ctx->threads) schedule(static) if (P->A->rows > BLOCK)
    for (cmg_size b = 0; b < blocks; ++b) {
        const cmg_size last = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
        double sum = 0;
        for (cmg_size i = b * BLOCK; i < last; ++i) {
            sum += x[i] * y[i];
        }
        P->partial[b] = sum;
    }
    double total = 0;
    for (cmg_size b = 0; b < blocks; ++b) {
        total += P->partial[b];
    }
    return total;
}

/* y = a x + b y */
static void axpby(const problem *P, double a, const double *restrict x, double b,
                  double *restrict y)
{
#pragma omp parallel for num_threads(P->ctx->threads) schedule(static) if (P->A->rows > BLOCK)
    for (cmg_size i = 0; i < P->A->rows; ++i) {
        y[i] = a * x[i] + b * y[i];
    }
}

static void start_vector(const problem *P, double *x)
{
    uint64_t seed = 20120901;
    for (cmg_size i = 0; i < P->A->rows; ++i) {
        x[i] = 2 * cmgi_random(&seed) - 1;
    }
}

/* u . M v = v . M u for two fixed vectors, to rounding; p and q are used in between. */
static bool is_symmetric(const problem *P)
{
    const size_t bytes = (size_t)P->A->rows * sizeof *P->r;
    start_vector(P, P->r);
    precondition(P);
    memcpy(P->q, P->r, bytes);
    memcpy(P->p, P->z, bytes);
    const double size = dot(P, P->r, P->z);
    for (cmg_size i = 0; i < P->A->rows; ++i) {
        P->r[i] = i % 3 == 0 ? -P->q[P->A->rows - 1 - i] : P->q[P->A->rows - 1 - i];
    }
    precondition(P);
    return fabs(dot(P, P->q, P->z) - dot(P, P->r, P->p)) <= 1e-9 * fabs(size);
}

/* ------------------------------------------------------------------ Lanczos */

/* Coefficients of the tridiagonal matrix; `next` couples it to the step that was not taken. */
typedef struct tridiagonal {
    int count;
    double diagonal[CMGI_LANCZOS_STEPS];
    double off[CMGI_LANCZOS_STEPS];
    double next;
} tridiagonal;

/* False when A or M turns out not to be positive definite. */
static bool run_lanczos(const problem *P, tridiagonal *T)
{
    start_vector(P, P->r);
    precondition(P);
    double rho = dot(P, P->r, P->z);
    const double first = rho;
    double before = 0; /* beta_(k-1) / alpha_(k-1) */
    T->count = 0;
    T->next = 0;
    memcpy(P->p, P->z, (size_t)P->A->rows * sizeof *P->p);
    while (T->count < CMGI_LANCZOS_STEPS) {
        product(P, P->A, P->p, P->q);
        const double curvature = dot(P, P->p, P->q);
        if (!(rho > 0) || !(curvature > 0)) {
            return false;
        }
        const double alpha = rho / curvature;
        axpby(P, -alpha, P->q, 1, P->r);
        precondition(P);
        const double rho_next = dot(P, P->r, P->z);
        T->diagonal[T->count] = 1 / alpha + before;
        if (rho_next <= 1e-24 * first) { /* the space is invariant: the Ritz values are exact */
            T->count += 1;
            T->next = 0;
            return rho_next >= 0 || T->count == P->A->rows || -rho_next <= 1e-24 * first;
        }
        const double beta = rho_next / rho;
        T->off[T->count] = sqrt(beta) / alpha;
        T->next = T->off[T->count];
        T->count += 1;
        before = beta / alpha;
        axpby(P, 1, P->z, beta, P->p);
        rho = rho_next;
    }
    return true;
}

static void ritz_values(const tridiagonal *T, cmgi_spectrum *spectrum)
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

/* ------------------------------------------------------------------ power method */

/* Largest growth of the last steps, with a tenth on top; for matrices without symmetry. */
static double power_method(const problem *P)
{
    double largest = 0;
    start_vector(P, P->p);
    for (int step = 0; step < POWER_STEPS; ++step) {
        const double before = sqrt(dot(P, P->p, P->p));
        if (!(before > 0)) {
            break;
        }
        product(P, P->A, P->p, P->r);
        precondition(P);
        const double after = sqrt(dot(P, P->z, P->z));
        if (step >= POWER_STEPS / 2 || after == 0) {
            largest = fmax(largest, after / before);
        }
        axpby(P, 1 / fmax(after, DBL_MIN), P->z, 0, P->p);
    }
    return 1.1 * largest;
}

/* ------------------------------------------------------------------ bounds */

double cmgi_gershgorin(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *M)
{
    double bound = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(max                                                                                  \
              : bound) if (A->rows > BLOCK)
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += fabs(A->values[k]);
        }
        bound = fmax(bound, sum * fabs(M->values[i]));
    }
    return bound;
}

static cmg_status allocate(problem *P)
{
    const cmg_size n = P->A->rows;
    double **const vectors[] = {&P->r, &P->z, &P->p, &P->q, &P->t};
    CMGI_TRY(cmgi_alloc(P->ctx, (n + BLOCK - 1) / BLOCK, sizeof(double), &P->partial));
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
        CMGI_TRY(cmgi_alloc(P->ctx, n, sizeof(double), vectors[v]));
    }
    return CMG_OK;
}

static void release(problem *P)
{
    cmgi_free(P->ctx, P->partial);
    cmgi_free(P->ctx, P->r);
    cmgi_free(P->ctx, P->z);
    cmgi_free(P->ctx, P->p);
    cmgi_free(P->ctx, P->q);
    cmgi_free(P->ctx, P->t);
}

cmg_status cmgi_spectrum_estimate(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *factor,
                                  int factors, cmgi_spectrum *spectrum)
{
    cmgi_csr decoupled = {0};
    bool symmetric = false;
    tridiagonal T = {0};
    *spectrum = (cmgi_spectrum){.largest = 1};
    if (A->rows == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_decouple(ctx, A, false, &decoupled, &symmetric));
    const cmg_csr B = cmgi_csr_view(&decoupled);
    problem P = {.ctx = ctx, .A = symmetric ? &B : A, .factor = factor, .factors = factors};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, allocate(&P));
    spectrum->symmetric = symmetric && is_symmetric(&P) && run_lanczos(&P, &T);
    if (spectrum->symmetric) {
        ritz_values(&T, spectrum);
    } else {
        P.A = A;
        spectrum->largest = power_method(&P);
    }
    const cmg_csr first = cmgi_csr_view(&factor[0]);
    if (factors == 1 && cmgi_csr_is_diagonal(&first) && first.indptr[first.rows] == first.rows) {
        spectrum->largest = fmin(spectrum->largest, cmgi_gershgorin(ctx, P.A, &factor[0]));
    }
    if (!(spectrum->largest > 0) || !isfinite(spectrum->largest)) {
        status = cmgi_fail(ctx, CMG_ERR_SINGULAR, "no positive bound on the spectrum of M A: %g",
                           spectrum->largest);
    }
done:
    release(&P);
    cmgi_csr_free(ctx, &decoupled);
    return status;
}
