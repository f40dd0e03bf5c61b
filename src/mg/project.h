/*
 * The null space of the finest matrix in the backend's memory, and v - Q (Q^T v). With it taken out
 * of b and x, a singular system has one solution, the shortest: so of a pure Neumann problem, or of
 * a body that nothing holds.
 *
 * Source  Bochev and Lehoucq, On the finite element solution of the pure Neumann problem, SIAM Rev.
 *         47 (2005), doi:10.1137/S0036144503426074.
 */
#pragma once
#include "core/backend.h"
#include "hierarchy/hierarchy.h"
#include "transfer/null_space.h"

typedef struct cmgi_projection {
    cmg_size n;
    cmg_size total;  /* entries on all ranks */
    int count;       /* 0 = A is regular, as far as is known */
    bool exact;      /* the caller has said so: b may have a part in it */
    double *q;       /* orthonormal vectors, one after the other */
    double *scalars; /* 1, then Q^T v */
} cmgi_projection;

/* In the numbering perm of the level's rows, NULL = the hierarchy's; in place of what was there. */
cmg_status cmgi_projection_build(const cmg_hierarchy *h, const cmg_index *perm, cmgi_projection *P);
/* Vectors of which n of `total` entries are here. */
cmg_status cmgi_projection_take(cmg_context *ctx, const cmgi_null_space *space, cmg_size n,
                                cmg_size total, cmgi_projection *P);
void cmgi_projection_clear(cmg_context *ctx, cmgi_projection *P);
/* v = v - Q (Q^T v), nothing but backend operations. */
cmg_status cmgi_project(cmg_context *ctx, const cmgi_projection *P, double *v);
/* The same, and ||Q^T v|| before it. */
cmg_status cmgi_project_measured(cmg_context *ctx, const cmgi_projection *P, double *v,
                                 double *removed);
