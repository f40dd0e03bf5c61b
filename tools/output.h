/* What the tool prints: JSON, aligned tables, amounts with units, the progress line. */
#pragma once
#include "cmg.h"

#include <stdio.h>

/* ------------------------------------------------------------------ files */

/* Text on its way into a file, which is written when it is complete. */
typedef struct output_text {
    char *data;
    size_t size;
} output_text;

/* A stream for a file's text ("-" = standard output); NULL after an error line. */
FILE *text_open(const char *path, output_text *text);
/* Writes the file; false after an error line, with the old file as it was. */
bool text_close(const char *path, FILE *file, output_text *text);

/* ------------------------------------------------------------------ JSON */

enum {
    JSON_MAX_DEPTH = 16,
    JSON_SCHEMA = 1 /* "schema" of all JSON of the tool: rises when a key changes its meaning */
};

/*
 * A JSON writer in document order. Keys are NULL inside arrays. Numbers are written with 17 digits,
 * NaN and infinities as null, bytes that are not UTF-8 as U+FFFD.
 */
typedef struct json {
    FILE *file;
    output_text text;
    const char *path;
    int depth;
    bool empty[JSON_MAX_DEPTH]; /* nothing written yet at this depth */
    char closing[JSON_MAX_DEPTH];
    bool inline_array[JSON_MAX_DEPTH]; /* numbers on one line */
} json;

/* Opens the file ("-" = standard output) and its outermost object; false after an error line. */
bool json_open(json *j, const char *path);
/* Closes the object and the file; false after an error line. */
bool json_close(json *j);
void json_object(json *j, const char *key);
void json_array(json *j, const char *key);
/* Ends the innermost object or array. */
void json_end(json *j);
void json_text(json *j, const char *key, const char *value); /* NULL: null */
void json_real(json *j, const char *key, double value);
void json_integer(json *j, const char *key, cmg_size value);
void json_bool(json *j, const char *key, bool value);
void json_null(json *j, const char *key);
/* The rows of an option table but those of the group "Library", as the object "options". */
void json_options(json *j, const cmg_option *(*row)(int), const void *options);
void json_reals(json *j, const char *key, const double *values, cmg_size n);

/* Where the text report goes: standard output, or standard error when JSON takes that ("-"). */
FILE *report_stream(const char *json_path);

/* ------------------------------------------------------------------ tables */

typedef struct table table;

/* Headings, with a leading '<' for a column of text that is aligned to the left. */
table *table_create(const char *const *headings, int columns);
void table_destroy(table **t);
/* Fills the next cell, row by row; or several, whose texts are apart by tabs. */
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(const table *t, FILE *file, const char *indent);

/* ------------------------------------------------------------------ amounts */

/* "1.24 GB", powers of 1000, and "3.51 ms"; the last 16 texts stay. */
const char *format_bytes(double bytes);
const char *format_seconds(double seconds);

/* Seconds of a monotone clock. */
double tool_seconds(void);
/* Median of n values, which are reordered; NaN of none. */
double median(double *values, int n);
/* Of two doubles, for qsort. */
int ascending_reals(const void *a, const void *b);

/* ------------------------------------------------------------------ progress */

/* State of the progress line: nothing is printed in the first two seconds of a piece of work, nor
 * when standard error is not a terminal. */
typedef struct progress {
    bool terminal;
    bool shown;
    double begin;   /* of the piece of work in `what` */
    double printed; /* when the line was last written */
    char what[64];
} progress;

void progress_begin(progress *p);
/* A cmg_progress_fn; user is the progress. */
int progress_report(void *user, const char *what, cmg_size done, cmg_size total);
/* Wipes the line. */
void progress_end(progress *p);
