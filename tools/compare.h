/* `cmg compare`: what is compared, what came out, and how it is told. */
#pragma once
#include "device.h"
#include "lists.h"

enum { COMPARE_NAME = 128, COMPARE_MESSAGE = 256 };

/* One configuration and its results. Seconds are medians; NaN = not measured. */
typedef struct compare_row {
    /* configuration */
    const char *file;
    const char *smoother;
    int pre;
    int post;
    double omega; /* 0 = the smoother's own */
    int cycle;
    int krylov;
    int precision;
    int format;
    int values;    /* storage of compressed slices */
    int numbering; /* generated = as in the file */
    int backend;
    char name[COMPARE_NAME]; /* what differs from the other rows, for tables and plots */
    /* results */
    cmg_status status; /* CMG_OK, or why there are none */
    char message[COMPARE_MESSAGE];
    cmg_outcome outcome;
    int iterations;
    double relative_residual;
    double factor; /* mean reduction of the residual per iteration */
    double setup_seconds;
    double solve_seconds; /* to the tolerance */
    double cycle_seconds; /* one cycle: the sum of its measured steps */
    double cycle_bytes;   /* one cycle: the sum over its steps */
    double outer_bytes;   /* one outer iteration without the cycle: product with A and vectors */
    double digit_bytes;   /* bytes per digit of accuracy and unknown */
    double memory_bytes;  /* held by the solver */
    double break_even;    /* solves after which it beats the cheapest set-up; 0 = from the start,
                             infinity = never */
    cmg_size unknowns;
    double *history; /* iterations + 1 residual norms relative to the first */
} compare_row;

typedef struct compare_options {
    double rtol;
    int max_it;
    cmg_size coarse_limit;
    cmg_size collapse;
    int dirichlet;
    int repeat; /* solves whose median is taken */
    const char *rhs;
} compare_options;

/* Measures one row; failures of a method are kept in the row and are not errors. */
void compare_measure(compare_row *row, const compare_options *options, cmg_context *ctx,
                     cmg_hierarchy *h, const cmg_vector *b);
/* Break-even against the row with the cheapest set-up of the same group. */
void compare_break_even(compare_row *rows, int count);
/* Names made of what differs between rows. */
void compare_name(compare_row *rows, int count);
bool compare_converged(const compare_row *row);
/* Rows of one group share file, backend and numbering, hence a hierarchy in memory. */
bool compare_same_group(const compare_row *a, const compare_row *b);

void compare_print(const compare_row *rows, int count, FILE *out);
/* Which smoother to take for one solve and for many, and by how much. */
void compare_recommend(const compare_row *rows, int count, FILE *out);
/* Row with the least seconds for `solves` solves, set-up included, of those converged; jacobi: of
 * Jacobi's alone; -1 = none. */
int compare_best(const compare_row *rows, int count, double solves, bool jacobi);
/* The three write one file each and return an exit status. */
int compare_write_json(const char *path, const compare_row *rows, int count);
int compare_write_csv(const char *path, const compare_row *rows, int count);
int compare_write_plots(const char *prefix, const compare_row *rows, int count);
