/* What compression makes of matrices, in words and as JSON, and how numberings compare by it. */
#pragma once
#include "output.h"

/* ------------------------------------------------------------------ one matrix */

enum { COMPRESSION_COLUMNS = 8 };
/* Headings of compression_cells, in its order. */
extern const char *const compression_headings[COMPRESSION_COLUMNS];
/* Cells of a table: shares of the rows by way, bytes an entry before and after. */
void compression_cells(table *t, const cmg_compression_info *info);
/* An object with all of it; info NULL: null. */
void compression_json(json *j, const char *key, const cmg_compression_info *info);

/* ------------------------------------------------------------------ numberings */

enum { FORECAST_TEXT = 160 };

/* What one numbering would give. */
typedef struct forecast {
    cmg_numbering numbering;
    cmg_level_prediction *levels; /* NULL: it cannot be made */
    char refusal[FORECAST_TEXT];  /* why not, "" otherwise */
    double cycle_bytes;           /* of the matrices of one iteration of CG + V(1,1) */
} forecast;

typedef struct forecasts {
    forecast *list;
    int count;
    int best; /* of the fewest bytes, the first where several have them */
    int hierarchy_levels;
} forecasts;

/*
 * Forecasts of all numberings that may gain: all but a random one. `rows` as in
 * cmg_hierarchy_predict. On failure *f is empty.
 */
cmg_status forecasts_make(cmg_context *ctx, cmg_hierarchy *h, const cmg_matrix_options *options,
                          cmg_size rows, forecasts *f);
void forecasts_free(forecasts *f);
/* One line a numbering: bytes of the cycle, against those of the file's numbering. */
void forecasts_print(const forecasts *f, FILE *out);
/* Every level and matrix of every numbering. */
void forecasts_print_levels(const forecasts *f, FILE *out);
void forecasts_json(const forecasts *f, json *j);
