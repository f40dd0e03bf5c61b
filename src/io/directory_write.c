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
             "level %d: %s %s is left out: this kind of file has no place for it", level, what,
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

static cmg_status join(const target *t, const char *stem, const char *extension,
                       char path[CMGI_PATH_LENGTH])
{
    const int length = snprintf(path, CMGI_PATH_LENGTH, "%s/%s%s", t->path, stem, extension);
    CMGI_CHECK(t->h->ctx, length < CMGI_PATH_LENGTH, CMG_ERR_IO, "%s/%s%s: the path is too long",
               t->path, stem, extension);
    return CMG_OK;
}

static cmg_status write_matrix(const target *t, const char *stem, const cmgi_csr *M)
{
    char path[CMGI_PATH_LENGTH];
    CMGI_TRY(join(t, stem, t->extension, path));
    if (strcmp(t->extension, ".ell") == 0) {
        return cmgi_ell_write(t->h->ctx, path, &M->view);
    }
    if (strcmp(t->extension, ".petsc") == 0) {
        return cmgi_petsc_write_matrix(t->h->ctx, path, &M->view);
    }
    return cmgi_mtx_write(t->h->ctx, path, &M->view);
}

static cmg_status write_role(const target *t, int level, cmg_role role, const char *prefix)
{
    const cmgi_csr *M = cmgi_hierarchy_find(t->h, level, role, NULL, 0);
    char stem[32];
    (void)snprintf(stem, sizeof stem, "%s%d", prefix, number_of(t, level));
    return M != NULL ? write_matrix(t, stem, M) : CMG_OK;
}

static cmg_status write_smoothers(const target *t, int level)
{
    const char *prefix = t->naming == CMGI_NAMES_PLAIN ? "M" : "A_";
    const char *name = NULL;
    for (int i = 0; (name = cmg_hierarchy_smoother(t->h, level, i)) != NULL; ++i) {
        const int factors = cmg_hierarchy_factors(t->h, level, name);
        CMGI_TRY(check_name(t->h, name));
        for (int k = 0; k < factors; ++k) {
            char stem[CMGI_NAME_LENGTH + 48];
            const int length =
                snprintf(stem, sizeof stem, "%s%d_%s", prefix, number_of(t, level), name);
            if (factors > 1) {
                (void)snprintf(stem + length, sizeof stem - (size_t)length, ".%d", k);
            }
            CMGI_TRY(write_matrix(t, stem,
                                  cmgi_hierarchy_find(t->h, level, CMG_ROLE_SMOOTHER, name, k)));
        }
    }
    return CMG_OK;
}

static cmg_status write_inverse(const target *t)
{
    const int level = t->h->levels - 1;
    const cmgi_csr *M = cmgi_hierarchy_find(t->h, level, CMG_ROLE_INVERSE, NULL, 0);
    if (M == NULL) {
        return CMG_OK;
    }
    if (t->naming == CMGI_NAMES_PLAIN) {
        return write_matrix(t, "inverse", M);
    }
    warn_left_out(t, level, "the", "inverse");
    return CMG_OK;
}

/* Stem of a vector's file; empty when the naming has none for it. */
static void name_vector(const target *t, const cmgi_stored_vector *v, char *stem, size_t room)
{
    const bool rhs = strcmp(v->kind, "rhs") == 0;
    const int number = number_of(t, v->level);
    stem[0] = '\0';
    if (t->naming == CMGI_NAMES_PLAIN) {
        if (strcmp(v->kind, "coords") == 0) {
            (void)snprintf(stem, room, "coords%d", number);
        } else if (v->level == 0 && strcmp(v->name, rhs ? "b" : "x") == 0) {
            (void)snprintf(stem, room, "%s", v->name);
        } else {
            (void)snprintf(stem, room, "%s%d_%s", rhs ? "rhs" : "sol", number, v->name);
        }
    } else if (rhs && strcmp(v->name, "b") == 0) {
        (void)snprintf(stem, room, "rhs_%d", number);
    } else if (strcmp(v->kind, "solutions") == 0 && strcmp(v->name, "x") == 0) {
        (void)snprintf(stem, room, "sol_%d", number);
    } else if (strcmp(v->kind, "solutions") == 0 && strcmp(v->name, "init") == 0) {
        (void)snprintf(stem, room, "init_%d", number);
    }
}

static cmg_status write_vector(const target *t, const cmgi_stored_vector *v)
{
    cmg_context *ctx = t->h->ctx;
    const bool coords = strcmp(v->kind, "coords") == 0;
    char stem[CMGI_NAME_LENGTH + 48];
    char path[CMGI_PATH_LENGTH];
    if (strcmp(v->kind, "nullspace") == 0) {
        if (t->h->level[v->level].block == 0) { /* else aggregation made it, and makes it again */
            warn_left_out(t, v->level, "the", "nullspace");
        }
        return CMG_OK;
    }
    CMGI_TRY(coords ? CMG_OK : check_name(t->h, v->name));
    name_vector(t, v, stem, sizeof stem);
    if (stem[0] == '\0') {
        warn_left_out(t, v->level, coords ? "the" : v->kind, coords ? "coordinates" : v->name);
        return CMG_OK;
    }
    if (t->naming == CMGI_NAMES_ELL) {
        CMGI_TRY(join(t, stem, "", path));
        return cmgi_text_write_vector(ctx, path, stem, v->n, v->values);
    }
    CMGI_TRY(join(t, stem, t->extension, path));
    if (strcmp(t->extension, ".petsc") == 0) {
        return cmgi_petsc_write_vector(ctx, path, v->n, v->values);
    }
    const cmg_size rows = coords ? cmgi_coords_rows(t->h, v->level, v->n) : v->n;
    CMGI_CHECK(ctx, !coords || rows > 0, CMG_ERR_SHAPE,
               "level %d: %lld coordinates do not fit %lld rows", v->level, (long long)v->n,
               (long long)cmg_hierarchy_rows(t->h, v->level));
    return cmgi_mtx_write_dense(ctx, path, rows, rows > 0 ? v->n / rows : 1, v->values);
}

static cmg_status write_all(const target *t)
{
    const bool plain = t->naming == CMGI_NAMES_PLAIN;
    for (int l = 0; l < t->h->levels; ++l) {
        CMGI_TRY(write_role(t, l, CMG_ROLE_A, plain ? "A" : "A_"));
        CMGI_TRY(write_role(t, l, CMG_ROLE_P, plain ? "P" : "prol_"));
        if (plain) {
            CMGI_TRY(write_role(t, l, CMG_ROLE_R, "R"));
        }
        CMGI_TRY(write_smoothers(t, l));
    }
    for (int i = 0; i < t->h->vectors; ++i) {
        CMGI_TRY(write_vector(t, &t->h->vector[i]));
    }
    return write_inverse(t);
}

cmg_status cmgi_directory_write(const cmg_hierarchy *h, const char *path, cmgi_naming naming,
                                const char *extension)
{
    cmgi_output output = {0};
    if (naming == CMGI_NAMES_ELL) {
        CMGI_TRY(cmgi_require_default_restriction(h));
    }
    if (cmgi_hierarchy_attribute_key(h, 0) != NULL) {
        cmgi_log(h->ctx, CMG_LOG_INFO, "%s: attributes are kept by the container alone", path);
    }
    CMGI_TRY(cmgi_output_open(h->ctx, path, CMGI_OUTPUT_DIRECTORY, &output));
    const target t = {h, output.temp, naming, extension};
    return cmgi_output_finish(&output, write_all(&t));
}
