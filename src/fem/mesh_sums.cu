/*
 * Pattern and sums of a mesh on the device (mesh_sums.h). Counters are added to in any order, and
 * what is put down in any order is sorted by numbers that differ, so that the bits are the host's.
 */
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
    cmg_size *indptr;   /* of A */
    cmg_index *indices; /* terms */
    cmg_index *column;  /* cells x local x local: of the pairs, from start[node] local on, sorted */
} around;

static __device__ __forceinline__ bool is_fixed(const cmgi_sum_cells &in, cmg_size node)
{
    return in.fixed != NULL && in.fixed[node] != 0;
}

__global__ void node_kernel(around m)
{
    const cmg_size node = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (node < m.in.nodes) {
        m.start[node] = 0;
        m.terms[node] = is_fixed(m.in, node) ? m.in.components : 0;
    }
}

/* Each cell adds to its nodes: itself, and its pairs with nodes that have a column. */
__global__ void cell_count_kernel(around m)
{
    const cmg_size cell = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (cell >= m.in.cells) {
        return;
    }
    const cmg_index *nodes = m.in.cell_nodes + cell * m.in.local;
    int kept = 0;
    for (int b = 0; b < m.in.local; ++b) {
        kept += !is_fixed(m.in, nodes[b]);
    }
    for (int a = 0; a < m.in.local; ++a) {
        atomicAdd((unsigned long long *)&m.start[nodes[a]], 1ULL);
        if (!is_fixed(m.in, nodes[a])) {
            atomicAdd((unsigned long long *)&m.terms[nodes[a]],
                      (unsigned long long)(kept * m.in.components * m.in.components));
        }
    }
}

__global__ void cell_list_kernel(around m, int *taken, cmg_index *list)
{
    const cmg_size k = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (k < m.in.cells * m.in.local) {
        const cmg_index node = m.in.cell_nodes[k];
        list[m.start[node] + atomicAdd(&taken[node], 1)] = (cmg_index)k;
    }
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

__global__ void load_length_kernel(around m, cmg_size *length)
{
    const cmg_size r = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const cmg_size node = r / m.in.components;
    if (node < m.in.nodes) {
        length[r] = is_fixed(m.in, node) ? 0 : m.start[node + 1] - m.start[node];
    }
}

__global__ void load_kernel(around m, const cmg_size *offset, cmg_index *indices)
{
    const cmg_size r = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const int nc = m.in.components;
    const cmg_size node = r / nc;
    if (node >= m.in.nodes) {
        return;
    }
    for (cmg_size e = 0; e < offset[r + 1] - offset[r]; ++e) {
        indices[offset[r] + e] = m.list[m.start[node] + e] * nc + (cmg_index)(r - node * nc);
    }
}

/* Cells of the nodes, and where the terms of each begin. */
static cmg_status find_cells(cmg_context *ctx, around *m, cmg_size *terms)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size n = m->in.nodes;
    const cmg_size places = m->in.cells * m->in.local;
    int *taken = NULL;
    cmg_index *raw = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n + 1, sizeof *m->start, &m->start));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n + 1, sizeof *m->terms, &m->terms));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, places, sizeof *m->list, &m->list));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, places, sizeof *raw, &raw));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *taken, &taken));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, taken, (size_t)n * sizeof *taken));
    node_kernel<<<cmgi_grid(n, THREADS), THREADS, 0, stream>>>(*m);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    cell_count_kernel<<<cmgi_grid(m->in.cells, THREADS), THREADS, 0, stream>>>(*m);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_offsets(ctx, n, m->start, NULL));
    CMGI_TRY_GOTO(done, cmgi_resident_offsets(ctx, n, m->terms, terms));
    cell_list_kernel<<<cmgi_grid(places, THREADS), THREADS, 0, stream>>>(*m, taken, raw);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    {
        const cmg_csr from = {n, places, m->start, raw, NULL};
        const cmg_csr to = {n, places, m->start, m->list, NULL};
        CMGI_TRY_GOTO(done, cmgi_resident_sort(ctx, &from, &to));
    }
done:
    cmgi_free_device(ctx, taken);
    cmgi_free_device(ctx, raw);
    return status;
}

/* The terms of A's rows, and A with the number of its entries. */
static cmg_status make_matrix(cmg_context *ctx, around *m, cmg_size terms, cmgi_mesh_sums *sums)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size rows = m->in.nodes * m->in.components;
    const cmg_size pairs = m->in.cells * m->in.local * m->in.local;
    const unsigned grid = cmgi_grid(m->in.nodes * CMGI_WARP, THREADS);
    cmg_csr A = {rows, rows, NULL, NULL, NULL};
    cmg_size *offset = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, rows + 1, sizeof *m->indptr, &m->indptr));
    A.indptr = m->indptr;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, terms, sizeof *m->indices, &m->indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, pairs, sizeof *m->column, &m->column));
    if (m->in.components == 1) {
        pair_kernel<true><<<grid, THREADS, 0, stream>>>(*m);
    } else {
        pair_kernel<false><<<grid, THREADS, 0, stream>>>(*m);
    }
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_offsets(ctx, rows, m->indptr, &sums->nnz));
    CMGI_TRY_GOTO(done, cmgi_sum_check(ctx, sums->nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, sums->nnz, sizeof *A.indices, &A.indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, sums->nnz + 1, sizeof *offset, &offset));
    entry_kernel<<<grid, THREADS, 0, stream>>>(*m, (cmg_index *)A.indices, offset);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, offset + sums->nnz, &terms, sizeof terms));
    cmgi_free_device(ctx, m->column);
    m->column = NULL;
    sums->there = A;
    A = cmg_csr{};
    status = cmgi_sum_create(ctx, sums->nnz, offset, m->indices, &sums->matrix);
    offset = NULL;
    m->indices = NULL;
done:
    cmgi_resident_free_arrays(ctx, &A);
    cmgi_free_device(ctx, offset);
    cmgi_free_device(ctx, m->indices);
    cmgi_free_device(ctx, m->column);
    return status;
}

static cmg_status make_load(cmg_context *ctx, const around *m, cmgi_sum *T)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size rows = m->in.nodes * m->in.components;
    const unsigned grid = cmgi_grid(rows, THREADS);
    cmg_size *offset = NULL;
    cmg_index *indices = NULL;
    cmg_size terms = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, rows + 1, sizeof *offset, &offset));
    load_length_kernel<<<grid, THREADS, 0, stream>>>(*m, offset);
    CMGI_TRY_GOTO(failed, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(failed, cmgi_resident_offsets(ctx, rows, offset, &terms));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, terms, sizeof *indices, &indices));
    load_kernel<<<grid, THREADS, 0, stream>>>(*m, offset, indices);
    CMGI_TRY_GOTO(failed, CMGI_LAUNCHED(ctx));
    return cmgi_sum_create(ctx, rows, offset, indices, T);
failed:
    cmgi_free_device(ctx, offset);
    cmgi_free_device(ctx, indices);
    return status;
}

cmg_status cmgi_mesh_sums_cuda(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums)
{
    CMGI_ON_DEVICE(ctx);
    around m = {};
    cmg_size terms = 0;
    cmg_status status = CMG_OK;
    m.in = *in;
    CMGI_TRY_GOTO(done, find_cells(ctx, &m, &terms));
    CMGI_TRY_GOTO(done, make_matrix(ctx, &m, terms, sums));
    CMGI_TRY_GOTO(done, make_load(ctx, &m, &sums->vector));
done:
    cmgi_free_device(ctx, m.start);
    cmgi_free_device(ctx, m.terms);
    cmgi_free_device(ctx, m.list);
    return status;
}
