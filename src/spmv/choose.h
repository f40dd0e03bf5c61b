/*
 * The choice of a format from the matrix, before anything is built: `--format auto`.
 *
 * One product is predicted to take
 *
 *     T = launch + bytes / (share * copy bandwidth) + steps * latency + rows * row + entries *
 * entry
 *
 * where `bytes` are those of the traffic model, `steps` is the longest run of entries that one lane
 * adds up one after the other, and the constants belong to backend and format (the tables in
 * choose.c, with their sources). The format of the least T is taken. Compression is predicted from
 * a sample of the slices (compression.h), at a cost well below one conversion.
 *
 * Wong, Kuhl and Darve (2015) ask for such an a-priori metric in their conclusion.
 */
#pragma once
#include "core/context.h"

/* What the model knows of a matrix without its columns. */
typedef struct cmgi_row_statistics {
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;
    cmg_size longest;
    cmg_size filled;  /* rows with entries */
    cmg_size sliced8; /* entries in slices of 8 and of 32 rows, padding included */
    cmg_size sliced32;
} cmgi_row_statistics;

/* What was chosen and what the model expects of it. */
typedef struct cmgi_choice {
    cmg_format format;
    int t;
    int warp;
    int threshold;
    double seconds;
    double bytes; /* storage */
} cmgi_choice;

void cmgi_row_statistics_take(const cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s);
/*
 * Resolves the options: nothing is left at AUTO or 0. `device` NULL, or the same CSR on the device;
 * then only the row pointers of A are on the host. TUNE is left alone, its parameters too.
 * `choice` may be NULL.
 */
cmg_status cmgi_choose(cmg_context *ctx, const cmg_csr *A, const cmg_csr *device,
                       cmg_matrix_options *options, cmgi_choice *choice);
