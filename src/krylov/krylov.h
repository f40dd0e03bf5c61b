/*
 * Outer iterations in fp64. They see the matrix and the preconditioner only as functions on arrays
 * in the backend's memory, and keep every scalar there, so that nothing waits for the device
 * except the stopping test.
 */
#pragma once
#include "core/backend.h"
#include "core/memory.h"

/* y = A x, r = b - A x, z = C r; `user` is the caller's. All arrays have n entries in fp64. */
typedef struct cmgi_linear_system {
    cmg_context *ctx;
    cmg_size n;
    void *user;
    cmg_status (*apply)(void *user, const double *x, double *y);
    cmg_status (*residual)(void *user, const double *b, const double *x, double *r);
    cmg_status (*precondition)(void *user, const double *r, double *z); /* NULL: z = r */
    bool recordable; /* the functions do nothing but backend operations: they may go into a graph */
} cmgi_linear_system;

enum { CMGI_KRYLOV_VECTORS = 4, CMGI_KRYLOV_SCALARS = 8 };
/* Where the steps of CG and its kin keep the denominator of beta; 0 there makes p = z. */
enum { CMGI_CG_DENOMINATOR = 1 };

struct cmgi_krylov;
/* One iteration: enqueues work in the backend and decides nothing on the host. */
typedef cmg_status (*cmgi_step_fn)(struct cmgi_krylov *k, const double *b, double *x);

typedef struct cmgi_iteration {
    cmgi_step_fn step;
    bool freezes; /* once k->stop->running is 0 the step leaves x as it is */
} cmgi_iteration;

/* How the iterations of a recordable system are run where the backend has graphs. */
typedef enum cmgi_repeat_mode {
    CMGI_REPEAT_LOOP = 0, /* one graph that repeats itself until the stopping test holds; default */
    CMGI_REPEAT_BLOCKS,   /* a graph of one iteration, launched in blocks of a guessed length */
    CMGI_REPEAT_HOST      /* the host waits for the norm of every iteration; always on the CPU */
} cmgi_repeat_mode;

/* An iteration with its work vectors. */
typedef struct cmgi_krylov {
    cmgi_linear_system system;
    double rtol;
    double atol;
    double dtol;
    int max_it;
    double *work[CMGI_KRYLOV_VECTORS]; /* r, z, p, q */
    double *scalars;                   /* CMGI_KRYLOV_SCALARS in the backend's memory */
    double *history;                   /* host: max_it + 1 residual norms */
    cmgi_stop *stop;                   /* stopping test in the backend's memory */
    cmgi_stop seen;                    /* the host's copy of it */
    cmgi_repeat_mode mode;
    void *graph; /* NULL until the first iteration is recorded */
    cmgi_repeat_mode graph_mode;
    cmgi_step_fn graph_step; /* what is recorded, for which arrays */
    const double *graph_b;
    double *graph_x;
    int iterations;
    cmg_outcome outcome;
    double rhs_norm;
    double residual; /* ||b - A x||, true */
    bool exact;      /* the method left `residual` as computed from b, A and the last x */
} cmgi_krylov;

cmg_status cmgi_krylov_create(const cmgi_linear_system *system, const cmg_solver_options *options,
                              cmgi_krylov **k);
void cmgi_krylov_destroy(cmgi_krylov **k);
/* Improves x until a stopping test holds; fills outcome, iterations, history and norms. */
cmg_status cmgi_krylov_solve(cmgi_krylov *k, cmg_krylov method, const double *b, double *x);

/* Drops the recorded graph: arrays or parameters of the system have changed. */
void cmgi_krylov_forget(cmgi_krylov *k);

/* Used by the methods. */
cmg_status cmgi_cg(cmgi_krylov *k, const double *b, double *x);
cmg_status cmgi_fcg(cmgi_krylov *k, const double *b, double *x);
cmg_status cmgi_richardson(cmgi_krylov *k, const double *b, double *x);
/* CG around a step of its own: runs it to the tolerance, and again from the true residual where the
 * recursive one was too small. */
cmg_status cmgi_cg_repeat(cmgi_krylov *k, cmgi_step_fn one, const double *b, double *x);
/* Norm of the vector on the host. */
cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm);
/* z = C r, or z = r without a preconditioner. */
cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z);
/* Residual norm under which the iteration has converged. */
double cmgi_krylov_tolerance(const cmgi_krylov *k);
/*
 * Repeats the step until its stopping test (backend->stop_note on k->stop, once a step) ends it;
 * fills outcome, iterations, history and residual.
 */
cmg_status cmgi_krylov_repeat(cmgi_krylov *k, const cmgi_iteration *it, const double *b, double *x);
/* The stopping test before the next iteration. */
void cmgi_krylov_limits(const cmgi_krylov *k, cmgi_stop *stop);
/* Notes a residual norm after k->iterations iterations; true when the iteration has to stop. */
bool cmgi_krylov_stops(cmgi_krylov *k, double residual);
