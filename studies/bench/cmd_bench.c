/*
 * `cmg bench spmv`: y = A x in every format, against the copy bandwidth, against the vendor's
 * library and against what the conversion costs.
 */
#include "bench_report.h"
#include "lists.h"
#include "status.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 512 };

/* Options whose values --sweep goes through, and the formats that take them. */
static const struct {
    const char *name;
    size_t offset; /* in cmg_matrix_options */
    const char *formats;
    int values[10]; /* up to a 0 */
} sweeps[] = {
    {"block", offsetof(cmg_matrix_options, block), NULL, {32, 64, 128, 256, 512, 1024}},
    {"threshold",
     offsetof(cmg_matrix_options, threshold),
     " k2 k2r k2rs ",
     {2, 4, 8, 12, 16, 24, 32, 64, 128}},
    {"t", offsetof(cmg_matrix_options, t), " ellt csr ", {1, 2, 4, 8, 16, 32}},
    {"warp",
     offsetof(cmg_matrix_options, warp),
     " sell k1 k1r k1rs sbell ",
     {4, 8, 16, 32, 64, 128, 256, 512}},
    {"pad", offsetof(cmg_matrix_options, pad), " pcsr ", {1, 2, 4, 8}},
    {"prefetch", offsetof(cmg_matrix_options, prefetch), " pcsr ", {1, 2, 4, 8}},
};
enum { SWEEPS = sizeof sweeps / sizeof sweeps[0] };

typedef struct bench_job {
    const char *generate; /* list of built-in matrices, NULL = none */
    const char *formats;
    const char *values;
    cmg_matrix_options options; /* t, warp, threshold, block */
    int samples;
    double least; /* milliseconds a sample */
    bool conversion;
    bool cold;
    const char *sweep; /* list of names of `sweeps`, NULL = none */
    const char *json_path;
    device_args device;
    cmg_context *ctx;
    double bandwidth; /* GB/s */
    bench_case cases[MAX_CASES];
    int ncases;
    text_list format_names;
    text_list value_names;
    text_list sweep_names;
    FILE *out;
    json j;
} bench_job;

static int split_list(text_list *list, const char *option, const char *text)
{
    if (!list_split(list, text)) {
        return usage_error("bench: --%s '%s' is no list of names between commas", option, text);
    }
    return ARGS_GO;
}

static int parse(bench_job *job, args *a, int argc, char **argv)
{
    device_args_default(&job->device);
    cmg_matrix_options_default(&job->options);
    job->formats = "all";
    job->values = "fp64,fp32";
    job->samples = 15;
    job->least = 20;
    const arg_option what[] = {
        {"generate", ARG_TEXT, &job->generate, "LIST", 0, 0,
         "built-in matrices: q1-2d:N, q1-3d:N, noisy-2d:N, noisy-3d:N"},
        {"formats", ARG_TEXT, &job->formats, "LIST", 0, 0, "formats to measure, or all"},
        {"values", ARG_TEXT, &job->values, "LIST", 0, 0,
         "of fp64, fp32, fp16, fp8; the last two in the compressed format only"},
        {"t", ARG_INT, &job->options.t, "N", 0, 32, "lanes a row in ellt and csr, 0 = chosen"},
        {"block-rows", ARG_INT, &job->options.block_rows, "N", 0, 3,
         "rows a block in sell, k1, bell, sbell, compressed"},
        {"warp", ARG_INT, &job->options.warp, "N", 0, 512, "rows a slice, 0 = chosen"},
        {"pad", ARG_INT, &job->options.pad, "N", 0, 8,
         "pcsr pads rows to multiples of N, 0 = chosen"},
        {"prefetch", ARG_INT, &job->options.prefetch, "N", 0, 8,
         "partitions a block in pcsr, 0 = 4"},
        {"threshold", ARG_INT, &job->options.threshold, "N", 0, ARG_ANY,
         "entries a lane in k2, 0 = chosen"},
        {"block", ARG_INT, &job->options.block, "N", 0, 1024,
         "threads a block on CUDA, 0 = chosen"},
    };
    const arg_option how[] = {
        {"samples", ARG_INT, &job->samples, "N", 3, BENCH_MAX_SAMPLES, "samples a format"},
        {"sample-ms", ARG_REAL, &job->least, "MS", 0, 10000, "least milliseconds a sample"},
        {"conversion", ARG_FLAG, &job->conversion, "", 0, 0,
         "also time conversions and new values on the same pattern"},
        {"cold", ARG_FLAG, &job->cold, "", 0, 0,
         "single products, with caches emptied before each"},
        {"sweep", ARG_TEXT, &job->sweep, "LIST", 0, 0,
         "each of block, threshold, t, warp, pad, prefetch through all its values"},
        {"json", ARG_TEXT, &job->json_path, "FILE", 0, 0,
         "write the figures as JSON, - = standard output"},
    };
    args_begin(
        a, "bench", "spmv [FILE...]",
        "Time y = A x with level 0 of each FILE, or with built-in matrices, in many formats.\n"
        "Every product is checked before it is timed.");
    args_add(a, "Matrices and formats", what, ARGS_COUNT(what));
    args_add(a, "Measurement", how, ARGS_COUNT(how));
    device_args_add(a, &job->device);
    const int status = args_parse(a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    if (strcmp(a->plain[0], "spmv") != 0) {
        return usage_error("bench: '%s' cannot be measured; known is spmv", a->plain[0]);
    }
    if (a->plains < 2 && job->generate == NULL) {
        return usage_error("bench: no matrix; give a FILE or --generate");
    }
    return ARGS_GO;
}

/* ------------------------------------------------------------------ cases */

/* Values of --values: a precision, or fp32 vectors with values in fewer bits. */
static const struct {
    const char *name;
    cmg_precision precision;
    cmg_values values;
} kinds[] = {{"fp64", CMG_FP64, CMG_VALUES_FULL},
             {"fp32", CMG_FP32, CMG_VALUES_FULL},
             {"fp16", CMG_FP32, CMG_VALUES_FP16},
             {"fp8", CMG_FP32, CMG_VALUES_FP8}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void add_case(bench_job *job, cmg_format format, const char *name, int kind)
{
    const bool reduced = kinds[kind].values != CMG_VALUES_FULL;
    if (job->ncases == MAX_CASES || (reduced && format != CMG_FORMAT_COMPRESSED)) {
        return;
    }
    bench_case *c = &job->cases[job->ncases++];
    *c = (bench_case){
        .options = job->options, .format = name, .values = kinds[kind].name, .cold = job->cold};
    c->options.format = format;
    c->options.precision = kinds[kind].precision;
    c->options.values = kinds[kind].values;
}

static bool takes(int sweep, const char *format)
{
    char word[64];
    (void)snprintf(word, sizeof word, " %s ", format);
    return sweeps[sweep].formats == NULL || strstr(sweeps[sweep].formats, word) != NULL;
}

/* The cases there are, once more for every value of an option that they take. */
static int add_sweeps(bench_job *job)
{
    const int cases = job->ncases;
    for (int k = 0; k < job->sweep_names.count; ++k) {
        int s = 0;
        while (s < SWEEPS && strcmp(sweeps[s].name, job->sweep_names.text[k]) != 0) {
            ++s;
        }
        if (s == SWEEPS) {
            return usage_error(
                "bench: --sweep: '%s' is none of block, threshold, t, warp, pad, prefetch",
                job->sweep_names.text[k]);
        }
        for (int c = 0; c < cases; ++c) {
            const int *value = sweeps[s].values;
            while (takes(s, job->cases[c].format) && *value != 0 && job->ncases < MAX_CASES) {
                bench_case *made = &job->cases[job->ncases++];
                *made = job->cases[c];
                made->swept = sweeps[s].name;
                made->swept_to = *value;
                memcpy((char *)&made->options + sweeps[s].offset, value, sizeof *value);
                ++value;
            }
        }
    }
    return ARGS_GO;
}

/* Formats that multiply on this backend; a dense or a diagonal one is asked for by name only, and
 * so are those of elements, which a file seldom has. */
static bool is_usual(const bench_job *job, int format)
{
    const bool vendor = strncmp(cmg_enum_name("format", format), "cusparse", 8) == 0;
    const bool elements = format >= CMG_FORMAT_NBN && format <= CMG_FORMAT_EBESYM;
    return format != CMG_FORMAT_DENSE && format != CMG_FORMAT_DIAGONAL && !elements &&
           (!vendor || job->device.options.backend == CMG_BACKEND_CUDA);
}

static int add_formats(bench_job *job, int kind)
{
    int format[LIST_LENGTH];
    const bool all = strcmp(job->formats, "all") == 0;
    if (all) {
        for (int f = 0; cmg_enum_name("format", f) != NULL; ++f) {
            if (is_usual(job, f)) {
                add_case(job, (cmg_format)f, cmg_enum_name("format", f), kind);
            }
        }
        return ARGS_GO;
    }
    const int unknown = list_enums(&job->format_names, "format", format);
    if (unknown >= 0) {
        return usage_error("bench: --formats: '%s' is unknown; see cmg solve --help",
                           job->format_names.text[unknown]);
    }
    for (int i = 0; i < job->format_names.count; ++i) {
        add_case(job, (cmg_format)format[i], job->format_names.text[i], kind);
    }
    return ARGS_GO;
}

static int make_cases(bench_job *job)
{
    int status = split_list(&job->format_names, "formats", job->formats);
    if (status == ARGS_GO) {
        status = split_list(&job->value_names, "values", job->values);
    }
    for (int v = 0; v < job->value_names.count && status == ARGS_GO; ++v) {
        int k = 0;
        while (k < KINDS && strcmp(kinds[k].name, job->value_names.text[v]) != 0) {
            ++k;
        }
        status = k < KINDS ? add_formats(job, k)
                           : usage_error("bench: --values: '%s' is none of fp64, fp32, fp16, fp8",
                                         job->value_names.text[v]);
    }
    if (status == ARGS_GO && job->sweep != NULL) {
        status = split_list(&job->sweep_names, "sweep", job->sweep);
        status = status == ARGS_GO ? add_sweeps(job) : status;
    }
    return status;
}

/* ------------------------------------------------------------------ run */

static int measure_matrix(bench_job *job, const bench_matrix *m)
{
    bench_reference reference;
    bench_result *results = tool_alloc((size_t)job->ncases, sizeof *results);
    int failed = 0;
    bench_reference_make(&m->csr, &reference);
    for (int c = 0; c < job->ncases; ++c) {
        (void)progress_report(&job->device.line, job->cases[c].format, c, job->ncases);
        bench_measure(job->ctx, m, &reference, &job->cases[c], job->samples, 1e-3 * job->least,
                      &results[c]);
        failed += strncmp(results[c].failure, "wrong", 5) == 0;
        if (job->conversion && results[c].failure[0] == '\0') {
            bench_conversion(job->ctx, m, &job->cases[c], &results[c].times);
        }
    }
    progress_end(&job->device.line);
    const bench_report report = {m, results, job->ncases, job->bandwidth};
    bench_report_print(&report, job->out);
    if (job->json_path != NULL) {
        bench_report_json(&report, &job->j);
    }
    bench_reference_free(&reference);
    free(results);
    return failed == 0 ? EXIT_DONE : EXIT_FAULT;
}

static int measure_all(bench_job *job, const args *a, const text_list *built_in)
{
    const int files = a->plains - 1;
    const int matrices = files + built_in->count;
    int status = EXIT_DONE;
    for (int k = 0; k < matrices && status == EXIT_DONE; ++k) {
        bench_matrix m = {0};
        status = k < files ? bench_matrix_read(&job->device, job->ctx, a->plain[k + 1], &m)
                           : bench_matrix_generate(job->ctx, built_in->text[k - files], &m);
        if (status == EXIT_DONE) {
            status = measure_matrix(job, &m);
            bench_matrix_free(&m);
        }
    }
    return status;
}

static int begin(bench_job *job)
{
    const int status = device_open(&job->device, &job->ctx);
    if (status != EXIT_DONE) {
        return status;
    }
    const cmg_status made = cmg_context_bandwidth(job->ctx, &job->bandwidth);
    if (made != CMG_OK) {
        return library_error(job->ctx, made, NULL);
    }
    const char *backend = cmg_enum_name("backend", (int)job->device.options.backend);
    job->out = report_stream(job->json_path);
    fprintf(job->out, "%s with %d threads, copy bandwidth %.0f GB/s\n\n", backend,
            cmg_context_threads(job->ctx), job->bandwidth);
    if (job->json_path == NULL) {
        return EXIT_DONE;
    }
    if (!report_open(&job->j, job->json_path, "bench spmv", &job->device)) {
        return EXIT_FILE;
    }
    json_text(&job->j, "backend", backend);
    json_integer(&job->j, "threads", cmg_context_threads(job->ctx));
    json_integer(&job->j, "samples", job->samples);
    json_bool(&job->j, "cold", job->cold);
    json_real(&job->j, "copy_gb_per_second", job->bandwidth);
    json_array(&job->j, "matrices");
    return EXIT_DONE;
}

/* Closes the outputs that begin opened. */
static int finish(bench_job *job, int status)
{
    if (job->json_path != NULL) {
        json_end(&job->j);
        if (!json_close(&job->j)) {
            return EXIT_FILE;
        }
    }
    return status;
}

int cmd_bench(int argc, char **argv)
{
    bench_job job = {0};
    args a;
    text_list built_in = {0};
    int status = parse(&job, &a, argc, argv);
    if (status == ARGS_GO) {
        status = make_cases(&job);
    }
    if (status == ARGS_GO && job.generate != NULL) {
        status = split_list(&built_in, "generate", job.generate);
    }
    if (status == ARGS_GO) {
        status = begin(&job);
        status = THEN(status, finish(&job, measure_all(&job, &a, &built_in)));
    }
    list_free(&built_in);
    list_free(&job.format_names);
    list_free(&job.value_names);
    list_free(&job.sweep_names);
    cmg_context_destroy(&job.ctx);
    return status;
}
