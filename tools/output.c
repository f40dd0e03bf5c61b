/* What the tool prints: JSON, amounts with units, the progress line. Tables are in table.c. */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include "signals.h"
#include "status.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { AMOUNT_LENGTH = 32 };
enum { OPTION_MOST = 1100 }; /* characters of an option as text */

/* ------------------------------------------------------------------ files */

FILE *text_open(const char *path, output_text *text)
{
    *text = (output_text){0};
    if (strcmp(path, "-") == 0) {
        return stdout;
    }
    FILE *file = open_memstream(&text->data, &text->size);
    if (file == NULL) {
        (void)file_error(path, "cannot be written: %s", strerror(errno));
    }
    return file;
}

/* By a context of its own: what is written may be the report of one that failed. */
static bool save(const char *path, const output_text *text)
{
    cmg_context_options options;
    cmg_context *ctx = NULL;
    cmg_context_options_default(&options);
    options.threads = 1;
    writing_begin();
    cmg_status status = cmg_context_create(&options, &ctx);
    status = THEN(status, cmg_file_write(ctx, path, text->data, text->size));
    if (status != CMG_OK) {
        (void)library_error(ctx, status, path);
    }
    cmg_context_destroy(&ctx);
    writing_end();
    return status == CMG_OK;
}

bool text_close(const char *path, FILE *file, output_text *text)
{
    bool good = fflush(file) == 0 && !ferror(file);
    int reason = errno;
    if (file != stdout && fclose(file) != 0) {
        reason = good ? errno : reason;
        good = false;
    }
    if (!good) {
        (void)file_error(path, "cannot be written: %s", strerror(reason));
    } else if (file != stdout) {
        good = save(path, text);
    }
    free(text->data);
    text->data = NULL;
    return good;
}

/* ------------------------------------------------------------------ JSON */

/* Length of the UTF-8 sequence at s (RFC 3629), 0 when it is not one. */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    const int n = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                  : (s[0] & 0xf0) == 0xe0        ? 3
                  : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                 : 0;
    for (int i = 1; i < n; ++i) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    const bool too_large = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : n;
}

static void write_string(FILE *file, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', file);
    while (*s != '\0') {
        const int n = utf8_length(s);
        if (n == 0) {
            fputs("\\ufffd", file);
        } else if (*s == '"' || *s == '\\') {
            fprintf(file, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(file, "\\u%04x", (unsigned)*s);
        } else {
            fwrite(s, 1, (size_t)n, file);
        }
        s += n > 0 ? n : 1;
    }
    fputc('"', file);
}

/* Comma, line break and key in front of a value. */
static void lead(json *j, const char *key)
{
    const int d = j->depth;
    const bool on_line = d > 0 && j->inline_array[d];
    if (!j->empty[d]) {
        fputs(on_line ? ", " : ",", j->file);
    }
    if (!on_line && d > 0) {
        fprintf(j->file, "\n%*s", 2 * d, "");
    }
    j->empty[d] = false;
    if (key != NULL) {
        write_string(j->file, key);
        fputs(": ", j->file);
    }
}

static void open_block(json *j, const char *key, char opening, char closing, bool on_line)
{
    assert(j->depth + 1 < JSON_MAX_DEPTH);
    lead(j, key);
    fputc(opening, j->file);
    ++j->depth;
    j->empty[j->depth] = true;
    j->closing[j->depth] = closing;
    j->inline_array[j->depth] = on_line;
}

bool json_open(json *j, const char *path)
{
    *j = (json){.path = path, .empty = {true}};
    j->file = text_open(path, &j->text);
    if (j->file == NULL) {
        return false;
    }
    open_block(j, NULL, '{', '}', false);
    return true;
}

bool json_close(json *j)
{
    while (j->depth > 0) {
        json_end(j);
    }
    fputc('\n', j->file);
    return text_close(j->path, j->file, &j->text);
}

void json_object(json *j, const char *key)
{
    open_block(j, key, '{', '}', false);
}

void json_array(json *j, const char *key)
{
    open_block(j, key, '[', ']', false);
}

void json_end(json *j)
{
    const int d = j->depth--;
    if (!j->empty[d] && !j->inline_array[d]) {
        fprintf(j->file, "\n%*s", 2 * (d - 1), "");
    }
    fputc(j->closing[d], j->file);
}

void json_text(json *j, const char *key, const char *value)
{
    if (value == NULL) {
        json_null(j, key);
        return;
    }
    lead(j, key);
    write_string(j->file, value);
}

void json_real(json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    lead(j, key);
    fprintf(j->file, "%.17g", value);
}

void json_integer(json *j, const char *key, cmg_size value)
{
    lead(j, key);
    fprintf(j->file, "%lld", (long long)value);
}

void json_bool(json *j, const char *key, bool value)
{
    lead(j, key);
    fputs(value ? "true" : "false", j->file);
}

void json_null(json *j, const char *key)
{
    lead(j, key);
    fputs("null", j->file);
}

static void json_option(json *j, const cmg_option *row, const void *options)
{
    char value[OPTION_MOST];
    cmg_option_get(row, options, value, sizeof value);
    switch (row->type) {
    case CMG_OPTION_FLAG:
        json_bool(j, row->key, strcmp(value, "yes") == 0);
        break;
    case CMG_OPTION_INT:
    case CMG_OPTION_SIZE:
        json_integer(j, row->key, strtoll(value, NULL, 10));
        break;
    case CMG_OPTION_REAL:
        json_real(j, row->key, strtod(value, NULL));
        break;
    case CMG_OPTION_REALS:
        json_reals(j, row->key, (const double *)(const void *)((const char *)options + row->offset),
                   (cmg_size)(row->bytes / sizeof(double)));
        break;
    case CMG_OPTION_WORD:
    case CMG_OPTION_TEXT:
        json_text(j, row->key, value[0] != '\0' ? value : NULL);
        break;
    }
}

void json_options(json *j, const cmg_option *(*row)(int), const void *options)
{
    json_object(j, "options");
    for (int i = 0; row(i) != NULL; ++i) {
        if (strcmp(row(i)->group, "Library") != 0) {
            json_option(j, row(i), options);
        }
    }
    json_end(j);
}

void json_reals(json *j, const char *key, const double *values, cmg_size n)
{
    open_block(j, key, '[', ']', true);
    for (cmg_size i = 0; i < n; ++i) {
        json_real(j, NULL, values[i]);
    }
    json_end(j);
}

FILE *report_stream(const char *json_path)
{
    return json_path != NULL && strcmp(json_path, "-") == 0 ? stderr : stdout;
}

/* ------------------------------------------------------------------ amounts */

static char *next_amount(void)
{
    static char texts[16][AMOUNT_LENGTH];
    static unsigned next = 0;
    return texts[next++ % 16];
}

const char *format_bytes(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    char *text = next_amount();
    int u = 0;
    while (bytes >= 999.5 && u < 5) {
        bytes /= 1000;
        ++u;
    }
    (void)snprintf(text, AMOUNT_LENGTH, u == 0 ? "%.0f %s" : "%.3g %s", bytes, units[u]);
    return text;
}

const char *format_seconds(double seconds)
{
    char *text = next_amount();
    const bool large = seconds >= 100;
    const double scale = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
    const char *unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
    (void)snprintf(text, AMOUNT_LENGTH,
                   !isfinite(seconds) ? "-"
                   : large            ? "%.0f %s"
                                      : "%.3g %s",
                   seconds * scale, unit);
    return text;
}

double tool_seconds(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int ascending_reals(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int n)
{
    if (n == 0) {
        return NAN;
    }
    qsort(values, (size_t)n, sizeof *values, ascending_reals);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ------------------------------------------------------------------ progress */

static const double patience = 2;   /* seconds of work before the line appears */
static const double interval = 0.1; /* seconds between two writes of it */

void progress_begin(progress *p)
{
    *p = (progress){.terminal = isatty(STDERR_FILENO) == 1, .begin = tool_seconds()};
}

int progress_report(void *user, const char *what, cmg_size done, cmg_size total)
{
    progress *p = user;
    if (stop_wanted()) {
        return 1;
    }
    if (!p->terminal) {
        return 0;
    }
    const double now = tool_seconds();
    (void)snprintf(p->what, sizeof p->what, "%s", what);
    if (now - p->begin < patience || now - p->printed < interval) {
        return 0;
    }
    p->printed = now;
    p->shown = true;
    if (total > 0) {
        fprintf(stderr, "\r\033[Kcmg: %s, %.0f %%", p->what, 100.0 * (double)done / (double)total);
    } else {
        fprintf(stderr, "\r\033[Kcmg: %s, %lld", p->what, (long long)done);
    }
    fflush(stderr);
    return 0;
}

void progress_end(progress *p)
{
    if (p->shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    p->shown = false;
    p->begin = tool_seconds();
}
