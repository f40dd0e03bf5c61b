/*
 * SPAI on the device. Both functions may leave the work to the CPU (*made = false, a line in the
 * log says why): rows whose least squares problem is too large, or what only the CPU has.
 */
#pragma once
#include "csr/resident.h"

/* What `auto` is resolved to: see the arguments `symmetric` and `scale` of spai. */
enum { CMGI_SPAI_AUTO, CMGI_SPAI_YES, CMGI_SPAI_NO };

typedef struct cmgi_spai_choice {
    double tau;    /* threshold of the pattern */
    int power;     /* 0 or 1 */
    bool counted;  /* residuals weighted by their number of entries */
    int symmetric; /* AUTO, YES, NO */
    int scale;
} cmgi_spai_choice;

/* As cmgi_spai_static: least squares alone, S's values become those of M. A's rows may not hold a
 * column twice. */
cmg_status cmgi_spai_static_cuda(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S,
                                 bool *made);
/* The left variant from A to M with nothing on the host between: decoupling, scaling, pattern,
 * least squares, symmetric part. */
cmg_status cmgi_spai_left_cuda(cmg_context *ctx, const cmgi_resident *A,
                               const cmgi_spai_choice *choice, cmgi_resident *M, bool *made);
