/* Enumerations of the public header <-> text: one table each, for command lines and messages. */
#include "core/status.h"

#include <string.h>

typedef struct name_row {
    int value;
    const char *name;
    const char *text;
} name_row;

static const name_row backends[] = {
    {CMG_BACKEND_CPU, "cpu", "OpenMP on the host"},
    {CMG_BACKEND_CUDA, "cuda", "one CUDA device"},
};
static const name_row precisions[] = {
    {CMG_FP64, "fp64", "double precision throughout"},
    {CMG_FP32, "mixed", "cycle in single precision inside a double precision iteration"},
};
static const name_row formats[] = {
    {CMG_FORMAT_AUTO, "auto", "chosen by a model of time"},
    {CMG_FORMAT_CSR, "csr", "compressed sparse rows"},
    {CMG_FORMAT_ELLPACK, "ellpack", "rows padded to the longest"},
    {CMG_FORMAT_ELLR, "ellr", "ELLPACK-R: with row lengths"},
    {CMG_FORMAT_ELLT, "ellt", "ELLPACK-T: t entries of a row side by side"},
    {CMG_FORMAT_SELL, "sell", "slices padded to their own longest row"},
    {CMG_FORMAT_K1, "k1", "ELL-WARP: slices of rows sorted by length"},
    {CMG_FORMAT_K1R, "k1r", "K1 with rows and columns renumbered"},
    {CMG_FORMAT_K1RS, "k1rs", "K1r with sorted columns"},
    {CMG_FORMAT_K2, "k2", "ELL-WARP v2: long rows shared by several lanes"},
    {CMG_FORMAT_K2R, "k2r", "K2 with rows and columns renumbered"},
    {CMG_FORMAT_K2RS, "k2rs", "K2r with sorted columns"},
    {CMG_FORMAT_DIAGONAL, "diagonal", "one value a row"},
    {CMG_FORMAT_DENSE, "dense", "all values, row by row"},
    {CMG_FORMAT_COMPRESSED, "compressed", "row templates, offset patterns, short column codes"},
    {CMG_FORMAT_CUSPARSE_CSR, "cusparse-csr", "cuSPARSE's CSR, to compare with"},
    {CMG_FORMAT_CUSPARSE_SELL, "cusparse-sell", "cuSPARSE's sliced ELL, to compare with"},
    {CMG_FORMAT_TUNE, "tune", "the fastest, measured once a pattern"},
};
static const name_row values[] = {
    {CMG_VALUES_FULL, "full", "in the precision of the matrix"},
    {CMG_VALUES_FP16, "fp16", "IEEE half, the diagonal in fp32"},
    {CMG_VALUES_BF16, "bf16", "bfloat16, the diagonal in fp32"},
    {CMG_VALUES_FP8, "fp8", "8 bits (4 exponent, 3 fraction), the diagonal in fp32"},
};
static const name_row compressions[] = {
    {CMG_COMPRESSION_TEMPLATE, "template", "rows that repeat: a number a row"},
    {CMG_COMPRESSION_PATTERN, "pattern", "one list of offsets for 64 rows"},
    {CMG_COMPRESSION_CODES8, "8-bit", "a byte an entry for its column"},
    {CMG_COMPRESSION_CODES16, "16-bit", "two bytes an entry for its column"},
    {CMG_COMPRESSION_CODES32, "32-bit", "four bytes an entry for its column: nothing was gained"},
};
static const name_row obstacles[] = {
    {CMG_OBSTACLE_NOT_LOOKED_FOR, "not-looked-for", "templates were not looked for"},
    {CMG_OBSTACLE_OFFSETS, "offsets", "no template: offsets of a row do not repeat"},
    {CMG_OBSTACLE_VALUES, "values", "no template: values do not repeat"},
    {CMG_OBSTACLE_TOO_MANY, "too-many", "no template: too many different rows"},
    {CMG_OBSTACLE_LONG_ROW, "long-row", "no pattern: a row is longer than one"},
    {CMG_OBSTACLE_MANY_OFFSETS, "many-offsets", "no pattern: too many offsets in the slice"},
    {CMG_OBSTACLE_OUTSIDE, "outside", "no pattern: a padded row would read outside x"},
    {CMG_OBSTACLE_OVER_8_BITS, "over-8-bits", "no 8-bit codes: offsets are over 255 apart"},
    {CMG_OBSTACLE_OVER_16_BITS, "over-16-bits", "no 16-bit codes: offsets are over 65535 apart"},
    {CMG_OBSTACLE_SHORT_ROW, "short-row", "no short codes: a padded row would read outside x"},
};
static const name_row cycles[] = {
    {CMG_CYCLE_V, "V", "one coarse correction a level"},
    {CMG_CYCLE_W, "W", "two coarse corrections a level"},
    {CMG_CYCLE_F, "F", "an F-cycle, then a V-cycle, on the coarser level"},
    {CMG_CYCLE_NONE, "none", "smoothing on level 0 alone, without a coarse correction"},
};
static const name_row krylovs[] = {
    {CMG_KRYLOV_NONE, "none", "stand-alone cycles (defect correction)"},
    {CMG_KRYLOV_CG, "cg", "conjugate gradients with the cycle as preconditioner"},
    {CMG_KRYLOV_FCG, "fcg", "flexible CG: the cycle may be unsymmetric or vary"},
    {CMG_KRYLOV_DEFECT, "defect", "CG in the precision of the cycle, corrections in fp64"},
};
static const name_row dirichlets[] = {
    {CMG_DIRICHLET_ZERO, "zero", "zero P at Dirichlet identity rows and columns"},
    {CMG_DIRICHLET_KEEP, "keep", "leave P alone"},
};
static const name_row coarses[] = {
    {CMG_COARSE_AUTO, "auto", "dense inverse if small enough, else smoothing"},
    {CMG_COARSE_INVERSE, "inverse", "dense inverse or pseudo-inverse"},
    {CMG_COARSE_SMOOTHER, "smoother", "smoothing steps"},
};
static const name_row loops[] = {
    {CMG_LOOP_AUTO, "auto", "the first of the others that can be had"},
    {CMG_LOOP_GRAPH, "graph", "the whole solve as one CUDA graph that repeats its iteration"},
    {CMG_LOOP_HOST, "host", "the host waits for every iteration"},
};
static const name_row outcomes[] = {
    {CMG_CONVERGED_RTOL, "converged_rtol", "||b - A x|| <= rtol ||b||"},
    {CMG_CONVERGED_ATOL, "converged_atol", "||b - A x|| <= atol"},
    {CMG_ITERATION_LIMIT, "iteration_limit", "the iteration limit was reached"},
    {CMG_DIVERGED, "diverged", "the residual grew over dtol ||b||"},
    {CMG_NOT_A_NUMBER, "not_a_number", "the residual is not a finite number"},
    {CMG_BREAKDOWN, "breakdown", "p^T A p <= 0: the matrix is not positive definite"},
    {CMG_STAGNATED, "stagnated", "the true residual no longer falls"},
    {CMG_INDEFINITE_PRECONDITIONER, "indefinite_preconditioner",
     "r^T M r < 0: the cycle is not positive definite"},
};
static const name_row elements[] = {
    {CMG_ELEMENT_Q1, "q1", "multilinear on quadrilaterals, hexahedra"},
    {CMG_ELEMENT_Q2, "q2", "multiquadratic on quadrilaterals, hexahedra"},
    {CMG_ELEMENT_P1, "p1", "linear on triangles, tetrahedra"},
    {CMG_ELEMENT_P2, "p2", "quadratic on triangles, tetrahedra"},
};
static const name_row shapes[] = {
    {CMG_SHAPE_AUTO, "auto", "square or cube"},
    {CMG_SHAPE_SQUARE, "square", "unit square"},
    {CMG_SHAPE_CUBE, "cube", "unit cube"},
    {CMG_SHAPE_LSHAPE, "lshape", "L-shape"},
    {CMG_SHAPE_HOLES, "holes", "plate with holes"},
    {CMG_SHAPE_BEAM, "beam", "cantilever beam"},
    {CMG_SHAPE_ANNULUS, "annulus", "ring"},
    {CMG_SHAPE_FICHERA, "fichera", "cube without a corner octant"},
};
static const name_row problems[] = {
    {CMG_PROBLEM_POISSON, "poisson", "-div(k grad u) = f"},
    {CMG_PROBLEM_HEAT, "heat", "a time step of heat conduction: mass + dt stiffness"},
    {CMG_PROBLEM_ELASTICITY, "elasticity", "linear elasticity, plane stress in 2D"},
    {CMG_PROBLEM_CONVECTION, "convection", "reaction, convection and diffusion, unsymmetric"},
};
static const name_row coefficients[] = {
    {CMG_COEFFICIENT_CONSTANT, "constant", "1"},
    {CMG_COEFFICIENT_SMOOTH, "smooth", "between 1/e and e"},
    {CMG_COEFFICIENT_JUMP, "jump", "contrast in the middle, 1 outside"},
    {CMG_COEFFICIENT_CHECKERBOARD, "checkerboard", "1 and contrast on 4 fields a side"},
    {CMG_COEFFICIENT_RANDOM, "random", "1 to contrast on 16 fields a side"},
    {CMG_COEFFICIENT_ANISOTROPIC, "anisotropic", "contrast along x, rotated by the angle"},
};
static const name_row loads[] = {
    {CMG_LOAD_SOURCE, "source", "f = 1"},
    {CMG_LOAD_SINE, "sine", "u = product of sines, zero on the unit square's boundary"},
    {CMG_LOAD_EXPONENTIAL, "exponential", "u = exp(x) cos(y) (1 + z/2)"},
    {CMG_LOAD_POLYNOMIAL, "polynomial", "u = a polynomial that the space contains"},
};
static const name_row boundaries[] = {
    {CMG_BOUNDARY_ELIMINATE, "eliminate", "Dirichlet unknowns taken out"},
    {CMG_BOUNDARY_IDENTITY, "identity", "identity rows, columns taken out"},
    {CMG_BOUNDARY_IDENTITY_KEEP, "identity-keep", "identity rows, columns kept"},
    {CMG_BOUNDARY_NEUMANN, "neumann", "natural conditions everywhere"},
};
static const name_row coarsenings[] = {
    {CMG_COARSENING_REDISCRETISED, "rediscretised", "assembled on the coarse mesh"},
    {CMG_COARSENING_GALERKIN, "galerkin", "P^T A P"},
};
static const name_row assemblies[] = {
    {CMG_ASSEMBLY_ROWS, "rows", "every row gathers from its cells"},
    {CMG_ASSEMBLY_SPMV, "spmv", "a sparse product with the element entries"},
};
static const name_row numberings[] = {
    {CMG_NUMBERING_GENERATED, "generated", "as the mesh comes"},
    {CMG_NUMBERING_LEXICOGRAPHIC, "lexicographic", "by z, y, x"},
    {CMG_NUMBERING_CUTHILL_MCKEE, "cm", "Cuthill-McKee"},
    {CMG_NUMBERING_REVERSE_CUTHILL_MCKEE, "rcm", "reverse Cuthill-McKee"},
    {CMG_NUMBERING_HIERARCHICAL, "hierarchical", "coarse nodes first"},
    {CMG_NUMBERING_CELLS, "cells", "by coarse cell, lexicographic inside"},
    {CMG_NUMBERING_RANDOM, "random", "shuffled"},
    {CMG_NUMBERING_METIS, "metis", "nested dissection by METIS"},
};

static const name_row files[] = {
    {CMG_FILE_AUTO, "auto", "by content when read, by name when written"},
    {CMG_FILE_CONTAINER, "container", "HDF5 hierarchy container"},
    {CMG_FILE_MTX, "mtx", "Matrix Market, a file or a directory of them"},
    {CMG_FILE_PETSC, "petsc", "PETSc binary, a file or a directory of them"},
    {CMG_FILE_ELL, "ell", "directory in the FE-gMG authors' form"},
};

typedef struct name_table {
    const char *kind;
    const name_row *rows;
    int count;
} name_table;

#define TABLE(kind, rows)                                                                          \
    {                                                                                              \
        kind, rows, (int)(sizeof rows / sizeof rows[0])                                            \
    }
static const name_table tables[] = {
    TABLE("backend", backends),
    TABLE("precision", precisions),
    TABLE("format", formats),
    TABLE("cycle", cycles),
    TABLE("krylov", krylovs),
    TABLE("dirichlet", dirichlets),
    TABLE("coarse", coarses),
    TABLE("loop", loops),
    TABLE("outcome", outcomes),
    TABLE("values", values),
    TABLE("compression", compressions),
    TABLE("obstacle", obstacles),
    TABLE("file", files),
    TABLE("element", elements),
    TABLE("shape", shapes),
    TABLE("problem", problems),
    TABLE("coefficient", coefficients),
    TABLE("load", loads),
    TABLE("boundary", boundaries),
    TABLE("coarsening", coarsenings),
    TABLE("assembly", assemblies),
    TABLE("numbering", numberings),
};

static const name_table *find_table(const char *kind)
{
    for (size_t i = 0; kind != NULL && i < sizeof tables / sizeof tables[0]; ++i) {
        if (strcmp(tables[i].kind, kind) == 0) {
            return &tables[i];
        }
    }
    return NULL;
}

static const name_row *find_row(const char *kind, int value)
{
    const name_table *table = find_table(kind);
    for (int i = 0; table != NULL && i < table->count; ++i) {
        if (table->rows[i].value == value) {
            return &table->rows[i];
        }
    }
    return NULL;
}

cmg_status cmg_enum_parse(const char *kind, const char *name, int *value)
{
    const name_table *table = find_table(kind);
    if (table == NULL || name == NULL || value == NULL) {
        return CMG_ERR_ARG;
    }
    for (int i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i].name, name) == 0) {
            *value = table->rows[i].value;
            return CMG_OK;
        }
    }
    return CMG_ERR_ARG;
}

const char *cmg_enum_name(const char *kind, int value)
{
    const name_row *row = find_row(kind, value);
    return row != NULL ? row->name : NULL;
}

const char *cmg_enum_text(const char *kind, int value)
{
    const name_row *row = find_row(kind, value);
    return row != NULL ? row->text : NULL;
}
