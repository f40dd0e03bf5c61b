/*
 * Products of packed slices with several columns. A thread takes W neighbouring columns of its two
 * rows (packed_rows.cuh), a load of 16 bytes; neighbouring threads take the other columns of the
 * same rows, so that values and codes are loaded once for all and the rows of x are runs of memory.
 *
 * Blocks walk through `steps` neighbouring parts of the matrix: with k columns x is k times as
 * large beside the matrix, and what one part has read of it stays in the first cache for the next.
 */
#include "spmv/packed_rows.cuh"

extern "C" {
#include "spmv/columns.h"
}

/*
 * Measured on an H200, eight columns, 256^3 cells, distorted, milliseconds a solve; `ahead` is that
 * of packed_pairs.cuh:
 *
 *   threads, blocks, ahead   steps 1    4      16
 *   256, 3, 4                  79.0   76.1   83.5
 *   256, 4, 4                  77.4   75.8   84.5
 *   512, 2, 4                  78.4   75.6   79.2
 *   1024, 1, 4                 78.8   75.6   78.2
 *   256, 2, 8                  80.9   77.6   86.3
 */
enum { THREADS = 512, BLOCKS = 2, STEPS = 4, FULL_GRID = 1024 };

template <typename T>
struct columns_args {
    compressed_args<T> of;
    cmg_size pairs; /* of rows, lanes without a row included */
    int k;
    int steps;
};

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int W>
__global__ void __launch_bounds__(THREADS, BLOCKS) packed_columns_kernel(const columns_args<T> a)
{
    const int groups = a.k / W;
    const int pairs = THREADS / groups; /* that a block takes at once */
    const int local = (int)threadIdx.x / groups;
    const int c = ((int)threadIdx.x % groups) * W;
    cmg_size u = (cmg_size)blockIdx.x * a.steps * pairs + local;
    if (local >= pairs) {
        return;
    }
    for (int t = 0; t < a.steps && u < a.pairs; ++t, u += pairs) {
        packed_rows<T, KIND, VALUES, false, W>(a.of, u >> 5, (int)u & 31, a.k, c);
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int W>
static cmg_status launch(const cmg_matrix *A, const cmgi_writeback *w, const T *x)
{
    const compressed_args<T> of = arguments(A, cmgi_wb_of<T>::cast(w), x);
    const cmg_size pairs = of.C.p.count * 32;
    const int rows = THREADS / (w->columns / W);
    int steps = STEPS;
    while (steps > 1 && pairs / rows / steps < FULL_GRID) {
        steps /= 2;
    }
    return CMGI_RUN(A->ctx, cmgi_grid(pairs, rows * steps), THREADS, 0,
                    packed_columns_kernel<T, KIND, VALUES, W>,
                    columns_args<T>{of, pairs, w->columns, steps});
}

/* W by what k and the arrays allow. */
extern "C" cmg_status cmgi_packed_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                               const void *x)
{
    return select_packed(A, w, [&](auto zero, auto kind, auto kept) {
        using T = decltype(zero);
        return wide_columns<T>(w, x) ? launch<T, kind, kept, WIDE<T>>(A, w, (const T *)x)
                                     : launch<T, kind, kept, 1>(A, w, (const T *)x);
    });
}
