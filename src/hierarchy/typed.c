/* A CSR in other types: row pointers of 32 bits, values in fp32; converted in the memory it is in.
 */
#include "core/backend.h"
#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <string.h>

static cmg_status check(cmg_context *ctx, const cmg_typed_csr *M)
{
    CMGI_CHECK(ctx, M != NULL, CMG_ERR_ARG, "hierarchy: the CSR is NULL");
    CMGI_CHECK(ctx, M->rows >= 0 && M->cols >= 0, CMG_ERR_SHAPE, "hierarchy: a CSR of %lld x %lld",
               (long long)M->rows, (long long)M->cols);
    CMGI_CHECK(ctx, M->indptr_bits == 32 || M->indptr_bits == 64, CMG_ERR_ARG,
               "hierarchy: row pointers of %d bits, not of 32 or 64", M->indptr_bits);
    CMGI_CHECK(ctx, M->precision == CMG_FP64 || M->precision == CMG_FP32, CMG_ERR_ARG,
               "hierarchy: unknown precision %d of the values", (int)M->precision);
    CMGI_CHECK(ctx, M->indptr != NULL, CMG_ERR_ARG, "hierarchy: indptr is NULL");
    return CMG_OK;
}

static cmg_status check_entries(cmg_context *ctx, const cmg_typed_csr *M, cmg_size nnz)
{
    CMGI_CHECK(ctx, nnz >= 0, CMG_ERR_SHAPE, "hierarchy: the row pointers end at %lld",
               (long long)nnz);
    CMGI_CHECK(ctx, nnz == 0 || (M->indices != NULL && M->values != NULL), CMG_ERR_ARG,
               "hierarchy: %s is NULL", M->indices == NULL ? "indices" : "values");
    return CMG_OK;
}

/* to[k] = from[k] for k < n, on the host */
static void widen(cmg_context *ctx, cmg_size n, cmg_precision precision, const void *from,
                  double *to)
{
    const float *single = from;
    if (precision == CMG_FP64) {
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size k = 0; k < n; ++k) {
        to[k] = (double)single[k];
    }
}

static cmg_status take_here(cmg_hierarchy *h, int level, cmg_role role, const cmg_typed_csr *M)
{
    cmg_context *ctx = h->ctx;
    const int32_t *narrow = M->indptr;
    const int64_t *wide = M->indptr;
    const bool is_wide = M->indptr_bits == 64;
    const cmg_size nnz = is_wide ? wide[M->rows] : narrow[M->rows];
    cmgi_csr made = {0};
    CMGI_TRY(check_entries(ctx, M, nnz));
    CMGI_TRY(cmgi_csr_alloc(ctx, M->rows, M->cols, nnz, &made));
    for (cmg_size i = 0; i <= M->rows; ++i) {
        made.indptr[i] = is_wide ? wide[i] : narrow[i];
    }
    if (nnz > 0) {
        memcpy(made.indices, M->indices, (size_t)nnz * sizeof *made.indices);
        widen(ctx, nnz, M->precision, M->values, made.values);
    }
    return cmgi_hierarchy_take_csr(h, level, role, NULL, 0, &made);
}

static cmg_status take_there(cmg_hierarchy *h, int level, cmg_role role, const cmg_typed_csr *M)
{
    cmg_context *ctx = h->ctx;
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmg_csr made = {.rows = M->rows, .cols = M->cols};
    cmg_size *indptr = NULL;
    cmg_index *indices = NULL;
    double *values = NULL;
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_resident_memory(ctx, "hierarchy", "indptr", M->indptr));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, M->rows + 1, sizeof *indptr, &indptr));
    CMGI_TRY_GOTO(done, on->widen(ctx, M->rows + 1, M->indptr, M->indptr_bits, indptr));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &nnz, indptr + M->rows, sizeof nnz));
    CMGI_TRY_GOTO(done, check_entries(ctx, M, nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *indices, &indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *values, &values));
    if (nnz > 0) {
        CMGI_TRY_GOTO(done, cmgi_resident_memory(ctx, "hierarchy", "indices", M->indices));
        CMGI_TRY_GOTO(done, cmgi_resident_memory(ctx, "hierarchy", "values", M->values));
        CMGI_TRY_GOTO(done,
                      cmgi_to_device(ctx, indices, M->indices, (size_t)nnz * sizeof *indices));
        CMGI_TRY_GOTO(done,
                      ctx->backend->convert(ctx, nnz, M->precision, M->values, CMG_FP64, values));
    }
    made.indptr = indptr;
    made.indices = indices;
    made.values = values;
    return cmgi_hierarchy_take_there(h, level, role, &made);
done:
    CMGI_FREE_DEVICE(ctx, indptr, indices, values);
    return status;
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
    CMGI_TRY(check_role(h->ctx, role));
    CMGI_TRY(check(h->ctx, csr));
    const cmg_csr arrays = {.indptr = csr->indptr, .indices = csr->indices, .values = csr->values};
    bool there = false;
    CMGI_TRY(cmgi_resident_is(h->ctx, &arrays, &there));
    return there ? take_there(h, level, role, csr) : take_here(h, level, role, csr);
}

/* Values in fp64, in the memory that they are in, to be freed by the caller. */
static cmg_status widened(cmg_context *ctx, cmg_size n, const void *values, bool device,
                          double **out)
{
    if (!device) {
        CMGI_TRY(cmgi_alloc(ctx, n, sizeof **out, out));
        widen(ctx, n, CMG_FP32, values, *out);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_resident_memory(ctx, "hierarchy update", "values", values));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof **out, out));
    return ctx->backend->convert(ctx, n, CMG_FP32, values, CMG_FP64, *out);
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
    CMGI_TRY(widened(ctx, n, values, device, &wide));
    return cmg_hierarchy_update(h, level, role, wide);
}
