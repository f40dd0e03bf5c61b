/*
 * Products with compressed slices of blocks. A warp takes a slice of 64 block rows, a thread the
 * block rows of lanes l and l + 32, whose values are neighbours; of templates, which the first
 * cache holds, a thread takes one block row. Kernels for blocks of 2 and 3, and for those that are
 * one number.
 */
#include "spmv/compressed.cuh"
#include "spmv/packed_pairs.cuh"

enum { BLOCK = 256 };

template <typename T>
struct two {
    T a;
    T b;
};

/* Two neighbouring values, kept in fewer bits or not. */
template <cmg_values VALUES>
__device__ __forceinline__ two<double> load_two(const double *values, cmg_size at)
{
    const double2 v = __ldcs((const double2 *)values + at);
    return {v.x, v.y};
}
template <cmg_values VALUES>
__device__ __forceinline__ two<float> load_two(const float *values, cmg_size at)
{
    if (VALUES == CMG_VALUES_FULL) {
        const float2 v = __ldcs((const float2 *)values + at);
        return {v.x, v.y};
    }
    two<float> v;
    if (VALUES == CMG_VALUES_FP16) {
        halves(__ldcs((const unsigned int *)values + at), v.a, v.b);
    } else {
        const unsigned int both = __ldcs((const unsigned short *)values + at);
        const unsigned int wide = (both & 0xffU) | (both & 0xff00U) << 8;
        halves((wide & 0x800080U) << 8 | (wide & 0x7f007fU) << 7, v.a, v.b);
    }
    return v;
}

/* Codes of two neighbours. */
__device__ __forceinline__ int2 two_codes(const unsigned char *codes, int bytes, cmg_size at)
{
    if (bytes == 0) {
        return make_int2(0, 0);
    }
    if (bytes == 1) {
        const uchar2 c = __ldcs((const uchar2 *)codes + at);
        return make_int2(c.x, c.y);
    }
    if (bytes == 2) {
        const ushort2 c = __ldcs((const ushort2 *)codes + at);
        return make_int2(c.x, c.y);
    }
    return __ldcs((const int2 *)codes + at);
}

/* Sums of a slice's rows go to the slots of as many slices of rows; the first gets all. */
template <typename T, cmgi_wb_kind KIND, int B>
__device__ __forceinline__ void put_block_dot(const compressed_args<T> &a, cmg_size slice,
                                              double dot)
{
    if (cmgi_leaves_dots<T, KIND>(a.f)) {
        const int lane = threadIdx.x % 32;
        dot = cmgi_warp_sum(dot);
        if (lane < B && (slice * B + lane) * CMGI_SLICE < a.C.rows * B) {
            a.f.dots[slice * B + lane] = lane == 0 ? dot : 0;
        }
    }
}

template <typename T, cmgi_wb_kind KIND, int B>
__device__ __forceinline__ double put_block(const compressed_args<T> &a, cmg_size r,
                                            const T (&sum)[B])
{
    double dot = 0;
#pragma unroll
    for (int i = 0; i < B; ++i) {
        cmgi_put<KIND>(a.f, r * B + i, sum[i]);
        if (cmgi_leaves_dots<T, KIND>(a.f)) {
            dot += (double)sum[i] * (double)__ldg(a.x + r * B + i);
        }
    }
    return dot;
}

template <typename T, cmgi_wb_kind KIND, int B, bool NUMBERS, cmg_values VALUES>
__global__ void __launch_bounds__(BLOCK) packed_blocks_kernel(const compressed_args<T> a)
{
    enum { EACH = NUMBERS ? 1 : B * B };
    const cmg_size p = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (p >= a.C.p.count) { /* the same for the whole warp */
        return;
    }
    const packed_lane<T> rows(a, p, lane, B);
    const unsigned char *codes = a.C.p.codes + a.C.p.code[p];
    const int bytes = a.C.p.bytes[p];
    T s0[B] = {};
    T s1[B] = {};
#pragma unroll 2
    for (int k = 0; k < rows.width; ++k) {
        const int base = __ldg(a.C.p.base + rows.step + k);
        const int2 c = two_codes(codes, bytes, (cmg_size)k * 32 + lane);
        const T *at0 = rows.x0 + (cmg_size)(base + c.x) * B;
        const T *at1 = rows.x1 + (cmg_size)(base + c.y) * B;
        two<T> v[EACH];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            v[e] = load_two<VALUES>((const T *)a.values, ((rows.step + k) * EACH + e) * 32 + lane);
        }
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const T y0 = __ldg(at0 + j);
            const T y1 = __ldg(at1 + j);
#pragma unroll
            for (int i = NUMBERS ? j : 0; i < (NUMBERS ? j + 1 : B); ++i) {
                s0[i] += v[NUMBERS ? 0 : i * B + j].a * y0;
                s1[i] += v[NUMBERS ? 0 : i * B + j].b * y1;
            }
        }
    }
    if (VALUES != CMG_VALUES_FULL) {
        const T scale = (T)a.C.p.scale[p];
#pragma unroll
        for (int i = 0; i < B; ++i) {
            s0[i] *= scale;
            s1[i] *= scale;
            if (a.C.diagonal != NULL) {
                s0[i] += (T)a.C.diagonal[NUMBERS ? rows.r0 : rows.r0 * B + i] * __ldg(rows.x0 + i);
                s1[i] += (T)a.C.diagonal[NUMBERS ? rows.r1 : rows.r1 * B + i] * __ldg(rows.x1 + i);
            }
        }
    }
    double dot = rows.i0 < a.C.rows ? put_block<T, KIND, B>(a, rows.i0, s0) : 0;
    dot += rows.i1 < a.C.rows ? put_block<T, KIND, B>(a, rows.i1, s1) : 0;
    put_block_dot<T, KIND, B>(a, rows.slice, dot);
}

/* A warp takes 32 block rows after 32 others, so that dots of a slice come from one. */
template <typename T, cmgi_wb_kind KIND, int B, bool NUMBERS>
__global__ void __launch_bounds__(BLOCK) template_blocks_kernel(const compressed_args<T> a)
{
    enum { EACH = NUMBERS ? 1 : B * B };
    const cmg_size t = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) / 32;
    if (t >= a.C.t.count) { /* the same for the whole warp */
        return;
    }
    const cmg_size slice = a.C.t.slice != NULL ? a.C.t.slice[t] : t;
    double dot = 0;
    for (int half = 0; half < 2; ++half) {
        const cmg_size r = slice * CMGI_SLICE + half * 32 + threadIdx.x % 32;
        if (r >= a.C.rows) {
            break;
        }
        const int id = a.C.t.id[r];
        const int end = __ldg(a.C.t.begin + id + 1);
        const T *x = a.x + (a.C.ref != NULL ? a.C.ref[r] : r) * B;
        T sum[B] = {};
#pragma unroll 2
        for (int e = __ldg(a.C.t.begin + id); e < end; ++e) {
            const T *v = (const T *)a.C.t.value + (cmg_size)e * EACH;
            const T *at = x + (cmg_size)__ldg(a.C.t.offset + e) * B;
#pragma unroll
            for (int j = 0; j < B; ++j) {
                const T y = __ldg(at + j);
#pragma unroll
                for (int i = NUMBERS ? j : 0; i < (NUMBERS ? j + 1 : B); ++i) {
                    sum[i] += __ldg(v + (NUMBERS ? 0 : i * B + j)) * y;
                }
            }
        }
        dot += put_block<T, KIND, B>(a, r, sum);
    }
    put_block_dot<T, KIND, B>(a, slice, dot);
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int B, bool NUMBERS>
static cmg_status launch(cmg_context *ctx, const compressed_args<T> &a)
{
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(a.C.t.count * 32, BLOCK), BLOCK, 0,
                      template_blocks_kernel<T, KIND, B, NUMBERS>, a));
    return CMGI_RUN(ctx, cmgi_grid(a.C.p.count * 32, BLOCK), BLOCK, 0,
                    packed_blocks_kernel<T, KIND, B, NUMBERS, VALUES>, a);
}

extern "C" cmg_status cmgi_compressed_blocks_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                  const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    return cmgi_select_values(A, C->p.kind, w, [&](auto zero, auto kind, auto kept) {
        using T = decltype(zero);
        const auto way =
            C->block == 3
                ? (C->identity ? launch<T, kind, kept, 3, true> : launch<T, kind, kept, 3, false>)
                : (C->identity ? launch<T, kind, kept, 2, true> : launch<T, kind, kept, 2, false>);
        return way(A->ctx, arguments(A, cmgi_wb_of<T>::cast(w), (const T *)x));
    });
}
