/*
 * Products by patches of elements that are multiples of a few templates; patches.h has the layout.
 *
 * Every patch costs two waits for memory, for node numbers and for x; several blocks a processor
 * hide them. The templates' matrices stay in registers, as the tensor cores take them: loaded once
 * where there is one template, else batch by batch from the first cache.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "elements/matfree.h"
}

enum { THREADS = 128, WARPS = THREADS / 32 };

template <typename T>
struct patch_args {
    cmgi_patches P;
    const T *factor;
    const T *lone;
    T *part;
    const T *x;
};

/* Nodes of a lane in its patch. */
template <int ROUNDS>
struct alignas(2 * ROUNDS) lane_nodes {
    unsigned short at[ROUNDS];
};

template <typename T, int ROUNDS, int B>
struct patch_multiplier {
    static constexpr int D = ROUNDS * B;
    static constexpr int E = (D + 1) / 2; /* eights of rows */
    double k[D * E];

    __device__ __forceinline__ void load(const double *matrix, cmg_size number)
    {
        const double *from = matrix + number * (D * E * 32) + threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < D * E; ++i) {
            k[i] = __ldg(from + i * 32);
        }
    }

    /* sums += factor K x for the elements of a batch. */
    __device__ __forceinline__ void add(const lane_nodes<ROUNDS> &n, double factor, const T *xs,
                                        T *sums) const
    {
        double y[2 * E] = {};
#pragma unroll
        for (int g = 0; g < D; ++g) {
            const int at = n.at[g / B];
            const double a = at != CMGI_PATCH_NONE ? (double)xs[at * B + g % B] : 0.0;
#pragma unroll
            for (int f = 0; f < E; ++f) {
                cmgi_multiply_tile(y[2 * f], y[2 * f + 1], a, k[g * E + f]);
            }
        }
#pragma unroll
        for (int s = 0; s < D; ++s) {
            const int at = n.at[s / B];
            if (at != CMGI_PATCH_NONE) {
                sums[at * B + s % B] += (T)(factor * y[s]);
            }
        }
    }
};

template <typename T, cmgi_wb_kind KIND, int ROUNDS, int B>
__global__ void __launch_bounds__(THREADS, 5)
    patch_kernel(const patch_args<T> a, const typename cmgi_wb_of<T>::type f)
{
    extern __shared__ __align__(16) unsigned char memory[];
    T *xs = (T *)memory;
    T *sums = xs + a.P.most * B;
    const cmg_size p = blockIdx.x;
    const int tid = (int)threadIdx.x;
    const int warp = tid / 32;
    const int lane = tid % 32;
    const int first_node = a.P.first_node[p];
    const int nodes = a.P.first_node[p + 1] - first_node;
    const int first_part = a.P.first_part[p];
    const int own = nodes - (a.P.first_part[p + 1] - first_part);
    const int last_colour = a.P.first_colour[p + 1];
    patch_multiplier<T, ROUNDS, B> K;
    if (a.P.number == NULL) {
        K.load(a.P.matrix, 0);
    }
#pragma unroll 4
    for (int q = tid; q < nodes * B; q += THREADS) {
        const cmg_size n = __ldg(a.P.node + first_node + q / B);
        xs[q] = __ldg(a.x + n * B + q % B);
        sums[q] = 0;
    }
    __syncthreads();
    for (int colour = a.P.first_colour[p]; colour < last_colour; ++colour) {
        const int end = __ldg(a.P.first_batch + colour + 1);
        for (int b = __ldg(a.P.first_batch + colour) + warp; b < end; b += WARPS) {
            const lane_nodes<ROUNDS> n =
                ((const lane_nodes<ROUNDS> *)a.P.local)[(cmg_size)b * 32 + lane];
            const double factor =
                a.factor != NULL ? (double)__ldg(a.factor + (cmg_size)b * 8 + lane / 4) : 1.0;
            if (a.P.number != NULL) {
                K.load(a.P.matrix, __ldg(a.P.number + b));
            }
            K.add(n, factor, xs, sums);
        }
        __syncthreads();
    }
    for (int q = tid; q < own * B; q += THREADS) {
        const cmg_size n = __ldg(a.P.node + first_node + q / B);
        cmgi_put<KIND>(f, n * B + q % B, sums[q]);
    }
    T *part = a.part + (cmg_size)first_part * B;
    for (int q = own * B + tid; q < nodes * B; q += THREADS) {
        part[q - own * B] = sums[q];
    }
}

/* Rows of nodes that several patches have, or none. */
template <typename T, cmgi_wb_kind KIND, int B>
__global__ void __launch_bounds__(256)
    shared_kernel(const patch_args<T> a, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size q = (cmg_size)blockIdx.x * 256 + threadIdx.x;
    const cmg_size k = q / B;
    if (k >= a.P.shared) {
        return;
    }
    const cmg_size i = (cmg_size)__ldg(a.P.shared_node + k) * B + q % B;
    const cmgi_target<T> to = cmgi_aim<KIND, T>(f, NULL, i, true);
    const int begin = __ldg(a.P.shared_first + k);
    const int end = __ldg(a.P.shared_first + k + 1);
    T s = begin == end ? a.lone[i] * a.x[i] : T(0);
    for (int e = begin; e < end; ++e) {
        s += a.part[(cmg_size)__ldg(a.P.shared_part + e) * B + q % B];
    }
    cmgi_hit<KIND>(f, to, s);
}

/* X(rounds, block): what cmgi_patches_rounds says. */
#define CMGI_PATCH_LIST(X) X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 3)

template <typename T, cmgi_wb_kind KIND>
struct launch_patches {
    template <int ROUNDS, int B>
    static cmg_status launch(cmg_context *ctx, const patch_args<T> &a,
                             const typename cmgi_wb_of<T>::type &f)
    {
        const size_t bytes = 2 * (size_t)a.P.most * B * sizeof(T);
        CMGI_TRY(CMGI_RUN(ctx, (unsigned)a.P.count, THREADS, bytes,
                          patch_kernel<T, KIND, ROUNDS, B>, a, f));
        return CMGI_RUN(ctx, cmgi_grid(a.P.shared * B, 256), 256, 0, shared_kernel<T, KIND, B>, a,
                        f);
    }

    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const cmgi_matfree *S = (const cmgi_matfree *)A->data;
        const patch_args<T> a = {*S->patches, (const T *)S->factor, (const T *)S->lone,
                                 (T *)S->part, x};
#define CMGI_PATCH_CASE(ROUNDS, B)                                                                 \
    if (a.P.rounds == ROUNDS && S->block == B) {                                                   \
        return launch<ROUNDS, B>(A->ctx, a, f);                                                    \
    }
        CMGI_PATCH_LIST(CMGI_PATCH_CASE)
#undef CMGI_PATCH_CASE
        return cmgi_fail(A->ctx, CMG_ERR_INTERNAL, "no kernel for patches of %d x %d", a.P.rounds,
                         S->block);
    }
};

extern "C" cmg_status cmgi_patches_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                             const void *x)
{
    return cmgi_select<launch_patches>(A, w, x);
}
