/* A multiplicative hash over the integers in order (the mixing step of SplitMix64), and norms. */
#include "fingerprint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static uint64_t mix(uint64_t hash, int64_t value)
{
    uint64_t z = hash + UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)value;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

const char *fingerprint_structure(const cmg_csr *A, char text[FINGERPRINT_LENGTH])
{
    uint64_t hash = mix(mix(0, A->rows), A->cols);
    for (cmg_size i = 0; i <= A->rows; ++i) {
        hash = mix(hash, A->indptr[i]);
    }
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        hash = mix(hash, A->indices[k]);
    }
    (void)snprintf(text, FINGERPRINT_LENGTH, "%016" PRIx64, hash);
    return text;
}

double fingerprint_norm(const double *values, cmg_size n)
{
    double sum = 0;
    double lost = 0; /* Kahan 1965: what the last addition rounded off */
    for (cmg_size k = 0; k < n; ++k) {
        const double term = values[k] * values[k] - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    return sqrt(sum);
}
