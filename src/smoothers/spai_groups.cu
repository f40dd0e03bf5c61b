/*
 * Equal rows of matrices on the device: a hash of each row, a table of the hashes, of each the
 * lowest row. A row belongs to that row only where they are equal entry by entry; one whose hash
 * alone agrees stays on its own. Rows are compared by their columns less their own number, and by
 * what their entries hold beside.
 */
#include "core/random.h"
#include "smoothers/spai_groups.cuh"

enum {
    THREADS = 256,

    LANES = 8,
    LEAST_SLOTS = 1 << 17 /* more than there are rows under way: no table fills up */
};

typedef cmgi_row_groups groups;

struct nothing {
    __device__ unsigned long long operator()(const cmgi_device_csr &, cmg_size, cmg_size) const
    {
        return 0;
    }
};

struct value_bits {
    __device__ unsigned long long operator()(const cmgi_device_csr &A, cmg_size i, cmg_size k) const
    {
        return (unsigned long long)__double_as_longlong(cmgi_value_at(A, i, A.indices[k], k));
    }
};

struct row_class {
    const int *same;
    __device__ unsigned long long operator()(const cmgi_device_csr &S, cmg_size, cmg_size k) const
    {
        return (unsigned long long)same[S.indices[k]];
    }
};

/* Slot of the group of `key`, in which `row` is entered. A cached look comes first: a full slot
 * stays what it is and `first` only falls, so that an old value is a safe one. */
__device__ __forceinline__ int enter(const groups &g, unsigned long long key, unsigned row)
{
    int s = (int)(key & (unsigned)(g.slots - 1));
    for (int tries = 0; tries < g.slots; ++tries, s = (s + 1) & (g.slots - 1)) {
        unsigned long long there = g.keys[s];
        if (there == 0) {
            there = *(volatile unsigned long long *)&g.keys[s];
        }
        if (there == 0) {
            there = atomicCAS(&g.keys[s], 0ULL, key);
            if (there == 0) {
                atomicAdd(g.count, 1);
                there = key;
            }
        }
        if (there == key) {
            if (g.first[s] > row && *(volatile unsigned *)&g.first[s] > row) {
                atomicMin(&g.first[s], row);
            }
            return s;
        }
    }
    return 0; /* full, thus over the limit */
}

/* slot[i] = where the group of row i is; eight lanes a row. */
template <typename CONTENT>
__global__ void group_kernel(const cmgi_device_csr A, const CONTENT content, const groups g,
                             int *slot)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    if (__any_sync(CMGI_ALL, *(volatile int *)g.count > g.limit)) {
        return;
    }
    const cmg_size first = i < A.rows ? A.indptr[i] : 0;
    const cmg_size length = i < A.rows ? A.indptr[i + 1] - first : 0;
    unsigned long long sum = 0;
    for (cmg_size e = threadIdx.x % LANES; e < length; e += LANES) {
        const unsigned offset = (unsigned)(A.indices[first + e] - (cmg_index)i);
        const unsigned long long place = (unsigned long long)e << 32 | offset;
        sum += cmgi_random_mix(content(A, i, first + e) + cmgi_random_mix(place + 1));
    }
    sum = cmgi_lanes_sum(sum);
    if (i < A.rows && threadIdx.x % LANES == 0) {
        const unsigned long long key = cmgi_random_mix(sum + (unsigned long long)length);
        slot[i] = enter(g, key != 0 ? key : 1, (unsigned)i);
    }
}

/* same[i] held a slot and becomes the lowest row of its group, or i where the two rows differ. */
template <typename CONTENT>
__global__ void compare_kernel(const cmgi_device_csr A, const CONTENT content, const groups g,
                               int *same)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    const bool there = i < A.rows;
    const cmg_size r = there ? (cmg_size)g.first[same[i]] : 0;
    bool differs = false;
    if (there && r != i) {
        const cmg_size mine = A.indptr[i];
        const cmg_size other = A.indptr[r];
        const cmg_size length = A.indptr[i + 1] - mine;
        differs = A.indptr[r + 1] - other != length;
        for (cmg_size e = threadIdx.x % LANES; !differs && e < length; e += LANES) {
            differs = A.indices[mine + e] - i != A.indices[other + e] - r ||
                      content(A, i, mine + e) != content(A, r, other + e);
        }
    }
    const unsigned lanes =
        __ballot_sync(CMGI_ALL, differs) >> threadIdx.x % CMGI_WARP / LANES * LANES;
    if (there && threadIdx.x % LANES == 0) {
        same[i] = (lanes & ((1U << LANES) - 1)) != 0 ? (int)i : (int)r;
    }
}

/* The rows that stand for themselves, in an order that depends on the run. */
__global__ void list_kernel(cmg_size rows, const int *same, int *list, int *count)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const bool own = i < rows && same[i] == i;
    const unsigned all = __ballot_sync(CMGI_ALL, own);
    int base = 0;
    if (lane == 0 && all != 0) {
        base = atomicAdd(count, __popc(all));
    }
    base = __shfl_sync(CMGI_ALL, base, 0);
    if (own) {
        list[base + __popc(all & ((1U << lane) - 1))] = (int)i;
    }
}

cmg_status cmgi_row_groups_alloc(cmg_context *ctx, cmg_size limit, cmgi_row_groups *g)
{
    g->limit = (int)limit;
    g->slots = LEAST_SLOTS;
    while (g->slots / 2 < g->limit) {
        g->slots *= 2;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, g->slots, sizeof *g->keys, &g->keys));
    CMGI_TRY(cmgi_alloc_device(ctx, g->slots, sizeof *g->first, &g->first));
    return cmgi_alloc_device(ctx, 1, sizeof *g->count, &g->count);
}

void cmgi_row_groups_free(cmg_context *ctx, cmgi_row_groups *g)
{
    cmgi_free_device(ctx, g->keys);
    cmgi_free_device(ctx, g->first);
    cmgi_free_device(ctx, g->count);
}

template <typename CONTENT>
static cmg_status group(cmg_context *ctx, const cmgi_device_csr *A, const CONTENT content,
                        const groups *g, int *same, bool *found)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(A->rows * LANES, THREADS);
    int count = 0;
    CMGI_CUDA(ctx, cudaMemsetAsync(g->keys, 0, (size_t)g->slots * sizeof *g->keys, stream));
    CMGI_CUDA(ctx, cudaMemsetAsync(g->first, 0xff, (size_t)g->slots * sizeof *g->first, stream));
    CMGI_CUDA(ctx, cudaMemsetAsync(g->count, 0, sizeof *g->count, stream));
    group_kernel<<<grid, THREADS, 0, stream>>>(*A, content, *g, same);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_to_host(ctx, &count, g->count, sizeof count));
    *found = count <= g->limit;
    if (!*found) {
        return CMG_OK;
    }
    compare_kernel<<<grid, THREADS, 0, stream>>>(*A, content, *g, same);
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_row_groups_find(cmg_context *ctx, const cmgi_device_csr *A,
                                cmgi_row_content content, const int *classes,
                                const cmgi_row_groups *g, int *same, bool *found)
{
    switch (content) {
    case CMGI_ROW_VALUES:
        return group(ctx, A, value_bits{}, g, same, found);
    case CMGI_ROW_CLASSES:
        return group(ctx, A, row_class{classes}, g, same, found);
    default:
        return group(ctx, A, nothing{}, g, same, found);
    }
}

cmg_status cmgi_row_groups_list(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                const int *same, int *list, int *count)
{
    CMGI_TRY(cmgi_cuda_clear(ctx, g->count, sizeof *g->count));
    list_kernel<<<cmgi_grid(rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(rows, same, list,
                                                                            g->count);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return cmgi_to_host(ctx, count, g->count, sizeof *count);
}
