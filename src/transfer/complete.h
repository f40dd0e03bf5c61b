/*
 * The hierarchy that a solver works on: the caller's, or one over its matrices in which level
 * matrices that are missing or do not fit are R A P, and algebraic levels follow the coarsest.
 */
#pragma once
#include "transfer/coarsen.h"
#include "transfer/energy.h"

typedef struct cmgi_completion_options {
    cmg_galerkin galerkin;
    bool from_matrix; /* of the finest A alone: the other levels are left out */
    bool zero_dirichlet;
    bool coarsen; /* append algebraic levels below more than `above` rows */
    cmg_size above;
    cmg_size above_misfit; /* the same where a level matrix did not fit: coarse errors are rough */
    cmg_coarsen_options levels;
    /* Whether a coarsest A of more than `above` rows is solved as it is; NULL = never. */
    cmg_status (*solves)(void *user, const cmg_csr *A, bool *solved);
    void *user;
    cmgi_meanwhile meanwhile; /* may run, once, while a device looks at level matrices */
} cmgi_completion_options;

/* What was done. */
typedef struct cmgi_completion {
    cmg_hierarchy *h; /* NULL = the caller's is good as it is */
    int taken;        /* levels of the caller's */
    bool alone;       /* only its finest matrix was, of several levels */
    int formed;       /* level matrices that were missing, or asked for, or formed before */
    int first_formed;
    int misfits; /* that did not fit */
    int first_misfit;
    double worst; /* factor between energies of the worst */
    int appended;
    cmg_coarsen_method method; /* of those */
    char known[CMGI_KNOWN];    /* of the level above them */
} cmgi_completion;

/* The caller's hierarchy is checked and only read; its arrays are borrowed. */
cmg_status cmgi_complete(cmg_hierarchy *given, const cmgi_completion_options *options,
                         cmgi_completion *made);
/* Takes over new values of the caller's; what was formed follows, on its patterns. */
cmg_status cmgi_completion_update(cmg_hierarchy *given, cmgi_completion *c);
