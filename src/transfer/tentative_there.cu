/*
 * P_0 on the device: the aggregates' nodes by a transposition, then a thread an aggregate. A single
 * constant needs the sizes of the aggregates alone.
 */
#include "transfer/aggregation.cuh"

enum { THREADS = 256 };

/* count_i = 1 for nodes with an aggregate */
__global__ void inside_kernel(cmg_size n, const cmg_index *of, cmg_size *count)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        count[i] = of[i] >= 0;
    }
}

/* The matrix of nodes by aggregates, of ones. */
__global__ void member_kernel(cmg_size n, const cmg_index *of, const cmg_size *offset,
                              cmg_index *indices, double *values)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n && of[i] >= 0) {
        indices[offset[i]] = of[i];
        values[offset[i]] = 1;
    }
}

struct sizes {
    cmg_size rows;
    int block;
    int vectors;
};

/* Offsets and entries of P; B NULL: vector c is 1 in unknown c of a node. */
__global__ void rows_kernel(const sizes s, const cmg_index *of, const cmg_size *inside,
                            const double *B, cmg_size *indptr, cmg_index *indices, double *values)
{
    const cmg_size r = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (r > s.rows) {
        return;
    }
    const cmg_size node = r / s.block;
    const int unknown = (int)(r % s.block);
    const cmg_index a = r < s.rows ? of[node] : -1;
    const cmg_size before = inside[node] * s.block + (a >= 0 ? unknown : 0);
    indptr[r] = before * s.vectors;
    for (int c = 0; c < s.vectors && a >= 0; ++c) {
        indices[before * s.vectors + c] = (cmg_index)(a * s.vectors + c);
        values[before * s.vectors + c] = B != NULL ? B[r * s.vectors + c] : c == unknown;
    }
}

__global__ void orthonormal_kernel(cmg_size count, const cmg_csr members, const sizes s,
                                   const cmg_size *indptr, double *values, double *R)
{
    const cmg_size a = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (a < count) {
        const cmg_size begin = members.indptr[a];
        const cmgi_panel p = {members.indices + begin,
                              members.indptr[a + 1] - begin,
                              s.block,
                              s.vectors,
                              indptr,
                              values};
        cmgi_panel_orthonormalise(&p, R + a * s.vectors * s.vectors);
    }
}

__global__ void size_kernel(cmg_size n, const cmg_index *of, unsigned *size)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n && of[i] >= 0) {
        atomicAdd(&size[of[i]], 1U);
    }
}

/* R_c = |1|, as cmgi_panel_orthonormalise has it: ones add up without rounding */
__global__ void norm_kernel(cmg_size count, const unsigned *size, double *R)
{
    const cmg_size a = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (a < count) {
        R[a] = sqrt((double)size[a]);
    }
}

/* Entries of the rows that have one, from indptr on. */
__global__ void constant_kernel(cmg_size n, const cmg_index *of, const double *R,
                                const cmg_size *indptr, cmg_index *indices, double *values)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n && of[i] >= 0) {
        indices[indptr[i]] = of[i];
        values[indptr[i]] = 1 / R[of[i]];
    }
}

/* P_0 of a single constant, and R_c for all aggregates in the memory of the device. */
static cmg_status form_constant(cmg_context *ctx, const cmgi_aggregates *agg, cmg_csr *P, double *R)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(agg->nodes, THREADS);
    unsigned *size = NULL;
    cmg_size inside = 0;
    cmg_status status = CMG_OK;
    P->rows = agg->nodes;
    P->cols = agg->count;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, agg->count, sizeof *size, &size));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, size, (size_t)agg->count * sizeof *size));
    size_kernel<<<grid, THREADS, 0, stream>>>(agg->nodes, agg->of, size);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    norm_kernel<<<cmgi_grid(agg->count, THREADS), THREADS, 0, stream>>>(agg->count, size, R);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, agg->nodes + 1, sizeof *P->indptr, &P->indptr));
    inside_kernel<<<grid, THREADS, 0, stream>>>(agg->nodes, agg->of, (cmg_size *)P->indptr);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_open_rows(ctx, P, &inside));
    constant_kernel<<<grid, THREADS, 0, stream>>>(agg->nodes, agg->of, R, P->indptr,
                                                  (cmg_index *)P->indices, (double *)P->values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    cmgi_free_device(ctx, size);
    return status;
}

/* The matrix of nodes by aggregates, and its transpose, whose rows are the aggregates' nodes. */
static cmg_status list_members(cmg_context *ctx, const cmgi_aggregates *agg, cmg_csr *nodes,
                               cmg_size *inside, cmg_csr *members)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(agg->nodes, THREADS);
    nodes->rows = agg->nodes;
    nodes->cols = agg->count;
    CMGI_TRY(cmgi_alloc_device(ctx, agg->nodes + 1, sizeof *nodes->indptr, &nodes->indptr));
    inside_kernel<<<grid, THREADS, 0, stream>>>(agg->nodes, agg->of, (cmg_size *)nodes->indptr);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_open_rows(ctx, nodes, inside));
    member_kernel<<<grid, THREADS, 0, stream>>>(
        agg->nodes, agg->of, nodes->indptr, (cmg_index *)nodes->indices, (double *)nodes->values);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return cmgi_resident_kernels_of(ctx)->transpose(ctx, nodes, *inside, members);
}

/* P_0, and R_c for all aggregates in the memory of the device. */
static cmg_status form(cmg_context *ctx, const cmgi_aggregates *agg, const sizes *s,
                       const double *B, cmg_csr *P, double *R)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size each = (cmg_size)s->vectors * s->vectors;
    cmg_csr nodes = {};
    cmg_csr members = {};
    cmg_size inside = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, list_members(ctx, agg, &nodes, &inside, &members));
    CMGI_TRY_GOTO(done, cmgi_resident_alloc(ctx, s->rows, agg->count * s->vectors,
                                            inside * s->block * s->vectors, P));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, R, (size_t)(agg->count * each) * sizeof *R));
    rows_kernel<<<cmgi_grid(s->rows + 1, THREADS), THREADS, 0, stream>>>(
        *s, agg->of, nodes.indptr, B, (cmg_size *)P->indptr, (cmg_index *)P->indices,
        (double *)P->values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    orthonormal_kernel<<<cmgi_grid(agg->count, THREADS), THREADS, 0, stream>>>(
        agg->count, members, *s, P->indptr, (double *)P->values, R);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    cmgi_resident_free_arrays(ctx, &nodes);
    cmgi_resident_free_arrays(ctx, &members);
    return status;
}

cmg_status cmgi_tentative_there(cmg_context *ctx, const cmgi_aggregates *agg, int block,
                                int vectors, const double *B, cmg_csr *P, double **coarse)
{
    CMGI_ON_DEVICE(ctx);
    const sizes s = {agg->nodes * block, block, vectors};
    const cmg_size count = agg->count * vectors * vectors;
    const size_t bytes = (size_t)count * sizeof **coarse;
    cmg_csr made = {};
    double *R = NULL;
    double *host = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, count, sizeof *R, &R));
    CMGI_TRY_GOTO(done, B == NULL && block == 1 && vectors == 1 ? form_constant(ctx, agg, &made, R)
                                                                : form(ctx, agg, &s, B, &made, R));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, count, sizeof *host, &host));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, host, R, bytes));
    *P = made;
    *coarse = host;
    made = cmg_csr{};
    host = NULL;
done:
    cmgi_resident_free_arrays(ctx, &made);
    cmgi_free_device(ctx, R);
    cmgi_free(ctx, host);
    return status;
}
