/*
 * Cell matrices on a GPU. A thread takes a cell and keeps the upper triangle of its matrix in
 * registers, for hexahedra with three unknowns a node it would be 300 numbers: there eight threads
 * share a cell, first a quadrature point each, then a node each. Matrices go through shared memory
 * to where they belong: neighbouring threads write neighbouring numbers.
 */
#include "core/cuda.cuh"

extern "C" {
#include "fem/cell_matrices.h"
}

enum { BLOCK = 64, NODES = 8, GROUPS = BLOCK / NODES };

/* Writes the matrices of a block's cells; upper triangles, STRIDE apart, are in shared memory. */
template <int ROWS, int STRIDE>
__device__ __forceinline__ void write_out(const cmgi_cell_batch &c, const double *stage, int cells)
{
    constexpr int NUMBERS = ROWS * (ROWS + 1) / 2;
    const cmg_size first = (cmg_size)blockIdx.x * cells;
    const int n = (int)min((cmg_size)cells, c.cells - first);
    double *e = c.e + first * c.entries;
    if (c.layout.symmetric) {
        for (int i = threadIdx.x; i < n * NUMBERS; i += BLOCK) {
            e[i] = stage[i / NUMBERS * STRIDE + i % NUMBERS];
        }
        return;
    }
    for (int i = threadIdx.x; i < n * ROWS * ROWS; i += BLOCK) {
        const int r = i / ROWS % ROWS;
        const int s = i % ROWS;
        const int place = cmgi_upper_place(ROWS, min(r, s), max(r, s));
        e[i] = stage[i / (ROWS * ROWS) * STRIDE + place];
    }
}

template <bool SIMPLEX, int DIM, bool ELASTIC>
__global__ void __launch_bounds__(BLOCK) cell_kernel(cmgi_cell_batch c)
{
    constexpr int ROWS = (SIMPLEX ? DIM + 1 : 1 << DIM) * (ELASTIC ? DIM : 1);
    constexpr int NUMBERS = ROWS * (ROWS + 1) / 2;
    constexpr int STRIDE = NUMBERS | 1; /* odd: no two threads of a half warp meet in a bank */
    __shared__ double stage[BLOCK * STRIDE];
    const cmg_size cell = min((cmg_size)blockIdx.x * BLOCK + threadIdx.x, c.cells - 1);
    double K[NUMBERS];
    cmgi_cell_matrix(&c, SIMPLEX, DIM, ELASTIC, cell, K);
#pragma unroll
    for (int i = 0; i < NUMBERS; ++i) {
        stage[threadIdx.x * STRIDE + i] = K[i];
    }
    __syncthreads();
    write_out<ROWS, STRIDE>(c, stage, BLOCK);
}

/*
 * Thread a of a cell takes the pairs (a, a + s mod 8), s = 0 .. 3, and half of the threads those of
 * s = 4.
 */
__global__ void __launch_bounds__(BLOCK) elastic_hexahedron_kernel(cmgi_cell_batch c)
{
    constexpr int ROWS = 3 * NODES;
    constexpr int STRIDE = ROWS * (ROWS + 1) / 2 | 1;
    constexpr int POINT = 3 * NODES + 1; /* gradients and the scale; odd as well */
    __shared__ double stage[GROUPS * STRIDE];
    __shared__ double basis[GROUPS * NODES * POINT];
    const int a = threadIdx.x % NODES;
    const int group = threadIdx.x / NODES;
    const cmg_size cell = min((cmg_size)blockIdx.x * GROUPS + group, c.cells - 1);
    double *points = basis + group * NODES * POINT;
    double map[CMGI_FIRST_NODES][3] = {{0}};
    double g[3][CMGI_FIRST_NODES] = {{0}};
    cmgi_cell_map(false, 3, c.x, c.nodes + cell * NODES, map);
    const double det = cmgi_cell_point(false, 3, map, a, g);
    const double k = c.k == NULL ? 1 : c.k[cell * c.k_points + (c.k_points > 1 ? a : 0)];
#pragma unroll
    for (int i = 0; i < 3 * NODES; ++i) {
        points[a * POINT + i] = g[i % 3][i / 3];
    }
    points[a * POINT + 3 * NODES] = cmgi_point_weight(false, 3) * k / det;
    __syncwarp();
    double M[5][9] = {{0}};
#pragma unroll 1
    for (int q = 0; q < NODES; ++q) {
        const double *at = points + q * POINT;
        const double scale = at[3 * NODES];
#pragma unroll
        for (int s = 0; s < 5; ++s) {
            const double *gb = at + 3 * ((a + s) % NODES);
#pragma unroll
            for (int i = 0; i < 9; ++i) {
                M[s][i] += scale * at[3 * a + i / 3] * gb[i % 3];
            }
        }
    }
#pragma unroll
    for (int s = 0; s < 5; ++s) {
        const int b = (a + s) % NODES;
#pragma unroll
        for (int i = 0; i < 9; ++i) {
            const int row = 3 * a + i / 3;
            const int column = 3 * b + i % 3;
            const double value = cmgi_elastic_number(&c, 3, M[s], i / 3, i % 3);
            if ((s > 0 || row <= column) && (s < 4 || a < 4)) {
                stage[group * STRIDE + cmgi_upper_place(ROWS, min(row, column), max(row, column))] =
                    value;
            }
        }
    }
    __syncthreads();
    write_out<ROWS, STRIDE>(c, stage, GROUPS);
}

template <bool SIMPLEX, int DIM>
static cmg_status launch(cmg_context *ctx, const cmgi_cell_batch *c)
{
    const unsigned grid = cmgi_grid(c->cells, BLOCK);
    if (c->components == 1) {
        return CMGI_RUN(ctx, grid, BLOCK, 0, cell_kernel<SIMPLEX, DIM, false>, *c);
    } else if constexpr (!SIMPLEX && DIM == 3) {
        return CMGI_RUN(ctx, cmgi_grid(c->cells, GROUPS), BLOCK, 0, elastic_hexahedron_kernel, *c);
    } else {
        return CMGI_RUN(ctx, grid, BLOCK, 0, cell_kernel<SIMPLEX, DIM, true>, *c);
    }
}

cmg_status cmgi_cell_matrices_cuda(cmg_context *ctx, const cmgi_cell_batch *c)
{
    CMGI_ON_DEVICE(ctx);
    if (c->dim == 2) {
        return c->simplex ? launch<true, 2>(ctx, c) : launch<false, 2>(ctx, c);
    }
    return c->simplex ? launch<true, 3>(ctx, c) : launch<false, 3>(ctx, c);
}
