/*
 * Bounds on the eigenvalues of M A with M = F_(k-1) ... F_0 given by CSR factors. Everything runs
 * on the backend, with the matrix and in the precision that the solve multiplies with.
 * Deterministic: the start vector is fixed, sums are formed in an order that does not depend on the
 * number of threads.
 */
#pragma once
#include "smoothers/smoother.h"

enum { CMGI_LANCZOS_STEPS = 12 };

typedef struct cmgi_spectrum {
    double largest; /* safeguarded estimate from above of the largest |eigenvalue| */
    bool symmetric; /* A and M are symmetric positive definite as far as seen */
    bool renewed;   /* partly an estimate for earlier values, or for the next level */
    int count;      /* Ritz values, 0 when not symmetric */
    double ritz[CMGI_LANCZOS_STEPS];   /* ascending */
    double weight[CMGI_LANCZOS_STEPS]; /* their spectral weights, sum 1 */
} cmgi_spectrum;

/* Coefficients of the tridiagonal matrix; `next` couples it to the step that was not taken. */
typedef struct cmgi_tridiagonal {
    int count;
    double diagonal[CMGI_LANCZOS_STEPS];
    double off[CMGI_LANCZOS_STEPS];
    double next;
    bool definite; /* false when A or M turns out not to be positive definite */
    bool renewed;  /* the later coefficients are those that there were before */
} cmgi_tridiagonal;

/*
 * The estimates of a smoother's set-up in their order. Those to come, for new values, get the same
 * bounds, or renew them from the coefficients of Lanczos.
 */
enum { CMGI_SPECTRA = 4 };
typedef struct cmgi_spectra {
    bool same; /* the same bounds */
    int count;
    int used;     /* of them, so far */
    bool renewed; /* one of them was, by some of its steps */
    cmgi_spectrum spectrum[CMGI_SPECTRA];
    cmgi_tridiagonal T[CMGI_SPECTRA]; /* of the last whole estimate */
} cmgi_spectra;

/* Another set-up begins; NULL = nothing is kept. */
static inline void cmgi_spectra_begin(cmgi_spectra *kept)
{
    if (kept != NULL) {
        kept->used = 0;
        kept->renewed = false;
    }
}

/*
 * Lanczos where A (Dirichlet rows decoupled) is symmetric and M positive definite, the power method
 * otherwise; where M is diagonal the result is not above the Gershgorin bound. What source->kept
 * has is given instead or renewed, and else put there. steps: of Lanczos, at most
 * CMGI_LANCZOS_STEPS; 0 = A is known not to be symmetric.
 *
 * @return CMG_OK, CMG_ERR_MEMORY, CMG_ERR_SINGULAR when no positive finite bound comes out
 */
cmg_status cmgi_spectrum_estimate(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                  int factors, int steps, cmgi_spectrum *spectrum);
/* The same of several factors as a cycle multiplies with them, with source->matrix; *bounded =
 * false: there is no bound in their precision. */
cmg_status cmgi_spectrum_estimate_stored(const cmgi_smoother_source *source, cmg_matrix *const *M,
                                         int factors, cmgi_spectrum *spectrum, bool *bounded);
/* Largest row sum of |M A|, M diagonal: no eigenvalue is larger (Gershgorin 1931). */
cmg_status cmgi_gershgorin(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *M, double *largest);

/*
 * Eigenvalues, ascending, and eigenvectors of a symmetric n x n matrix T (by rows, overwritten) by
 * cyclic Jacobi rotations; column k of V (by rows) belongs to value k. For small n.
 */
void cmgi_eigen_symmetric(int n, double *restrict T, double *restrict V, double *restrict values);
