/* Built-in shapes, checks and refinement: volumes, counts, Euler characteristics, relations. */
#include "fem/mesh_geometry.h"
#include "meshes.h"

static const double pi = 3.14159265358979323846;

/* Every shape with every cell it has. */
typedef struct shape_case {
    cmg_shape shape;
    cmgi_cell cell;
    long euler; /* of the domain: components - holes (+ cavities) */
} shape_case;
static const shape_case cases[] = {
    {CMG_SHAPE_SQUARE, CMGI_QUAD, 1},  {CMG_SHAPE_SQUARE, CMGI_TRI, 1},
    {CMG_SHAPE_SQUARE, CMGI_HEX, 1},   {CMG_SHAPE_SQUARE, CMGI_TET, 1},
    {CMG_SHAPE_LSHAPE, CMGI_QUAD, 1},  {CMG_SHAPE_LSHAPE, CMGI_TRI, 1},
    {CMG_SHAPE_LSHAPE, CMGI_HEX, 1},   {CMG_SHAPE_LSHAPE, CMGI_TET, 1},
    {CMG_SHAPE_BEAM, CMGI_QUAD, 1},    {CMG_SHAPE_BEAM, CMGI_TRI, 1},
    {CMG_SHAPE_BEAM, CMGI_HEX, 1},     {CMG_SHAPE_BEAM, CMGI_TET, 1},
    {CMG_SHAPE_FICHERA, CMGI_HEX, 1},  {CMG_SHAPE_FICHERA, CMGI_TET, 1},
    {CMG_SHAPE_ANNULUS, CMGI_QUAD, 0}, {CMG_SHAPE_ANNULUS, CMGI_TRI, 0},
    {CMG_SHAPE_HOLES, CMGI_QUAD, -1},  {CMG_SHAPE_HOLES, CMGI_TRI, -1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Area or volume that a shape has when its circles are polygons of the mesh's own sides. */
static double exact_volume(const cmgi_shape_options *o, const cmgi_mesh *mesh)
{
    const bool solid = mesh->dim == 3;
    double holes = 0;
    double sides[2] = {0, 0};
    switch (o->shape) {
    case CMG_SHAPE_LSHAPE:
        return (o->length[0] * o->length[0] -
                (o->length[0] - o->length[1]) * (o->length[0] - o->length[1])) *
               (solid ? o->length[2] : 1) * o->aspect;
    case CMG_SHAPE_BEAM:
        return o->length[0] * o->length[1] * (solid ? o->length[2] : 1) * o->aspect;
    case CMG_SHAPE_FICHERA:
        return 7 * o->aspect;
    case CMG_SHAPE_ANNULUS:
        sides[0] = (double)mesh->label[cmgi_mesh_find_label(mesh, "inner")].count;
        return sides[0] / 2 * sin(2 * pi / sides[0]) *
               (o->outer * o->outer - o->radius * o->radius) * o->aspect;
    case CMG_SHAPE_HOLES:
        holes = (double)(o->columns * o->rows);
        sides[0] = (double)mesh->label[cmgi_mesh_find_label(mesh, "holes")].count / holes;
        return holes * (1 - sides[0] / 2 * sin(2 * pi / sides[0]) * o->radius * o->radius) *
               o->aspect;
    default:
        return o->aspect;
    }
}

static void check_mesh(const cmgi_mesh *mesh, double volume, cmgi_mesh_report *report)
{
    CHECK_OK(cmgi_mesh_check(mesh, report));
    CHECK_NEAR(report->volume, volume, 1e-12 * volume);
    CHECK(report->quality > 0 && report->quality <= 1 + 1e-12);
    CHECK(report->edge_min > 0 && report->edge_min <= report->edge_max);
}

TEST(shapes_have_their_volume)
{
    EACH_PAIR (i, CASES, kind, 3) {
        const cmgi_cell cell = cases[i].cell;
        cmgi_shape_options o =
            shape_options(cases[i].shape, cell, cell == CMGI_HEX || cell == CMGI_TET ? 3 : 5);
        o.distortion = (cmgi_distortion)kind;
        o.fraction = kind == CMGI_DISTORT_SMOOTH ? 0.9 : 0.3;
        o.aspect = kind == 1 ? 7 : 1;
        o.grading = kind == 2 ? 1 : 3;
        scoped_mesh *mesh = shape_mesh(&o);
        cmgi_mesh_report report;
        check_mesh(mesh, exact_volume(&o, mesh), &report);
        CHECK(euler(mesh) == cases[i].euler);
        CHECK(mesh->label[0].count == 0);
    }
}

TEST(distortion_moves_inner_nodes_only)
{
    cmgi_shape_options o = shape_options(CMG_SHAPE_LSHAPE, CMGI_QUAD, 6);
    scoped_mesh *straight = shape_mesh(&o);
    for (int kind = CMGI_DISTORT_RANDOM; kind <= CMGI_DISTORT_SMOOTH; ++kind) {
        o.distortion = (cmgi_distortion)kind;
        scoped_mesh *mesh = shape_mesh(&o);
        cmg_size moved = 0;
        double most = 0;
        for (cmg_size k = 0; k < 2 * mesh->nodes; ++k) {
            moved += mesh->x[k] != straight->x[k];
            most = worst_of(most, fabs(mesh->x[k] - straight->x[k]));
        }
        for (cmg_size k = 0; k < 2 * mesh->facets; ++k) {
            const cmg_size v = mesh->facet_nodes[k];
            CHECK(mesh->x[2 * v] == straight->x[2 * v]);
            CHECK(mesh->x[2 * v + 1] == straight->x[2 * v + 1]);
        }
        CHECK(moved > mesh->nodes / 2);
        CHECK(most <= o.fraction / 6 || kind == CMGI_DISTORT_SMOOTH);
        scoped_mesh *again = shape_mesh(&o);
        CHECK(memcmp(again->x, mesh->x, (size_t)(2 * mesh->nodes) * sizeof *mesh->x) == 0);
        o.seed += 1;
        scoped_mesh *other = shape_mesh(&o);
        CHECK((memcmp(other->x, mesh->x, (size_t)(2 * mesh->nodes) * sizeof *mesh->x) == 0) ==
              (kind == CMGI_DISTORT_SMOOTH));
    }
}

/* Each fine node is where its children map it, children fill their parent, facets follow. */
static void check_relation(const cmgi_mesh *coarse, const cmgi_mesh *fine, const cmgi_entities *r)
{
    const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
    const cmg_size centres = cmgi_cell_simplex(coarse->cell) ? 0 : coarse->cells;
    CHECK(coarse->nodes + r->edge.count + r->face.count + centres == fine->nodes);
    const cmgi_basis geometry = {cmgi_cell_simplex(coarse->cell), 1, coarse->dim};
    for (cmg_size i = 0; i < fine->cells * info->corners; ++i) {
        const cmg_size cell = i / info->corners / info->children;
        const int child = (int)(i / info->corners % info->children);
        const int corner = (int)(i % info->corners);
        double xi[3];
        double N[CMGI_GEOMETRY_CORNERS];
        cmgi_basis_position(geometry, corner, xi);
        cmgi_space_to_parent(coarse->cell, child, xi);
        cmgi_basis_eval(geometry, xi, N, NULL);
        CHECK(child != corner ||
              fine->cell_nodes[i] == coarse->cell_nodes[cell * info->corners + corner]);
        for (int d = 0; d < coarse->dim; ++d) {
            double off = -fine->x[(cmg_size)fine->cell_nodes[i] * coarse->dim + d];
            for (int k = 0; k < info->corners; ++k) {
                const cmg_size v = coarse->cell_nodes[cell * info->corners + k];
                off += N[k] * coarse->x[v * coarse->dim + d];
            }
            CHECK_NEAR(off, 0, 1e-14 * 10);
        }
    }
    for (cmg_size c = 0; c < coarse->cells; ++c) {
        double sum = 0;
        for (int k = 0; k < info->children; ++k) {
            sum += cmgi_mesh_measure_cell(fine, c * info->children + k).volume;
        }
        CHECK_NEAR(sum, cmgi_mesh_measure_cell(coarse, c).volume, 1e-13 * sum);
    }
}

TEST(refinement_keeps_volume_and_topology)
{
    for (int i = 0; i < CASES; ++i) {
        cmgi_shape_options o = shape_options(cases[i].shape, cases[i].cell, 2);
        o.distortion = CMGI_DISTORT_RANDOM;
        scoped_mesh *coarse = shape_mesh(&o);
        const double volume = exact_volume(&o, coarse);
        for (int level = 0; level < 2; ++level) {
            const cmgi_cell_info *info = cmgi_cell_table(coarse->cell);
            cmgi_mesh *fine = NULL;
            cmgi_scoped_by(cmgi_entities_free) cmgi_entities r = {0};
            cmgi_mesh_report report;
            CHECK_OK(cmgi_mesh_entities(coarse, coarse->cell == CMGI_HEX, &r));
            CHECK_OK(cmgi_mesh_refine(coarse, NULL, &fine));
            check_mesh(fine, volume, &report);
            check_relation(coarse, fine, &r);
            CHECK(fine->cells == coarse->cells * info->children);
            CHECK(fine->facets == coarse->facets * info->children / 2);
            CHECK(euler(fine) == cases[i].euler);
            CHECK_EACH(k, fine->labels,
                       fine->label[k].count == coarse->label[k].count * info->children / 2);
            cmgi_mesh_destroy(&coarse);
            coarse = fine;
        }
    }
}

TEST(facets_point_outward)
{
    for (int i = 0; i < CASES; ++i) {
        const cmgi_shape_options o = shape_options(cases[i].shape, cases[i].cell, 2);
        scoped_mesh *coarse = shape_mesh(&o);
        scoped_mesh *mesh = NULL;
        CHECK_OK(cmgi_mesh_refine(coarse, NULL, &mesh));
        /* divergence theorem: dim x volume = sum over flat facets of (point . normal) */
        const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
        double flux = 0;
        for (cmg_size f = 0; f < mesh->facets; ++f) {
            const double *x[4] = {NULL};
            FILL(x, k, corners, mesh->x + (cmg_size)mesh->facet_nodes[f * corners + k] * mesh->dim);
            double n[3] = {0, 0, 0};
            if (mesh->dim == 2) {
                n[0] = x[1][1] - x[0][1];
                n[1] = x[0][0] - x[1][0];
            }
            for (int d = 0; d < 3 && mesh->dim == 3; ++d) {
                const int a = (d + 1) % 3;
                const int b = (d + 2) % 3;
                n[d] = ((x[1][a] - x[0][a]) * (x[2][b] - x[0][b]) -
                        (x[1][b] - x[0][b]) * (x[2][a] - x[0][a])) *
                       (corners == 3 ? 0.5 : 1);
            }
            for (int d = 0; d < mesh->dim; ++d) {
                flux += x[0][d] * n[d];
            }
        }
        CHECK_NEAR(flux / mesh->dim, exact_volume(&o, coarse), 1e-12 * 10);
    }
}

/* Sorted squared edge lengths over their sum: equal for similar tets. */
static void signature(const cmgi_mesh *mesh, cmg_size cell, double s[6])
{
    const cmgi_cell_info *info = cmgi_cell_table(CMGI_TET);
    double sum = 0;
    for (int e = 0; e < 6; ++e) {
        const cmg_index *node = mesh->cell_nodes + 4 * cell;
        double square = 0;
        for (int d = 0; d < 3; ++d) {
            const double gap =
                mesh->x[3 * node[info->edge[e][0]] + d] - mesh->x[3 * node[info->edge[e][1]] + d];
            square += gap * gap;
        }
        sum += square;
        int k = e;
        for (; k > 0 && s[k - 1] > square; --k) {
            s[k] = s[k - 1];
        }
        s[k] = square;
    }
    for (int e = 0; e < 6; ++e) {
        s[e] /= sum;
    }
}

TEST(tets_keep_three_shapes)
{
    scoped_mesh *mesh = NULL;
    uint64_t seed = 11;
    CHECK_OK(cmgi_mesh_create(ctx, CMGI_TET, 4, 1, 0, &mesh));
    for (int k = 0; k < 12; ++k) {
        mesh->x[k] = (k / 3 > 0 && k % 3 == k / 3 - 1) + 0.3 * cmgi_random(&seed);
        mesh->cell_nodes[k / 3] = k / 3;
    }
    CHECK_OK(cmgi_mesh_find_facets(mesh, NULL));
    for (int level = 0; level < 4; ++level) {
        refine(&mesh, NULL);
    }
    double shape[64][6];
    int shapes = 0;
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        double s[6];
        signature(mesh, c, s);
        int k = 0;
        for (; k < shapes; ++k) {
            double gap = 0;
            for (int e = 0; e < 6; ++e) {
                gap = worst_of(gap, fabs(s[e] - shape[k][e]));
            }
            if (gap < 1e-10) {
                break;
            }
        }
        if (k == shapes && shapes < 64) {
            memcpy(shape[shapes++], s, sizeof s);
        }
    }
    CHECK(shapes == 3);
}

TEST(entities_are_found_again)
{
    const cmgi_shape_options o = shape_options(CMG_SHAPE_FICHERA, CMGI_HEX, 2);
    scoped_mesh *mesh = shape_mesh(&o);
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
    CHECK_OK(cmgi_mesh_entities(mesh, true, &e));
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        const cmg_index *node = mesh->cell_nodes + 8 * c;
        for (int k = 0; k < 12; ++k) {
            const cmg_index ends[2] = {node[info->edge[k][1]], node[info->edge[k][0]]};
            CHECK(cmgi_entity_find(&e.edge, ends) == e.edge.of_cell[12 * c + k]);
        }
        for (int k = 0; k < 6; ++k) {
            const cmg_index face[4] = {node[info->facet[k][3]], node[info->facet[k][1]],
                                       node[info->facet[k][0]], node[info->facet[k][2]]};
            CHECK(cmgi_entity_find(&e.face, face) == e.face.of_cell[6 * c + k]);
        }
    }
    const cmg_index apart[2] = {0, (cmg_index)mesh->nodes - 1};
    CHECK(cmgi_entity_find(&e.edge, apart) == -1);
    /* each face has one cell or two: 6 cells = 2 inner + boundary */
    CHECK(6 * mesh->cells == 2 * e.face.count - mesh->facets);
}

TEST(threads_do_not_matter)
{
    const cmgi_shape_options o = shape_options(CMG_SHAPE_FICHERA, CMGI_HEX, 12);
    const int threads = ctx->threads;
    scoped_mesh *first = NULL;
    for (int t = 1; t <= 5; t += 2) {
        ctx->threads = t;
        scoped_mesh *coarse = shape_mesh(&o);
        scoped_mesh *fine = NULL;
        CHECK_OK(cmgi_mesh_refine(coarse, NULL, first == NULL ? &first : &fine));
        if (fine == NULL) {
            continue;
        }
        CHECK(memcmp(first->cell_nodes, fine->cell_nodes, (size_t)(8 * fine->cells) * 4) == 0);
        CHECK(memcmp(first->x, fine->x, (size_t)(3 * fine->nodes) * 8) == 0);
        CHECK(memcmp(first->facet_nodes, fine->facet_nodes, (size_t)(4 * fine->facets) * 4) == 0);
    }
    ctx->threads = threads;
}

static void refuses(const cmgi_shape_options *o, cmg_status expected)
{
    cmgi_mesh *mesh = NULL;
    CHECK_STATUS(cmgi_shape_mesh(ctx, o, &mesh), expected);
    CHECK(mesh == NULL);
}

/* Numbers just inside and just outside their ranges; what is inside is refused as too large. */
TEST(numbers_have_ranges)
{
    static const struct {
        cmg_size n;
        double aspect;
        double grading;
        double length;
        cmg_size columns;
        bool inside;
    } rows[] = {
        {1000000, 1, 1, 1, 1, true},         {1000001, 1, 1, 1, 1, false},
        {1000000, 1e-9, 1, 1, 1, true},      {1000000, 0, 1, 1, 1, false},
        {1000000, 1, 0.999999, 1, 1, false}, {1000000, INFINITY, 1, 1, 1, false},
        {1000000, 1, 1, 1e6, 1, true},       {1000000, 1, 1, 1.000001e6, 1, false},
        {1000000, 1, 1, 0, 1, false},        {1000000, 1, INFINITY, 1, 1, false},
        {1000000, 1, 1, 1, 10000, true},     {1000000, 1, 1, 1, 10001, false},
        {1000000, 1, 1, 1, 0, false},
    };
    EACH_PAIR (k, sizeof rows / sizeof rows[0], side, 2) {
        cmgi_shape_options o = shape_options(CMG_SHAPE_SQUARE, CMGI_QUAD, rows[k].n);
        o.aspect = rows[k].aspect;
        o.grading = rows[k].grading;
        o.length[side] = rows[k].length;
        *(side == 0 ? &o.columns : &o.rows) = rows[k].columns;
        const cmg_status expected = rows[k].inside ? CMG_ERR_UNSUPPORTED : CMG_ERR_ARG;
        refuses(&o, expected);
    }
}

TEST(options_are_checked)
{
    static const struct {
        cmg_shape shape;
        cmgi_cell cell;
        cmg_size n;
        cmg_status expected;
    } whole[] = {{CMG_SHAPE_FICHERA, CMGI_QUAD, 4, CMG_ERR_UNSUPPORTED},
                 {CMG_SHAPE_HOLES, CMGI_HEX, 4, CMG_ERR_UNSUPPORTED},
                 {CMG_SHAPE_SQUARE, CMGI_QUAD, 0, CMG_ERR_ARG},
                 {CMG_SHAPE_SQUARE, CMGI_QUAD, 100000, CMG_ERR_UNSUPPORTED}};
    for (size_t k = 0; k < sizeof whole / sizeof whole[0]; ++k) {
        const cmgi_shape_options o = shape_options(whole[k].shape, whole[k].cell, whole[k].n);
        refuses(&o, whole[k].expected);
    }
    cmgi_shape_options o = shape_options(CMG_SHAPE_HOLES, CMGI_QUAD, 4);
    o.radius = 0.5;
    refuses(&o, CMG_ERR_ARG);
    o = shape_options(CMG_SHAPE_LSHAPE, CMGI_QUAD, 4);
    o.length[1] = 2;
    refuses(&o, CMG_ERR_ARG);
    o = shape_options(CMG_SHAPE_BEAM, CMGI_QUAD, 4);
    o.length[1] = 0.3;
    refuses(&o, CMG_ERR_ARG);
    o = shape_options(CMG_SHAPE_SQUARE, CMGI_QUAD, 4);
    o.distortion = CMGI_DISTORT_RANDOM;
    o.fraction = 0.5;
    refuses(&o, CMG_ERR_ARG);
    int shape = -1;
    CHECK_OK(cmg_fem_enum_parse("shape", "annulus", &shape));
    CHECK(shape == CMG_SHAPE_ANNULUS);
    CHECK_STATUS(cmg_fem_enum_parse("shape", "x", &shape), CMG_ERR_ARG);
}

TEST(every_allocation_may_fail)
{
    cmgi_shape_options o;
    cmgi_shape_options_default(CMG_SHAPE_ANNULUS, &o);
    o.cell = CMGI_TRI;
    o.distortion = CMGI_DISTORT_RANDOM;
    for (failing f = {.most = 500}; failing_next(&f);) {
        scoped_mesh *coarse = NULL;
        scoped_mesh *fine = NULL;
        cmg_status status = cmgi_shape_mesh(ctx, &o, &coarse);
        cmgi_surface surface[2];
        if (status == CMG_OK) {
            const cmgi_snap snap = {cmgi_shape_surfaces(&o, coarse, 2, surface), surface};
            status = cmgi_mesh_refine(coarse, &snap, &fine);
        }
        failing_done(&f, status != CMG_OK ? status : cmgi_mesh_check(fine, NULL));
    }
}
