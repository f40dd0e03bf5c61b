/*
 * What smoothed aggregation does with a node or a row: one body for the loops of the host and for
 * kernels, so that both come to the same bits (no fused operations in either).
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
