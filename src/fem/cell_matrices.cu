/*
 * Cell matrices on a GPU. A simplex has one point and small matrices: a thread takes it. A
 * quadrilateral or hexahedron takes a warp: its lanes first compute the gradients at a point each,
 * then a pair of nodes each, over all points.
 */
#include "core/cuda.cuh"

extern "C" {
#include "fem/cell_matrices.h"
}

enum { BLOCK = 128, WARPS = BLOCK / 32 };

template <int DIM, bool ELASTIC>
__global__ void __launch_bounds__(BLOCK) simplex_kernel(cmgi_cell_batch c)
{
    const cmg_size cell = (cmg_size)blockIdx.x * BLOCK + threadIdx.x;
    if (cell >= c.cells) {
        return;
    }
    const double *k = c.k == NULL ? NULL : c.k + cell * c.k_points;
    cmgi_cell_basis basis;
    basis.weight[0] =
        cmgi_point_weight(true, DIM) *
        cmgi_cell_point(true, DIM, c.x, c.nodes + cell * (DIM + 1), 0, basis.gradient[0]);
#pragma unroll
    for (int a = 0; a < DIM + 1; ++a) {
#pragma unroll
        for (int b = a; b < DIM + 1; ++b) {
            int ab[2] = {a, b};
            double block[ELASTIC ? DIM * DIM : 1] = {0};
            cmgi_add_point(&c, ELASTIC, DIM, &basis, 0, k, ab, block);
            cmgi_store_block(&c, ELASTIC ? DIM : 1, ab, block, c.e + cell * c.entries);
        }
    }
}

/* Pair number p of nodes a <= b, row by row. */
template <int LOCAL>
__device__ __forceinline__ void pair_of(int p, int ab[2])
{
    ab[0] = 0;
    while (p >= LOCAL - ab[0]) {
        p -= LOCAL - ab[0];
        ++ab[0];
    }
    ab[1] = ab[0] + p;
}

template <int DIM, bool ELASTIC>
__global__ void __launch_bounds__(BLOCK) tensor_kernel(cmgi_cell_batch c)
{
    constexpr int LOCAL = 1 << DIM;
    __shared__ cmgi_cell_basis all[WARPS];
    const int lane = threadIdx.x % 32;
    const cmg_size cell = (cmg_size)blockIdx.x * WARPS + threadIdx.x / 32;
    cmgi_cell_basis &basis = all[threadIdx.x / 32];
    if (cell >= c.cells) {
        return; /* a whole warp */
    }
    const double *k = c.k == NULL ? NULL : c.k + cell * c.k_points;
    if (lane < LOCAL) {
        basis.weight[lane] =
            cmgi_point_weight(false, DIM) *
            cmgi_cell_point(false, DIM, c.x, c.nodes + cell * LOCAL, lane, basis.gradient[lane]);
    }
    __syncwarp();
    for (int p = lane; p < LOCAL * (LOCAL + 1) / 2; p += 32) {
        int ab[2];
        double block[ELASTIC ? DIM * DIM : 1] = {0};
        pair_of<LOCAL>(p, ab);
        for (int q = 0; q < LOCAL; ++q) {
            cmgi_add_point(&c, ELASTIC, DIM, &basis, q, k, ab, block);
        }
        cmgi_store_block(&c, ELASTIC ? DIM : 1, ab, block, c.e + cell * c.entries);
    }
}

template <int DIM, bool ELASTIC>
static void launch(cudaStream_t stream, const cmgi_cell_batch *c)
{
    if (c->simplex) {
        simplex_kernel<DIM, ELASTIC><<<cmgi_grid(c->cells, BLOCK), BLOCK, 0, stream>>>(*c);
    } else {
        tensor_kernel<DIM, ELASTIC><<<cmgi_grid(c->cells, WARPS), BLOCK, 0, stream>>>(*c);
    }
}

cmg_status cmgi_cell_matrices_cuda(cmg_context *ctx, const cmgi_cell_batch *c)
{
    if (c->cells == 0) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    cudaStream_t stream = cmgi_stream(ctx);
    if (c->dim == 2) {
        c->components > 1 ? launch<2, true>(stream, c) : launch<2, false>(stream, c);
    } else {
        c->components > 1 ? launch<3, true>(stream, c) : launch<3, false>(stream, c);
    }
    return CMGI_LAUNCHED(ctx);
}
