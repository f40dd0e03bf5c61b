/*
 * `cmg coarsen`: appends algebraic levels to a hierarchy, or makes them of a matrix alone, and
 * keeps them in a container.
 */
#include "input.h"
#include "status.h"
#include "store.h"

typedef struct coarsen_job {
    device_args device;
    input_args input;
    cmg_coarsen_options options;
    bool galerkin;
    const char *json;
    cmg_context *ctx;
    cmg_hierarchy *h;
    int given; /* levels of the file */
    int made;
    double seconds;
} coarsen_job;

static int parse(coarsen_job *job, args *a, int argc, char **argv)
{
    device_args_default(&job->device);
    cmg_coarsen_options_default(&job->options);
    const arg_option rows[] = {
        {"galerkin", ARG_FLAG, &job->galerkin, "", 0, 0,
         "form all level matrices of FILE as R A P first"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0,
         "write the result as JSON, - = standard output"},
    };
    args_begin(a, "coarsen", "FILE [OUTPUT]",
               "Append algebraic levels to FILE, below its coarsest level or\n"
               "of a matrix alone, and write the hierarchy to OUTPUT or to FILE itself.");
    args_add_table(a, "Levels made", cmg_coarsen_option, &job->options);
    args_add(a, "Run", rows, ARGS_COUNT(rows));
    input_args_add(a, &job->input);
    device_args_add(a, &job->device);
    return args_parse(a, argc, argv);
}

static cmg_status make_levels(coarsen_job *job)
{
    const double begin = tool_seconds();
    cmg_status status = CMG_OK;
    job->given = cmg_hierarchy_levels(job->h);
    if (job->galerkin && job->given > 1) {
        status = cmg_hierarchy_galerkin(job->h, 1);
    }
    status = THEN(status, cmg_hierarchy_coarsen(job->h, &job->options, &job->made));
    job->seconds = tool_seconds() - begin;
    return status;
}

static cmg_size entries(const cmg_hierarchy *h, int l)
{
    cmg_csr A;
    return cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A) == CMG_OK ? A.indptr[A.rows] : 0;
}

/* Entries of all A over those of the finest. */
static double complexity(const cmg_hierarchy *h)
{
    double sum = 0;
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        sum += (double)entries(h, l);
    }
    return sum / (double)entries(h, 0);
}

static void print_report(const coarsen_job *job, const char *path, FILE *out)
{
    fprintf(out, "%-6s %12s %14s %8s\n", "level", "rows", "entries", "a row");
    for (int l = 0; l < cmg_hierarchy_levels(job->h); ++l) {
        const cmg_size rows = cmg_hierarchy_rows(job->h, l);
        fprintf(out, "%-6d %12lld %14lld %8.1f%s\n", l, (long long)rows,
                (long long)entries(job->h, l), (double)entries(job->h, l) / (double)rows,
                l >= job->given ? "  algebraic" : "");
    }
    fprintf(out,
            "%d level%s added in %.3g s, entries of all levels %.3g times those of the finest\n",
            job->made, job->made == 1 ? "" : "s", job->seconds, complexity(job->h));
    fprintf(out, "written to %s\n", path);
}

static int write_json(const coarsen_job *job, const char *path)
{
    json j;
    if (!json_open(&j, job->json)) {
        return EXIT_FILE;
    }
    json_text(&j, "command", "coarsen");
    json_text(&j, "version", cmg_version());
    json_text(&j, "output", path);
    json_integer(&j, "levels_added", job->made);
    json_options(&j, cmg_coarsen_option, &job->options);
    json_real(&j, "seconds", job->seconds);
    json_real(&j, "complexity", complexity(job->h));
    json_array(&j, "levels");
    for (int l = 0; l < cmg_hierarchy_levels(job->h); ++l) {
        json_object(&j, NULL);
        json_integer(&j, "level", l);
        json_integer(&j, "rows", cmg_hierarchy_rows(job->h, l));
        json_integer(&j, "entries", entries(job->h, l));
        json_bool(&j, "algebraic", l >= job->given);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

static int coarsen(coarsen_job *job, const char *from, const char *to)
{
    int status = input_open(&job->input, &job->device, from, &job->ctx, &job->h);
    if (status != EXIT_DONE) {
        return status;
    }
    cmg_status made = make_levels(job);
    made = THEN(made, hierarchy_store(job->h, to));
    progress_end(&job->device.line);
    if (made != CMG_OK) {
        return library_error(job->ctx, made, from);
    }
    print_report(job, to, report_stream(job->json));
    return job->json != NULL ? write_json(job, to) : EXIT_DONE;
}

int cmd_coarsen(int argc, char **argv)
{
    coarsen_job job = {0};
    args a;
    int status = parse(&job, &a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    int lock = -1;
    if (a.plain[1] == NULL) {
        status = lock_container(a.plain[0], &lock);
    }
    if (status == ARGS_GO || status == EXIT_DONE) {
        status = coarsen(&job, a.plain[0], a.plain[1] != NULL ? a.plain[1] : a.plain[0]);
    }
    unlock_container(lock);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    return status;
}
