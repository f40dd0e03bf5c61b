/*
 * Products with compressed slices that hold values. A warp takes a slice of 64 rows, a thread two
 * rows (packed_rows.cuh), so that x is read in order; of values in 16 and 8 bits a load brings four
 * entries, of two slice columns. Two kernels a precision and kind of values: where nearly all
 * slices have patterns, one that needs fewer registers.
 */
#include "spmv/packed_rows.cuh"

extern "C" {
#include "spmv/columns.h"
#include "spmv/box.h"
#include "spmv/mirror.h"
#include "spmv/stencil.h"
}

enum { BLOCK = 256 };

/* PATTERNS: nearly all slices have one, and the others may take longer. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, bool PATTERNS>
__global__ void __launch_bounds__(BLOCK, PATTERNS ? pair_of<T, VALUES>::pattern_blocks
                                                  : pair_of<T, VALUES>::blocks)
    packed_kernel(const compressed_args<T> a)
{
    cmgi_after_previous();
    const cmg_size p = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) / 32;
    const int lane = (int)threadIdx.x % 32;
    if (p >= a.C.p.count) { /* the same for the whole warp */
        return;
    }
    const int slice = a.C.p.slice != NULL ? a.C.p.slice[p] : (int)p;
    if (a.C.p.bytes[p] == 0 && a.C.ref == NULL && (cmg_size)(slice + 1) * CMGI_SLICE <= a.C.rows) {
        pattern_rows<T, KIND, VALUES>(a, p, slice, lane);
    } else {
        packed_rows<T, KIND, VALUES, true, 1, PATTERNS ? 1 : pair_of<T, VALUES>::ahead>(a, p, lane,
                                                                                        1, 0);
    }
}

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
        CMGI_TRY(cmgi_columns_reserve(A, w->columns));
        return cmgi_compressed_columns_cuda(A, w, x);
    }
    if (C->t.box != NULL) {
        return cmgi_march_spmv_cuda(A, w, x);
    }
    if (C->mirror != NULL) {
        return cmgi_mirror_spmv_cuda(A, w, x);
    }
    if (!done && C->t.stencil != NULL) {
        CMGI_TRY(cmgi_stencil_spmv_cuda(A, w, x, &done));
    }
    if (!done) {
        CMGI_TRY(cmgi_templates_spmv_cuda(A, w, x));
    }
    return select_packed(A, w, [&](auto zero, auto kind, auto kept) {
        enum { MOST = 4 /* bytes of codes a slice column: one in 16 has codes of a byte */ };
        using T = decltype(zero);
        const compressed_args<T> a = arguments(A, cmgi_wb_of<T>::cast(w), (const T *)x);
        const bool patterns = a.C.ref == NULL && a.C.p.code_bytes <= MOST * a.C.p.steps;
        const auto kernel =
            patterns ? packed_kernel<T, kind, kept, true> : packed_kernel<T, kind, kept, false>;
        return CMGI_RUN_EARLY(A->ctx, cmgi_grid(a.C.p.count * 32, BLOCK), BLOCK, 0, kernel, a);
    });
}
