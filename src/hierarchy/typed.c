/* A CSR in other types: row pointers of 32 bits, values in fp32; converted in the memory it is in.
 */
#include "csr/place.h"
#include "hierarchy/hierarchy.h"

static cmg_status take(cmg_hierarchy *h, int level, cmg_role role, const cmg_typed_csr *M,
                       cmgi_place at)
{
    cmg_context *ctx = h->ctx;
    const bool there = at == CMGI_DEVICE;
    cmgi_csr made = {.rows = M->rows, .cols = M->cols};
    cmg_size nnz = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(made));
    CMGI_TRY(there ? cmgi_resident_memory(ctx, "hierarchy", "indptr", M->indptr) : CMG_OK);
    CMGI_TRY(cmgi_alloc_at(ctx, at, M->rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY(cmgi_widen_sizes_at(ctx, at, M->rows + 1, M->indptr, M->indptr_bits, made.indptr));
    CMGI_TRY(cmgi_bring_at(ctx, at, &nnz, made.indptr + M->rows, sizeof nnz));
    CMGI_CHECK(ctx, nnz >= 0, CMG_ERR_SHAPE, "hierarchy: the row pointers end at %lld",
               (long long)nnz);
    CMGI_CHECK(ctx, nnz == 0 || (M->indices != NULL && M->values != NULL), CMG_ERR_ARG,
               "hierarchy: %s is NULL", M->indices == NULL ? "indices" : "values");
    if (there && nnz > 0) {
        CMGI_TRY(cmgi_resident_memory(ctx, "hierarchy", "indices", M->indices));
        CMGI_TRY(cmgi_resident_memory(ctx, "hierarchy", "values", M->values));
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY(cmgi_alloc_at(ctx, at, nnz, sizeof *made.values, &made.values));
    CMGI_TRY(cmgi_copy_at(ctx, at, made.indices, M->indices, (size_t)nnz * sizeof *made.indices));
    CMGI_TRY(cmgi_widen_values_at(ctx, at, nnz, M->precision, M->values, made.values));
    return there ? cmgi_hierarchy_take_there(h, level, role, &made.view)
                 : cmgi_hierarchy_take_csr(h, level, role, NULL, 0, &made);
}

static cmg_status check_role(cmg_context *ctx, cmg_role role)
{
    CMGI_CHECK(ctx, role == CMG_ROLE_A || role == CMG_ROLE_P || role == CMG_ROLE_R, CMG_ERR_ARG,
               "hierarchy: only A, P and R come in other types");
    return CMG_OK;
}

cmg_status cmg_hierarchy_set_typed(cmg_hierarchy *h, int level, cmg_role role,
                                   const cmg_typed_csr *csr)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_TRY(check_role(ctx, role));
    CMGI_CHECK(ctx, csr != NULL, CMG_ERR_ARG, "hierarchy: the CSR is NULL");
    CMGI_CHECK(ctx, csr->rows >= 0 && csr->cols >= 0, CMG_ERR_SHAPE,
               "hierarchy: a CSR of %lld x %lld", (long long)csr->rows, (long long)csr->cols);
    CMGI_CHECK(ctx, csr->indptr_bits == 32 || csr->indptr_bits == 64, CMG_ERR_ARG,
               "hierarchy: row pointers of %d bits, not of 32 or 64", csr->indptr_bits);
    CMGI_CHECK(ctx, csr->precision == CMG_FP64 || csr->precision == CMG_FP32, CMG_ERR_ARG,
               "hierarchy: unknown precision %d of the values", (int)csr->precision);
    CMGI_CHECK(ctx, csr->indptr != NULL, CMG_ERR_ARG, "hierarchy: indptr is NULL");
    const cmg_csr arrays = {.indptr = csr->indptr, .indices = csr->indices, .values = csr->values};
    bool there = false;
    CMGI_TRY(cmgi_resident_is(ctx, &arrays, &there));
    return take(h, level, role, csr, there ? CMGI_DEVICE : CMGI_HOST);
}

cmg_status cmg_hierarchy_update_typed(cmg_hierarchy *h, int level, cmg_role role,
                                      const void *values, cmg_precision precision)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    double *wide = NULL;
    bool device = false;
    CMGI_FREED(ctx, &wide);
    CMGI_CHECK(ctx, precision == CMG_FP64 || precision == CMG_FP32, CMG_ERR_ARG,
               "hierarchy update: unknown precision %d of the values", (int)precision);
    CMGI_TRY(check_role(ctx, role));
    if (precision == CMG_FP64 || values == NULL || !cmgi_hierarchy_has(h, level, role)) {
        return cmg_hierarchy_update(h, level, role, values);
    }
    CMGI_CHECK(ctx, cmgi_hierarchy_templates(h, level, role) == NULL, CMG_ERR_ARG,
               "hierarchy update: templates take values in fp64");
    const cmgi_resident *there = cmgi_hierarchy_there(h, level, role);
    const cmgi_csr *here = there == NULL ? cmgi_hierarchy_find(h, level, role, NULL, 0) : NULL;
    CMGI_CHECK(ctx, there != NULL ? !there->borrowed : !here->borrowed, CMG_ERR_ARG,
               "hierarchy update: the matrix is borrowed, and its values with it: in fp64");
    const cmg_size n = there != NULL ? there->rows.nnz : here->indptr[here->rows];
    CMGI_TRY(cmgi_is_device(ctx, values, &device));
    const cmgi_place at = device ? CMGI_DEVICE : CMGI_HOST;
    CMGI_TRY(device ? cmgi_resident_memory(ctx, "hierarchy update", "values", values) : CMG_OK);
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *wide, &wide));
    CMGI_TRY(cmgi_widen_values_at(ctx, at, n, precision, values, wide));
    return cmg_hierarchy_update(h, level, role, wide);
}
