/*
 * A variable of a type scoped_... is destroyed where its block ends, the latest first; an array
 * from malloc that is declared `scoped` is freed at its end.
 */
#pragma once
#include "cmg.h"
#include "cmg_expert.h"

#include <stdlib.h>

#define scoped_by(destroy) __attribute__((cleanup(destroy)))
#define scoped scoped_by(scoped_free)
#define scoped_context scoped_by(cmg_context_destroy) cmg_context
#define scoped_vector scoped_by(cmg_vector_destroy) cmg_vector
#define scoped_hierarchy scoped_by(cmg_hierarchy_destroy) cmg_hierarchy
#define scoped_solver scoped_by(cmg_solver_destroy) cmg_solver
#define scoped_matrix scoped_by(cmg_matrix_destroy) cmg_matrix

static inline void scoped_free(void *array)
{
    free(*(void **)array);
}
