/* Built-in shapes: options, checks and boundary names. */
#include "fem/mesh_shapes.h"

#include <math.h>

void cmgi_shape_options_default(cmg_shape shape, cmgi_shape_options *options)
{
    *options = (cmgi_shape_options){
        .shape = shape,
        .cell = shape == CMG_SHAPE_FICHERA || shape == CMG_SHAPE_CUBE ? CMGI_HEX : CMGI_QUAD,
        .n = 4,
        .length = {shape == CMG_SHAPE_BEAM ? 4 : 2, 1, 1},
        .columns = 2,
        .rows = 1,
        .radius = shape == CMG_SHAPE_ANNULUS ? 0.5 : 0.25,
        .outer = 1,
        .aspect = 1,
        .grading = 1,
        .fraction = 0.2,
        .seed = 1,
    };
}

static cmg_status check_numbers(cmg_context *ctx, const cmgi_shape_options *o)
{
    CMGI_CHECK(ctx, o->n >= 1 && o->n <= 1000000, CMG_ERR_ARG, "n is %lld, not 1 .. 1000000",
               (long long)o->n);
    CMGI_CHECK(ctx, o->aspect > 0 && isfinite(o->aspect), CMG_ERR_ARG,
               "the aspect ratio is %g, not above 0", o->aspect);
    CMGI_CHECK(ctx, o->grading >= 1 && isfinite(o->grading), CMG_ERR_ARG,
               "the grading is %g, less than 1", o->grading);
    CMGI_CHECK(
        ctx,
        o->distortion == CMGI_DISTORT_NONE ||
            (o->fraction >= 0 && o->fraction < (o->distortion == CMGI_DISTORT_RANDOM ? 0.5 : 1)),
        CMG_ERR_ARG, "the distortion %g is not in [0, %g)", o->fraction,
        o->distortion == CMGI_DISTORT_RANDOM ? 0.5 : 1.0);
    for (int d = 0; d < 3; ++d) {
        CMGI_CHECK(ctx, o->length[d] > 0 && o->length[d] <= 1e6, CMG_ERR_ARG,
                   "length %d is %g, not in (0, 1e6]", d, o->length[d]);
    }
    CMGI_CHECK(ctx, o->columns >= 1 && o->rows >= 1 && o->columns <= 10000 && o->rows <= 10000,
               CMG_ERR_ARG, "%lld x %lld tiles", (long long)o->columns, (long long)o->rows);
    return CMG_OK;
}

static cmg_status check_options(cmg_context *ctx, const cmgi_shape_options *o)
{
    const cmgi_cell_info *info = cmgi_cell_table(o->cell);
    const char *name = cmg_fem_enum_name("shape", (int)o->shape);
    CMGI_CHECK(ctx, name != NULL && info != NULL, CMG_ERR_ARG, "shape %d with cells %d",
               (int)o->shape, (int)o->cell);
    CMGI_TRY(check_numbers(ctx, o));
    const bool ring = o->shape == CMG_SHAPE_HOLES || o->shape == CMG_SHAPE_ANNULUS;
    CMGI_CHECK(ctx, !ring || info->dim == 2, CMG_ERR_UNSUPPORTED,
               "%s is made of quads or triangles, not of %s cells", name, info->name);
    CMGI_CHECK(ctx, o->shape != CMG_SHAPE_FICHERA || info->dim == 3, CMG_ERR_UNSUPPORTED,
               "fichera is made of hexes or tets, not of %s cells", info->name);
    CMGI_CHECK(ctx, o->shape != CMG_SHAPE_HOLES || (o->radius > 0 && o->radius < 0.5), CMG_ERR_ARG,
               "the radius %g of holes is not in (0, 0.5)", o->radius);
    CMGI_CHECK(ctx,
               o->shape != CMG_SHAPE_ANNULUS ||
                   (o->radius > 0 && o->radius < o->outer && o->outer <= 1e6),
               CMG_ERR_ARG, "a ring from radius %g to %g", o->radius, o->outer);
    CMGI_CHECK(ctx, o->shape != CMG_SHAPE_LSHAPE || o->length[1] < o->length[0], CMG_ERR_ARG,
               "arms of width %g for a side of %g", o->length[1], o->length[0]);
    return CMG_OK;
}

const char *const cmgi_side_names[6] = {"left", "right", "bottom", "top", "back", "front"};

/* Name of the boundary that a facet is on. */
static const char *facet_name(const cmgi_mesh *mesh, const cmgi_shape_options *o, cmg_size f,
                              const double extent[3])
{
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    const cmg_index *node = mesh->facet_nodes + f * corners;
    const double *x = mesh->x + (cmg_size)node[0] * mesh->dim;
    if (o->shape == CMG_SHAPE_ANNULUS) {
        return hypot(x[0], x[1]) < 0.5 * (o->radius + o->outer) ? "inner" : "outer";
    }
    for (int s = 0; s < 2 * mesh->dim; ++s) {
        bool on = true;
        for (int i = 0; i < corners; ++i) {
            on = on &&
                 mesh->x[(cmg_size)node[i] * mesh->dim + s / 2] == (s % 2 == 0 ? 0 : extent[s / 2]);
        }
        if (on) {
            return cmgi_side_names[s];
        }
    }
    if (o->shape != CMG_SHAPE_HOLES) {
        return "corner";
    }
    return cmgi_plate_centre(o, (cmg_size)x[0], (cmg_size)x[1]) ? "centre" : "holes";
}

static cmg_status label_facets(cmgi_mesh *mesh, const cmgi_shape_options *o)
{
    double extent[3];
    cmgi_shape_extent(o, extent);
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        const char *name = facet_name(mesh, o, f, extent);
        cmg_index label = cmgi_mesh_find_label(mesh, name);
        if (label < 0) {
            label = mesh->labels;
            CMGI_TRY(cmgi_label_add(mesh->ctx, label, name, &mesh->label, &mesh->labels));
        }
        mesh->facet_label[f] = label;
    }
    cmgi_mesh_count_labels(mesh);
    return CMG_OK;
}

cmg_status cmgi_shape_mesh(cmg_context *ctx, const cmgi_shape_options *options, cmgi_mesh **mesh)
{
    CMGI_TRY(check_options(ctx, options));
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *tensor = NULL; /* of quads or hexes */
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *m = NULL;
    CMGI_TRY((options->shape == CMG_SHAPE_ANNULUS ? cmgi_shape_annulus
              : options->shape == CMG_SHAPE_HOLES ? cmgi_shape_plate
                                                  : cmgi_shape_lattice)(ctx, options, &tensor));
    if (cmgi_cell_simplex(options->cell)) {
        CMGI_TRY(cmgi_mesh_split(tensor, &m));
    } else {
        m = cmgi_pass_on(&tensor);
    }
    CMGI_TRY(cmgi_mesh_find_facets(m, NULL));
    CMGI_TRY(label_facets(m, options));
    if (options->distortion == CMGI_DISTORT_RANDOM) {
        CMGI_TRY(cmgi_mesh_distort(m, options->fraction, options->seed));
    }
    for (cmg_size v = 0; v < m->nodes && options->aspect != 1; ++v) {
        m->x[v * m->dim] *= options->aspect;
    }
    *mesh = cmgi_pass_on(&m);
    return CMG_OK;
}

int cmgi_shape_surfaces(const cmgi_shape_options *o, const cmgi_mesh *mesh, int capacity,
                        cmgi_surface *surface)
{
    int count = 0;
    if (o->aspect != 1) {
        return 0;
    }
    for (int k = 0; k < 2 && o->shape == CMG_SHAPE_ANNULUS; ++k, ++count) {
        if (count < capacity) {
            surface[count] =
                (cmgi_surface){.label = cmgi_mesh_find_label(mesh, k == 0 ? "inner" : "outer"),
                               .radius = k == 0 ? o->radius : o->outer};
        }
    }
    const cmg_size tiles = o->shape == CMG_SHAPE_HOLES ? o->columns * o->rows : 0;
    for (cmg_size t = 0; t < tiles; ++t) {
        const cmg_size i = t % o->columns;
        const cmg_size j = t / o->columns;
        const char *name = cmgi_plate_centre(o, i, j) ? "centre" : "holes";
        if (!cmgi_plate_hole(o, i, j)) {
            continue;
        }
        if (count < capacity) {
            surface[count] = (cmgi_surface){.label = cmgi_mesh_find_label(mesh, name),
                                            .centre = {(double)i + 0.5, (double)j + 0.5, 0},
                                            .radius = o->radius};
        }
        ++count;
    }
    return count;
}
