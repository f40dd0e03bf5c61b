/*
 * The null space of a level matrix, as far as it is known: vectors that the hierarchy marks as
 * exact; else those of its near-null-space vectors, of the translations and rotations of a body,
 * and of constants that A and A^T take to 0 row by row.
 *
 * To 0 within rounding: what is left of a row is under 16 eps times the sizes of its entries.
 * Assembled rows leave up to 1.8 eps, rotations included (all elements, shapes and coefficients of
 * cmg generate); files of 15 digits some 5. Anything more makes A a regular matrix.
 */
#pragma once
#include "hierarchy/hierarchy.h"

#include <float.h>

#define CMGI_NULL_ROUNDING (16 * DBL_EPSILON)
#define CMGI_NULL_GIVEN 1e-6 /* (A v)_i next to (|A| |v|)_i where v is said to be exact */

enum { CMGI_NULL_VECTORS = 16 };

/* Orthonormal vectors, one after the other; q is of cmgi_alloc, NULL where there are none. */
typedef struct cmgi_null_space {
    int count;
    double *q;
} cmgi_null_space;

/*
 * Costs a pass over A a candidate where there is a null space, and else ends at the first rows that
 * are none.
 *
 * @return CMG_OK, CMG_ERR_ARG (a vector that is marked as exact is none), CMG_ERR_MEMORY
 */
cmg_status cmgi_null_space_find(const cmg_hierarchy *h, int level, cmgi_null_space *space);
/* v, of which this rank has n entries, becomes orthogonal to the vectors that are there, of norm 1,
 * and one of them, for which there is room. Collective. */
cmg_status cmgi_null_space_take(cmg_context *ctx, cmg_size n, double *v, cmgi_null_space *space);
void cmgi_null_space_free(cmg_context *ctx, cmgi_null_space *space);
CMGI_RELEASES(cmgi_null_space_free, cmgi_null_space)
