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

static const generate_case cases[] = {
    {.name = "poisson-q1-2d-64",
     .text = "small: square, Q1, 4 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 64},
    {.name = "poisson-q2-2d-32",
     .text = "small: square, Q2, 4 k unknowns",
     .element = CMG_ELEMENT_Q2,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 32},
    {.name = "poisson-p1-2d-lshape",
     .text = "small: L-shape, P1, 3 k unknowns",
     .element = CMG_ELEMENT_P1,
     .dim = 2,
     .shape = CMG_SHAPE_LSHAPE,
     .cells = 32},
    {.name = "poisson-p2-2d-annulus",
     .text = "small: ring, P2",
     .element = CMG_ELEMENT_P2,
     .dim = 2,
     .shape = CMG_SHAPE_ANNULUS,
     .cells = 16},
    {.name = "poisson-q1-3d-16",
     .text = "small: cube, Q1, 3 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 16},
    {.name = "poisson-p1-3d-16",
     .text = "small: cube, P1, 3 k unknowns",
     .element = CMG_ELEMENT_P1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 16},
    {.name = "elasticity-q1-2d-beam",
     .text = "small: cantilever, plane stress, Q1",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 16,
     .problem = CMG_PROBLEM_ELASTICITY},
    {.name = "poisson-q1-2d-1024",
     .text = "square, Q1, 1.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 1024},
    {.name = "poisson-q1-2d-4096",
     .text = "square, Q1, 16.8 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 4096},
    {.name = "poisson-q2-2d-512",
     .text = "square, Q2, 1.0 M unknowns",
     .element = CMG_ELEMENT_Q2,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512},
    {.name = "poisson-p1-2d-1024",
     .text = "square, P1, 1.0 M unknowns",
     .element = CMG_ELEMENT_P1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 1024},
    {.name = "poisson-q1-3d-64",
     .text = "cube, Q1, 250 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 64},
    {.name = "poisson-q1-3d-128",
     .text = "cube, Q1, 2.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 128},
    {.name = "poisson-q1-3d-256",
     .text = "cube, Q1, 16.6 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 256},
    {.name = "poisson-q2-3d-64",
     .text = "cube, Q2, 2.0 M unknowns",
     .element = CMG_ELEMENT_Q2,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 64},
    {.name = "poisson-q1-3d-fichera",
     .text = "cube without a corner octant, Q1, 216 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_FICHERA,
     .cells = 32},
    {.name = "poisson-q1-2d-512-random",
     .text = "square, Q1, 261 k unknowns in random order",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .numbering = CMG_NUMBERING_RANDOM},
    {.name = "poisson-q1-2d-512-cells",
     .text = "square, Q1, 261 k unknowns by coarse cell",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .numbering = CMG_NUMBERING_CELLS},
    {.name = "poisson-q1-2d-512-distorted",
     .text = "square of distorted cells, Q1, 261 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .levels = 6,
     .distort = 0.4},
    {.name = "poisson-q1-2d-512-stretched",
     .text = "cells 16 times as long as high, Q1, 261 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .aspect = 16},
    {.name = "poisson-q1-2d-512-jump",
     .text = "coefficient 100 in the middle, Q1, 261 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .coefficient = CMG_COEFFICIENT_JUMP},
    {.name = "poisson-q1-2d-512-anisotropic",
     .text = "conduction 100 times along x, Q1, 261 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .coefficient = CMG_COEFFICIENT_ANISOTROPIC},
    {.name = "poisson-q1-3d-64-random",
     .text = "random coefficient from 1 to 100, Q1, 250 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_CUBE,
     .cells = 64,
     .coefficient = CMG_COEFFICIENT_RANDOM},
    {.name = "heat-q1-2d-step",
     .text = "a time step of heat conduction, Q1, 1.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 1024,
     .problem = CMG_PROBLEM_HEAT},
    {.name = "convection-q1-2d-512",
     .text = "reaction, convection and diffusion, Q1, 261 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_SQUARE,
     .cells = 512,
     .problem = CMG_PROBLEM_CONVECTION},
    {.name = "elasticity-q1-3d-beam",
     .text = "cantilever in 3D, Q1, 55 k unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 3,
     .shape = CMG_SHAPE_BEAM,
     .cells = 16,
     .problem = CMG_PROBLEM_ELASTICITY},
    /* problems and sizes of the matrix-free comparison that names them C1-C5, L1, L3, L5, H1 and H5
     */
    {.name = "cantilever-c1",
     .text = "cantilever of 1000 x 100 Q1 cells, plane stress, 0.2 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 100,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 10,
     .dirichlet = "left"},
    {.name = "cantilever-c2",
     .text = "cantilever of 2000 x 200 Q1 cells, plane stress, 0.8 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 200,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 10,
     .dirichlet = "left"},
    {.name = "cantilever-c3",
     .text = "cantilever of 3000 x 300 Q1 cells, plane stress, 1.8 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 300,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 10,
     .dirichlet = "left"},
    {.name = "cantilever-c4",
     .text = "cantilever of 4000 x 400 Q1 cells, plane stress, 3.2 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 400,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 10,
     .dirichlet = "left"},
    {.name = "cantilever-c5",
     .text = "cantilever of 5000 x 500 Q1 cells, plane stress, 5.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_BEAM,
     .cells = 500,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 10,
     .dirichlet = "left"},
    {.name = "lbeam-l1",
     .text = "L-shaped beam of 1750000 Q1 cells, plane stress, 3.5 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_LSHAPE,
     .cells = 500,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 4,
     .dirichlet = "top"},
    {.name = "lbeam-l3",
     .text = "L-shaped beam of 4480000 Q1 cells, plane stress, 9.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_LSHAPE,
     .cells = 800,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 4,
     .dirichlet = "top"},
    {.name = "lbeam-l5",
     .text = "L-shaped beam of 7000000 Q1 cells, plane stress, 14.0 M unknowns",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_LSHAPE,
     .cells = 1000,
     .problem = CMG_PROBLEM_ELASTICITY,
     .length = 4,
     .dirichlet = "top"},
    {.name = "plate-h1",
     .text = "plate with 5 holes, 1.0 M Q1 cells, heat conduction",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_HOLES,
     .cells = 272,
     .columns = 3,
     .rows = 3,
     .alternate = true,
     .dirichlet = "holes,centre"},
    {.name = "plate-h5",
     .text = "plate with 5 holes, 6.2 M Q1 cells, heat conduction",
     .element = CMG_ELEMENT_Q1,
     .dim = 2,
     .shape = CMG_SHAPE_HOLES,
     .cells = 688,
     .columns = 3,
     .rows = 3,
     .alternate = true,
     .dirichlet = "holes,centre"},
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
