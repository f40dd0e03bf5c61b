/*
 * A mirror: the matrix of packed slices (compressed.h) once more, for products on a GPU, where it
 * is symmetric and couples neighbours on a grid of size[0] x size[1] x size[2] alone, as a box does
 * (box.h) but with values of its own in every row. It holds the upper half: of row i
 *
 *     the diagonal; 4 entries to rows behind it in its plane; 9 to the next plane,
 *
 * 14 numbers in place of 27, in slices of 64 rows, entry k of row l at k 64 + l, in fp16 pairs of
 * entries, at (k / 2) 128 + 2 l + k mod 2, and the diagonal apart. A product marches from plane to
 * plane (march.cuh) and takes every number twice: for the row that has it, and for the row that it
 * is the mirror image in.
 *
 * a_ij and a_ji count as equal if they differ by a few units in the last place, of themselves or of
 * the diagonal: a_ij of the upper half then stands for both, and what a row sum loses by that goes
 * to the diagonal.
 *
 * A matrix under keep_map has none.
 */
#pragma once
#include "spmv/compressed.h"

enum { CMGI_MIRROR_ROWS = 1 << 17 /* fewer rows gain nothing */ };

typedef struct cmgi_mirror {
    int size[3];
    void *values;
    float *diagonal; /* of values in fp16, else NULL: it is entry 0 */
    size_t bytes;
} cmgi_mirror;

CMGI_INLINE bool cmgi_has_mirror(const cmg_matrix *A)
{
    return A->format->id == CMG_FORMAT_COMPRESSED &&
           ((const cmgi_compressed *)A->data)->mirror != NULL;
}

/*
 * Makes the mirror of A if it has one, else C->p.mirror stays NULL.
 *
 * Cost  of a matrix that looks like one two passes over its values, and two waits of the host.
 */
cmg_status cmgi_mirror_find(cmg_matrix *A);
/* Parts of a sum that a product in fp64 leaves. */
cmg_size cmgi_mirror_blocks(const cmg_context *ctx, const cmgi_mirror *mirror);
/* y = writeback(A x) of one column. */
cmg_status cmgi_mirror_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* In fp64: r = b - A x, stored in fp32, and parts of (r, r). */
cmg_status cmgi_mirror_residual_cuda(const cmg_matrix *A, const double *b, const double *x,
                                     float *r, double *dots);
/* Frees the values of the packed slices, which products of one column do not read, unless another
 * matrix shares them. */
void cmgi_mirror_trim(cmg_matrix *A);
/* Makes them again from the mirror, for products of several columns. Both of a matrix with one. */
cmg_status cmgi_mirror_restore(cmg_matrix *A);
void cmgi_mirror_free(cmg_context *ctx, cmgi_mirror *mirror);
