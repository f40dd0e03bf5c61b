/* What the files of the preconditioner share. */
#pragma once
#include "pccmg.h"

#include <cmg.h>
#include <petsc/private/pcimpl.h>
#include <petscdm.h>
#include <petscksp.h>

#ifdef PETSC_USE_COMPLEX
#error "CascadeMG is real: take a PETSc of real scalars, with [[Re, -Im], [Im, Re]] for a complex A"
#endif

enum { PC_CMG_LEVELS = 32 };

typedef struct PC_CMG {
    char options[1024];
    char context[256];    /* options of the context: "threads=1 backend=cuda" */
    char levels_from[64]; /* "" or a type of PC that has interpolations */
    char coarsen[256];    /* "" or a method of algebraic levels, and options of theirs */
    PetscInt levels;      /* of a DM; 0 = as many as it has */
    PetscInt count;       /* interpolations */
    PetscInt given;       /* of them, by PCCMGSetInterpolations */
    Mat P[PC_CMG_LEVELS];
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *solver;
    cmg_vector *r; /* on a device, where PETSc's vectors are copied to; NULL on the CPU */
    cmg_vector *z;
    PetscInt dim; /* of the coordinates given to PCSetCoordinates, 0 = none */
    PetscInt nodes;
    PetscReal *coordinates; /* nodes x dim */
    PetscMPIInt ranks;
    void *transport;    /* cmg_transport, NULL on one rank */
    PetscInt rows;      /* of this process */
    PetscInt nonzeros;  /* of them */
    PetscInt refreshes; /* set-ups that took new values alone */
} PC_CMG;

/* A status of the library as PETSc's error, with the library's sentence. */
PetscErrorCode pccmg_check(PC pc, cmg_status status);

/* levels.c: fills data->P from where the options say, */
PetscErrorCode pccmg_find_levels(PC pc);
/* the matrix as SeqAIJ of this process: itself or a copy, */
PetscErrorCode pccmg_local_aij(Mat A, Mat *local);
/* a matrix into a role of the hierarchy, */
PetscErrorCode pccmg_set_matrix(PC pc, int level, cmg_role role, Mat A);
/* and block size, null spaces and coordinates of the finest one. */
PetscErrorCode pccmg_set_facts(PC pc, Mat A);
/* Levels below these by data->coarsen, where that says something. */
PetscErrorCode pccmg_coarsen(PC pc);
