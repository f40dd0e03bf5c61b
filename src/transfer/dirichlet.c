/* Which rows are Dirichlet conditions, level by level, and the transfer without them. */
#include "transfer/dirichlet.h"

#include "core/memory.h"

#include <math.h>

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
    cmgi_dirichlet made = {0};
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
    cmgi_dirichlet made = {0};
    *found = made;
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

void cmgi_dirichlet_clear(cmg_context *ctx, cmgi_dirichlet *d)
{
    cmgi_free(ctx, d->row);
    *d = (cmgi_dirichlet){0};
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
