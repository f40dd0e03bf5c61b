/* Matrices of a hierarchy that are brought from the device, or sent there for a set-up. */
#include "hierarchy/hierarchy.h"

#include "core/feed.h"

/* Matrix k of all A, P and R, k < 3 levels. */
static cmgi_csr *level_matrix(cmg_hierarchy *h, int k)
{
    return cmgi_stored_matrix(&h->level[k / 3], (cmg_role)(k % 3));
}

cmg_status cmgi_hierarchy_bring(const cmg_hierarchy *h)
{
    for (int k = 0; k < 3 * h->levels; ++k) {
        const cmg_role role = (cmg_role)(k % 3);
        cmg_csr M;
        if (cmgi_hierarchy_has(h, k / 3, role)) {
            CMGI_TRY(cmg_hierarchy_get_csr(h, k / 3, role, NULL, 0, &M));
        }
    }
    return CMG_OK;
}

void cmgi_hierarchy_leave_device(cmg_hierarchy *h, bool all)
{
    cmgi_send_drop(h->ctx);
    for (int k = 0; k < 3 * h->levels; ++k) {
        cmgi_csr *M = level_matrix(h, k);
        if (M->there != NULL && M->indptr != NULL && (all || M->there->staged)) {
            cmgi_resident_drop(h->ctx, M);
            if (k % 3 == CMG_ROLE_P) {
                cmgi_csr_free(h->ctx, &h->level[k / 3].PT);
            }
        }
    }
}

cmg_status cmgi_hierarchy_stage(cmg_hierarchy *h)
{
    cmg_context *ctx = h->ctx;
    if (cmgi_resident_kernels_of(ctx) == NULL) {
        return CMG_OK;
    }
    for (int k = 0; k < 3 * h->levels; ++k) {
        cmgi_csr *M = level_matrix(h, k);
        if (M->indptr == NULL || M->there != NULL || M->kinds != NULL ||
            M->indptr[M->rows] < ctx->stage_from) {
            continue;
        }
        cmgi_resident R = {0};
        CMGI_RELEASED(cmgi_resident_free, ctx, &R);
        CMGI_TRY(cmgi_resident_promise(ctx, &M->view, &R));
        R.staged = true;
        CMGI_TRY(cmgi_resident_attach(ctx, &R, M));
    }
    return CMG_OK;
}

/* What has arrived has a version. */
cmg_status cmgi_hierarchy_arrive(cmg_hierarchy *h, bool finest)
{
    for (int k = 0; k < (finest ? 1 : 3 * h->levels); ++k) {
        const cmgi_csr *M = level_matrix(h, k);
        if (M->there != NULL && M->there->staged && M->there->version == 0) {
            CMGI_TRY(cmgi_resident_arrive(h->ctx, M->there));
        }
    }
    return CMG_OK;
}
