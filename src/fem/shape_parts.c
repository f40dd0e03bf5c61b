/* What several kinds of shapes have in common. */
#include "fem/mesh_shapes.h"

#include <math.h>

double cmgi_smooth_fraction(const cmgi_shape_options *o)
{
    return o->distortion == CMGI_DISTORT_SMOOTH ? o->fraction : 0;
}

void cmgi_bend(int dim, double fraction, double *u)
{
    double move = fraction / (2 * 3.14159265358979323846 * dim);
    for (int d = 0; d < dim; ++d) {
        const double turn = u[d] - floor(u[d]); /* a sine is exactly zero at multiples of 1/2 */
        move *= turn == 0 || turn == 0.5 ? 0 : sin(2 * 3.14159265358979323846 * turn);
    }
    for (int d = 0; d < dim; ++d) {
        u[d] += move;
    }
}

void cmgi_shape_extent(const cmgi_shape_options *o, double extent[3])
{
    for (int d = 0; d < 3; ++d) {
        extent[d] = o->shape == CMG_SHAPE_BEAM      ? o->length[d]
                    : o->shape == CMG_SHAPE_FICHERA ? 2
                    : o->shape == CMG_SHAPE_LSHAPE  ? o->length[d == 2 ? 2 : 0]
                                                    : 1;
    }
    if (o->shape == CMG_SHAPE_HOLES) {
        extent[0] = (double)o->columns;
        extent[1] = (double)o->rows;
    }
}

bool cmgi_plate_hole(const cmgi_shape_options *o, cmg_size i, cmg_size j)
{
    return !o->alternate || (i + j) % 2 == 0;
}

bool cmgi_plate_centre(const cmgi_shape_options *o, cmg_size i, cmg_size j)
{
    return o->alternate && o->columns % 2 == 1 && o->rows % 2 == 1 && 2 * i + 1 == o->columns &&
           2 * j + 1 == o->rows && cmgi_plate_hole(o, i, j);
}
