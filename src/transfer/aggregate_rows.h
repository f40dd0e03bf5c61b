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

/* How a row couples: sign of its couplings (0: by size), and the largest. */
typedef struct cmgi_coupling {
    double sign;
    double largest; /* 0 = isolated */
} cmgi_coupling;

/* Rows whose sum of off-diagonal entries is at most this share of the diagonal are isolated. */
#define CMGI_ISOLATED 0.1

/* Of a row: sum of the sizes of the entries beside the diagonal, the largest below 0, and above. */
CMGI_INLINE cmgi_coupling cmgi_coupling_of(double diagonal, double sum, double negative,
                                           double positive, bool has_signs)
{
    cmgi_coupling c = {0, 0};
    if (sum <= CMGI_ISOLATED * fabs(diagonal)) {
        return c;
    }
    const double wanted = diagonal < 0 ? positive : negative;
    if (has_signs && wanted > 0) {
        c.sign = diagonal < 0 ? 1 : -1;
        c.largest = wanted;
    } else {
        c.largest = fmax(negative, positive);
    }
    return c;
}

/* Size of the coupling by an entry, not above 0 where it does not count. */
CMGI_INLINE double cmgi_coupling_size(const cmgi_coupling *own, double value)
{
    return own->sign == 0 ? fabs(value) : own->sign * value;
}

/* Whether a coupling of that size is strong; share: theta^2 times the row's own largest. */
CMGI_INLINE bool cmgi_is_strong(double size, double share, const cmgi_coupling *other)
{
    return size > 0 && other->largest != 0 && !(size * size < share * other->largest);
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
