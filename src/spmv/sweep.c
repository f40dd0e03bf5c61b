/* Substitution by stages; see sweep.h. */
#include "spmv/sweep.h"

#include "csr/csr.h"
#include "spmv/precision.h"

enum { WIDE = 4096 }; /* rows a stage, on average, from which threads share them */

#define T double
#define SUFFIX f64
#include "spmv/sweep_cpu.inc"
#define T float
#define SUFFIX f32
#include "spmv/sweep_cpu.inc"

/*
 * Stage of every row, one more than the latest that it refers to: a row is done when all of those
 * are (Kahn, Commun. ACM 5 (1962)). `waits` has the number of them, `ready` gets the rows as they
 * are done, stage by stage.
 */
static cmg_size find_stages(const cmg_csr *L, const cmg_csr *followers, cmg_index *waits,
                            cmg_index *ready, cmg_index *stage)
{
    cmg_size known = 0;
    for (cmg_size i = 0; i < L->rows; ++i) {
        waits[i] = (cmg_index)(L->indptr[i + 1] - L->indptr[i] - 1);
        stage[i] = 0;
        if (waits[i] == 0) {
            ready[known++] = (cmg_index)i;
        }
    }
    for (cmg_size p = 0; p < known; ++p) {
        const cmg_index j = ready[p];
        for (cmg_size k = followers->indptr[j]; k < followers->indptr[j + 1]; ++k) {
            const cmg_index i = followers->indices[k];
            if (i != j && --waits[i] == 0) {
                stage[i] = stage[j] + 1;
                ready[known++] = i;
            }
        }
    }
    return known;
}

/* Rows by stages, those of a stage in ascending order. */
static cmg_status order(cmg_context *ctx, const cmg_csr *L, cmgi_sweep *S)
{
    const cmg_size n = L->rows;
    cmgi_scoped_csr followers = {0};
    CMGI_TRY(cmgi_csr_transpose(ctx, L, &followers));
    CMGI_SCOPED(ctx, n, cmg_index, waits);
    CMGI_SCOPED(ctx, n, cmg_index, ready);
    CMGI_SCOPED(ctx, n, cmg_index, stage);
    const cmg_size known = find_stages(L, &followers.view, waits, ready, stage);
    CMGI_CHECK(ctx, known == n, CMG_ERR_ARG,
               "sweep: %lld of %lld rows refer to each other in circles", (long long)(n - known),
               (long long)n);
    S->stages = n > 0 ? stage[ready[n - 1]] + 1 : 1;
    return cmgi_incidence_make(ctx, S->stages, n, stage, &S->stage, &S->row);
}

/* Entries place by place, the diagonal last. */
static void fill(cmg_matrix *A, const cmg_csr *L)
{
    cmgi_sweep *S = A->data;
    cmg_size at = 0;
    for (cmg_size p = 0; p < A->rows; ++p) {
        const cmg_index i = S->row[p];
        S->ptr[p] = at;
        const cmg_size last = at + L->indptr[i + 1] - L->indptr[i] - 1;
        for (cmg_size k = L->indptr[i]; k < L->indptr[i + 1]; ++k) {
            const cmg_size place = L->indices[k] == i ? last : at++;
            S->columns[place] = L->indices[k];
            cmgi_matrix_put(A, k, place, L->values[k]);
        }
        ++at;
    }
    S->ptr[A->rows] = at;
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const cmg_size n = A->rows;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    cmgi_sweep *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    A->stored = A->nnz;
    A->bytes = (size_t)n * (sizeof *S->row + sizeof *S->ptr + 2 * value) +
               (size_t)A->nnz * (sizeof *S->columns + value);
    CMGI_TRY(cmgi_alloc(ctx, n + 1, sizeof *S->ptr, &S->ptr));
    CMGI_TRY(cmgi_alloc(ctx, A->nnz, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    CMGI_TRY(order(ctx, from->csr, S));
    fill(A, from->csr);
    const size_t bytes = (size_t)(S->stages + 1) * sizeof *S->stage;
    CMGI_TRY(cmgi_alloc_device(ctx, S->stages + 1, sizeof *S->stage_there, &S->stage_there));
    CMGI_TRY(cmgi_to_device(ctx, S->stage_there, S->stage, bytes));
    CMGI_TRY(cmgi_alloc_device(ctx, n, value, &S->y));
    return CMGI_MOVE(ctx, &S->row, &S->ptr, &S->columns);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->options.precision == CMG_FP64) {
        sweep_f64(A, w, x);
    } else {
        sweep_f32(A, w, x);
    }
    return CMG_OK;
}

static void destroy(cmg_matrix *A)
{
    cmgi_sweep *S = A->data;
    if (S != NULL) {
        CMGI_FREE_DEVICE(A->ctx, S->row, S->ptr, S->columns, S->stage_there, S->y);
        CMGI_FREE(A->ctx, S->stage, S);
    }
}

/* It answers to the name of csr, whose entries it has. */
static const cmgi_format sweep = {.id = CMG_FORMAT_CSR,
                                  .build = build,
                                  .spmv_cpu = multiply,
                                  .spmv_cuda = CMGI_CUDA_FN(cmgi_sweep_spmv_cuda),
                                  .destroy = destroy};

cmg_status cmgi_sweep_create(cmg_context *ctx, const cmg_csr *L, const cmg_matrix_options *options,
                             cmg_matrix **M)
{
    const cmgi_matrix_source from = {.csr = L};
    cmg_matrix_options full = *options;
    full.format = CMG_FORMAT_CSR;
    full.values = CMG_VALUES_FULL;
    CMGI_CHECK(ctx, L->rows == L->cols, CMG_ERR_SHAPE, "sweep: T is %lld x %lld, not square",
               (long long)L->rows, (long long)L->cols);
    for (cmg_size i = 0; i < L->rows; ++i) {
        CMGI_CHECK(ctx, cmgi_csr_diagonal_at(L, i) != 0, CMG_ERR_SINGULAR,
                   "sweep: row %lld has no nonzero diagonal", (long long)i);
    }
    return cmgi_matrix_make(ctx, &sweep, &from, &full, M);
}
