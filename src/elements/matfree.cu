/*
 * Products by elements on CUDA; matfree.h has the layout.
 *
 *   group    EBE: a block takes a group, a thread an element. Its unknowns stay in registers where
 *            their number is one of the list, else in shared memory; y_e goes there, and threads
 *            add it up to parts
 *
 *   end      adds the parts of a row and ends it
 *
 *   node     NBN, DBD: a thread a node or a row
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "elements/matfree.h"
}

template <typename T>
struct matfree_args {
    cmgi_matfree S;
    const T *values;
    const T *x;
    cmg_size rows;
};

/* ys[i lanes + lane] = row i of K_e x_e, x in registers, of matrices that do not repeat. */
template <typename T, int N, bool HALF>
__device__ __forceinline__ void multiply(const matfree_args<T> &a, const T *x, T *ys)
{
    const int lanes = (int)blockDim.x;
    const int lane = (int)threadIdx.x;
    if (!HALF) {
        const T *K = a.values + (cmg_size)blockIdx.x * lanes * (N * N) + lane;
        constexpr int W = N > 12 ? N / 2 : N;
        T next[W]; /* loaded ahead: few blocks a processor have to fill the memory's queues */
#pragma unroll
        for (int j = 0; j < W; ++j) {
            next[j] = cmgi_load_once(K + j * lanes);
        }
#pragma unroll 1
        for (int i = 0; i < N; ++i) {
            T s = 0;
#pragma unroll
            for (int first = 0; first < N; first += W) {
                T row[W];
                K += W * lanes;
#pragma unroll
                for (int j = 0; j < W; ++j) {
                    row[j] = next[j];
                    next[j] = i + 1 < N || first + W < N ? cmgi_load_once(K + j * lanes) : T(0);
                }
#pragma unroll
                for (int j = 0; j < W; ++j) {
                    s += row[j] * x[first + j];
                }
            }
            ys[i * lanes + lane] = s;
        }
    } else {
        const T *K = a.values + (cmg_size)blockIdx.x * lanes * (N * (N + 1) / 2) + lane;
        T y[N] = {};
#pragma unroll
        for (int i = 0; i < N; ++i) {
#pragma unroll
            for (int j = i; j < N; ++j) {
                const T k = cmgi_load_once(K);
                K += lanes;
                y[i] += k * x[j];
                if (j > i) {
                    y[j] += k * x[i];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            ys[i * lanes + lane] = y[i];
        }
    }
}

/* The same for any number of unknowns, x in shared memory. */
template <typename T>
__device__ void multiply_any(const matfree_args<T> &a, const T *xs, T *ys)
{
    const int lanes = (int)blockDim.x;
    const int lane = (int)threadIdx.x;
    const int n = a.S.local;
    const cmg_size at = (cmg_size)blockIdx.x * lanes + lane;
    const cmg_size size = cmgi_matfree_size(&a.S);
    const T factor = a.S.factor != NULL ? ((const T *)a.S.factor)[at] : T(1);
    const cmg_size t = a.S.number != NULL ? a.S.number[at] : 0;
    const T *K =
        a.S.repeats ? a.values + t * n * n : a.values + (cmg_size)blockIdx.x * lanes * size + lane;
    const int step = a.S.repeats ? 1 : lanes;
    for (int i = 0; i < n; ++i) {
        ys[i * lanes + lane] = 0;
    }
    for (int i = 0; i < n; ++i) {
        T s = ys[i * lanes + lane];
        for (int j = a.S.half ? i : 0; j < n; ++j, K += step) {
            s += *K * xs[j * lanes + lane];
            if (a.S.half && j > i) {
                ys[j * lanes + lane] += *K * xs[i * lanes + lane];
            }
        }
        ys[i * lanes + lane] = s;
    }
    for (int i = 0; a.S.factor != NULL && i < n; ++i) {
        ys[i * lanes + lane] *= factor;
    }
}

/*
 * Where the parts of the group come from, in shared memory: loaded while the elements are
 * multiplied, for one load would wait for the other behind them.
 */
struct group_picks {
    unsigned short *at;  /* places x nodes */
    unsigned short *end; /* parts: behind the last pick */
};

template <typename T>
__device__ __forceinline__ void load_picks(const matfree_args<T> &a, const group_picks &picks)
{
    const cmg_index first = a.S.part_first[blockIdx.x];
    const int parts = a.S.part_first[blockIdx.x + 1] - first;
    const cmg_index begin = a.S.pick_first[first];
    const int count = a.S.pick_first[first + parts] - begin;
    for (int k = (int)threadIdx.x; k < parts; k += (int)blockDim.x) {
        picks.end[k] = (unsigned short)(__ldg(a.S.pick_first + first + k + 1) - begin);
    }
    for (int k = (int)threadIdx.x; k < count; k += (int)blockDim.x) {
        picks.at[k] = cmgi_load_once(a.S.pick + begin + k);
    }
}

/* Parts of the group from y_e in shared memory, node by node. */
template <typename T, int B>
__device__ __forceinline__ void add_parts(const matfree_args<T> &a, const group_picks &picks,
                                          const T *ys)
{
    const int lanes = (int)blockDim.x; /* a power of two */
    const int shift = 31 - __clz(lanes);
    const cmg_index first = a.S.part_first[blockIdx.x];
    const int parts = a.S.part_first[blockIdx.x + 1] - first;
    T *part = (T *)a.S.part + (cmg_size)first * B;
    for (int p = (int)threadIdx.x; p < parts; p += lanes) {
        const int end = picks.end[p];
        T s[B] = {};
        for (int k = p > 0 ? picks.end[p - 1] : 0; k < end; ++k) {
            const int at = picks.at[k];
            const T *y = ys + (((at >> shift) * B) << shift) + (at & (lanes - 1));
#pragma unroll
            for (int c = 0; c < B; ++c) {
                s[c] += y[c << shift];
            }
        }
#pragma unroll
        for (int c = 0; c < B; ++c) {
            part[p * B + c] = s[c];
        }
    }
}

/* The same for any number of unknowns, without picks at hand. */
template <typename T>
__device__ void add_parts_any(const matfree_args<T> &a, const T *ys)
{
    const int lanes = (int)blockDim.x;
    const int block = a.S.block;
    const cmg_index first = a.S.part_first[blockIdx.x];
    const int sums = (a.S.part_first[blockIdx.x + 1] - first) * block;
    T *part = (T *)a.S.part + (cmg_size)first * block;
    for (int q = (int)threadIdx.x; q < sums; q += lanes) {
        const cmg_index p = first + q / block;
        const int c = q % block;
        const cmg_index end = a.S.pick_first[p + 1];
        T s = 0;
        for (cmg_index k = a.S.pick_first[p]; k < end; ++k) {
            const int at = a.S.pick[k];
            s += ys[((at / lanes) * block + c) * lanes + at % lanes];
        }
        part[q] = s;
    }
}

template <typename T, int N, int B, bool HALF>
__global__ void __launch_bounds__(128) group_kernel(const matfree_args<T> a)
{
    extern __shared__ __align__(16) unsigned char memory[];
    T *ys = (T *)memory;
    const int lanes = (int)blockDim.x;
    const group_picks picks = {(unsigned short *)(ys + N * lanes),
                               (unsigned short *)(ys + N * lanes) + N / B * lanes};
    const cmg_index *node = a.S.node + (cmg_size)blockIdx.x * (N / B) * lanes + threadIdx.x;
    cmg_index n[N / B];
    T x[N];
#pragma unroll
    for (int k = 0; k < N / B; ++k) {
        n[k] = cmgi_load_once(node + k * lanes);
    }
#pragma unroll
    for (int k = 0; k < N / B; ++k) {
#pragma unroll
        for (int c = 0; c < B; ++c) {
            x[k * B + c] = n[k] >= 0 ? __ldg(a.x + (cmg_size)n[k] * B + c) : T(0);
        }
    }
    load_picks(a, picks);
    multiply<T, N, HALF>(a, x, ys);
    __syncthreads();
    add_parts<T, B>(a, picks, ys);
}

template <typename T>
__global__ void __launch_bounds__(128) group_any_kernel(const matfree_args<T> a)
{
    extern __shared__ __align__(16) unsigned char memory[];
    const int lanes = (int)blockDim.x;
    const int block = a.S.block;
    T *xs = (T *)memory;
    T *ys = xs + a.S.local * lanes;
    const cmg_index *node = a.S.node + (cmg_size)blockIdx.x * a.S.nodes * lanes + threadIdx.x;
    for (int k = 0; k < a.S.nodes; ++k) {
        const cmg_size n = node[k * lanes];
        for (int c = 0; c < block; ++c) {
            xs[(k * block + c) * lanes + threadIdx.x] = n >= 0 ? __ldg(a.x + n * block + c) : T(0);
        }
    }
    multiply_any(a, xs, ys);
    __syncthreads();
    add_parts_any(a, ys);
}

template <typename T, cmgi_wb_kind KIND, int B>
__global__ void __launch_bounds__(256)
    end_kernel(const matfree_args<T> a, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size i = (cmg_size)blockIdx.x * 256 + threadIdx.x;
    const cmgi_target<T> to = cmgi_aim<KIND, T>(f, NULL, i, i < a.rows);
    if (i >= a.rows) {
        return;
    }
    const cmg_size n = i / B;
    const cmg_index begin = a.S.first[n];
    const cmg_index end = a.S.first[n + 1];
    const T *part = (const T *)a.S.part + i % B;
    T s = begin == end ? ((const T *)a.S.lone)[i] * a.x[i] : T(0);
    for (cmg_index k = begin; k < end; ++k) {
        s += part[(cmg_size)__ldg(a.S.list + k) * B];
    }
    cmgi_hit<KIND>(f, to, s);
}

/* Components low .. low + C - 1 of a node: all of them, or one. */
template <typename T, cmgi_wb_kind KIND, int B, int C>
__global__ void __launch_bounds__(128)
    node_kernel(const matfree_args<T> a, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size q = (cmg_size)blockIdx.x * 128 + threadIdx.x;
    const cmg_size n = q / (B / C);
    const int low = (int)(q % (B / C));
    if (n >= a.S.all) {
        return;
    }
    const int lanes = a.S.lanes;
    const int local = a.S.local;
    const int step = a.S.repeats ? 1 : lanes;
    T sum[C] = {};
    for (cmg_index k = a.S.first[n]; k < a.S.first[n + 1]; ++k) {
        const cmg_index place = a.S.list[k];
        const cmg_size at = place / a.S.nodes;
        const cmg_size g = at / lanes;
        const int row = (place % a.S.nodes) * B + low;
        const cmg_index *node = a.S.node + g * a.S.nodes * lanes + at % lanes;
        const cmg_size t = a.S.number != NULL ? a.S.number[at] : 0;
        const T factor = a.S.factor != NULL ? ((const T *)a.S.factor)[at] : T(1);
        const T *K = a.S.repeats ? a.values + t * local * local
                                 : a.values + g * local * local * lanes + at % lanes;
        K += (cmg_size)row * local * step;
        T own[C] = {};
        for (int b = 0; b < a.S.nodes; ++b) {
            const cmg_size m = node[b * lanes];
#pragma unroll
            for (int d = 0; d < B; ++d) {
                const T xd = m >= 0 ? __ldg(a.x + m * B + d) : T(0);
#pragma unroll
                for (int c = 0; c < C; ++c) {
                    own[c] += K[(cmg_size)(c * local + b * B + d) * step] * xd;
                }
            }
        }
#pragma unroll
        for (int c = 0; c < C; ++c) {
            sum[c] += factor * own[c];
        }
    }
#pragma unroll
    for (int c = 0; c < C; ++c) {
        const cmg_size i = n * B + low + c;
        const bool lone = a.S.first[n] == a.S.first[n + 1];
        cmgi_put<KIND>(f, i, lone ? ((const T *)a.S.lone)[i] * a.x[i] : sum[c]);
    }
}

/* X(local, block): element matrices of their own whose vectors stay in registers; those that repeat
 * are in patches, but for elements of more than 64 at a node. */
#define CMGI_ELEMENT_LIST(X) X(3, 1) X(4, 1) X(8, 1) X(6, 2) X(8, 2) X(12, 3) X(24, 3)

template <typename T>
static cmg_status run_groups(cmg_context *ctx, const matfree_args<T> &a)
{
    const unsigned grid = (unsigned)a.S.groups;
    const unsigned lanes = (unsigned)a.S.lanes;
    const size_t values = (size_t)a.S.local * lanes * sizeof(T);
    const size_t bytes = values + 2 * (size_t)a.S.nodes * lanes * sizeof(unsigned short);
#define CMGI_ELEMENT_CASE(N, B)                                                                    \
    if (a.S.local == N && a.S.block == B && !a.S.repeats) {                                        \
        return CMGI_RUN(ctx, grid, lanes, bytes,                                                   \
                        a.S.half ? group_kernel<T, N, B, true> : group_kernel<T, N, B, false>, a); \
    }
    CMGI_ELEMENT_LIST(CMGI_ELEMENT_CASE)
#undef CMGI_ELEMENT_CASE
    return CMGI_RUN(ctx, grid, lanes, 2 * values, group_any_kernel<T>, a);
}

template <typename T, cmgi_wb_kind KIND>
struct launch_matfree {
    template <int B>
    static cmg_status blocks(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f,
                             const matfree_args<T> &a)
    {
        if (a.S.gathers && A->format->id == CMG_FORMAT_NBN) {
            return CMGI_RUN(A->ctx, cmgi_grid(a.S.all, 128), 128, 0, node_kernel<T, KIND, B, B>, a,
                            f);
        }
        if (a.S.gathers) {
            return CMGI_RUN(A->ctx, cmgi_grid(a.rows, 128), 128, 0, node_kernel<T, KIND, B, 1>, a,
                            f);
        }
        CMGI_TRY(run_groups(A->ctx, a));
        return CMGI_RUN(A->ctx, cmgi_grid(a.rows, 256), 256, 0, end_kernel<T, KIND, B>, a, f);
    }

    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const matfree_args<T> a = {*(const cmgi_matfree *)A->data, (const T *)A->values, x,
                                   A->rows};
        return a.S.block == 3   ? blocks<3>(A, f, a)
               : a.S.block == 2 ? blocks<2>(A, f, a)
                                : blocks<1>(A, f, a);
    }
};

extern "C" cmg_status cmgi_matfree_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                             const void *x)
{
    const cmgi_matfree *S = (const cmgi_matfree *)A->data;
    return S->lattice != NULL   ? cmgi_lattice_spmv_cuda(A, w, x)
           : S->patches != NULL ? cmgi_patches_spmv_cuda(A, w, x)
                                : cmgi_select<launch_matfree>(A, w, x);
}
