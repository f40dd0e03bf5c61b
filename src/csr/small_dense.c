/* Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithm 3.4.1. */
#include "csr/small_dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool cmgi_small_lu(cmg_size n, double *restrict H, cmg_size count, double *restrict x)
{
    const double largest = cmgi_largest(n * n, H);
    for (cmg_size k = 0; k < n; ++k) {
        cmg_size pivot = k;
        for (cmg_size i = k + 1; i < n; ++i) {
            pivot = fabs(H[i * n + k]) > fabs(H[pivot * n + k]) ? i : pivot;
        }
        if (!(fabs(H[pivot * n + k]) > largest * DBL_EPSILON * (double)n)) {
            return false;
        }
        if (pivot != k) {
            cmgi_swap(n, H + k * n, H + pivot * n);
            cmgi_swap(count, x + k * count, x + pivot * count);
        }
        for (cmg_size i = k + 1; i < n; ++i) {
            const double factor = H[i * n + k] / H[k * n + k];
            if (factor != 0) {
                cmgi_subtract(n - k, factor, H + k * n + k, H + i * n + k);
                cmgi_subtract(count, factor, x + k * count, x + i * count);
            }
        }
    }
    for (cmg_size i = n - 1; i >= 0; --i) {
        for (cmg_size j = i + 1; j < n; ++j) {
            if (H[i * n + j] != 0) {
                cmgi_subtract(count, H[i * n + j], x + j * count, x + i * count);
            }
        }
        for (cmg_size k = 0; k < count; ++k) {
            x[i * count + k] /= H[i * n + i];
        }
    }
    return true;
}

bool cmgi_small_is_symmetric(cmg_size n, const double *H, double share)
{
    const double tolerance = share * cmgi_largest(n * n, H);
    bool symmetric = true;
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j < i && symmetric; ++j) {
            symmetric = !(fabs(H[i * n + j] - H[j * n + i]) > tolerance);
        }
    }
    return symmetric;
}

bool cmgi_small_invert(cmg_size n, double *restrict H, bool symmetric, double *restrict X)
{
    for (cmg_size k = 0; k < n * n; ++k) {
        X[k] = k % (n + 1) == 0 ? 1 : 0;
    }
    if (!cmgi_small_lu(n, H, n, X)) {
        return false;
    }
    for (cmg_size i = 0; symmetric && i < n; ++i) {
        for (cmg_size j = 0; j < i; ++j) {
            X[i * n + j] = 0.5 * (X[i * n + j] + X[j * n + i]);
            X[j * n + i] = X[i * n + j];
        }
    }
    return true;
}

void cmgi_small_gather(const cmg_csr *A, const cmg_index *J, cmg_size length, cmgi_index_map *map,
                       double *restrict H)
{
    cmgi_index_map_clear(map);
    for (cmg_size p = 0; p < length; ++p) {
        (void)cmgi_index_map_add(map, J[p]);
    }
    memset(H, 0, (size_t)(length * length) * sizeof *H);
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            const cmg_index q = cmgi_index_map_find(map, A->indices[k]);
            if (q >= 0) {
                H[p * length + q] += A->values[k];
            }
        }
    }
}
