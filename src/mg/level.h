/*
 * A level as the solver uses it: matrices in their formats and in the precision of the cycle,
 * renumbered where the format asks for it, Dirichlet rows taken care of.
 */
#pragma once
#include "cmg.h"
#include "mg/divided.h"
#include "mg/schedule.h"
#include "smoothers/smoother.h"
#include "spmv/halves.h"
#include "transfer/dirichlet.h"

typedef struct cmgi_level {
    cmg_size rows;
    cmg_matrix *A;
    cmg_matrix *P;  /* from level l+1, NULL on the last level in use */
    cmg_matrix *R;  /* to level l+1 */
    cmg_matrix *RA; /* product R A for the fused defect and restriction, NULL = not formed */
    cmg_matrix *RS; /* R (I - omega A D^-1), with a step of Jacobi before them, NULL = not formed */
    uint64_t version_A; /* of the kinds of rows that A was made of, plus 1; 0 = not */
    uint64_t version_P; /* of these, or of the values on the device, that P and R were made of */
    uint64_t version_R;
    uint64_t version_D; /* of the Dirichlet rows of both levels then */
    cmgi_smoother smoother;
    const cmg_index *perm;      /* sorted numbering on the host, NULL = the hierarchy's; borrowed */
    cmgi_dirichlet dirichlet;   /* none where they are kept */
    cmgi_csr restriction;       /* on the host, until cmgi_level_fuse has used it */
    uint64_t version_halves[3]; /* P, R and Dirichlet rows, of the halves */
    cmgi_halves halves;         /* of a cycle, on a GPU one step each where they are `taken` */
    bool halves_changed;        /* by the last set-up: a step list may refer to others */
    bool remade;                /* so were A, P or R of kinds of rows, for new values */
} cmgi_level;

typedef struct cmgi_level_options {
    const cmg_solver_options *solver;
    cmg_matrix_options matrix; /* format, and the precision of the cycle */
    const cmgi_schedule *schedule;
    const cmgi_divided *divided;     /* levels divided among ranks, NULL = none */
    const char *smoother;            /* in place of the solver's */
    const struct cmgi_spectra *like; /* bounds of a neighbouring level of the same stencil */
    struct cmgi_twin *twin;          /* of the finest A; see cmgi_matrix_source */
} cmgi_level_options;

/* How a matrix is asked for: as the schedule says, whatever it gains, else as its use allows. */
typedef struct cmgi_request {
    cmg_matrix_options options;
    cmgi_use use;
    bool halves;
    const cmg_matrix *like;      /* of the same CSR, or NULL */
    const cmgi_row_looks *looks; /* at its rows, or NULL */
    struct cmgi_twin *twin;
} cmgi_request;

/* level_sources.c. *M as the matrix of these kinds of rows, unless it is that by its version;
 * level->remade = it was another. */
cmg_status cmgi_level_place_kinds(cmg_context *ctx, const cmgi_kinds *kinds,
                                  const cmgi_request *ask, cmgi_level *level, uint64_t *version,
                                  cmg_matrix **M);
/* *M from a CSR on the device: new values in it, unless it was made of kinds of rows. */
cmg_status cmgi_level_place_there(cmg_context *ctx, const cmgi_resident *there,
                                  const cmgi_request *ask, cmgi_level *level, cmg_matrix **M);
/* The kinds of rows that a matrix on the device is made of for as long as they repeat; or NULL. */
const cmgi_kinds *cmgi_level_repeats(const cmgi_resident *there, const cmg_matrix_options *o);
/* P and R, where one of them has no CSR: both are kinds, or R is P^T of a grid. */
cmg_status cmgi_level_transfer_kinds(const cmg_hierarchy *h, int l, const cmgi_request ask[2],
                                     cmgi_level *fine);
/* The grid that the level's unknowns may be, by A's box or in `sizes`, NULL = none is seen. */
const cmgi_box *cmgi_level_grid(const cmg_hierarchy *h, int l, const cmgi_level *level,
                                cmgi_box *sizes);
/* What a smoother may look at of an A of source->kinds; *made is freed after it. */
cmg_status cmgi_level_look_at_kinds(cmgi_smoother_source *source, cmgi_resident *made);
/* The format and bits of a large finest A on the device, chosen before it and the outer matrix are
 * made; *fewer = less than fp32: then they come from the outer matrix, which has to be there. */
cmg_status cmgi_level_settle(const cmg_hierarchy *h, cmgi_level_options *options, bool *fewer);
/* Whether the finest A is on the device and used there. */
bool cmgi_level_is_there(const cmg_hierarchy *h, const cmgi_level_options *options);
bool cmgi_level_by_elements(const cmg_context *ctx, cmg_format format);
/* A of level l by its elements, where the format wants them and the level has them: then *taken. */
cmg_status cmgi_level_elements(const cmg_hierarchy *h, int l, const cmg_matrix_options *options,
                               bool *taken, cmg_matrix **M);
/*
 * Builds A of level l, and finds the Dirichlet rows of the finest; called for all levels first. A
 * level that has an A already gets its new values. `outer` is the fp64 matrix that gives the
 * numbering; NULL = its own.
 */
cmg_status cmgi_level_matrix(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                             const cmg_matrix *outer, cmgi_level *level);
/* P and R between a level and the next coarser one, whose Dirichlet rows it finds. */
cmg_status cmgi_level_transfer(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                               cmgi_level *fine, cmgi_level *coarse);
/* P, and R made with it, without what Dirichlet rows forbid, on the host. */
cmg_status cmgi_level_bring_P(const cmg_hierarchy *h, int l, cmgi_level *fine, cmgi_level *coarse,
                              cmgi_csr *P);
cmg_status cmgi_level_bring_R(const cmg_hierarchy *h, int l, const cmgi_level *fine,
                              const cmgi_level *coarse, const cmgi_csr *P, cmgi_csr *R);
/* Whether the smoother of level 0 is made before its A, so that both are not there while that takes
 * most memory. */
bool cmgi_level_smoother_first(const cmg_hierarchy *h, const cmgi_level_options *options,
                               const cmgi_level *fine);
cmg_status cmgi_level_smoother(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                               cmgi_level *level);
/* R S or R A of a level that has a smoother, where they are wanted and have fewer entries. */
cmg_status cmgi_level_fuse(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                           cmgi_level *fine, cmgi_level *coarse);
void cmgi_level_clear(cmg_context *ctx, cmgi_level *level);
