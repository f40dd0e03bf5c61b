/* Conversion of a CSR on the device: rows by length, slices. */
#include "core/each.h"

extern "C" {
#include "csr/resident.h"
#include "spmv/slices.h"
}

enum { CHUNK = 1024 };

/*
 * Rows by length, the longest first, those of one length in their order. A warp takes a chunk of
 * rows: first it counts its rows of each length, in the order of lengths and chunks; once these
 * counts are added up (`order` given), its rows go to their places.
 */
__global__ void sort_kernel(cmg_size rows, const cmg_size *indptr, int longest, cmg_size *count,
                            cmg_index *order)
{
    __shared__ int next[CMGI_LONGEST_SORTED + 1];
    const int lane = threadIdx.x;
    for (int d = lane; d <= longest; d += CMGI_WARP) {
        next[d] = order != NULL ? (int)count[(cmg_size)d * gridDim.x + blockIdx.x] : 0;
    }
    __syncwarp();
    for (int k = lane; k < CHUNK; k += CMGI_WARP) {
        const cmg_size i = (cmg_size)blockIdx.x * CHUNK + k;
        const bool there = i < rows;
        const int d = there ? longest - (int)(indptr[i + 1] - indptr[i]) : -1;
        const unsigned same = __match_any_sync(CMGI_ALL, d);
        const int rank = __popc(same & ((1U << lane) - 1));
        if (there && order != NULL) {
            order[next[d] + rank] = (cmg_index)i;
        }
        __syncwarp();
        if (there && rank == 0) {
            next[d] += __popc(same);
        }
        __syncwarp();
    }
    for (int d = lane; d <= longest && order == NULL; d += CMGI_WARP) {
        count[(cmg_size)d * gridDim.x + blockIdx.x] = next[d];
    }
}

extern "C" cmg_status cmgi_slices_sort_cuda(cmg_context *ctx, const cmg_csr *device,
                                            cmg_size longest, cmg_index *order)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned chunks = cmgi_grid(device->rows, CHUNK);
    const cmg_size counts = (longest + 1) * (cmg_size)chunks;
    cmg_size *count = NULL;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take(counts + 1, &count));
    CMGI_TRY(CMGI_RUN(ctx, chunks, CMGI_WARP, 0, sort_kernel, device->rows, device->indptr,
                      (int)longest, count, nullptr));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, counts, count, NULL));
    return CMGI_RUN(ctx, chunks, CMGI_WARP, 0, sort_kernel, device->rows, device->indptr,
                    (int)longest, count, order);
}

#include "spmv/box.inc"
#include "spmv/slices.inc"
#include "spmv/slices_cut.inc"
