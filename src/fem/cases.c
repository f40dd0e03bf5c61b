/* The named cases of preassembled/: hierarchies that comparisons refer to. */
#include "cmg_fem.h"

#include <string.h>

/* What a case changes in the default options; 0 and NULL leave the default. */
typedef struct generate_case {
    const char *name;
    const char *text;
    cmg_element element;
    int dim;
    cmg_shape shape;
    cmg_size cells;
    int levels;
    cmg_problem problem;
    cmg_coefficient coefficient;
    double distort;
    double aspect;
    double length;
    int columns;
    int rows;
    bool alternate;
    const char *dirichlet;
    cmg_numbering numbering;
} generate_case;

/* What every case says, and what it changes besides. */
#define CASE(name_, text_, element_, dim_, shape_, cells_)                                         \
    .name = name_, .text = text_, .element = CMG_ELEMENT_##element_, .dim = dim_,                  \
    .shape = CMG_SHAPE_##shape_, .cells = cells_

static const generate_case cases[] = {
    {CASE("poisson-q1-2d-64", "small: square, Q1, 4 k unknowns", Q1, 2, SQUARE, 64)},
    {CASE("poisson-q2-2d-32", "small: square, Q2, 4 k unknowns", Q2, 2, SQUARE, 32)},
    {CASE("poisson-p1-2d-lshape", "small: L-shape, P1, 3 k unknowns", P1, 2, LSHAPE, 32)},
    {CASE("poisson-p2-2d-annulus", "small: ring, P2", P2, 2, ANNULUS, 16)},
    {CASE("poisson-q1-3d-16", "small: cube, Q1, 3 k unknowns", Q1, 3, CUBE, 16)},
    {CASE("poisson-p1-3d-16", "small: cube, P1, 3 k unknowns", P1, 3, CUBE, 16)},
    {CASE("elasticity-q1-2d-beam", "small: cantilever, plane stress, Q1", Q1, 2, BEAM, 16),
     .problem = CMG_PROBLEM_ELASTICITY},
    {CASE("poisson-q1-2d-1024", "square, Q1, 1.0 M unknowns", Q1, 2, SQUARE, 1024)},
    {CASE("poisson-q1-2d-4096", "square, Q1, 16.8 M unknowns", Q1, 2, SQUARE, 4096)},
    {CASE("poisson-q2-2d-512", "square, Q2, 1.0 M unknowns", Q2, 2, SQUARE, 512)},
    {CASE("poisson-p1-2d-1024", "square, P1, 1.0 M unknowns", P1, 2, SQUARE, 1024)},
    {CASE("poisson-q1-3d-64", "cube, Q1, 250 k unknowns", Q1, 3, CUBE, 64)},
    {CASE("poisson-q1-3d-128", "cube, Q1, 2.0 M unknowns", Q1, 3, CUBE, 128)},
    {CASE("poisson-q1-3d-256", "cube, Q1, 16.6 M unknowns", Q1, 3, CUBE, 256)},
    {CASE("poisson-q2-3d-64", "cube, Q2, 2.0 M unknowns", Q2, 3, CUBE, 64)},
    {CASE("poisson-q1-3d-fichera", "cube without a corner octant, Q1, 216 k unknowns", Q1, 3,
          FICHERA, 32)},
    {CASE("poisson-q1-2d-512-random", "square, Q1, 261 k unknowns in random order", Q1, 2, SQUARE,
          512),
     .numbering = CMG_NUMBERING_RANDOM},
    {CASE("poisson-q1-2d-512-cells", "square, Q1, 261 k unknowns by coarse cell", Q1, 2, SQUARE,
          512),
     .numbering = CMG_NUMBERING_CELLS},
    {CASE("poisson-q1-2d-512-distorted", "square of distorted cells, Q1, 261 k unknowns", Q1, 2,
          SQUARE, 512),
     .levels = 6, .distort = 0.4},
    {CASE("poisson-q1-2d-512-stretched", "cells 16 times as long as high, Q1, 261 k unknowns", Q1,
          2, SQUARE, 512),
     .aspect = 16},
    {CASE("poisson-q1-2d-512-jump", "coefficient 100 in the middle, Q1, 261 k unknowns", Q1, 2,
          SQUARE, 512),
     .coefficient = CMG_COEFFICIENT_JUMP},
    {CASE("poisson-q1-2d-512-anisotropic", "conduction 100 times along x, Q1, 261 k unknowns", Q1,
          2, SQUARE, 512),
     .coefficient = CMG_COEFFICIENT_ANISOTROPIC},
    {CASE("poisson-q1-3d-64-random", "random coefficient from 1 to 100, Q1, 250 k unknowns", Q1, 3,
          CUBE, 64),
     .coefficient = CMG_COEFFICIENT_RANDOM},
    {CASE("heat-q1-2d-step", "a time step of heat conduction, Q1, 1.0 M unknowns", Q1, 2, SQUARE,
          1024),
     .problem = CMG_PROBLEM_HEAT},
    {CASE("convection-q1-2d-512", "reaction, convection and diffusion, Q1, 261 k unknowns", Q1, 2,
          SQUARE, 512),
     .problem = CMG_PROBLEM_CONVECTION},
    {CASE("elasticity-q1-3d-beam", "cantilever in 3D, Q1, 55 k unknowns", Q1, 3, BEAM, 16),
     .problem = CMG_PROBLEM_ELASTICITY},
    /* problems and sizes of the matrix-free comparison that names them C1-C5, L1, L3, L5, H1, H5 */
    {CASE("cantilever-c1", "cantilever of 1000 x 100 Q1 cells, plane stress, 0.2 M unknowns", Q1, 2,
          BEAM, 100),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 10, .dirichlet = "left"},
    {CASE("cantilever-c2", "cantilever of 2000 x 200 Q1 cells, plane stress, 0.8 M unknowns", Q1, 2,
          BEAM, 200),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 10, .dirichlet = "left"},
    {CASE("cantilever-c3", "cantilever of 3000 x 300 Q1 cells, plane stress, 1.8 M unknowns", Q1, 2,
          BEAM, 300),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 10, .dirichlet = "left"},
    {CASE("cantilever-c4", "cantilever of 4000 x 400 Q1 cells, plane stress, 3.2 M unknowns", Q1, 2,
          BEAM, 400),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 10, .dirichlet = "left"},
    {CASE("cantilever-c5", "cantilever of 5000 x 500 Q1 cells, plane stress, 5.0 M unknowns", Q1, 2,
          BEAM, 500),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 10, .dirichlet = "left"},
    {CASE("lbeam-l1", "L-shaped beam of 1750000 Q1 cells, plane stress, 3.5 M unknowns", Q1, 2,
          LSHAPE, 500),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 4, .dirichlet = "top"},
    {CASE("lbeam-l3", "L-shaped beam of 4480000 Q1 cells, plane stress, 9.0 M unknowns", Q1, 2,
          LSHAPE, 800),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 4, .dirichlet = "top"},
    {CASE("lbeam-l5", "L-shaped beam of 7000000 Q1 cells, plane stress, 14.0 M unknowns", Q1, 2,
          LSHAPE, 1000),
     .problem = CMG_PROBLEM_ELASTICITY, .length = 4, .dirichlet = "top"},
    {CASE("plate-h1", "plate with 5 holes, 1.0 M Q1 cells, heat conduction", Q1, 2, HOLES, 272),
     .columns = 3, .rows = 3, .alternate = true, .dirichlet = "holes,centre"},
    {CASE("plate-h5", "plate with 5 holes, 6.2 M Q1 cells, heat conduction", Q1, 2, HOLES, 688),
     .columns = 3, .rows = 3, .alternate = true, .dirichlet = "holes,centre"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static const generate_case *find_case(const char *name)
{
    for (int i = 0; i < CASES && name != NULL; ++i) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

const char *cmg_generate_case_name(int i)
{
    return i >= 0 && i < CASES ? cases[i].name : NULL;
}

const char *cmg_generate_case_text(const char *name)
{
    const generate_case *found = find_case(name);
    return found != NULL ? found->text : NULL;
}

cmg_status cmg_generate_case(const char *name, cmg_generate_options *options)
{
    const generate_case *found = find_case(name);
    if (found == NULL || options == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_generate_options_default(options);
    options->element = found->element;
    options->dim = found->dim;
    options->shape = found->shape;
    options->cells = found->cells;
    options->levels = found->levels;
    options->problem = found->problem;
    options->coefficient = found->coefficient;
    options->distort = found->distort;
    options->aspect = found->aspect > 0 ? found->aspect : options->aspect;
    options->length = found->length;
    options->columns = found->columns > 0 ? found->columns : options->columns;
    options->rows = found->rows > 0 ? found->rows : options->rows;
    options->alternate = found->alternate;
    options->dirichlet = found->dirichlet;
    options->numbering = found->numbering;
    return CMG_OK;
}
