/* Results of `cmg compare` as table, JSON and CSV. */
#include "compare.h"
#include "status.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* The name of the file without folders. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void compare_name(compare_row *rows, int count)
{
    bool differs[9] = {false};
    for (int i = 1; i < count; ++i) {
        const compare_row *r = &rows[i];
        differs[0] = differs[0] || r->file != rows->file;
        differs[1] = differs[1] || r->omega != rows->omega;
        differs[2] = differs[2] || r->cycle != rows->cycle;
        differs[3] = differs[3] || r->krylov != rows->krylov;
        differs[4] = differs[4] || r->precision != rows->precision;
        differs[5] = differs[5] || r->format != rows->format;
        differs[6] = differs[6] || r->values != rows->values;
        differs[7] = differs[7] || r->numbering != rows->numbering;
        differs[8] = differs[8] || r->backend != rows->backend;
    }
    for (int i = 0; i < count; ++i) {
        compare_row *r = &rows[i];
        char *name = r->name;
        name[0] = '\0';
        append(name, COMPARE_NAME, "%s %d+%d", r->smoother, r->pre, r->post);
        if (differs[1]) {
            append(name, COMPARE_NAME, r->omega == 0 ? " omega own" : " omega %g", r->omega);
        }
        const char *const words[] = {
            cmg_enum_name("cycle", r->cycle),         cmg_enum_name("krylov", r->krylov),
            cmg_enum_name("precision", r->precision), cmg_enum_name("format", r->format),
            cmg_enum_name("values", r->values),       cmg_enum_name("numbering", r->numbering),
            cmg_enum_name("backend", r->backend)};
        for (int w = 0; w < 7; ++w) {
            append(name, COMPARE_NAME, "%s%s", differs[w + 2] ? " " : "",
                   differs[w + 2] ? words[w] : "");
        }
        append(name, COMPARE_NAME, "%s%s", differs[0] ? " " : "",
               differs[0] ? base_name(r->file) : "");
    }
}

/* ------------------------------------------------------------------ table */

static void cell_break_even(table *t, double solves)
{
    if (solves == 0) {
        table_cell(t, "at once");
    } else if (isinf(solves)) {
        table_cell(t, "never");
    } else {
        table_cell(t, "%.0f", solves);
    }
}

void compare_print(const compare_row *rows, int count, FILE *out)
{
    const char *const headings[] = {"<configuration", "it",      "factor", "cycle",     "solve",
                                    "set-up",         "B/digit", "memory", "break-even"};
    table *t = table_create(headings, 9);
    for (int i = 0; i < count; ++i) {
        const compare_row *r = &rows[i];
        table_cell(t, "%s", r->name);
        if (!compare_converged(r)) {
            table_cell(t, "-");
            if (r->status == CMG_OK) {
                table_cell(t, "%.3f\t%s", r->factor, format_seconds(r->cycle_seconds));
            } else {
                table_cell(t, "-\t-");
            }
            for (int k = 0; k < 5; ++k) {
                table_cell(t, "-");
            }
            continue;
        }
        table_cell(t, "%d\t%.3f\t%s\t%s\t%s\t%.0f\t%s", r->iterations, r->factor,
                   format_seconds(r->cycle_seconds), format_seconds(r->solve_seconds),
                   format_seconds(r->setup_seconds), r->digit_bytes, format_bytes(r->memory_bytes));
        cell_break_even(t, r->break_even);
    }
    table_print(t, out, "");
    table_destroy(&t);
    for (int i = 0; i < count; ++i) {
        if (rows[i].status != CMG_OK) {
            fprintf(out, "%s: %s\n", rows[i].name, rows[i].message);
        } else if (!compare_converged(&rows[i])) {
            fprintf(out, "%s: %s after %d iterations, relative residual %.1e\n", rows[i].name,
                    cmg_enum_text("outcome", (int)rows[i].outcome), rows[i].iterations,
                    rows[i].relative_residual);
        }
    }
    fprintf(
        out,
        "B/digit: bytes moved per digit of accuracy and unknown; break-even: solves after which "
        "a set-up has paid off\n");
}

/*
 * The best row, and what it gains: over the best Jacobi, or, where Jacobi wins, over the others.
 * Where their times are closer than the spread, the bytes decide.
 */
static void recommend(const compare_row *rows, int count, double solves, const char *when,
                      FILE *out)
{
    const double spread = compare_spread(rows, count);
    const int best = compare_best(rows, count, solves, COMPARE_ALL, spread);
    const int jacobi = compare_best(rows, count, solves, COMPARE_JACOBI, spread);
    const int other =
        jacobi == best ? compare_best(rows, count, solves, COMPARE_OTHERS, spread) : jacobi;
    if (best < 0) {
        fprintf(out, "%s: none converged\n", when);
        return;
    }
    const double seconds = compare_cost(&rows[best], solves);
    fprintf(out, "%s: %s, %s", when, rows[best].name, format_seconds(seconds));
    if (other >= 0) {
        const double ratio = compare_cost(&rows[other], solves) / seconds;
        if (ratio > spread) {
            fprintf(out, ", %.2f times faster than %s", ratio, rows[other].name);
        } else {
            fprintf(out, ", as fast as %s within the spread, %.2f of its bytes", rows[other].name,
                    compare_bytes(&rows[best]) / compare_bytes(&rows[other]));
        }
    }
    fprintf(out, "\n");
}

/* What the rounds say about the machine. */
static void note_spread(const compare_row *rows, int count, FILE *out)
{
    static const double BUSY = 1.3;
    const double spread = compare_spread(rows, count);
    if (spread > BUSY) {
        fprintf(out,
                "busy machine: the same solve took up to %.1f times as long from round to round; "
                "times that are closer\ncount as equal, and the bytes decide\n",
                spread);
    }
}

void compare_recommend(const compare_row *rows, int count, FILE *out)
{
    for (int first = 0; first < count;) {
        int last = first;
        while (last < count && compare_same_group(&rows[last], &rows[first])) {
            ++last;
        }
        fprintf(out, "%s, numbering %s, on %s:\n", rows[first].file,
                cmg_enum_name("numbering", rows[first].numbering),
                cmg_enum_name("backend", rows[first].backend));
        note_spread(rows + first, last - first, out);
        recommend(rows + first, last - first, 1, "  one solve, set-up included", out);
        recommend(rows + first, last - first, 100, "  100 solves, set-up included", out);
        recommend(rows + first, last - first, 0, "  a solve, set-up done before", out);
        first = last;
    }
}

/* ------------------------------------------------------------------ JSON and CSV */

int compare_write_json(const char *path, const compare_row *rows, int count)
{
    json j;
    if (!json_open(&j, path)) {
        return EXIT_FILE;
    }
    json_text(&j, "command", "compare");
    json_text(&j, "version", cmg_version());
    json_integer(&j, "schema", JSON_SCHEMA);
    json_array(&j, "rows");
    for (int i = 0; i < count; ++i) {
        const compare_row *r = &rows[i];
        const bool ran = r->status == CMG_OK;
        json_object(&j, NULL);
        json_text(&j, "file", r->file);
        json_text(&j, "smoother", r->smoother);
        json_integer(&j, "pre", r->pre);
        json_integer(&j, "post", r->post);
        json_real(&j, "omega", r->omega);
        json_text(&j, "cycle", cmg_enum_name("cycle", r->cycle));
        json_text(&j, "krylov", cmg_enum_name("krylov", r->krylov));
        json_text(&j, "precision", cmg_enum_name("precision", r->precision));
        json_text(&j, "format", cmg_enum_name("format", r->format));
        json_text(&j, "values", cmg_enum_name("values", r->values));
        json_text(&j, "numbering", cmg_enum_name("numbering", r->numbering));
        json_text(&j, "backend", cmg_enum_name("backend", r->backend));
        json_text(&j, "status", cmg_status_name(r->status));
        json_text(&j, "message", ran ? NULL : r->message);
        json_text(&j, "reason", ran ? cmg_enum_name("outcome", (int)r->outcome) : NULL);
        json_bool(&j, "converged", compare_converged(r));
        json_integer(&j, "iterations", r->iterations);
        json_integer(&j, "starts", r->starts);
        json_real(&j, "relative_residual", ran ? r->relative_residual : NAN);
        json_real(&j, "convergence_factor", r->factor);
        json_real(&j, "setup_seconds", r->setup_seconds);
        json_real(&j, "solve_seconds", r->solve_seconds);
        json_real(&j, "spread", r->spread > 0 ? r->spread : NAN);
        json_real(&j, "cycle_seconds", ran ? r->cycle_seconds : NAN);
        json_real(&j, "cycle_bytes", ran ? r->cycle_bytes : NAN);
        json_real(&j, "iteration_bytes", ran ? r->iteration_bytes : NAN);
        json_real(&j, "bytes_per_digit_and_unknown", r->digit_bytes);
        json_real(&j, "memory_bytes", ran ? r->memory_bytes : NAN);
        json_real(&j, "break_even_solves", r->break_even); /* null: never, or did not converge */
        json_integer(&j, "unknowns", r->unknowns);
        json_reals(&j, "history", r->history, ran ? r->iterations + 1 : 0);
        json_end(&j);
    }
    json_end(&j);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

/* A field that holds commas or quotes (RFC 4180). */
static void csv_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c != '\0'; ++c) {
        fputs(*c == '"' ? "\"\"" : (const char[]){*c, '\0'}, file);
    }
    fputc('"', file);
}

/* A number, empty when there is none. */
static void csv_real(FILE *file, double value)
{
    if (isfinite(value)) {
        fprintf(file, ",%.9g", value);
    } else {
        fputc(',', file);
    }
}

static void csv_row(FILE *file, const compare_row *r)
{
    csv_text(file, r->file);
    fputc(',', file);
    csv_text(file, r->smoother);
    fprintf(file, ",%d,%d,%.9g,%s,%s,%s,%s,%s,%s,%s,%s,%d,%d", r->pre, r->post, r->omega,
            cmg_enum_name("cycle", r->cycle), cmg_enum_name("krylov", r->krylov),
            cmg_enum_name("precision", r->precision), cmg_enum_name("format", r->format),
            cmg_enum_name("values", r->values), cmg_enum_name("numbering", r->numbering),
            cmg_enum_name("backend", r->backend), cmg_status_name(r->status), compare_converged(r),
            r->iterations);
    const bool ran = r->status == CMG_OK;
    const double values[] = {r->factor,        r->setup_seconds, r->solve_seconds,
                             r->cycle_seconds, r->cycle_bytes,   r->iteration_bytes,
                             r->digit_bytes,   r->memory_bytes,  r->break_even};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; ++v) {
        csv_real(file, ran ? values[v] : NAN);
    }
    fputc('\n', file);
}

int compare_write_csv(const char *path, const compare_row *rows, int count)
{
    output_text text;
    FILE *file = text_open(path, &text);
    if (file == NULL) {
        return EXIT_FILE;
    }
    fputs("file,smoother,pre,post,omega,cycle,krylov,precision,format,values,numbering,backend,"
          "status,"
          "converged,"
          "iterations,convergence_factor,setup_seconds,solve_seconds,cycle_seconds,cycle_bytes,"
          "iteration_bytes,bytes_per_digit_and_unknown,memory_bytes,break_even_solves\n",
          file);
    for (int i = 0; i < count; ++i) {
        csv_row(file, &rows[i]);
    }
    return text_close(path, file, &text) ? EXIT_DONE : EXIT_FILE;
}
