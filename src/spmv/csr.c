/*
 * Compressed sparse rows: the reference of all formats. Threads share the entries, not the rows; a
 * GPU does so where the rows are uneven (csr.h).
 *
 * Source  Saad 2003, section 3.4.
 */
#include "spmv/columns.h"
#include "spmv/csr.h"

size_t cmgi_csr_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return (size_t)(s->rows + 1) * sizeof(cmg_size) +
           (size_t)s->nnz * (sizeof(cmg_index) + cmgi_precision_bytes(options->precision));
}

/* Whether tiles are out of the question without a look at the row pointers. */
static bool takes_device(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return options->t != 0 || cmgi_rows_even(s);
}

/* From a CSR on the device. */
static cmg_status build_on_device(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_csr_storage *S = A->data;
    const size_t rows = (size_t)A->rows + 1;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *S->indptr, &S->indptr));
    CMGI_TRY(cmgi_alloc_device(ctx, A->nnz, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    CMGI_TRY(cmgi_to_device(ctx, S->indptr, from->device->indptr, rows * sizeof *S->indptr));
    CMGI_TRY(cmgi_to_device(ctx, S->columns, from->device->indices,
                            (size_t)A->nnz * sizeof *S->columns));
    return cmgi_matrix_take_values(A, from->device->values);
}

static cmg_status build_on_host(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_csr_storage *S = A->data;
    const cmg_csr *csr = from->csr;
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *S->indptr, &S->indptr));
    CMGI_TRY(cmgi_alloc(ctx, A->nnz, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, false));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->nnz > 10000)
    for (cmg_size i = 0; i < csr->rows; ++i) {
        S->indptr[i] = csr->indptr[i];
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            S->columns[k] = csr->indices[k];
            cmgi_matrix_put(A, k, k, csr->values[k]);
        }
    }
    S->indptr[csr->rows] = A->nnz;
    return CMGI_MOVE(ctx, &S->indptr, &S->columns);
}

cmg_status cmgi_csr_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_csr_storage *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    A->stored = A->nnz;
    A->bytes = cmgi_csr_bytes(&(cmgi_row_statistics){.rows = A->rows, .nnz = A->nnz}, &A->options);
    if (cmgi_on_cuda(ctx) && A->format->id == CMG_FORMAT_CSR && A->options.t == 0 &&
        from->csr != NULL && cmgi_csr_uneven(ctx, from->csr)) {
        CMGI_TRY(cmgi_csr_tiles_make(ctx, from->csr, A->options.precision, &S->tiles));
        A->bytes += (size_t)S->tiles->ntiles * sizeof *S->tiles->tile +
                    (size_t)S->tiles->nsplit * sizeof *S->tiles->split;
    }
    return from->device != NULL ? build_on_device(A, from) : build_on_host(A, from);
}

void cmgi_csr_destroy(cmg_matrix *A)
{
    cmgi_csr_storage *S = A->data;
    if (S != NULL) {
        CMGI_FREE_DEVICE(A->ctx, S->indptr, S->columns);
        cmgi_csr_tiles_destroy(A->ctx, S->tiles);
        cmgi_free(A->ctx, S);
    }
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    return cmgi_rows_cpu(A, CMGI_ROWS_CSR, ((const cmgi_csr_storage *)A->data)->indptr, A->rows, w,
                         x);
}

const cmgi_format cmgi_format_csr = {.id = CMG_FORMAT_CSR,
                                     .columns = true,
                                     .takes_device = takes_device,
                                     .bytes = cmgi_csr_bytes,
                                     .build = cmgi_csr_build,
                                     .fills = true,
                                     .spmv_cpu = multiply,
                                     .spmv_cuda = CMGI_CUDA_FN(cmgi_csr_spmv_cuda),
                                     .destroy = cmgi_csr_destroy};
