/*
 * A_c = R (A P): two sparse products by rows (Gustavson 1978), here or, of matrices on the device,
 * there. A P has about as many entries as A and is freed at once, until there are new values.
 */
#include "transfer/galerkin.h"

#include "csr/by_rows.h"
#include "csr/place.h"

#include <string.h>

/* Row i of a matrix, with the place (i, i) where it is empty. */
static cmg_size filled_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmgi_csr *A = user;
    const cmg_size begin = A->indptr[i];
    const cmg_size length = A->indptr[i + 1] - begin;
    if (columns != NULL) {
        columns[0] = (cmg_index)i;
        values[0] = 0;
        memcpy(columns, A->indices + begin, (size_t)length * sizeof *columns);
        memcpy(values, A->values + begin, (size_t)length * sizeof *values);
    }
    return length > 0 ? length : 1;
}

/* Ac = R (A P), or its values on the pattern that is there; AP, rows in order, stays. */
static cmg_status multiply(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A, const cmg_csr *P,
                           bool values, cmgi_csr *AP, cmgi_csr *Ac)
{
    cmgi_scoped_csr transposed = {0};
    CMGI_TRY(AP->indptr != NULL ? cmgi_csr_multiply_values(ctx, A, P, AP)
                                : cmgi_csr_multiply_loose(ctx, A, P, values, AP));
    if (R == NULL) {
        CMGI_TRY(cmgi_csr_transpose(ctx, P, &transposed));
    }
    const cmg_csr left = R != NULL ? *R : transposed.view;
    return values ? cmgi_csr_multiply_values(ctx, &left, &AP->view, Ac)
                  : cmgi_csr_multiply(ctx, &left, &AP->view, Ac);
}

cmg_status cmgi_galerkin(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A, const cmg_csr *P,
                         bool unit_diagonal, cmgi_csr *Ac)
{
    cmgi_scoped_csr AP = {0};
    cmgi_scoped_csr made = {0};
    CMGI_TRY(multiply(ctx, R, A, P, false, &AP, &made));
    if (unit_diagonal) {
        cmg_size full = 0;
        while (full < made.rows && made.indptr[full + 1] > made.indptr[full]) {
            ++full;
        }
        if (full < made.rows) {
            cmgi_csr filled = {0};
            CMGI_TRY(cmgi_csr_by_rows(ctx, made.rows, made.cols, filled_row, &made, &filled));
            cmgi_csr_free(ctx, &made);
            made = filled;
        }
        /* nothing of the level above reaches a row of zeros */
        CMGI_TRY(cmgi_csr_unit_rows_at(ctx, CMGI_HOST, &made.view));
    }
    *Ac = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_galerkin_values(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A,
                                const cmg_csr *P, cmgi_csr *AP, cmgi_csr *Ac)
{
    CMGI_TRY(multiply(ctx, R, A, P, true, AP, Ac));
    return cmgi_csr_unit_rows_at(ctx, CMGI_HOST, &Ac->view);
}

cmg_status cmgi_transposes_there(cmg_context *ctx, int count, const cmgi_resident *const *P,
                                 cmgi_csr *const *T)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident *fresh[CMGI_LOOKS];
    int made = 0;
    cmg_status status = CMG_OK;
    for (int k = 0; k < count; ++k) {
        if (T[k]->there != NULL && T[k]->there->version == P[k]->version) {
            continue;
        }
        cmgi_resident one = {.version = P[k]->version};
        cmgi_csr_free(ctx, T[k]);
        CMGI_TRY_GOTO(done, on->transpose(ctx, &P[k]->csr, P[k]->rows.nnz, &one.csr));
        CMGI_TRY_GOTO(done, cmgi_resident_attach(ctx, &one, T[k]));
        fresh[made++] = T[k]->there;
    }
    CMGI_TRY_GOTO(done, made > 0 ? on->rows_each(ctx, made, fresh) : CMG_OK);
done:
    for (int k = 0; k < count && status != CMG_OK; ++k) { /* none without its rows */
        cmgi_csr_free(ctx, T[k]);
    }
    return status;
}

cmg_status cmgi_transpose_there(cmg_context *ctx, const cmgi_resident *P, cmgi_csr *T)
{
    return cmgi_transposes_there(ctx, 1, &P, &T);
}

cmg_status cmgi_galerkin_there(cmg_context *ctx, const cmgi_triple *t, cmgi_csr *Ac)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident AP = {0};
    cmgi_resident made = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &AP, &made);
    if (t->R == NULL) { /* before A P, which is larger than what a transpose takes besides */
        CMGI_TRY(cmgi_transpose_there(ctx, t->P, t->PT));
    }
    if (t->R == NULL && t->P->repeats != NULL) {
        CMGI_TRY(cmgi_repeats_find(ctx, t->PT->there));
    }
    CMGI_TRY(on->multiply(ctx, t->A, t->P, false, &AP));
    const cmgi_resident *left = t->R != NULL ? t->R : t->PT->there;
    CMGI_TRY(on->multiply(ctx, left, &AP, true, &made));
    made.kinds.exact = made.kinds.exact > 0 ? left->version + 1 : 0;
    cmgi_resident_free(ctx, &AP);
    CMGI_TRY(cmgi_csr_unit_rows_at(ctx, CMGI_DEVICE, &made.csr));
    CMGI_TRY(on->entries(ctx, &made.csr, &made));
    if (t->A->repeats != NULL) {
        CMGI_TRY(cmgi_repeats_find(ctx, &made));
    }
    return cmgi_resident_attach(ctx, &made, Ac);
}

/* A P, new or with new values on its pattern; *few: of a row of each kind alone, if at all. */
static cmg_status multiply_there(cmg_context *ctx, const cmgi_triple *t, bool *few)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident made = {0};
    if (t->AP->there != NULL) {
        *few = *few && t->AP->there->kinds.exact == t->P->version + 1;
        return on->multiply_values(ctx, &t->A->csr, t->P, t->AP->there,
                                   *few ? CMGI_ROWS_OF_KINDS : CMGI_ROWS_ALL);
    }
    cmgi_csr_free(ctx, t->AP);
    CMGI_TRY(on->multiply(ctx, t->A, t->P, false, &made));
    *few = *few && made.kinds.exact > 0;
    made.kinds.exact = made.kinds.exact > 0 ? t->P->version + 1 : 0;
    return cmgi_resident_attach(ctx, &made, t->AP);
}

cmg_status cmgi_galerkin_values_there(cmg_context *ctx, const cmgi_triple *t, cmgi_csr *Ac)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    if (t->R == NULL) {
        CMGI_TRY(cmgi_transpose_there(ctx, t->P, t->PT));
    }
    const cmgi_resident *left = t->R != NULL ? t->R : t->PT->there;
    bool few = t->A->repeats != NULL && t->A->repeats->hold && t->P->repeats != NULL &&
               (t->R == NULL || t->R->repeats != NULL) &&
               Ac->there->kinds.exact == left->version + 1;
    CMGI_TRY(multiply_there(ctx, t, &few));
    CMGI_TRY(on->multiply_values(ctx, &left->csr, t->AP->there, Ac->there,
                                 few ? CMGI_ROWS_SPREAD : CMGI_ROWS_ALL));
    CMGI_TRY(cmgi_csr_unit_rows_at(ctx, CMGI_DEVICE, &Ac->there->csr));
    return cmgi_resident_look_again(ctx, Ac->there);
}
