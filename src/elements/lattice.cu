/*
 * Products by the cells of a lattice; lattice.h has the layout and the mathematics.
 *
 * A block walks up a column of cells, a thread a cell. Of a layer of nodes x comes into shared
 * memory once, while the layer below is being multiplied; what the cells below have for its rows
 * stays in registers until those above are added. The four cells around a node meet in shared
 * memory. Cells at the sides are multiplied by both blocks that touch them, so that no row has
 * parts and every sum has one order.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "elements/matfree.h"
}

enum { THREADS = CMGI_LATTICE_THREADS };

template <typename T, int B>
struct lattice_args {
    cmg_index nx;
    cmg_index ny;
    cmg_index nz;
    int tx;
    int ty;
    int across; /* tiles along x */
    int layers; /* of nodes, a block */
    const uint8_t *fixed;
    const T *factor;
    const T *lone;
    const T *x;
    T blocks[8 * B * B];
};

/* Values of a layer: those that a thread brings from memory, and where they lie. */
template <typename T, int B>
struct lattice_layer {
    static constexpr int SLOTS = B == 3 ? 4 : 2;
    static constexpr int BLOCKS = B == 3 && sizeof(T) == 8 ? 2 : 3; /* a processor */
    int from[SLOTS]; /* in a layer of x; -1 = outside */
    T value[SLOTS];

    __device__ __forceinline__ void begin(const lattice_args<T, B> &a, int x0, int y0)
    {
        const int wide = (a.tx + 1) * B;
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            const int q = (int)threadIdx.x + s * THREADS;
            const int j = y0 - 1 + q / wide;
            const int i = x0 - 1 + q % wide / B;
            const bool inside = q / wide <= a.ty && i >= 0 && i < a.nx && j >= 0 && j < a.ny;
            from[s] = inside ? (j * a.nx + i) * B + q % B : -1;
        }
    }

    __device__ __forceinline__ void fetch(const lattice_args<T, B> &a, int k)
    {
        const bool inside = k >= 0 && k < a.nz;
        const cmg_size first = (cmg_size)k * a.ny * a.nx;
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            value[s] = 0;
            if (inside && from[s] >= 0 && (a.fixed == NULL || a.fixed[first + from[s] / B] == 0)) {
                value[s] = __ldg(a.x + first * B + from[s]);
            }
        }
    }

    __device__ __forceinline__ void put(T *xs) const
    {
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            xs[threadIdx.x + s * THREADS] = value[s];
        }
    }
};

/* Rows of a layer that a thread ends: those at q = thread + s THREADS of the block's own. */
template <typename T, int B>
struct lattice_rows {
    int to[B]; /* in a layer of y; -1 = none */
    int at[B]; /* in ys, of the cell before the node along x and y */

    __device__ __forceinline__ void begin(const lattice_args<T, B> &a, int x0, int y0)
    {
        const int narrow = (a.tx - 1) * B;
#pragma unroll
        for (int s = 0; s < B; ++s) {
            const int q = (int)threadIdx.x + s * THREADS;
            const int i = x0 + q % narrow / B;
            const int j = y0 + q / narrow;
            const bool own = q / narrow < a.ty - 1 && i < a.nx && j < a.ny;
            to[s] = own ? (j * a.nx + i) * B + q % B : -1;
            at[s] = own ? q / narrow * a.tx * B + q % narrow : 0;
        }
    }
};

/* H of the four nodes of a layer: v[c][bits of p along x and y]. */
template <typename T, int B>
__device__ __forceinline__ void transform(const T *xs, int wide, T (&v)[B][4])
{
#pragma unroll
    for (int c = 0; c < B; ++c) {
        const T near = xs[c] + xs[c + B];
        const T near_x = xs[c] - xs[c + B];
        const T far = xs[c + wide] + xs[c + wide + B];
        const T far_x = xs[c + wide] - xs[c + wide + B];
        v[c][0] = near + far;
        v[c][1] = near_x + far_x;
        v[c][2] = near - far;
        v[c][3] = near_x - far_x;
    }
}

/* sum += what the cell has for its lower nodes; `sum` becomes, times -1 to the z, that of its upper
 * ones in `above`. All transformed within the layer. */
template <typename T, int B>
__device__ __forceinline__ void multiply(const lattice_args<T, B> &a, T factor,
                                         const T (&low)[B][4], const T (&high)[B][4],
                                         T (&sum)[B][4], T (&above)[B][4])
{
    constexpr bool turn = B == 3;
#pragma unroll
    for (int l = 0; l < 4; ++l) {
        T even[B]; /* bit z of p is 0 */
        T odd[B];
        T out[2][B];
#pragma unroll
        for (int c = 0; c < B; ++c) {
            const int p = turn ? (l ^ 1 << c) & 3 : l;
            even[c] = low[c][p] + high[c][p];
            odd[c] = low[c][p] - high[c][p];
        }
#pragma unroll
        for (int z = 0; z < 2; ++z) { /* component 2 has the other bit */
#pragma unroll
            for (int c = 0; c < B; ++c) {
                T s = 0;
#pragma unroll
                for (int d = 0; d < B; ++d) {
                    const bool second = (z == 1) != (d == 2);
                    s += a.blocks[((l + 4 * z) * B + c) * B + d] * (second ? odd[d] : even[d]);
                }
                out[z][c] = s;
            }
        }
#pragma unroll
        for (int c = 0; c < B; ++c) {
            const int p = turn ? (l ^ 1 << c) & 3 : l;
            const T y_even = out[c == 2][c];
            const T y_odd = out[c != 2][c];
            sum[c][p] += factor * (y_even + y_odd);
            above[c][p] = factor * (y_even - y_odd);
        }
    }
}

/* H again: shares of the four nodes into ys, corner by corner. */
template <typename T, int B>
__device__ __forceinline__ void leave(const T (&v)[B][4], T *ys)
{
#pragma unroll
    for (int c = 0; c < B; ++c) {
        T *y = ys + threadIdx.x * B + c;
        const T near = v[c][0] + v[c][2];
        const T near_x = v[c][1] + v[c][3];
        const T far = v[c][0] - v[c][2];
        const T far_x = v[c][1] - v[c][3];
        y[0] = near + near_x;
        y[THREADS * B] = near - near_x;
        y[2 * THREADS * B] = far + far_x;
        y[3 * THREADS * B] = far - far_x;
    }
}

/* The sum of the block's threads, in a fixed order, to its place. */
__device__ __forceinline__ void leave_dot(double sum, double *dots)
{
    __shared__ double of_warp[THREADS / 32];
    const double mine = cmgi_group_sum<double>(sum, 32, 32);
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;
        for (int w = 0; w < THREADS / 32; ++w) {
            total += of_warp[w];
        }
        dots[blockIdx.y * gridDim.x + blockIdx.x] = total;
    }
}

template <typename T, cmgi_wb_kind KIND, int B>
__global__ void __launch_bounds__(THREADS, lattice_layer<T, B>::BLOCKS)
    lattice_kernel(const lattice_args<T, B> a, const typename cmgi_wb_of<T>::type f)
{
    __shared__ T xs[lattice_layer<T, B>::SLOTS * THREADS];
    __shared__ T ys[4 * THREADS * B];
    const int tid = (int)threadIdx.x;
    const int x0 = (int)blockIdx.x % a.across * (a.tx - 1); /* first node of the block's own */
    const int y0 = (int)blockIdx.x / a.across * (a.ty - 1);
    const int begin = (int)blockIdx.y * a.layers;
    const int end = min(begin + a.layers, (int)a.nz);
    const int wide = (a.tx + 1) * B;
    const bool works = tid < a.tx * a.ty;
    const bool exists = works && x0 + tid % a.tx <= a.nx && y0 + tid / a.tx <= a.ny;
    const T *corner = xs + (works ? (tid / a.tx * (a.tx + 1) + tid % a.tx) * B : 0);
    const cmg_size step = (cmg_size)(a.nx + 1) * (a.ny + 1);
    const bool dots = cmgi_leaves_dots<T, KIND>(f);
    double dot = 0;
    const T *factor =
        a.factor + begin * step + (cmg_size)(y0 + tid / a.tx) * (a.nx + 1) + x0 + tid % a.tx;
    T low[B][4];
    T sum[B][4] = {};
    lattice_layer<T, B> layer;
    lattice_rows<T, B> rows;
    layer.begin(a, x0, y0);
    rows.begin(a, x0, y0);
    layer.fetch(a, begin - 1);
    layer.put(xs);
    __syncthreads();
    transform<T, B>(corner, wide, low);
    layer.fetch(a, begin);
    T next = exists ? __ldg(factor) : T(0);
    __syncthreads();
    for (int k = begin - 1; k < end; ++k) { /* cells between the nodes of layers k and k + 1 */
        T high[B][4];
        T above[B][4];
        cmgi_target<T> to[B];
        const T mine = next;
        layer.put(xs);
        __syncthreads();
        layer.fetch(a, k + 2); /* for the next round, as its factors */
        factor += step;
        next = exists && k + 1 < end ? __ldg(factor) : T(0);
        transform<T, B>(corner, wide, high);
        multiply<T, B>(a, mine, low, high, sum, above);
        leave<T, B>(sum, ys);
#pragma unroll
        for (int c = 0; c < B; ++c) {
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                low[c][p] = high[c][p];
                sum[c][p] = above[c][p];
            }
        }
#pragma unroll
        for (int s = 0; s < B; ++s) {
            to[s] = cmgi_aim<KIND, T>(f, NULL, (cmg_size)k * a.ny * a.nx * B + rows.to[s],
                                      k >= begin && rows.to[s] >= 0);
            to[s].c = dots && to[s].mine ? a.x[to[s].i] : to[s].c;
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < B; ++s) {
            const T *y = ys + rows.at[s];
            T total = y[3 * THREADS * B] + y[2 * THREADS * B + B] + y[THREADS * B + a.tx * B] +
                      y[(a.tx + 1) * B];
            if (to[s].mine && a.fixed != NULL && a.fixed[to[s].i / B] != 0) {
                total = a.lone[to[s].i] * a.x[to[s].i];
            }
            cmgi_hit<KIND>(f, to[s], total);
            dot += dots && to[s].mine ? (double)total * to[s].c : 0;
        }
    }
    if (dots) {
        leave_dot(dot, f.dots);
    }
}

/* Layers a block: rounds of blocks times what one takes, two layers of which it gives nothing for.
 */
static int choose_layers(cmg_size tiles, cmg_index nz, cmg_size at_once)
{
    int best = (int)nz;
    cmg_size least = INT64_MAX;
    for (int chunks = 1; chunks <= nz; ++chunks) {
        const int layers = (int)((nz + chunks - 1) / chunks);
        const cmg_size rounds = (tiles * ((nz + layers - 1) / layers) + at_once - 1) / at_once;
        if (rounds * (layers + 2) < least) {
            least = rounds * (layers + 2);
            best = layers;
        }
    }
    return best;
}

template <typename T, cmgi_wb_kind KIND>
struct launch_lattice {
    template <int B>
    static cmg_status launch(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const cmgi_matfree *S = (const cmgi_matfree *)A->data;
        const cmgi_lattice *L = S->lattice;
        const int across = (L->n[0] + L->tile[0] - 2) / (L->tile[0] - 1);
        const int along = (L->n[1] + L->tile[1] - 2) / (L->tile[1] - 1);
        const cmg_size blocks = lattice_layer<T, B>::BLOCKS;
        const int layers = choose_layers((cmg_size)across * along, L->n[2],
                                         blocks * cmgi_device_of(A->ctx)->processors);
        lattice_args<T, B> a = {
            L->n[0], L->n[1], L->n[2],  L->tile[0],           L->tile[1],
            across,  layers,  L->fixed, (const T *)S->factor, (const T *)S->lone,
            x,       {}};
        for (int k = 0; k < 8 * B * B; ++k) {
            a.blocks[k] = (T)L->blocks[k];
        }
        const dim3 grid((unsigned)(across * along), (unsigned)((L->n[2] + layers - 1) / layers));
        return CMGI_RUN(A->ctx, grid, THREADS, 0, lattice_kernel<T, KIND, B>, a, f);
    }

    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        return ((const cmgi_matfree *)A->data)->block == 3 ? launch<3>(A, f, x)
                                                           : launch<1>(A, f, x);
    }
};

extern "C" cmg_status cmgi_lattice_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                             const void *x)
{
    return cmgi_select<launch_lattice>(A, w, x);
}
