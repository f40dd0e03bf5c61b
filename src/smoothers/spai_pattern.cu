/*
 * SPAI from A to M on the device: what pattern.c and csr.c do on the host around the least
 * squares, with the same comparisons in the same arithmetic. Filters count the
 * entries that stay, the counts are added up, and the rows are written one after the other.
 */
#include "smoothers/spai.cuh"

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

/*
 * Place of entry (j,i) in sorted rows, -1 where there is none, to (i,j) at k. Where neighbours have
 * the same pattern around them, it is as far from the end of its row as k from the beginning.
 */
__device__ __forceinline__ cmg_size find_partner(const cmgi_device_csr &A, cmg_size i, cmg_index j,
                                                 cmg_size k)
{
    cmg_size low = A.indptr[j];
    cmg_size high = A.indptr[j + 1];
    const cmg_size end = high;
    const cmg_size guess = end - 1 - (k - A.indptr[i]);
    if (guess >= low && A.indices[guess] == i) {
        return guess;
    }
    while (low < high) {
        const cmg_size middle = (low + high) / 2;
        if (A.indices[middle] < i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && A.indices[low] == i ? low : -1;
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

/* M = (M + M^T) / 2 in the entries that have a partner; the thread of the upper one writes both. */
__global__ void symmetrize_kernel(cmgi_device_csr M, int *findings)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(M, &first);
    if (i >= M.rows) {
        return;
    }
    for (cmg_size k = first; k < M.indptr[i + 1]; k += LANES) {
        const cmg_size other = find_partner(M, i, M.indices[k], k);
        if (other < 0) {
            findings[UNMATCHED] = 1;
        } else if (M.indices[k] > i) {
            M.values[k] = M.values[other] = 0.5 * (M.values[k] + M.values[other]);
        }
    }
}

/* Row i of (M + M^T) / 2 from sorted rows of both; B.indices = NULL: its length alone. */
__global__ void merge_kernel(const cmgi_device_csr M, const cmgi_device_csr T, cmgi_device_csr B)
{
    const cmg_size i = thread_row();
    if (i >= M.rows) {
        return;
    }
    cmg_size a = M.indptr[i];
    cmg_size b = T.indptr[i];
    cmg_size at = B.indices != NULL ? B.indptr[i] : 0;
    while (a < M.indptr[i + 1] || b < T.indptr[i + 1]) {
        const cmg_index ja = a < M.indptr[i + 1] ? M.indices[a] : INT32_MAX;
        const cmg_index jb = b < T.indptr[i + 1] ? T.indices[b] : INT32_MAX;
        const cmg_index j = ja < jb ? ja : jb;
        const double va = ja == j ? M.values[a++] : 0;
        const double vb = jb == j ? T.values[b++] : 0;
        if (B.indices != NULL) {
            B.indices[at] = j;
            B.values[at] = 0.5 * (va + vb);
        }
        ++at;
    }
    if (B.indices == NULL) {
        B.indptr[i] = at;
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

/* M = S M S */
__global__ void scale_kernel(cmgi_device_csr M, const double *s)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(M, &first);
    if (i >= M.rows) {
        return;
    }
    for (cmg_size k = first; k < M.indptr[i + 1]; k += LANES) {
        M.values[k] *= s[i] * s[M.indices[k]];
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
    const cmgi_resident *from;
    cmgi_device_csr A; /* the caller's */
    cmgi_device_csr B; /* A, or without what is decoupled; stands for S B S once scaled */
    bool own;          /* B's arrays are not A's */
    cmgi_device_csr S; /* pattern, then M */
    double *diagonal;  /* of B */
    double *s;         /* S */
    bool *identity;
    int *findings;
    bool symmetric; /* take the symmetric part */
    bool scaled;    /* work on S B S */
} setup;

#define ROWS(n) cmgi_grid((n), THREADS), THREADS, 0, cmgi_stream(ctx)

static cmgi_device_csr view_of(const cmg_csr *A, cmg_size nnz)
{
    cmgi_device_csr view = {};
    view.rows = A->rows;
    view.nnz = nnz;
    view.indptr = (cmg_size *)A->indptr;
    view.indices = (cmg_index *)A->indices;
    view.values = (double *)A->values;
    return view;
}

static cmg_status read_findings(const setup *p, int found[FINDINGS])
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
static cmg_status decouple(setup *p)
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
static cmg_status take_as_it_is(setup *p)
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
static cmg_status take(setup *p)
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

/* What `auto` means, and the matrix that follows from it. */
static cmg_status prepare(setup *p)
{
    cmg_context *ctx = p->ctx;
    const int wanted = p->choice.symmetric;
    int found[FINDINGS] = {0};
    CMGI_TRY(take(p));
    symmetry_kernel<<<ROWS(p->B.rows * LANES)>>>(p->B, p->diagonal, p->findings);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(read_findings(p, found));
    const bool symmetric = wanted != CMGI_SPAI_NO && !found[ASYMMETRIC];
    p->symmetric = wanted == CMGI_SPAI_YES || symmetric;
    p->scaled =
        p->choice.scale == CMGI_SPAI_YES || (p->choice.scale == CMGI_SPAI_AUTO && symmetric);
    return p->symmetric ? CMG_OK : take_as_it_is(p);
}

static cmg_status scale(setup *p)
{
    cmg_context *ctx = p->ctx;
    if (!p->scaled) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, p->B.rows, sizeof *p->s, &p->s));
    scaling_kernel<<<ROWS(p->B.rows)>>>(p->B.rows, p->diagonal, p->s);
    p->B.s = p->s;
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
        return filter(ctx, &p->B, keep, false, &p->S);
    }
    CMGI_TRY(cmgi_device_csr_alloc(ctx, p->B.rows, p->B.nnz, &p->S));
    CMGI_TRY(cmgi_to_device(ctx, p->S.indptr, p->B.indptr,
                            (size_t)(p->B.rows + 1) * sizeof *p->S.indptr));
    return cmgi_to_device(ctx, p->S.indices, p->B.indices, (size_t)p->B.nnz * sizeof *p->S.indices);
}

/* M = (M + M^T) / 2 where their patterns differ. */
static cmg_status merge(cmg_context *ctx, cmgi_device_csr *M)
{
    cmg_csr view = {M->rows, M->rows, M->indptr, M->indices, M->values};
    cmg_csr transposed = {};
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->transpose(ctx, &view, M->nnz, &transposed));
    const cmgi_device_csr T = view_of(&transposed, M->nnz);
    made.rows = M->rows;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, M->rows + 1, sizeof *made.indptr, &made.indptr));
    merge_kernel<<<ROWS(M->rows)>>>(*M, T, made);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_device_csr_offsets(ctx, M->rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    merge_kernel<<<ROWS(M->rows)>>>(*M, T, made);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    cmgi_device_csr_free(ctx, M);
    *M = made;
    made = {};
done:
    cmgi_device_csr_free(ctx, &made);
    cmgi_resident_free_arrays(ctx, &transposed);
    return status;
}

/* M = S M S, then its symmetric part. */
static cmg_status finish(setup *p)
{
    cmg_context *ctx = p->ctx;
    int found[FINDINGS] = {0};
    if (p->scaled) {
        scale_kernel<<<ROWS(p->S.rows * LANES)>>>(p->S, p->s);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
    }
    if (p->symmetric) {
        symmetrize_kernel<<<ROWS(p->S.rows * LANES)>>>(p->S, p->findings);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        CMGI_TRY(read_findings(p, found));
    }
    return found[UNMATCHED] ? merge(ctx, &p->S) : CMG_OK;
}

static void setup_free(setup *p)
{
    cmg_context *ctx = p->ctx;
    if (p->own) {
        cmgi_device_csr_free(ctx, &p->B);
    }
    cmgi_device_csr_free(ctx, &p->S);
    cmgi_free_device(ctx, p->diagonal);
    cmgi_free_device(ctx, p->s);
    cmgi_free_device(ctx, p->identity);
    cmgi_free_device(ctx, p->findings);
}

/* M takes over the arrays of S. */
static cmg_status hand_over(setup *p, cmgi_resident *M)
{
    cmg_context *ctx = p->ctx;
    cmgi_resident R = {};
    R.csr = {p->S.rows, p->S.rows, p->S.indptr, p->S.indices, p->S.values};
    R.facts.beside = p->S.rows; /* all of it is looked at where that may be wrong */
    p->S = {};
    cmg_status status = cmgi_resident_kernels_of(ctx)->rows(ctx, &R.csr, &R);
    if (status == CMG_OK && R.rows.longest <= 1) {
        status = cmgi_resident_look_again(ctx, &R);
    }
    if (status != CMG_OK) {
        cmgi_resident_free(ctx, &R);
        return status;
    }
    *M = R;
    return CMG_OK;
}

static cmg_status run(setup *p, cmgi_resident *M, bool *made)
{
    cmg_context *ctx = p->ctx;
    const cmg_size rows = p->A.rows;
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->diagonal, &p->diagonal));
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->identity, &p->identity));
    CMGI_TRY(cmgi_alloc_device(ctx, FINDINGS, sizeof *p->findings, &p->findings));
    CMGI_TRY(cmgi_cuda_clear(ctx, p->findings, FINDINGS * sizeof *p->findings));
    CMGI_TRY(prepare(p));
    CMGI_TRY(scale(p));
    CMGI_TRY(make_pattern(p));
    CMGI_TRY(cmgi_spai_rows_cuda(ctx, &p->B, p->choice.counted, &p->S, made));
    if (!*made) {
        return CMG_OK;
    }
    CMGI_TRY(finish(p));
    return hand_over(p, M);
}

extern "C" cmg_status cmgi_spai_left_cuda(cmg_context *ctx, const cmgi_resident *A,
                                          const cmgi_spai_choice *choice, cmgi_resident *M,
                                          bool *made)
{
    CMGI_ON_DEVICE(ctx);
    setup p = {};
    p.ctx = ctx;
    p.choice = *choice;
    p.from = A;
    p.A = view_of(&A->csr, A->rows.nnz);
    const cmg_size longest = A->rows.longest;
    *made = A->csr.rows > 0 && longest <= LONGEST_SORTED;
    if (!*made) {
        cmgi_log(ctx, CMG_LOG_INFO,
                 "spai: A has %lld rows, the longest of %lld entries; the device prepares from 1 "
                 "row and to %d entries, the CPU does it",
                 (long long)A->csr.rows, (long long)longest, (int)LONGEST_SORTED);
        return CMG_OK;
    }
    const cmg_status status = run(&p, M, made);
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
