/*
 * Patterns of approximate inverses on the device, and what comes before them: what pattern.c does
 * on the host, with the same comparisons in the same arithmetic. Filters count the entries that
 * stay, the counts are added up, and the rows are written one after the other.
 */
#include "smoothers/pattern.cuh"

#include <math.h>

/* Findings about a matrix. */
enum { UNCOUPLED, UNSORTED, ASYMMETRIC, FINDINGS };

/* The lanes of a row that say yes. */
__device__ __forceinline__ unsigned among(bool yes)
{
    const unsigned shift = threadIdx.x % 32 / LANES * LANES;
    return __ballot_sync(((1U << LANES) - 1) << shift, yes) >> shift;
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
        return j == i ||
               fabs(cmgi_value_at(A, i, j, k)) > tau * sqrt(fabs(diagonal[i] * diagonal[j]));
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
    cmg_size first = 0;
    const cmg_size i = shared_row(A, &first);
    const cmg_size end = i < A.rows ? A.indptr[i + 1] : 0;
    const int lane = threadIdx.x % LANES;
    int sum = 0;
    for (cmg_size k = first; k - lane < end; k += LANES) {
        sum += __popc(among(k < end && keep(A, i, k)));
    }
    if (i < A.rows && lane == 0) {
        count[i] = sum;
    }
}

/* Row i of B: what stays of A, in its order; B.values may be NULL. */
template <typename KEEP>
__global__ void filter_kernel(const cmgi_device_csr A, const KEEP keep, cmgi_device_csr B)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(A, &first);
    const cmg_size end = i < A.rows ? A.indptr[i + 1] : 0;
    const int lane = threadIdx.x % LANES;
    cmg_size at = i < A.rows ? B.indptr[i] : 0;
    for (cmg_size k = first; k - lane < end; k += LANES) {
        const bool stays = k < end && keep(A, i, k);
        const unsigned all = among(stays);
        const cmg_size place = at + __popc(all & ((1U << lane) - 1));
        if (stays) {
            B.indices[place] = A.indices[k];
        }
        if (stays && B.values != NULL) {
            B.values[place] = A.values[k];
        }
        at += __popc(all);
    }
}

/* Every row sorted by insertion. */
__global__ void sort_kernel(cmgi_device_csr B)
{
    const cmg_size i = thread_row();
    for (cmg_size k = i < B.rows ? B.indptr[i] : 0; i < B.rows && k < B.indptr[i + 1]; ++k) {
        const cmg_index column = B.indices[k];
        const double value = B.values[k];
        cmg_size place = k;
        for (; place > B.indptr[i] && B.indices[place - 1] > column; --place) {
            B.indices[place] = B.indices[place - 1];
            B.values[place] = B.values[place - 1];
        }
        B.indices[place] = column;
        B.values[place] = value;
    }
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
        const cmg_size other = find_partner(A, i, j, k);
        const double difference = fabs(A.values[k] - (other >= 0 ? A.values[other] : 0));
        const double scale = sqrt(fabs(diagonal[i] * diagonal[j]));
        if (difference != 0 && (scale > 0 ? difference / scale > 1e-8 : true)) {
            findings[ASYMMETRIC] = 1;
        }
    }
}

/* s = |diagonal|^(-1/2); the diagonal becomes that of S A S. */
__global__ void scaling_kernel(cmg_size n, double *diagonal, double *s)
{
    const cmg_size i = thread_row();
    if (i < n) {
        s[i] = 1 / sqrt(fabs(diagonal[i]));
        diagonal[i] *= s[i] * s[i];
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

static cmg_status read_findings(const cmgi_prepared *p, int found[FINDINGS])
{
    return cmgi_to_host(p->ctx, found, p->findings, FINDINGS * sizeof *found);
}

/* B has space for values, which are A's where `values`. */
template <typename KEEP>
static cmg_status filter(cmg_context *ctx, const cmgi_device_csr *A, const KEEP keep, bool values,
                         cmgi_device_csr *B)
{
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    made.rows = A->rows;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *made.indptr, &made.indptr));
    count_kernel<<<ROWS(A->rows * LANES)>>>(*A, keep, made.indptr);
    CMGI_TRY_GOTO(failed, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(failed, cmgi_device_csr_offsets(ctx, A->rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    *B = made;
    made.values = values ? made.values : NULL;
    filter_kernel<<<ROWS(A->rows * LANES)>>>(*A, keep, made);
    return CMGI_LAUNCHED(ctx); /* the caller frees B */
failed:
    cmgi_device_csr_free(ctx, &made);
    return status;
}

/* B = A with sorted rows, without the columns of identity rows where these are given. */
static cmg_status decouple(cmgi_prepared *p)
{
    cmg_context *ctx = p->ctx;
    const coupled keep = {p->identity};
    int found[FINDINGS] = {0};
    look_kernel<<<ROWS(p->A.rows * LANES)>>>(p->A, keep, p->findings);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(read_findings(p, found));
    p->own = found[UNCOUPLED] || found[UNSORTED];
    if (!p->own) {
        p->B = p->A;
        return CMG_OK;
    }
    CMGI_TRY(filter(ctx, &p->A, keep, true, &p->B));
    if (found[UNSORTED]) {
        sort_kernel<<<ROWS(p->B.rows)>>>(p->B);
    }
    return CMGI_LAUNCHED(ctx);
}

/* B where no column is decoupled. */
static cmg_status take_as_it_is(cmgi_prepared *p)
{
    cmg_context *ctx = p->ctx;
    if (!p->own) { /* nothing was left out */
        return CMG_OK;
    }
    cmgi_device_csr_free(ctx, &p->B);
    CMGI_TRY(cmgi_cuda_clear(ctx, p->identity, (size_t)p->A.rows));
    CMGI_TRY(cmgi_cuda_clear(ctx, p->findings, FINDINGS * sizeof *p->findings));
    return decouple(p);
}

/* B and its diagonal: what is known of A may save the look at it. */
static cmg_status take(cmgi_prepared *p)
{
    cmg_context *ctx = p->ctx;
    const cmgi_resident *R = p->from;
    const size_t bytes = (size_t)p->A.rows * sizeof *p->diagonal;
    if (R->diagonal != NULL && R->facts.ascending && R->facts.identity == 0) {
        p->B = p->A;
        CMGI_CUDA(ctx, cudaMemcpyAsync(p->diagonal, R->diagonal, bytes, cudaMemcpyDeviceToDevice,
                                       cmgi_stream(ctx)));
        return CMG_OK;
    }
    diagonal_kernel<<<ROWS(p->A.rows)>>>(p->A, p->diagonal, p->identity);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return decouple(p);
}

cmg_status cmgi_device_prepare(cmg_context *ctx, const cmgi_resident *A, int wanted, int scale,
                               cmgi_prepared *p)
{
    const cmg_size rows = A->csr.rows;
    int found[FINDINGS] = {0};
    *p = {};
    p->ctx = ctx;
    p->from = A;
    p->A = cmgi_device_csr_view(&A->csr, A->rows.nnz);
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->diagonal, &p->diagonal));
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->identity, &p->identity));
    CMGI_TRY(cmgi_alloc_device(ctx, FINDINGS, sizeof *p->findings, &p->findings));
    CMGI_TRY(cmgi_cuda_clear(ctx, p->findings, FINDINGS * sizeof *p->findings));
    CMGI_TRY(take(p));
    symmetry_kernel<<<ROWS(rows * LANES)>>>(p->B, p->diagonal, p->findings);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(read_findings(p, found));
    const bool symmetric = wanted != CMGI_SPAI_NO && !found[ASYMMETRIC];
    p->symmetric = wanted == CMGI_SPAI_YES || symmetric;
    if (!p->symmetric) {
        CMGI_TRY(take_as_it_is(p));
    }
    if (scale == CMGI_SPAI_YES || (scale == CMGI_SPAI_AUTO && symmetric)) {
        CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->s, &p->s));
        scaling_kernel<<<ROWS(rows)>>>(rows, p->diagonal, p->s);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        p->B.s = p->s;
    }
    return CMG_OK;
}

void cmgi_prepared_free(cmgi_prepared *p)
{
    cmg_context *ctx = p->ctx;
    if (p->own) {
        cmgi_device_csr_free(ctx, &p->B);
    }
    cmgi_free_device(ctx, p->diagonal);
    cmgi_free_device(ctx, p->s);
    cmgi_free_device(ctx, p->identity);
    cmgi_free_device(ctx, p->findings);
}

cmg_status cmgi_device_pattern(const cmgi_prepared *p, double tau, int power, cmgi_device_csr *S)
{
    cmg_context *ctx = p->ctx;
    const cmgi_device_csr *B = &p->B;
    if (power == 0) {
        CMGI_TRY(cmgi_device_csr_alloc(ctx, B->rows, B->rows, S));
        identity_kernel<<<ROWS(S->rows + 1)>>>(*S);
        return CMGI_LAUNCHED(ctx);
    }
    if (tau > 0) {
        const strong keep = {p->diagonal, tau};
        return filter(ctx, B, keep, false, S);
    }
    CMGI_TRY(cmgi_device_csr_alloc(ctx, B->rows, B->nnz, S));
    CMGI_TRY(cmgi_to_device(ctx, S->indptr, B->indptr, (size_t)(B->rows + 1) * sizeof *S->indptr));
    return cmgi_to_device(ctx, S->indices, B->indices, (size_t)B->nnz * sizeof *S->indices);
}
