/*
 * Sides of cells by node. Every side is listed at its lowest node; the list of a node is short, so
 * sorting it finds equal sides in parallel over the nodes, the same for any number of threads.
 */
#include "fem/mesh_sides.h"

#include "core/memory.h"
#include "core/search.h"

#include <stdlib.h>
#include <string.h>

cmg_status cmgi_cells_of_nodes(cmg_context *ctx, const cmgi_incidence *in, cmg_size **start,
                               cmg_index **list)
{
    const cmg_size n = in->nodes;
    const cmg_size entries = in->cells * in->per_cell;
    CMGI_TRY(cmgi_alloc_zero(ctx, n + 2, sizeof **start, start));
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof **list, list));
    /* counts go to s[v + 2], so that filling through s[v + 1] leaves the starts in s[v] */
    cmg_size *s = *start;
    for (cmg_size k = 0; k < entries; ++k) {
        ++s[in->cell_nodes[k] + 2];
    }
    cmgi_add_up(s + 1, n);
    for (cmg_size k = 0; k < entries; ++k) {
        (*list)[s[in->cell_nodes[k] + 1]++] = (cmg_index)(k / in->per_cell);
    }
    return CMG_OK;
}

cmg_status cmgi_side_lists_create(const cmgi_mesh *mesh, cmgi_side_lists *s)
{
    const cmg_size team = mesh->cells / 4096 + 1; /* threads worth starting */
    const cmgi_incidence in = {mesh->nodes, mesh->cells, cmgi_cell_table(mesh->cell)->corners,
                               mesh->cell_nodes};
    *s = (cmgi_side_lists){.mesh = mesh, .threads = mesh->ctx->threads, .capacity = 1};
    s->threads = team < s->threads ? (int)team : s->threads;
    CMGI_TRY(cmgi_cells_of_nodes(mesh->ctx, &in, &s->start, &s->list));
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        /* dim sides (edges) of a cell meet at its corner; 3 at a tet's as well */
        const cmg_size sides = 3 * (s->start[v + 1] - s->start[v]);
        s->capacity = sides > s->capacity ? sides : s->capacity;
    }
    return cmgi_alloc(mesh->ctx, s->threads * s->capacity, sizeof *s->scratch, &s->scratch);
}

void cmgi_side_lists_free(cmgi_side_lists *lists)
{
    if (lists->mesh == NULL) {
        return;
    }
    CMGI_FREE(lists->mesh->ctx, lists->start, lists->list, lists->scratch);
    memset(lists, 0, sizeof *lists);
}

cmg_index cmgi_side_key(int corners, const cmg_index *nodes, cmg_index key[3])
{
    cmg_index sorted[4] = {-1, -1, -1, -1};
    for (int i = 0; i < corners; ++i) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > nodes[i]; --k) {
            sorted[k] = sorted[k - 1];
        }
        sorted[k] = nodes[i];
    }
    for (int i = 0; i < 3; ++i) {
        key[i] = i + 1 < corners ? sorted[i + 1] : -1;
    }
    return sorted[0];
}

static int compare_sides(const void *a, const void *b)
{
    const cmgi_side *s = a;
    const cmgi_side *t = b;
    for (int i = 0; i < 3; ++i) {
        if (s->key[i] != t->key[i]) {
            return s->key[i] < t->key[i] ? -1 : 1;
        }
    }
    if (s->cell != t->cell) {
        return s->cell < t->cell ? -1 : 1;
    }
    return (s->local > t->local) - (s->local < t->local);
}

void cmgi_side_nodes(const cmgi_mesh *mesh, cmg_index cell, int local, cmg_index nodes[4])
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    const cmg_index *corner = mesh->cell_nodes + (cmg_size)cell * info->corners;
    for (int i = 0; i < info->facet_corners; ++i) {
        nodes[i] = corner[info->facet[local][i]];
    }
}

cmg_size cmgi_sides_of_node(const cmgi_side_lists *lists, bool edges, cmg_size v, cmgi_side *side)
{
    const cmgi_cell_info *info = cmgi_cell_table(lists->mesh->cell);
    const int corners = edges ? 2 : info->facet_corners;
    cmg_size count = 0;
    for (cmg_size k = lists->start[v]; k < lists->start[v + 1]; ++k) {
        const cmg_index cell = lists->list[k];
        const cmg_index *corner = lists->mesh->cell_nodes + (cmg_size)cell * info->corners;
        for (int f = 0; f < (edges ? info->edges : info->facets); ++f) {
            const int *at = edges ? info->edge[f] : info->facet[f];
            cmg_index nodes[4];
            bool has = false; /* v, as the lowest */
            bool lower = false;
            for (int i = 0; i < corners; ++i) {
                nodes[i] = corner[at[i]];
                has = has || nodes[i] == v;
                lower = lower || nodes[i] < v;
            }
            if (has && !lower) {
                cmgi_side s = {.cell = cell, .local = f};
                (void)cmgi_side_key(corners, nodes, s.key);
                side[count++] = s;
            }
        }
    }
    if (count > 48) { /* a hub of very many cells */
        qsort(side, (size_t)count, sizeof *side, compare_sides);
        return count;
    }
    for (cmg_size i = 1; i < count; ++i) {
        const cmgi_side s = side[i];
        cmg_size k = i;
        for (; k > 0 && compare_sides(&side[k - 1], &s) > 0; --k) {
            side[k] = side[k - 1];
        }
        side[k] = s;
    }
    return count;
}

cmg_size cmgi_sides_equal(const cmgi_side *side, cmg_size count, cmg_size first)
{
    cmg_size last = first + 1;
    while (last < count && memcmp(side[last].key, side[first].key, sizeof side->key) == 0) {
        ++last;
    }
    return last - first;
}

const cmgi_side *cmgi_side_of_facet(const cmgi_side_lists *lists, cmg_size facet)
{
    const cmgi_mesh *mesh = lists->mesh;
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    cmg_index key[3];
    const cmg_index low = cmgi_side_key(corners, mesh->facet_nodes + facet * corners, key);
    const cmg_size count = cmgi_sides_of_node(lists, false, low, lists->scratch);
    for (cmg_size k = 0; k < count; ++k) {
        if (memcmp(lists->scratch[k].key, key, sizeof key) == 0) {
            return &lists->scratch[k];
        }
    }
    return NULL;
}
