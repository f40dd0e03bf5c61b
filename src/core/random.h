/*
 * Random numbers with a fixed stream on every machine: SplitMix64.
 * Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
 */
#pragma once
#include "core/inline.h"

#include <stdint.h>

/* Its last step: every bit of z changes about half of those of the result, which is one to one. */
CMGI_INLINE uint64_t cmgi_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

CMGI_INLINE uint64_t cmgi_random_bits(uint64_t *state)
{
    return cmgi_random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform in [0, 1). */
CMGI_INLINE double cmgi_random(uint64_t *state)
{
    return (double)(cmgi_random_bits(state) >> 11) * 0x1p-53;
}

/* Number i of the stream that begins at `seed`, uniform in [-1, 1). */
CMGI_INLINE double cmgi_random_at(uint64_t seed, uint64_t i)
{
    uint64_t state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
    return 2 * cmgi_random(&state) - 1;
}
