/* The templates of the compressed format, as products read them. */
#include "spmv/blocks.h"
#include "spmv/packed_plan.h"
#include "spmv/stencil.h"

#include <string.h>

cmg_status cmgi_template_slices_store(const cmgi_compressor *B, const cmgi_templates *t)
{
    const cmgi_csr *kinds = &t->rows;
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    C->t.kinds = t->count;
    CMGI_TRY(cmgi_alloc(ctx, t->count + 1, sizeof *C->t.begin, &C->t.begin));
    C->t.begin[0] = 0;
    for (int j = 0; j < t->count; ++j) {
        C->t.begin[j + 1] = (cmg_index)kinds->indptr[j + 1];
    }
    const cmg_size entries = C->t.begin[t->count];
    const cmg_size each = cmgi_compressed_each(C);
    C->t.entries = (cmg_index)entries;
    const cmg_precision precision = B->A->options.precision;
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *C->t.offset, &C->t.offset));
    CMGI_TRY(cmgi_alloc(ctx, entries * each, cmgi_precision_bytes(precision), &C->t.value));
    for (int j = 0; j < t->count; ++j) {
        const cmg_index first = C->t.begin[j];
        const cmg_index ref = C->square                   ? t->row[j] + C->lead
                              : first < C->t.begin[j + 1] ? kinds->indices[first]
                                                          : 0;
        for (cmg_index k = first; k < C->t.begin[j + 1]; ++k) {
            double values[CMGI_BLOCK_MOST * CMGI_BLOCK_MOST] = {kinds->values[k]};
            if (B->entries != NULL) {
                cmgi_compressed_block(B, t->row[j], B->csr->indptr[t->row[j]] + k - first, values);
            }
            C->t.offset[k] = kinds->indices[k] - ref;
            for (cmg_size v = 0; v < each; ++v) {
                cmgi_put_number(precision, C->t.value, k * each + v, values[v]);
            }
        }
    }
    return CMG_OK;
}

/* On a GPU values and offsets are interleaved, so that one load brings both; of blocks they are
 * not. */
cmg_status cmgi_template_slices_move(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C)
{
    const size_t size = cmgi_precision_bytes(precision);
    CMGI_TRY(CMGI_MOVE(ctx, &C->t.begin));
    if (!cmgi_on_cuda(ctx)) {
        return CMG_OK;
    }
    if (C->block > 1) {
        return CMGI_MOVE(ctx, &C->t.offset, &C->t.value);
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, C->t.entries, 2 * size, &C->t.pair));
    for (cmg_index e = 0; e < C->t.entries; ++e) {
        char *pair = (char *)C->t.pair + 2 * size * (size_t)e;
        memcpy(pair, (char *)C->t.value + size * (size_t)e, size);
        memcpy(pair + size, &C->t.offset[e], sizeof C->t.offset[e]);
    }
    CMGI_FREE(ctx, cmgi_pass_on(&C->t.value), cmgi_pass_on(&C->t.offset));
    return CMGI_MOVE(ctx, &C->t.pair);
}

void cmgi_template_slices_free(cmg_context *ctx, cmgi_compressed *C)
{
    cmgi_template_slices *T = &C->t;
    CMGI_FREE_DEVICE(ctx, T->slice, T->id, T->begin, T->offset, T->value, T->pair);
    if (T->stencil != NULL) {
        cmgi_free_device(ctx, T->stencil->value);
    }
    CMGI_FREE(ctx, T->stencil, T->box);
}
