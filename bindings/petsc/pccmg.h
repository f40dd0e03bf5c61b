/*
 * PETSc's preconditioner type "cmg": one cycle of CascadeMG.
 *
 * Linked, or loaded by any PETSc program with -dll_append libpetsccmg.so, it answers to -pc_type
 * cmg. The levels come from, in this order,
 *
 * 1. interpolations given by PCCMGSetInterpolations(),
 *
 * 2. -pc_cmg_levels_from mg|gamg|...: the interpolations of that type of PC, set up on the same
 * operator with options of the prefix cmg_levels_ (-cmg_levels_pc_gamg_threshold 0.02),
 *
 * 3. the DM of the PC (KSPSetDM), coarsened -pc_cmg_levels times, or as often as it was refined,
 *
 * 4. the library, which aggregates where it can; else the matrix alone.
 *
 * Coarse matrices are R A P. Block size, null space and near null space of the matrix and
 * PCSetCoordinates' nodes go along. A matrix that changes its values and not its pattern keeps the
 * levels, formats and the cycle.
 *
 * -pc_cmg_options "smoother=fsai precision=mixed": options of the solver, those of `cmg solve`.
 *
 * With precision=mixed the cycle is linear up to the rounding of fp32: GMRES, which applies it once
 * more to what it has summed up, then ends at a true residual near 1e-7, -ksp_type fgmres and cg
 * at the one that is asked for.
 *
 * -pc_cmg_coarsen "classical interpolation=4": algebraic levels below those, by that method with
 * those options of `cmg coarsen`; without it the library says which. On one process.
 *
 * -pc_cmg_context "threads=1": options of the context; backend=cuda copies PETSc's vectors to the
 * device and back.
 *
 * On several processes (built with libcmgmpi) every matrix is taken by its rows and the iterations
 * are those of one. Then new values are a whole set-up, and PCMatApply goes column by column.
 */
#pragma once
#include <petscpc.h>

PETSC_EXTERN PetscErrorCode PCCreate_CMG(PC pc);
/* Registers the type; what -dll_append calls by this name. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petsccmg(void);
/* Prolongations, P[0] onto the finest level from the next; references are kept. */
PETSC_EXTERN PetscErrorCode PCCMGSetInterpolations(PC pc, PetscInt count, Mat P[]);
/* Options of the solver as text, "smoother=fsai precision=mixed"; as -pc_cmg_options. */
PETSC_EXTERN PetscErrorCode PCCMGSetOptions(PC pc, const char options[]);
