/* `cmg solve FILE --batch VALUES`: reading the systems, solving them all, what is reported of them.
 */
#include "batch.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct systems {
    cmg_size count;
    cmg_size n;
    cmg_size nnz;
    cmg_vector *values; /* count x nnz */
    cmg_vector *b;      /* count x n */
    cmg_vector *x;
    cmg_batch *batch;
    int least; /* iterations */
    int most;
    cmg_size good; /* systems that converged */
    double worst;  /* relative residual */
} systems;

static int result(solve_job *job, cmg_status status, const char *path)
{
    progress_end(&job->device.line);
    return status == CMG_OK ? EXIT_DONE : library_error(job->ctx, status, path);
}

static cmg_status vector_of(cmg_context *ctx, cmg_size n, const double *values, cmg_vector **v)
{
    const cmg_status status = cmg_vector_create(ctx, n, CMG_FP64, v);
    return status == CMG_OK && values != NULL ? cmg_vector_set(*v, values) : status;
}

/* The sets of values, whose number says how many systems there are. */
static int read_values(solve_job *job, systems *S)
{
    double *values = NULL;
    cmg_size length = 0;
    cmg_csr A;
    int status = result(job, cmg_hierarchy_get_csr(job->h, 0, CMG_ROLE_A, NULL, 0, &A), job->path);
    if (status == EXIT_DONE) {
        status = result(job, cmg_vector_read(job->ctx, job->batch, &length, &values), job->batch);
    }
    if (status == EXIT_DONE) {
        S->n = A.rows;
        S->nnz = A.indptr[A.rows];
        S->count = S->nnz > 0 ? length / S->nnz : 0;
        status = S->count > 0 && S->count * S->nnz == length
                     ? result(job, vector_of(job->ctx, length, values, &S->values), job->batch)
                     : file_error(job->batch, "has %lld values, A has %lld entries: not a multiple",
                                  (long long)length, (long long)S->nnz);
    }
    cmg_free(values);
    return status;
}

/* One right-hand side for all, or one each, from a file; what else there is, for all. */
static int read_rhs(solve_job *job, systems *S)
{
    const cmg_size all = S->count * S->n;
    double *b = tool_alloc((size_t)all, sizeof *b);
    double *given = NULL;
    cmg_size length = S->n;
    int status = EXIT_DONE;
    if (job->rhs != NULL && access(job->rhs, R_OK) == 0) {
        status = result(job, cmg_vector_read(job->ctx, job->rhs, &length, &given), job->rhs);
        (void)snprintf(job->rhs_text, sizeof job->rhs_text, "file %.120s", job->rhs);
        if (status == EXIT_DONE && length != S->n && length != all) {
            status = file_error(job->rhs, "has %lld entries, %lld systems have %lld rows each",
                                (long long)length, (long long)S->count, (long long)S->n);
        }
        if (status == EXIT_DONE) {
            memcpy(b, given, (size_t)length * sizeof *b);
        }
        cmg_free(given);
    } else {
        status = input_rhs(job->ctx, job->h, job->path, job->rhs, &job->b, job->rhs_text);
        status = THEN(status, result(job, cmg_vector_get(job->b, b), job->path));
    }
    if (status == EXIT_DONE) {
        for (cmg_size k = length; k < all; ++k) {
            b[k] = b[k - S->n];
        }
        cmg_status made = vector_of(job->ctx, all, b, &S->b);
        made = made == CMG_OK ? vector_of(job->ctx, all, NULL, &S->x) : made;
        status = result(job, made, job->path);
    }
    free(b);
    return status;
}

static int prepare(solve_job *job, systems *S)
{
    if (job->x0 != NULL || job->history || solve_is_shared(job)) {
        return usage_error("--batch: without --x0, --history and ranks");
    }
    int status = device_open(&job->device, &job->ctx);
    if (status == EXIT_DONE && job->output != NULL) {
        status = result(job, cmg_vector_write_check(job->ctx, job->output), job->output);
    }
    if (status == EXIT_DONE) {
        status = input_read(&job->input, &job->device, job->ctx, job->path, &job->h);
    }
    status = THEN(status, read_values(job, S));
    status = THEN(status, read_rhs(job, S));
    status = THEN(status,
                  result(job, cmg_solver_create(job->h, &job->solver.options, &job->s), job->path));
    return THEN(status,
                result(job, cmg_batch_create(job->s, S->count, S->values, &S->batch), job->path));
}

static int solve(solve_job *job, systems *S)
{
    job->seconds = tool_alloc((size_t)job->repeat, sizeof *job->seconds);
    for (int k = 0; k < job->repeat; ++k) {
        cmg_status status = cmg_vector_fill(S->x, 0);
        status = THEN(status, cmg_batch_solve(S->batch, S->b, S->x, &job->report));
        if (status != CMG_OK) {
            return result(job, status, job->path);
        }
        job->seconds[k] = job->report.solve_seconds;
    }
    job->solve_seconds = median(job->seconds, job->repeat);
    S->least = job->report.iterations;
    for (cmg_size s = 0; s < S->count; ++s) {
        cmg_report r;
        cmg_report_default(&r);
        if (cmg_batch_system(S->batch, s, &r) == CMG_OK) {
            S->good += cmg_outcome_converged(r.outcome);
            S->least = r.iterations < S->least ? r.iterations : S->least;
            S->most = r.iterations > S->most ? r.iterations : S->most;
            S->worst = r.relative_residual <= S->worst ? S->worst : r.relative_residual;
        }
    }
    return EXIT_DONE;
}

static void print(const solve_job *job, const systems *S, FILE *out)
{
    char text[128];
    char where[64];
    fprintf(out, "%s: %lld systems of %lld unknowns, %d levels, loaded in %s\n", job->path,
            (long long)S->count, (long long)S->n, cmg_hierarchy_levels(job->h),
            format_seconds(job->input.load_seconds));
    fprintf(out, "solver: %s, %s\n", solver_args_describe(&job->solver, text),
            device_describe(&job->device, job->ctx, where));
    fprintf(out, "right-hand sides: %s\n", job->rhs_text);
    fprintf(out, "%lld of %lld converged in %d to %d iterations, relative residuals up to %.3e\n",
            (long long)S->good, (long long)S->count, S->least, S->most, S->worst);
    if (S->good < S->count) {
        fprintf(out, "%s: %s\n", job->report.hint,
                cmg_enum_name("outcome", (int)job->report.outcome));
    }
    fprintf(out, "set-up %s, solve %s%s, %s a system\n", format_seconds(job->report.setup_seconds),
            format_seconds(job->solve_seconds), job->repeat > 1 ? " (median)" : "",
            format_seconds(job->solve_seconds / (double)S->count));
}

static int write_json(const solve_job *job, const systems *S)
{
    json j;
    if (!report_open(&j, job->json, "solve", &job->device)) {
        return EXIT_FILE;
    }
    json_text(&j, "file", job->path);
    json_text(&j, "batch", job->batch);
    json_text(&j, "rhs", job->rhs_text);
    json_bool(&j, "converged", S->good == S->count);
    json_integer(&j, "unknowns", S->n);
    json_real(&j, "bytes", job->report.bytes);
    json_real(&j, "setup_seconds", job->report.setup_seconds);
    json_real(&j, "solve_seconds", job->solve_seconds);
    json_reals(&j, "solve_seconds_samples", job->seconds, job->repeat);
    json_options(&j, cmg_solver_option, &job->solver.options);
    json_array(&j, "systems");
    for (cmg_size s = 0; s < S->count; ++s) {
        cmg_report r;
        cmg_report_default(&r);
        if (cmg_batch_system(S->batch, s, &r) == CMG_OK) {
            json_object(&j, NULL);
            json_text(&j, "reason", cmg_enum_name("outcome", (int)r.outcome));
            json_integer(&j, "iterations", r.iterations);
            json_real(&j, "relative_residual", r.relative_residual);
            json_end(&j);
        }
    }
    json_end(&j);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

static int write_x(solve_job *job, const systems *S)
{
    double *x = tool_alloc((size_t)(S->count * S->n), sizeof *x);
    cmg_status status = cmg_vector_get(S->x, x);
    status = THEN(status, cmg_vector_write(job->ctx, job->output, S->count * S->n, x));
    free(x);
    return result(job, status, job->output);
}

int batch_run(solve_job *job)
{
    systems S = {0};
    int status = prepare(job, &S);
    status = THEN(status, solve(job, &S));
    if (status == EXIT_DONE) {
        print(job, &S, report_stream(job->json));
        status = job->output != NULL ? write_x(job, &S) : EXIT_DONE;
    }
    if (status == EXIT_DONE && job->json != NULL) {
        status = write_json(job, &S);
    }
    status = status == EXIT_DONE && S.good < S.count ? EXIT_NOT_CONVERGED : status;
    cmg_batch_destroy(&S.batch);
    cmg_vector_destroy(&S.values);
    cmg_vector_destroy(&S.b);
    cmg_vector_destroy(&S.x);
    return status;
}
