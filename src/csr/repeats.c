/*
 * Rows that repeat of a matrix on the device that gets new values. Which rows are alike is found
 * once; new values are compared, bit by bit, with those of one row of each kind, a pass over the
 * values alone. Where they repeat as before, these few rows tell all facts and are what matrices
 * are made of.
 */
#include "core/each.h"
#include "core/rest.h"
#include "csr/templates.h"

#include "csr/repeats.inc"

static cmg_status search(cmg_context *ctx, const cmgi_resident *R, cmgi_templates *found)
{
    const cmg_csr *A = &R->csr;
    cmg_index *ref = NULL;
    cmgi_template_search what = {.A = *A,
                                 .nnz = R->rows.nnz,
                                 .at = CMGI_DEVICE,
                                 .whole = true,
                                 .most = CMGI_KINDS_MOST,
                                 .entries = CMGI_KIND_ENTRIES,
                                 .least = 1};
    CMGI_FREED(ctx, &ref);
    if (A->rows != A->cols) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *ref, &ref));
        CMGI_TRY(cmgi_references(ctx, CMGI_DEVICE, A, ref));
        what.ref = ref;
    }
    return cmgi_templates_find(ctx, &what, found);
}

/* Offsets and values of the kinds' rows. */
static cmg_status fetch_rows(cmg_context *ctx, const cmgi_resident *R, cmgi_kinds *K)
{
    cmgi_csr rows = {0};
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->gather(ctx, R, K->row, K->count, &rows));
    for (int k = 0; k < K->count; ++k) {
        const cmg_index ref = K->square                             ? K->row[k]
                              : rows.indptr[k] < rows.indptr[k + 1] ? rows.indices[rows.indptr[k]]
                                                                    : 0;
        for (cmg_size e = rows.indptr[k]; e < rows.indptr[k + 1]; ++e) {
            rows.indices[e] -= ref;
        }
    }
    CMGI_FREE(ctx, K->indptr, K->offset, K->value);
    K->indptr = rows.indptr;
    K->offset = rows.indices;
    K->value = rows.values;
    CMGI_TRY(cmgi_kinds_look(ctx, K));
    ++K->version;
    K->hold = !K->square || K->facts.bad < 0;
    return CMG_OK;
}

static cmg_status take(cmg_context *ctx, const cmgi_resident *R, cmgi_templates *found,
                       cmgi_kinds *K)
{
    const size_t bytes = (size_t)found->count * sizeof *K->row;
    *K = (cmgi_kinds){.rows = R->csr.rows,
                      .cols = R->csr.cols,
                      .nnz = R->rows.nnz,
                      .square = R->csr.rows == R->csr.cols,
                      .count = found->count,
                      .many = found->many,
                      .row = found->row,
                      .id = found->id,
                      .at = CMGI_DEVICE};
    *found = (cmgi_templates){0};
    CMGI_TRY(cmgi_alloc_device(ctx, K->count, sizeof *K->rows_there, &K->rows_there));
    CMGI_TRY(cmgi_to_device(ctx, K->rows_there, K->row, bytes));
    return fetch_rows(ctx, R, K);
}

cmg_status cmgi_repeats_find(cmg_context *ctx, cmgi_resident *R)
{
    cmgi_templates found = {0};
    cmgi_kinds *made = NULL;
    CMGI_RELEASED(cmgi_templates_free, ctx, &found);
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &made);
    if (R->repeats != NULL || R->staged || R->borrowed_facts || R->csr.rows < ctx->repeat_from ||
        R->rows.nnz == 0) {
        return CMG_OK;
    }
    CMGI_TRY(search(ctx, R, &found));
    if (found.all) {
        CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
        CMGI_TRY(take(ctx, R, &found, made));
        R->repeats = cmgi_pass_on(&made);
    }
    return CMG_OK;
}

cmg_status cmgi_repeats_look(cmg_context *ctx, cmgi_resident *R, bool *known)
{
    cmgi_kinds *K = R->repeats;
    cmg_size unlike = 0;
    *known = false;
    K->hold = false;
    const repetition rows = {R->csr, K->id, K->rows_there};
    CMGI_TRY(count_unlike(ctx, CMGI_DEVICE, K->rows, &rows, &unlike));
    if (unlike == 0) {
        CMGI_TRY(fetch_rows(ctx, R, K));
        *known = K->hold && K->square;
    }
    if (!*known) {
        return CMG_OK;
    }
    cmgi_resident_facts facts = K->there; /* and what the pattern tells stays */
    facts.beside = R->facts.beside;
    facts.ascending = R->facts.ascending;
    facts.single = true;
    for (cmg_size e = 0; e < K->indptr[K->count]; ++e) {
        facts.single = facts.single && !cmgi_is_beyond(K->value[e]);
    }
    R->facts = facts;
    return cmgi_kinds_diagonal(ctx, CMGI_DEVICE, K, R->diagonal);
}
