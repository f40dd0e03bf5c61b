/*
 * Matrices from CSR, and the choice of their format before anything is built: `--format auto`.
 *
 * One product is predicted to take
 *
 *     T = launch + bytes / (share * copy bandwidth) + steps * latency + rows * row + entries *
 * entry
 *
 * where `bytes` are those of the traffic model, `steps` is the longest run of entries that one lane
 * adds up one after the other, and the constants belong to backend and format (the tables in
 * choose.c, with their sources). The format of the least T is taken. Compression is predicted from
 * a sample of the slices (compressed_forecast.c), at a cost well below one conversion.
 *
 * Wong, Kuhl and Darve (2015) ask for such an a-priori metric in their conclusion.
 */
#pragma once
#include "spmv/matrix.h"

/* What was chosen and what the model expects of it. */
typedef struct cmgi_choice {
    cmg_format format;
    int t;
    int warp;
    int threshold;
    double seconds;
    double bytes; /* storage */
} cmgi_choice;

/* What a matrix is for, which says what may be done with the format that is asked for. */
typedef enum cmgi_use {
    CMGI_USE_ANY = 0, /* the caller's: as asked */
    CMGI_USE_A,       /* of a level */
    CMGI_USE_ROWS,    /* rows of it, with further columns (cmgi_matrix_source.leading) */
    CMGI_USE_P,
    CMGI_USE_R,
    CMGI_USE_M /* a factor of a smoother */
} cmgi_use;

/*
 * Resolves the options: first what the use makes of the format, then AUTO by the model, and nothing
 * is left at 0. TUNE is left alone, its parameters too. `choice` may be NULL.
 */
cmg_status cmgi_choose(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                       cmg_matrix_options *options, cmgi_choice *choice);
/* The first step of it alone: the format in which a matrix of this use and size is asked for. */
cmg_format cmgi_format_for(const cmg_context *ctx, cmgi_use use, cmg_size rows, cmg_size cols,
                           cmg_format asked);

/*
 * As cmg_matrix_create_csr, for a use: what is asked for is taken as the use allows. The CSR is
 * from->csr, on the host and checked, or else from->there, on the device and looked at, or there
 * are from->kinds in its place, which nobody waits for; a matrix from->like outlives one that is
 * made beside it on a device, which may not store a second time what that one has in fp32.
 */
cmg_status cmgi_matrix_create(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A);
