/*
 * What a solver on several ranks is built from: levels that are divided among the ranks, with the
 * numbering, P, R and Dirichlet rows that they need, and below them levels that every rank has as a
 * whole, which are an ordinary hierarchy and are solved by all ranks alike. All is collective.
 */
#pragma once
#include "hierarchy/own.h"
#include "ranks/matrix.h"
#include "smoothers/smoother.h"
#include "transfer/complete.h"
#include "transfer/dirichlet.h"
#include "transfer/null_space.h"

typedef struct cmgi_part_level {
    cmgi_owners space;
    cmgi_own_rows A;
    cmgi_own_rows P; /* without what Dirichlet rows forbid */
    cmgi_own_rows R;
    bool *dirichlet;         /* of own rows; NULL = none on any rank */
    cmg_size dirichlet_rows; /* over all ranks */
} cmgi_part_level;

typedef struct cmgi_parts {
    cmg_context *ctx;
    int divided; /* levels 0 .. divided - 1 are; those from there on are whole */
    int levels;  /* given */
    cmgi_part_level level[CMGI_HIERARCHY_LEVELS + 1]; /* those divided, and of the first whole one
                                                     the space and the Dirichlet rows */
    bool *whole_dirichlet;      /* Dirichlet rows of level `divided`, NULL = none */
    cmg_hierarchy *h;           /* levels from `divided` on; the others have their sizes alone */
    cmg_hierarchy *given;       /* whole levels as they were given, whose arrays h borrows */
    cmgi_completion completion; /* of those */
    int formed;                 /* divided levels that were formed as R A P */
    int first_formed;
} cmgi_parts;

typedef struct cmgi_parts_options {
    cmg_size gather; /* levels of at most so many rows are whole */
    bool alone;      /* level 0 is all there is */
    bool algebraic;  /* a matrix alone may get levels */
    cmgi_completion_options completion;
} cmgi_parts_options;

/* Checks what ranks were given, and prepares it. */
cmg_status cmgi_parts_create(cmg_hierarchy *h, const cmgi_parts_options *options,
                             cmgi_parts **parts);
void cmgi_parts_destroy(cmgi_parts **parts);

/* True where level l is divided; parts may be NULL. */
static inline bool cmgi_parts_have(const cmgi_parts *parts, int l)
{
    return parts != NULL && l < parts->divided;
}

/* A, P or R of a divided level. */
cmg_status cmgi_parts_matrix(const cmgi_parts *parts, int l, cmg_role role, cmgi_use use,
                             const cmg_matrix_options *options, cmg_matrix **M);
/* The smoother of a divided level, whose A is `matrix`. */
cmg_status cmgi_parts_smoother(const cmgi_parts *parts, int l, const cmg_matrix *matrix,
                               const cmgi_smoother_options *options, cmgi_smoother *s);
/* The diagonal of level 0 that solves Dirichlet rows, NULL = there are none. */
cmg_status cmgi_parts_boundary(const cmgi_parts *parts, cmg_matrix **boundary);
/* Dirichlet rows of the first whole level, as the levels below it want them. */
cmg_status cmgi_parts_dirichlet(const cmgi_parts *parts, cmgi_dirichlet *found);
/* || |A| |x| + |b| || on level 0, of host vectors in its numbering; collective. */
cmg_status cmgi_parts_magnitude(const cmgi_parts *parts, const double *b, const double *x,
                                double *norm);
/*
 * What is known of the null space of level 0 (transfer/null_space.h), own entries in its numbering;
 * *exact: by the vectors of `h` that are marked so on any rank. Collective.
 *
 * @return CMG_OK, CMG_ERR_ARG (one of these is none), CMG_ERR_MEMORY
 */
cmg_status cmgi_parts_null_space(const cmgi_parts *parts, const cmg_hierarchy *h, bool *exact,
                                 cmgi_null_space *space);
