/* One part of a hierarchy of which others hold the rest. */
#include "hierarchy/own.h"

#include "core/memory.h"

void cmgi_own_destroy(cmg_context *ctx, cmgi_own **own)
{
    for (int l = 0; *own != NULL && l < CMGI_HIERARCHY_LEVELS; ++l) {
        cmgi_rows_free(ctx, &(*own)->level[l].A);
        cmgi_rows_free(ctx, &(*own)->level[l].P);
        cmgi_rows_free(ctx, &(*own)->level[l].R);
    }
    if (*own != NULL) {
        cmgi_stored_mesh_destroy(ctx, &(*own)->mesh);
    }
    cmgi_free(ctx, cmgi_pass_on(own));
}

cmg_status cmgi_share_range(cmg_context *ctx, int level, cmg_size rows, const cmgi_share *share,
                            const cmgi_partition *partition, cmgi_range *range)
{
    const int k = share->part;
    const cmg_size begin = cmgi_even(rows, share->parts, k);
    *range = (cmgi_range){begin, cmgi_even(rows, share->parts, k + 1) - begin};
    if (partition->first != NULL && partition->count == share->parts + 1) {
        const double *at = partition->first;
        const double first = at[k];
        const double last = at[k + 1];
        CMGI_CHECK(ctx,
                   at[0] == 0 && at[share->parts] == (double)rows && first >= 0 && first <= last &&
                       last <= (double)rows,
                   CMG_ERR_ARG, "level %d: the partition does not divide %lld rows", level,
                   (long long)rows);
        *range = (cmgi_range){(cmg_size)first, (cmg_size)last - (cmg_size)first};
    }
    return CMG_OK;
}

cmgi_range cmgi_range_of(const cmg_hierarchy *h, int level)
{
    if (h->own == NULL) {
        return (cmgi_range){0, h->level[level].A.rows};
    }
    const cmgi_own_level *own = &h->own->level[level];
    const cmgi_own_rows *from = own->A.indptr != NULL   ? &own->A
                                : own->P.indptr != NULL ? &own->P
                                : level > 0             ? &h->own->level[level - 1].R
                                                        : &own->A;
    return (cmgi_range){from->first, from->rows};
}

static cmg_status open_own(cmg_hierarchy *h)
{
    return h->own != NULL ? CMG_OK : cmgi_alloc_zero(h->ctx, 1, sizeof *h->own, &h->own);
}

cmg_status cmgi_own_place(const cmg_hierarchy *h, int level, cmg_role role)
{
    cmg_context *ctx = h->ctx;
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    CMGI_CHECK(ctx, role >= CMG_ROLE_A && role <= CMG_ROLE_R, CMG_ERR_ARG,
               "rows of a rank are those of A, P or R");
    CMGI_CHECK(ctx, role == CMG_ROLE_A || level + 1 < h->levels, CMG_ERR_ARG,
               "level %d is the coarsest and has neither P nor R", level);
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_own(cmg_hierarchy *h, int level, cmg_role role, cmgi_own_rows *rows)
{
    CMGI_RELEASED(cmgi_rows_free, h->ctx, rows);
    CMGI_TRY(cmgi_own_place(h, level, role));
    CMGI_TRY(open_own(h));
    cmgi_own_rows *place = (cmgi_own_rows *)(uintptr_t)cmgi_own_find(h->own, level, role);
    cmgi_rows_free(h->ctx, place);
    CMGI_PASS_ON(rows, place);
    ++h->generation;
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_mesh_part(cmg_hierarchy *h, cmgi_stored_mesh **mesh)
{
    CMGI_RELEASED(cmgi_stored_mesh_destroy, h->ctx, mesh);
    CMGI_TRY(open_own(h));
    cmgi_stored_mesh_destroy(h->ctx, &h->own->mesh);
    h->own->mesh = cmgi_pass_on(mesh);
    return CMG_OK;
}
