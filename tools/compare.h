/* `cmg compare`: what is compared, what came out, and how it is printed. */
#pragma once
#include "device.h"
#include "lists.h"

enum { COMPARE_NAME = 128, COMPARE_MESSAGE = 256, COMPARE_WORD = 96 };

/* One configuration and its results. Seconds are medians; NaN = not measured. */
typedef struct compare_row {
    /* configuration */
    const char *file;
    const char *smoother;
    char own_smoother[COMPARE_WORD]; /* where a variant names one, smoother points here */
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
    char name[COMPARE_NAME]; /* what differs from the other rows, for tables */
    /* results */
    cmg_status status; /* CMG_OK, or why there are none */
    char message[COMPARE_MESSAGE];
    cmg_outcome outcome;
    int iterations;
    int starts; /* from a true residual: corrections of defect correction */
    double relative_residual;
    double factor; /* mean reduction of the residual per iteration */
    double setup_seconds;
    double solve_seconds;   /* to the tolerance */
    double cycle_seconds;   /* one cycle: the sum of its measured steps */
    double cycle_bytes;     /* one cycle: the sum over its steps */
    double iteration_bytes; /* cycle, product with A, vectors */
    double digit_bytes;     /* bytes per digit of accuracy and unknown */
    double memory_bytes;    /* held by the solver */
    double break_even;      /* solves after which it beats the cheapest set-up; 0 = from the start,
                               infinity = never */
    cmg_size unknowns;
    double *history; /* iterations + 1 residual norms relative to the first */
    bool measured;   /* it has results */
    double spread;   /* largest over least time of a solve in the rounds; 0 = there was one */
} compare_row;

typedef struct compare_options {
    cmg_solver_options solver; /* what all rows share */
    int repeat;                /* solves whose median is taken */
    const char *rhs;
} compare_options;

/* Measures one row; failures of a method are kept in the row and are not errors. */
void compare_measure(compare_row *row, const compare_options *options, cmg_context *ctx,
                     cmg_hierarchy *h, const cmg_vector *b);
/*
 * Measures rows[0] and, of those after it in its group, the ones that use the same smoother, which
 * is then computed once; rows that are measured already are passed over.
 */
void compare_measure_shared(compare_row *rows, int count, const compare_options *options,
                            cmg_context *ctx, cmg_hierarchy *h, const cmg_vector *b);
/* Before a row is measured once more: set-up and solve of the round before. */
void compare_keep_round(compare_row *row, double seconds[2]);
/* After it: the least times of both, and the spread, `spread` that of the rounds before. */
void compare_merge_round(compare_row *row, const double seconds[2], double spread);
/* Median of the rows' spreads: times that differ by less are equal. */
double compare_spread(const compare_row *rows, int count);
/* "2" or "2+1". */
bool compare_read_steps(const char *text, int *pre, int *post);
/* Settings of a variant, words key=value; false with the first word that is not one. */
bool compare_apply_variant(const char *variant, compare_row *row, char bad[COMPARE_WORD]);
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
typedef enum compare_family { COMPARE_ALL, COMPARE_JACOBI, COMPARE_OTHERS } compare_family;

/* Seconds of `solves` solves, set-up included; 0 = of one solve, set-up not counted. */
double compare_cost(const compare_row *row, double solves);
/*
 * Row with the least cost of those of a family that converged, -1 = none; of costs within a factor
 * `spread` of it the one whose solve moves the fewest bytes.
 */
int compare_best(const compare_row *rows, int count, double solves, compare_family family,
                 double spread);
/* Bytes of a solve. */
double compare_bytes(const compare_row *row);
/* They write one file and return an exit status. */
int compare_write_json(const char *path, const compare_row *rows, int count);
int compare_write_csv(const char *path, const compare_row *rows, int count);
int compare_write_plot(const char *path, const compare_row *rows, int count);
