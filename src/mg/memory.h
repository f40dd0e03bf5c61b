/* Bytes of a solver before it is built. */
#pragma once
#include "hierarchy/hierarchy.h"
#include "mg/schedule.h"

/* CMG_ERR_MEMORY when the device has less memory free than the solver, of which `begun` bytes are
 * there, is sure to need. */
cmg_status cmgi_memory_check(const cmg_hierarchy *h, const cmg_solver_options *options,
                             const cmgi_schedule *schedule, size_t begun);
