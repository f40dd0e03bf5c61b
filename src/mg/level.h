/*
 * A level as the solver uses it: matrices in their formats and in the precision of the cycle,
 * renumbered where the format asks for it, Dirichlet rows taken care of.
 */
#pragma once
#include "mg/divided.h"
#include "mg/schedule.h"
#include "smoothers/smoother.h"
#include "spmv/halves.h"
#include "transfer/restriction.h"

typedef struct cmgi_level {
    cmg_size rows;
    cmg_matrix *A;
    cmg_matrix *P;  /* from level l+1, NULL on the last level in use */
    cmg_matrix *R;  /* to level l+1 */
    cmg_matrix *RA; /* product R A for the fused defect and restriction, NULL = not formed */
    cmg_matrix *RS; /* R (I - omega A D^-1), with a step of Jacobi before them, NULL = not formed */
    uint64_t version_P; /* of the values that P and R were made of on the device, plus 1; 0 = not */
    uint64_t version_R;
    uint64_t version_D; /* of the Dirichlet rows of both levels then */
    cmgi_smoother smoother;
    const cmg_index *perm;    /* sorted numbering on the host, NULL = the hierarchy's; borrowed */
    cmgi_dirichlet dirichlet; /* none where they are kept */
    cmgi_csr restriction;     /* on the host, until cmgi_level_fuse has used it */
    cmgi_halves halves;       /* of a cycle, on a GPU one step each where they are `taken` */
    bool halves_changed;      /* by the last set-up: a step list may refer to others */
} cmgi_level;

typedef struct cmgi_level_options {
    cmg_matrix_options matrix; /* format, and the precision of the cycle */
    const cmgi_schedule *schedule;
    const cmgi_divided *divided; /* levels divided among ranks, NULL = none */
    cmg_dirichlet dirichlet;
    const char *smoother;
    double omega;
    cmg_reuse reuse;
    const struct cmgi_spectra *below; /* bounds of the next level; or NULL */
    bool uniform;                     /* both are one stencil */
    int pre;                          /* smoothing steps before the coarse correction */
    bool fuse;                    /* form R S on small levels, where a GPU waits for every step */
    struct cmgi_templates *exact; /* of the finest A; see cmgi_matrix_source */
    bool fuse_all;                /* form R S or R A on all levels where that moves fewer bytes */
} cmgi_level_options;

/* Whether the finest A is on the device and used there. */
bool cmgi_level_is_there(const cmg_hierarchy *h, const cmgi_level_options *options);
/* A of level l by its elements, where the format wants them and the level has them: then *taken. */
cmg_status cmgi_level_elements(const cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmg_matrix_options *options, bool *taken, cmg_matrix **M);
/*
 * Builds A of level l, and finds the Dirichlet rows of the finest; called for all levels first. A
 * level that has an A already gets its new values. `outer` is the fp64 matrix that gives the
 * numbering; NULL = its own.
 */
cmg_status cmgi_level_matrix(cmg_hierarchy *h, cmg_context *ctx, int l,
                             const cmgi_level_options *options, const cmg_matrix *outer,
                             cmgi_level *level);
/* New values of the finest A on the device and of `outer`, the same in fp64, together, where *done.
 */
cmg_status cmgi_level_renew(cmg_hierarchy *h, const cmgi_level_options *options, cmg_matrix *outer,
                            cmgi_level *level, bool *done);
/* P and R between a level and the next coarser one, whose Dirichlet rows it finds. */
cmg_status cmgi_level_transfer(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *fine,
                               cmgi_level *coarse);
/* Whether the smoother of level 0 is made before its A, so that both are not there while that takes
 * most memory. */
bool cmgi_level_smoother_first(const cmg_hierarchy *h, cmg_context *ctx,
                               const cmgi_level_options *options, const cmgi_level *fine);
cmg_status cmgi_level_smoother(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *level);
/* R S or R A of a level that has a smoother, where they are wanted and have fewer entries. */
cmg_status cmgi_level_fuse(cmg_hierarchy *h, cmg_context *ctx, int l,
                           const cmgi_level_options *options, cmgi_level *fine, cmgi_level *coarse);
void cmgi_level_clear(cmg_context *ctx, cmgi_level *level);
