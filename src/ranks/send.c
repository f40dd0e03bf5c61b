/* Own rows on the device, where matrices, smoother and halves are made of them. */
#include "ranks/matrix.h"

#include "core/feed.h"

#include <math.h>

enum { UNIT = 1 << 16 }; /* columns */

/* cmgi_feed.fill: columns of own entries come first, as positions, then those of the halo. */
static bool fill_columns(void *user, size_t unit, void *to)
{
    const cmgi_stretches *S = user;
    const cmg_size nnz = S->A->indptr[S->A->rows];
    const cmg_size begin = (cmg_size)unit * UNIT;
    const cmg_size end = begin + UNIT < nnz ? begin + UNIT : nnz;
    const cmg_size first = S->cols->whole ? 0 : S->cols->first;
    const cmg_size own = cmgi_owners_length(S->cols);
    cmg_index *column = to;
    for (cmg_size e = begin; e < end; ++e) {
        const cmg_size number = S->A->indices[e];
        const bool mine = number >= first && number < first + own;
        column[e - begin] =
            (cmg_index)(mine ? number - first : own + cmgi_numbers_find(&S->halo, number));
    }
    return true;
}

static cmg_status send_columns(cmg_context *ctx, cmgi_stretches *S)
{
    const cmg_size nnz = S->A->indptr[S->A->rows];
    const cmgi_feed from = {fill_columns, S, UNIT * sizeof(cmg_index)};
    void *to = (void *)(uintptr_t)S->own.csr.indices;
    const size_t bytes = (size_t)nnz * sizeof(cmg_index);
    bool fed = false;
    CMGI_TRY(bytes >= CMGI_FEED_FROM ? cmgi_feed_device(ctx, to, bytes, &from, &fed) : CMG_OK);
    if (fed) {
        return CMG_OK;
    }
    const cmg_size units = (nnz + UNIT - 1) / UNIT;
    CMGI_SCOPED(ctx, units * UNIT, cmg_index, columns);
    (void)cmgi_feed_units(ctx, &from, 0, (size_t)units, columns);
    return cmgi_to_device(ctx, to, columns, bytes);
}

static cmg_status send_own(cmg_context *ctx, cmgi_stretches *S)
{
    const cmgi_own_rows *A = S->A;
    const cmg_size nnz = A->indptr[A->rows];
    cmg_csr *to = &S->own.csr;
    CMGI_TRY(
        cmgi_resident_alloc(ctx, A->rows, cmgi_owners_length(S->cols) + S->halo.count, nnz, to));
    CMGI_TRY(cmgi_to_device(ctx, (void *)(uintptr_t)to->indptr, A->indptr,
                            (size_t)(A->rows + 1) * sizeof *to->indptr));
    CMGI_TRY(send_columns(ctx, S));
    return cmgi_to_device(ctx, (void *)(uintptr_t)to->values, A->values,
                          (size_t)nnz * sizeof *to->values);
}

static cmg_status look(cmg_context *ctx, cmgi_resident *R)
{
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->rows(ctx, &R->csr, R));
    return cmgi_resident_look_again(ctx, R);
}

/* Inner rows have own columns alone: their columns and values are a part of those of all. */
static cmg_status cut_inner(cmg_context *ctx, cmgi_stretches *S)
{
    const cmg_csr *own = &S->own.csr;
    const cmg_size *indptr = S->A->indptr + S->begin;
    const cmg_size rows = S->end - S->begin;
    const size_t bytes = (size_t)(rows + 1) * sizeof *indptr;
    const bool square = S->rows == S->cols;
    const bool whole = rows == S->A->rows;
    S->own.halo = square && S->halo.count > 0;
    CMGI_TRY(square || whole ? look(ctx, &S->own) : CMG_OK);
    if (whole) {
        S->inner = S->own;
        S->inner.borrowed = true;
        S->inner.borrowed_facts = true;
        return CMG_OK;
    }
    CMGI_SCOPED(ctx, rows + 1, cmg_size, from_zero);
    for (cmg_size i = 0; i <= rows; ++i) {
        from_zero[i] = indptr[i] - indptr[0];
    }
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *from_zero, &S->inner_indptr));
    CMGI_TRY(cmgi_to_device(ctx, S->inner_indptr, from_zero, bytes));
    S->inner.borrowed = true;
    S->inner.csr = (cmg_csr){.rows = rows,
                             .cols = cmgi_owners_length(S->cols),
                             .indptr = S->inner_indptr,
                             .indices = own->indices + indptr[0],
                             .values = own->values + indptr[0]};
    return look(ctx, &S->inner);
}

void cmgi_stretches_leave_device(cmg_context *ctx, cmgi_stretches *S)
{
    S->there = false;
    cmgi_resident_free(ctx, &S->inner);
    cmgi_resident_free(ctx, &S->own);
    cmgi_free_device(ctx, cmgi_pass_on(&S->inner_indptr));
}

cmg_status cmgi_stretches_send(cmg_context *ctx, cmgi_stretches *S)
{
    const cmg_size nnz = S->A->indptr[S->A->rows];
    size_t free_bytes = SIZE_MAX;
    if (cmgi_resident_kernels_of(ctx) == NULL || S->rows->perm != NULL || S->cols->perm != NULL ||
        S->begin >= S->end || nnz < ctx->stage_from) {
        return CMG_OK;
    }
    CMGI_TRY(ctx->backend->memory_free != NULL ? ctx->backend->memory_free(ctx, &free_bytes)
                                               : CMG_OK);
    if ((size_t)nnz * (sizeof(cmg_index) + sizeof(double)) > free_bytes / 4) {
        return CMG_OK; /* room for what is made of them is left */
    }
    cmg_status status = send_own(ctx, S);
    status = status == CMG_OK ? cut_inner(ctx, S) : status;
    S->there = status == CMG_OK && S->inner.facts.ascending;
    if (!S->there) {
        cmgi_stretches_leave_device(ctx, S);
    }
    return status == CMG_ERR_MEMORY ? CMG_OK : status; /* the host's way needs less there */
}

cmg_status cmgi_stretches_agree(cmg_context *ctx, cmgi_stretches *S, bool *there)
{
    const cmgi_resident_facts *f = &S->own.facts;
    cmgi_row_facts *rows = &S->own.facts.rows;
    const bool good = S->there && f->zero_diagonal < 0 && f->not_finite < 0;
    double most[5] = {!good, rows->gershgorin, rows->coupling, rows->most, -INFINITY};
    double sums[2] = {(double)rows->identity, (double)rows->lines};
    most[4] = rows->least > 0 ? -rows->least : most[4];
    CMGI_TRY(cmgi_all_max(ctx, most, 5));
    *there = most[0] == 0;
    if (*there) {
        CMGI_TRY(cmgi_all_sum(ctx, sums, 2));
        rows->gershgorin = most[1];
        rows->coupling = most[2];
        rows->most = most[3];
        rows->least = -most[4];
        rows->identity = (cmg_size)sums[0];
        rows->lines = (cmg_size)sums[1];
    }
    return CMG_OK;
}
