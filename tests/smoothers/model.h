/* Small model matrices, built densely so that tests can compare with plain loops. */
#pragma once
#include "test.h"

/* A dense n x n matrix by rows as CSR without its zeros. */
static inline cmgi_csr model_from_dense(cmg_context *c, cmg_size n, const double *dense)
{
    cmg_size nnz = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        nnz += dense[k] != 0;
    }
    cmgi_csr A = {0};
    CHECK_OK(cmgi_csr_alloc(c, n, n, nnz, &A));
    cmg_size at = 0;
    for (cmg_size i = 0; i < n; ++i) {
        A.indptr[i] = at;
        for (cmg_size j = 0; j < n; ++j) {
            if (dense[i * n + j] != 0) {
                A.indices[at] = (cmg_index)j;
                A.values[at++] = dense[i * n + j];
            }
        }
    }
    return A;
}

/* The dense form of a CSR matrix, malloc'ed. */
static inline double *model_to_dense(const cmgi_csr *A)
{
    double *dense = calloc((size_t)(A->rows * A->cols + 1), sizeof *dense);
    EACH_ENTRY (A, i, k) {
        dense[i * A->cols + A->indices[k]] += A->values[k];
    }
    return dense;
}

/* One-dimensional mass (6/h) or stiffness (h) entry of linear elements between nodes a and b. */
static inline double model_line(int a, int b, bool stiffness)
{
    const int d = abs(a - b);
    return d > 1 ? 0 : stiffness ? (d == 0 ? 2.0 : -1.0) : (d == 0 ? 4.0 : 1.0) / 6;
}

/* Bilinear or trilinear elements on m^dim interior nodes, cells stretched by `aspect` along x. */
static inline double *model_q1(int m, int dim, double aspect)
{
    const int n = dim == 2 ? m * m : m * m * m;
    double *dense = calloc((size_t)n * (size_t)n, sizeof *dense);
    for (int r = 0; r < n; ++r) {
        for (int s = 0; s < n; ++s) {
            const int a[3] = {r % m, r / m % m, r / m / m};
            const int b[3] = {s % m, s / m % m, s / m / m};
            for (int direction = 0; direction < dim; ++direction) {
                double term = direction == 0 ? 1 / (aspect * aspect) : 1;
                for (int d = 0; d < dim; ++d) {
                    term *= model_line(a[d], b[d], d == direction);
                }
                dense[r * n + s] += fabs(term) > 1e-14 ? term : 0;
            }
            dense[r * n + s] = fabs(dense[r * n + s]) > 1e-12 ? dense[r * n + s] : 0;
        }
    }
    return dense;
}

/* D A D with a random positive diagonal D: symmetric positive definite, badly scaled. */
static inline void model_rescale(cmg_size n, double *dense)
{
    uint64_t seed = 7;
    scoped double *d = malloc((size_t)n * sizeof *d);
    for (cmg_size i = 0; i < n; ++i) {
        d[i] = pow(10, 2 * cmgi_random(&seed) - 1);
    }
    for (cmg_size k = 0; k < n * n; ++k) {
        dense[k] *= d[k / n] * d[k % n];
    }
}

/* Turns every `stride`-th row into an identity row, columns kept: Dirichlet conditions. */
static inline void model_dirichlet(cmg_size n, cmg_size stride, double *dense)
{
    for (cmg_size i = 0; i < n; i += stride) {
        for (cmg_size j = 0; j < n; ++j) {
            dense[i * n + j] = i == j ? 1 : 0;
        }
    }
}

/* Inverse of a dense matrix by Gauss and Jordan with row exchanges, malloc'ed. */
static inline double *model_invert(cmg_size n, const double *dense)
{
    scoped double *A = malloc((size_t)(n * n) * sizeof *A);
    double *X = calloc((size_t)(n * n), sizeof *X);
    memcpy(A, dense, (size_t)(n * n) * sizeof *A);
    for (cmg_size i = 0; i < n; ++i) {
        X[i * n + i] = 1;
    }
    for (cmg_size c = 0; c < n; ++c) {
        cmg_size pivot = c;
        for (cmg_size i = c + 1; i < n; ++i) {
            pivot = fabs(A[i * n + c]) > fabs(A[pivot * n + c]) ? i : pivot;
        }
        for (cmg_size j = 0; j < n; ++j) {
            const double a = A[c * n + j];
            const double x = X[c * n + j];
            A[c * n + j] = A[pivot * n + j];
            X[c * n + j] = X[pivot * n + j];
            A[pivot * n + j] = a;
            X[pivot * n + j] = x;
        }
        const double scale = 1 / A[c * n + c];
        for (cmg_size j = 0; j < n; ++j) {
            A[c * n + j] *= scale;
            X[c * n + j] *= scale;
        }
        for (cmg_size i = 0; i < n; ++i) {
            const double factor = i == c ? 0 : A[i * n + c];
            for (cmg_size j = 0; factor != 0 && j < n; ++j) {
                A[i * n + j] -= factor * A[c * n + j];
                X[i * n + j] -= factor * X[c * n + j];
            }
        }
    }
    return X;
}

/* C = A B, dense, malloc'ed. */
static inline double *model_multiply(cmg_size n, const double *A, const double *B)
{
    double *C = calloc((size_t)(n * n + 1), sizeof *C);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = 0; k < n; ++k) {
            for (cmg_size j = 0; A[i * n + k] != 0 && j < n; ++j) {
                C[i * n + j] += A[i * n + k] * B[k * n + j];
            }
        }
    }
    return C;
}

/* The five-point stencil on m x m nodes with coefficients that vary, for sizes that dense forms
 * have not. */
static inline cmgi_csr model_five_point(cmg_context *c, int m)
{
    cmgi_csr A = {0};
    const cmg_size n = (cmg_size)m * m;
    CHECK_OK(cmgi_csr_alloc(c, n, n, 5 * n - 4 * (cmg_size)m, &A));
    cmg_size at = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size near[5] = {i - m, i - 1, i, i + 1, i + m};
        const bool there[5] = {i >= m, i % m > 0, true, i % m < m - 1, i < n - m};
        double diagonal = 0;
        cmg_size middle = 0;
        A.indptr[i] = at;
        for (int k = 0; k < 5; ++k) {
            /* symmetric: the coupling depends on the sum of both numbers */
            const double coupling = 1 + 0.5 * sin((double)(i + near[k]));
            diagonal += k != 2 ? coupling : 0;
            if (there[k]) {
                middle = k == 2 ? at : middle;
                A.indices[at] = (cmg_index)near[k];
                A.values[at++] = k == 2 ? 0 : -coupling;
            }
        }
        A.values[middle] = diagonal;
    }
    A.indptr[n] = at;
    return A;
}

/* max |M A - I| */
static inline double model_distance_to_identity(cmg_size n, const double *M, const double *A)
{
    scoped double *MA = model_multiply(n, M, A);
    double worst = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        worst = fmax(worst, fabs(MA[k] - (k % (n + 1) == 0 ? 1 : 0)));
    }
    return worst;
}

/* An unsymmetric diagonally dominant matrix with a symmetric pattern of random entries. */
static inline double *model_unsymmetric(cmg_size n)
{
    double *dense = calloc((size_t)(n * n), sizeof *dense);
    uint64_t seed = 21;
    for (cmg_size k = 0; k < 4 * n; ++k) {
        const cmg_size i = (cmg_size)(cmgi_random(&seed) * (double)n);
        const cmg_size j = (cmg_size)(cmgi_random(&seed) * (double)n);
        dense[i * n + j] = 2 * cmgi_random(&seed) - 1;
    }
    for (cmg_size i = 0; i < n; ++i) {
        dense[i * n + i] = i % 2 == 0 ? 9 : -7;
    }
    return dense;
}
