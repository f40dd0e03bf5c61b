/*
 * Outer iterations in fp64, one of them with CG in lower precision inside. They see the matrix and
 * the preconditioner only as functions on arrays in the backend's memory, and keep every scalar
 * there, so that nothing waits for the device except the stopping test.
 */
#pragma once
#include "core/backend.h"
#include "core/memory.h"

/* A x = b with a preconditioner C; `user` is the caller's. All arrays have n rows of as many
 * values as there are columns, each of which is a system of its own. */
typedef struct cmgi_linear_system {
    cmg_context *ctx;
    cmg_size n;
    int columns; /* more than one: CG alone takes them */
    void *user;
    /* y = A x in precision p: fp64, and for defect correction that of C; and
     * *xy = x . y of every column in the backend's memory, NULL = not wanted; of one column *left
     * may get its parts instead, NULL = not wanted */
    cmg_status (*apply)(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left);
    /* The same in fp64 of one column, with p formed on the way, from p->before; *formed = false,
     * and nothing is done, where A cannot. NULL = it never can */
    cmg_status (*apply_formed)(void *user, const cmgi_direction *p, double *y, double *xy,
                               cmgi_addends *left, bool *formed);
    cmg_status (*residual)(void *user, const double *b, const double *x, double *r);
    /* The same of one column, with r in fp32 alone and the parts of (r, r) in fp64; none, and
     * nothing is done, where A cannot. NULL = it never can */
    cmg_status (*residual_rounded)(void *user, const double *b, const double *x, float *r,
                                   cmgi_addends *squares);
    /* Parts of (r, C r) of one column that the last precondition has left. NULL = never any */
    cmgi_addends (*left)(void *user);
    /* z = C r in C's own precision; NULL: z = r */
    cmg_status (*precondition)(void *user, const void *r, void *z);
    /* nested iteration in place of C in the first step of semi-iteration; NULL: C there, too */
    cmg_status (*nested)(void *user, const void *r, void *z);
    /* C or nested iteration and the step of semi-iteration of one column that takes z, which is not
     * stored; *taken = false, and nothing is done, where that cannot be; *notes: C notes the step
     * before, where that leaves the parts of (r, r). NULL = it never can */
    cmg_status (*stepped)(void *user, bool nested, const void *r, const cmgi_semi_update *step,
                          bool *taken, bool *notes);
    cmg_precision precision; /* of the vectors that C takes and gives */
    bool exact_rz;           /* CG takes (r, z) with r as it is, not as C is given it */
    bool recordable; /* the functions do nothing but backend operations: they may go into a graph */
} cmgi_linear_system;

/* When and how to iterate: the part of cmg_solver_options that an iteration looks at. */
typedef struct cmgi_iteration_options {
    cmg_krylov method;
    double rtol;
    double atol;
    double dtol;
    double inner_rtol; /* of one inner solve of defect correction */
    int max_it;
    int restart; /* vectors that FGMRES keeps */
    double low;  /* semi-iteration: the eigenvalues of C A are in low .. high, 0 < low */
    double high;
    cmg_loop loop;
    cmg_monitor_fn monitor; /* NULL = none; with one, the host waits for every iteration */
    void *monitor_user;
} cmgi_iteration_options;

/* The last two scalars belong to loop.c, the others to the methods. */
enum { CMGI_KRYLOV_VECTORS = 6, CMGI_KRYLOV_SCALARS = 12 };
/* The one that is 0 before the first step: what a method divides by to continue the last one. */
enum { CMGI_KRYLOV_OLD = 1 };

struct cmgi_krylov;
/* One iteration: enqueues work in the backend and decides nothing on the host. */
typedef cmg_status (*cmgi_step_fn)(struct cmgi_krylov *k);

/* A method; its scalars and vectors belong to it from start to finish. */
typedef struct cmgi_iteration {
    cmgi_step_fn start; /* before the first step, with r = b - A x in work[0]; NULL = nothing */
    cmgi_step_fn first; /* step in its place the first time; NULL = no difference */
    cmgi_step_fn step;
    cmgi_step_fn finish; /* before x is looked at, NULL = nothing; the next start then takes the
                            residual that was computed at the end, in work[scratch] = work[0] */
    bool exact;          /* the step's residual norm is computed from b, A and x */
    int vectors;         /* in fp64, of work[] */
    int scratch;         /* work vector of which a step takes nothing over from the last one */
    bool rounds;         /* semi-iteration: the first residual is wanted in C's precision alone */
    bool inner;          /* has x, r, p and q of a CG in C's precision, too */
    bool host;           /* decides on the host after all: never recorded */
    bool rests;          /* a step after the end leaves x and r as they are */
} cmgi_iteration;

extern const cmgi_iteration cmgi_cg;
extern const cmgi_iteration cmgi_merged;
extern const cmgi_iteration cmgi_fcg;
extern const cmgi_iteration cmgi_richardson;
extern const cmgi_iteration cmgi_defect;
extern const cmgi_iteration cmgi_fgmres;
extern const cmgi_iteration cmgi_bicgstab;
extern const cmgi_iteration cmgi_semi_iteration;

/* Work that is recorded: on which arrays. */
typedef struct cmgi_recording {
    void *graph; /* NULL = nothing */
    int steps;   /* behind each other; 0 = a loop */
    bool posts;  /* its end leaves the test in ctx->post */
    bool zero;
    const double *b;
    double *x;
} cmgi_recording;

/* From x to the end; from the next step on; one step. */
enum { CMGI_RECORD_WHOLE = 0, CMGI_RECORD_REST, CMGI_RECORD_STEP, CMGI_RECORDINGS };

/* The vectors of CG in one precision. */
typedef struct cmgi_cg_vectors {
    cmg_precision precision;
    void *x;
    void *r;
    void *p;
    void *q;
} cmgi_cg_vectors;

/* What FGMRES has built since its last restart (fgmres.c). */
typedef struct cmgi_arnoldi {
    int used;   /* columns */
    double **V; /* restart + 1 orthonormal vectors in the backend's memory */
    double **Z; /* restart images under C */
    double *H;  /* host: (restart + 1) x restart by columns, made upper triangular */
    double *cosine;
    double *sine;
    double *g;      /* right-hand side of the small problem, restart + 1 */
    double *column; /* a column of H in the backend's memory, restart + 2 */
} cmgi_arnoldi;

/* One column: how far it has come, or how it has ended. */
typedef struct cmgi_krylov_column {
    int iterations;
    int starts; /* from a true residual */
    cmg_outcome outcome;
    double rhs_norm;
    double residual; /* ||b - A x||, true once the iteration has ended */
    double *history; /* longest + 1 residual norms */
    double before;   /* residual at the last start, infinite before the first */
    bool goes_on;    /* it starts, or starts again */
    bool stepped;    /* it ran until the stopping test was looked at last */
} cmgi_krylov_column;

/* An iteration with its work vectors. */
typedef struct cmgi_krylov {
    cmgi_linear_system system;
    cmgi_iteration_options options;
    const cmgi_iteration *method;
    const double *b; /* of the loop that runs */
    double *x;
    bool watched; /* a rank has a monitor: the answers of all are looked at in every iteration */
    bool interrupted; /* by the monitor, in the last loop */
    const int *most;  /* iterations of each column; NULL = options.max_it */
    int patience;     /* as in cmgi_limits, 0 unless set */
    double pace;
    double range;                      /* as in cmgi_limits, by the precision of C */
    bool opening;                      /* the method's first step is still to come */
    bool zero;                         /* the guess is 0, and need not be in x */
    cmg_loop used;                     /* the loop of the last solve */
    double *work[CMGI_KRYLOV_VECTORS]; /* r, z, p, q */
    void *rounded;                     /* r in the precision of C: r itself where it has that */
    void *image;                       /* C r */
    cmgi_cg_vectors inner;             /* of defect correction */
    cmgi_arnoldi arnoldi;              /* of FGMRES */
    double *scalars;     /* CMGI_KRYLOV_SCALARS of each column in the backend's memory */
    int longest;         /* max_it that there is room for */
    cmgi_stop *stop;     /* stopping tests of all columns in the backend's memory */
    cmgi_limits *limits; /* of the loop that runs, likewise */
    cmgi_limits *given;  /* the host's copies of them */
    cmgi_stop *seen;
    cmgi_krylov_column *column;
    cmgi_recording recorded[CMGI_RECORDINGS];
    cmgi_recording last;  /* the vectors of the last solve, without a graph */
    bool again;           /* this one has them, too */
    int ahead;            /* steps still to be recorded one behind the other, 0 = no such */
    cmgi_addends squares; /* of the step before, if it is still to be noted */
    int took;             /* iterations of the last solve ... */
    int took_before;      /* ... and of the one before */
} cmgi_krylov;

/* Scalar i of column 0, beside which are those of the others. */
static inline double *cmgi_krylov_scalar(const cmgi_krylov *k, int i)
{
    return k->scalars + (cmg_size)i * k->system.columns;
}

/* Where what is recorded leaves the test at its end, so that the host need not fetch it. */
static inline cmgi_stop *cmgi_krylov_post(const cmgi_krylov *k)
{
    const cmg_context *ctx = k->system.ctx;
    return ctx->recording && ctx->group == NULL && k->system.columns == 1 ? ctx->post : NULL;
}

/* x is 0, and r is b, which need not be computed. */
static inline bool cmgi_krylov_from_zero(const cmgi_krylov *k)
{
    return k->zero && k->column->iterations == 0;
}

/* Puts the guess into x if it is 0. */
static inline cmg_status cmgi_krylov_take_zero(cmgi_krylov *k, double *x)
{
    const bool zero = k->zero;
    k->zero = false;
    return zero ? k->system.ctx->backend->fill(k->system.ctx, CMG_FP64, k->system.n, 0.0, x)
                : CMG_OK;
}

/* Values of a vector. */
static inline cmg_size cmgi_krylov_values(const cmgi_krylov *k)
{
    return k->system.n * k->system.columns;
}

cmg_status cmgi_krylov_create(const cmgi_linear_system *system,
                              const cmgi_iteration_options *options, cmgi_krylov **k);
void cmgi_krylov_destroy(cmgi_krylov **k);
/* Bytes of all vectors, for a C in the given precision. */
double cmgi_krylov_bytes(cmg_krylov method, cmg_precision precision, cmg_size n);
/*
 * Improves x until a stopping test holds, of every column; fills k->column. Solves the scaled
 * system where squares of b would leave fp64, or C's precision; of several columns such a one ends
 * with CMGI_STOP_SCALE, and x as it was.
 */
cmg_status cmgi_krylov_solve(cmgi_krylov *k, const double *b, double *x);
/* The same for `solve` around cmgi_krylov_iterate. */
typedef cmg_status (*cmgi_solve_fn)(void *user, const double *b, double *x);
cmg_status cmgi_krylov_scaled(cmgi_krylov *k, cmgi_solve_fn solve, void *user, const double *b,
                              double *x);
/* Without scaling: ends with CMGI_STOP_SCALE where that is wanted, and x as it was. */
cmg_status cmgi_krylov_iterate(cmgi_krylov *k, const double *b, double *x);
/* ||b||, and in_range[c] = false where b has to be scaled. */
cmg_status cmgi_krylov_look(cmgi_krylov *k, const double *b, bool *in_range);
/* Other limits, with room for the norms of max_it iterations; a monitor may have come or gone. */
cmg_status cmgi_krylov_limit(cmgi_krylov *k, const cmgi_iteration_options *limits);
/* Drops the recorded graphs: arrays or parameters of the system have changed. */
void cmgi_krylov_drop_graphs(cmgi_krylov *k);
/* A power of two that takes a size near 1, so that squares stay in range; it is normal, and so is
 * its inverse. */
double cmgi_to_one(double size);
/* ||v|| of a vector on the host, whose entries have any size; not a number or infinite as they are.
 */
double cmgi_host_norm(cmg_size n, const double *v);
/* Residual norm under which column c has converged. */
double cmgi_krylov_tolerance(const cmgi_krylov *k, int c);
/* ||b - A x|| / ||b||: 0 for b = 0, not a number where ||b|| overflows. */
double cmgi_krylov_relative(double residual, double rhs_norm);
/* Norms of the columns of a vector, on the host. */
cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm);

/* k->image = C k->rounded */
cmg_status cmgi_krylov_image(cmgi_krylov *k);
/* z = C r in fp64, rounded on the way into C and widened on the way out. */
cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z);
/* The same with another C of the same precision. */
cmg_status cmgi_krylov_convert(cmgi_krylov *k, cmg_status (*C)(void *user, const void *r, void *z),
                               void *user, const double *r, double *z);
/* By what a step of semi-iteration on low .. high reduces the error, in the long run. */
double cmgi_semi_rate(double low, double high);
/* Memory of FGMRES, but for its vectors. */
cmg_status cmgi_arnoldi_create(cmg_context *ctx, int restart, cmgi_arnoldi *a);
void cmgi_arnoldi_clear(cmg_context *ctx, int restart, cmgi_arnoldi *a);
/* One iteration of CG. */
cmg_status cmgi_cg_step(cmgi_krylov *k, const cmgi_cg_vectors *v);
/*
 * From x on, repeats k->method's step until the stopping tests (noted in k->stop once a step) have
 * ended all columns that go on; fills their outcome, iterations, history and norms.
 */
cmg_status cmgi_krylov_loop(cmgi_krylov *k, const double *b, double *x);
