/*
 * Halves of a cycle on a box (halves.h), each one pass over its vectors, all between them in
 * registers. Down without stages, x is given.
 *
 * The grid is streamed along its slowest direction, "planes" below: planes of a box in 3D, lines of
 * one in 2D. A warp owns a tile of each plane, in 3D of neighbouring positions, one a lane, in R
 * lines, in 2D of R neighbouring positions a lane, and a rim of two around it, which others own. A
 * plane's values are multiplied as they come: for the plane before, for itself and for the plane
 * after (`up`, `own`, `low`), so that of each stage two sums and one vector a position are kept.
 * When plane z is read, the first stage is done with plane z - 1 and the second with z - 2. PF
 * planes are read ahead.
 *
 * What lies outside of the box counts as 0 in every stage: there vectors read as 0 and stages give
 * 0. Warps that see nothing outside in a plane (RIM = false) do not ask.
 *
 * A rank of several has some planes of the box, and of vectors a few of its neighbours' beside its
 * own, in arrays of their own. Planes count from its first one, if that is an odd one of the box
 * from the one before: so what is even here is so in the box.
 *
 * Cost in 3D, fp32, a row: down 4 + 4 + 0.5 bytes, up 4 + 4 + 0.5 + 4; of a tile of R lines
 * (R + 5) / R 32 / 26 (down), (R + 4) / R 32 / 28 (up) times that pass the first cache.
 */
#pragma once
#include "core/pack.cuh"

enum { HALF_WARPS = 4, HALF_THREADS = 32 * HALF_WARPS };

/*
 * Planes of a vector; MORE: those of neighbours, too, and each pointer is to where plane 0 would be
 * if it lay with those. One rank has planes 0 .. to - 1, and asks for nothing more.
 */
template <typename T, bool MORE>
struct half_planes {
    T *low;   /* planes from .. begin - 1 */
    T *own;   /* planes begin .. end - 1 */
    T *high;  /* planes end .. to - 1 */
    int from; /* = to: no vector */
    int begin;
    int end;
    int to;
    /* these are the same for the warp */
    __device__ __forceinline__ bool there(int z) const
    {
        return (unsigned)(z - (MORE ? from : 0)) < (unsigned)(to - (MORE ? from : 0));
    }
    /* of a plane that one rank is known to have */
    __device__ __forceinline__ bool mine(int z) const
    {
        return !MORE || there(z);
    }
    __device__ __forceinline__ T *array(int z) const
    {
        return !MORE ? own : z < begin ? low : z < end ? own : high;
    }
};

template <typename T, bool MORE>
struct half_args {
    int n[3];    /* positions of a line, lines, planes; in 2D one plane */
    int box[2];  /* the first plane of the box, and the one after the last */
    int part[2]; /* likewise of those that are streamed, an even one first */
    int chunk;   /* planes a warp streams, even ... */
    int stride;  /* ... and from the first one of a block to that of the next */
    T value[27]; /* of the box */
    T first;     /* up: omega d of the stages, in order; down: x = first b, of two ... */
    T second;    /* ... stages x = first b - second A b */
    half_planes<const T, MORE> x; /* up: the guess, none = 0; down: the vector of 0 stages */
    half_planes<const T, MORE> b; /* right-hand side */
    half_planes<const T, MORE> e; /* up: the correction on the coarse box */
    half_planes<T, MORE> out;     /* x of down, z of up */
    half_planes<T, MORE> coarse;  /* down: c */
    double *dots;                 /* up in tiles: of each block its part of (b, z), or NULL */
    cmgi_semi *semi;              /* up with a step behind it: out is its d, ... */
    double *sum;                  /* ... this its x, ... */
    bool fresh;                   /* ... which is 0, and not read; ... */
    cmgi_stop *stop;              /* ... neither changes once it has stopped */
    cmgi_addends squares;         /* down in tiles: of a step that one block more notes */
};

/* Positions that a warp owns in the direction of lanes, and elements that a lane reads. */
template <int DIM, int R, bool UP>
struct half_own {
    enum {
        POSITIONS = (DIM == 3 ? 32 : 32 * R) - (UP ? 4 : 6),
        COUNT = R + (DIM == 2 ? 0
                     : UP     ? 4
                              : 5)
    };
};

/* Where a warp's tile lies. */
template <int DIM, int R>
struct half_tile {
    int lane;
    int x;         /* position of the lane, in 2D of its first */
    int y;         /* 3D: first line, rim included */
    int low;       /* first plane of the box */
    int high;      /* after the last */
    int z0;        /* first plane owned */
    int z1;        /* behind the last */
    unsigned in;   /* bit j: element j of the lane is in the box */
    unsigned mine; /* and it is owned, planes aside */
    bool inner;    /* all elements of the warp are in the box, and off its faces */
    int at;        /* of element 0 in plane 0 */
    int step;      /* from an element to the next */
    int plane;     /* from a plane to the next */

    /* `count` elements a lane; `own` positions a warp in the direction of lanes. */
    template <typename A>
    __device__ __forceinline__ half_tile(const A &a, int count, int own)
        : lane((int)threadIdx.x % 32)
    {
        const int warp = (int)(threadIdx.x / 32);
        const int column = DIM == 3 ? (int)blockIdx.x : (int)blockIdx.x * HALF_WARPS + warp;
        x = column * own + lane * (DIM == 3 ? 1 : R) - 2;
        y = DIM == 3 ? ((int)blockIdx.y * HALF_WARPS + warp) * R - 2 : 0;
        low = a.box[0];
        high = a.box[1];
        z0 = a.part[0] + (int)blockIdx.z * a.stride;
        z1 = z0 + a.chunk < a.part[1] ? z0 + a.chunk : a.part[1];
        step = DIM == 3 ? a.n[0] : 1;
        plane = DIM == 3 ? a.n[0] * a.n[1] : a.n[0];
        at = DIM == 3 ? y * a.n[0] + x : x;
        in = 0;
        mine = 0;
        inner = true;
#pragma unroll
        for (int j = 0; j < count; ++j) {
            const int jx = DIM == 3 ? x : x + j;
            const int jy = DIM == 3 ? y + j : 0;
            const bool inside = jx >= 0 && jx < a.n[0] && jy >= 0 && jy < a.n[DIM == 3 ? 1 : 2];
            const int q = DIM == 3 ? lane : lane * R + j; /* place in the warp */
            const bool line = DIM == 2 || (j >= 2 && j < R + 2);
            inner = inner && jx > 0 && jx < a.n[0] - 1 && (DIM == 2 || (jy > 0 && jy < a.n[1] - 1));
            in |= inside ? 1U << j : 0U;
            mine |= inside && line && q >= 2 && q < own + 2 ? 1U << j : 0U;
        }
        inner = __all_sync(CMGI_ALL, inner);
    }
    __device__ __forceinline__ bool none() const
    {
        return !__any_sync(CMGI_ALL, mine != 0);
    }
    template <bool RIM>
    __device__ __forceinline__ bool inside(int j) const
    {
        return !RIM || (in >> j & 1U) != 0;
    }
    template <bool RIM>
    __device__ __forceinline__ bool owns(int j) const
    {
        return RIM || DIM == 2 ? (mine >> j & 1U) != 0 : mine != 0;
    }
    __device__ __forceinline__ bool in_planes(int z) const
    {
        return z >= low && z < high;
    }
};

/* N elements of plane z of a vector from element `first` on, 0 where they are not there. */
template <bool RIM, int N, int DIM, int R, typename T, bool MORE>
__device__ __forceinline__ void half_load(const half_tile<DIM, R> &t,
                                          const half_planes<const T, MORE> &vector, int z,
                                          int first, T (&v)[N])
{
    if (vector.there(z)) {
        const T *array = vector.array(z);
        const int at = t.at + z * t.plane + first * t.step;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const bool there = t.template inside<RIM>(j + first);
            v[j] = there ? __ldg(array + (at + j * t.step)) : T(0);
        }
    } else {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            v[j] = T(0);
        }
    }
}

/* What lies left and right of each element: in `l` and `r`, or both summed in `l`. */
template <int DIM, bool EVEN, int N, typename T>
__device__ __forceinline__ void half_sides(const T (&c)[N], T (&l)[N], T (&r)[N])
{
    if (DIM == 3) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            l[j] = __shfl_up_sync(CMGI_ALL, c[j], 1);
            r[j] = __shfl_down_sync(CMGI_ALL, c[j], 1);
        }
    } else {
        const T before = __shfl_up_sync(CMGI_ALL, c[N - 1], 1);
        const T behind = __shfl_down_sync(CMGI_ALL, c[0], 1);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            l[j] = j > 0 ? c[j > 0 ? j - 1 : 0] : before;
            r[j] = j + 1 < N ? c[j + 1 < N ? j + 1 : 0] : behind;
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        l[j] = EVEN ? l[j] + r[j] : l[j];
    }
}

/* What a plane gives to element j of the plane before and of the plane after; what it gives to
 * itself is added to `own`. */
template <int DIM, bool EVEN, int N, typename T>
__device__ __forceinline__ void half_sums(const T *v, const T (&c)[N], const T (&l)[N],
                                          const T (&r)[N], int j, T &low, T &own, T &up)
{
    if (DIM == 3 && EVEN) {
        const T line = c[j] + c[j + 2];
        const T side = l[j] + l[j + 2];
        own += v[13] * c[j + 1];
        own += v[14] * l[j + 1];
        own += v[16] * line;
        own += v[17] * side;
        up = v[22] * c[j + 1] + v[23] * l[j + 1] + v[25] * line + v[26] * side;
        low = up;
    } else if (DIM == 3) {
        low = up = 0;
#pragma unroll
        for (int b = 0; b < 3; ++b) {
            low += v[3 * b] * l[j + b] + v[3 * b + 1] * c[j + b] + v[3 * b + 2] * r[j + b];
            own += v[9 + 3 * b] * l[j + b];
            own += v[10 + 3 * b] * c[j + b];
            own += v[11 + 3 * b] * r[j + b];
            up += v[18 + 3 * b] * l[j + b] + v[19 + 3 * b] * c[j + b] + v[20 + 3 * b] * r[j + b];
        }
    } else if (EVEN) {
        own += v[13] * c[j];
        own += v[14] * l[j];
        up = v[16] * c[j] + v[17] * l[j];
        low = up;
    } else {
        low = v[9] * l[j] + v[10] * c[j] + v[11] * r[j];
        own += v[12] * l[j];
        own += v[13] * c[j];
        own += v[14] * r[j];
        up = v[15] * l[j] + v[16] * c[j] + v[17] * r[j];
    }
}

/* The sums of a stage for N elements: A y at the plane before the one that was read last. */
template <int DIM, bool EVEN, int N, typename T>
struct half_stage {
    T m[N]; /* of the planes before it and itself */
    T l[N]; /* of the plane before the next one */
    T c[N]; /* y */

    __device__ __forceinline__ half_stage()
    {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            m[j] = l[j] = c[j] = 0;
        }
    }
    /* s = A y of the plane before; `y` is that plane's, and then this one's. */
    template <int M>
    __device__ __forceinline__ void add(const T *value, const T (&next)[M], T (&s)[N], T (&y)[N])
    {
        T left[M];
        T right[M];
        half_sides<DIM, EVEN>(next, left, right);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            T low;
            T up;
            half_sums<DIM, EVEN>(value, next, left, right, j, low, l[j], up);
            s[j] = m[j] + up;
            m[j] = l[j];
            l[j] = low;
            y[j] = c[j];
            c[j] = next[DIM == 3 ? j + 1 : j];
        }
    }
};

/* No step. */
struct half_none {
    template <typename A>
    __device__ __forceinline__ explicit half_none(const A &)
    {
    }
};

/* Blocks of a half: `own` positions a warp in the direction of lanes, R lines in 3D. */
template <int DIM, int R, typename A>
static dim3 half_grid(const A &a, int own)
{
    const int tiles = (a.n[0] + own - 1) / own;
    const unsigned chunks = (unsigned)((a.part[1] - a.part[0] + a.stride - 1) / a.stride);
    return DIM == 3 ? dim3((unsigned)tiles, cmgi_grid(a.n[1], HALF_WARPS * R), chunks)
                    : dim3(cmgi_grid(tiles, HALF_WARPS), 1, chunks);
}
