/*
 * What does a cycle cost beside its kernels? V(1,1) with Jacobi on Q1 Poisson, made in memory. One
 * JSON line for each threshold under which coarse levels are collapsed:
 *
 *   cycle_seconds    a cycle, replayed as one graph (CPU: run), many times without a wait between
 *   steps_seconds    sum of the steps' times by the device's clock
 *   launched_seconds a cycle whose steps are launched one by one
 *
 *   cycle [--dim 2|3] [--cells N] [--backend cpu|cuda] [--precision fp64|mixed] [--format F]
 *         [--repeat N] [--collapse LIST]
 *
 * LIST is -1 (chosen) by default, else numbers of rows with commas between: 0,100,1000.
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    int dim;
    int cells;
    int repeat;
    const char *collapse;
    cmg_context_options context;
    cmg_solver_options solver;
} settings;

typedef struct cycle_job {
    cmg_context *ctx;
    cmg_solver *solver;
    cmg_vector *r;
    cmg_vector *z;
    cmg_vector *w; /* takes turns with z, which no graph is recorded for */
    int repeat;
} cycle_job;

static bool set_option(settings *s, const char *name, const char *text)
{
    const struct {
        const char *name;
        const char *kind; /* NULL: a number */
        void *value;
    } options[] = {{"--dim", NULL, &s->dim},
                   {"--cells", NULL, &s->cells},
                   {"--repeat", NULL, &s->repeat},
                   {"--backend", "backend", &s->context.backend},
                   {"--precision", "precision", &s->solver.precision},
                   {"--format", "format", &s->solver.matrix.format}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        int v = 0;
        if (strcmp(name, options[i].name) != 0) {
            continue;
        }
        if (options[i].kind == NULL) {
            v = atoi(text);
        } else if (cmg_enum_parse(options[i].kind, text, &v) != CMG_OK) {
            return false;
        }
        memcpy(options[i].value, &v, sizeof v); /* every enumeration here is an int */
        return true;
    }
    if (strcmp(name, "--collapse") != 0) {
        return false;
    }
    s->collapse = text;
    return true;
}

/* Replays: from the second call with the same vectors on, a cycle is one graph. */
static bool replay(void *user)
{
    const cycle_job *job = user;
    for (int k = 0; k < job->repeat; ++k) {
        if (cmg_solver_precondition(job->solver, job->r, job->z) != CMG_OK) {
            return false;
        }
    }
    return cmg_context_synchronize(job->ctx) == CMG_OK;
}

/* The vectors change with every call: nothing is recorded. */
static bool launch(void *user)
{
    const cycle_job *job = user;
    for (int k = 0; k < job->repeat; ++k) {
        cmg_vector *out = k % 2 == 0 ? job->z : job->w;
        if (cmg_solver_precondition(job->solver, job->r, out) != CMG_OK) {
            return false;
        }
    }
    return cmg_context_synchronize(job->ctx) == CMG_OK;
}

static cmg_status steps(const cycle_job *job, double *seconds)
{
    *seconds = 0;
    const cmg_status status = cmg_solver_measure(job->solver, 51);
    for (int i = 0; status == CMG_OK && i < cmg_solver_steps(job->solver); ++i) {
        cmg_step_info info = {.size = sizeof info};
        if (cmg_solver_step(job->solver, i, &info) == CMG_OK) {
            *seconds += info.seconds;
        }
    }
    return status;
}

static cmg_status measure(const settings *s, cmg_context *ctx, cmg_hierarchy *h)
{
    cycle_job job = {.ctx = ctx, .repeat = s->repeat};
    bench_times replayed = {0};
    bench_times launched = {0};
    double summed = 0;
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_status status = cmg_solver_create(h, &s->solver, &job.solver);
    cmg_vector **const vectors[] = {&job.r, &job.z, &job.w};
    for (int v = 0; v < 3 && status == CMG_OK; ++v) {
        status = cmg_vector_create(ctx, n, CMG_FP64, vectors[v]);
    }
    if (status == CMG_OK) {
        status = cmg_vector_fill(job.r, 1.0);
    }
    if (status == CMG_OK) {
        status = steps(&job, &summed);
    }
    if (status == CMG_OK && (!bench_run(replay, &job, 11, 0.02, &replayed) ||
                             !bench_run(launch, &job, 11, 0.02, &launched))) {
        status = CMG_ERR_DEVICE;
    }
    if (status == CMG_OK) {
        const double each = replayed.median / s->repeat;
        printf(
            "{\"benchmark\": \"cycle\", \"problem\": \"q1-%dd-%d\", \"unknowns\": %lld, "
            "\"backend\": \"%s\", \"precision\": \"%s\", \"format\": \"%s\", \"collapse\": %lld, "
            "\"steps\": %d, \"cycle_seconds\": %.5g, \"steps_seconds\": %.5g, "
            "\"ratio\": %.4g, \"launched_seconds\": %.5g, ",
            s->dim, s->cells, (long long)n, cmg_enum_name("backend", (int)s->context.backend),
            cmg_enum_name("precision", (int)s->solver.precision),
            cmg_enum_name("format", (int)s->solver.matrix.format), (long long)s->solver.collapse,
            cmg_solver_steps(job.solver), each, summed, each / summed, launched.median / s->repeat);
        bench_machine(stdout, cmg_context_threads(ctx));
        printf("}\n");
        (void)fflush(stdout);
    }
    for (int v = 0; v < 3; ++v) {
        cmg_vector_destroy(vectors[v]);
    }
    cmg_solver_destroy(&job.solver);
    return status;
}

int main(int argc, char **argv)
{
    settings s = {.dim = 2, .cells = 320, .repeat = 100, .collapse = "-1"};
    cmg_context_options_default(&s.context);
    cmg_solver_options_default(&s.solver);
    for (int a = 1; a < argc; a += 2) {
        if (a + 1 == argc || !set_option(&s, argv[a], argv[a + 1])) {
            (void)fprintf(stderr, "cycle: option %s is unknown or its value is wrong\n", argv[a]);
            return 1;
        }
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    if (s.repeat < 2 || (s.dim != 2 && s.dim != 3) ||
        cmg_context_create(&s.context, &ctx) != CMG_OK) {
        (void)fprintf(stderr, "cycle: no context, or an option is out of range\n");
        return 4;
    }
    cmg_status status = q1_hierarchy(ctx, s.dim, s.cells, &h);
    for (const char *at = s.collapse; status == CMG_OK && at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        s.solver.collapse = atoi(at);
        status = measure(&s, ctx, h);
    }
    if (status != CMG_OK) {
        (void)fprintf(stderr, "cycle: %s: %s\n", cmg_status_name(status), cmg_context_message(ctx));
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 4;
}
