/* Boundary facets: the sides that belong to one cell alone. */
#include "core/memory.h"
#include "fem/mesh_sides.h"

#include <stdlib.h>
#include <string.h>

/* A facet as a file gave it. */
typedef struct given {
    cmg_index node[4]; /* lowest, then the key */
    cmg_index label;
    cmg_index order; /* where it stood, the earlier one of two wins */
} given;

static int compare_given(const void *a, const void *b)
{
    const given *f = a;
    const given *g = b;
    for (int i = 0; i < 4; ++i) {
        if (f->node[i] != g->node[i]) {
            return f->node[i] < g->node[i] ? -1 : 1;
        }
    }
    return (f->order > g->order) - (f->order < g->order);
}

static void collect_given(const cmgi_mesh *mesh, given *facet)
{
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        facet[f].node[0] =
            cmgi_side_key(corners, mesh->facet_nodes + f * corners, facet[f].node + 1);
        facet[f].label = mesh->facet_label[f];
        facet[f].order = (cmg_index)f;
    }
    qsort(facet, (size_t)mesh->facets, sizeof *facet, compare_given);
}

/* First given facet with these nodes, -1 = none. */
static cmg_size find_given(const given *facet, cmg_size count, const cmg_index node[4])
{
    given wanted = {.order = -1};
    memcpy(wanted.node, node, sizeof wanted.node);
    cmg_size lo = 0;
    cmg_size hi = count;
    while (lo < hi) {
        const cmg_size mid = lo + (hi - lo) / 2;
        if (compare_given(&facet[mid], &wanted) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < count && memcmp(facet[lo].node, node, sizeof wanted.node) == 0 ? lo : -1;
}

/* single[cell * facets + local] = 1 for sides of one cell; *crowded is the first node with a side
 * of more than two cells, or the number of nodes. */
static void mark_single(const cmgi_side_lists *lists, unsigned char *single, cmg_size *crowded)
{
    const cmg_size nodes = lists->mesh->nodes;
    const int facets = cmgi_cell_table(lists->mesh->cell)->facets;
    cmg_size worst = nodes;
#pragma omp parallel for num_threads(lists->threads) schedule(static) reduction(min : worst)
    for (cmg_size v = 0; v < nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, v, side);
        for (cmg_size k = 0; k < count;) {
            const cmg_size same = cmgi_sides_equal(side, count, k);
            if (same == 1) {
                single[(cmg_size)side[k].cell * facets + side[k].local] = 1;
            } else if (same > 2 && v < worst) {
                worst = v;
            }
            k += same;
        }
    }
    *crowded = worst;
}

static cmg_status report_crowded(const cmgi_side_lists *lists, cmg_size v)
{
    cmgi_side *side = lists->scratch;
    const cmg_size count = cmgi_sides_of_node(lists, v, side);
    cmg_size k = 0;
    while (cmgi_sides_equal(side, count, k) <= 2) {
        k += cmgi_sides_equal(side, count, k);
    }
    return cmgi_fail(lists->mesh->ctx, CMG_ERR_SHAPE,
                     "side %d of cell %d is shared by %lld cells, cells %d and %d among them",
                     side[k].local, (int)side[k].cell, (long long)cmgi_sides_equal(side, count, k),
                     (int)side[k + 1].cell, (int)side[k + 2].cell);
}

/* Fills the new facet arrays; returns how many given facets were met. */
static cmg_size fill_facets(const cmgi_mesh *mesh, const unsigned char *single, const given *facet,
                            cmg_index *facet_nodes, cmg_index *facet_label)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmg_size count = 0;
    cmg_size met = 0;
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        for (int f = 0; f < info->facets; ++f) {
            if (!single[c * info->facets + f]) {
                continue;
            }
            cmg_index nodes[4];
            cmg_index key[4];
            cmgi_side_nodes(mesh, (cmg_index)c, f, nodes);
            memcpy(facet_nodes + count * info->facet_corners, nodes,
                   (size_t)info->facet_corners * sizeof *nodes);
            key[0] = cmgi_side_key(info->facet_corners, nodes, key + 1);
            cmg_size at = find_given(facet, mesh->facets, key);
            facet_label[count] = at >= 0 ? facet[at].label : 0;
            for (; at >= 0 && at < mesh->facets && memcmp(facet[at].node, key, sizeof key) == 0;
                 ++at) {
                ++met;
            }
            ++count;
        }
    }
    return met;
}

static cmg_status replace_facets(cmgi_mesh *mesh, const unsigned char *single, cmg_size *dropped)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmg_context *ctx = mesh->ctx;
    cmg_size count = 0;
    for (cmg_size k = 0; k < mesh->cells * info->facets; ++k) {
        count += single[k];
    }
    given *facet = NULL;
    cmg_index *nodes = NULL;
    cmg_index *label = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, mesh->facets, sizeof *facet, &facet));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, count * info->facet_corners, sizeof *nodes, &nodes));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, count, sizeof *label, &label));
    collect_given(mesh, facet);
    const cmg_size met = fill_facets(mesh, single, facet, nodes, label);
    if (dropped != NULL) {
        *dropped = mesh->facets - met;
    }
    cmgi_free(ctx, mesh->facet_nodes);
    cmgi_free(ctx, mesh->facet_label);
    mesh->facets = count;
    mesh->facet_nodes = nodes;
    mesh->facet_label = label;
    nodes = NULL;
    label = NULL;
    cmgi_mesh_count_labels(mesh);
done:
    cmgi_free(ctx, label);
    cmgi_free(ctx, nodes);
    cmgi_free(ctx, facet);
    return status;
}

cmg_status cmgi_mesh_find_facets(cmgi_mesh *mesh, cmg_size *dropped)
{
    const int facets = cmgi_cell_table(mesh->cell)->facets;
    cmgi_side_lists lists = {0};
    unsigned char *single = NULL;
    cmg_size crowded = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_side_lists_create(mesh, &lists));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(mesh->ctx, mesh->cells * facets, 1, &single));
    mark_single(&lists, single, &crowded);
    if (crowded < mesh->nodes) {
        status = report_crowded(&lists, crowded);
        goto done;
    }
    cmgi_side_lists_free(&lists);
    CMGI_TRY_GOTO(done, replace_facets(mesh, single, dropped));
done:
    cmgi_free(mesh->ctx, single);
    cmgi_side_lists_free(&lists);
    return status;
}
