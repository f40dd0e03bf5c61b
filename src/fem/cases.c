/* The named cases of preassembled/: hierarchies that comparisons refer to. */
#include "core/status.h"

#include <string.h>

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
    cmg_numbering numbering;
} generate_case;

/* X(name, element, dim, shape, cells, levels, problem, coefficient, distort, numbering, text) */
#define CASE_LIST(X)                                                                               \
    X("poisson-q1-2d-64", Q1, 2, SQUARE, 64, 0, POISSON, CONSTANT, 0, GENERATED,                   \
      "small: square, Q1, 4 k unknowns")                                                           \
    X("poisson-q2-2d-32", Q2, 2, SQUARE, 32, 0, POISSON, CONSTANT, 0, GENERATED,                   \
      "small: square, Q2, 4 k unknowns")                                                           \
    X("poisson-q1-3d-16", Q1, 3, CUBE, 16, 0, POISSON, CONSTANT, 0, GENERATED,                     \
      "small: cube, Q1, 3 k unknowns")                                                             \
    X("elasticity-q1-2d-beam", Q1, 2, BEAM, 16, 3, ELASTICITY, CONSTANT, 0, GENERATED,             \
      "small: cantilever, plane stress, Q1")                                                       \
    X("poisson-p1-2d-lshape", P1, 2, LSHAPE, 32, 4, POISSON, CONSTANT, 0, GENERATED,               \
      "small: L-shape, P1")                                                                        \
    X("poisson-q1-2d-1024", Q1, 2, SQUARE, 1024, 0, POISSON, CONSTANT, 0, GENERATED,               \
      "square, Q1, 1.0 M unknowns")                                                                \
    X("poisson-q1-2d-4096", Q1, 2, SQUARE, 4096, 0, POISSON, CONSTANT, 0, GENERATED,               \
      "square, Q1, 16.8 M unknowns")                                                               \
    X("poisson-q2-2d-512", Q2, 2, SQUARE, 512, 0, POISSON, CONSTANT, 0, GENERATED,                 \
      "square, Q2, 1.0 M unknowns")                                                                \
    X("poisson-q1-3d-64", Q1, 3, CUBE, 64, 0, POISSON, CONSTANT, 0, GENERATED,                     \
      "cube, Q1, 250 k unknowns")                                                                  \
    X("poisson-q1-3d-128", Q1, 3, CUBE, 128, 0, POISSON, CONSTANT, 0, GENERATED,                   \
      "cube, Q1, 2.0 M unknowns")                                                                  \
    X("poisson-q1-3d-256", Q1, 3, CUBE, 256, 0, POISSON, CONSTANT, 0, GENERATED,                   \
      "cube, Q1, 16.6 M unknowns")                                                                 \
    X("poisson-q2-3d-64", Q2, 3, CUBE, 64, 0, POISSON, CONSTANT, 0, GENERATED,                     \
      "cube, Q2, 2.0 M unknowns")                                                                  \
    X("poisson-q1-2d-512-random", Q1, 2, SQUARE, 512, 0, POISSON, CONSTANT, 0, RANDOM,             \
      "square, Q1, 261 k unknowns in random order")                                                \
    X("poisson-q1-2d-512-distorted", Q1, 2, SQUARE, 512, 6, POISSON, CONSTANT, 0.4, GENERATED,     \
      "square of distorted cells, Q1, 261 k unknowns")                                             \
    X("poisson-q1-2d-512-jump", Q1, 2, SQUARE, 512, 0, POISSON, JUMP, 0, GENERATED,                \
      "square, coefficient 100 in the middle, Q1, 261 k unknowns")                                 \
    X("poisson-q1-2d-512-anisotropic", Q1, 2, SQUARE, 512, 0, POISSON, ANISOTROPIC, 0, GENERATED,  \
      "square, conduction 100 times along x, Q1, 261 k unknowns")                                  \
    X("poisson-q1-3d-64-random", Q1, 3, CUBE, 64, 0, POISSON, RANDOM, 0, GENERATED,                \
      "cube, random coefficient from 1 to 100, Q1, 250 k unknowns")                                \
    X("poisson-q1-3d-fichera", Q1, 3, FICHERA, 32, 4, POISSON, CONSTANT, 0, GENERATED,             \
      "Fichera corner, Q1")                                                                        \
    X("heat-q1-2d-holes", Q1, 2, HOLES, 256, 5, HEAT, CONSTANT, 0, GENERATED,                      \
      "heat conduction on a plate with holes, Q1")                                                 \
    X("heat-p1-2d-holes", P1, 2, HOLES, 256, 5, HEAT, CONSTANT, 0, GENERATED,                      \
      "heat conduction on a plate with holes, P1")                                                 \
    X("elasticity-q1-2d-lshape", Q1, 2, LSHAPE, 128, 5, ELASTICITY, CONSTANT, 0, GENERATED,        \
      "L-shaped beam, plane stress, Q1")                                                           \
    X("elasticity-q1-3d-beam", Q1, 3, BEAM, 16, 3, ELASTICITY, CONSTANT, 0, GENERATED,             \
      "cantilever in 3D, Q1")                                                                      \
    X("convection-q1-2d-512", Q1, 2, SQUARE, 512, 0, CONVECTION, CONSTANT, 0, GENERATED,           \
      "reaction, convection and diffusion on a square, Q1, 261 k unknowns")

static const generate_case cases[] = {
#define CASE_ROW(name, element, dim, shape, cells, levels, problem, coefficient, distort, order,   \
                 text)                                                                             \
    {name,                                                                                         \
     text,                                                                                         \
     CMG_ELEMENT_##element,                                                                        \
     dim,                                                                                          \
     CMG_SHAPE_##shape,                                                                            \
     cells,                                                                                        \
     levels,                                                                                       \
     CMG_PROBLEM_##problem,                                                                        \
     CMG_COEFFICIENT_##coefficient,                                                                \
     distort,                                                                                      \
     CMG_NUMBERING_##order},
    CASE_LIST(CASE_ROW)
#undef CASE_ROW
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
    options->numbering = found->numbering;
    return CMG_OK;
}
