/* Prolongation between meshes: nested ones as by refinement, polynomials exactly on any. */
#include "fem/locate.h"
#include "meshes.h"

/* A distorted square or cube, or a ring. */
static cmgi_mesh *make(cmg_shape shape, cmgi_cell cell, cmg_size n, unsigned long long seed)
{
    cmgi_shape_options o = shape_options(shape, cell, n);
    o.seed = seed;
    o.fraction = 0.15;
    o.distortion = shape == CMG_SHAPE_SQUARE ? CMGI_DISTORT_RANDOM : CMGI_DISTORT_NONE;
    return shape_mesh(&o);
}

static cmgi_space *space_on(const cmgi_mesh *mesh, int order)
{
    const bool fixes[16] = {false};
    cmgi_space *space = NULL;
    CHECK_OK(cmgi_space_create(mesh, order, 1, CMG_BOUNDARY_NEUMANN, fixes, &space));
    return space;
}

static cmg_fem_mesh arrays(const cmgi_mesh *mesh, int order)
{
    cmg_fem_mesh a = {.nodes = 0};
    scoped_space *space = space_on(mesh, order);
    CHECK_OK(cmgi_space_export(space, &a));
    return a;
}

/* VTK's documented edges of its quadratic cells, as pairs of corners. */
TEST(nodes_are_in_vtk_order)
{
    static const int tri[3][2] = {{0, 1}, {1, 2}, {2, 0}};
    static const int tet[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    static const int quad[4][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
    static const int hex[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                                   {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    static const int face[6][4] = {{0, 3, 7, 4}, {1, 2, 6, 5}, {0, 1, 5, 4},
                                   {3, 2, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
    const struct {
        cmgi_basis basis;
        int corners;
        int edges;
        const int (*edge)[2];
    } cells[4] = {{{true, 2, 2}, 3, 3, tri},
                  {{true, 2, 3}, 4, 6, tet},
                  {{false, 2, 2}, 4, 4, quad},
                  {{false, 2, 3}, 8, 12, hex}};
    for (int i = 0; i < 4; ++i) {
        const int dim = cells[i].basis.dim;
        const unsigned char *local = cmgi_vtk_order(cells[i].basis);
        double x[27][3] = {{0}};
        double low[3] = {1, 1, 1};
        for (int a = 0; a < cmgi_basis_nodes(cells[i].basis); ++a) {
            cmgi_basis_position(cells[i].basis, local[a], x[a]);
            low[0] = fmin(low[0], x[a][0]);
        }
        CHECK(low[0] == 0);
        for (int d = 0; d < dim; ++d) {
            for (int e = 0; e < cells[i].edges; ++e) {
                const int *c = cells[i].edge[e];
                CHECK_NEAR(x[cells[i].corners + e][d], 0.5 * (x[c[0]][d] + x[c[1]][d]), 0);
            }
            for (int f = 0; f < 6 && i == 3; ++f) {
                const int *c = face[f];
                CHECK_NEAR(x[20 + f][d], 0.25 * (x[c[0]][d] + x[c[1]][d] + x[c[2]][d] + x[c[3]][d]),
                           0);
            }
            CHECK(i < 2 || x[i == 2 ? 8 : 26][d] == 0.5);
        }
        /* corners go around: 0-1 along the first axis, 1-2 along the second */
        CHECK(x[1][0] == 1 && x[1][1] == 0 && x[2][1] == 1 && (i < 2 || x[2][0] == 1));
    }
}

TEST(nested_meshes_give_the_embedding)
{
    for (int c = 0; c < 8; ++c) {
        const int order = 1 + c / 4;
        scoped_mesh *coarse = make(CMG_SHAPE_SQUARE, (cmgi_cell)(c % 4), 3, 5);
        scoped_mesh *fine = NULL;
        CHECK_OK(cmgi_mesh_refine(coarse, NULL, &fine));
        scoped_space *from = space_on(coarse, order);
        scoped_space *to = space_on(fine, order);
        scoped_csr expected = {0};
        CHECK_OK(cmgi_space_prolongation(to, from, &expected));
        scoped_fem_mesh a = arrays(coarse, order);
        scoped_fem_mesh b = arrays(fine, order);
        scoped_fem_csr P = {.rows = 0};
        CHECK_OK(cmg_fem_transfer(ctx, &a, 1, b.nodes, b.x, &P));
        CHECK(P.rows == expected.rows && P.cols == expected.cols);
        CHECK(P.indptr[P.rows] == expected.indptr[expected.rows]);
        CHECK_EACH(i, P.rows, P.indptr[i + 1] == expected.indptr[i + 1]);
        for (cmg_size k = 0; k < P.indptr[P.rows]; ++k) {
            CHECK(P.indices[k] == expected.indices[k]);
            CHECK_NEAR(P.values[k], expected.values[k], 1e-14);
        }
    }
}

/* Of total degree `degree`: every element's space contains it, distorted or not. */
static double polynomial(int degree, int dim, const double *x)
{
    const double z = dim == 3 ? x[2] : 0.25;
    const double linear = 1 + 2 * x[0] - x[1] + 0.5 * z;
    return degree == 1 ? linear : linear * linear - x[0] * z + 3 * x[1] * x[1];
}

/* P takes the polynomial's values to its values, component by component. */
static void check_polynomial(const cmg_fem_mesh *a, const cmg_fem_mesh *b, int degree, int nc)
{
    scoped_fem_csr P = {.rows = 0};
    CHECK_OK(cmg_fem_transfer(ctx, a, nc, b->nodes, b->x, &P));
    CHECK(P.rows == b->nodes * nc && P.cols == a->nodes * nc);
    for (cmg_size i = 0; i < P.rows; ++i) {
        double sum = 0;
        for (cmg_size k = P.indptr[i]; k < P.indptr[i + 1]; ++k) {
            const cmg_size node = P.indices[k] / nc;
            CHECK(P.indices[k] % nc == i % nc);
            sum += P.values[k] * polynomial(degree, a->dim, a->x + node * a->dim);
        }
        CHECK_NEAR(sum, polynomial(degree, a->dim, b->x + i / nc * a->dim), 1e-10);
    }
}

TEST(polynomials_are_exact_between_any_meshes)
{
    for (int c = 0; c < 8; ++c) {
        const int order = 1 + c / 4;
        scoped_mesh *coarse = make(CMG_SHAPE_SQUARE, (cmgi_cell)(c % 4), 3, 5);
        scoped_mesh *fine = make(CMG_SHAPE_SQUARE, (cmgi_cell)(c % 4), 5, 9);
        scoped_fem_mesh a = arrays(coarse, order);
        scoped_fem_mesh b = arrays(fine, order);
        check_polynomial(&a, &b, order, 1);
        check_polynomial(&a, &b, 1, a.dim);
    }
}

/* A finer polygon of a ring lies partly outside the coarse one. */
TEST(nodes_outside_take_the_nearest_cell)
{
    for (int c = 0; c < 4; ++c) {
        const int order = 1 + c / 2;
        scoped_mesh *coarse = make(CMG_SHAPE_ANNULUS, (cmgi_cell)(c % 2), 3, 1);
        scoped_mesh *fine = make(CMG_SHAPE_ANNULUS, (cmgi_cell)(c % 2), 8, 1);
        scoped_fem_mesh a = arrays(coarse, order);
        scoped_fem_mesh b = arrays(fine, order);
        check_polynomial(&a, &b, order, 1);
    }
}

/* Every point is found in the cell that a look at all cells finds. */
TEST(the_tree_finds_what_all_cells_show)
{
    scoped_mesh *mesh = make(CMG_SHAPE_SQUARE, CMGI_HEX, 5, 3);
    scoped_fem_mesh a = arrays(mesh, 1);
    cmgi_locator locator;
    CHECK_OK(cmgi_locator_create(ctx, &a, &locator));
    for (cmg_size c = 0; c < a.cells; ++c) {
        double x[3] = {0, 0, 0};
        EACH_PAIR (k, 8, d, 3) {
            x[d] += a.x[3 * a.cell_nodes[8 * c + k] + d] / 8;
        }
        const cmgi_location place = cmgi_locate(&locator, x);
        CHECK(place.cell == c && place.distance == 0);
        CHECK_NEAR_EACH(d, 3, place.xi[d], 0.5, 1e-12);
    }
    cmgi_locator_free(&locator);
}

TEST(threads_change_nothing)
{
    scoped_mesh *coarse = make(CMG_SHAPE_SQUARE, CMGI_TRI, 12, 5);
    scoped_mesh *fine = make(CMG_SHAPE_SQUARE, CMGI_TRI, 31, 9);
    scoped_fem_mesh a = arrays(coarse, 2);
    cmg_csr P[2] = {{.rows = 0}, {.rows = 0}};
    cmg_context *other[2] = {context_of_threads(1), context_of_threads(3)};
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(cmg_fem_transfer(other[i], &a, 1, fine->nodes, fine->x, &P[i]));
    }
    const cmg_size nnz = P[0].indptr[P[0].rows];
    CHECK(nnz == P[1].indptr[P[1].rows]);
    CHECK(memcmp(P[0].indices, P[1].indices, (size_t)nnz * sizeof *P[0].indices) == 0);
    CHECK(memcmp(P[0].values, P[1].values, (size_t)nnz * sizeof *P[0].values) == 0);
    for (int i = 0; i < 2; ++i) {
        cmg_fem_csr_free(other[i], &P[i]);
        cmg_context_destroy(&other[i]);
    }
}

TEST(mistakes_are_refused)
{
    scoped_mesh *mesh = make(CMG_SHAPE_SQUARE, CMGI_TRI, 2, 1);
    scoped_fem_mesh a = arrays(mesh, 1);
    scoped_fem_csr P = {.rows = 0};
    const double far[2] = {5, 5};
    const double bad[2] = {0, NAN};
    CHECK_STATUS(cmg_fem_transfer(ctx, &a, 1, 1, far, &P), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_fem_transfer(ctx, &a, 1, 1, bad, &P), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_transfer(ctx, &a, 0, a.nodes, a.x, &P), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_transfer(ctx, &a, 1, 0, a.x, &P), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_transfer(ctx, NULL, 1, a.nodes, a.x, &P), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_transfer(NULL, &a, 1, a.nodes, a.x, &P), CMG_ERR_ARG);
    cmg_fem_mesh wrong = a;
    wrong.nodes = 3;
    CHECK_STATUS(cmg_fem_transfer(ctx, &wrong, 1, a.nodes, a.x, &P), CMG_ERR_ARG);
    wrong = a;
    wrong.dim = 4;
    CHECK_STATUS(cmg_fem_transfer(ctx, &wrong, 1, a.nodes, a.x, &P), CMG_ERR_ARG);
    cmg_fem_mesh none = {.nodes = 0};
    const cmg_index twice[6] = {0, 0, 0, 0, 0, 0}; /* two triangles of one node */
    wrong = a;
    wrong.cells = 2;
    wrong.cell_nodes = twice;
    CHECK_STATUS(cmg_fem_mesh_refine(ctx, &wrong, &none, NULL), CMG_ERR_SHAPE);
    CHECK(strstr(cmg_context_message(ctx), "cell 0 is degenerate") != NULL && none.nodes == 0);
    CHECK_STATUS(cmg_fem_mesh_read(ctx, "/nowhere.msh", 1, &none), CMG_ERR_IO);
    CHECK_STATUS(cmg_fem_mesh_read(ctx, "/nowhere.msh", 3, &none), CMG_ERR_ARG);
    for (failing f = {.most = 100, .fewest = 3}; failing_next(&f);) {
        failing_done(&f, cmg_fem_transfer(ctx, &a, 2, a.nodes, a.x, &P));
        cmg_fem_csr_free(ctx, &P);
    }
}
