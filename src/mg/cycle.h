/*
 * The cycle as a flat list of steps, each one product with a fused write-back:
 *
 *     out <- writeback(A in; b, c, d, e)
 *
 * Vectors are numbered; every step writes a new number (static single assignment), so that passes
 * over the list can reason about them. The last pass, pass_buffers.c, maps numbers to buffers.
 *
 *   build     cycle_build.c   one recursion for V, W, F and nested iteration
 *   improve   pass_*.c        one file each
 *   run       cycle.c         a loop over the list
 */
#pragma once
#include "mg/level.h"

struct cmgi_chain;

enum { CMGI_NONE = -1, CMGI_STEP_TEXT = 192 };

typedef enum cmgi_step_kind {
    CMGI_STEP_PRODUCT = 0, /* out = writeback(A in) */
    CMGI_STEP_ZERO,        /* out = 0 */
    CMGI_STEP_DOWN,        /* x = smoothing of 0 for b, out = R (b - A x), see pass_halves.c */
    CMGI_STEP_UP,          /* out = smoothing of in + P c for b */
    /* a product over several ranks, see pass_exchange.c */
    CMGI_STEP_START,
    CMGI_STEP_ROWS,
    CMGI_STEP_END,
    CMGI_STEP_GATHER
} cmgi_step_kind;

typedef struct cmgi_step {
    cmgi_step_kind kind;
    cmgi_wb_kind writeback;
    const cmg_matrix *A;
    const cmg_matrix *D; /* JACOBI, MOMENTUM, FROM_ZERO: the diagonal matrix D^-1 whose values are
                            the functor's d; NULL in a MOMENTUM that adds A in itself */
    const char *name;    /* "A", "P", "R", "M", "RA", "RS", "inverse", "collapsed" */
    int level;           /* level the matrix belongs to */
    double alpha;
    double beta;
    int in;
    int b;
    int c;
    int e;
    int out;
    int chain;      /* this and so many - 1 after it are run as one (pass_chain.c); 0 = it alone */
    bool passed;    /* in a chain: the result is only passed on */
    double scale;   /* in a chain: of P or R over interpolation */
    double seconds; /* measured, median; -1 = not yet */
    const struct cmgi_halves *halves; /* DOWN, UP: of the level; alpha and beta are their factors */
    int stages;                       /* DOWN, UP: of smoothing, 1 or 2 */
    bool split; /* DOWN, UP: planes that need others' follow the start beside those that do not */
    int also;   /* DOWN: x, which is written too; else CMGI_NONE */
} cmgi_step;

/* A numbered vector of the list. */
typedef struct cmgi_value {
    cmg_size n;
    int level;
    char letter; /* x, b, r or t, for people */
    cmg_precision precision;
    int buffer; /* CMGI_NONE before pass_buffers and for the external input and output */
} cmgi_value;

typedef struct cmgi_cycle {
    cmg_context *ctx;
    cmgi_step *steps;
    int nsteps;
    cmgi_value *values;
    int nvalues;
    int columns;    /* of every vector */
    int input;      /* value that holds the given right-hand side */
    int output;     /* value that holds the result */
    void **buffers; /* backend memory, shared by values whose lives do not overlap */
    size_t *buffer_bytes;
    int nbuffers;
    void *ring; /* of chains, for so many parts */
    int parts;
    double *dots;       /* of (r, z): what the last step leaves of it, NULL = nothing */
    cmgi_addends left;  /* there */
    void *graph;        /* the list as a graph from seen_r to seen_z, NULL = not recorded */
    const void *seen_r; /* arrays of the last launch */
    void *seen_z;
    const cmgi_semi_update *step; /* that is taken with z in place of storing it, while it runs */
    int notes;                    /* step beside which that before is noted, or CMGI_NONE */
} cmgi_cycle;

/* What a cycle is built from. */
typedef struct cmgi_cycle_plan {
    const cmgi_level *levels;
    int first;   /* level whose cycle this is */
    int nlevels; /* the last one, nlevels - 1, is solved by `coarse` or smoothed */
    const cmg_matrix *coarse;
    const char *coarse_name; /* "inverse" or "collapsed" */
    bool coarse_exact;       /* a second visit changes nothing */
    int coarse_steps;        /* smoothing steps where coarse is NULL */
    cmg_cycle shape;
    bool fmg;
    int opening; /* level of nested iteration that one cycle from zero solves; 0 = the last one */
    int pre;
    int post;
    cmg_precision precision; /* of the cycle */
    int columns;             /* of every vector; 0 and 1 are one */
    bool fuse;               /* run the passes ... */
    bool plain;              /* ... those alone that need no other matrices or kernels */
} cmgi_cycle_plan;

/* Builds the list from the input on level `first` to the output, and allocates its buffers. */
cmg_status cmgi_cycle_create(cmg_context *ctx, const cmgi_cycle_plan *plan, cmgi_cycle **cycle);
void cmgi_cycle_destroy(cmgi_cycle **cycle);
/*
 * z = C r, `user` a cycle; arrays in its precision and in the backend's memory, in the numbering of
 * the level; z may not be r.
 */
cmg_status cmgi_cycle_run(void *user, const void *r, void *z);
/*
 * z = C r, and the step of semi-iteration that takes z, which is not stored; *taken = false, and
 * nothing is done, where the last step of the list cannot. step->squares where the cycle `notes`.
 */
cmg_status cmgi_cycle_run_step(cmgi_cycle *cycle, const void *r, const cmgi_semi_update *step,
                               bool *taken);
bool cmgi_cycle_takes_step(const cmgi_cycle *cycle);
/* Precision of r and z. */
cmg_precision cmgi_cycle_precision(const cmgi_cycle *cycle);
/*
 * The same in one launch where the backend has graphs: the second call with the same arrays records
 * the list, further ones replay it. Not while something else is recorded.
 */
cmg_status cmgi_cycle_launch(void *user, const void *r, void *z);
/* Drops the recorded graph. */
void cmgi_cycle_drop_graph(cmgi_cycle *cycle);
/* One step of the list. */
cmg_status cmgi_cycle_step(cmgi_cycle *cycle, int step, const void *r, void *z);
/* Formula of a step, e.g. "x0 <- x0 + P0 x1". */
void cmgi_cycle_text(const cmgi_cycle *cycle, const cmgi_step *step, char text[CMGI_STEP_TEXT]);
/* Bytes that a step moves. */
size_t cmgi_cycle_step_bytes(const cmgi_cycle *cycle, const cmgi_step *step);

/* Used by the builder and the passes. */
/* True when the step reads the value, as in, b, c or e. */
bool cmgi_step_reads(const cmgi_step *step, int value);
/* How many steps read a value. */
int cmgi_cycle_readers(const cmgi_cycle *cycle, int value);
/* A step that reads and writes nothing; compact takes such ones out of the list. */
cmgi_step cmgi_step_none(void);
void cmgi_cycle_compact(cmgi_cycle *cycle);
/* Bytes of all columns of a value. */
size_t cmgi_value_bytes(const cmgi_cycle *cycle, const cmgi_value *value);
cmg_status cmgi_cycle_build(cmgi_cycle *cycle, const cmgi_cycle_plan *plan);
cmg_status cmgi_pass_zero(cmgi_cycle *cycle);
void cmgi_pass_jacobi(cmgi_cycle *cycle);
/* Looks whether halves of a cycle on level l can be one step each; h = NULL: where A is stored as a
 * box. */
cmg_status cmgi_level_halves(cmg_context *ctx, cmg_hierarchy *h, int l, cmgi_level *level);
/* The same of a divided level; collective. */
cmg_status cmgi_level_halves_divided(cmg_context *ctx, const cmgi_divided *levels, int l,
                                     cmgi_level *level);
void cmgi_pass_halves(cmgi_cycle *cycle, const cmgi_level *levels);
void cmgi_pass_presmooth(cmgi_cycle *cycle, const cmgi_level *levels);
void cmgi_pass_restrict(cmgi_cycle *cycle, const cmgi_level *levels);
void cmgi_pass_chain(cmgi_cycle *cycle);
cmg_status cmgi_pass_buffers(cmgi_cycle *cycle, bool share);
cmg_status cmgi_pass_exchange(cmgi_cycle *cycle, const cmgi_level *levels);
/* Memory of all chains; what is passed on in them. */
cmg_status cmgi_chain_reserve(cmgi_cycle *cycle);
/* The chain of steps from `first` on, with their vectors. */
void cmgi_chain_of(const cmgi_cycle *cycle, int first, const cmgi_writeback *w,
                   const void *const *in, struct cmgi_chain *chain);
