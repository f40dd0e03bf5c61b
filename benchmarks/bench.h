/* Timing and output shared by the benchmark programs: samples of at least 0.2 s, one JSON line
 * each. */
#pragma once
#include <cmg.h>
#include <stdbool.h>
#include <stdio.h>

/* The next step, after those that ended with CMG_OK. */
#define THEN(status, call) ((status) == CMG_OK ? (call) : (status))

/* Runs what is timed once; false on failure. */
typedef bool (*bench_fn)(void *user);

typedef struct bench_times {
    int samples;
    double minimum;
    double lower; /* quartile */
    double median;
    double upper;
} bench_times;

/* Wall clock, seconds. */
double bench_seconds(void);
/* Warms up, then takes `samples` samples of repeated calls, each at least `least` seconds. */
bool bench_run(bench_fn fn, void *user, int samples, double least, bench_times *times);
/* Commit, compiler, flags, processor and threads as JSON members without braces. */
void bench_machine(FILE *out, int threads);
/* Seconds of the parts of a set-up as a JSON object of this name, and a comma. */
void bench_print_parts(const char *name, const double part[CMG_SETUP_PARTS]);
/* The steps of the cycle on stderr, the median of so many runs, beside what copying takes. */
void bench_print_steps(cmg_solver *solver, int samples, double copy);
/* Median of n values, which are sorted by it. */
double bench_median(double *values, int n);
/* An option's text as a value of an enumeration of the library; false when it is none. */
bool bench_enum(const char *kind, const char *text, void *value);
/* Peak resident memory of this process, bytes. */
double bench_peak_memory(void);

/* What programs that solve are asked for. */
typedef struct bench_problem {
    int dim;
    int cells;      /* a side */
    double distort; /* > 0: no two cells alike, smooth coefficient */
    int repeat;
    cmg_context_options context;
    cmg_solver_options solver;
} bench_problem;

/* An option of one program: an int, a double, a const char * or a bool. */
typedef struct bench_option {
    const char *name; /* with its dashes */
    enum { BENCH_INT, BENCH_REAL, BENCH_TEXT, BENCH_FLAG } kind;
    void *value;
} bench_option;
/*
 * Options --dim, --cells, --distort, --repeat, --backend, --threads, --log (lines of the library on
 * stderr), every option of a solver, and before them the program's own, up to one without a name
 * (NULL = none); false with a message where one is wrong. The caller sets the defaults of the first
 * four.
 */
bool bench_parse(const char *program, int argc, char **argv, bench_problem *p,
                 const bench_option *own);
/* Two vectors of n doubles, b = 1 and x. */
cmg_status bench_vectors(cmg_context *ctx, cmg_size n, cmg_vector **b, cmg_vector **x);
/* The arrays of a CSR in the backend's memory, which the three vectors own. */
cmg_status bench_csr(cmg_context *ctx, const cmg_csr *from, cmg_vector *array[3], cmg_csr *to);
/* An array of any kind in the backend's memory, as the data of a vector of at least its bytes. */
cmg_status bench_array(cmg_context *ctx, const void *from, size_t bytes, cmg_vector **v);
/* An exit status and its message where a call has failed. */
int bench_failed(const char *program, cmg_context *ctx, cmg_status status);
