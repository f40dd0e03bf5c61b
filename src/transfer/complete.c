/* Level matrices that a hierarchy lacks, or that its transfers contradict, and levels below it. */
#include "transfer/complete.h"

#include "transfer/energy.h"
#include "transfer/galerkin.h"

/*
 * Energies of a coarse matrix from its own mesh differ from those of R A P by some percent; by a
 * factor of two the cycle has lost much of its use.
 */
static const double MISFIT = 1.8;

/* The matrices of a level but A, and A unless it is formed here. */
static cmg_status borrow_level(const cmg_hierarchy *given, int taken, int l, cmg_hierarchy *h)
{
    const cmgi_stored_level *from = &given->level[l];
    cmgi_stored_level *to = &h->level[l];
    cmgi_csr_facts_forget(h->ctx, &to->facts);
    to->facts = (cmgi_csr_facts){0};
    if (!to->formed) {
        CMGI_TRY(cmgi_resident_share(h->ctx, &from->A, &to->A));
        to->facts = from->facts;
        to->facts.looks.borrowed = true;
        cmgi_stored_elements_clear(h->ctx, to);
        to->elements = from->elements;
        to->elements_borrowed = true;
    }
    if (l + 1 < taken) {
        CMGI_TRY(cmgi_resident_share(h->ctx, &from->P, &to->P));
        CMGI_TRY(cmgi_resident_share(h->ctx, &from->R, &to->R));
    }
    if (taken == given->levels) {
        CMGI_TRY(cmgi_resident_share(h->ctx, &from->inverse, &to->inverse));
    }
    for (int s = 0; s < from->smoothers; ++s) {
        const cmgi_stored_smoother *smoother = from->smoother[s];
        for (int f = 0; f < smoother->factors; ++f) {
            CMGI_TRY(cmg_hierarchy_wrap_csr(h, l, CMG_ROLE_SMOOTHER, smoother->name, f,
                                            &smoother->factor[f].view));
        }
    }
    return CMG_OK;
}

/* The first `levels` levels, with what algebraic ones after them start from. */
static cmg_status open_over(const cmg_hierarchy *given, int levels, cmg_hierarchy **h)
{
    static const char *const kinds[] = {"coords", "nullspace"};
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *made = NULL;
    CMGI_TRY(cmg_hierarchy_create(given->ctx, levels, &made));
    made->above = given->above;
    for (int l = 0; l < levels; ++l) {
        made->level[l].block = given->level[l].block;
        CMGI_TRY(borrow_level(given, levels, l, made));
    }
    CMGI_TRY(cmgi_hierarchy_copy_attributes(given, made));
    for (int k = 0; k < 2; ++k) {
        cmg_size n = 0;
        const double *values = NULL;
        if (cmg_hierarchy_get_vector(given, levels - 1, kinds[k], NULL, &n, &values) == CMG_OK) {
            CMGI_TRY(cmg_hierarchy_set_vector(made, levels - 1, kinds[k], NULL, n, values));
            made->level[levels - 1].exact_nullspace = given->level[levels - 1].exact_nullspace;
        }
    }
    made->checked = given->checked;
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}

/* The first level whose A does not fit the one above, `levels` where all do. */
static cmg_status find_misfit(cmg_hierarchy *h, int from, bool zero_dirichlet,
                              cmgi_meanwhile *meanwhile, int *level, double *factor)
{
    cmgi_dirichlet d[CMGI_HIERARCHY_LEVELS] = {{0}};
    double there[CMGI_HIERARCHY_LEVELS] = {0};
    cmg_status status = CMG_OK;
    *level = h->levels;
    if (zero_dirichlet) {
        CMGI_TRY_GOTO(done, cmgi_form_dirichlet(h, h->levels - 1, d));
    }
    CMGI_TRY_GOTO(done, cmgi_energy_misfits_there(h, from, d, meanwhile, there));
    for (int l = from; l < h->levels && *level == h->levels; ++l) {
        if (h->level[l].formed || cmgi_hierarchy_kinds(h, l - 1, CMG_ROLE_A) != NULL ||
            cmgi_hierarchy_kinds(h, l - 1, CMG_ROLE_P) != NULL) {
            continue; /* what has no CSR is taken as it is */
        }
        *factor = there[l];
        if (there[l] == 0) {
            CMGI_TRY_GOTO(done, cmgi_energy_misfit(h, l - 1, &d[l - 1], &d[l], factor));
        }
        *level = *factor > MISFIT ? l : h->levels;
    }
done:
    for (int l = 0; l < h->levels; ++l) {
        cmgi_dirichlet_clear(h->ctx, &d[l]);
    }
    return status;
}

static cmg_status replace_misfits(cmg_hierarchy *h, const cmgi_completion_options *options,
                                  cmgi_completion *c)
{
    cmgi_meanwhile meanwhile = options->meanwhile;
    int from = 1;
    while (from < h->levels) {
        double factor = 1;
        int level = 0;
        CMGI_TRY(find_misfit(h, from, options->zero_dirichlet, &meanwhile, &level, &factor));
        if (level == h->levels) {
            return CMG_OK;
        }
        from = level + 1;
        const cmg_status status = cmgi_form_level(h, level);
        if (status == CMG_ERR_ARG) {
            continue; /* with this R the given A is the better one */
        }
        CMGI_TRY(status);
        c->first_misfit = c->misfits++ == 0 ? level : c->first_misfit;
        c->worst = factor > c->worst ? factor : c->worst;
    }
    return CMG_OK;
}

static cmg_status append_levels(cmg_hierarchy *h, const cmgi_completion_options *options,
                                cmgi_completion *c)
{
    const cmg_size above = c->misfits > 0 ? options->above_misfit : options->above;
    const int last = h->levels - 1;
    cmg_coarsen_options levels = options->levels;
    bool solved = false;
    cmg_csr A;
    if (!options->coarsen || cmg_hierarchy_rows(h, last) <= above ||
        h->level[last].inverse.indptr != NULL) {
        return CMG_OK;
    }
    if (options->solves != NULL) {
        CMGI_TRY(cmg_hierarchy_get_csr(h, last, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY(options->solves(options->user, &A, &solved));
    }
    if (!solved) {
        CMGI_TRY(cmgi_coarsen(h, &levels, &c->appended, c->known));
        c->method = levels.method;
    }
    return CMG_OK;
}

cmg_status cmgi_complete(cmg_hierarchy *given, const cmgi_completion_options *options,
                         cmgi_completion *made)
{
    cmgi_completion c = {.worst = 1, .taken = options->from_matrix ? 1 : given->levels};
    c.alone = c.taken < given->levels;
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *h = NULL;
    *made = c;
    if (given->stale) {
        CMGI_TRY(cmgi_form_values(given));
    }
    CMGI_TRY(open_over(given, c.taken, &h));
    const bool all = options->galerkin == CMG_GALERKIN_ALWAYS;
    c.first_formed = 1;
    while (!all && c.first_formed < h->levels && cmgi_csr_given(&h->level[c.first_formed].A)) {
        ++c.first_formed;
    }
    CMGI_TRY(cmgi_form_levels(h, c.first_formed, all, &c.formed));
    if (options->galerkin == CMG_GALERKIN_AUTO && h->levels > 1) {
        CMGI_TRY(replace_misfits(h, options, &c));
    }
    CMGI_TRY(append_levels(h, options, &c));
    h->stale = false;
    h->checked = true; /* the caller's is, and what was formed here is finite */
    const bool changed = c.formed + c.misfits + c.appended > 0 || c.alone;
    for (int l = 0; !changed && l < h->levels; ++l) { /* P^T, for R */
        cmgi_csr *PT = &given->level[l].PT;
        if (PT->there == NULL && h->level[l].PT.there != NULL) {
            *PT = cmgi_csr_pass_on(&h->level[l].PT);
        }
    }
    for (int l = c.taken - 1; l >= 1; --l) {
        c.first_formed = given->level[l].formed ? l : c.first_formed;
        c.formed += given->level[l].formed && !all;
    }
    if (changed) {
        c.h = cmgi_pass_on(&h);
    }
    *made = c;
    return CMG_OK;
}

cmg_status cmgi_completion_update(cmg_hierarchy *given, cmgi_completion *c)
{
    if (given->stale) {
        CMGI_TRY(cmgi_form_values(given));
    }
    if (c->h == NULL) {
        return CMG_OK;
    }
    for (int l = 0; l < c->taken; ++l) {
        CMGI_TRY(borrow_level(given, c->taken, l, c->h));
    }
    CMGI_TRY(cmgi_form_values(c->h));
    c->h->checked = true;
    return CMG_OK;
}
