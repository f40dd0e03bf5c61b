/*
 * PETSc's binary form: objects one after another, big-endian throughout.
 *
 *   Mat    int32 1211216, rows, columns, nnz; int32 row lengths; int32 columns; float64 values
 *   Vec    int32 1211214, n; float64 values
 *
 * nnz = -1 marks a dense matrix, nnz = 2^31 - 1 says that the row lengths add up to more. A PETSc
 * built with 64-bit indices writes every integer in 8 bytes. Symmetric storage (SBAIJ) writes the
 * upper triangle and does not say so: a square matrix of that shape gets its lower half.
 * Source: PETSc manual pages MatLoad and VecLoad.
 */
#pragma once
#include "io/io.h"

enum { CMGI_PETSC_MAT = 1211216, CMGI_PETSC_VEC = 1211214, CMGI_PETSC_OBJECTS = 160 };

typedef struct cmgi_petsc_object {
    bool matrix;
    cmg_size offset; /* of the data after the header, bytes */
    cmg_size rows;
    cmg_size cols; /* matrices only */
    cmg_size nnz;
} cmgi_petsc_object;

/* An open file and what it holds. */
typedef struct cmgi_petsc {
    cmgi_file file;
    int bytes; /* of an integer, 4 or 8 */
    int objects;
    cmgi_petsc_object object[CMGI_PETSC_OBJECTS];
} cmgi_petsc;

/* To be closed also where it fails. */
cmg_status cmgi_petsc_open(cmg_context *ctx, const char *path, cmgi_petsc *p);
void cmgi_petsc_close(cmgi_petsc *p);
/* What these make is for the caller to free, also where they fail. */
cmg_status cmgi_petsc_matrix(const cmgi_petsc *p, const cmgi_petsc_object *o,
                             const cmgi_expect *expect, cmgi_csr *A);
cmg_status cmgi_petsc_vector(const cmgi_petsc *p, const cmgi_petsc_object *o, double **values);
