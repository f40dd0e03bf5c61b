/* Options of a solver as the library takes them. */
#pragma once
#include "mg/schedule.h"

/* Checked options in full; NULL means the defaults. The reason of a refusal is in the context. */
cmg_status cmgi_solver_options_take(cmg_context *ctx, const cmg_solver_options *given,
                                    cmg_solver_options *own);
/* The schedule that the options ask for. */
cmg_status cmgi_solver_schedule(cmg_context *ctx, const cmg_solver_options *options,
                                cmgi_schedule *schedule);
