/*
 * Messages and sums between devices of one process that reach each other's memory: kernels store
 * words of 8 bytes into an inbox on the other device, each with 4 bytes of a message and 32 bits of
 * its number, which arrive together. Whoever waits reads a word until it has the number.
 *
 *     push   the next message into the other's inbox, in the half that the last one is not in, once
 *            the message before that one is taken
 *     pull   inbox -> where it goes; the other's flag "taken" <- number
 *
 * No kernel waits for another of its own launch, or for a later one of its rank, so that they end
 * in whatever order blocks run. Numbers are counted on the device: a recording serves again and
 * again.
 *
 * A sum has two sets of words, too: who writes into one again has read the other, which everyone
 * had filled behind reading the first. It runs in rank order.
 *
 * Source  CUDA C++ programming guide: peer device memory access; the words with numbers are the
 *         protocol LL of NCCL.
 */
#include "ranks/peer_cuda.cuh"

using namespace peer;

enum { THREADS = 256, AHEAD = 4, PIECE = 2048 /* words a block */, BLOCKS = 96, LOOKS = 256 };

/* A message: 4-byte values here, and the words of its inbox. */
typedef struct parcel {
    unsigned *values;
    volatile number *words; /* two halves of `room` */
    cmg_size room;
    cmg_size count;
    volatile number *taken; /* messages that are, where the sender is */
} parcel;

typedef struct parcels {
    int count;
    parcel one[PEERS];
    const volatile int *stop;
} parcels;

/* At times of many: whether the host says stop. */
__device__ bool stopped(const volatile int *stop, int spins)
{
    if (spins % LOOKS != 0) {
        return false;
    }
    __nanosleep(20);
    return *stop != 0;
}

__device__ __forceinline__ bool has(number word, number next)
{
    return (unsigned)(word >> 32) == (unsigned)next;
}

/* True in the thread that ends the last block, when all are done. */
__device__ bool last_of_all(unsigned *done)
{
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(done, 1U) + 1 != gridDim.x) {
        return false;
    }
    *done = 0;
    return true;
}

__global__ void push_kernel(const parcels a, counters *mine)
{
    __shared__ bool good;
    const number next = mine->pushed + 1;
    if (threadIdx.x == 0) {
        good = true;
        for (int k = 0; k < a.count; ++k) {
            for (int spins = 1; good && *a.one[k].taken + 2 < next; ++spins) {
                good = !stopped(a.stop, spins);
            }
        }
    }
    __syncthreads();
    for (int k = 0; k < a.count && good; ++k) {
        const parcel &p = a.one[k];
        volatile number *to = p.words + (cmg_size)(next % 2) * p.room;
        for (cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x; i < p.count;
             i += (cmg_size)gridDim.x * THREADS) {
            to[i] = next << 32 | p.values[i];
        }
    }
    if (last_of_all(&mine->pushing)) {
        mine->pushed = next;
    }
}

/* Up to AHEAD words, `step` apart; those of a message that never comes stay what they are. */
__device__ __forceinline__ void pull_words(const parcel &p, const volatile number *from,
                                           cmg_size begin, cmg_size step, number next,
                                           const volatile int *stop)
{
    number word[AHEAD];
    bool all = false;
    for (int spins = 1; !all && !stopped(stop, spins); ++spins) {
        all = true;
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const cmg_size i = begin + u * step;
            word[u] = from[i < p.count ? i : begin];
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            all = all && has(word[u], next);
        }
    }
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        if (begin + u * step < p.count && all) {
            p.values[begin + u * step] = (unsigned)word[u];
        }
    }
}

__global__ void pull_kernel(const parcels a, counters *mine)
{
    const number next = mine->pulled + 1;
    const cmg_size step = (cmg_size)gridDim.x * THREADS;
    const cmg_size first = (cmg_size)blockIdx.x * THREADS;
    for (int k = 0; k < a.count; ++k) {
        const parcel &p = a.one[k];
        const volatile number *from = p.words + (cmg_size)(next % 2) * p.room;
        if (threadIdx.x == 0 && first < p.count) { /* one waits, not all */
            for (int spins = 1; !has(from[first], next) && !stopped(a.stop, spins); ++spins) {
            }
        }
        __syncthreads();
        for (cmg_size i = first + threadIdx.x; i < p.count; i += AHEAD * step) {
            pull_words(p, from, i, step, next, a.stop);
        }
    }
    if (last_of_all(&mine->pulling)) {
        for (int k = 0; k < a.count; ++k) {
            *a.one[k].taken = next;
        }
        mine->pulled = next;
    }
}

struct sum_args {
    int ranks;
    int me;
    int count;
    sums *box[PEERS];
    const volatile int *stop;
};

/* Thread r CMGI_SUMS + k sends value k to rank r, and then reads rank r's. */
__global__ void sum_kernel(const sum_args a, double *values)
{
    __shared__ double part[PEERS][CMGI_SUMS];
    const int r = (int)threadIdx.x / CMGI_SUMS;
    const int k = (int)threadIdx.x % CMGI_SUMS;
    const bool busy = r < a.ranks && k < a.count;
    sums *own = a.box[a.me];
    const number next = own->done + 1;
    const number tag = next << 32;
    const number low = 0xffffffffU;
    if (busy) {
        const number bits = (number)__double_as_longlong(values[k]);
        volatile number *const word = a.box[r]->word[next % 2][a.me][k];
        word[0] = tag | (bits & low);
        word[1] = tag | bits >> 32;
    }
    __syncthreads();
    if (busy) {
        const volatile number *word = own->word[next % 2][r][k];
        number first = word[0];
        number second = word[1];
        bool good = true;
        for (int spins = 1; good && !(has(first, next) && has(second, next)); ++spins) {
            good = !stopped(a.stop, spins);
            first = word[0];
            second = word[1];
        }
        const double value = __hiloint2double((int)second, (int)first);
        part[r][k] = good ? value : __hiloint2double(0x7ff80000, 0); /* NaN ends a solve */
    }
    __syncthreads();
    if (r == 0 && busy) {
        double sum = part[0][k];
        for (int other = 1; other < a.ranks; ++other) {
            sum += part[other][k];
        }
        values[k] = sum;
    }
    if (threadIdx.x == 0) {
        own->done = next;
    }
}

cmg_status peer::still_there(cmg_context *ctx, const link *w)
{
    CMGI_CHECK(ctx, *w->all->stop == 0, CMG_ERR_STATE,
               "the ranks have lost each other in an earlier failure");
    return CMG_OK;
}

/* Blocks for some parcels; what waits beside a product should be few. */
static unsigned blocks_for(const parcels &p)
{
    cmg_size most = 0;
    for (int k = 0; k < p.count; ++k) {
        most = p.one[k].count > most ? p.one[k].count : most;
    }
    const cmg_size blocks = (most + PIECE - 1) / PIECE;
    return blocks < 1 ? 1U : blocks < BLOCKS ? (unsigned)blocks : (unsigned)BLOCKS;
}

cmg_status peer::exchange(cmg_context *ctx, void *wire, void *on, const cmgi_messages *m)
{
    CMGI_ON_DEVICE(ctx);
    const link *w = (const link *)wire;
    const route *way = (const route *)on;
    const int me = cmgi_rank(ctx);
    parcels out = {m->sends, {}, w->all->stop};
    parcels in = {m->receives, {}, w->all->stop};
    CMGI_TRY(still_there(ctx, w));
    for (int k = 0; k < m->sends; ++k) {
        const int r = m->send[k].peer;
        out.one[k] = parcel{(unsigned *)m->send[k].data, way->theirs[r], way->sends[r],
                            peer::values_of(m->send[k].bytes), &way->mine->taken[r]};
    }
    for (int k = 0; k < m->receives; ++k) {
        const int r = m->receive[k].peer;
        in.one[k] = parcel{(unsigned *)m->receive[k].data, way->inbox[r], way->receives[r],
                           peer::values_of(m->receive[k].bytes), &way->at[r]->taken[me]};
    }
    CMGI_TRY(m->sends > 0 ? CMGI_RUN(ctx, blocks_for(out), THREADS, 0, push_kernel, out, way->mine)
                          : CMG_OK);
    return m->receives > 0 ? CMGI_RUN(ctx, blocks_for(in), THREADS, 0, pull_kernel, in, way->mine)
                           : CMG_OK;
}

cmg_status peer::sum(cmg_context *ctx, void *wire, double *values, int count)
{
    CMGI_ON_DEVICE(ctx);
    const link *w = (const link *)wire;
    sum_args a = {cmgi_ranks(ctx), cmgi_rank(ctx), count, {}, w->all->stop};
    CMGI_TRY(still_there(ctx, w));
    for (int r = 0; r < a.ranks; ++r) {
        a.box[r] = (sums *)w->all->memory[r];
    }
    return CMGI_RUN(ctx, 1, PEERS * CMGI_SUMS, 0, sum_kernel, a, values);
}
