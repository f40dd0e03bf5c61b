/*
 * Outer iterations in fp64, one of them with CG in lower precision inside. They see the matrix and
 * the preconditioner only as functions on arrays in the backend's memory, and keep every scalar
 * there, so that nothing waits for the device except the stopping test.
 */
#pragma once
#include "core/backend.h"
#include "core/memory.h"

/* y = A x, r = b - A x, z = C r; `user` is the caller's. All arrays have n entries, in fp64 where
 * nothing else is said. */
typedef struct cmgi_linear_system {
    cmg_context *ctx;
    cmg_size n;
    void *user;
    cmg_status (*apply)(void *user, const double *x, double *y);
    cmg_status (*residual)(void *user, const double *b, const double *x, double *r);
    cmg_status (*precondition)(void *user, const double *r, double *z); /* NULL: z = r */
    /* y = A x and *xy = x . y in the backend's memory; NULL = apply and an inner product */
    cmg_status (*apply_dot)(void *user, const double *x, double *y, double *xy);
    /* y = A x, for defect correction, and z = C r, for CG too, in the precision `low` that C works
     * in. NULL = it cannot be had, and z = r */
    cmg_precision low;
    cmg_status (*apply_low)(void *user, const void *x, void *y);
    cmg_status (*precondition_low)(void *user, const void *r, void *z);
    bool recordable; /* the functions do nothing but backend operations: they may go into a graph */
} cmgi_linear_system;

/* the last two scalars belong to repeat.c, the others to the methods */
enum { CMGI_KRYLOV_VECTORS = 4, CMGI_KRYLOV_SCALARS = 8 };
/* Defect correction has these of the four, and others in low precision. */
enum { CMGI_DEFECT_VECTORS = 2, CMGI_LOW_VECTORS = 5 };
/* Where the steps of CG and its kin keep the denominator of beta; 0 there makes p = z. */
enum { CMGI_CG_DENOMINATOR = 1 };

struct cmgi_krylov;
/* One iteration: enqueues work in the backend and decides nothing on the host. */
typedef cmg_status (*cmgi_step_fn)(struct cmgi_krylov *k, const double *b, double *x);

typedef struct cmgi_iteration {
    cmgi_step_fn start; /* before the first step, with r = b - A x in work[0]; NULL = nothing */
    cmgi_step_fn step;
    cmgi_step_fn finish; /* before x is looked at, NULL = nothing; the next start then takes the
                            residual that was computed at the end, in work[spare] = work[0] */
    bool freezes;        /* once k->stop->running is 0 the step leaves x as it is */
    bool exact;          /* the step's residual norm is computed from b, A and x */
    int spare;           /* work vector of which a step takes nothing over from the last one */
} cmgi_iteration;

extern const cmgi_iteration cmgi_cg;
extern const cmgi_iteration cmgi_fcg;
extern const cmgi_iteration cmgi_richardson;
extern const cmgi_iteration cmgi_defect;

/* Work that is recorded: for which iteration on which arrays, and how it is repeated. */
typedef struct cmgi_recording {
    void *graph; /* NULL = nothing */
    cmg_loop loop;
    const cmgi_iteration *method;
    const double *b;
    double *x;
} cmgi_recording;

/* From x to the end; from the next step on. */
enum { CMGI_RECORD_WHOLE = 0, CMGI_RECORD_REST, CMGI_RECORDINGS };

/* An iteration with its work vectors. */
typedef struct cmgi_krylov {
    cmgi_linear_system system;
    double rtol;
    double atol;
    double dtol;
    double gain; /* of one inner solve of defect correction */
    int max_it;
    int patience;                      /* as in cmgi_limits, 0 unless set */
    cmg_loop loop;                     /* wanted */
    cmg_loop used;                     /* the one of the last solve */
    double *work[CMGI_KRYLOV_VECTORS]; /* r, z, p, q; z holds r and z in fp32 where C works in it */
    void *low[CMGI_LOW_VECTORS];       /* c, r, z, p, q in low precision, or NULL */
    double *scalars;                   /* CMGI_KRYLOV_SCALARS in the backend's memory */
    double *history;                   /* host: max_it + 1 residual norms */
    cmgi_stop *stop;                   /* stopping test in the backend's memory */
    cmgi_stop seen;                    /* the host's copy of it */
    cmgi_recording recorded[CMGI_RECORDINGS];
    const cmgi_iteration *method;
    int iterations;
    int starts; /* from a true residual */
    cmg_outcome outcome;
    double rhs_norm;
    double residual; /* ||b - A x||, true once the iteration has ended */
} cmgi_krylov;

cmg_status cmgi_krylov_create(const cmgi_linear_system *system, const cmg_solver_options *options,
                              cmgi_krylov **k);
void cmgi_krylov_destroy(cmgi_krylov **k);
/* Improves x until a stopping test holds; fills outcome, iterations, history and norms. */
cmg_status cmgi_krylov_solve(cmgi_krylov *k, cmg_krylov method, const double *b, double *x);

/* Drops the recorded graphs: arrays or parameters of the system have changed. */
void cmgi_krylov_forget(cmgi_krylov *k);

/* Forgets, too, that C and what is low have been in fp32: they are in fp64 from now on. */
void cmgi_krylov_raise(cmgi_krylov *k);

/* True when C takes and gives vectors in fp32, which CG then spares the conversions of. */
bool cmgi_krylov_single(const cmgi_krylov *k);
/* What CG and its kin start with. */
cmg_status cmgi_cg_start(cmgi_krylov *k, const double *b, double *x);
/* Norm of the vector on the host. */
cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm);
/* z = C r, or z = r without a preconditioner. */
cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z);
/* Residual norm under which the iteration has converged. */
double cmgi_krylov_tolerance(const cmgi_krylov *k);
/*
 * From x on, repeats k->method's step until its stopping test (backend->stop_note on k->stop, once
 * a step) ends it; fills outcome, iterations, history and norms.
 */
cmg_status cmgi_krylov_repeat(cmgi_krylov *k, const double *b, double *x);
