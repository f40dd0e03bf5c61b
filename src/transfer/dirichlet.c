/* Which rows are Dirichlet conditions, level by level, and the transfer without them: R = P^T
 * unless it is given; R A and R (I - A omega D^-1). */
#include "transfer/dirichlet.h"

#include "core/each.h"
#include "csr/place.h"

#include <math.h>

#include "transfer/dirichlet.inc"

/* The marks at a place. */
static bool **marks_at(cmgi_dirichlet *d, cmgi_place at)
{
    return at == CMGI_DEVICE ? &d->there : &d->row;
}

cmg_status cmgi_dirichlet_find(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size known,
                               cmgi_dirichlet *found)
{
    cmgi_dirichlet made = {.rows = A->rows, .count = known};
    bool **row = marks_at(&made, at);
    CMGI_TRY(cmgi_alloc_at(ctx, at, A->rows, sizeof **row, row));
    const cmg_status status =
        cmgi_csr_identity_at(ctx, at, A, *row, known == CMGI_UNKNOWN ? &made.count : NULL);
    if (status != CMG_OK || made.count == 0 || made.count == A->rows) {
        cmgi_dirichlet_clear(ctx, &made);
    }
    *found = made;
    return status;
}

cmg_status cmgi_dirichlet_below(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size known,
                                const cmg_csr *P, const cmgi_dirichlet *fine, cmgi_dirichlet *found)
{
    const cmg_size n = P->cols;
    cmgi_dirichlet given = *fine;
    cmgi_dirichlet made = {.rows = n};
    bool **row = marks_at(&made, at);
    marking m = {.P = *P, .fine = *marks_at(&given, at)};
    bool *identity = NULL;
    cmg_size identities = known;
    CMGI_FREED(ctx, &identity);
    CMGI_RELEASED(cmgi_dirichlet_clear, ctx, &made);
    *found = (cmgi_dirichlet){0};
    if (m.fine == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, n + 1, sizeof **row, row));
    if (A != NULL) {
        CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *identity, &identity));
        CMGI_TRY(
            cmgi_csr_identity_at(ctx, at, A, identity, known == CMGI_UNKNOWN ? &identities : NULL));
    }
    m.identity = identity;
    m.found = *row;
    m.untold = *row + n;
    m.all = A != NULL && identities < n;
    CMGI_TRY(mark_below(ctx, at, P->rows, &m));
    CMGI_TRY(count_marks(ctx, at, n, &m, &made.count));
    if (made.count > 0) {
        CMGI_PASS_ON(&made, found);
    }
    return CMG_OK;
}

cmg_status cmgi_dirichlet_of_level(const cmg_hierarchy *h, int l, cmgi_dirichlet *above,
                                   cmgi_dirichlet *found)
{
    cmg_context *ctx = h->ctx;
    cmg_csr A = {0};
    cmg_csr P;
    *found = (cmgi_dirichlet){0};
    const cmgi_row_facts *facts = cmgi_hierarchy_row_facts(h, l);
    const bool none = facts != NULL && /* or nothing else: of the finest matrix */
                      (facts->identity == 0 || facts->identity == h->level[l].A.rows);
    if (l > 0 ? !cmgi_dirichlet_any(above) : none) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(h, l, CMG_ROLE_A);
    const cmgi_resident *there_P = l > 0 ? cmgi_hierarchy_there(h, l - 1, CMG_ROLE_P) : NULL;
    const bool on_device = there != NULL && (l == 0 || there_P != NULL);
    const cmgi_place at = on_device ? CMGI_DEVICE : CMGI_HOST;
    const cmg_size known = on_device ? there->facts.rows.identity : CMGI_UNKNOWN;
    CMGI_TRY(on_device ? CMG_OK : cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    A = on_device ? there->csr : A;
    if (l == 0) {
        return cmgi_dirichlet_find(ctx, at, &A, known, found);
    }
    CMGI_TRY(on_device ? CMG_OK : cmg_hierarchy_get_csr(h, l - 1, CMG_ROLE_P, NULL, 0, &P));
    CMGI_TRY(cmgi_dirichlet_at(ctx, at, above, NULL));
    return cmgi_dirichlet_below(ctx, at, &A, known, on_device ? &there_P->csr : &P, above, found);
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
        cmg_size differences = 0;
        const marks both = {found->there, d->there};
        status = count_differences(ctx, CMGI_DEVICE, d->rows, &both, &differences);
        same = status == CMG_OK && differences == 0;
    }
    cmgi_dirichlet_clear(ctx, d);
    CMGI_PASS_ON(found, d);
    d->version = version + !same;
    return status;
}

/* One of them. */
static cmg_status copy_marks(cmg_context *ctx, cmgi_place at, cmgi_dirichlet *d)
{
    const size_t bytes = (size_t)d->rows * sizeof *d->row;
    const bool *from = at == CMGI_DEVICE ? d->row : d->there;
    bool **to = marks_at(d, at);
    bool *made = NULL;
    CMGI_FREED(ctx, &made);
    if (*to != NULL || from == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, d->rows, sizeof *made, &made));
    CMGI_TRY(at == CMGI_DEVICE ? cmgi_to_device(ctx, made, from, bytes)
                               : cmgi_to_host(ctx, made, from, bytes));
    *to = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_dirichlet_at(cmg_context *ctx, cmgi_place at, cmgi_dirichlet *fine,
                             cmgi_dirichlet *coarse)
{
    CMGI_TRY(copy_marks(ctx, at, fine));
    return coarse != NULL ? copy_marks(ctx, at, coarse) : CMG_OK;
}

cmg_status cmgi_dirichlet_clean_there(cmg_context *ctx, const cmgi_resident *M,
                                      cmgi_dirichlet *rows, cmgi_dirichlet *cols,
                                      cmgi_resident *cleaned)
{
    cmg_size reached = 0;
    double *values = NULL;
    *cleaned = *M;
    cleaned->borrowed = true;
    cleaned->borrowed_facts = true;
    CMGI_TRY(cmgi_dirichlet_at(ctx, CMGI_DEVICE, rows, cols));
    cleaning c = {.M = M->csr, .rows = rows->there, .cols = cols->there};
    if (rows->there != NULL || cols->there != NULL) {
        CMGI_TRY(count_reached(ctx, CMGI_DEVICE, M->csr.rows, &c, &reached));
    }
    if (reached == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, M->rows.nnz, sizeof *values, &values));
    cleaned->csr.values = values;
    cleaned->diagonal = NULL;
    cleaned->repeats = NULL;
    cleaned->own_values = true;
    c.values = values;
    CMGI_TRY(clean_row(ctx, CMGI_DEVICE, M->csr.rows, &c));
    return M->diagonal != NULL /* of a square one */
               ? cmgi_resident_kernels_of(ctx)->entries(ctx, &cleaned->csr, cleaned)
               : CMG_OK;
}

cmg_status cmgi_dirichlet_invert_there(cmg_context *ctx, const cmgi_dirichlet *d,
                                       const double *diagonal, double *inverse)
{
    return invert_marked(ctx, CMGI_DEVICE, d->rows, &(inverting){d->there, diagonal, inverse});
}

/* ------------------------------------------------------------------ P and R */

/* A copy without marked rows and columns, or a view where nothing is marked. */
cmg_status cmgi_prolongation(cmg_context *ctx, const cmg_csr *stored, const cmgi_dirichlet *fine,
                             const cmgi_dirichlet *coarse, cmgi_csr *P)
{
    if (fine->row == NULL && coarse->row == NULL) {
        *P = cmgi_csr_borrow(stored);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_copy(ctx, stored, P));
    const cleaning c = {P->view, fine->row, coarse->row, P->values};
    return clean_row(ctx, CMGI_HOST, P->rows, &c);
}

cmg_status cmgi_restriction(cmg_context *ctx, const cmg_csr *stored, const cmgi_csr *P,
                            const cmgi_dirichlet *fine, const cmgi_dirichlet *coarse, cmgi_csr *R)
{
    return stored != NULL ? cmgi_prolongation(ctx, stored, coarse, fine, R)
                          : cmgi_csr_transpose(ctx, &P->view, R);
}

/* RA becomes R - (R A) omega D^-1, on its own pattern; false where that lacks an entry of R. */
static bool subtract_smoothed(cmg_context *ctx, const cmgi_csr *R, const double *scale,
                              cmgi_csr *RA)
{
    bool fits = true;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : fits)
    for (cmg_size i = 0; i < R->rows; ++i) {
        const cmg_size begin = RA->indptr[i];
        const cmg_size end = RA->indptr[i + 1];
        cmg_size at = begin;
        for (cmg_size k = begin; k < end; ++k) {
            RA->values[k] *= -scale[RA->indices[k]];
        }
        for (cmg_size e = R->indptr[i]; e < R->indptr[i + 1]; ++e) {
            cmg_size looked = begin;
            for (; looked < end && RA->indices[at] != R->indices[e]; ++looked) {
                at = at + 1 < end ? at + 1 : begin;
            }
            fits = fits && looked < end;
            if (looked < end) {
                RA->values[at] += R->values[e];
            }
        }
    }
    return fits;
}

cmg_status cmgi_restriction_fold(cmg_context *ctx, const cmgi_csr *R, const cmg_csr *A,
                                 const double *scale, cmgi_csr *product, bool *fits)
{
    CMGI_TRY(cmgi_csr_multiply(ctx, &R->view, A, product));
    *fits = scale == NULL || subtract_smoothed(ctx, R, scale, product);
    return CMG_OK;
}
