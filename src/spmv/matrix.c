/* The matrix handle: table of formats, choice of parameters, public products. */
#include "spmv/choose.h"
#include "spmv/compressed.h"
#include "spmv/compression.h"
#include "spmv/formats.h"
#include "spmv/reduced.h"
#include "spmv/tune.h"

#include <string.h>

static const cmgi_format formats[] = {
#define SLICES(ID, NAME, RENUMBERS)                                                                \
    {                                                                                              \
        .id = ID, .name = NAME, .renumbers = RENUMBERS, .build = cmgi_slices_build,                \
        .fill_cuda = CMGI_CUDA_FN(cmgi_slices_fill_cuda), .spmv_cpu = cmgi_slices_spmv_cpu,        \
        .spmv_cuda = CMGI_CUDA_FN(cmgi_slices_spmv_cuda), .destroy = cmgi_slices_destroy           \
    }
    {.id = CMG_FORMAT_CSR,
     .name = "csr",
     .build = cmgi_csr_build,
     .fill_cuda = CMGI_CUDA_FN(cmgi_csr_fill_cuda),
     .spmv_cpu = cmgi_csr_spmv_cpu,
     .spmv_cuda = CMGI_CUDA_FN(cmgi_csr_spmv_cuda),
     .destroy = cmgi_csr_destroy},
    SLICES(CMG_FORMAT_ELLPACK, "ellpack", false),
    SLICES(CMG_FORMAT_ELLR, "ellr", false),
    SLICES(CMG_FORMAT_ELLT, "ellt", false),
    SLICES(CMG_FORMAT_SELL, "sell", false),
    SLICES(CMG_FORMAT_K1, "k1", false),
    SLICES(CMG_FORMAT_K1R, "k1r", true),
    SLICES(CMG_FORMAT_K1RS, "k1rs", true),
    SLICES(CMG_FORMAT_K2, "k2", false),
    SLICES(CMG_FORMAT_K2R, "k2r", true),
    SLICES(CMG_FORMAT_K2RS, "k2rs", true),
    {.id = CMG_FORMAT_DIAGONAL,
     .name = "diagonal",
     .build = cmgi_diagonal_build,
     .spmv_cpu = cmgi_diagonal_spmv_cpu,
     .spmv_cuda = CMGI_CUDA_FN(cmgi_diagonal_spmv_cuda)},
    {.id = CMG_FORMAT_DENSE,
     .name = "dense",
     .build = cmgi_dense_build,
     .spmv_cpu = cmgi_dense_spmv_cpu,
     .spmv_cuda = CMGI_CUDA_FN(cmgi_dense_spmv_cuda),
     .destroy = cmgi_dense_destroy},
    {.id = CMG_FORMAT_COMPRESSED,
     .name = "compressed",
     .build = cmgi_compressed_build,
     .spmv_cpu = cmgi_compressed_spmv_cpu,
     .spmv_cuda = CMGI_CUDA_FN(cmgi_compressed_spmv_cuda),
     .dots = true,
     .destroy = cmgi_compressed_destroy},
    {.id = CMG_FORMAT_CUSPARSE_CSR,
     .name = "cusparse-csr",
     .build = CMGI_CUSPARSE_FN(cmgi_vendor_csr_build),
     .finish = CMGI_CUSPARSE_FN(cmgi_vendor_csr_finish),
     .spmv_cuda = CMGI_CUSPARSE_FN(cmgi_vendor_spmv_cuda),
     .destroy = CMGI_CUSPARSE_FN(cmgi_vendor_csr_destroy)},
    {.id = CMG_FORMAT_CUSPARSE_SELL,
     .name = "cusparse-sell",
     .build = CMGI_CUSPARSE_FN(cmgi_vendor_sell_build),
     .finish = CMGI_CUSPARSE_FN(cmgi_vendor_sell_finish),
     .spmv_cuda = CMGI_CUSPARSE_FN(cmgi_vendor_spmv_cuda),
     .destroy = CMGI_CUSPARSE_FN(cmgi_vendor_sell_destroy)},
#undef SLICES
};

const cmgi_format *cmgi_format_find(cmg_format id)
{
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; ++f) {
        if (formats[f].id == id) {
            return &formats[f];
        }
    }
    return NULL;
}

void cmg_matrix_options_default(cmg_matrix_options *options)
{
    if (options != NULL) {
        *options = (cmg_matrix_options){.format = CMG_FORMAT_AUTO, .precision = CMG_FP64};
    }
}

/* ------------------------------------------------------------------ options */

static bool is_power_of_two(int v, int low, int high)
{
    return v >= low && v <= high && (v & (v - 1)) == 0;
}

static cmg_status check_options(cmg_context *ctx, const cmg_matrix_options *o)
{
    const bool chosen = o->format == CMG_FORMAT_AUTO || o->format == CMG_FORMAT_TUNE;
    CMGI_CHECK(ctx, chosen || cmgi_format_find(o->format) != NULL, CMG_ERR_ARG,
               "matrix: unknown format %d", (int)o->format);
    CMGI_CHECK(ctx, o->precision == CMG_FP64 || o->precision == CMG_FP32, CMG_ERR_ARG,
               "matrix: unknown precision %d", (int)o->precision);
    CMGI_CHECK(ctx, cmg_enum_name("values", (int)o->values) != NULL, CMG_ERR_ARG,
               "matrix: unknown kind of values %d", (int)o->values);
    CMGI_CHECK(ctx, o->t == 0 || is_power_of_two(o->t, 1, 32), CMG_ERR_ARG,
               "matrix: t = %d is none of 1, 2, 4, 8, 16, 32", o->t);
    CMGI_CHECK(ctx, o->warp == 0 || is_power_of_two(o->warp, 4, 64), CMG_ERR_ARG,
               "matrix: warp = %d is none of 4, 8, 16, 32, 64", o->warp);
    const double tolerance = o->template_tolerance;
    CMGI_CHECK(ctx, tolerance == 0 || (tolerance >= 1e-15 && tolerance <= 0.1), CMG_ERR_ARG,
               "matrix: template_tolerance = %g is neither 0 nor in 1e-15 .. 0.1", tolerance);
    CMGI_CHECK(ctx, o->threshold >= 0, CMG_ERR_ARG, "matrix: threshold = %d is negative",
               o->threshold);
    CMGI_CHECK(ctx, o->block == 0 || (o->block % 32 == 0 && o->block > 0 && o->block <= 1024),
               CMG_ERR_ARG, "matrix: block = %d is no multiple of 32 up to 1024", o->block);
    return CMG_OK;
}

/* ------------------------------------------------------------------ life */

cmg_status cmgi_matrix_alloc_values(cmg_matrix *A)
{
    if (A->source != NULL) { /* the device fills them, padding included */
        CMGI_TRY(cmgi_alloc_device(A->ctx, A->stored, cmgi_precision_bytes(A->options.precision),
                                   &A->values));
        return A->options.keep_map
                   ? cmgi_alloc_device(A->ctx, A->nnz, sizeof *A->value_map, &A->value_map)
                   : CMG_OK;
    }
    CMGI_TRY(
        cmgi_alloc_zero(A->ctx, A->stored, cmgi_precision_bytes(A->options.precision), &A->values));
    if (A->options.keep_map) {
        return cmgi_alloc(A->ctx, A->nnz, sizeof *A->value_map, &A->value_map);
    }
    return CMG_OK;
}

/* Bytes of an element of A->values. */
static size_t value_bytes(const cmg_matrix *A)
{
    return cmgi_values_bytes(cmgi_matrix_values(A), A->options.precision);
}

static cmg_size slices_of(const cmg_matrix *A)
{
    return (A->rows + CMGI_SLICE - 1) / CMGI_SLICE;
}

static cmgi_spmv_fn spmv_of(const cmg_context *ctx, const cmgi_format *format)
{
    return cmgi_on_cuda(ctx) ? format->spmv_cuda : format->spmv_cpu;
}

cmg_status cmgi_matrix_make(cmg_context *ctx, const cmg_csr *csr, const cmg_csr *source,
                            const cmg_matrix_options *options, cmg_matrix **A)
{
    cmg_matrix_options resolved = *options;
    CMGI_TRY(cmgi_choose(ctx, csr, NULL, &resolved, NULL));
    const cmgi_format *format = cmgi_format_find(resolved.format);
    CMGI_CHECK(ctx, !format->renumbers || csr->rows == csr->cols, CMG_ERR_SHAPE,
               "format %s renumbers and needs a square matrix, this one is %lld x %lld",
               format->name, (long long)csr->rows, (long long)csr->cols);
    CMGI_CHECK(ctx, spmv_of(ctx, format) != NULL, CMG_ERR_UNSUPPORTED,
               "format %s has no kernel on backend %s", format->name, ctx->backend->name);
    cmg_matrix *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->format = format;
    made->options = resolved;
    made->rows = csr->rows;
    made->cols = csr->cols;
    made->nnz = csr->indptr[csr->rows];
    made->source = source;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, format->build(made, csr));
    if (source == NULL) {
        CMGI_TRY_GOTO(done,
                      cmgi_move_to_device(ctx, &made->values, made->stored, value_bytes(made)));
        CMGI_TRY_GOTO(
            done, cmgi_move_to_device(ctx, &made->value_map, made->nnz, sizeof *made->value_map));
    }
    made->source = NULL;
    if (format->finish != NULL) {
        CMGI_TRY_GOTO(done, format->finish(made));
    }
    if (format->dots && made->rows == made->cols && resolved.precision == CMG_FP64) {
        CMGI_TRY_GOTO(done,
                      cmgi_alloc_device(ctx, slices_of(made), sizeof *made->dots, &made->dots));
    }
    *A = made;
    made = NULL;
done:
    cmg_matrix_destroy(&made);
    return status;
}

static cmg_status create_from_host(cmg_context *ctx, const cmg_csr *csr,
                                   const cmg_matrix_options *options, cmg_matrix **A)
{
    cmg_matrix_options resolved = *options;
    if (options->format == CMG_FORMAT_TUNE) {
        return cmgi_tune(ctx, csr, options, A);
    }
    CMGI_TRY(cmgi_choose(ctx, csr, NULL, &resolved, NULL));
    if (cmgi_on_cuda(ctx)) {
        bool made = false;
        CMGI_TRY(cmgi_matrix_by_upload(ctx, csr, &resolved, A, &made));
        if (made) {
            return CMG_OK;
        }
    }
    return cmgi_matrix_make(ctx, csr, NULL, &resolved, A);
}

/* What compression makes of the matrix, kept for cmg_matrix_get_compression. */
static cmg_status explain(cmg_matrix *A, const cmg_csr *csr)
{
    const cmgi_compression_look look = {.csr = csr, .options = &A->options};
    CMGI_TRY(cmgi_alloc_zero(A->ctx, 1, sizeof *A->compression, &A->compression));
    return cmgi_compression_predict(A->ctx, &look, A->compression);
}

cmg_status cmg_matrix_create_csr(cmg_context *ctx, const cmg_csr *csr,
                                 const cmg_matrix_options *options, cmg_matrix **A)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(ctx, csr != NULL && A != NULL, CMG_ERR_ARG,
               "matrix: the CSR or the out-pointer is NULL");
    cmg_matrix_options resolved;
    cmg_matrix_options_default(&resolved);
    if (options != NULL) {
        resolved = *options;
    }
    CMGI_TRY(check_options(ctx, &resolved));
    if (ctx->backend->is_device != NULL && csr->indptr != NULL &&
        ctx->backend->is_device(ctx, csr->indptr)) {
        return cmgi_matrix_from_device(ctx, csr, &resolved, A);
    }
    CMGI_TRY(cmgi_csr_check(ctx, "matrix", csr));
    cmg_matrix *made = NULL;
    cmg_status status = create_from_host(ctx, csr, &resolved, &made);
    if (status == CMG_OK && resolved.explain) {
        status = explain(made, csr);
    }
    if (status != CMG_OK) {
        cmg_matrix_destroy(&made);
        return status;
    }
    *A = made;
    return CMG_OK;
}

void cmg_matrix_destroy(cmg_matrix **A)
{
    if (A == NULL || *A == NULL) {
        return;
    }
    cmg_matrix *v = *A;
    if (v->format->destroy != NULL) {
        v->format->destroy(v);
    }
    cmgi_free_device(v->ctx, v->dots);
    cmgi_free_device(v->ctx, v->values);
    cmgi_free_device(v->ctx, v->value_map);
    cmgi_free(v->ctx, v->perm);
    cmgi_free(v->ctx, v->compression);
    cmgi_free(v->ctx, v);
    *A = NULL;
}

cmg_status cmg_matrix_get_info(const cmg_matrix *A, cmg_matrix_info *info)
{
    if (A == NULL || info == NULL) {
        return CMG_ERR_ARG;
    }
    *info = (cmg_matrix_info){.rows = A->rows,
                              .cols = A->cols,
                              .nnz = A->nnz,
                              .stored = A->stored,
                              .format = A->options.format,
                              .precision = A->options.precision,
                              .t = A->options.t,
                              .warp = A->options.warp,
                              .threshold = A->options.threshold,
                              .block = A->options.block,
                              .bytes = A->bytes,
                              .traffic = cmgi_matrix_traffic(A, CMGI_WB_APPLY)};
    return CMG_OK;
}

cmg_status cmg_matrix_get_compression(const cmg_matrix *A, cmg_compression_info *info)
{
    if (A == NULL || info == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(A->ctx, A->compression != NULL, CMG_ERR_STATE,
               "compression: the matrix was not created from the host with the option explain");
    *info = *A->compression;
    return CMG_OK;
}

const cmg_index *cmg_matrix_permutation(const cmg_matrix *A)
{
    return A != NULL ? A->perm : NULL;
}

cmg_status cmg_matrix_update(cmg_matrix *A, const double *values)
{
    if (A == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_context *ctx = A->ctx;
    CMGI_CHECK(ctx, values != NULL || A->nnz == 0, CMG_ERR_ARG, "matrix update: values is NULL");
    CMGI_CHECK(ctx, A->value_map != NULL, CMG_ERR_STATE,
               "matrix update: the matrix was created without keep_map");
    if (!cmgi_on_cuda(ctx)) {
        return ctx->backend->scatter(ctx, A->options.precision, A->nnz, values, A->value_map,
                                     A->values);
    }
    if (ctx->backend->is_device != NULL && ctx->backend->is_device(ctx, values)) {
        return ctx->backend->scatter(ctx, A->options.precision, A->nnz, values, A->value_map,
                                     A->values);
    }
    double *staged = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, A->nnz, sizeof *staged, &staged));
    cmg_status status = cmgi_to_device(ctx, staged, values, (size_t)A->nnz * sizeof *staged);
    if (status == CMG_OK) {
        status = ctx->backend->scatter(ctx, A->options.precision, A->nnz, staged, A->value_map,
                                       A->values);
    }
    cmgi_free_device(ctx, staged);
    return status;
}

/* ------------------------------------------------------------------ products */

size_t cmgi_matrix_traffic(const cmg_matrix *A, cmgi_wb_kind kind)
{
    static const int vectors[CMGI_WB_KINDS] = {
        [CMGI_WB_APPLY] = 1,     [CMGI_WB_AXPBY] = 2,    [CMGI_WB_RESIDUAL] = 2,
        [CMGI_WB_JACOBI] = 4,    [CMGI_WB_MOMENTUM] = 4, /* with d, without e */
        [CMGI_WB_FROM_ZERO] = 3,
    };
    const size_t value = cmgi_precision_bytes(A->options.precision);
    return A->bytes + (size_t)A->cols * value + (size_t)A->rows * value * (size_t)vectors[kind];
}

cmg_status cmgi_matrix_spmv(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    return A->rows > 0 ? spmv_of(A->ctx, A->format)(A, w, x) : CMG_OK;
}

cmg_status cmgi_matrix_apply_dot(const cmg_matrix *A, const double *x, double *y, double *xy)
{
    const cmgi_backend *backend = A->ctx->backend;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y, .dots = A->dots};
    CMGI_TRY(cmgi_matrix_spmv(A, &w, x));
    return A->dots != NULL ? backend->sum(A->ctx, slices_of(A), A->dots, xy)
                           : backend->dot(A->ctx, CMG_FP64, A->rows, x, y, xy);
}

static cmg_status check_vector(const cmg_matrix *A, const cmg_vector *v, cmg_size n,
                               const char *name)
{
    CMGI_CHECK(A->ctx, v != NULL, CMG_ERR_ARG, "product: %s is NULL", name);
    CMGI_CHECK(A->ctx, v->ctx == A->ctx, CMG_ERR_ARG, "product: %s belongs to another context",
               name);
    CMGI_CHECK(A->ctx, v->precision == A->options.precision, CMG_ERR_ARG,
               "product: %s and A differ in precision", name);
    CMGI_CHECK(A->ctx, v->n == n, CMG_ERR_SHAPE, "%s has %lld entries, A is %lld x %lld", name,
               (long long)v->n, (long long)A->rows, (long long)A->cols);
    return CMG_OK;
}

static cmg_status check_product(const cmg_matrix *A, const cmg_vector *x, const cmg_vector *y)
{
    if (A == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_TRY(check_vector(A, x, A->cols, "x"));
    CMGI_TRY(check_vector(A, y, A->rows, "y"));
    CMGI_CHECK(A->ctx, x->data != y->data || A->rows == 0, CMG_ERR_ARG,
               "product: the vector that is multiplied is the one that is written");
    return CMG_OK;
}

cmg_status cmg_matrix_apply(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y->data};
    return cmgi_matrix_spmv(A, &w, x->data);
}

cmg_status cmg_matrix_axpby(const cmg_matrix *A, double a, const cmg_vector *x, double b,
                            cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    const cmgi_writeback w = {
        .kind = CMGI_WB_AXPBY, .alpha = a, .beta = b, .c = y->data, .y = y->data};
    return cmgi_matrix_spmv(A, &w, x->data);
}

cmg_status cmg_matrix_residual(const cmg_matrix *A, const cmg_vector *x, const cmg_vector *b,
                               cmg_vector *r)
{
    CMGI_TRY(check_product(A, x, r));
    CMGI_TRY(check_vector(A, b, A->rows, "b"));
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b->data, .y = r->data};
    return cmgi_matrix_spmv(A, &w, x->data);
}

cmg_status cmg_matrix_jacobi(const cmg_matrix *A, double omega, const cmg_vector *dinv,
                             const cmg_vector *b, const cmg_vector *x, cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    CMGI_CHECK(A->ctx, A->rows == A->cols, CMG_ERR_SHAPE, "jacobi: A is %lld x %lld, not square",
               (long long)A->rows, (long long)A->cols);
    CMGI_TRY(check_vector(A, dinv, A->rows, "dinv"));
    CMGI_TRY(check_vector(A, b, A->rows, "b"));
    const cmgi_writeback w = {.kind = CMGI_WB_JACOBI,
                              .alpha = omega,
                              .b = b->data,
                              .c = x->data,
                              .d = dinv->data,
                              .y = y->data};
    return cmgi_matrix_spmv(A, &w, x->data);
}

cmg_status cmg_matrix_add(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y)
{
    return cmg_matrix_axpby(A, 1.0, x, 1.0, y);
}

static cmg_status apply_matrix(void *user, const cmg_vector *x, cmg_vector *y)
{
    return cmg_matrix_apply(user, x, y);
}

cmg_operator cmg_matrix_operator(cmg_matrix *A)
{
    return (cmg_operator){.rows = A != NULL ? A->rows : 0,
                          .cols = A != NULL ? A->cols : 0,
                          .apply = apply_matrix,
                          .user = A};
}
