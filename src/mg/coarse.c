/*
 * The inverse of the coarsest matrix as a dense operator, applied as one product: by Cholesky (few
 * rows on the calling thread, else LAPACK dpotrf, dpotri), or on a device by Gauss-Jordan
 * (core/inverse_cuda.cu), of a symmetric definite A; of a semidefinite one a symmetric X with
 * A X A = A, for which unknowns of pivots that are zero to rounding stay at 0; else by LU (of a
 * narrow band by rows, as without LAPACK, else dgetrf, dgetri). Where A takes constants alone to 0,
 * which is the usual singular matrix, the inverse of
 *
 *     A + (tau / n) 1 1^T   is   A^+ + 1 / (tau n) 1 1^T
 *
 * by Cholesky, or of an unsymmetric A by LU; tau is the mean of the diagonal.
 *
 * Source  Golub and Van Loan, Matrix Computations, 2013, sections 3.4, 4.2 and 5.5.2.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "mg/coarse.h"

#include "csr/small_dense.h"
#include "spmv/formats.h"

#include <float.h>
#include <math.h>
#include <string.h>
#ifdef CMGI_HAVE_LAPACK
#include <sys/mman.h>
#endif

enum {
    BY_BACKEND = 128, /* rows from which a device is quicker, copies included */
    BAND = 8,         /* times that within a row: LU by rows is the quicker one */
    MOST_ROWS = 30000
};
/* Differences of up to this share of the largest entry are rounding. */
static const double SYMMETRIC = 1e-12;

void cmgi_dense_expand(const cmg_csr *A, double *dense)
{
    const cmg_size n = A->rows;
    memset(dense, 0, (size_t)(n * n) * sizeof *dense);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            dense[i * n + A->indices[k]] += A->values[k];
        }
    }
}

#ifdef CMGI_HAVE_LAPACK
/* Half bandwidth: the largest distance of an entry from the diagonal. */
static cmg_size band_of(const cmg_csr *A)
{
    cmg_size band = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size off = A->indices[k] > i ? A->indices[k] - i : i - A->indices[k];
            band = off > band ? off : band;
        }
    }
    return band;
}

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
extern void dgetri_(const int *n, double *a, const int *lda, const int *pivots, double *work,
                    const int *lwork, int *info);

/* True on success; X holds A on entry and is spoilt on failure. A pivot zero to rounding is a
 * failure. */
static bool invert_cholesky(int n, double *X)
{
    int info = 0;
    const double norm = cmgi_largest((cmg_size)n * n, X);
    dpotrf_("L", &n, X, &n, &info);
    if (info != 0) {
        return false;
    }
    for (cmg_size i = 0; i < n; ++i) {
        if (X[i * n + i] * X[i * n + i] <= 16.0 * n * DBL_EPSILON * norm) {
            return false;
        }
    }
    dpotri_("L", &n, X, &n, &info);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j < i; ++j) {
            X[i * n + j] = X[j * n + i];
        }
    }
    return info == 0;
}

static cmg_status invert_lu(cmg_context *ctx, int n, double *X)
{
    const int lwork = 64 * n;
    const double norm = cmgi_largest((cmg_size)n * n, X);
    int info = 0;
    CMGI_SCOPED(ctx, n, int, pivots);
    CMGI_SCOPED(ctx, lwork, double, work);
    dgetrf_(&n, &n, X, &n, pivots, &info);
    for (cmg_size i = 0; i < n && info == 0; ++i) {
        info = fabs(X[i * n + i]) <= 16.0 * n * DBL_EPSILON * norm ? (int)i + 1 : 0;
    }
    if (info == 0) {
        dgetri_(&n, X, &n, pivots, work, &lwork, &info);
    }
    CMGI_CHECK(ctx, info == 0, CMG_ERR_SINGULAR,
               "coarse matrix of %d rows is singular: pivot %d is zero", n, info);
    return CMG_OK;
}

/*
 * OpenBLAS takes 128 MB of addresses for its own work at its first call, and where it gets none it
 * asks again for ever (blas_memory_alloc). As many are asked for first in the same way, and given
 * back: pages that nobody touches cost nothing.
 */
static cmg_status check_room(cmg_context *ctx, cmg_size n)
{
    enum { ROOM = 144 << 20 };
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CMGI_CHECK(ctx, room != MAP_FAILED, CMG_ERR_MEMORY,
               "coarse matrix of %d rows: LAPACK may need 144 MB of addresses, which are not there",
               (int)n);
    (void)munmap(room, ROOM);
    return CMG_OK;
}

#endif

cmg_status cmgi_small_inverse(cmg_context *ctx, cmg_size n, bool singular, double *X,
                              bool *definite)
{
    *definite = false;
    CMGI_SCOPED(ctx, n, double, scale); /* powers of two: of entries d in [1, 4) on the diagonal */
    CMGI_SCOPED(ctx, n * n, double, L);
    CMGI_SCOPED(ctx, n * n, double, V); /* row c has column c of W */
    for (cmg_size i = 0; i < n; ++i) {
        const double d = X[i * n + i];
        int e = 0;
        (void)frexp(d, &e);
        scale[i] = d != 0 && isfinite(d) ? ldexp(1, -(int)floor((e - 1) / 2.0)) : 1;
    }
    for (cmg_size k = 0; k < n * n; ++k) {
        L[k] = scale[k / n] * X[k] * scale[k % n];
    }
    const double tiny = 16.0 * (double)n * DBL_EPSILON * cmgi_largest(n * n, L);
    for (cmg_size i = 0; i < n; ++i) {
        double *Li = L + i * n;
        double left = 0; /* in columns of zero pivots, where semidefinite matrices have as little */
        for (cmg_size j = 0; j < i; ++j) {
            const double entry = Li[j] - cmgi_dot(j, Li, L + j * n);
            left = L[j * n + j] == 0 ? fmax(left, fabs(entry)) : left;
            Li[j] = entry * L[j * n + j];
        }
        const double pivot = Li[i] - cmgi_dot(i, Li, Li);
        const bool positive = pivot > tiny;
        if (!(left * left <= 16 * tiny) || (!positive && (!singular || !(pivot >= -tiny)))) {
            return CMG_OK;
        }
        Li[i] = positive ? 1 / sqrt(pivot) : 0;
    }
    for (cmg_size c = 0; c < n; ++c) {
        double *v = V + c * n;
        v[c] = L[c * n + c];
        for (cmg_size i = c + 1; i < n; ++i) {
            v[i] = -cmgi_dot(i - c, L + i * n + c, v + c) * L[i * n + i];
        }
    }
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j <= i; ++j) {
            X[i * n + j] = scale[i] * scale[j] * cmgi_dot(n - i, V + i * n + i, V + j * n + i);
            X[j * n + i] = X[i * n + j];
        }
    }
    *definite = true;
    return CMG_OK;
}

/* Where *definite, X has become its inverse, else it may be spoilt. */
static cmg_status invert_positive(cmg_context *ctx, cmg_size n, double *X, bool *definite)
{
    if (n >= BY_BACKEND && ctx->backend->invert != NULL) {
        return ctx->backend->invert(ctx, n, cmgi_largest(n * n, X), X, definite);
    }
#ifdef CMGI_HAVE_LAPACK
    if (n > CMGI_SMALL_INVERSE) {
        CMGI_TRY(check_room(ctx, n));
        *definite = invert_cholesky((int)n, X);
        return CMG_OK;
    }
#endif
    return n > 0 ? cmgi_small_inverse(ctx, n, false, X, definite) : CMG_OK;
}

static bool takes_constants_to_zero(const double *A, cmg_size n, double roundings)
{
    const double tolerance = roundings * DBL_EPSILON * cmgi_largest(n * n, A);
    bool zero = n > 1;
    for (cmg_size i = 0; i < n && zero; ++i) {
        double sum = 0;
        for (cmg_size j = 0; j < n; ++j) {
            sum += A[i * n + j];
        }
        zero = fabs(sum) <= tolerance;
    }
    return zero;
}

/* X, which takes constants to 0, gets the eigenvalue tau for them, which is returned. */
static double lift_constants(cmg_size n, double *X)
{
    double tau = 0;
    for (cmg_size i = 0; i < n; ++i) {
        tau += X[i * n + i] / (double)n;
    }
    for (cmg_size k = 0; k < n * n; ++k) {
        X[k] += tau / (double)n;
    }
    return tau;
}

/* X is A, or what was made of an unsymmetric one, and becomes its inverse; by row operations, which
 * leave out what is 0, of a narrow band and without LAPACK. */
static cmg_status invert(cmg_context *ctx, const cmg_csr *A, bool symmetric, double *X,
                         cmgi_inverse_kind *kind)
{
    const cmg_size n = A->rows;
    bool semidefinite = false;
    if (symmetric) {
        cmgi_dense_expand(A, X);
        CMGI_TRY(cmgi_small_inverse(ctx, n, true, X, &semidefinite));
    }
    *kind = semidefinite ? CMGI_INVERSE_PSEUDO : CMGI_INVERSE_LU;
    if (semidefinite) {
        return CMG_OK;
    }
#ifdef CMGI_HAVE_LAPACK
    if (BAND * band_of(A) > n) {
        CMGI_TRY(check_room(ctx, n));
        return invert_lu(ctx, (int)n, X);
    }
#endif
    CMGI_SCOPED(ctx, n * n, double, W);
    memcpy(W, X, (size_t)(n * n) * sizeof *W);
    CMGI_CHECK(ctx, cmgi_small_invert(n, W, false, X), CMG_ERR_SINGULAR,
               "coarse matrix of %lld rows is singular", (long long)n);
    return CMG_OK;
}

cmg_status cmgi_dense_inverse(cmg_context *ctx, const cmg_csr *A, double *X,
                              cmgi_inverse_kind *kind)
{
    const cmg_size n = A->rows;
    CMGI_CHECK(ctx, n == A->cols, CMG_ERR_SHAPE, "coarse matrix is %lld x %lld", (long long)n,
               (long long)A->cols);
    CMGI_CHECK(ctx, n <= MOST_ROWS, CMG_ERR_ARG,
               "coarse matrix has %lld rows, at most %d are inverted densely", (long long)n,
               (int)MOST_ROWS);
    bool definite = n == 0;
    *kind = CMGI_INVERSE_CHOLESKY;
    cmgi_dense_expand(A, X);
    const bool symmetric = cmgi_small_is_symmetric(n, X, SYMMETRIC);
    if (symmetric && takes_constants_to_zero(X, n, 64)) { /* not definite: so do other vectors */
        const double tau = lift_constants(n, X);
        *kind = CMGI_INVERSE_PSEUDO;
        CMGI_TRY(invert_positive(ctx, n, X, &definite));
        for (cmg_size k = 0; k < n * n; ++k) {
            X[k] -= 1 / (tau * (double)n);
        }
    } else if (symmetric) {
        CMGI_TRY(invert_positive(ctx, n, X, &definite));
    } else if (takes_constants_to_zero(X, n, 16.0 * (double)n)) {
        /* less is no pivot of LU; solves what has a solution, without constants */
        (void)lift_constants(n, X);
    }
    return definite ? CMG_OK : invert(ctx, A, symmetric, X, kind);
}

cmg_status cmgi_dense_matrix(cmg_context *ctx, cmg_size n, const double *X, const cmg_index *perm,
                             const cmg_matrix_options *options, cmg_matrix **M)
{
    const cmg_csr shape = {.rows = n, .cols = n};
    cmgi_matrix_source from = {.csr = &shape, .dense = X};
    cmgi_scoped double *host = NULL;
    CMGI_TRY(cmgi_is_device(ctx, X, &from.dense_there));
    if (from.dense_there && options->values != CMG_VALUES_FULL) { /* rounded on the host */
        CMGI_TRY(cmgi_alloc(ctx, n * n, sizeof *host, &host));
        CMGI_TRY(cmgi_to_host(ctx, host, X, (size_t)(n * n) * sizeof *host));
        from.dense = host;
        from.dense_there = false;
    } else if (perm != NULL) {
        CMGI_TRY(cmgi_alloc(ctx, n * n, sizeof *host, &host));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
        for (cmg_size k = 0; k < n * n; ++k) {
            host[k] = X[(cmg_size)perm[k / n] * n + perm[k % n]];
        }
        from.dense = host;
    }
    if (*M != NULL) {
        return cmg_matrix_update(*M, from.dense);
    }
    cmg_matrix_options dense;
    cmg_matrix_options_default(&dense);
    dense.format = CMG_FORMAT_DENSE;
    dense.precision = options->precision;
    dense.values = options->values;
    dense.keep_map = options->keep_map;
    dense.t = 1; /* nothing is left to be chosen */
    dense.warp = 32;
    dense.block = 128;
    dense.threshold = 1;
    return cmgi_matrix_make(ctx, cmgi_format_find(ctx, dense.format), &from, &dense, M);
}

cmg_status cmgi_coarse_inverse(const cmg_hierarchy *h, int level, const cmg_index *perm,
                               const cmg_matrix_options *options, cmg_matrix **M,
                               cmgi_inverse_kind *kind)
{
    cmg_context *ctx = h->ctx;
    const cmgi_resident *there = cmgi_hierarchy_there(h, level, CMG_ROLE_A);
    cmg_csr A;
    bool made = false;
    *kind = CMGI_INVERSE_CHOLESKY;
    if (there != NULL && perm == NULL && there->csr.rows >= BY_BACKEND &&
        there->csr.rows <= MOST_ROWS) {
        const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
        const cmg_size n = there->csr.rows;
        cmgi_dense_look look = {0, 0};
        CMGI_SCOPED_DEVICE(ctx, n * n, double, X);
        CMGI_TRY(on->expand(ctx, &there->csr, X, &look));
        if (!(look.difference > SYMMETRIC * look.largest)) {
            CMGI_TRY(on->invert(ctx, n, look.largest, X, &made));
        }
        if (made) { /* else it is not positive definite, which is left to the host */
            return cmgi_dense_matrix(ctx, n, X, NULL, options, M);
        }
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, &A));
    CMGI_SCOPED_ZERO(ctx, A.rows * A.rows, double, X);
    CMGI_TRY(cmgi_dense_inverse(ctx, &A, X, kind));
    return cmgi_dense_matrix(ctx, A.rows, X, perm, options, M);
}
