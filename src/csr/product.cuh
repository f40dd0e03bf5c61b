/*
 * Tables of products on the device: a hash table holds the columns of a row of C = A B, which W
 * lanes work on.
 *
 * Source: Nagasaka, Nukada, Matsuoka, High-performance and memory-saving sparse general matrix-
 * matrix multiplication for NVIDIA Pascal GPU, ICPP 2017, doi:10.1109/ICPP.2017.19, whose tables
 * are in shared memory likewise.
 */
#pragma once
#include "csr/resident.cuh"

#include "core/each.h"

enum {
    THREADS = 256,
    LEAST_SLOTS = 16,
    SHARED = 40960,       /* bytes of tables a block */
    EVERYWHERE = 1 << 29, /* bytes of tables in global memory, where rows are too long */
    EMPTY = -1,
    FULL = 1 << 30,
    EACH = 4 /* columns of C a lane, where rows have kinds */
};

/* Lengths of a matrix's rows, and of those of its product with B. */
struct lengths {
    cmg_size longest;
    cmg_size products; /* of a row, at most; 0 = not asked for */
    cmg_size entries;
};
cmg_status cmgi_product_lengths(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, lengths *of);
/* From the lengths of C's rows in its indptr: their statistics, and room for the columns. */
cmg_status cmgi_product_open(cmg_context *ctx, cmgi_resident *C, cmg_index **columns);
/* Pattern of C = A B, rows sorted, their statistics, without room for values; for the caller to
 * free, also where this fails. */
cmg_status cmgi_product_pattern(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                bool filled, cmgi_resident *C);
/* The same of a B whose rows ascend, where rows of A are neither long nor very short; else C is
 * left alone. */
cmg_status cmgi_product_merge(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                              bool filled, cmgi_resident *C);
/* The same with the kinds of rows of C, where they are few; C is left alone where they are not. */
cmg_status cmgi_product_kinds_find(cmg_context *ctx, const cmgi_resident *A, const cmgi_resident *B,
                                   bool filled, cmgi_resident *C);

/* Tables of all groups of W lanes: slots of them in shared memory, or, where `keys` is given, here.
 */
struct tables {
    unsigned slots; /* a power of two, at least twice the columns of a row */
    unsigned pitch; /* from table to table: neighbouring rows have the same columns, and places of
                     * these in banks of their own */
    cmg_index *keys;
    double *sums;
};

/* How a kernel is launched. */
struct shape {
    int width; /* lanes of a group: about the length of B's rows */
    int threads;
    unsigned grid;
    size_t shared;
    tables t;
};

static __device__ __forceinline__ unsigned first_slot(cmg_index j, unsigned mask)
{
    return ((unsigned)j * 2654435761U >> 12) & mask;
}

/* The slot of j, which gets one where it has none; isnew: whether it had none. A table that is full
 * has none: FULL. It is read before it is changed: lanes that look for one column, as those of
 * neighbours do, read it at once, and would change it one after the other. */
static __device__ __forceinline__ unsigned insert(cmg_index *keys, unsigned mask, cmg_index j,
                                                  bool *isnew)
{
    unsigned s = first_slot(j, mask);
    *isnew = false;
    for (unsigned probe = 0; probe <= mask; ++probe) {
        cmg_index old = *(volatile cmg_index *)&keys[s];
        if (old == EMPTY) {
            old = atomicCAS(&keys[s], EMPTY, j);
            *isnew = old == EMPTY;
        }
        if (old == EMPTY || old == j) {
            return s;
        }
        s = (s + 1) & mask;
    }
    return FULL;
}

static __device__ __forceinline__ unsigned find(const cmg_index *keys, unsigned mask, cmg_index j)
{
    unsigned s = first_slot(j, mask);
    while (keys[s] != j) {
        s = (s + 1) & mask;
    }
    return s;
}

/*
 * The W lanes that work on a row, of a warp or a whole block, and their table. All lanes of a warp
 * go the same way, as long as one of them has something to do, and exchange by the mask of all:
 * masks of parts, which differ from lane to lane, are searched for at every exchange (MATCH in the
 * machine's code).
 */
template <int W>
struct group {
    int lane;
    int number;    /* in its warp */
    cmg_size row;  /* the first of the warp */
    cmg_size step; /* rows of all groups */
    double *sums;
    cmg_index *keys;

    __device__ group(const tables &t, unsigned char *shared, bool summing)
    {
        const size_t size = summing ? t.pitch * sizeof *sums : 0; /* in front of the keys */
        const int groups = (int)blockDim.x / W;
        const int mine = (int)threadIdx.x / W;
        const cmg_size all = (cmg_size)blockIdx.x * groups + mine;
        lane = (int)threadIdx.x % W;
        number = mine * W % CMGI_WARP / W;
        row = all - number;
        step = (cmg_size)gridDim.x * groups;
        if (t.keys != NULL) {
            sums = t.sums + all * t.pitch;
            keys = t.keys + all * t.pitch;
        } else {
            sums = (double *)shared + (size_t)mine * t.pitch;
            keys = (cmg_index *)(shared + size * groups) + (size_t)mine * t.pitch;
        }
    }

    __device__ __forceinline__ void clear(unsigned slots) const
    {
        for (unsigned s = (unsigned)lane; s < slots / 4; s += W) {
            ((int4 *)keys)[s] = make_int4(EMPTY, EMPTY, EMPTY, EMPTY);
        }
        sync();
    }

    __device__ __forceinline__ void sync() const
    {
        if constexpr (W > CMGI_WARP) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
};

static inline int width_for(cmg_size least)
{
    int width = 2;
    while (width < CMGI_WARP && width < least) {
        width *= 2;
    }
    return width;
}

/* Tables for rows of at most `longest` columns, `bytes` a slot; with a list of the columns behind
 * the slots where `listed`. */
static inline shape shape_of(cmg_context *ctx, cmg_size rows, int width, cmg_size longest,
                             size_t bytes, bool listed)
{
    shape s = {};
    s.width = width;
    s.t.slots = LEAST_SLOTS;
    while (s.t.slots < 2 * longest) {
        s.t.slots *= 2;
    }
    s.t.pitch = s.t.slots + (listed ? s.t.slots / 2 : 0) + (s.width < 4 ? 4U : (unsigned)s.width);
    const size_t table = s.t.pitch * bytes;
    s.threads = THREADS;
    while (s.threads > CMGI_WARP && s.threads / s.width * table > SHARED) {
        s.threads /= 2;
    }
    s.width = s.threads / s.width * table > SHARED ? CMGI_WARP : s.width;
    s.grid = cmgi_grid(rows * s.width, s.threads);
    s.shared = s.threads / s.width * table;
    if (s.shared > SHARED) { /* one warp a block, as many as the device has places and memory for */
        const unsigned most = (unsigned)(16 * cmgi_device_of(ctx)->processors);
        const size_t room = EVERYWHERE / table > 0 ? EVERYWHERE / table : 1;
        s.shared = 0;
        s.grid = s.grid < most ? s.grid : most;
        s.grid = s.grid < room ? s.grid : (unsigned)room;
    }
    return s;
}

static inline cmg_status open_tables(cmgi_scratch &scratch, shape *s, bool sums)
{
    const cmg_size slots = (cmg_size)s->grid * s->t.pitch;
    if (s->shared > 0) {
        return CMG_OK;
    }
    CMGI_TRY(scratch.take(slots, &s->t.keys));
    return sums ? scratch.take(slots, &s->t.sums) : CMG_OK;
}

/* The kernel of a template for a width. */
#define CMGI_BY_WIDTH(kernel, width)                                                               \
    ((width) == 2    ? kernel<2>                                                                   \
     : (width) == 4  ? kernel<4>                                                                   \
     : (width) == 8  ? kernel<8>                                                                   \
     : (width) == 16 ? kernel<16>                                                                  \
                     : kernel<32>)
