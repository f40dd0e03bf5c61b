/* One matrix or one vector from a file; the content says which reader it belongs to. */
#define _DEFAULT_SOURCE
#include "io/io.h"

#include "core/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_banner(const char *head)
{
    const char *word = "matrixmarket";
    head += head[0] == '%' && head[1] == '%' ? 2 : head[0] == '%';
    for (; *word != '\0' && (*head | 32) == *word; ++word, ++head) {
    }
    return *word == '\0';
}

/* PETSc's class numbers of Mat and Vec, after four zero bytes too (64-bit indices). */
static bool is_petsc(const unsigned char *head)
{
    static const unsigned char number[3] = {0x00, 0x12, 0x7b};
    const unsigned char *p = memcmp(head, "\0\0\0\0", 4) == 0 ? head + 4 : head;
    return memcmp(p, number, 3) == 0 && (p[3] == 0x50 || p[3] == 0x4e);
}

cmg_status cmgi_look(cmg_context *ctx, const char *path, cmgi_content *found)
{
    struct stat facts;
    CMGI_CHECK(ctx, stat(path, &facts) == 0, CMG_ERR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode)) {
        *found = CMGI_CONTENT_DIRECTORY;
        return CMG_OK;
    }
    cmgi_scoped_by(cmgi_file_close) cmgi_file file = {0};
    char head[33] = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    CMGI_TRY(cmgi_file_read(&file, 0, file.size < 32 ? file.size : 32, head));
    *found = CMGI_CONTENT_OTHER;
    if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0) {
        *found = CMGI_CONTENT_HDF5;
    } else if (is_petsc((const unsigned char *)head)) {
        *found = CMGI_CONTENT_PETSC;
    } else if (is_banner(head)) {
        *found = CMGI_CONTENT_MTX;
    } else if (memcmp(head, "\x93NUMPY", 6) == 0) {
        *found = CMGI_CONTENT_NPY;
    } else if (memcmp(head, "PK\3\4", 4) == 0) {
        *found = CMGI_CONTENT_NPZ;
    } else if (cmgi_has_suffix(path, ".ell")) {
        *found = CMGI_CONTENT_ELL;
    }
    return CMG_OK;
}

cmg_status cmgi_fail_unknown(cmg_context *ctx, const char *path)
{
    return cmgi_fail(ctx, CMG_ERR_FILE,
                     "%s: neither an HDF5 file, nor PETSc binary, nor Matrix Market (no banner)",
                     path);
}

typedef cmg_status (*read_fn)(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                              cmgi_csr *A);

cmg_status cmgi_matrix_file_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                 cmgi_csr *A)
{
    static const read_fn readers[CMGI_CONTENT_OTHER + 1] = {[CMGI_CONTENT_MTX] = cmgi_mtx_read,
                                                            [CMGI_CONTENT_PETSC] =
                                                                cmgi_petsc_read_matrix,
                                                            [CMGI_CONTENT_ELL] = cmgi_ell_read,
                                                            [CMGI_CONTENT_NPZ] = cmgi_npz_read};
    cmgi_content found = CMGI_CONTENT_OTHER;
    CMGI_TRY(cmgi_look(ctx, path, &found));
    return readers[found] != NULL ? readers[found](ctx, path, expect, A)
                                  : cmgi_fail_unknown(ctx, path);
}

cmg_status cmg_csr_read(cmg_context *ctx, const char *path, cmg_csr *A)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && A != NULL, CMG_ERR_ARG,
               "matrix read: the path or the out-pointer is NULL");
    cmgi_scoped_csr read = {0};
    CMGI_TRY(cmgi_matrix_file_read(ctx, path, &CMGI_EXPECT_ANYTHING, &read));
    *A = cmgi_csr_pass_on(&read).view;
    return CMG_OK;
}

void cmg_csr_free(cmg_context *ctx, cmg_csr *A)
{
    if (ctx != NULL && A != NULL) {
        cmgi_csr read = {.view = *A};
        cmgi_csr_free(ctx, &read);
        *A = read.view;
    }
}

/* n x columns values by rows, in memory of cmgi_alloc; `expected` rows or -1. */
static cmg_status read_columns(cmg_context *ctx, const char *path, cmg_size expected, cmg_size *n,
                               cmg_size *columns, double **values)
{
    cmgi_content found = CMGI_CONTENT_OTHER;
    CMGI_TRY(cmgi_look(ctx, path, &found));
    *columns = 1;
    switch (found) {
    case CMGI_CONTENT_MTX:
        return cmgi_mtx_read_dense(ctx, path, expected, n, columns, values);
    case CMGI_CONTENT_PETSC:
        return cmgi_petsc_read_vector(ctx, path, n, values);
    case CMGI_CONTENT_NPY:
        return cmgi_npy_read(ctx, path, n, columns, values);
    case CMGI_CONTENT_OTHER:
        return cmgi_text_read_vector(ctx, path, n, values);
    default:
        return cmgi_fail(ctx, CMG_ERR_FILE,
                         "%s: not a vector: Matrix Market, PETSc binary or numbers line by line",
                         path);
    }
}

cmg_status cmgi_vector_file_read(cmg_context *ctx, const char *path, cmg_size expected, cmg_size *n,
                                 double **values)
{
    cmgi_scoped double *read = NULL;
    cmg_size columns = 0;
    CMGI_TRY(read_columns(ctx, path, expected, n, &columns, &read));
    CMGI_CHECK(ctx, columns == 1, CMG_ERR_FILE, "%s: %lld columns where a vector is needed", path,
               (long long)columns);
    CMGI_CHECK(ctx, expected < 0 || *n == expected, CMG_ERR_FILE,
               "%s: %lld values where %lld are needed", path, (long long)*n, (long long)expected);
    *values = cmgi_pass_on(&read);
    return CMG_OK;
}

/* Values as an array that the caller frees with cmg_free. */
static cmg_status hand_over(cmg_context *ctx, const char *path, cmg_size count,
                            const double *values, double **given)
{
    double *copy = malloc((size_t)(count > 0 ? count : 1) * sizeof *copy);
    CMGI_CHECK(ctx, copy != NULL, CMG_ERR_MEMORY, "%s: out of memory for %lld values", path,
               (long long)count);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    *given = copy;
    return CMG_OK;
}

cmg_status cmg_vector_read(cmg_context *ctx, const char *path, cmg_size *n, double **values)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && n != NULL && values != NULL, CMG_ERR_ARG,
               "vector read: the path or an out-pointer is NULL");
    cmgi_scoped double *read = NULL;
    cmg_size length = 0;
    CMGI_TRY(cmgi_vector_file_read(ctx, path, -1, &length, &read));
    CMGI_TRY(hand_over(ctx, path, length, read, values));
    *n = length;
    return CMG_OK;
}

cmg_status cmg_columns_read(cmg_context *ctx, const char *path, cmg_size *n, int *columns,
                            double **values)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && n != NULL && columns != NULL && values != NULL, CMG_ERR_ARG,
               "columns read: the path or an out-pointer is NULL");
    cmgi_scoped double *read = NULL;
    cmg_size rows = 0;
    cmg_size width = 0;
    CMGI_TRY(read_columns(ctx, path, -1, &rows, &width, &read));
    CMGI_CHECK(ctx, width >= 1 && width <= CMG_COLUMNS, CMG_ERR_FILE,
               "%s: %lld columns, 1 to %d are possible", path, (long long)width, (int)CMG_COLUMNS);
    CMGI_TRY(hand_over(ctx, path, rows * width, read, values));
    *n = rows;
    *columns = (int)width;
    return CMG_OK;
}

cmg_status cmg_vector_write(cmg_context *ctx, const char *path, cmg_size n, const double *values)
{
    return cmg_columns_write(ctx, path, n, 1, values);
}

cmg_status cmg_columns_write(cmg_context *ctx, const char *path, cmg_size n, int columns,
                             const double *values)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && path[0] != '\0' && n >= 0 && (values != NULL || n == 0),
               CMG_ERR_ARG,
               "vector write: the path or the values are missing, or the length is negative");
    CMGI_CHECK(ctx, columns >= 1 && columns <= CMG_COLUMNS, CMG_ERR_ARG,
               "vector write: %d columns, 1 to %d are possible", columns, (int)CMG_COLUMNS);
    const char *suffix = NULL;
    CMGI_TRY(cmgi_vector_kind(ctx, path, &suffix));
    if (strcmp(suffix, ".npy") == 0) {
        return cmgi_npy_write(ctx, path, n, columns, values);
    }
    if (strcmp(suffix, ".mtx") == 0) {
        return cmgi_mtx_write_dense(ctx, path, n, columns, values);
    }
    CMGI_CHECK(ctx, columns == 1, CMG_ERR_UNSUPPORTED,
               "%s: %d columns are written to a name ending in .npy or .mtx", path, columns);
    return strcmp(suffix, ".petsc") == 0
               ? cmgi_petsc_write_vector(ctx, path, n, values)
               : cmgi_text_write_vector(ctx, path, "vector of length", n, values);
}
