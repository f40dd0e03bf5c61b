/* A batch: what its systems share, compiled from a solver, and what they have of their own. */
#pragma once
#include "mg/batch.h"
#include "mg/solver.h"

enum { CMGI_BATCH_HELD = 24 * CMGI_BATCH_LEVELS };

struct cmg_batch {
    cmg_context *ctx;
    atomic_flag busy; /* set while a call works with what follows */
    cmgi_batch_plan plan;
    void *held[CMGI_BATCH_HELD]; /* arrays of the plan, in the backend's memory */
    int holds;
    int teams;                 /* most that work at a time */
    double *own_values;        /* the solver's, NULL = the caller's, borrowed */
    cmg_size work_solve;       /* bytes of a team's work space */
    cmg_size work_set_up;      /* the same in a set-up */
    bool ready;                /* the systems are set up */
    cmg_size solved;           /* systems of the last solve */
    cmgi_batch_result *result; /* of these, on the host */
    cmg_report report;
    char hint[CMGI_HINT];
};

/* Room for an array behind what is reserved; where it begins, in bytes. */
static inline cmg_size cmgi_batch_reserve(cmg_size *bytes, cmg_size count, size_t size)
{
    const cmg_size at = *bytes;
    *bytes += (count * (cmg_size)size + 63) / 64 * 64;
    return at;
}

/*
 * The plan without systems: patterns of all levels, P and R, terms of A P and R A P, the step list
 * and the layouts. What is held is freed by the caller, also after a failure.
 *
 * @return CMG_ERR_UNSUPPORTED where a cycle of the solver's cannot be a team's
 */
cmg_status cmgi_batch_compile(cmg_solver *s, cmg_batch *batch);

/* batch_slices.c */

/* Moves an array of cmgi_alloc, *array, to the backend's memory, where the batch holds it as *held;
 * *array becomes NULL. NULL stays NULL. */
cmg_status cmgi_batch_hold(cmg_batch *batch, void *array, cmg_size count, size_t size, void *held);
/* The slots of a matrix, of its diagonal only where that is wanted, by distances where that pays;
 * *entry has 64 numbers a pair, the entry in each slot or -1, on the host, for the caller to free.
 */
cmg_status cmgi_batch_slice(cmg_batch *batch, const cmg_csr *A, bool diagonal, cmgi_batch_slices *M,
                            int **entry);
/* Terms of the values of C = A B for new values of A, or, where A is known, of B. */
cmg_status cmgi_batch_multiply(cmg_batch *batch, const cmg_csr *A, const cmg_csr *B,
                               const cmg_csr *C, bool left, cmgi_batch_terms *T);
