/*
 * Slices of the compressed format that hold values: offset patterns where the rows of a slice look
 * alike, short codes elsewhere. How each is stored is decided in packed_plan.c.
 */
#include "spmv/blocks.h"
#include "spmv/packed_there.h"

#include <math.h>

/* On a GPU two rows are neighbours, with values in 16 and 8 bits in two slice columns. */
static cmg_size position(const cmgi_compressor *B, cmg_size p, int k, int lane)
{
    const cmg_size step = B->C->p.step[p];
    if (!cmgi_on_cuda(B->A->ctx)) {
        return (step + k) * CMGI_SLICE + lane;
    }
    return B->pairs_columns
               ? (step + k - k % 2) * CMGI_SLICE + 4 * (lane % 32) + 2 * (k % 2) + lane / 32
               : (step + k) * CMGI_SLICE + 2 * (lane % 32) + lane / 32;
}

static float slice_scale(const cmgi_compressor *B, cmg_size slice)
{
    const cmg_csr *csr = B->entries != NULL ? B->entries->csr : B->csr;
    const cmg_size b = B->entries != NULL ? B->C->block : 1;
    double largest = 0;
    for (cmg_size i = b * slice * CMGI_SLICE; i < b * cmgi_slice_end(B, slice); ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const bool packed = b > 1 ? !B->split_diagonal || csr->indices[k] != i + b * B->C->lead
                                      : cmgi_packs(B, i, k);
            largest = packed ? fmax(largest, fabs(csr->values[k])) : largest;
        }
    }
    return cmgi_reduced_scale(B->C->p.kind, largest);
}

static void store_code(cmgi_compressed *C, cmg_size p, cmg_size at, cmg_size code)
{
    const cmg_size local = at - C->p.step[p] * CMGI_SLICE;
    uint8_t *codes = C->p.codes + C->p.code[p];
    switch (C->p.bytes[p]) {
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

/* Codes past the end of a row, from entry e on: column 0 if the base lies before it. */
static void pad_row(const cmgi_compressor *B, const cmgi_slice_plan *plan, cmg_size p, cmg_size i,
                    int lane, int e)
{
    cmgi_compressed *C = B->C;
    const cmg_index *base = C->p.base + C->p.step[p];
    for (; plan->bytes > 0 && e < plan->width; ++e) {
        const cmg_size low = (cmg_size)cmgi_reference(C, i) + base[e];
        store_code(C, p, position(B, p, e, lane), low < 0 ? -low : 0);
    }
}

/* One row of a packed slice; what its rounded entries lost goes into the diagonal. */
static void fill_row(const cmgi_compressor *B, const cmgi_slice_plan *plan, cmg_size p, cmg_size i,
                     int lane)
{
    cmgi_compressed *C = B->C;
    const cmg_csr *csr = B->csr;
    const cmg_index *base = C->p.base + C->p.step[p];
    double apart[CMGI_BLOCK_MOST] = {0};
    int e = 0;
    for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
        const double value = csr->values[k];
        if (!cmgi_packs(B, i, k)) {
            apart[0] += value;
            continue;
        }
        const cmg_index offset = csr->indices[k] - cmgi_reference(C, i);
        e = plan->bytes == 0 ? cmgi_pattern_find(base, plan->width, offset, e) : e;
        const cmg_size at = position(B, p, e, lane);
        if (plan->bytes > 0) {
            store_code(C, p, at, (cmg_size)offset - base[e]);
        }
        if (B->entries != NULL) {
            cmgi_compressed_block_store(B, p, i, k, at, apart);
        } else if (C->p.scale == NULL) {
            cmgi_matrix_put(B->A, k, at, value);
        } else {
            apart[0] +=
                value - cmgi_reduced_store(C->p.kind, B->A->values, at, value, C->p.scale[p]);
        }
        ++e;
    }
    const cmg_size own = B->entries != NULL ? C->block : 1;
    for (cmg_size c = 0; C->diagonal != NULL && c < own; ++c) {
        C->diagonal[i * own + c] = (float)apart[c];
    }
    pad_row(B, plan, p, i, lane, e);
}

static cmg_size slice_of(const cmgi_compressed *C, cmg_size p)
{
    return C->p.slice != NULL ? C->p.slice[p] : p;
}

/* Widths and code sizes of all packed slices, then where each begins. */
static cmg_status measure_slices(const cmgi_compressor *B)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    if (C->p.count == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, C->p.count + 1, sizeof *C->p.step, &C->p.step));
    CMGI_TRY(cmgi_alloc(ctx, C->p.count + 1, sizeof *C->p.code, &C->p.code));
    CMGI_TRY(cmgi_alloc(ctx, C->p.count, sizeof *C->p.bytes, &C->p.bytes));
    const cmg_size room = cmgi_plan_room(cmgi_csr_longest_row(B->csr));
    cmg_index *bases = NULL;
    CMGI_TRY(cmgi_alloc(ctx, room * ctx->threads, sizeof *bases, &bases));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p.count; ++p) {
        cmg_index pattern[CMGI_PATTERN];
        const cmgi_slice_plan plan =
            cmgi_plan_slice(B, slice_of(C, p), pattern, bases + room * cmgi_thread());
        C->p.step[p + 1] = plan.width;
        C->p.bytes[p] = (uint8_t)plan.bytes;
    }
    cmgi_free(ctx, bases);
    C->p.step[0] = 0;
    C->p.code[0] = 0;
    for (cmg_size p = 0; p < C->p.count; ++p) {
        /* whole 4-byte words, so that codes of every size are aligned */
        C->p.code[p + 1] = C->p.code[p] + C->p.step[p + 1] * CMGI_SLICE * C->p.bytes[p];
        C->p.step[p + 1] += C->p.step[p];
    }
    C->p.steps = C->p.step[C->p.count];
    C->p.code_bytes = C->p.code[C->p.count];
    return CMG_OK;
}

static cmg_status alloc_packed(const cmgi_compressor *B)
{
    cmg_matrix *A = B->A;
    cmgi_compressed *C = B->C;
    cmg_context *ctx = A->ctx;
    const cmg_size entries = C->p.steps * CMGI_SLICE * cmgi_compressed_each(C);
    CMGI_TRY(cmgi_alloc(ctx, C->p.steps, sizeof *C->p.base, &C->p.base));
    CMGI_TRY(cmgi_alloc_zero(ctx, C->p.code_bytes, 1, &C->p.codes));
    A->stored = entries;
    if (C->p.kind == CMG_VALUES_FULL) {
        return cmgi_matrix_alloc_values(A, B->from);
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, entries, cmgi_values_bytes(C->p.kind, CMG_FP32), &A->values));
    CMGI_TRY(cmgi_alloc(ctx, C->p.count, sizeof *C->p.scale, &C->p.scale));
    if (B->split_diagonal) {
        const cmg_size rows = B->entries != NULL ? B->entries->csr->rows : B->csr->rows;
        CMGI_TRY(cmgi_alloc_zero(ctx, rows, sizeof *C->diagonal, &C->diagonal));
    }
    return CMG_OK;
}

/* The value map, on the host, as places in slices, for a GPU: a quarter of the bytes. */
static cmg_status keep_places(const cmgi_compressor *B)
{
    cmg_matrix *A = B->A;
    cmg_context *ctx = A->ctx;
    cmgi_packed_slices *P = &B->C->p;
    CMGI_TRY(cmgi_alloc(ctx, A->nnz, sizeof *P->place, &P->place));
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->entry, &P->entry));
    P->entry[0] = 0;
    for (cmg_size p = 0; p < P->count; ++p) {
        P->entry[p + 1] = B->csr->indptr[cmgi_slice_end(B, p)];
        for (cmg_size k = P->entry[p]; k < P->entry[p + 1]; ++k) {
            P->place[k] = (uint16_t)(A->value_map[k] - P->step[p] * CMGI_SLICE);
        }
    }
    cmgi_free(ctx, A->value_map);
    A->value_map = NULL;
    return CMG_OK;
}

cmg_status cmgi_packed_slices_build(const cmgi_compressor *B)
{
    cmgi_compressed *C = B->C;
    CMGI_TRY(measure_slices(B));
    CMGI_TRY(alloc_packed(B));
#pragma omp parallel for num_threads(B->A->ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < C->p.count; ++p) {
        const cmg_size slice = slice_of(C, p);
        cmg_index pattern[CMGI_PATTERN];
        const cmgi_slice_plan plan = cmgi_plan_slice(B, slice, pattern, C->p.base + C->p.step[p]);
        if (C->p.scale != NULL) {
            C->p.scale[p] = slice_scale(B, slice);
        }
        for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
            fill_row(B, &plan, p, i, (int)(i - slice * CMGI_SLICE));
        }
        /* lanes without a row read as the last row does */
        for (cmg_size i = cmgi_slice_end(B, slice); i < (slice + 1) * CMGI_SLICE; ++i) {
            pad_row(B, &plan, p, B->csr->rows - 1, (int)(i - slice * CMGI_SLICE), 0);
        }
    }
    const bool places = cmgi_on_cuda(B->A->ctx) && C->block < 2 && B->A->value_map != NULL &&
                        cmgi_csr_longest_row(B->csr) <= CMGI_PACKED_LONGEST;
    return places ? keep_places(B) : CMG_OK;
}

cmg_status cmgi_packed_slices_move(cmg_context *ctx, cmg_size entries, cmgi_packed_slices *P)
{
    CMGI_TRY(cmgi_move_to_device(ctx, &P->slice, P->count, sizeof *P->slice));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->step, P->count + 1, sizeof *P->step));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->code, P->count + 1, sizeof *P->code));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->bytes, P->count, sizeof *P->bytes));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->base, P->steps, sizeof *P->base));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->codes, P->code_bytes, 1));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->scale, P->count, sizeof *P->scale));
    CMGI_TRY(cmgi_move_to_device(ctx, &P->entry, P->count + 1, sizeof *P->entry));
    return cmgi_move_to_device(ctx, &P->place, P->count > 0 ? entries : 0, sizeof *P->place);
}

void cmgi_packed_slices_free(cmg_context *ctx, cmgi_packed_slices *P)
{
    if (P->rest != NULL) { /* the only array that is not another's */
        cmgi_free_device(ctx, P->rest);
        return;
    }
    CMGI_FREE_DEVICE(ctx, P->slice, P->step, P->code, P->bytes, P->base, P->codes, P->scale);
    CMGI_FREE_DEVICE(ctx, P->place, P->entry);
}
