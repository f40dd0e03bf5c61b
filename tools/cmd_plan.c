/*
 * `cmg plan`: the cascade of a cycle as a table. Every step shows the bytes it moves by the traffic
 * model, the time those bytes take at the measured copy bandwidth, and, asked for, its own time.
 */
#include "forecast.h"
#include "input.h"
#include "plan_ranks.h"
#include "setup_times.h"
#include "solver_args.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_job {
    const char *path;
    device_args device;
    input_args input;
    solver_args solver;
    const char *json;
    bool measure;
    int repeat;
    int ranks; /* that a prediction is for, 0 = none */
    plan_speeds speeds;
    plan_ranks *several;
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *s;
    double bandwidth;                  /* GB/s */
    double bytes;                      /* of all steps */
    double plain;                      /* the same without compression */
    double seconds;                    /* measured, of all steps; NaN = not measured */
    double setup[CMG_SETUP_PARTS + 1]; /* seconds of the parts, and of all of it */
} plan_job;

static int parse(plan_job *job, int argc, char **argv)
{
    device_args_default(&job->device);
    solver_args_default(&job->solver);
    job->repeat = 20;
    const arg_option rows[] = {
        {"measure", ARG_FLAG, &job->measure, "", 0, 0, "time every step"},
        {"repeat", ARG_INT, &job->repeat, "N", 1, 100000, "cycles timed under --measure"},
        {"ranks", ARG_INT, &job->ranks, "N", 0, 1024,
         "predict the cycle on N devices, with its exchanges; 0 = do not"},
        {"copy-gb", ARG_REAL, &job->speeds.copy, "X", 0, 1e6,
         "--ranks: GB/s that a device copies at, 0 = as measured here"},
        {"link-gb", ARG_REAL, &job->speeds.link, "X", 0, 1e6,
         "--ranks: GB/s of a message, 0 = as measured here"},
        {"message-us", ARG_REAL, &job->speeds.message, "X", 0, 1e6,
         "--ranks: microseconds of a small message or a sum, 0 = as measured here"},
        {"start-us", ARG_REAL, &job->speeds.start, "X", 0, 1e6,
         "--ranks: microseconds that a step takes besides its bytes"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0, "write the plan as JSON, - = standard output"},
    };
    args a;
    args_begin(&a, "plan", "FILE",
               "Print the steps of one cycle with the hierarchy in FILE, what they move and what\n"
               "that costs at the measured copy bandwidth.");
    args_add(&a, "Output", rows, ARGS_COUNT(rows));
    input_args_add(&a, &job->input);
    solver_args_add_cycle(&a, &job->solver);
    device_args_add(&a, &job->device);
    const int status = args_parse(&a, argc, argv);
    job->path = a.plain[0];
    job->speeds.message *= 1e-6;
    job->speeds.start *= 1e-6;
    return status;
}

static cmg_status sum_up(plan_job *job)
{
    job->seconds = job->measure ? 0 : NAN;
    for (int i = 0; i < cmg_solver_steps(job->s); ++i) {
        cmg_step_info step = {.size = sizeof step};
        const cmg_status status = cmg_solver_step(job->s, i, &step);
        if (status != CMG_OK) {
            return status;
        }
        job->bytes += (double)step.bytes;
        job->plain += (double)step.plain;
        job->seconds += step.seconds;
    }
    return CMG_OK;
}

static int prepare(plan_job *job)
{
    int status = input_open(&job->input, &job->device, job->path, &job->ctx, &job->h);
    if (status != EXIT_DONE) {
        return status;
    }
    if (job->device.options.backend == CMG_BACKEND_CUDA) {
        solver_args_print_memory(&job->solver, job->h, report_stream(job->json));
    }
    job->solver.options.matrix.explain = true;
    cmg_status made = cmg_solver_create(job->h, &job->solver.options, &job->s);
    for (int p = 0; p <= CMG_SETUP_PARTS; ++p) {
        job->setup[p] = cmg_solver_setup_seconds(job->s, (cmg_setup_part)p);
    }
    made = THEN(made, cmg_context_bandwidth(job->ctx, &job->bandwidth));
    if (made == CMG_OK && job->measure) {
        made = cmg_solver_measure(job->s, job->repeat);
    }
    made = THEN(made, sum_up(job));
    progress_end(&job->device.line);
    return made == CMG_OK ? EXIT_DONE : library_error(job->ctx, made, job->path);
}

static int prepare_ranks(plan_job *job)
{
    char why[CMG_MESSAGE] = "";
    if (job->ranks == 0) {
        return EXIT_DONE;
    }
    const cmg_status status =
        plan_ranks_make(job->h, job->ranks, &job->device, &job->solver.options, &job->several, why);
    if (status != CMG_OK) {
        progress_end(&job->device.line);
        fprintf(stderr, "cmg: %s: %s\n", job->path, why);
    }
    return status == CMG_OK ? EXIT_DONE : exit_status(status);
}

/* Storage of a step's values: fp64, fp32, or fewer bits. */
static const char *values_name(const cmg_step_info *step)
{
    return step->values != CMG_VALUES_FULL ? cmg_enum_name("values", (int)step->values)
           : step->precision == CMG_FP32   ? "fp32"
                                           : "fp64";
}

/* Seconds that `bytes` take at the copy bandwidth. */
static double at_bandwidth(const plan_job *job, double bytes)
{
    return bytes / (job->bandwidth * 1e9);
}

static void add_step(const plan_job *job, table *t, int i, const cmg_step_info *step)
{
    const double bytes = (double)step->bytes;
    table_cell(t, "%d\t%d\t%s\t%s\t%lld", i, step->level, step->text, step->matrix,
               (long long)step->rows);
    if (step->matrix[0] != '\0') {
        table_cell(t, "%lld", (long long)step->nnz);
    } else {
        table_cell(t, "%s", "");
    }
    table_cell(t, "%s\t%s\t%s\t%s\t%.1f %%\t%s", step->format, values_name(step),
               format_bytes((double)step->plain), format_bytes(bytes),
               job->bytes > 0 ? 100 * bytes / job->bytes : 0,
               format_seconds(at_bandwidth(job, bytes)));
    if (job->measure) {
        table_cell(t, "%s\t%.2f", format_seconds(step->seconds),
                   step->seconds > 0 ? at_bandwidth(job, bytes) / step->seconds : 0.0);
    }
}

/* The first step that multiplies with the matrix of step i. */
static bool is_first(const plan_job *job, int i, const cmg_step_info *step)
{
    for (int k = 0; k < i; ++k) {
        cmg_step_info other = {.size = sizeof other};
        if (cmg_solver_step(job->s, k, &other) == CMG_OK && other.level == step->level &&
            other.nnz == step->nnz && strcmp(other.matrix, step->matrix) == 0) {
            return false;
        }
    }
    return true;
}

/* What compressed storage makes of each matrix, taken or not, each once. */
static void print_compression(const plan_job *job, FILE *out)
{
    const char *headings[4 + COMPRESSION_COLUMNS] = {"step", "level", "<matrix", "<format"};
    memcpy(headings + 4, compression_headings, sizeof compression_headings);
    table *t = table_create(headings, 4 + COMPRESSION_COLUMNS);
    for (int i = 0; i < cmg_solver_steps(job->s); ++i) {
        cmg_step_info step = {.size = sizeof step};
        if (cmg_solver_step(job->s, i, &step) == CMG_OK && step.compression != NULL &&
            is_first(job, i, &step)) {
            table_cell(t, "%d\t%d\t%s\t%s", i, step.level, step.matrix, step.format);
            compression_cells(t, step.compression);
        }
    }
    fprintf(out, "compression of each matrix, whether its format uses it or not:\n");
    table_print(t, out, "  ");
    table_destroy(&t);
}

static void print_plan(const plan_job *job, FILE *out)
{
    static const char *const headings[] = {"step",     "level",
                                           "<what",    "<matrix",
                                           "rows",     "entries",
                                           "<format",  "<values",
                                           "plain",    "bytes",
                                           "share",    "at copy bandwidth",
                                           "measured", "of copy bandwidth"};
    char text[128];
    char where[64];
    table *t = table_create(headings, job->measure ? 14 : 12);
    for (int i = 0; i < cmg_solver_steps(job->s); ++i) {
        cmg_step_info step = {.size = sizeof step};
        if (cmg_solver_step(job->s, i, &step) == CMG_OK) {
            add_step(job, t, i, &step);
        }
    }
    const double unknowns = (double)cmg_hierarchy_rows(job->h, 0);
    fprintf(out, "%s: %.0f unknowns, %d levels\n", job->path, unknowns,
            cmg_hierarchy_levels(job->h));
    fprintf(out, "solver: %s, %s\n", solver_args_describe(&job->solver, text),
            device_describe(&job->device, job->ctx, where));
    fprintf(out, "loaded in %s, set up in %s (includes the compression report)\n",
            format_seconds(job->input.load_seconds), format_seconds(job->setup[CMG_SETUP_PARTS]));
    setup_times_print(out, job->setup, job->setup[CMG_SETUP_PARTS]);
    for (int i = 0; cmg_solver_note(job->s, i) != NULL; ++i) {
        fprintf(out, "note: %s\n", cmg_solver_note(job->s, i));
    }
    table_print(t, out, "  ");
    table_destroy(&t);
    print_compression(job, out);
    fprintf(out, "one cycle: %d steps, %s, %.0f bytes per unknown; without compression %s\n",
            cmg_solver_steps(job->s), format_bytes(job->bytes), job->bytes / unknowns,
            format_bytes(job->plain));
    fprintf(out, "copy bandwidth: %.3g GB/s, at which the cycle takes %s\n", job->bandwidth,
            format_seconds(at_bandwidth(job, job->bytes)));
    if (job->measure) {
        const double share = at_bandwidth(job, job->bytes) / job->seconds;
        fprintf(out, "measured: %s, %.0f %% of copy bandwidth%s (median of %d)\n",
                format_seconds(job->seconds), 100 * share, share > 1 ? ", from cache" : "",
                job->repeat);
    }
}

static void json_step(json *j, const plan_job *job, const cmg_step_info *step)
{
    const double bytes = (double)step->bytes;
    json_object(j, NULL);
    json_text(j, "text", step->text);
    json_text(j, "matrix", step->matrix);
    json_integer(j, "level", step->level);
    json_integer(j, "rows", step->rows);
    json_integer(j, "entries", step->nnz);
    json_text(j, "format", step->format);
    json_text(j, "precision", step->precision == CMG_FP32 ? "fp32" : "fp64");
    json_text(j, "values", values_name(step));
    json_integer(j, "bytes", (cmg_size)step->bytes);
    json_integer(j, "plain_bytes", (cmg_size)step->plain);
    json_real(j, "share", job->bytes > 0 ? bytes / job->bytes : 0);
    json_real(j, "bandwidth_seconds", at_bandwidth(job, bytes));
    json_real(j, "measured_seconds", job->measure ? step->seconds : NAN);
    compression_json(j, "compression", step->compression);
    json_end(j);
}

static int write_json(plan_job *job)
{
    json j;
    if (!report_open(&j, job->json, "plan", &job->device)) {
        return EXIT_FILE;
    }
    const double unknowns = (double)cmg_hierarchy_rows(job->h, 0);
    json_text(&j, "file", job->path);
    json_text(&j, "backend", cmg_enum_name("backend", (int)job->device.options.backend));
    json_integer(&j, "threads", cmg_context_threads(job->ctx));
    json_integer(&j, "unknowns", cmg_hierarchy_rows(job->h, 0));
    json_integer(&j, "levels", cmg_hierarchy_levels(job->h));
    json_text(&j, "smoother", job->solver.options.smoother);
    json_text(&j, "cycle", cmg_enum_name("cycle", (int)job->solver.options.cycle));
    json_text(&j, "precision", cmg_enum_name("precision", (int)job->solver.options.precision));
    json_real(&j, "load_seconds", job->input.load_seconds);
    json_real(&j, "setup_seconds", job->setup[CMG_SETUP_PARTS]);
    setup_times_json(&j, job->setup);
    json_real(&j, "bandwidth_gb_per_second", job->bandwidth);
    json_real(&j, "bytes", job->bytes);
    json_real(&j, "plain_bytes", job->plain);
    json_real(&j, "bytes_per_unknown", job->bytes / unknowns);
    json_real(&j, "bandwidth_seconds", at_bandwidth(job, job->bytes));
    json_real(&j, "measured_seconds", job->seconds);
    if (job->several != NULL) {
        plan_ranks_json(job->several, &job->speeds, &j);
    }
    json_array(&j, "notes");
    for (int i = 0; cmg_solver_note(job->s, i) != NULL; ++i) {
        json_text(&j, NULL, cmg_solver_note(job->s, i));
    }
    json_end(&j);
    json_array(&j, "steps");
    for (int i = 0; i < cmg_solver_steps(job->s); ++i) {
        cmg_step_info step = {.size = sizeof step};
        if (cmg_solver_step(job->s, i, &step) == CMG_OK) {
            json_step(&j, job, &step);
        }
    }
    json_end(&j);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

int cmd_plan(int argc, char **argv)
{
    plan_job job = {0};
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    status = prepare(&job);
    status = THEN(status, prepare_ranks(&job));
    if (status == EXIT_DONE) {
        print_plan(&job, report_stream(job.json));
        if (job.several != NULL) {
            plan_ranks_print(job.several, &job.speeds, report_stream(job.json));
        }
        status = job.json != NULL ? write_json(&job) : EXIT_DONE;
    }
    plan_ranks_free(&job.several);
    cmg_solver_destroy(&job.s);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    return status;
}
