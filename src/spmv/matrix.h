/*
 * The matrix handle and the table of formats. A format is one row of the table: it builds its
 * storage from CSR on the host and multiplies with any write-back. To add one, write its siblings
 * (.h layout, .c build and OpenMP kernel, .cu kernels) and add the row in matrix.c.
 */
#pragma once
#include "core/backend.h"
#include "core/memory.h"
#include "core/vector.h"
#include "csr/csr.h"
#include "spmv/writeback.h"

/* y = writeback(A x); arrays in the backend's memory and in the matrix's precision. */
typedef cmg_status (*cmgi_spmv_fn)(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

typedef struct cmgi_format {
    cmg_format id;
    const char *name;
    bool renumbers; /* products work in the sorted numbering */
    /* Fills A->data, values, value_map, stored, bytes; A->options is resolved, the CSR has passed
     * its check. */
    cmg_status (*build)(cmg_matrix *A, const cmg_csr *csr);
    /* Last step of set-up, with everything in the backend's memory; NULL = nothing to do. */
    cmg_status (*finish)(cmg_matrix *A);
    /* Fills columns, values and value_map on the device from A->source; NULL = built on the host.
     */
    cmg_status (*fill_cuda)(cmg_matrix *A);
    cmgi_spmv_fn spmv_cpu;
    cmgi_spmv_fn spmv_cuda;
    bool dots; /* products fill writeback.dots */
    /* Frees A->data and what hangs off it, not A->values and A->value_map. */
    void (*destroy)(cmg_matrix *A);
} cmgi_format;

struct cmg_matrix {
    cmg_context *ctx;
    const cmgi_format *format;
    cmg_matrix_options options; /* resolved: nothing left at 0 or AUTO */
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;        /* entries of the CSR */
    cmg_size stored;     /* entries in storage, padding included */
    size_t bytes;        /* storage read by one product */
    void *values;        /* `stored` values in the backend's memory */
    cmg_size *value_map; /* nnz: storage position of CSR entry k, in the backend's memory; NULL
                            unless keep_map */
    cmg_index *perm;     /* rows: sorted numbering on the host, NULL unless the format renumbers */
    void *data;          /* the format's own struct */
    double *dots; /* x . y slice by slice, in the backend's memory; NULL = the format has none */
    cmg_compression_info *compression; /* under options.explain, else NULL */
    const cmg_csr *source; /* while it is built from a CSR on the device: that one; else NULL */
};

/* Row of the table, NULL when the id is unknown. */
const cmgi_format *cmgi_format_find(cmg_format id);
/*
 * A matrix from a checked CSR and checked options of any format but TUNE. `source` NULL, or the
 * same CSR on the device; then only the row pointers of `csr` are looked at, and the options are
 * resolved (cmgi_choose).
 */
cmg_status cmgi_matrix_make(cmg_context *ctx, const cmg_csr *csr, const cmg_csr *source,
                            const cmg_matrix_options *options, cmg_matrix **A);
/* cmg_matrix_create_csr of a CSR whose arrays are on the device, options checked. */
cmg_status cmgi_matrix_from_device(cmg_context *ctx, const cmg_csr *csr,
                                   const cmg_matrix_options *options, cmg_matrix **A);
/*
 * The same of a checked CSR on the host: large ones are copied to the device as they are and
 * converted there, where that can be done and both fit; sets *made when it has been. The options
 * are resolved.
 */
cmg_status cmgi_matrix_by_upload(cmg_context *ctx, const cmg_csr *csr,
                                 const cmg_matrix_options *options, cmg_matrix **A, bool *made);
/* How the values are kept: FULL in the formats that know nothing else. */
static inline cmg_values cmgi_matrix_values(const cmg_matrix *A)
{
    const bool reduces =
        A->options.format == CMG_FORMAT_COMPRESSED || A->options.format == CMG_FORMAT_DENSE;
    return reduces ? A->options.values : CMG_VALUES_FULL;
}
/* y = writeback(A x) without checks. */
cmg_status cmgi_matrix_spmv(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* y = A x and *xy = x . y, *xy in the backend's memory, fp64, A square; in one pass where the
 * format can. */
cmg_status cmgi_matrix_apply_dot(const cmg_matrix *A, const double *x, double *y, double *xy);
/* Bytes that y = writeback(A x) moves: storage, x once, the vectors of the write-back once each. */
size_t cmgi_matrix_traffic(const cmg_matrix *A, cmgi_wb_kind kind);
