#include "csr/ideal.h"

#include "core/memory.h"
#include "core/search.h"
#include "csr/small_dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * H z = g for a row z of R on its columns N: (z A)_j = 0 for j in N, and z_c = 1. A bit of `seen`
 * spares most columns outside N the search.
 */
static void gather(const cmg_csr *A, cmg_index c, int n, const cmg_index *N, double *H, double *g)
{
    uint64_t seen[16] = {0};
    memset(H, 0, (size_t)(n * n) * sizeof *H);
    for (int p = 0; p < n; ++p) {
        seen[N[p] / 64 % 16] |= (uint64_t)(N[p] != c) << N[p] % 64;
        g[p] = N[p] == c;
        H[p * n + p] = N[p] == c;
    }
    for (int p = 0; p < n; ++p) {
        for (cmg_size k = A->indptr[N[p]]; k < A->indptr[N[p] + 1]; ++k) {
            const cmg_index j = A->indices[k];
            const bool maybe = (seen[j / 64 % 16] >> j % 64 & 1) != 0 && j != c;
            const cmg_size q = maybe ? cmgi_search_index(N, 0, n, j) : n;
            if (q < n && N[q] == j) {
                H[q * n + p] += A->values[k];
            }
        }
    }
}

void cmgi_ideal_solve(const cmg_csr *A, cmg_index c, int n, const cmg_index *N, double *z)
{
    double H[CMGI_IDEAL_MOST * CMGI_IDEAL_MOST];
    const int at = (int)cmgi_search_index(N, 0, n, c);
    gather(A, c, n, N, H, z);
    if (!cmgi_small_lu(n, H, 1, z)) {
        gather(A, c, n, N, H, z);
        for (int p = 0; p < n; ++p) {
            z[p] = H[p * n + p] != 0 ? -H[p * n + at] / H[p * n + p] : 0;
        }
    }
    for (int p = 0; p < n; ++p) {
        z[p] = p != at && z[p] == 1 ? 1 - DBL_EPSILON : z[p];
    }
    z[at] = 1;
}

cmg_status cmgi_ideal_rows(cmg_context *ctx, const cmg_csr *R, cmg_index *row, bool *all)
{
    *all = true;
    CMGI_SCOPED_ZERO(ctx, R->cols, cmg_index, count);
    for (cmg_size k = 0; k < R->indptr[R->rows]; ++k) {
        count[R->indices[k]] += R->values[k] != 0;
    }
    for (cmg_size r = 0; r < R->rows; ++r) {
        cmg_size k = R->indptr[r];
        while (k < R->indptr[r + 1] && (R->values[k] != 1 || count[R->indices[k]] != 1)) {
            ++k;
        }
        *all = *all && k < R->indptr[r + 1];
        row[r] = k < R->indptr[r + 1] ? R->indices[k] : -1;
    }
    return CMG_OK;
}

enum { SAMPLE = 64 };
static const double ROUNDING = 1e-9; /* of the sum of the sizes of what is added up */

/* (R A)_(r, j), and of the sizes of its terms. */
static double product_at(const cmg_csr *R, const cmg_csr *A, cmg_size r, cmg_index j, double *sizes)
{
    double sum = 0;
    for (cmg_size k = R->indptr[r]; k < R->indptr[r + 1]; ++k) {
        const cmg_index i = R->indices[k];
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            const double term = A->indices[e] == j ? R->values[k] * A->values[e] : 0;
            sum += term;
            *sizes += fabs(term);
        }
    }
    return sum;
}

bool cmgi_ideal_holds(const cmg_csr *A, const cmg_csr *R, const cmg_index *row)
{
    const cmg_size step = R->rows > SAMPLE ? R->rows / SAMPLE | 1 : 1;
    cmg_size zeros = 0;
    cmg_size all = 0;
    for (cmg_size r = step / 2; r < R->rows; r += step) {
        for (cmg_size k = R->indptr[r]; k < R->indptr[r + 1]; ++k) {
            double sizes = 0;
            const double sum = product_at(R, A, r, R->indices[k], &sizes);
            all += R->indices[k] != row[r];
            zeros += R->indices[k] != row[r] && fabs(sum) <= ROUNDING * sizes;
        }
    }
    return all > 0 && 10 * zeros >= 9 * all; /* a few systems are singular */
}
