/* Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithm 4.3.1 with exchanges. */
#include "csr/small_dense.h"
#include "mg/envelope.h"

#include <float.h>
#include <math.h>
#include <string.h>

cmg_status cmgi_band_create(cmg_context *ctx, const cmg_csr *A, double budget, cmgi_envelope *E)
{
    E->negative = false;
    for (cmg_size i = 0; i < A->rows; ++i) {
        E->sign[i] = 1;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size off = E->place[A->indices[k]] - E->place[i];
            E->above = off > E->above ? off : E->above;
            E->below = -off > E->below ? -off : E->below;
        }
    }
    if ((double)A->rows * (double)(E->below * (E->below + E->above)) > budget) {
        return CMG_OK;
    }
    E->start[E->pairs] = A->rows * (2 * E->below + E->above + 1);
    cmgi_free(ctx, cmgi_pass_on(&E->value));
    CMGI_TRY(cmgi_alloc(ctx, E->start[E->pairs], sizeof *E->value, &E->value));
    return cmgi_alloc(ctx, A->rows, sizeof *E->swap, &E->swap);
}

static double *in_band(const cmgi_envelope *E, cmg_size p, cmg_size q)
{
    return E->value + p * (2 * E->below + E->above) + E->below + q;
}

bool cmgi_band_factor(const cmg_csr *A, cmgi_envelope *E)
{
    const cmg_size n = A->rows;
    const double tiny = 16.0 * (double)n * DBL_EPSILON * cmgi_largest(A->indptr[n], A->values);
    cmg_size reach = 0; /* last column of the rows that came up so far */
    memset(E->value, 0, (size_t)E->start[E->pairs] * sizeof *E->value);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            *in_band(E, E->place[i], E->place[A->indices[k]]) += A->values[k];
        }
    }
    for (cmg_size p = 0; p < n; ++p) {
        const cmg_size last = p + E->below < n ? p + E->below : n - 1;
        cmg_size row = p; /* of the largest entry in column p, which changes places with row p */
        for (cmg_size i = p + 1; i <= last; ++i) {
            row = fabs(*in_band(E, i, p)) > fabs(*in_band(E, row, p)) ? i : row;
        }
        const cmg_size end = row + E->above < n ? row + E->above : n - 1;
        reach = end > reach ? end : reach;
        if (row != p) {
            cmgi_swap(reach + 1 - p, in_band(E, p, p), in_band(E, row, p));
        }
        E->swap[p] = (cmg_index)row;
        const double pivot = *in_band(E, p, p);
        if (!(fabs(pivot) > tiny)) {
            return false;
        }
        for (cmg_size i = p + 1; i <= last; ++i) {
            double *l = in_band(E, i, p);
            *l /= pivot;
            if (*l != 0) {
                cmgi_subtract(reach - p, *l, in_band(E, p, p + 1), l + 1);
            }
        }
    }
    return true;
}

void cmgi_band_solve(const cmgi_envelope *E, double *y)
{
    const cmg_size n = E->rows;
    for (cmg_size p = 0; p < n; ++p) {
        const cmg_size last = p + E->below < n ? p + E->below : n - 1;
        const double value = y[E->swap[p]];
        y[E->swap[p]] = y[p];
        y[p] = value;
        for (cmg_size i = p + 1; i <= last; ++i) {
            y[i] -= *in_band(E, i, p) * value;
        }
    }
    for (cmg_size p = n - 1; p >= 0; --p) {
        const cmg_size reach = p + E->below + E->above < n ? E->below + E->above : n - 1 - p;
        y[p] = (y[p] - cmgi_dot(reach, in_band(E, p, p + 1), y + p + 1)) / *in_band(E, p, p);
    }
}
