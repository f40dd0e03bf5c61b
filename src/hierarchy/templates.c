/* Matrices of a hierarchy as kinds of rows (csr/kinds.h). */
#include "hierarchy/hierarchy.h"

#include <stdio.h>

cmg_status cmg_hierarchy_set_templates(cmg_hierarchy *h, int level, cmg_role role,
                                       const cmg_templates *templates)
{
    char what[64];
    cmgi_csr made = {0};
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, role == CMG_ROLE_A || role == CMG_ROLE_P || role == CMG_ROLE_R, CMG_ERR_ARG,
               "hierarchy: only A, P and R come as templates");
    (void)snprintf(what, sizeof what, "level %d: %s", level, cmgi_role_names[role]);
    CMGI_TRY(cmgi_kinds_create(h->ctx, what, role == CMG_ROLE_A, templates, &made));
    return cmgi_hierarchy_take_csr(h, level, role, NULL, 0, &made);
}

const cmgi_kinds *cmgi_hierarchy_templates(const cmg_hierarchy *h, int level, cmg_role role)
{
    return cmgi_stored_matrix(&h->level[level], role)->kinds;
}

bool cmgi_hierarchy_restricts(const cmg_hierarchy *h, int level)
{
    const cmgi_stored_level *of = &h->level[level];
    const bool transpose = of->P.kinds != NULL &&
                           of->P.kinds->grid.form == CMGI_GRID_INTERPOLATION &&
                           !cmgi_csr_given(&of->R);
    return of->P.kinds != NULL && (transpose || of->R.kinds != NULL);
}

const cmgi_kinds *cmgi_hierarchy_kinds(const cmg_hierarchy *h, int level, cmg_role role)
{
    const cmgi_stored_level *of = &h->level[level];
    const cmgi_csr *M = cmgi_stored_matrix(of, role);
    const bool beside = role != CMG_ROLE_A && cmgi_csr_kinds(h->ctx, &of->A) != NULL &&
                        cmgi_hierarchy_restricts(h, level);
    return beside ? M->kinds : cmgi_csr_kinds(h->ctx, M);
}
