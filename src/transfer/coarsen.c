/* Algebraic levels below the coarsest of a hierarchy, one after the other until few rows are left.
 */
#include "transfer/coarsen.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/options.h"
#include "transfer/aggregate.h"
#include "transfer/air.h"
#include "transfer/blackbox.h"
#include "transfer/classical.h"
#include "transfer/galerkin.h"
#include "transfer/miniature.h"

#include <stdio.h>
#include <string.h>

#define ROW(kind, field, ...)                                                                      \
    CMGI_OPTION_ROW(cmg_coarsen_options, "Levels made", kind, field, __VA_ARGS__)

static const cmg_option rows[] = {
    ROW(SIZE, rows, .standard = 500, .low = 1, .high = INT32_MAX, .text = "stop at so many rows"),
    ROW(INT, levels, .standard = CMGI_HIERARCHY_LEVELS, .low = 1, .high = CMGI_HIERARCHY_LEVELS,
        .text = "most levels to add"),
    ROW(REAL, strength, .standard = 0.35, .high = 1,
        .text = "entries from this share of the largest couplings on are strong"),
    ROW(REAL, omega, .standard = 4.0 / 3.0, .high = 2, .open_high = true,
        .text = "damping of the smoothing of P times lambda_max, 0 = none"),
    ROW(FLAG, filter, .standard = true, .text = "smooth P by A without its weak entries"),
    ROW(WORD, method, .words = "coarsen-method", .text = "what the rows of a level stand for"),
    ROW(INT, interpolation, .standard = 5, .high = 1000,
        .text = "classical, air: most entries a row of P, 0 = all"),
    ROW(INT, distance, .standard = 2, .low = 1, .high = 2,
        .text = "air: how far R reaches into fine rows"),
    ROW(REAL, near, .standard = 0.1, .high = 1,
        .text = "air: couplings of this share of the largest of a row on are followed"),
};

static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_coarsen_options, rows);

CMGI_OPTION_FUNCTIONS(cmg_coarsen_options, cmg_coarsen_option, table)

/* P of one more level and its near-null-space vectors; P stays empty where nothing is gained. */
typedef struct next_level {
    cmgi_csr P;
    cmgi_csr R;  /* where it is not P^T */
    cmgi_csr PT; /* on the device, where A of the level after it is formed there */
    cmgi_csr A;  /* empty = to be formed */
    cmgi_halving halving;
    double *B; /* columns of P x vectors */
    int vectors;
} next_level;

/* What is known of the level that is coarsened first, and the lattice of the last; dim 0 = none. */
typedef struct start {
    int level;
    cmgi_known known;
    cmgi_points points;
    cmgi_miniature mini;
} start;

/* Levels that keep more than this share of the rows cost more than they help. */
static const double LEAST_GAIN = 0.85;

/* Near-null-space vectors at a place; *B stays NULL where they are constants. */
static cmg_status vectors_of(const cmg_hierarchy *h, int l, cmgi_place at, const start *from,
                             cmgi_known *k)
{
    cmg_size n = cmg_hierarchy_rows(h, l);
    *k = (cmgi_known){.block = from->known.block, .vectors = from->known.vectors};
    if (l > from->level && !cmgi_near_null_constant(h, l, &k->block, &k->vectors)) {
        CMGI_TRY(cmgi_near_null_space(h, l, &k->block, &k->vectors, &k->B));
    } else if (l == from->level && from->known.B != NULL) {
        CMGI_TRY(cmgi_alloc(h->ctx, n * k->vectors, sizeof *k->B, &k->B));
        memcpy(k->B, from->known.B, (size_t)(n * k->vectors) * sizeof *k->B);
    }
    return at == CMGI_DEVICE ? cmgi_move_to_device(h->ctx, &k->B, n * k->vectors, sizeof *k->B)
                             : CMG_OK;
}

/* From level l, whose matrix is at that place. */
static cmg_status make_transfer(const cmg_hierarchy *h, int l, cmgi_place at,
                                const cmg_coarsen_options *o, start *from, double theta,
                                next_level *next)
{
    cmg_context *ctx = h->ctx;
    const cmgi_resident *there = at == CMGI_DEVICE ? cmgi_hierarchy_there(h, l, CMG_ROLE_A) : NULL;
    cmg_csr A = {0};
    cmgi_csr S = {0};
    cmgi_csr P0 = {0};
    cmgi_aggregates agg = {0};
    cmgi_known k = {0};
    CMGI_FREED(ctx, CMGI_ARRAYS(S), CMGI_ARRAYS(P0), &k.B);
    CMGI_RELEASED(cmgi_aggregates_free, ctx, &agg);
    CMGI_TRY(there != NULL ? CMG_OK : cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    A = there != NULL ? there->csr : A;
    CMGI_TRY(vectors_of(h, l, at, from, &k));
    next->vectors = k.vectors;
    if (o->method == CMG_COARSEN_CLASSICAL && k.block == 1) {
        return cmgi_classical(ctx, at, &A, theta, o->interpolation, &next->P);
    }
    if (o->method == CMG_COARSEN_LATTICE && cmgi_csr_given(&from->mini.A)) {
        return cmgi_miniature_level(ctx, at, &from->points, &from->mini, &next->P, &next->A,
                                    &next->halving);
    }
    if (o->method == CMG_COARSEN_LATTICE && from->points.dim > 0) {
        return cmgi_blackbox(ctx, at, &A, there, &from->points, &next->P, &next->halving);
    }
    if (o->method == CMG_COARSEN_AIR && k.block == 1) {
        return cmgi_air(ctx, &A, theta, o, &next->P, &next->R);
    }
    CMGI_TRY(cmgi_strength(ctx, at, &A, &(cmgi_strong){k.block, theta, false}, &S));
    CMGI_TRY(cmgi_aggregate(ctx, at, &S.view, &agg));
    CMGI_FREE_AT(ctx, at, S.values); /* sizes of couplings decide no more */
    S.values = NULL;
    if (agg.count == 0 || (double)agg.count * k.vectors > LEAST_GAIN * (double)A.rows) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_tentative(ctx, &agg, k.block, k.vectors, k.B, &P0, &next->B));
    return cmgi_smooth_tentative(ctx, at, &A, o->filter && k.block == 1 ? &S.view : NULL, o->omega,
                                 &P0, &next->P);
}

static bool is_finite(cmg_context *ctx, const cmgi_csr *M)
{
    return cmgi_first_not_finite(ctx, M->indptr[M->rows], M->values) < 0;
}

/* A of the next level; *sound stays false where its values or those of P are of no use. */
static cmg_status form_coarse(const cmg_hierarchy *h, next_level *next, cmgi_csr *coarse,
                              bool *sound)
{
    const int l = h->levels - 1;
    const cmgi_csr *P = &next->P;
    const cmgi_resident *there = cmgi_hierarchy_there(h, l, CMG_ROLE_A);
    const cmgi_triple t = {.A = there, .P = P->there, .PT = &next->PT};
    cmg_csr A;
    if (cmgi_csr_given(&next->A)) {
        *coarse = cmgi_csr_pass_on(&next->A);
    } else if (there != NULL && P->there != NULL) {
        CMGI_TRY(cmgi_galerkin_there(h->ctx, &t, coarse));
    } else {
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY(cmgi_galerkin(h->ctx, cmgi_csr_given(&next->R) ? &next->R.view : NULL, &A,
                               &P->view, true, coarse));
    }
    if (coarse->there != NULL && P->there != NULL) {
        const cmgi_resident_facts *facts = &coarse->there->facts;
        *sound =
            P->there->facts.not_finite < 0 && facts->not_finite < 0 && facts->zero_diagonal < 0;
    } else {
        *sound = is_finite(h->ctx, P) && is_finite(h->ctx, coarse) &&
                 cmgi_csr_zero_diagonal(&coarse->view) == coarse->rows;
    }
    return CMG_OK;
}

/* Puts the level after the last one; *added stays false where its values are of no use. */
static cmg_status append(cmg_hierarchy *h, next_level *next, bool *added)
{
    const int l = h->levels - 1;
    const cmg_size n = next->P.cols;
    cmgi_scoped_csr coarse = {0};
    bool sound = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(form_coarse(h, next, &coarse, &sound));
    if (!sound) {
        return CMG_OK;
    }
    ++h->levels;
    CMGI_TRY_GOTO(failed, cmgi_hierarchy_take_csr(h, l, CMG_ROLE_P, NULL, 0, &next->P));
    if (cmgi_csr_given(&next->R)) {
        CMGI_TRY_GOTO(failed, cmgi_hierarchy_take_csr(h, l, CMG_ROLE_R, NULL, 0, &next->R));
        h->level[l].ideal = true;
    }
    CMGI_TRY_GOTO(failed, cmgi_hierarchy_take_formed(h, l + 1, &coarse));
    h->level[l].PT = cmgi_csr_pass_on(&next->PT);
    h->level[l + 1].block = next->vectors;
    if (next->B != NULL) {
        CMGI_TRY_GOTO(failed,
                      cmgi_hierarchy_take_vector(h, l + 1, "nullspace", NULL, n * next->vectors,
                                                 cmgi_pass_on(&next->B)));
    }
    *added = true;
    return CMG_OK;
failed:
    (void)cmg_hierarchy_select(h, 0, 1);
    return status;
}

/* Where the matrix is, or on the host where the device has not enough memory for it. */
static cmg_status make_somewhere(const cmg_hierarchy *h, int l, const cmg_coarsen_options *o,
                                 start *from, double theta, next_level *next)
{
    const bool on_device = cmgi_hierarchy_there(h, l, CMG_ROLE_A) != NULL;
    if (on_device && o->method != CMG_COARSEN_AIR) {
        const cmg_status status = make_transfer(h, l, CMGI_DEVICE, o, from, theta, next);
        if (status != CMG_ERR_MEMORY) {
            return status;
        }
        cmgi_free(h->ctx, cmgi_pass_on(&next->B));
    }
    return make_transfer(h, l, CMGI_HOST, o, from, theta, next);
}

/*
 * The method of all levels, from the last one that there is, and the lattice that its matrix is of.
 * Nodes of several unknowns, and vectors other than constants, are aggregated.
 */
static cmg_status choose_method(const cmg_hierarchy *h, cmg_coarsen_options *o, start *from)
{
    cmg_context *ctx = h->ctx;
    const int l = h->levels - 1;
    const cmgi_resident *there = NULL;
    const bool any = o->method == CMG_COARSEN_AUTO;
    cmgi_points *points = &from->points;
    bool suits = false;
    cmgi_suits others = {.plane = false};
    cmg_csr A;
    const bool loose = any && from->known.loose;
    CMGI_TRY(cmgi_hierarchy_matrix(h, l, &there, &A));
    CMGI_TRY(loose ? cmgi_look_for_levels(ctx, &A, there, o->strength, &others) : CMG_OK);
    if (others.classical) { /* A hardly couples the unknowns of a node */
        cmgi_known *k = &from->known;
        cmgi_free(ctx, k->B);
        *k = (cmgi_known){.block = 1, .vectors = 1, .text = k->text};
        (void)snprintf(k->text, CMGI_KNOWN,
                       "block_size left out: classical levels suit A, as no coupling between "
                       "unknowns is strong");
    }
    const bool plain = from->known.B == NULL && from->known.block == 1;
    const cmgi_place at = there != NULL ? CMGI_DEVICE : CMGI_HOST;
    if (plain && (any || o->method == CMG_COARSEN_LATTICE)) {
        CMGI_TRY(cmgi_points_find(ctx, &A, there, points));
    }
    if (points->dim > 0) {
        CMGI_TRY(cmgi_miniature_find(ctx, at, &A, there, points, &from->mini));
        CMGI_TRY(cmgi_csr_given(&from->mini.A) ? CMG_OK : cmgi_points_confirm(ctx, at, &A, points));
    }
    CMGI_CHECK(ctx, o->method != CMG_COARSEN_LATTICE || points->dim > 0, CMG_ERR_ARG,
               "coarsening by lattice: A of level %d is not one of neighbours on a lattice of two "
               "or three directions, each row a point with one unknown",
               l);
    if (any && points->dim > 0) {
        CMGI_TRY(cmgi_points_suit(ctx, &A, there, points, &suits));
        o->method = suits ? CMG_COARSEN_LATTICE : o->method;
    }
    if (any && plain && !suits) {
        CMGI_TRY(loose ? CMG_OK : cmgi_look_for_levels(ctx, &A, there, o->strength, &others));
        others.classical = others.classical || (points->dim > 0 && others.weak);
        const bool flow = others.flow && ctx->group == NULL && ctx->away == NULL;
        o->method = flow               ? CMG_COARSEN_AIR
                    : others.classical ? CMG_COARSEN_CLASSICAL
                                       : CMG_COARSEN_AGGREGATION;
        o->interpolation = flow ? 1 : o->interpolation; /* from upstream */
        o->distance = flow && !others.plane ? 1 : o->distance;
    }
    o->method = o->method == CMG_COARSEN_AUTO ? CMG_COARSEN_AGGREGATION : o->method;
    return CMG_OK;
}

static cmg_status add_level(cmg_hierarchy *h, const cmg_coarsen_options *o, start *from,
                            bool *added)
{
    cmg_context *ctx = h->ctx;
    const int l = h->levels - 1;
    next_level next = {0};
    CMGI_FREED(ctx, &next.B);
    CMGI_RELEASED(cmgi_csr_free, ctx, &next.P, &next.R, &next.PT, &next.A);
    CMGI_TRY(make_somewhere(h, l, o, from, o->strength, &next));
    if (!cmgi_csr_given(&next.P) && o->strength > 0 && from->points.dim == 0) {
        CMGI_TRY(make_somewhere(h, l, o, from, 0, &next)); /* every coupling counts */
    }
    if (cmgi_csr_given(&next.P)) {
        from->points = next.halving.coarse;
        CMGI_TRY(append(h, &next, added));
    }
    return CMG_OK;
}

cmg_status cmgi_coarsen(cmg_hierarchy *h, cmg_coarsen_options *o, int *levels,
                        char known[CMGI_KNOWN])
{
    cmg_context *ctx = h->ctx;
    start from = {.level = h->levels - 1, .known.text = known};
    CMGI_FREED(ctx, &from.known.B);
    CMGI_RELEASED(cmgi_miniature_clear, ctx, &from.mini);
    *levels = 0;
    known[0] = '\0';
    CMGI_TRY(cmgi_known_agreed(h, from.level, o->method == CMG_COARSEN_AGGREGATION, &from.known));
    CMGI_TRY(choose_method(h, o, &from));
    while (*levels < o->levels && h->levels < CMGI_HIERARCHY_LEVELS) {
        const cmg_size left = cmg_hierarchy_rows(h, h->levels - 1);
        const cmg_size all = cmg_hierarchy_rows(h, 0);
        bool added = false;
        if (left <= o->rows) {
            break;
        }
        CMGI_TRY(cmgi_progress(ctx, "coarsening", all - left, all));
        CMGI_TRY(add_level(h, o, &from, &added));
        if (!added) {
            break;
        }
        ++*levels;
    }
    return CMG_OK;
}

cmg_status cmg_hierarchy_coarsen(cmg_hierarchy *h, const cmg_coarsen_options *options, int *levels)
{
    cmg_coarsen_options own;
    char known[CMGI_KNOWN];
    int made = 0;
    CMGI_GIVEN(h);
    CMGI_TRY(cmgi_options_take(h->ctx, &table, options, &own));
    CMGI_TRY(cmg_hierarchy_galerkin(h, 0));
    cmgi_csr_free(h->ctx, &h->level[h->levels - 1].inverse);
    const cmg_status status = cmgi_coarsen(h, &own, &made, known);
    if (known[0] != '\0') {
        cmgi_log(h->ctx, CMG_LOG_INFO, "coarsen: %s", known);
    }
    if (levels != NULL) {
        *levels = made;
    }
    CMGI_TRY(status);
    return cmgi_hierarchy_ensure_checked(h, false);
}
