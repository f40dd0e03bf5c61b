/*
 * SPAI from A to M on the device: what pattern.c and csr.c do on the host around the least
 * squares, with the same comparisons in the same arithmetic. Filters count the
 * entries that stay, the counts are added up, and the rows are written one after the other.
 */
#include "smoothers/spai.cuh"

extern "C" {
#include "smoothers/pattern.h"
}

#include <math.h>

enum { THREADS = 256, LANES = 8, LONGEST_SORTED = 1024 };

/* Findings about a matrix. */
enum { UNCOUPLED, UNSORTED, ASYMMETRIC, UNMATCHED, FINDINGS };

/* ------------------------------------------------------------------ kernels, a thread or eight a
 * row */

__device__ __forceinline__ cmg_size thread_row()
{
    return (cmg_size)blockIdx.x * THREADS + threadIdx.x;
}

/* Where eight lanes share a row: its number, and this lane's first entry of it. */
__device__ __forceinline__ cmg_size shared_row(const cmgi_device_csr &A, cmg_size *first)
{
    const cmg_size i = thread_row() / LANES;
    *first = i < A.rows ? A.indptr[i] + threadIdx.x % LANES : 0;
    return i;
}

/* diagonal[i] = a_ii; identity[i]: the one nonzero of the row is on the diagonal. */
__global__ void diagonal_kernel(const cmgi_device_csr A, double *diagonal, bool *identity)
{
    const cmg_size i = thread_row();
    if (i >= A.rows) {
        return;
    }
    double d = 0;
    bool alone = true;
    for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
        d += A.indices[k] == i ? A.values[k] : 0;
        alone = alone && (A.indices[k] == i || A.values[k] == 0);
    }
    diagonal[i] = d;
    identity[i] = alone && d != 0;
}

/* Which entries of a matrix stay. */
struct coupled {
    const bool *identity;
    __device__ bool operator()(const cmgi_device_csr &A, cmg_size i, cmg_size k) const
    {
        const cmg_index j = A.indices[k];
        return j == i || !(identity[i] || identity[j]);
    }
};

struct strong {
    const double *diagonal;
    double tau;
    __device__ bool operator()(const cmgi_device_csr &A, cmg_size i, cmg_size k) const
    {
        const cmg_index j = A.indices[k];
        return j == i || fabs(A.values[k]) > tau * sqrt(fabs(diagonal[i] * diagonal[j]));
    }
};

/* Raises what there is to find; whoever comes writes the same. */
__global__ void look_kernel(const cmgi_device_csr A, const coupled keep, int *findings)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(A, &first);
    if (i >= A.rows) {
        return;
    }
    for (cmg_size k = first; k < A.indptr[i + 1]; k += LANES) {
        if (!keep(A, i, k)) {
            findings[UNCOUPLED] = 1;
        }
        if (k > A.indptr[i] && A.indices[k - 1] >= A.indices[k]) {
            findings[UNSORTED] = 1;
        }
    }
}

template <typename KEEP>
__global__ void count_kernel(const cmgi_device_csr A, const KEEP keep, cmg_size *count)
{
    const cmg_size i = thread_row();
    if (i >= A.rows) {
        return;
    }
    cmg_size sum = 0;
    for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
        sum += keep(A, i, k);
    }
    count[i] = sum;
}

/* Row i of B: what stays of A, sorted by insertion. */
template <typename KEEP>
__global__ void filter_kernel(const cmgi_device_csr A, const KEEP keep, cmgi_device_csr B)
{
    const cmg_size i = thread_row();
    if (i >= A.rows) {
        return;
    }
    const cmg_size first = B.indptr[i];
    cmg_size at = first;
    for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
        if (!keep(A, i, k)) {
            continue;
        }
        const cmg_index column = A.indices[k];
        cmg_size place = at++;
        for (; place > first && B.indices[place - 1] > column; --place) {
            B.indices[place] = B.indices[place - 1];
            B.values[place] = B.values[place - 1];
        }
        B.indices[place] = column;
        B.values[place] = A.values[k];
    }
}

/* Place of entry (i,j) in sorted rows, -1 where there is none. */
__device__ __forceinline__ cmg_size find_entry(const cmgi_device_csr &A, cmg_size i, cmg_index j)
{
    cmg_size low = A.indptr[i];
    cmg_size high = A.indptr[i + 1];
    const cmg_size end = high;
    while (low < high) {
        const cmg_size middle = (low + high) / 2;
        if (A.indices[middle] < j) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && A.indices[low] == j ? low : -1;
}

__global__ void symmetry_kernel(const cmgi_device_csr A, const double *diagonal, int *findings)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(A, &first);
    if (i >= A.rows) {
        return;
    }
    for (cmg_size k = first; k < A.indptr[i + 1]; k += LANES) {
        const cmg_index j = A.indices[k];
        const cmg_size other = find_entry(A, j, (cmg_index)i);
        const double difference = fabs(A.values[k] - (other >= 0 ? A.values[other] : 0));
        const double scale = sqrt(fabs(diagonal[i] * diagonal[j]));
        if (difference != 0 && (scale > 0 ? difference / scale > 1e-8 : true)) {
            findings[ASYMMETRIC] = 1;
        }
    }
}

/* values = (M + M^T) / 2 where the pattern is symmetric. */
__global__ void symmetrize_kernel(const cmgi_device_csr M, double *values, int *findings)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(M, &first);
    if (i >= M.rows) {
        return;
    }
    for (cmg_size k = first; k < M.indptr[i + 1]; k += LANES) {
        const cmg_size other = find_entry(M, M.indices[k], (cmg_index)i);
        if (other < 0) {
            findings[UNMATCHED] = 1;
            return;
        }
        values[k] = 0.5 * (M.values[k] + M.values[other]);
    }
}

__global__ void scaling_kernel(cmg_size n, double *diagonal)
{
    const cmg_size i = thread_row();
    if (i < n) {
        diagonal[i] = 1 / sqrt(fabs(diagonal[i]));
    }
}

/* A = S A S */
__global__ void scale_kernel(cmgi_device_csr A, const double *s)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(A, &first);
    if (i >= A.rows) {
        return;
    }
    for (cmg_size k = first; k < A.indptr[i + 1]; k += LANES) {
        A.values[k] *= s[i] * s[A.indices[k]];
    }
}

__global__ void identity_kernel(cmgi_device_csr S)
{
    const cmg_size i = thread_row();
    if (i < S.rows) {
        S.indices[i] = (cmg_index)i;
    }
    if (i <= S.rows) {
        S.indptr[i] = i;
    }
}

/* ------------------------------------------------------------------ steps */

/* What hangs off one set-up. */
typedef struct setup {
    cmg_context *ctx;
    cmgi_spai_choice choice;
    cmgi_device_csr A; /* as it came, until B is chosen */
    cmgi_device_csr B; /* A, or without what is decoupled; then S B S */
    cmgi_device_csr S; /* pattern, then M */
    bool shared;       /* S has B's indptr and indices */
    double *diagonal;  /* of B */
    double *s;         /* S */
    bool *identity;
    int *findings;
    double *values; /* of the symmetric part */
    bool symmetric; /* take it */
    bool scaled;    /* work on S B S */
} setup;

#define ROWS(n) cmgi_grid((n), THREADS), THREADS, 0, cmgi_stream(ctx)

static cmg_status read_findings(const setup *p, int found[FINDINGS])
{
    return cmgi_to_host(p->ctx, found, p->findings, FINDINGS * sizeof *found);
}

template <typename KEEP>
static cmg_status filter(cmg_context *ctx, const cmgi_device_csr *A, const KEEP keep,
                         cmgi_device_csr *B)
{
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    made.rows = A->rows;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *made.indptr, &made.indptr));
    count_kernel<<<ROWS(A->rows)>>>(*A, keep, made.indptr);
    CMGI_TRY_GOTO(failed, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(failed, cmgi_device_csr_offsets(ctx, A->rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    filter_kernel<<<ROWS(A->rows)>>>(*A, keep, made);
    CMGI_TRY_GOTO(failed, CMGI_LAUNCHED(ctx));
    *B = made;
    return CMG_OK;
failed:
    cmgi_device_csr_free(ctx, &made);
    return status;
}

/* B = A with sorted rows, without the columns of identity rows where these are given. */
static cmg_status decouple(setup *p)
{
    cmg_context *ctx = p->ctx;
    const coupled keep = {p->identity};
    int found[FINDINGS] = {0};
    look_kernel<<<ROWS(p->A.rows * LANES)>>>(p->A, keep, p->findings);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(read_findings(p, found));
    if (found[UNCOUPLED] || found[UNSORTED]) {
        return filter(ctx, &p->A, keep, &p->B);
    }
    p->B = p->A;
    p->A = {};
    return CMG_OK;
}

/* B where no column is decoupled. */
static cmg_status take_as_it_is(setup *p)
{
    cmg_context *ctx = p->ctx;
    if (p->A.indptr == NULL) { /* nothing was left out */
        return CMG_OK;
    }
    cmgi_device_csr_free(ctx, &p->B);
    CMGI_CUDA(ctx, cudaMemsetAsync(p->identity, 0, (size_t)p->A.rows, cmgi_stream(ctx)));
    CMGI_CUDA(ctx,
              cudaMemsetAsync(p->findings, 0, FINDINGS * sizeof *p->findings, cmgi_stream(ctx)));
    return decouple(p);
}

/* What `auto` means, and the matrix that follows from it. */
static cmg_status prepare(setup *p)
{
    cmg_context *ctx = p->ctx;
    const int wanted = p->choice.symmetric;
    int found[FINDINGS] = {0};
    diagonal_kernel<<<ROWS(p->A.rows)>>>(p->A, p->diagonal, p->identity);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(decouple(p));
    symmetry_kernel<<<ROWS(p->B.rows * LANES)>>>(p->B, p->diagonal, p->findings);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(read_findings(p, found));
    const bool symmetric = wanted != CMGI_SPAI_NO && !found[ASYMMETRIC];
    p->symmetric = wanted == CMGI_SPAI_YES || symmetric;
    p->scaled =
        p->choice.scale == CMGI_SPAI_YES || (p->choice.scale == CMGI_SPAI_AUTO && symmetric);
    if (!p->symmetric) {
        CMGI_TRY(take_as_it_is(p));
    }
    cmgi_device_csr_free(ctx, &p->A);
    return CMG_OK;
}

static cmg_status scale(setup *p)
{
    cmg_context *ctx = p->ctx;
    const size_t bytes = (size_t)p->B.rows * sizeof *p->s;
    if (!p->scaled) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, p->B.rows, sizeof *p->s, &p->s));
    CMGI_CUDA(
        ctx, cudaMemcpyAsync(p->s, p->diagonal, bytes, cudaMemcpyDeviceToDevice, cmgi_stream(ctx)));
    scaling_kernel<<<ROWS(p->B.rows)>>>(p->B.rows, p->s);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    scale_kernel<<<ROWS(p->B.rows * LANES)>>>(p->B, p->s);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    diagonal_kernel<<<ROWS(p->B.rows)>>>(p->B, p->diagonal, p->identity);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status make_pattern(setup *p)
{
    cmg_context *ctx = p->ctx;
    if (p->choice.power == 0) {
        CMGI_TRY(cmgi_device_csr_alloc(ctx, p->B.rows, p->B.rows, &p->S));
        identity_kernel<<<ROWS(p->S.rows + 1)>>>(p->S);
        return CMGI_LAUNCHED(ctx);
    }
    if (p->choice.tau > 0) {
        const strong keep = {p->diagonal, p->choice.tau};
        return filter(ctx, &p->B, keep, &p->S);
    }
    p->shared = true;
    p->S = p->B;
    p->S.values = NULL;
    return cmgi_alloc_device(ctx, p->S.nnz, sizeof *p->S.values, &p->S.values);
}

/* M = S M S, then its symmetric part; where the pattern is not symmetric, the host takes it. */
static cmg_status finish(setup *p, cmgi_csr *M)
{
    cmg_context *ctx = p->ctx;
    cmgi_csr made = {};
    int found[FINDINGS] = {0};
    cmg_status status = CMG_OK;
    if (p->scaled) {
        scale_kernel<<<ROWS(p->S.rows * LANES)>>>(p->S, p->s);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
    }
    if (p->symmetric) {
        CMGI_TRY(cmgi_alloc_device(ctx, p->S.nnz, sizeof *p->values, &p->values));
        symmetrize_kernel<<<ROWS(p->S.rows * LANES)>>>(p->S, p->values, p->findings);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        CMGI_TRY(read_findings(p, found));
    }
    if (p->symmetric && !found[UNMATCHED]) {
        double *sum = p->values;
        p->values = p->S.values;
        p->S.values = sum;
    }
    CMGI_TRY(cmgi_device_csr_fetch(ctx, &p->S, &made));
    if (found[UNMATCHED]) {
        CMGI_TRY_GOTO(failed, cmgi_symmetrize(ctx, &made));
    }
    *M = made;
    return CMG_OK;
failed:
    cmgi_csr_free(ctx, &made);
    return status;
}

static void setup_free(setup *p)
{
    cmg_context *ctx = p->ctx;
    if (p->shared) {
        p->S.indptr = NULL;
        p->S.indices = NULL;
    }
    cmgi_device_csr_free(ctx, &p->S);
    cmgi_device_csr_free(ctx, &p->B);
    cmgi_device_csr_free(ctx, &p->A);
    cmgi_free_device(ctx, p->diagonal);
    cmgi_free_device(ctx, p->s);
    cmgi_free_device(ctx, p->identity);
    cmgi_free_device(ctx, p->findings);
    cmgi_free_device(ctx, p->values);
}

static cmg_status run(setup *p, const cmg_csr *A, cmgi_csr *M, bool *made)
{
    cmg_context *ctx = p->ctx;
    CMGI_TRY(cmgi_device_csr_send(ctx, A, true, &p->A));
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *p->diagonal, &p->diagonal));
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *p->identity, &p->identity));
    CMGI_TRY(cmgi_alloc_device(ctx, FINDINGS, sizeof *p->findings, &p->findings));
    CMGI_CUDA(ctx,
              cudaMemsetAsync(p->findings, 0, FINDINGS * sizeof *p->findings, cmgi_stream(ctx)));
    CMGI_TRY(prepare(p));
    CMGI_TRY(scale(p));
    CMGI_TRY(make_pattern(p));
    CMGI_TRY(cmgi_spai_rows_cuda(ctx, &p->B, p->choice.counted, &p->S, made));
    return *made ? finish(p, M) : CMG_OK;
}

extern "C" cmg_status cmgi_spai_left_cuda(cmg_context *ctx, const cmg_csr *A,
                                          const cmgi_spai_choice *choice, cmgi_csr *M, bool *made)
{
    CMGI_ON_DEVICE(ctx);
    setup p = {};
    p.ctx = ctx;
    p.choice = *choice;
    const cmg_size longest = cmgi_csr_longest_row(A);
    *made = A->rows > 0 && longest <= LONGEST_SORTED;
    if (!*made) {
        cmgi_log(ctx, CMG_LOG_INFO,
                 "spai: A has %lld rows, the longest of %lld entries; the device prepares from 1 "
                 "row and to %d entries, the CPU does it",
                 (long long)A->rows, (long long)longest, (int)LONGEST_SORTED);
        return CMG_OK;
    }
    const cmg_status status = run(&p, A, M, made);
    setup_free(&p);
    return status;
}

extern "C" cmg_status cmgi_spai_static_cuda(cmg_context *ctx, const cmg_csr *A, bool counted,
                                            cmgi_csr *S, bool *made)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_csr pattern = cmgi_csr_view(S);
    cmgi_device_csr dA = {};
    cmgi_device_csr dS = {};
    cmg_status status = CMG_OK;
    *made = true;
    CMGI_TRY_GOTO(done, cmgi_device_csr_send(ctx, A, true, &dA));
    CMGI_TRY_GOTO(done, cmgi_device_csr_send(ctx, &pattern, false, &dS));
    CMGI_TRY_GOTO(done, cmgi_spai_rows_cuda(ctx, &dA, counted, &dS, made));
    if (*made) {
        CMGI_TRY_GOTO(done,
                      cmgi_to_host(ctx, S->values, dS.values, (size_t)dS.nnz * sizeof *dS.values));
    }
done:
    cmgi_device_csr_free(ctx, &dA);
    cmgi_device_csr_free(ctx, &dS);
    return status;
}
