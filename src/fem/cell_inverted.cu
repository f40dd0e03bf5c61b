/* Which cells are inverted, on a GPU; compiled without fused multiplication and addition, so that a
 * determinant of 0 is one here as on the host. */
#include "core/cuda.cuh"

extern "C" {
#include "fem/cell_matrices.h"
}

enum { THREADS = 128 };

template <bool SIMPLEX, int DIM>
__global__ void __launch_bounds__(THREADS) inverted_kernel(cmgi_cell_batch c, cmg_index *last)
{
    const cmg_size cell = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (cell < c.cells && cmgi_cell_inverted(&c, SIMPLEX, DIM, cell)) {
        atomicMax(last, (cmg_index)cell);
    }
}

cmg_status cmgi_cells_inverted_cuda(cmg_context *ctx, const cmgi_cell_batch *c, cmg_index *found)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(c->cells, THREADS);
    const cmg_index none = -1;
    cmg_index *last = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *last, &last));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, last, &none, sizeof none));
    if (c->simplex && c->dim == 2) {
        inverted_kernel<true, 2><<<grid, THREADS, 0, stream>>>(*c, last);
    } else if (c->simplex) {
        inverted_kernel<true, 3><<<grid, THREADS, 0, stream>>>(*c, last);
    } else if (c->dim == 2) {
        inverted_kernel<false, 2><<<grid, THREADS, 0, stream>>>(*c, last);
    } else {
        inverted_kernel<false, 3><<<grid, THREADS, 0, stream>>>(*c, last);
    }
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, found, last, sizeof *found));
done:
    cmgi_free_device(ctx, last);
    return status;
}
