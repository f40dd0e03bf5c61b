/* The hierarchy container, written; the layout is described in docs/container.md. */
#include "io/container.h"
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "core/memory.h"
#include "core/number.h"
#include "io/h5_write.h"

#include <string.h>

struct cmgi_container {
    cmgi_output output;
    cmgi_h5 h5;
};

typedef cmgi_h5_writer writer;

/* The rows of a matrix that are here; columns in 32 bits, or in 64 of a range of rows. */
typedef struct matrix {
    cmg_size shape[2]; /* of the whole */
    cmg_size rows;
    const cmg_size *indptr;
    const cmg_index *columns;
    const cmg_size *wide; /* NULL = columns has them */
    const double *values;
} matrix;

static void put_matrix(writer *w, const char *name, const matrix *M)
{
    const cmg_size nnz = M->indptr[M->rows];
    /* offsets into the entries of all: the last part has one more than it has rows */
    const cmg_size count = M->rows + (w->others == NULL || w->others->last);
    cmg_size before = 0;
    cmg_size all = 0;
    cmg_size *offset = NULL;
    cmg_index *narrow = NULL;
    cmgi_h5_put_group(w, M->shape, "%s", name);
    cmgi_h5_count(w, nnz, &before, &all);
    if (before > 0 && w->status == CMG_OK) {
        w->status = cmgi_alloc(w->ctx, M->rows + 1, sizeof *offset, &offset);
        for (cmg_size i = 0; i <= M->rows && w->status == CMG_OK; ++i) {
            offset[i] = before + M->indptr[i];
        }
    }
    cmgi_h5_put(w, CMGI_H5_SIZE, (cmgi_extent){1, count, 1}, before > 0 ? offset : M->indptr,
                "%s/indptr", name);
    cmgi_free(w->ctx, offset);
    if (M->wide != NULL && w->status == CMG_OK) {
        w->status = cmgi_alloc(w->ctx, nnz, sizeof *narrow, &narrow);
        for (cmg_size k = 0; k < nnz && w->status == CMG_OK; ++k) {
            narrow[k] = (cmg_index)M->wide[k];
        }
    }
    cmgi_h5_put(w, CMGI_H5_INDEX, (cmgi_extent){1, nnz, 1}, M->wide != NULL ? narrow : M->columns,
                "%s/indices", name);
    cmgi_free(w->ctx, narrow);
    cmgi_h5_put(w, CMGI_H5_REAL, (cmgi_extent){1, nnz, 1}, M->values, "%s/data", name);
}

static void put_csr(writer *w, const char *name, const cmg_csr *A)
{
    put_matrix(w, name,
               &(matrix){{A->rows, A->cols}, A->rows, A->indptr, A->indices, NULL, A->values});
}

/* A, P or R. */
static void put_role(writer *w, const cmg_hierarchy *h, int level, cmg_role role)
{
    char name[32];
    (void)snprintf(name, sizeof name, "/levels/%d/%s", level, cmgi_role_names[role]);
    if (w->others != NULL) {
        const cmg_size *rows = w->others->rows + level;
        const cmgi_own_rows *A = cmgi_own_find(h->own, level, role);
        const matrix M = {{rows[role == CMG_ROLE_R], rows[role == CMG_ROLE_P]},
                          A->rows,
                          A->indptr,
                          NULL,
                          A->indices,
                          A->values};
        if (A->indptr != NULL) {
            put_matrix(w, name, &M);
        }
        return;
    }
    const cmgi_csr *found = cmgi_hierarchy_find(h, level, role, NULL, 0);
    if (found != NULL) {
        put_csr(w, name, &found->view);
    }
}

static void put_inverse(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_csr *A = cmgi_hierarchy_find(h, level, CMG_ROLE_INVERSE, NULL, 0);
    char name[32];
    (void)snprintf(name, sizeof name, "/levels/%d/inverse", level);
    /* all entries, columns ascending: a two-dimensional dataset */
    bool dense = A != NULL && A->rows > 0 && A->indptr[A->rows] == A->rows * A->cols;
    for (cmg_size k = 0; dense && k < A->indptr[A->rows]; ++k) {
        dense = A->indices[k] == k % A->cols;
    }
    if (dense) {
        cmgi_h5_put(w, CMGI_H5_REAL, (cmgi_extent){2, A->rows, A->cols}, A->values, "%s", name);
    } else if (A != NULL) {
        put_csr(w, name, &A->view);
    }
}

/* Names become links of the file. */
static void check_name(writer *w, const char *name)
{
    const size_t length = strlen(name);
    const bool good = length > 0 && length < CMGI_NAME_LENGTH && strchr(name, '/') == NULL &&
                      strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    if (!good && w->status == CMG_OK) {
        w->status =
            cmgi_fail(w->ctx, CMG_ERR_UNSUPPORTED,
                      "%s: \"%s\" cannot be a name in the container (1 to %d bytes without /)",
                      w->h5 != NULL ? w->h5->path : "", name, CMGI_NAME_LENGTH - 1);
    }
}

static void put_smoothers(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_level *stored = &h->level[level];
    if (stored->smoothers > 0) {
        cmgi_h5_put_group(w, NULL, "/levels/%d/smoothers", level);
    }
    for (int i = 0; i < stored->smoothers; ++i) {
        const cmgi_stored_smoother *s = stored->smoother[i];
        const bool several = s->factors > 1;
        check_name(w, s->name);
        if (several) {
            cmgi_h5_put_group(w, NULL, "/levels/%d/smoothers/%s", level, s->name);
        }
        for (int k = 0; k < s->factors; ++k) {
            char name[CMGI_H5_NAME + 16];
            const int length =
                snprintf(name, CMGI_H5_NAME, "/levels/%d/smoothers/%s", level, s->name);
            if (several) {
                (void)snprintf(name + length, sizeof name - (size_t)length, "/%d", k);
            }
            put_csr(w, name, &s->factor[k].view);
        }
    }
}

/* Coordinates by nodes. */
static void put_coords(writer *w, const cmg_hierarchy *h, int level)
{
    const cmg_size dim = cmgi_hierarchy_number(h, "dim", 0);
    const cmgi_stored_vector *v = cmgi_hierarchy_vector(h, level, "coords", NULL);
    if (v == NULL || (w->others != NULL && dim < 1)) {
        return; /* of a rank, nodes may have parts of their rows elsewhere */
    }
    cmg_size nodes = w->others != NULL ? v->n / dim : 0;
    if (w->others == NULL && w->status == CMG_OK) {
        w->status = cmgi_coords_nodes(h, level, v->n, &nodes);
    }
    const cmgi_extent e = {2, nodes, w->others != NULL ? dim : nodes > 0 ? v->n / nodes : 0};
    cmgi_h5_put(w, CMGI_H5_REAL, e, v->values, "/levels/%d/coords", level);
}

/* Near-null-space vectors by rows, as many for every row of the level: who has none of the rows
 * cannot tell how many. The attribute exact says that A takes them to 0. */
static void put_nullspace(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *B = cmgi_hierarchy_vector(h, level, "nullspace", NULL);
    const cmg_size rows = cmgi_range_of(h, level).rows;
    const int64_t exact = 1;
    cmg_size before = 0;
    cmg_size all = 0;
    char name[64];
    if (B == NULL) {
        return;
    }
    cmgi_h5_count(w, B->n, &before, &all);
    const cmg_size total = w->others != NULL ? w->others->rows[level] : rows;
    const cmgi_extent e = {2, rows, total > 0 ? all / total : 0};
    if (B->n != rows * e.row && w->status == CMG_OK) {
        w->status =
            cmgi_fail(w->ctx, CMG_ERR_SHAPE,
                      "level %d: %lld values of the null space do not fit %lld rows of %lld", level,
                      (long long)B->n, (long long)rows, (long long)e.row);
    }
    (void)snprintf(name, sizeof name, "/levels/%d/nullspace", level);
    cmgi_h5_put(w, CMGI_H5_REAL, e, B->values, "%s", name);
    if (w->h5 != NULL && w->status == CMG_OK && h->level[level].exact_nullspace) {
        const hid_t set = H5Dopen2(w->h5->file, name, H5P_DEFAULT);
        cmgi_h5_put_check(
            w, set >= 0 && cmgi_h5_put_attribute(set, "exact", H5T_NATIVE_INT64, 0, &exact), name);
        cmgi_h5_release(set);
    }
}

/* First rows of the ranks that a level is divided among. */
static void put_partition(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *first = cmgi_hierarchy_vector(h, level, "partition", NULL);
    cmgi_scoped cmg_size *rows = NULL;
    if (first == NULL || w->status != CMG_OK) {
        return;
    }
    w->status = cmgi_alloc(w->ctx, first->n, sizeof *rows, &rows);
    for (cmg_size r = 0; r < first->n && w->status == CMG_OK; ++r) {
        rows[r] = (cmg_size)first->values[r];
    }
    cmgi_h5_put(w, CMGI_H5_SIZE, (cmgi_extent){1, first->n, 1}, rows, "/levels/%d/partition",
                level);
}

/* Vectors of one kind and level as datasets of a group. */
static void put_vectors(writer *w, const cmg_hierarchy *h, int level, const char *kind)
{
    char group[64];
    bool made = false;
    cmgi_members_group(group, level, kind);
    for (int i = 0; i < h->vectors; ++i) {
        const cmgi_stored_vector *v = &h->vector[i];
        if (v->level != level || strcmp(v->kind, kind) != 0) {
            continue;
        }
        check_name(w, v->name);
        if (!made) {
            cmgi_h5_put_group(w, NULL, "%s", group);
        }
        made = true;
        cmgi_h5_put(w, CMGI_H5_REAL, (cmgi_extent){1, v->n, 1}, v->values, "%s/%s", group, v->name);
    }
}

/* A dataset of a group that may be absent. */
typedef struct member {
    const char *name;
    cmgi_h5_kind kind;
    cmgi_extent extent;
    const void *data; /* NULL = it is */
} member;

static void put_members(writer *w, const char *group, int count, const member *members)
{
    cmgi_h5_put_group(w, NULL, "%s", group);
    for (int k = 0; k < count; ++k) {
        const member *m = &members[k];
        if (m->data != NULL) {
            cmgi_h5_put(w, m->kind, m->extent, m->data, "%s/%s", group, m->name);
        }
    }
}

static void put_elements(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_elements *E = &h->level[level].elements;
    const bool templates = E->templates > 0;
    const cmg_size matrices = templates ? E->templates : E->count;
    char group[64];
    const member members[] = {
        {"dofs", CMGI_H5_INDEX, {2, E->count, E->local}, E->dofs},
        {templates ? "template" : "matrices",
         CMGI_H5_REAL,
         {2, matrices, (cmg_size)E->local * E->local},
         E->matrices},
        {"number", CMGI_H5_INDEX, {1, E->count, 1}, E->number},
        {"factor", CMGI_H5_REAL, {1, E->count, 1}, E->factor},
        {"diagonal", CMGI_H5_REAL, {1, E->rows, 1}, E->diagonal},
    };
    (void)snprintf(group, sizeof group, "/levels/%d/elements", level);
    if (E->dofs != NULL) {
        put_members(w, group, 5, members);
    }
}

/* Integers where the value is one and the key is known to be one; text otherwise. */
static bool put_root_attribute(hid_t file, const char *key, const char *value)
{
    static const char *const integers[] = {"dim", "block_size", "symmetric"};
    static const char *const own[] = {"format", "version", "levels"};
    for (int k = 0; k < 3; ++k) {
        cmg_size number = 0;
        const char *end = cmgi_parse_size(value, &number);
        if (strcmp(key, own[k]) == 0) {
            return true;
        }
        if (strcmp(key, integers[k]) == 0 && end != NULL && *end == '\0') {
            const int64_t integer = number;
            return cmgi_h5_put_attribute(file, key, H5T_NATIVE_INT64, 0, &integer);
        }
    }
    return cmgi_h5_put_text(file, key, value);
}

static void put_root(writer *w, const cmg_hierarchy *h)
{
    const int64_t version = 1;
    const int64_t levels = h->levels;
    if (w->h5 == NULL) {
        return;
    }
    const hid_t file = w->h5->file;
    cmgi_h5_put_check(w,
                      cmgi_h5_put_text(file, "format", "cmg-hierarchy") &&
                          cmgi_h5_put_attribute(file, "version", H5T_NATIVE_INT64, 0, &version) &&
                          cmgi_h5_put_attribute(file, "levels", H5T_NATIVE_INT64, 0, &levels),
                      "the root's attributes");
    for (int i = 0; i < h->attributes && w->status == CMG_OK; ++i) {
        const cmgi_attribute *a = &h->attribute[i];
        cmgi_h5_put_check(w, put_root_attribute(file, a->key, a->value), a->key);
    }
    cmgi_h5_put_group(w, NULL, "/levels");
}

/* The mesh of level 0: places, cells, which unknowns sit where. */
static void put_mesh(writer *w, const cmgi_stored_mesh *m)
{
    cmg_size before = 0;
    cmg_size boundary = 0; /* of all */
    if (m == NULL) {
        return;
    }
    cmgi_h5_count(w, m->boundary, &before, &boundary);
    const member members[] = {
        {"x", CMGI_H5_REAL, {2, m->nodes, m->dim}, m->x},
        {"cells", CMGI_H5_INDEX, {2, m->cells, m->corners}, m->cell_nodes},
        {"unknowns", CMGI_H5_INDEX, {1, m->nodes, 1}, m->unknown},
        {"boundary_values", CMGI_H5_REAL, {2, m->boundary, m->components}, m->boundary_values},
    };
    put_members(w, "/mesh", boundary > 0 ? 4 : 3, members);
}

/* In the order of the file; some of it is only there with one who has all rows. */
static void put_level(writer *w, const cmg_hierarchy *h, int level)
{
    const bool whole = w->others == NULL;
    cmgi_h5_put_group(w, NULL, "/levels/%d", level);
    for (int role = CMG_ROLE_A; role <= CMG_ROLE_R; ++role) {
        put_role(w, h, level, (cmg_role)role);
    }
    if (whole) {
        put_elements(w, h, level);
        put_smoothers(w, h, level);
    }
    put_coords(w, h, level);
    put_nullspace(w, h, level);
    if (whole) {
        put_partition(w, h, level);
        put_inverse(w, h, level);
    }
    if (whole || level == 0) {
        put_vectors(w, h, level, "rhs");
        put_vectors(w, h, level, "solutions");
    }
}

cmg_status cmgi_container_put(cmgi_container *c, const cmg_hierarchy *h, const cmgi_others *others)
{
    writer w = {h->ctx, c != NULL ? &c->h5 : NULL, others, CMG_OK};
    put_root(&w, h);
    for (int l = 0; l < h->levels; ++l) {
        put_level(&w, h, l);
    }
    put_mesh(&w, others != NULL ? h->own->mesh : h->mesh);
    return w.status;
}

cmg_status cmgi_container_create(cmg_context *ctx, const char *path, cmgi_container **c)
{
    CMGI_SCOPED_ZERO(ctx, 1, cmgi_container, made);
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_NAME, &made->output));
    const cmg_status status = cmgi_h5_create(ctx, made->output.temp, &made->h5);
    if (status != CMG_OK) {
        return cmgi_output_finish(&made->output, status);
    }
    made->h5.path = made->output.path;
    *c = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_container_finish(cmgi_container **c, cmg_status status)
{
    cmgi_h5 *h5 = &(*c)->h5;
    cmg_context *ctx = h5->ctx;
    if (!cmgi_h5_close(h5) && status == CMG_OK) {
        status = cmgi_fail(ctx, CMG_ERR_IO, "%s: could not be completed", h5->path);
    }
    status = cmgi_output_finish(&(*c)->output, cmgi_h5_verdict(h5, status));
    cmgi_free(ctx, cmgi_pass_on(c));
    return status;
}

#else

cmg_status cmgi_container_create(cmg_context *ctx, const char *path, cmgi_container **c)
{
    *c = NULL;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}

cmg_status cmgi_container_put(cmgi_container *c, const cmg_hierarchy *h, const cmgi_others *others)
{
    (void)c;
    (void)h;
    (void)others;
    return CMG_ERR_UNSUPPORTED;
}

cmg_status cmgi_container_finish(cmgi_container **c, cmg_status status)
{
    (void)c;
    return status;
}
#endif

cmg_status cmgi_write_container(const cmg_hierarchy *h, const char *path)
{
    cmgi_container *c = NULL;
    CMGI_TRY(cmgi_container_create(h->ctx, path, &c));
    return cmgi_container_finish(&c, cmgi_container_put(c, h, NULL));
}
