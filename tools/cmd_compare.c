/*
 * `cmg compare`: smoothers, steps, dampings, cycles, precisions, formats and backends side by side,
 * on one input or several (numberings and meshes are inputs), every combination of the lists.
 */
#include "compare.h"
#include "input.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmg_elements.h>

enum { MAX_ROWS = 4096 };

/* One option that is a list. */
enum {
    SMOOTHER,
    STEPS,
    OMEGA,
    CYCLE,
    KRYLOV,
    PRECISION,
    FORMAT,
    VALUES,
    NUMBERING,
    BACKEND,
    VARIANTS,
    LISTS
};

typedef struct compare_job {
    args a;
    const char *given[LISTS];
    const char *variants;
    text_list list[LISTS];
    int choice[LISTS][LIST_LENGTH]; /* values of enumerations */
    int pre[LIST_LENGTH];
    int post[LIST_LENGTH];
    double omega[LIST_LENGTH];
    cmg_context_options device;
    compare_options options;
    bool quick;
    const char *json;
    const char *csv;
    const char *plot;
    compare_row *rows;
    int count;
    progress line;
} compare_job;

static const char *const quick_smoothers =
    "auto,jacobi,jacobi:omega=auto,l1-jacobi,spai,spai:tau=0,fsai,fsai:power=0:adaptive=8,sainv,"
    "sainv:drop=0.13,chebyshev4,chebyshev4-opt:degree=3,chebyshev4:base=spai,ainv,isai,sweep:ilu="
    "yes";

/* Rounds of --quick, and the seconds of the first up to which there are more. */
enum { ROUNDS = 3 };
static const double ROUND_SECONDS = 20;

static void set_defaults(compare_job *job)
{
    cmg_solver_options o;
    cmg_solver_options_default(&o);
    job->given[SMOOTHER] = "auto,jacobi,spai,fsai,chebyshev4";
    job->given[STEPS] = "1";
    job->given[OMEGA] = "0";
    job->given[CYCLE] = cmg_enum_name("cycle", (int)o.cycle);
    job->given[KRYLOV] = cmg_enum_name("krylov", (int)o.krylov);
    job->given[PRECISION] = cmg_enum_name("precision", (int)o.precision);
    job->given[FORMAT] = cmg_enum_name("format", (int)o.matrix.format);
    job->given[VALUES] = cmg_enum_name("values", (int)o.matrix.values);
    job->given[NUMBERING] = cmg_enum_name("numbering", CMG_NUMBERING_GENERATED);
    job->given[BACKEND] = cmg_enum_name("backend", CMG_BACKEND_CPU);
    job->given[VARIANTS] = " "; /* one that sets nothing */
    o.max_it = 200;
    job->options = (compare_options){.solver = o, .repeat = 3};
    cmg_context_options_default(&job->device);
    cmg_elements_use(&job->device);
}

static void add_lists(compare_job *job)
{
    const arg_option rows[] = {
        {"smoother", ARG_TEXT, &job->given[SMOOTHER], "LIST", 0, 0,
         "smoothers with their keys, e.g. jacobi,spai:tau=0,file:m"},
        {"steps", ARG_TEXT, &job->given[STEPS], "LIST", 0, 0,
         "smoothing steps, N before and after, or PRE+POST"},
        {"omega", ARG_TEXT, &job->given[OMEGA], "LIST", 0, 0, "dampings, 0 = the smoother's own"},
        {"cycle", ARG_TEXT, &job->given[CYCLE], "LIST", 0, 0,
         "shapes of the cycle, none = smoothing alone"},
        {"krylov", ARG_TEXT, &job->given[KRYLOV], "LIST", 0, 0,
         "cycles alone, in CG, in flexible CG or in defect correction"},
        {"precision", ARG_TEXT, &job->given[PRECISION], "LIST", 0, 0, "of the cycle"},
        {"format", ARG_TEXT, &job->given[FORMAT], "LIST", 0, 0, "storage of the matrices"},
        {"values", ARG_TEXT, &job->given[VALUES], "LIST", 0, 0,
         "storage of the values of format compressed under precision mixed"},
        {"numbering", ARG_TEXT, &job->given[NUMBERING], "LIST", 0, 0,
         "of the unknowns; generated = as in FILE"},
        {"backend", ARG_TEXT, &job->given[BACKEND], "LIST", 0, 0, "where it runs"},
        {"variants", ARG_TEXT, &job->variants, "LIST", 0, 0,
         "settings that go together, e.g. \"krylov=none steps=4, precision=mixed\"; keys: "
         "smoother, steps, omega, cycle, krylov, precision, format, values"},
    };
    args_add(&job->a, "Compared, every combination; lists are separated by commas", rows,
             ARGS_COUNT(rows));
}

static void add_options(compare_job *job)
{
    compare_options *o = &job->options;
    const arg_option rows[] = {
        {"quick", ARG_FLAG, &job->quick, "", 0, 0,
         "compare a chosen set of smoothers and recommend one"},
        {"repeat", ARG_INT, &o->repeat, "N", 1, 1000, "solves a row; the median counts"},
        {"rhs", ARG_TEXT, &o->rhs, "NAME|FILE", 0, 0,
         "right-hand side: its name in FILE, or a file; default: b of FILE, else ones, random "
         "where these are no test"},
    };
    const arg_option output[] = {
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0, "write all results, - = standard output"},
        {"csv", ARG_TEXT, &job->csv, "FILE", 0, 0, "write the rows as comma-separated values"},
        {"plot", ARG_TEXT, &job->plot, "FILE", 0, 0,
         "draw residuals over iterations and time as SVG"},
    };
    static const char *const shared[] = {"rtol", "max_it", "dirichlet", "coarse_limit", "collapse"};
    args_add(&job->a, "Options", rows, ARGS_COUNT(rows));
    for (int i = 0; i < ARGS_COUNT(shared); ++i) {
        args_add_row(&job->a, shared[i], cmg_solver_option, &o->solver);
    }
    args_add_row(&job->a, "threads", cmg_context_option, &job->device);
    args_add_row(&job->a, "device", cmg_context_option, &job->device);
    args_add(&job->a, "Output", output, ARGS_COUNT(output));
}

static int read_lists(compare_job *job)
{
    static const char *const names[LISTS] = {"smoother",  "steps",     "omega",   "cycle",
                                             "krylov",    "precision", "format",  "values",
                                             "numbering", "backend",   "variants"};
    for (int l = 0; l < LISTS; ++l) {
        if (!list_split(&job->list[l], job->given[l])) {
            return usage_error("compare: --%s has an empty entry or more than %d", names[l],
                               (int)LIST_LENGTH);
        }
        const bool enums = l >= CYCLE && l <= BACKEND;
        const int bad = enums ? list_enums(&job->list[l], names[l], job->choice[l]) : -1;
        if (bad >= 0) {
            return usage_error("compare: --%s: '%s' is unknown", names[l], job->list[l].text[bad]);
        }
    }
    for (int i = 0; i < job->list[STEPS].count; ++i) {
        if (!compare_read_steps(job->list[STEPS].text[i], &job->pre[i], &job->post[i])) {
            return usage_error("compare: --steps: '%s' is neither N nor PRE+POST, 1 to 1000",
                               job->list[STEPS].text[i]);
        }
    }
    for (int i = 0; i < job->list[OMEGA].count; ++i) {
        const char *text = job->list[OMEGA].text[i];
        if (!args_read_real(text, &job->omega[i]) || job->omega[i] < 0) {
            return usage_error("compare: --omega: '%s' is not a number of at least 0", text);
        }
    }
    for (int i = 0; i < job->list[VARIANTS].count; ++i) {
        char bad[COMPARE_WORD];
        compare_row row;
        if (!compare_apply_variant(job->list[VARIANTS].text[i], &row, bad)) {
            return usage_error("compare: --variants: '%s' is not a known key=value", bad);
        }
    }
    return EXIT_DONE;
}

static int parse(compare_job *job, int argc, char **argv)
{
    set_defaults(job);
    args_begin(
        &job->a, "compare", "FILE...",
        "Solve with every combination of the lists and print iterations, times, bytes and memory\n"
        "side by side. Several FILEs compare numberings or meshes.");
    add_lists(job);
    add_options(job);
    const int status = args_parse(&job->a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    if (job->quick && !args_given(&job->a, "smoother")) {
        job->given[SMOOTHER] = quick_smoothers;
    }
    if (job->variants != NULL) {
        job->given[VARIANTS] = job->variants;
    }
    const int read = read_lists(job);
    return read == EXIT_DONE ? ARGS_GO : read;
}

/* Every combination: file, backend and numbering outermost, the smoother innermost but for its
 * steps. */
static int make_rows(compare_job *job)
{
    double total = job->a.plains;
    for (int l = 0; l < LISTS; ++l) {
        total *= job->list[l].count;
    }
    if (total > MAX_ROWS) {
        return usage_error("compare: %.0f combinations are more than %d", total, (int)MAX_ROWS);
    }
    job->count = (int)total;
    job->rows = tool_alloc((size_t)job->count, sizeof *job->rows);
    static const int order[] = {OMEGA,     STEPS, SMOOTHER, VARIANTS,  VALUES, FORMAT,
                                PRECISION, CYCLE, KRYLOV,   NUMBERING, BACKEND};
    for (int i = 0; i < job->count; ++i) {
        int at[LISTS];
        int rest = i;
        for (size_t k = 0; k < sizeof order / sizeof order[0]; ++k) {
            at[order[k]] = rest % job->list[order[k]].count;
            rest /= job->list[order[k]].count;
        }
        job->rows[i] = (compare_row){.file = job->a.plain[rest],
                                     .smoother = job->list[SMOOTHER].text[at[SMOOTHER]],
                                     .pre = job->pre[at[STEPS]],
                                     .post = job->post[at[STEPS]],
                                     .omega = job->omega[at[OMEGA]],
                                     .cycle = job->choice[CYCLE][at[CYCLE]],
                                     .krylov = job->choice[KRYLOV][at[KRYLOV]],
                                     .precision = job->choice[PRECISION][at[PRECISION]],
                                     .format = job->choice[FORMAT][at[FORMAT]],
                                     .values = job->choice[VALUES][at[VALUES]],
                                     .numbering = job->choice[NUMBERING][at[NUMBERING]],
                                     .backend = job->choice[BACKEND][at[BACKEND]]};
        char bad[COMPARE_WORD];
        (void)compare_apply_variant(job->list[VARIANTS].text[at[VARIANTS]], &job->rows[i], bad);
    }
    compare_name(job->rows, job->count);
    return EXIT_DONE;
}

/* The hierarchy of a group, in its numbering. */
static int open_group(compare_job *job, const compare_row *row, device_args *device,
                      cmg_context **ctx, cmg_hierarchy **h)
{
    input_args input = {0};
    device_args_default(device);
    device->options = job->device;
    device->options.backend = (cmg_backend)row->backend;
    int status = device_open(device, ctx);
    status = THEN(status, input_read(&input, device, *ctx, row->file, h));
    if (status == EXIT_DONE && row->numbering != CMG_NUMBERING_GENERATED) {
        const cmg_status renumbered = cmg_hierarchy_renumber(*h, (cmg_numbering)row->numbering, 1);
        status = renumbered == CMG_OK ? EXIT_DONE : library_error(*ctx, renumbered, row->file);
    }
    return status;
}

/* A solver that is thrown away, so that the first row does not pay for cold memory and threads. */
static void warm_up(cmg_hierarchy *h)
{
    cmg_solver *s = NULL;
    (void)cmg_solver_create(h, NULL, &s);
    if (s != NULL) {
        (void)cmg_solver_measure(s, 2);
    }
    cmg_solver_destroy(&s);
}

/* Rows first .. last - 1, a group. */
static int run_group(compare_job *job, int first, int last)
{
    device_args device;
    char said[INPUT_TEXT];
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_vector *b = NULL;
    const char *path = job->rows[first].file;
    int status = open_group(job, &job->rows[first], &device, &ctx, &h);
    status = THEN(status, input_rhs(ctx, h, path, job->options.rhs, &b, said));
    if (status == EXIT_DONE && cmg_vector_columns(b) > 1) {
        status =
            file_error(job->options.rhs, "has %d columns, one is compared", cmg_vector_columns(b));
    }
    if (status == EXIT_DONE) {
        warm_up(h); /* a file that no solver takes is reported by its first row */
    }
    for (int i = first; status == EXIT_DONE && i < last; ++i) {
        (void)progress_report(&job->line, job->rows[i].name, i, job->count);
        if (!job->rows[i].measured) {
            compare_measure_shared(&job->rows[i], last - i, &job->options, ctx, h, b);
        }
        const cmg_status row = job->rows[i].status;
        if (row == CMG_ERR_FILE || row == CMG_ERR_DEVICE || row == CMG_ERR_INTERNAL) {
            status = library_error(ctx, row, path); /* concerns every row */
        }
        progress_end(&device.line);
    }
    cmg_vector_destroy(&b);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status;
}

/* All rows once. */
static int run_round(compare_job *job)
{
    progress_begin(&job->line);
    for (int first = 0; first < job->count;) {
        int last = first;
        while (last < job->count && compare_same_group(&job->rows[last], &job->rows[first])) {
            ++last;
        }
        const int status = run_group(job, first, last);
        if (status != EXIT_DONE) {
            progress_end(&job->line);
            return status;
        }
        first = last;
    }
    progress_end(&job->line);
    return EXIT_DONE;
}

/* One round more, for the least times and their spread. */
static int run_again(compare_job *job)
{
    double(*seconds)[2] = tool_alloc((size_t)job->count, sizeof *seconds);
    double *spread = tool_alloc((size_t)job->count, sizeof *spread);
    for (int i = 0; i < job->count; ++i) {
        spread[i] = job->rows[i].spread;
        compare_keep_round(&job->rows[i], seconds[i]);
    }
    const int status = run_round(job);
    for (int i = 0; i < job->count && status == EXIT_DONE; ++i) {
        compare_merge_round(&job->rows[i], seconds[i], spread[i]);
    }
    free(seconds);
    free(spread);
    return status;
}

static int run(compare_job *job)
{
    const double begin = tool_seconds();
    int status = run_round(job);
    const bool more = job->quick && tool_seconds() - begin < ROUND_SECONDS;
    for (int r = 1; r < ROUNDS && more && status == EXIT_DONE; ++r) {
        status = run_again(job);
    }
    if (status == EXIT_DONE) {
        compare_break_even(job->rows, job->count);
    }
    return status;
}

static int report(const compare_job *job)
{
    const bool taken = job->csv != NULL && strcmp(job->csv, "-") == 0;
    FILE *out = taken ? stderr : report_stream(job->json);
    compare_print(job->rows, job->count, out);
    if (job->quick) {
        compare_recommend(job->rows, job->count, out);
    }
    int status = EXIT_DONE;
    if (job->json != NULL) {
        status = compare_write_json(job->json, job->rows, job->count);
    }
    if (status == EXIT_DONE && job->csv != NULL) {
        status = compare_write_csv(job->csv, job->rows, job->count);
    }
    if (status == EXIT_DONE && job->plot != NULL) {
        status = compare_write_plot(job->plot, job->rows, job->count);
    }
    return status;
}

/* 0 when at least one row converged; when none did, an unknown method is a usage error. */
static int exit_for_rows(const compare_job *job)
{
    int unusable = 0;
    for (int i = 0; i < job->count; ++i) {
        if (compare_converged(&job->rows[i])) {
            return EXIT_DONE;
        }
        unusable += job->rows[i].status == CMG_ERR_ARG;
    }
    return unusable == job->count ? EXIT_USAGE : EXIT_NOT_CONVERGED;
}

int cmd_compare(int argc, char **argv)
{
    compare_job *job = tool_alloc(1, sizeof *job);
    *job = (compare_job){0};
    int status = parse(job, argc, argv);
    if (status == ARGS_GO) {
        status = make_rows(job);
        status = THEN(status, run(job));
        status = THEN(status, report(job));
        status = THEN(status, exit_for_rows(job));
    }
    for (int i = 0; i < job->count; ++i) {
        free(job->rows[i].history);
    }
    for (int l = 0; l < LISTS; ++l) {
        list_free(&job->list[l]);
    }
    free(job->rows);
    free(job);
    return status;
}
