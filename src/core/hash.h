/*
 * The hash of the library: 64-bit words are mixed in one after the other,
 *
 *     h <- g ^ (g >> 29),   g = (h ^ v) 2^64/phi,
 *
 * a multiplication by the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4) and
 * a shift that brings the high bits down, where tables look.
 */
#pragma once
#include "core/inline.h"

#include <stdint.h>

CMGI_INLINE uint64_t cmgi_hash_mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}
