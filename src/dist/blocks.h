/* A hierarchy over several ranks as it is given: own rows of A, P and R, level by level. */
#pragma once
#include "dist/rows.h"
#include "hierarchy/hierarchy.h"

typedef struct cmgi_block_level {
    cmgi_own_rows A; /* indptr NULL = not given */
    cmgi_own_rows P;
    cmgi_own_rows R;
} cmgi_block_level;

typedef struct cmgi_blocks {
    cmgi_blocks_head head;
    cmgi_block_level level[CMGI_HIERARCHY_LEVELS];
    cmgi_stored_mesh *mesh; /* this rank's share of the nodes and cells, NULL = none */
} cmgi_blocks;

/* Gives a level rows of a rank; the arrays are taken over, or freed, and *rows is cleared. */
cmg_status cmgi_hierarchy_take_own(cmg_hierarchy *h, int level, cmg_role role, cmgi_own_rows *rows);
/* The same with the share of the mesh. */
cmg_status cmgi_hierarchy_take_mesh_part(cmg_hierarchy *h, cmgi_stored_mesh **mesh);
/* NULL where this rank has all rows. */
static inline const cmgi_blocks *cmgi_blocks_of(const cmg_hierarchy *h)
{
    return (const cmgi_blocks *)h->blocks;
}
