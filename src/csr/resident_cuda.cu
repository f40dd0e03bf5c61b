/* Kernels of matrices on the device; see resident.h. */
#include "core/lanes.h"
#include "csr/entries.cuh"

enum { THREADS = 256, LANES = 8, AT_ONCE = 4 };

static cmg_status clear_facts(cmg_context *ctx, facts *all)
{
    const size_t minima = offsetof(facts, identity);
    CMGI_CUDA(ctx, cudaMemsetAsync(all, 0xff, minima, cmgi_stream(ctx)));
    return cmgi_cuda_clear(ctx, &all->identity, sizeof *all - minima);
}

static cmg_size row_of(unsigned long long first)
{
    return first == NONE ? -1 : (cmg_size)first;
}

/* A duplicate column of a row whose columns do not ascend. */
static __device__ bool has_duplicate(const cmg_index *columns, cmg_size length, int lane)
{
    for (cmg_size e = lane; e < length; e += LANES) {
        for (cmg_size f = 0; f < e; ++f) {
            if (columns[f] == columns[e]) {
                return true;
            }
        }
    }
    return false;
}

/*
 * With PATTERN the order of the columns, and whether they are inside, too. `known`: which entry is
 * the diagonal, so that no column is read.
 */
template <bool PATTERN>
static __device__ __forceinline__ view look_at_row(const cmg_csr A, cmg_size i, cmg_size begin,
                                                   cmg_size length, int lane, int known)
{
    view v = {};
    v.entry = CMGI_DIAGONAL_UNKNOWN;
    const cmg_index *indices = A.indices + begin;
    const double *values = A.values + begin;
    for (cmg_size first = lane; first < length; first += AT_ONCE * LANES) {
        cmg_index column[AT_ONCE];
        cmg_index before[AT_ONCE];
        double value[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) { /* read together, so that one wait is that of all */
            const cmg_size e = first + u * LANES;
            const bool real = e < length;
            if (PATTERN || known == CMGI_DIAGONAL_UNKNOWN) {
                column[u] = real ? indices[e] : 0;
            } else {
                column[u] = e == known ? (cmg_index)i : -1;
            }
            before[u] = PATTERN && real && e > 0 ? indices[e - 1] : -1;
            value[u] = real ? values[e] : 0;
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            if (first + u * LANES >= length) {
                break;
            }
            const cmg_index j = column[u];
            const double size = fabs(value[u]);
            v.range = v.range || (PATTERN && (j < 0 || j >= A.cols));
            v.descends = v.descends || (PATTERN && first + u > 0 && before[u] >= j);
            v.sum += size;
            v.beyond = v.beyond || cmgi_is_beyond(size);
            if (j == i) {
                v.diagonal += value[u];
                v.entry = first + u * LANES < CMGI_DIAGONAL_UNKNOWN ? (int)first + u * LANES
                                                                    : CMGI_DIAGONAL_UNKNOWN;
            } else {
                v.other = true;
                v.nonzero = v.nonzero || value[u] != 0;
                merge_largest(v.first, v.second, size, 0);
            }
        }
    }
    return v;
}

template <bool PATTERN>
__global__ void __launch_bounds__(THREADS)
    entries_kernel(const cmg_csr A, double *diagonal, uint8_t *entry, facts *all)
{
    __shared__ counts mine;
    const int lane = (int)threadIdx.x % LANES;
    const unsigned mask = 0xffU << ((threadIdx.x % CMGI_WARP) / LANES * LANES);
    if (threadIdx.x == 0) {
        mine = no_counts();
    }
    __syncthreads();
    const cmg_size step = (cmg_size)gridDim.x * (THREADS / LANES);
    const cmg_size last = (A.rows + step - 1) / step * step;
    for (cmg_size i = (cmg_size)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; i < last;
         i += step) {
        const bool real = i < A.rows;
        const cmg_size begin = real ? A.indptr[i] : 0;
        const cmg_size length = real ? A.indptr[i + 1] - begin : 0;
        const int known = !PATTERN && real && entry != NULL ? entry[i] : CMGI_DIAGONAL_UNKNOWN;
        view v = look_at_row<PATTERN>(A, i, begin, length, lane, known);
        v.range = PATTERN && (__ballot_sync(CMGI_ALL, v.range) & mask) != 0;
        v.descends = PATTERN && (__ballot_sync(CMGI_ALL, v.descends) & mask) != 0;
        v.nonzero = (__ballot_sync(CMGI_ALL, v.nonzero) & mask) != 0;
        v.other = (__ballot_sync(CMGI_ALL, v.other) & mask) != 0;
        v.beyond = (__ballot_sync(CMGI_ALL, v.beyond) & mask) != 0;
        v.sum = cmgi_lanes_sum(v.sum);
        v.diagonal = cmgi_lanes_sum(v.diagonal);
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1) {
            const double a = __shfl_xor_sync(CMGI_ALL, v.first, d);
            const double b = __shfl_xor_sync(CMGI_ALL, v.second, d);
            merge_largest(v.first, v.second, a, b);
            if (PATTERN) {
                const int other = __shfl_xor_sync(CMGI_ALL, v.entry, d);
                v.entry = other < v.entry ? other : v.entry;
            }
        }
        if (!real) {
            continue;
        }
        if (v.descends && has_duplicate(A.indices + begin, length, lane)) {
            note_row(&all->duplicate, i);
        }
        if (lane == 0) {
            atomicAdd(&mine.beside, v.other ? 1U : 0U);
            count_row<PATTERN>(v, i, diagonal, entry, all, &mine);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        add_counts(mine, all);
    }
}

static cmgi_resident_facts facts_of(const facts *f)
{
    cmgi_resident_facts made = {};
    made.bad_length = -1;
    made.bad_column = row_of(f->bad_column);
    made.duplicate = row_of(f->duplicate);
    made.not_finite = row_of(f->not_finite);
    made.zero_diagonal = row_of(f->zero_diagonal);
    made.identity = (cmg_size)f->identity;
    made.beside = (cmg_size)f->beside;
    made.lines = (cmg_size)f->lines;
    made.ascending = f->unsorted == 0;
    made.single = f->beyond == 0;
    memcpy(&made.gershgorin, &f->gershgorin, sizeof made.gershgorin);
    if (f->least != NONE) {
        memcpy(&made.most, &f->most, sizeof made.most);
        memcpy(&made.least, &f->least, sizeof made.least);
    }
    return made;
}

static cmg_status look_at_entries(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned most = (unsigned)(8 * cmgi_device_of(ctx)->processors);
    const unsigned wanted = cmgi_grid(A->rows, THREADS / LANES);
    const unsigned grid = wanted < most ? wanted : most;
    facts *all = NULL;
    facts f = {};
    cmg_status status = CMG_OK;
    if (A->rows == A->cols && R->diagonal == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *R->diagonal, &R->diagonal));
    }
    if (A->rows == A->cols && !R->known && R->diagonal_entry == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *R->diagonal_entry, &R->diagonal_entry));
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *all, &all));
    CMGI_TRY_GOTO(done, clear_facts(ctx, all));
    if (A->rows > 0) {
        if (R->rows.count != NULL && R->rows.longest <= CMGI_SHORT_ROWS) {
            CMGI_TRY_GOTO(
                done, cmgi_entries_short(ctx, A, !R->known, R->diagonal, R->diagonal_entry, all));
        } else if (R->known) {
            entries_kernel<false>
                <<<grid, THREADS, 0, cmgi_stream(ctx)>>>(*A, R->diagonal, R->diagonal_entry, all);
        } else {
            entries_kernel<true>
                <<<grid, THREADS, 0, cmgi_stream(ctx)>>>(*A, R->diagonal, R->diagonal_entry, all);
        }
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, all, sizeof f));
    {
        const cmgi_resident_facts before = R->facts;
        R->facts = facts_of(&f);
        if (R->known) {
            R->facts.bad_column = before.bad_column;
            R->facts.duplicate = before.duplicate;
            R->facts.ascending = before.ascending;
        }
        R->known = true;
    }
done:
    cmgi_free_device(ctx, all);
    return status;
}

extern "C" const cmgi_resident_kernels cmgi_resident_cuda = {
    cmgi_resident_rows,   cmgi_resident_rows_each, look_at_entries,
    cmgi_resident_gather, cmgi_resident_transpose, cmgi_resident_offsets,
    cmgi_resident_widen,  cmgi_resident_multiply,  cmgi_resident_multiply_values};
