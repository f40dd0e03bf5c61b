/* The checksum against its definition, word by word, for every short length and around the block.
 */
#include "io/guard/fletcher.h"
#include "test.h"

/*
 * Sums of big-endian 16-bit words with end-around carry after every word; an odd last byte is the
 * high half of a word.
 */
static uint32_t plain_fletcher32(const unsigned char *p, size_t bytes)
{
    uint32_t s1 = 0;
    uint32_t s2 = 0;
    for (size_t k = 0; k < bytes; k += 2) {
        s1 += (uint32_t)p[k] << 8 | (k + 1 < bytes ? p[k + 1] : 0u);
        s1 = (s1 & 0xffff) + (s1 >> 16);
        s2 += s1;
        s2 = (s2 & 0xffff) + (s2 >> 16);
    }
    return s2 << 16 | s1;
}

TEST(agrees_with_the_definition)
{
    enum { MOST = 1 << 17 };
    scoped unsigned char *data = malloc(MOST);
    uint64_t state = 1;
    for (int fill = 0; fill < 3; ++fill) {
        FILL(data, k, MOST,
             fill == 0 ? (unsigned char)cmgi_random_bits(&state)
                       : (unsigned char)(fill == 1 ? 0xff : 0));
        int wrong = 0;
        for (size_t n = 0; n < 300; ++n) {
            wrong += cmgi_fletcher32(data, n) != plain_fletcher32(data, n);
        }
        for (size_t n = 64 * 360 - 70; n < 64 * 360 + 70; ++n) {
            wrong += cmgi_fletcher32(data + n % 8, n) != plain_fletcher32(data + n % 8, n);
        }
        wrong += cmgi_fletcher32(data, MOST) != plain_fletcher32(data, MOST);
        CHECK(wrong == 0);
    }
}

TEST(every_bit_counts)
{
    unsigned char data[4096];
    uint64_t state = 2;
    int missed = 0;
    FILL(data, k, sizeof data, (unsigned char)cmgi_random_bits(&state));
    const uint32_t sum = cmgi_fletcher32(data, sizeof data);
    for (size_t bit = 0; bit < 8 * sizeof data; ++bit) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        missed += cmgi_fletcher32(data, sizeof data) == sum;
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK(missed == 0);
}
