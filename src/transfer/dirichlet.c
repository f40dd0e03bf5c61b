/* Which rows are Dirichlet conditions, level by level, and the transfer without them. */
#include "transfer/dirichlet.h"

#include "core/backend.h"
#include "core/memory.h"
#include "transfer/dirichlet_there.h"

#include <math.h>

extern const cmgi_dirichlet_kernels cmgi_dirichlet_cuda;

static const cmgi_dirichlet_kernels *kernels_of(const cmg_context *ctx)
{
    static const cmgi_dirichlet_kernels *const kernels[2] = {NULL,
                                                             CMGI_CUDA_FN(&cmgi_dirichlet_cuda)};
    return kernels[cmgi_column(ctx)];
}

bool cmgi_dirichlet_none(const cmg_hierarchy *h)
{
    const cmgi_resident *there = cmgi_hierarchy_there(h, 0, CMG_ROLE_A);
    const cmgi_csr_facts *here = cmgi_hierarchy_facts(h, 0);
    const cmg_size rows = h->level[0].A.rows;
    if (there != NULL) {
        return there->facts.identity == 0 || there->facts.identity == rows;
    }
    return here != NULL && (here->identity == 0 || here->identity == rows);
}

cmg_status cmgi_dirichlet_find(cmg_context *ctx, const cmg_csr *A, cmgi_dirichlet *found)
{
    cmgi_dirichlet made = {.rows = A->rows};
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *made.row, &made.row));
    cmg_size count = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : count)
    for (cmg_size i = 0; i < A->rows; ++i) {
        made.row[i] = cmgi_csr_identity_row(A, i);
        count += made.row[i];
    }
    made.count = count;
    if (count == 0 || count == A->rows) {
        cmgi_dirichlet_clear(ctx, &made);
    }
    *found = made;
    return CMG_OK;
}

/* Marks the coarse identity rows where row i of P is largest; false when that row has no entry. */
static bool mark_below(const cmg_csr *A, const cmg_csr *P, cmg_size i, cmgi_dirichlet *d)
{
    double largest = 0;
    for (cmg_size k = P->indptr[i]; k < P->indptr[i + 1]; ++k) {
        largest = fmax(largest, fabs(P->values[k]));
    }
    for (cmg_size k = P->indptr[i]; largest > 0 && k < P->indptr[i + 1]; ++k) {
        const cmg_index j = P->indices[k];
        if (fabs(P->values[k]) == largest && !d->row[j] &&
            (A == NULL || cmgi_csr_identity_row(A, j))) {
            d->row[j] = true;
            ++d->count;
        }
    }
    return largest > 0;
}

cmg_status cmgi_dirichlet_below(cmg_context *ctx, const cmg_csr *A, const cmg_csr *P,
                                const cmgi_dirichlet *fine, cmgi_dirichlet *found)
{
    cmgi_dirichlet made = {.rows = P->cols};
    *found = (cmgi_dirichlet){0};
    if (fine->row == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, P->cols, sizeof *made.row, &made.row));
    bool told = true;
    for (cmg_size i = 0; i < P->rows; ++i) {
        told = (!fine->row[i] || mark_below(A, P, i, &made)) && told;
    }
    if (!told && A != NULL) {
        cmgi_dirichlet all = {0};
        const cmg_status status = cmgi_dirichlet_find(ctx, A, &all);
        for (cmg_size j = 0; all.row != NULL && j < A->rows; ++j) {
            made.count += all.row[j] && !made.row[j];
            made.row[j] = made.row[j] || all.row[j];
        }
        cmgi_dirichlet_clear(ctx, &all);
        if (status != CMG_OK) {
            cmgi_dirichlet_clear(ctx, &made);
            return status;
        }
    }
    if (made.count == 0) {
        cmgi_dirichlet_clear(ctx, &made);
    }
    *found = made;
    return CMG_OK;
}

static cmg_status find_there(cmg_context *ctx, const cmgi_resident *A, cmgi_dirichlet *found)
{
    const cmg_size count = A->facts.identity;
    cmgi_dirichlet made = {.rows = A->csr.rows, .count = count};
    *found = (cmgi_dirichlet){0};
    if (count == 0 || count == made.rows) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, made.rows, sizeof *made.there, &made.there));
    const cmg_status status = cmgi_resident_kernels_of(ctx)->identity(ctx, &A->csr, made.there);
    if (status != CMG_OK) {
        cmgi_dirichlet_clear(ctx, &made);
    }
    *found = made;
    return status;
}

cmg_status cmgi_dirichlet_below_there(cmg_context *ctx, const cmgi_resident *A,
                                      const cmgi_resident *P, const cmgi_dirichlet *fine,
                                      cmgi_dirichlet *found)
{
    const cmg_size n = P->csr.cols;
    cmgi_dirichlet made = {.rows = n};
    bool *identity = NULL;
    cmg_status status = CMG_OK;
    *found = (cmgi_dirichlet){0};
    if (fine->there == NULL) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *made.there, &made.there));
    if (A != NULL) {
        CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *identity, &identity));
        CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->identity(ctx, &A->csr, identity));
    }
    const bool all = A != NULL && A->facts.identity < n;
    CMGI_TRY_GOTO(done, kernels_of(ctx)->below(ctx, &P->csr, fine->there, identity, all, made.there,
                                               &made.count));
    if (made.count > 0) {
        *found = made;
        made = (cmgi_dirichlet){0};
    }
done:
    cmgi_free_device(ctx, identity);
    cmgi_dirichlet_clear(ctx, &made);
    return status;
}

cmg_status cmgi_dirichlet_of_level(const cmg_hierarchy *h, int l, cmgi_dirichlet *above,
                                   cmgi_dirichlet *found)
{
    cmg_context *ctx = h->ctx;
    cmg_csr A;
    cmg_csr P;
    *found = (cmgi_dirichlet){0};
    if (l > 0 ? !cmgi_dirichlet_any(above) : cmgi_dirichlet_none(h)) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(h, l, CMG_ROLE_A);
    const cmgi_resident *there_P = l > 0 ? cmgi_hierarchy_there(h, l - 1, CMG_ROLE_P) : NULL;
    if (l == 0 && there != NULL) {
        return find_there(ctx, there, found);
    }
    if (there != NULL && there_P != NULL) {
        CMGI_TRY(cmgi_dirichlet_send(ctx, above));
        return cmgi_dirichlet_below_there(ctx, there, there_P, above, found);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    if (l == 0) {
        return cmgi_dirichlet_find(ctx, &A, found);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, l - 1, CMG_ROLE_P, NULL, 0, &P));
    CMGI_TRY(cmgi_dirichlet_bring(ctx, above));
    return cmgi_dirichlet_below(ctx, &A, &P, above, found);
}

void cmgi_dirichlet_clear(cmg_context *ctx, cmgi_dirichlet *d)
{
    cmgi_free(ctx, d->row);
    cmgi_free_device(ctx, d->there);
    *d = (cmgi_dirichlet){0};
}

cmg_status cmgi_dirichlet_take(cmg_context *ctx, cmgi_dirichlet *found, cmgi_dirichlet *d)
{
    const uint64_t version = d->version;
    bool same = !cmgi_dirichlet_any(found) && !cmgi_dirichlet_any(d);
    cmg_status status = CMG_OK;
    if (found->there != NULL && d->there != NULL && found->rows == d->rows &&
        found->count == d->count) {
        status = kernels_of(ctx)->same(ctx, d->rows, found->there, d->there, &same);
    }
    cmgi_dirichlet_clear(ctx, d);
    *d = *found;
    d->version = version + !same;
    *found = (cmgi_dirichlet){0};
    return status;
}

cmg_status cmgi_dirichlet_bring(cmg_context *ctx, cmgi_dirichlet *d)
{
    const size_t bytes = (size_t)d->rows * sizeof *d->row;
    if (d->row != NULL || d->there == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, d->rows, sizeof *d->row, &d->row));
    const cmg_status status = cmgi_to_host(ctx, d->row, d->there, bytes);
    if (status != CMG_OK) {
        cmgi_free(ctx, d->row);
        d->row = NULL;
    }
    return status;
}

cmg_status cmgi_dirichlet_send(cmg_context *ctx, cmgi_dirichlet *d)
{
    const size_t bytes = (size_t)d->rows * sizeof *d->row;
    if (d->there != NULL || d->row == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, d->rows, sizeof *d->there, &d->there));
    const cmg_status status = cmgi_to_device(ctx, d->there, d->row, bytes);
    if (status != CMG_OK) {
        cmgi_free_device(ctx, d->there);
        d->there = NULL;
    }
    return status;
}

void cmgi_dirichlet_clean(cmg_context *ctx, const cmgi_dirichlet *rows, const cmgi_dirichlet *cols,
                          cmgi_csr *P)
{
    if (rows->row == NULL && cols->row == NULL) {
        return;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < P->rows; ++i) {
        const bool whole_row = rows->row != NULL && rows->row[i];
        for (cmg_size k = P->indptr[i]; k < P->indptr[i + 1]; ++k) {
            if (whole_row || (cols->row != NULL && cols->row[P->indices[k]])) {
                P->values[k] = 0;
            }
        }
    }
}

cmg_status cmgi_dirichlet_clean_there(cmg_context *ctx, const cmgi_resident *M,
                                      cmgi_dirichlet *rows, cmgi_dirichlet *cols,
                                      cmgi_resident *cleaned)
{
    const cmgi_dirichlet_kernels *on = kernels_of(ctx);
    cmgi_resident made = *M;
    bool reached = false;
    double *values = NULL;
    cmg_status status = CMG_OK;
    made.borrowed = true;
    made.borrowed_facts = true;
    *cleaned = made;
    CMGI_TRY(cmgi_dirichlet_send(ctx, rows));
    CMGI_TRY(cmgi_dirichlet_send(ctx, cols));
    if (rows->there != NULL || cols->there != NULL) {
        CMGI_TRY(on->reach(ctx, &M->csr, rows->there, cols->there, &reached));
    }
    if (!reached) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, M->rows.nnz, sizeof *values, &values));
    made.csr.values = values;
    made.diagonal = NULL;
    CMGI_TRY_GOTO(failed, on->clean(ctx, &M->csr, rows->there, cols->there, values));
    if (M->diagonal != NULL) { /* of a square one */
        CMGI_TRY_GOTO(failed, cmgi_resident_kernels_of(ctx)->entries(ctx, &made.csr, &made));
    }
    *cleaned = made;
    return CMG_OK;
failed:
    cmgi_dirichlet_drop_clean(ctx, M, &made);
    return status;
}

void cmgi_dirichlet_drop_clean(cmg_context *ctx, const cmgi_resident *M, cmgi_resident *cleaned)
{
    if (cleaned->csr.values != M->csr.values) {
        CMGI_FREE_DEVICE(ctx, (void *)(uintptr_t)cleaned->csr.values, cleaned->diagonal);
    }
    *cleaned = (cmgi_resident){0};
}

cmg_status cmgi_dirichlet_invert_there(cmg_context *ctx, const cmgi_dirichlet *d,
                                       const double *diagonal, double *inverse)
{
    return kernels_of(ctx)->invert(ctx, d->rows, d->there, diagonal, inverse);
}
