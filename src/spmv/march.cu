/* Products with the matrix of a box: what is launched. The kernel is in march.cuh. */
#include "spmv/march.cuh"

extern "C" {
#include "spmv/box.h"
#include "spmv/march.h"
}

/* Vectors that a write-back reads. */
constexpr int vectors_of(unsigned reads)
{
    return (int)((reads & MARCH_B) != 0) + (int)((reads & MARCH_C) != 0) +
           (int)((reads & MARCH_D) != 0) + (int)((reads & MARCH_E) != 0);
}

/* Lines of a warp, warps of a block, planes under way, and blocks of a multiprocessor, for which
 * registers suffice. */
template <typename T, unsigned READS>
struct shape {
    enum {
        LINES = 4,
        WARPS = 4,
        AHEAD = sizeof(T) == 8 && vectors_of(READS) == 0 ? 3 : 2,
        BLOCKS = sizeof(T) == 4 ? (vectors_of(READS) <= 1   ? 5
                                   : vectors_of(READS) == 2 ? 4
                                                            : 3)
                                : (vectors_of(READS) <= 1 ? 3 : 2)
    };
};

/* Blocks across a plane, then chunks of planes: as many as the device works on at once, so that no
 * block is left over. */
typedef struct cut {
    dim3 grid;
    int chunk;
} cut;

static int parts_of(int n, int each)
{
    return (n + each - 1) / each;
}

template <typename T, unsigned READS, int DIM>
static cut cut_box(const cmg_context *ctx, const cmgi_box *box)
{
    typedef shape<T, READS> s;
    enum { LEAST = 4 /* planes that are worth the two beside them */ };
    const int across =
        DIM == 3 ? parts_of(box->size[0], MARCH_OWN) * parts_of(box->size[1], s::LINES * s::WARPS)
                 : parts_of(box->size[0], MARCH_OWN * s::LINES * s::WARPS);
    const int planes = box->size[DIM - 1];
    const int resident = s::BLOCKS * cmgi_device_of(ctx)->processors;
    const int wanted = resident > across ? resident / across : 1;
    const int most = parts_of(planes, LEAST);
    const int chunk = parts_of(planes, wanted < most ? wanted : most);
    const unsigned x =
        (unsigned)parts_of(box->size[0], MARCH_OWN * (DIM == 3 ? 1 : s::LINES * s::WARPS));
    const unsigned y = DIM == 3 ? (unsigned)parts_of(box->size[1], s::LINES * s::WARPS) : 1;
    return cut{dim3(x, y, (unsigned)parts_of(planes, chunk)), chunk};
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
    typedef shape<T, READS> s;
    const cut c = cut_box<T, READS, DIM>(ctx, box);
    a.chunk = c.chunk;
    march_kernel<T, KIND, READS, DIM, EVEN, s::LINES, s::WARPS, s::AHEAD, s::BLOCKS>
        <<<c.grid, s::WARPS * CMGI_WARP, 0, cmgi_stream(ctx)>>>(a);
    return CMGI_LAUNCHED(ctx);
}

template <typename T, cmgi_wb_kind KIND, unsigned READS>
static cmg_status run_reads(cmg_context *ctx, const cmgi_box *box, const march_args<T> &a)
{
    if (box->dims == 2) {
        return run<T, KIND, READS, 2, false>(ctx, box, a);
    }
    return box->even ? run<T, KIND, READS, 3, true>(ctx, box, a)
                     : run<T, KIND, READS, 3, false>(ctx, box, a);
}

template <typename T, cmgi_wb_kind KIND>
struct launch_march {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        cmg_context *ctx = A->ctx;
        const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
        const march_args<T> a = arguments_of<T>(box, f, x);
        if constexpr (KIND == CMGI_WB_SCALED) {
            if constexpr (sizeof(T) == sizeof(double)) {
                if (f.dots != NULL) {
                    return run_reads<T, KIND, MARCH_DOTS>(ctx, box, a);
                }
            }
            return run_reads<T, KIND, 0>(ctx, box, a);
        } else if constexpr (KIND == CMGI_WB_SUM) {
            return f.d != NULL ? run_reads<T, KIND, MARCH_C | MARCH_D>(ctx, box, a)
                               : run_reads<T, KIND, MARCH_C>(ctx, box, a);
        } else {
            return f.c == x && f.d != NULL && f.e == NULL
                       ? run_reads<T, KIND, MARCH_B | MARCH_D>(ctx, box, a)
                       : run_reads<T, KIND, MARCH_ANY>(ctx, box, a);
        }
    }
};

extern "C" cmg_status cmgi_march_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                           const void *x)
{
    return cmgi_select<launch_march>(A, w, x);
}

extern "C" cmg_status cmgi_march_residual_cuda(const cmg_matrix *A, const double *b,
                                               const double *x, float *r, double *dots)
{
    cmgi_writeback w = {};
    w.kind = CMGI_WB_RESIDUAL;
    w.b = b;
    w = cmgi_wb_reduce(&w);
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    march_args<double> a = arguments_of<double>(box, cmgi_wb_cast_f64(&w), x);
    CMGI_ON_DEVICE(A->ctx);
    a.f.dots = dots;
    a.rounded = r;
    return run_reads<double, CMGI_WB_SUM, MARCH_C | MARCH_ROUNDED>(A->ctx, box, a);
}

extern "C" cmg_size cmgi_march_sums(const cmg_matrix *A)
{
    const cmgi_box *box = ((const cmgi_compressed *)A->data)->t.box;
    const cut c = box->dims == 3 ? cut_box<double, MARCH_DOTS, 3>(A->ctx, box)
                                 : cut_box<double, MARCH_DOTS, 2>(A->ctx, box);
    return (cmg_size)c.grid.x * c.grid.y * c.grid.z;
}
