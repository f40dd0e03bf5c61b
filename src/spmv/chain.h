/*
 * Steps of a cycle on one box (box.h) in one sweep over its planes, on the CPU. A stage takes what
 * the stage before has made of a plane while that is in the cache, and what the next stage alone
 * reads is never written to memory. At time t, of a prolongation and two smoothing steps:
 *
 *     time         0   1   2   3   4
 *     y = x + P e  0   1   2   3   4     plane that is made
 *     y' = S y     .   0   1   2   3     a stage that reads neighbours is a plane behind
 *     z = S y'     .   .   0   1   2
 *
 * Results that are passed on are kept for three planes. A part, one a thread, owns neighbouring
 * planes, and makes again what it needs of the planes around them: nobody waits inside of a chain,
 * and a row has the same bits in any number of parts.
 *
 * P is linear interpolation from every second position along each axis, R its transpose, both with
 * a factor: coarse position J lies at 2 J + 1, and what is outside of the coarse box is 0.
 */
#pragma once
#include "spmv/box.h"

/* Most stages, and most positions of a line. */
enum { CMGI_CHAIN_STAGES = 8, CMGI_CHAIN_LINE = 512 };

typedef enum cmgi_chain_kind {
    CMGI_CHAIN_DIAGONAL, /* y = alpha D x */
    CMGI_CHAIN_BOX,      /* y = writeback(A x) */
    CMGI_CHAIN_P,        /* y = c + scale P x: the first stage */
    CMGI_CHAIN_R         /* y = scale R x: the last one */
} cmgi_chain_kind;

typedef struct cmgi_chain_stage {
    cmgi_chain_kind kind;
    const cmgi_box *box;
    double scale;
    cmgi_writeback w; /* of a kind that kernels know; y NULL = the result is only passed on */
    bool adds;        /* c is what the stage before has made, too */
    const void *x;    /* of the first stage: the others multiply what the one before has made */
} cmgi_chain_stage;

typedef struct cmgi_chain {
    int stages;
    cmg_index size[3]; /* of the box, three dimensions */
    cmgi_chain_stage stage[CMGI_CHAIN_STAGES];
    void *ring; /* of each part, three planes a stage */
    int parts;  /* at most as many as there are planes of the coarse box */
} cmgi_chain;

/* Whether a matrix is the P, or the R, of this box and a coarse one that is said above, and its
 * factor. On the host. */
bool cmgi_chain_transfers(const cmg_matrix *T, const cmgi_box *fine, cmgi_grid_form form,
                          double *scale);
/* P^T of such a P, in its format and without its entries, where that is what is asked for; leaves
 * *R else. */
cmg_status cmgi_chain_restriction(const cmg_matrix *P, const cmgi_box *fine,
                                  const cmg_matrix_options *options, cmg_matrix **R);
/* Values of the ring of a part; those of a plane in it, with lines of zeros before and after; and
 * of the zeros in place of a plane. */
cmg_size cmgi_chain_ring(const cmgi_chain *chain);
cmg_size cmgi_chain_room(const cmgi_chain *chain);
cmg_size cmgi_chain_zeros(const cmgi_chain *chain);
/* All stages, a thread a part. */
void cmgi_chain_run(const cmgi_chain *chain, cmg_precision precision);
