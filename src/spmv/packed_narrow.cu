/*
 * Values in 16 or 8 bits from packed slices of the same matrix in fp64 that are patterns of rows
 * that ascend: a pattern of the one is that of the other but for the diagonal, if that is kept
 * apart, and every value is read once and in its place. A block has a slice, a lane two rows of
 * every fourth slice column. What is stored is what packed_fill.cu stores.
 */
#include "spmv/packed_store.cuh"

/* A slice on its way; column `apart` of the given ones is the diagonal, if that is kept apart. */
template <typename T>
struct narrow_slice {
    int apart;
    alignas(8) T tile[NARROW * (SLICE + APART_BY)];
    double lost[SLICE * (NARROW + 1)]; /* of an entry; rows apart by one for the banks */
};

enum { EACH_WARP = NARROW / WARPS };

/* The bases, with the last twice where slice columns are stored in pairs and one is left. */
template <typename T>
static __device__ void put_bases(const cmgi_wide_slices &from, const target &to, cmg_size p,
                                 bool split, narrow_slice<T> &slice)
{
    const int e = (int)threadIdx.x;
    const int width = (int)(from.step[p + 1] - from.step[p]);
    const cmg_index base = e < width ? from.base[from.step[p] + e] : 0;
    if (e == 0) {
        slice.apart = width;
    }
    __syncthreads();
    if (split && e < width && base == 0) {
        slice.apart = e;
    }
    __syncthreads();
    const int packed = width - (slice.apart < width);
    const int column = e - (e > slice.apart);
    if (e < width && e != slice.apart) {
        to.base[to.step[p] + column] = base;
        if (column + 1 == packed && to.pairs && packed % 2 != 0) {
            to.base[to.step[p] + packed] = base;
            for (int r = 0; r < SLICE; ++r) {
                slice.tile[in_tile(place_of<T>(packed, r))] = T{};
            }
        }
    }
}

template <typename T>
static __device__ __forceinline__ void put_value(double value, int e, int r, const unit &u,
                                                 narrow_slice<T> &slice)
{
    double lost = value;
    if (e != slice.apart) {
        const T kept = storage<T>::keep(value, u);
        slice.tile[in_tile(place_of<T>(e - (e > slice.apart), r))] = kept;
        lost = storage<T>::lost(value, kept, u);
    }
    slice.lost[r * (NARROW + 1) + e] = lost;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    narrow_kernel(const source S, const cmgi_wide_slices from, const target to, T *values)
{
    __shared__ narrow_slice<T> slice;
    const cmg_size p = blockIdx.x;
    if (!is_narrowed(to, p)) {
        return;
    }
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const int width = (int)(from.step[p + 1] - from.step[p]);
    const double2 *wide = (const double2 *)(from.values + from.step[p] * SLICE);
    double2 v[EACH_WARP];
    double largest = 0;
#pragma unroll
    for (int g = 0; g < EACH_WARP; ++g) {
        const int e = warp + g * WARPS;
        v[g] = e < width ? wide[e * CMGI_WARP + lane] : double2{0, 0};
    }
    put_bases(from, to, p, S.split_diagonal, slice);
#pragma unroll
    for (int g = 0; g < EACH_WARP; ++g) {
        const int e = warp + g * WARPS;
        const double most = fmax(fabs(v[g].x), fabs(v[g].y));
        largest = e != slice.apart ? fmax(largest, most) : largest;
    }
    const unit u = unit_of_block<T>(largest);
#pragma unroll
    for (int g = 0; g < EACH_WARP; ++g) {
        const int e = warp + g * WARPS;
        if (e < width) {
            put_value(v[g].x, e, lane, u, slice);
            put_value(v[g].y, e, lane + CMGI_WARP, u, slice);
        }
    }
    __syncthreads();
    const int r = (int)threadIdx.x;
    const cmg_size row = (S.slice != NULL ? S.slice[p] : p) * SLICE + r;
    if (to.diagonal != NULL && r < SLICE && row < S.A.rows) {
        double sum = 0;
        for (int e = 0; e < width; ++e) { /* in the order of the row's entries, as on the host */
            sum += slice.lost[r * (NARROW + 1) + e];
        }
        to.diagonal[row] = (float)sum;
    }
    if (r == 0) {
        to.scale[p] = (float)u.scale;
    }
    enum { PACK = sizeof(uint32_t) / sizeof(T) };
    const cmg_size stored = (to.step[p + 1] - to.step[p]) * SLICE;
    for (int x = PACK * (int)threadIdx.x; x < stored; x += PACK * THREADS) {
        const uint32_t *pack = (const uint32_t *)(const void *)&slice.tile[in_tile(x)];
        *(uint32_t *)(void *)(values + to.step[p] * SLICE + x) = *pack;
    }
}

template <typename T>
static cmg_status narrow(const cmgi_compressor *B, const cmgi_wide_slices &from, cmg_index *kept)
{
    cmg_context *ctx = B->A->ctx;
    const source S = source_of(B, 0);
    return CMGI_RUN(ctx, (unsigned)S.count, THREADS, 0, narrow_kernel<T>, S, from,
                    target_of(B, kept), (T *)B->A->values);
}

cmg_status cmgi_packed_narrow(const cmgi_compressor *B, const cmgi_wide_slices &from,
                              cmg_index *kept)
{
    return B->C->p.kind == CMG_VALUES_FP16 ? narrow<uint16_t>(B, from, kept)
                                           : narrow<uint8_t>(B, from, kept);
}
