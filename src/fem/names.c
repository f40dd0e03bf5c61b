/* Enumerations of cmg_fem.h <-> text: one table each. */
#include "core/name_table.h"

#include "cmg_fem.h"

static const cmgi_name elements[] = {
    {CMG_ELEMENT_Q1, "q1", "multilinear on quadrilaterals, hexahedra"},
    {CMG_ELEMENT_Q2, "q2", "multiquadratic on quadrilaterals, hexahedra"},
    {CMG_ELEMENT_P1, "p1", "linear on triangles, tetrahedra"},
    {CMG_ELEMENT_P2, "p2", "quadratic on triangles, tetrahedra"},
};
static const cmgi_name shapes[] = {
    {CMG_SHAPE_AUTO, "auto", "square or cube"},
    {CMG_SHAPE_SQUARE, "square", "unit square"},
    {CMG_SHAPE_CUBE, "cube", "unit cube"},
    {CMG_SHAPE_LSHAPE, "lshape", "L-shape"},
    {CMG_SHAPE_HOLES, "holes", "plate with holes"},
    {CMG_SHAPE_BEAM, "beam", "cantilever beam"},
    {CMG_SHAPE_ANNULUS, "annulus", "ring"},
    {CMG_SHAPE_FICHERA, "fichera", "cube without a corner octant"},
};
static const cmgi_name problems[] = {
    {CMG_PROBLEM_POISSON, "poisson", "-div(k grad u) = f"},
    {CMG_PROBLEM_HEAT, "heat", "a time step of heat conduction: mass + dt stiffness"},
    {CMG_PROBLEM_ELASTICITY, "elasticity", "linear elasticity, plane stress in 2D"},
    {CMG_PROBLEM_CONVECTION, "convection", "reaction, convection and diffusion, unsymmetric"},
};
static const cmgi_name coefficients[] = {
    {CMG_COEFFICIENT_CONSTANT, "constant", "1"},
    {CMG_COEFFICIENT_SMOOTH, "smooth", "between 1/e and e"},
    {CMG_COEFFICIENT_JUMP, "jump", "contrast in the middle, 1 outside"},
    {CMG_COEFFICIENT_CHECKERBOARD, "checkerboard", "1 and contrast on 4 fields a side"},
    {CMG_COEFFICIENT_RANDOM, "random", "1 to contrast on 16 fields a side"},
    {CMG_COEFFICIENT_ANISOTROPIC, "anisotropic", "contrast along x, rotated by the angle"},
};
static const cmgi_name loads[] = {
    {CMG_LOAD_SOURCE, "source", "f = 1"},
    {CMG_LOAD_SINE, "sine", "u = product of sines, zero on the unit square's boundary"},
    {CMG_LOAD_EXPONENTIAL, "exponential", "u = exp(x) cos(y) (1 + z/2)"},
    {CMG_LOAD_POLYNOMIAL, "polynomial", "u = a polynomial that the space contains"},
};
static const cmgi_name boundaries[] = {
    {CMG_BOUNDARY_ELIMINATE, "eliminate", "Dirichlet unknowns taken out"},
    {CMG_BOUNDARY_IDENTITY, "identity", "identity rows, columns taken out"},
    {CMG_BOUNDARY_IDENTITY_KEEP, "identity-keep", "identity rows, columns kept"},
    {CMG_BOUNDARY_NEUMANN, "neumann", "natural conditions everywhere"},
};
static const cmgi_name coarsenings[] = {
    {CMG_COARSENING_REDISCRETISED, "rediscretised", "assembled on the coarse mesh"},
    {CMG_COARSENING_GALERKIN, "galerkin", "P^T A P"},
};
static const cmgi_name assemblies[] = {
    {CMG_ASSEMBLY_ROWS, "rows", "every row gathers from its cells"},
    {CMG_ASSEMBLY_SPMV, "spmv", "a sparse product with the element entries"},
};

static const cmgi_name_table tables[] = {
    CMGI_NAMES("element", elements),
    CMGI_NAMES("shape", shapes),
    CMGI_NAMES("problem", problems),
    CMGI_NAMES("coefficient", coefficients),
    CMGI_NAMES("load", loads),
    CMGI_NAMES("boundary", boundaries),
    CMGI_NAMES("coarsening", coarsenings),
    CMGI_NAMES("assembly", assemblies),
};

CMGI_NAME_FUNCTIONS(cmg_fem_enum, tables)
