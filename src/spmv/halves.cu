/* Halves of a cycle on a box: which kernel, and how its blocks are cut (halves.cuh). */
#include "spmv/halves_down.cuh"

#include "core/each.h"

extern "C" {
#include "core/hash.h"
#include "spmv/halves.h"
}
#include "spmv/halves.inc"

/*
 * Lines of a warp in 3D, neighbouring positions of a lane in 2D; planes ahead; blocks that have to
 * fit on a multiprocessor at once.
 */
template <typename T, int DIM>
struct half_shape;
template <>
struct half_shape<float, 3> {
    enum { R = 4, AHEAD = 1, BLOCKS = 4, LEAST = 4 };
};
template <>
struct half_shape<float, 2> {
    enum { R = 4, AHEAD = 3, BLOCKS = 4, LEAST = 16 };
};
template <>
struct half_shape<double, 3> {
    enum { R = 2, AHEAD = 1, BLOCKS = 3, LEAST = 4 };
};
template <>
struct half_shape<double, 2> {
    enum { R = 2, AHEAD = 3, BLOCKS = 4, LEAST = 16 };
};

template <typename T>
static half_args<T> half_arguments(const cmgi_half *h)
{
    half_args<T> a = {};
    for (int k = 0; k < 3; ++k) {
        a.n[k] = h->of->box.size[k];
    }
    for (int k = 0; k < 27; ++k) {
        a.value[k] = (T)h->of->box.value[k];
    }
    a.first = (T)h->first;
    a.second = (T)h->second;
    a.x = (const T *)h->x;
    a.b = (const T *)h->b;
    a.e = (const T *)h->e;
    a.out = (T *)h->out;
    a.coarse = (T *)h->coarse;
    return a;
}

/*
 * Planes of a block: as many as let the blocks fill the device once or, where that leaves many
 * planes for each, twice; every block reads four planes that it does not own.
 */
template <typename T, int DIM>
static int half_chunk(const cmg_context *ctx, half_args<T> a, int own)
{
    typedef half_shape<T, DIM> shape;
    enum { LONG = 64 };
    const int planes = a.n[DIM - 1];
    a.chunk = planes;
    const dim3 once = half_grid<T, DIM, shape::R>(a, own);
    const long long tiles = (long long)once.x * once.y;
    const long long room = (long long)cmgi_device_of(ctx)->processors * shape::BLOCKS;
    long long parts = room / tiles > 1 ? room / tiles : 1;
    parts = planes / parts > LONG ? 2 * room / tiles : parts;
    const int chunk = (int)((planes + parts - 1) / (parts > 1 ? parts : 1) + 1) / 2 * 2;
    return chunk > shape::LEAST ? chunk : shape::LEAST;
}

template <typename T, int DIM, int STAGES, bool EVEN>
static void launch_half(const cmg_context *ctx, const cmgi_half *h)
{
    typedef half_shape<T, DIM> s;
    half_args<T> a = half_arguments<T>(h);
    const int own = h->up ? half_own_up<DIM, s::R>() : half_own_down<DIM, s::R>();
    a.chunk = half_chunk<T, DIM>(ctx, a, own);
    const dim3 grid = half_grid<T, DIM, s::R>(a, own);
    if (h->up) {
        half_up_kernel<T, DIM, s::R, s::AHEAD, STAGES, true, EVEN, s::BLOCKS>
            <<<grid, HALF_THREADS, 0, cmgi_stream(ctx)>>>(a);
    } else {
        half_down_kernel<T, DIM, s::R, s::AHEAD, STAGES, EVEN, s::BLOCKS>
            <<<grid, HALF_THREADS, 0, cmgi_stream(ctx)>>>(a);
    }
}

template <typename T, int DIM, bool EVEN>
static void launch_stages(const cmg_context *ctx, const cmgi_half *h)
{
    if (h->stages == 2) {
        launch_half<T, DIM, 2, EVEN>(ctx, h);
    } else {
        launch_half<T, DIM, 1, EVEN>(ctx, h);
    }
}

template <int DIM>
static void launch_any(const cmg_context *ctx, const cmgi_half *h)
{
    if (h->of->precision == CMG_FP64) { /* even alone: cmgi_halves_find takes no other in fp64 */
        launch_stages<double, DIM, true>(ctx, h);
    } else if (h->of->box.even) {
        launch_stages<float, DIM, true>(ctx, h);
    } else {
        launch_stages<float, DIM, false>(ctx, h);
    }
}

extern "C" cmg_status cmgi_half_run_cuda(cmg_context *ctx, const cmgi_half *half)
{
    CMGI_ON_DEVICE(ctx);
    if (half->of->box.dims == 3) {
        launch_any<3>(ctx, half);
    } else {
        launch_any<2>(ctx, half);
    }
    return CMGI_LAUNCHED(ctx);
}
