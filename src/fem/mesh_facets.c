/* Boundary facets: the sides that belong to one cell alone. */
#include "core/memory.h"
#include "fem/mesh_sides.h"

/* Neighbours of the lowest node on the way round the side; both are the other node for an edge. */
static void around(const cmgi_mesh *mesh, const cmgi_side *s, cmg_index next_previous[2])
{
    static const int ring4[4] = {0, 1, 3, 2}; /* tensor order to the way round */
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    cmg_index nodes[4];
    cmg_index ring[4] = {0};
    cmgi_side_nodes(mesh, s->cell, s->local, nodes);
    int low = 0;
    for (int i = 0; i < corners; ++i) {
        ring[i] = nodes[corners == 4 ? ring4[i] : i];
        low = ring[i] < ring[low] ? i : low;
    }
    next_previous[0] = ring[(low + 1) % corners];
    next_previous[1] = ring[(low + corners - 1) % corners];
    if (corners == 2) { /* the direction is which end is the lower one */
        next_previous[low] = -1;
    }
}

/* Two cells see a common side from different sides: each runs through it the other way round. */
static bool sides_oppose(const cmgi_mesh *mesh, const cmgi_side *a, const cmgi_side *b)
{
    cmg_index p[2];
    cmg_index q[2];
    around(mesh, a, p);
    around(mesh, b, q);
    return p[0] == q[1] && p[1] == q[0];
}

/* Names the first side at node v that more than two cells have, or that is folded. */
static cmg_status report_side(const cmgi_side_lists *lists, cmg_size v, bool fold,
                              cmg_size *fault_cell)
{
    cmg_context *ctx = lists->mesh->ctx;
    const cmgi_side *side = lists->scratch;
    const cmg_size count = cmgi_sides_of_node(lists, false, v, lists->scratch);
    cmg_size same = 0;
    for (cmg_size k = 0; k < count; k += same) {
        same = cmgi_sides_equal(side, count, k);
        *fault_cell = side[k].cell;
        CMGI_CHECK(ctx, fold || same <= 2, CMG_ERR_SHAPE,
                   "side %d of cell %d is shared by %lld cells, cells %d and %d among them",
                   side[k].local, (int)side[k].cell, (long long)same, (int)side[k + 1].cell,
                   (int)side[k + 2].cell);
        CMGI_CHECK(ctx, same != 2 || sides_oppose(lists->mesh, &side[k], &side[k + 1]),
                   CMG_ERR_SHAPE,
                   "cells %d and %d overlap: they lie on one side of their common side",
                   (int)side[k].cell, (int)side[k + 1].cell);
    }
    return CMG_OK;
}

cmg_status cmgi_sides_match(const cmgi_side_lists *lists, unsigned char *single,
                            cmgi_mesh_report *report)
{
    const cmg_size nodes = lists->mesh->nodes;
    const int facets = cmgi_cell_table(lists->mesh->cell)->facets;
    cmg_size crowded = nodes; /* first node with a side of more than two cells */
    cmg_size folded = nodes;  /* ... with one whose two cells lie on one side of it */
    cmg_size folds = 0;       /* how many such sides */
    cmg_size fault_cell = -1;
    cmg_status status = CMG_OK;
#pragma omp parallel for num_threads(lists->threads) schedule(static)                              \
    reduction(min : crowded, folded) reduction(+ : folds)
    for (cmg_size v = 0; v < nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, false, v, side);
        cmg_size same = 0;
        for (cmg_size k = 0; k < count; k += same) {
            same = cmgi_sides_equal(side, count, k);
            if (same == 1) {
                single[(cmg_size)side[k].cell * facets + side[k].local] = 1;
            } else if (same > 2) {
                crowded = v < crowded ? v : crowded;
            } else if (!sides_oppose(lists->mesh, &side[k], &side[k + 1])) {
                folded = v < folded ? v : folded;
                ++folds;
            }
        }
    }
    if (crowded < nodes) {
        status = report_side(lists, crowded, false, &fault_cell);
    } else if (report != NULL && folded < nodes) {
        status = report_side(lists, folded, true, &fault_cell);
    }
    if (report != NULL) {
        report->folded = folds;
        report->fault_cell = fault_cell;
    }
    return status;
}

static cmg_status replace_facets(cmgi_mesh *mesh, const unsigned char *single,
                                 const cmg_index *side_label)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    const cmg_size sides = mesh->cells * info->facets;
    cmg_size count = 0;
    for (cmg_size k = 0; k < sides; ++k) {
        count += single[k];
    }
    cmg_index *label = NULL;
    CMGI_SCOPED(mesh->ctx, count * info->facet_corners, cmg_index, made);
    CMGI_TRY(cmgi_alloc(mesh->ctx, count, sizeof *label, &label));
    CMGI_FREE(mesh->ctx, mesh->facet_nodes, mesh->facet_label);
    mesh->facets = count;
    cmg_index *nodes = mesh->facet_nodes = cmgi_pass_on(&made);
    mesh->facet_label = label;
    for (cmg_size k = 0; k < sides; ++k) {
        if (single[k]) {
            cmgi_side_nodes(mesh, (cmg_index)(k / info->facets), (int)(k % info->facets), nodes);
            nodes += info->facet_corners;
            *label++ = side_label[k];
        }
    }
    cmgi_mesh_count_labels(mesh);
    return CMG_OK;
}

cmg_status cmgi_mesh_find_facets(cmgi_mesh *mesh, cmg_size *dropped)
{
    const int facets = cmgi_cell_table(mesh->cell)->facets;
    const cmg_size sides = mesh->cells * facets;
    cmgi_scoped_by(cmgi_side_lists_free) cmgi_side_lists lists = {0};
    CMGI_TRY(cmgi_side_lists_create(mesh, &lists));
    CMGI_SCOPED_ZERO(mesh->ctx, sides, unsigned char, single);
    CMGI_SCOPED_ZERO(mesh->ctx, sides, cmg_index, label);
    CMGI_TRY(cmgi_sides_match(&lists, single, NULL));
    cmg_size met = 0;                                  /* given facets that are single sides */
    for (cmg_size f = mesh->facets - 1; f >= 0; --f) { /* the first of two wins */
        const cmgi_side *side = cmgi_side_of_facet(&lists, f);
        const cmg_size at = side != NULL ? (cmg_size)side->cell * facets + side->local : -1;
        if (at >= 0 && single[at]) {
            label[at] = mesh->facet_label[f];
            ++met;
        }
    }
    if (dropped != NULL) {
        *dropped = mesh->facets - met;
    }
    return replace_facets(mesh, single, label);
}
