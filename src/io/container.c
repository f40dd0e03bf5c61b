/*
 * The hierarchy container, read. The layout is described in docs/container.md.
 *
 * Level matrices come first, so that every other matrix is held against known sizes before memory
 * is taken for it.
 */
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "core/memory.h"
#include "io/h5.h"

#include <stdlib.h>
#include <string.h>

/* Where a matrix goes in the hierarchy. */
typedef struct place {
    int level;
    cmg_role role;
    const char *name;
    int factor;
} place;

static cmg_status take(cmgi_h5 *h5, const char *name, const place *to, cmgi_csr *A,
                       cmg_hierarchy *h)
{
    char where[CMGI_PATH_LENGTH];
    (void)snprintf(where, sizeof where, "%s: %s", h5->path, name);
    return cmgi_in_file(h5->ctx, where,
                        cmgi_hierarchy_take_csr(h, to->level, to->role, to->name, to->factor, A));
}

static cmg_status read_matrix(cmgi_h5 *h5, const char *name, const cmgi_expect *expect,
                              const place *to, cmg_hierarchy *h)
{
    const bool wanted = to->role == CMG_ROLE_A || to->role == CMG_ROLE_P || to->role == CMG_ROLE_R;
    cmgi_csr A = {0};
    CMGI_TRY(cmgi_container_csr(h5, name, expect, wanted, &A));
    return take(h5, name, to, &A, h);
}

static cmg_status read_vector(cmgi_h5 *h5, const char *name, int level, const char *kind,
                              const char *as, cmg_hierarchy *h)
{
    const bool coords = strcmp(kind, "coords") == 0;
    const bool single = as != NULL;
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const char *text = cmg_hierarchy_attribute(h, "block_size");
    const cmg_size block = text != NULL ? strtoll(text, NULL, 10) : 1;
    cmgi_dataset d = {0};
    double *values = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    const bool fits =
        d.dims[0] == n || (coords && block > 1 && d.dims[0] == n / block && n % block == 0);
    CMGI_CHECK_GOTO(done, h5->ctx, fits && (!single || d.dims[1] == 1), CMG_ERR_FILE,
                    "%s: %s: %lld x %lld values, but the level has %lld rows", h5->path, name,
                    (long long)d.dims[0], (long long)d.dims[1], (long long)n);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, d.count, sizeof *values, &values));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_real(&d, values));
    status = cmgi_in_file(h5->ctx, h5->path,
                          cmgi_hierarchy_take_vector(h, level, kind, as, d.count, values));
    values = NULL;
done:
    cmgi_free(h5->ctx, values);
    cmgi_dataset_close(&d);
    return status;
}

/* Attribute exact = 1 of near-null-space vectors: A takes them to 0. */
static cmg_status read_exact(cmgi_h5 *h5, const char *name, int level, cmg_hierarchy *h)
{
    cmgi_dataset d = {0};
    int64_t exact = 0;
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    h->level[level].exact_nullspace =
        cmgi_h5_attribute_ints(h5, d.id, "exact", 1, &exact) && exact != 0;
    cmgi_dataset_close(&d);
    return CMG_OK;
}

/* All datasets of a group as vectors of one kind. */
static cmg_status read_vectors(cmgi_h5 *h5, const char *group, int level, const char *kind,
                               cmg_hierarchy *h)
{
    for (cmg_size i = 0; cmgi_h5_exists(h5, group); ++i) {
        char as[CMGI_NAME_LENGTH];
        char name[CMGI_H5_NAME];
        CMGI_TRY(cmgi_h5_name(h5, group, i, as, sizeof as));
        if (as[0] == '\0') {
            break;
        }
        (void)snprintf(name, sizeof name, "%s/%s", group, as);
        CMGI_TRY(read_vector(h5, name, level, kind, as, h));
    }
    return CMG_OK;
}

/* A two-dimensional dataset as a CSR matrix with all its entries. */
static cmg_status read_dense(cmgi_h5 *h5, const char *name, cmg_size n, cmgi_csr *A)
{
    cmgi_dataset d = {0};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    CMGI_CHECK_GOTO(done, h5->ctx, d.dims[0] == n && d.dims[1] == n, CMG_ERR_FILE,
                    "%s: %s: %lld x %lld, but the level has %lld rows", h5->path, name,
                    (long long)d.dims[0], (long long)d.dims[1], (long long)n);
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(h5->ctx, n, n, d.count, &made));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_real(&d, made.values));
    for (cmg_size i = 0; i < n; ++i) {
        made.indptr[i] = i * n;
        for (cmg_size j = 0; j < n; ++j) {
            made.indices[i * n + j] = (cmg_index)j;
        }
    }
    *A = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(h5->ctx, &made);
    cmgi_dataset_close(&d);
    return status;
}

static bool is_dataset(const cmgi_h5 *h5, const char *name)
{
    const hid_t object = H5Oopen(h5->file, name, h5->group_access);
    const bool found = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    cmgi_h5_release(object);
    return found;
}

/* One matrix, or factors 0, 1, ... */
static cmg_status read_smoother(cmgi_h5 *h5, const char *group, int level, const char *as,
                                cmg_hierarchy *h)
{
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmgi_expect expect = {n, n, false};
    const hid_t object = H5Gopen2(h5->file, group, h5->group_access);
    char encoding[64];
    const bool single = object >= 0 && cmgi_h5_attribute_text(h5, object, "encoding-type", encoding,
                                                              sizeof encoding);
    cmgi_h5_release(object);
    if (single) {
        return read_matrix(h5, group, &expect, &(place){level, CMG_ROLE_SMOOTHER, as, 0}, h);
    }
    for (int factor = 0;; ++factor) {
        char name[CMGI_H5_NAME + 16];
        (void)snprintf(name, sizeof name, "%s/%d", group, factor);
        if (object >= 0 && factor > 0 && !cmgi_h5_exists(h5, name)) {
            return CMG_OK;
        }
        CMGI_TRY(read_matrix(h5, name, &expect, &(place){level, CMG_ROLE_SMOOTHER, as, factor}, h));
    }
}

static cmg_status read_smoothers(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char group[64];
    (void)snprintf(group, sizeof group, "/levels/%d/smoothers", level);
    for (cmg_size i = 0; cmgi_h5_exists(h5, group); ++i) {
        char as[CMGI_NAME_LENGTH];
        char name[CMGI_H5_NAME];
        CMGI_TRY(cmgi_h5_name(h5, group, i, as, sizeof as));
        if (as[0] == '\0') {
            break;
        }
        (void)snprintf(name, sizeof name, "%s/%s", group, as);
        CMGI_TRY(read_smoother(h5, name, level, as, h));
    }
    return CMG_OK;
}

static cmg_status read_inverse(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/levels/%d/inverse", level);
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmgi_expect expect = {n, n, false};
    const place to = {level, CMG_ROLE_INVERSE, NULL, 0};
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    if (!is_dataset(h5, name)) {
        return read_matrix(h5, name, &expect, &to, h);
    }
    cmgi_csr A = {0};
    CMGI_TRY(read_dense(h5, name, n, &A));
    return take(h5, name, &to, &A, h);
}

/* First rows of the ranks that a level is divided among, if the file has them. */
static cmg_status read_partition(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char name[64];
    cmgi_partition p = {0};
    double *first = NULL;
    cmg_status status = CMG_OK;
    (void)snprintf(name, sizeof name, "/levels/%d/partition", level);
    CMGI_TRY(cmgi_container_partition(h5, name, cmg_hierarchy_rows(h, level), &p));
    if (p.first == NULL) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, p.ranks + 1, sizeof *first, &first));
    for (int r = 0; r <= p.ranks; ++r) {
        first[r] = (double)p.first[r];
    }
    status = cmgi_hierarchy_take_vector(h, level, "partition", NULL, p.ranks + 1, first);
done:
    cmgi_free(h5->ctx, p.first);
    return status;
}

/* Everything of a level but A. */
static cmg_status read_level(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char name[64];
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmg_size coarse = cmgi_known_rows(h, level + 1);
    if (level + 1 < cmg_hierarchy_levels(h)) {
        const cmgi_expect down = {n, coarse, false};
        (void)snprintf(name, sizeof name, "/levels/%d/P", level);
        CMGI_TRY(read_matrix(h5, name, &down, &(place){level, CMG_ROLE_P, NULL, 0}, h));
        const cmgi_expect up = {cmg_hierarchy_rows(h, level + 1), n, false};
        (void)snprintf(name, sizeof name, "/levels/%d/R", level);
        if (cmgi_h5_exists(h5, name)) {
            CMGI_TRY(read_matrix(h5, name, &up, &(place){level, CMG_ROLE_R, NULL, 0}, h));
        }
    } else {
        CMGI_TRY(read_inverse(h5, level, h));
    }
    CMGI_TRY(cmgi_container_read_elements(h5, level, h));
    CMGI_TRY(read_partition(h5, level, h));
    CMGI_TRY(read_smoothers(h5, level, h));
    (void)snprintf(name, sizeof name, "/levels/%d/coords", level);
    if (cmgi_h5_exists(h5, name)) {
        CMGI_TRY(read_vector(h5, name, level, "coords", NULL, h));
    }
    (void)snprintf(name, sizeof name, "/levels/%d/nullspace", level);
    if (cmgi_h5_exists(h5, name)) {
        CMGI_TRY(read_vector(h5, name, level, "nullspace", NULL, h));
        CMGI_TRY(read_exact(h5, name, level, h));
    }
    if (level > 0) {
        (void)snprintf(name, sizeof name, "/levels/%d/rhs", level);
        CMGI_TRY(read_vectors(h5, name, level, "rhs", h));
        (void)snprintf(name, sizeof name, "/levels/%d/solutions", level);
        CMGI_TRY(read_vectors(h5, name, level, "solutions", h));
    }
    return CMG_OK;
}

cmg_status cmgi_container_format(cmgi_h5 *h5, int64_t *levels)
{
    cmg_context *ctx = h5->ctx;
    char format[64] = "";
    int64_t version = 0;
    const bool found = cmgi_h5_attribute_text(h5, h5->file, "format", format, sizeof format);
    CMGI_CHECK(ctx, found || !cmgi_h5_attributes_are_dense(h5, h5->file), CMG_ERR_FILE,
               "%s: over eight attributes in HDF5's latest layout: their texts are read only when "
               "of fixed length",
               h5->path);
    CMGI_CHECK(ctx, strcmp(format, "cmg-hierarchy") == 0, CMG_ERR_FILE,
               "%s: the attribute format is \"%s\", not \"cmg-hierarchy\"", h5->path, format);
    CMGI_CHECK(ctx, cmgi_h5_attribute_ints(h5, h5->file, "version", 1, &version), CMG_ERR_FILE,
               "%s: there is no integer attribute version", h5->path);
    CMGI_CHECK(ctx, version == 1, CMG_ERR_FILE,
               "%s: version %lld of the container is not known, version 1 is", h5->path,
               (long long)version);
    CMGI_CHECK(ctx, cmgi_h5_attribute_ints(h5, h5->file, "levels", 1, levels), CMG_ERR_FILE,
               "%s: there is no integer attribute levels", h5->path);
    CMGI_CHECK(ctx, *levels >= 1 && *levels <= CMGI_HIERARCHY_LEVELS, CMG_ERR_FILE,
               "%s: %lld levels are not in 1 .. %d", h5->path, (long long)*levels,
               (int)CMGI_HIERARCHY_LEVELS);
    return CMG_OK;
}

/* The remaining attributes of the root, all optional, as text. */
cmg_status cmgi_container_attributes(cmgi_h5 *h5, cmg_hierarchy *h)
{
    char key[128] = "";
    for (int i = 0; cmgi_h5_attribute_name(h5, h5->file, i, key, sizeof key); ++i) {
        char text[4096] = "";
        const bool used =
            strcmp(key, "format") == 0 || strcmp(key, "version") == 0 || strcmp(key, "levels") == 0;
        if (!used && cmgi_h5_attribute_text(h5, h5->file, key, text, sizeof text)) {
            CMGI_TRY(cmg_hierarchy_set_attribute(h, key, text));
        }
    }
    return CMG_OK;
}

static cmg_status read_all(cmgi_h5 *h5, cmg_hierarchy **h)
{
    int64_t levels = 0;
    CMGI_TRY(cmgi_container_format(h5, &levels));
    CMGI_TRY(cmg_hierarchy_create(h5->ctx, (int)levels, h));
    CMGI_TRY(cmgi_container_attributes(h5, *h));
    for (int l = 0; l < levels; ++l) {
        char name[64];
        const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
        (void)snprintf(name, sizeof name, "/levels/%d/A", l);
        if (l > 0 && !cmgi_h5_exists(h5, name)) {
            continue; /* R A P, where P leads to it */
        }
        CMGI_TRY(read_matrix(h5, name, &expect, &(place){l, CMG_ROLE_A, NULL, 0}, *h));
    }
    for (int l = 0; l < levels; ++l) {
        CMGI_TRY(read_level(h5, l, *h));
    }
    CMGI_TRY(read_vectors(h5, "/rhs", 0, "rhs", *h));
    CMGI_TRY(read_vectors(h5, "/solutions", 0, "solutions", *h));
    return cmgi_container_read_mesh(h5, *h);
}

cmg_status cmgi_read_container(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    cmgi_h5 h5;
    CMGI_TRY(cmgi_h5_open(ctx, path, &h5));
    cmg_status status = cmgi_h5_verdict(&h5, read_all(&h5, h));
    (void)cmgi_h5_close(&h5);
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(h);
    }
    return status;
}

#else

cmg_status cmgi_read_container(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    (void)h;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}
#endif
