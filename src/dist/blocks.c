/* Own rows into a hierarchy: from the caller, and from a hierarchy that is there as a whole. */
#include "dist/blocks.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

static void destroy(cmg_context *ctx, cmgi_blocks_head *head)
{
    cmgi_blocks *blocks = (cmgi_blocks *)head;
    for (int l = 0; l < CMGI_HIERARCHY_LEVELS; ++l) {
        cmgi_rows_free(ctx, &blocks->level[l].A);
        cmgi_rows_free(ctx, &blocks->level[l].P);
        cmgi_rows_free(ctx, &blocks->level[l].R);
    }
    cmgi_stored_mesh_destroy(ctx, &blocks->mesh);
    cmgi_free(ctx, blocks);
}

static cmg_status open_blocks(cmg_hierarchy *h, cmgi_blocks **blocks)
{
    if (h->blocks == NULL) {
        cmgi_blocks *made = NULL;
        CMGI_TRY(cmgi_alloc_zero(h->ctx, 1, sizeof *made, &made));
        made->head.destroy = destroy;
        h->blocks = &made->head;
    }
    *blocks = (cmgi_blocks *)h->blocks;
    return CMG_OK;
}

static cmgi_own_rows *place_of(cmgi_block_level *level, cmg_role role)
{
    return role == CMG_ROLE_A ? &level->A : role == CMG_ROLE_P ? &level->P : &level->R;
}

static cmg_status check_place(const cmg_hierarchy *h, int level, cmg_role role)
{
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, ctx->group != NULL, CMG_ERR_STATE,
               "rows of a rank need a context with a transport");
    CMGI_CHECK(ctx, level >= 0 && level < h->levels, CMG_ERR_ARG, "level %d is not in 0 .. %d",
               level, h->levels - 1);
    CMGI_CHECK(ctx, role >= CMG_ROLE_A && role <= CMG_ROLE_R, CMG_ERR_ARG,
               "rows of a rank are those of A, P or R");
    CMGI_CHECK(ctx, role == CMG_ROLE_A || level + 1 < h->levels, CMG_ERR_ARG,
               "level %d is the coarsest and has neither P nor R", level);
    return CMG_OK;
}

/* Rows as the public struct says, on the host; what columns may be is seen when all are there. */
static cmg_status check_rows(cmg_context *ctx, const cmgi_own_rows *A, int level)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        CMGI_CHECK(ctx, A->indptr[i + 1] >= A->indptr[i], CMG_ERR_ARG,
                   "level %d: row %lld: offsets fall", level, (long long)(A->first + i));
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            CMGI_CHECK(ctx, A->indices[k] >= 0 && A->indices[k] < INT64_MAX, CMG_ERR_ARG,
                       "level %d: row %lld: column %lld", level, (long long)(A->first + i),
                       (long long)A->indices[k]);
            CMGI_CHECK(ctx, isfinite(A->values[k]), CMG_ERR_ARG,
                       "level %d: row %lld, column %lld: value %g is not finite", level,
                       (long long)(A->first + i), (long long)A->indices[k], A->values[k]);
        }
    }
    return CMG_OK;
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

cmg_status cmgi_hierarchy_take_own(cmg_hierarchy *h, int level, cmg_role role, cmgi_own_rows *rows)
{
    cmgi_blocks *blocks = NULL;
    cmg_status status = check_place(h, level, role);
    status = status == CMG_OK ? open_blocks(h, &blocks) : status;
    if (status != CMG_OK) {
        cmgi_rows_free(h->ctx, rows);
        return status;
    }
    cmgi_own_rows *to = place_of(&blocks->level[level], role);
    cmgi_rows_free(h->ctx, to);
    *to = *rows;
    *rows = (cmgi_own_rows){0};
    ++h->generation;
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_mesh_part(cmg_hierarchy *h, cmgi_stored_mesh **mesh)
{
    cmgi_blocks *blocks = NULL;
    const cmg_status status = open_blocks(h, &blocks);
    if (status == CMG_OK) {
        cmgi_stored_mesh_destroy(h->ctx, &blocks->mesh);
        blocks->mesh = *mesh;
        *mesh = NULL;
    }
    cmgi_stored_mesh_destroy(h->ctx, mesh);
    return status;
}

cmg_status cmg_hierarchy_set_rows(cmg_hierarchy *h, int level, cmg_role role, const cmg_rows *rows)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    cmgi_own_rows made = {0};
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(check_place(h, level, role));
    CMGI_CHECK(ctx,
               rows != NULL && rows->indptr != NULL && rows->rows >= 0 && rows->first >= 0 &&
                   rows->first <= INT64_MAX - rows->rows,
               CMG_ERR_ARG, "level %d: the rows are NULL or their numbers negative", level);
    CMGI_TRY(bring(ctx, &nnz, rows->indptr + rows->rows, sizeof nnz));
    CMGI_CHECK(ctx, nnz == 0 || (nnz > 0 && rows->indices != NULL && rows->values != NULL),
               CMG_ERR_ARG, "level %d: %lld entries without arrays", level, (long long)nnz);
    CMGI_TRY(cmgi_rows_alloc(ctx, rows->first, rows->rows, nnz, &made));
    CMGI_TRY_GOTO(done, bring(ctx, made.indptr, rows->indptr,
                              (size_t)(rows->rows + 1) * sizeof *made.indptr));
    CMGI_TRY_GOTO(done, bring(ctx, made.indices, rows->indices, (size_t)nnz * sizeof nnz));
    CMGI_TRY_GOTO(done, bring(ctx, made.values, rows->values, (size_t)nnz * sizeof(double)));
    CMGI_TRY_GOTO(done, check_rows(ctx, &made, level));
    CMGI_TRY_GOTO(done, cmgi_hierarchy_take_own(h, level, role, &made));
done:
    cmgi_rows_free(ctx, &made);
    return status;
}

cmg_status cmg_hierarchy_own_rows(const cmg_hierarchy *h, int level, cmg_size *first,
                                  cmg_size *rows)
{
    if (h == NULL || first == NULL || rows == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(h->ctx, level >= 0 && level < h->levels, CMG_ERR_ARG, "level %d is not in 0 .. %d",
               level, h->levels - 1);
    const cmgi_blocks *blocks = cmgi_blocks_of(h);
    *first = 0;
    *rows = h->level[level].A.rows;
    if (blocks != NULL) {
        const cmgi_block_level *b = &blocks->level[level];
        const cmgi_own_rows *from = b->A.indptr != NULL   ? &b->A
                                    : b->P.indptr != NULL ? &b->P
                                    : level > 0           ? &blocks->level[level - 1].R
                                                          : &b->A;
        *first = from->first;
        *rows = from->rows;
    }
    return CMG_OK;
}

/* Where the rank begins on a level: as a vector of kind "partition" says, else evenly. */
static cmg_status begin_of(cmg_context *ctx, const cmg_hierarchy *whole, int level, int rank,
                           cmg_size *begin)
{
    const int ranks = cmgi_ranks(ctx);
    const cmg_size n = cmg_hierarchy_rows(whole, level);
    const cmgi_stored_vector *stored = cmgi_hierarchy_vector(whole, level, "partition", NULL);
    *begin = n / ranks * rank + n % ranks * rank / ranks;
    if (stored != NULL && stored->n == ranks + 1) {
        const double *part = stored->values;
        const double at = part[rank];
        CMGI_CHECK(ctx, part[0] == 0 && part[ranks] == (double)n && at >= 0 && at <= (double)n,
                   CMG_ERR_ARG, "level %d: the partition does not divide %lld rows", level,
                   (long long)n);
        *begin = (cmg_size)at;
    }
    return CMG_OK;
}

static cmg_status take(cmg_hierarchy *h, const cmg_hierarchy *whole, int level, cmg_role role,
                       cmg_size first, cmg_size last)
{
    cmg_csr csr;
    cmgi_own_rows part = {0};
    if (!cmgi_hierarchy_view(whole, level, role, NULL, 0, &csr)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_rows_of(h->ctx, &csr, first, last - first, &part));
    const cmg_rows rows = {part.first, part.rows, part.indptr, part.indices, part.values};
    const cmg_status status = cmg_hierarchy_set_rows(h, level, role, &rows);
    cmgi_rows_free(h->ctx, &part);
    return status;
}

/* Own rows of vectors that have as many values for every row: of level 0 right-hand sides and
 * solutions, of all levels what algebraic ones start from. */
static cmg_status take_vectors(cmg_hierarchy *h, const cmg_hierarchy *whole, int level,
                               cmg_size first, cmg_size last)
{
    static const char *const kinds[] = {"coords", "nullspace", "rhs", "solutions"};
    const cmg_size n = cmg_hierarchy_rows(whole, level);
    for (int v = 0; v < whole->vectors; ++v) {
        const cmgi_stored_vector *from = &whole->vector[v];
        const cmg_size wide = n > 0 ? from->n / n : 0;
        for (int k = 0; k < (level == 0 ? 4 : 2); ++k) {
            if (from->level == level && strcmp(from->kind, kinds[k]) == 0 && from->n == n * wide) {
                CMGI_TRY(cmg_hierarchy_set_vector(h, level, from->kind, k < 2 ? NULL : from->name,
                                                  (last - first) * wide,
                                                  from->values + first * wide));
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
    cmg_hierarchy *made = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, h != NULL, CMG_ERR_ARG, "hierarchy: the out-pointer is NULL");
    CMGI_CHECK(ctx, ctx->group != NULL, CMG_ERR_STATE,
               "rows of a rank need a context with a transport");
    CMGI_TRY(cmg_hierarchy_create(ctx, whole->levels, &made));
    const int me = cmgi_rank(ctx);
    for (int i = 0; i < whole->attributes; ++i) {
        CMGI_TRY_GOTO(done, cmg_hierarchy_set_attribute(made, whole->attribute[i].key,
                                                        whole->attribute[i].value));
    }
    for (int l = 0; l < whole->levels; ++l) {
        cmg_size first = 0;
        cmg_size last = 0;
        CMGI_TRY_GOTO(done, begin_of(ctx, whole, l, me, &first));
        CMGI_TRY_GOTO(done, begin_of(ctx, whole, l, me + 1, &last));
        if (last < first) {
            status = cmgi_fail(ctx, CMG_ERR_ARG, "level %d: the partition falls", l);
            goto done;
        }
        CMGI_TRY_GOTO(done, take(made, whole, l, CMG_ROLE_A, first, last));
        CMGI_TRY_GOTO(done, take(made, whole, l, CMG_ROLE_P, first, last));
        if (l > 0) {
            CMGI_TRY_GOTO(done, take(made, whole, l - 1, CMG_ROLE_R, first, last));
        }
        CMGI_TRY_GOTO(done, take_vectors(made, whole, l, first, last));
    }
    *h = made;
    made = NULL;
done:
    cmg_hierarchy_destroy(&made);
    return status;
}
