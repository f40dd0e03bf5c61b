/*
 * A rank's rows of a container. The ranks read for themselves, one after the other where they share
 * a process, and agree in the end: nothing is said between them while a file is open.
 */
#include "dist/blocks.h"

#include "core/memory.h"

#ifdef CMGI_HAVE_HDF5
#include "io/h5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where this rank's rows of a level are. */
typedef struct span {
    cmg_size rows; /* of the level; -1 = not known yet */
    cmg_size first;
    cmg_size last;
} span;

static cmg_status find_span(cmgi_h5 *h5, int level, cmg_size rows, span *s)
{
    const int ranks = cmgi_ranks(h5->ctx);
    const int me = cmgi_rank(h5->ctx);
    char name[64];
    cmgi_partition p;
    (void)snprintf(name, sizeof name, "/levels/%d/partition", level);
    CMGI_TRY(cmgi_container_partition(h5, name, rows, &p));
    *s = (span){rows, rows / ranks * me + rows % ranks * me / ranks,
                rows / ranks * (me + 1) + rows % ranks * (me + 1) / ranks};
    if (p.ranks == ranks) {
        s->first = p.first[me];
        s->last = p.first[me + 1];
    }
    cmgi_free(h5->ctx, p.first);
    return CMG_OK;
}

/* Rows of all levels: of A, or columns of the P that leads to it. */
static cmg_status find_spans(cmgi_h5 *h5, int levels, span *s)
{
    cmg_size below = -1;
    for (int l = 0; l < levels; ++l) {
        char name[64];
        int64_t shape[2] = {below, below};
        (void)snprintf(name, sizeof name, "/levels/%d/A", l);
        if (l == 0 || cmgi_h5_exists(h5, name)) {
            CMGI_TRY(cmgi_container_shape(h5, name, shape));
            CMGI_CHECK(h5->ctx, shape[0] == shape[1] && (below < 0 || shape[0] == below),
                       CMG_ERR_FILE, "%s: %s: shape %lld x %lld", h5->path, name,
                       (long long)shape[0], (long long)shape[1]);
        }
        CMGI_TRY(find_span(h5, l, shape[0], &s[l]));
        if (l + 1 < levels) {
            (void)snprintf(name, sizeof name, "/levels/%d/P", l);
            CMGI_TRY(cmgi_container_shape(h5, name, shape));
            CMGI_CHECK(h5->ctx, shape[0] == s[l].rows, CMG_ERR_FILE, "%s: %s: %lld rows, not %lld",
                       h5->path, name, (long long)shape[0], (long long)s[l].rows);
            below = shape[1];
        }
    }
    return CMG_OK;
}

static cmg_status check_rows(const cmgi_h5 *h5, const char *name, const cmgi_own_rows *A,
                             cmg_size cols)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            CMGI_CHECK(h5->ctx,
                       A->indices[k] >= 0 && A->indices[k] < cols && isfinite(A->values[k]),
                       CMG_ERR_FILE, "%s: %s: row %lld: column %lld, value %g", h5->path, name,
                       (long long)(A->first + i), (long long)A->indices[k], A->values[k]);
        }
    }
    return CMG_OK;
}

/* Offsets of the rows, from 0 on; *begin is where they are in the file. */
static cmg_status read_offsets(cmgi_h5 *h5, cmgi_dataset *d, const span *s, cmg_size entries,
                               cmg_size *indptr, cmg_size *begin)
{
    const cmg_size rows = s->last - s->first;
    CMGI_TRY(cmgi_dataset_part_size(d, s->first, rows + 1, indptr));
    *begin = indptr[0];
    for (cmg_size i = 0; i <= rows; ++i) {
        CMGI_CHECK(h5->ctx,
                   indptr[i] >= (i > 0 ? *begin + indptr[i - 1] : 0) && indptr[i] <= entries,
                   CMG_ERR_FILE, "%s: %s: row %lld: offset %lld", h5->path, d->name,
                   (long long)(s->first + i), (long long)indptr[i]);
        indptr[i] -= *begin;
    }
    CMGI_CHECK(h5->ctx, s->first > 0 || *begin == 0, CMG_ERR_FILE,
               "%s: %s: it begins with %lld, not 0", h5->path, d->name, (long long)*begin);
    CMGI_CHECK(h5->ctx, s->last < s->rows || *begin + indptr[rows] == entries, CMG_ERR_FILE,
               "%s: %s: it ends with %lld, but there are %lld entries", h5->path, d->name,
               (long long)(*begin + indptr[rows]), (long long)entries);
    return CMG_OK;
}

static cmg_status read_matrix(cmgi_h5 *h5, const char *group, const span *s, cmg_size cols,
                              cmgi_own_rows *rows)
{
    static const char *const member[] = {"indptr", "indices", "data"};
    cmgi_dataset d[3] = {{0}, {0}, {0}};
    cmgi_own_rows made = {.first = s->first, .rows = s->last - s->first};
    cmg_size begin = 0;
    cmg_status status = CMG_OK;
    for (int k = 0; k < 3; ++k) {
        char name[CMGI_H5_NAME];
        (void)snprintf(name, sizeof name, "%s/%s", group, member[k]);
        CMGI_TRY_GOTO(done, cmgi_dataset_open(h5, name, &d[k]));
    }
    CMGI_CHECK_GOTO(done, h5->ctx, d[0].count - 1 == s->rows && d[1].count == d[2].count,
                    CMG_ERR_FILE, "%s: %s: %lld offsets of %lld rows, %lld columns, %lld values",
                    h5->path, group, (long long)d[0].count, (long long)s->rows,
                    (long long)d[1].count, (long long)d[2].count);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, made.rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY_GOTO(done, read_offsets(h5, &d[0], s, d[1].count, made.indptr, &begin));
    const cmg_size nnz = made.indptr[made.rows];
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, nnz, sizeof *made.values, &made.values));
    CMGI_TRY_GOTO(done, cmgi_dataset_part_size(&d[1], begin, nnz, made.indices));
    CMGI_TRY_GOTO(done, cmgi_dataset_part_real(&d[2], begin, nnz, made.values));
    CMGI_TRY_GOTO(done, check_rows(h5, group, &made, cols));
    *rows = made;
    made = (cmgi_own_rows){0};
done:
    cmgi_rows_free(h5->ctx, &made);
    for (int k = 0; k < 3; ++k) {
        cmgi_dataset_close(&d[k]);
    }
    return status;
}

static cmg_status read_role(cmgi_h5 *h5, int level, cmg_role role, const span *s, cmg_hierarchy *h)
{
    static const char *const letter[] = {
        [CMG_ROLE_A] = "A", [CMG_ROLE_P] = "P", [CMG_ROLE_R] = "R"};
    const span *rows = &s[role == CMG_ROLE_R ? level + 1 : level];
    const cmg_size cols = s[role == CMG_ROLE_P ? level + 1 : level].rows;
    char group[64];
    cmgi_own_rows own = {0};
    (void)snprintf(group, sizeof group, "/levels/%d/%s", level, letter[role]);
    const bool needed = role == CMG_ROLE_P || (role == CMG_ROLE_A && level == 0);
    if (!needed && !cmgi_h5_exists(h5, group)) {
        return CMG_OK;
    }
    CMGI_TRY(read_matrix(h5, group, rows, cols, &own));
    return cmgi_hierarchy_take_own(h, level, role, &own);
}

/* This rank's rows of a vector of a level, `wide` values each. */
static cmg_status read_vector(cmgi_h5 *h5, cmgi_dataset *d, int level, const char *kind,
                              const char *as, cmg_size wide, const span *s, cmg_hierarchy *h)
{
    const cmg_size first = s->first * wide;
    const cmg_size count = (s->last - s->first) * wide;
    const cmg_size node = d->dims[1] > 0 ? d->dims[1] : 1; /* may be cut by the rank's ends */
    const cmg_size begin = first / node * node;
    const cmg_size end = (first + count + node - 1) / node * node;
    double *values = NULL;
    CMGI_CHECK(h5->ctx, d->count == s->rows * wide, CMG_ERR_FILE, "%s: %s: %lld values, not %lld",
               h5->path, d->name, (long long)d->count, (long long)(s->rows * wide));
    CMGI_TRY(cmgi_alloc(h5->ctx, end - begin, sizeof *values, &values));
    cmg_status status = cmgi_dataset_part_real(d, begin, end - begin, values);
    memmove(values, values + first - begin, (size_t)count * sizeof *values);
    for (cmg_size k = 0; k < count && status == CMG_OK; ++k) {
        if (!isfinite(values[k])) {
            status = cmgi_fail(h5->ctx, CMG_ERR_FILE, "%s: %s: entry %lld: value %g is not finite",
                               h5->path, d->name, (long long)(first + k), values[k]);
        }
    }
    if (status != CMG_OK) {
        cmgi_free(h5->ctx, values);
        return status;
    }
    return cmgi_hierarchy_take_vector(h, level, kind, as, count, values);
}

/* Its part of the vectors of level 0. */
static cmg_status read_vectors(cmgi_h5 *h5, const char *kind, const span *s, cmg_hierarchy *h)
{
    char group[32];
    (void)snprintf(group, sizeof group, "/%s", kind);
    for (cmg_size i = 0; cmgi_h5_exists(h5, group); ++i) {
        char as[CMGI_H5_NAME];
        char name[2 * CMGI_H5_NAME];
        cmgi_dataset d = {0};
        CMGI_TRY(cmgi_h5_name(h5, group, i, as, sizeof as));
        if (as[0] == '\0') {
            break;
        }
        (void)snprintf(name, sizeof name, "%s/%s", group, as);
        CMGI_TRY(cmgi_dataset_open(h5, name, &d));
        const cmg_status status = read_vector(h5, &d, 0, kind, as, 1, s, h);
        cmgi_dataset_close(&d);
        CMGI_TRY(status);
    }
    return CMG_OK;
}

/* Its part of what algebraic levels start from: near null space and coordinates, where there are as
 * many values for every row; coordinates of other nodes are of no use to levels. */
static cmg_status read_table(cmgi_h5 *h5, int level, const char *kind, const span *s,
                             cmg_hierarchy *h)
{
    char name[64];
    int64_t exact = 0;
    cmgi_dataset d = {0};
    (void)snprintf(name, sizeof name, "/levels/%d/%s", level, kind);
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    const bool given = strcmp(kind, "nullspace") == 0;
    const cmg_size wide = s->rows > 0 ? d.count / s->rows : 0;
    cmg_status status = CMG_OK;
    if (given || d.count == s->rows * wide) {
        status = read_vector(h5, &d, level, kind, NULL, wide, s, h);
    }
    if (given && status == CMG_OK) {
        h->level[level].exact_nullspace =
            cmgi_h5_attribute_ints(h5, d.id, "exact", 1, &exact) && exact != 0;
    }
    cmgi_dataset_close(&d);
    return status;
}

static cmg_status read_all(cmgi_h5 *h5, cmg_hierarchy **h)
{
    int64_t levels = 0;
    span s[CMGI_HIERARCHY_LEVELS];
    CMGI_TRY(cmgi_container_format(h5, &levels));
    CMGI_TRY(cmg_hierarchy_create(h5->ctx, (int)levels, h));
    CMGI_TRY(cmgi_container_attributes(h5, *h));
    CMGI_TRY(find_spans(h5, (int)levels, s));
    for (int l = 0; l < levels; ++l) {
        CMGI_TRY(read_role(h5, l, CMG_ROLE_A, s, *h));
        if (l + 1 < levels) {
            CMGI_TRY(read_role(h5, l, CMG_ROLE_P, s, *h));
            CMGI_TRY(read_role(h5, l, CMG_ROLE_R, s, *h));
        }
        CMGI_TRY(read_table(h5, l, "coords", &s[l], *h));
        CMGI_TRY(read_table(h5, l, "nullspace", &s[l], *h));
    }
    CMGI_TRY(read_vectors(h5, "rhs", &s[0], *h));
    return read_vectors(h5, "solutions", &s[0], *h);
}

static cmg_status read_own(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    cmgi_h5 h5;
    CMGI_TRY(cmgi_h5_open(ctx, path, &h5));
    const cmg_status status = cmgi_h5_verdict(&h5, read_all(&h5, h));
    (void)cmgi_h5_close(&h5);
    return status;
}
#else
static cmg_status read_own(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    (void)h;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}
#endif

cmg_status cmg_hierarchy_read_rows(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    cmg_hierarchy *made = NULL;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && h != NULL, CMG_ERR_ARG, "reading rows: an argument is NULL");
    CMGI_CHECK(ctx, ctx->group != NULL, CMG_ERR_STATE,
               "rows of a rank need a context with a transport");
    const cmg_status status = cmgi_group_agree(ctx, read_own(ctx, path, &made));
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&made);
    }
    *h = status == CMG_OK ? made : *h;
    return status;
}
