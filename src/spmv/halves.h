/*
 * Halves of a cycle on a box (box.h) in one pass over their vectors each:
 *
 *     down   x = S^s 0,  r = b - A x,  c = R r           reads b, writes x and c
 *     down   r = b - A x,  c = R r                       reads x and b, writes c
 *     up     y = x + P e,  z = S^s y                     reads x (or none: 0), b and e, writes z
 *     up     the same, then d = momentum d + step z, x += d    d and x of an outer iteration
 *
 * where S y = y + omega D^-1 (b - A y), s is 1 or 2, D is a number times the identity, and P is
 * linear interpolation in every direction from the box of the positions (2 i + 1, 2 j + 1, 2 k +
 * 1), sizes of 2 n + 1 from those of n; R is its transpose. Each position is computed from its
 * neighbours as the steps one by one would; only the order of sums is another.
 */
#pragma once
#include "spmv/box.h"

/* Vectors of which a half of one rank of several reads or writes planes of its neighbours. */
enum { CMGI_GHOST_X, CMGI_GHOST_B, CMGI_GHOST_E, CMGI_GHOSTS };
/* How many on either side: r on planes beside the own ones makes c there complete, and wants x on
 * one more and b on two; up x is made two further than z. */
static const int cmgi_ghost_planes[CMGI_GHOSTS] = {2, 3, 2};

/* The planes (in 2D lines) of the box that a rank has. */
typedef struct cmgi_planes {
    cmg_index first;
    cmg_index planes;
    bool whole;                      /* of e and c, it has all */
    cmg_matrix *ghosts[CMGI_GHOSTS]; /* whose exchange brings planes beside the own ones ... */
    void *halo[CMGI_GHOSTS];         /* ... here: those before, those after; one rank: NULL */
} cmgi_planes;

/* What the halves of a level need to know of it. */
typedef struct cmgi_halves {
    bool taken; /* all that is said above holds of its matrices */
    cmg_precision precision;
    cmgi_box box;
    double d;   /* of D^-1 */
    bool known; /* P and R are linear interpolation: from a look before */
    bool march; /* along planes, however few rows there are: for tests */
    cmgi_planes slab;
} cmgi_halves;

/* Planes that need none of other ranks, and the others; apart where a rank has that many. */
typedef enum cmgi_half_part { CMGI_HALF_ALL = 0, CMGI_HALF_INNER, CMGI_HALF_RIMS } cmgi_half_part;
enum { CMGI_HALF_SPLITS = 24 };

/* One half, with what it reads and writes. */
typedef struct cmgi_half {
    const cmgi_halves *of;
    cmgi_half_part part;
    bool up;
    int stages;    /* 1 or 2; down: 0 = x is given */
    double first;  /* down: x = first b, of two stages x = first b - second A b; d is in them */
    double second; /* up: omega d of the stages, in order */
    const void *x; /* NULL = 0 */
    const void *b;
    const void *e;
    void *out;    /* x of down with stages, z of up */
    void *coarse; /* c */
    double *dots; /* up: parts of (b, z), as many as cmgi_half_dots says; NULL = not wanted */
    /* up, where cmgi_half_steps: what is done with z, of which out is then d; NULL = it is stored.
     * Down, where dots would be left: the step before this one is noted beside it */
    const cmgi_semi_update *step;
} cmgi_half;

/* Whether the backend has the kernels. */
bool cmgi_halves_possible(const cmg_context *ctx);
/*
 * Looks whether halves are possible with these matrices; then halves->taken. A is `box`; where
 * halves->known, D alone is looked at, and halves->slab is what this rank has;
 * P and R are multiplied by two vectors of integers each, drawn from 2^17, for which products with
 * linear interpolation do not round: every entry of the results has to be exact, which rows of
 * another matrix miss but once in 2^34 cases.
 *
 * Cost  two products with P and R each, and one wait of the host for each of both.
 */
cmg_status cmgi_halves_find(cmg_context *ctx, const cmg_matrix *A, const cmgi_box *box,
                            const cmg_matrix *P, const cmg_matrix *R, const cmg_matrix *D,
                            cmgi_halves *halves);
cmg_status cmgi_half_run(cmg_context *ctx, const cmgi_half *half);
/* Parts of (b, z) that an up half can leave; 0 = none. */
cmg_size cmgi_half_dots(const cmg_context *ctx, const cmgi_halves *halves);
/* Whether an up half of `stages` can take the step of semi-iteration (core/backend.h). */
bool cmgi_half_steps(const cmg_context *ctx, const cmgi_halves *halves, int stages);
void cmgi_halves_clear(cmgi_halves *halves);
/* Planes of the box; positions of a plane of the fine or the coarse one; entries that a rank has of
 * vectors on them. */
int cmgi_halves_planes(const cmgi_halves *halves);
cmg_size cmgi_halves_plane(const cmgi_halves *halves, bool coarse);
cmg_size cmgi_halves_rows(const cmgi_halves *halves, bool fine);
/* Bytes of a number of vectors on the fine box and of one on the coarse box. */
size_t cmgi_half_bytes(const cmgi_halves *halves, int vectors);

/* In CUDA. */
cmg_status cmgi_half_run_cuda(cmg_context *ctx, const cmgi_half *half);
cmg_size cmgi_half_dots_cuda(const cmgi_halves *halves);
