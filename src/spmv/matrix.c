/* The matrix handle: life, new values, and the one product that all others are. */
#include "spmv/box.h"
#include "spmv/mirror.h"
#include "spmv/columns.h"

#include "core/ranks.h"
#include "core/report.h"
#include "csr/place.h"
#include "spmv/reduced.h"

cmg_status cmgi_matrix_alloc_values(cmg_matrix *A, const cmgi_matrix_source *from, bool cleared)
{
    cmg_context *ctx = A->ctx;
    const size_t bytes = cmgi_precision_bytes(A->options.precision);
    const cmgi_place at = from->device != NULL || from->dense_there ? CMGI_DEVICE : CMGI_HOST;
    CMGI_TRY((cleared && at == CMGI_HOST ? cmgi_alloc_zero_at : cmgi_alloc_at)(ctx, at, A->stored,
                                                                               bytes, &A->values));
    return A->options.keep_map ? cmgi_alloc_at(ctx, at, A->nnz, sizeof *A->value_map, &A->value_map)
                               : CMG_OK;
}

cmg_status cmgi_matrix_take_values(cmg_matrix *A, const double *there)
{
    cmg_context *ctx = A->ctx;
    cmg_size *map = A->value_map;
    CMGI_TRY(map != NULL ? cmgi_count_up_at(ctx, CMGI_DEVICE, A->stored, map) : CMG_OK);
    return ctx->backend->convert(ctx, A->stored, CMG_FP64, there, A->options.precision, A->values);
}

cmg_status cmgi_matrix_check_values(const cmg_matrix *A)
{
    if (A->options.values == CMG_VALUES_FULL) {
        return CMG_OK;
    }
    CMGI_CHECK(A->ctx, A->options.precision == CMG_FP32, CMG_ERR_UNSUPPORTED,
               "values in 16 or 8 bits are for matrices in fp32");
    CMGI_CHECK(A->ctx, !A->options.keep_map, CMG_ERR_UNSUPPORTED,
               "values in 16 or 8 bits cannot be updated one by one: keep_map needs full values");
    return CMG_OK;
}

/* Several columns; else they are made one by one. */
static bool in_one_pass(const cmg_matrix *A)
{
    return A->format->columns && !(A->format->blocks && A->options.block_rows > 1);
}

cmg_status cmgi_matrix_make(cmg_context *ctx, const cmgi_format *format,
                            const cmgi_matrix_source *from, const cmg_matrix_options *options,
                            cmg_matrix **A)
{
    const cmg_csr *csr = from->csr != NULL ? from->csr : from->device;
    const cmg_elements *elements = from->elements;
    const cmgi_kinds *kinds = from->kinds;
    const cmg_size rows = elements != NULL ? elements->rows
                          : kinds != NULL  ? kinds->rows
                                           : csr->rows;
    const cmg_size cols = elements != NULL ? elements->rows
                          : kinds != NULL  ? kinds->cols
                                           : csr->cols;
    const char *name = cmg_enum_name("format", (int)format->id);
    CMGI_CHECK(ctx, (!format->renumbers && !format->elements) || rows == cols, CMG_ERR_SHAPE,
               "format %s needs a square matrix, this one is %lld x %lld", name, (long long)rows,
               (long long)cols);
    CMGI_CHECK(ctx, cmgi_spmv_of(ctx, format) != NULL, CMG_ERR_UNSUPPORTED,
               "format %s has no kernel on backend %s", name, ctx->backend->name);
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->format = format;
    made->options = *options;
    made->rows = rows;
    made->cols = cols;
    if (elements == NULL) { /* formats of elements count them themselves */
        made->nnz = from->dense != NULL    ? rows * cols
                    : kinds != NULL        ? kinds->nnz
                    : from->device != NULL ? from->there->rows.nnz
                                           : csr->indptr[rows];
    }
    CMGI_TRY(format->build(made, from));
    if (from->device == NULL && !from->dense_there) {
        const size_t bytes = cmgi_values_bytes(cmgi_matrix_values(made), options->precision);
        CMGI_TRY(cmgi_move_to_device(ctx, &made->values, made->stored, bytes));
        CMGI_TRY(cmgi_move_to_device(ctx, &made->value_map, made->nnz, sizeof *made->value_map));
    }
    CMGI_TRY(format->finish != NULL ? format->finish(made) : CMG_OK);
    if ((format->dots || made->sums > 0) && made->rows == made->cols &&
        options->precision == CMG_FP64) {
        made->sums = made->sums > 0 ? made->sums : (made->rows + CMGI_SLICE - 1) / CMGI_SLICE;
        const cmg_size room = made->sums > made->squares ? made->sums : made->squares;
        CMGI_TRY(cmgi_alloc_device(ctx, room, sizeof *made->dots, &made->dots));
        CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, room, 0, made->dots));
    }
    if (!in_one_pass(made)) {
        CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made->apart, &made->apart));
    }
    *A = cmgi_pass_on(&made);
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
    CMGI_FREE_DEVICE(v->ctx, v->dots, v->values, v->value_map);
    if (v->apart != NULL) {
        cmgi_free_device(v->ctx, *v->apart);
    }
    CMGI_FREE(v->ctx, v->perm, v->compression, v->apart, v);
    *A = NULL;
}

cmg_status cmg_matrix_get_info(const cmg_matrix *A, cmg_matrix_info *info)
{
    CMGI_GIVEN(A);
    CMGI_NOT_NULL(info);
    const cmg_matrix_info made = {.rows = A->rows,
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
                                  .traffic = cmgi_matrix_traffic(A, CMGI_WB_APPLY, 1)};
    return cmgi_sized_fill(A->ctx, "cmg_matrix_info", &made, sizeof made, info);
}

const cmg_index *cmg_matrix_permutation(const cmg_matrix *A)
{
    return A != NULL ? A->perm : NULL;
}

cmg_status cmgi_matrix_map(const cmg_matrix *A, const cmg_size **map, cmg_size **made)
{
    *map = A->value_map;
    if (A->value_map != NULL || A->nnz == 0 || A->format->map_cuda == NULL) {
        return CMG_OK;
    }
    CMGI_SCOPED_DEVICE(A->ctx, A->nnz, cmg_size, there);
    CMGI_TRY(A->format->map_cuda(A, there));
    *map = *made = cmgi_pass_on(&there);
    return CMG_OK;
}

/* Formats of several parts share the values out themselves, on the host. */
cmg_status cmg_matrix_update(cmg_matrix *A, const double *values)
{
    CMGI_GIVEN(A);
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    const size_t bytes = (size_t)A->nnz * sizeof *values;
    const bool wanted = A->format->update == NULL && on->alloc != NULL; /* on the device */
    bool there = false;
    bool done = false;
    cmgi_scoped double *host = NULL;
    double *device = NULL;
    CMGI_FREED(ctx, &device);
    CMGI_CHECK(ctx, values != NULL || A->nnz == 0, CMG_ERR_ARG, "matrix update: values is NULL");
    CMGI_CHECK(ctx, A->options.keep_map, CMG_ERR_STATE,
               "matrix update: the matrix was created without keep_map");
    CMGI_TRY(cmgi_is_device(ctx, values, &there));
    if (there && !wanted) {
        CMGI_TRY(cmgi_alloc(ctx, A->nnz, sizeof *host, &host));
        CMGI_TRY(cmgi_to_host(ctx, host, values, bytes));
        values = host;
    } else if (!there && wanted) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->nnz, sizeof *device, &device));
        CMGI_TRY(cmgi_to_device(ctx, device, values, bytes));
        values = device;
    }
    if (A->format->update != NULL) {
        return A->format->update(A, values);
    }
    if (cmgi_on_cuda(ctx) && A->format->refresh_cuda != NULL) {
        CMGI_TRY(A->format->refresh_cuda(A, values, &done));
    }
    return done ? CMG_OK
                : cmgi_scatter(ctx, A->options.precision, A->nnz, values, A->value_map, A->values);
}

size_t cmgi_matrix_traffic(const cmg_matrix *A, cmgi_wb_kind kind, int columns)
{
    static const int vectors[CMGI_WB_KINDS] = {
        [CMGI_WB_APPLY] = 1,     [CMGI_WB_AXPBY] = 2,    [CMGI_WB_RESIDUAL] = 2,
        [CMGI_WB_JACOBI] = 4,    [CMGI_WB_MOMENTUM] = 4, /* with d, without e */
        [CMGI_WB_FROM_ZERO] = 3,
    };
    const size_t value = cmgi_precision_bytes(A->options.precision);
    const size_t k = columns > 1 ? (size_t)columns : 1;
    const bool d = kind == CMGI_WB_JACOBI || kind == CMGI_WB_MOMENTUM || kind == CMGI_WB_FROM_ZERO;
    const size_t by_column = (size_t)vectors[kind] - d; /* one d serves all */
    return (k == 1 && A->reads > 0 ? A->reads : A->bytes) + (size_t)A->cols * value * k +
           (size_t)A->rows * value * (by_column * k + (d ? 1 : 0));
}

cmg_status cmgi_matrix_spmv(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->rows == 0 && A->format->talk == NULL) {
        return CMG_OK;
    }
    const cmgi_writeback of = cmgi_wb_reduce(w);
    return w->columns > 1 && !in_one_pass(A) ? cmgi_columns_apart(A, &of, x)
                                             : cmgi_spmv_of(A->ctx, A->format)(A, &of, x);
}

/* The parts of x . y that a product has left in A->dots, or their sum. */
static cmg_status leave(const cmg_matrix *A, double *xy, cmgi_addends *left)
{
    enum { MOST = 1024 }; /* that each block of the kernel that wants the sum reads */
    if (left != NULL && cmgi_on_cuda(A->ctx) && cmgi_ranks(A->ctx) == 1 && A->sums <= MOST) {
        *left = (cmgi_addends){A->dots, A->sums};
        return CMG_OK;
    }
    return A->ctx->backend->sum(A->ctx, A->sums, A->dots, xy);
}

cmg_status cmgi_matrix_apply_dot(const cmg_matrix *A, const double *x, double *y, double *xy,
                                 cmgi_addends *left)
{
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y, .dots = A->dots};
    CMGI_TRY(cmgi_matrix_spmv(A, &w, x));
    return A->dots != NULL ? leave(A, xy, left)
                           : A->ctx->backend->dot(A->ctx, CMG_FP64, A->rows, 1, x, y, xy);
}

bool cmgi_matrix_forms(const cmg_matrix *A)
{
    const cmgi_box *box = cmgi_matrix_box(A);
    return box != NULL && box->dims == 3 && cmgi_matrix_rounds(A);
}

cmg_status cmgi_matrix_apply_formed(const cmg_matrix *A, const cmgi_direction *p, double *y,
                                    double *xy, cmgi_addends *left, bool *formed)
{
    CMGI_CUDA_ONLY(march, cmgi_march_direction_cuda);
    *formed = march != NULL && cmgi_matrix_forms(A) && p->pz == CMG_FP32;
    if (!*formed) {
        return CMG_OK;
    }
    CMGI_TRY(march(A, p, y));
    return leave(A, xy, left);
}

bool cmgi_matrix_rounds(const cmg_matrix *A)
{
    return cmgi_on_cuda(A->ctx) && A->dots != NULL && A->squares > 0;
}

cmg_status cmgi_matrix_residual_rounded(const cmg_matrix *A, const double *b, const double *x,
                                        float *r, cmgi_addends *squares)
{
    CMGI_CUDA_ONLY(of_box, cmgi_march_residual_cuda);
    CMGI_CUDA_ONLY(of_mirror, cmgi_mirror_residual_cuda);
    __typeof__(of_box) march = cmgi_matrix_box(A) != NULL ? of_box : of_mirror;
    const bool rounds = march != NULL && cmgi_matrix_rounds(A);
    *squares = (cmgi_addends){A->dots, rounds ? A->squares : 0};
    return rounds ? march(A, b, x, r, A->dots) : CMG_OK;
}

cmgi_talk cmgi_matrix_talk(const cmg_matrix *A)
{
    const cmgi_talk nothing = {.exchanges = false};
    return A->format->talk != NULL ? A->format->talk->sizes(A) : nothing;
}
