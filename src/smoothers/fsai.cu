/*
 * FSAI's rows on the device. They are tried with little work space first, of which a multiprocessor
 * holds many; those that need more are listed for the next.
 */
#include "core/each.h"

extern "C" {
#include "smoothers/fsai.h"
}
#include "smoothers/fsai.inc"

/* Work spaces, and how many rows a block has, each by so many lanes. Few lanes: by default a row of
 * G for trilinear elements has 7 entries, the rows that it comes from 27. */
enum { CLASSES = 3, NARROW = 8, WIDE = 32 };
static const struct {
    int rows;
    fsai_sizes s;
} classes[CLASSES] = {{16, {24, 128}}, {2, {72, 1024}}, {1, {CMGI_FSAI_DEVICE_ROOM, 4096}}};

/* What the kernels tell the host. */
typedef struct counters {
    unsigned long long bad; /* lowest row that fails, ~0: none */
    int left;               /* rows in the list */
} counters;

/* Row a of the list, NULL: row a, of `rows`. */
template <int WIDTH>
__global__ void rows_kernel(const cmgi_fsai_problem P, const fsai_sizes s, const int *list,
                            int rows, const cmgi_fsai_places to, counters *all, int *left)
{
    extern __shared__ double2 space[];
    const int own = (int)threadIdx.x / WIDTH;
    const cmg_size a = (cmg_size)blockIdx.x * (blockDim.x / WIDTH) + own;
    const bool exists = a < rows;
    fsai_row<WIDTH> r;
    r.P = &P;
    r.i = exists && list != NULL ? list[a] : a;
    r.lane = (int)threadIdx.x % WIDTH;
    r.active = exists;
    open_row(&r, &s, (char *)space + own * bytes_of(&s));
    make_row(&r);
    if (exists && r.state == DONE) {
        store_row(&r, to.G.indices + to.G.indptr[r.i], to.G.values + to.G.indptr[r.i]);
    }
    if (exists && r.lane == 0) {
        to.length[r.i] = r.state == DONE ? r.length + 1 : 0;
        if (r.state == FAILED) {
            atomicMin(&all->bad, (unsigned long long)r.i);
        } else if (r.state == NO_ROOM) {
            left[atomicAdd(&all->left, 1)] = (int)r.i;
        }
    }
}

/* What is in the works. */
typedef struct work {
    const cmgi_fsai_problem *P;
    const cmgi_fsai_places *to;
    counters *counted;
    int *list; /* of the rows that are tried, NULL: all */
    int *left; /* of those that need more */
} work;

/* Rows of a list, NULL: the first `rows`, with the work space of a class; those that need more into
 * the other list. *taken = false: the device has not so much for a block. */
template <int WIDTH>
static cmg_status try_rows(cmg_context *ctx, const work *w, int in_block, const fsai_sizes *s,
                           int rows, bool *taken)
{
    const size_t bytes = in_block * bytes_of(s);
    int most = 0;
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          cmgi_device_of(ctx)->number));
    *taken = bytes <= (size_t)most;
    if (!*taken) {
        return CMG_OK;
    }
    CMGI_CUDA(ctx, cudaFuncSetAttribute(rows_kernel<WIDTH>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CMGI_TRY(cmgi_cuda_clear(ctx, &w->counted->left, sizeof w->counted->left));
    return CMGI_RUN(ctx, cmgi_grid(rows, in_block), in_block * WIDTH, bytes, rows_kernel<WIDTH>,
                    *w->P, *s, w->list, rows, *w->to, w->counted, w->left);
}

/* Class after class, until no row is left. */
static cmg_status try_classes(cmg_context *ctx, work *w, counters *c, bool *made)
{
    cmgi_scratch scratch(ctx);
    c->bad = ~0ULL;
    c->left = (int)w->P->A.rows;
    CMGI_TRY(scratch.take(1, &w->counted));
    CMGI_TRY(cmgi_to_device(ctx, w->counted, c, sizeof *c));
    *made = true;
    for (int k = 0; k < CLASSES && c->left > 0 && *made; ++k) {
        fsai_sizes s = classes[k].s;
        s.room = w->to->longest < s.room ? w->to->longest : s.room;
        CMGI_TRY(scratch.take(c->left, &w->left));
        CMGI_TRY(k == 0 ? try_rows<NARROW>(ctx, w, classes[k].rows, &s, c->left, made)
                        : try_rows<WIDE>(ctx, w, classes[k].rows, &s, c->left, made));
        CMGI_TRY(cmgi_to_host(ctx, c, w->counted, sizeof *c));
        w->list = w->left;
    }
    *made = *made && c->left == 0;
    return CMG_OK;
}

cmg_status cmgi_fsai_rows_device(cmg_context *ctx, const cmgi_fsai_problem *P,
                                 const cmgi_fsai_places *to, cmg_size *bad, bool *made)
{
    CMGI_ON_DEVICE(ctx);
    work w = {P, to, NULL, NULL, NULL};
    counters c = {};
    const cmg_status status = try_classes(ctx, &w, &c, made);
    *bad = c.bad == ~0ULL ? -1 : (cmg_size)c.bad;
    return status;
}
