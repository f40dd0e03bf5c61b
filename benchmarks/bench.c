/* Timing and output shared by the benchmark programs. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "cmg_commit.h"
#include "cmg_elements.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_SAMPLES = 1000 };

double bench_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

bool bench_run(bench_fn fn, void *user, int samples, double least, bench_times *times)
{
    double sample[MAX_SAMPLES];
    long repeats = 1;
    samples = samples < MAX_SAMPLES ? samples : MAX_SAMPLES;
    for (;;) { /* warm up, and find how many calls fill a sample */
        const double begin = bench_seconds();
        for (long k = 0; k < repeats; ++k) {
            if (!fn(user)) {
                return false;
            }
        }
        const double taken = bench_seconds() - begin;
        if (taken >= least) {
            break;
        }
        repeats = taken > 0 ? (long)((double)repeats * (1.2 * least / taken)) + 1 : 2 * repeats;
    }
    for (int s = 0; s < samples; ++s) {
        const double begin = bench_seconds();
        for (long k = 0; k < repeats; ++k) {
            if (!fn(user)) {
                return false;
            }
        }
        sample[s] = (bench_seconds() - begin) / (double)repeats;
    }
    qsort(sample, (size_t)samples, sizeof *sample, ascending);
    *times = (bench_times){samples, sample[0], sample[samples / 4], sample[samples / 2],
                           sample[3 * samples / 4]};
    return true;
}

static void processor(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    (void)snprintf(name, size, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            (void)snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n\""), colon + 2);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

void bench_machine(FILE *out, int threads)
{
    char name[128];
    processor(name, sizeof name);
    (void)fprintf(out,
                  "\"commit\": \"%s\", \"compiler\": \"%s\", \"flags\": \"%s\", \"processor\": "
                  "\"%s\", \"threads\": %d",
                  CMG_COMMIT, __VERSION__, CMG_BENCH_FLAGS, name, threads);
}

void bench_print_parts(const char *name, const double part[CMG_SETUP_PARTS])
{
    printf("\"%s\": {", name);
    for (int p = 0; p < CMG_SETUP_PARTS; ++p) {
        printf("%s\"%s\": %.4g", p > 0 ? ", " : "", cmg_enum_name("setup-part", p), part[p]);
    }
    printf("}, ");
}

void bench_print_steps(cmg_solver *solver, int samples, double copy)
{
    if (cmg_solver_measure(solver, samples) != CMG_OK) {
        return;
    }
    for (int i = 0; i < cmg_solver_steps(solver); ++i) {
        cmg_step_info info = {.size = sizeof info};
        if (cmg_solver_step(solver, i, &info) == CMG_OK) {
            (void)fprintf(
                stderr,
                "%3d %-40s %-10s %9lld rows %11lld nnz %11zu bytes %9.2f us, at copy %9.2f us\n", i,
                info.text, info.format, (long long)info.rows, (long long)info.nnz, info.bytes,
                1e6 * info.seconds, 1e-3 * (double)info.bytes / copy);
        }
    }
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 2];
}

bool bench_enum(const char *kind, const char *text, void *value)
{
    int v = 0;
    if (cmg_enum_parse(kind, text, &v) != CMG_OK) {
        return false;
    }
    memcpy(value, &v, sizeof v); /* every enumeration of the library is an int */
    return true;
}

double bench_peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0;
}

static void print_log(void *user, cmg_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s\n", line);
}

static bool set_value(const bench_option *o, const char *text)
{
    switch (o->kind) {
    case BENCH_INT:
        *(int *)o->value = atoi(text);
        break;
    case BENCH_REAL:
        *(double *)o->value = atof(text);
        break;
    case BENCH_FLAG:
        *(bool *)o->value = atoi(text) != 0;
        break;
    case BENCH_TEXT:
        *(const char **)o->value = text;
        break;
    }
    return true;
}

static const bench_option *find(const bench_option *o, const char *name)
{
    while (o != NULL && o->name != NULL && strcmp(o->name, name) != 0) {
        ++o;
    }
    return o != NULL && o->name != NULL ? o : NULL;
}

static bool set_shared(bench_problem *p, const char *name, const char *text)
{
    char setting[600];
    const bench_option shared[] = {{"--dim", BENCH_INT, &p->dim},
                                   {"--cells", BENCH_INT, &p->cells},
                                   {"--threads", BENCH_INT, &p->context.threads},
                                   {"--repeat", BENCH_INT, &p->repeat},
                                   {"--distort", BENCH_REAL, &p->distort},
                                   {0}};
    if (find(shared, name) != NULL) {
        return set_value(find(shared, name), text);
    }
    if (strcmp(name, "--backend") == 0) {
        return bench_enum("backend", text, &p->context.backend);
    }
    if (strcmp(name, "--log") == 0) {
        p->context.log = print_log;
        return bench_enum("log", text, &p->context.log_level);
    }
    (void)snprintf(setting, sizeof setting, "%.64s=\"%.512s\"", name + 2, text);
    return strncmp(name, "--", 2) == 0 && cmg_solver_options_set(&p->solver, setting) == CMG_OK;
}

bool bench_parse(const char *program, int argc, char **argv, bench_problem *p,
                 const bench_option *own)
{
    cmg_context_options_default(&p->context);
    cmg_elements_use(&p->context);
    cmg_solver_options_default(&p->solver);
    p->solver.precision = CMG_FP64; /* what a line does not name it has had from the beginning */
    for (int a = 1; a < argc; a += 2) {
        const char *text = a + 1 < argc ? argv[a + 1] : NULL;
        const bench_option *found = find(own, argv[a]);
        if (text == NULL ||
            !(found != NULL ? set_value(found, text) : set_shared(p, argv[a], text))) {
            (void)fprintf(stderr, "%s: option %s is unknown or its value is wrong\n", program,
                          argv[a]);
            return false;
        }
    }
    if (p->repeat < 1 || (p->dim != 2 && p->dim != 3)) {
        (void)fprintf(stderr, "%s: %d repeats in %d dimensions\n", program, p->repeat, p->dim);
        return false;
    }
    return true;
}

cmg_status bench_array(cmg_context *ctx, const void *from, size_t bytes, cmg_vector **v)
{
    const cmg_size n = (cmg_size)((bytes + sizeof(double) - 1) / sizeof(double));
    double *padded = calloc((size_t)n + 1, sizeof *padded);
    if (padded == NULL) {
        return CMG_ERR_MEMORY;
    }
    memcpy(padded, from, bytes);
    cmg_status status = cmg_vector_create(ctx, n, CMG_FP64, v);
    status = THEN(status, cmg_vector_set(*v, padded));
    free(padded);
    return status;
}

cmg_status bench_vectors(cmg_context *ctx, cmg_size n, cmg_vector **b, cmg_vector **x)
{
    cmg_status status = cmg_vector_create(ctx, n, CMG_FP64, b);
    status = THEN(status, cmg_vector_create(ctx, n, CMG_FP64, x));
    return THEN(status, cmg_vector_fill(*b, 1));
}

cmg_status bench_csr(cmg_context *ctx, const cmg_csr *from, cmg_vector *array[3], cmg_csr *to)
{
    const size_t nnz = (size_t)from->indptr[from->rows];
    cmg_status status =
        bench_array(ctx, from->indptr, ((size_t)from->rows + 1) * sizeof *from->indptr, &array[0]);
    status = THEN(status, bench_array(ctx, from->indices, nnz * sizeof *from->indices, &array[1]));
    status = THEN(status, bench_array(ctx, from->values, nnz * sizeof *from->values, &array[2]));
    if (status == CMG_OK) {
        *to = (cmg_csr){from->rows, from->cols, cmg_vector_data(array[0]),
                        cmg_vector_data(array[1]), cmg_vector_data(array[2])};
    }
    return status;
}

int bench_failed(const char *program, cmg_context *ctx, cmg_status status)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program, cmg_status_name(status),
                  ctx != NULL ? cmg_context_message(ctx) : "no context");
    return 4;
}
