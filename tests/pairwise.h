/*
 * Covering arrays of strength two: rows of values such that every pair of values of any two factors
 * is in some row. Far fewer rows than the product, and most faults of combinations need two.
 *
 * Greedy, one row after the other: a row begins with a pair that is not covered; every other factor
 * in turn takes the value that covers most new pairs. The same array on every machine.
 *
 * Source  Cohen, Dalal, Fredman and Patton: The AETG System, IEEE TSE 23, 1997.
 */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRWISE_FACTORS = 16 };

typedef struct pairwise {
    int factors;
    int values[PAIRWISE_FACTORS]; /* number of values of a factor */
    int first[PAIRWISE_FACTORS];  /* of a factor's values among those of all */
    int total;
    unsigned char *covered; /* total x total */
    int left;               /* pairs not covered */
} pairwise;

static inline unsigned char *pairwise_pair(const pairwise *p, int f, int v, int g, int w)
{
    const int a = p->first[f] + v;
    const int b = p->first[g] + w;
    return &p->covered[a < b ? a * p->total + b : b * p->total + a];
}

static inline pairwise pairwise_begin(int factors, const int *values)
{
    pairwise p = {.factors = factors};
    for (int f = 0; f < factors; ++f) {
        for (int g = 0; g < f; ++g) {
            p.left += values[f] * values[g];
        }
        p.values[f] = values[f];
        p.first[f] = p.total;
        p.total += values[f];
    }
    p.covered = calloc((size_t)p.total * (size_t)p.total, 1);
    return p;
}

static inline void pairwise_end(pairwise *p)
{
    free(p->covered);
    p->covered = NULL;
}

/* New pairs that factor f covers with value v beside what the row has; -1 = not set. */
static inline int pairwise_gain(const pairwise *p, const int *row, int f, int v)
{
    int gain = 0;
    for (int g = 0; g < p->factors; ++g) {
        gain += g != f && row[g] >= 0 && !*pairwise_pair(p, f, v, g, row[g]);
    }
    return gain;
}

/* The first pair that is not covered, put into an empty row. */
static inline void pairwise_seed(const pairwise *p, int *row)
{
    for (int f = 0; f < p->factors; ++f) {
        for (int g = f + 1; g < p->factors; ++g) {
            for (int k = 0; k < p->values[f] * p->values[g]; ++k) {
                if (!*pairwise_pair(p, f, k / p->values[g], g, k % p->values[g])) {
                    row[f] = k / p->values[g];
                    row[g] = k % p->values[g];
                    return;
                }
            }
        }
    }
}

/* The next row; false when all pairs are covered. `turn` shifts ties, so that values take turns. */
static inline bool pairwise_next(pairwise *p, int turn, int *row)
{
    if (p->left == 0) {
        return false;
    }
    for (int f = 0; f < p->factors; ++f) {
        row[f] = -1;
    }
    pairwise_seed(p, row);
    for (int f = 0; f < p->factors; ++f) {
        int best = row[f];
        for (int k = 0; k < p->values[f] && row[f] < 0; ++k) {
            const int v = (k + turn) % p->values[f];
            if (best < 0 || pairwise_gain(p, row, f, v) > pairwise_gain(p, row, f, best)) {
                best = v;
            }
        }
        row[f] = best;
    }
    for (int f = 0; f < p->factors; ++f) {
        for (int g = 0; g < f; ++g) {
            unsigned char *pair = pairwise_pair(p, f, row[f], g, row[g]);
            p->left -= !*pair;
            *pair = 1;
        }
    }
    return true;
}
