/* Numbers as they lie in files. */
#pragma once
#include <stdint.h>
#include <string.h>

/* An unsigned integer of that many bytes, the least significant first. */
static inline uint64_t cmgi_little(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int k = bytes - 1; k >= 0; --k) {
        v = v << 8 | p[k];
    }
    return v;
}

/* The bits of a number in IEEE's format of 4 or 8 bytes. */
static inline double cmgi_real(uint64_t bits, int bytes)
{
    const uint32_t half = (uint32_t)bits;
    double wide = 0;
    float narrow = 0;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return bytes == 8 ? wide : (double)narrow;
}
