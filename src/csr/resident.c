/* Matrices on the device: life and messages; see resident.h. */
#include "csr/kinds.h"

#include "core/backend.h"
#include "core/feed.h"

extern const cmgi_resident_kernels cmgi_resident_cuda;

const cmgi_resident_kernels *cmgi_resident_kernels_of(const cmg_context *ctx)
{
    static const cmgi_resident_kernels *const kernels[2] = {NULL,
                                                            CMGI_CUDA_FN(&cmgi_resident_cuda)};
    return kernels[cmgi_column(ctx)];
}

cmg_status cmgi_resident_is(cmg_context *ctx, const cmg_csr *A, bool *there)
{
    const void *const arrays[] = {A->indptr, A->indices, A->values};
    *there = false;
    for (int k = 0; k < 3 && !*there; ++k) {
        CMGI_TRY(cmgi_is_device(ctx, arrays[k], there));
    }
    return CMG_OK;
}

cmg_status cmgi_resident_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmg_size nnz,
                               cmg_csr *A)
{
    cmg_csr made = {.rows = rows, .cols = cols};
    CMGI_RELEASED(cmgi_resident_free_arrays, ctx, &made);
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *made.values, &made.values));
    CMGI_PASS_ON(&made, A);
    return CMG_OK;
}

void cmgi_resident_free_arrays(cmg_context *ctx, cmg_csr *A)
{
    CMGI_FREE_DEVICE(ctx, (void *)(uintptr_t)A->indptr, (void *)(uintptr_t)A->indices,
                     (void *)(uintptr_t)A->values);
    *A = (cmg_csr){0};
}

/* A copy of the three arrays of `from`, with nnz entries, made by `copy`. */
static cmg_status copy_arrays(cmg_context *ctx,
                              cmg_status (*copy)(cmg_context *, void *, const void *, size_t),
                              const cmg_csr *from, cmg_size nnz, cmg_csr *to)
{
    cmg_csr made = {0};
    CMGI_RELEASED(cmgi_resident_free_arrays, ctx, &made);
    CMGI_TRY(cmgi_resident_alloc(ctx, from->rows, from->cols, nnz, &made));
    CMGI_TRY(copy(ctx, (void *)(uintptr_t)made.indptr, from->indptr,
                  (size_t)(from->rows + 1) * sizeof *made.indptr));
    CMGI_TRY(copy(ctx, (void *)(uintptr_t)made.indices, from->indices,
                  (size_t)nnz * sizeof *made.indices));
    CMGI_TRY(
        copy(ctx, (void *)(uintptr_t)made.values, from->values, (size_t)nnz * sizeof *made.values));
    CMGI_PASS_ON(&made, to);
    return CMG_OK;
}

cmg_status cmgi_resident_keep(cmg_context *ctx, cmgi_resident *R)
{
    CMGI_TRY(copy_arrays(ctx, cmgi_to_device, &R->csr, R->rows.nnz, &R->csr));
    R->borrowed = false;
    return CMG_OK;
}

cmg_status cmgi_resident_send(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    cmgi_resident made = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &made);
    CMGI_TRY(copy_arrays(ctx, cmgi_to_device, A, A->indptr[A->rows], &made.csr));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->rows(ctx, &made.csr, &made));
    CMGI_PASS_ON(&made, R);
    return CMG_OK;
}

cmg_status cmgi_resident_promise(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    *R = (cmgi_resident){0};
    return copy_arrays(ctx, cmgi_send_later, A, A->indptr[A->rows], &R->csr);
}

cmg_status cmgi_resident_arrive(cmg_context *ctx, cmgi_resident *R)
{
    CMGI_TRY(cmgi_send_until(ctx, R->csr.indptr));
    CMGI_TRY(
        cmgi_send_until(ctx, R->csr.values)); /* the last of the three, where there are entries */
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->rows(ctx, &R->csr, R));
    return cmgi_resident_look_again(ctx, R);
}

void cmgi_resident_free(cmg_context *ctx, cmgi_resident *R)
{
    if (!R->borrowed) {
        cmgi_resident_free_arrays(ctx, &R->csr);
    }
    if (R->own_values) {
        CMGI_FREE_DEVICE(ctx, (void *)(uintptr_t)R->csr.values, R->diagonal);
    }
    if (!R->borrowed_facts) {
        cmgi_row_statistics_free(ctx, &R->rows);
        CMGI_FREE_DEVICE(ctx, R->diagonal, R->diagonal_entry);
        CMGI_FREE_DEVICE(ctx, R->kinds.kind, R->kinds.row, R->kinds.first, R->kinds.place);
        cmgi_kinds_destroy(ctx, &R->repeats);
    }
    *R = (cmgi_resident){0};
}

cmg_status cmgi_resident_fetch(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, cmgi_csr *host)
{
    cmgi_scoped_csr made = {0};
    CMGI_TRY(cmgi_csr_alloc(ctx, A->rows, A->cols, nnz, &made));
    const cmgi_read reads[] = {{made.indptr, A->indptr, (size_t)(A->rows + 1) * sizeof *A->indptr},
                               {made.indices, A->indices, (size_t)nnz * sizeof *A->indices},
                               {made.values, A->values, (size_t)nnz * sizeof *A->values}};
    CMGI_TRY(cmgi_read_each(ctx, reads, 3));
    *host = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_resident_memory(cmg_context *ctx, const char *name, const char *what, const void *p)
{
    bool device = false;
    bool reachable = false;
    CMGI_CHECK(ctx, p != NULL, CMG_ERR_ARG, "%s: %s is NULL", name, what);
    CMGI_TRY(cmgi_where_is(ctx, p, &device, &reachable));
    CMGI_CHECK(ctx, reachable, CMG_ERR_ARG,
               "%s: %s is no memory of device %d: the three arrays are either all on the host or "
               "all on the device of the context",
               name, what, ctx->options.device);
    return CMG_OK;
}

static cmg_status tell(cmg_context *ctx, const char *name, const cmgi_resident *R)
{
    const cmgi_resident_facts *f = &R->facts;
    const cmg_size bad = f->bad_column >= 0 ? f->bad_column : f->duplicate;
    const cmg_index row = (cmg_index)bad;
    cmgi_scoped_csr one = {0};
    cmg_size k = 0;
    if (bad < 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->gather(ctx, R, &row, 1, &one));
    while (f->bad_column >= 0 && one.indices[k] >= 0 && one.indices[k] < R->csr.cols) {
        ++k;
    }
    CMGI_CHECK(ctx, f->bad_column < 0, CMG_ERR_SHAPE,
               "%s: row %lld: column %lld is out of range [0, %lld)", name, (long long)bad,
               (long long)one.indices[k], (long long)R->csr.cols);
    return cmgi_fail(ctx, CMG_ERR_SHAPE, "%s: row %lld: a column is duplicated", name,
                     (long long)bad);
}

cmg_status cmgi_resident_look(cmg_context *ctx, const char *name, const cmg_csr *A,
                              cmgi_resident *R)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident made = {.csr = *A, .borrowed = true};
    CMGI_RELEASED(cmgi_resident_free, ctx, &made);
    CMGI_TRY(cmgi_csr_check_sizes(ctx, name, A));
    CMGI_CHECK(ctx, on != NULL, CMG_ERR_UNSUPPORTED,
               "%s: arrays on a device need a context of that backend", name);
    CMGI_TRY(cmgi_resident_memory(ctx, name, "indptr", A->indptr));
    CMGI_TRY(on->rows(ctx, A, &made));
    CMGI_CHECK(ctx, made.facts.bad_length < 0, CMG_ERR_SHAPE,
               "%s: row %lld: indptr does not ascend from 0, or a row has over %lld entries", name,
               (long long)made.facts.bad_length, (long long)A->cols);
    if (made.rows.nnz > 0) {
        CMGI_TRY(cmgi_resident_memory(ctx, name, "indices", A->indices));
        CMGI_TRY(cmgi_resident_memory(ctx, name, "values", A->values));
    }
    CMGI_TRY(on->entries(ctx, A, &made));
    CMGI_TRY(tell(ctx, name, &made));
    CMGI_PASS_ON(&made, R);
    return CMG_OK;
}

cmg_status cmgi_resident_look_again(cmg_context *ctx, cmgi_resident *R)
{
    bool known = false;
    ++R->version;
    CMGI_TRY(R->repeats != NULL ? cmgi_repeats_look(ctx, R, &known) : CMG_OK);
    return known ? CMG_OK : cmgi_resident_kernels_of(ctx)->entries(ctx, &R->csr, R);
}

cmg_status cmgi_resident_attach(cmg_context *ctx, cmgi_resident *R, cmgi_csr *A)
{
    CMGI_RELEASED(cmgi_resident_free, ctx, R);
    CMGI_SCOPED(ctx, 1, cmgi_resident, kept);
    cmgi_resident_drop(ctx, A);
    CMGI_PASS_ON(R, kept);
    A->rows = kept->csr.rows;
    A->cols = kept->csr.cols;
    A->there = cmgi_pass_on(&kept);
    return CMG_OK;
}

void cmgi_resident_drop(cmg_context *ctx, cmgi_csr *A)
{
    if (A->there != NULL) {
        cmgi_resident_free(ctx, A->there);
        cmgi_free(ctx, cmgi_pass_on(&A->there));
    }
}

cmg_status cmgi_resident_bring(cmg_context *ctx, cmgi_csr *A)
{
    cmgi_csr host = {0};
    if (A->kinds != NULL && A->indptr == NULL) {
        return cmgi_kinds_expand(ctx, "a matrix", A);
    }
    if (A->indptr != NULL || A->there == NULL) {
        return CMG_OK;
    }
    cmgi_log(ctx, CMG_LOG_INFO, "a matrix of %lld x %lld is copied from the device to the host",
             (long long)A->rows, (long long)A->cols);
    CMGI_TRY(cmgi_resident_fetch(ctx, &A->there->csr, A->there->rows.nnz, &host));
    host.there = A->there;
    *A = host;
    return CMG_OK;
}

cmg_status cmgi_resident_share(cmg_context *ctx, const cmgi_csr *from, cmgi_csr *A)
{
    cmgi_csr_free(ctx, A);
    *A = cmgi_csr_borrow(&from->view);
    if (from->kinds != NULL) {
        A->kinds = from->kinds;
        ++A->kinds->users;
    }
    if (from->there == NULL) {
        return CMG_OK;
    }
    cmgi_resident R = *from->there; /* which outlives it */
    R.borrowed = true;
    R.borrowed_facts = true;
    return cmgi_resident_attach(ctx, &R, A);
}

cmg_status cmgi_resident_diagonal(cmg_context *ctx, cmg_size n, double *diagonal, cmgi_resident *R)
{
    cmgi_resident made = {.csr = {.rows = n, .cols = n}, .diagonal = diagonal};
    made.rows = (cmgi_row_statistics){.rows = n, .cols = n, .nnz = n, .longest = 1, .filled = n};
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        const cmg_size size = (cmg_size)4 << k;
        made.rows.sliced[k] = (n + size - 1) / size * size;
    }
    made.facts = (cmgi_resident_facts){-1, -1, -1, -1, -1, .rows.identity = n, .ascending = true};
    CMGI_TRY(cmgi_alloc_zero(ctx, 2, sizeof *made.rows.count, &made.rows.count));
    made.rows.count[1] = n;
    *R = made;
    return CMG_OK;
}

cmg_status cmgi_rows_on_host(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *R,
                             const cmg_index *row, cmg_size count, cmgi_csr *rows)
{
    if (R != NULL) {
        return cmgi_resident_kernels_of(ctx)->gather(ctx, R, row, count, rows);
    }
    const cmg_csr those = {count, A->cols, A->indptr, A->indices, A->values};
    return cmgi_csr_permute(ctx, &those, row, NULL, false, rows);
}
