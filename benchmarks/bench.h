/* Timing and output shared by the benchmark programs: samples of at least 0.2 s, one JSON line
 * each. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

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
/* Median of n values, which are sorted by it. */
double bench_median(double *values, int n);
/* An option's text as a value of an enumeration of the library; false when it is none. */
bool bench_enum(const char *kind, const char *text, void *value);
/* Peak resident memory of this process, bytes. */
double bench_peak_memory(void);
