/* `cmg info`: what is in a hierarchy, level by level, and what is suspicious about it. */
#include "facts.h"
#include "findings.h"
#include "forecast.h"
#include "input.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* R A P is formed unasked where A has at most this many entries. */
static const cmg_size galerkin_limit = 3000000;

static const char *const attributes[] = {"problem",    "element",      "dim",
                                         "block_size", "symmetric",    "numbering",
                                         "generator",  "mesh_quality", "mesh_note"};
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

typedef struct info_job {
    const char *path;
    device_args device;
    input_args input;
    bool galerkin;
    bool no_galerkin;
    bool compress; /* predict compression in every numbering */
    cmg_size compress_rows;
    int precision; /* it is predicted for */
    int values;
    forecasts forecast;
    const char *json;
    cmg_context *ctx;
    cmg_hierarchy *h;
    int levels;
    cmg_level_info *info; /* one a level */
    findings found;
} info_job;

static int parse(info_job *job, int argc, char **argv)
{
    device_args_default(&job->device);
    job->compress_rows = 262144;
    job->precision = CMG_FP64;
    job->values = CMG_VALUES_FULL;
    const arg_option rows[] = {
        {"galerkin", ARG_FLAG, &job->galerkin, "", 0, 0,
         "form R A P on every level, not only on small ones"},
        {"no-galerkin", ARG_FLAG, &job->no_galerkin, "", 0, 0, "form R A P nowhere"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0,
         "write the facts as JSON, - = standard output"},
    };
    args a;
    args_begin(&a, "info", "FILE",
               "Print what is in the hierarchy in FILE - levels, smoothers, vectors, attributes -\n"
               "and everything about it that is suspicious.");
    const arg_option compression[] = {
        {"compress", ARG_FLAG, &job->compress, "", 0, 0,
         "predict what compressed storage makes of every matrix in every numbering"},
        {"rows", ARG_SIZE, &job->compress_rows, "N", 0, ARG_ANY,
         "most rows of a matrix to look at, 0 = all"},
        {"precision", ARG_ENUM, &job->precision, "matrix-precision", 0, 0, "of the cycle"},
        {"values", ARG_ENUM, &job->values, "values", 0, 0, "mixed: storage of the values"},
    };
    args_add(&a, "Output", rows, ARGS_COUNT(rows));
    args_add_row(&a, "threads", cmg_context_option, &job->device.options);
    args_add(&a, "Compression", compression, ARGS_COUNT(compression));
    input_args_add(&a, &job->input);
    int status = args_parse(&a, argc, argv);
    if (status == ARGS_GO && job->galerkin && job->no_galerkin) {
        status = usage_error("info: --galerkin and --no-galerkin contradict each other");
    }
    if (status == ARGS_GO && job->values != CMG_VALUES_FULL && job->precision == CMG_FP64) {
        status = usage_error("info: --values %s needs --precision mixed",
                             cmg_enum_name("values", job->values));
    }
    job->path = a.plain[0];
    return status;
}

/* Whether R A P of a level is formed. */
static bool wants_galerkin(const info_job *job, int l)
{
    cmg_csr A;
    if (job->galerkin || job->no_galerkin || l + 1 >= job->levels) {
        return job->galerkin;
    }
    return cmg_hierarchy_get_csr(job->h, l, CMG_ROLE_A, NULL, 0, &A) == CMG_OK &&
           A.indptr[A.rows] <= galerkin_limit;
}

/* What compression would make of it. */
static int look_ahead(info_job *job)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.precision = (cmg_precision)job->precision;
    options.values = (cmg_values)job->values;
    const cmg_status made =
        forecasts_make(job->ctx, job->h, &options, job->compress_rows, &job->forecast);
    return made == CMG_OK ? EXIT_DONE : library_error(job->ctx, made, job->path);
}

static int collect(info_job *job)
{
    int status = input_open(&job->input, &job->device, job->path, &job->ctx, &job->h);
    if (status != EXIT_DONE) {
        return status;
    }
    job->levels = cmg_hierarchy_levels(job->h);
    job->info = tool_alloc((size_t)job->levels, sizeof *job->info);
    for (int l = 0; l < job->levels; ++l) {
        job->info[l].size = sizeof job->info[l];
        const cmg_status made =
            cmg_hierarchy_level_info(job->h, l, wants_galerkin(job, l), &job->info[l]);
        if (made != CMG_OK) {
            return library_error(job->ctx, made, job->path);
        }
    }
    findings_collect(&job->found, job->h, job->info);
    const int ahead = job->compress ? look_ahead(job) : EXIT_DONE;
    progress_end(&job->device.line);
    return ahead;
}

static double mean_row(const cmg_level_info *info)
{
    return info->rows > 0 ? (double)info->nnz / (double)info->rows : 0;
}

/* Of all level matrices, over that of the finest: entries and rows; and their bytes. */
typedef struct complexity {
    double entries;
    double rows;
    double bytes;
} complexity;

static complexity complexity_of(const info_job *job)
{
    complexity all = {0, 0, 0};
    for (int l = 0; l < job->levels; ++l) {
        all.entries += (double)job->info[l].nnz;
        all.rows += (double)job->info[l].rows;
        all.bytes += (double)job->info[l].bytes;
    }
    all.entries /= (double)job->info[0].nnz;
    all.rows /= (double)job->info[0].rows;
    return all;
}

/* ------------------------------------------------------------------ text */

static const char *symmetry_words(const cmg_level_info *info, char text[32])
{
    if (info->asymmetry <= 1e-6) {
        return info->asymmetry == 0 ? "exact" : "rounded";
    }
    if (info->asymmetry_interior <= 1e-6) {
        return "inside";
    }
    (void)snprintf(text, 32, "no (%.1e)", info->asymmetry_interior);
    return text;
}

static void print_levels(const info_job *job, FILE *out)
{
    static const char *const headings[] = {"level",     "rows",  "entries",         "min",
                                           "mean",      "max",   "coarsening",      "<symmetric",
                                           "Dirichlet", "zeros", "galerkin defect", "entries of P",
                                           "memory"};
    char text[32];
    table *t = table_create(headings, 13);
    for (int l = 0; l < job->levels; ++l) {
        const cmg_level_info *info = &job->info[l];
        table_cell(t, "%d\t%lld\t%lld\t%lld\t%.1f\t%lld", l, (long long)info->rows,
                   (long long)info->nnz, (long long)info->row_min, mean_row(info),
                   (long long)info->row_max);
        if (l + 1 < job->levels) {
            table_cell(t, "%.2f", (double)info->rows / (double)job->info[l + 1].rows);
        } else {
            table_cell(t, "-");
        }
        table_cell(t, "%s\t%lld\t%lld", symmetry_words(info, text), (long long)info->dirichlet_rows,
                   (long long)info->explicit_zeros);
        if (info->galerkin_defect >= 0) {
            table_cell(t, "%.2e", info->galerkin_defect);
        } else {
            table_cell(t, "-");
        }
        table_cell(t, "%lld\t%s", (long long)info->p_nnz, format_bytes((double)info->bytes));
    }
    table_print(t, out, "  ");
    table_destroy(&t);
}

/* Entries of all factors of a smoother. */
static cmg_size smoother_entries(const info_job *job, int l, const char *name)
{
    cmg_size entries = 0;
    for (int k = 0; k < cmg_hierarchy_factors(job->h, l, name); ++k) {
        cmg_csr M;
        if (cmg_hierarchy_get_csr(job->h, l, CMG_ROLE_SMOOTHER, name, k, &M) == CMG_OK) {
            entries += M.indptr[M.rows];
        }
    }
    return entries;
}

static void print_smoothers(const info_job *job, FILE *out)
{
    static const char *const headings[] = {"level", "<smoother", "factors", "entries", "of A"};
    table *t = table_create(headings, 5);
    int count = 0;
    for (int l = 0; l < job->levels; ++l) {
        const char *name = NULL;
        for (int i = 0; (name = cmg_hierarchy_smoother(job->h, l, i)) != NULL; ++i, ++count) {
            const cmg_size entries = smoother_entries(job, l, name);
            table_cell(t, "%d\t%s\t%d\t%lld\t%.2f", l, name, cmg_hierarchy_factors(job->h, l, name),
                       (long long)entries, (double)entries / (double)job->info[l].nnz);
        }
    }
    if (count > 0) {
        fprintf(out, "smoothers in the file:\n");
        table_print(t, out, "  ");
    } else {
        fprintf(out, "smoothers in the file: none\n");
    }
    table_destroy(&t);
}

static void print_vectors(const info_job *job, FILE *out, const char *kind, const char *words)
{
    const char *name = cmg_hierarchy_vector_name(job->h, kind, 0);
    fprintf(out, "%s:%s", words, name == NULL ? " none" : "");
    for (int i = 0; (name = cmg_hierarchy_vector_name(job->h, kind, i)) != NULL; ++i) {
        fprintf(out, "%s %s", i > 0 ? "," : "", name);
    }
    fprintf(out, "\n");
}

/* ||b - A x|| / ||b|| of the reference solution, NaN when the file has no pair b, x. */
static double reference_residual(const info_job *job)
{
    const char *rhs = input_default_name(job->h, "rhs", "b");
    const char *solution = input_default_name(job->h, "solutions", "x");
    cmg_csr A;
    cmg_size n[2] = {0, 0};
    const double *b = NULL;
    const double *x = NULL;
    if (rhs == NULL || solution == NULL ||
        cmg_hierarchy_get_csr(job->h, 0, CMG_ROLE_A, NULL, 0, &A) != CMG_OK ||
        cmg_hierarchy_get_vector(job->h, 0, "rhs", rhs, &n[0], &b) != CMG_OK ||
        cmg_hierarchy_get_vector(job->h, 0, "solutions", solution, &n[1], &x) != CMG_OK ||
        n[0] != A.rows || n[1] != A.rows) {
        return NAN;
    }
    return relative_residual(&A, x, b);
}

static void print_info(const info_job *job, FILE *out)
{
    fprintf(out, "%s: %d levels, %lld unknowns, loaded in %s\n", job->path, job->levels,
            (long long)job->info[0].rows, format_seconds(job->input.load_seconds));
    for (int k = 0; k < ATTRIBUTES; ++k) {
        const char *value = cmg_hierarchy_attribute(job->h, attributes[k]);
        if (value != NULL) {
            fprintf(out, "%s: %s\n", attributes[k], value);
        }
    }
    print_levels(job, out);
    const complexity all = complexity_of(job);
    fprintf(out, "operator complexity %.3f, grid complexity %.3f, memory %s\n", all.entries,
            all.rows, format_bytes(all.bytes));
    print_smoothers(job, out);
    print_vectors(job, out, "rhs", "right-hand sides");
    print_vectors(job, out, "solutions", "reference solutions");
    const double residual = reference_residual(job);
    if (isfinite(residual)) {
        fprintf(out, "relative residual of the reference solution: %.2e\n", residual);
    }
    fprintf(out, job->found.count > 0 ? "suspicious:\n" : "nothing suspicious\n");
    for (int i = 0; i < job->found.count; ++i) {
        fprintf(out, "  %s\n", job->found.text[i]);
    }
    if (job->compress) {
        forecasts_print_levels(&job->forecast, out);
        forecasts_print(&job->forecast, out);
    }
}

/* ------------------------------------------------------------------ JSON */

static void json_level(json *j, const info_job *job, int l)
{
    const cmg_level_info *info = &job->info[l];
    json_object(j, NULL);
    json_integer(j, "level", l);
    json_integer(j, "rows", info->rows);
    json_integer(j, "entries", info->nnz);
    json_integer(j, "row_min", info->row_min);
    json_real(j, "row_mean", mean_row(info));
    json_integer(j, "row_max", info->row_max);
    json_integer(j, "dirichlet_rows", info->dirichlet_rows);
    json_integer(j, "explicit_zeros", info->explicit_zeros);
    json_integer(j, "negative_diagonal", info->negative_diagonal);
    json_real(j, "asymmetry", info->asymmetry);
    json_real(j, "asymmetry_interior", info->asymmetry_interior);
    json_real(j, "galerkin_defect", info->galerkin_defect >= 0 ? info->galerkin_defect : NAN);
    json_integer(j, "p_entries", info->p_nnz);
    json_integer(j, "bytes", (cmg_size)info->bytes);
    json_array(j, "smoothers");
    const char *name = NULL;
    for (int i = 0; (name = cmg_hierarchy_smoother(job->h, l, i)) != NULL; ++i) {
        json_object(j, NULL);
        json_text(j, "name", name);
        json_integer(j, "factors", cmg_hierarchy_factors(job->h, l, name));
        json_integer(j, "entries", smoother_entries(job, l, name));
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void json_names(json *j, const info_job *job, const char *kind)
{
    const char *name = NULL;
    json_array(j, kind);
    for (int i = 0; (name = cmg_hierarchy_vector_name(job->h, kind, i)) != NULL; ++i) {
        json_text(j, NULL, name);
    }
    json_end(j);
}

static int write_json(const info_job *job)
{
    json j;
    if (!report_open(&j, job->json, "info", &job->device)) {
        return EXIT_FILE;
    }
    json_text(&j, "file", job->path);
    json_real(&j, "load_seconds", job->input.load_seconds);
    json_integer(&j, "unknowns", job->info[0].rows);
    const complexity all = complexity_of(job);
    json_real(&j, "operator_complexity", all.entries);
    json_real(&j, "grid_complexity", all.rows);
    json_real(&j, "bytes", all.bytes);
    json_object(&j, "attributes");
    for (int k = 0; k < ATTRIBUTES; ++k) {
        if (cmg_hierarchy_attribute(job->h, attributes[k]) != NULL) {
            json_text(&j, attributes[k], cmg_hierarchy_attribute(job->h, attributes[k]));
        }
    }
    json_end(&j);
    json_array(&j, "levels");
    for (int l = 0; l < job->levels; ++l) {
        json_level(&j, job, l);
    }
    json_end(&j);
    json_names(&j, job, "rhs");
    json_names(&j, job, "solutions");
    json_real(&j, "reference_residual", reference_residual(job));
    json_array(&j, "suspicious");
    for (int i = 0; i < job->found.count; ++i) {
        json_text(&j, NULL, job->found.text[i]);
    }
    json_end(&j);
    if (job->compress) {
        forecasts_json(&job->forecast, &j);
    }
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

int cmd_info(int argc, char **argv)
{
    info_job job = {0};
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    status = collect(&job);
    if (status == EXIT_DONE) {
        print_info(&job, report_stream(job.json));
        status = job.json != NULL ? write_json(&job) : EXIT_DONE;
    }
    free(job.info);
    findings_free(&job.found);
    forecasts_free(&job.forecast);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    return status;
}
