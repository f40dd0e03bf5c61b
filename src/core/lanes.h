/*
 * The eight lanes that share a row in a kernel, and what stands for them on the host (each.h). All
 * 32 lanes of a warp exchange together, to the end of the longest of their rows: masks of parts are
 * searched for at every exchange.
 */
#pragma once
#ifdef __cplusplus
#include "core/cuda.cuh"
#else
#include "cmg_types.h"

#include <stdbool.h>
#include <stdint.h>
#endif

/* Lanes of a row; entry e of a row is added to part e mod 8 of a sum, on the host too. */
enum { CMGI_LANES = 8 };

/* Two sums at once; blocks of so many terms are added up by halves. */
typedef struct cmgi_pair {
    double v[2];
} cmgi_pair;
enum { CMGI_SUM_BLOCK = 256 };

#ifdef __cplusplus /* a .cu */

enum { CMGI_STEP = CMGI_LANES };

/* Of functions that bodies call and that exchange between lanes; others are CMGI_INLINE. */
#define CMGI_BODY static __device__ __forceinline__

CMGI_BODY int cmgi_lane()
{
    return (int)(threadIdx.x % CMGI_LANES);
}

typedef struct cmgi_row_sum {
    double part; /* of this lane */
} cmgi_row_sum;

/* Adds what entry e of the row gives. */
CMGI_BODY void cmgi_row_add(cmgi_row_sum *s, cmg_size e, double value)
{
    (void)e;
    s->part += value;
}

/* The sum, in all lanes. */
template <typename T>
CMGI_BODY T cmgi_lanes_sum(T sum)
{
    return cmgi_warp_sum<CMGI_LANES>(sum);
}

CMGI_BODY double cmgi_row_total(const cmgi_row_sum *s)
{
    return cmgi_lanes_sum(s->part);
}

CMGI_BODY double cmgi_row_largest(double x)
{
#pragma unroll
    for (int d = CMGI_LANES / 2; d > 0; d >>= 1) {
        x = fmax(x, __shfl_xor_sync(CMGI_ALL, x, d));
    }
    return x;
}

/* Which lanes of the row say yes, the first in bit 0. */
CMGI_BODY unsigned cmgi_row_votes(bool yes)
{
    return __ballot_sync(CMGI_ALL, yes) >> (threadIdx.x % CMGI_WARP / CMGI_LANES * CMGI_LANES) &
           0xffU;
}

/* Whether any lane does. */
CMGI_BODY bool cmgi_row_any(bool yes)
{
    return cmgi_row_votes(yes) != 0;
}

/* How many lanes do, and how many of them come before this one. */
CMGI_BODY int cmgi_row_count(bool yes, int *before)
{
    const unsigned votes = cmgi_row_votes(yes);
    *before = __popc(votes & ((1U << (threadIdx.x % CMGI_LANES)) - 1));
    return __popc(votes);
}

/* Whether a lane of the warp has more to do: loops with exchanges end together. */
CMGI_BODY bool cmgi_warp_goes_on(bool more)
{
    return __any_sync(CMGI_ALL, more);
}

/* The largest of the lanes' keys. */
CMGI_BODY uint64_t cmgi_row_largest_key(uint64_t x)
{
    return cmgi_warp_max<CMGI_LANES>(x);
}

/* The largest of the lanes' sizes, and its place, of equal ones the first. */
CMGI_BODY double cmgi_row_best(double size, cmg_size *place)
{
#pragma unroll
    for (int d = CMGI_LANES / 2; d > 0; d >>= 1) {
        const double other = __shfl_xor_sync(CMGI_ALL, size, d);
        const cmg_size from = __shfl_xor_sync(CMGI_ALL, *place, d);
        if (other > size || (other == size && from < *place)) {
            size = other;
            *place = from;
        }
    }
    return size;
}

/* By any of several threads. */
CMGI_BODY void cmgi_raise(bool *flag)
{
    *flag = true;
}

/* One more, by any thread. */
CMGI_BODY void cmgi_add_one(unsigned *count)
{
    atomicAdd(count, 1U);
}

/* A key whose owner may change it meanwhile; bits of it are changed by its owner. */
CMGI_BODY uint64_t cmgi_look(const uint64_t *key)
{
    return *(const volatile uint64_t *)key;
}

CMGI_BODY void cmgi_flip(uint64_t *key, uint64_t bits)
{
    *(volatile uint64_t *)key = *key ^ bits;
}

/* *most, at least 0, is raised to a size that any thread has; a look first: nearly all change
 * nothing. Bits of such numbers are ordered like them. */
CMGI_BODY void cmgi_raise_to(double *most, double size)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(size);
    if (size > 0 && bits > *(volatile unsigned long long *)most) {
        atomicMax((unsigned long long *)most, bits);
    }
}

/* (row i of A) x, in all lanes, entry e in part e mod 8. */
CMGI_BODY double cmgi_row_product(const cmg_csr *A, cmg_size i, int lane, bool real,
                                  const double *x)
{
    const cmg_size end = real ? A->indptr[i + 1] : 0;
    double sum = 0;
#pragma unroll 4
    for (cmg_size k = (real ? A->indptr[i] : 0) + lane; k < end; k += CMGI_LANES) {
        sum += A->values[k] * x[A->indices[k]];
    }
    return cmgi_lanes_sum(sum);
}

/* The sums of a block's threads, by the block's number. */
CMGI_BODY void cmgi_block_total(cmgi_pair own, cmgi_pair *sums)
{
    own.v[0] = cmgi_block_sum<CMGI_SUM_BLOCK>(own.v[0]);
    __syncthreads();
    own.v[1] = cmgi_block_sum<CMGI_SUM_BLOCK>(own.v[1]);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = own;
    }
}

#else /* on the host a row is one lane's */

#define CMGI_BODY static inline
#define CMGI_PRAGMA(text) _Pragma(#text)

enum { CMGI_STEP = 1 };

typedef struct cmgi_row_sum {
    double part[CMGI_LANES];
} cmgi_row_sum;

CMGI_BODY void cmgi_row_add(cmgi_row_sum *s, cmg_size e, double value)
{
    s->part[e % CMGI_LANES] += value;
}

/* In the order in which lanes exchange; parts are read one by one, as they were just written. */
CMGI_BODY double cmgi_row_total(cmgi_row_sum *s)
{
    const volatile double *p = s->part;
    const double a = p[0] + p[4];
    const double b = p[1] + p[5];
    const double c = p[2] + p[6];
    const double d = p[3] + p[7];
    return (a + c) + (b + d);
}

CMGI_BODY double cmgi_row_largest(double x)
{
    return x;
}

CMGI_BODY bool cmgi_row_any(bool yes)
{
    return yes;
}

CMGI_BODY int cmgi_row_count(bool yes, int *before)
{
    *before = 0;
    return yes;
}

CMGI_BODY bool cmgi_warp_goes_on(bool more)
{
    return more;
}

CMGI_BODY uint64_t cmgi_row_largest_key(uint64_t x)
{
    return x;
}

CMGI_BODY double cmgi_row_best(double size, const cmg_size *place)
{
    (void)place;
    return size;
}

/* v[k] += v[k + d] for k = first .. first + d - 1 in steps. */
CMGI_BODY void cmgi_add_half(cmgi_pair *v, int first, int d, int step)
{
    for (int k = first; k < first + d; k += step) {
        v[k].v[0] += v[k + d].v[0];
        v[k].v[1] += v[k + d].v[1];
    }
}

/* In the order of cmgi_block_sum (core/cuda.cuh); spoils the terms. */
CMGI_BODY cmgi_pair cmgi_block_total(cmgi_pair v[CMGI_SUM_BLOCK])
{
    enum { WARP = 32 };
    for (int d = WARP / 2; d > 0; d /= 2) {
        for (int first = 0; first < CMGI_SUM_BLOCK; first += WARP) {
            cmgi_add_half(v, first, d, 1);
        }
    }
    for (int d = CMGI_SUM_BLOCK / 2; d >= WARP; d /= 2) {
        cmgi_add_half(v, 0, d, WARP);
    }
    return v[0];
}

CMGI_BODY void cmgi_raise(bool *flag)
{
    CMGI_PRAGMA(omp atomic write)
    *flag = true;
}

CMGI_BODY void cmgi_add_one(unsigned *count)
{
    CMGI_PRAGMA(omp atomic)
    ++*count;
}

CMGI_BODY uint64_t cmgi_look(const uint64_t *key)
{
    uint64_t seen;
    CMGI_PRAGMA(omp atomic read)
    seen = *key;
    return seen;
}

CMGI_BODY void cmgi_flip(uint64_t *key, uint64_t bits)
{
    CMGI_PRAGMA(omp atomic)
    *key ^= bits;
}

CMGI_BODY void cmgi_raise_to(double *most, double size)
{
    double seen;
    CMGI_PRAGMA(omp atomic read)
    seen = *most;
    if (size > seen) {
        CMGI_PRAGMA(omp critical(cmgi_raise_to))
        {
            CMGI_PRAGMA(omp atomic read)
            seen = *most;
            CMGI_PRAGMA(omp atomic write)
            *most = size > seen ? size : seen;
        }
    }
}

/* Eight products at a time, which are independent of each other. */
CMGI_BODY double cmgi_row_product(const cmg_csr *A, cmg_size i, int lane, bool real,
                                  const double *x)
{
    cmgi_row_sum sum = {{0}};
    const cmg_size end = A->indptr[i + 1];
    cmg_size k = A->indptr[i];
    (void)lane;
    (void)real;
    for (; k + CMGI_LANES <= end; k += CMGI_LANES) {
        for (int p = 0; p < CMGI_LANES; ++p) {
            sum.part[p] += A->values[k + p] * x[A->indices[k + p]];
        }
    }
    for (int p = 0; k + p < end; ++p) {
        sum.part[p] += A->values[k + p] * x[A->indices[k + p]];
    }
    return cmgi_row_total(&sum);
}
#endif
