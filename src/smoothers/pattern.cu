/*
 * Patterns of approximate inverses on the device, and what comes before them: what pattern.c does
 * on the host, with the same comparisons in the same arithmetic. Filters count the entries that
 * stay, the counts are added up, and the rows are written one after the other.
 */
#include "core/each.h"

extern "C" {
#include "smoothers/pattern.h"
}
#include "smoothers/pattern.cuh"
#include "smoothers/pattern.inc"

typedef struct diagonals {
    cmg_csr A;
    double *diagonal;
    bool *identity; /* the one nonzero of the row is on the diagonal */
    double *s;
} diagonals;

CMGI_EACH_INDEX(find_diagonal, diagonals)
{
    double d = 0;
    bool alone = true;
    for (cmg_size k = a.A.indptr[i]; k < a.A.indptr[i + 1]; ++k) {
        d += a.A.indices[k] == i ? a.A.values[k] : 0;
        alone = alone && (a.A.indices[k] == i || a.A.values[k] == 0);
    }
    a.diagonal[i] = d;
    a.identity[i] = alone && d != 0;
}

/* s = |diagonal|^(-1/2); the diagonal becomes that of S A S. */
CMGI_EACH_INDEX(scale_diagonal, diagonals)
{
    a.s[i] = 1 / sqrt(fabs(a.diagonal[i]));
    a.diagonal[i] *= a.s[i] * a.s[i];
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

static selection selection_of(const cmgi_prepared *p, const cmgi_device_csr *A)
{
    selection s = {};
    s.A = cmg_csr{A->rows, A->rows, A->indptr, A->indices, A->values};
    s.s = A->s;
    s.diagonal = p->diagonal;
    return s;
}

/* The entries that stay, with space for values, which are those of the matrix where `values`. */
static cmg_status select_entries(cmg_context *ctx, selection s, bool values, cmgi_device_csr *B)
{
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    made.rows = s.A.rows;
    CMGI_TRY(cmgi_alloc_device(ctx, made.rows + 1, sizeof *made.indptr, &made.indptr));
    s.offset = made.indptr;
    CMGI_TRY_GOTO(failed, cmgi_select_row_device(ctx, made.rows, &s));
    CMGI_TRY_GOTO(failed, cmgi_device_csr_offsets(ctx, made.rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    *B = made;
    s.columns = made.indices;
    s.values = values ? made.values : NULL;
    return cmgi_select_row_device(ctx, made.rows, &s); /* the caller frees B */
failed:
    cmgi_device_csr_free(ctx, &made);
    return status;
}

/* B = A with sorted rows, without the columns of identity rows. */
static cmg_status decouple(cmgi_prepared *p)
{
    cmg_context *ctx = p->ctx;
    cmg_size uncoupled = 0;
    cmg_size unsorted = 0;
    selection s = selection_of(p, &p->A);
    s.identity = p->identity;
    CMGI_TRY(cmgi_count_uncoupled_device(ctx, p->A.rows, &s, &uncoupled));
    CMGI_TRY(cmgi_count_unsorted_device(ctx, p->A.rows, &s, &unsorted));
    p->own = uncoupled > 0 || unsorted > 0;
    if (!p->own) {
        p->B = p->A;
        return CMG_OK;
    }
    CMGI_TRY(select_entries(ctx, s, true, &p->B));
    if (unsorted > 0) {
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
    const diagonals d = {selection_of(p, &p->A).A, p->diagonal, p->identity, NULL};
    CMGI_TRY(cmgi_find_diagonal_device(ctx, p->A.rows, &d));
    return decouple(p);
}

cmg_status cmgi_device_prepare(cmg_context *ctx, const cmgi_resident *A, int wanted, int scale,
                               cmgi_prepared *p)
{
    const cmg_size rows = A->csr.rows;
    cmg_size asymmetric = 0;
    *p = {};
    p->ctx = ctx;
    p->from = A;
    p->A = cmgi_device_csr_view(&A->csr, A->rows.nnz);
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->diagonal, &p->diagonal));
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->identity, &p->identity));
    CMGI_TRY(take(p));
    const selection s = selection_of(p, &p->B);
    CMGI_TRY(cmgi_count_asymmetric_device(ctx, rows, &s, &asymmetric));
    const bool symmetric = wanted != CMGI_SPAI_NO && asymmetric == 0;
    p->symmetric = wanted == CMGI_SPAI_YES || symmetric;
    if (!p->symmetric) {
        CMGI_TRY(take_as_it_is(p));
    }
    if (scale == CMGI_SPAI_YES || (scale == CMGI_SPAI_AUTO && symmetric)) {
        CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *p->s, &p->s));
        const diagonals d = {{}, p->diagonal, NULL, p->s};
        CMGI_TRY(cmgi_scale_diagonal_device(ctx, rows, &d));
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
        selection s = selection_of(p, B);
        s.tau = tau;
        return select_entries(ctx, s, false, S);
    }
    CMGI_TRY(cmgi_device_csr_alloc(ctx, B->rows, B->nnz, S));
    CMGI_TRY(cmgi_to_device(ctx, S->indptr, B->indptr, (size_t)(B->rows + 1) * sizeof *S->indptr));
    return cmgi_to_device(ctx, S->indices, B->indices, (size_t)B->nnz * sizeof *S->indices);
}
