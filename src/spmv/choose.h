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
#include "csr/statistics.h"

/* What was chosen and what the model expects of it. */
typedef struct cmgi_choice {
    cmg_format format;
    int t;
    int warp;
    int threshold;
    double seconds;
    double bytes; /* storage */
} cmgi_choice;

/*
 * Resolves the options: nothing is left at AUTO or 0. `device` NULL, or the same CSR on the device;
 * then only the row pointers of A are on the host. TUNE is left alone, its parameters too.
 * `choice` may be NULL.
 */
cmg_status cmgi_choose(cmg_context *ctx, const cmg_csr *A, const cmg_csr *device,
                       cmg_matrix_options *options, cmgi_choice *choice);
