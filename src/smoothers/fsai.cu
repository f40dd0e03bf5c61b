/*
 * FSAI from A to G and G^T on the device: rows of G (fsai_row.cuh) into places that hold the
 * longest they may become, from where they move together.
 *
 * Rows are tried with little work space first, of which a multiprocessor holds many; those that
 * need more are listed for the next.
 */
#include "smoothers/fsai_row.cuh"
#include "smoothers/pattern.cuh"

enum { LONGEST_SORTED = 1024 };

/* Work spaces, and how many rows a block has, each by so many lanes. Few lanes: by default a row of
 * G for trilinear elements has 7 entries, the rows that it comes from 27. */
enum { CLASSES = 3, NARROW = 8, WIDE = 32 };
static const struct {
    int rows;
    sizes s;
} classes[CLASSES] = {{16, {24, 128}}, {2, {72, 1024}}, {1, {160, 4096}}};

/* What the kernels tell the host. */
typedef struct counters {
    unsigned long long bad; /* lowest row that fails, ~0: none */
    int longest;            /* most columns that a J may have */
    int left;               /* rows in the list */
} counters;

/* Rows of G in their places, at first. */
typedef struct places {
    cmgi_device_csr G; /* columns ascend */
    cmg_size *length;  /* rows + 1 */
} places;

/* offset[i] = how many entries row i of G may have. */
__global__ void bound_kernel(const problem P, int most, cmg_size *offset, counters *all)
{
    const cmg_size i = thread_row() / LANES;
    const team<LANES> t;
    const bool exists = i < P.A.rows;
    long long count = (long long)P.choice.steps * P.choice.add;
    each_entry(P, t, i, i, exists,
               [&](const entry &e) { count += __popc(t.votes(strong(P, i, e))); });
    count = count < i ? count : i;
    count = count < most ? count : most;
    if (exists && t.lane == 0) {
        offset[i] = count + 1;
        if (count > all->longest) { /* a look first: most rows change nothing */
            atomicMax(&all->longest, (int)count);
        }
    }
}

/* Row a of the list, NULL: row a, of `rows`. */
template <int WIDTH>
__global__ void rows_kernel(const problem P, const sizes s, const int *list, int rows,
                            const places to, counters *all, int *left)
{
    extern __shared__ double2 space[];
    const int own = (int)threadIdx.x / WIDTH;
    const cmg_size a = (cmg_size)blockIdx.x * (blockDim.x / WIDTH) + own;
    const bool exists = a < rows;
    const cmg_size i = exists && list != NULL ? list[a] : a;
    row<WIDTH> r(P, i, exists, s, (char *)space + own * bytes_of(s));
    r.make();
    if (exists && r.state == DONE) {
        r.store(to.G.indices + to.G.indptr[i], to.G.values + to.G.indptr[i]);
    }
    if (exists && r.t.lane == 0) {
        to.length[i] = r.state == DONE ? r.length + 1 : 0;
        if (r.state == FAILED) {
            atomicMin(&all->bad, (unsigned long long)i);
        } else if (r.state == NO_ROOM) {
            left[atomicAdd(&all->left, 1)] = (int)i;
        }
    }
}

/* The rows of G, moved together. */
__global__ void move_kernel(const cmgi_device_csr from, cmgi_device_csr to)
{
    cmg_size k = 0;
    const cmg_size i = shared_row(to, &k);
    const cmg_size by = i < to.rows ? from.indptr[i] - to.indptr[i] : 0;
    for (; i < to.rows && k < to.indptr[i + 1]; k += LANES) {
        to.indices[k] = from.indices[k + by];
        to.values[k] = from.values[k + by];
    }
}

/* ------------------------------------------------------------------ steps */

/* What is in the works. */
typedef struct work {
    cmg_context *ctx;
    cmgi_prepared prepared;
    problem P;
    places to;
    counters *counted;
    int *list; /* of the rows that are tried, NULL: all */
    int *left; /* of those that need more */
} work;

static cmg_status read_counters(const work *w, counters *c)
{
    return cmgi_to_host(w->ctx, c, w->counted, sizeof *c);
}

/* Places for the rows of G. */
static cmg_status make_places(work *w, counters *c)
{
    cmg_context *ctx = w->ctx;
    cmgi_device_csr *G = &w->to.G;
    const cmg_size rows = w->P.A.rows;
    G->rows = rows;
    c->bad = ~0ULL;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *w->counted, &w->counted));
    CMGI_TRY(cmgi_to_device(ctx, w->counted, c, sizeof *c));
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *G->indptr, &G->indptr));
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *w->to.length, &w->to.length));
    bound_kernel<<<ROWS(rows * LANES)>>>(w->P, classes[CLASSES - 1].s.room, G->indptr, w->counted);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_device_csr_offsets(ctx, rows, G->indptr, &G->nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, G->nnz, sizeof *G->indices, &G->indices));
    CMGI_TRY(cmgi_alloc_device(ctx, G->nnz, sizeof *G->values, &G->values));
    return read_counters(w, c);
}

/* Rows of a list, NULL: the first `rows`, with the work space of a class; those that need more into
 * the other list. *taken = false: the device has not so much for a block. */
template <int WIDTH>
static cmg_status try_rows(work *w, int in_block, const sizes *s, int rows, bool *taken)
{
    cmg_context *ctx = w->ctx;
    const size_t bytes = in_block * bytes_of(*s);
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
    rows_kernel<WIDTH><<<cmgi_grid(rows, in_block), in_block * WIDTH, bytes, cmgi_stream(ctx)>>>(
        w->P, *s, w->list, rows, w->to, w->counted, w->left);
    return CMGI_LAUNCHED(ctx);
}

/* All rows of G; *made = false: one needs too much. */
static cmg_status make_rows(work *w, counters *c, bool *made)
{
    cmg_context *ctx = w->ctx;
    CMGI_TRY(make_places(w, c));
    c->left = (int)w->P.A.rows;
    *made = true;
    for (int k = 0; k < CLASSES && c->left > 0 && *made; ++k) {
        sizes s = classes[k].s;
        s.room = c->longest < s.room ? c->longest : s.room;
        CMGI_TRY(cmgi_alloc_device(ctx, c->left, sizeof *w->left, &w->left));
        CMGI_TRY(k == 0 ? try_rows<NARROW>(w, classes[k].rows, &s, c->left, made)
                        : try_rows<WIDE>(w, classes[k].rows, &s, c->left, made));
        CMGI_TRY(read_counters(w, c));
        cmgi_free_device(ctx, w->list);
        w->list = w->left;
        w->left = NULL;
    }
    *made = *made && c->left == 0;
    return CMG_OK;
}

/* G without the gaps between its rows. */
static cmg_status close_up(work *w, cmgi_device_csr *G)
{
    cmg_context *ctx = w->ctx;
    G->rows = w->to.G.rows;
    G->indptr = w->to.length;
    w->to.length = NULL;
    CMGI_TRY(cmgi_device_csr_offsets(ctx, G->rows, G->indptr, &G->nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, G->nnz, sizeof *G->indices, &G->indices));
    CMGI_TRY(cmgi_alloc_device(ctx, G->nnz, sizeof *G->values, &G->values));
    move_kernel<<<ROWS(G->rows * LANES)>>>(w->to.G, *G);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    cmgi_device_csr_free(ctx, &w->to.G);
    return CMG_OK;
}

static work no_work(cmg_context *ctx)
{
    work w = {};
    w.ctx = ctx;
    w.prepared.ctx = ctx;
    return w;
}

static void work_free(work *w)
{
    cmg_context *ctx = w->ctx;
    cmgi_prepared_free(&w->prepared);
    cmgi_device_csr_free(ctx, &w->to.G);
    cmgi_free_device(ctx, w->to.length);
    cmgi_free_device(ctx, w->counted);
    cmgi_free_device(ctx, w->list);
    cmgi_free_device(ctx, w->left);
    *w = no_work(ctx);
}

/* G and G^T, which take G's arrays over. */
static cmg_status hand_over(cmg_context *ctx, cmgi_device_csr *G, cmgi_resident out[2])
{
    const cmg_csr view = {G->rows, G->rows, G->indptr, G->indices, G->values};
    cmg_csr transposed = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->transpose(ctx, &view, G->nnz, &transposed));
    cmgi_device_csr T = cmgi_device_csr_view(&transposed, G->nnz);
    CMGI_TRY_GOTO(done, cmgi_device_csr_hand_over(ctx, G, &out[0]));
    CMGI_TRY_GOTO(done, cmgi_device_csr_hand_over(ctx, &T, &out[1]));
done:
    cmgi_device_csr_free(ctx, &T);
    return status;
}

/* G where A is symmetric and positive definite as far as that is seen. */
static cmg_status make_factor(work *w, const cmgi_resident *A, const cmgi_fsai_choice *choice,
                              cmgi_device_csr *G, cmgi_fsai_outcome *found)
{
    cmg_context *ctx = w->ctx;
    cmgi_prepared *p = &w->prepared;
    counters c = {};
    CMGI_TRY(cmgi_device_prepare(ctx, A, CMGI_SPAI_AUTO, CMGI_SPAI_YES, p));
    found->symmetric = p->symmetric;
    if (!found->symmetric) {
        return CMG_OK;
    }
    w->P = {p->B, p->diagonal, *choice};
    CMGI_TRY(cmgi_progress(ctx, "FSAI", 0, A->csr.rows));
    CMGI_TRY(make_rows(w, &c, &found->made));
    found->bad = c.bad == ~0ULL ? -1 : (cmg_size)c.bad;
    return found->made && found->bad < 0 ? close_up(w, G) : CMG_OK;
}

extern "C" cmg_status cmgi_fsai_cuda(cmg_context *ctx, const cmgi_resident *A,
                                     const cmgi_fsai_choice *choice, cmgi_resident G[2],
                                     cmgi_fsai_outcome *found)
{
    CMGI_ON_DEVICE(ctx);
    work w = no_work(ctx);
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    *found = {true, true, -1};
    if (A->csr.rows == 0 || A->rows.longest > LONGEST_SORTED) {
        found->made = false;
    } else {
        CMGI_TRY_GOTO(done, make_factor(&w, A, choice, &made, found));
    }
    if (!found->made) {
        cmgi_log(ctx, CMG_LOG_INFO,
                 "fsai: A has %lld rows, the longest of %lld entries, or a row of G reaches too "
                 "far for the device: the CPU makes G",
                 (long long)A->csr.rows, (long long)A->rows.longest);
    }
    work_free(&w); /* before the transposition takes memory */
    if (made.indptr != NULL) {
        CMGI_TRY_GOTO(done, hand_over(ctx, &made, G));
    }
done:
    work_free(&w);
    cmgi_device_csr_free(ctx, &made);
    return status;
}
