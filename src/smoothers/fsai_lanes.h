/* A row of FSAI as the lanes have it that share it, WIDTH on the device and one on the host, and
 * what they say to each other (fsai.inc). */
#pragma once
#include "core/lanes.h"
#include "smoothers/fsai.h"

enum outcome { DONE, NO_ROOM, FAILED }; /* FAILED: A is not positive definite */

/* The lanes that share a row. The rows of a warp go through all loops together until none of them
 * has more to do: on their own they would run one after the other. */
#ifdef __cplusplus
#define LANED                                                                                      \
    template <int WIDTH>                                                                           \
    CMGI_BODY
#define ROW fsai_row<WIDTH>
template <int WIDTH>
#else
#define LANED CMGI_BODY
#define ROW fsai_row
typedef struct fsai_row fsai_row;
enum { WIDTH = 1 };
#endif
struct fsai_row {
    const cmgi_fsai_problem *P;
    cmg_size i;
    int lane;
    int room;
    int slots;
    bool active; /* otherwise it waits for the others of the warp */
    enum outcome state;
    double *L;
    double *y;     /* L^-T z */
    double *slope; /* of a slot's column */
    int *key;      /* a slot's column, -1 = free */
    int *J;
    unsigned short *place; /* a slot's column is J[place], or NO_PLACE */
    int length;            /* of J */
    int met;               /* columns in the table */
    double d;              /* a_ii + A(i,J) y */
};

#ifdef __cplusplus
CMGI_BODY void wait_for_lanes()
{
    __syncwarp();
}

/* How many lanes of the row say yes, and how many of them come before this one. */
LANED int lanes_count(const ROW *r, bool yes, int *before)
{
    const unsigned votes =
        __ballot_sync(CMGI_ALL, yes) >> (threadIdx.x % CMGI_WARP / WIDTH * WIDTH) &
        (CMGI_ALL >> (CMGI_WARP - WIDTH));
    *before = __popc(votes & ((1U << r->lane) - 1));
    return __popc(votes);
}

/* What the row's first lane has. */
LANED double from_first(const ROW *r, double x)
{
    (void)r;
    return __shfl_sync(CMGI_ALL, x, 0, WIDTH);
}

/* What the lane has whose number differs in bit d. */
template <typename T>
CMGI_BODY T from_other(T x, int d)
{
    return __shfl_xor_sync(CMGI_ALL, x, d);
}

/* A free slot becomes that of column j; false: another lane was first. */
CMGI_BODY bool take_slot(int *key, cmg_index j)
{
    return atomicCAS(key, -1, (int)j) == -1;
}
#else
#define wait_for_lanes() ((void)0)
#define from_first(r, x) (x)
#define from_other(x, d) (x)

CMGI_BODY int lanes_count(const ROW *r, bool yes, int *before)
{
    (void)r;
    return cmgi_row_count(yes, before);
}

CMGI_BODY bool take_slot(int *key, cmg_index j)
{
    *key = j;
    return true;
}
#endif
