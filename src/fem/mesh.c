/* Meshes: the cell table, creation and labels. */
#include "fem/mesh.h"

#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name, dimension, corners, edges, facets, corners of a facet, children; edges, facets */
/* clang-format off */
static const cmgi_cell_info cell_table[CMGI_CELL_KINDS] = {
    [CMGI_TRI] = {"tri", 2, 3, 3, 3, 2, 4, {{0, 1}, {1, 2}, {2, 0}}, {{0, 1}, {1, 2}, {2, 0}}},
    [CMGI_QUAD] = {"quad", 2, 4, 4, 4, 2, 4, {{0, 1}, {1, 3}, {3, 2}, {2, 0}},
                   {{0, 1}, {1, 3}, {3, 2}, {2, 0}}},
    [CMGI_TET] = {"tet", 3, 4, 6, 4, 3, 8, {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}},
                  {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}},
    [CMGI_HEX] = {"hex", 3, 8, 12, 6, 4, 8,
                  {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5},
                   {2, 6}, {3, 7}},
                  {{0, 2, 1, 3}, {4, 5, 6, 7}, {0, 1, 4, 5}, {2, 6, 3, 7}, {0, 4, 2, 6},
                   {1, 3, 5, 7}}},
};
/* clang-format on */

const cmgi_cell_info *cmgi_cell_table(cmgi_cell cell)
{
    return (unsigned)cell < CMGI_CELL_KINDS ? &cell_table[cell] : NULL;
}

cmg_status cmgi_mesh_create(cmg_context *ctx, cmgi_cell cell, cmg_size nodes, cmg_size cells,
                            cmg_size facets, cmgi_mesh **mesh)
{
    const cmgi_cell_info *info = cmgi_cell_table(cell);
    CMGI_CHECK(ctx, info != NULL, CMG_ERR_ARG, "cell type %d does not exist", (int)cell);
    CMGI_CHECK(ctx, nodes >= 0 && cells >= 0 && facets >= 0, CMG_ERR_ARG,
               "a mesh of %lld nodes, %lld cells and %lld facets", (long long)nodes,
               (long long)cells, (long long)facets);
    CMGI_CHECK(ctx, nodes <= INT32_MAX && cells <= INT32_MAX && facets <= INT32_MAX,
               CMG_ERR_UNSUPPORTED,
               "%lld nodes, %lld cells, %lld facets: one is more than 32-bit numbers reach",
               (long long)nodes, (long long)cells, (long long)facets);
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *m = NULL;
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof *m, &m));
    *m = (cmgi_mesh){.ctx = ctx,
                     .dim = info->dim,
                     .cell = cell,
                     .nodes = nodes,
                     .cells = cells,
                     .facets = facets,
                     .labels = 1,
                     .regions = 1};
    CMGI_TRY(cmgi_alloc(ctx, nodes * info->dim, sizeof *m->x, &m->x));
    CMGI_TRY(cmgi_alloc(ctx, cells * info->corners, sizeof *m->cell_nodes, &m->cell_nodes));
    CMGI_TRY(
        cmgi_alloc(ctx, facets * info->facet_corners, sizeof *m->facet_nodes, &m->facet_nodes));
    CMGI_TRY(cmgi_alloc(ctx, facets, sizeof *m->facet_label, &m->facet_label));
    CMGI_TRY(cmgi_hierarchy_grow(ctx, &m->label, 0, sizeof *m->label));
    CMGI_TRY(cmgi_hierarchy_grow(ctx, &m->region, 0, sizeof *m->region));
    *mesh = cmgi_pass_on(&m);
    return CMG_OK;
}

void cmgi_mesh_destroy(cmgi_mesh **mesh)
{
    if (mesh == NULL || *mesh == NULL) {
        return;
    }
    cmgi_mesh *m = *mesh;
    CMGI_FREE(m->ctx, m->x, m->cell_nodes, m->facet_nodes, m->facet_label, m->label, m->cell_label,
              m->region, m);
    *mesh = NULL;
}

cmg_status cmgi_label_add(cmg_context *ctx, cmg_index tag, const char *name, cmgi_label **list,
                          cmg_index *count)
{
    CMGI_TRY(cmgi_hierarchy_grow(ctx, list, *count, sizeof **list));
    cmgi_label *last = &(*list)[(*count)++];
    last->tag = tag;
    if (name != NULL && name[0] != 0) {
        (void)snprintf(last->name, sizeof last->name, "%s", name);
    } else {
        (void)snprintf(last->name, sizeof last->name, "%d", (int)tag);
    }
    return CMG_OK;
}

cmg_index cmgi_label_find(const cmgi_label *list, cmg_index count, const char *text)
{
    for (cmg_index i = 1; i < count; ++i) {
        if (strcmp(list[i].name, text) == 0) {
            return i;
        }
    }
    char *end = NULL;
    const long tag = strtol(text, &end, 10);
    for (cmg_index i = 1; i < count && end != text && *end == 0; ++i) {
        if (list[i].tag == tag) {
            return i;
        }
    }
    return -1;
}

static void count_labels(cmgi_label *list, cmg_index labels, cmg_size n, const cmg_index *of)
{
    for (cmg_index i = 0; i < labels; ++i) {
        list[i].count = 0;
    }
    for (cmg_size k = 0; k < n; ++k) {
        ++list[of != NULL ? of[k] : 0].count;
    }
}

void cmgi_mesh_count_labels(cmgi_mesh *mesh)
{
    count_labels(mesh->label, mesh->labels, mesh->facets, mesh->facet_label);
    count_labels(mesh->region, mesh->regions, mesh->cells, mesh->cell_label);
}
