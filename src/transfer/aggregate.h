/*
 * Smoothed aggregation: coarse levels from a matrix and near-null-space vectors alone.
 *
 *   strength    which entries of A couple two nodes strongly
 *   aggregates  nodes and their neighbours, whose roots are a distance-2 maximal independent set
 *   tentative   P_0 with P_0 B_c = B, one orthonormal block an aggregate
 *   smoothed    P = (I - omega D^-1 A_F) P_0, A_F = A without its weak entries
 *
 * Sources: Vanek, Mandel, Brezina, Algebraic multigrid by smoothed aggregation for second and
 * fourth order elliptic problems, Computing 56 (1996), doi:10.1007/BF02238511; Bell, Dalton, Olson,
 * Exposing fine-grained parallelism in algebraic multigrid methods, SIAM J. Sci. Comput. 34 (2012),
 * doi:10.1137/110838844.
 *
 * All of it is parallel and of the same bits for any number of threads.
 */
#pragma once
#include "core/inline.h"
#include "core/random.h"
#include "csr/place.h"
#include "transfer/coarsen.h"

/* Rows whose sum of off-diagonal entries is at most this share of the diagonal are isolated. */
#define CMGI_ISOLATED 0.1

/* State above, then the hash, then the number: all different, so that the largest is one node. */
enum { CMGI_NODE_OUT = 0, CMGI_NODE_OPEN = 1, CMGI_NODE_IN = 2 };

CMGI_INLINE int cmgi_key_state(uint64_t key)
{
    return (int)(key >> 62);
}

CMGI_INLINE uint64_t cmgi_key_with(uint64_t key, int state)
{
    return (key & (UINT64_MAX >> 2)) | (uint64_t)state << 62;
}

/* Nodes and the aggregate that each belongs to. A node is `block` rows. */
typedef struct cmgi_aggregates {
    cmg_size nodes;
    cmg_size count;
    cmg_index *of; /* nodes; -1 = none: smoothing alone solves for it */
    cmgi_place at; /* where that is */
} cmgi_aggregates;

/* What is strong. */
typedef struct cmgi_strong {
    int block; /* rows of a node */
    double theta;
    bool own; /* by the row's own largest alone, and by entries with the sign of a coupling alone */
} cmgi_strong;
/*
 * The graph of strong couplings between nodes of `block` rows, without the diagonal; values are the
 * sizes of the couplings. With c_ij the size of the part of a_ij that has the sign of a coupling
 * (-a_ij for a_ii > 0; Frobenius norm of a block where block > 1) and m_i the largest c_ij of a
 * row, j is strong for i where c_ij >= theta sqrt(m_i m_j), or theta m_i. Rows whose off-diagonal
 * entries do not matter (together under a tenth of the diagonal) are isolated: they have no
 * neighbours. A and S are at the same place.
 */
cmg_status cmgi_strength(cmg_context *ctx, cmgi_place at, const cmg_csr *A, const cmgi_strong *what,
                         cmgi_csr *S);
/*
 * Aggregates of a graph of strong couplings around an independent set; isolated nodes belong to
 * none. S is where the aggregates will be.
 */
cmg_status cmgi_aggregate(cmg_context *ctx, cmgi_place at, const cmg_csr *S, cmgi_aggregates *agg);
/* Numbers among the nodes whose key is in a set, -1 elsewhere. */
cmg_status cmgi_number_set(cmg_context *ctx, cmgi_place at, cmg_size n, const uint64_t *key,
                           cmg_index *number, cmg_size *count);
void cmgi_aggregates_free(cmg_context *ctx, cmgi_aggregates *agg);
CMGI_RELEASES(cmgi_aggregates_free, cmgi_aggregates)
/*
 * P_0 and the coarse vectors: B is rows x vectors by rows, NULL = a constant for each unknown of a
 * node; P_0 has `vectors` columns an aggregate; both are where the aggregates are. *coarse,
 * aggregates * vectors x vectors, is of cmgi_alloc. A vector that the others already
 * give on an aggregate leaves a zero column there.
 */
cmg_status cmgi_tentative(cmg_context *ctx, const cmgi_aggregates *agg, int block, int vectors,
                          const double *B, cmgi_csr *P, double **coarse);
/*
 * P = (I - omega / lambda D^-1 A_F) P_0 with lambda an estimate of the largest eigenvalue of D^-1
 * A_F; S NULL = A unfiltered. All are at one place, on the device P has all facts (resident.h). P0
 * may be taken over.
 */
cmg_status cmgi_smooth_tentative(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                                 const cmg_csr *S, double omega, cmgi_csr *P0, cmgi_csr *P);

/*
 * d = diagonal of A, and an estimate of the largest eigenvalue of D^-1 A by the power method: at
 * most the largest row sum of |D^-1 A|. The same for any number of threads and at both places.
 */
cmg_status cmgi_power_largest(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double *d,
                              double *lambda);

/* Unknowns of a node: of the level, else the attribute block_size, else 1. */
int cmgi_unknowns_of_node(const cmg_hierarchy *h, int level);
/* Component d of the r-th rotation at a place: in the plane of the axes that follow axis r. */
double cmgi_rotation(int dim, int r, int d, const double at[3]);
/* Near-null-space vectors of a level, rows x *vectors by rows, an array of cmgi_alloc. */
cmg_status cmgi_near_null_space(const cmg_hierarchy *h, int level, int *block, int *vectors,
                                double **B);
/* Whether they are nothing but a constant for each unknown of a node. */
bool cmgi_near_null_constant(const cmg_hierarchy *h, int level, int *block, int *vectors);

/* What levels hold of what is known beside a matrix. */
typedef struct cmgi_known {
    int block; /* unknowns a node */
    int vectors;
    bool joined; /* a node's unknowns belong together ... */
    bool loose;  /* ... without strong couplings between them */
    double *B;   /* rows x vectors by rows, of cmgi_alloc; NULL = constants */
    char *text;  /* what is taken and why; empty where nothing was given */
} cmgi_known;
/* The same of a level, into an empty one with a text, as far as its A agrees; for `aggregates`, or
 * whatever levels are best. */
cmg_status cmgi_known_agreed(const cmg_hierarchy *h, int level, bool aggregates, cmgi_known *k);
