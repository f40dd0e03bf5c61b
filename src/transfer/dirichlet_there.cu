/* Dirichlet rows of matrices on the device; see dirichlet.h. */
#include "core/cuda.cuh"

extern "C" {
#include "transfer/dirichlet_there.h"
}

enum { THREADS = 256, WARP = 32, LANES = 4 };

/* What the threads of all blocks find. */
struct findings {
    unsigned long long count;
    int untold; /* a marked row of P is zero */
    int differs;
    int reached;
};

static __device__ __forceinline__ cmg_size own_place(void)
{
    return (cmg_size)blockIdx.x * THREADS + threadIdx.x;
}

/* Marks the columns where a marked row of P is largest. */
__global__ void below_kernel(const cmg_csr P, const bool *fine, const bool *identity, bool *found,
                             findings *all)
{
    const cmg_size i = own_place();
    if (i >= P.rows || !fine[i]) {
        return;
    }
    const cmg_size end = P.indptr[i + 1];
    double largest = 0;
    for (cmg_size k = P.indptr[i]; k < end; ++k) {
        largest = fmax(largest, fabs(P.values[k]));
    }
    for (cmg_size k = P.indptr[i]; largest > 0 && k < end; ++k) {
        const cmg_index j = P.indices[k];
        if (fabs(P.values[k]) == largest && (identity == NULL || identity[j])) {
            found[j] = true; /* by any of several rows */
        }
    }
    if (!(largest > 0)) {
        all->untold = 1;
    }
}

/* Where P did not tell all identity rows count; and how many there are. */
__global__ void __launch_bounds__(THREADS)
    count_kernel(cmg_size n, const bool *identity, bool *found, findings *all)
{
    const cmg_size j = own_place();
    bool mine = j < n && found[j];
    if (j < n && identity != NULL && all->untold != 0) {
        mine = mine || identity[j];
        found[j] = mine;
    }
    const unsigned warp = __ballot_sync(0xffffffffU, mine);
    if (threadIdx.x % WARP == 0 && warp != 0) {
        atomicAdd(&all->count, (unsigned long long)__popc(warp));
    }
}

__global__ void same_kernel(cmg_size n, const bool *a, const bool *b, findings *all)
{
    const cmg_size i = own_place();
    if (i < n && a[i] != b[i]) {
        all->differs = 1;
    }
}

static __device__ __forceinline__ bool marked(const bool *rows, cmg_size i)
{
    return rows != NULL && rows[i];
}

/* LANES lanes a row. */
__global__ void reach_kernel(const cmg_csr M, const bool *rows, const bool *cols, findings *all)
{
    const cmg_size i = own_place() / LANES;
    if (i >= M.rows) {
        return;
    }
    const bool whole = marked(rows, i);
    bool reached = false;
    for (cmg_size k = M.indptr[i] + threadIdx.x % LANES; k < M.indptr[i + 1]; k += LANES) {
        reached = reached || ((whole || marked(cols, M.indices[k])) && M.values[k] != 0);
    }
    if (reached) {
        all->reached = 1;
    }
}

__global__ void clean_kernel(const cmg_csr M, const bool *rows, const bool *cols, double *values)
{
    const cmg_size i = own_place() / LANES;
    if (i >= M.rows) {
        return;
    }
    const bool whole = marked(rows, i);
    for (cmg_size k = M.indptr[i] + threadIdx.x % LANES; k < M.indptr[i + 1]; k += LANES) {
        values[k] = whole || marked(cols, M.indices[k]) ? 0 : M.values[k];
    }
}

__global__ void invert_kernel(cmg_size n, const bool *flag, const double *diagonal, double *d)
{
    const cmg_size i = own_place();
    if (i < n) {
        d[i] = flag[i] ? 1 / diagonal[i] : 0;
    }
}

static cmg_status open_findings(cmg_context *ctx, findings **all)
{
    *all = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof **all, all));
    return cmgi_cuda_clear(ctx, *all, sizeof **all);
}

static cmg_status below(cmg_context *ctx, const cmg_csr *P, const bool *fine, const bool *identity,
                        bool all, bool *found, cmg_size *count)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    findings *there = NULL;
    findings f = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_findings(ctx, &there));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, found, (size_t)P->cols * sizeof *found));
    if (P->rows > 0) {
        below_kernel<<<cmgi_grid(P->rows, THREADS), THREADS, 0, stream>>>(*P, fine, identity, found,
                                                                          there);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    if (P->cols > 0) {
        count_kernel<<<cmgi_grid(P->cols, THREADS), THREADS, 0, stream>>>(
            P->cols, all ? identity : NULL, found, there);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, there, sizeof f));
    *count = (cmg_size)f.count;
done:
    cmgi_free_device(ctx, there);
    return status;
}

static cmg_status is_same(cmg_context *ctx, cmg_size n, const bool *a, const bool *b, bool *same)
{
    CMGI_ON_DEVICE(ctx);
    findings *there = NULL;
    findings f = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_findings(ctx, &there));
    if (n > 0) {
        same_kernel<<<cmgi_grid(n, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, a, b, there);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, there, sizeof f));
    *same = f.differs == 0;
done:
    cmgi_free_device(ctx, there);
    return status;
}

static cmg_status reach(cmg_context *ctx, const cmg_csr *M, const bool *rows, const bool *cols,
                        bool *reached)
{
    CMGI_ON_DEVICE(ctx);
    findings *there = NULL;
    findings f = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_findings(ctx, &there));
    if (M->rows > 0) {
        reach_kernel<<<cmgi_grid(M->rows * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
            *M, rows, cols, there);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, there, sizeof f));
    *reached = f.reached != 0;
done:
    cmgi_free_device(ctx, there);
    return status;
}

static cmg_status clean(cmg_context *ctx, const cmg_csr *M, const bool *rows, const bool *cols,
                        double *values)
{
    CMGI_ON_DEVICE(ctx);
    if (M->rows == 0) {
        return CMG_OK;
    }
    clean_kernel<<<cmgi_grid(M->rows * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *M, rows, cols, values);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status invert(cmg_context *ctx, cmg_size n, const bool *flag, const double *diagonal,
                         double *d)
{
    CMGI_ON_DEVICE(ctx);
    if (n == 0) {
        return CMG_OK;
    }
    invert_kernel<<<cmgi_grid(n, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, flag, diagonal, d);
    return CMGI_LAUNCHED(ctx);
}

extern "C" const cmgi_dirichlet_kernels cmgi_dirichlet_cuda = {below, is_same, reach, clean,
                                                               invert};
