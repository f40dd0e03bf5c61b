/* What the kernels that look at all entries of a matrix have in common; see resident.h. */
#pragma once
#include "core/rest.h"
#include "csr/resident.cuh"

#include <float.h>

enum { CMGI_DIAGONAL_UNKNOWN = 255 };

/* What the kernels add up; rows as unsigned numbers, ~0 = none. */
typedef struct facts {
    unsigned long long bad_column;
    unsigned long long duplicate;
    unsigned long long not_finite;
    unsigned long long zero_diagonal;
    unsigned long long least;    /* of the |a_ii|, as bits of a double >= 0, which are ordered like
                                    it: the last that is a minimum */
    unsigned long long identity; /* the first that is a sum or a maximum */
    unsigned long long beside;
    unsigned long long lines;
    unsigned long long unsorted;
    unsigned long long beyond;
    unsigned long long gershgorin; /* likewise */
    unsigned long long most;
} facts;

static const unsigned long long NONE = ~0ULL;

static __device__ __forceinline__ void note_row(unsigned long long *first, cmg_size row)
{
    atomicMin(first, (unsigned long long)row);
}

/* The two largest of two pairs that are in order. */
static __device__ __forceinline__ void merge_largest(double &first, double &second, double a,
                                                     double b)
{
    const double less = first < a ? first : a;
    first = first < a ? a : first;
    second = second < b ? b : second;
    second = second < less ? less : second;
}

/* What is seen of a row, by one of its lanes or in all. */
struct view {
    double diagonal;
    double sum;
    double first;
    double second;
    int entry; /* of the diagonal */
    bool range;
    bool descends;
    bool nonzero; /* an entry off the diagonal */
    bool other;   /* one, zero or not */
    bool beyond;  /* a value that fp32 does not have with all its bits */
};

/* Counts of a block. */
struct counts {
    unsigned identity;
    unsigned beside;
    unsigned lines;
    unsigned unsorted;
    unsigned beyond;
    unsigned long long gershgorin;
    unsigned long long most;
    unsigned long long least;
};

static __device__ __forceinline__ unsigned long long bits_of(double v)
{
    return (unsigned long long)__double_as_longlong(v);
}

static __device__ void count_square(const view &v, cmg_size i, double *diagonal, facts *all,
                                    counts *mine)
{
    diagonal[i] = v.diagonal;
    if (v.diagonal == 0) {
        note_row(&all->zero_diagonal, i);
        return;
    }
    if (!v.nonzero) {
        atomicAdd(&mine->identity, 1U);
    }
    if (v.first + v.second > CMGI_LINE * fabs(v.diagonal)) {
        atomicAdd(&mine->lines, 1U);
    }
    const unsigned long long bound = bits_of(v.sum * fabs(1 / v.diagonal));
    const unsigned long long size = bits_of(fabs(v.diagonal));
    if (bound > mine->gershgorin) {
        atomicMax(&mine->gershgorin, bound);
    }
    if (size > mine->most) {
        atomicMax(&mine->most, size);
    }
    if (size < mine->least) {
        atomicMin(&mine->least, size);
    }
}

/* All but `beside` of a row. */
template <bool PATTERN>
static __device__ void count_row(const view &v, cmg_size i, double *diagonal, uint8_t *entry,
                                 facts *all, counts *mine)
{
    if (PATTERN && v.range) {
        note_row(&all->bad_column, i);
    }
    if (PATTERN && v.descends) {
        atomicAdd(&mine->unsorted, 1U);
    }
    if (v.beyond) {
        atomicAdd(&mine->beyond, 1U);
    }
    if (!(v.sum <= DBL_MAX)) {
        note_row(&all->not_finite, i);
    }
    if (PATTERN && entry != NULL) {
        entry[i] = (uint8_t)v.entry;
    }
    if (diagonal != NULL) {
        count_square(v, i, diagonal, all, mine);
    }
}

static __device__ counts no_counts()
{
    counts none = {};
    none.least = NONE;
    return none;
}

static __device__ void add_counts(const counts &mine, facts *all)
{
    atomicAdd(&all->identity, (unsigned long long)mine.identity);
    atomicAdd(&all->beside, (unsigned long long)mine.beside);
    atomicAdd(&all->lines, (unsigned long long)mine.lines);
    atomicAdd(&all->unsorted, (unsigned long long)mine.unsorted);
    atomicAdd(&all->beyond, (unsigned long long)mine.beyond);
    atomicMax(&all->gershgorin, mine.gershgorin);
    atomicMax(&all->most, mine.most);
    atomicMin(&all->least, mine.least);
}

/* short_rows_cuda.cu: the same as entries_kernel, for rows of up to so many entries. */
enum { CMGI_SHORT_ROWS = 32 };
cmg_status cmgi_entries_short(cmg_context *ctx, const cmg_csr *A, bool pattern, double *diagonal,
                              uint8_t *entry, facts *all);
