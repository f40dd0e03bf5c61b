/* Own rows into a hierarchy: from the caller, cut out of a hierarchy that is there as a whole, or
 * from a container, of which every rank reads its own. */
#include "ranks/group.h"
#include "io/io.h"

#include <string.h>

static cmg_status check_group(cmg_context *ctx)
{
    CMGI_CHECK(ctx, ctx->group != NULL, CMG_ERR_STATE,
               "rows of a rank need a context with a transport");
    return CMG_OK;
}

static cmgi_share share_of(const cmg_context *ctx)
{
    return (cmgi_share){cmgi_rank(ctx), cmgi_ranks(ctx)};
}

/* Checked; the arrays are taken over. What columns may be is seen when all are there. */
static cmg_status give(cmg_hierarchy *h, int level, cmg_role role, cmgi_own_rows *rows)
{
    CMGI_TRY(cmgi_rows_check(h->ctx, rows, level, INT64_MAX));
    return cmgi_hierarchy_take_own(h, level, role, rows);
}

/* From memory of the host or the device to the host. */
static cmg_status bring(cmg_context *ctx, void *to, const void *from, size_t bytes)
{
    bool there = false;
    CMGI_TRY(cmgi_is_device(ctx, from, &there));
    if (there) {
        return cmgi_to_host(ctx, to, from, bytes);
    }
    cmgi_copy(ctx, to, from, bytes);
    return CMG_OK;
}

cmg_status cmg_hierarchy_set_rows(cmg_hierarchy *h, int level, cmg_role role, const cmg_rows *rows)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    cmgi_own_rows made = {0};
    cmg_size nnz = 0;
    CMGI_RELEASED(cmgi_rows_free, ctx, &made);
    CMGI_TRY(check_group(ctx));
    CMGI_TRY(cmgi_own_place(h, level, role));
    CMGI_CHECK(ctx,
               rows != NULL && rows->indptr != NULL && rows->rows >= 0 && rows->first >= 0 &&
                   rows->first <= INT64_MAX - rows->rows,
               CMG_ERR_ARG, "level %d: the rows are NULL or their numbers negative", level);
    CMGI_TRY(bring(ctx, &nnz, rows->indptr + rows->rows, sizeof nnz));
    CMGI_CHECK(ctx, nnz == 0 || (nnz > 0 && rows->indices != NULL && rows->values != NULL),
               CMG_ERR_ARG, "level %d: %lld entries without arrays", level, (long long)nnz);
    CMGI_TRY(cmgi_rows_alloc(ctx, rows->first, rows->rows, nnz, &made));
    CMGI_TRY(bring(ctx, made.indptr, rows->indptr, (size_t)(rows->rows + 1) * sizeof *made.indptr));
    CMGI_TRY(bring(ctx, made.indices, rows->indices, (size_t)nnz * sizeof nnz));
    CMGI_TRY(bring(ctx, made.values, rows->values, (size_t)nnz * sizeof(double)));
    return give(h, level, role, &made);
}

cmg_status cmg_hierarchy_own_rows(const cmg_hierarchy *h, int level, cmg_size *first,
                                  cmg_size *rows)
{
    if (h == NULL || first == NULL || rows == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    const cmgi_range range = cmgi_range_of(h, level);
    *first = range.first;
    *rows = range.rows;
    return CMG_OK;
}

static cmg_status take(cmg_hierarchy *h, const cmg_hierarchy *whole, int level, cmg_role role,
                       const cmgi_range *range)
{
    cmg_csr csr;
    cmgi_own_rows part = {0};
    CMGI_RELEASED(cmgi_rows_free, h->ctx, &part);
    if (!cmgi_hierarchy_view(whole, level, role, NULL, 0, &csr)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_rows_of(h->ctx, &csr, range->first, range->rows, &part));
    return give(h, level, role, &part);
}

/* Own rows of vectors that have as many values for every row: of level 0 right-hand sides and
 * solutions, of all levels what algebraic ones start from. */
static cmg_status take_vectors(cmg_hierarchy *h, const cmg_hierarchy *whole, int level,
                               const cmgi_range *range)
{
    static const char *const kinds[] = {"coords", "nullspace", "rhs", "solutions"};
    const cmg_size n = cmg_hierarchy_rows(whole, level);
    for (int v = 0; v < whole->vectors; ++v) {
        const cmgi_stored_vector *from = &whole->vector[v];
        const cmg_size wide = n > 0 ? from->n / n : 0;
        for (int k = 0; k < (level == 0 ? 4 : 2); ++k) {
            if (from->level == level && strcmp(from->kind, kinds[k]) == 0 && from->n == n * wide) {
                CMGI_TRY(cmg_hierarchy_set_vector(h, level, from->kind, k < 2 ? NULL : from->name,
                                                  range->rows * wide,
                                                  from->values + range->first * wide));
            }
        }
    }
    h->level[level].exact_nullspace = whole->level[level].exact_nullspace;
    return CMG_OK;
}

cmg_status cmg_hierarchy_take_rows(cmg_context *ctx, const cmg_hierarchy *whole, cmg_hierarchy **h)
{
    if (ctx == NULL || whole == NULL) {
        return CMG_ERR_ARG;
    }
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *made = NULL;
    CMGI_CHECK(ctx, h != NULL, CMG_ERR_ARG, "hierarchy: the out-pointer is NULL");
    CMGI_TRY(check_group(ctx));
    CMGI_TRY(cmg_hierarchy_create(ctx, whole->levels, &made));
    CMGI_TRY(cmgi_hierarchy_copy_attributes(whole, made));
    const cmgi_share share = share_of(ctx);
    for (int l = 0; l < whole->levels; ++l) {
        const cmgi_stored_vector *stored = cmgi_hierarchy_vector(whole, l, "partition", NULL);
        const cmgi_partition partition = {stored != NULL ? stored->n : 0,
                                          stored != NULL ? stored->values : NULL};
        cmgi_range range;
        CMGI_TRY(
            cmgi_share_range(ctx, l, cmg_hierarchy_rows(whole, l), &share, &partition, &range));
        CMGI_TRY(take(made, whole, l, CMG_ROLE_A, &range));
        CMGI_TRY(take(made, whole, l, CMG_ROLE_P, &range));
        CMGI_TRY(l > 0 ? take(made, whole, l - 1, CMG_ROLE_R, &range) : CMG_OK);
        CMGI_TRY(take_vectors(made, whole, l, &range));
    }
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmg_hierarchy_read_rows(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *made = NULL;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && h != NULL, CMG_ERR_ARG, "reading rows: an argument is NULL");
    CMGI_TRY(check_group(ctx));
    /* one after the other where they share a process: nothing is said while a file is open */
    const cmgi_share share = share_of(ctx);
    const cmg_status status = cmgi_read_container(ctx, path, &share, &made);
    if (status != CMG_OK) {
        cmgi_clean_message(ctx, path);
    }
    CMGI_TRY(cmgi_group_agree(ctx, status));
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}
