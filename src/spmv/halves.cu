/* Halves of a cycle on a box: which kernel, and how its blocks are cut (halves.cuh). */
#include "spmv/halves_down.cuh"
#include "spmv/halves_tile.cuh"
#include "spmv/halves_up.cuh"

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
 */
template <int LINES, int PLANES, int RESIDENT>
struct half_sizes {
    enum { R = LINES, AHEAD = PLANES, BLOCKS = RESIDENT };
};
template <typename T, int DIM, bool UP, bool EVEN>
struct half_shape;
template <bool UP>
struct half_shape<float, 3, UP, true> : half_sizes<4, 1, 4> {
};
template <bool UP>
struct half_shape<float, 3, UP, false> : half_sizes<4, UP ? 1 : 2, UP ? 4 : 3> {
};
template <bool UP, bool EVEN>
struct half_shape<float, 2, UP, EVEN> : half_sizes<2, 3, 5> {
};
template <bool UP, bool EVEN>
struct half_shape<double, 3, UP, EVEN> : half_sizes<UP ? 4 : 2, 1, UP ? 2 : 4> {
};
template <bool UP, bool EVEN>
struct half_shape<double, 2, UP, EVEN> : half_sizes<2, 2, 4> {
};

/* Tiles of boxes of few rows: by their rows, the first that is not too small. */
typedef half_cut<2, 13, 1, 8, 352, 4, true> half_flat_cut;
typedef half_cut<3, 4, 2, 2, 288, 4, false> half_tiny_cut;
template <typename T>
using half_small_cut =
    std::conditional_t<sizeof(T) == sizeof(float), half_cut<3, 11, 4, 3, 416, 2, true>,
                       half_cut<3, 11, 2, 2, 448, 2, true>>;
enum { FLAT_ROWS = 1 << 18, TINY_ROWS = 1 << 15, SMALL_ROWS = 1 << 18 };

template <typename T, int DIM, int STAGES, bool UP, bool EVEN, bool STEP, bool MORE, bool RIM,
          int R>
__device__ __forceinline__ void half_run(const half_args<T, MORE> &a, const half_tile<DIM, R> &t)
{
    enum { AHEAD = half_shape<T, DIM, UP, EVEN>::AHEAD };
    if constexpr (UP) {
        half_up<T, DIM, R, AHEAD, STAGES, EVEN, STEP, RIM>(a, t);
    } else {
        half_down<T, DIM, R, AHEAD, STAGES, EVEN, RIM>(a, t);
    }
}

template <typename T, int DIM, int STAGES, bool UP, bool EVEN, bool STEP, bool MORE>
__global__ void __launch_bounds__(HALF_THREADS, half_shape<T, DIM, UP, EVEN>::BLOCKS)
    half_kernel(const __grid_constant__ half_args<T, MORE> a)
{
    enum { R = half_shape<T, DIM, UP, EVEN>::R };
    typedef half_own<DIM, R, UP> own;
    const half_tile<DIM, R> t(a, own::COUNT, own::POSITIONS);
    cmgi_after_previous();
    if (t.none() || (STEP && !a.stop->running)) {
        return;
    }
    if (t.inner) {
        half_run<T, DIM, STAGES, UP, EVEN, STEP, MORE, false>(a, t);
    } else {
        half_run<T, DIM, STAGES, UP, EVEN, STEP, MORE, true>(a, t);
    }
}

/* The planes of a vector of the fine or the coarse box; `ghost`: with neighbours' beside them, or
 * CMGI_GHOSTS. */
template <typename T, bool MORE>
static half_planes<T, MORE> half_vector(const cmgi_halves *h, const void *own, bool coarse,
                                        int ghost)
{
    const cmgi_planes *s = &h->slab;
    const int all = cmgi_halves_planes(h) / (coarse ? 2 : 1);
    const int zero = coarse ? s->first / 2 : s->first - s->first % 2; /* of the box is plane 0 */
    const int begin = coarse ? 0 : s->first % 2;
    const int end = coarse ? (s->first + s->planes) / 2 - zero : begin + s->planes;
    const bool whole = coarse && s->whole;
    const int beside = ghost == CMGI_GHOSTS ? 0 : whole ? all : cmgi_ghost_planes[ghost];
    half_planes<T, MORE> v = {};
    if (own == NULL) {
        return v;
    }
    const cmg_size plane = cmgi_halves_plane(h, coarse);
    v.from = begin - beside > -zero ? begin - beside : -zero;
    v.to = end + beside < all - zero ? end + beside : all - zero;
    v.begin = whole ? v.from : begin;
    v.end = whole ? v.to : end;
    v.own = (T *)own - (whole ? -zero : begin) * plane;
    if (ghost != CMGI_GHOSTS && !whole) {
        v.low = (T *)s->halo[ghost] - v.from * plane;
        v.high = (T *)s->halo[ghost] + (begin - v.from - end) * plane;
    }
    return v;
}

template <typename T, bool MORE>
static half_args<T, MORE> half_arguments(const cmgi_half *h)
{
    half_args<T, MORE> a = {};
    for (int k = 0; k < 3; ++k) {
        a.n[k] = h->of->box.size[k];
    }
    a.box[0] = h->of->slab.first % 2 - h->of->slab.first;
    a.box[1] = a.box[0] + cmgi_halves_planes(h->of);
    for (int k = 0; k < 27; ++k) {
        a.value[k] = (T)h->of->box.value[k];
    }
    a.first = (T)h->first;
    a.second = (T)h->second;
    a.x = half_vector<const T, MORE>(h->of, h->x, false, CMGI_GHOST_X);
    a.b = half_vector<const T, MORE>(h->of, h->b, false, CMGI_GHOST_B);
    a.e = half_vector<const T, MORE>(h->of, h->e, true, CMGI_GHOST_E);
    a.out = half_vector<T, MORE>(h->of, h->out, false, h->up ? CMGI_GHOSTS : CMGI_GHOST_X);
    a.coarse = half_vector<T, MORE>(h->of, h->coarse, true, CMGI_GHOSTS);
    a.part[0] = a.out.from & ~1;
    a.part[1] = h->out != NULL ? a.out.to : a.b.end;
    a.dots = h->dots;
    if (h->step != NULL) {
        a.semi = h->step->semi;
        a.stop = h->step->stop;
        a.sum = h->step->x;
        a.fresh = h->step->fresh;
        a.squares = h->step->squares;
    }
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
    const long long share = 1 + (tiles * lines - 1) / ((long long)EACH * processors);
    return share < MOST ? (int)(share + share % 2) : MOST;
}

/* Planes of either rim of a part, the last ones from the even plane on that needs none after it. */
enum { HALF_RIM = 8 };

template <typename A>
static int half_inner_end(const A &a)
{
    return (a.b.end - cmgi_ghost_planes[CMGI_GHOST_B]) & ~1;
}

template <typename T, int DIM, int STAGES, bool UP, bool EVEN, bool STEP, bool MORE>
static void launch_shape(const cmg_context *ctx, const cmgi_half *h)
{
    typedef half_shape<T, DIM, UP, EVEN> s;
    const cmgi_device *d = cmgi_device_of(ctx);
    half_args<T, MORE> a = half_arguments<T, MORE>(h);
    const int own = half_own<DIM, s::R, UP>::POSITIONS;
    if (h->part == CMGI_HALF_RIMS) {
        a.chunk = HALF_RIM;
        a.stride = half_inner_end(a) - a.part[0];
    } else {
        if (h->part == CMGI_HALF_INNER) {
            a.part[1] = half_inner_end(a);
            a.part[0] += HALF_RIM;
            for (half_planes<const T, MORE> *v :
                 {&a.x, &a.b, &a.e}) { /* others' are on their way */
                v->from = v->begin;
                v->to = v->end;
            }
        }
        a.stride = a.part[1] - a.part[0];
        const dim3 once = half_grid<DIM, s::R>(a, own);
        const long long tiles = (long long)once.x * once.y;
        a.chunk = DIM == 3 ? planes_3d(a.stride, tiles, d->processors, s::BLOCKS)
                           : lines_2d(a.stride, tiles, d->processors);
        a.stride = a.chunk;
    }
    const dim3 grid = half_grid<DIM, s::R>(a, own);
    cmgi_launch(d, grid, HALF_THREADS, 0, half_kernel<T, DIM, STAGES, UP, EVEN, STEP, MORE>, a);
}

/* f(cut) for a box that is small enough for tiles; false = it is not. */
template <typename T, int DIM, typename F>
static bool in_tiles(const cmgi_halves *h, const F &f)
{
    const cmg_size rows = cmgi_halves_rows(h, true);
    if (h->march || rows > (DIM == 2 ? FLAT_ROWS : SMALL_ROWS)) {
        return false;
    }
    if constexpr (DIM == 2) {
        f(half_flat_cut());
    } else if (rows <= TINY_ROWS) {
        f(half_tiny_cut());
    } else {
        f(half_small_cut<T>());
    }
    return true;
}

/* Up, the last fine position may have a tile of its own; beside them `more` blocks. */
template <typename CUT>
static dim3 tile_grid(const cmgi_halves *h, bool up, int more)
{
    const cmg_index *n = h->box.size;
    const bool flat = CUT::DIM == 2;
    const auto tiles = [&](int size, int own) { return cmgi_grid(size / 2 + (up ? 1 : 0), own); };
    return dim3(tiles(n[0], CUT::C0), flat ? 1 : tiles(n[1], CUT::C1),
                tiles(n[flat ? 1 : 2], CUT::C2) + more);
}

template <typename T, int DIM, int STAGES, bool UP, bool EVEN, bool STEP>
static bool launch_tiles(const cmg_context *ctx, const cmgi_half *h)
{
    return in_tiles<T, DIM>(h->of, [&](auto cut) {
        using CUT = decltype(cut);
        half_args<T, false> a = half_arguments<T, false>(h);
        const int more = !UP && a.squares.count > 0 ? 1 : 0;
        cmgi_launch(cmgi_device_of(ctx), tile_grid<CUT>(h->of, UP, more), CUT::THREADS, 0,
                    half_tile_kernel<T, STAGES, UP, EVEN, STEP, CUT>, a);
    });
}

template <typename T, int DIM, bool EVEN, bool MORE>
static void launch_half(const cmg_context *ctx, const cmgi_half *h)
{
    const auto launch = [&](auto stages, auto up, auto step) {
        if constexpr (!MORE) {
            if (launch_tiles<T, DIM, stages, up, EVEN, step>(ctx, h)) {
                return;
            }
        }
        launch_shape<T, DIM, stages, up, EVEN, step, MORE>(ctx, h);
    };
    const auto either_way = [&](auto stages) {
        if constexpr (stages == 2 && EVEN && !MORE && sizeof(T) == sizeof(float)) {
            if (h->up && h->step != NULL) {
                launch(stages, std::true_type(), std::true_type());
                return;
            }
        }
        h->up ? launch(stages, std::true_type(), std::false_type())
              : launch(stages, std::false_type(), std::false_type());
    };
    if (h->stages == 2) {
        either_way(std::integral_constant<int, 2>());
    } else if (h->stages == 1) {
        either_way(std::integral_constant<int, 1>());
    } else {
        launch(std::integral_constant<int, 0>(), std::false_type(), std::false_type());
    }
}

template <int DIM>
static void launch_any(const cmg_context *ctx, const cmgi_half *h)
{
    /* cmgi_halves_find takes no others: even ones in fp64, those in fp32 on several ranks */
    if (h->of->slab.ghosts[CMGI_GHOST_B] != NULL) {
        launch_half<float, DIM, true, true>(ctx, h);
    } else if (h->of->precision == CMG_FP64) {
        launch_half<double, DIM, true, false>(ctx, h);
    } else if (h->of->box.even) {
        launch_half<float, DIM, true, false>(ctx, h);
    } else {
        launch_half<float, DIM, false, false>(ctx, h);
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

template <typename T, int DIM>
static cmg_size dots_of(const cmgi_halves *h)
{
    cmg_size blocks = 0;
    (void)in_tiles<T, DIM>(h, [&](auto cut) {
        const dim3 grid = tile_grid<decltype(cut)>(h, true, 0);
        blocks = (cmg_size)grid.x * grid.y * grid.z;
    });
    return blocks;
}

extern "C" cmg_size cmgi_half_dots_cuda(const cmgi_halves *halves)
{
    const bool flat = halves->box.dims == 2;
    return halves->slab.ghosts[CMGI_GHOST_B] != NULL ? 0
           : halves->precision == CMG_FP64
               ? (flat ? dots_of<double, 2>(halves) : dots_of<double, 3>(halves))
               : (flat ? dots_of<float, 2>(halves) : dots_of<float, 3>(halves));
}
