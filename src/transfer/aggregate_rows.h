/*
 * What smoothed aggregation does with a node, a row or an aggregate: one body for the loops of the
 * host and for kernels, so that both come to the same bits (no fused operations in either).
 */
#pragma once
#include "core/inline.h"
#include "core/random.h"
#include "csr/csr.h"

#include <math.h>

/* ------------------------------------------------------------------ strength of connection */

/* Entries of a row of nodes. */
typedef struct cmgi_node_row {
    const cmg_index *indices;
    const double *values;
    cmg_size length;
} cmgi_node_row;

/* How a row couples: sign of its couplings (0: by size), and the largest. */
typedef struct cmgi_coupling {
    double sign;
    double largest; /* 0 = isolated */
} cmgi_coupling;

/* Rows whose sum of off-diagonal entries is at most this share of the diagonal are isolated. */
#define CMGI_ISOLATED 0.1

CMGI_INLINE cmgi_coupling cmgi_coupling_of(const cmgi_node_row *row, cmg_size i, bool has_signs)
{
    cmgi_coupling c = {0, 0};
    double diagonal = 0;
    double sum = 0;
    double most[2] = {0, 0}; /* negative, positive */
    for (cmg_size k = 0; k < row->length; ++k) {
        const double value = row->values[k];
        if (row->indices[k] == i) {
            diagonal = value;
        } else {
            const double size = fabs(value);
            sum += size;
            if (value > 0) {
                most[1] = size > most[1] ? size : most[1];
            } else {
                most[0] = size > most[0] ? size : most[0];
            }
        }
    }
    if (sum <= CMGI_ISOLATED * fabs(diagonal)) {
        return c;
    }
    const double wanted = diagonal < 0 ? most[1] : most[0];
    if (has_signs && wanted > 0) {
        c.sign = diagonal < 0 ? 1 : -1;
        c.largest = wanted;
    } else {
        c.largest = fmax(most[0], most[1]);
    }
    return c;
}

/* Strong entries of row i, in its order; returns how many. */
CMGI_INLINE cmg_size cmgi_strong_row(const cmgi_node_row *row, cmg_size i, const cmgi_coupling *c,
                                     double theta, cmg_index *columns, double *values)
{
    const cmgi_coupling own = c[i];
    const double share = theta * theta * own.largest;
    cmg_size count = 0;
    for (cmg_size k = 0; k < row->length && own.largest > 0; ++k) {
        const cmg_index j = row->indices[k];
        const double size = own.sign == 0 ? fabs(row->values[k]) : own.sign * row->values[k];
        if (j == i || size <= 0 || c[j].largest == 0 || size * size < share * c[j].largest) {
            continue;
        }
        if (columns != NULL) {
            columns[count] = j;
            values[count] = size;
        }
        ++count;
    }
    return count;
}

/* ------------------------------------------------------------------ the independent set */

/* State above, then the hash, then the number: all different, so that the largest is one node. */
enum { CMGI_NODE_OUT = 0, CMGI_NODE_OPEN = 1, CMGI_NODE_IN = 2 };

CMGI_INLINE int cmgi_key_state(uint64_t key)
{
    return (int)(key >> 62);
}

CMGI_INLINE uint64_t cmgi_key_with(uint64_t key, int state)
{
    return (key & (UINT64_MAX >> 2)) | (uint64_t)state << 62;
}

/* The key of node i, open where it has neighbours. */
CMGI_INLINE uint64_t cmgi_key_of(cmg_size i, bool connected)
{
    uint64_t seed = (uint64_t)i;
    const uint64_t key = (cmgi_random_bits(&seed) >> 34 << 32) | (uint64_t)i;
    return cmgi_key_with(key, connected ? CMGI_NODE_OPEN : CMGI_NODE_OUT);
}

/* The key after a round in which `two` is the largest within two steps. */
CMGI_INLINE uint64_t cmgi_key_decided(uint64_t key, uint64_t two)
{
    const int state = two == key                            ? CMGI_NODE_IN
                      : cmgi_key_state(two) == CMGI_NODE_IN ? CMGI_NODE_OUT
                                                            : CMGI_NODE_OPEN;
    return cmgi_key_with(key, state);
}

/* ------------------------------------------------------------------ orthonormal blocks */

/* What is left of a vector that the others give already. */
#define CMGI_DEPENDENT 1e-10

/* The rows of one aggregate in P, rows x vectors by rows wherever they lie. */
typedef struct cmgi_panel {
    const cmg_index *node;
    cmg_size nodes;
    int block;
    int vectors;
    const cmg_size *indptr;
    double *values;
} cmgi_panel;

CMGI_INLINE double *cmgi_panel_row(const cmgi_panel *p, cmg_size r)
{
    return p->values + p->indptr[(cmg_size)p->node[r / p->block] * p->block + r % p->block];
}

CMGI_INLINE double cmgi_panel_dot(const cmgi_panel *p, int c, int d)
{
    double sum = 0;
    for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
        const double *row = cmgi_panel_row(p, r);
        sum += row[c] * row[d];
    }
    return sum;
}

/*
 * Modified Gram-Schmidt, each vector twice (Giraud, Langou, Rozloznik 2005: twice is enough). R is
 * vectors x vectors by rows.
 */
CMGI_INLINE void cmgi_panel_orthonormalise(const cmgi_panel *p, double *R)
{
    for (int c = 0; c < p->vectors; ++c) {
        const double before = sqrt(cmgi_panel_dot(p, c, c));
        for (int d = 0; d < 2 * c; ++d) {
            const double s = cmgi_panel_dot(p, d % c, c);
            R[d % c * p->vectors + c] += s;
            for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
                double *row = cmgi_panel_row(p, r);
                row[c] -= s * row[d % c];
            }
        }
        const double norm = sqrt(cmgi_panel_dot(p, c, c));
        const bool dependent = !(norm > CMGI_DEPENDENT * before);
        R[c * p->vectors + c] = dependent ? 0 : norm;
        for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
            double *row = cmgi_panel_row(p, r);
            row[c] = dependent ? 0 : row[c] / norm;
        }
    }
}

/* ------------------------------------------------------------------ smoothing */

/*
 * Row i of A without the entries that are neither strong nor on the diagonal, which takes them over
 * so that constants stay what they are to A. Rows whose diagonal would nearly vanish stay whole.
 * Zeros beside the diagonal are left out. The columns of S come in the order of A's.
 */
CMGI_INLINE cmg_size cmgi_filtered_row(const cmg_csr *A, const cmg_csr *S, cmg_size i,
                                       cmg_index *columns, double *values)
{
    const cmg_size end = S->indptr[i + 1];
    cmg_size s = S->indptr[i];
    double dropped = 0;
    double diagonal = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool strong = s < end && S->indices[s] == j;
        s += strong;
        dropped += j != i && !strong ? A->values[k] : 0;
        diagonal = j == i ? A->values[k] : diagonal;
    }
    const bool whole = end == S->indptr[i] || !((diagonal + dropped) / diagonal > 0.2);
    cmg_size count = 0;
    s = S->indptr[i];
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool strong = s < end && S->indices[s] == j;
        s += strong;
        const double lumped = j == i ? diagonal + dropped : (strong ? A->values[k] : 0);
        const double value = whole ? A->values[k] : lumped;
        if (value == 0 && j != i) {
            continue;
        }
        if (columns != NULL) {
            columns[count] = j;
            values[count] = value;
        }
        ++count;
    }
    return count;
}

/* Row i of A P_0 becomes that of P_0 - factor D^-1 A P_0, whose pattern holds that of P_0 where A
 * has a diagonal; d: of that row. */
CMGI_INLINE void cmgi_smoothed_row(const cmg_csr *P0, const cmg_csr *AP, cmg_size i, double d,
                                   double factor, double *values)
{
    cmg_size e = P0->indptr[i];
    for (cmg_size k = AP->indptr[i]; k < AP->indptr[i + 1]; ++k) {
        values[k] *= d != 0 ? -factor / d : 0;
        if (e < P0->indptr[i + 1] && P0->indices[e] == AP->indices[k]) {
            values[k] += P0->values[e++];
        }
    }
}

/* Entry i of the vector that the power method begins with: rough, so that the top of the spectrum
 * is in it. */
CMGI_INLINE double cmgi_rough_at(cmg_size i)
{
    return (double)((uint64_t)i * 2654435761U % 1024) / 512 - 1;
}

enum { CMGI_POWER_STEPS = 12, CMGI_POWER_LANES = 8, CMGI_POWER_BLOCK = 256 };

/* x^T D x and x^T A x */
typedef struct cmgi_power_sums {
    double v[2];
} cmgi_power_sums;

CMGI_INLINE double cmgi_power_scale(const cmgi_power_sums *s)
{
    return s->v[0] > 0 ? 1 / sqrt(s->v[0]) : 0;
}

/*
 * The largest eigenvalue from below by the sums of all steps, with a tenth for what is missing
 * after them; at most the bound, which is the largest row sum of |D^-1 A|.
 */
CMGI_INLINE double cmgi_power_result(const cmgi_power_sums *step, double bound)
{
    double found = 0;
    for (int k = 0; k < CMGI_POWER_STEPS; ++k) {
        found = step[k].v[0] > 0 ? fmax(found, step[k].v[1] / step[k].v[0]) : found;
    }
    const double lambda = fmin(1.1 * found, bound);
    if (lambda > 0 && isfinite(lambda)) {
        return lambda;
    }
    return isfinite(bound) && bound > 0 ? bound : 1;
}
