/* Options of a solver as the library takes them. */
#pragma once
#include "cmg.h"
#include "krylov/krylov.h"
#include "mg/schedule.h"

/* Checked options in full; NULL means the defaults. The reason of a refusal is in the context. */
cmg_status cmgi_solver_options_take(cmg_context *ctx, const cmg_solver_options *given,
                                    cmg_solver_options *own);
/* The same on all ranks, which have to have been given the same; collective. */
cmg_status cmgi_solver_options_agree(cmg_context *ctx, const cmg_solver_options *own);
/* Precision auto of a solver of n rows on all ranks becomes what it takes. */
void cmgi_solver_choose_precision(cmg_solver_options *o, double n);
/* The schedule that the options ask for. */
cmg_status cmgi_solver_schedule(cmg_context *ctx, const cmg_solver_options *options,
                                cmgi_schedule *schedule);
/* What an outer iteration by `method` looks at. */
cmgi_iteration_options cmgi_solver_iteration(const cmg_solver_options *o, cmg_krylov method);
