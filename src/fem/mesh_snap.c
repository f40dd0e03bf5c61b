/*
 * Snapping. A node p on a circle or sphere of centre c and radius r goes to c + r (p - c)/|p - c|;
 * for a cylinder the component along the axis is kept. Centres follow their edges by the midpoint
 * of the Coons patch (Gordon and Hall 1973): face = 1/2 sum edge midpoints - 1/4 sum corners, hex =
 * 1/2 sum face centres - 1/4 sum edge midpoints + 1/8 sum corners.
 */
#include "fem/mesh_geometry.h"

#include "core/memory.h"

#include <math.h>

/* q = p - centre without the part along the axis; returns |q|. */
static double radial(const cmgi_surface *s, int dim, const double *p, double q[3])
{
    double along = 0;
    double axis2 = 0;
    for (int d = 0; d < dim; ++d) {
        q[d] = p[d] - s->centre[d];
        along += q[d] * s->axis[d];
        axis2 += s->axis[d] * s->axis[d];
    }
    double square = 0;
    for (int d = 0; d < dim; ++d) {
        q[d] -= dim == 3 && axis2 > 0 ? along / axis2 * s->axis[d] : 0;
        square += q[d] * q[d];
    }
    return sqrt(square);
}

/* Moves p to the nearest surface of the label; false where there is none. */
static bool project(const cmgi_snap *snap, cmg_index label, int dim, double *p)
{
    const cmgi_surface *nearest = NULL;
    double gap = HUGE_VAL;
    double q[3];
    for (int i = 0; i < snap->surfaces; ++i) {
        const cmgi_surface *s = &snap->surface[i];
        if (s->label == label && fabs(radial(s, dim, p, q) - s->radius) < gap) {
            gap = fabs(radial(s, dim, p, q) - s->radius);
            nearest = s;
        }
    }
    if (nearest == NULL) {
        return false;
    }
    const double distance = radial(nearest, dim, p, q);
    for (int d = 0; d < dim && distance > 0; ++d) {
        p[d] += (nearest->radius / distance - 1) * q[d];
    }
    return true;
}

/* Edge between corners i and j of a facet. */
static cmg_index facet_edge(const cmgi_entities *e, const cmg_index *node, int i, int j)
{
    return cmgi_entity_find(&e->edge, (const cmg_index[2]){node[i], node[j]});
}

/* Projects the new nodes of one facet and marks them in moved[fine node - coarse nodes]. */
static void snap_facet(const cmgi_mesh *coarse, const cmgi_entities *e, const cmgi_snap *snap,
                       cmg_size f, cmgi_mesh *fine, unsigned char *moved)
{
    static const int pair[3][4][2] = {
        {{0, 1}}, {{0, 1}, {1, 2}, {2, 0}}, {{0, 1}, {1, 3}, {3, 2}, {2, 0}}};
    const int corners = cmgi_cell_table(coarse->cell)->facet_corners;
    const int dim = coarse->dim;
    const cmg_index *node = coarse->facet_nodes + f * corners;
    const cmg_index label = coarse->facet_label[f];
    for (int k = 0; k < (corners == 2 ? 1 : corners); ++k) {
        const cmg_size edge = facet_edge(e, node, pair[corners - 2][k][0], pair[corners - 2][k][1]);
        /* an edge between two curved labels goes to each in turn */
        if (project(snap, label, dim, fine->x + (coarse->nodes + edge) * dim)) {
            moved[edge] = 1;
        }
    }
    if (corners == 4) {
        const cmg_size face = e->edge.count + cmgi_entity_find(&e->face, node);
        moved[face] = project(snap, label, dim, fine->x + (coarse->nodes + face) * dim) ? 2 : 0;
    }
}

/* Face centres beside a moved edge that are not on a surface themselves. */
static void bend_faces(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine,
                       unsigned char *moved)
{
    static const int ring[5] = {0, 1, 3, 2, 0};
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static)
    for (cmg_size f = 0; f < e->face.count; ++f) {
        const cmg_index *node = e->face.nodes + 4 * f;
        cmg_index edge[4];
        bool beside = false;
        for (int k = 0; k < 4; ++k) {
            edge[k] = facet_edge(e, node, ring[k], ring[k + 1]);
            beside = beside || moved[edge[k]];
        }
        if (!beside || moved[e->edge.count + f] == 2) {
            continue;
        }
        moved[e->edge.count + f] = 1;
        for (int d = 0; d < 3; ++d) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) {
                sum += 0.5 * fine->x[(coarse->nodes + edge[k]) * 3 + d] -
                       0.25 * coarse->x[(cmg_size)node[k] * 3 + d];
            }
            fine->x[(coarse->nodes + e->edge.count + f) * 3 + d] = sum;
        }
    }
}

/* Weighted sum of the nodes of one kind around a cell. */
static void add_nodes(const cmgi_mesh *fine, const cmg_index *node, int count, cmg_size offset,
                      double weight, double sum[3])
{
    for (int k = 0; k < count; ++k) {
        for (int d = 0; d < fine->dim; ++d) {
            sum[d] += weight * fine->x[(offset + node[k]) * fine->dim + d];
        }
    }
}

static void bend_cells(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine,
                       const unsigned char *moved)
{
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const int dim = info->dim;
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static)
    for (cmg_size c = 0; c < coarse->cells; ++c) {
        const cmg_index *edge = e->edge.of_cell + c * info->edges;
        const cmg_index *face = dim == 3 ? e->face.of_cell + c * info->facets : NULL;
        bool beside = false;
        for (int k = 0; k < info->edges; ++k) {
            beside = beside || moved[edge[k]];
        }
        if (!beside) {
            continue;
        }
        double sum[3] = {0};
        const double sign = dim == 2 ? 1 : -1;
        add_nodes(fine, coarse->cell_nodes + c * info->corners, info->corners, 0,
                  dim == 2 ? -0.25 : 0.125, sum);
        add_nodes(fine, edge, info->edges, coarse->nodes, sign * (dim == 2 ? 0.5 : 0.25), sum);
        add_nodes(fine, face, dim == 3 ? info->facets : 0, coarse->nodes + e->edge.count, 0.5, sum);
        for (int d = 0; d < dim; ++d) {
            fine->x[(coarse->nodes + e->edge.count + e->face.count + c) * dim + d] = sum[d];
        }
    }
}

cmg_status cmgi_mesh_snap(const cmgi_mesh *coarse, const cmgi_entities *e, const cmgi_snap *snap,
                          cmgi_mesh *fine)
{
    unsigned char *moved = NULL;
    CMGI_TRY(cmgi_alloc_zero(coarse->ctx, e->edge.count + e->face.count, 1, &moved));
    for (cmg_size f = 0; f < coarse->facets; ++f) {
        snap_facet(coarse, e, snap, f, fine, moved);
    }
    if (coarse->cell == CMGI_HEX) {
        bend_faces(coarse, e, fine, moved);
    }
    if (!cmgi_cell_simplex(coarse->cell)) {
        bend_cells(coarse, e, fine, moved);
    }
    cmgi_free(coarse->ctx, moved);
    return cmgi_mesh_check_dets(fine, "snapping: refined ");
}
