/* Numbers of edges and faces, sorted by their nodes. */
#include "core/memory.h"
#include "core/search.h"
#include "fem/mesh_sides.h"

#include <string.h>

/* start[v] .. start[v+1]-1 will be the entities whose lowest node is v. */
static cmg_size count_entities(const cmgi_side_lists *lists, bool edges, cmg_size *start)
{
    const cmg_size nodes = lists->mesh->nodes;
    start[0] = 0;
#pragma omp parallel for num_threads(lists->threads) schedule(static)
    for (cmg_size v = 0; v < nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, edges, v, side);
        cmg_size distinct = 0;
        for (cmg_size k = 0; k < count; k += cmgi_sides_equal(side, count, k)) {
            ++distinct;
        }
        start[v + 1] = distinct;
    }
    cmgi_add_up(start, nodes);
    return start[nodes];
}

/* Numbers the entities into of_cell (cells x per_cell) and stores their nodes. */
static void number_entities(const cmgi_side_lists *lists, bool edges, const cmg_size *start,
                            cmg_index *nodes, cmg_index *of_cell)
{
    const cmgi_cell_info *info = cmgi_cell_table(lists->mesh->cell);
    const int per_cell = edges ? info->edges : info->facets;
    const int corners = edges ? 2 : info->facet_corners;
#pragma omp parallel for num_threads(lists->threads) schedule(static)
    for (cmg_size v = 0; v < lists->mesh->nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, edges, v, side);
        cmg_size number = start[v];
        for (cmg_size k = 0; k < count; ++number) {
            cmg_index corner[4] = {(cmg_index)v, side[k].key[0], -1, -1};
            if (!edges) {
                cmgi_side_nodes(lists->mesh, side[k].cell, side[k].local, corner);
            }
            memcpy(nodes + number * corners, corner, (size_t)corners * sizeof *corner);
            const cmg_size last = k + cmgi_sides_equal(side, count, k);
            for (; k < last; ++k) {
                of_cell[(cmg_size)side[k].cell * per_cell + side[k].local] = (cmg_index)number;
            }
        }
    }
}

static cmg_status build(const cmgi_side_lists *lists, bool edges, cmgi_entities *e)
{
    const cmgi_mesh *mesh = lists->mesh;
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    const int corners = edges ? 2 : info->facet_corners;
    cmg_size **start = edges ? &e->edge_start : &e->face_start;
    cmg_index **nodes = edges ? &e->edge_nodes : &e->face_nodes;
    cmg_index **of_cell = edges ? &e->cell_edges : &e->cell_faces;
    CMGI_TRY(cmgi_alloc(e->ctx, mesh->nodes + 1, sizeof **start, start));
    const cmg_size count = count_entities(lists, edges, *start);
    CMGI_CHECK(e->ctx, count <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%lld edges or faces are more than 32-bit numbers reach", (long long)count);
    *(edges ? &e->edges : &e->faces) = count;
    CMGI_TRY(cmgi_alloc(e->ctx, count * corners, sizeof **nodes, nodes));
    CMGI_TRY(cmgi_alloc(e->ctx, mesh->cells * (edges ? info->edges : info->facets),
                        sizeof **of_cell, of_cell));
    number_entities(lists, edges, *start, *nodes, *of_cell);
    return CMG_OK;
}

cmg_status cmgi_mesh_entities(const cmgi_mesh *mesh, bool faces, cmgi_entities **entities)
{
    cmgi_entities *e = NULL;
    cmgi_side_lists lists = {0};
    CMGI_TRY(cmgi_alloc_zero(mesh->ctx, 1, sizeof *e, &e));
    e->ctx = mesh->ctx;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_side_lists_create(mesh, &lists));
    CMGI_TRY_GOTO(done, build(&lists, true, e));
    if (faces && mesh->dim == 3) {
        CMGI_TRY_GOTO(done, build(&lists, false, e));
    }
    *entities = e;
    e = NULL;
done:
    cmgi_side_lists_free(&lists);
    cmgi_entities_destroy(&e);
    return status;
}

void cmgi_entities_destroy(cmgi_entities **entities)
{
    if (entities == NULL || *entities == NULL) {
        return;
    }
    cmgi_entities *e = *entities;
    CMGI_FREE(e->ctx, e->edge_nodes, e->edge_start, e->cell_edges, e->face_nodes, e->face_start,
              e->cell_faces, e);
    *entities = NULL;
}

cmg_index cmgi_entities_edge(const cmgi_entities *e, cmg_index a, cmg_index b)
{
    const cmg_index low = a < b ? a : b;
    const cmg_index high = a < b ? b : a;
    for (cmg_size k = e->edge_start[low]; k < e->edge_start[low + 1]; ++k) {
        if (e->edge_nodes[2 * k + 1] == high) {
            return (cmg_index)k;
        }
    }
    return -1;
}

cmg_index cmgi_entities_face(const cmgi_entities *e, int corners, const cmg_index *nodes)
{
    cmg_index wanted[3];
    const cmg_index low = cmgi_side_key(corners, nodes, wanted);
    for (cmg_size k = e->face_start[low]; k < e->face_start[low + 1]; ++k) {
        cmg_index key[3];
        (void)cmgi_side_key(corners, e->face_nodes + k * corners, key);
        if (memcmp(key, wanted, sizeof key) == 0) {
            return (cmg_index)k;
        }
    }
    return -1;
}
