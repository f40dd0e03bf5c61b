/* Every fault that the check knows, made on purpose in an otherwise good mesh. */
#include "fem/mesh.h"
#include "fem/mesh_geometry.h"
#include "meshes.h"

static const cmgi_cell cells[] = {CMGI_TRI, CMGI_QUAD, CMGI_TET, CMGI_HEX};

static cmgi_mesh *box(cmgi_cell cell, cmg_size n)
{
    const cmgi_shape_options o = shape_options(CMG_SHAPE_SQUARE, cell, n);
    return shape_mesh(&o);
}

/* The check fails and says this. */
static void expect(const cmgi_mesh *mesh, const char *reason, cmgi_mesh_report *report)
{
    CHECK_REFUSED(cmgi_mesh_check(mesh, report), CMG_ERR_SHAPE, reason);
}

/* The node of a 3^dim-node box that is inside it. */
static cmg_size middle(const cmgi_mesh *mesh)
{
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        bool inside = true;
        for (int d = 0; d < mesh->dim; ++d) {
            inside = inside && mesh->x[v * mesh->dim + d] == 0.5;
        }
        if (inside) {
            return v;
        }
    }
    return -1;
}

TEST(inverted_cells_are_named)
{
    for (int k = 0; k < 4; ++k) {
        scoped_mesh *mesh = box(cells[k], 2);
        cmgi_mesh_report report;
        const cmg_size v = middle(mesh);
        CHECK(v >= 0);
        mesh->x[v * mesh->dim] = 1.75; /* the middle leaves the box */
        expect(mesh, "is inverted: determinant -", &report);
        CHECK(report.inverted > 0 && report.fault_cell >= 0);
        bool seen = false;
        int corner = 0;
        for (; corner < cmgi_cell_table(cells[k])->corners && !seen; ++corner) {
            seen = cmgi_mesh_corner_det(mesh, report.fault_cell, corner) < 0;
        }
        CHECK(seen);
        const char *number = sprint("cell %lld ", (long long)report.fault_cell);
        CHECK_MESSAGE(number);
        mesh->x[v * mesh->dim] = NAN;
        expect(mesh, "is not a finite number", NULL);
    }
}

/* Matrices of elements: whichever cell is inverted, the first and the last too, it is named. */
TEST(inverted_elements_are_named)
{
    static const bool fixes[16] = {false};
    const double zero[3] = {0, 0, 0};
    const double one[3] = {1, 1, 1};
    cmg_generate_options o = generate_defaults();
    const cmgi_problem problem = cmgi_problem_make(&o, 2, zero, one);
    cmgi_cell_form form;
    CHECK_OK(cmgi_cell_form_create(ctx, &problem, cmgi_basis_of(CMG_ELEMENT_P1, 2), 2, &form));
    for (int which = 0; which < 3; ++which) {
        scoped_mesh *mesh = box(CMGI_TRI, 3);
        scoped_space *space = NULL;
        cmgi_elements E = {0};
        const cmg_size cell = which == 0 ? 0 : which == 1 ? 5 : mesh->cells - 1;
        CHECK_OK(cmgi_space_create(mesh, 1, 1, CMG_BOUNDARY_NEUMANN, fixes, &space));
        CHECK_OK(cmgi_fem_elements(space, &form, true, &E));
        CHECK(E.count == mesh->cells && E.local == 3);
        cmgi_elements_free(ctx, &E);
        const cmg_index first = mesh->cell_nodes[3 * cell];
        mesh->cell_nodes[3 * cell] = mesh->cell_nodes[3 * cell + 1];
        mesh->cell_nodes[3 * cell + 1] = first;
        CHECK_STATUS(cmgi_fem_elements(space, &form, true, &E), CMG_ERR_ARG);
        cmgi_elements_free(ctx, &E);
        const char *text = sprint("cell %lld is inverted", (long long)cell);
        CHECK(strcmp(cmg_context_message(ctx), text) == 0);
    }
    cmgi_cell_form_free(ctx, &form);
}

TEST(hexes_may_be_inverted_inside_alone)
{
    scoped_mesh *mesh = box(CMGI_HEX, 1);
    cmgi_mesh_report report;
    /* two opposite corners pushed towards the middle: the corners' determinants turn negative one
     * after the other; every one that the check accepts is positive at all corners */
    for (int step = 0; step <= 20; ++step) {
        const double s = 0.025 * step;
        for (int d = 0; d < 3; ++d) {
            mesh->x[d] = s;
            mesh->x[21 + d] = 1 - s;
        }
        const bool good = cmgi_mesh_check(mesh, &report) == CMG_OK;
        for (int c = 0; good && c < 8; ++c) {
            CHECK(cmgi_mesh_corner_det(mesh, 0, c) > 0);
        }
        CHECK(good || report.inverted == 1);
        CHECK(good == (report.inverted == 0));
    }
    CHECK(report.inverted == 1);
}

TEST(wrong_numbers_are_found)
{
    for (int k = 0; k < 4; ++k) {
        scoped_mesh *mesh = box(cells[k], 2);
        const cmg_index kept = mesh->cell_nodes[1];
        cmgi_mesh_report report;
        mesh->cell_nodes[1] = (cmg_index)mesh->nodes;
        expect(mesh, "cell 0: corner 1 is node", &report);
        CHECK(report.fault_cell == 0);
        mesh->cell_nodes[1] = -1;
        expect(mesh, "out of range", NULL);
        mesh->cell_nodes[1] = mesh->cell_nodes[0];
        expect(mesh, "cell 0 is degenerate: corners 0 and 1 are both node", NULL);
        mesh->cell_nodes[1] = kept;
        mesh->facet_label[3] = mesh->labels;
        expect(mesh, "facet 3 has label", NULL);
        mesh->facet_label[3] = 0;
        mesh->facet_nodes[0] = -7;
        expect(mesh, "facet 0: node -7 is out of range", NULL);
    }
}

TEST(facets_must_be_the_boundary)
{
    for (int k = 0; k < 4; ++k) {
        const cmgi_cell_info *info = cmgi_cell_table(cells[k]);
        scoped_mesh *mesh = box(cells[k], 2);
        const size_t bytes = (size_t)info->facet_corners * sizeof *mesh->facet_nodes;
        cmg_index kept[4];
        memcpy(kept, mesh->facet_nodes, bytes);
        memcpy(mesh->facet_nodes, mesh->facet_nodes + info->facet_corners, bytes);
        expect(mesh, "facet 1 is duplicated", NULL);
        memcpy(mesh->facet_nodes, kept, bytes);
        mesh->facets -= 1;
        expect(mesh, "is on the boundary and is no facet", NULL);
        mesh->facets += 1;
        /* the side that the first two cells share, if they do */
        cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
        CHECK_OK(cmgi_mesh_entities(mesh, true, &e));
        const cmg_index *of_cell = mesh->dim == 2 ? e.edge.of_cell : e.face.of_cell;
        for (int f = 0; f < info->facets; ++f) {
            for (cmg_size g = info->facets; g < 2 * info->facets; ++g) {
                if (of_cell[f] == of_cell[g]) {
                    FILL(mesh->facet_nodes, i, info->facet_corners,
                         mesh->cell_nodes[info->facet[f][i]]);
                    expect(mesh, "facet 0 is inside the domain", NULL);
                }
            }
        }
    }
}

/* The box twice, the second copy moved along x: together a longer box with nodes of its own
 * between. */
static cmgi_mesh *two_boxes(cmgi_cell cell, cmg_size n, double shift, double scale)
{
    scoped_mesh *one = box(cell, n);
    scoped_mesh *other = box(cell, n);
    cmgi_mesh *both = NULL;
    const int dim = one->dim;
    const int corners = cmgi_cell_table(cell)->corners;
    CHECK_OK(cmgi_mesh_create(ctx, cell, 2 * one->nodes, 2 * one->cells, 0, &both));
    for (cmg_size k = 0; k < one->nodes * dim; ++k) {
        const cmg_size second = one->nodes * dim + k;
        both->x[k] = one->x[k];
        both->x[second] = k % dim == 0 ? other->x[k] + shift : other->x[k] * scale;
    }
    for (cmg_size k = 0; k < one->cells * corners; ++k) {
        both->cell_nodes[k] = one->cell_nodes[k];
        both->cell_nodes[one->cells * corners + k] = one->cell_nodes[k] + (cmg_index)one->nodes;
    }
    CHECK_OK(cmgi_mesh_find_facets(both, NULL));
    return both;
}

TEST(meshes_that_do_not_conform_are_found)
{
    for (int k = 0; k < 4; ++k) {
        cmgi_mesh_report report;
        scoped_mesh *mesh = two_boxes(cells[k], 3, 1, 1);
        expect(mesh, "are at one place", &report);
        CHECK(report.duplicates == (mesh->dim == 2 ? 4 : 16));
        cmgi_mesh_destroy(&mesh);
        /* apart by a little more than nothing, and truly apart */
        mesh = two_boxes(cells[k], 3, 1 + 1e-9, 1);
        expect(mesh, "are at one place", &report);
        cmgi_mesh_destroy(&mesh);
        mesh = two_boxes(cells[k], 3, 1.01, 1);
        CHECK_OK(cmgi_mesh_check(mesh, &report));
        cmgi_mesh_destroy(&mesh);
        /* other spacing across the common side; origin apart so that no node meets another */
        mesh = two_boxes(cells[k], 3, 1, 0.9);
        for (cmg_size v = mesh->nodes / 2; v < mesh->nodes; ++v) {
            for (int d = 1; d < mesh->dim; ++d) {
                mesh->x[v * mesh->dim + d] += 0.07;
            }
        }
        expect(mesh, "the mesh does not conform: node", &report);
        CHECK(report.hanging > 0 && report.duplicates == 0);
    }
}

TEST(overlapping_cells_are_found)
{
    /* two triangles, both above the edge 0-1 */
    scoped_mesh *mesh = NULL;
    CHECK_OK(cmgi_mesh_create(ctx, CMGI_TRI, 4, 2, 0, &mesh));
    const double x[8] = {0, 0, 1, 0, 0.5, 1, 0.5, 2};
    const cmg_index nodes[6] = {0, 1, 2, 0, 1, 3};
    memcpy(mesh->x, x, sizeof x);
    memcpy(mesh->cell_nodes, nodes, sizeof nodes);
    CHECK_OK(cmgi_mesh_find_facets(mesh, NULL));
    cmgi_mesh_report report;
    expect(mesh, "cells 0 and 1 overlap", &report);
    CHECK(report.folded == 1 && report.fault_cell == 0);
    cmgi_mesh_destroy(&mesh);
    /* three triangles on one edge */
    CHECK_OK(cmgi_mesh_create(ctx, CMGI_TRI, 5, 3, 0, &mesh));
    const double y[10] = {0, 0, 1, 0, 0.5, 1, 0.5, 2, 0.5, -1};
    const cmg_index three[9] = {0, 1, 2, 0, 1, 3, 1, 0, 4};
    memcpy(mesh->x, y, sizeof y);
    memcpy(mesh->cell_nodes, three, sizeof three);
    CHECK_REFUSED(cmgi_mesh_find_facets(mesh, NULL), CMG_ERR_SHAPE,
                  "side 0 of cell 0 is shared by 3 cells");
    expect(mesh, "is shared by 3 cells, cells 1 and 2 among them", NULL);
}

TEST(unused_nodes_are_found)
{
    scoped_mesh *mesh = box(CMGI_HEX, 2);
    scoped_mesh *more = NULL;
    CHECK_OK(cmgi_mesh_create(ctx, CMGI_HEX, mesh->nodes + 1, mesh->cells, 0, &more));
    memcpy(more->x, mesh->x, (size_t)(3 * mesh->nodes) * sizeof *mesh->x);
    memset(more->x + 3 * mesh->nodes, 0, 3 * sizeof *more->x);
    memcpy(more->cell_nodes, mesh->cell_nodes, (size_t)(8 * mesh->cells) * sizeof(cmg_index));
    CHECK_OK(cmgi_mesh_find_facets(more, NULL));
    expect(more, "node 27 belongs to no cell", NULL);
}

TEST(mirrored_cells_are_turned)
{
    for (int k = 0; k < 4; ++k) {
        scoped_mesh *mesh = box(cells[k], 3);
        cmg_size turned = 0;
        for (cmg_size v = 0; v < mesh->nodes; ++v) {
            mesh->x[v * mesh->dim] *= -1;
        }
        cmgi_mesh_report report;
        expect(mesh, "is inverted", &report);
        CHECK(report.inverted == mesh->cells);
        cmgi_mesh_make_positive(mesh, &turned);
        CHECK(turned == mesh->cells);
        CHECK_OK(cmgi_mesh_check(mesh, &report));
        CHECK_NEAR(report.volume, 1, 1e-13);
    }
}

/* After ordering, refinement cuts every octahedron along its shortest diagonal. */
TEST(tets_are_cut_along_the_shortest_diagonal)
{
    cmgi_shape_options o = shape_options(CMG_SHAPE_SQUARE, CMGI_TET, 3);
    o.distortion = CMGI_DISTORT_RANDOM;
    o.fraction = 0.4;
    scoped_mesh *mesh = shape_mesh(&o);
    cmgi_mesh_order_tets(mesh);
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        static const int pair[3][4] = {{0, 2, 1, 3}, {0, 1, 2, 3}, {0, 3, 1, 2}};
        double length[3] = {0, 0, 0};
        for (int k = 0; k < 9; ++k) {
            const cmg_index *node = mesh->cell_nodes + 4 * c;
            const int d = k % 3;
            double gap = 0;
            for (int i = 0; i < 4; ++i) {
                gap += (i < 2 ? 1 : -1) * mesh->x[3 * node[pair[k / 3][i]] + d];
            }
            length[k / 3] += gap * gap;
        }
        CHECK(length[0] <= length[1] * (1 + 1e-8) && length[0] <= length[2] * (1 + 1e-8));
    }
    CHECK_OK(cmgi_mesh_check(mesh, NULL));
}

TEST(snapping_that_inverts_is_refused)
{
    scoped_mesh *mesh = box(CMGI_TRI, 1);
    cmgi_mesh *fine = NULL;
    const cmgi_surface surface = {
        .label = cmgi_mesh_find_label(mesh, "bottom"), .centre = {0.5, 0}, .radius = 3};
    /* the midpoint (0.5, 0) of the bottom is the centre itself: it has no nearest point and stays
     */
    const cmgi_snap at_centre = {1, &surface};
    CHECK_OK(cmgi_mesh_refine(mesh, &at_centre, &fine));
    cmgi_mesh_destroy(&fine);
    cmgi_surface below = surface;
    below.centre[1] = -1;
    const cmgi_snap far = {1, &below};
    CHECK_STATUS(cmgi_mesh_refine(mesh, &far, &fine), CMG_ERR_SHAPE);
    CHECK(fine == NULL && strstr(cmg_context_message(ctx), "snapping: refined cell") != NULL);
}

/* Sizes of the cantilever and the L-shaped beam in the tables of the paper on EbEsym, matrix-free
 * products with the symmetric part of element matrices. */
TEST(published_sizes_are_met)
{
    cmgi_shape_options o = shape_options(CMG_SHAPE_BEAM, CMGI_QUAD, 100);
    o.length[0] = 10;
    scoped_mesh *beam = shape_mesh(&o);
    CHECK(beam->cells == 100000 && beam->nodes == 101101);
    /* a tenth of the first one: 1,750,000 cells, 1,754,001 nodes */
    o = shape_options(CMG_SHAPE_LSHAPE, CMGI_QUAD, 50);
    o.length[0] = 4;
    scoped_mesh *corner = shape_mesh(&o);
    CHECK(corner->cells == 17500 && corner->nodes == 17500 + 2 * 200 + 1);
}

TEST(memory_is_a_small_multiple_of_the_fine_mesh)
{
    for (int k = 0; k < 4; ++k) {
        scoped_mesh *mesh = box(cells[k], cmgi_cell_table(cells[k])->dim == 2 ? 128 : 16);
        scoped_mesh *fine = NULL;
        size_t before[2];
        size_t after[2];
        size_t peak[2];
        cmg_context_memory(ctx, before, NULL);
        ctx->bytes_peak[0] = before[0];
        CHECK_OK(cmgi_mesh_refine(mesh, NULL, &fine));
        cmg_context_memory(ctx, after, peak);
        CHECK((double)(peak[0] - before[0]) < 2.2 * (double)(after[0] - before[0]));
    }
}
