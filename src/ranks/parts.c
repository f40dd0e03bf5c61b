/* Preparation of the levels that ranks share: sizes, Dirichlet rows, R, R A P, the whole levels. */
#include "ranks/parts.h"

#include "transfer/aggregate.h"

#include <math.h>

enum { SINGLE_ABOVE = 200 }; /* rows of a matrix alone from which on it gets levels */

/* Rows without an entry get the place on the diagonal, rows of zeros a 1 there. */
static cmg_status fill_rows(cmg_context *ctx, cmgi_own_rows *A)
{
    cmgi_own_rows made = {0};
    cmg_size at = 0;
    CMGI_TRY(cmgi_rows_alloc(ctx, A->first, A->rows, A->indptr[A->rows] + A->rows, &made));
    for (cmg_size i = 0; i < A->rows; ++i) {
        bool zero = true;
        made.indptr[i] = at;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            made.indices[at] = A->indices[k];
            made.values[at++] = A->values[k];
            zero = zero && A->values[k] == 0;
        }
        if (A->indptr[i] == A->indptr[i + 1]) {
            made.indices[at] = A->first + i;
            made.values[at++] = 0;
        }
        for (cmg_size k = made.indptr[i]; zero && k < at; ++k) {
            made.values[k] = made.indices[k] == A->first + i;
        }
    }
    made.indptr[A->rows] = at;
    cmgi_rows_free(ctx, A);
    *A = made;
    return CMG_OK;
}

/* A matrix without what the flags forbid, borrowed where there are none. */
static cmg_status take_clean(cmg_context *ctx, const cmgi_own_rows *given, const bool *rows,
                             const bool *cols, const cmg_size *col_part, cmgi_own_rows *to)
{
    if (rows == NULL && cols == NULL) {
        *to = cmgi_rows_borrow(given);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_rows_copy(ctx, given, to));
    return cmgi_rows_clean(ctx, rows, cols, col_part, to);
}

/* P and R of a level without what the flags forbid; R = P^T where none is given. */
static cmg_status make_transfer(cmgi_parts *parts, const cmgi_own_level *given, int l,
                                const bool *coarse)
{
    cmg_context *ctx = parts->ctx;
    cmgi_part_level *fine = &parts->level[l];
    const cmg_size *cols = parts->level[l + 1].space.part;
    cmgi_rows_free(ctx, &fine->P);
    cmgi_rows_free(ctx, &fine->R);
    CMGI_TRY(take_clean(ctx, &given->P, fine->dirichlet, coarse, cols, &fine->P));
    return given->R.indptr == NULL
               ? cmgi_rows_transpose(ctx, &fine->P, cols, &fine->R)
               : take_clean(ctx, &given->R, coarse, fine->dirichlet, fine->space.part, &fine->R);
}

/* A of level l + 1 as R A P. */
static cmg_status form(cmgi_parts *parts, const cmgi_own_level *given, int l)
{
    cmg_context *ctx = parts->ctx;
    cmgi_part_level *fine = &parts->level[l];
    cmgi_part_level *coarse = &parts->level[l + 1];
    cmgi_own_rows AP = {0};
    cmgi_scoped bool *flags = NULL;
    cmg_size count = 0;
    CMGI_RELEASED(cmgi_rows_free, ctx, &AP);
    if (fine->dirichlet != NULL) {
        CMGI_TRY(cmgi_rows_dirichlet_below(ctx, NULL, &given->P, fine->dirichlet,
                                           coarse->space.part, &flags, &count));
    }
    CMGI_TRY(make_transfer(parts, given, l, flags));
    CMGI_TRY(cmgi_rows_multiply(ctx, &fine->A, &fine->P, fine->space.part, &AP));
    CMGI_TRY(cmgi_rows_multiply(ctx, &fine->R, &AP, fine->space.part, &coarse->A));
    cmgi_free(ctx, cmgi_pass_on(&coarse->outer));
    CMGI_TRY(fill_rows(ctx, &coarse->A));
    parts->mg.first_formed = parts->mg.formed++ == 0 ? l + 1 : parts->mg.first_formed;
    return CMG_OK;
}

/* From level l to the next: its A where it is missing, Dirichlet rows, P and R. */
static cmg_status prepare_level(cmgi_parts *parts, const cmgi_own *own, int l,
                                const cmgi_completion_options *options)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_own_level *given = &own->level[l];
    cmgi_part_level *fine = &parts->level[l];
    cmgi_part_level *coarse = &parts->level[l + 1];
    if (own->level[l + 1].A.indptr == NULL || options->galerkin == CMG_GALERKIN_ALWAYS) {
        CMGI_TRY(form(parts, given, l));
    } else {
        coarse->A = cmgi_rows_borrow(&own->level[l + 1].A);
    }
    if (fine->dirichlet != NULL) {
        CMGI_TRY(cmgi_rows_dirichlet_below(ctx, &coarse->A, &given->P, fine->dirichlet,
                                           coarse->space.part, &coarse->dirichlet,
                                           &coarse->dirichlet_rows));
    }
    return make_transfer(parts, given, l, coarse->dirichlet);
}

static cmg_status gather_matrix(cmgi_parts *parts, int l, cmg_role role, const cmgi_own_rows *A)
{
    cmg_context *ctx = parts->ctx;
    const cmg_size *const part[] = {parts->level[l].space.part, parts->level[l + 1].space.part};
    cmgi_scoped_csr whole = {0};
    if (A->indptr == NULL) {
        return CMG_OK;
    }
    const cmg_size cols = part[role == CMG_ROLE_P][cmgi_ranks(ctx)];
    CMGI_TRY(cmgi_rows_gather(ctx, A, part[role == CMG_ROLE_R], cols, &whole));
    return cmgi_hierarchy_take_csr(parts->given, l - parts->mg.count, role, NULL, 0, &whole);
}

/* The same number on all ranks but those that give NAN. */
static cmg_status agree(cmg_context *ctx, int level, const char *what, double mine)
{
    double v[2] = {isnan(mine) ? -INFINITY : mine, isnan(mine) ? -INFINITY : -mine};
    CMGI_TRY(cmgi_all_max(ctx, v, 2));
    CMGI_CHECK(ctx, v[0] == -v[1] || isinf(v[0]), CMG_ERR_ARG,
               "level %d: %s is %g on one rank and %g on another", level, what, -v[1], v[0]);
    return CMG_OK;
}

/* A vector of a level on every rank: the parts one after the other, as the rows are. */
static cmg_status gather_vector(cmgi_parts *parts, const cmg_hierarchy *h, int l, const char *kind)
{
    cmg_context *ctx = parts->ctx;
    const int ranks = cmgi_ranks(ctx);
    const cmgi_owners *space = &parts->level[l].space;
    const cmgi_stored_vector *own = cmgi_hierarchy_vector(h, l, kind, NULL);
    const cmg_size n = own != NULL ? own->n : 0;
    CMGI_TRY(agree(ctx, l, kind, space->rows > 0 ? own != NULL : NAN));
    CMGI_SCOPED(ctx, ranks + 1, cmg_size, at);
    CMGI_TRY(cmgi_group_offsets(ctx, n, at));
    if (at[ranks] > 0) {
        CMGI_SCOPED(ctx, at[ranks], double, all);
        const double *mine = n > 0 ? own->values : all + at[cmgi_rank(ctx)];
        CMGI_TRY(cmgi_group_gather_parts(ctx, mine, at, sizeof *all, all));
        return cmgi_hierarchy_take_vector(parts->given, l - parts->mg.count, kind, NULL, at[ranks],
                                          cmgi_pass_on(&all));
    }
    return CMG_OK;
}

/* What algebraic levels below the last given one start from. */
static cmg_status gather_facts(cmgi_parts *parts, const cmg_hierarchy *h, int l)
{
    CMGI_TRY(agree(parts->ctx, l, "block_size", cmgi_unknowns_of_node(h, l)));
    CMGI_TRY(cmgi_hierarchy_copy_attributes(h, parts->given));
    CMGI_TRY(gather_vector(parts, h, l, "coords"));
    CMGI_TRY(gather_vector(parts, h, l, "nullspace"));
    parts->given->level[l - parts->mg.count].exact_nullspace = h->level[l].exact_nullspace;
    return CMG_OK;
}

static cmg_status gather_levels(cmgi_parts *parts, const cmg_hierarchy *h)
{
    const cmgi_own *own = h->own;
    const int first = parts->mg.count;
    CMGI_TRY(cmg_hierarchy_create(parts->ctx, parts->levels - first, &parts->given));
    parts->given->above = first;
    for (int l = first; l < parts->levels; ++l) {
        const cmgi_own_level *b = &own->level[l];
        CMGI_TRY(gather_matrix(parts, l, CMG_ROLE_A, l == first ? &parts->level[l].A : &b->A));
        if (l + 1 < parts->levels) {
            CMGI_TRY(gather_matrix(parts, l, CMG_ROLE_P, &b->P));
            CMGI_TRY(gather_matrix(parts, l, CMG_ROLE_R, &b->R));
        }
    }
    return gather_facts(parts, h, parts->levels - 1);
}

static void borrow(const cmgi_csr *from, cmgi_csr *to)
{
    if (from->indptr != NULL) {
        *to = cmgi_csr_borrow(&from->view);
    }
}

/* The hierarchy that is solved: divided levels by their sizes, the others whole. */
static cmg_status open_hierarchy(cmgi_parts *parts)
{
    const cmg_hierarchy *whole =
        parts->mg.completion.h != NULL ? parts->mg.completion.h : parts->given;
    const int first = parts->mg.count;
    const int given = whole != NULL ? whole->levels : 0;
    CMGI_TRY(cmg_hierarchy_create(parts->ctx, first + given, &parts->mg.h));
    for (int l = 0; l < first; ++l) {
        parts->mg.h->level[l].A.rows = parts->level[l].space.total;
        parts->mg.h->level[l].A.cols = parts->level[l].space.total;
    }
    for (int l = 0; l < given; ++l) {
        cmgi_stored_level *to = &parts->mg.h->level[first + l];
        borrow(&whole->level[l].A, &to->A);
        borrow(&whole->level[l].P, &to->P);
        borrow(&whole->level[l].R, &to->R);
        to->block = whole->level[l].block;
    }
    parts->mg.h->checked = true;
    return CMG_OK;
}

/* What every rank does for itself: the levels that the whole ones lack. */
static cmg_status complete(cmgi_parts *parts, const cmgi_completion_options *options)
{
    cmgi_group_alone(parts->ctx, true);
    cmg_status status = cmgi_hierarchy_ensure_checked(parts->given, false);
    if (status == CMG_OK) {
        status = cmgi_complete(parts->given, options, &parts->mg.completion);
    }
    cmgi_group_alone(parts->ctx, false);
    return status;
}

/*
 * A matrix alone: every rank holds it as a whole for as long as it takes to find its algebraic
 * levels, and keeps its own rows of the first P.
 */
static cmg_status make_algebraic(cmgi_parts *parts, const cmg_hierarchy *h,
                                 const cmgi_completion_options *options)
{
    cmg_context *ctx = parts->ctx;
    cmgi_part_level *fine = &parts->level[0];
    cmg_csr P;
    CMGI_TRY(cmg_hierarchy_create(ctx, 1, &parts->given));
    parts->mg.count = 0;
    CMGI_TRY(gather_matrix(parts, 0, CMG_ROLE_A, &fine->A));
    CMGI_TRY(gather_facts(parts, h, 0));
    parts->mg.count = 1;
    CMGI_TRY(complete(parts, options));
    cmg_hierarchy *made = parts->mg.completion.h;
    if (made == NULL) {
        cmg_hierarchy_destroy(&parts->given);
        return CMG_OK;
    }
    CMGI_TRY(cmg_hierarchy_get_csr(made, 0, CMG_ROLE_P, NULL, 0, &P));
    CMGI_TRY(cmgi_layout_even(ctx, P.cols, &parts->level[1].space));
    CMGI_TRY(cmgi_rows_of(ctx, &P, fine->space.first, fine->space.rows, &fine->P));
    CMGI_TRY(cmgi_rows_clean(ctx, fine->dirichlet, NULL, NULL, &fine->P));
    CMGI_TRY(cmgi_rows_transpose(ctx, &fine->P, parts->level[1].space.part, &fine->R));
    parts->level[1].space.whole = true;
    CMGI_TRY(cmg_hierarchy_select(made, 1, 0));
    cmg_hierarchy_destroy(&parts->given);
    return CMG_OK;
}

static cmg_status prepare(cmgi_parts *parts, const cmg_hierarchy *h,
                          const cmgi_divided_options *options)
{
    const cmgi_own *own = h->own;
    cmg_context *ctx = parts->ctx;
    const cmgi_completion_options *completion = &options->completion;
    cmgi_part_level *fine = &parts->level[0];
    parts->levels = options->alone ? 1 : parts->levels;
    int divided = 1;
    while (divided < parts->levels - 1 && parts->level[divided].space.total > options->gather) {
        ++divided;
    }
    parts->mg.count = divided;
    fine->A = cmgi_rows_borrow(&own->level[0].A);
    if (completion->zero_dirichlet) {
        CMGI_TRY(cmgi_rows_dirichlet(ctx, &fine->A, &fine->dirichlet, &fine->dirichlet_rows));
    }
    for (int l = 0; l < parts->mg.count && parts->levels > 1; ++l) {
        CMGI_TRY(prepare_level(parts, own, l, completion));
    }
    if (parts->levels > 1) {
        cmgi_part_level *whole = &parts->level[divided];
        whole->space.whole = true;
        if (whole->dirichlet != NULL) { /* flags of all ranks' rows */
            CMGI_TRY(cmgi_alloc(ctx, whole->space.total, sizeof(bool), &parts->whole_dirichlet));
            CMGI_TRY(cmgi_group_gather_parts(ctx, whole->dirichlet, whole->space.part, sizeof(bool),
                                             parts->whole_dirichlet));
        }
        CMGI_TRY(gather_levels(parts, h));
        CMGI_TRY(complete(parts, completion));
    } else if (options->algebraic && completion->coarsen && fine->space.total > SINGLE_ABOVE) {
        CMGI_TRY(make_algebraic(parts, h, completion));
    }
    for (int l = 0; l < parts->mg.count; ++l) {
        CMGI_TRY(cmgi_layout_order(ctx, parts, l));
    }
    return open_hierarchy(parts);
}

cmg_status cmgi_parts_create(cmg_hierarchy *h, const cmgi_divided_options *options,
                             cmgi_divided **levels)
{
    cmg_context *ctx = h->ctx;
    cmgi_parts *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    cmgi_scoped_by(cmgi_parts_destroy) cmgi_divided *divided = &made->mg;
    made->ctx = ctx;
    made->levels = h->levels;
    made->mg.completion.worst = 1;
    CMGI_TRY(cmgi_layout_read(h, made));
    CMGI_TRY(prepare(made, h, options));
    *levels = cmgi_pass_on(&divided);
    return CMG_OK;
}

void cmgi_parts_destroy(cmgi_divided **levels)
{
    cmgi_parts *p = (cmgi_parts *)*levels;
    if (p == NULL) {
        return;
    }
    cmg_context *ctx = p->ctx;
    for (int l = 0; l <= CMGI_HIERARCHY_LEVELS; ++l) {
        cmgi_part_level *level = &p->level[l];
        cmgi_stretches_free(ctx, &level->stretches);
        cmgi_rows_free(ctx, &level->A);
        cmgi_rows_free(ctx, &level->P);
        cmgi_rows_free(ctx, &level->R);
        CMGI_FREE(ctx, level->space.perm, level->space.part, level->space.position,
                  level->dirichlet, level->outer);
    }
    cmgi_free(ctx, p->whole_dirichlet);
    cmg_hierarchy_destroy(&p->mg.h);
    cmg_hierarchy_destroy(&p->mg.completion.h);
    cmg_hierarchy_destroy(&p->given);
    cmgi_free(ctx, p);
    *levels = NULL;
}
