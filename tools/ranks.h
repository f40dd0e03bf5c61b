/* Work of several ranks, solves above all: threads of this process, or the processes that mpirun
 * has started. */
#pragma once
#include "device.h"

#include <cmg_ranks.h>

enum { RANKS_NOTES = 16, RANKS_NOTE = 160, RANKS_TEXT = 512 };

typedef struct ranks_job {
    /* what is solved, by all */
    int ranks; /* threads */
    const device_args *device;
    const cmg_solver_options *options;
    const cmg_hierarchy *whole; /* with b; NULL = every rank reads its rows of `path` */
    const double *b;
    const char *path;
    int repeat;
    /* results; x on every rank, allocated where there is no whole */
    double *x;
    cmg_size unknowns;
    int levels;
    char rhs[RANKS_NOTE]; /* which one of the file, in words */
    double *seconds;      /* repeat */
    double load_seconds;  /* of the slowest rank */
    size_t peak[2];       /* bytes of all ranks, on hosts and devices */
    cmg_report report;    /* of rank 0, its texts below */
    double *residuals;    /* iterations + 1, allocated */
    char note[RANKS_NOTES][RANKS_NOTE];
    int notes;
    char hint[RANKS_TEXT];
    char fallback[RANKS_TEXT];
    char precision[16];
    char link[96]; /* how messages went */
    char why[CMG_MESSAGE];
} ranks_job;

/* Whether ranks can read their rows of a file: a container. */
bool ranks_read(const char *path);
/* Processes that mpirun has started, 1 without it or without MPI in this build; *rank of them. */
int ranks_processes(int *rank);
/* EXIT_DONE, or a usage error where several processes were started and this is to be done by one:
 * a build without MPI, or with that of another mpirun. */
int ranks_check(int processes);
/* `task` on threads, or for 1 on the processes; the first failure is that of all, with its
 * sentence.
 */
cmg_status ranks_run(int ranks, cmg_rank_fn task, void *user, char why[CMG_MESSAGE]);
/* Options of a rank's context: its device, and one thread unless more are asked for. */
cmg_context_options ranks_context(const device_args *device, const cmg_transport *transport);
/* Solves; a failure on any rank is that of all, with its sentence in job->why. */
cmg_status ranks_solve(ranks_job *job);
/* The end of MPI, where there is one; `failed` ends the other processes, too. */
void ranks_end(bool failed, int status);
