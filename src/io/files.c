/* Hierarchies from and to files: which reader or writer a path belongs to. */
#include "io/io.h"

#include <string.h>

static cmg_status read_any(cmg_context *ctx, const char *path, cmg_file_kind kind,
                           cmg_hierarchy **h)
{
    static const cmg_file_kind kind_of[] = {
        [CMGI_CONTENT_MTX] = CMG_FILE_MTX,        [CMGI_CONTENT_PETSC] = CMG_FILE_PETSC,
        [CMGI_CONTENT_HDF5] = CMG_FILE_CONTAINER, [CMGI_CONTENT_ELL] = CMG_FILE_ELL,
        [CMGI_CONTENT_NPZ] = CMG_FILE_AUTO,       [CMGI_CONTENT_OTHER] = CMG_FILE_AUTO};
    cmgi_content found = CMGI_CONTENT_OTHER;
    CMGI_TRY(cmgi_look(ctx, path, &found));
    if (found == CMGI_CONTENT_DIRECTORY) {
        CMGI_CHECK(ctx, kind != CMG_FILE_CONTAINER, CMG_ERR_FILE,
                   "%s: a directory, not a container", path);
        cmgi_naming naming = kind == CMG_FILE_ELL ? CMGI_NAMES_ELL : CMGI_NAMES_PLAIN;
        const char *extension = kind == CMG_FILE_MTX     ? ".mtx"
                                : kind == CMG_FILE_PETSC ? ".petsc"
                                                         : "";
        if (kind == CMG_FILE_AUTO) {
            CMGI_TRY(cmgi_directory_naming(ctx, path, &naming));
        }
        return cmgi_directory_read(ctx, path, naming, extension, h);
    }
    if (found == CMGI_CONTENT_OTHER || found == CMGI_CONTENT_NPY) {
        return cmgi_fail_unknown(ctx, path);
    }
    CMGI_CHECK(ctx, kind == CMG_FILE_AUTO || kind == kind_of[found], CMG_ERR_FILE,
               "%s: the content is not of the kind that was asked for", path);
    if (found == CMGI_CONTENT_HDF5) {
        return cmgi_read_container(ctx, path, NULL, h);
    }
    if (found == CMGI_CONTENT_PETSC) {
        return cmgi_in_file(ctx, path, cmgi_read_petsc(ctx, path, h));
    }
    const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
    cmgi_scoped_csr A = {0};
    CMGI_TRY(cmg_hierarchy_create(ctx, 1, h));
    CMGI_TRY(cmgi_matrix_file_read(ctx, path, &expect, &A));
    return cmgi_in_file(ctx, path, cmgi_hierarchy_take_csr(*h, 0, CMG_ROLE_A, NULL, 0, &A));
}

void cmgi_clean_message(cmg_context *ctx, const char *path)
{
    const size_t kept = strncmp(ctx->message, path, strlen(path)) == 0 ? strlen(path) : 0;
    for (char *p = ctx->message + kept; *p != '\0'; ++p) {
        *p = *p >= ' ' && *p <= '~' ? *p : '?';
    }
}

cmg_status cmg_hierarchy_read(cmg_context *ctx, const char *path, cmg_file_kind kind,
                              cmg_hierarchy **h)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && h != NULL, CMG_ERR_ARG,
               "hierarchy read: the path or the out-pointer is NULL");
    CMGI_CHECK(ctx, kind >= CMG_FILE_AUTO && kind <= CMG_FILE_ELL, CMG_ERR_ARG,
               "unknown kind of file %d", (int)kind);
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *made = NULL;
    cmg_status status = read_any(ctx, path, kind, &made);
    if (status == CMG_OK) {
        status = cmgi_in_file(ctx, path, cmgi_hierarchy_ensure_checked(made, false));
    }
    if (status != CMG_OK) {
        cmgi_clean_message(ctx, path);
        return status;
    }
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmg_hierarchy_write(const cmg_hierarchy *h, const char *path, cmg_file_kind kind)
{
    cmg_csr A;
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG,
               "hierarchy write: the path is missing");
    CMGI_CHECK(h->ctx, kind >= CMG_FILE_AUTO && kind <= CMG_FILE_ELL, CMG_ERR_ARG,
               "unknown kind of file %d", (int)kind);
    CMGI_TRY(h->checked ? CMG_OK : cmg_hierarchy_check(h));
    CMGI_TRY(cmgi_hierarchy_bring(h));
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
        if (!cmgi_has_suffix(path, ".mtx")) {
            return cmgi_directory_write(h, path, CMGI_NAMES_PLAIN, ".mtx");
        }
        CMGI_CHECK(h->ctx, h->levels == 1, CMG_ERR_ARG,
                   "%s: a Matrix Market file holds one matrix, the hierarchy has %d levels;"
                   " give the name of a directory",
                   path, h->levels);
        CMGI_TRY(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
        cmgi_warn_matrices_only(h, path);
        return cmgi_mtx_write(h->ctx, path, &A);
    }
}
