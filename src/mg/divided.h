/*
 * Levels of a hierarchy that several ranks share, as a solver sees them: those above are divided
 * among the ranks, and what is theirs is asked of libcmgranks; below them are levels that every
 * rank has as a whole, an ordinary hierarchy that all ranks solve alike. All is collective.
 */
#pragma once
#include "core/ranks.h"
#include "smoothers/smoother.h"
#include "spmv/halves.h"
#include "transfer/complete.h"
#include "transfer/dirichlet.h"
#include "transfer/null_space.h"

struct cmgi_level;

typedef struct cmgi_divided {
    int count;                  /* levels 0 .. count - 1 are; those from there on are whole */
    cmg_hierarchy *h;           /* of the divided levels the sizes alone */
    cmgi_completion completion; /* of the whole ones */
    int formed;                 /* divided levels that were formed as R A P */
    int first_formed;
} cmgi_divided;

typedef struct cmgi_divided_options {
    cmg_size gather; /* levels of at most so many rows are whole */
    bool alone;      /* level 0 is all there is */
    bool algebraic;  /* a matrix alone may get levels */
    cmgi_completion_options completion;
} cmgi_divided_options;

typedef struct cmgi_divided_functions {
    /* checks what ranks were given, and prepares it */
    cmg_status (*create)(cmg_hierarchy *h, const cmgi_divided_options *options,
                         cmgi_divided **levels);
    void (*destroy)(cmgi_divided **levels);
    /* rows, numbering and Dirichlet rows of a divided level */
    void (*describe)(const cmgi_divided *levels, int l, struct cmgi_level *level);
    /* A, P or R of a divided level */
    cmg_status (*matrix)(const cmgi_divided *levels, int l, cmg_role role, cmgi_use use,
                         const cmg_matrix_options *options, cmg_matrix **M);
    /* the smoother of a divided level, whose A is `matrix` */
    cmg_status (*smoother)(const cmgi_divided *levels, int l, const cmg_matrix *matrix,
                           const cmgi_smoother_options *options, cmgi_smoother *s);
    /* where halves of the cycle may be one step each, the level's box and this rank's part of it,
     * whose ghosts the caller destroys; the same on all ranks */
    cmg_status (*halves)(const cmgi_divided *levels, int l, cmg_precision precision, cmgi_box *box,
                         cmgi_planes *slab, bool *found);
    /* the diagonal of level 0 that solves Dirichlet rows, NULL = there are none */
    cmg_status (*boundary)(const cmgi_divided *levels, cmg_matrix **boundary);
    /* Dirichlet rows of the first whole level, as the levels below it want them */
    cmg_status (*dirichlet)(const cmgi_divided *levels, cmgi_dirichlet *found);
    /* || |A| |x| + |b| || on level 0, of host vectors in its numbering */
    cmg_status (*magnitude)(const cmgi_divided *levels, const double *b, const double *x,
                            double *norm);
    /* what is known of the null space of level 0 (transfer/null_space.h), own entries in its
     * numbering; *exact: by the vectors of `h` that are marked so on any rank. CMG_ERR_ARG where
     * one of these is none */
    cmg_status (*null_space)(const cmgi_divided *levels, const cmg_hierarchy *h, bool *exact,
                             cmgi_null_space *space);
} cmgi_divided_functions;

/* Where the levels of a context are divided among ranks. */
static inline const cmgi_divided_functions *cmgi_divided_by(const cmg_context *ctx)
{
    return ctx->options.ranks->levels;
}

/* True where level l is divided; NULL = none is. */
static inline bool cmgi_is_divided(const cmgi_divided *levels, int l)
{
    return levels != NULL && l < levels->count;
}
