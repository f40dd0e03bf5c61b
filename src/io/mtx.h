/*
 * Matrix Market text, parsed: the header, then one entry a line.
 *
 *   %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric
 *   % comments and blank lines anywhere
 *   rows cols entries          (array: rows cols)
 *   i j value                  (array: one value a line, column after column; pattern: no value)
 *
 * Source: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.
 * Beyond it: one percent sign in the banner, "double" for "real", and the object "vector" (n
 * entries, or n) are taken, since files with them mean one thing only.
 */
#pragma once
#include "io/io.h"

typedef enum cmgi_mtx_field { CMGI_MTX_REAL, CMGI_MTX_INTEGER, CMGI_MTX_PATTERN } cmgi_mtx_field;
typedef enum cmgi_mtx_symmetry {
    CMGI_MTX_GENERAL,
    CMGI_MTX_SYMMETRIC,
    CMGI_MTX_SKEW
} cmgi_mtx_symmetry;

typedef struct cmgi_mtx {
    cmg_context *ctx;
    const char *path; /* borrowed */
    char *text;       /* the whole file and a NUL */
    const char *body; /* first line after the size line */
    const char *end;  /* the NUL */
    bool numbers;     /* one a line and nothing else; # begins comments, too */
    bool vector;      /* object "vector" */
    bool array;
    cmgi_mtx_field field;
    cmgi_mtx_symmetry symmetry;
    cmg_size rows;
    cmg_size cols;
    cmg_size entries; /* lines of data announced, or there are of numbers */
    cmg_index *row;   /* per line, 0-based; NULL for arrays */
    cmg_index *col;
    double *value;
} cmgi_mtx;

/* Reads the file and its header, checked against the file's size; nothing else is allocated yet.
 * To be closed also where it fails. */
cmg_status cmgi_mtx_open(cmg_context *ctx, const char *path, cmgi_mtx *m);
/* Reads the body into row, col and value. */
cmg_status cmgi_mtx_body(cmgi_mtx *m);
void cmgi_mtx_close(cmgi_mtx *m);
/* Number, from 1, of the k-th line of data of the body, k < entries. */
cmg_size cmgi_mtx_line(const cmgi_mtx *m, cmg_size k);
