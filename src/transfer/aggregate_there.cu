/*
 * Aggregates of a graph on the device: the rounds of aggregate.c, eight lanes a node. Small graphs
 * are aggregated there in the order of the nodes; here a node founds its aggregate in the round
 * in which it is the first of all undecided ones that would touch any of its nodes, which comes to
 * the same.
 */
#include "transfer/aggregation.cuh"

enum { THREADS = 256, LANES = 8, WARP = 32 };

static const unsigned BATCH = 16;
static const unsigned MOST_ROUNDS = 4096;

static const unsigned ALL = 0xffffffffU;

/*
 * The nodes of a warp, 32 that follow each other, with something left to do: each thread says so of
 * one, then eight lanes take one after the other. Late rounds have few of them.
 */
struct busy_nodes {
    cmg_size first;
    unsigned left;
    cmg_size i; /* of the lane's eight; no such node: !real */
    bool real;

    __device__ __forceinline__ busy_nodes(cmg_size own, bool busy)
        : first(own - threadIdx.x % WARP), left(__ballot_sync(ALL, busy)), i(0), real(false)
    {
    }
    /* The next four; false: there are none. */
    __device__ __forceinline__ bool next(void)
    {
        unsigned mine = left;
        for (int g = (int)threadIdx.x % WARP / LANES; g > 0; --g) {
            mine &= mine - 1;
        }
        const bool any = left != 0;
        real = mine != 0;
        i = first + (real ? __ffs((int)mine) - 1 : 0);
        for (int g = 0; g < WARP / LANES; ++g) {
            left &= left - 1;
        }
        return any;
    }
    /* Whether one of the eight lanes says yes. */
    __device__ __forceinline__ bool any(bool yes) const
    {
        return (__ballot_sync(ALL, yes) & 0xffU << (threadIdx.x % WARP / LANES * LANES)) != 0;
    }
};

static __device__ __forceinline__ cmg_size node_of_thread(void)
{
    return (cmg_size)blockIdx.x * THREADS + threadIdx.x;
}

__global__ void keys_kernel(cmg_size n, const cmg_size *indptr, uint64_t *key)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        key[i] = cmgi_key_of(i, indptr[i + 1] > indptr[i]);
    }
}

/* The largest of `from` over i and its neighbours, in all lanes of i; 0 without i. *open: this lane
 * has seen an open one. */
static __device__ __forceinline__ uint64_t largest_around(const cmg_csr &S, bool real, cmg_size i,
                                                          const uint64_t *from, bool *open)
{
    uint64_t largest = real ? from[i] : 0;
    *open = real && cmgi_key_state(largest) == CMGI_NODE_OPEN;
    for (cmg_size k = real ? S.indptr[i] + threadIdx.x % LANES : 0; real && k < S.indptr[i + 1];
         k += LANES) {
        const uint64_t other = from[S.indices[k]];
        *open = *open || cmgi_key_state(other) == CMGI_NODE_OPEN;
        largest = other > largest ? other : largest;
    }
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) {
        const uint64_t other = __shfl_xor_sync(ALL, largest, d);
        largest = other > largest ? other : largest;
    }
    return largest;
}

/* A node around which all is decided is quiet: what it has found stays. */
__global__ void spread_kernel(const cmg_csr S, const uint64_t *key, uint64_t *one, bool *quiet)
{
    const cmg_size own = node_of_thread();
    for (busy_nodes todo(own, own < S.rows && !quiet[own]); todo.next();) {
        bool open = false;
        const uint64_t largest = largest_around(S, todo.real, todo.i, key, &open);
        open = todo.any(open);
        if (todo.real && threadIdx.x % LANES == 0) {
            one[todo.i] = largest;
            quiet[todo.i] = !open;
        }
    }
}

/* One thread of a block raises the flag for all: millions of stores to one place wait in a row. */
static __device__ __forceinline__ void raise_flag(bool seen, unsigned long long *flag)
{
    __shared__ bool any;
    if (threadIdx.x == 0) {
        any = false;
    }
    __syncthreads();
    if (seen) {
        any = true;
    }
    __syncthreads();
    if (threadIdx.x == 0 && any) {
        *flag = 1;
    }
}

__global__ void decide_kernel(const cmg_csr S, const uint64_t *one, uint64_t *key,
                              unsigned long long *open)
{
    const cmg_size own = node_of_thread();
    bool stays = false;
    for (busy_nodes todo(own, own < S.rows && cmgi_key_state(key[own]) == CMGI_NODE_OPEN);
         todo.next();) {
        bool seen = false;
        const uint64_t two = largest_around(S, todo.real, todo.i, one, &seen);
        if (todo.real && threadIdx.x % LANES == 0) {
            const uint64_t decided = cmgi_key_decided(key[todo.i], two);
            key[todo.i] = decided;
            stays = stays || cmgi_key_state(decided) == CMGI_NODE_OPEN;
        }
    }
    raise_flag(stays, open);
}

/* count_i = 1 for nodes of the set */
__global__ void in_set_kernel(cmg_size n, const uint64_t *key, cmg_size *count)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        count[i] = cmgi_key_state(key[i]) == CMGI_NODE_IN;
    }
}

__global__ void number_set_kernel(cmg_size n, const uint64_t *key, const cmg_size *number,
                                  cmg_index *of)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        of[i] = cmgi_key_state(key[i]) == CMGI_NODE_IN ? (cmg_index)number[i] : -1;
    }
}

/* A neighbour that has an aggregate, by the size of the coupling. */
struct friendship {
    double size;
    cmg_size place; /* in the row; of equal ones the first counts */
};

static __device__ __forceinline__ friendship better(const friendship &a, const friendship &b)
{
    return b.size > a.size || (b.size == a.size && b.place < a.place) ? b : a;
}

__global__ void join_kernel(const cmg_csr S, const cmg_index *from, cmg_index *to,
                            unsigned long long *joined)
{
    const cmg_size own = node_of_thread();
    const cmg_index of = own < S.rows ? from[own] : 0;
    bool joins = false;
    if (own < S.rows) {
        to[own] = of;
    }
    __syncwarp();
    for (busy_nodes todo(own, of < 0); todo.next();) {
        const cmg_size begin = todo.real ? S.indptr[todo.i] : 0;
        const cmg_size end = todo.real ? S.indptr[todo.i + 1] : 0;
        friendship best = {0, INT64_MAX};
        for (cmg_size k = begin + threadIdx.x % LANES; k < end; k += LANES) {
            if (from[S.indices[k]] >= 0) {
                best = better(best, friendship{S.values[k], k});
            }
        }
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1) {
            const double size = __shfl_xor_sync(ALL, best.size, d);
            const cmg_size place = __shfl_xor_sync(ALL, best.place, d);
            best = better(best, friendship{size, place});
        }
        if (best.size > 0 && threadIdx.x % LANES == 0) {
            to[todo.i] = from[S.indices[best.place]];
            joins = true;
        }
    }
    raise_flag(joins, joined);
}

__global__ void begin_order_kernel(cmg_size n, const cmg_size *indptr, bool *waits, cmg_index *of,
                                   unsigned long long *first)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        waits[i] = indptr[i + 1] > indptr[i];
        of[i] = -1;
        first[i] = ~0ULL;
    }
}

/* Undecided nodes whose nodes are all free note themselves at each: `round` falls, so that notes of
 * earlier rounds give way. */
__global__ void claim_kernel(const cmg_csr S, unsigned round, const cmg_index *of, bool *waits,
                             unsigned long long *first, unsigned long long *open)
{
    const cmg_size own = node_of_thread();
    bool stays = false;
    for (busy_nodes todo(own, own < S.rows && waits[own]); todo.next();) {
        const cmg_size i = todo.i;
        const bool asks = todo.real;
        const unsigned long long note = (unsigned long long)round << 32 | (unsigned long long)i;
        const cmg_size begin = asks ? S.indptr[i] : 0;
        const cmg_size end = asks ? S.indptr[i + 1] : 0;
        bool taken = asks && of[i] >= 0;
        for (cmg_size k = begin + threadIdx.x % LANES; k < end; k += LANES) {
            taken = taken || of[S.indices[k]] >= 0;
        }
        taken = todo.any(taken);
        for (cmg_size k = begin + threadIdx.x % LANES; !taken && k < end; k += LANES) {
            atomicMin(&first[S.indices[k]], note);
        }
        if (asks && threadIdx.x % LANES == 0) {
            if (taken) {
                waits[i] = false;
            } else {
                atomicMin(&first[i], note);
            }
        }
        stays = stays || (asks && !taken);
    }
    raise_flag(stays, open);
}

/* Those that are first at all of their nodes found an aggregate with them, under their number. */
__global__ void found_kernel(const cmg_csr S, unsigned round, const unsigned long long *first,
                             bool *waits, cmg_index *of)
{
    const cmg_size own = node_of_thread();
    for (busy_nodes todo(own, own < S.rows && waits[own]); todo.next();) {
        const cmg_size i = todo.i;
        const bool asks = todo.real;
        const unsigned long long note = (unsigned long long)round << 32 | (unsigned long long)i;
        const cmg_size begin = asks ? S.indptr[i] : 0;
        const cmg_size end = asks ? S.indptr[i + 1] : 0;
        bool late = asks && first[i] != note;
        for (cmg_size k = begin + threadIdx.x % LANES; k < end; k += LANES) {
            late = late || first[S.indices[k]] != note;
        }
        late = todo.any(late);
        for (cmg_size k = begin + threadIdx.x % LANES; !late && k < end; k += LANES) {
            of[S.indices[k]] = (cmg_index)i;
        }
        if (asks && !late && threadIdx.x % LANES == 0) {
            of[i] = (cmg_index)i;
            waits[i] = false;
        }
    }
}

__global__ void in_order_kernel(cmg_size n, const cmg_index *of, cmg_size *count)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        count[i] = of[i] == i;
    }
}

__global__ void number_order_kernel(cmg_size n, const cmg_size *number, const cmg_index *from,
                                    cmg_index *to)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        to[i] = from[i] >= 0 ? (cmg_index)number[from[i]] : -1;
    }
}

struct work {
    uint64_t *key; /* of the set */
    uint64_t *one;
    bool *quiet;
    bool *waits; /* in order */
    unsigned long long *first;
    cmg_size *number;
    cmg_index *next;
    unsigned long long *flag; /* not 0: something has changed, or is left */
};

static cmg_status read_flag(cmg_context *ctx, const work *w, unsigned long long *value)
{
    return cmgi_to_host(ctx, value, w->flag, sizeof *value);
}

static cmg_status aggregate_around_set(cmg_context *ctx, const cmg_csr *S, work *w,
                                       cmgi_aggregates *agg)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size n = S->rows;
    const unsigned grid = cmgi_grid(n, THREADS);
    unsigned long long open = 1;
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->key, &w->key));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->one, &w->one));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->quiet, &w->quiet));
    CMGI_TRY(cmgi_cuda_clear(ctx, w->quiet, (size_t)n * sizeof *w->quiet));
    keys_kernel<<<grid, THREADS, 0, stream>>>(n, S->indptr, w->key);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    while (open > 0) {
        CMGI_TRY(cmgi_cuda_clear(ctx, w->flag, sizeof *w->flag));
        spread_kernel<<<grid, THREADS, 0, stream>>>(*S, w->key, w->one, w->quiet);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        decide_kernel<<<grid, THREADS, 0, stream>>>(*S, w->one, w->key, w->flag);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        CMGI_TRY(read_flag(ctx, w, &open));
    }
    in_set_kernel<<<grid, THREADS, 0, stream>>>(n, w->key, w->number);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, n, w->number, &agg->count));
    number_set_kernel<<<grid, THREADS, 0, stream>>>(n, w->key, w->number, agg->of);
    return CMGI_LAUNCHED(ctx);
}

/*
 * Rounds in multiples of BATCH. Grids that are numbered line by line take 13 n^(1/3) in 3D and 4
 * n^(1/2) in 2D, one line n / 3, which is more than the host's way costs.
 */
static unsigned most_rounds(cmg_size n)
{
    const unsigned wanted = (unsigned)(8 * sqrt((double)n)) / BATCH * BATCH + 4 * BATCH;
    return wanted < MOST_ROUNDS ? wanted : MOST_ROUNDS;
}

/* Rounds of claims until no node waits, or there were too many: *open then. */
static cmg_status found_in_order(cmg_context *ctx, const cmg_csr *S, const work *w,
                                 unsigned long long *open)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(S->rows, THREADS);
    *open = 1;
    for (unsigned round = most_rounds(S->rows); round > 0 && *open > 0; --round) {
        const bool look = round % BATCH == 0;
        if (look) {
            CMGI_TRY(cmgi_cuda_clear(ctx, w->flag, sizeof *w->flag));
        }
        claim_kernel<<<grid, THREADS, 0, stream>>>(*S, round, w->next, w->waits, w->first, w->flag);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        found_kernel<<<grid, THREADS, 0, stream>>>(*S, round, w->first, w->waits, w->next);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        if (look) {
            CMGI_TRY(read_flag(ctx, w, open));
        }
    }
    return CMG_OK;
}

/* In the order of the nodes; *found: numberings that are one long chain are left to the host. */
static cmg_status aggregate_in_order(cmg_context *ctx, const cmg_csr *S, work *w,
                                     cmgi_aggregates *agg, bool *found)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size n = S->rows;
    const unsigned grid = cmgi_grid(n, THREADS);
    unsigned long long open = 0;
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->waits, &w->waits));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->first, &w->first));
    begin_order_kernel<<<grid, THREADS, 0, stream>>>(n, S->indptr, w->waits, w->next, w->first);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(found_in_order(ctx, S, w, &open));
    *found = open == 0;
    if (!*found) {
        return CMG_OK;
    }
    in_order_kernel<<<grid, THREADS, 0, stream>>>(n, w->next, w->number);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, n, w->number, &agg->count));
    number_order_kernel<<<grid, THREADS, 0, stream>>>(n, w->number, w->next, agg->of);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status join(cmg_context *ctx, const cmg_csr *S, work *w, cmgi_aggregates *agg)
{
    unsigned long long joined = 1;
    while (joined > 0) {
        CMGI_TRY(cmgi_cuda_clear(ctx, w->flag, sizeof *w->flag));
        join_kernel<<<cmgi_grid(S->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
            *S, agg->of, w->next, w->flag);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        CMGI_TRY(read_flag(ctx, w, &joined));
        cmg_index *swapped = agg->of;
        agg->of = w->next;
        w->next = swapped;
    }
    return CMG_OK;
}

/* The host's aggregates of a graph that is fetched. */
static cmg_status aggregate_here(cmg_context *ctx, const cmg_csr *S, cmg_size couplings,
                                 cmg_size in_order, cmgi_aggregates *agg)
{
    cmgi_csr host = {};
    cmgi_aggregates made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_resident_fetch(ctx, S, couplings, &host));
    CMGI_TRY_GOTO(done, cmgi_aggregate(ctx, &host, in_order, &made));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, agg->of, made.of, (size_t)S->rows * sizeof *agg->of));
    agg->count = made.count;
done:
    cmgi_csr_free(ctx, &host);
    cmgi_aggregates_free(ctx, &made);
    return status;
}

static cmg_status aggregate(cmg_context *ctx, const cmg_csr *S, cmg_size couplings,
                            cmg_size in_order, cmgi_aggregates *agg)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_size n = S->rows;
    cmgi_aggregates made = {n, 0, NULL};
    work w = {};
    bool found = true;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *made.of, &made.of));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *w.next, &w.next));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n + 1, sizeof *w.number, &w.number));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *w.flag, &w.flag));
    CMGI_TRY_GOTO(done, couplings > in_order ? aggregate_around_set(ctx, S, &w, &made)
                                             : aggregate_in_order(ctx, S, &w, &made, &found));
    CMGI_TRY_GOTO(done, found ? join(ctx, S, &w, &made)
                              : aggregate_here(ctx, S, couplings, in_order, &made));
    *agg = made;
    made.of = NULL;
done:
    void *const arrays[] = {w.key,    w.one,  w.quiet, w.waits, w.first,
                            w.number, w.next, w.flag,  made.of};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
        cmgi_free_device(ctx, arrays[k]);
    }
    return status;
}

extern "C" const cmgi_aggregation_kernels cmgi_aggregation_cuda = {
    aggregate, cmgi_tentative_there, cmgi_smooth_there};
