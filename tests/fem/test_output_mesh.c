/* The mesh that a hierarchy carries: nodes, unknowns, boundary values, file round trip, VTU. */
#include "fem/locate.h"
#include "fem/mesh.h"
#include "hierarchy/hierarchy.h"
#include "generated.h"
#include "temporary.h"

static cmg_generate_options options(cmg_element element, int dim)
{
    return generate_options("element=%s dim=%d cells=4 levels=2 load=exponential",
                            FEM_WORD("element", element), dim);
}

/* The stored mesh as one that can be checked; arrays stay the hierarchy's. */
static double volume_of(const cmgi_stored_mesh *m)
{
    scoped_mesh *mesh = NULL;
    const cmgi_cell cell = m->dim == 2 ? (m->corners == 3 ? CMGI_TRI : CMGI_QUAD)
                                       : (m->corners == 4 ? CMGI_TET : CMGI_HEX);
    CHECK_OK(cmgi_mesh_create(ctx, cell, m->nodes, m->cells, 0, &mesh));
    memcpy(mesh->x, m->x, (size_t)(m->nodes * m->dim) * sizeof *m->x);
    memcpy(mesh->cell_nodes, m->cell_nodes, (size_t)(m->cells * m->corners) * sizeof(cmg_index));
    CHECK_OK(cmgi_mesh_find_facets(mesh, NULL));
    cmgi_mesh_report report = {0};
    CHECK_OK(cmgi_mesh_check(mesh, &report));
    return report.volume;
}

/* Nodes with unknowns are where coords says, each unknown once; the others have exact values. */
static void check_nodes(const cmg_hierarchy *h)
{
    const cmgi_stored_mesh *m = h->mesh;
    const cmg_size blocks = cmg_hierarchy_rows(h, 0) / m->components;
    cmg_size n = 0;
    cmg_size seen = 0;
    const double *value = m->boundary_values;
    double worst = 0;
    const double *coords = vector_in(h, 0, "coords", NULL, &n);
    CHECK(n == blocks * m->dim);
    scoped unsigned char *once = calloc((size_t)blocks + 1, 1);
    for (cmg_size v = 0; v < m->nodes; ++v) {
        const double *x = m->x + v * m->dim;
        if (m->unknown[v] >= 0) {
            CHECK(once[m->unknown[v]]++ == 0);
            ++seen;
            for (int d = 0; d < m->dim; ++d) {
                worst = worst_of(worst, fabs(x[d] - coords[(cmg_size)m->unknown[v] * m->dim + d]));
            }
            continue;
        }
        const double exact = exp(x[0]) * cos(x[1]) * (m->dim == 3 ? 1 + x[2] / 2 : 1);
        worst = worst_of(worst, m->components == 1 ? fabs(*value - exact) : 0);
        value += m->components;
    }
    CHECK(seen == blocks && value == m->boundary_values + m->boundary * m->components);
    CHECK_NEAR(worst, 0, 1e-13);
}

TEST(nodes_carry_their_unknowns)
{
    static const cmg_numbering numberings[] = {CMG_NUMBERING_GENERATED, CMG_NUMBERING_RANDOM,
                                               CMG_NUMBERING_CELLS};
    for (int c = 0; c < 16 * 3; c += 1 + c / 16) {
        cmg_generate_options o = options((cmg_element)(c / 4 % 4), 2 + c % 2);
        generate_set(&o, "general=%d numbering=%s distort=0.3 dirichlet=%s problem=%s",
                     c / 2 % 2 == 1, WORD("numbering", numberings[c / 16]),
                     c % 3 == 0 ? "identity" : "eliminate", c % 5 == 0 ? "elasticity" : "poisson");
        CHECK_OK(cmg_generate_options_set(&o, c % 7 == 0 ? "dirichlet-labels=left" : ""));
        scoped_hierarchy *h = hierarchy_generated(&o);
        if (h == NULL) {
            continue;
        }
        CHECK(cmg_hierarchy_has_mesh(h));
        check_nodes(h);
        CHECK_NEAR(volume_of(h->mesh), 1, 1e-12);
    }
}

/* Bent and graded shapes keep their volume; the attribute names the worst cell of the coarsest
 * mesh. */
TEST(distortions_reach_the_mesh)
{
    static const cmg_shape shapes[] = {CMG_SHAPE_SQUARE, CMG_SHAPE_LSHAPE, CMG_SHAPE_BEAM,
                                       CMG_SHAPE_HOLES, CMG_SHAPE_ANNULUS};
    for (int c = 0; c < 10; ++c) {
        cmg_generate_options o = options(c < 5 ? CMG_ELEMENT_Q1 : CMG_ELEMENT_P1, 2);
        generate_set(&o, "shape=%s cells=8 levels=1", FEM_WORD("shape", shapes[c % 5]));
        scoped_hierarchy *plain = hierarchy_generated(&o);
        o.distort = 0.5;
        o.smooth = true;
        o.grading = c % 5 < 3 ? 4 : 1;
        scoped_hierarchy *bent = hierarchy_generated(&o);
        if (plain == NULL || bent == NULL) {
            continue;
        }
        const double volume = volume_of(plain->mesh);
        CHECK_NEAR(volume_of(bent->mesh), volume, 1e-12 * volume);
        CHECK(plain->mesh->nodes == bent->mesh->nodes);
        double most = 0;
        for (cmg_size k = 0; k < 2 * bent->mesh->nodes; ++k) {
            most = worst_of(most, fabs(plain->mesh->x[k] - bent->mesh->x[k]));
        }
        CHECK(most > 0.01);
        const char *quality = cmg_hierarchy_attribute(bent, "mesh_quality");
        CHECK(quality != NULL && atof(quality) > 0 && atof(quality) <= 1);
    }
    cmg_generate_options o = options(CMG_ELEMENT_Q1, 2);
    generate_set(&o, "shape=annulus grading=2");
    cmg_hierarchy *h = NULL;
    CHECK_STATUS(cmg_hierarchy_generate(ctx, &o, &h), CMG_ERR_ARG);
    o.shape = CMG_SHAPE_SQUARE;
    o.grading = 0.5;
    CHECK_STATUS(cmg_hierarchy_generate(ctx, &o, &h), CMG_ERR_ARG);
    o.grading = 1;
    o.smooth = true;
    CHECK_OK(cmg_generate_options_set(&o, "mesh=any.msh"));
    CHECK_STATUS(cmg_hierarchy_generate(ctx, &o, &h), CMG_ERR_ARG);
    CHECK(h == NULL);
}

TEST(mesh_can_be_left_out)
{
    cmg_generate_options o = options(CMG_ELEMENT_Q1, 2);
    const char *path = temporary("none.vtu");
    o.output_mesh = false;
    scoped_hierarchy *h = hierarchy_generated(&o);
    CHECK(!cmg_hierarchy_has_mesh(h));
    CHECK_STATUS(cmg_hierarchy_write_vtu(h, path, 0, NULL, NULL), CMG_ERR_STATE);
    cmg_hierarchy_destroy(&h);
    o.output_mesh = true;
    CHECK_OK(cmg_hierarchy_generate(ctx, &o, &h));
    CHECK_OK(cmg_hierarchy_select(h, 1, 0));
    CHECK(!cmg_hierarchy_has_mesh(h));
}

TEST(container_keeps_the_mesh)
{
    for (int c = 0; c < 2; ++c) {
        cmg_generate_options o = options(c == 0 ? CMG_ELEMENT_P2 : CMG_ELEMENT_Q1, 2 + c);
        o.problem = c == 0 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_POISSON;
        scoped_hierarchy *g = NULL;
        const char *path = temporary("mesh.cmg");
        scoped_hierarchy *h = hierarchy_generated(&o);
        const cmg_status written = cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER);
        if (written == CMG_ERR_UNSUPPORTED) {
            SKIP("no HDF5 in this build");
            return;
        }
        CHECK_OK(written);
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &g));
        const cmgi_stored_mesh *a = h->mesh;
        const cmgi_stored_mesh *b = g != NULL ? g->mesh : NULL;
        CHECK(b != NULL);
        if (b != NULL) {
            CHECK(a->dim == b->dim && a->corners == b->corners && a->nodes == b->nodes &&
                  a->cells == b->cells && a->boundary == b->boundary &&
                  a->components == b->components);
            CHECK(memcmp(a->x, b->x, (size_t)(a->nodes * a->dim) * 8) == 0);
            CHECK(memcmp(a->cell_nodes, b->cell_nodes, (size_t)(a->cells * a->corners) * 4) == 0);
            CHECK(memcmp(a->unknown, b->unknown, (size_t)a->nodes * 4) == 0);
            CHECK(memcmp(a->boundary_values, b->boundary_values,
                         (size_t)(a->boundary * a->components) * 8) == 0);
        }
    }
}

/* A mesh with one number wrong is refused, and stays the caller's. */
TEST(wrong_meshes_are_refused)
{
    cmg_generate_options o = options(CMG_ELEMENT_Q1, 2);
    scoped_hierarchy *h = hierarchy_generated(&o);
    cmgi_stored_mesh *m = h->mesh;
    h->mesh = NULL;
    const cmg_index unknown = m->unknown[6];
    m->unknown[6] = (cmg_index)cmg_hierarchy_rows(h, 0);
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    m->unknown[6] = -1;
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    m->unknown[6] = unknown;
    m->cell_nodes[3] = -1;
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    m->cell_nodes[3] = 6;
    m->x[5] = NAN;
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    m->x[5] = 0.5;
    m->dim = 3;
    m->corners = 3;
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    m->dim = 2;
    m->corners = 4;
    const cmg_size cells = m->cells;
    const cmg_index node = m->cell_nodes[0];
    m->cell_nodes[0] = -1;
    CHECK_REFUSED(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE, "cell 0: node -1");
    m->cells = (cmg_size)INT32_MAX + 1;
    CHECK_STATUS(cmgi_hierarchy_take_mesh(h, &m), CMG_ERR_FILE);
    CHECK(strstr(cmg_context_message(ctx), "2147483648 cells; 2147483647 are possible") != NULL);
    m->cells = cells;
    m->cell_nodes[0] = node;
    CHECK_OK(cmgi_hierarchy_take_mesh(h, &m));
    CHECK(m == NULL && cmg_hierarchy_has_mesh(h));
}

TEST(every_allocation_may_fail)
{
    cmg_generate_options o = options(CMG_ELEMENT_P2, 2);
    const char *path = temporary("fail.vtu");
    scoped_hierarchy *h = hierarchy_generated(&o);
    cmg_size n = 0;
    const double *b = vector_in(h, 0, "rhs", "b", &n);
    const char *const names[2] = {"b", "again"};
    const double *const vectors[2] = {b, b};
    for (failing f = {.most = 20}; failing_next(&f);) {
        failing_done(&f, cmg_hierarchy_write_vtu(h, path, 2, names, vectors));
    }
    CHECK_STATUS(cmg_hierarchy_write_vtu(h, "/nonexistent/a.vtu", 2, names, vectors), CMG_ERR_IO);
    CHECK_STATUS(cmg_hierarchy_write_vtu(h, NULL, 2, names, vectors), CMG_ERR_ARG);
    const double *const missing[2] = {b, NULL};
    CHECK_STATUS(cmg_hierarchy_write_vtu(h, path, 2, names, missing), CMG_ERR_ARG);
}

/* A mesh of the caller's, in VTK's order, becomes the file that the hierarchy with it becomes. */
TEST(own_meshes_are_written_equally)
{
    static const cmg_element elements[] = {CMG_ELEMENT_Q1, CMG_ELEMENT_P1};
    const char *const path[2] = {temporary("a.vtu"), temporary("b.vtu")};
    for (int k = 0; k < 4; ++k) {
        cmg_generate_options o = options(elements[k / 2], 2 + k % 2);
        generate_set(&o, "dirichlet=neumann load=source");
        cmg_size n = 0;
        scoped_hierarchy *h = hierarchy_generated(&o);
        const double *b = vector_in(h, 0, "rhs", "b", &n);
        const char *const name = "b";
        CHECK_OK(cmg_hierarchy_write_vtu(h, path[0], 1, &name, &b));
        const cmgi_stored_mesh *m = h->mesh;
        const unsigned char *local = cmgi_vtk_order(cmgi_basis_of(o.element, o.dim));
        scoped cmg_index *nodes =
            calloc((size_t)(m->cells * 27), sizeof *nodes); /* of any element */
        scoped double *values = malloc((size_t)m->nodes * sizeof *values);
        FILL(nodes, e, m->cells * m->corners,
             m->cell_nodes[e - e % m->corners + local[e % m->corners]]);
        FILL(values, v, m->nodes, b[m->unknown[v]]);
        cmg_fem_mesh mesh = {o.element, o.dim, m->nodes, m->x, m->cells, nodes};
        cmg_fem_field field = {"b", 1, false, values};
        CHECK_OK(cmg_fem_mesh_write_vtu(ctx, path[1], &mesh, 1, &field));
        size_t size[2];
        char *data[2] = {read_file(path[0], &size[0]), read_file(path[1], &size[1])};
        CHECK(size[0] == size[1] && memcmp(data[0], data[1], size[0]) == 0);
        field.values = NULL;
        CHECK_STATUS(cmg_fem_mesh_write_vtu(ctx, path[1], &mesh, 1, &field), CMG_ERR_ARG);
        CHECK_STATUS(cmg_fem_mesh_write_vtu(ctx, NULL, &mesh, 0, NULL), CMG_ERR_ARG);
        CHECK_STATUS(cmg_fem_mesh_write_vtu(ctx, "/nonexistent/a.vtu", &mesh, 0, NULL), CMG_ERR_IO);
        nodes[0] = (cmg_index)m->nodes;
        CHECK_STATUS(cmg_fem_mesh_write_vtu(ctx, path[1], &mesh, 0, NULL), CMG_ERR_ARG);
        nodes[0] = 0;
        mesh.element = CMG_ELEMENT_P2;
        CHECK_STATUS(cmg_fem_mesh_write_vtu(ctx, path[1], &mesh, 0, NULL), CMG_ERR_ARG);
        free_all(data[0], data[1]);
    }
}

AFTER_TESTS
{
    static const char *const names[] = {"mesh.cmg", "fail.vtu", "a.vtu", "b.vtu"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        (void)remove(temporary(names[k]));
    }
}
