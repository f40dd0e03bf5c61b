/* Small model matrices, built densely so that tests can compare with plain loops. */
#pragma once
#include "test.h"

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
    EACH_PAIR (r, n, s, n) {
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
    return dense;
}

/* D A D with a random positive diagonal D: symmetric positive definite, badly scaled. */
static inline void model_rescale(cmg_size n, double *dense)
{
    uint64_t seed = 7;
    scoped double *d = malloc((size_t)n * sizeof *d);
    FILL(d, i, n, pow(10, 2 * cmgi_random(&seed) - 1));
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

/* C = A B, dense, malloc'ed. */
static inline double *model_multiply(cmg_size n, const double *A, const double *B)
{
    double *C = calloc((size_t)(n * n + 1), sizeof *C);
    EACH_PAIR (i, n, k, n) {
        for (cmg_size j = 0; A[i * n + k] != 0 && j < n; ++j) {
            C[i * n + j] += A[i * n + k] * B[k * n + j];
        }
    }
    return C;
}

/* The five-point stencil on m x m nodes with coefficients that vary, for sizes that dense forms
 * have not. */
static inline cmgi_csr model_five_point(int m)
{
    const cmg_size n = (cmg_size)m * m;
    cmgi_csr A = csr_new(n, n, 5 * n - 4 * (cmg_size)m);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size near[5] = {i - m, i - 1, i, i + 1, i + m};
        const bool there[5] = {i >= m, i % m > 0, true, i % m < m - 1, i < n - m};
        double coupling[5]; /* symmetric: it depends on the sum of both numbers */
        double diagonal = 0;
        for (int k = 0; k < 5; ++k) {
            coupling[k] = 1 + 0.5 * sin((double)(i + near[k]));
            diagonal += k != 2 ? coupling[k] : 0;
        }
        for (int k = 0; k < 5; ++k) {
            if (there[k]) {
                csr_put(&A, i, near[k], k == 2 ? diagonal : -coupling[k]);
            }
        }
    }
    csr_end(&A);
    return A;
}

/* max |M A - I| */
static inline double model_distance_to_identity(cmg_size n, const double *M, const double *A)
{
    scoped double *MA = model_multiply(n, M, A);
    double worst = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        const double error = fabs(MA[k] - (k % (n + 1) == 0 ? 1 : 0));
        worst = error <= worst ? worst : error; /* NaN wins */
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
