/*
 * Level matrices formed from those above: A_(l+1) = R_l A_l P_l, where a hierarchy lacks them,
 * where it is asked to, and again for new values.
 */
#include "transfer/air.h"
#include "transfer/galerkin.h"

/* What A_(l+1) is formed from: P and R without what Dirichlet rows forbid. */
typedef struct source {
    cmg_csr A;
    cmgi_csr P;
    cmgi_csr R;
    bool given; /* R is the hierarchy's */
} source;

static cmg_status open_source(cmg_hierarchy *h, int l, bool values, cmgi_dirichlet *fine,
                              cmgi_dirichlet *coarse, source *s)
{
    cmg_csr P;
    cmg_csr R;
    *s = (source){0};
    CMGI_TRY(cmgi_dirichlet_at(h->ctx, CMGI_HOST, fine, NULL));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &s->A));
    if (values && h->level[l].ideal) { /* R follows new values of A */
        CMGI_TRY(cmgi_resident_bring(h->ctx, &h->level[l].R));
        cmgi_resident_drop(h->ctx, &h->level[l].R);
        CMGI_TRY(cmgi_air_values(h->ctx, &s->A, &h->level[l].R));
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &P));
    CMGI_TRY(cmgi_dirichlet_below(h->ctx, CMGI_HOST, NULL, 0, &P, fine, coarse));
    CMGI_TRY(cmgi_prolongation(h->ctx, &P, fine, coarse, &s->P));
    s->given = cmgi_hierarchy_has(h, l, CMG_ROLE_R);
    if (s->given) {
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_R, NULL, 0, &R));
        CMGI_TRY(cmgi_restriction(h->ctx, &R, NULL, fine, coarse, &s->R));
    }
    return CMG_OK;
}

/* On the device, of P and R without what Dirichlet rows forbid; the P^T kept is that of all P. */
static cmg_status form_cleaned(cmg_hierarchy *h, int l, cmgi_dirichlet *fine, bool values,
                               const cmgi_triple *given)
{
    cmg_context *ctx = h->ctx;
    cmgi_triple t = *given;
    cmgi_dirichlet coarse = {0};
    cmgi_resident P = {0};
    cmgi_resident R = {0};
    cmgi_scoped_csr PT = {0};
    cmgi_scoped_csr made = {0};
    cmgi_csr *A = &h->level[l + 1].A;
    CMGI_RELEASED(cmgi_resident_free, ctx, &P, &R);
    CMGI_RELEASED(cmgi_dirichlet_clear, ctx, &coarse);
    CMGI_TRY(cmgi_dirichlet_at(ctx, CMGI_DEVICE, fine, NULL));
    CMGI_TRY(cmgi_dirichlet_below(ctx, CMGI_DEVICE, NULL, 0, &given->P->csr, fine, &coarse));
    CMGI_TRY(cmgi_dirichlet_clean_there(ctx, given->P, fine, &coarse, &P));
    t.P = &P;
    t.PT = P.csr.values == given->P->csr.values ? given->PT : &PT;
    if (given->R != NULL) {
        CMGI_TRY(cmgi_dirichlet_clean_there(ctx, given->R, &coarse, fine, &R));
        t.R = &R;
    }
    if (values) { /* what the host had is old */
        CMGI_TRY(cmgi_galerkin_values_there(ctx, &t, A));
        cmgi_csr alone = {.rows = A->rows, .cols = A->cols, .there = A->there};
        A->there = NULL;
        cmgi_csr_free(ctx, A);
        alone.there->staged = false;
        *A = alone;
        return CMG_OK;
    }
    cmgi_csr_free(ctx, t.AP);
    CMGI_TRY(cmgi_galerkin_there(ctx, &t, &made));
    return cmgi_hierarchy_take_formed(h, l + 1, &made);
}

/* A_(l+1), new or with new values on its pattern. */
static cmg_status form(cmg_hierarchy *h, int l, cmgi_dirichlet *fine, bool values)
{
    cmg_context *ctx = h->ctx;
    cmgi_dirichlet coarse = {0};
    source s = {0};
    const cmgi_triple t = {.R = cmgi_hierarchy_there(h, l, CMG_ROLE_R),
                           .A = cmgi_hierarchy_there(h, l, CMG_ROLE_A),
                           .P = cmgi_hierarchy_there(h, l, CMG_ROLE_P),
                           .PT = &h->level[l].PT,
                           .AP = &h->level[l].AP};
    cmgi_csr *A = &h->level[l + 1].A;
    cmgi_scoped_csr made = {0};
    CMGI_RELEASED(cmgi_csr_free, ctx, &s.P, &s.R);
    CMGI_RELEASED(cmgi_dirichlet_clear, ctx, &coarse);
    h->level[l + 1].facts.known = h->level[l + 1].facts.known && !values;
    if (!h->level[l].ideal && t.A != NULL && t.P != NULL &&
        (t.R != NULL || !cmgi_hierarchy_has(h, l, CMG_ROLE_R)) &&
        (!values || A->there != NULL)) { /* all it is made of is there */
        return form_cleaned(h, l, fine, values, &t);
    }
    CMGI_TRY(open_source(h, l, values, fine, &coarse, &s));
    const cmg_csr *R = s.given ? &s.R.view : NULL;
    if (!values || t.AP->there != NULL) {
        cmgi_csr_free(ctx, t.AP);
    }
    if (values) { /* what the device had is old */
        CMGI_TRY(cmgi_resident_bring(ctx, A));
        cmgi_resident_drop(ctx, A);
        CMGI_TRY(cmgi_galerkin_values(ctx, R, &s.A, &s.P.view, t.AP, A));
    } else {
        CMGI_TRY(cmgi_galerkin(ctx, R, &s.A, &s.P.view, true, &made));
        /* R that is not P^T may leave a row without a diagonal, which no smoother can use */
        const cmg_size i = s.given ? cmgi_csr_zero_diagonal(&made.view) : made.rows;
        CMGI_CHECK(ctx, i == made.rows, CMG_ERR_ARG,
                   "level %d: R A P has nothing on the diagonal in row %lld: R of level %d does "
                   "not belong to its P; without it R is P^T",
                   h->above + l + 1, (long long)i, h->above + l);
        CMGI_TRY(cmgi_hierarchy_take_formed(h, l + 1, &made));
    }
    return CMG_OK;
}

cmg_status cmgi_form_dirichlet(const cmg_hierarchy *h, int last, cmgi_dirichlet *found)
{
    for (int l = 0; l <= last; ++l) {
        CMGI_TRY(cmgi_dirichlet_of_level(h, l, l > 0 ? &found[l - 1] : NULL, &found[l]));
    }
    return CMG_OK;
}

/* Walks down the levels, forming those that `wanted` says. */
static cmg_status walk(cmg_hierarchy *h, const bool *wanted, bool values)
{
    cmgi_dirichlet above = {0};
    CMGI_RELEASED(cmgi_dirichlet_clear, h->ctx, &above);
    for (int l = 0; l < h->levels; ++l) {
        cmgi_dirichlet here = {0};
        if (wanted[l]) {
            CMGI_TRY(form(h, l - 1, &above, values));
        }
        CMGI_TRY(cmgi_dirichlet_of_level(h, l, &above, &here));
        cmgi_dirichlet_clear(h->ctx, &above);
        above = here;
    }
    h->stale = false;
    return CMG_OK;
}

cmg_status cmgi_form_levels(cmg_hierarchy *h, int from, bool all, int *formed)
{
    bool wanted[CMGI_HIERARCHY_LEVELS] = {false};
    int count = 0;
    for (int l = from; l < h->levels; ++l) {
        wanted[l] = all || !cmgi_csr_given(&h->level[l].A) || h->level[l].formed;
        count += wanted[l];
    }
    if (formed != NULL) {
        *formed = count;
    }
    return count > 0 ? walk(h, wanted, false) : CMG_OK;
}

cmg_status cmgi_form_level(cmg_hierarchy *h, int level)
{
    bool wanted[CMGI_HIERARCHY_LEVELS] = {false};
    wanted[level] = true;
    return walk(h, wanted, false);
}

cmg_status cmgi_form_values(cmg_hierarchy *h)
{
    bool wanted[CMGI_HIERARCHY_LEVELS] = {false};
    bool any = false;
    for (int l = 1; l < h->levels; ++l) {
        wanted[l] = h->level[l].formed;
        any = any || wanted[l];
    }
    return any ? walk(h, wanted, true) : CMG_OK;
}

cmg_status cmg_hierarchy_galerkin(cmg_hierarchy *h, int first_level)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, first_level >= 0 && first_level < h->levels, CMG_ERR_ARG,
               "galerkin: level %d is not in 0 .. %d", first_level, h->levels - 1);
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h, false));
    const int from = first_level > 0 ? first_level : 1;
    CMGI_TRY(cmgi_form_levels(h, from, first_level > 0, NULL));
    return cmgi_hierarchy_ensure_checked(h, false);
}
