/*
 * The rows of a matrix on the device as the search for templates sees them; see templates.h. A few
 * lanes share a row, so that a warp reads neighbouring entries: the pass that compares rows runs at
 * the rate of memory. Counts are whole numbers and first rows are minima, which no order of the
 * threads changes; the order of a sample varies, the result does not depend on it.
 */
#include "core/each.h"

extern "C" {
#include "csr/templates.h"
}

#include "csr/templates.inc"

enum { THREADS = 256, HOT = 256, BLOCKS = 8 };

typedef cmgi_template_search search;

static __device__ __forceinline__ uint64_t bits_at(const search &s, cmg_size at)
{
    return cmgi_value_bits(s.A.values[at], s.single);
}

/* Sampled rows of one hash; a slot of a table that is 0 at first. */
struct group {
    unsigned long long key;   /* the hash, 1 for 0: 0 = free */
    unsigned long long least; /* complement of the first row, then its length */
    unsigned long long many;
};

/* What the host reads of a sample. */
typedef struct letter {
    unsigned long long rows;
    unsigned long long groups;
    cmgi_row_hash group[1];
} letter;

/* Groups that are read at once: grids have some dozens. */
enum { USUAL = 512 };

static __device__ __forceinline__ void note_group(group *table, unsigned slots, uint64_t hash,
                                                  unsigned row, unsigned length)
{
    const unsigned long long key = hash == 0 ? 1 : hash;
    unsigned at = (unsigned)key & (slots - 1);
    while (*(volatile unsigned long long *)&table[at].key != key) {
        const unsigned long long before = atomicCAS(&table[at].key, 0ULL, key);
        if (before == 0 || before == key) {
            break;
        }
        at = (at + 1) & (slots - 1);
    }
    atomicAdd(&table[at].many, 1ULL);
    atomicMax(&table[at].least, ~((unsigned long long)row << 32 | length));
}

/* Equal hashes are counted where the rows are: the host would take longer than all of the pass. */
__global__ void sample_kernel(const search s, const uint16_t *id, uint64_t bound, cmg_size room,
                              unsigned slots, group *table, letter *to)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.A.rows || id[i] != CMGI_NO_TEMPLATE || !cmgi_sampled(i, bound)) {
        return;
    }
    const uint64_t hash = cmgi_hash_of_row(&s, i);
    if ((cmg_size)atomicAdd(&to->rows, 1ULL) < room) {
        note_group(table, slots, hash, (unsigned)i, (unsigned)(s.A.indptr[i + 1] - s.A.indptr[i]));
    }
}

/* Groups in any order, which the host does not depend on. */
__global__ void list_kernel(unsigned slots, const group *table, letter *to)
{
    const unsigned s = blockIdx.x * THREADS + threadIdx.x;
    if (s < slots && table[s].key != 0) {
        const unsigned long long at = atomicAdd(&to->groups, 1ULL);
        const unsigned long long first = ~table[s].least;
        to->group[at].hash = table[s].key;
        to->group[at].row = (cmg_index)(first >> 32);
        to->group[at].length = (int)(first & 0xffffffffU);
        to->group[at].rows = (int)table[s].many;
    }
}

/* One wait brings the counts and the groups that there mostly are; a second one the rest. */
static cmg_status read_sample(cmg_context *ctx, const letter *made, cmg_size room,
                              cmgi_row_hash *sample, cmg_size *count)
{
    const cmg_size first = room < USUAL ? room : (cmg_size)USUAL;
    unsigned long long told[2] = {0, 0};
    const cmgi_read reads[] = {{told, made, sizeof told},
                               {sample, made->group, (size_t)first * sizeof *sample}};
    CMGI_TRY(cmgi_read_each(ctx, reads, 2));
    const cmg_size groups = (cmg_size)told[1];
    *count = (cmg_size)told[0] > room ? (cmg_size)told[0] : groups;
    return groups > first ? cmgi_to_host(ctx, sample + first, made->group + first,
                                         (size_t)(groups - first) * sizeof *sample)
                          : CMG_OK;
}

static cmg_status sample_rows(cmg_context *ctx, const cmgi_template_search *what,
                              const uint16_t *id, uint64_t bound, cmg_size room,
                              cmgi_row_hash *sample, cmg_size *count)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_size rows = what->A.rows;
    unsigned slots = 64;
    letter *made = NULL;
    group *table = NULL;
    cmgi_scratch scratch(ctx);
    const cmgi_at_end end{[&] { cmgi_free_device(ctx, made); }};
    *count = 0;
    if (rows == 0) {
        return CMG_OK;
    }
    while (slots < 2 * room) {
        slots *= 2;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *made + room * sizeof *sample, &made));
    CMGI_TRY(scratch.take_zero(slots, &table));
    CMGI_TRY(cmgi_cuda_clear(ctx, made, offsetof(letter, group)));
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(rows, THREADS), THREADS, 0, sample_kernel, *what, id, bound,
                      room, slots, table, made));
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(slots, THREADS), THREADS, 0, list_kernel, slots, table, made));
    return read_sample(ctx, made, room, sample, count);
}

/* A row's entries. */
struct place {
    cmg_size begin;
    int length; /* 0 where the row is not looked at */
};

static __device__ __forceinline__ place place_of(const cmg_csr &A, cmg_size i, bool wanted)
{
    const cmg_size begin = wanted ? A.indptr[i] : 0;
    return place{begin, wanted ? (int)(A.indptr[i + 1] - begin) : 0};
}

/* Entries of a row that a lane of T reads together and keeps: those of rows of up to 4 T entries.
 */
template <int T>
struct kept {
    static const int COUNT = 4;
    cmg_index column[COUNT];
    uint64_t bits[COUNT];

    __device__ __forceinline__ kept(const search &s, const place &at, int lane)
    {
#pragma unroll
        for (int u = 0; u < COUNT; ++u) {
            const bool real = lane + u * T < at.length;
            column[u] = real ? s.A.indices[at.begin + lane + u * T] : 0;
            bits[u] = real ? bits_at(s, at.begin + lane + u * T) : 0;
        }
    }
    __device__ __forceinline__ uint64_t hash(const search &s, const place &at, cmg_index ref,
                                             int lane) const
    {
        uint64_t sum = 0;
#pragma unroll
        for (int u = 0; u < COUNT; ++u) {
            const int e = lane + u * T;
            sum += e < at.length ? cmgi_entry_hash(e, column[u] - ref, bits[u]) : 0;
        }
        for (int e = lane + COUNT * T; e < at.length; e += T) {
            sum += cmgi_entry_hash(e, s.A.indices[at.begin + e] - ref, bits_at(s, at.begin + e));
        }
        return sum;
    }
    /* Whether the row is another one, entry by entry, as far as this lane sees it. */
    __device__ __forceinline__ bool equals(const search &s, const place &mine, cmg_index ref,
                                           const kept &that, const place &other, cmg_index of,
                                           int lane) const
    {
        const cmg_index shift = ref - of;
        bool same = mine.length == other.length;
#pragma unroll
        for (int u = 0; u < COUNT; ++u) {
            const bool equal = column[u] - that.column[u] == shift && bits[u] == that.bits[u];
            same = same && (equal || lane + u * T >= mine.length);
        }
        for (int e = lane + COUNT * T; same && e < mine.length; e += T) {
            same = s.A.indices[mine.begin + e] - __ldg(s.A.indices + other.begin + e) == shift &&
                   bits_at(s, mine.begin + e) == bits_at(s, other.begin + e);
        }
        return same;
    }
};

/* Whether all lanes of a group of T neighbours say so. */
template <int T>
static __device__ __forceinline__ bool all_lanes(bool so)
{
    const unsigned mask = T == CMGI_WARP ? CMGI_ALL
                                         : ((1U << (T % CMGI_WARP)) - 1U)
                                               << ((threadIdx.x % CMGI_WARP) / T * T);
    return (__ballot_sync(CMGI_ALL, !so) & mask) == 0;
}

/* Counts of a block: the frequent kinds in shared memory, the others at once in `total`. */
struct tally {
    unsigned rows[HOT];
    int first[HOT];
};

static __device__ __forceinline__ void count_row(tally *mine, cmgi_kind_count *total, uint16_t kind,
                                                 cmg_size i)
{
    if (kind < HOT) {
        atomicAdd(&mine->rows[kind], 1U);
        if (mine->first[kind] > (int)i) {
            atomicMin(&mine->first[kind], (int)i);
        }
        return;
    }
    atomicAdd((unsigned long long *)&total[kind].rows, 1ULL);
    atomicMin((long long *)&total[kind].first, (long long)i);
}

/* Rows that have no kind, in any order, into room for `most`. */
__global__ void list_left_kernel(unsigned count, const uint16_t *id, unsigned most, cmg_index *list,
                                 unsigned *at)
{
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    const bool left = i < count && id[i] == CMGI_NO_TEMPLATE;
    const unsigned those = __ballot_sync(CMGI_ALL, left);
    const unsigned lane = threadIdx.x % CMGI_WARP;
    unsigned first = 0;
    if (lane == 0 && those != 0) {
        first = atomicAdd(at, (unsigned)__popc(those));
    }
    first = __shfl_sync(CMGI_ALL, first, 0);
    const unsigned place = first + (unsigned)__popc(those & ((1U << lane) - 1U));
    if (left && place < most) {
        list[place] = (cmg_index)i;
    }
}

/*
 * Of the rows of a list, NULL = of all. The first of the new kinds, which most rows are of, is
 * tried first: where all rows of a warp are, no hash is computed, which takes longer than to read
 * the entries.
 */
template <int T>
__global__ void __launch_bounds__(THREADS, 4)
    match_kernel(const search s, const cmgi_row_kinds kinds, const cmg_index *list, unsigned count,
                 uint16_t *id, cmgi_kind_count *total)
{
    const cmg_csr &A = s.A;
    __shared__ tally mine;
    const int lane = (int)threadIdx.x % T;
    for (int k = (int)threadIdx.x; k < HOT; k += THREADS) {
        mine.rows[k] = 0;
        mine.first[k] = INT32_MAX;
    }
    __syncthreads();
    const unsigned step = gridDim.x * (THREADS / T);
    const unsigned first = blockIdx.x * (THREADS / T) + threadIdx.x / T;
    const unsigned last = (count + step - 1) / step * step; /* whole warps go round together */
    const cmg_index likely = kinds.row[kinds.likely];
    const place model = place_of(A, likely, true);
    const kept<T> of_model(s, model, lane);
    const cmg_index ref_of_model = cmgi_reference_at(&s, likely);
    unsigned next = list != NULL && first < count ? (unsigned)list[first] : first;
    bool wanted = first < count && id[next] == CMGI_NO_TEMPLATE;
    place at = place_of(A, next, wanted);
    for (unsigned k = first; k < last; k += step) {
        const unsigned i = next;
        const bool now = wanted;
        const place here = at; /* of the next row it is read ahead */
        next = list != NULL && k + step < count ? (unsigned)list[k + step] : k + step;
        wanted = k + step < count && id[next] == CMGI_NO_TEMPLATE;
        at = place_of(A, next, wanted);
        if (!__any_sync(CMGI_ALL, now)) {
            continue;
        }
        const cmg_index ref = now ? cmgi_reference_at(&s, i) : 0;
        const kept<T> entries(s, here, lane);
        uint16_t kind = (uint16_t)kinds.likely;
        bool same =
            all_lanes<T>(now && entries.equals(s, here, ref, of_model, model, ref_of_model, lane));
        if (__any_sync(CMGI_ALL, now && !same)) {
            const uint64_t sum = cmgi_group_sum(entries.hash(s, here, ref, lane), T, T) +
                                 cmgi_length_hash(here.length);
            kind = now ? cmgi_kind_of(&kinds, sum) : (uint16_t)CMGI_NO_TEMPLATE;
            const bool known = kind != CMGI_NO_TEMPLATE;
            const cmg_index j = known ? kinds.row[kind] : 0;
            const place there = place_of(A, j, known);
            same = all_lanes<T>(known && entries.equals(s, here, ref, kept<T>(s, there, lane),
                                                        there, cmgi_reference_at(&s, j), lane));
        }
        if (same && lane == 0) {
            id[i] = kind;
            count_row(&mine, total, kind, i);
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < HOT && k < kinds.count; k += THREADS) {
        if (mine.rows[k] > 0) {
            atomicAdd((unsigned long long *)&total[k].rows, (unsigned long long)mine.rows[k]);
            atomicMin((long long *)&total[k].first, (long long)mine.first[k]);
        }
    }
}

/* Rows that are to be looked at. */
struct left_rows {
    cmg_size count;
    cmg_index *list; /* NULL = all of the matrix */
};

/* Where few are left they are listed: to pass the others one by one takes longer. */
static cmg_status find_left(cmg_context *ctx, cmg_size rows, const cmgi_row_kinds *kinds,
                            const cmgi_kind_count *count, const uint16_t *id, cmgi_scratch &scratch,
                            left_rows *left)
{
    enum { FEW = 8, MANY = 1 << 16 };
    unsigned *at = NULL;
    left->count = rows;
    for (int k = 0; k < kinds->count; ++k) {
        left->count -= count[k].rows;
    }
    if (left->count * FEW > rows || rows < MANY || left->count == 0) {
        left->count = rows;
        return CMG_OK;
    }
    CMGI_TRY(scratch.take(left->count, &left->list));
    CMGI_TRY(scratch.take_zero(1, &at));
    return CMGI_RUN(ctx, cmgi_grid(rows, THREADS), THREADS, 0, list_left_kernel, (unsigned)rows, id,
                    (unsigned)left->count, left->list, at);
}

/* Lanes a row: about four entries each. */
static cmg_status match_rows(cmg_context *ctx, const search &s, const cmgi_row_kinds &kinds,
                             const left_rows &left, uint16_t *id, cmgi_kind_count *total)
{
    const cmg_size mean = s.nnz / s.A.rows;
    const int lanes = mean <= 4 ? 2 : mean <= 12 ? 4 : mean <= 40 ? 8 : CMGI_WARP;
    const auto kernel = lanes == 2   ? match_kernel<2>
                        : lanes == 4 ? match_kernel<4>
                        : lanes == 8 ? match_kernel<8>
                                     : match_kernel<CMGI_WARP>;
    const unsigned most = (unsigned)(BLOCKS * cmgi_device_of(ctx)->processors);
    const unsigned wanted = cmgi_grid(left.count, THREADS / lanes);
    const unsigned grid = wanted < most ? wanted : most;
    return CMGI_RUN(ctx, grid, THREADS, 0, kernel, s, kinds, left.list, (unsigned)left.count, id,
                    total);
}

/* Counts, rows and hashes of the kinds, then their table, in one piece on either side. */
typedef struct table {
    cmgi_kind_count *count;
    uint64_t *key;
    cmg_index *row;
    uint16_t *at;
} table;

static size_t table_bytes(int kinds, int slots)
{
    return (size_t)kinds * (sizeof(cmgi_kind_count) + sizeof(cmg_index)) +
           (size_t)slots * (sizeof(uint64_t) + sizeof(uint16_t));
}

static table place_table(void *memory, int kinds, int slots)
{
    table t;
    t.count = (cmgi_kind_count *)memory;
    t.key = (uint64_t *)(t.count + kinds);
    t.row = (cmg_index *)(t.key + slots);
    t.at = (uint16_t *)(t.row + kinds);
    return t;
}

/* As few slots as leave three of four free: what is sent is waited for. */
static int slots_for(const cmgi_row_kinds *kinds)
{
    int slots = 64;
    while (slots < 4 * kinds->count && slots < kinds->slots) {
        slots *= 2;
    }
    return slots;
}

static void fill_table(const cmgi_row_kinds *kinds, const cmgi_kind_count *count, int slots,
                       const table *t)
{
    const uint64_t mask = (uint64_t)slots - 1;
    memcpy(t->count, count, (size_t)kinds->count * sizeof *count);
    memcpy(t->row, kinds->row, (size_t)kinds->count * sizeof *kinds->row);
    memset(t->key, 0, (size_t)slots * sizeof *t->key);
    memset(t->at, 0xff, (size_t)slots * sizeof *t->at);
    for (int k = 0; k < kinds->slots; ++k) {
        if (kinds->at[k] == CMGI_NO_TEMPLATE) {
            continue;
        }
        uint64_t at = kinds->key[k] & mask;
        while (t->at[at] != CMGI_NO_TEMPLATE) {
            at = (at + 1) & mask;
        }
        t->key[at] = kinds->key[k];
        t->at[at] = kinds->at[k];
    }
}

static cmg_status match(cmg_context *ctx, const cmgi_template_search *what,
                        const cmgi_row_kinds *kinds, uint16_t *id, cmgi_kind_count *count)
{
    CMGI_ON_DEVICE(ctx);
    const int slots = slots_for(kinds);
    const size_t bytes = table_bytes(kinds->count, slots);
    char *there = NULL;
    left_rows left = {};
    cmgi_scratch scratch(ctx);
    CMGI_SCOPED(ctx, (cmg_size)bytes, char, host);
    CMGI_TRY(scratch.take((cmg_size)bytes, &there));
    const table from = place_table(host, kinds->count, slots);
    const table to = place_table(there, kinds->count, slots);
    fill_table(kinds, count, slots, &from);
    CMGI_TRY(cmgi_to_device(ctx, there, host, bytes));
    cmgi_row_kinds placed = *kinds;
    placed.slots = slots;
    placed.key = to.key;
    placed.at = to.at;
    placed.row = to.row;
    CMGI_TRY(find_left(ctx, what->A.rows, kinds, count, id, scratch, &left));
    CMGI_TRY(match_rows(ctx, *what, placed, left, id, to.count));
    return cmgi_to_host(ctx, count, to.count, (size_t)kinds->count * sizeof *count);
}

extern "C" const cmgi_template_scan cmgi_template_scan_cuda = {sample_rows, match};
