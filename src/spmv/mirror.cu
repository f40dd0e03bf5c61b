/* Products with a mirror. */
#include "spmv/march.cuh"
#include "spmv/mirror.cuh"

template <typename T>
struct mirror_args {
    march_args<T> m; /* without values */
    const void *values;
    const float *scale;
    const float *diagonal;
};

/* What is loaded of a line. */
template <typename T, cmg_values VALUES>
struct mirror_line {
    typedef upper_half<T, VALUES> half;
    T x;
    T unit; /* scale of the row in this plane */
    T diagonal;
    typename half::word inside[half::INSIDE];
    typename half::word link[half::LINK]; /* of the row in the plane before */
};

/* A plane: x of its rows, their entries, and what the rows before them have beside it. */
template <typename T, cmg_values VALUES, int RY>
struct mirror_plane {
    mirror_line<T, VALUES> line[RY + 2];
    march_rows<T, RY> beside;
};

/*
 * A warp on its way, as in march.cuh. With plane z come the entries that join it to the plane
 * before, of whose rows it ends the sums, and those within it. Row i gives v x_j to its own sum,
 * and v x_i to that of row j: sums for the lanes beside it are handed over once a line.
 */
template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES, int RY>
struct mirror_march {
    typedef march_tile<3, RY> tile;
    typedef upper_half<T, VALUES> half;
    typedef mirror_plane<T, VALUES, RY> plane;
    enum { LINES = tile::LINES, SCALED = VALUES != CMG_VALUES_FULL };
    T before[LINES]; /* x in the plane before, times the scale of its row */
    T scale[LINES];  /* of that row */
    T mid[RY];       /* of rows in the plane before: what has come so far */
    T own[RY];       /* their x */
    double dot;

    /* Plane z. */
    static __device__ __forceinline__ void load(const mirror_args<T> &a, const tile &t, int z,
                                                plane &p)
    {
        const cmg_size here = t.begin + z * a.m.apart;
        const bool is = z >= 0 && z <= t.last;
        const bool joins = z > 0 && z >= t.first && z <= t.end && z < a.m.planes;
        const bool within = z >= t.first && z < t.end;
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            mirror_line<T, VALUES> &line = p.line[j];
            const cmg_size i = here + (j - 1) * t.apart;
            const bool there = (t.reads >> j & 1) != 0;
            const typename half::word *row = half::row(a.values, i);
            const typename half::word *low =
                half::row(a.values, i - a.m.apart) + half::INSIDE * CMGI_SLICE;
            line.x = there && is ? __ldg(a.m.x + i) : T(0);
            line.unit = !SCALED                    ? T(1)
                        : there && is && z < t.end ? (T)__ldg(a.scale + i / CMGI_SLICE)
                                                   : T(0);
            line.diagonal = SCALED && there && within ? (T)__ldg(a.diagonal + i) : T(0);
#pragma unroll
            for (int k = 0; k < half::INSIDE; ++k) {
                line.inside[k] =
                    there && within ? __ldg(row + k * CMGI_SLICE) : typename half::word();
            }
#pragma unroll
            for (int k = 0; k < half::LINK; ++k) {
                line.link[k] = there && joins ? __ldg(low + k * CMGI_SLICE) : typename half::word();
            }
        }
        march_beside<T, READS, RY>(a.m, t, z, here - a.m.apart, T(0), p.beside);
    }
    /* Rows in the plane before end with what the links give. */
    __device__ __forceinline__ void end_rows(const march_args<T> &a, const tile &t, int z,
                                             const plane &p, const T (&l)[LINES],
                                             const T (&r)[LINES], const T (&link)[LINES][9])
    {
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            T sum = 0;
#pragma unroll
            for (int b = 0; b < 3; ++b) {
                const T *v = link[j + 1] + 3 * b;
                sum += v[0] * l[j + b];
                sum += v[1] * p.line[j + b].x;
                sum += v[2] * r[j + b];
            }
            dot += march_finish<T, KIND, READS, RY>(a, t, z, j, p.beside, own[j],
                                                    mid[j] + (SCALED ? scale[j + 1] * sum : sum));
        }
    }
    __device__ __forceinline__ void step(const mirror_args<T> &a, const tile &t, int z,
                                         const plane &p)
    {
        T l[LINES];
        T r[LINES];
        T self[LINES];
        T link[LINES][9];
        T inside[LINES][4];
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            const T x = p.line[j].x;
            l[j] = __shfl_up_sync(CMGI_ALL, x, 1);
            r[j] = __shfl_down_sync(CMGI_ALL, x, 1);
            self[j] = SCALED ? p.line[j].unit * x : x;
            half::open(p.line[j].inside, inside[j]);
            half::open(p.line[j].link, link[j]);
        }
        end_rows(a.m, t, z, p, l, r, link);
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            const int k = j + 1;
            T to[3] = {0, 0, 0}; /* the lanes before, itself, behind */
#pragma unroll
            for (int c = 0; c < 3; ++c) {
#pragma unroll
                for (int b = 0; b < 3; ++b) {
                    to[c] += link[k - b + 1][3 * b + c] * before[k - b + 1];
                }
                to[c] += inside[k - 1][1 + c] * self[k - 1];
            }
            to[2] += inside[k][0] * self[k];
            const T *v = inside[k];
            const T x = p.line[k].x;
            const T sum = v[0] * r[k] + v[1] * l[k + 1] + v[2] * p.line[k + 1].x + v[3] * r[k + 1];
            T d = p.line[k].diagonal;
            if constexpr (!SCALED) {
                d = p.line[k].inside[0];
            }
            mid[j] = (SCALED ? p.line[k].unit * sum : sum) + d * x + to[1];
            mid[j] += __shfl_up_sync(CMGI_ALL, to[2], 1) + __shfl_down_sync(CMGI_ALL, to[0], 1);
            own[j] = x;
        }
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            before[j] = self[j];
            scale[j] = p.line[j].unit;
        }
    }
};

template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES, int RY, int WARPS,
          int BLOCKS>
__global__ void __launch_bounds__(WARPS * 32, BLOCKS) mirror_kernel(const mirror_args<T> a)
{
    const march_tile<3, RY> t(a.m, (int)blockIdx.y * WARPS + (int)threadIdx.x / 32,
                              (int)threadIdx.x % 32);
    cmgi_after_previous();
    mirror_march<T, KIND, READS, VALUES, RY> m = {};
    for (int z = t.first - 1; z <= t.end; ++z) {
        mirror_plane<T, VALUES, RY> p;
        m.load(a, t, z, p);
        m.step(a, t, z, p);
    }
    if ((READS & (MARCH_DOTS | MARCH_ROUNDED)) != 0) {
        march_leave<WARPS * 32>(a.m, m.dot);
    }
}

/* Lines of a warp, warps of a block, and blocks of a multiprocessor. */
template <typename T, cmg_values VALUES>
struct mirror_shape {
    enum {
        LINES = 2,
        WARPS = 4,
        BLOCKS = sizeof(T) == sizeof(double) ? 4
                 : VALUES == CMG_VALUES_FULL ? 6
                                             : 8
    };
};

template <typename T, cmg_values VALUES>
static march_cut cut_mirror(const cmg_context *ctx, const cmgi_mirror *M)
{
    typedef mirror_shape<T, VALUES> s;
    return march_cut_of(ctx, M->size, s::LINES * s::WARPS, s::BLOCKS);
}

template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES>
static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x,
                      float *rounded)
{
    typedef mirror_shape<T, VALUES> s;
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmgi_mirror *M = C->mirror;
    const march_cut c = (cut_mirror<T, VALUES>)(A->ctx, M);
    mirror_args<T> a = {};
    a.m.positions = M->size[0];
    a.m.lines = M->size[1];
    a.m.planes = M->size[2];
    a.m.apart = (cmg_size)M->size[0] * M->size[1];
    a.m.chunk = c.chunk;
    a.m.x = x;
    a.m.f = f;
    a.m.rounded = rounded;
    a.values = M->values;
    a.scale = C->p.scale;
    a.diagonal = M->diagonal;
    return CMGI_RUN_EARLY(A->ctx, c.grid, s::WARPS * CMGI_WARP, 0,
                          mirror_kernel<T, KIND, READS, VALUES, s::LINES, s::WARPS, s::BLOCKS>, a);
}

extern "C" cmg_status cmgi_mirror_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                            const void *x)
{
    return cmgi_select_values(
        A, ((const cmgi_compressed *)A->data)->p.kind, w, [&](auto zero, auto kind, auto kept) {
            using T = decltype(zero);
            if constexpr (kept == CMG_VALUES_FP8) {
                return CMG_ERR_INTERNAL;
            } else {
                const auto f = cmgi_wb_of<T>::cast(w);
                return march_reads<T, kind>(f, (const T *)x, [&](auto reads) {
                    return run<T, kind, reads, kept>(A, f, (const T *)x, NULL);
                });
            }
        });
}

extern "C" cmg_status cmgi_mirror_residual_cuda(const cmg_matrix *A, const double *b,
                                                const double *x, float *r, double *dots)
{
    CMGI_ON_DEVICE(A->ctx);
    return run<double, CMGI_WB_SUM, MARCH_C | MARCH_ROUNDED, CMG_VALUES_FULL>(
        A, march_residual(b, dots), x, r);
}

extern "C" cmg_size cmgi_mirror_blocks(const cmg_context *ctx, const cmgi_mirror *mirror)
{
    const march_cut c = cut_mirror<double, CMG_VALUES_FULL>(ctx, mirror);
    return (cmg_size)c.grid.x * c.grid.y * c.grid.z;
}
