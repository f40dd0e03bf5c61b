/* What a matrix of a hierarchy has to be before its file is read, and what a kind of file cannot
 * hold when one is written. */
#include "io/io.h"

#include <string.h>

cmgi_expect cmgi_expect_of(cmg_role role, cmg_size rows, cmg_size coarse)
{
    switch (role) {
    case CMG_ROLE_A:
        return CMGI_EXPECT_LEVEL_MATRIX;
    case CMG_ROLE_P:
        return (cmgi_expect){rows, coarse, false};
    case CMG_ROLE_R:
        return (cmgi_expect){coarse, rows, false};
    default:
        return (cmgi_expect){rows, rows, false};
    }
}

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
    const cmg_size most = expect->full_rows || nnz < 0 ? INT64_MAX : nnz + 4096;
    CMGI_CHECK(ctx, expect->rows >= 0 || rows / 16 <= most, CMG_ERR_FILE,
               "%s: %lld rows with %lld entries are too empty for a matrix", path, (long long)rows,
               (long long)nnz);
    CMGI_CHECK(ctx, expect->cols >= 0 || cols / 16 <= most, CMG_ERR_FILE,
               "%s: %lld columns with %lld entries are too empty for a matrix", path,
               (long long)cols, (long long)nnz);
    return CMG_OK;
}

cmg_status cmgi_coords_nodes(const cmg_hierarchy *h, int level, cmg_size n, cmg_size *nodes)
{
    const cmg_size rows = cmg_hierarchy_rows(h, level);
    const cmg_size block = cmgi_hierarchy_number(h, "block_size", 1);
    const cmg_size dim = cmgi_hierarchy_number(h, "dim", 0);
    *nodes = block > 1 && rows % block == 0 ? rows / block : rows;
    CMGI_CHECK(h->ctx, *nodes > 0 && n > 0 && n % *nodes == 0, CMG_ERR_SHAPE,
               "level %d: %lld coordinates do not fit %lld rows", level, (long long)n,
               (long long)rows);
    /* coordinates of every degree of freedom rather than of every node show by the dimension */
    *nodes = dim > 0 && dim <= 3 && n == rows * dim ? rows : *nodes;
    return CMG_OK;
}

static cmg_status equals_transpose(cmg_context *ctx, const cmg_csr *R, const cmg_csr *P,
                                   bool *equal)
{
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr sorted = {0};
    *equal = R->rows == P->cols && R->cols == P->rows && R->indptr[R->rows] == P->indptr[P->rows];
    if (!*equal) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_transpose(ctx, P, &T));
    CMGI_TRY(cmgi_csr_permute(ctx, R, NULL, NULL, true, &sorted));
    const size_t nnz = (size_t)R->indptr[R->rows];
    *equal = memcmp(T.indptr, sorted.indptr, (size_t)(R->rows + 1) * sizeof *T.indptr) == 0 &&
             memcmp(T.indices, sorted.indices, nnz * sizeof *T.indices) == 0;
    for (size_t k = 0; *equal && k < nnz; ++k) {
        *equal = T.values[k] == sorted.values[k];
    }
    return CMG_OK;
}

cmg_status cmgi_require_default_restriction(const cmg_hierarchy *h)
{
    for (int l = 0; l + 1 < h->levels; ++l) {
        const cmgi_csr *R = cmgi_hierarchy_find(h, l, CMG_ROLE_R, NULL, 0);
        const cmgi_csr *P = cmgi_hierarchy_find(h, l, CMG_ROLE_P, NULL, 0);
        bool equal = true;
        if (R != NULL && P != NULL) {
            CMGI_TRY(equals_transpose(h->ctx, &R->view, &P->view, &equal));
        }
        CMGI_CHECK(
            h->ctx, equal, CMG_ERR_UNSUPPORTED,
            "level %d: R is not the transpose of P, and this kind of file holds only one of them",
            l);
    }
    return CMG_OK;
}

void cmgi_warn_matrices_only(const cmg_hierarchy *h, const char *path)
{
    bool more = cmgi_hierarchy_find(h, h->levels - 1, CMG_ROLE_INVERSE, NULL, 0) != NULL;
    for (int l = 0; l < h->levels; ++l) {
        more = more || cmg_hierarchy_smoother(h, l, 0) != NULL;
    }
    for (int i = 0; i < h->vectors; ++i) {
        more = more || h->vector[i].level > 0 || strcmp(h->vector[i].kind, "coords") == 0;
    }
    if (more) {
        cmgi_log(h->ctx, CMG_LOG_WARN,
                 "%s: smoothers, inverse, coordinates and coarse vectors are left out", path);
    }
}
