/*
 * Builds compressed slices from CSR: templates where rows repeat, offset patterns where the rows of
 * a slice look alike, short codes elsewhere. The layout is in compressed.h.
 */
#include "spmv/compressed.h"

#include "spmv/cpu_kernels.h"
#include "spmv/formats.h"
#include "spmv/templates.h"

#include <math.h>
#include <string.h>

enum { PATTERN = 160 }; /* most offsets of a slice's pattern */

/* How one packed slice will be stored. */
typedef struct slice_plan {
    int width;
    int bytes; /* of a code; 0 = pattern */
    cmg_index offset[PATTERN];
} slice_plan;

typedef struct builder {
    cmg_matrix *A;
    const cmg_csr *csr;
    cmgi_compressed *C;
    bool split_diagonal; /* kept apart */
} builder;

static cmg_index reference(const cmgi_compressed *C, cmg_size i)
{
    return C->ref != NULL ? C->ref[i] : (cmg_index)i;
}

static cmg_size slice_end(const builder *B, cmg_size slice)
{
    const cmg_size end = (slice + 1) * CMGI_SLICE;
    return end < B->csr->rows ? end : B->csr->rows;
}

/* True for entries that go into the slices: all but a diagonal that is kept apart. */
static bool packs(const builder *B, cmg_size i, cmg_size k)
{
    return !B->split_diagonal || B->csr->indices[k] != i;
}

/* ------------------------------------------------------------------ plan of a slice */

/* Inserts an offset into the sorted pattern; false when there is no room. */
static bool insert(slice_plan *plan, cmg_index offset)
{
    int at = plan->width;
    while (at > 0 && plan->offset[at - 1] > offset) {
        --at;
    }
    if (at > 0 && plan->offset[at - 1] == offset) {
        return true;
    }
    if (plan->width == PATTERN) {
        return false;
    }
    memmove(plan->offset + at + 1, plan->offset + at,
            (size_t)(plan->width - at) * sizeof *plan->offset);
    plan->offset[at] = offset;
    ++plan->width;
    return true;
}

/* Position of an offset in the pattern, from a guess on; the pattern has it. */
static int find(const slice_plan *plan, cmg_index offset, int guess)
{
    if (guess < plan->width && plan->offset[guess] == offset) {
        return guess;
    }
    int low = 0;
    int high = plan->width - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (plan->offset[middle] < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The union of the offsets of all rows, if it is not much wider than the longest row. */
static bool plan_pattern(const builder *B, cmg_size slice, int longest, slice_plan *plan)
{
    const cmg_csr *csr = B->csr;
    const int most = longest + longest / 4 + 1;
    plan->width = 0;
    plan->bytes = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
        int at = 0;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const cmg_index offset = csr->indices[k] - reference(B->C, i);
            if (!packs(B, i, k)) {
                continue;
            }
            if (at >= plan->width || plan->offset[at] != offset) {
                if (!insert(plan, offset) || plan->width > most) {
                    return false;
                }
                at = find(plan, offset, 0);
            }
            ++at;
        }
    }
    for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice) && plan->width > 0; ++i) {
        /* padded entries read x as well: they have to stay inside */
        const cmg_size low = (cmg_size)reference(B->C, i) + plan->offset[0];
        const cmg_size high = (cmg_size)reference(B->C, i) + plan->offset[plan->width - 1];
        if (low < 0 || high >= csr->cols) {
            return false;
        }
    }
    return true;
}

/* Columns in the given order with a base a slice column; the code takes what the spread needs. */
static void plan_codes(const builder *B, cmg_size slice, int longest, slice_plan *plan,
                       cmg_index *base)
{
    const cmg_csr *csr = B->csr;
    cmg_size spread = 0;
    plan->width = longest;
    for (int e = 0; e < longest; ++e) {
        cmg_size low = INT32_MAX;
        cmg_size high = INT32_MIN;
        for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
            cmg_size k = csr->indptr[i];
            int at = 0;
            for (; k < csr->indptr[i + 1]; ++k) {
                if (packs(B, i, k) && at++ == e) {
                    break;
                }
            }
            if (k < csr->indptr[i + 1]) {
                const cmg_size offset = (cmg_size)csr->indices[k] - reference(B->C, i);
                low = offset < low ? offset : low;
                high = offset > high ? offset : high;
            }
        }
        spread = high - low > spread ? high - low : spread;
        if (base != NULL) {
            base[e] = (cmg_index)low;
        }
    }
    plan->bytes = spread < 256 ? 1 : spread < 65536 ? 2 : 4;
}

static int longest_row(const builder *B, cmg_size slice)
{
    cmg_size longest = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
        cmg_size length = 0;
        for (cmg_size k = B->csr->indptr[i]; k < B->csr->indptr[i + 1]; ++k) {
            length += packs(B, i, k);
        }
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

/* `base` NULL or room for the bases of the slice's columns. */
static void plan_slice(const builder *B, cmg_size slice, slice_plan *plan, cmg_index *base)
{
    const int longest = longest_row(B, slice);
    if (longest < PATTERN && plan_pattern(B, slice, longest, plan)) {
        if (base != NULL) {
            memcpy(base, plan->offset, (size_t)plan->width * sizeof *base);
        }
        return;
    }
    plan_codes(B, slice, longest, plan, base);
}

/* ------------------------------------------------------------------ filling */

static cmg_size position(const cmgi_compressed *C, bool paired, cmg_size p, int k, int lane)
{
    const int place = paired ? 2 * (lane % 32) + lane / 32 : lane;
    return (C->p_step[p] + k) * CMGI_SLICE + place;
}

/* Scale of a slice's 16-bit values: a power of two that brings the largest near 2^12. */
static float slice_scale(const builder *B, cmg_size slice)
{
    double largest = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
        for (cmg_size k = B->csr->indptr[i]; k < B->csr->indptr[i + 1]; ++k) {
            largest = packs(B, i, k) ? fmax(largest, fabs(B->csr->values[k])) : largest;
        }
    }
    return largest > 0 ? (float)ldexp(1.0, ilogb(largest) - 12) : 1.0F;
}

/* The 16-bit number of a value, and what it stands for. */
static uint16_t round_value(cmg_values kind, double value, float scale, double *stands_for)
{
    const float scaled = (float)(value / (double)scale);
    if (kind == CMG_VALUES_FP16) {
        const uint16_t h = cmgi_float_to_half(scaled);
        *stands_for = (double)cmgi_half_to_float(h) * (double)scale;
        return h;
    }
    const uint16_t b = cmgi_float_to_bfloat(scaled);
    *stands_for = (double)cmgi_bfloat_to_float(b) * (double)scale;
    return b;
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
static void pad_row(const builder *B, const slice_plan *plan, cmg_size p, cmg_size i, int lane,
                    int e)
{
    cmgi_compressed *C = B->C;
    const bool paired = cmgi_on_cuda(B->A->ctx);
    const cmg_index *base = C->p_base + C->p_step[p];
    for (; plan->bytes > 0 && e < plan->width; ++e) {
        const cmg_size low = (cmg_size)reference(C, i) + base[e];
        store_code(C, p, position(C, paired, p, e, lane), low < 0 ? -low : 0);
    }
}

/* One row of a packed slice; returns through *apart what the rounded entries lost, plus the
 * diagonal. */
static void fill_row(const builder *B, const slice_plan *plan, cmg_size p, cmg_size i, int lane)
{
    cmgi_compressed *C = B->C;
    const cmg_csr *csr = B->csr;
    const bool paired = cmgi_on_cuda(B->A->ctx);
    const cmg_index *base = C->p_base + C->p_step[p];
    double apart = 0;
    int e = 0;
    for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
        const double value = csr->values[k];
        if (!packs(B, i, k)) {
            apart += value;
            continue;
        }
        const cmg_index offset = csr->indices[k] - reference(C, i);
        e = plan->bytes == 0 ? find(plan, offset, e) : e;
        const cmg_size at = position(C, paired, p, e, lane);
        if (plan->bytes > 0) {
            store_code(C, p, at, (cmg_size)offset - base[e]);
        }
        if (C->p_scale == NULL) {
            cmgi_matrix_put(B->A, k, at, value);
        } else {
            double stands_for = 0;
            ((uint16_t *)B->A->values)[at] =
                round_value(C->kind, value, C->p_scale[p], &stands_for);
            apart += value - stands_for;
        }
        ++e;
    }
    if (C->diagonal != NULL) {
        C->diagonal[i] = (float)apart;
    }
    pad_row(B, plan, p, i, lane, e);
}

/* ------------------------------------------------------------------ padding of coded slices */

/* A base may point behind the last column for a row that lacks the entry: such slices take 4 bytes.
 */
static bool padding_fits(const builder *B, cmg_size slice, const slice_plan *plan,
                         const cmg_index *base)
{
    const cmg_size largest = plan->bytes == 1 ? 255 : plan->bytes == 2 ? 65535 : INT32_MAX;
    for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
        for (int e = 0; e < plan->width; ++e) {
            const cmg_size low = (cmg_size)reference(B->C, i) + base[e];
            if (low >= B->csr->cols || -low > largest) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ templates */

static cmg_status store_templates(const builder *B, const cmgi_templates *t)
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
            C->t_offset[e] = B->csr->indices[k] - reference(C, t->row[j]);
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
static cmg_status split_slices(const builder *B, const uint16_t *id)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    const cmg_size slices = (B->csr->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->t_slice, &C->t_slice));
    CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *C->p_slice, &C->p_slice));
    for (cmg_size s = 0; s < slices; ++s) {
        bool all = id != NULL;
        for (cmg_size i = s * CMGI_SLICE; all && i < slice_end(B, s); ++i) {
            all = id[i] != CMGI_NO_TEMPLATE;
        }
        if (all) {
            C->t_slice[C->t_count++] = (cmg_index)s;
        } else {
            C->p_slice[C->p_count++] = (cmg_index)s;
        }
    }
    return CMG_OK;
}

static cmg_status find_templates(builder *B)
{
    const cmg_matrix_options *o = &B->A->options;
    cmgi_templates t = {0};
    if (o->keep_map || o->no_templates) {
        return split_slices(B, NULL);
    }
    CMGI_TRY(cmgi_templates_find(B->A->ctx, B->csr, B->C->ref, o->precision == CMG_FP32,
                                 CMGI_TEMPLATES, CMGI_TEMPLATE_ENTRIES, &t));
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

static void plan_checked(const builder *B, cmg_size slice, slice_plan *plan, cmg_index *base)
{
    plan_slice(B, slice, plan, base);
    if (plan->bytes > 0 && !padding_fits(B, slice, plan, base)) {
        /* 32-bit codes are whole columns less the reference: a base of 0 fits every row */
        plan->bytes = 4;
        memset(base, 0, (size_t)plan->width * sizeof *base);
    }
}

/* Widths and code sizes of all packed slices, then where each begins. */
static cmg_status measure_slices(const builder *B, cmg_size *entries, cmg_size *code_bytes)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    CMGI_TRY(cmgi_alloc(ctx, C->p_count + 1, sizeof *C->p_step, &C->p_step));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count + 1, sizeof *C->p_code, &C->p_code));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count, sizeof *C->p_bytes, &C->p_bytes));
    cmg_size longest = PATTERN;
    for (cmg_size i = 0; i < B->csr->rows; ++i) {
        const cmg_size length = B->csr->indptr[i + 1] - B->csr->indptr[i];
        longest = length > longest ? length : longest;
    }
    cmg_index *bases = NULL;
    CMGI_TRY(cmgi_alloc(ctx, longest * ctx->threads, sizeof *bases, &bases));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p_count; ++p) {
        slice_plan plan;
        plan_checked(B, C->p_slice[p], &plan, bases + longest * cmgi_thread());
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

static cmg_status alloc_packed(const builder *B, cmg_size entries, cmg_size code_bytes)
{
    cmg_matrix *A = B->A;
    cmgi_compressed *C = B->C;
    cmg_context *ctx = A->ctx;
    CMGI_TRY(cmgi_alloc(ctx, C->p_step[C->p_count], sizeof *C->p_base, &C->p_base));
    CMGI_TRY(cmgi_alloc_zero(ctx, code_bytes, 1, &C->codes));
    A->stored = entries;
    if (C->kind == CMG_VALUES_FULL) {
        return cmgi_matrix_alloc_values(A);
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, entries, sizeof(uint16_t), &A->values));
    CMGI_TRY(cmgi_alloc(ctx, C->p_count, sizeof *C->p_scale, &C->p_scale));
    if (B->split_diagonal) {
        CMGI_TRY(cmgi_alloc_zero(ctx, B->csr->rows, sizeof *C->diagonal, &C->diagonal));
    }
    return CMG_OK;
}

static cmg_status pack_slices(const builder *B)
{
    cmgi_compressed *C = B->C;
    cmg_size entries = 0;
    cmg_size code_bytes = 0;
    CMGI_TRY(measure_slices(B, &entries, &code_bytes));
    CMGI_TRY(alloc_packed(B, entries, code_bytes));
#pragma omp parallel for num_threads(B->A->ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p_count; ++p) {
        const cmg_size slice = C->p_slice[p];
        slice_plan plan;
        plan_checked(B, slice, &plan, C->p_base + C->p_step[p]);
        if (C->p_scale != NULL) {
            C->p_scale[p] = slice_scale(B, slice);
        }
        for (cmg_size i = slice * CMGI_SLICE; i < slice_end(B, slice); ++i) {
            fill_row(B, &plan, p, i, (int)(i - slice * CMGI_SLICE));
        }
        /* lanes without a row read as the last row does */
        for (cmg_size i = slice_end(B, slice); i < (slice + 1) * CMGI_SLICE; ++i) {
            pad_row(B, &plan, p, B->csr->rows - 1, (int)(i - slice * CMGI_SLICE), 0);
        }
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ life */

static cmg_status make_reference(const builder *B)
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

static size_t storage_bytes(const cmg_matrix *A, cmg_size code_bytes)
{
    const cmgi_compressed *C = A->data;
    const size_t value =
        C->kind == CMG_VALUES_FULL ? cmgi_precision_bytes(A->options.precision) : sizeof(uint16_t);
    const size_t rows = (size_t)A->rows;
    const size_t t_rows =
        (size_t)(C->t_count * CMGI_SLICE < A->rows ? C->t_count * CMGI_SLICE : A->rows);
    size_t bytes = (size_t)A->stored * value + (size_t)code_bytes +
                   (size_t)C->p_step[C->p_count] * sizeof *C->p_base +
                   (size_t)C->p_count * (2 * sizeof(cmg_size) + 1);
    bytes += C->ref != NULL ? rows * sizeof *C->ref : 0;
    bytes += t_rows * sizeof *C->t_id +
             (C->t_slice != NULL ? (size_t)C->t_count * sizeof *C->t_slice : 0);
    bytes +=
        (size_t)C->t_entries * (sizeof *C->t_offset + cmgi_precision_bytes(A->options.precision));
    bytes += C->p_scale != NULL ? (size_t)C->p_count * sizeof *C->p_scale : 0;
    bytes += C->diagonal != NULL ? rows * sizeof *C->diagonal : 0;
    return bytes + (C->p_slice != NULL ? (size_t)C->p_count * sizeof *C->p_slice : 0);
}

static cmg_status move(const cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    const cmg_size entries = C->t_entries;
    const cmg_size steps = C->p_step[C->p_count];
    const cmg_size codes = C->p_code[C->p_count];
    CMGI_TRY(cmgi_move_to_device(ctx, &C->ref, C->rows, sizeof *C->ref));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_slice, C->t_count, sizeof *C->t_slice));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_id, C->rows, sizeof *C->t_id));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_begin, C->templates + 1, sizeof *C->t_begin));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->t_offset, entries, sizeof *C->t_offset));
    CMGI_TRY(
        cmgi_move_to_device(ctx, &C->t_value, entries, cmgi_precision_bytes(A->options.precision)));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_slice, C->p_count, sizeof *C->p_slice));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_step, C->p_count + 1, sizeof *C->p_step));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_code, C->p_count + 1, sizeof *C->p_code));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_bytes, C->p_count, sizeof *C->p_bytes));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_base, steps, sizeof *C->p_base));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->codes, codes, 1));
    CMGI_TRY(cmgi_move_to_device(ctx, &C->p_scale, C->p_count, sizeof *C->p_scale));
    return cmgi_move_to_device(ctx, &C->diagonal, C->rows, sizeof *C->diagonal);
}

cmg_status cmgi_compressed_build(cmg_matrix *A, const cmg_csr *csr)
{
    cmg_context *ctx = A->ctx;
    const cmg_values kind = A->options.values;
    CMGI_CHECK(ctx, kind == CMG_VALUES_FULL || A->options.precision == CMG_FP32,
               CMG_ERR_UNSUPPORTED, "16-bit values are for matrices in fp32");
    CMGI_CHECK(ctx, kind == CMG_VALUES_FULL || !A->options.keep_map, CMG_ERR_UNSUPPORTED,
               "16-bit values cannot be updated one by one: keep_map needs full values");
    cmgi_compressed *C = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *C, &C));
    A->data = C;
    C->rows = csr->rows;
    C->cols = csr->cols;
    C->kind = kind;
    builder B = {.A = A,
                 .csr = csr,
                 .C = C,
                 .split_diagonal = kind != CMG_VALUES_FULL && csr->rows == csr->cols};
    CMGI_TRY(make_reference(&B));
    CMGI_TRY(find_templates(&B));
    CMGI_TRY(pack_slices(&B));
    if (C->p_count == 0 ||
        C->t_count == 0) { /* one list is all slices in order: no need to store it */
        cmgi_free(ctx, C->t_slice);
        cmgi_free(ctx, C->p_slice);
        C->t_slice = NULL;
        C->p_slice = NULL;
    }
    A->bytes = storage_bytes(A, C->p_code[C->p_count]);
    return move(A);
}

void cmgi_compressed_destroy(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    if (C == NULL) {
        return;
    }
    void *const arrays[] = {C->ref,     C->t_slice, C->t_id,    C->t_begin, C->t_offset,
                            C->t_value, C->p_slice, C->p_step,  C->p_code,  C->p_bytes,
                            C->p_base,  C->codes,   C->p_scale, C->diagonal};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
        cmgi_free_device(ctx, arrays[k]);
    }
    cmgi_free(ctx, C);
}

/* ------------------------------------------------------------------ products */

cmg_status cmgi_compressed_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
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
            kernels->packed_f32(C, A->values, w, x, p0, p1);
        }
    }
    return CMG_OK;
}
