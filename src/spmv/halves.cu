/* Halves of a cycle on a box: which kernel, and how its blocks are cut (halves.cuh). */
#include "spmv/halves_down.cuh"

#include "core/each.h"

#include <climits>

extern "C" {
#include "core/hash.h"
#include "spmv/halves.h"
}
#include "spmv/halves.inc"

/*
 * Lines of a warp in 3D, neighbouring positions of a lane in 2D; planes ahead; blocks that have to
 * fit on a multiprocessor at once: the fastest of those that were measured on 255^3 and 4095^2.
 * Few planes are a chain of waits: fewer lines a warp and more planes ahead shorten it.
 */
template <int LINES, int PLANES, int RESIDENT>
struct half_sizes {
    enum { R = LINES, AHEAD = PLANES, BLOCKS = RESIDENT };
};
template <typename T, int DIM, bool UP, bool EVEN, bool FEW>
struct half_shape;
template <bool UP>
struct half_shape<float, 3, UP, true, false> : half_sizes<4, 1, 4> {
};
template <bool UP>
struct half_shape<float, 3, UP, false, false> : half_sizes<4, UP ? 1 : 2, UP ? 4 : 3> {
};
template <bool UP, bool EVEN>
struct half_shape<float, 3, UP, EVEN, true> : half_sizes<2, 2, 4> {
};
template <bool UP, bool EVEN>
struct half_shape<float, 2, UP, EVEN, false> : half_sizes<2, 3, 5> {
};
template <bool UP, bool EVEN>
struct half_shape<double, 3, UP, EVEN, false> : half_sizes<UP ? 4 : 2, 1, UP ? 2 : 4> {
};
template <bool UP, bool EVEN>
struct half_shape<double, 3, UP, EVEN, true> : half_sizes<2, 2, 3> {
};
template <bool UP, bool EVEN>
struct half_shape<double, 2, UP, EVEN, false> : half_sizes<2, 2, 4> {
};
enum { FEW_PLANES = 63 }; /* in 3D */

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
 * Planes of a block in 3D, an even number; it reads five beside them. Blocks of a multiprocessor
 * share it, but one fewer than fit take as long as those: their loads wait. So rounds of `blocks`
 * each, and the last of fewer, take time by their number on the busiest multiprocessor.
 */
static int planes_3d(int planes, long long tiles, int processors, int blocks)
{
    enum { BESIDE = 5 };
    int best = planes + planes % 2;
    long long least = LLONG_MAX;
    for (int chunk = 2; chunk < planes + 2; chunk += 2) {
        const long long all = tiles * ((planes + chunk - 1) / chunk);
        const long long each = (all + processors - 1) / processors;
        const long long rest = each % blocks;
        const long long turns = each + (rest > 0 && rest < blocks - 1 ? blocks - 1 - rest : 0);
        if (turns * (chunk + BESIDE) < least) {
            least = turns * (chunk + BESIDE);
            best = chunk;
        }
    }
    return best;
}

/* Lines of a block in 2D, an even number: five blocks a multiprocessor, of 16 lines at most. */
static int lines_2d(int lines, long long tiles, int processors)
{
    enum { MOST = 16, EACH = 5 };
    const long long blocks = (long long)EACH * processors;
    const long long share = (tiles * lines + blocks - 1) / blocks;
    return share < MOST ? (int)(share + share % 2) : MOST;
}

template <typename T, int DIM, int STAGES, bool UP, bool EVEN, bool FEW>
static void launch_shape(const cmg_context *ctx, const cmgi_half *h)
{
    typedef half_shape<T, DIM, UP, EVEN, FEW> s;
    const cmgi_device *d = cmgi_device_of(ctx);
    half_args<T> a = half_arguments<T>(h);
    const int own = half_own<DIM, s::R, UP>::POSITIONS;
    a.chunk = a.n[DIM - 1];
    const dim3 once = half_grid<T, DIM, s::R>(a, own);
    const long long tiles = (long long)once.x * once.y;
    a.chunk = DIM == 3 ? planes_3d(a.n[2], tiles, d->processors, s::BLOCKS)
                       : lines_2d(a.n[1], tiles, d->processors);
    const dim3 grid = half_grid<T, DIM, s::R>(a, own);
    if constexpr (UP) {
        cmgi_launch(d, grid, HALF_THREADS, 0,
                    half_up_kernel<T, DIM, s::R, s::AHEAD, STAGES, EVEN, s::BLOCKS>, a);
    } else {
        cmgi_launch(d, grid, HALF_THREADS, 0,
                    half_down_kernel<T, DIM, s::R, s::AHEAD, STAGES, EVEN, s::BLOCKS>, a);
    }
}

template <typename T, int DIM, int STAGES, bool UP, bool EVEN>
static void launch_half(const cmg_context *ctx, const cmgi_half *h)
{
    if constexpr (DIM == 3) {
        if (h->of->box.size[2] <= FEW_PLANES) {
            launch_shape<T, DIM, STAGES, UP, EVEN, true>(ctx, h);
            return;
        }
    }
    launch_shape<T, DIM, STAGES, UP, EVEN, false>(ctx, h);
}

template <typename T, int DIM, int STAGES, bool EVEN>
static void launch_direction(const cmg_context *ctx, const cmgi_half *h)
{
    if (h->up) {
        launch_half<T, DIM, STAGES, true, EVEN>(ctx, h);
    } else {
        launch_half<T, DIM, STAGES, false, EVEN>(ctx, h);
    }
}

template <typename T, int DIM, bool EVEN>
static void launch_stages(const cmg_context *ctx, const cmgi_half *h)
{
    if (h->stages == 2) {
        launch_direction<T, DIM, 2, EVEN>(ctx, h);
    } else if (h->stages == 1) {
        launch_direction<T, DIM, 1, EVEN>(ctx, h);
    } else {
        launch_half<T, DIM, 0, false, EVEN>(ctx, h);
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
