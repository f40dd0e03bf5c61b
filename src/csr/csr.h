/*
 * CSR on the host in fp64: what hierarchies hold and what every format is built from.
 *
 *   row i has the entries k = indptr[i] .. indptr[i+1]-1, columns indices[k], values values[k]
 *
 *       [ 1 . 2 . ]      indptr  0 2 3 3 5
 *       [ . 3 . . ]      indices 0 2 | 1 | | 0 3
 *       [ . . . . ]      values  1 2 | 3 | | 4 5
 *       [ 4 . . 5 ]
 */
#pragma once
#include "core/inline.h"
#include "core/memory.h"
#include "core/search.h"

typedef struct cmgi_csr {
    union {
        struct {
            cmg_size rows;
            cmg_size cols;
            cmg_size *indptr;   /* rows + 1 */
            cmg_index *indices; /* indptr[rows] */
            double *values;     /* indptr[rows] */
        };
        cmg_csr view; /* the same to read, as the public interface has it; nothing is owned by it */
    };
    bool borrowed;               /* the arrays belong to the caller */
    struct cmgi_resident *there; /* the matrix on the device, owned (resident.h), or NULL; then the
                                    arrays above may be NULL until the host needs them */
    struct cmgi_kinds *kinds;    /* the same as few kinds of rows (kinds.h), shared, or NULL; then
                                    likewise */
} cmgi_csr;

/* There is a matrix, wherever it is. */
static inline bool cmgi_csr_given(const cmgi_csr *A)
{
    return A->indptr != NULL || A->there != NULL || A->kinds != NULL;
}

/* Arrays for rows x cols with nnz entries; indptr[0] and indptr[rows] are set, the rest is not. */
cmg_status cmgi_csr_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmg_size nnz,
                          cmgi_csr *A);
/*
 * The same in two steps, for rows that are counted first: row pointers, all 0, of which
 * indptr[i + 1] gets the length of row i, and from these lengths the offsets, and arrays for the
 * entries.
 */
cmg_status cmgi_csr_alloc_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr *A);
cmg_status cmgi_csr_alloc_entries(cmg_context *ctx, cmgi_csr *A);
/* A diagonal n x n matrix: offsets and columns are set, the n values are not. */
cmg_status cmgi_csr_alloc_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D);
/* Frees what is not borrowed, on the device too, and clears the struct. */
void cmgi_csr_free(cmg_context *ctx, cmgi_csr *A);
CMGI_RELEASES(cmgi_csr_free, cmgi_csr)
/* A local one, which is freed where its block ends. */
#define cmgi_scoped_csr cmgi_scoped_by(cmgi_csr_end) cmgi_csr
void cmgi_csr_end(cmgi_csr *A);
/* What A has, for another to own: A is empty from now on. */
cmgi_csr cmgi_csr_pass_on(cmgi_csr *A);
/* Of CMGI_FREED: of one that has no more than its arrays, in either memory. */
#define CMGI_ARRAYS(A) &(A).indptr, &(A).indices, &(A).values
cmg_status cmgi_csr_copy(cmg_context *ctx, const cmg_csr *from, cmgi_csr *to);
/* The caller's arrays as they are: they are never written, and freeing leaves them alone. */
static inline cmgi_csr cmgi_csr_borrow(const cmg_csr *A)
{
    cmgi_csr B;
    B.view = *A;
    B.borrowed = true;
    B.there = NULL;
    B.kinds = NULL;
    return B;
}
/*
 * Structure check of hostile data: sizes, monotone indptr, indices in range, no duplicates.
 * `name` begins the message: "A0: row 3: column 17 is out of range [0, 12)". Rows need not be
 * sorted.
 */
cmg_status cmgi_csr_check(cmg_context *ctx, const char *name, const cmg_csr *A);
/* Its part that does not look into the arrays. */
cmg_status cmgi_csr_check_sizes(cmg_context *ctx, const char *name, const cmg_csr *A);
/* Entries of the longest row, 0 without rows. */
cmg_size cmgi_csr_longest_row(const cmg_csr *A);
/* Whether row i has the columns of row j, `shift` further on; without an early exit, so that it
 * takes several entries at once. */
static inline bool cmgi_csr_same_columns(const cmg_csr *A, cmg_size i, cmg_size j, cmg_index shift)
{
    const cmg_size length = A->indptr[i + 1] - A->indptr[i];
    const cmg_index *columns = A->indices + A->indptr[i];
    const cmg_index *others = A->indices + A->indptr[j];
    const bool alike = A->indptr[j + 1] - A->indptr[j] == length;
    cmg_index apart = 0;
    for (cmg_size e = 0; e < (alike ? length : 0); ++e) {
        apart |= (columns[e] - others[e]) ^ shift;
    }
    return alike && apart == 0;
}
/* The entry that is a_ii, indptr[i + 1] where the row does not have it. */
cmg_size cmgi_csr_search_diagonal(const cmg_csr *A, cmg_size i);
static inline cmg_size cmgi_csr_diagonal_entry(const cmg_csr *A, cmg_size i)
{
    const cmg_size k = A->indptr[i] + (A->indptr[i + 1] - A->indptr[i]) / 2; /* the usual place */
    return k < A->indptr[i + 1] && A->indices[k] == i ? k : cmgi_csr_search_diagonal(A, i);
}
/* a_ii, 0 where the row does not have it. */
static inline double cmgi_csr_diagonal_at(const cmg_csr *A, cmg_size i)
{
    const cmg_size k = cmgi_csr_diagonal_entry(A, i);
    return k < A->indptr[i + 1] ? A->values[k] : 0;
}
/* a_ij, 0 where the row does not have it; columns in any order. */
CMGI_INLINE double cmgi_csr_entry(const cmg_csr *A, cmg_size i, cmg_size j)
{
    double value = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        value = A->indices[k] == j ? A->values[k] : value;
    }
    return value;
}
/* Row i of two matrices with sorted rows side by side, column by column. */
typedef struct cmgi_row_pair {
    const cmg_csr *A;
    const cmg_csr *B;
    cmg_size p; /* next entries of the row */
    cmg_size q;
    cmg_size i;
    cmg_index j; /* a column that either has ... */
    double a;    /* ... and their values, 0 = none */
    double b;
} cmgi_row_pair;

CMGI_INLINE cmgi_row_pair cmgi_row_pair_before(const cmg_csr *A, const cmg_csr *B, cmg_size i)
{
    const cmgi_row_pair before = {A, B, A->indptr[i], B->indptr[i], i, -1, 0, 0};
    return before;
}
/* False where the rows end. */
CMGI_INLINE bool cmgi_row_pair_next(cmgi_row_pair *v)
{
    const cmg_index jp = v->p < v->A->indptr[v->i + 1] ? v->A->indices[v->p] : INT32_MAX;
    const cmg_index jq = v->q < v->B->indptr[v->i + 1] ? v->B->indices[v->q] : INT32_MAX;
    v->j = jp < jq ? jp : jq;
    v->a = jp == v->j && v->j < INT32_MAX ? v->A->values[v->p++] : 0;
    v->b = jq == v->j && v->j < INT32_MAX ? v->B->values[v->q++] : 0;
    return v->j < INT32_MAX;
}
/* diagonal[i] = a_ii, in parallel. */
void cmgi_csr_diagonal(cmg_context *ctx, const cmg_csr *A, double *diagonal);
/* y = A x on the host, each sum in the order of the row. */
void cmgi_csr_apply(const cmg_context *ctx, const cmg_csr *A, const double *x, double *y);
/* The row that entry k belongs to, 0 <= k < indptr[rows]; cost log(rows). */
cmg_size cmgi_csr_row_of(const cmg_csr *A, cmg_size k);
/* True when the only nonzero of row i is on the diagonal: a Dirichlet condition kept as a row. */
CMGI_INLINE bool cmgi_csr_identity_row(const cmg_csr *A, cmg_size i)
{
    bool diagonal = false;
    bool other = false;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1] && !other; ++k) {
        const bool nonzero = A->values[k] != 0;
        diagonal = diagonal || (A->indices[k] == i && nonzero);
        other = A->indices[k] != i && nonzero;
    }
    return diagonal && !other;
}
/* The first row without a nonzero entry on the diagonal, A->rows where there is none. */
cmg_size cmgi_csr_zero_diagonal(const cmg_csr *A);
/* True when A is square and has no entries but diagonal ones. */
bool cmgi_csr_is_diagonal(const cmg_context *ctx, const cmg_csr *A);
/* Sorts the columns of every row, values along, in parallel; stable for duplicates. */
cmg_status cmgi_csr_sort(cmg_context *ctx, cmgi_csr *A);
/* Whether columns of row i ascend, and are columns of A. */
bool cmgi_csr_ascends(const cmg_csr *A, cmg_size i);
/* T = A^T, rows sorted; parallel, the same result for any number of threads. */
cmg_status cmgi_csr_transpose(cmg_context *ctx, const cmg_csr *A, cmgi_csr *T);
/*
 * B = A with rows and columns renumbered: row k of B is row row_perm[k] of A, and column j of A
 * becomes the position of j in col_perm. NULL = unchanged. Entries keep their order in the row
 * unless sort_columns. A list may name some rows of a larger matrix: A->rows says how many.
 */
cmg_status cmgi_csr_permute(cmg_context *ctx, const cmg_csr *A, const cmg_index *row_perm,
                            const cmg_index *col_perm, bool sort_columns, cmgi_csr *B);
/* The same of a whole matrix, columns ascending, or not: entry k of B is entry from[k] of A; *from,
 * of cmgi_alloc, is for the caller to free, also where this fails. */
cmg_status cmgi_csr_permute_from(cmg_context *ctx, const cmg_csr *A, const cmg_index *row_perm,
                                 const cmg_index *col_perm, bool sort_columns, cmg_size **from,
                                 cmgi_csr *B);
/* C = A B by rows (Gustavson 1978), rows sorted, parallel; exact zeros are kept. */
cmg_status cmgi_csr_multiply(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, cmgi_csr *C);
/* The same, rows in any order unless `ordered`. */
cmg_status cmgi_csr_multiply_loose(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                   bool ordered, cmgi_csr *C);
/* New values of such a product, of the same bits, on its pattern. */
cmg_status cmgi_csr_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                    cmgi_csr *C);
