/*
 * Regular refinement: every cell is cut into 2^dim by its edge midpoints (and face and cell
 * centres). Quads and hexes have a child at each corner. A triangle has one at each corner and the
 * middle one; a tet has four at its corners and four in the octahedron that is left, cut along the
 * diagonal between the midpoints of edges v0 v2 and v1 v3. Numbering the children as below, that
 * diagonal never gives more than three shapes up to similarity (Bey, Computing 55, 1995, 355-378);
 * children T6 and T8 have vertices 0 and 2 exchanged here, which keeps the pair of edges and makes
 * them positive.
 */
#include "core/memory.h"
#include "fem/mesh_geometry.h"

#include <string.h>

/* Corners of children by local numbers: corners, edges and facets in the order of the cell table,
 * centre. */
static const unsigned char line_children[2][8] = {{0, 2}, {2, 1}};
static const unsigned char children_of[CMGI_CELL_KINDS][8][8] = {
    [CMGI_TRI] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}, {4, 5, 3}},
    [CMGI_QUAD] = {{0, 4, 7, 8}, {4, 1, 8, 5}, {7, 8, 2, 6}, {8, 5, 6, 3}},
    [CMGI_TET] = {{0, 4, 6, 7},
                  {4, 1, 5, 8},
                  {6, 5, 2, 9},
                  {7, 8, 9, 3},
                  {4, 6, 7, 8},
                  {5, 6, 4, 8},
                  {6, 7, 8, 9},
                  {8, 5, 6, 9}},
    [CMGI_HEX] = {{0, 8, 12, 20, 16, 22, 24, 26},
                  {8, 1, 20, 13, 22, 17, 26, 25},
                  {12, 20, 2, 9, 24, 26, 18, 23},
                  {20, 13, 9, 3, 26, 25, 23, 19},
                  {16, 22, 24, 26, 4, 10, 14, 21},
                  {22, 17, 26, 25, 10, 5, 21, 15},
                  {24, 26, 18, 23, 14, 21, 6, 11},
                  {26, 25, 23, 19, 21, 15, 11, 7}},
};

/* to[k * corners + m] = the node that is corner m of child k. */
static void fill_children(const unsigned char child[8][8], int children, int corners,
                          const cmg_index *local, cmg_index *to)
{
    for (int k = 0; k < children; ++k) {
        for (int m = 0; m < corners; ++m) {
            *to++ = local[child[k][m]];
        }
    }
}

void cmgi_refined_corner(cmgi_cell cell, int child, int corner, int between[2])
{
    const int corners = cmgi_cell_table(cell)->corners;
    between[0] = child;
    between[1] = corner;
    for (int k = 0; k < corners * corners && child >= corners; ++k) { /* one inside a simplex */
        if (children_of[cell][k / corners][k % corners] == children_of[cell][child][corner]) {
            between[0] = k / corners;
            between[1] = k % corners;
        }
    }
}

/* Children of facets: ends in 2D, corners of triangles or quads in 3D, outward as the parent. */
static void refine_facets(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine)
{
    const int corners = cmgi_cell_table(coarse->cell)->facet_corners;
    const int children = coarse->dim == 2 ? 2 : 4;
    const cmgi_cell facet = corners == 4 ? CMGI_QUAD : CMGI_TRI;
#pragma omp parallel for num_threads(coarse->ctx->threads)                                         \
    schedule(static) if (coarse->facets > 512)
    for (cmg_size f = 0; f < coarse->facets; ++f) {
        cmg_index local[9];
        (void)cmgi_refined_side(coarse, e, coarse->facet_nodes + f * corners, local);
        fill_children(corners == 2 ? line_children : children_of[facet], children, corners, local,
                      fine->facet_nodes + f * children * corners);
        for (int k = 0; k < children; ++k) {
            fine->facet_label[f * children + k] = coarse->facet_label[f];
        }
    }
}

/* x[first + i] = mean of `count` nodes each. */
static void place_means(cmgi_mesh *fine, cmg_size first, cmg_size many, int count,
                        const cmg_index *node)
{
    const int dim = fine->dim;
#pragma omp parallel for num_threads(fine->ctx->threads) schedule(static) if (many > 2048)
    for (cmg_size i = 0; i < many; ++i) {
        for (int d = 0; d < dim; ++d) {
            double sum = 0;
            for (int k = 0; k < count; ++k) {
                sum += fine->x[(cmg_size)node[i * count + k] * dim + d];
            }
            fine->x[(first + i) * dim + d] = sum / count;
        }
    }
}

static cmg_status copy_labels(cmg_context *ctx, const cmgi_label *from, cmg_index labels,
                              cmgi_label **list, cmg_index *count)
{
    for (cmg_index i = 1; i < labels; ++i) {
        CMGI_TRY(cmgi_label_add(ctx, from[i].tag, from[i].name, list, count));
    }
    return CMG_OK;
}

/* Labels, regions and the note carry over. */
static cmg_status inherit(const cmgi_mesh *coarse, cmgi_mesh *fine)
{
    const int children = cmgi_cell_table(coarse->cell)->children;
    CMGI_TRY(copy_labels(fine->ctx, coarse->label, coarse->labels, &fine->label, &fine->labels));
    CMGI_TRY(
        copy_labels(fine->ctx, coarse->region, coarse->regions, &fine->region, &fine->regions));
    if (coarse->cell_label != NULL) {
        CMGI_TRY(cmgi_alloc(fine->ctx, fine->cells, sizeof *fine->cell_label, &fine->cell_label));
        for (cmg_size c = 0; c < fine->cells; ++c) {
            fine->cell_label[c] = coarse->cell_label[c / children];
        }
    }
    memcpy(fine->note, coarse->note, sizeof fine->note);
    cmgi_mesh_count_labels(fine);
    return CMG_OK;
}

cmg_status cmgi_mesh_refine(const cmgi_mesh *coarse, const cmgi_snap *snap, cmgi_mesh **fine)
{
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const cmg_size centres = cmgi_cell_simplex(coarse->cell) ? 0 : coarse->cells;
    cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *m = NULL;
    CMGI_TRY(cmgi_mesh_entities(coarse, coarse->cell == CMGI_HEX, &e));
    const cmg_size faces_end = coarse->nodes + e.edge.count + e.face.count;
    CMGI_TRY(cmgi_mesh_create(coarse->ctx, coarse->cell, faces_end + centres,
                              coarse->cells * info->children, coarse->facets * (info->children / 2),
                              &m));
    memcpy(m->x, coarse->x, (size_t)(coarse->nodes * coarse->dim) * sizeof *m->x);
    place_means(m, coarse->nodes, e.edge.count, 2, e.edge.nodes);
    place_means(m, coarse->nodes + e.edge.count, e.face.count, 4, e.face.nodes);
    place_means(m, faces_end, centres, info->corners, coarse->cell_nodes);
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static) if (coarse->cells > 512)
    for (cmg_size c = 0; c < coarse->cells; ++c) {
        cmg_index local[CMGI_MAX_REFINED];
        (void)cmgi_refined_cell(coarse, &e, c, local);
        fill_children(children_of[coarse->cell], info->children, info->corners, local,
                      m->cell_nodes + c * info->children * info->corners);
    }
    refine_facets(coarse, &e, m);
    CMGI_TRY(inherit(coarse, m));
    if (snap != NULL && snap->surfaces > 0) {
        CMGI_TRY(cmgi_mesh_snap(coarse, &e, snap, m));
    }
    *fine = cmgi_pass_on(&m);
    return CMG_OK;
}
