/* How a mirror is made: from packed slices, in two passes over their values. */
#include "core/rest.h"
#include "spmv/mirror.cuh"
#include "spmv/stored.cuh"

extern "C" {
#include "spmv/box.h"
}

enum { CENTRE = 13 /* of 27 neighbours, 9 (a + 1) + 3 (b + 1) + (c + 1) */ };

/* The numbers of packed slices. */
template <typename T, cmg_values VALUES>
struct packed_values {
    typedef typename cmgi_stored<T, VALUES>::type number;
    const number *values;
    const int *rest;
    __device__ __forceinline__ number raw(cmg_size at) const
    {
        return values[at];
    }
};
template <>
struct packed_values<double, CMG_VALUES_FULL> {
    typedef double number;
    const double *values;
    const int *rest;
    __device__ __forceinline__ double raw(cmg_size at) const
    {
        return rest == NULL ? values[at] : cmgi_whole(((const float *)values)[at], rest[at]);
    }
};

template <typename T, cmg_values VALUES>
struct making {
    cmgi_compressed C;
    packed_values<T, VALUES> from;
    int size[3];
    typename upper_half<T, VALUES>::number *values;
    float *diagonal;
    bool *other;
};

enum { SLICES = 2, THREADS = SLICES * CMGI_SLICE, NEIGHBOURS = 27 };

/* The neighbours that row i has, as bits. */
static __device__ __forceinline__ unsigned neighbours_of(const int (&size)[3], cmg_size i)
{
    const int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]),
                       (int)(i / size[0] / size[1])};
    unsigned bits = (1U << NEIGHBOURS) - 1;
    bits &= at[0] == 0 ? ~0x1249249U : ~0U;
    bits &= at[0] == size[0] - 1 ? ~0x4924924U : ~0U;
    bits &= at[1] == 0 ? ~0x01c0e07U : ~0U;
    bits &= at[1] == size[1] - 1 ? ~0x70381c0U : ~0U;
    bits &= at[2] == 0 ? ~0x1ffU : ~0U;
    bits &= at[2] == size[2] - 1 ? ~0x7fc0000U : ~0U;
    return bits;
}

/* Where a block's rows have the entries of neighbours: columns of their slices, NONE = they have
 * none. */
struct row_columns {
    signed char of_slice[SLICES][NEIGHBOURS]; /* of patterns, ... */
    signed char of_row[NEIGHBOURS][THREADS];  /* ... of slices with codes */
    bool others;                              /* a pattern has offsets of none */
};

enum { NONE = -1 };

/* A row, and its slice. */
template <typename T, cmg_values VALUES>
struct given_row {
    typedef typename packed_values<T, VALUES>::number number;
    const making<T, VALUES> &m;
    cmg_size i;
    cmg_size p;
    cmg_size step;
    int slice; /* of the block */
    int lane;
    int width;
    int bytes;
    __device__ __forceinline__ given_row(const making<T, VALUES> &all)
        : m(all), i((cmg_size)blockIdx.x * THREADS + threadIdx.x), p(i / CMGI_SLICE),
          step(p < m.C.p.count ? m.C.p.step[p] : 0), slice((int)threadIdx.x / CMGI_SLICE),
          lane((int)threadIdx.x % CMGI_SLICE),
          width(i < m.C.rows ? (int)(m.C.p.step[p + 1] - step) : 0),
          bytes(p < m.C.p.count ? m.C.p.bytes[p] : 0)
    {
    }
    /* Where its entry in column e is in the slice (compressed.h). */
    __device__ __forceinline__ cmg_size place(int e) const
    {
        return cmgi_packed_place(VALUES != CMG_VALUES_FULL, e, lane);
    }
    __device__ __forceinline__ number at(int e) const
    {
        return e >= 0 && width > 0 ? m.from.raw(step * CMGI_SLICE + place(e)) : number(0);
    }
    __device__ __forceinline__ int offset(int e) const
    {
        const uint8_t *codes = m.C.p.codes + m.C.p.code[p];
        const int code = bytes == 0   ? 0
                         : bytes == 1 ? codes[place(e)]
                         : bytes == 2 ? ((const uint16_t *)codes)[place(e)]
                                      : ((const int *)codes)[place(e)];
        return m.C.p.base[step + e] + code;
    }
    __device__ __forceinline__ int neighbour(int e) const
    {
        return cmgi_box_neighbour(m.size, 3, offset(e));
    }
    __device__ __forceinline__ int column(const row_columns &columns, int k) const
    {
        return bytes == 0 ? columns.of_slice[slice][k] : columns.of_row[k][threadIdx.x];
    }
    /* False where an entry that is not 0 is none of a neighbour. */
    __device__ __forceinline__ bool find_columns(row_columns &columns) const
    {
        bool good = true;
        const int columns_of_slice = p < m.C.p.count ? (int)(m.C.p.step[p + 1] - step) : 0;
        columns.others = false;
        if (lane < NEIGHBOURS) {
            columns.of_slice[slice][lane] = NONE;
        }
        for (int k = 0; bytes > 0 && k < NEIGHBOURS; ++k) {
            columns.of_row[k][threadIdx.x] = NONE;
        }
        __syncthreads();
        for (int e = 0; bytes > 0 && e < width; ++e) {
            const int k = at(e) != 0 ? neighbour(e) : CENTRE;
            good = good && k >= 0;
            if (k >= 0 && at(e) != 0) {
                columns.of_row[k][threadIdx.x] = (signed char)e;
            }
        }
        const cmg_index *base = m.C.p.base + step;
        for (int e = lane; bytes == 0 && e < columns_of_slice; e += CMGI_SLICE) {
            const int k = cmgi_box_neighbour(m.size, 3, base[e]);
            if (k < 0) {
                columns.others = true;
            } else if (e == 0 || base[e - 1] != base[e]) { /* not one that fills a pair up */
                columns.of_slice[slice][k] = (signed char)e;
            }
        }
        __syncthreads();
        for (int e = 0; columns.others && bytes == 0 && e < width; ++e) {
            good = good && (neighbour(e) >= 0 || at(e) == 0);
        }
        return good;
    }
};

template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS) upper_kernel(const making<T, VALUES> m)
{
    __shared__ row_columns columns;
    const given_row<T, VALUES> row(m);
    const unsigned there = neighbours_of(m.size, row.i);
    bool other = !row.find_columns(columns);
#pragma unroll
    for (int k = VALUES == CMG_VALUES_FULL ? 0 : 1; k < UPPER; ++k) {
        const auto number = row.at(row.column(columns, CENTRE + k));
        other = other || (number != 0 && (there >> (CENTRE + k) & 1) == 0);
        if (row.p < m.C.p.count) {
            m.values[upper_half<T, VALUES>::place(row.i, k)] = number;
        }
    }
    if (other) {
        *m.other = true;
    }
}

/* Entries of the lower half beside their images; what a row sum loses goes to the diagonal. */
template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS) lower_kernel(const making<T, VALUES> m)
{
    typedef upper_half<T, VALUES> half;
    typedef cmgi_stored<T, VALUES> stored;
    enum { FEW = 4 /* units in the last place */ };
    __shared__ row_columns columns;
    const bool scaled = VALUES != CMG_VALUES_FULL;
    const given_row<T, VALUES> row(m);
    const cmg_size i = row.i;
    row.find_columns(columns);
    if (i >= m.C.rows) {
        return;
    }
    const unsigned there = neighbours_of(m.size, i);
    const T own = scaled ? (T)m.C.p.scale[i / CMGI_SLICE] : T(1);
    const T diagonal = scaled ? (T)m.C.diagonal[i] : (T)m.values[half::place(i, 0)];
    T lost = 0;
    bool other = false;
#pragma unroll
    for (int k = 0; k < CENTRE; ++k) {
        const int offset = ((k / 9 - 1) * m.size[1] + k / 3 % 3 - 1) * m.size[0] + k % 3 - 1;
        const cmg_size j = i + offset;
        const T here = own * stored::get(row.at(row.column(columns, k)));
        T image = 0;
        if ((there >> k & 1) != 0) {
            image = stored::get(m.values[half::place(j, CENTRE - k)]) *
                    (scaled ? (T)m.C.p.scale[j / CMGI_SLICE] : T(1));
        }
        const T few = FEW * ((T)half::own_unit * fabs(here) + (T)half::unit * fabs(diagonal));
        other = other || !(fabs(here - image) <= few);
        lost += here - image;
    }
    if (scaled) {
        m.diagonal[i] = (float)(diagonal + lost);
    } else if (lost != 0) {
        m.values[half::place(i, 0)] = (typename half::number)(diagonal + lost);
    }
    if (other) {
        *m.other = true;
    }
}

/* Values of packed slices, which are the mirror's. */
template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS)
    restore_kernel(const making<T, VALUES> m, typename upper_half<T, VALUES>::number *values)
{
    typedef cmgi_stored<T, VALUES> stored;
    const given_row<T, VALUES> row(m);
    const unsigned there = neighbours_of(m.size, row.i);
    const int columns = row.p < m.C.p.count ? (int)(m.C.p.step[row.p + 1] - row.step) : 0;
    unsigned left = there; /* not yet stored: the last column may come twice */
    for (int e = 0; e < columns; ++e) {
        const int k = row.width > 0 ? row.neighbour(e) : -1;
        const bool has = k >= 0 && (left >> k & 1) != 0;
        const cmg_size j = k < CENTRE && has ? row.i + row.offset(e) : row.i;
        typename upper_half<T, VALUES>::number number = 0;
        if (has && (k != CENTRE || VALUES == CMG_VALUES_FULL)) {
            number = m.values[upper_half<T, VALUES>::place(j, abs(k - CENTRE))];
            left &= ~(1U << k);
        }
        if constexpr (VALUES != CMG_VALUES_FULL) {
            if (j != row.i) {
                const float own = m.C.p.scale[row.p];
                number = __half_as_ushort(
                    __float2half_rn(stored::get(number) * m.C.p.scale[j / CMGI_SLICE] / own));
            }
        }
        values[row.step * CMGI_SLICE + row.place(e)] = number;
    }
}

/* The sides of the grid, by the offsets behind the diagonal of a slice near the middle: the first
 * that has all of them, which the first line of a plane has not. */
__global__ void sides_kernel(const cmgi_compressed C, int *size)
{
    __shared__ int first;
    const cmgi_packed_slices &P = C.p;
    const cmg_size p = P.count / 2 + threadIdx.x;
    int behind = 0;
    int second = 0; /* least but one */
    int last = 0;
    if (threadIdx.x == 0) {
        first = THREADS;
    }
    for (cmg_size e = P.step[p]; e < P.step[p + 1]; ++e) {
        if (P.base[e] > last) { /* they ascend; the last may come twice */
            last = P.base[e];
            second = ++behind == 2 ? last : second;
        }
    }
    const int line = second + 1;
    const int plane = last - line - 1;
    const bool grid = behind == CENTRE && line > 2 && plane > 0 && plane % line == 0 &&
                      plane / line > 2 && C.rows % plane == 0 && C.rows / plane > 2;
    __syncthreads();
    if (grid) {
        atomicMin(&first, (int)threadIdx.x);
    }
    __syncthreads();
    if ((int)threadIdx.x == first % THREADS) {
        size[0] = line;
        size[1] = grid ? plane / line : 0;
        size[2] = grid ? (int)(C.rows / plane) : 0;
    }
}

template <typename T, cmg_values VALUES>
static making<T, VALUES> describe(const cmg_matrix *A, const cmgi_mirror *mirror)
{
    making<T, VALUES> m = {};
    m.C = *(const cmgi_compressed *)A->data;
    m.from = {(decltype(m.from.values))A->values, m.C.p.rest};
    memcpy(m.size, mirror->size, sizeof m.size);
    m.values = (decltype(m.values))mirror->values;
    m.diagonal = mirror->diagonal;
    return m;
}

template <typename T, cmg_values VALUES>
static cmg_status fill(const cmg_matrix *A, cmgi_mirror *mirror, bool *good)
{
    typedef typename upper_half<T, VALUES>::number number;
    cmg_context *ctx = A->ctx;
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    cmgi_scratch scratch(ctx);
    bool *other = NULL;
    CMGI_TRY(scratch.take_zero(1, &other));
    CMGI_TRY(
        cmgi_alloc_device(ctx, C->p.count * CMGI_SLICE * UPPER, sizeof(number), &mirror->values));
    if (VALUES != CMG_VALUES_FULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, C->rows, sizeof(float), &mirror->diagonal));
    }
    mirror->bytes = (size_t)(C->p.count * CMGI_SLICE) * UPPER * sizeof(number) +
                    (mirror->diagonal != NULL ? (size_t)C->rows * sizeof *mirror->diagonal : 0);
    making<T, VALUES> m = describe<T, VALUES>(A, mirror);
    m.other = other;
    const dim3 grid = cmgi_grid(C->rows, THREADS);
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0, upper_kernel<T, VALUES>, m));
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0, lower_kernel<T, VALUES>, m));
    bool refused = false;
    const cmgi_read flag = {&refused, other, sizeof *other};
    CMGI_TRY(cmgi_read_each(ctx, &flag, 1));
    *good = !refused;
    return CMG_OK;
}

/* Whether its slices have about as many columns as a row of a grid has entries. */
static bool looks_like_one(const cmg_matrix *A)
{
    enum { FEW = 20, MANY = 40 };
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmgi_packed_slices *P = &C->p;
    return C->block == 1 && C->square && C->lead == 0 && A->rows == A->cols && C->t.count == 0 &&
           P->slice == NULL && P->kind != CMG_VALUES_FP8 && !A->options.keep_map &&
           A->rows >= CMGI_MIRROR_ROWS && A->rows < INT32_MAX / 2 && P->steps >= FEW * P->count &&
           P->steps <= MANY * P->count;
}

template <typename T, cmg_values VALUES>
static cmg_status make(cmg_matrix *A, cmgi_mirror *mirror, bool *good)
{
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    cmgi_scratch scratch(A->ctx);
    int *size = NULL;
    CMGI_TRY(scratch.take(3, &size));
    CMGI_TRY(CMGI_RUN(A->ctx, 1, THREADS, 0, sides_kernel, *C, size));
    const cmgi_read sides = {mirror->size, size, sizeof mirror->size};
    CMGI_TRY(cmgi_read_each(A->ctx, &sides, 1));
    return mirror->size[2] > 0 ? (fill<T, VALUES>(A, mirror, good)) : CMG_OK;
}

extern "C" cmg_status cmgi_mirror_find(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    cmgi_mirror *mirror = NULL;
    bool good = false;
    if (!looks_like_one(A)) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *mirror, &mirror));
    const cmg_status status =
        A->options.precision == CMG_FP64 ? make<double, CMG_VALUES_FULL>(A, mirror, &good)
        : C->p.kind == CMG_VALUES_FULL   ? make<float, CMG_VALUES_FULL>(A, mirror, &good)
                                         : make<float, CMG_VALUES_FP16>(A, mirror, &good);
    C->mirror = status == CMG_OK && good ? mirror : NULL;
    if (C->mirror == NULL) {
        cmgi_mirror_free(ctx, mirror);
    }
    return status == CMG_ERR_MEMORY ? CMG_OK : status; /* products do without */
}

extern "C" void cmgi_mirror_trim(cmg_matrix *A)
{
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    const bool own = C->p.rest == NULL && !C->p.borrowed &&
                     (A->options.precision == CMG_FP64 || C->p.kind != CMG_VALUES_FULL);
    if (own && A->values != NULL) {
        cmgi_free_device(A->ctx, A->values);
        cmgi_free_device(A->ctx, C->diagonal);
        A->values = NULL;
        C->diagonal = NULL;
        A->bytes = C->mirror->bytes;
    }
}

template <typename T, cmg_values VALUES>
static cmg_status restore(cmg_matrix *A)
{
    typedef typename upper_half<T, VALUES>::number number;
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    const size_t bytes = (size_t)C->rows * sizeof *C->diagonal;
    number *values = NULL;
    if (C->mirror->diagonal != NULL && C->diagonal == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, C->rows, sizeof *C->diagonal, &C->diagonal));
        CMGI_TRY(cmgi_copy_at(ctx, CMGI_DEVICE, C->diagonal, C->mirror->diagonal, bytes));
    }
    CMGI_TRY(cmgi_alloc_device(ctx, A->stored, sizeof *values, &values));
    const cmg_status status =
        CMGI_RUN(ctx, cmgi_grid(C->rows, THREADS), THREADS, 0, restore_kernel<T, VALUES>,
                 (describe<T, VALUES>)(A, C->mirror), values);
    if (status != CMG_OK) {
        cmgi_free_device(ctx, values);
        return status;
    }
    A->values = values; /* last: where it is, all is there */
    A->bytes = C->mirror->bytes + cmgi_compressed_storage(C, A->options.precision);
    return CMG_OK;
}

extern "C" cmg_status cmgi_mirror_restore(cmg_matrix *A)
{
    CMGI_ON_DEVICE(A->ctx);
    if (A->values != NULL) {
        return CMG_OK;
    }
    return A->options.precision == CMG_FP64 ? restore<double, CMG_VALUES_FULL>(A)
                                            : restore<float, CMG_VALUES_FP16>(A);
}
