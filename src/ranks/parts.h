/*
 * What a solver on several ranks is built from: levels that are divided among the ranks, with the
 * numbering, P, R and Dirichlet rows that they need, and below them levels that every rank has as a
 * whole, which are an ordinary hierarchy and are solved by all ranks alike. All is collective.
 */
#pragma once
#include "hierarchy/own.h"
#include "mg/divided.h"
#include "ranks/matrix.h"

/* The box of a level (spmv/box.h) in a precision. */
typedef struct cmgi_part_box {
    bool found;
    cmg_precision precision;
    cmgi_box box;
} cmgi_part_box;

typedef struct cmgi_part_level {
    cmgi_owners space;
    cmgi_own_rows A;
    cmgi_own_rows P; /* without what Dirichlet rows forbid */
    cmgi_own_rows R;
    bool *outer;              /* rows of A with a column of another rank; NULL = not known yet */
    cmgi_stretches stretches; /* of A, while they are used */
    cmgi_part_box box;        /* of A, as far as this rank sees */
    bool *dirichlet;          /* of own rows; NULL = none on any rank */
    cmg_size dirichlet_rows;  /* over all ranks */
} cmgi_part_level;

typedef struct cmgi_parts {
    cmgi_divided mg; /* first: all that a solver sees */
    cmg_context *ctx;
    int levels;                                       /* given */
    cmgi_part_level level[CMGI_HIERARCHY_LEVELS + 1]; /* those divided, and of the first whole one
                                                     the space and the Dirichlet rows */
    bool *whole_dirichlet; /* Dirichlet rows of the first whole level, NULL = none */
    cmg_hierarchy *given;  /* whole levels as they were given, whose arrays mg.h borrows */
} cmgi_parts;

static inline const cmgi_parts *cmgi_parts_of(const cmgi_divided *levels)
{
    return (const cmgi_parts *)levels;
}

/* layout.c: who has which rows of the levels, and in which order. */

/*
 * Sizes and partitions of all levels, from what every rank was given, and the checks that a solver
 * relies on; all ranks return the same status.
 */
cmg_status cmgi_layout_read(const cmg_hierarchy *h, cmgi_parts *parts);
/* CMG_ERR_ARG unless the columns of a matrix are below cols. */
cmg_status cmgi_layout_columns(cmg_context *ctx, const cmgi_own *own, int l, cmg_role role,
                               cmg_size cols);
/* A partition in equal parts. */
cmg_status cmgi_layout_even(cmg_context *ctx, cmg_size total, cmgi_owners *space);
/* The order of a divided level's own rows. */
cmg_status cmgi_layout_order(cmg_context *ctx, cmgi_parts *parts, int l);

/* Functions of mg/divided.h; level.c has the others. */
cmg_status cmgi_parts_create(cmg_hierarchy *h, const cmgi_divided_options *options,
                             cmgi_divided **levels);
void cmgi_parts_destroy(cmgi_divided **levels);
cmg_status cmgi_parts_halves(const cmgi_divided *levels, int l, cmg_precision precision,
                             cmgi_box *box, cmgi_planes *slab, bool *found);
/* Collective; asked for while the rows are on the device, where that is quick. */
cmg_status cmgi_parts_find_box(const cmgi_parts *parts, int l, cmg_precision precision,
                               cmgi_part_box *box);
cmg_status cmgi_parts_null_space(const cmgi_divided *levels, const cmg_hierarchy *h, bool *exact,
                                 cmgi_null_space *space);
