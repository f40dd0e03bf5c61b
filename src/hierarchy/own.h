/*
 * A hierarchy of which this process holds a range of the rows of every level: one of several parts
 * that together are the whole. Its vectors have the entries of those rows.
 */
#pragma once
#include "csr/own_rows.h"
#include "hierarchy/hierarchy.h"

typedef struct cmgi_own_level {
    cmgi_own_rows A; /* indptr NULL = not given */
    cmgi_own_rows P;
    cmgi_own_rows R;
} cmgi_own_level;

struct cmgi_own {
    cmgi_own_level level[CMGI_HIERARCHY_LEVELS];
    cmgi_stored_mesh *mesh; /* its share of the nodes and cells, NULL = none */
};

/* Which part of how many. */
typedef struct cmgi_share {
    int part;
    int parts;
} cmgi_share;

/* First rows of the parts that a level is divided into, and the rows of the level after them. */
typedef struct cmgi_partition {
    cmg_size count; /* one more than parts */
    double *first;  /* NULL = none is given */
} cmgi_partition;

/* So many rows, from number `first` on. */
typedef struct cmgi_range {
    cmg_size first;
    cmg_size rows;
} cmgi_range;

/* Where part k of n rows begins when they are divided evenly. */
static inline cmg_size cmgi_even(cmg_size n, int parts, int k)
{
    return n / parts * k + n % parts * k / parts;
}
/* The rows of a level that are here. */
cmgi_range cmgi_range_of(const cmg_hierarchy *h, int level);
/* The rows of a part: as the partition says where it has as many parts, else evenly. CMG_ERR_ARG
 * where it does not divide them. */
cmg_status cmgi_share_range(cmg_context *ctx, int level, cmg_size rows, const cmgi_share *share,
                            const cmgi_partition *partition, cmgi_range *range);

void cmgi_own_destroy(cmg_context *ctx, cmgi_own **own);
/* CMG_ERR_ARG unless a level may have rows of that role. */
cmg_status cmgi_own_place(const cmg_hierarchy *h, int level, cmg_role role);
/* Gives a level rows of this part; the arrays are taken over, or freed, and *rows is cleared. */
cmg_status cmgi_hierarchy_take_own(cmg_hierarchy *h, int level, cmg_role role, cmgi_own_rows *rows);
/* The same with the share of the mesh. */
cmg_status cmgi_hierarchy_take_mesh_part(cmg_hierarchy *h, cmgi_stored_mesh **mesh);
/* Rows of a role, on a level that has its part of them. */
static inline const cmgi_own_rows *cmgi_own_find(const cmgi_own *own, int level, cmg_role role)
{
    const cmgi_own_level *of = &own->level[level];
    return role == CMG_ROLE_A ? &of->A : role == CMG_ROLE_P ? &of->P : &of->R;
}
