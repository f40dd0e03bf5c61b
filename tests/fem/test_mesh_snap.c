/* New boundary nodes on circles and cylinders: areas and volumes converge to those of round shapes.
 */
#include "meshes.h"

static const double pi = 3.14159265358979323846;

static double refined_volume(cmgi_mesh **mesh, const cmgi_snap *snap)
{
    cmgi_mesh_report report;
    refine(mesh, snap);
    CHECK_OK(cmgi_mesh_check(*mesh, &report));
    return report.volume;
}

TEST(snapping_puts_nodes_on_circles)
{
    const cmg_shape shapes[2] = {CMG_SHAPE_ANNULUS, CMG_SHAPE_HOLES};
    for (int i = 0; i < 4; ++i) {
        cmgi_shape_options o = shape_options(shapes[i / 2], i % 2 == 0 ? CMGI_QUAD : CMGI_TRI, 2);
        o.columns = 3;
        o.rows = 3;
        o.alternate = true;
        scoped_mesh *mesh = shape_mesh(&o);
        cmgi_surface surface[9];
        const int count = cmgi_shape_surfaces(&o, mesh, 9, surface);
        CHECK(count == (i / 2 == 0 ? 2 : 5));
        const cmgi_snap snap = {count, surface};
        const double ring = pi * (o.outer * o.outer - o.radius * o.radius);
        const double area = i / 2 == 0 ? ring : 9 - 5 * pi * o.radius * o.radius;
        double gap[4];
        FILL(gap, level, 4, fabs(refined_volume(&mesh, &snap) - area));
        /* polygons approach the circle with the square of the cell size */
        CHECK_NEAR(gap[2] / gap[3], 4, 0.1);
    }
}

/* A hex tube: the ring times [0, 1]. */
static cmgi_mesh *make_tube(cmgi_surface surface[2])
{
    const cmgi_shape_options o = shape_options(CMG_SHAPE_ANNULUS, CMGI_QUAD, 3);
    scoped_mesh *ring = shape_mesh(&o);
    cmgi_mesh *tube = NULL;
    CHECK_OK(cmgi_mesh_create(ctx, CMGI_HEX, 2 * ring->nodes, ring->cells, 0, &tube));
    for (cmg_size v = 0; v < tube->nodes; ++v) {
        tube->x[3 * v] = ring->x[2 * (v % ring->nodes)];
        tube->x[3 * v + 1] = ring->x[2 * (v % ring->nodes) + 1];
        tube->x[3 * v + 2] = v < ring->nodes ? 0 : 1;
    }
    for (cmg_size k = 0; k < 8 * tube->cells; ++k) {
        const cmg_index flat = ring->cell_nodes[k / 8 * 4 + k % 4];
        tube->cell_nodes[k] = k % 8 < 4 ? flat : flat + (cmg_index)ring->nodes;
    }
    CHECK_OK(cmgi_mesh_find_facets(tube, NULL));
    const cmg_index label[2] = {tube->labels, tube->labels + 1};
    CHECK_OK(cmgi_label_add(tube->ctx, 5, "inner", &tube->label, &tube->labels));
    CHECK_OK(cmgi_label_add(tube->ctx, 7, NULL, &tube->label, &tube->labels));
    CHECK(cmgi_mesh_find_label(tube, "7") == label[1] && cmgi_mesh_find_label(tube, "9") == -1);
    for (cmg_size f = 0; f < tube->facets; ++f) {
        double least = 9;
        double most = 0;
        for (int k = 0; k < 4; ++k) {
            const double *x = tube->x + 3 * tube->facet_nodes[4 * f + k];
            least = fmin(least, hypot(x[0], x[1]));
            most = worst_of(most, hypot(x[0], x[1]));
        }
        tube->facet_label[f] = most < 0.51 ? label[0] : (least > 0.99 ? label[1] : 0);
    }
    for (int k = 0; k < 2; ++k) {
        surface[k] = (cmgi_surface){
            .label = label[k], .centre = {0, 0, 5}, .axis = {0, 0, -2}, .radius = k == 0 ? 0.5 : 1};
    }
    return tube;
}

TEST(snapping_follows_a_cylinder)
{
    cmgi_surface surface[2];
    scoped_mesh *mesh = make_tube(surface);
    const cmgi_snap snap = {2, surface};
    double gap[3];
    FILL(gap, level, 3, fabs(refined_volume(&mesh, &snap) - pi * 0.75));
    CHECK_NEAR(gap[1] / gap[2], 4, 0.1);
}
