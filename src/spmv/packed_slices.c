/*
 * Slices of the compressed format that hold values: offset patterns where the rows of a slice look
 * alike, short codes elsewhere. How each is stored is decided in packed_plan.c.
 */
#include "core/rest.h"
#include "spmv/blocks.h"
#include "spmv/cpu_kernels.h"
#include "spmv/packed_plan.h"

#include <math.h>
#include <string.h>

/* Where entries of slice column k lie, and how far behind those of the first lane. On a GPU two
 * rows are neighbours, with values in 16 and 8 bits in two slice columns. */
static cmg_size column_place(const cmgi_compressor *B, cmg_size p, int k)
{
    const cmg_size step = B->C->p.step[p];
    return B->pairs_columns ? (step + k - k % 2) * CMGI_SLICE + 2 * (k % 2)
                            : (step + k) * CMGI_SLICE;
}

static cmg_size lane_place(const cmgi_compressor *B, int lane)
{
    const int apart = B->pairs_columns ? 4 : 2;
    return cmgi_on_cuda(B->A->ctx) ? apart * (lane % 32) + lane / 32 : lane;
}

static float slice_scale(const cmgi_compressor *B, cmg_size slice)
{
    const cmg_csr *csr = B->entries != NULL ? B->entries->csr : B->csr;
    const cmg_size b = B->entries != NULL ? B->C->block : 1;
    double largest = 0;
    for (cmg_size i = b * slice * CMGI_SLICE; i < b * cmgi_slice_end(B, slice); ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const bool packed = b > 1 ? !B->split_diagonal || csr->indices[k] != i + b * B->C->lead
                                      : cmgi_packs(&B->plan, k, cmgi_plan_reference(&B->plan, i));
            largest = packed ? fmax(largest, fabs(csr->values[k])) : largest;
        }
    }
    return cmgi_reduced_scale(B->C->p.kind, largest);
}

static void store_code(cmgi_compressed *C, cmg_size p, cmg_size at, cmg_size code)
{
    cmgi_put_code(C->p.codes + C->p.code[p], C->p.bytes[p], at - C->p.step[p] * CMGI_SLICE, code);
}

/* Codes past the end of a row, from entry e on: column 0 if the base lies before it. */
static void pad_row(const cmgi_compressor *B, cmg_size p, cmg_size i, int lane, int e)
{
    cmgi_compressed *C = B->C;
    const int width = (int)(C->p.step[p + 1] - C->p.step[p]);
    const cmg_index *base = C->p.base + C->p.step[p];
    for (; C->p.bytes[p] > 0 && e < width; ++e) {
        const cmg_size low = (cmg_size)cmgi_plan_reference(&B->plan, i) + base[e];
        store_code(C, p, column_place(B, p, e) + lane_place(B, lane), low < 0 ? -low : 0);
    }
}

/* place[e] of entry e of row i, but for its lane; -1 = it is kept apart. */
static void find_places(const cmgi_compressor *B, cmg_size p, cmg_size i, cmg_size *place)
{
    const cmgi_compressed *C = B->C;
    const cmg_size begin = B->csr->indptr[i];
    const cmg_index ref = cmgi_plan_reference(&B->plan, i);
    const int width = (int)(C->p.step[p + 1] - C->p.step[p]);
    const cmg_index *base = C->p.base + C->p.step[p];
    int at = 0;
    for (cmg_size k = begin; k < B->csr->indptr[i + 1]; ++k) {
        if (!cmgi_packs(&B->plan, k, ref)) {
            place[k - begin] = -1;
            continue;
        }
        if (C->p.bytes[p] == 0) {
            at = cmgi_pattern_find(base, width, B->csr->indices[k] - ref, at);
        }
        place[k - begin] = column_place(B, p, at++);
    }
}

/* One row of a packed slice; what its rounded entries lost goes into the diagonal. */
static void fill_row(const cmgi_compressor *B, cmg_size p, cmg_size i, const cmg_size *place)
{
    cmgi_compressed *C = B->C;
    const cmg_csr *csr = B->csr;
    const cmg_index *base = C->p.base + C->p.step[p];
    const cmg_size begin = csr->indptr[i];
    const int lane = (int)(i % CMGI_SLICE);
    const cmg_size after = lane_place(B, lane);
    double apart[CMGI_BLOCK_MOST] = {0};
    int e = 0;
    for (cmg_size k = begin; k < csr->indptr[i + 1]; ++k) {
        const cmg_size at = place[k - begin] + after;
        if (place[k - begin] < 0) {
            apart[0] += csr->values[k];
            continue;
        }
        if (C->p.bytes[p] > 0) {
            store_code(C, p, at,
                       (cmg_size)csr->indices[k] - cmgi_plan_reference(&B->plan, i) - base[e]);
        }
        if (B->entries != NULL) {
            cmgi_compressed_block_store(B, p, i, k, at, apart);
        } else if (C->p.scale != NULL) {
            apart[0] += csr->values[k] - cmgi_reduced_store(C->p.kind, B->A->values, at,
                                                            csr->values[k], C->p.scale[p]);
        } else if (C->p.rest == NULL) {
            cmgi_matrix_put(B->A, k, at, csr->values[k]);
        }
        ++e;
    }
    const cmg_size own = B->entries != NULL ? C->block : 1;
    for (cmg_size c = 0; C->diagonal != NULL && c < own; ++c) {
        C->diagonal[i * own + c] = (float)apart[c];
    }
    pad_row(B, p, i, lane, e);
}

/* Rows i .. end - 1, which have the same places, of a slice of two numbers an entry; false where
 * one is not their sum. */
static bool split_rows(const cmgi_compressor *B, cmg_size i, cmg_size end, const cmg_size *place)
{
    const cmg_size begin = B->csr->indptr[i];
    const cmg_size length = B->csr->indptr[i + 1] - begin;
    bool good = true;
    for (cmg_size e = 0; e < length; ++e) {
        const cmg_size at = place[e] + i % CMGI_SLICE;
        good = cmgi_cpu_kernels_best()->split(B->csr->values + begin + e, length, end - i,
                                              (float *)B->A->values + at, B->C->p.rest + at) &&
               good;
    }
    return good;
}

static cmg_size slice_of(const cmgi_compressed *C, cmg_size p)
{
    return C->p.slice != NULL ? C->p.slice[p] : p;
}

/* Bytes of a value of an entry. */
static size_t value_size(const cmgi_compressor *B)
{
    return B->C->p.rest != NULL ? sizeof(float)
                                : cmgi_values_bytes(B->C->p.kind, B->A->options.precision);
}

/* Zeros where no entry will come, in a slice that has such places. */
static void clear_slice(const cmgi_compressor *B, cmg_size p, cmg_size entries)
{
    const cmgi_compressed *C = B->C;
    const size_t each = (size_t)cmgi_compressed_each(C);
    const size_t from = (size_t)C->p.step[p] * CMGI_SLICE * each;
    const size_t places = (size_t)C->p.step[p + 1] * CMGI_SLICE * each - from;
    if (each > 1 || B->split_diagonal || (size_t)entries < places) {
        memset((char *)B->A->values + from * value_size(B), 0, places * value_size(B));
        if (C->p.rest != NULL) {
            memset(C->p.rest + from, 0, places * sizeof *C->p.rest);
        }
    }
}

/* Slice p from its plan; `place` has room for the longest row. */
static bool fill_slice(const cmgi_compressor *B, cmg_size p, cmg_size *place)
{
    const cmgi_compressed *C = B->C;
    const cmg_csr *csr = B->csr;
    const cmg_size slice = slice_of(C, p);
    const cmg_size first = slice * CMGI_SLICE;
    const cmg_size end = cmgi_slice_end(B, slice);
    bool good = true;
    if (C->p.scale != NULL) {
        C->p.scale[p] = slice_scale(B, slice);
    }
    clear_slice(B, p, csr->indptr[end] - csr->indptr[first]);
    for (cmg_size i = first, next = first; i < end; i = next) {
        find_places(B, p, i, place);
        for (next = i + 1; next < end && cmgi_plan_repeats(&B->plan, next); ++next) {
        }
        good = C->p.rest == NULL || (split_rows(B, i, next, place) && good);
        for (; i < next && (C->p.rest == NULL || C->p.bytes[p] > 0); ++i) {
            fill_row(B, p, i, place);
        }
    }
    for (cmg_size i = end; i < first + CMGI_SLICE; ++i) { /* lanes without a row: as the last */
        pad_row(B, p, csr->rows - 1, (int)(i - first), 0);
    }
    return good;
}

/* All slices; false where values are not the sums of two numbers as which they are stored. */
static cmg_status fill_slices(const cmgi_compressor *B, cmg_size longest, bool *good)
{
    cmg_context *ctx = B->A->ctx;
    bool all = true;
    CMGI_SCOPED(ctx, longest * ctx->threads, cmg_size, places);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : all)
    for (cmg_size p = 0; p < B->C->p.count; ++p) {
        all = fill_slice(B, p, places + longest * cmgi_thread()) && all;
    }
    *good = all;
    return CMG_OK;
}

/* Room for the bases of every slice, where it begins; the longest row. */
static cmg_size reserve_bases(const cmgi_compressor *B, cmg_size *room)
{
    const cmg_size *indptr = B->csr->indptr;
    cmg_size longest = 0;
#pragma omp parallel for num_threads(B->A->ctx->threads) schedule(static) reduction(max : longest)
    for (cmg_size p = 0; p < B->C->p.count; ++p) {
        const cmg_size slice = slice_of(B->C, p);
        cmg_size most = 0;
        for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
            most = indptr[i + 1] - indptr[i] > most ? indptr[i + 1] - indptr[i] : most;
        }
        room[p + 1] = cmgi_plan_room(most);
        longest = most > longest ? most : longest;
    }
    room[0] = 0;
    cmgi_add_up(room, B->C->p.count);
    return longest;
}

/* Widths, code sizes and bases of all packed slices, and where each begins; their longest row. */
static cmg_status plan_slices(const cmgi_compressor *B, cmg_size *longest)
{
    cmgi_packed_slices *P = &B->C->p;
    cmg_context *ctx = B->A->ctx;
    if (P->count == 0) {
        return cmgi_alloc(ctx, 0, sizeof *P->base, &P->base); /* not NULL, as on the device */
    }
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->step, &P->step));
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->code, &P->code));
    CMGI_TRY(cmgi_alloc(ctx, P->count, sizeof *P->bytes, &P->bytes));
    CMGI_SCOPED(ctx, P->count + 1, cmg_size, room);
    *longest = reserve_bases(B, room);
    CMGI_SCOPED(ctx, room[P->count], cmg_index, bases);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (cmg_size p = 0; p < P->count; ++p) {
        cmg_index pattern[CMGI_PATTERN];
        const cmgi_slice_plan plan =
            cmgi_plan_slice(B, slice_of(B->C, p), pattern, bases + room[p]);
        P->step[p + 1] = plan.width;
        P->bytes[p] = (uint8_t)plan.bytes;
    }
    P->step[0] = 0;
    P->code[0] = 0;
    for (cmg_size p = 0; p < P->count; ++p) {
        /* whole 4-byte words, so that codes of every size are aligned */
        P->code[p + 1] = P->code[p] + P->step[p + 1] * CMGI_SLICE * P->bytes[p];
        P->step[p + 1] += P->step[p];
    }
    P->steps = P->step[P->count];
    P->code_bytes = P->code[P->count];
    CMGI_TRY(cmgi_alloc(ctx, P->steps, sizeof *P->base, &P->base));
    for (cmg_size p = 0; p < P->count; ++p) {
        memcpy(P->base + P->step[p], bases + room[p],
               (size_t)(P->step[p + 1] - P->step[p]) * sizeof *bases);
    }
    return CMG_OK;
}

/* Room for full values, or for two numbers each. */
static cmg_status alloc_values(const cmgi_compressor *B, bool pairs)
{
    cmg_matrix *A = B->A;
    cmgi_compressed *C = B->C;
    CMGI_FREE(A->ctx, cmgi_pass_on(&A->values), cmgi_pass_on(&C->p.rest));
    if (!pairs) {
        return cmgi_matrix_alloc_values(A, B->from, false);
    }
    CMGI_TRY(cmgi_alloc(A->ctx, A->stored, sizeof(float), &A->values));
    return cmgi_alloc(A->ctx, A->stored, sizeof *C->p.rest, &C->p.rest);
}

static cmg_status alloc_packed(const cmgi_compressor *B)
{
    cmg_matrix *A = B->A;
    cmgi_compressed *C = B->C;
    cmg_context *ctx = A->ctx;
    CMGI_TRY(cmgi_alloc(ctx, C->p.code_bytes, 1, &C->p.codes));
    A->stored = C->p.steps * CMGI_SLICE * cmgi_compressed_each(C);
    if (C->p.kind == CMG_VALUES_FULL) {
        return alloc_values(B, B->pairs);
    }
    CMGI_TRY(cmgi_alloc(ctx, A->stored, value_size(B), &A->values));
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
    cmgi_free(ctx, cmgi_pass_on(&A->value_map));
    return CMG_OK;
}

/* What the matrix in fp64 of the same CSR has of values in fp32, where its slices are these. */
static bool borrow(const cmgi_compressor *B)
{
    const cmg_matrix *like = B->from->like;
    const cmgi_compressed *C = like != NULL && like->format == B->A->format ? like->data : NULL;
    cmgi_packed_slices *P = &B->C->p;
    if (C == NULL || C->p.rest == NULL || C->p.count != P->count || P->count == 0 ||
        B->A->options.precision != CMG_FP32 || P->kind != CMG_VALUES_FULL ||
        B->A->options.keep_map || B->C->block > 1 || (C->p.slice == NULL) != (P->slice == NULL) ||
        (P->slice != NULL &&
         memcmp(P->slice, C->p.slice, (size_t)P->count * sizeof *P->slice) != 0)) {
        return false;
    }
    cmgi_free(B->A->ctx, P->slice);
    *P = C->p;
    P->rest = NULL;
    P->borrowed = true;
    B->A->values = like->values;
    B->A->stored = like->stored;
    return true;
}

cmg_status cmgi_packed_slices_build(const cmgi_compressor *B)
{
    cmgi_compressed *C = B->C;
    cmg_size longest = 0;
    bool good = true;
    if (borrow(B)) {
        return CMG_OK;
    }
    CMGI_TRY(plan_slices(B, &longest));
    CMGI_TRY(alloc_packed(B));
    CMGI_TRY(C->p.count > 0 ? fill_slices(B, longest, &good) : CMG_OK);
    if (!good) {
        CMGI_TRY(alloc_values(B, false));
        CMGI_TRY(fill_slices(B, longest, &good));
    }
    const bool places = cmgi_on_cuda(B->A->ctx) && C->block < 2 && B->A->value_map != NULL &&
                        longest <= CMGI_PACKED_LONGEST;
    return places ? keep_places(B) : CMG_OK;
}

cmg_status cmgi_packed_slices_move(cmg_context *ctx, cmgi_packed_slices *P)
{
    return CMGI_MOVE(ctx, &P->slice, &P->step, &P->code, &P->bytes, &P->base, &P->codes, &P->scale,
                     &P->entry, &P->place);
}

void cmgi_packed_slices_free(cmg_context *ctx, cmgi_packed_slices *P)
{
    cmgi_free_device(ctx, P->rest);
    if (P->borrowed) {
        return;
    }
    CMGI_FREE_DEVICE(ctx, P->slice, P->step, P->code, P->bytes, P->base, P->codes, P->scale);
    CMGI_FREE_DEVICE(ctx, P->place, P->entry);
}
