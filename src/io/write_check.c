/* What is written under which name, and whether it can be, before there is anything to write. */
#define _POSIX_C_SOURCE 200809L
#include "core/memory.h"
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cmgi_has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path);
    const size_t m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

/* Kind by name: by suffix; directories of Matrix Market files where there is none. */
cmg_status cmgi_kind_by_name(cmg_context *ctx, const char *path, cmg_file_kind *kind)
{
    static const struct {
        const char *suffix;
        cmg_file_kind kind;
    } rows[] = {{".cmg", CMG_FILE_CONTAINER},  {".h5", CMG_FILE_CONTAINER},
                {".hdf5", CMG_FILE_CONTAINER}, {".mtx", CMG_FILE_MTX},
                {".petsc", CMG_FILE_PETSC},    {".ell", CMG_FILE_ELL}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        if (cmgi_has_suffix(path, rows[k].suffix)) {
            *kind = rows[k].kind;
            return CMG_OK;
        }
    }
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    CMGI_CHECK(ctx, strchr(base, '.') == NULL || strspn(base, ".") == strlen(base), CMG_ERR_ARG,
               "%s: the name ends in none of .cmg, .h5, .mtx, .petsc, so the kind must be given",
               path);
    *kind = CMG_FILE_MTX;
    return CMG_OK;
}

/* Kind by name of a vector's file. */
cmg_status cmgi_vector_kind(cmg_context *ctx, const char *path, const char **suffix)
{
    static const char *const known[] = {".petsc", ".txt", ".npy", ".mtx"};
    const char *slash = strrchr(path, '/');
    for (int k = 0; k < 4; ++k) {
        if (cmgi_has_suffix(path, known[k])) {
            *suffix = known[k];
            return CMG_OK;
        }
    }
    *suffix = ".mtx";
    CMGI_CHECK(ctx, strchr(slash != NULL ? slash : path, '.') == NULL, CMG_ERR_ARG,
               "%s: a vector is written to a name ending in .mtx, .petsc, .txt or .npy", path);
    return CMG_OK;
}

/* The folder is there and may be written to; what stands there already may be replaced. */
static cmg_status check_folder(cmg_context *ctx, const char *path)
{
    struct stat facts;
    cmgi_scoped char *folder = NULL;
    const bool there = stat(path, &facts) == 0;
    if (there && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
        return CMG_OK; /* a device or a pipe */
    }
    CMGI_TRY(cmgi_strdup(ctx, path, &folder));
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        folder[--length] = '\0';
    }
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder] = '\0';
    }
    const char *where = slash != NULL ? folder : ".";
    CMGI_CHECK(ctx, access(where, W_OK | X_OK) == 0, CMG_ERR_IO, "%s: cannot be written: %s", path,
               strerror(errno));
    return CMG_OK;
}

cmg_status cmg_hierarchy_write_check(cmg_context *ctx, const char *path, cmg_file_kind kind)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG, "write check: no path");
    if (kind == CMG_FILE_AUTO) {
        CMGI_TRY(cmgi_kind_by_name(ctx, path, &kind));
    }
#ifndef CMGI_HAVE_HDF5
    CMGI_CHECK(ctx, kind != CMG_FILE_CONTAINER, CMG_ERR_UNSUPPORTED,
               "%s: this build has no HDF5, which the container needs", path);
#endif
    return check_folder(ctx, path);
}

cmg_status cmg_vector_write_check(cmg_context *ctx, const char *path)
{
    const char *suffix = NULL;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG, "write check: no path");
    CMGI_TRY(cmgi_vector_kind(ctx, path, &suffix));
    return check_folder(ctx, path);
}
