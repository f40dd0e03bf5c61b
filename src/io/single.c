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
    if (stat(path, &facts) != 0) {
        return cmgi_fail(ctx, CMG_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(facts.st_mode)) {
        *found = CMGI_CONTENT_DIRECTORY;
        return CMG_OK;
    }
    cmgi_file file = {0};
    char head[33] = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    const cmg_size bytes = file.size < 32 ? file.size : 32;
    const cmg_status status = cmgi_file_read(&file, 0, bytes, head);
    cmgi_file_close(&file);
    CMGI_TRY(status);
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

cmg_status cmgi_matrix_file_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                 cmgi_csr *A)
{
    cmgi_content found = CMGI_CONTENT_OTHER;
    CMGI_TRY(cmgi_look(ctx, path, &found));
    switch (found) {
    case CMGI_CONTENT_MTX:
        return cmgi_mtx_read(ctx, path, expect, A);
    case CMGI_CONTENT_PETSC:
        return cmgi_petsc_read_matrix(ctx, path, expect, A);
    case CMGI_CONTENT_ELL:
        return cmgi_ell_read(ctx, path, expect, A);
    case CMGI_CONTENT_NPZ:
        return cmgi_npz_read(ctx, path, expect, A);
    default:
        return cmgi_fail_unknown(ctx, path);
    }
}

static cmg_status read_column(cmg_context *ctx, const char *path, cmg_size expected, cmg_size *n,
                              double **values)
{
    cmg_size cols = 0;
    double *read = NULL;
    CMGI_TRY(cmgi_mtx_read_dense(ctx, path, expected, n, &cols, &read));
    if (cols != 1) {
        cmgi_free(ctx, read);
        return cmgi_fail(ctx, CMG_ERR_FILE, "%s: %lld columns where a vector is needed", path,
                         (long long)cols);
    }
    *values = read;
    return CMG_OK;
}

cmg_status cmgi_vector_file_read(cmg_context *ctx, const char *path, cmg_size expected, cmg_size *n,
                                 double **values)
{
    cmgi_content found = CMGI_CONTENT_OTHER;
    double *read = NULL;
    CMGI_TRY(cmgi_look(ctx, path, &found));
    switch (found) {
    case CMGI_CONTENT_MTX:
        CMGI_TRY(read_column(ctx, path, expected, n, &read));
        break;
    case CMGI_CONTENT_PETSC:
        CMGI_TRY(cmgi_petsc_read_vector(ctx, path, n, &read));
        break;
    case CMGI_CONTENT_NPY:
        CMGI_TRY(cmgi_npy_read(ctx, path, n, &read));
        break;
    case CMGI_CONTENT_OTHER:
        CMGI_TRY(cmgi_text_read_vector(ctx, path, n, &read));
        break;
    default:
        return cmgi_fail(ctx, CMG_ERR_FILE,
                         "%s: not a vector: Matrix Market, PETSc binary or numbers line by line",
                         path);
    }
    if (expected >= 0 && *n != expected) {
        cmgi_free(ctx, read);
        return cmgi_fail(ctx, CMG_ERR_FILE, "%s: %lld values where %lld are needed", path,
                         (long long)*n, (long long)expected);
    }
    *values = read;
    return CMG_OK;
}

cmg_status cmg_vector_read(cmg_context *ctx, const char *path, cmg_size *n, double **values)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(ctx, path != NULL && n != NULL && values != NULL, CMG_ERR_ARG,
               "vector read: the path or an out-pointer is NULL");
    double *read = NULL;
    cmg_size length = 0;
    CMGI_TRY(cmgi_vector_file_read(ctx, path, -1, &length, &read));
    double *copy = malloc((size_t)(length > 0 ? length : 1) * sizeof *copy);
    if (copy != NULL && length > 0) {
        memcpy(copy, read, (size_t)length * sizeof *copy);
    }
    cmgi_free(ctx, read);
    CMGI_CHECK(ctx, copy != NULL, CMG_ERR_MEMORY, "%s: out of memory for %lld values", path,
               (long long)length);
    *values = copy;
    *n = length;
    return CMG_OK;
}

cmg_status cmg_vector_write(cmg_context *ctx, const char *path, cmg_size n, const double *values)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(ctx, path != NULL && path[0] != '\0' && n >= 0 && (values != NULL || n == 0),
               CMG_ERR_ARG,
               "vector write: the path or the values are missing, or the length is negative");
    const char *suffix = NULL;
    CMGI_TRY(cmgi_vector_kind(ctx, path, &suffix));
    if (strcmp(suffix, ".petsc") == 0) {
        return cmgi_petsc_write_vector(ctx, path, n, values);
    }
    if (strcmp(suffix, ".txt") == 0) {
        return cmgi_text_write_vector(ctx, path, "vector of length", n, values);
    }
    if (strcmp(suffix, ".npy") == 0) {
        return cmgi_npy_write(ctx, path, n, values);
    }
    return cmgi_mtx_write_dense(ctx, path, n, 1, values);
}
