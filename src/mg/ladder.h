/*
 * The rungs of the ladder from failing or slow to solved: what a solver is built again with, each
 * once.
 *
 *   renew      the same smoother from the values there are, where new ones left it (reuse), and
 *              with bounds of its own where the cycle is indefinite or diverges by those of
 *              another level; this again after every refresh
 *   cg         in place of semi-iteration, whose interval does not hold; where that was asked for
 *              again after a refresh
 *   method     FGMRES, where CG finds that A or the cycle is not positive definite
 *   levels     algebraic ones from A alone, where lines of strong coupling run across the given P,
 *              or where Jacobi was to do without any
 *   degree     a polynomial of degree 16, where the iteration is slow but goes on
 *   smoother   FSAI where A is symmetric, SPAI or AINV where not, in place of a diagonal or a
 *              polynomial one; from smoother auto with two steps at least
 *   direct     A factorised in its envelope, or a dense inverse, where that fits
 *   bits       fp8, then fp16, fp32, fp64; first where the cycle has fewer than fp32 or ends in
 *              what is no number, and where the residual has fallen far
 *
 * Levels, degree and direct follow smoother auto alone: what is named otherwise was meant.
 */
#pragma once
#include "mg/multigrid.h"

typedef enum cmgi_rung {
    CMGI_RUNG_NONE = 0,
    CMGI_RUNG_RENEW,
    CMGI_RUNG_CG,
    CMGI_RUNG_METHOD,
    CMGI_RUNG_LEVELS,
    CMGI_RUNG_DEGREE,
    CMGI_RUNG_SMOOTHER,
    CMGI_RUNG_DIRECT,
    CMGI_RUNG_BITS,
    CMGI_RUNGS
} cmgi_rung;

enum { CMGI_CLAUSE = 160 };

typedef struct cmgi_ladder {
    bool started;
    bool automatic; /* began with smoother auto */
    bool used[CMGI_RUNGS];
} cmgi_ladder;

/* How an iteration ended. */
typedef struct cmgi_ending {
    cmg_outcome outcome;
    int iterations; /* of all attempts */
    int last;       /* of the last one */
    double factor;  /* residual of the last attempt at its end over that at its beginning */
    bool steady;    /* slow, but it goes on */
} cmgi_ending;

/* The rung that such an ending asks for, of what is left. */
cmgi_rung cmgi_ladder_next(const cmgi_ladder *ladder, const cmgi_multigrid *mg,
                           const cmgi_ending *end);
/*
 * Builds the solver again on that rung, and says how in a clause. Where it cannot be built, the
 * solver is as before and the clause is empty.
 */
cmg_status cmgi_ladder_climb(cmgi_ladder *ladder, cmgi_multigrid *mg, cmgi_rung rung,
                             const cmgi_ending *end, char clause[CMGI_CLAUSE]);
/* Name of the cycle's precision: fp64, fp32, or the storage in it with the fewest bits. */
const char *cmgi_ladder_precision(const cmgi_multigrid *mg);
