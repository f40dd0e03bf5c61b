/* Options of a solver, for every command that builds one: the rows of the library's table. */
#pragma once
#include "output.h"
#include "args.h"

typedef struct solver_args {
    cmg_solver_options options;
    arg_call read; /* --options */
} solver_args;

void solver_args_default(solver_args *s);
/* When to stop, and the outer iteration. */
void solver_args_add_iteration(args *a, solver_args *s);
/* Cycle, smoother, coarse solve and formats; and --options, which reads any of them from a file. */
void solver_args_add_cycle(args *a, solver_args *s);
/* One line on the device memory that the solver will hold at least, before it is built. */
void solver_args_print_memory(const solver_args *s, const cmg_hierarchy *h, FILE *out);
/* "cg, V(1,1), jacobi, fp64"; returns text. */
const char *solver_args_describe(const solver_args *s, char text[128]);
