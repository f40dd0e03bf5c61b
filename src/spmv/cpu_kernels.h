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
    /* rows first .. last-1 */
    void (*csr_f64)(const cmgi_csr_storage *S, const double *values, const cmgi_writeback *w,
                    const double *x, cmg_size first, cmg_size last);
    void (*csr_f32)(const cmgi_csr_storage *S, const float *values, const cmgi_writeback *w,
                    const float *x, cmg_size first, cmg_size last);
    /* slices first .. last-1 */
    void (*slices_f64)(const cmgi_slices *S, const double *values, const cmgi_writeback *w,
                       const double *x, cmg_size first, cmg_size last);
    void (*slices_f32)(const cmgi_slices *S, const float *values, const cmgi_writeback *w,
                       const float *x, cmg_size first, cmg_size last);
    /* compressed slices: those of templates and the packed ones */
    void (*templates_f64)(const cmgi_compressed *C, const cmgi_writeback *w, const double *x,
                          cmg_size first, cmg_size last);
    void (*templates_f32)(const cmgi_compressed *C, const cmgi_writeback *w, const float *x,
                          cmg_size first, cmg_size last);
    /* ... the rows of these slices of a box */
    void (*box_f64)(const struct cmgi_box *box, const cmgi_writeback *w, const double *x,
                    cmg_size first, cmg_size last);
    void (*box_f32)(const struct cmgi_box *box, const cmgi_writeback *w, const float *x,
                    cmg_size first, cmg_size last);
    /* a part of a chain */
    void (*chain_f64)(const struct cmgi_chain *chain, int part);
    void (*chain_f32)(const struct cmgi_chain *chain, int part);
    void (*packed_f64)(const cmgi_compressed *C, const void *values, const cmgi_writeback *w,
                       const double *x, cmg_size first, cmg_size last);
    void (*packed_f32)(const cmgi_compressed *C, const void *values, const cmgi_writeback *w,
                       const float *x, cmg_size first, cmg_size last);
    /* packed slices of values in 16 or 8 bits */
    void (*reduced)(const cmgi_compressed *C, const void *values, const cmgi_writeback *w,
                    const float *x, cmg_size first, cmg_size last);
    /* numbers `stride` apart as two numbers each (rest.h); false where one is beyond */
    bool (*split)(const double *from, cmg_size stride, cmg_size count, float *values, int *rest);
    /* several columns, by precision and what is read */
    cmgi_columns_fn columns[2][CMGI_ROWS_KINDS];
} cmgi_cpu_kernels;

extern const cmgi_cpu_kernels cmgi_cpu_portable;

/* Tables that this machine can run, the plainest first; NULL = no more. */
const cmgi_cpu_kernels *cmgi_cpu_kernels_at(int i);
/* The best of them. */
const cmgi_cpu_kernels *cmgi_cpu_kernels_best(void);
