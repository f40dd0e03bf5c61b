/*
 * Rows of sparse approximate inverses: row i of M on the columns J minimises
 *
 *     || e_i^T - sum_(p in J) m_ip A(p,:) ||_2 ,
 *
 * a dense least squares problem with one column per p in J and one row per column of A met there.
 * With `counted` each component is weighted by the number of rows A(p,:), p in J, that have an
 * entry in it.
 */
#pragma once
#include "csr/csr.h"

/* Work space of one thread. */
typedef struct cmgi_spai_work {
    cmg_index *list; /* columns of A met, in the order met, and ... */
    cmg_index met;
    cmg_index *local; /* ... the place in the list of every column that is in it */
    double *L;        /* the local matrix, map.length x |J| by columns */
    double *b;        /* its right-hand side */
    double *weight;   /* of each local row */
    double *diagonal; /* |J| */
    double *x;        /* |J|, the row of M */
    double *rows;     /* the local matrix by rows */
    cmg_index *place; /* local row of each entry */
    double *G;        /* |J| x |J| */
} cmgi_spai_work;

/* Work space of `threads` threads for a matrix of `all` columns and rows of at most `columns`
 * entries, `rows` local rows and `entries` local entries. */
cmg_status cmgi_spai_work_create(cmg_context *ctx, cmg_size all, cmg_size columns, cmg_size rows,
                                 cmg_size entries, cmgi_spai_work **work);
void cmgi_spai_work_destroy(cmg_context *ctx, cmgi_spai_work **work);
CMGI_RELEASES(cmgi_spai_work_destroy, cmgi_spai_work *)
/* The local row of a column of A, -1 when it was not met. */
static inline cmg_index cmgi_spai_local(const cmgi_spai_work *work, cmg_index column)
{
    const cmg_index at = work->local[column];
    return at < work->met && work->list[at] == column ? at : -1;
}

/* Solves for row i on columns J; the result is work->x, the local numbering stays. */
void cmgi_spai_row(const cmg_csr *A, cmg_size i, const cmg_index *J, cmg_size length, bool counted,
                   cmgi_spai_work *work);

/*
 * x = argmin ||b - L x||_2 by Householder QR without pivoting; L is m x n by columns, L and b (m
 * values) are overwritten, `diagonal` has room for n values. Columns that depend on earlier ones,
 * to rounding, get the coefficient 0 and reflect nothing, so that the minimum is reached for every
 * finite L.
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithms 5.1.1 and 5.3.2.
 */
void cmgi_qr_solve(cmg_size m, cmg_size n, double *restrict L, double *restrict b,
                   double *restrict diagonal, double *restrict x);

/* M on the given pattern: S's values become those of M. */
cmg_status cmgi_spai_static(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S);

typedef struct cmgi_spai_growth {
    int steps;      /* at most so many enlargements of a row's pattern */
    int add;        /* entries added in each */
    double epsilon; /* a row is done when its residual norm is not over this */
} cmgi_spai_growth;

/* M grown from the pattern S: S's pattern and values become those of M. */
cmg_status cmgi_spai_adaptive(cmg_context *ctx, const cmg_csr *A, const cmgi_spai_growth *growth,
                              bool counted, cmgi_csr *S);
