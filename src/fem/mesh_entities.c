/* Numbers of edges and faces, sorted by their nodes. */
#include "core/memory.h"
#include "core/search.h"
#include "fem/mesh_sides.h"

#include <string.h>

/* Numbers the entities into of_cell and stores their nodes; counts those whose lowest node is v
 * into start[v + 1] while there is no room for them. */
static void walk_entities(const cmgi_side_lists *lists, bool edges, cmgi_entity_list *list)
{
    const bool counts = list->nodes == NULL;
#pragma omp parallel for num_threads(lists->threads) schedule(static)
    for (cmg_size v = 0; v < lists->mesh->nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, edges, v, side);
        cmg_size number = counts ? 0 : list->start[v];
        for (cmg_size k = 0, last = 0; k < count; k = last, ++number) {
            cmg_index corner[4] = {(cmg_index)v, side[k].key[0], -1, -1};
            last = k + cmgi_sides_equal(side, count, k);
            if (counts) {
                continue;
            }
            if (!edges) {
                cmgi_side_nodes(lists->mesh, side[k].cell, side[k].local, corner);
            }
            memcpy(list->nodes + number * list->corners, corner,
                   (size_t)list->corners * sizeof *corner);
            for (cmg_size e = k; e < last; ++e) {
                const cmg_size at = (cmg_size)side[e].cell * list->per_cell + side[e].local;
                list->of_cell[at] = (cmg_index)number;
            }
        }
        if (counts) {
            list->start[v + 1] = number;
        }
    }
}

static cmg_status build(const cmgi_side_lists *lists, bool edges, cmgi_entity_list *list)
{
    const cmgi_mesh *mesh = lists->mesh;
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    list->corners = edges ? 2 : info->facet_corners;
    list->per_cell = edges ? info->edges : info->facets;
    CMGI_TRY(cmgi_alloc(mesh->ctx, mesh->nodes + 1, sizeof *list->start, &list->start));
    list->start[0] = 0;
    walk_entities(lists, edges, list);
    cmgi_add_up(list->start, mesh->nodes);
    list->count = list->start[mesh->nodes];
    CMGI_CHECK(mesh->ctx, list->count <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%lld edges or faces are more than 32-bit numbers reach", (long long)list->count);
    CMGI_TRY(cmgi_alloc(mesh->ctx, list->count * list->corners, sizeof *list->nodes, &list->nodes));
    CMGI_TRY(
        cmgi_alloc(mesh->ctx, mesh->cells * list->per_cell, sizeof *list->of_cell, &list->of_cell));
    walk_entities(lists, edges, list);
    return CMG_OK;
}

cmg_status cmgi_mesh_entities(const cmgi_mesh *mesh, bool faces, cmgi_entities *e)
{
    cmgi_scoped_by(cmgi_side_lists_free) cmgi_side_lists lists = {0};
    *e = (cmgi_entities){.ctx = mesh->ctx};
    CMGI_TRY(cmgi_side_lists_create(mesh, &lists));
    CMGI_TRY(build(&lists, true, &e->edge));
    return faces && mesh->dim == 3 ? build(&lists, false, &e->face) : CMG_OK;
}

void cmgi_entities_free(cmgi_entities *e)
{
    CMGI_FREE(e->ctx, e->edge.nodes, e->edge.start, e->edge.of_cell, e->face.nodes, e->face.start,
              e->face.of_cell);
}

cmg_index cmgi_entity_find(const cmgi_entity_list *list, const cmg_index *nodes)
{
    cmg_index wanted[3];
    const cmg_index low = cmgi_side_key(list->corners, nodes, wanted);
    for (cmg_size k = list->start[low]; k < list->start[low + 1]; ++k) {
        cmg_index key[3];
        (void)cmgi_side_key(list->corners, list->nodes + k * list->corners, key);
        if (memcmp(key, wanted, sizeof key) == 0) {
            return (cmg_index)k;
        }
    }
    return -1;
}

int cmgi_refined_cell(const cmgi_mesh *coarse, const cmgi_entities *e, cmg_size cell,
                      cmg_index on[CMGI_MAX_REFINED])
{
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const int faces = e->face.count > 0 ? info->facets : 0;
    const cmg_size first_face = coarse->nodes + e->edge.count;
    int count = info->corners;
    memcpy(on, coarse->cell_nodes + cell * info->corners, (size_t)info->corners * sizeof *on);
    for (int k = 0; k < info->edges; ++k) {
        on[count++] = (cmg_index)(coarse->nodes + e->edge.of_cell[cell * info->edges + k]);
    }
    for (int k = 0; k < faces; ++k) {
        on[count++] = (cmg_index)(first_face + e->face.of_cell[cell * faces + k]);
    }
    if (!cmgi_cell_simplex(coarse->cell)) {
        on[count++] = (cmg_index)(first_face + e->face.count + cell);
    }
    return count;
}

int cmgi_refined_side(const cmgi_mesh *coarse, const cmgi_entities *e, const cmg_index *node,
                      cmg_index on[9])
{
    const int corners = cmgi_cell_table(coarse->cell)->facet_corners;
    const cmgi_cell_info *side = cmgi_cell_table(corners == 4 ? CMGI_QUAD : CMGI_TRI);
    int count = corners;
    memcpy(on, node, (size_t)corners * sizeof *on);
    for (int k = 0; k < (corners == 2 ? 1 : corners); ++k) {
        const cmg_index ends[2] = {node[side->edge[k][0]], node[side->edge[k][1]]};
        on[count++] = (cmg_index)(coarse->nodes + cmgi_entity_find(&e->edge, ends));
    }
    if (corners == 4) {
        on[count++] = (cmg_index)(coarse->nodes + e->edge.count + cmgi_entity_find(&e->face, node));
    }
    return count;
}
