/*
 * Levels of hypre's BoomerAMG in memory: set it up with hypre, solve with CascadeMG.
 *
 *   HYPRE_BoomerAMGSetup(amg, A, b, x);
 *   cmg_hierarchy_from_hypre(ctx, amg, &h);        matrices and interpolations are copied
 *   cmg_solver_create(h, NULL, &solver);
 *
 * One process of MPI, real double precision, 32-bit indices, host memory.
 */
#pragma once
#include <HYPRE_parcsr_ls.h>
#include <cmg.h>

/**
 * @param[in] amg  a BoomerAMG solver that is set up; it may be destroyed afterwards
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_STATE (not set up), CMG_ERR_UNSUPPORTED (several processes),
 *         CMG_ERR_MEMORY
 */
cmg_status cmg_hierarchy_from_hypre(cmg_context *ctx, HYPRE_Solver amg, cmg_hierarchy **h);
