/*
 * Equal rows of matrices on the device: a table of hashes has the lowest row of each group. A row
 * belongs to it only where the two are equal entry by entry; where the hash alone agrees the next
 * slots are looked at.
 *
 * What is compared is up to ROWS: of row i the column that offsets are counted from, base(i, begin,
 * end), and of entry k the offset(k, base) of its column and its content(i, k) beside.
 */
#pragma once
#include "core/each.h"

#include "core/random.h"

/* The table of the groups of rows. */
typedef struct cmgi_row_groups {
    unsigned long long *slot; /* half of a hash and, below it, the lowest row; ~0 = free */
    unsigned *count;          /* groups that there are; over the limit they are too many */
    unsigned slots;           /* a power of two, at least twice the limit */
    unsigned limit;
} cmgi_row_groups;

/* For at most `limit` groups. */
cmg_status cmgi_row_groups_take(cmgi_scratch &scratch, cmg_size limit, cmgi_row_groups *g);
cmg_status cmgi_row_groups_clear(cmg_context *ctx, const cmgi_row_groups *g);
/* *found: they are not too many; same[i], a slot, becomes the lowest row of its group. */
cmg_status cmgi_row_groups_close(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                 int *same, bool *found);
/* list[0 .. *count - 1] = rows i with same[i] = i, in an order that depends on the run */
cmg_status cmgi_row_groups_list(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                const int *same, int *list, int *count);
/* kind[i] = number of row same[i] in the list; spoils `same`. */
cmg_status cmgi_row_groups_number(cmg_context *ctx, cmg_size rows, const int *list, int count,
                                  int *same, uint16_t *kind);

/* A row that eight lanes look at; `end` = `begin` where there is none. */
struct cmgi_looked_at {
    cmg_size i;
    cmg_size begin;
    cmg_size end;
    cmg_index from;
};

template <typename ROWS>
CMGI_BODY unsigned long long cmgi_hash_of(const ROWS &rows, const cmgi_looked_at &row)
{
    unsigned long long h = 0;
    for (cmg_size k = row.begin + cmgi_lane(); k < row.end; k += CMGI_LANES) {
        const unsigned long long place = (unsigned long long)(k - row.begin + 1) << 32;
        h += cmgi_random_mix(rows.content(row.i, k) +
                             0x9e3779b97f4a7c15ULL * (place | rows.offset(k, row.from)));
    }
    return cmgi_random_mix(cmgi_lanes_sum(h) + (unsigned long long)(row.end - row.begin));
}

/* Whether the row is like row j, in all its lanes, where `asked`. */
template <typename ROWS>
CMGI_BODY bool cmgi_same_rows(const ROWS &rows, const cmgi_looked_at &row, bool asked, cmg_size j)
{
    bool differs = !asked;
    if (asked && j != row.i) {
        const cmg_size other = rows.indptr[j];
        const cmg_size length = row.end - row.begin;
        differs = rows.indptr[j + 1] - other != length;
        const cmg_index from = differs ? 0 : rows.base(j, other, other + length);
        for (cmg_size e = cmgi_lane(); !differs && e < length; e += CMGI_LANES) {
            differs = rows.offset(row.begin + e, row.from) != rows.offset(other + e, from) ||
                      rows.content(row.i, row.begin + e) != rows.content(j, other + e);
        }
    }
    return !cmgi_row_any(differs);
}

/* same[i] = slot of row i's group; *count over the limit where the table is too full to find one.
 */
template <typename ROWS>
CMGI_BODY void cmgi_find_group(const ROWS &rows, cmg_size n, cmg_size i, const cmgi_row_groups &g,
                               int *same)
{
    enum { PROBES = 64 };
    bool open = i < n;
    cmgi_looked_at row = {i, open ? rows.indptr[i] : 0, open ? rows.indptr[i + 1] : 0, 0};
    row.from = open ? rows.base(i, row.begin, row.end) : 0;
    const unsigned long long hash = cmgi_hash_of(rows, row);
    const unsigned long long own = (hash & ~0xffffffffULL) | (unsigned long long)i;
    for (unsigned probe = 0; __any_sync(CMGI_ALL, open) && probe < PROBES; ++probe) {
        const unsigned s = ((unsigned)hash + probe) & (g.slots - 1);
        unsigned long long found = 0;
        if (open && cmgi_lane() == 0) {
            found = __ldcg(&g.slot[s]); /* one that is taken keeps its group */
            if (found == ~0ULL) {
                found = atomicCAS(&g.slot[s], ~0ULL, own);
                if (found == ~0ULL) {
                    found = own;
                    atomicAdd(g.count, 1U);
                }
            }
        }
        found = __shfl_sync(CMGI_ALL, found, 0, CMGI_LANES);
        const bool asked = open && found >> 32 == own >> 32;
        const bool like = cmgi_same_rows(rows, row, asked, (cmg_size)(found & 0xffffffffULL));
        if (like && cmgi_lane() == 0) {
            same[i] = (int)s;
            if (own < found) {
                atomicMin(&g.slot[s], own);
            }
        }
        open = open && !like;
    }
    if (open && cmgi_lane() == 0) {
        atomicMax(g.count, g.limit + 1);
    }
}

/* Few blocks, which are soon through where there are many groups. */
template <typename ROWS>
__global__ void __launch_bounds__(CMGI_EACH_THREADS)
    cmgi_find_groups(const ROWS rows, cmg_size n, const cmgi_row_groups g, int *same)
{
    const cmg_size step = (cmg_size)gridDim.x * (CMGI_EACH_THREADS / CMGI_LANES);
    for (cmg_size i = CMGI_EACH_THREAD / CMGI_LANES; __any_sync(CMGI_ALL, i < n); i += step) {
        const unsigned seen = threadIdx.x % CMGI_WARP == 0 ? __ldcg(g.count) : 0;
        if (__shfl_sync(CMGI_ALL, seen, 0) > g.limit) {
            return;
        }
        cmgi_find_group(rows, n, i, g, same);
    }
}

/* same[i] = lowest row equal to row i of n; *found = false: too many differ. */
template <typename ROWS>
static cmg_status cmgi_row_groups_find(cmg_context *ctx, const ROWS &rows, cmg_size n,
                                       const cmgi_row_groups *g, int *same, bool *found)
{
    const unsigned wanted = cmgi_grid(n * CMGI_LANES, CMGI_EACH_THREADS);
    const unsigned most = (unsigned)(16 * cmgi_device_of(ctx)->processors);
    const unsigned grid = wanted < most ? wanted : most;
    CMGI_TRY(cmgi_row_groups_clear(ctx, g));
    CMGI_TRY(CMGI_RUN(ctx, grid, CMGI_EACH_THREADS, 0, cmgi_find_groups<ROWS>, rows, n, *g, same));
    return cmgi_row_groups_close(ctx, n, g, same, found);
}
