/*
 * Points of a lattice, which the rows of a matrix are: row i is x + n[0] (y + n[1] z). A halving
 * leaves every second one in some directions.
 */
#pragma once
#include "core/inline.h"

#include "cmg_types.h"

#include <stdbool.h>

typedef struct cmgi_points {
    int dim; /* 0: there is none */
    cmg_index n[3];
    cmg_index step[3]; /* from a row to its next one in that direction */
} cmgi_points;

typedef struct cmgi_halving {
    cmgi_points fine;
    cmgi_points coarse;
    bool halved[3];
    cmg_index first[3]; /* the first coarse point where halved, else 0 */
    bool linear;        /* P is, as A is of one row that is cut off and mirrors itself */
} cmgi_halving;

/* Fewer points in a direction are not halved: steps in several would be the same offset. */
enum { CMGI_LEAST_POINTS = 3, CMGI_CORNERS = 8 };

static inline cmg_size cmgi_points_rows(const cmgi_points *p)
{
    return (cmg_size)p->step[2] * p->n[2];
}

/* Steps between the lines and planes of p->n points. */
static inline void cmgi_points_order(cmgi_points *p)
{
    p->step[0] = 1;
    p->step[1] = p->n[0];
    p->step[2] = p->n[0] * p->n[1];
}

/* Every second one of n points from `first` on. */
static inline cmg_index cmgi_points_half(cmg_index n, cmg_index first)
{
    return (n - 1 - first) / 2 + 1;
}

static inline cmgi_halving cmgi_points_halve(const cmgi_points *fine, const bool halved[3],
                                             const cmg_index first[3])
{
    cmgi_halving by;
    by.fine = *fine;
    by.coarse = *fine;
    by.linear = false;
    for (int d = 0; d < 3; ++d) {
        by.halved[d] = halved[d];
        by.first[d] = first[d];
        by.coarse.n[d] = halved[d] ? cmgi_points_half(fine->n[d], first[d]) : fine->n[d];
    }
    cmgi_points_order(&by.coarse);
    return by;
}

/* The offset of steps in each direction. */
CMGI_INLINE cmg_index cmgi_points_offset(const cmgi_points *p, const int e[3])
{
    return e[0] * p->step[0] + e[1] * p->step[1] + e[2] * p->step[2];
}

/* The steps in each direction that an offset between columns of a row is; false: no neighbour. */
CMGI_INLINE bool cmgi_points_steps(const cmgi_points *p, cmg_index offset, int e[3])
{
    for (int d = 2; d >= 0; --d) {
        const cmg_index step = p->step[d];
        e[d] = 2 * (cmg_size)offset > step ? 1 : 2 * (cmg_size)offset < -step ? -1 : 0;
        e[d] = d >= p->dim ? 0 : e[d];
        offset -= e[d] * step;
    }
    return offset == 0;
}

CMGI_INLINE void cmgi_points_place(const cmgi_points *p, cmg_size i, cmg_index at[3])
{
    const cmg_index row = (cmg_index)i;
    at[0] = row % p->n[0];
    at[1] = row / p->n[0] % p->n[1];
    at[2] = row / p->n[0] / p->n[1];
}

/* The coarse points around a point, ascending. */
CMGI_INLINE int cmgi_halving_corners(const cmgi_halving *by, const cmg_index at[3],
                                     cmg_index column[CMGI_CORNERS])
{
    const cmgi_points *coarse = &by->coarse;
    cmg_index low[3];
    cmg_index high[3];
    int count = 0;
    for (int d = 0; d < 3; ++d) {
        const cmg_index from = at[d] - by->first[d];
        low[d] = !by->halved[d] ? at[d] : from > 0 ? from / 2 : 0;
        high[d] = !by->halved[d] ? at[d] : (from + 1) / 2;
        high[d] = high[d] < coarse->n[d] ? high[d] : coarse->n[d] - 1;
    }
    for (cmg_index z = low[2]; z <= high[2]; ++z) {
        for (cmg_index y = low[1]; y <= high[1]; ++y) {
            for (cmg_index x = low[0]; x <= high[0]; ++x) {
                column[count++] = x + coarse->n[0] * (y + coarse->n[1] * z);
            }
        }
    }
    return count;
}
