/*
 * Products with compressed slices that hold values. A warp takes a slice of 64 rows, a thread two
 * rows (packed_rows.cuh), so that x is read in order; of values in 8 bits a load brings four
 * entries, of two slice columns. One kernel a precision and kind of values.
 */
#include "spmv/packed_rows.cuh"

extern "C" {
#include "spmv/columns.h"
#include "spmv/march.h"
#include "spmv/stencil.h"
}

enum { BLOCK = 256 };

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
__global__ void __launch_bounds__(BLOCK, pair_of<T, VALUES>::blocks)
    packed_kernel(const compressed_args<T> a)
{
    const cmg_size p = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) / 32;
    if (p < a.C.p.count) { /* the same for the whole warp */
        packed_rows<T, KIND, VALUES, true, 1>(a, p, (int)threadIdx.x % 32, 1, 0);
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
struct launch_packed {
    static cmg_status run(const cmg_matrix *A, const cmgi_writeback *w, const T *x)
    {
        const compressed_args<T> a = arguments(A, cmgi_wb_of<T>::cast(w), x);
        packed_kernel<T, KIND, VALUES>
            <<<cmgi_grid(a.C.p.count * 32, BLOCK), BLOCK, 0, cmgi_stream(A->ctx)>>>(a);
        return CMGI_LAUNCHED(A->ctx);
    }
};

extern "C" cmg_status cmgi_compressed_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    bool done = C->t.count == 0;
    x = cmgi_compressed_x(A, w, x);
    if (C->block > 1) {
        return cmgi_compressed_blocks_cuda(A, w, x);
    }
    if (w->columns > 1) {
        return cmgi_compressed_columns_cuda(A, w, x);
    }
    if (C->t.box != NULL) {
        return cmgi_march_spmv_cuda(A, w, x);
    }
    if (!done && C->t.stencil != NULL) {
        CMGI_TRY(cmgi_stencil_spmv_cuda(A, w, x, &done));
    }
    if (!done) {
        CMGI_TRY(cmgi_templates_spmv_cuda(A, w, x));
    }
    return select_packed<launch_packed>(A, w, x);
}
