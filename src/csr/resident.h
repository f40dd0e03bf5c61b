/*
 * A CSR that resides in the memory of the device, and what two passes over it tell: whether it is
 * one, how long its rows are, and what a smoother and the checks want to know of its values.
 * Nothing of it is on the host but these facts.
 *
 * What can be done with it there is a table, which the CPU backend does not have.
 */
#pragma once
#include "csr/facts.h"
#include "csr/statistics.h"

/* What the values and columns tell. Rows are -1 where there is none. */
typedef struct cmgi_resident_facts {
    cmg_size bad_length;    /* first row of an impossible length */
    cmg_size bad_column;    /* first row with a column out of range */
    cmg_size duplicate;     /* first row with a column twice */
    cmg_size not_finite;    /* first row with a value that is not finite */
    cmg_size zero_diagonal; /* first row without a nonzero diagonal */
    cmg_size beside;        /* rows with an entry off the diagonal */
    cmgi_row_facts rows;
    bool ascending; /* columns of every row */
    bool single;    /* values are 0 or lie where fp32 has all its bits, below its last binade */
} cmgi_resident_facts;

/*
 * Which rows of C = A B have their products in the same places, where few kinds do for all rows;
 * arrays on the device. `width` lanes have four columns of C each: of lane + width * u. For every
 * entry of a kind's row of A and every place of C: which entry of B's row comes there, from 1 on,
 * or 0.
 */
typedef struct cmgi_product_kinds {
    int width; /* 0 = there are none */
    int count;
    uint16_t *kind;  /* of each row */
    int *row;        /* a row of a kind */
    cmg_size *first; /* entry of a kind */
    uint8_t *place;  /* [entry][lane][u] */
    uint64_t exact;  /* rows of a kind are equal while those of A repeat and B is of this version,
                        less 1; 0 = they are not known to be */
} cmgi_product_kinds;

/* Which rows of a product get values; of kinds that are exact, but for the first. */
typedef enum cmgi_product_rows {
    CMGI_ROWS_ALL,
    CMGI_ROWS_OF_KINDS, /* one of each kind */
    CMGI_ROWS_SPREAD    /* all, by those of their kinds; B has these of its own kinds alone */
} cmgi_product_rows;

typedef struct cmgi_resident {
    cmg_csr csr;              /* its arrays are on the device */
    bool borrowed;            /* they are the caller's */
    bool borrowed_facts;      /* rows.count and diagonal are another's */
    bool own_values;          /* values and diagonal are not, whatever else is */
    uint64_t version;         /* rises with new values */
    bool known;               /* all facts of the pattern are */
    bool staged;              /* a copy for a set-up, which the host has as well */
    bool halo;                /* of a square matrix's rows some: other columns are behind theirs */
    cmgi_row_statistics rows; /* on the host */
    cmgi_resident_facts facts;
    double *diagonal;         /* of a square matrix, on the device */
    uint8_t *diagonal_entry;  /* which of a row's entries that is, 255 = not known; on the device */
    cmgi_product_kinds kinds; /* of a product */
    struct cmgi_kinds *repeats; /* rows that repeat, where new values are expected (repeats.c) */
} cmgi_resident;

enum { CMGI_LOOKS = 64 };

/* What a dense matrix is like. */
typedef struct cmgi_dense_look {
    double largest;    /* |x_ij| */
    double difference; /* largest |x_ij - x_ji| */
} cmgi_dense_look;

typedef struct cmgi_resident_kernels {
    /* Row statistics, and facts.bad_length; indptr[0] and indptr[rows] are looked at. */
    cmg_status (*rows)(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R);
    /* The same of up to CMGI_LOOKS matrices, for which the host waits once. */
    cmg_status (*rows_each)(cmg_context *ctx, int count, cmgi_resident *const *R);
    /* All other facts, and the diagonal; lengths of rows are good. Where the pattern is known, what
     * the values tell. */
    cmg_status (*entries)(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R);
    /* Rows in the order of a list on the host, to the host; longest row known. */
    cmg_status (*gather)(cmg_context *ctx, const cmgi_resident *R, const cmg_index *row,
                         cmg_size count, cmgi_csr *host);
    /* T = A^T with its nnz entries, rows sorted; arrays of T are made. */
    cmg_status (*transpose)(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, cmg_csr *T);
    /* Each of n counts becomes the sum of those before it; count[n] their sum, for which
     * the host waits where `total` is not NULL. */
    cmg_status (*offsets)(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total);
    /*
     * C = A B with the bits of cmgi_csr_multiply, and the statistics of its rows; where `filled`,
     * an empty row gets the place on the diagonal, with a 0.
     */
    cmg_status (*multiply)(cmg_context *ctx, const cmgi_resident *A, const cmgi_resident *B,
                           bool filled, cmgi_resident *C);
    /* New values on the pattern of such a product; no memory but for rows of over 1024 entries. */
    cmg_status (*multiply_values)(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                  const cmgi_resident *C, cmgi_product_rows rows);
    /* X = A, square, as a dense array by rows. */
    cmg_status (*expand)(cmg_context *ctx, const cmg_csr *A, double *X, cmgi_dense_look *look);
    /* As backend.invert, of X on the device; spoilt where it is not definite. */
    cmg_status (*invert)(cmg_context *ctx, cmg_size n, double largest, double *X, bool *definite);
} cmgi_resident_kernels;

/* Whether one of the arrays is on a device, as far as the backend can tell. */
cmg_status cmgi_resident_is(cmg_context *ctx, const cmg_csr *A, bool *there);
/* NULL on a backend without a memory of its own. */
const cmgi_resident_kernels *cmgi_resident_kernels_of(const cmg_context *ctx);

/* One array of the caller's, which has to be in the memory of the context's device. */
cmg_status cmgi_resident_memory(cmg_context *ctx, const char *name, const char *what,
                                const void *p);
/*
 * Looks at the caller's arrays on the device and takes a view of them. What is wrong gets a status;
 * `name` begins the message, as in cmgi_csr_check.
 */
cmg_status cmgi_resident_look(cmg_context *ctx, const char *name, const cmg_csr *A,
                              cmgi_resident *R);
/* New facts after new values in the same arrays. */
cmg_status cmgi_resident_look_again(cmg_context *ctx, cmgi_resident *R);
/* The arrays copied; the facts move along. */
cmg_status cmgi_resident_keep(cmg_context *ctx, cmgi_resident *R);
void cmgi_resident_free(cmg_context *ctx, cmgi_resident *R);
CMGI_RELEASES(cmgi_resident_free, cmgi_resident)
/* A copy of a checked CSR on the host, with the statistics of its rows and no other facts. */
cmg_status cmgi_resident_send(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R);
/*
 * The same on its way (core/feed.h), with nothing known of it; once it has arrived all is. A stays
 * as it is until then.
 */
cmg_status cmgi_resident_promise(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R);
cmg_status cmgi_resident_arrive(cmg_context *ctx, cmgi_resident *R);
/* A copy on the host. */
cmg_status cmgi_resident_fetch(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, cmgi_csr *host);
/* Some rows, one after the other, on the host: copied from A, or fetched from R where that is
 * given.
 */
cmg_status cmgi_rows_on_host(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *R,
                             const cmg_index *row, cmg_size count, cmgi_csr *rows);
/* arrange_cuda.cu: B = A in the orders of its two sides, columns ascending; to[e], unless NULL, is
 * where entry e is now. */
cmg_status cmgi_permute_device(cmg_context *ctx, const cmg_csr *A, cmg_size nnz,
                               const cmg_index *rows, const cmg_index *cols, cmg_size *to,
                               cmg_csr *B);
/* Empty arrays on the device for rows x cols with nnz entries. */
cmg_status cmgi_resident_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmg_size nnz,
                               cmg_csr *A);
/* Those arrays again. */
void cmgi_resident_free_arrays(cmg_context *ctx, cmg_csr *A);
CMGI_RELEASES(cmgi_resident_free_arrays, cmg_csr)
static inline bool cmgi_resident_is_diagonal(const cmgi_resident *R)
{
    return R->csr.rows == R->csr.cols && R->rows.longest <= 1 && R->facts.beside == 0;
}
/* ------------------------------------------------------------------ beside the host's arrays */

/* A takes R over as its matrix on the device; R is cleared, and freed where that fails. */
cmg_status cmgi_resident_attach(cmg_context *ctx, cmgi_resident *R, cmgi_csr *A);
/* What A has on the device is freed. */
void cmgi_resident_drop(cmg_context *ctx, cmgi_csr *A);
/* A has arrays on the host from now on. */
cmg_status cmgi_resident_bring(cmg_context *ctx, cmgi_csr *A);
/* A becomes a view of another, with all that is on the device. */
cmg_status cmgi_resident_share(cmg_context *ctx, const cmgi_csr *from, cmgi_csr *A);
/* A diagonal matrix of n values on the device, which are taken over; it has no CSR arrays. */
cmg_status cmgi_resident_diagonal(cmg_context *ctx, cmg_size n, double *diagonal, cmgi_resident *R);
