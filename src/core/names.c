/* Enumerations of the public header <-> text: one table each, for command lines and messages. */
#include "core/name_table.h"

#include "core/status.h"

#include <string.h>

static const cmgi_name_table *find_table(const cmgi_name_table *tables, int count, const char *kind)
{
    for (int i = 0; kind != NULL && i < count; ++i) {
        if (strcmp(tables[i].kind, kind) == 0) {
            return &tables[i];
        }
    }
    return NULL;
}

cmg_status cmgi_names_parse(const cmgi_name_table *tables, int count, const char *kind,
                            const char *name, int *value)
{
    const cmgi_name_table *table = find_table(tables, count, kind);
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

const cmgi_name *cmgi_names_find(const cmgi_name_table *tables, int count, const char *kind,
                                 int value)
{
    const cmgi_name_table *table = find_table(tables, count, kind);
    for (int i = 0; table != NULL && i < table->count; ++i) {
        if (table->rows[i].value == value) {
            return &table->rows[i];
        }
    }
    return NULL;
}

static const cmgi_name backends[] = {
    {CMG_BACKEND_CPU, "cpu", "OpenMP on the host"},
    {CMG_BACKEND_CUDA, "cuda", "one CUDA device"},
};
static const cmgi_name logs[] = {
    {CMG_LOG_ERROR, "error", "failures"},
    {CMG_LOG_WARN, "warn", "and what is left out or looks wrong"},
    {CMG_LOG_INFO, "info", "and what is chosen"},
    {CMG_LOG_DEBUG, "debug", "and everything else"},
};
static const cmgi_name precisions[] = {
    {CMG_FP64, "fp64", "double precision throughout"},
    {CMG_FP32, "mixed", "cycle in single precision inside a double precision iteration"},
    {CMG_PRECISION_AUTO, "auto", "mixed where that is faster, and fp64 where mixed fails"},
};

static const cmgi_name matrix_precisions[] = {
    {CMG_FP64, "fp64", "double precision"},
    {CMG_FP32, "mixed", "single precision"},
};
#ifndef CMGI_FORMAT_LIST
#define CMGI_FORMAT_LIST "core/formats.inc"
#endif
#define CMGI_FORMAT_CHOICE(row, name, text) POSITION_##row,
#define CMGI_FORMAT(row, file, name, text) POSITION_##row,
#define CMGI_STUDY CMGI_FORMAT
#define CMGI_ELEMENTS CMGI_FORMAT
enum {
#include CMGI_FORMAT_LIST
    FORMATS
};
#undef CMGI_FORMAT_CHOICE
#undef CMGI_FORMAT
#define CMGI_FORMAT_CHOICE(row, name, text) {POSITION_##row, name, text},
#define CMGI_FORMAT(row, file, name, text) {POSITION_##row, name, text},
static const cmgi_name formats[] = {
#include CMGI_FORMAT_LIST
};
_Static_assert((int)CMG_FORMAT_TUNE == (int)POSITION_tune, "the order is that of cmg_format");
static const cmgi_name values[] = {
    {CMG_VALUES_FULL, "full", "in the precision of the matrix"},
    {CMG_VALUES_FP16, "fp16", "IEEE half, the diagonal in fp32"},
    {CMG_VALUES_FP8, "fp8", "8 bits (4 exponent, 3 fraction), the diagonal in fp32"},
};
static const cmgi_name compressions[] = {
    {CMG_COMPRESSION_TEMPLATE, "template", "rows that repeat: a number a row"},
    {CMG_COMPRESSION_PATTERN, "pattern", "one list of offsets for 64 rows"},
    {CMG_COMPRESSION_CODES8, "8-bit", "a byte an entry for its column"},
    {CMG_COMPRESSION_CODES16, "16-bit", "two bytes an entry for its column"},
    {CMG_COMPRESSION_CODES32, "32-bit", "four bytes an entry for its column: nothing was gained"},
};
static const cmgi_name cycles[] = {
    {CMG_CYCLE_V, "V", "one coarse correction a level"},
    {CMG_CYCLE_W, "W", "two coarse corrections a level"},
    {CMG_CYCLE_F, "F", "an F-cycle, then a V-cycle, on the coarser level"},
    {CMG_CYCLE_NONE, "none", "smoothing on level 0 alone, without a coarse correction"},
};
static const cmgi_name krylovs[] = {
    {CMG_KRYLOV_NONE, "none", "stand-alone cycles (defect correction)"},
    {CMG_KRYLOV_CG, "cg", "conjugate gradients with the cycle as preconditioner"},
    {CMG_KRYLOV_FCG, "fcg", "flexible CG: the cycle may be unsymmetric or vary"},
    {CMG_KRYLOV_DEFECT, "defect", "CG in the precision of the cycle, corrections in fp64"},
    {CMG_KRYLOV_FGMRES, "fgmres",
     "flexible GMRES with restarts: A and the cycle may be unsymmetric"},
    {CMG_KRYLOV_BICGSTAB, "bicgstab", "BiCGStab: two cycles an iteration, few vectors"},
    {CMG_KRYLOV_MERGED, "merged", "CG with one sum over the ranks an iteration"},
    {CMG_KRYLOV_SEMI, "semi", "nested iteration, then Chebyshev semi-iteration: no inner products"},
    {CMG_KRYLOV_AUTO, "auto", "CG, FCG or FGMRES, by the symmetry of A and of the cycle"},
};
static const cmgi_name dirichlets[] = {
    {CMG_DIRICHLET_ZERO, "zero", "zero P at Dirichlet identity rows and columns"},
    {CMG_DIRICHLET_KEEP, "keep", "leave P alone"},
};
static const cmgi_name galerkins[] = {
    {CMG_GALERKIN_AUTO, "auto", "R A P where a level matrix is missing or does not fit"},
    {CMG_GALERKIN_MISSING, "missing", "R A P where a level matrix is missing"},
    {CMG_GALERKIN_ALWAYS, "always", "R A P for all levels"},
};
static const cmgi_name reuses[] = {
    {CMG_REUSE_NONE, "none", "new values give new smoothers"},
    {CMG_REUSE_BOUNDS, "bounds", "smoothers are new, with the bounds of the first spectra"},
    {CMG_REUSE_SMOOTHER, "smoother", "smoothers stay those of the first values"},
};
static const cmgi_name renumbers[] = {
    {CMG_RENUMBER_AUTO, "auto", "where the given order makes products slow"},
    {CMG_RENUMBER_OFF, "off", "the given order"},
    {CMG_RENUMBER_RCM, "rcm", "reverse Cuthill-McKee, coarser levels as their level above"},
};
static const cmgi_name coarses[] = {
    {CMG_COARSE_AUTO, "auto", "dense inverse if small enough, else smoothing"},
    {CMG_COARSE_INVERSE, "inverse", "dense inverse or pseudo-inverse"},
    {CMG_COARSE_SMOOTHER, "smoother", "smoothing steps"},
};
static const cmgi_name loops[] = {
    {CMG_LOOP_AUTO, "auto", "the first of the others that is available"},
    {CMG_LOOP_GRAPH, "graph", "the whole solve as one CUDA graph that repeats its iteration"},
    {CMG_LOOP_STEP, "step", "an iteration is a CUDA graph, which the host repeats"},
    {CMG_LOOP_HOST, "host", "the host waits for every iteration"},
};
static const cmgi_name outcomes[] = {
    {CMG_CONVERGED_RTOL, "converged_rtol", "||b - A x|| <= rtol ||b||"},
    {CMG_CONVERGED_ATOL, "converged_atol", "||b - A x|| <= atol"},
    {CMG_ITERATION_LIMIT, "iteration_limit", "the iteration limit was reached"},
    {CMG_DIVERGED, "diverged", "the residual grew over dtol ||b||"},
    {CMG_NOT_A_NUMBER, "not_a_number", "the residual is not a finite number"},
    {CMG_BREAKDOWN, "breakdown", "p^T A p <= 0: the matrix is not positive definite"},
    {CMG_STAGNATED, "stagnated", "the true residual no longer falls"},
    {CMG_INDEFINITE_PRECONDITIONER, "indefinite_preconditioner",
     "r^T M r < 0: the cycle is not positive definite"},
    {CMG_INTERRUPTED, "interrupted", "the monitor asked to stop"},
    {CMG_ROUNDING, "rounding", "the residual is as small as fp64 allows"},
    {CMG_LEAST_SQUARES, "least_squares", "A x = b has no solution, x has the least ||b - A x||"},
    {CMG_OUT_OF_RANGE, "out_of_range", "x or ||b|| does not fit fp64"},
};
static const cmgi_name setup_parts[] = {
    {CMG_SETUP_UPLOAD, "upload", "waits for matrices on their way to the device"},
    {CMG_SETUP_CHECK, "check", "of the hierarchy"},
    {CMG_SETUP_COMPLETE, "complete", "coarse matrices tried or formed"},
    {CMG_SETUP_CONVERT, "convert", "matrices into their formats"},
    {CMG_SETUP_SMOOTHER, "smoother", "smoothers and their bounds"},
    {CMG_SETUP_COARSE, "coarse", "coarse inverse, collapsed levels"},
    {CMG_SETUP_CYCLE, "cycle", "step list and vectors"},
};
static const cmgi_name numberings[] = {
    {CMG_NUMBERING_GENERATED, "generated", "as the mesh comes"},
    {CMG_NUMBERING_LEXICOGRAPHIC, "lexicographic", "by z, y, x"},
    {CMG_NUMBERING_CUTHILL_MCKEE, "cm", "Cuthill-McKee"},
    {CMG_NUMBERING_REVERSE_CUTHILL_MCKEE, "rcm", "reverse Cuthill-McKee"},
    {CMG_NUMBERING_HIERARCHICAL, "hierarchical", "coarse nodes first"},
    {CMG_NUMBERING_CELLS, "cells", "by coarse cell, lexicographic inside"},
    {CMG_NUMBERING_RANDOM, "random", "shuffled"},
    {CMG_NUMBERING_METIS, "metis", "nested dissection by METIS"},
};

static const cmgi_name files[] = {
    {CMG_FILE_AUTO, "auto", "by content when read, by name when written"},
    {CMG_FILE_CONTAINER, "container", "HDF5 hierarchy container"},
    {CMG_FILE_MTX, "mtx", "Matrix Market, a file or a directory of them"},
    {CMG_FILE_PETSC, "petsc", "PETSc binary, a file or a directory of them"},
    {CMG_FILE_ELL, "ell", "directory in the FE-gMG authors' form"},
};

static const cmgi_name coarsen_methods[] = {
    {CMG_COARSEN_AUTO, "auto", "by the couplings of A"},
    {CMG_COARSEN_AGGREGATION, "aggregation", "aggregates of rows, P smoothed"},
    {CMG_COARSEN_CLASSICAL, "classical", "some of the rows, extended+i interpolation"},
    {CMG_COARSEN_LATTICE, "lattice", "every second point of A's lattice, black box multigrid"},
    {CMG_COARSEN_AIR, "air", "some of the rows, approximate ideal restriction"},
};

static const cmgi_name_table tables[] = {
    CMGI_NAMES("backend", backends),     CMGI_NAMES("log", logs),
    CMGI_NAMES("precision", precisions), CMGI_NAMES("format", formats),
    CMGI_NAMES("cycle", cycles),         CMGI_NAMES("krylov", krylovs),
    CMGI_NAMES("dirichlet", dirichlets), CMGI_NAMES("coarse", coarses),
    CMGI_NAMES("galerkin", galerkins),   CMGI_NAMES("loop", loops),
    CMGI_NAMES("outcome", outcomes),     CMGI_NAMES("setup-part", setup_parts),
    CMGI_NAMES("values", values),        CMGI_NAMES("compression", compressions),
    CMGI_NAMES("file", files),           CMGI_NAMES("numbering", numberings),
    CMGI_NAMES("reuse", reuses),         CMGI_NAMES("coarsen-method", coarsen_methods),
    CMGI_NAMES("renumber", renumbers),   CMGI_NAMES("matrix-precision", matrix_precisions),
};

CMGI_NAME_FUNCTIONS(cmg_enum, tables)
