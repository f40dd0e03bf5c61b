/* Packed slices from a CSR on the device: how large they are, and which slices there are. */
#include "core/each.h"
#include "spmv/packed_there.cuh"

#include "spmv/compressed.inc"

/*
 * Width of slice p where it is narrowed (packed_narrow.cu), else -1: a pattern in fp64 that is
 * worth its width in fewer bits as well, with the diagonal or without; of those that are worth it
 * in fp64 six offsets of rows of four are not (packed_plan.inc).
 */
static __device__ int narrow_width(const source &S, const cmgi_wide_slices &wide, cmg_size p,
                                   int lane)
{
    if (wide.step == NULL || wide.bytes[p] != 0) {
        return -1;
    }
    const cmg_size first = (S.slice != NULL ? S.slice[p] : p) * SLICE;
    const cmg_index *base = wide.base + wide.step[p];
    const int width = (int)(wide.step[p + 1] - wide.step[p]);
    cmg_size longest = 0;
    for (cmg_size r = first + lane; width == 6 && r < first + SLICE && r < S.A.rows;
         r += CMGI_WARP) {
        const cmg_size length = S.A.indptr[r + 1] - S.A.indptr[r];
        longest = length > longest ? length : longest;
    }
    const bool worth = width <= NARROW && (width != 6 || plan_max(longest) > 4);
    const bool apart = S.split_diagonal && cmgi_pattern_find(base, width, 0, width / 2) >= 0;
    return worth ? width - apart : -1;
}

__global__ void __launch_bounds__(THREADS)
    measure_kernel(const source S, const cmgi_wide_slices wide, const target to)
{
    extern __shared__ int shared_plans[];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (p >= S.count) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    const int narrow = narrow_width(S, wide, p, lane);
    P.width = narrow;
    if (narrow < 0) {
        make_plan(S, p, lane, P);
    }
    if (lane == 0) {
        const int width = stored_width(to, P);
        to.step[p] = width;
        to.code[p] = (cmg_size)width * SLICE * P.bytes;
        to.bytes[p] = (uint8_t)P.bytes;
    }
    if (narrow < 0) {
        keep_plan(to, p, lane, P);
    } else if (lane == 0) {
        to.kept[p * KEPT] = NARROWED;
    }
}

/* Of a matrix in fp32: whether its values and what they lack may serve one in fp64 as well. */
static bool serves_two(const cmgi_compressor *B)
{
    const cmg_matrix_options *o = &B->A->options;
    return B->from->twin != NULL && o->precision == CMG_FP32 && o->values == CMG_VALUES_FULL &&
           !o->keep_map && B->C->block == 1 && B->from->there->facts.single;
}

/* Room for values, and in the twin for what they lack, instead of what was reserved before. */
static cmg_status reserve_values(const cmgi_compressor *B, cmg_size places)
{
    cmg_context *ctx = B->A->ctx;
    const size_t bytes = cmgi_values_bytes(B->C->p.kind, B->A->options.precision);
    cmgi_free_device(ctx, B->A->values);
    B->A->values = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, places, bytes, &B->A->values));
    if (places > 0 && serves_two(B)) {
        cmgi_free_device(ctx, B->from->twin->rest);
        B->from->twin->rest = NULL;
        CMGI_TRY(cmgi_alloc_device(ctx, places, sizeof(int), &B->from->twin->rest));
    }
    return CMG_OK;
}

/* Places of slices as wide as the longest row, 0 where that is over an eighth more than entries. */
static cmg_size likely_places(const cmgi_compressor *B, cmg_size longest)
{
    const cmg_size width = longest + (B->pairs_columns ? longest % 2 : 0);
    const bool even = 8 * width * B->from->device->rows <= 9 * B->from->there->rows.nnz;
    return even ? B->C->p.count * SLICE * width : 0;
}

/* Memory that is new to the process takes the host a millisecond a GB: that of likely sizes comes
 * while slices are measured. *room = places of it. */
static cmg_status measure(const cmgi_compressor *B, const source &S, const cmgi_wide_slices &wide,
                          cmgi_scratch &scratch, cmg_index **kept, cmg_size *room)
{
    cmg_context *ctx = B->A->ctx;
    cmgi_packed_slices *P = &B->C->p;
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    if (P->count == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, P->count + 1, sizeof *P->step, &P->step));
    CMGI_TRY(cmgi_alloc_device(ctx, P->count + 1, sizeof *P->code, &P->code));
    CMGI_TRY(cmgi_alloc_device(ctx, P->count, sizeof *P->bytes, &P->bytes));
    CMGI_TRY(scratch.take(P->count * KEPT, kept));
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(P->count, WARPS), THREADS, shared_bytes(S), measure_kernel, S,
                      wide, target_of(B, *kept)));
    CMGI_TRY(on->offsets(ctx, P->count, P->step, NULL));
    CMGI_TRY(on->offsets(ctx, P->count, P->code, NULL));
    *room = likely_places(B, S.room);
    CMGI_TRY(*room > 0 ? reserve_values(B, *room) : CMG_OK);
    const cmgi_read totals[] = {{&P->steps, P->step + P->count, sizeof P->steps},
                                {&P->code_bytes, P->code + P->count, sizeof P->code_bytes}};
    return cmgi_read_each(ctx, totals, 2);
}

typedef struct lists {
    const cmg_index *one;
    const cmg_index *other;
} lists;

CMGI_COUNT_INDEX(count_different, lists)
{
    return a.one[i] != a.other[i];
}

static cmg_status same_lists(cmg_context *ctx, const cmgi_packed_slices *P,
                             const cmgi_packed_slices *Q, bool *same)
{
    const lists both = {P->slice, Q->slice};
    cmg_size different = 0;
    *same = P->count == Q->count && (P->slice == NULL) == (Q->slice == NULL);
    if (*same && P->slice != NULL) {
        CMGI_TRY(cmgi_count_different_device(ctx, P->count, &both, &different));
        *same = different == 0;
    }
    return CMG_OK;
}

/* Whether the matrix in fp32 that has left what its values lack has the same packed slices. */
static cmg_status look_beside(const cmgi_compressor *B, bool *beside)
{
    const cmg_matrix *like = B->from->like;
    const cmg_matrix_options *o = &B->A->options;
    *beside = like != NULL && B->from->twin != NULL && B->from->twin->rest != NULL &&
              like->format == B->A->format && o->precision == CMG_FP64 && !o->keep_map;
    if (!*beside) {
        return CMG_OK;
    }
    const cmgi_packed_slices *P = &((const cmgi_compressed *)like->data)->p;
    *beside = P->count > 0;
    return *beside ? same_lists(B->A->ctx, &B->C->p, P, beside) : CMG_OK;
}

/* All of that matrix, and what its values lack. */
static void take_beside(const cmgi_compressor *B)
{
    const cmg_matrix *like = B->from->like;
    cmgi_packed_slices *P = &B->C->p;
    B->A->stored = like->stored;
    cmgi_packed_slices_free(B->A->ctx, P);
    *P = ((const cmgi_compressed *)like->data)->p;
    P->rest = B->from->twin->rest;
    P->borrowed = true;
    B->A->values = like->values;
    B->from->twin->rest = NULL;
}

/* The slices of the matrix in fp64 that came before, where one in fewer bits may take its patterns:
 * those of the same rows, whose entries are in the order of their columns. */
static cmg_status look_wide(const cmgi_compressor *B, cmgi_wide_slices *wide)
{
    const cmg_matrix *like = B->from->like;
    const bool may = B->C->p.kind != CMG_VALUES_FULL && B->C->block == 1 && like != NULL &&
                     like->format == B->A->format && like->options.precision == CMG_FP64 &&
                     like->options.values == CMG_VALUES_FULL && B->from->there->facts.ascending;
    const cmgi_packed_slices *P = may ? &((const cmgi_compressed *)like->data)->p : NULL;
    if (P == NULL || P->rest != NULL || like->values == NULL) {
        return CMG_OK;
    }
    bool same = false;
    CMGI_TRY(same_lists(B->A->ctx, &B->C->p, P, &same));
    *wide = same ? cmgi_wide_slices{P->step, P->bytes, P->base, (const double *)like->values}
                 : cmgi_wide_slices{};
    return CMG_OK;
}

/* Room for slices that are measured, of which that for values may be there. */
static cmg_status reserve(const cmgi_compressor *B, cmg_size room)
{
    cmg_context *ctx = B->A->ctx;
    cmgi_packed_slices *P = &B->C->p;
    B->A->stored = P->steps * SLICE;
    CMGI_TRY(cmgi_alloc_device(ctx, P->steps, sizeof *P->base, &P->base));
    CMGI_TRY(cmgi_alloc_device(ctx, P->code_bytes, 1, &P->codes));
    CMGI_TRY(room >= B->A->stored && B->A->values != NULL ? CMG_OK
                                                          : reserve_values(B, B->A->stored));
    if (P->kind != CMG_VALUES_FULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, P->count, sizeof *P->scale, &P->scale));
    }
    if (B->split_diagonal) { /* 0 in rows of templates */
        const size_t bytes = (size_t)B->C->rows * sizeof *B->C->diagonal;
        CMGI_TRY(cmgi_alloc_device(ctx, B->C->rows, sizeof *B->C->diagonal, &B->C->diagonal));
        CMGI_TRY(cmgi_cuda_clear(ctx, B->C->diagonal, bytes));
    }
    if (B->A->options.keep_map) { /* without templates: all slices are there */
        CMGI_TRY(cmgi_alloc_device(ctx, B->A->nnz, sizeof *P->place, &P->place));
        CMGI_TRY(cmgi_alloc_device(ctx, P->count + 1, sizeof *P->entry, &P->entry));
        CMGI_TRY(cmgi_cuda_clear(ctx, P->entry, sizeof *P->entry)); /* for no slices */
    }
    return CMG_OK;
}

extern "C" cmg_status cmgi_packed_build_cuda(const cmgi_compressor *B, cmg_size longest)
{
    cmg_context *ctx = B->A->ctx;
    CMGI_ON_DEVICE(ctx);
    cmg_index *kept = NULL;
    bool beside = false;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(look_beside(B, &beside));
    if (beside) {
        take_beside(B);
        return CMG_OK;
    }
    cmg_size room = 0;
    cmgi_wide_slices wide = {};
    CMGI_TRY(look_wide(B, &wide));
    CMGI_TRY(measure(B, source_of(B, longest), wide, scratch, &kept, &room));
    CMGI_TRY(reserve(B, room));
    CMGI_TRY(cmgi_packed_fill(B, longest, kept, serves_two(B) ? B->from->twin->rest : NULL));
    return wide.step != NULL ? cmgi_packed_narrow(B, wide, kept) : CMG_OK;
}
