/* What the .cu files of SPAI share: a CSR on the device, its repeated rows, the least squares. */
#pragma once
#include "core/each.h"

extern "C" {
#include "smoothers/spai_cuda.h"
}

/* Entry k, which is in row i and column j, times s_i s_j. */
static __device__ __forceinline__ double cmgi_value_at(const cmgi_device_csr &A, cmg_size i,
                                                       cmg_index j, cmg_size k)
{
    return A.s != NULL ? A.values[k] * (A.s[i] * A.s[j]) : A.values[k];
}

/* Rows of S that pose the same least squares problem (spai_repeat.cu). */
typedef struct cmgi_spai_repeats {
    int *same;    /* lowest row that poses the problem of row i; NULL: not looked up */
    int *list;    /* the rows i with same[i] = i */
    int problems; /* their number */
} cmgi_spai_repeats;

/* `same` stays NULL where too few rows repeat. */
cmg_status cmgi_spai_repeats_find(cmg_context *ctx, const cmgi_device_csr *A,
                                  const cmgi_device_csr *S, cmgi_spai_repeats *R);
/* Values of row same[i] of S to row i. */
cmg_status cmgi_spai_repeats_copy(cmg_context *ctx, const cmgi_spai_repeats *R, cmgi_device_csr *S);
void cmgi_spai_repeats_free(cmg_context *ctx, cmgi_spai_repeats *R);

/* Equations and length of the rows of A that a kind has room for: those of trilinear elements. */
enum { CMGI_SPAI_EQUATIONS = 128, CMGI_SPAI_LONGEST = 27 };

/* Rows i of A that have the same columns, less i, and name rows that do. */
typedef struct cmgi_spai_kind {
    int equations; /* 0: they do not fit */
    int own;       /* the one of column i; -1: none */
    int padding[2];
    int offset[CMGI_SPAI_EQUATIONS]; /* column of each, less i */
    /* [e][r][s]: which entry of the row of A that entry e of row i names stands in equation
     * 4 s + r, from 1 on; 0: none */
    unsigned char place[CMGI_SPAI_LONGEST][4][CMGI_SPAI_EQUATIONS / 4];
} cmgi_spai_kind;

typedef struct cmgi_spai_kinds {
    int count;            /* 0: too many, or not worth it */
    unsigned short *kind; /* of each row */
    cmgi_spai_kind *of;
} cmgi_spai_kinds;

/* Kinds of the rows of A (spai_kinds.cu). */
cmg_status cmgi_spai_kinds_find(cmg_context *ctx, const cmgi_device_csr *A, cmgi_spai_kinds *K);
void cmgi_spai_kinds_free(cmg_context *ctx, cmgi_spai_kinds *K);

/* Rows that are left over. */
typedef struct cmgi_spai_left {
    int *space[2]; /* rows + 1 each */
    int *list;     /* one of both; NULL: all rows */
    int count;
} cmgi_spai_left;

/* Rows of a list, NULL: the first `rows`, by normal equations where these are safe
 * (spai_normal.cu). */
cmg_status cmgi_spai_normal(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            const int *list, int rows, cmgi_spai_left *left);

/* The rows that are left, the first time all, where they have patterns of a few kinds
 * (spai_placed.cu). */
cmg_status cmgi_spai_placed(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            cmgi_spai_left *left);
