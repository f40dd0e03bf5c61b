/*
 * The compressed format: slices all of whose rows are templates (template_slices.c), and the others
 * (packed_slices.c). The layout is in compressed.h.
 */
#include "spmv/cpu_kernels.h"
#include "spmv/packed_plan.h"
#include "spmv/stencil.h"

/* ------------------------------------------------------------------ templates */

/* Sorts the slices into those of templates and the packed ones; fills the lists. */
static cmg_status split_slices(const cmgi_compressor *B, const uint16_t *id)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    const cmg_size slices = (B->csr->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->t.slice, &C->t.slice));
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->p.slice, &C->p.slice));
    for (cmg_size s = 0; s < slices; ++s) {
        bool all = id != NULL;
        for (cmg_size i = s * CMGI_SLICE; all && i < cmgi_slice_end(B, s); ++i) {
            all = id[i] < CMGI_TEMPLATES;
        }
        if (all) {
            C->t.slice[C->t.count++] = (cmg_index)s;
        } else {
            C->p.slice[C->p.count++] = (cmg_index)s;
        }
    }
    return CMG_OK;
}

static cmg_status find_templates(cmgi_compressor *B)
{
    const cmg_matrix_options *o = &B->A->options;
    cmgi_templates t = {0};
    if (o->keep_map || o->no_templates) {
        return split_slices(B, NULL);
    }
    const cmgi_template_search what = cmgi_compressed_search(B, o);
    CMGI_TRY(cmgi_templates_find(B->A->ctx, &what, &t));
    cmg_status status = split_slices(B, t.id);
    if (status == CMG_OK && B->C->t.count > 0) {
        status = cmgi_template_slices_store(B, &t);
        B->C->t.id = t.id;
        t.id = NULL;
    }
    cmgi_templates_free(B->A->ctx, &t);
    return status;
}

/* ------------------------------------------------------------------ life */

static cmg_status make_reference(const cmgi_compressor *B)
{
    const cmg_csr *csr = B->csr;
    if (csr->rows == csr->cols) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(B->A->ctx, csr->rows, sizeof *B->C->ref, &B->C->ref));
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size first = csr->indptr[i];
        B->C->ref[i] = first < csr->indptr[i + 1] ? csr->indices[first] : 0;
    }
    return CMG_OK;
}

/* The least: a row is a number where its slice is of templates, and holds its values elsewhere. */
static size_t least_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const size_t value = cmgi_values_bytes(options->values, options->precision);
    const bool square = s->rows == s->cols;
    size_t bytes = square ? 0 : (size_t)s->rows * sizeof(cmg_index);
    bytes += square && options->values != CMG_VALUES_FULL ? (size_t)s->rows * sizeof(float) : 0;
    for (cmg_size length = 0; length <= s->longest; ++length) {
        const bool apart = square && options->values != CMG_VALUES_FULL && length > 0;
        const size_t packed = (size_t)(length - apart) * value;
        const size_t each = packed < sizeof(uint16_t) ? packed : sizeof(uint16_t);
        bytes += (size_t)s->count[length] * each;
    }
    return bytes;
}

static size_t storage_bytes(const cmg_matrix *A)
{
    const cmgi_compressed *C = A->data;
    const cmgi_compressed_size size = {.rows = A->rows,
                                       .references = C->ref != NULL,
                                       .apart = C->diagonal != NULL,
                                       .precision = A->options.precision,
                                       .values = C->p.kind,
                                       .t_slices = C->t.count,
                                       .t_entries = C->t.entries,
                                       .p_slices = C->p.count,
                                       .p_steps = C->p.step[C->p.count],
                                       .code_bytes = C->p.code[C->p.count]};
    return cmgi_compressed_storage(&size);
}

static cmg_status move(const cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    CMGI_TRY(cmgi_move_to_device(ctx, &C->ref, C->rows, sizeof *C->ref));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->diagonal, C->rows, sizeof *C->diagonal));
    CMGI_TRY(cmgi_template_slices_move(ctx, A->options.precision, C));
    return cmgi_packed_slices_move(ctx, &C->p);
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const cmg_csr *csr = from->csr;
    cmg_context *ctx = A->ctx;
    const cmg_values kind = A->options.values;
    CMGI_TRY(cmgi_matrix_check_values(A));
    cmgi_compressed *C = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *C, &C));
    A->data = C;
    C->rows = csr->rows;
    C->cols = csr->cols;
    C->p.kind = kind;
    cmgi_compressor B = {.A = A,
                         .from = from,
                         .csr = csr,
                         .C = C,
                         .split_diagonal = kind != CMG_VALUES_FULL && csr->rows == csr->cols,
                         .pairs_columns = cmgi_pairs_columns(ctx, kind),
                         .value_bytes = (int)cmgi_values_bytes(kind, A->options.precision)};
    CMGI_TRY(make_reference(&B));
    CMGI_TRY(find_templates(&B));
    if (cmgi_on_cuda(ctx)) {
        CMGI_TRY(cmgi_stencil_build(ctx, A->options.precision, C));
    }
    CMGI_TRY(cmgi_packed_slices_build(&B));
    if (C->p.count == 0 ||
        C->t.count == 0) { /* one list is all slices in order: no need to store it */
        cmgi_free(ctx, C->t.slice);
        cmgi_free(ctx, C->p.slice);
        C->t.slice = NULL;
        C->p.slice = NULL;
    }
    A->bytes = storage_bytes(A);
    return move(A);
}

static void destroy(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    if (C == NULL) {
        return;
    }
    cmgi_template_slices_free(ctx, C);
    cmgi_packed_slices_free(ctx, &C->p);
    cmgi_free_device(ctx, C->ref);
    cmgi_free_device(ctx, C->diagonal);
    cmgi_free(ctx, C);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const cmgi_compressed *C = A->data;
    if (w->columns > 1) {
        CMGI_TRY(cmgi_columns_cpu(A, CMGI_ROWS_TEMPLATES, C->t.count, w, x));
        return cmgi_columns_cpu(A, CMGI_ROWS_PACKED, C->p.count, w, x);
    }
    const int parts = A->nnz > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const cmg_size t0 = C->t.count * p / parts;
        const cmg_size t1 = C->t.count * (p + 1) / parts;
        const cmg_size p0 = C->p.count * p / parts;
        const cmg_size p1 = C->p.count * (p + 1) / parts;
        if (A->options.precision == CMG_FP64) {
            kernels->templates_f64(C, w, x, t0, t1);
            kernels->packed_f64(C, A->values, w, x, p0, p1);
        } else {
            kernels->templates_f32(C, w, x, t0, t1);
            (C->p.kind == CMG_VALUES_FULL ? kernels->packed_f32 : kernels->reduced)(C, A->values, w,
                                                                                    x, p0, p1);
        }
    }
    return CMG_OK;
}

const cmgi_format cmgi_format_compressed = {.id = CMG_FORMAT_COMPRESSED,
                                            .reduces = true,
                                            .dots = true,
                                            .columns = true,
                                            .at_least = true,
                                            .bytes = least_bytes,
                                            .build = build,
                                            .spmv_cpu = multiply,
                                            .spmv_cuda = CMGI_CUDA_FN(cmgi_compressed_spmv_cuda),
                                            .destroy = destroy};
