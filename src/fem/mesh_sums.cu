/*
 * Pattern and sums of a mesh on the device (mesh_sums.h). Counters are added to in any order, and
 * what is put down in any order is sorted by numbers that differ, so that the bits are the host's.
 */
#include "core/each.h"
#include "csr/resident.cuh"

extern "C" {
#include "fem/mesh_sums.h"
}

enum { THREADS = 256, TILE = 2 * CMGI_WARP };
static const cmg_index NONE = INT32_MAX; /* as a column: no node has this number */

/* Cells and terms of nodes. */
typedef struct around {
    cmgi_sum_cells in;
    cmg_size *start;    /* nodes + 1 */
    cmg_size *terms;    /* nodes + 1: first term of a node's rows */
    cmg_index *list;    /* cells x local: numbers k, node by node */
    cmg_index *raw;     /* the same before those of a node are sorted */
    int *taken;         /* nodes: how many it has */
    cmg_size *indptr;   /* of A */
    cmg_index *indices; /* terms */
    cmg_index *column;  /* cells x local x local: of the pairs, from start[node] local on, sorted */
    cmg_size *offset;   /* of the rows of loads */
    cmg_index *load;    /* their terms */
} around;

static __device__ __forceinline__ bool is_fixed(const cmgi_sum_cells &in, cmg_size node)
{
    return in.fixed != NULL && in.fixed[node] != 0;
}

CMGI_EACH_INDEX(sums_node, around)
{
    a.start[i] = 0;
    a.terms[i] = is_fixed(a.in, i) ? a.in.components : 0;
}

/* Each cell adds to its nodes: itself, and its pairs with nodes that have a column. */
CMGI_EACH_INDEX(sums_count, around)
{
    const cmg_index *nodes = a.in.cell_nodes + i * a.in.local;
    int kept = 0;
    for (int b = 0; b < a.in.local; ++b) {
        kept += !is_fixed(a.in, nodes[b]);
    }
    for (int b = 0; b < a.in.local; ++b) {
        atomicAdd((unsigned long long *)&a.start[nodes[b]], 1ULL);
        if (!is_fixed(a.in, nodes[b])) {
            atomicAdd((unsigned long long *)&a.terms[nodes[b]],
                      (unsigned long long)(kept * a.in.components * a.in.components));
        }
    }
}

CMGI_EACH_INDEX(sums_list, around)
{
    const cmg_index node = a.in.cell_nodes[i];
    a.raw[a.start[node] + atomicAdd(&a.taken[node], 1)] = (cmg_index)i;
}

/* A pair (k, b) of a node, and its column. */
typedef struct node_pair {
    cmg_index k;
    int b;
    cmg_index column; /* NONE = past the end, or not kept */
} node_pair;

static __device__ __forceinline__ node_pair pair_of(const around &m, cmg_size first, int pairs,
                                                    int i)
{
    node_pair p = {0, 0, NONE};
    if (i < pairs) {
        const unsigned local = (unsigned)m.in.local;
        const unsigned e = (unsigned)i / local;
        p.k = m.list[first + e];
        p.b = (int)((unsigned)i - e * local);
        const cmg_index node = m.in.cell_nodes[p.k - (unsigned)p.k % local + p.b];
        p.column = is_fixed(m.in, node) ? NONE : node;
    }
    return p;
}

/* Pairs of smaller columns, of the same before pair i, and of the same; the last is only wanted
 * where a node has more than ONE component. */
typedef struct pair_rank {
    int less;
    int before;
    int same;
} pair_rank;

/* Adds what pairs i and i + CMGI_WARP learn from a tile of columns, the pairs from `first` on. */
template <bool ONE>
static __device__ __forceinline__ void compare(const cmg_index *tile, int first, int i,
                                               const node_pair (&pair)[2], pair_rank (&rank)[2])
{
    const int ahead = i - first;
#pragma unroll
    for (int t = 0; t < TILE; ++t) {
        const cmg_index other = tile[t];
#pragma unroll
        for (int q = 0; q < 2; ++q) {
            rank[q].less += other < pair[q].column;
            rank[q].before += other == pair[q].column && t - q * CMGI_WARP < ahead;
            rank[q].same += !ONE && other == pair[q].column;
        }
    }
}

/* The terms of a pair: component c of the node with each j of the column. */
static __device__ __forceinline__ void put_terms(const around &m, cmg_size node, const node_pair &p,
                                                 const pair_rank &r)
{
    const int nc = m.in.components;
    const cmg_size base = m.terms[node];
    const cmg_size row = (m.terms[node + 1] - base) / nc;
    const int a = p.k % m.in.local;
    const int cell = p.k / m.in.local * cmgi_cell_entries(m.in.layout);
    cmg_index *to = m.indices + base + (cmg_size)nc * r.less + r.before;
    for (int c = 0; c < nc; ++c) {
        for (int j = 0; j < nc; ++j) {
            to[c * row + (cmg_size)j * r.same] =
                cell + cmgi_cell_place(m.in.layout, a * nc + c, p.b * nc + j);
        }
    }
    m.column[m.start[node] * m.in.local + r.less + r.before] = p.column;
}

/* A warp a node: ranks of its pairs by comparison with all of them, and lengths of its rows. */
template <bool ONE>
__global__ void __launch_bounds__(THREADS) pair_kernel(around m)
{
    __shared__ cmg_index tiles[THREADS / CMGI_WARP][TILE];
    const cmg_size node = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    cmg_index *tile = tiles[threadIdx.x / CMGI_WARP];
    if (node >= m.in.nodes) {
        return;
    }
    const int nc = m.in.components;
    const bool fixed = is_fixed(m.in, node);
    const cmg_size first = m.start[node];
    const int pairs = fixed ? 0 : (int)((m.start[node + 1] - first) * m.in.local);
    int columns = 0;
    for (int group = 0; group < pairs; group += TILE) {
        const int at = group + lane;
        const node_pair mine[2] = {pair_of(m, first, pairs, at),
                                   pair_of(m, first, pairs, at + CMGI_WARP)};
        pair_rank rank[2] = {{0, 0, 0}, {0, 0, 0}};
        for (int t = 0; t < pairs; t += TILE) {
            __syncwarp();
            for (int q = 0; q < 2; ++q) {
                tile[lane + q * CMGI_WARP] =
                    t == group ? mine[q].column
                               : pair_of(m, first, pairs, t + lane + q * CMGI_WARP).column;
            }
            __syncwarp();
            compare<ONE>(tile, t, at, mine, rank);
        }
        for (int q = 0; q < 2; ++q) {
            if (mine[q].column != NONE) {
                put_terms(m, node, mine[q], rank[q]);
                columns += rank[q].before == 0;
            }
        }
    }
    columns = cmgi_warp_sum(columns);
    if (lane < nc) {
        m.indptr[node * nc + lane] = fixed ? 1 : (cmg_size)columns * nc;
        if (fixed) {
            m.indices[m.terms[node] + lane] = -1;
        }
    }
}

/* Pairs from i on, of `pairs` sorted ones, that have the column of i. */
static __device__ __forceinline__ int run_length(const cmg_index *column, int pairs, int i)
{
    int n = 1;
    while (i + n < pairs && column[i + n] == column[i]) {
        ++n;
    }
    return n;
}

/* A warp a node: the columns of its rows, and where the terms of each entry begin. */
__global__ void __launch_bounds__(THREADS)
    entry_kernel(around m, cmg_index *indices, cmg_size *offset)
{
    const cmg_size node = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (node >= m.in.nodes) {
        return;
    }
    const int nc = m.in.components;
    const cmg_size base = m.terms[node];
    const cmg_size row = (m.terms[node + 1] - base) / nc; /* its terms */
    const cmg_size entry = m.indptr[node * nc];
    if (is_fixed(m.in, node)) {
        if (lane < nc) {
            indices[entry + lane] = (cmg_index)(node * nc + lane);
            offset[entry + lane] = base + lane;
        }
        return;
    }
    const cmg_size length = m.indptr[node * nc + 1] - entry;
    const cmg_index *column = m.column + m.start[node] * m.in.local;
    const int pairs = (int)(row / nc);
    int before = 0;
    for (int group = 0; group < pairs; group += CMGI_WARP) {
        const int i = group + lane;
        const bool begins = i < pairs && (i == 0 || column[i] != column[i - 1]);
        const unsigned all = __ballot_sync(CMGI_ALL, begins);
        const int p = before + __popc(all & ((1U << lane) - 1));
        before += __popc(all);
        if (!begins) {
            continue;
        }
        const int same = nc > 1 ? run_length(column, pairs, i) : 1;
        for (int c = 0; c < nc; ++c) {
            for (int j = 0; j < nc; ++j) {
                const cmg_size k = entry + c * length + (cmg_size)p * nc + j;
                indices[k] = column[i] * nc + j;
                offset[k] = base + c * row + (cmg_size)nc * i + (cmg_size)j * same;
            }
        }
    }
}

CMGI_EACH_INDEX(sums_load_length, around)
{
    const cmg_size node = i / a.in.components;
    a.offset[i] = is_fixed(a.in, node) ? 0 : a.start[node + 1] - a.start[node];
}

CMGI_EACH_INDEX(sums_load, around)
{
    const int nc = a.in.components;
    const cmg_size node = i / nc;
    for (cmg_size e = 0; e < a.offset[i + 1] - a.offset[i]; ++e) {
        a.load[a.offset[i] + e] = a.list[a.start[node] + e] * nc + (cmg_index)(i - node * nc);
    }
}

/* Cells of the nodes, and where the terms of each begin. */
static cmg_status find_cells(cmg_context *ctx, cmgi_scratch &scratch, around *m, cmg_size *terms)
{
    const cmg_size n = m->in.nodes;
    const cmg_size places = m->in.cells * m->in.local;
    cmgi_scratch own(ctx);
    CMGI_TRY(scratch.take(n + 1, &m->start));
    CMGI_TRY(scratch.take(n + 1, &m->terms));
    CMGI_TRY(scratch.take(places, &m->list));
    CMGI_TRY(own.take(places, &m->raw));
    CMGI_TRY(own.take_zero(n, &m->taken));
    CMGI_TRY(cmgi_sums_node_device(ctx, n, m));
    CMGI_TRY(cmgi_sums_count_device(ctx, m->in.cells, m));
    CMGI_TRY(cmgi_resident_offsets(ctx, n, m->start, NULL));
    CMGI_TRY(cmgi_resident_offsets(ctx, n, m->terms, terms));
    CMGI_TRY(cmgi_sums_list_device(ctx, places, m));
    const cmg_csr from = {n, places, m->start, m->raw, NULL};
    const cmg_csr to = {n, places, m->start, m->list, NULL};
    return cmgi_resident_sort(ctx, &from, &to);
}

/* The terms of A's rows, and A with the number of its entries. */
static cmg_status make_matrix(cmg_context *ctx, around *m, cmg_size terms, cmgi_mesh_sums *sums)
{
    const cmg_size rows = m->in.nodes * m->in.components;
    const cmg_size pairs = m->in.cells * m->in.local * m->in.local;
    const unsigned grid = cmgi_grid(m->in.nodes * CMGI_WARP, THREADS);
    cmg_csr *A = &sums->there;
    cmg_size *offset = NULL;
    CMGI_FREED(ctx, &offset, &m->indices, &m->column);
    *A = cmg_csr{rows, rows, NULL, NULL, NULL};
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *m->indptr, &m->indptr));
    A->indptr = m->indptr;
    CMGI_TRY(cmgi_alloc_device(ctx, terms, sizeof *m->indices, &m->indices));
    CMGI_TRY(cmgi_alloc_device(ctx, pairs, sizeof *m->column, &m->column));
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0,
                      m->in.components == 1 ? pair_kernel<true> : pair_kernel<false>, *m));
    CMGI_TRY(cmgi_resident_offsets(ctx, rows, m->indptr, &sums->nnz));
    CMGI_TRY(cmgi_sum_check(ctx, sums->nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, sums->nnz, sizeof *A->indices, &A->indices));
    CMGI_TRY(cmgi_alloc_device(ctx, sums->nnz + 1, sizeof *offset, &offset));
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0, entry_kernel, *m, (cmg_index *)A->indices, offset));
    CMGI_TRY(cmgi_to_device(ctx, offset + sums->nnz, &terms, sizeof terms));
    cmgi_free_device(ctx, cmgi_pass_on(&m->column)); /* before what follows needs room */
    return cmgi_sum_create(ctx, sums->nnz, (cmg_size *)cmgi_pass_on(&offset),
                           (cmg_index *)cmgi_pass_on(&m->indices), &sums->matrix);
}

static cmg_status make_load(cmg_context *ctx, around *m, cmgi_sum *T)
{
    const cmg_size rows = m->in.nodes * m->in.components;
    cmg_size terms = 0;
    CMGI_FREED(ctx, &m->offset, &m->load);
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *m->offset, &m->offset));
    CMGI_TRY(cmgi_sums_load_length_device(ctx, rows, m));
    CMGI_TRY(cmgi_resident_offsets(ctx, rows, m->offset, &terms));
    CMGI_TRY(cmgi_alloc_device(ctx, terms, sizeof *m->load, &m->load));
    CMGI_TRY(cmgi_sums_load_device(ctx, rows, m));
    return cmgi_sum_create(ctx, rows, (cmg_size *)cmgi_pass_on(&m->offset),
                           (cmg_index *)cmgi_pass_on(&m->load), T);
}

cmg_status cmgi_mesh_sums_cuda(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums)
{
    CMGI_ON_DEVICE(ctx);
    around m = {};
    cmg_size terms = 0;
    cmgi_scratch scratch(ctx);
    m.in = *in;
    CMGI_TRY(find_cells(ctx, scratch, &m, &terms));
    CMGI_TRY(make_matrix(ctx, &m, terms, sums));
    return make_load(ctx, &m, &sums->vector);
}
