/*
 * Files: one reader and one writer per kind, and what they share. The kind is found by content: the
 * HDF5 signature, PETSc's class number, the Matrix Market banner, or the names in a directory.
 */
#pragma once
#include "io/source.h"
#include "hierarchy/own.h"

/* What is known of a matrix before it is read, so that no file can ask for more memory than fits.
 */
typedef struct cmgi_expect {
    cmg_size rows;  /* -1 = unknown */
    cmg_size cols;  /* -1 = unknown */
    bool full_rows; /* every row has an entry */
} cmgi_expect;

#define CMGI_EXPECT_ANYTHING ((cmgi_expect){-1, -1, false})
#define CMGI_EXPECT_LEVEL_MATRIX ((cmgi_expect){-1, -1, true})

/* Of a matrix of a level with so many rows, and as many on the next one, -1 = unknown. */
cmgi_expect cmgi_expect_of(cmg_role role, cmg_size rows, cmg_size coarse);
/* "path: 3 x 4 where 5 x 5 is needed", or that rows must be empty; nnz may be -1. */
cmg_status cmgi_expect_check(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                             cmg_size rows, cmg_size cols, cmg_size nnz);

/* Does the path end in that? */
bool cmgi_has_suffix(const char *path, const char *suffix);
/* The kind that is written under a name: by suffix, a directory of Matrix Market files without. */
cmg_status cmgi_kind_by_name(cmg_context *ctx, const char *path, cmg_file_kind *kind);
/* The suffix that says how a vector is written under a name. */
cmg_status cmgi_vector_kind(cmg_context *ctx, const char *path, const char **suffix);

/* ------------------------------------------------------------------ single matrices and vectors */

/* What is in a file, by its first bytes; OTHER may be a text of numbers. */
typedef enum cmgi_content {
    CMGI_CONTENT_MTX,
    CMGI_CONTENT_PETSC,
    CMGI_CONTENT_HDF5,
    CMGI_CONTENT_DIRECTORY,
    CMGI_CONTENT_ELL,
    CMGI_CONTENT_NPY,
    CMGI_CONTENT_NPZ,
    CMGI_CONTENT_OTHER
} cmgi_content;

/* CMG_ERR_IO with the system's reason when there is no such file. */
cmg_status cmgi_look(cmg_context *ctx, const char *path, cmgi_content *found);
/* CMG_ERR_FILE: neither of the kinds that hold matrices. */
cmg_status cmgi_fail_unknown(cmg_context *ctx, const char *path);

/* One matrix from a file of any kind but the container; the structure is checked. For the caller to
 * free, also where it fails. */
cmg_status cmgi_matrix_file_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                 cmgi_csr *A);
/* One vector, an array of cmgi_alloc; `expected` entries or -1. */
cmg_status cmgi_vector_file_read(cmg_context *ctx, const char *path, cmg_size expected, cmg_size *n,
                                 double **values);

/* By kind. Matrices are checked for structure; vectors are arrays of cmgi_alloc. What the readers
 * make is for the caller to free, also where they fail. */
cmg_status cmgi_mtx_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                         cmgi_csr *A);
cmg_status cmgi_mtx_write(cmg_context *ctx, const char *path, const cmg_csr *A);
/*
 * A matrix of at most 16 columns as values by rows, missing entries 0; *values is of cmgi_alloc.
 * `expected` rows or -1.
 */
cmg_status cmgi_mtx_read_dense(cmg_context *ctx, const char *path, cmg_size expected,
                               cmg_size *rows, cmg_size *cols, double **values);
/* rows x cols values by rows as an array */
cmg_status cmgi_mtx_write_dense(cmg_context *ctx, const char *path, cmg_size rows, cmg_size cols,
                                const double *values);

cmg_status cmgi_ell_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                         cmgi_csr *A);
cmg_status cmgi_ell_write(cmg_context *ctx, const char *path, const cmg_csr *A);
cmg_status cmgi_petsc_read_matrix(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                  cmgi_csr *A);
cmg_status cmgi_petsc_write_matrix(cmg_context *ctx, const char *path, const cmg_csr *A);
cmg_status cmgi_petsc_read_vector(cmg_context *ctx, const char *path, cmg_size *n, double **values);
cmg_status cmgi_petsc_write_vector(cmg_context *ctx, const char *path, cmg_size n,
                                   const double *values);
/* n x columns values by rows. */
cmg_status cmgi_npy_read(cmg_context *ctx, const char *path, cmg_size *n, cmg_size *columns,
                         double **values);
cmg_status cmgi_npy_write(cmg_context *ctx, const char *path, cmg_size n, cmg_size columns,
                          const double *values);
cmg_status cmgi_npz_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                         cmgi_csr *A);
/* One number a line; blank lines and lines that begin with # or % are skipped. */
cmg_status cmgi_text_read_vector(cmg_context *ctx, const char *path, cmg_size *n, double **values);
/* The title goes into a comment line. */
cmg_status cmgi_text_write_vector(cmg_context *ctx, const char *path, const char *title, cmg_size n,
                                  const double *values);

/* ------------------------------------------------------------------ hierarchies */

/* After a failure: names and texts of a damaged file may hold anything, and the message stays one
 * line of plain text. */
void cmgi_clean_message(cmg_context *ctx, const char *path);
/* Readers: a hierarchy that they have begun is for the caller to destroy, also where they fail. */
/* All rows, or those of a share. */
cmg_status cmgi_read_container(cmg_context *ctx, const char *path, const cmgi_share *share,
                               cmg_hierarchy **h);
cmg_status cmgi_write_container(const cmg_hierarchy *h, const char *path);
/* One matrix, the multigrid dump of PETSc, and up to two vectors after them. */
cmg_status cmgi_read_petsc(cmg_context *ctx, const char *path, cmg_hierarchy **h);
cmg_status cmgi_write_petsc(const cmg_hierarchy *h, const char *path);

/* Nodes that n coordinates of a level belong to; CMG_ERR_SHAPE when they do not fit its rows. */
cmg_status cmgi_coords_nodes(const cmg_hierarchy *h, int level, cmg_size n, cmg_size *nodes);
/* CMG_ERR_UNSUPPORTED when some R is not P^T. */
cmg_status cmgi_require_default_restriction(const cmg_hierarchy *h);
/* Says through the log what a file of level matrices and transfers leaves out. */
void cmgi_warn_matrices_only(const cmg_hierarchy *h, const char *path);

/* ------------------------------------------------------------------ directories */

/* The names that a directory's files go by. */
typedef enum cmgi_naming {
    CMGI_NAMES_PLAIN, /* A0 P0 R0 A1 ..., level 0 the finest */
    CMGI_NAMES_ELL    /* A_1 prol_2 A_2 ..., level 1 the coarsest */
} cmgi_naming;

enum { CMGI_IS_VECTOR = CMG_ROLE_INVERSE + 1 }; /* what a file is, if no matrix of a role */
enum { CMGI_RANK_MTX = 2 };                     /* rank of .mtx among the extensions of names.c */
enum { CMGI_NAME_LENGTH = 64, CMGI_PATH_LENGTH = 4096 };

/* A file of a directory and what it holds. */
typedef struct cmgi_item {
    int what;                    /* role or CMGI_IS_VECTOR */
    int level;                   /* as in the file's name */
    int factor;                  /* of a smoother of several, else -1 */
    const char *kind;            /* of a vector */
    char name[CMGI_NAME_LENGTH]; /* of a smoother or a vector */
    char file[256];
    int rank; /* of its extension: the lowest is read when several files hold the same */
} cmgi_item;

/* What the name of a file says; false when it is none of the naming's. */
bool cmgi_item_parse(cmgi_naming naming, const char *file, cmgi_item *item);
/* Gives the file of an item its name, but for the extension; false where the naming has none. */
bool cmgi_item_name(cmgi_naming naming, cmgi_item *item);
/* Which naming a directory follows; CMG_ERR_FILE when none of the names is there. */
cmg_status cmgi_directory_naming(cmg_context *ctx, const char *path, cmgi_naming *naming);
cmg_status cmgi_directory_read(cmg_context *ctx, const char *path, cmgi_naming naming,
                               const char *extension, cmg_hierarchy **h);
cmg_status cmgi_directory_write(const cmg_hierarchy *h, const char *path, cmgi_naming naming,
                                const char *extension);
