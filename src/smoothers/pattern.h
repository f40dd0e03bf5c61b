/*
 * Sparsity patterns of approximate inverses, and what the smoothers for symmetric matrices share:
 * decoupling of Dirichlet rows and symmetrisation.
 */
#pragma once
#include "core/search.h"
#include "csr/place.h"
#include "csr/resident.h"

/*
 * Place of entry (j,i) in sorted rows, -1 where there is none, to (i,j) at k. Where neighbours have
 * the same pattern around them, it is as far from the end of its row as k from the beginning.
 */
CMGI_INLINE cmg_size cmgi_partner(const cmg_size *indptr, const cmg_index *indices, cmg_size i,
                                  cmg_size k)
{
    const cmg_index j = indices[k];
    const cmg_size end = indptr[j + 1];
    const cmg_size guess = end - 1 - (k - indptr[i]);
    if (guess >= indptr[j] && indices[guess] == i) {
        return guess;
    }
    return cmgi_find_index(indices, indptr[j], end, (cmg_index)i);
}
#include "smoothers/arguments.h"

/* Keys that several of them have. */
#define CMGI_KEY_TAU                                                                               \
    {                                                                                              \
        .key = "tau",                                                                              \
        .text = "pattern: entries with |a_ij| > tau sqrt(|a_ii a_jj|); 0 = all of A",              \
        .standard = 0.04, .high = 1                                                                \
    }
#define CMGI_KEY_POWER(text_)                                                                      \
    {                                                                                              \
        .key = "power", .text = text_, .standard = 1, .high = 4, .integer = true                   \
    }
#define CMGI_KEY_ADAPTIVE(standard_)                                                               \
    {                                                                                              \
        .key = "adaptive", .text = "times that a row's pattern may grow", .standard = standard_,   \
        .high = 100, .integer = true                                                               \
    }
#define CMGI_KEY_ADD(standard_)                                                                    \
    {                                                                                              \
        .key = "add", .text = "entries that enter each time", .standard = standard_, .low = 1,     \
        .high = 100, .integer = true                                                               \
    }

/*
 * Pattern S of an approximate inverse: the pattern of B^power, where B keeps the diagonal of A and
 * the entries |a_ij| > tau sqrt(|a_ii a_jj|); tau = 0 keeps all stored entries. power = 0 is the
 * diagonal. Rows come sorted; values are all 1.
 */
cmg_status cmgi_pattern(cmg_context *ctx, const cmg_csr *A, double tau, int power, cmgi_csr *S);

/*
 * B = A, rows sorted, without the entries in columns of identity rows (rows whose one nonzero is on
 * the diagonal), so that Dirichlet values decouple from the interior. *symmetric: B is symmetric,
 * |b_ij - b_ji| <= 1e-8 sqrt(|b_ii b_jj|). A and B have the same spectrum.
 *
 * `own`: B is going to be changed. Otherwise, where B = A as it stands, its arrays are borrowed.
 */
cmg_status cmgi_decouple(cmg_context *ctx, const cmg_csr *A, bool own, cmgi_csr *B,
                         bool *symmetric);

/* Words of three arguments; auto: where A is symmetric. */
enum { CMGI_AUTO, CMGI_YES, CMGI_NO };

/* Entries of a row that the device sorts. */
enum { CMGI_LONGEST_SORTED = 1024 };

/* A matrix at a place made ready for an approximate inverse. */
typedef struct cmgi_prepared {
    cmgi_place at;
    cmg_csr A;        /* the caller's */
    cmgi_csr B;       /* A, borrowed, or with sorted rows and without what is decoupled */
    cmg_size nnz;     /* of B */
    double *diagonal; /* of S B S */
    double *s;        /* S = diag(s), s_i = |b_ii|^(-1/2); NULL: S = 1 */
    bool *identity;   /* rows that are decoupled */
    bool symmetric;   /* the symmetric part is wanted */
} cmgi_prepared;

/*
 * A on the host, or `device`, A on the device, decoupled as above where the symmetric part is
 * wanted; AUTO: where A is symmetric. With scale = AUTO also S is made where A is symmetric. p is
 * to be freed, on failure, too.
 */
cmg_status cmgi_prepare(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *device,
                        int symmetric, int scale, cmgi_prepared *p);
void cmgi_prepared_free(cmg_context *ctx, cmgi_prepared *p);
CMGI_RELEASES(cmgi_prepared_free, cmgi_prepared)
/* cmgi_pattern of S B S to the power 0 or 1, with space for its *nnz values. */
cmg_status cmgi_prepared_pattern(cmg_context *ctx, const cmgi_prepared *p, double tau, int power,
                                 cmgi_csr *S, cmg_size *nnz);
/* Arrays at a place become M; those on the device a matrix there or, without `resident`, on the
 * host. */
cmg_status cmgi_take_made(cmg_context *ctx, cmgi_place at, cmgi_csr *made, cmg_size nnz,
                          bool resident, cmgi_csr *M);

/* M = (M + M^T) / 2 on the union of both patterns, rows sorted; *nnz of it on the device. */
cmg_status cmgi_symmetrize_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M, cmg_size *nnz);
cmg_status cmgi_symmetrize(cmg_context *ctx, cmgi_csr *M);

/* B = diag(rows) B diag(cols); NULL = ones. */
cmg_status cmgi_csr_scale(cmg_context *ctx, cmgi_place at, const double *rows, const double *cols,
                          cmgi_csr *B);
