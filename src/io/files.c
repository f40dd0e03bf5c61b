/* The public functions of the files section: which reader or writer a path belongs to. */
#define _DEFAULT_SOURCE
#include "io/io.h"

#include "core/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

cmg_status cmgi_expect_check(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                             cmg_size rows, cmg_size cols, cmg_size nnz)
{
    const cmg_size r = expect->rows >= 0 ? expect->rows : rows;
    const cmg_size c = expect->cols >= 0 ? expect->cols : cols;
    CMGI_CHECK(ctx, rows == r && cols == c, CMG_ERR_FILE,
               "%s: %lld x %lld where the levels' sizes ask for %lld x %lld", path, (long long)rows,
               (long long)cols, (long long)r, (long long)c);
    CMGI_CHECK(ctx, !expect->full_rows || rows == cols, CMG_ERR_FILE,
               "%s: %lld x %lld, but a level matrix is square", path, (long long)rows,
               (long long)cols);
    CMGI_CHECK(ctx, !expect->full_rows || nnz < 0 || nnz >= rows, CMG_ERR_FILE,
               "%s: %lld rows but at most %lld entries: a row is empty", path, (long long)rows,
               (long long)nnz);
    CMGI_CHECK(ctx, expect->rows >= 0 || expect->full_rows || nnz < 0 || rows / 4096 <= nnz + 256,
               CMG_ERR_FILE, "%s: %lld rows with %lld entries are too empty for a matrix", path,
               (long long)rows, (long long)nnz);
    return CMG_OK;
}

/* ------------------------------------------------------------------ what a file is */

typedef enum content {
    CONTENT_MTX,
    CONTENT_PETSC,
    CONTENT_HDF5,
    CONTENT_DIRECTORY,
    CONTENT_ELL,
    CONTENT_NPY,
    CONTENT_NPZ,
    CONTENT_OTHER
} content;

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

static cmg_status look(cmg_context *ctx, const char *path, content *found)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return cmgi_fail(ctx, CMG_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(facts.st_mode)) {
        *found = CONTENT_DIRECTORY;
        return CMG_OK;
    }
    cmgi_file file = {0};
    char head[33] = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    const cmg_size bytes = file.size < 32 ? file.size : 32;
    const cmg_status status = cmgi_file_read(&file, 0, bytes, head);
    cmgi_file_close(&file);
    CMGI_TRY(status);
    *found = CONTENT_OTHER;
    if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0) {
        *found = CONTENT_HDF5;
    } else if (is_petsc((const unsigned char *)head)) {
        *found = CONTENT_PETSC;
    } else if (is_banner(head)) {
        *found = CONTENT_MTX;
    } else if (memcmp(head, "\x93NUMPY", 6) == 0) {
        *found = CONTENT_NPY;
    } else if (memcmp(head, "PK\3\4", 4) == 0) {
        *found = CONTENT_NPZ;
    } else if (cmgi_has_suffix(path, ".ell")) {
        *found = CONTENT_ELL;
    }
    return CMG_OK;
}

static cmg_status fail_unknown(cmg_context *ctx, const char *path)
{
    return cmgi_fail(ctx, CMG_ERR_FILE,
                     "%s: neither an HDF5 file, nor PETSc binary, nor Matrix Market (no banner)",
                     path);
}

cmg_status cmgi_matrix_file_read(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                 cmgi_csr *A)
{
    content found = CONTENT_OTHER;
    CMGI_TRY(look(ctx, path, &found));
    switch (found) {
    case CONTENT_MTX:
        return cmgi_mtx_read(ctx, path, expect, A);
    case CONTENT_PETSC:
        return cmgi_petsc_read_matrix(ctx, path, expect, A);
    case CONTENT_ELL:
        return cmgi_ell_read(ctx, path, expect, A);
    case CONTENT_NPZ:
        return cmgi_npz_read(ctx, path, expect, A);
    default:
        return fail_unknown(ctx, path);
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
    content found = CONTENT_OTHER;
    double *read = NULL;
    CMGI_TRY(look(ctx, path, &found));
    switch (found) {
    case CONTENT_MTX:
        CMGI_TRY(read_column(ctx, path, expected, n, &read));
        break;
    case CONTENT_PETSC:
        CMGI_TRY(cmgi_petsc_read_vector(ctx, path, n, &read));
        break;
    case CONTENT_NPY:
        CMGI_TRY(cmgi_npy_read(ctx, path, n, &read));
        break;
    case CONTENT_OTHER:
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

/* ------------------------------------------------------------------ hierarchies */

static cmg_status read_single(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
    cmg_hierarchy *made = NULL;
    cmgi_csr A = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_matrix_file_read(ctx, path, &expect, &A));
    CMGI_TRY_GOTO(done, cmg_hierarchy_create(ctx, 1, &made));
    CMGI_TRY_GOTO(
        done, cmgi_in_file(ctx, path, cmgi_hierarchy_take_csr(made, 0, CMG_ROLE_A, NULL, 0, &A)));
    *h = made;
    made = NULL;
done:
    cmg_hierarchy_destroy(&made);
    cmgi_csr_free(ctx, &A);
    return status;
}

static cmg_status read_directory(cmg_context *ctx, const char *path, cmg_file_kind kind,
                                 cmg_hierarchy **h)
{
    cmgi_naming naming = CMGI_NAMES_PLAIN;
    const char *extension = "";
    switch (kind) {
    case CMG_FILE_MTX:
        extension = ".mtx";
        break;
    case CMG_FILE_PETSC:
        extension = ".petsc";
        break;
    case CMG_FILE_ELL:
        naming = CMGI_NAMES_ELL;
        break;
    default:
        CMGI_TRY(cmgi_directory_naming(ctx, path, &naming));
        break;
    }
    return cmgi_directory_read(ctx, path, naming, extension, h);
}

static cmg_status read_any(cmg_context *ctx, const char *path, cmg_file_kind kind,
                           cmg_hierarchy **h)
{
    static const cmg_file_kind kind_of[] = {
        [CONTENT_MTX] = CMG_FILE_MTX,        [CONTENT_PETSC] = CMG_FILE_PETSC,
        [CONTENT_HDF5] = CMG_FILE_CONTAINER, [CONTENT_ELL] = CMG_FILE_ELL,
        [CONTENT_NPZ] = CMG_FILE_AUTO,       [CONTENT_OTHER] = CMG_FILE_AUTO};
    content found = CONTENT_OTHER;
    CMGI_TRY(look(ctx, path, &found));
    if (found == CONTENT_DIRECTORY) {
        CMGI_CHECK(ctx, kind != CMG_FILE_CONTAINER, CMG_ERR_FILE,
                   "%s: a directory, not a container", path);
        return read_directory(ctx, path, kind, h);
    }
    if (found == CONTENT_OTHER || found == CONTENT_NPY) {
        return fail_unknown(ctx, path);
    }
    CMGI_CHECK(ctx, kind == CMG_FILE_AUTO || kind == kind_of[found], CMG_ERR_FILE,
               "%s: the content is not of the kind that was asked for", path);
    if (found == CONTENT_HDF5) {
        return cmgi_read_container(ctx, path, h);
    }
    if (found == CONTENT_PETSC) {
        return cmgi_read_petsc(ctx, path, h);
    }
    return read_single(ctx, path, h);
}

/* Names and texts of a damaged file may hold anything: the message stays one line of plain text. */
static void clean_message(cmg_context *ctx, const char *path)
{
    const size_t kept = strncmp(ctx->message, path, strlen(path)) == 0 ? strlen(path) : 0;
    for (char *p = ctx->message + kept; *p != '\0'; ++p) {
        *p = *p >= ' ' && *p <= '~' ? *p : '?';
    }
}

cmg_status cmg_hierarchy_read(cmg_context *ctx, const char *path, cmg_file_kind kind,
                              cmg_hierarchy **h)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(ctx, path != NULL && h != NULL, CMG_ERR_ARG,
               "hierarchy read: the path or the out-pointer is NULL");
    CMGI_CHECK(ctx, kind >= CMG_FILE_AUTO && kind <= CMG_FILE_ELL, CMG_ERR_ARG,
               "unknown kind of file %d", (int)kind);
    cmg_hierarchy *made = NULL;
    cmg_status status = read_any(ctx, path, kind, &made);
    if (status == CMG_OK) {
        status = cmgi_in_file(ctx, path, cmgi_hierarchy_ensure_checked(made));
    }
    if (status != CMG_OK) {
        clean_message(ctx, path);
        cmg_hierarchy_destroy(&made);
        return status;
    }
    *h = made;
    return CMG_OK;
}

cmg_size cmgi_known_rows(const cmg_hierarchy *h, int level)
{
    const cmg_size rows = cmg_hierarchy_rows(h, level);
    return rows > 0 ? rows : -1;
}

cmg_size cmgi_coords_rows(const cmg_hierarchy *h, int level, cmg_size n)
{
    const char *block_text = cmg_hierarchy_attribute(h, "block_size");
    const char *dim_text = cmg_hierarchy_attribute(h, "dim");
    const cmg_size rows = cmg_hierarchy_rows(h, level);
    const cmg_size block = block_text != NULL ? strtoll(block_text, NULL, 10) : 1;
    const cmg_size dim = dim_text != NULL ? strtoll(dim_text, NULL, 10) : 0;
    const cmg_size nodes = block > 1 && rows % block == 0 ? rows / block : rows;
    if (nodes < 1 || n < 1 || n % nodes != 0) {
        return 0;
    }
    /* coordinates of every degree of freedom rather than of every node show by the dimension */
    return dim > 0 && dim <= 3 && n == rows * dim ? rows : nodes;
}

static cmg_status write_single_mtx(const cmg_hierarchy *h, const char *path)
{
    cmg_csr A;
    CMGI_CHECK(h->ctx, h->levels == 1, CMG_ERR_ARG,
               "%s: a Matrix Market file holds one matrix, the hierarchy has %d levels;"
               " give the name of a directory",
               path, h->levels);
    CMGI_TRY(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    cmgi_warn_matrices_only(h, path);
    return cmgi_mtx_write(h->ctx, path, &A);
}

cmg_status cmg_hierarchy_write(const cmg_hierarchy *h, const char *path, cmg_file_kind kind)
{
    if (h == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(h->ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG,
               "hierarchy write: the path is missing");
    CMGI_CHECK(h->ctx, kind >= CMG_FILE_AUTO && kind <= CMG_FILE_ELL, CMG_ERR_ARG,
               "unknown kind of file %d", (int)kind);
    CMGI_TRY(h->checked ? CMG_OK : cmg_hierarchy_check(h));
    if (kind == CMG_FILE_AUTO) {
        CMGI_TRY(cmgi_kind_by_name(h->ctx, path, &kind));
    }
    switch (kind) {
    case CMG_FILE_CONTAINER:
        return cmgi_write_container(h, path);
    case CMG_FILE_PETSC:
        return cmgi_has_suffix(path, ".petsc")
                   ? cmgi_write_petsc(h, path)
                   : cmgi_directory_write(h, path, CMGI_NAMES_PLAIN, ".petsc");
    case CMG_FILE_ELL:
        return cmgi_directory_write(h, path, CMGI_NAMES_ELL, ".ell");
    default:
        return cmgi_has_suffix(path, ".mtx")
                   ? write_single_mtx(h, path)
                   : cmgi_directory_write(h, path, CMGI_NAMES_PLAIN, ".mtx");
    }
}

/* ------------------------------------------------------------------ vectors */

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
