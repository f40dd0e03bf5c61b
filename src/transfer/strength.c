/* Strong couplings between the nodes of a matrix. */
#include "transfer/aggregate.h"

#include "core/each.h"
#include "csr/place.h"

#include <math.h>

#include "transfer/strength.inc"

/* C = A, or the norms of its blocks in arrays that are made. */
static cmg_status condense(cmg_context *ctx, cmgi_place at, const cmg_csr *A, int block, norms *w,
                           node_rows *C)
{
    cmg_size nnz = 0;
    *w = (norms){.A = *A, .block = block};
    *C = (node_rows){A->rows / block, A->indptr, block, NULL, A->indices, A->values};
    if (block == 1) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_bring_at(ctx, at, &nnz, A->indptr + A->rows, sizeof nnz));
    CMGI_TRY(cmgi_alloc_at(ctx, at, C->rows, sizeof *w->length, &w->length));
    CMGI_TRY(cmgi_alloc_at(ctx, at, nnz, sizeof *w->columns, &w->columns));
    CMGI_TRY(cmgi_alloc_at(ctx, at, nnz, sizeof *w->values, &w->values));
    C->length = w->length;
    C->indices = w->columns;
    C->values = w->values;
    return condense_row(ctx, at, C->rows, w);
}

CMGI_CSR_BY_BODY(choose, choose_strong, choosing)

cmg_status cmgi_strength(cmg_context *ctx, cmgi_place at, const cmg_csr *A, const cmgi_strong *what,
                         cmgi_csr *S)
{
    const int block = what->block;
    cmgi_csr made = {.rows = A->rows / block, .cols = A->rows / block};
    coupling *of = NULL;
    node_rows C;
    norms w = {.block = block};
    cmg_size couplings = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(made), &w.length, &w.columns, &w.values, &of);
    CMGI_TRY(condense(ctx, at, A, block, &w, &C));
    CMGI_TRY(cmgi_alloc_at(ctx, at, C.rows, sizeof *of, &of));
    CMGI_TRY(look_at_row(ctx, at, C.rows, &(looking){C, what->own, of}));
    choosing choice = {.C = C, .of = of, .theta = what->theta, .own = what->own};
    CMGI_TRY(choose(ctx, at, &choice, &made, &couplings));
    *S = cmgi_csr_pass_on(&made);
    return CMG_OK;
}
