/* Options of a solver, for every command that builds one. */
#pragma once
#include "output.h"
#include "args.h"

/* Enumerations are read into integers, then taken over by solver_args_options. */
typedef struct solver_args {
    cmg_solver_options options;
    int krylov;
    int cycle;
    int precision;
    int format;
    int values;
    int dirichlet;
    int coarse;
    int loop;
} solver_args;

void solver_args_default(solver_args *s);
/* When to stop, and the outer iteration. */
void solver_args_add_iteration(args *a, solver_args *s);
/* Cycle, smoother, coarse solve and formats. */
void solver_args_add_cycle(args *a, solver_args *s);
/* The options after parsing; valid as long as `s`. */
const cmg_solver_options *solver_args_options(solver_args *s);
/* One line on the device memory that the solver will hold at least, before it is built. */
void solver_args_tell_memory(solver_args *s, const cmg_hierarchy *h, FILE *out);
/* "cg, V(1,1), jacobi, fp64"; returns text. */
const char *solver_args_describe(const solver_args *s, char text[128]);
