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
#include "fem/mesh_snap.h"

#include <string.h>

/* Children by local numbers: corners, then edges in the order of the cell table. */
static const unsigned char tri_children[4][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}, {4, 5, 3}};
static const unsigned char tet_children[8][4] = {{0, 4, 6, 7}, {4, 1, 5, 8}, {6, 5, 2, 9},
                                                 {7, 8, 9, 3}, {4, 6, 7, 8}, {5, 6, 4, 8},
                                                 {6, 7, 8, 9}, {8, 5, 6, 9}};

enum { MAX_LOCAL = 27 }; /* corners, edges, faces and centre of a hex */

/* child[k][m]: local number of corner m of child k. */
typedef struct pattern {
    const cmgi_cell_info *info;
    unsigned char child[8][8];
} pattern;

/* Place of corner c in the lattice {0, 1, 2}^3 over a cube. */
static int lattice_place(int c)
{
    return 2 * (c & 1) + 6 * (c >> 1 & 1) + 18 * (c >> 2 & 1);
}

static void tensor_pattern(pattern *p)
{
    const cmgi_cell_info *info = p->info;
    const int faces = info->dim == 3 ? info->facets : 0;
    unsigned char local[MAX_LOCAL] = {0};
    unsigned char number = 0;
    for (int c = 0; c < info->corners; ++c) {
        local[lattice_place(c)] = number++;
    }
    for (int e = 0; e < info->edges; ++e) {
        local[(lattice_place(info->edge[e][0]) + lattice_place(info->edge[e][1])) / 2] = number++;
    }
    for (int f = 0; f < faces; ++f) { /* the mean of two opposite corners is the centre */
        local[(lattice_place(info->facet[f][0]) + lattice_place(info->facet[f][3])) / 2] = number++;
    }
    local[lattice_place(info->corners - 1) / 2] = number;
    for (int k = 0; k < info->children; ++k) {
        for (int m = 0; m < info->corners; ++m) {
            p->child[k][m] = local[(lattice_place(k) + lattice_place(m)) / 2];
        }
    }
}

static pattern make_pattern(cmgi_cell cell)
{
    pattern p = {.info = cmgi_cell_table(cell)};
    if (!cmgi_cell_simplex(cell)) {
        tensor_pattern(&p);
        return p;
    }
    for (int k = 0; k < p.info->children; ++k) {
        memcpy(p.child[k], cell == CMGI_TRI ? tri_children[k] : tet_children[k],
               (size_t)p.info->corners);
    }
    return p;
}

static void refine_cells(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine)
{
    const pattern p = make_pattern(coarse->cell);
    const int corners = p.info->corners;
    const int edges = p.info->edges;
    const int faces = e->faces > 0 ? p.info->facets : 0;
    const cmg_size centre = coarse->nodes + e->edges + e->faces;
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static) if (coarse->cells > 512)
    for (cmg_size c = 0; c < coarse->cells; ++c) {
        cmg_index local[MAX_LOCAL];
        memcpy(local, coarse->cell_nodes + c * corners, (size_t)corners * sizeof *local);
        for (int k = 0; k < edges; ++k) {
            local[corners + k] = (cmg_index)(coarse->nodes + e->cell_edges[c * edges + k]);
        }
        for (int k = 0; k < faces; ++k) {
            local[corners + edges + k] =
                (cmg_index)(coarse->nodes + e->edges + e->cell_faces[c * faces + k]);
        }
        if (!cmgi_cell_simplex(coarse->cell)) {
            local[corners + edges + faces] = (cmg_index)(centre + c);
        }
        cmg_index *child = fine->cell_nodes + c * p.info->children * corners;
        for (int k = 0; k < p.info->children; ++k) {
            for (int m = 0; m < corners; ++m) {
                *child++ = local[p.child[k][m]];
            }
        }
    }
}

/* Children of facets: ends in 2D, corners of triangles or quads in 3D, outward as the parent. */
static void refine_facets(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine)
{
    const int corners = cmgi_cell_table(coarse->cell)->facet_corners;
    const int children = coarse->dim == 2 ? 2 : 4;
    const pattern p = make_pattern(corners == 4 ? CMGI_QUAD : CMGI_TRI);
#pragma omp parallel for num_threads(coarse->ctx->threads)                                         \
    schedule(static) if (coarse->facets > 512)
    for (cmg_size f = 0; f < coarse->facets; ++f) {
        const cmg_index *node = coarse->facet_nodes + f * corners;
        cmg_index *child = fine->facet_nodes + f * children * corners;
        cmg_index local[9] = {0};
        memcpy(local, node, (size_t)corners * sizeof *local);
        for (int k = 0; k < (corners == 2 ? 1 : corners); ++k) {
            const int *edge = p.info->edge[k];
            local[corners + k] =
                (cmg_index)(coarse->nodes + cmgi_entities_edge(e, node[edge[0]], node[edge[1]]));
        }
        if (corners == 2) {
            const cmg_index ends[4] = {node[0], local[2], local[2], node[1]};
            memcpy(child, ends, sizeof ends);
        }
        if (corners == 4) {
            local[8] = (cmg_index)(coarse->nodes + e->edges + cmgi_entities_face(e, 4, node));
        }
        for (int k = 0; k < children && corners > 2; ++k) {
            for (int m = 0; m < corners; ++m) {
                child[k * corners + m] = local[p.child[k][m]];
            }
        }
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

static void place_nodes(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine)
{
    memcpy(fine->x, coarse->x, (size_t)(coarse->nodes * coarse->dim) * sizeof *fine->x);
    place_means(fine, coarse->nodes, e->edges, 2, e->edge_nodes);
    place_means(fine, coarse->nodes + e->edges, e->faces, 4, e->face_nodes);
    if (!cmgi_cell_simplex(coarse->cell)) {
        place_means(fine, coarse->nodes + e->edges + e->faces, coarse->cells,
                    cmgi_cell_table(coarse->cell)->corners, coarse->cell_nodes);
    }
}

/* Labels, regions and the note carry over. */
static cmg_status inherit(const cmgi_mesh *coarse, cmgi_mesh *fine)
{
    const int children = cmgi_cell_table(coarse->cell)->children;
    for (cmg_index i = 1; i < coarse->labels; ++i) {
        cmg_index ignored = 0;
        CMGI_TRY(cmgi_mesh_add_label(fine, coarse->label[i].tag, coarse->label[i].name, &ignored));
    }
    for (cmg_index i = 1; i < coarse->regions; ++i) {
        cmg_index ignored = 0;
        CMGI_TRY(
            cmgi_mesh_add_region(fine, coarse->region[i].tag, coarse->region[i].name, &ignored));
    }
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

/* Takes the nodes of the edges and faces over from the entities. */
static cmg_status relate(const cmgi_mesh *coarse, cmgi_entities *e, cmgi_refinement **relation)
{
    const bool tensor = !cmgi_cell_simplex(coarse->cell);
    cmgi_refinement *r = NULL;
    CMGI_TRY(cmgi_alloc_zero(coarse->ctx, 1, sizeof *r, &r));
    *r = (cmgi_refinement){.ctx = coarse->ctx,
                           .cell = coarse->cell,
                           .coarse_nodes = coarse->nodes,
                           .edges = e->edges,
                           .faces = e->faces,
                           .centres = tensor ? coarse->cells : 0,
                           .edge_nodes = e->edge_nodes,
                           .face_nodes = e->face_nodes};
    e->edge_nodes = NULL;
    e->face_nodes = NULL;
    *relation = r;
    return CMG_OK;
}

cmg_status cmgi_mesh_refine(const cmgi_mesh *coarse, const cmgi_snap *snap, cmgi_mesh **fine,
                            cmgi_refinement **relation)
{
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const bool tensor = !cmgi_cell_simplex(coarse->cell);
    cmgi_entities *e = NULL;
    cmgi_mesh *m = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_mesh_entities(coarse, coarse->cell == CMGI_HEX, &e));
    CMGI_TRY_GOTO(
        done, cmgi_mesh_create(coarse->ctx, coarse->cell,
                               coarse->nodes + e->edges + e->faces + (tensor ? coarse->cells : 0),
                               coarse->cells * info->children,
                               coarse->facets * (info->children / 2), &m));
    place_nodes(coarse, e, m);
    refine_cells(coarse, e, m);
    refine_facets(coarse, e, m);
    CMGI_TRY_GOTO(done, inherit(coarse, m));
    if (snap != NULL && snap->surfaces > 0) {
        CMGI_TRY_GOTO(done, cmgi_mesh_snap(coarse, e, snap, m));
    }
    if (relation != NULL) {
        CMGI_TRY_GOTO(done, relate(coarse, e, relation));
    }
    *fine = m;
    m = NULL;
done:
    cmgi_mesh_destroy(&m);
    cmgi_entities_destroy(&e);
    return status;
}

void cmgi_refinement_destroy(cmgi_refinement **relation)
{
    if (relation == NULL || *relation == NULL) {
        return;
    }
    CMGI_FREE((*relation)->ctx, (*relation)->edge_nodes, (*relation)->face_nodes, *relation);
    *relation = NULL;
}

int cmgi_refinement_parents(const cmgi_refinement *r, const cmgi_mesh *coarse, cmg_size i,
                            cmg_index parents[8])
{
    const cmg_index *node = NULL;
    int count = 1;
    parents[0] = (cmg_index)i;
    if (i < r->coarse_nodes) {
        return 1;
    }
    i -= r->coarse_nodes;
    if (i < r->edges) {
        node = r->edge_nodes + 2 * i;
        count = 2;
    } else if (i < r->edges + r->faces) {
        node = r->face_nodes + 4 * (i - r->edges);
        count = 4;
    } else {
        count = cmgi_cell_table(r->cell)->corners;
        node = coarse->cell_nodes + (i - r->edges - r->faces) * count;
    }
    memcpy(parents, node, (size_t)count * sizeof *parents);
    return count;
}
