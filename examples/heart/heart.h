/*
 * The parts of the program:
 *
 *   options.c   words of the command line
 *   mesh.c      mesh from a file or made here, its order, refinement, fibres
 *   setup.c     stimuli, what cells keep, vectors
 *   cells.c     work on all cells and nodes on the CPU; cells.cu on a GPU
 *   linear.c    K dphi = -R: CG with Jacobi, or a multigrid solver
 *   step.c      Newton's iteration, the time step
 *   output.c    VTU series, activation map, summary
 *   state.c     checkpoints
 *   heart.c     main, the loop over time
 */
#pragma once
#include "model.h"

#include <cmg.h>
#include <cmg_fem.h>

#include <stdio.h>

enum { MAX_LEVELS = 8, MAX_PATH = 2048 };

typedef struct stimulus {
    double box[6]; /* cells whose centre is in x0 x1 y0 y1 z0 z1, mm */
    double start;  /* ms */
    double duration;
    double current; /* 1 / ms, of phi */
} stimulus;

/* Rows of options.c tell the rest. */
typedef struct heart_options {
    size_t size;         /* of the struct, as in all that cmg_option_set fills */
    char mesh[MAX_PATH]; /* file; "": */
    double slab[4];      /* cells along x, y, z, edge in mm; 0: */
    double square[3];    /* cells along x, y, edge */
    int refine;
    char fibres[MAX_PATH];
    double diso; /* mm^2 / ms */
    double dani;
    char stimulus[MAX_PATH];           /* the last one, or the default */
    const char *protocol[MAX_STIMULI]; /* all, as given; what they mean depends on the mesh */
    int protocols;
    double time; /* ms */
    double dt;   /* largest step, and the first */
    bool fixed;
    char output[MAX_PATH / 2];
    double every;
    double checkpoint;
    bool restart;
    char solver[512];
    char format[64];
    int refresh; /* of a solver's set-up: 0 never, 1 once a time step, 2 a Newton step */
    bool profile;
    double newton_rtol;
    double linear_rtol[2]; /* of the first Newton step of a time step, of later ones */
    char dump[MAX_PATH / 2];
    long long dump_step;
    bool quiet;
    cmg_context_options context;
} heart_options;

/* Work on arrays where they are: one table for the CPU, one for CUDA. */
typedef struct kernels {
    int (*open)(void **stream); /* a stream for the context, NULL on the CPU */
    int (*upload)(void *stream, void *to, const void *from, size_t bytes);
    int (*cells)(void *stream, int corners, const cell_arrays *c);
    int (*divide)(void *stream, long long n, const double *x, const double *d, double *y);
    int (*activate)(void *stream, long long n, const double *const phi[2], const double time[2],
                    double *activation);
} kernels;
extern const kernels kernels_cpu;
#ifdef HEART_CUDA
#ifdef __cplusplus
extern "C" const kernels kernels_cuda;
#else
extern const kernels kernels_cuda;
#endif
#endif

/* Where the seconds of a run went. */
typedef struct seconds {
    double cells;   /* element work */
    double sums;    /* products with sum matrices */
    double prepare; /* preconditioner */
    double solve;
    double output;
    double total;
} seconds;

typedef struct counts {
    long long steps;
    long long rejected;
    long long newton;
    long long iterations; /* of CG */
} counts;

typedef struct newton_step {
    int number; /* from 0 in every time step */
    double dt;
    double enough; /* norm of a residual that is small enough */
} newton_step;

typedef struct linear linear;

typedef struct heart {
    const heart_options *o;
    cmg_context *ctx;
    const kernels *k;
    void *stream;
    int levels;
    cmg_fem_mesh mesh; /* the finest */
    cmg_csr P[MAX_LEVELS];
    int corners;
    double *fibre; /* cells x 3, NULL = none */
    stimulus stimuli[MAX_STIMULI];
    int nstimuli;
    cmg_fem_sum *sum;
    /* in the context's memory */
    cmg_vector *nodes;      /* 32-bit numbers in it */
    cmg_vector *stimulated; /* bytes in it */
    cmg_vector *volume;
    cmg_vector *stiffness;
    cmg_vector *phi;
    cmg_vector *phi_old[3]; /* the last ones, newest first */
    cmg_vector *r;
    cmg_vector *r_old;
    cmg_vector *activation;
    cmg_vector *matrix; /* of the cells */
    cmg_vector *residuals;
    cmg_vector *diagonals;
    cmg_vector *b; /* -R */
    cmg_vector *dphi;
    cmg_vector *diagonal;
    linear *solver;
    double scale; /* norm of the nodes' volumes */
    double t;
    double taken[2]; /* last time steps, newest first */
    int past;        /* of phi_old, how many behind the newest count: 0 .. 2 */
    double dt;       /* of the next step, before events shorten it */
    counts count;
    seconds spent;
} heart;

/* False: `why` says what is wrong. */
bool options_parse(heart_options *o, int argc, char **argv, char why[CMG_MESSAGE]);
void options_help(void);

cmg_status mesh_make(heart *h); /* mesh, P, fibres */
void mesh_free(heart *h);
void mesh_centre(const cmg_fem_mesh *mesh, cmg_size cell, double x[3]);
cmg_status mesh_setup(heart *h); /* stimuli, sum matrix, vectors */
/* An array of the host where the context's are. */
cmg_status send(heart *h, const void *data, size_t bytes, cmg_vector **there);
void heart_free(heart *h);

cmg_status linear_create(heart *h);
void linear_destroy(heart *h);
cmg_status linear_prepare(heart *h, const newton_step *step); /* K from the cells' matrices */
cmg_status linear_solve(heart *h, const newton_step *step, double *norm);

cmg_status cells_newton(heart *h, double dt); /* cells' parts, and b = -R */
cmg_status step_advance(heart *h, double until);
double step_next_event(const heart *h);

/* Picture of the present, and the list of all so far. */
cmg_status output_picture(heart *h);
cmg_status output_activation(heart *h);
cmg_status output_summary(heart *h, bool interrupted);
cmg_status output_dump(heart *h);

cmg_status state_write(heart *h);
cmg_status state_read(heart *h);

double now(void);         /* seconds */
void *room(size_t bytes); /* of the host, for free; the program ends where there is none */
void no_memory(void);
/* After a part of the work: its time goes to *part under --profile, or on the CPU. */
cmg_status lap(heart *h, double begin, double *part);
bool parts_timed(const heart *h);
