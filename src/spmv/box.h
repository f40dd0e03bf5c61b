/*
 * A box: a matrix whose rows are the positions of a grid of size[0] x size[1] x size[2], line by
 * line and plane by plane, and all one stencil. With L = size[0] and P = size[0] size[1],
 *
 *     (A x)_i = sum over a, b, c in {-1, 0, 1} of  value[9 (a + 1) + 3 (b + 1) + (c + 1)]
 *                                                  x[i + a P + b L + c],
 *
 * in which a neighbour that lies outside of the box counts as 0. Products then read no numbers of
 * templates, only vectors, and may stream the grid plane by plane.
 *
 * It is found from the templates of a matrix: L and P from their offsets, then for every row the
 * entries that its template has are compared with those that its position leaves. An entry of 0 is
 * none. Entries of a template are those of every other one at the same offset, or it is not a box:
 * so are matrices of one dimension, of fewer than 3 positions in a line or lines in a plane, rows
 * of a larger matrix, and blocks.
 */
#pragma once
#include "csr/own_rows.h"
#include "spmv/packed_plan.h"

typedef struct cmgi_box {
    int dims;          /* 2 or 3 */
    cmg_index size[3]; /* positions of a line, lines of a plane, planes; in 2D one plane */
    double value[27];  /* as above, in the matrix's precision; 0 = no entry */
    bool even; /* value depends on |a|, |b| and |c| alone, rounding made good: equal ones can be
                  summed first */
    cmg_size others; /* rows that are not this stencil cut at the rim: 0 */
} cmgi_box;

/* The neighbour at an offset, as value has them, -1 = it is none of the 27. */
CMGI_INLINE int cmgi_box_neighbour(const cmg_index *size, int dims, cmg_index offset)
{
    const int64_t L = size[0];
    const int64_t P = L * size[1];
    const int64_t a = dims < 3 ? 0 : (offset > L + 1) - (offset < -L - 1);
    const int64_t in_plane = offset - a * P;
    const int64_t b = (in_plane > 1) - (in_plane < -1);
    const int64_t c = in_plane - b * L;
    return c >= -1 && c <= 1 ? (int)(9 * (a + 1) + 3 * (b + 1) + c + 1) : -1;
}

/* Finds the box of a matrix all of whose slices are templates; leaves C->t.box NULL where it is
 * none. The host waits for one number if the matrix is on the device and looks like a box. */
cmg_status cmgi_box_find(const cmgi_compressor *B, const cmgi_templates *t);
/*
 * The box of a square matrix by its entries, on the host or, where csr is NULL, on the device:
 * from the row in the middle, with which every row is compared. Of odd sides alone.
 *
 * Cost  a pass over the entries, and on the device two waits of the host.
 */
cmg_status cmgi_box_of_csr(cmg_context *ctx, const cmg_csr *csr, const cmgi_resident *there,
                           cmg_precision precision, cmgi_box *box, bool *found);
/* A matrix of which a rank has some rows, all of whole planes or, in 2D, lines. */
typedef struct cmgi_box_rows {
    const cmgi_own_rows *own;
    const cmgi_resident *there; /* the same on the device, columns of others behind own ones; or
                                   NULL */
    const cmg_size *halo;       /* numbers of those, on the host */
    cmg_size halo_count;
    cmg_size rows;               /* of all ranks */
    const cmgi_own_rows *middle; /* the row in the middle of all */
} cmgi_box_rows;
/* The same of such a matrix: own rows are compared. */
cmg_status cmgi_box_of_own(cmg_context *ctx, const cmgi_box_rows *rows, cmg_precision precision,
                           cmgi_box *box, bool *found);
/* The sizes alone of a box of three dimensions that A has the pattern of, by the row in the middle,
 * if of any: not compared with other rows. */
bool cmgi_box_sizes(const cmg_csr *A, cmgi_box *box);
/* The box of any matrix, NULL = it has none. */
const cmgi_box *cmgi_matrix_box(const cmg_matrix *A);

/* ------------------------------------------------------------------ products on a GPU (march.cu)
 */

/* y = writeback(A x) of one column. */
cmg_status cmgi_march_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* In fp64, in 3D: p = z + (num / den) before with z in fp32, y = A p, and parts of (p, y) in
 * A->dots. */
cmg_status cmgi_march_direction_cuda(const cmg_matrix *A, const cmgi_direction *p, double *y);
/* In fp64: r = b - A x, stored in fp32, and parts of (r, r). */
cmg_status cmgi_march_residual_cuda(const cmg_matrix *A, const double *b, const double *x, float *r,
                                    double *dots);
/* Numbers that x . A x, or a residual that is rounded, leaves in the array of inner products. */
cmg_size cmgi_march_sums(const cmg_matrix *A, bool rounded);
