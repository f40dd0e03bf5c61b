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

/* Face centres beside a moved edge that are not on a surface themselves. */
static void bend_faces(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine,
                       unsigned char *moved)
{
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static)
    for (cmg_size f = 0; f < e->face.count; ++f) {
        cmg_index on[9];
        bool beside = false;
        (void)cmgi_refined_side(coarse, e, e->face.nodes + 4 * f, on);
        for (int k = 4; k < 8; ++k) {
            beside = beside || moved[on[k] - coarse->nodes];
        }
        if (!beside || moved[e->edge.count + f] == 2) {
            continue;
        }
        moved[e->edge.count + f] = 1;
        for (int d = 0; d < 3; ++d) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) {
                sum += 0.5 * fine->x[(cmg_size)on[4 + k] * 3 + d] -
                       0.25 * coarse->x[(cmg_size)on[k] * 3 + d];
            }
            fine->x[(cmg_size)on[8] * 3 + d] = sum;
        }
    }
}

static void bend_cells(const cmgi_mesh *coarse, const cmgi_entities *e, cmgi_mesh *fine,
                       const unsigned char *moved)
{
    static const double weights[2][3] = {{-0.25, 0.5, 0}, {0.125, -0.25, 0.5}};
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const int dim = info->dim;
#pragma omp parallel for num_threads(coarse->ctx->threads) schedule(static)
    for (cmg_size c = 0; c < coarse->cells; ++c) {
        cmg_index on[CMGI_MAX_REFINED];
        const int centre = cmgi_refined_cell(coarse, e, c, on) - 1;
        const int faces = info->corners + info->edges; /* the first of them */
        double sum[3] = {0};
        bool beside = false;
        for (int k = info->corners; k < faces; ++k) {
            beside = beside || moved[on[k] - coarse->nodes];
        }
        for (int k = 0; k < centre; ++k) {
            const double weight = weights[dim - 2][(k >= info->corners) + (k >= faces)];
            for (int d = 0; d < dim; ++d) {
                sum[d] += weight * fine->x[(cmg_size)on[k] * dim + d];
            }
        }
        for (int d = 0; d < dim && beside; ++d) {
            fine->x[(cmg_size)on[centre] * dim + d] = sum[d];
        }
    }
}

cmg_status cmgi_mesh_snap(const cmgi_mesh *coarse, const cmgi_entities *e, const cmgi_snap *snap,
                          cmgi_mesh *fine)
{
    const int corners = cmgi_cell_table(coarse->cell)->facet_corners;
    cmgi_scoped unsigned char *moved = NULL; /* new nodes, counted from the coarse ones */
    CMGI_TRY(cmgi_alloc_zero(coarse->ctx, e->edge.count + e->face.count, 1, &moved));
    for (cmg_size f = 0; f < coarse->facets; ++f) {
        cmg_index on[9];
        const int count = cmgi_refined_side(coarse, e, coarse->facet_nodes + f * corners, on);
        for (int k = corners; k < count; ++k) {
            /* an edge between two curved labels goes to each in turn */
            if (project(snap, coarse->facet_label[f], coarse->dim,
                        fine->x + (cmg_size)on[k] * coarse->dim)) {
                moved[on[k] - coarse->nodes] = k == 8 ? 2 : 1;
            }
        }
    }
    if (coarse->cell == CMGI_HEX) {
        bend_faces(coarse, e, fine, moved);
    }
    if (!cmgi_cell_simplex(coarse->cell)) {
        bend_cells(coarse, e, fine, moved);
    }
    return cmgi_mesh_check_dets(fine, "snapping: refined ");
}
