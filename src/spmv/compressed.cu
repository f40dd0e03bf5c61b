/*
 * Products with compressed slices (compressed.h): one warp a slice of 64 rows, every thread takes
 * rows l and l + 32, whose packed entries are neighbours and come with one load.
 *
 *   templates  rows of one template share the loads of its offsets and values
 *   packed     a base a slice column plus codes of 0, 1, 2 or 4 bytes; values of 8, 4 or 2 bytes
 */
#include "spmv/spmv.cuh"

#include <cuda_fp16.h>

extern "C" {
#include "spmv/compressed.h"
}

enum { UNROLL = 4 };

template <typename T>
struct compressed_args {
    cmgi_compressed C;
    const void *values;
    const T *x;
    typename cmgi_wb_of<T>::type f;
};

/* The two rows of a thread. */
struct row_pair {
    cmg_size first;
    cmg_size second;
    bool has_first;
    bool has_second;
};

__device__ __forceinline__ row_pair rows_of(cmg_size slice, cmg_size rows)
{
    row_pair r;
    r.first = slice * CMGI_SLICE + threadIdx.x % 32;
    r.second = r.first + 32;
    r.has_first = r.first < rows;
    r.has_second = r.second < rows;
    return r;
}

template <cmgi_wb_kind KIND, typename T>
__device__ __forceinline__ void put_pair(const compressed_args<T> &a, const row_pair &r, T s, T t)
{
    if (r.has_first) {
        cmgi_put<KIND>(a.f, r.first, s);
    }
    if (r.has_second) {
        cmgi_put<KIND>(a.f, r.second, t);
    }
}

/* ------------------------------------------------------------------ templates */

/* One row by its own template. */
template <typename T>
__device__ __forceinline__ T template_row(const compressed_args<T> &a, int id, cmg_size ref)
{
    const T *values = (const T *)a.C.t_value;
    const cmg_index end = __ldg(a.C.t_begin + id + 1);
    T s = 0;
#pragma unroll 4
    for (cmg_index e = __ldg(a.C.t_begin + id); e < end; ++e) {
        s += __ldg(values + e) * __ldg(a.x + ref + __ldg(a.C.t_offset + e));
    }
    return s;
}

template <typename T, cmgi_wb_kind KIND>
__global__ void templates_kernel(const compressed_args<T> a)
{
    const cmg_size p = ((cmg_size)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (p >= a.C.t_count) { /* the same for the whole warp */
        return;
    }
    const row_pair r = rows_of(a.C.t_slice != NULL ? a.C.t_slice[p] : p, a.C.rows);
    const int id = r.has_first ? a.C.t_id[r.first] : 0;
    const int id2 = r.has_second ? a.C.t_id[r.second] : -1;
    const cmg_size ref = r.has_first && a.C.ref != NULL ? a.C.ref[r.first] : r.first;
    const cmg_size ref2 = r.has_second && a.C.ref != NULL ? a.C.ref[r.second] : r.second;
    T s = 0;
    T t = 0;
    const int common = __shfl_sync(0xffffffffU, id, 0);
    if (__all_sync(0xffffffffU, id == common && id2 == common)) {
        const T *values = (const T *)a.C.t_value;
        const cmg_index end = __ldg(a.C.t_begin + common + 1);
#pragma unroll 8
        for (cmg_index e = __ldg(a.C.t_begin + common); e < end; ++e) {
            const T v = __ldg(values + e);
            const cmg_index offset = __ldg(a.C.t_offset + e);
            s += v * __ldg(a.x + ref + offset);
            t += v * __ldg(a.x + ref2 + offset);
        }
    } else {
        s = r.has_first ? template_row(a, id, ref) : T(0);
        t = r.has_second ? template_row(a, id2, ref2) : T(0);
    }
    put_pair<KIND>(a, r, s, t);
}

/* ------------------------------------------------------------------ packed */

template <typename T>
struct alignas(2 * sizeof(T)) value_pair {
    T first;
    T second;
};

/* Pair number `at` of the packed values, as stored. */
template <cmg_values KIND>
__device__ __forceinline__ value_pair<double> load_values(const void *values, cmg_size at, double)
{
    static_assert(KIND == CMG_VALUES_FULL, "fp64 values are kept in full");
    const double2 v = __ldcs((const double2 *)values + at);
    return {v.x, v.y};
}

template <cmg_values KIND>
__device__ __forceinline__ value_pair<float> load_values(const void *values, cmg_size at, float)
{
    if (KIND == CMG_VALUES_FULL) {
        const float2 v = __ldcs((const float2 *)values + at);
        return {v.x, v.y};
    }
    const unsigned bits = __ldcs((const unsigned *)values + at);
    if (KIND == CMG_VALUES_BF16) {
        return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000U)};
    }
    const float low = __half2float(__ushort_as_half((unsigned short)(bits & 0xffffU)));
    const float high = __half2float(__ushort_as_half((unsigned short)(bits >> 16)));
    return {low, high};
}

/* Pair number `at` of the codes of a slice. */
template <int BYTES>
__device__ __forceinline__ int2 load_codes(const uint8_t *codes, cmg_size at)
{
    if (BYTES == 1) {
        const unsigned c = __ldcs((const unsigned short *)codes + at);
        return make_int2((int)(c & 0xffU), (int)(c >> 8));
    }
    if (BYTES == 2) {
        const unsigned c = __ldcs((const unsigned *)codes + at);
        return make_int2((int)(c & 0xffffU), (int)(c >> 16));
    }
    return BYTES == 4 ? __ldcs((const int2 *)codes + at) : make_int2(0, 0);
}

/* Sums of both rows over the slice columns. */
template <cmg_values KIND, int BYTES, typename T>
__device__ __forceinline__ value_pair<T> packed_sums(const compressed_args<T> &a, cmg_size p,
                                                     const row_pair &r)
{
    const int lane = threadIdx.x % 32;
    const cmg_size step = a.C.p_step[p];
    const int width = (int)(a.C.p_step[p + 1] - step);
    const uint8_t *codes = a.C.codes + a.C.p_code[p];
    const cmg_index *base = a.C.p_base + step;
    const cmg_index ref = r.has_first && a.C.ref != NULL ? a.C.ref[r.first] : (cmg_index)r.first;
    const cmg_index ref2 =
        r.has_second && a.C.ref != NULL ? a.C.ref[r.second] : (cmg_index)r.second;
    value_pair<T> sum = {0, 0};
    for (int k = 0; k < width; k += UNROLL) {
        value_pair<T> v[UNROLL];
        int2 column[UNROLL];
        T x[UNROLL];
        T x2[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (k + u < width) {
                const int2 code = load_codes<BYTES>(codes, (cmg_size)(k + u) * 32 + lane);
                const cmg_index b = __ldg(base + k + u);
                column[u] = make_int2(ref + b + code.x, ref2 + b + code.y);
                v[u] = load_values<KIND>(a.values, (step + k + u) * 32 + lane, T(0));
            } else {
                v[u] = {0, 0};
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            x[u] = k + u < width && r.has_first ? __ldg(a.x + column[u].x) : T(0);
            x2[u] = k + u < width && r.has_second ? __ldg(a.x + column[u].y) : T(0);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            sum.first += v[u].first * x[u];
            sum.second += v[u].second * x2[u];
        }
    }
    return sum;
}

template <cmg_values KIND, typename T>
__device__ __forceinline__ value_pair<T> slice_sums(const compressed_args<T> &a, cmg_size p,
                                                    const row_pair &r)
{
    switch (a.C.p_bytes[p]) {
    case 0:
        return packed_sums<KIND, 0>(a, p, r);
    case 1:
        return packed_sums<KIND, 1>(a, p, r);
    case 2:
        return packed_sums<KIND, 2>(a, p, r);
    default:
        return packed_sums<KIND, 4>(a, p, r);
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
__global__ void packed_kernel(const compressed_args<T> a)
{
    const cmg_size p = ((cmg_size)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (p >= a.C.p_count) {
        return;
    }
    const row_pair r = rows_of(a.C.p_slice != NULL ? a.C.p_slice[p] : p, a.C.rows);
    value_pair<T> sum = slice_sums<VALUES>(a, p, r);
    if (VALUES != CMG_VALUES_FULL) {
        const T scale = (T)a.C.p_scale[p];
        sum.first *= scale;
        sum.second *= scale;
        if (a.C.diagonal != NULL) {
            sum.first += r.has_first ? (T)a.C.diagonal[r.first] * a.x[r.first] : T(0);
            sum.second += r.has_second ? (T)a.C.diagonal[r.second] * a.x[r.second] : T(0);
        }
    }
    put_pair<KIND>(a, r, sum.first, sum.second);
}

/* ------------------------------------------------------------------ launch */

/* 16-bit values exist in fp32 matrices alone. */
template <cmgi_wb_kind KIND>
static void launch_packed(const compressed_args<float> &a, unsigned grid, int block,
                          cudaStream_t stream)
{
    switch (a.C.kind) {
    case CMG_VALUES_FP16:
        packed_kernel<float, KIND, CMG_VALUES_FP16><<<grid, block, 0, stream>>>(a);
        break;
    case CMG_VALUES_BF16:
        packed_kernel<float, KIND, CMG_VALUES_BF16><<<grid, block, 0, stream>>>(a);
        break;
    default:
        packed_kernel<float, KIND, CMG_VALUES_FULL><<<grid, block, 0, stream>>>(a);
        break;
    }
}

template <cmgi_wb_kind KIND>
static void launch_packed(const compressed_args<double> &a, unsigned grid, int block,
                          cudaStream_t stream)
{
    packed_kernel<double, KIND, CMG_VALUES_FULL><<<grid, block, 0, stream>>>(a);
}

template <typename T, cmgi_wb_kind KIND>
struct launch_compressed {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        compressed_args<T> a;
        a.C = *(const cmgi_compressed *)A->data;
        a.values = A->values;
        a.x = x;
        a.f = f;
        const int block = A->options.block;
        const cudaStream_t stream = cmgi_stream(A->ctx);
        if (a.C.t_count > 0) {
            templates_kernel<T, KIND><<<cmgi_grid(a.C.t_count * 32, block), block, 0, stream>>>(a);
            CMGI_TRY(CMGI_LAUNCHED(A->ctx));
        }
        if (a.C.p_count > 0) {
            launch_packed<KIND>(a, cmgi_grid(a.C.p_count * 32, block), block, stream);
            CMGI_TRY(CMGI_LAUNCHED(A->ctx));
        }
        return CMG_OK;
    }
};

extern "C" cmg_status cmgi_compressed_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                const void *x)
{
    return cmgi_select<launch_compressed>(A, w, x);
}
