/*
 * Fletcher-32 over big-endian 16-bit words w_0 .. w_(n-1), an odd last byte being the high half of
 * a word:
 *
 *   s1 = sum w_i,  s2 = sum (n - i) w_i,  both mod 65535,  result = 65536 s2 + s1,
 *
 * where a sum that is not empty of ones is kept in 1 .. 65535, as end-around carries leave it.
 * Exchanging the bytes of every word multiplies both sums by 256 mod 65535, so the loop takes words
 * as the machine has them and turns the sums at the end. It runs over LANES words at a time; with
 * a_l = sum_t w_(tL+l) and b_l = sum_t (T - t) w_(tL+l) the sums of T L words are
 *
 *   s1 = sum a_l,  s2 = L sum b_l - sum l a_l.
 *
 * Source: Fletcher, An Arithmetic Checksum for Serial Transmissions, IEEE Trans. Comm. 30, 1982.
 */
#include "io/guard/fletcher.h"

#include <string.h>

enum { LANES = 32, STEPS = 360 }; /* STEPS: 65535 T (T + 1) / 2 < 2^32 */

/* s1, s2 mod 65535 and whether any word was nonzero */
typedef struct sums {
    uint64_t s1;
    uint64_t s2;
    uint64_t any;
} sums;

static void add_block(const unsigned char *data, size_t steps, sums *s)
{
    uint32_t a[LANES] = {0};
    uint32_t b[LANES] = {0};
    for (size_t t = 0; t < steps; ++t) {
        uint16_t w[LANES];
        memcpy(w, data + t * sizeof w, sizeof w);
        for (int l = 0; l < LANES; ++l) {
            a[l] += w[l];
            b[l] += a[l];
        }
    }
    uint64_t s1 = 0;
    uint64_t s2 = 0;
    uint64_t weighted = 0;
    for (uint64_t l = 0; l < LANES; ++l) {
        s1 += a[l];
        s2 += b[l];
        weighted += l * a[l];
    }
    s->any |= s1;
    s->s2 = (s->s2 + s->s1 * (steps * LANES) + LANES * s2 - weighted) % 65535;
    s->s1 = (s->s1 + s1) % 65535;
}

/* Bytes exchanged, and 0 as 65535 where there was anything to add. */
static uint32_t finish(uint64_t s, uint64_t any, int little_endian)
{
    const uint64_t turned = little_endian ? s * 256 % 65535 : s;
    return turned == 0 && any != 0 ? 65535 : (uint32_t)turned;
}

uint32_t cmgi_fletcher32(const void *data, size_t bytes)
{
    const uint16_t one = 1;
    unsigned char low = 0;
    memcpy(&low, &one, 1);
    const unsigned char *p = data;
    sums s = {0};
    const size_t row = LANES * sizeof(uint16_t);
    while (bytes >= row) {
        const size_t steps = bytes / row < STEPS ? bytes / row : STEPS;
        add_block(p, steps, &s);
        p += steps * row;
        bytes -= steps * row;
    }
    while (bytes > 0) {
        unsigned char pair[2] = {p[0], bytes > 1 ? p[1] : 0};
        uint16_t w = 0;
        memcpy(&w, pair, 2);
        s.any |= w;
        s.s1 = (s.s1 + w) % 65535;
        s.s2 = (s.s2 + s.s1) % 65535;
        p += bytes > 1 ? 2 : 1;
        bytes -= bytes > 1 ? 2 : 1;
    }
    return finish(s.s2, s.any, low) << 16 | finish(s.s1, s.any, low);
}
