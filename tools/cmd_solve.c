/*
 * `cmg solve`: A x = b with a preassembled hierarchy. An outcome other than convergence is exit
 * status 3, and still writes everything that was asked for, x from the best iterate.
 */
#include "batch.h"
#include "fem.h"
#include "signals.h"
#include "solve_job.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse(solve_job *job, int argc, char **argv)
{
    device_args_default(&job->device);
    solver_args_default(&job->solver);
    job->repeat = 1;
    job->ranks = 1;
    cmg_report_default(&job->report);
    const arg_option rows[] = {
        {"rhs", ARG_TEXT, &job->rhs, "NAME|FILE", 0, 0,
         "right-hand side: its name in FILE, or a file, of columns too; default: b of FILE, else "
         "ones, random where these are no test"},
        {"x0", ARG_TEXT, &job->x0, "NAME|FILE", 0, 0,
         "initial guess: a solution in FILE, or a file; default: zero"},
        {"batch", ARG_TEXT, &job->batch, "VALUES", 0, 0,
         "many systems: values of all entries of A, one system after the other, and so in --rhs "
         "and --output; --rhs may be one for all"},
        {"output", ARG_TEXT, &job->output, "FILE", 0, 0,
         "write x: .mtx Matrix Market, .petsc PETSc binary, .txt text, .npy NumPy, .vtu for "
         "ParaView"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0,
         "write the result as JSON, - = standard output"},
        {"history", ARG_FLAG, &job->history, "", 0, 0, "print the residual of every iteration"},
        {"repeat", ARG_INT, &job->repeat, "N", 1, 100000, "solve N times and report the median"},
        {"ranks", ARG_INT, &job->ranks, "N", 1, 1024,
         "share the solve among N threads that have their rows each; mpirun -n N: among processes"},
    };
    args a;
    args_begin(&a, "solve", "FILE",
               "Solve A x = b with the hierarchy in FILE: a container, a directory of matrices, a\n"
               "PETSc multigrid dump, or a single matrix. Exits with 3 when it did not converge.");
    args_add(&a, "Input and output", rows, ARGS_COUNT(rows));
    input_args_add(&a, &job->input);
    solver_args_add_iteration(&a, &job->solver);
    solver_args_add_cycle(&a, &job->solver);
    device_args_add(&a, &job->device);
    const int status = args_parse(&a, argc, argv);
    job->path = a.plain[0];
    return status;
}

static int library_result(solve_job *job, cmg_status status)
{
    progress_end(&job->device.line);
    return status == CMG_OK ? EXIT_DONE : library_error(job->ctx, status, job->path);
}

static bool wants_vtu(const solve_job *job)
{
    const size_t length = job->output != NULL ? strlen(job->output) : 0;
    return length >= 4 && strcmp(job->output + length - 4, ".vtu") == 0;
}

/* A cmg_monitor_fn: the residual on a terminal, and Ctrl-C, which ends the iteration. */
static int watch(void *user, int iteration, double residual, double rhs_norm)
{
    char line[64];
    (void)snprintf(line, sizeof line, "solving, relative residual %.2e",
                   rhs_norm > 0 ? residual / rhs_norm : 0.0);
    (void)progress_report(user, line, iteration, 0);
    return interrupted();
}

/* Where the host sees every iteration anyway, it shows them and may be interrupted. */
static void watch_iterations(solve_job *job)
{
    if (job->device.options.backend == CMG_BACKEND_CPU) {
        job->solver.options.monitor = watch;
        job->solver.options.monitor_user = &job->device.line;
    }
}

/* What ranks do not share. */
static int check_shared(const solve_job *job)
{
    if (job->ranks > 1 && job->processes > 1) {
        return usage_error("--ranks %d under mpirun, which gives the ranks", job->ranks);
    }
    if (solve_is_shared(job) && job->x0 != NULL) {
        return usage_error("--x0 is for one rank");
    }
    return EXIT_DONE;
}

bool solve_by_rows(const solve_job *job)
{
    return solve_is_shared(job) && job->rhs == NULL && job->input.level == 0 &&
           job->input.drop_coarsest == 0 && !(job->output != NULL && wants_vtu(job)) &&
           ranks_read(job->path);
}

static int prepare(solve_job *job)
{
    int status = device_open(&job->device, &job->ctx);
    if (status == EXIT_DONE && job->output != NULL && !wants_vtu(job)) {
        const cmg_status can = cmg_vector_write_check(job->ctx, job->output);
        status = can == CMG_OK ? EXIT_DONE : library_error(job->ctx, can, job->output);
    }
    if (status != EXIT_DONE || solve_by_rows(job)) {
        return status;
    }
    status = THEN(status, input_read(&job->input, &job->device, job->ctx, job->path, &job->h));
    if (status == EXIT_DONE && wants_vtu(job) && !tool_has_fem()) {
        status = usage_error("%s: this build has no libcmgfem, which .vtu needs", job->output);
    }
    if (status == EXIT_DONE && wants_vtu(job) && !cmg_hierarchy_has_mesh(job->h)) {
        status = usage_error("%s carries no mesh, which %s needs", job->path, job->output);
    }
    status = THEN(status, input_rhs(job->ctx, job->h, job->path, job->rhs, &job->b, job->rhs_text));
    if (status == EXIT_DONE && job->x0 != NULL) {
        status = input_guess(job->ctx, job->h, job->path, job->x0, &job->guess);
    }
    if (status == EXIT_DONE && job->guess != NULL &&
        cmg_vector_columns(job->guess) != cmg_vector_columns(job->b)) {
        status = file_error(job->x0, "has %d columns, the right-hand side %d",
                            cmg_vector_columns(job->guess), cmg_vector_columns(job->b));
    }
    status = THEN(status, library_result(job, cmg_vector_create_columns(
                                                  job->ctx, cmg_hierarchy_rows(job->h, 0),
                                                  cmg_vector_columns(job->b), CMG_FP64, &job->x)));
    if (status == EXIT_DONE && solve_is_shared(job)) {
        status =
            cmg_vector_columns(job->b) == 1
                ? EXIT_DONE
                : usage_error("%d right-hand sides are for one rank", cmg_vector_columns(job->b));
    }
    if (status == EXIT_DONE && job->rank == 0 && job->device.line.terminal) {
        progress_end(&job->device.line); /* whoever waits sees it before what takes long */
        solve_print_input(job, report_stream(job->json));
    }
    if (status == EXIT_DONE && !solve_is_shared(job)) {
        if (job->device.options.backend == CMG_BACKEND_CUDA) {
            solver_args_print_memory(&job->solver, job->h, report_stream(job->json));
        }
        watch_iterations(job);
        status = library_result(job, cmg_solver_create(job->h, &job->solver.options, &job->s));
    }
    return status;
}

static cmg_status solve_once(solve_job *job)
{
    if (job->guess == NULL) {
        return cmg_solver_solve_from_zero(job->s, job->b, job->x, &job->report);
    }
    const cmg_status status = cmg_vector_copy(job->guess, job->x);
    return status == CMG_OK ? cmg_solver_solve(job->s, job->b, job->x, &job->report) : status;
}

/* Solves `repeat` times from the same guess; keeps the history and the sorted seconds. */
static cmg_status solve(solve_job *job)
{
    job->seconds = tool_alloc((size_t)job->repeat, sizeof *job->seconds);
    if (job->solver.options.monitor != NULL) {
        watch_begin();
    }
    for (int k = 0; k < job->repeat; ++k) {
        const cmg_status status = solve_once(job);
        if (status != CMG_OK) {
            return status;
        }
        job->seconds[k] = job->report.solve_seconds;
        job->repeat = interrupted() ? k + 1 : job->repeat;
        if (job->report.fallbacks > 0) {
            job->fallbacks = job->report.fallbacks;
            (void)snprintf(job->fallback, sizeof job->fallback, "%s", job->report.fallback);
        }
    }
    watch_end();
    job->solve_seconds = median(job->seconds, job->repeat);
    const size_t count = (size_t)job->report.iterations + 1;
    job->residuals = tool_alloc(count, sizeof *job->residuals);
    memcpy(job->residuals, job->report.history, count * sizeof *job->residuals);
    return CMG_OK;
}

/* The results of ranks become those of the job. */
static cmg_status take_shared(solve_job *job)
{
    const ranks_job *r = &job->several;
    cmg_status status = CMG_OK;
    if (job->x == NULL) {
        status = cmg_vector_create(job->ctx, r->unknowns, CMG_FP64, &job->x);
        (void)snprintf(job->rhs_text, sizeof job->rhs_text, "%.150s", r->rhs);
    }
    status = THEN(status, cmg_vector_set(job->x, r->x));
    job->input.load_seconds = job->h != NULL ? job->input.load_seconds : r->load_seconds;
    job->report = r->report;
    job->residuals = r->residuals;
    job->solve_seconds = median(job->seconds, job->repeat);
    job->fallbacks = r->report.fallbacks;
    (void)snprintf(job->fallback, sizeof job->fallback, "%s", r->fallback);
    return status;
}

/* The same by several ranks, of the hierarchy that is read as a whole, or of the file. */
static cmg_status solve_shared(solve_job *job)
{
    const size_t n = job->b != NULL ? (size_t)cmg_vector_length(job->b) : 0;
    double *b = n > 0 ? tool_alloc(n, sizeof *b) : NULL;
    ranks_job *r = &job->several;
    job->seconds = tool_alloc((size_t)job->repeat, sizeof *job->seconds);
    *r = (ranks_job){.ranks = job->ranks,
                     .device = &job->device,
                     .options = &job->solver.options,
                     .whole = job->h,
                     .path = job->path,
                     .b = b,
                     .x = n > 0 ? tool_alloc(n, sizeof *b) : NULL,
                     .repeat = job->repeat,
                     .seconds = job->seconds};
    cmg_status status = job->b != NULL ? cmg_vector_get(job->b, b) : CMG_OK;
    if (status == CMG_OK) {
        status = ranks_solve(r);
        if (status != CMG_OK) {
            progress_end(&job->device.line);
            fprintf(stderr, "cmg: %s: %s\n", job->path, r->why);
        }
    }
    status = THEN(status, take_shared(job));
    free(b);
    free(r->x);
    r->x = NULL;
    return status;
}

static double norm(const double *v, cmg_size n)
{
    double sum = 0;
    for (cmg_size i = 0; i < n; ++i) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* The solution in the file that x belongs to and its name, NULL when there is none. */
static const double *find_reference(const solve_job *job, const char **name)
{
    *name = NULL;
    if (job->h == NULL) {
        return NULL;
    }
    const bool own_rhs = job->rhs == NULL && cmg_vector_columns(job->x) == 1 &&
                         input_default_name(job->h, "rhs", "b") != NULL;
    const double *reference = NULL;
    cmg_size length = 0;
    *name = input_default_name(job->h, "solutions", "x");
    if (own_rhs && *name != NULL) {
        (void)cmg_hierarchy_get_vector(job->h, 0, "solutions", *name, &length, &reference);
    }
    return length == cmg_vector_length(job->x) ? reference : NULL;
}

/* Relative difference of x to the reference solution. */
static int compare_x(solve_job *job)
{
    const cmg_size n = cmg_vector_length(job->x);
    const char *name = NULL;
    const double *reference = find_reference(job, &name);
    job->error = NAN;
    if (reference == NULL) { /* or it is divided among ranks */
        return EXIT_DONE;
    }
    double *x = tool_alloc((size_t)n, sizeof *x);
    const int status = library_result(job, cmg_vector_get(job->x, x));
    if (status == EXIT_DONE) {
        const double size = norm(reference, n);
        for (cmg_size i = 0; i < n; ++i) {
            x[i] -= reference[i];
        }
        job->error = size > 0 ? norm(x, n) / size : norm(x, n);
    }
    free(x);
    return status;
}

/* x to the file asked for; on a mesh the reference solution goes beside it. */
static int write_x(solve_job *job)
{
    const int columns = cmg_vector_columns(job->x);
    const cmg_size n = cmg_vector_length(job->x);
    const char *names[2] = {"x", NULL};
    const double *vectors[2] = {NULL, find_reference(job, &names[1])};
    double *x = tool_alloc((size_t)(n * columns), sizeof *x);
    int status = library_result(job, cmg_vector_get(job->x, x));
    if (status == EXIT_DONE) {
        vectors[0] = x;
        writing_begin();
        const cmg_status written =
            !wants_vtu(job) ? cmg_columns_write(job->ctx, job->output, n, columns, x)
            : columns > 1
                ? columns_write_fields(job->h, job->output, n, columns, x)
                : tool_write_vtu(job->h, job->output, vectors[1] != NULL ? 2 : 1, names, vectors);
        writing_end();
        status = written == CMG_OK ? EXIT_DONE : library_error(job->ctx, written, job->output);
    }
    free(x);
    return status;
}

static int run(solve_job *job)
{
    if (job->batch != NULL) {
        return batch_run(job);
    }
    int status = check_shared(job);
    status = THEN(status, prepare(job));
    if (status == EXIT_DONE && solve_is_shared(job)) {
        status = exit_status(solve_shared(job));
        progress_end(&job->device.line);
    } else {
        status = THEN(status, library_result(job, solve(job)));
    }
    const bool converged = cmg_outcome_converged(job->report.outcome);
    status = THEN(status, compare_x(job));
    if (status == EXIT_DONE && job->rank > 0) {
        return converged ? EXIT_DONE : EXIT_NOT_CONVERGED;
    }
    if (status == EXIT_DONE) { /* shown before anything else can fail */
        solve_print(job, report_stream(job->json));
        (void)fflush(report_stream(job->json));
        status = job->output != NULL ? write_x(job) : EXIT_DONE;
    }
    if (status == EXIT_DONE && job->json != NULL) {
        status = solve_write_json(job);
    }
    return status == EXIT_DONE && !converged ? EXIT_NOT_CONVERGED : status;
}

int cmd_solve(int argc, char **argv)
{
    solve_job job = {0};
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    job.processes = ranks_processes(&job.rank);
    status = ranks_check(job.processes);
    status = THEN(status, run(&job));
    ranks_end(status != EXIT_DONE && status != EXIT_NOT_CONVERGED, status);
    free(job.seconds);
    free(job.residuals);
    cmg_solver_destroy(&job.s);
    cmg_vector_destroy(&job.b);
    cmg_vector_destroy(&job.guess);
    cmg_vector_destroy(&job.x);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    return status;
}
