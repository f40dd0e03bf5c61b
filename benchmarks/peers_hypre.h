/* What the benchmarks of hypre share: the problem, where its arrays are, the line that is printed.
 */
#pragma once
#include "bench.h"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_config.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_struct_ls.h>
#include <cmg_fem.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef HYPRE_USING_CUDA
#include <cuda_runtime.h>
#endif

#ifdef HYPRE_SEQUENTIAL
static const MPI_Comm WORLD = 0;
#else
#define WORLD MPI_COMM_WORLD
#endif
_Static_assert(sizeof(HYPRE_BigInt) == sizeof(cmg_index), "hypre with 32-bit indices");

enum { RTOL_EXPONENT = -8, MOST = 200 };

typedef struct problem {
    int cells, p1, smg, drop, relax, repeat, rank, processes;
    double distort;
    const char *command;
    cmg_csr A; /* all of it in every process */
    int first; /* own rows [first, last) */
    int last;
    double *x; /* on the host, all rows */
} problem;

typedef struct result {
    const char *solver;
    char options[128];
    double setup;
    double solve;
    HYPRE_Int iterations;
} result;

/* Seconds, once the device is done. */
double hypre_now(void);
/* A copy where hypre works. */
void *hypre_there(const void *from, size_t bytes);
/* Copies back (to = NULL: does not) and frees. */
void hypre_back(void *from, void *to, size_t bytes);
/* The line of a result, with the own rows of x in p->x. */
void hypre_print(problem *p, const result *r);
/* CG around PFMG, and around SMG where asked for, on the uniform grid. */
void hypre_on_grid(problem *p);
