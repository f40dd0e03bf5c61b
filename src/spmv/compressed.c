/*
 * Builds compressed slices from CSR: templates where rows repeat, offset patterns where the rows of
 * a slice look alike, short codes elsewhere. The layout is in compressed.h.
 */
#include "spmv/packed_plan.h"
#include "spmv/cpu_kernels.h"
#include "spmv/stencil.h"
#include "spmv/templates.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ filling */

/* On a GPU two rows are neighbours, with 8-bit values in two slice columns. */
static cmg_size position(const cmgi_compressor *B, cmg_size p, int k, int lane)
{
    const cmg_size step = B->C->p_step[p];
    if (!cmgi_on_cuda(B->A->ctx)) {
        return (step + k) * CMGI_SLICE + lane;
    }
    return B->pairs_columns
               ? (step + k - k % 2) * CMGI_SLICE + 4 * (lane % 32) + 2 * (k % 2) + lane / 32
               : (step + k) * CMGI_SLICE + 2 * (lane % 32) + lane / 32;
}

static float slice_scale(const cmgi_compressor *B, cmg_size slice)
{
    double largest = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        for (cmg_size k = B->csr->indptr[i]; k < B->csr->indptr[i + 1]; ++k) {
            largest = cmgi_packs(B, i, k) ? fmax(largest, fabs(B->csr->values[k])) : largest;
        }
    }
    return cmgi_reduced_scale(B->C->kind, largest);
}

static void store_code(cmgi_compressed *C, cmg_size p, cmg_size at, cmg_size code)
{
    const cmg_size local = at - C->p_step[p] * CMGI_SLICE;
    uint8_t *codes = C->codes + C->p_code[p];
    switch (C->p_bytes[p]) {
    case 1:
        codes[local] = (uint8_t)code;
        break;
    case 2:
        ((uint16_t *)(void *)codes)[local] = (uint16_t)code;
        break;
    default:
        ((int32_t *)(void *)codes)[local] = (int32_t)code;
        break;
    }
}

/* Codes behind the end of a row, from entry e on: column 0 if the base lies before it. */
static void pad_row(const cmgi_compressor *B, const cmgi_slice_plan *plan, cmg_size p, cmg_size i,
                    int lane, int e)
{
    cmgi_compressed *C = B->C;
    const cmg_index *base = C->p_base + C->p_step[p];
    for (; plan->bytes > 0 && e < plan->width; ++e) {
        const cmg_size low = (cmg_size)cmgi_reference(C, i) + base[e];
        store_code(C, p, position(B, p, e, lane), low < 0 ? -low : 0);
    }
}

/* One row of a packed slice; returns through *apart what the rounded entries lost, plus the
 * diagonal. */
static void fill_row(const cmgi_compressor *B, const cmgi_slice_plan *plan, cmg_size p, cmg_size i,
                     int lane)
{
    cmgi_compressed *C = B->C;
    const cmg_csr *csr = B->csr;
    const cmg_index *base = C->p_base + C->p_step[p];
    double apart = 0;
    int e = 0;
    for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
        const double value = csr->values[k];
        if (!cmgi_packs(B, i, k)) {
            apart += value;
            continue;
        }
        const cmg_index offset = csr->indices[k] - cmgi_reference(C, i);
        e = plan->bytes == 0 ? cmgi_pattern_find(plan, offset, e) : e;
        const cmg_size at = position(B, p, e, lane);
        if (plan->bytes > 0) {
            store_code(C, p, at, (cmg_size)offset - base[e]);
        }
        if (C->p_scale == NULL) {
            cmgi_matrix_put(B->A, k, at, value);
        } else {
            apart += value - cmgi_reduced_store(C->kind, B->A->values, at, value, C->p_scale[p]);
        }
        ++e;
    }
    if (C->diagonal != NULL) {
        C->diagonal[i] = (float)apart;
    }
    pad_row(B, plan, p, i, lane, e);
}

/* ------------------------------------------------------------------ templates */

static cmg_status store_templates(const cmgi_compressor *B, const cmgi_templates *t)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    C->templates = t->count;
    CMGI_TRY(cmgi_alloc(ctx, t->count + 1, sizeof *C->t_begin, &C->t_begin));
    C->t_begin[0] = 0;
    for (int j = 0; j < t->count; ++j) {
        C->t_begin[j + 1] =
            C->t_begin[j] + (cmg_index)(B->csr->indptr[t->row[j] + 1] - B->csr->indptr[t->row[j]]);
    }
    const cmg_size entries = C->t_begin[t->count];
    C->t_entries = (cmg_index)entries;
    const bool wide = B->A->options.precision == CMG_FP64;
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *C->t_offset, &C->t_offset));
    CMGI_TRY(cmgi_alloc(ctx, entries, wide ? sizeof(double) : sizeof(float), &C->t_value));
    for (int j = 0; j < t->count; ++j) {
        const cmg_size first = B->csr->indptr[t->row[j]];
        for (cmg_index e = C->t_begin[j]; e < C->t_begin[j + 1]; ++e) {
            const cmg_size k = first + e - C->t_begin[j];
            C->t_offset[e] = B->csr->indices[k] - cmgi_reference(C, t->row[j]);
            if (wide) {
                ((double *)C->t_value)[e] = B->csr->values[k];
            } else {
                ((float *)C->t_value)[e] = (float)B->csr->values[k];
            }
        }
    }
    return CMG_OK;
}

/* Sorts the slices into those of templates and the packed ones; fills the lists. */
static cmg_status split_slices(const cmgi_compressor *B, const uint16_t *id)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    const cmg_size slices = (B->csr->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->t_slice, &C->t_slice));
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->p_slice, &C->p_slice));
    for (cmg_size s = 0; s < slices; ++s) {
        bool all = id != NULL;
        for (cmg_size i = s * CMGI_SLICE; all && i < cmgi_slice_end(B, s); ++i) {
            all = id[i] < CMGI_TEMPLATES;
        }
        if (all) {
            C->t_slice[C->t_count++] = (cmg_index)s;
        } else {
            C->p_slice[C->p_count++] = (cmg_index)s;
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
    if (status == CMG_OK && B->C->t_count > 0) {
        status = store_templates(B, &t);
        B->C->t_id = t.id;
        t.id = NULL;
    }
    cmgi_templates_free(B->A->ctx, &t);
    return status;
}

/* ------------------------------------------------------------------ packed slices */

/* Widths and code sizes of all packed slices, then where each begins. */
static cmg_status measure_slices(const cmgi_compressor *B, cmg_size *entries, cmg_size *code_bytes)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    CMGI_TRY(cmgi_alloc(ctx, C->p_count + 1, sizeof *C->p_step, &C->p_step));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count + 1, sizeof *C->p_code, &C->p_code));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count, sizeof *C->p_bytes, &C->p_bytes));
    const cmg_size longest = cmgi_csr_longest_row(B->csr);
    const cmg_size room = cmgi_plan_room(longest);
    cmg_index *bases = NULL;
    CMGI_TRY(cmgi_alloc(ctx, room * ctx->threads, sizeof *bases, &bases));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p_count; ++p) {
        cmgi_slice_plan plan;
        cmgi_plan_slice(B, C->p_slice[p], &plan, bases + room * cmgi_thread());
        C->p_step[p + 1] = plan.width;
        C->p_bytes[p] = (uint8_t)plan.bytes;
    }
    cmgi_free(ctx, bases);
    C->p_step[0] = 0;
    C->p_code[0] = 0;
    for (cmg_size p = 0; p < C->p_count; ++p) {
        /* whole 4-byte words, so that codes of every size are aligned */
        C->p_code[p + 1] = C->p_code[p] + C->p_step[p + 1] * CMGI_SLICE * C->p_bytes[p];
        C->p_step[p + 1] += C->p_step[p];
    }
    *entries = C->p_step[C->p_count] * CMGI_SLICE;
    *code_bytes = C->p_code[C->p_count];
    return CMG_OK;
}

static cmg_status alloc_packed(const cmgi_compressor *B, cmg_size entries, cmg_size code_bytes)
{
    cmg_matrix *A = B->A;
    cmgi_compressed *C = B->C;
    cmg_context *ctx = A->ctx;
    CMGI_TRY(cmgi_alloc(ctx, C->p_step[C->p_count], sizeof *C->p_base, &C->p_base));
    CMGI_TRY(cmgi_alloc_zero(ctx, code_bytes, 1, &C->codes));
    A->stored = entries;
    if (C->kind == CMG_VALUES_FULL) {
        return cmgi_matrix_alloc_values(A, B->from);
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, entries, cmgi_values_bytes(C->kind, CMG_FP32), &A->values));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count, sizeof *C->p_scale, &C->p_scale));
    if (B->split_diagonal) {
        CMGI_TRY(cmgi_alloc_zero(ctx, B->csr->rows, sizeof *C->diagonal, &C->diagonal));
    }
    return CMG_OK;
}

static cmg_status pack_slices(const cmgi_compressor *B)
{
    cmgi_compressed *C = B->C;
    cmg_size entries = 0;
    cmg_size code_bytes = 0;
    CMGI_TRY(measure_slices(B, &entries, &code_bytes));
    CMGI_TRY(alloc_packed(B, entries, code_bytes));
#pragma omp parallel for num_threads(B->A->ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p_count; ++p) {
        const cmg_size slice = C->p_slice[p];
        cmgi_slice_plan plan;
        cmgi_plan_slice(B, slice, &plan, C->p_base + C->p_step[p]);
        if (C->p_scale != NULL) {
            C->p_scale[p] = slice_scale(B, slice);
        }
        for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
            fill_row(B, &plan, p, i, (int)(i - slice * CMGI_SLICE));
        }
        /* lanes without a row read as the last row does */
        for (cmg_size i = cmgi_slice_end(B, slice); i < (slice + 1) * CMGI_SLICE; ++i) {
            pad_row(B, &plan, p, B->csr->rows - 1, (int)(i - slice * CMGI_SLICE), 0);
        }
    }
    return CMG_OK;
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
                                       .values = C->kind,
                                       .t_slices = C->t_count,
                                       .t_entries = C->t_entries,
                                       .p_slices = C->p_count,
                                       .p_steps = C->p_step[C->p_count],
                                       .code_bytes = C->p_code[C->p_count]};
    return cmgi_compressed_storage(&size);
}

/* On a GPU values and offsets are interleaved, so that one load brings both. */
static cmg_status move_entries(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C)
{
    const size_t size = cmgi_precision_bytes(precision);
    if (!cmgi_on_cuda(ctx)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, C->t_entries, 2 * size, &C->t_pair));
    for (cmg_index e = 0; e < C->t_entries; ++e) {
        char *pair = (char *)C->t_pair + 2 * size * (size_t)e;
        memcpy(pair, (char *)C->t_value + size * (size_t)e, size);
        memcpy(pair + size, &C->t_offset[e], sizeof C->t_offset[e]);
    }
    cmgi_free(ctx, C->t_value);
    cmgi_free(ctx, C->t_offset);
    C->t_value = NULL;
    C->t_offset = NULL;
    return cmgi_move_to_device(ctx, &C->t_pair, C->t_entries, 2 * size);
}

static cmg_status move(const cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    const cmg_size steps = C->p_step[C->p_count];
    const cmg_size codes = C->p_code[C->p_count];
    CMGI_TRY(cmgi_move_to_device(ctx, &C->ref, C->rows, sizeof *C->ref));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_slice, C->t_count, sizeof *C->t_slice));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_id, C->rows, sizeof *C->t_id));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_begin, C->templates + 1, sizeof *C->t_begin));
    CMGI_TRY(move_entries(ctx, A->options.precision, C));
    CMGI_TRY(cmgi_stencil_move(ctx, A->options.precision, C));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_slice, C->p_count, sizeof *C->p_slice));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_step, C->p_count + 1, sizeof *C->p_step));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_code, C->p_count + 1, sizeof *C->p_code));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_bytes, C->p_count, sizeof *C->p_bytes));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_base, steps, sizeof *C->p_base));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->codes, codes, 1));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_scale, C->p_count, sizeof *C->p_scale));
    return cmgi_move_to_device(ctx, &C->diagonal, C->rows, sizeof *C->diagonal);
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
    C->kind = kind;
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
    CMGI_TRY(pack_slices(&B));
    if (C->p_count == 0 ||
        C->t_count == 0) { /* one list is all slices in order: no need to store it */
        cmgi_free(ctx, C->t_slice);
        cmgi_free(ctx, C->p_slice);
        C->t_slice = NULL;
        C->p_slice = NULL;
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
    void *const arrays[] = {C->ref,     C->t_slice, C->t_id,    C->t_begin, C->t_offset,
                            C->t_value, C->t_pair,  C->p_slice, C->p_step,  C->p_code,
                            C->p_bytes, C->p_base,  C->codes,   C->p_scale, C->diagonal};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
        cmgi_free_device(ctx, arrays[k]);
    }
    cmgi_stencil_destroy(ctx, C);
    cmgi_free(ctx, C);
}

/* ------------------------------------------------------------------ products */

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const cmgi_compressed *C = A->data;
    const int parts = A->nnz > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const cmg_size t0 = C->t_count * p / parts;
        const cmg_size t1 = C->t_count * (p + 1) / parts;
        const cmg_size p0 = C->p_count * p / parts;
        const cmg_size p1 = C->p_count * (p + 1) / parts;
        if (A->options.precision == CMG_FP64) {
            kernels->templates_f64(C, w, x, t0, t1);
            kernels->packed_f64(C, A->values, w, x, p0, p1);
        } else {
            kernels->templates_f32(C, w, x, t0, t1);
            (C->kind == CMG_VALUES_FULL ? kernels->packed_f32 : kernels->reduced)(C, A->values, w,
                                                                                  x, p0, p1);
        }
    }
    return CMG_OK;
}

const cmgi_format cmgi_format_compressed = {.id = CMG_FORMAT_COMPRESSED,
                                            .reduces = true,
                                            .dots = true,
                                            .at_least = true,
                                            .bytes = least_bytes,
                                            .build = build,
                                            .spmv_cpu = multiply,
                                            .spmv_cuda = CMGI_CUDA_FN(cmgi_compressed_spmv_cuda),
                                            .destroy = destroy};
