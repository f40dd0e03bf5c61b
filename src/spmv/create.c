/*
 * Matrices from CSR. One on the host is checked, its format is chosen, and it is built there, or,
 * where it is large and a GPU can convert it, after it has been copied to the device as it is. One
 * on the device brings its row pointers to the host, where they are checked and the layout is
 * planned from them; columns and values stay and are put in their places by the device. A format
 * that has no such kernel is made on the host.
 */
#include "spmv/create.h"

#include "spmv/compressed_forecast.h"
#include "spmv/formats.h"
#include "spmv/options.h"
#include "spmv/tune.h"

/* Entries from which the host's conversion takes longer than to copy the CSR. */
enum { UPLOAD_FROM = 1 << 18 };

/* ------------------------------------------------------------------ from the host */

static cmg_status make_on_host(cmg_context *ctx, const cmg_csr *csr,
                               const cmg_matrix_options *options, cmg_matrix **A)
{
    const cmgi_matrix_source from = {.csr = csr};
    return cmgi_matrix_make(ctx, cmgi_format_find(options->format), &from, options, A);
}

/* Formats that the device fills itself. */
static bool fills_itself(const cmgi_format *format, const cmg_matrix_options *options)
{
    return format->fill_cuda != NULL && !format->renumbers && options->block_rows <= 1;
}

/* Large ones are copied to the device as they are and converted there, where that can be done and
 * both forms fit; sets *made when it has been. */
static cmg_status by_upload(cmg_context *ctx, const cmg_csr *csr, const cmg_matrix_options *options,
                            cmg_matrix **A, bool *made)
{
    const cmgi_format *format = cmgi_format_find(options->format);
    const cmg_size rows = csr->rows + 1;
    const cmg_size nnz = csr->indptr[csr->rows];
    cmg_size *indptr = NULL;
    cmg_index *indices = NULL;
    double *values = NULL;
    cmg_status status = CMG_OK;
    *made = false;
    if (nnz < UPLOAD_FROM || !fills_itself(format, options)) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, rows, sizeof *indptr, &indptr));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *indices, &indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *values, &values));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, indptr, csr->indptr, (size_t)rows * sizeof *indptr));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, indices, csr->indices, (size_t)nnz * sizeof *indices));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, values, csr->values, (size_t)nnz * sizeof *values));
    const cmg_csr there = {csr->rows, csr->cols, indptr, indices, values};
    const cmgi_matrix_source from = {.csr = csr, .device = &there};
    CMGI_TRY_GOTO(done, cmgi_matrix_make(ctx, format, &from, options, A));
    *made = true;
done:
    cmgi_free_device(ctx, indptr);
    cmgi_free_device(ctx, indices);
    cmgi_free_device(ctx, values);
    /* no room for both forms: the host converts, which needs the memory of one */
    return status == CMG_ERR_MEMORY ? CMG_OK : status;
}

/* What compression makes of the matrix, for the step list. */
static cmg_status explain(cmg_matrix *A, const cmg_csr *csr)
{
    const cmgi_compression_look look = {.csr = csr, .options = &A->options};
    CMGI_TRY(cmgi_alloc_zero(A->ctx, 1, sizeof *A->compression, &A->compression));
    return cmgi_compression_predict(A->ctx, &look, A->compression, NULL);
}

static cmg_status from_host(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                            cmg_matrix_options options, cmg_matrix **A)
{
    const cmgi_matrix_source from = {.csr = csr};
    cmg_matrix *made = NULL;
    bool done = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_choose(ctx, &from, use, &options, NULL));
    if (options.format == CMG_FORMAT_TUNE) {
        CMGI_TRY(cmgi_tune(ctx, csr, &options, &made));
    } else {
        if (cmgi_on_cuda(ctx)) {
            CMGI_TRY(by_upload(ctx, csr, &options, &made, &done));
        }
        if (!done) {
            CMGI_TRY(make_on_host(ctx, csr, &options, &made));
        }
    }
    if (options.explain) {
        CMGI_TRY_GOTO(failed, explain(made, csr));
    }
    *A = made;
    return CMG_OK;
failed:
    cmg_matrix_destroy(&made);
    return status;
}

/* ------------------------------------------------------------------ from the device */

/* The arrays on the host; `values` false leaves columns and values out. */
static cmg_status fetch(cmg_context *ctx, const cmg_csr *csr, bool entries, cmgi_csr *host)
{
    cmgi_csr made = {.rows = csr->rows, .cols = csr->cols};
    const size_t rows = (size_t)csr->rows + 1;
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, csr->rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY_GOTO(failed, cmgi_to_host(ctx, made.indptr, csr->indptr, rows * sizeof *made.indptr));
    nnz = entries ? made.indptr[csr->rows] : 0;
    if (nnz < 0 || (nnz > 0 && (csr->indices == NULL || csr->values == NULL))) {
        nnz = 0; /* the check says what is wrong */
    }
    if (nnz > 0) {
        CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, nnz, sizeof *made.indices, &made.indices));
        CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, nnz, sizeof *made.values, &made.values));
        CMGI_TRY_GOTO(failed, cmgi_to_host(ctx, made.indices, csr->indices,
                                           (size_t)nnz * sizeof *made.indices));
        CMGI_TRY_GOTO(
            failed, cmgi_to_host(ctx, made.values, csr->values, (size_t)nnz * sizeof *made.values));
    }
    *host = made;
    return CMG_OK;
failed:
    cmgi_csr_free(ctx, &made);
    return status;
}

static cmg_status check_rows(cmg_context *ctx, const cmgi_csr *A)
{
    CMGI_CHECK(ctx, A->indptr[0] == 0, CMG_ERR_SHAPE, "matrix: indptr[0] is %lld, not 0",
               (long long)A->indptr[0]);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        CMGI_CHECK(ctx, length >= 0 && length <= A->cols, CMG_ERR_SHAPE,
                   "matrix: row %lld has %lld entries, a row has 0 .. %lld", (long long)i,
                   (long long)length, (long long)A->cols);
    }
    return CMG_OK;
}

/* Through the host: the whole CSR is fetched and checked there. */
static cmg_status through_host(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                               const cmg_matrix_options *options, cmg_matrix **A)
{
    cmgi_csr host = {0};
    CMGI_TRY(fetch(ctx, csr, true, &host));
    const cmg_csr view = cmgi_csr_view(&host);
    const cmgi_matrix_source from = {.csr = &view};
    cmg_matrix_options resolved = *options;
    cmg_status status = cmgi_csr_check(ctx, "matrix", &view);
    if (status == CMG_OK) {
        status = cmgi_choose(ctx, &from, use, &resolved, NULL);
    }
    if (status == CMG_OK) {
        status = resolved.format == CMG_FORMAT_TUNE ? cmgi_tune(ctx, &view, &resolved, A)
                                                    : make_on_host(ctx, &view, &resolved, A);
    }
    cmgi_csr_free(ctx, &host);
    return status;
}

static cmg_status from_device(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A)
{
    static cmg_status (*const in_range)(cmg_context *, cmg_size, cmg_size, const cmg_index *,
                                        bool *) = CMGI_CUDA_FN(cmgi_columns_in_range_cuda);
    cmgi_csr rows = {0};
    bool good = false;
    cmg_status status = CMG_OK;
    CMGI_CHECK(
        ctx, csr->rows >= 0 && csr->cols >= 0 && csr->rows <= INT32_MAX && csr->cols <= INT32_MAX,
        CMG_ERR_SHAPE, "matrix: %lld x %lld is not a size of 0 .. 2147483647 rows and columns",
        (long long)csr->rows, (long long)csr->cols);
    CMGI_TRY(fetch(ctx, csr, false, &rows));
    CMGI_TRY_GOTO(done, check_rows(ctx, &rows));
    const cmg_csr view = cmgi_csr_view(&rows);
    const cmg_size nnz = view.indptr[view.rows];
    if (nnz > 0 && (csr->indices == NULL || csr->values == NULL)) {
        status = cmgi_fail(ctx, CMG_ERR_ARG, "matrix: indices or values are NULL");
        goto done;
    }
    CMGI_TRY_GOTO(done, in_range(ctx, nnz, csr->cols, csr->indices, &good));
    const cmgi_matrix_source from = {.csr = &view, .device = csr};
    cmg_matrix_options resolved = *options;
    /* as many entries as a diagonal matrix has: the columns tell whether it is one */
    const bool sparse = options->format == CMG_FORMAT_AUTO && nnz <= view.rows;
    if (good && !sparse) {
        CMGI_TRY_GOTO(done, cmgi_choose(ctx, &from, use, &resolved, NULL));
    }
    const cmgi_format *format = cmgi_format_find(resolved.format);
    status = good && format != NULL && fills_itself(format, &resolved)
                 ? cmgi_matrix_make(ctx, format, &from, &resolved, A)
                 : through_host(ctx, csr, use, &resolved, A);
done:
    cmgi_csr_free(ctx, &rows);
    return status;
}

/* ------------------------------------------------------------------ either */

cmg_status cmgi_matrix_create(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A)
{
    CMGI_CHECK(ctx, csr != NULL && A != NULL, CMG_ERR_ARG,
               "matrix: the CSR or the out-pointer is NULL");
    cmg_matrix_options own;
    CMGI_TRY(cmgi_matrix_options_take(ctx, options, &own));
    const bool chosen = own.format == CMG_FORMAT_AUTO || own.format == CMG_FORMAT_TUNE;
    CMGI_CHECK(ctx, chosen || cmgi_format_find(own.format) != NULL, CMG_ERR_ARG,
               "matrix: unknown format %d", (int)own.format);
    bool there = false;
    CMGI_TRY(cmgi_is_device(ctx, csr->indptr, &there));
    if (there) {
        return from_device(ctx, csr, use, &own, A);
    }
    CMGI_TRY(cmgi_csr_check(ctx, "matrix", csr));
    return from_host(ctx, csr, use, own, A);
}

cmg_status cmg_matrix_create_csr(cmg_context *ctx, const cmg_csr *csr,
                                 const cmg_matrix_options *options, cmg_matrix **A)
{
    return ctx != NULL ? cmgi_matrix_create(ctx, csr, CMGI_USE_ANY, options, A) : CMG_ERR_ARG;
}
