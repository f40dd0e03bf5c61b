/*
 * CPU kernels, compiled once per instruction set from cpu_kernels.inc. A table is chosen when a
 * product runs; every entry works on a range of rows or slices, so that the caller shares out the
 * work.
 */
#pragma once
#include "spmv/columns.h"
#include "spmv/compressed.h"
#include "spmv/csr.h"
#include "spmv/slices.h"

struct cmgi_chain;

typedef struct cmgi_cpu_kernels {
    const char *name; /* instruction set */
    /* by precision and what is read: of one column, and of several */
    cmgi_rows_fn rows[2][CMGI_ROWS_KINDS];
    cmgi_rows_fn columns[2][CMGI_ROWS_KINDS];
    /* the rows of slices first .. last-1 of a box, and a part of a chain */
    void (*box[2])(const struct cmgi_box *box, const cmgi_writeback *w, const void *x,
                   cmg_size first, cmg_size last);
    void (*chain[2])(const struct cmgi_chain *chain, int part);
    /* numbers `stride` apart as two numbers each (rest.h); false where one is beyond */
    bool (*split)(const double *from, cmg_size stride, cmg_size count, float *values, int *rest);
} cmgi_cpu_kernels;

extern const cmgi_cpu_kernels cmgi_cpu_portable;

/* Tables that this machine can run, the plainest first; NULL = no more. */
const cmgi_cpu_kernels *cmgi_cpu_kernels_at(int i);
/* The best of them. */
const cmgi_cpu_kernels *cmgi_cpu_kernels_best(void);
