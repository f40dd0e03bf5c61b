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
    bench_problem p;
    const char *collapse;
} settings;

typedef struct cycle_job {
    cmg_context *ctx;
    cmg_solver *solver;
    cmg_vector *r;
    cmg_vector *z;
    cmg_vector *w; /* takes turns with z, where that is asked for */
    bool turns;
    int repeat;
} cycle_job;

/* From the second call with the same vectors on, a cycle is replayed as one graph; where z takes
 * turns, nothing is recorded. */
static bool run(void *user)
{
    const cycle_job *job = user;
    for (int k = 0; k < job->repeat; ++k) {
        cmg_vector *out = job->turns && k % 2 != 0 ? job->w : job->z;
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
    cycle_job job = {.ctx = ctx, .repeat = s->p.repeat};
    bench_times replayed = {0};
    bench_times launched = {0};
    double summed = 0;
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_status status = cmg_solver_create(h, &s->p.solver, &job.solver);
    cmg_vector **const vectors[] = {&job.r, &job.z, &job.w};
    for (int v = 0; v < 3 && status == CMG_OK; ++v) {
        status = cmg_vector_create(ctx, n, CMG_FP64, vectors[v]);
    }
    status = THEN(status, cmg_vector_fill(job.r, 1.0));
    status = THEN(status, steps(&job, &summed));
    for (int k = 0; k < 2 && status == CMG_OK; ++k) {
        job.turns = k > 0;
        status = bench_run(run, &job, 11, 0.02, k == 0 ? &replayed : &launched) ? CMG_OK
                                                                                : CMG_ERR_DEVICE;
    }
    if (status == CMG_OK) {
        const double each = replayed.median / s->p.repeat;
        printf(
            "{\"benchmark\": \"cycle\", \"problem\": \"q1-%dd-%d\", \"unknowns\": %lld, "
            "\"backend\": \"%s\", \"precision\": \"%s\", \"format\": \"%s\", \"collapse\": %lld, "
            "\"steps\": %d, \"cycle_seconds\": %.5g, \"steps_seconds\": %.5g, "
            "\"ratio\": %.4g, \"launched_seconds\": %.5g, ",
            s->p.dim, s->p.cells, (long long)n, cmg_enum_name("backend", (int)s->p.context.backend),
            cmg_enum_name("precision", (int)s->p.solver.precision),
            cmg_enum_name("format", (int)s->p.solver.matrix.format),
            (long long)s->p.solver.collapse, cmg_solver_steps(job.solver), each, summed,
            each / summed, launched.median / s->p.repeat);
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
    settings s = {.p = {.dim = 2, .cells = 320, .repeat = 100}, .collapse = "-1"};
    const bench_option own[] = {{"--collapse", BENCH_TEXT, &s.collapse}, {0}};
    if (!bench_parse("cycle", argc, argv, &s.p, own) || s.p.repeat < 2) {
        return 1;
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_status status = cmg_context_create(&s.p.context, &ctx);
    status = THEN(status, q1_hierarchy(ctx, s.p.dim, s.p.cells, &h));
    for (const char *at = s.collapse; status == CMG_OK && at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        s.p.solver.collapse = atoi(at);
        status = measure(&s, ctx, h);
    }
    if (status != CMG_OK) {
        (void)bench_failed("cycle", ctx, status);
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 4;
}
