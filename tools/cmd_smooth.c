/*
 * `cmg smooth`: computes smoothers of all levels and keeps them in a container, where
 * `--smoother file:NAME` finds them.
 */
#include "input.h"
#include "lists.h"
#include "status.h"
#include "store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SMOOTHERS = 16, NAME_LENGTH = 64 };

typedef struct smooth_job {
    /* options */
    const char *path;
    device_args device;
    const char *smoother; /* list */
    const char *save_as;
    const char *output;
    const char *json;
    bool finest_only;
    /* objects */
    cmg_context *ctx;
    cmg_hierarchy *h;
    input_args input;
    text_list smoothers;
    char name[MAX_SMOOTHERS][NAME_LENGTH]; /* under which each is kept */
    int levels;                            /* that get smoothers */
    cmg_smoother_info *info;               /* smoothers x levels */
    double write_seconds;
} smooth_job;

/* `cmg smooth --list`: the table of methods and their keys. */
static int print_methods(void)
{
    for (int i = 0; cmg_smoother_name(i) != NULL; ++i) {
        printf("%-16s %s\n", cmg_smoother_name(i), cmg_smoother_text(i));
        const cmg_smoother_key *key = NULL;
        for (int k = 0; (key = cmg_smoother_argument(i, k)) != NULL; ++k) {
            char range[96] = "";
            if (key->words != NULL) {
                size_t used = 0;
                for (int w = 0; key->words[w] != NULL && used < sizeof range; ++w) {
                    const int n = snprintf(range + used, sizeof range - used, "%s%s",
                                           w > 0 ? "|" : "", key->words[w]);
                    used += n > 0 ? (size_t)n : 0;
                }
            } else if (key->rest) {
                (void)snprintf(range, sizeof range, "SMOOTHER");
            } else {
                (void)snprintf(range, sizeof range, "%g (%g to %g)", key->standard, key->low,
                               key->high);
            }
            char left[160];
            (void)snprintf(left, sizeof left, ":%s=%s", key->key, range);
            printf("    %-30s %s\n", left, key->text);
        }
    }
    printf("\nEvery method takes :omega=X, a damping, or :omega=auto, an estimated one.\n");
    return EXIT_DONE;
}

static int parse(smooth_job *job, int argc, char **argv)
{
    device_args_default(&job->device);
    job->smoother = "spai";
    const arg_option rows[] = {
        {"smoother", ARG_TEXT, &job->smoother, "LIST", 0, 0,
         "methods, separated by commas, e.g. spai:tau=0,sainv"},
        {"save-as", ARG_TEXT, &job->save_as, "NAME", 0, 0,
         "name in the container; default: the method's"},
        {"output", ARG_TEXT, &job->output, "FILE", 0, 0,
         "container to write; default: FILE itself"},
        {"finest", ARG_FLAG, &job->finest_only, "", 0, 0,
         "leave out the coarsest level, which a preassembled inverse solves"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0,
         "write the result as JSON, - = standard output"},
    };
    args a;
    args_begin(
        &a, "smooth", "FILE",
        "Compute smoothers of every level of FILE and keep them in the container, where\n"
        "--smoother file:NAME finds them. cmg smooth --list shows the methods and their keys.");
    args_add(&a, "Smoothers", rows, ARGS_COUNT(rows));
    device_args_add(&a, &job->device);
    const int status = args_parse(&a, argc, argv);
    job->path = a.plain[0];
    return status;
}

/* Names under which the smoothers are kept, and where to. */
static int check_names(smooth_job *job)
{
    if (!list_split(&job->smoothers, job->smoother)) {
        return usage_error("smooth: --smoother has more than %d entries or an empty one",
                           (int)LIST_LENGTH);
    }
    if (job->smoothers.count > MAX_SMOOTHERS) {
        return usage_error("smooth: --smoother has more than %d entries", (int)MAX_SMOOTHERS);
    }
    if (job->save_as != NULL && job->smoothers.count > 1) {
        return usage_error("smooth: --save-as names one smoother, --smoother lists %d",
                           job->smoothers.count);
    }
    for (int s = 0; s < job->smoothers.count; ++s) {
        const char *method = job->smoothers.text[s];
        const int length = (int)strcspn(method, ":");
        if (job->save_as != NULL) {
            (void)snprintf(job->name[s], NAME_LENGTH, "%s", job->save_as);
        } else {
            (void)snprintf(job->name[s], NAME_LENGTH, "%.*s", length, method);
        }
        for (int other = 0; other < s; ++other) {
            if (strcmp(job->name[s], job->name[other]) == 0) {
                return usage_error(
                    "smooth: two smoothers would be kept as %s; give them one by one "
                    "with --save-as",
                    job->name[s]);
            }
        }
    }
    if (job->output == NULL && !names_container(job->path)) {
        return usage_error("smooth: %s is not a container (.cmg, .h5, .hdf5); name one by --output",
                           job->path);
    }
    return EXIT_DONE;
}

static int compute(smooth_job *job)
{
    const int all = cmg_hierarchy_levels(job->h);
    job->levels = job->finest_only && all > 1 ? all - 1 : all;
    job->info = tool_alloc((size_t)(job->smoothers.count * job->levels), sizeof *job->info);
    for (int s = 0; s < job->smoothers.count; ++s) {
        for (int l = 0; l < job->levels; ++l) {
            cmg_smoother_info *info = &job->info[s * job->levels + l];
            info->size = sizeof *info;
            const cmg_status status =
                cmg_hierarchy_smooth(job->h, l, job->smoothers.text[s], job->name[s], info);
            progress_end(&job->device.line);
            if (status != CMG_OK) {
                return library_error(job->ctx, status, job->path);
            }
        }
    }
    return EXIT_DONE;
}

static int write_output(smooth_job *job)
{
    const char *path = job->output != NULL ? job->output : job->path;
    const double begin = tool_seconds();
    const cmg_status status = hierarchy_store(job->h, path);
    progress_end(&job->device.line);
    job->write_seconds = tool_seconds() - begin;
    return status == CMG_OK ? EXIT_DONE : library_error(job->ctx, status, path);
}

/* ------------------------------------------------------------------ results */

static void print_smoother(const smooth_job *job, int s, FILE *out)
{
    const char *const headings[] = {"level",  "rows",    "entries", "a row",  "factors",
                                    "memory", "seconds", "quality", "lambda", "omega"};
    table *t = table_create(headings, 10);
    for (int l = 0; l < job->levels; ++l) {
        const cmg_smoother_info *info = &job->info[s * job->levels + l];
        const cmg_size rows = cmg_hierarchy_rows(job->h, l);
        table_cell(t, "%d\t%lld\t%lld\t%.1f\t%d\t%s\t%s\t%.3f\t%.3f\t%g", l, (long long)rows,
                   (long long)info->nnz, (double)info->nnz / (double)rows, info->factors,
                   format_bytes((double)info->bytes), format_seconds(info->seconds), info->quality,
                   info->lambda_max, info->omega);
    }
    fprintf(out, "%s, kept as %s:\n", job->smoothers.text[s], job->name[s]);
    table_print(t, out, "  ");
    table_destroy(&t);
}

static void print_report(const smooth_job *job, FILE *out)
{
    for (int s = 0; s < job->smoothers.count; ++s) {
        print_smoother(job, s, out);
    }
    size_t now[2];
    size_t peak[2];
    cmg_context_memory(job->ctx, now, peak);
    fprintf(out,
            "quality: ||I - M A||_F / ||I||_F; lambda: largest eigenvalue of M A; both estimated, "
            "damping included\n");
    fprintf(out, "written to %s in %s, peak memory %s\n",
            job->output != NULL ? job->output : job->path, format_seconds(job->write_seconds),
            format_bytes((double)peak[0]));
}

static int write_json(const smooth_job *job)
{
    json j;
    if (!report_open(&j, job->json, "smooth", &job->device)) {
        return EXIT_FILE;
    }
    json_text(&j, "file", job->path);
    json_text(&j, "output", job->output != NULL ? job->output : job->path);
    json_integer(&j, "threads", cmg_context_threads(job->ctx));
    json_array(&j, "smoothers");
    for (int s = 0; s < job->smoothers.count; ++s) {
        json_object(&j, NULL);
        json_text(&j, "smoother", job->smoothers.text[s]);
        json_text(&j, "name", job->name[s]);
        json_array(&j, "levels");
        for (int l = 0; l < job->levels; ++l) {
            const cmg_smoother_info *info = &job->info[s * job->levels + l];
            json_object(&j, NULL);
            json_integer(&j, "level", l);
            json_integer(&j, "rows", cmg_hierarchy_rows(job->h, l));
            json_integer(&j, "entries", info->nnz);
            json_integer(&j, "factors", info->factors);
            json_integer(&j, "bytes", (cmg_size)info->bytes);
            json_real(&j, "seconds", info->seconds);
            json_real(&j, "quality", info->quality);
            json_real(&j, "lambda_max", info->lambda_max);
            json_real(&j, "omega", info->omega);
            json_end(&j);
        }
        json_end(&j);
        json_end(&j);
    }
    json_end(&j);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

int cmd_smooth(int argc, char **argv)
{
    smooth_job job = {0};
    int lock = -1;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        return print_methods();
    }
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    status = check_names(&job);
    if (status == EXIT_DONE && job.output == NULL) {
        status = lock_container(job.path, &lock);
    }
    status = THEN(status, input_open(&job.input, &job.device, job.path, &job.ctx, &job.h));
    status = THEN(status, compute(&job));
    status = THEN(status, write_output(&job));
    if (status == EXIT_DONE) {
        print_report(&job, report_stream(job.json));
        status = job.json != NULL ? write_json(&job) : EXIT_DONE;
    }
    free(job.info);
    list_free(&job.smoothers);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    unlock_container(lock);
    return status;
}
