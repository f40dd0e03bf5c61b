/* Matrices to compress, and the error of their products against plain loops. */
#pragma once
#include "core/vector.h"
#include "spmv/compressed.h"
#include "spmv/cpu_kernels.h"
#include "suite.h"

/* 5-point Laplacian on m x m points; `vary` > 0 gives every entry a value of its own, symmetric. */
static inline cmgi_csr grid(cmg_size m, double vary)
{
    cmgi_csr A = csr_new(m * m, m * m, 5 * m * m - 4 * m);
    for (cmg_size i = 0; i < m * m; ++i) {
        const cmg_size neighbour[5] = {i - m, i - 1, i, i + 1, i + m};
        const bool there[5] = {i >= m, i % m > 0, true, i % m < m - 1, i < m * (m - 1)};
        for (int d = 0; d < 5; ++d) {
            if (there[d]) {
                const cmg_size j = neighbour[d];
                uint64_t pair = (uint64_t)((i < j ? i : j) * 1000003 + (i < j ? j : i));
                csr_put(&A, i, j, (d == 2 ? 4 : -1) * (1 + vary * cmgi_random(&pair)));
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Linear interpolation from n points to 2 n - 1. */
static inline cmgi_csr interpolation(cmg_size n)
{
    cmgi_csr P = csr_new(2 * n - 1, n, 3 * n - 2);
    for (cmg_size i = 0; i < 2 * n - 1; ++i) {
        for (cmg_size c = i / 2; c <= (i + 1) / 2; ++c) {
            csr_put(&P, i, c, i % 2 ? 0.5 : 1);
        }
    }
    csr_end(&P);
    return P;
}

static inline const cmgi_compressed *layout(const cmg_matrix *M)
{
    return M->data;
}

/* Largest error of M x against plain loops, over the largest sum of |a_ij x_j|; ones or random x.
 */
static inline double product_error(const cmgi_csr *A, const cmg_matrix *M, bool ones)
{
    scoped double *x = random_values(A->cols, 3);
    for (cmg_size j = 0; ones && j < A->cols; ++j) {
        x[j] = 1;
    }
    scoped double *expected = calloc((size_t)A->rows + 1, sizeof(double));
    scoped double *magnitude = calloc((size_t)A->rows + 1, sizeof(double));
    scoped_vector *vx = vector_from(A->cols, M->options.precision, x);
    scoped_vector *vy = vector_new(A->rows, M->options.precision);
    CHECK_OK(cmg_vector_fill(vy, NAN)); /* what is not written shows */
    CHECK_OK(cmg_vector_get(vx, x));
    suite_multiply(A, x, expected, magnitude);
    CHECK_OK(cmg_matrix_apply(M, vx, vy));
    scoped double *out = values_of(vy);
    double worst = 0;
    double largest = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double error = fabs(out[i] - expected[i]);
        worst = error <= worst ? worst : error; /* NaN wins */
        largest = worst_of(largest, magnitude[i]);
    }
    return largest > 0 ? worst / largest : worst;
}

/* Largest error of M x by one instruction set of the CPU, M of slices or compressed. */
static inline double set_error(const cmgi_cpu_kernels *set, const cmgi_csr *A, const cmg_matrix *M)
{
    const cmg_precision p = M->options.precision;
    const size_t cols = (size_t)A->cols; /* no entry more: sanitizers see it */
    scoped double *x = random_values(A->cols, 5);
    scoped float *single = malloc(cols * sizeof *single);
    scoped double *wide = malloc(cols * sizeof *wide);
    scoped void *y = malloc((size_t)A->rows * cmgi_precision_bytes(p));
    const cmgi_writeback w = {.kind = CMGI_WB_SCALED, .alpha = 1, .y = y};
    const void *in = p == CMG_FP64 ? (void *)wide : (void *)single;
    double worst = 0;
    memset(y, 0xff, (size_t)A->rows * cmgi_precision_bytes(p)); /* what is not written shows */
    for (cmg_size j = 0; j < A->cols; ++j) {
        single[j] = (float)x[j];
        wide[j] = x[j] = p == CMG_FP64 ? x[j] : single[j];
    }
    if (M->options.format == CMG_FORMAT_COMPRESSED) {
        set->rows[p][CMGI_ROWS_TEMPLATES](M, &w, in, 0, layout(M)->t.count);
        set->rows[p][CMGI_ROWS_PACKED](M, &w, in, 0, layout(M)->p.count);
    } else {
        set->rows[p][CMGI_ROWS_SLICES](M, &w, in, 0, ((const cmgi_slices *)M->data)->nslices);
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double found = p == CMG_FP64 ? ((double *)y)[i] : ((float *)y)[i];
        const double error = fabs(found - row_times(&A->view, i, x));
        worst = error <= worst ? worst : error; /* NaN wins */
    }
    return worst;
}

/* Error of a product over sum |a_ij x_j| that rounding the entries to nearest allows. */
static inline double rounding(cmg_values values)
{
    static const double half_unit[] = {6e-8, 0x1p-11, 0x1p-4};
    return half_unit[values] + 1e-6;
}
