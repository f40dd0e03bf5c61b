/*
 * The matrix handle, and what a format is: one row with all that the rest needs to know of it. A
 * format's file exports its row, formats.c lists the addresses.
 */
#pragma once
#include "core/backend.h"
#include "core/blocks.h"
#include "core/memory.h"
#include "core/vector.h"
#include "csr/elements.h"
#include "csr/resident.h"
#include "spmv/writeback.h"

/* What a matrix is built from. */
typedef struct cmgi_matrix_source {
    const cmg_csr *csr; /* on the host, checked; its row pointers alone, or NULL, where `device` is
                           there */
    const cmg_csr *device;          /* the same CSR on the device, or NULL */
    const cmgi_resident *there;     /* what is known of that one */
    const cmg_elements *elements;   /* checked, in place of a CSR; or NULL */
    const struct cmgi_kinds *kinds; /* the same (csr/kinds.h) */
    const double *dense;            /* all values by rows, where csr has the shape alone; or NULL */
    bool dense_there;               /* those are on the device */
    const cmg_matrix *like; /* a matrix of the same CSR, of which something is known; or NULL */
    struct cmgi_twin *twin; /* where a matrix in fp32 and then one in fp64 are made of a CSR on the
                               device: what the first knows of the other; or NULL */
    const uint8_t *same; /* on the host: what each row has of the row before (facts.h), or NULL */
    bool beside;         /* on the host, in fp64: one in fp32 of the same CSR comes next */
    bool halves;         /* values may be kept in 16 bits where that is faster (create.h) */
    bool leading;        /* rows of a larger square matrix: row i has its diagonal in ... */
    cmg_size lead;       /* ... column i + lead */
} cmgi_matrix_source;

/* y = writeback(A x); arrays in the backend's memory and in the matrix's precision. */
typedef cmg_status (*cmgi_spmv_fn)(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

/* What a product says to other ranks. */
typedef struct cmgi_talk {
    bool exchanges; /* on any rank: false = the first and the third part do nothing */
    bool gathers;
    int messages;  /* sent by this rank in an exchange; in a gathering, to all */
    size_t bytes;  /* sent or received in an exchange, the larger */
    size_t packed; /* moved by packing */
    size_t gathered;
} cmgi_talk;

/*
 * The parts of a product of several ranks as steps of their own, in this order; others may come in
 * between where they write nothing that the product reads.
 */
typedef struct cmgi_talk_functions {
    cmg_status (*start)(const cmg_matrix *A, const void *x);
    cmgi_spmv_fn rows;
    cmg_status (*end)(const cmg_matrix *A, const cmgi_writeback *w);
    cmg_status (*gather)(const cmg_matrix *A, void *y);
    cmgi_talk (*sizes)(const cmg_matrix *A);
    /* what is put between these follows a start, beside what is not, until the end */
    cmg_status (*aside)(const cmg_matrix *A);
    void (*back)(const cmg_matrix *A);
} cmgi_talk_functions;

typedef struct cmgi_format {
    cmg_format id;
    bool renumbers; /* products work in the sorted numbering */
    bool reduces;   /* keeps values in 16 or 8 bits where that is asked for */
    bool elements;  /* made of elements: square matrices alone */
    bool dots;      /* products fill writeback.dots */
    bool columns;   /* products serve all columns in one pass; else they are made one by one */
    bool blocks;    /* kept entry by entry, unless options.block_rows says otherwise; those have
                       no kernels for several columns, and are made on the host */
    bool at_least;  /* bytes() is a lower bound: the columns tell more */
    bool fills;     /* `build` takes a CSR on the device with its row pointers on the host */
    /* Storage read by one product, from the lengths of the rows alone. */
    size_t (*bytes)(const cmgi_row_statistics *s, const cmg_matrix_options *options);
    /* Fills A->data, values, value_map, stored, bytes; A->options is resolved. */
    cmg_status (*build)(cmg_matrix *A, const cmgi_matrix_source *from);
    /* Whether `build` makes all of it from a CSR on the device, without row pointers on the host;
     * NULL = never. */
    bool (*takes_device)(const cmgi_row_statistics *s, const cmg_matrix_options *options);
    /* Last step of set-up, with everything in the backend's memory; NULL = nothing to do. */
    cmg_status (*finish)(cmg_matrix *A);
    /* New values on the host; NULL = through A->value_map. */
    cmg_status (*update)(cmg_matrix *A, const double *values);
    /* New values on the device, where it sets *done; NULL, and else = through A->value_map. */
    cmg_status (*refresh_cuda)(cmg_matrix *A, const double *values, bool *done);
    /* The value map, on the device, of a matrix that has none in A->value_map; NULL = all have. */
    cmg_status (*map_cuda)(const cmg_matrix *A, cmg_size *map);
    cmgi_spmv_fn spmv_cpu;
    cmgi_spmv_fn spmv_cuda;
    /* To other ranks, for whom a product without rows is one all the same; NULL = to nobody. */
    const cmgi_talk_functions *talk;
    /* Frees A->data and what hangs off it, not A->values and A->value_map. */
    void (*destroy)(cmg_matrix *A);
} cmgi_format;

/* The product of a format on the context's backend. */
static inline cmgi_spmv_fn cmgi_spmv_of(const cmg_context *ctx, const cmgi_format *format)
{
    return cmgi_on_cuda(ctx) ? format->spmv_cuda : format->spmv_cpu;
}

struct cmg_matrix {
    cmg_context *ctx;
    const cmgi_format *format;
    cmg_matrix_options options; /* resolved: nothing left at 0 or AUTO */
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;        /* entries of the CSR */
    cmg_size stored;     /* entries in storage, padding included */
    size_t bytes;        /* storage read by one product */
    size_t reads;        /* of them a product of one column, 0 = all */
    void *values;        /* `stored` values in the backend's memory */
    cmg_size *value_map; /* nnz: storage position of CSR entry k, in the backend's memory; NULL
                            unless keep_map, and where the format has its own */
    cmg_index *perm;     /* rows: sorted numbering on the host, NULL unless the format renumbers */
    void *data;          /* the format's own struct */
    double *dots;     /* x . y slice by slice, or as the format divides it, in the backend's memory;
                         NULL = the format has none */
    cmg_size sums;    /* numbers in dots ... */
    cmg_size squares; /* ... and those that a residual that is rounded leaves there */
    double **apart;   /* where the format makes several columns one by one: x and the vectors of a
                         write-back of one of them, *apart NULL until they are needed; else NULL */
    cmg_compression_info *compression; /* under options.explain, else NULL */
};

/* What a product of any matrix says. */
cmgi_talk cmgi_matrix_talk(const cmg_matrix *A);

/* The storage position of every CSR entry, in the backend's memory, of a matrix with keep_map:
 * borrowed, or made for the call, and then *made as well is what the caller has to free. */
cmg_status cmgi_matrix_map(const cmg_matrix *A, const cmg_size **map, cmg_size **made);
/* Builds a matrix as a row says, the options resolved: what was chosen is done. */
cmg_status cmgi_matrix_make(cmg_context *ctx, const cmgi_format *format,
                            const cmgi_matrix_source *from, const cmg_matrix_options *options,
                            cmg_matrix **A);
/* How the values are kept: FULL in the formats that know nothing else. */
static inline cmg_values cmgi_matrix_values(const cmg_matrix *A)
{
    return A->format->reduces ? A->options.values : CMG_VALUES_FULL;
}
/* y = writeback(A x) without checks. */
cmg_status cmgi_matrix_spmv(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* y = A x and *xy = x . y, *xy in the backend's memory, fp64, A square; in one pass where the
 * format can. On one GPU *left gets few addends in place of *xy; NULL = not wanted. */
cmg_status cmgi_matrix_apply_dot(const cmg_matrix *A, const double *x, double *y, double *xy,
                                 cmgi_addends *left);
/* Whether a product can form its vector, of a z in fp32. */
bool cmgi_matrix_forms(const cmg_matrix *A);
/* The same as apply_dot with p formed on the way, from p->before; *formed = false, and nothing is
 * done, where the product cannot. */
cmg_status cmgi_matrix_apply_formed(const cmg_matrix *A, const cmgi_direction *p, double *y,
                                    double *xy, cmgi_addends *left, bool *formed);
/* Whether the next function does anything. */
bool cmgi_matrix_rounds(const cmg_matrix *A);
/* r = b - A x in fp32, computed and squared in fp64, with the parts of (r, r); none, and nothing is
 * done, where the product does not leave them. */
cmg_status cmgi_matrix_residual_rounded(const cmg_matrix *A, const double *b, const double *x,
                                        float *r, cmgi_addends *squares);
/* Bytes that y = writeback(A x) moves: storage, x once, the vectors of the write-back once each, of
 * `columns` columns all but d. */
size_t cmgi_matrix_traffic(const cmg_matrix *A, cmgi_wb_kind kind, int columns);

/* ------------------------------------------------------------------ for the builders of formats */

/* Products with fewer entries run on one thread: starting a team costs more than they do. */
enum { CMGI_PARALLEL_ENTRIES = 20000 };

/*
 * Allocates A->values, and A->value_map where it is wanted, for A->stored entries: on the host,
 * zeros unless the format writes every place, or, where the source is on the device, room there
 * that the format fills, padding included.
 */
cmg_status cmgi_matrix_alloc_values(cmg_matrix *A, const cmgi_matrix_source *from, bool cleared);

/* A->values and A->value_map are those of an array on the device, in its order. */
cmg_status cmgi_matrix_take_values(cmg_matrix *A, const double *there);

/* Stores the value of CSR entry k at a storage position, and remembers the position. */
static inline void cmgi_matrix_put(cmg_matrix *A, cmg_size k, cmg_size position, double value)
{
    cmgi_put_number(A->options.precision, A->values, position, value);
    if (A->value_map != NULL) {
        A->value_map[k] = position;
    }
}
/* CMG_ERR_UNSUPPORTED where values in fewer bits are asked for in fp64 or with a value map. */
cmg_status cmgi_matrix_check_values(const cmg_matrix *A);
