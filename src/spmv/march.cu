/* Products with the matrix of a box: what is launched. The kernel is in march.cuh. */
#include "spmv/march.cuh"

extern "C" {
#include "spmv/box.h"
}

/*
 * Lines of a warp, warps of a block, planes under way, and blocks of a multiprocessor, for which
 * registers suffice: the fastest of those that were measured on 255^3 and 4095^2. Sums of equal
 * values first cost registers and gain in fp32 in 3D alone: 67 against 76 us; of residuals that are
 * rounded in fp64, too, up to some rows: 14.0 against 16.1 us at 127^3, 107 against 100 at 255^3.
 */
template <typename T, unsigned READS, int DIM, bool EVEN>
struct shape {
    enum {
        WIDTH = sizeof(T) / sizeof(float),
        VECTORS = __builtin_popcount(READS & MARCH_ANY), /* that a write-back reads */
        LINES = DIM == 2 && WIDTH == 2 ? 2 : 4,
        WARPS = 4,
        ROUNDED = DIM == 3 && (READS & MARCH_ROUNDED) != 0 ? 1 : 0,
        AHEAD = ROUNDED || (EVEN && VECTORS > 0) || (READS & MARCH_DIRECTION) != 0 ? 1 : 2,
        BLOCKS = WIDTH == 2     ? (ROUNDED        ? 4
                                   : VECTORS <= 1 ? 3
                                                  : 2)
                 : VECTORS == 0 ? 6
                 : VECTORS < 3  ? 5
                                : 3
    };
};

enum { EVEN_ROWS = 1 << 22 };

/* In 2D eight lines a block are best, fewer where there are few blocks. */
static int best_lines(int lines)
{
    enum { MOST = 8, LEAST = 2, PARTS = 128 };
    const int chunk = march_parts(lines, PARTS);
    return chunk < LEAST ? LEAST : chunk < MOST ? chunk : MOST;
}

template <typename T, unsigned READS, int DIM, bool EVEN>
static march_cut cut_box(const cmg_context *ctx, const cmgi_box *box)
{
    typedef shape<T, READS, DIM, EVEN> s;
    const int beside = s::LINES * s::WARPS;
    if (DIM == 3) {
        return march_cut_of(ctx, box->size, beside, s::BLOCKS);
    }
    const int x = march_parts(box->size[0], MARCH_OWN * beside);
    const int chunk = best_lines(box->size[1]);
    return march_cut{dim3((unsigned)x, 1, (unsigned)march_parts(box->size[1], chunk)), chunk};
}

template <typename T>
static march_args<T> arguments_of(const cmgi_box *box, const typename cmgi_wb_of<T>::type &f,
                                  const T *x)
{
    march_args<T> a = {};
    a.positions = box->size[0];
    a.lines = box->dims == 3 ? box->size[1] : 1;
    a.planes = box->size[box->dims - 1];
    a.apart = (cmg_size)a.positions * a.lines;
    for (int k = 0; k < 27; ++k) {
        const int b = k / 3 % 3;
        const int from = box->dims == 3 ? k : b == 1 ? 9 + 3 * (k / 9) + k % 3 : -1;
        a.value[k] = from >= 0 ? (T)box->value[from] : T(0);
    }
    a.x = x;
    a.f = f;
    return a;
}

template <typename T, cmgi_wb_kind KIND, unsigned READS, int DIM, bool EVEN>
static cmg_status run(cmg_context *ctx, const cmgi_box *box, march_args<T> a)
{
    typedef shape<T, READS, DIM, EVEN> s;
    const march_cut c = cut_box<T, READS, DIM, EVEN>(ctx, box);
    a.chunk = c.chunk;
    return CMGI_RUN_EARLY(
        ctx, c.grid, s::WARPS * CMGI_WARP, 0,
        march_kernel<T, KIND, READS, DIM, EVEN, s::LINES, s::WARPS, s::AHEAD, s::BLOCKS>, a);
}

template <typename T, cmgi_wb_kind KIND, unsigned READS>
static cmg_status run_reads(cmg_context *ctx, const cmgi_box *box, const march_args<T> &a)
{
    if (box->dims == 2) {
        return run<T, KIND, READS, 2, false>(ctx, box, a);
    }
    if constexpr (sizeof(T) == sizeof(float) || (READS & MARCH_ROUNDED) != 0) {
        if (box->even && (sizeof(T) == sizeof(float) || a.apart * a.planes < EVEN_ROWS)) {
            return run<T, KIND, READS, 3, true>(ctx, box, a);
        }
    }
    return run<T, KIND, READS, 3, false>(ctx, box, a);
}

extern "C" cmg_status cmgi_march_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                           const void *x)
{
    cmg_context *ctx = A->ctx;
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        const march_args<T> a = arguments_of<T>(box, f, of);
        return march_reads<T, kind>(
            f, of, [&](auto reads) { return run_reads<T, kind, reads>(ctx, box, a); });
    });
}

extern "C" cmg_status cmgi_march_direction_cuda(const cmg_matrix *A, const cmgi_direction *p,
                                                double *y)
{
    cmgi_writeback w = {};
    w.kind = CMGI_WB_APPLY;
    w.y = y;
    w.dots = A->dots;
    w = cmgi_wb_reduce(&w);
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    march_args<double> a = arguments_of<double>(box, cmgi_wb_cast_f64(&w), p->before);
    CMGI_ON_DEVICE(A->ctx);
    a.direction = *p;
    return run<double, CMGI_WB_SCALED, MARCH_DOTS | MARCH_DIRECTION, 3, false>(A->ctx, box, a);
}

extern "C" cmg_status cmgi_march_residual_cuda(const cmg_matrix *A, const double *b,
                                               const double *x, float *r, double *dots)
{
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    march_args<double> a = arguments_of<double>(box, march_residual(b, dots), x);
    CMGI_ON_DEVICE(A->ctx);
    a.rounded = r;
    return run_reads<double, CMGI_WB_SUM, MARCH_C | MARCH_ROUNDED>(A->ctx, box, a);
}

/* A shape's blocks do not depend on whether equal values are summed first. */
extern "C" cmg_size cmgi_march_sums(const cmg_matrix *A, bool rounded)
{
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    const march_cut c = box->dims == 2 ? cut_box<double, MARCH_DOTS, 2, false>(A->ctx, box)
                        : rounded ? cut_box<double, MARCH_C | MARCH_ROUNDED, 3, false>(A->ctx, box)
                                  : cut_box<double, MARCH_DOTS, 3, false>(A->ctx, box);
    return (cmg_size)c.grid.x * c.grid.y * c.grid.z;
}
