/* Diagonal matrices, one value a row, and dense ones, all values by rows: no indices are stored. */
#include "spmv/matrix.h"

#include "csr/small_dense.h"
#include "spmv/columns.h"
#include "spmv/reduced.h"

/* diagonal.cu */
cmg_status cmgi_diagonal_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_dense_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

static size_t diagonal_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return (size_t)s->rows * cmgi_precision_bytes(options->precision);
}

static size_t dense_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return (size_t)s->rows *
           ((size_t)s->cols * cmgi_values_bytes(options->values, options->precision) +
            (options->values != CMG_VALUES_FULL ? sizeof(float) : 0));
}

/* A value map knows nothing of rows without an entry. */
static bool diagonal_takes_device(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return !options->keep_map || s->nnz == s->rows;
}

/* That of a CSR on the device is among what is known of it. */
static cmg_status build_diagonal(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const cmg_csr *csr = from->csr;
    const cmgi_resident *R = from->there;
    A->stored = A->rows;
    A->bytes = diagonal_bytes(&(cmgi_row_statistics){.rows = A->rows}, &A->options);
    if (from->device != NULL) {
        CMGI_CHECK(ctx, cmgi_resident_is_diagonal(R), CMG_ERR_SHAPE,
                   "diagonal format: the matrix is %lld x %lld with up to %lld entries a row, or "
                   "has some off the diagonal",
                   (long long)R->csr.rows, (long long)R->csr.cols, (long long)R->rows.longest);
        CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
        return cmgi_matrix_take_values(A, R->diagonal);
    }
    CMGI_CHECK(ctx, csr->rows == csr->cols, CMG_ERR_SHAPE,
               "diagonal format: the matrix is %lld x %lld", (long long)csr->rows,
               (long long)csr->cols);
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    cmg_size bad = csr->indptr[csr->rows]; /* first entry off the diagonal */
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (csr->rows > 4096)
    for (cmg_size i = 0; i < csr->rows; ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            bad = k < bad && csr->indices[k] != i ? k : bad;
            cmgi_matrix_put(A, k, i, csr->values[k]);
        }
    }
    CMGI_CHECK(ctx, bad == csr->indptr[csr->rows], CMG_ERR_SHAPE,
               "diagonal format: row %lld has an entry in column %lld",
               (long long)cmgi_csr_row_of(csr, bad), (long long)csr->indices[bad]);
    return CMG_OK;
}

static cmg_status multiply_diagonal(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    return cmgi_rows_cpu(A, CMGI_ROWS_DIAGONAL, NULL, A->rows, w, x);
}

/* Row i of a dense matrix in 16 or 8 bits, with a scale of its own; entries k .. end - 1 of the
 * source. */
static void fill_reduced_row(const cmg_matrix *A, const cmgi_matrix_source *from, cmg_size i,
                             cmg_size k, cmg_size end)
{
    const double *values = from->dense != NULL ? from->dense : from->csr->values;
    const cmg_values kind = A->options.values;
    float *scale = A->data;
    scale[i] = cmgi_reduced_scale(kind, cmgi_largest(end - k, values + k));
    for (cmg_size e = k; e < end; ++e) {
        const cmg_size j = from->dense != NULL ? e - k : from->csr->indices[e];
        (void)cmgi_reduced_store(kind, A->values, i * A->cols + j, values[e], scale[i]);
    }
}

static void fill_row(cmg_matrix *A, const cmgi_matrix_source *from, cmg_size i)
{
    const cmg_csr *csr = from->csr;
    const bool dense = from->dense != NULL;
    const cmg_size begin = dense ? i * A->cols : csr->indptr[i];
    const cmg_size end = dense ? begin + A->cols : csr->indptr[i + 1];
    if (A->options.values != CMG_VALUES_FULL) {
        fill_reduced_row(A, from, i, begin, end);
        return;
    }
    for (cmg_size k = begin; k < end; ++k) {
        cmgi_matrix_put(A, k, dense ? k : i * A->cols + csr->indices[k],
                        dense ? from->dense[k] : csr->values[k]);
    }
}

static cmg_status alloc_dense(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const cmg_values kind = A->options.values;
    if (kind == CMG_VALUES_FULL) {
        return cmgi_matrix_alloc_values(A, from, true);
    }
    CMGI_TRY(cmgi_matrix_check_values(A));
    CMGI_TRY(cmgi_alloc_zero(A->ctx, A->stored, cmgi_values_bytes(kind, CMG_FP32), &A->values));
    return cmgi_alloc(A->ctx, A->rows, sizeof(float), &A->data);
}

static cmg_status build_dense(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const cmg_csr *csr = from->csr;
    CMGI_CHECK(A->ctx, csr->cols == 0 || csr->rows <= INT64_MAX / 16 / csr->cols, CMG_ERR_MEMORY,
               "dense format: %lld x %lld values overflow", (long long)csr->rows,
               (long long)csr->cols);
    A->stored = csr->rows * csr->cols;
    CMGI_TRY(alloc_dense(A, from));
    A->bytes = dense_bytes(&(cmgi_row_statistics){.rows = A->rows, .cols = A->cols}, &A->options);
    if (from->dense_there) {
        return cmgi_matrix_take_values(A, from->dense);
    }
#pragma omp parallel for num_threads(A->ctx->threads)                                              \
    schedule(static) if (A->stored > CMGI_PARALLEL_ENTRIES)
    for (cmg_size i = 0; i < csr->rows; ++i) {
        fill_row(A, from, i);
    }
    return CMGI_MOVE(A->ctx, &A->data);
}

static void destroy_dense(cmg_matrix *A)
{
    cmgi_free_device(A->ctx, A->data);
}

/* The dense product in fp32 with values that are widened as they are read. */
static void dense_reduced(const cmg_matrix *A, const cmgi_writeback *w, const float *x)
{
    enum { PART = 16 };
    const cmgi_wb_f32 f = cmgi_wb_cast_f32(w);
    const cmg_values kind = A->options.values;
    const float *scale = A->data;
    const cmg_size cols = A->cols;
#pragma omp parallel for num_threads(A->ctx->threads)                                              \
    schedule(static) if (A->stored > CMGI_PARALLEL_ENTRIES)
    for (cmg_size i = 0; i < A->rows; ++i) {
        float part[PART] = {0};
        for (cmg_size j = 0; j < cols; ++j) {
            part[j % PART] += cmgi_reduced_load(kind, A->values, i * cols + j) * x[j];
        }
        float s = 0;
        for (int l = 0; l < PART; ++l) {
            s += part[l];
        }
        f.y[i] = cmgi_wb_value_f32(w->kind, &f, i, s * scale[i]);
    }
}

static cmg_status multiply_dense(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (w->columns < 2 && A->options.values != CMG_VALUES_FULL) {
        dense_reduced(A, w, x);
        return CMG_OK;
    }
    return cmgi_rows_cpu(A, CMGI_ROWS_DENSE, NULL, A->rows, w, x);
}

const cmgi_format cmgi_format_diagonal = {.id = CMG_FORMAT_DIAGONAL,
                                          .columns = true,
                                          .bytes = diagonal_bytes,
                                          .build = build_diagonal,
                                          .takes_device = diagonal_takes_device,
                                          .spmv_cpu = multiply_diagonal,
                                          .spmv_cuda = CMGI_CUDA_FN(cmgi_diagonal_spmv_cuda)};

const cmgi_format cmgi_format_dense = {.id = CMG_FORMAT_DENSE,
                                       .columns = true,
                                       .reduces = true,
                                       .bytes = dense_bytes,
                                       .build = build_dense,
                                       .spmv_cpu = multiply_dense,
                                       .spmv_cuda = CMGI_CUDA_FN(cmgi_dense_spmv_cuda),
                                       .destroy = destroy_dense};
