/* Packed slices from a CSR on the device: how large they are, and which slices there are. */
#include "core/each.h"
#include "spmv/packed_there.cuh"

#include "spmv/compressed.inc"

__global__ void __launch_bounds__(THREADS) measure_kernel(const source S, const target to)
{
    extern __shared__ int shared_plans[];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (p >= S.count) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    make_plan(S, p, lane, P);
    if (lane == 0) {
        const int width = stored_width(to, P);
        to.step[p] = width;
        to.code[p] = (cmg_size)width * SLICE * P.bytes;
        to.bytes[p] = (uint8_t)P.bytes;
    }
    keep_plan(to, p, lane, P);
}

static cmg_status measure(const cmgi_compressor *B, const source &S, cmgi_scratch &scratch,
                          cmg_index **kept)
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
    measure_kernel<<<cmgi_grid(P->count, WARPS), THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
        S, target_of(B, *kept));
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(on->offsets(ctx, P->count, P->step, NULL));
    CMGI_TRY(on->offsets(ctx, P->count, P->code, NULL));
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
    *same = (P->slice == NULL) == (Q->slice == NULL);
    if (*same && P->slice != NULL) {
        CMGI_TRY(cmgi_count_different_device(ctx, P->count, &both, &different));
        *same = different == 0;
    }
    return CMG_OK;
}

/* Whether there is a matrix in fp32 of the same CSR with the same packed slices, so that its values
 * need no more than a rest. */
static cmg_status look_beside(const cmgi_compressor *B, bool *beside)
{
    const cmg_matrix *like = B->from->like;
    const cmg_matrix_options *o = &B->A->options;
    *beside = like != NULL && like->format == B->A->format && o->precision == CMG_FP64 &&
              like->options.precision == CMG_FP32 && like->options.values == CMG_VALUES_FULL &&
              !o->keep_map && !like->options.keep_map && B->from->there->facts.single;
    if (!*beside) {
        return CMG_OK;
    }
    const cmgi_compressed *C = (const cmgi_compressed *)like->data;
    *beside = C->block == 1 && C->rows == B->C->rows && C->cols == B->C->cols &&
              C->p.count == B->C->p.count && C->p.count > 0;
    return *beside ? same_lists(B->A->ctx, &B->C->p, &C->p, beside) : CMG_OK;
}

/* All of that matrix but what its values lack, which is stored as they are. */
static cmg_status build_beside(const cmgi_compressor *B, cmg_size longest)
{
    const cmg_matrix *like = B->from->like;
    cmgi_packed_slices *P = &B->C->p;
    cmgi_compressor as_there = *B;
    int *rest = NULL;
    as_there.value_bytes = (int)cmgi_precision_bytes(like->options.precision);
    B->A->stored = like->stored;
    CMGI_TRY(cmgi_alloc_device(B->A->ctx, B->A->stored, sizeof *rest, &rest));
    cmgi_packed_slices_free(B->A->ctx, P);
    *P = ((const cmgi_compressed *)like->data)->p;
    P->rest = rest;
    P->borrowed = true;
    B->A->values = like->values;
    return cmgi_packed_fill(&as_there, longest, NULL);
}

/* Room for slices that are measured. */
static cmg_status reserve(const cmgi_compressor *B)
{
    cmg_context *ctx = B->A->ctx;
    cmgi_packed_slices *P = &B->C->p;
    B->A->stored = P->steps * SLICE;
    CMGI_TRY(cmgi_alloc_device(ctx, P->steps, sizeof *P->base, &P->base));
    CMGI_TRY(cmgi_alloc_device(ctx, P->code_bytes, 1, &P->codes));
    CMGI_TRY(cmgi_alloc_device(ctx, B->A->stored,
                               cmgi_values_bytes(P->kind, B->A->options.precision), &B->A->values));
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
        return build_beside(B, longest);
    }
    CMGI_TRY(measure(B, source_of(B, longest), scratch, &kept));
    CMGI_TRY(reserve(B));
    return cmgi_packed_fill(B, longest, kept);
}
