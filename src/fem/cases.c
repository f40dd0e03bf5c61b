/* The named cases of preassembled/: hierarchies that comparisons refer to. */
#include "cmg_fem.h"

#include <string.h>

typedef struct generate_case {
    const char *name;
    const char *text;
    const char *options; /* for cmg_generate_options_set */
} generate_case;

static const generate_case cases[] = {
    {"poisson-q1-2d-64", "small: square, Q1, 4 k unknowns", "shape=square cells=64"},
    {"poisson-q2-2d-32", "small: square, Q2, 4 k unknowns", "element=q2 shape=square cells=32"},
    {"poisson-p1-2d-lshape", "small: L-shape, P1, 3 k unknowns",
     "element=p1 shape=lshape cells=32"},
    {"poisson-p2-2d-annulus", "small: ring, P2", "element=p2 shape=annulus cells=16"},
    {"poisson-q1-3d-16", "small: cube, Q1, 3 k unknowns", "dim=3 shape=cube cells=16"},
    {"poisson-p1-3d-16", "small: cube, P1, 3 k unknowns", "element=p1 dim=3 shape=cube cells=16"},
    {"elasticity-q1-2d-beam", "small: cantilever, plane stress, Q1",
     "shape=beam cells=16 problem=elasticity"},
    {"poisson-q1-2d-1024", "square, Q1, 1.0 M unknowns", "shape=square cells=1024"},
    {"poisson-q1-2d-4096", "square, Q1, 16.8 M unknowns", "shape=square cells=4096"},
    {"poisson-q2-2d-512", "square, Q2, 1.0 M unknowns", "element=q2 shape=square cells=512"},
    {"poisson-p1-2d-1024", "square, P1, 1.0 M unknowns", "element=p1 shape=square cells=1024"},
    {"poisson-q1-3d-64", "cube, Q1, 250 k unknowns", "dim=3 shape=cube cells=64"},
    {"poisson-q1-3d-128", "cube, Q1, 2.0 M unknowns", "dim=3 shape=cube cells=128"},
    {"poisson-q1-3d-256", "cube, Q1, 16.6 M unknowns", "dim=3 shape=cube cells=256"},
    {"poisson-q2-3d-64", "cube, Q2, 2.0 M unknowns", "element=q2 dim=3 shape=cube cells=64"},
    {"poisson-q1-3d-fichera", "cube without a corner octant, Q1, 216 k unknowns",
     "dim=3 shape=fichera cells=32"},
    {"poisson-q1-2d-512-random", "square, Q1, 261 k unknowns in random order",
     "shape=square cells=512 numbering=random"},
    {"poisson-q1-2d-512-cells", "square, Q1, 261 k unknowns by coarse cell",
     "shape=square cells=512 numbering=cells"},
    {"poisson-q1-2d-512-distorted", "square of distorted cells, Q1, 261 k unknowns",
     "shape=square cells=512 levels=6 distort=0.4"},
    {"poisson-q1-2d-512-stretched", "cells 16 times as long as high, Q1, 261 k unknowns",
     "shape=square cells=512 aspect=16"},
    {"poisson-q1-2d-512-jump", "coefficient 100 in the middle, Q1, 261 k unknowns",
     "shape=square cells=512 coefficient=jump"},
    {"poisson-q1-2d-512-anisotropic", "conduction 100 times along x, Q1, 261 k unknowns",
     "shape=square cells=512 coefficient=anisotropic"},
    {"poisson-q1-3d-64-random", "random coefficient from 1 to 100, Q1, 250 k unknowns",
     "dim=3 shape=cube cells=64 coefficient=random"},
    {"heat-q1-2d-step", "a time step of heat conduction, Q1, 1.0 M unknowns",
     "shape=square cells=1024 problem=heat"},
    {"convection-q1-2d-512", "reaction, convection and diffusion, Q1, 261 k unknowns",
     "shape=square cells=512 problem=convection"},
    {"elasticity-q1-3d-beam", "cantilever in 3D, Q1, 55 k unknowns",
     "dim=3 shape=beam cells=16 problem=elasticity"},
    /* problems and sizes of the matrix-free comparison that names them C1-C5, L1-L5, H1-H5 */
    {"cantilever-c1", "cantilever of 1000 x 100 Q1 cells, plane stress, 0.2 M unknowns",
     "shape=beam cells=100 problem=elasticity length=10 dirichlet_labels=left"},
    {"cantilever-c2", "cantilever of 2000 x 200 Q1 cells, plane stress, 0.8 M unknowns",
     "shape=beam cells=200 problem=elasticity length=10 dirichlet_labels=left"},
    {"cantilever-c3", "cantilever of 3000 x 300 Q1 cells, plane stress, 1.8 M unknowns",
     "shape=beam cells=300 problem=elasticity length=10 dirichlet_labels=left"},
    {"cantilever-c4", "cantilever of 4000 x 400 Q1 cells, plane stress, 3.2 M unknowns",
     "shape=beam cells=400 problem=elasticity length=10 dirichlet_labels=left"},
    {"cantilever-c5", "cantilever of 5000 x 500 Q1 cells, plane stress, 5.0 M unknowns",
     "shape=beam cells=500 problem=elasticity length=10 dirichlet_labels=left"},
    {"lbeam-l1", "L-shaped beam of 1750000 Q1 cells, plane stress, 3.5 M unknowns",
     "shape=lshape cells=500 problem=elasticity length=4 dirichlet_labels=top"},
    {"lbeam-l2", "L-shaped beam of 3123568 Q1 cells, plane stress, 6.2 M unknowns",
     "shape=lshape cells=668 problem=elasticity length=4 dirichlet_labels=top"},
    {"lbeam-l3", "L-shaped beam of 4480000 Q1 cells, plane stress, 9.0 M unknowns",
     "shape=lshape cells=800 problem=elasticity length=4 dirichlet_labels=top"},
    {"lbeam-l4", "L-shaped beam of 5783967 Q1 cells, plane stress, 11.6 M unknowns",
     "shape=lshape cells=909 problem=elasticity length=4 dirichlet_labels=top"},
    {"lbeam-l5", "L-shaped beam of 7000000 Q1 cells, plane stress, 14.0 M unknowns",
     "shape=lshape cells=1000 problem=elasticity length=4 dirichlet_labels=top"},
    {"plate-h1", "plate with 5 holes, 1.0 M Q1 cells, heat conduction",
     "shape=holes cells=272 columns=3 rows=3 alternate dirichlet_labels=holes,centre"},
    {"plate-h2", "plate with 5 holes, 1.9 M Q1 cells, heat conduction",
     "shape=holes cells=388 columns=3 rows=3 alternate dirichlet_labels=holes,centre"},
    {"plate-h3", "plate with 5 holes, 3.0 M Q1 cells, heat conduction",
     "shape=holes cells=480 columns=3 rows=3 alternate dirichlet_labels=holes,centre"},
    {"plate-h4", "plate with 5 holes, 4.2 M Q1 cells, heat conduction",
     "shape=holes cells=568 columns=3 rows=3 alternate dirichlet_labels=holes,centre"},
    {"plate-h5", "plate with 5 holes, 6.2 M Q1 cells, heat conduction",
     "shape=holes cells=688 columns=3 rows=3 alternate dirichlet_labels=holes,centre"},
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
    return cmg_generate_options_set(options, found->options);
}
