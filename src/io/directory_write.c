/* Hierarchies written as directories, named as names.c reads them. */
#include "io/io.h"

#include <string.h>

typedef struct target {
    const cmg_hierarchy *h;
    const char *path; /* of the directory while it is made */
    cmgi_naming naming;
    const char *extension; /* of matrices */
} target;

static void warn_left_out(const target *t, int level, const char *what, const char *name)
{
    cmgi_log(t->h->ctx, CMG_LOG_WARN,
             "level %d: left out, as this kind of file has no place for it: %s %s", level, what,
             name);
}

static cmg_status check_name(const cmg_hierarchy *h, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-";
    CMGI_CHECK(h->ctx,
               name[0] != '\0' && name[strspn(name, allowed)] == '\0' &&
                   strlen(name) < CMGI_NAME_LENGTH,
               CMG_ERR_UNSUPPORTED,
               "\"%s\" cannot be part of a file's name (1 to %d letters, digits, _, +, -)", name,
               CMGI_NAME_LENGTH - 1);
    return CMG_OK;
}

/* Number of a level in the names. */
static int number_of(const target *t, int level)
{
    return t->naming == CMGI_NAMES_PLAIN ? level : t->h->levels - level;
}

/* The path of an item, *there = the naming has a place for it. */
static cmg_status find_place(const target *t, cmgi_item *item, const char *extension,
                             char path[CMGI_PATH_LENGTH], bool *there)
{
    *there = cmgi_item_name(t->naming, item);
    const int length =
        *there ? snprintf(path, CMGI_PATH_LENGTH, "%s/%s%s", t->path, item->file, extension) : 0;
    CMGI_CHECK(t->h->ctx, length < CMGI_PATH_LENGTH, CMG_ERR_IO, "%s/%s%s: the path is too long",
               t->path, item->file, extension);
    return CMG_OK;
}

/* A matrix of a role, if there is one; factor is -1 where the smoother is one matrix. */
static cmg_status write_matrix(const target *t, int level, cmg_role role, const char *name,
                               int factor)
{
    cmg_context *ctx = t->h->ctx;
    const cmgi_csr *M = cmgi_hierarchy_find(t->h, level, role, name, factor > 0 ? factor : 0);
    cmgi_item item = {.what = (int)role, .level = number_of(t, level), .factor = factor};
    char path[CMGI_PATH_LENGTH];
    bool there = false;
    if (M == NULL) {
        return CMG_OK;
    }
    (void)snprintf(item.name, sizeof item.name, "%s", name != NULL ? name : "");
    CMGI_TRY(find_place(t, &item, t->extension, path, &there));
    if (!there) {
        if (role == CMG_ROLE_INVERSE) { /* R is P^T */
            warn_left_out(t, level, "the", "inverse");
        }
        return CMG_OK;
    }
    if (strcmp(t->extension, ".ell") == 0) {
        return cmgi_ell_write(ctx, path, &M->view);
    }
    return strcmp(t->extension, ".petsc") == 0 ? cmgi_petsc_write_matrix(ctx, path, &M->view)
                                               : cmgi_mtx_write(ctx, path, &M->view);
}

static cmg_status write_smoothers(const target *t, int level)
{
    const char *name = NULL;
    for (int i = 0; (name = cmg_hierarchy_smoother(t->h, level, i)) != NULL; ++i) {
        const int factors = cmg_hierarchy_factors(t->h, level, name);
        CMGI_TRY(check_name(t->h, name));
        for (int k = 0; k < factors; ++k) {
            CMGI_TRY(write_matrix(t, level, CMG_ROLE_SMOOTHER, name, factors > 1 ? k : -1));
        }
    }
    return CMG_OK;
}

static cmg_status write_vector(const target *t, const cmgi_stored_vector *v)
{
    cmg_context *ctx = t->h->ctx;
    const bool coords = strcmp(v->kind, "coords") == 0;
    const bool named = strcmp(v->kind, "rhs") == 0 || strcmp(v->kind, "solutions") == 0;
    cmgi_item item = {.what = CMGI_IS_VECTOR, .level = number_of(t, v->level), .factor = -1};
    char path[CMGI_PATH_LENGTH];
    bool there = false;
    CMGI_TRY(named ? check_name(t->h, v->name) : CMG_OK);
    item.kind = v->kind;
    (void)snprintf(item.name, sizeof item.name, "%s", v->name);
    const bool text = t->naming == CMGI_NAMES_ELL;
    CMGI_TRY(find_place(t, &item, text ? "" : t->extension, path, &there));
    if (!there) {
        /* what aggregation has made it makes again */
        if (strcmp(v->kind, "nullspace") != 0 || t->h->level[v->level].block == 0) {
            const char *what = coords ? "coordinates" : v->kind;
            warn_left_out(t, v->level, named ? v->kind : "the", named ? v->name : what);
        }
        return CMG_OK;
    }
    if (text) {
        return cmgi_text_write_vector(ctx, path, item.file, v->n, v->values);
    }
    if (strcmp(t->extension, ".petsc") == 0) {
        return cmgi_petsc_write_vector(ctx, path, v->n, v->values);
    }
    cmg_size rows = v->n;
    CMGI_TRY(coords ? cmgi_coords_nodes(t->h, v->level, v->n, &rows) : CMG_OK);
    return cmgi_mtx_write_dense(ctx, path, rows, rows > 0 ? v->n / rows : 1, v->values);
}

static cmg_status write_all(const target *t)
{
    for (int l = 0; l < t->h->levels; ++l) {
        CMGI_TRY(write_matrix(t, l, CMG_ROLE_A, NULL, -1));
        CMGI_TRY(write_matrix(t, l, CMG_ROLE_P, NULL, -1));
        CMGI_TRY(write_matrix(t, l, CMG_ROLE_R, NULL, -1));
        CMGI_TRY(write_smoothers(t, l));
    }
    for (int i = 0; i < t->h->vectors; ++i) {
        CMGI_TRY(write_vector(t, &t->h->vector[i]));
    }
    return write_matrix(t, t->h->levels - 1, CMG_ROLE_INVERSE, NULL, -1);
}

cmg_status cmgi_directory_write(const cmg_hierarchy *h, const char *path, cmgi_naming naming,
                                const char *extension)
{
    cmgi_output output = {0};
    if (naming == CMGI_NAMES_ELL) {
        CMGI_TRY(cmgi_require_default_restriction(h));
    }
    if (h->attributes > 0) {
        cmgi_log(h->ctx, CMG_LOG_INFO, "%s: attributes are kept by the container alone", path);
    }
    CMGI_TRY(cmgi_output_open(h->ctx, path, CMGI_OUTPUT_DIRECTORY, &output));
    const target t = {h, output.temp, naming, extension};
    return cmgi_output_finish(&output, write_all(&t));
}
