/*
 * Many systems of one pattern, A_s x_s = b_s, each set up and solved by one team: a thread of the
 * CPU, a block of a GPU. What a team does is written once, from batch_team.inc on; this is what it
 * reads.
 *
 * Of a solver the systems have the patterns, P and R, and the step list of its cycle (batch_plan.c,
 * on the host). Of its own each has, in its part of `store`,
 *
 *     the values of A_0, and of A_(l+1) = R A_l P, by two products on known patterns,
 *     D_l^-1 times (bound of the solver's matrix) / (its bound), so that the dampings of the list,
 *         which were made for the eigenvalues of the solver's D^-1 A, fit its own,
 *     the inverse of its last matrix.
 *
 * Each solve is CG in fp64, with A as it was given and directions in fp32, around the cycle in
 * fp32.
 *
 * Source  a block of a GPU a system, without levels: Kashi, Nayak, Kulkarni, Scheinberg, Lin and
 *         Anzt, Batched sparse iterative solvers on GPU for the collision operator for fusion
 *         plasma simulations, IPDPS 2022.
 */
#pragma once
#include "cmg_types.h"
#include "core/inline.h"
#include "spmv/writeback.h"

#include <stdint.h>

enum {
    CMGI_BATCH_SLICE = 32, /* rows */
    CMGI_BATCH_PAST = 8,   /* pairs past a matrix whose distances or columns are read, and 0 */
    CMGI_BATCH_LEVELS = 12,
    CMGI_BATCH_VECTORS = 32,
    CMGI_BATCH_ROWS = 1 << 16 /* columns have 16 bits */
};

/* Columns of the inverse of n rows: four are read at once. */
#define CMGI_BATCH_WIDTH(n) (((n) + 3) / 4 * 4)

/*
 * Rows in slices of 32, slots of a slice two by two: pair q of slice s, q = start[s] .. start[s+1],
 * has slots 2 q and 2 q + 1 of all its rows. Word 32 q + lane of the values has those of row
 * 32 s + lane; a row without such an entry has 0. Slots have one distance of the column to the row
 * each (A of a grid), or a column a row.
 *
 *     [ 4 1 . . ]     start    0 1 (one slice)
 *     [ 2 4 1 . ]     distance -1 1
 *     [ . 2 4 1 ]     words    0 1 | 2 1 | 2 1 | 2 0, ...
 *     [ . . 2 4 ]     centre   4 4 4 4
 *
 * A word has both values in bfloat16, the upper half of fp32, rounded to nearest. The diagonal of A
 * has 32 bits, and makes up for what the rounding of a row's other values adds to its sum: smooth
 * vectors, on which a cycle depends, are multiplied as by A. P and R are what they are rounded to,
 * in coarse matrices too.
 */
typedef struct cmgi_batch_slices {
    int rows;
    int cols;
    int pairs;
    const int *start;        /* rows / 32 + 1 */
    const int *distance;     /* of pair q of slice s: two, 2 (q + shift[s]) on; NULL = by columns */
    const int *shift;        /* rows / 32: slices of the same distances share them */
    const uint32_t *columns; /* 32 pairs: of the first slot in the lower 16 bits */
    const uint32_t *words;   /* of P and R, which systems share; NULL = in the system's store */
} cmgi_batch_slices;

/* Values of a product with a known matrix: c_k = sum of weight[t] a[from[t]] over
 * start[k] <= t < start[k+1]. */
typedef struct cmgi_batch_terms {
    int count;
    const int *start;
    const int *from;
    const float *weight;
} cmgi_batch_terms;

typedef struct cmgi_batch_level {
    int rows;
    cmgi_batch_slices A, P, R; /* the last level has A alone */
    const int *entry;          /* 64 pairs: entry of A in a slot, -1 = none */
    const int *diagonal;       /* rows: entry of a_ii, -1 = none */
    cmgi_batch_terms AP, RAP;  /* of A, and of A P */
    cmg_size values;           /* bytes to A without its diagonal in a store, ... */
    cmg_size centre;           /* ... to that, and what the others' rounding takes from rows */
    cmg_size inverse;          /* ... and to D^-1 */
} cmgi_batch_level;

typedef enum cmgi_batch_matrix {
    CMGI_BATCH_A,
    CMGI_BATCH_P,
    CMGI_BATCH_R,
    CMGI_BATCH_DIAGONAL, /* D^-1; without a vector the result is 0 */
    CMGI_BATCH_INVERSE   /* of the last level */
} cmgi_batch_matrix;

/* A step of the list (cycle.h); vectors by number, -1 = none. */
typedef struct cmgi_batch_step {
    cmgi_batch_matrix matrix;
    int writeback; /* a cmgi_wb_kind */
    int level;
    bool scaled; /* the write-back has d = D^-1 */
    double alpha;
    double beta;
    int in, b, c, e, out;
} cmgi_batch_step;

/* The same with the arrays of a system, which a team makes before it begins: f has no vectors that
 * its kind does not read. */
typedef struct cmgi_batch_action {
    cmgi_batch_matrix matrix;
    cmgi_wb_kind kind;
    cmgi_wb_f32 f;
    int rows;
    cmgi_batch_slices M; /* A, P or R */
    const float *centre; /* the diagonal of A, ... */
    const float *own;    /* ... and x for it; else NULL */
    const float *x;
    const float *inverse; /* D^-1, or that of the last level */
} cmgi_batch_action;

/* Values of a system as its set-up found them. */
typedef struct cmgi_batch_set {
    cmg_outcome bad; /* not CMG_CONVERGED_RTOL: how all solves end */
    double bound[CMGI_BATCH_LEVELS];
} cmgi_batch_set;

typedef struct cmgi_batch_result {
    cmg_outcome outcome;
    int iterations;
    int starts; /* residuals that CG began with */
    double residual;
    double rhs_norm;
} cmgi_batch_result;

/* Vectors of a solve that are not buffers of the cycle, by their places after those. */
enum {
    CMGI_BATCH_Z,  /* result of the cycle, in fp32 */
    CMGI_BATCH_IN, /* what it is given, the same */
    CMGI_BATCH_P32,
    CMGI_BATCH_R64,
    CMGI_BATCH_Q64, /* A p */
    CMGI_BATCH_OWN
};

/* All that teams read; arrays are in the backend's memory. */
typedef struct cmgi_batch_plan {
    int levels;
    cmgi_batch_level level[CMGI_BATCH_LEVELS];
    bool dense;        /* the last level is solved by its inverse ... */
    cmg_size solution; /* ... at so many bytes of a store */
    int steps;
    const cmgi_batch_step *step;
    int buffers;                         /* of the cycle; vectors CMGI_BATCH_Z .. follow */
    cmg_size actions;                    /* bytes to them in the work space of a team, ... */
    cmg_size vector[CMGI_BATCH_VECTORS]; /* ... and to each vector */
    cmg_size near_bytes;                 /* so many of them in shared memory */
    /* A_0 as it was given */
    cmg_size nnz;
    const cmg_size *indptr;
    const cmg_index *indices;
    const bool *fixed; /* Dirichlet rows, NULL = none */
    /* the systems */
    cmg_size count;
    cmg_size sets;        /* of values: count, or one for all */
    const double *values; /* sets x nnz */
    char *store;          /* sets x store_bytes */
    cmg_size store_bytes;
    cmgi_batch_set *set;
    bool first;                     /* values are the solver's: their bounds are ... */
    double base[CMGI_BATCH_LEVELS]; /* ... these */
    /* work spaces of teams */
    char *work;
    cmg_size work_bytes; /* of a team, for what it does now */
    cmg_size products;   /* in a set-up: bytes to A P ... */
    cmg_size dense_at;   /* ... and to the last matrix while it is inverted */
    cmg_size dense_near; /* its bytes where it is in shared memory, else 0 */
    int teams;
    cmg_size *next; /* CUDA: the next system, for whoever is free */
    /* a solve */
    const double *b; /* count x rows */
    double *x;
    cmgi_batch_result *result;
    double rtol;
    double atol;
    double dtol;
    int max_it;
} cmgi_batch_plan;

/* A system by one thread: its set-up or its solve, for each instruction set. */
typedef void (*cmgi_batch_one)(const cmgi_batch_plan *plan, cmg_size number, int thread,
                               bool setup);
void cmgi_batch_one_portable(const cmgi_batch_plan *plan, cmg_size number, int thread, bool setup);
void cmgi_batch_one_avx2(const cmgi_batch_plan *plan, cmg_size number, int thread, bool setup);
/* Sets up every set of values, or solves every system; on CUDA in the stream. */
cmg_status cmgi_batch_run_cpu(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup);
cmg_status cmgi_batch_run_cuda(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup);
/* Teams that a GPU has at work, and bytes of shared memory of each. */
cmg_status cmgi_batch_teams_cuda(cmg_context *ctx, int *teams, cmg_size *near_bytes);

/* ------------------------------------------------------------------ two values in a word */

typedef union cmgi_batch_bits {
    uint32_t bits;
    float value;
} cmgi_batch_bits;

CMGI_INLINE uint32_t cmgi_batch_word(float first, float second)
{
    const uint32_t half = 0x8000U;
    cmgi_batch_bits a;
    cmgi_batch_bits b;
    a.value = first;
    b.value = second;
    return (a.bits + half) >> 16 | ((b.bits + half) & 0xffff0000U);
}

CMGI_INLINE float cmgi_batch_first(uint32_t word)
{
    cmgi_batch_bits a;
    a.bits = word << 16;
    return a.value;
}

CMGI_INLINE float cmgi_batch_second(uint32_t word)
{
    cmgi_batch_bits a;
    a.bits = word & 0xffff0000U;
    return a.value;
}
