/*
 * The hierarchy container, read: all rows of the levels, or the range that is one part's share. The
 * layout is described in docs/container.md.
 *
 * Level matrices come first, so that every other matrix is held against known sizes before memory
 * is taken for it. Of a share there are A, P, R and the vectors that have values for its rows.
 */
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "core/memory.h"
#include "io/h5.h"

#include <string.h>

/* A file on its way into a hierarchy. */
typedef struct reader {
    cmgi_h5 *h5;
    cmg_hierarchy *h;
    const cmgi_share *share;                 /* NULL = all rows are read */
    cmg_size rows[CMGI_HIERARCHY_LEVELS];    /* of the levels, -1 = not known */
    cmgi_range range[CMGI_HIERARCHY_LEVELS]; /* of them that is read */
} reader;

/* Where a matrix goes in the hierarchy. */
typedef struct place {
    int level;
    cmg_role role;
    const char *name;
    int factor;
} place;

/* First rows of the ranks that a level is divided among, if the file has them; an array of count
 * values that rise from 0 to the rows of the level. */
static cmg_status load_partition(cmgi_h5 *h5, int level, cmg_size rows, cmgi_partition *p)
{
    enum { MOST = 1 << 20 };
    char name[64];
    cmgi_scoped_by(cmgi_dataset_close) cmgi_dataset d = {0};
    bool good = true;
    *p = (cmgi_partition){0, NULL};
    (void)snprintf(name, sizeof name, "/levels/%d/partition", level);
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    CMGI_IN_DATA(h5, name, d.rank == 1 && d.count >= 2 && d.count <= MOST,
                 "%lld elements are no partition", (long long)d.count);
    CMGI_SCOPED(h5->ctx, d.count, cmg_size, read);
    CMGI_SCOPED(h5->ctx, d.count, double, made);
    CMGI_TRY(cmgi_dataset_read_size(&d, 0, d.count, read));
    good = read[0] == 0 && read[d.count - 1] == rows;
    for (cmg_size r = 0; r < d.count && good; ++r) {
        good = r == 0 || read[r] >= read[r - 1];
        made[r] = (double)read[r];
    }
    CMGI_IN_DATA(h5, name, good, "it does not rise from 0 to the %lld rows of the level",
                 (long long)rows);
    *p = (cmgi_partition){d.count, cmgi_pass_on(&made)};
    return CMG_OK;
}

/* The rows of a level are known: what range of them is read. */
static cmg_status find_range(reader *r, int level, cmg_size rows)
{
    cmgi_h5 *h5 = r->h5;
    cmgi_partition p = {0};
    CMGI_FREED(h5->ctx, &p.first);
    r->rows[level] = rows;
    r->range[level] = (cmgi_range){0, rows};
    if (r->share == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(load_partition(h5, level, rows, &p));
    return cmgi_in_file(h5->ctx, h5->path,
                        cmgi_share_range(h5->ctx, level, rows, r->share, &p, &r->range[level]));
}

/* All rows, or those of a share. */
static cmg_status read_matrix(reader *r, const char *name, const cmgi_expect *expect,
                              const place *to)
{
    cmg_context *ctx = r->h5->ctx;
    const bool whole = r->share == NULL;
    cmgi_scoped_by(cmgi_csr_group_close) cmgi_csr_group g = {0};
    cmgi_scoped_csr A = {0};
    cmgi_own_rows own = {0};
    CMGI_RELEASED(cmgi_rows_free, ctx, &own);
    CMGI_TRY(cmgi_csr_group_open(r->h5, name, expect, whole, &g));
    if (to->role == CMG_ROLE_A) {
        CMGI_TRY(find_range(r, to->level, g.rows));
    } else if (to->role == CMG_ROLE_P && r->rows[to->level + 1] < 0) {
        CMGI_TRY(find_range(r, to->level + 1, g.cols));
    }
    if (whole) {
        CMGI_TRY(cmgi_csr_group_read(&g, to->role <= CMG_ROLE_R, &A));
        return cmgi_in_file(
            ctx, g.place,
            cmgi_hierarchy_take_csr(r->h, to->level, to->role, to->name, to->factor, &A));
    }
    CMGI_TRY(cmgi_csr_group_read_rows(&g, &r->range[to->level + (to->role == CMG_ROLE_R)], &own));
    CMGI_TRY(cmgi_in_file(ctx, g.place, cmgi_rows_check(ctx, &own, to->level, g.cols)));
    return cmgi_hierarchy_take_own(r->h, to->level, to->role, &own);
}

/* Values of a vector for the rows that are read. Rows of the dataset that an end of the range cuts
 * are read whole. */
static cmg_status load_values(const reader *r, cmgi_dataset *d, int level, cmg_size *count,
                              double **values)
{
    cmg_context *ctx = r->h5->ctx;
    const cmgi_range *range = &r->range[level];
    const cmg_size wide = r->rows[level] > 0 ? d->count / r->rows[level] : 0;
    const bool part = r->share != NULL;
    const cmg_size row = d->dims[1] > 0 ? d->dims[1] : 1;
    const cmg_size first = part ? range->first * wide : 0;
    const cmg_size last = part ? first + range->rows * wide : d->count;
    const cmg_size begin = first / row * row;
    const cmg_size end = (last + row - 1) / row * row;
    *count = 0;
    CMGI_SCOPED(ctx, end - begin, double, made);
    CMGI_TRY(cmgi_dataset_read_real(d, begin, end - begin, made));
    if (part) {
        memmove(made, made + first - begin, (size_t)(last - first) * sizeof *made);
        const cmg_size bad = cmgi_first_not_finite(ctx, last - first, made);
        CMGI_IN_DATA(r->h5, d->name, bad < 0, "entry %lld: value %g is not finite",
                     (long long)(first + bad), made[bad]);
    }
    *count = last - first;
    *values = cmgi_pass_on(&made);
    return CMG_OK;
}

/* Coordinates of nodes, of several rows each, are of no use to a share. */
static cmg_status read_vector(reader *r, const char *name, int level, const char *kind,
                              const char *as)
{
    cmgi_h5 *h5 = r->h5;
    const bool coords = strcmp(kind, "coords") == 0;
    const cmg_size n = r->rows[level];
    const cmg_size block = cmgi_hierarchy_number(r->h, "block_size", 1);
    cmgi_scoped_by(cmgi_dataset_close) cmgi_dataset d = {0};
    double *values = NULL;
    cmg_size count = 0;
    int64_t exact = 0;
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    const bool fits =
        d.dims[0] == n || (coords && block > 1 && d.dims[0] == n / block && n % block == 0);
    CMGI_IN_DATA(h5, name, fits && (as == NULL || d.dims[1] == 1),
                 "%lld x %lld values, but the level has %lld rows", (long long)d.dims[0],
                 (long long)d.dims[1], (long long)n);
    if (r->share != NULL && n > 0 && d.count % n != 0) {
        return CMG_OK;
    }
    CMGI_TRY(load_values(r, &d, level, &count, &values));
    CMGI_TRY(cmgi_in_file(h5->ctx, h5->path,
                          cmgi_hierarchy_take_vector(r->h, level, kind, as, count, values)));
    if (strcmp(kind, "nullspace") == 0) { /* attribute exact = 1: A takes them to 0 */
        r->h->level[level].exact_nullspace =
            cmgi_h5_attribute_ints(h5, d.id, "exact", 1, &exact) && exact != 0;
    }
    return CMG_OK;
}

/* A two-dimensional dataset as a CSR matrix with all its entries; for the caller to free. */
static cmg_status read_dense(cmgi_h5 *h5, const char *name, cmg_size n, cmgi_csr *A)
{
    cmgi_scoped_by(cmgi_dataset_close) cmgi_dataset d = {0};
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    CMGI_IN_DATA(h5, name, d.dims[0] == n && d.dims[1] == n,
                 "%lld x %lld, but the level has %lld rows", (long long)d.dims[0],
                 (long long)d.dims[1], (long long)n);
    CMGI_TRY(cmgi_csr_alloc(h5->ctx, n, n, d.count, A));
    CMGI_TRY(cmgi_dataset_read_real(&d, 0, d.count, A->values));
    for (cmg_size i = 0; i < n; ++i) {
        A->indptr[i] = i * n;
        for (cmg_size j = 0; j < n; ++j) {
            A->indices[i * n + j] = (cmg_index)j;
        }
    }
    return CMG_OK;
}

/* One matrix, or factors 0, 1, ... */
static cmg_status read_smoother(reader *r, const char *group, int level, const char *as)
{
    cmgi_h5 *h5 = r->h5;
    const cmgi_expect expect = cmgi_expect_of(CMG_ROLE_SMOOTHER, r->rows[level], -1);
    const hid_t object = H5Gopen2(h5->file, group, h5->group_access);
    char encoding[64];
    const bool single = object >= 0 && cmgi_h5_attribute_text(h5, object, "encoding-type", encoding,
                                                              sizeof encoding);
    cmgi_h5_release(object);
    if (single) {
        return read_matrix(r, group, &expect, &(place){level, CMG_ROLE_SMOOTHER, as, 0});
    }
    for (int factor = 0;; ++factor) {
        char name[CMGI_H5_NAME + 16];
        (void)snprintf(name, sizeof name, "%s/%d", group, factor);
        if (object >= 0 && factor > 0 && !cmgi_h5_exists(h5, name)) {
            return CMG_OK;
        }
        CMGI_TRY(read_matrix(r, name, &expect, &(place){level, CMG_ROLE_SMOOTHER, as, factor}));
    }
}

void cmgi_members_group(char group[64], int level, const char *kind)
{
    const bool root = level == 0 && strcmp(kind, "smoothers") != 0;
    (void)(root ? snprintf(group, 64, "/%s", kind)
                : snprintf(group, 64, "/levels/%d/%s", level, kind));
}

/* All vectors of a kind, or smoothers, of a level: the members of a group. */
static cmg_status read_members(reader *r, int level, const char *kind)
{
    cmgi_h5 *h5 = r->h5;
    const bool smoothers = strcmp(kind, "smoothers") == 0;
    char group[64];
    cmgi_members_group(group, level, kind);
    for (cmg_size i = 0; cmgi_h5_exists(h5, group); ++i) {
        char as[CMGI_NAME_LENGTH];
        char name[CMGI_H5_NAME];
        CMGI_TRY(cmgi_h5_name(h5, group, i, as, sizeof as));
        if (as[0] == '\0') {
            break;
        }
        (void)snprintf(name, sizeof name, "%s/%s", group, as);
        CMGI_TRY(smoothers ? read_smoother(r, name, level, as)
                           : read_vector(r, name, level, kind, as));
    }
    return CMG_OK;
}

static cmg_status read_inverse(reader *r, int level)
{
    cmgi_h5 *h5 = r->h5;
    char name[64];
    (void)snprintf(name, sizeof name, "/levels/%d/inverse", level);
    const cmgi_expect expect = cmgi_expect_of(CMG_ROLE_INVERSE, r->rows[level], -1);
    const place to = {level, CMG_ROLE_INVERSE, NULL, 0};
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    const hid_t object = H5Oopen(h5->file, name, h5->group_access);
    const bool dense = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    cmgi_h5_release(object);
    if (!dense) {
        return read_matrix(r, name, &expect, &to);
    }
    char where[CMGI_PATH_LENGTH];
    cmgi_scoped_csr A = {0};
    CMGI_TRY(read_dense(h5, name, r->rows[level], &A));
    (void)snprintf(where, sizeof where, "%s: %s", h5->path, name);
    return cmgi_in_file(h5->ctx, where,
                        cmgi_hierarchy_take_csr(r->h, level, CMG_ROLE_INVERSE, NULL, 0, &A));
}

/* A, P or R of a level, which are not `needed` where they follow from others. */
static cmg_status read_role(reader *r, int level, cmg_role role, bool needed)
{
    const cmg_size coarse = role == CMG_ROLE_A ? -1 : r->rows[level + 1];
    const cmgi_expect expect =
        cmgi_expect_of(role, r->rows[level], role == CMG_ROLE_P && coarse == 0 ? -1 : coarse);
    char name[64];
    (void)snprintf(name, sizeof name, "/levels/%d/%s", level, cmgi_role_names[role]);
    return needed || cmgi_h5_exists(r->h5, name)
               ? read_matrix(r, name, &expect, &(place){level, role, NULL, 0})
               : CMG_OK;
}

/* Everything of a level but A. */
static cmg_status read_level(reader *r, int level)
{
    static const char *const tables[] = {"coords", "nullspace"};
    const bool whole = r->share == NULL;
    char name[64];
    if (level + 1 < r->h->levels) {
        CMGI_TRY(read_role(r, level, CMG_ROLE_P, true));
        CMGI_TRY(read_role(r, level, CMG_ROLE_R, false));
    } else if (whole) {
        CMGI_TRY(read_inverse(r, level));
    }
    if (whole) {
        cmgi_partition p;
        CMGI_TRY(cmgi_container_read_elements(r->h5, level, r->h));
        CMGI_TRY(load_partition(r->h5, level, r->rows[level], &p));
        if (p.first != NULL) {
            CMGI_TRY(cmgi_hierarchy_take_vector(r->h, level, "partition", NULL, p.count, p.first));
        }
        CMGI_TRY(read_members(r, level, "smoothers"));
    }
    for (int k = 0; k < 2; ++k) {
        (void)snprintf(name, sizeof name, "/levels/%d/%s", level, tables[k]);
        if (cmgi_h5_exists(r->h5, name)) {
            CMGI_TRY(read_vector(r, name, level, tables[k], NULL));
        }
    }
    if (whole && level > 0) {
        CMGI_TRY(read_members(r, level, "rhs"));
        CMGI_TRY(read_members(r, level, "solutions"));
    }
    return CMG_OK;
}

static cmg_status read_format(cmgi_h5 *h5, int64_t *levels)
{
    char format[64] = "";
    int64_t version = 0;
    const bool found = cmgi_h5_attribute_text(h5, h5->file, "format", format, sizeof format);
    CMGI_IN_FILE(h5, found || !cmgi_h5_attributes_are_dense(h5, h5->file),
                 "over eight attributes in HDF5's latest layout: their texts are read only when of "
                 "fixed length");
    CMGI_IN_FILE(h5, strcmp(format, "cmg-hierarchy") == 0,
                 "the attribute format is \"%s\", not \"cmg-hierarchy\"", format);
    CMGI_IN_FILE(h5, cmgi_h5_attribute_ints(h5, h5->file, "version", 1, &version),
                 "there is no integer attribute version");
    CMGI_IN_FILE(h5, version == 1, "version %lld of the container is not known, version 1 is",
                 (long long)version);
    CMGI_IN_FILE(h5, cmgi_h5_attribute_ints(h5, h5->file, "levels", 1, levels),
                 "there is no integer attribute levels");
    CMGI_IN_FILE(h5, *levels >= 1 && *levels <= CMGI_HIERARCHY_LEVELS,
                 "%lld levels are not in 1 .. %d", (long long)*levels, (int)CMGI_HIERARCHY_LEVELS);
    return CMG_OK;
}

static cmg_status read_all(cmgi_h5 *h5, const cmgi_share *share, cmg_hierarchy **h)
{
    reader r = {.h5 = h5, .share = share};
    int64_t levels = 0;
    CMGI_TRY(read_format(h5, &levels));
    CMGI_TRY(cmg_hierarchy_create(h5->ctx, (int)levels, h));
    r.h = *h;
    char key[128] = "";
    for (int i = 0; cmgi_h5_attribute_name(h5, h5->file, i, key, sizeof key); ++i) {
        char text[4096] = ""; /* the remaining attributes of the root are optional */
        const bool used =
            strcmp(key, "format") == 0 || strcmp(key, "version") == 0 || strcmp(key, "levels") == 0;
        if (!used && cmgi_h5_attribute_text(h5, h5->file, key, text, sizeof text)) {
            CMGI_TRY(cmg_hierarchy_set_attribute(*h, key, text));
        }
    }
    for (int l = 0; l < levels; ++l) {
        r.rows[l] = -1;
        CMGI_TRY(read_role(&r, l, CMG_ROLE_A, l == 0)); /* R A P, where P leads to it */
    }
    for (int l = 0; l < levels; ++l) {
        CMGI_TRY(read_level(&r, l));
    }
    CMGI_TRY(read_members(&r, 0, "rhs"));
    CMGI_TRY(read_members(&r, 0, "solutions"));
    return share == NULL ? cmgi_container_read_mesh(h5, *h) : CMG_OK;
}

cmg_status cmgi_read_container(cmg_context *ctx, const char *path, const cmgi_share *share,
                               cmg_hierarchy **h)
{
    cmgi_h5 h5;
    CMGI_TRY(cmgi_h5_open(ctx, path, &h5));
    const cmg_status status = cmgi_h5_verdict(&h5, read_all(&h5, share, h));
    (void)cmgi_h5_close(&h5);
    return status;
}

#else

cmg_status cmgi_read_container(cmg_context *ctx, const char *path, const cmgi_share *share,
                               cmg_hierarchy **h)
{
    (void)share;
    (void)h;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}
#endif
