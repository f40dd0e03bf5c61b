/* The hierarchy container, written; the layout is described in docs/container.md. */
#include "io/container.h"
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "core/memory.h"
#include "core/number.h"
#include "io/h5_write.h"

#include <stdlib.h>
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

static cmg_status put_shape(const writer *w, const char *name, const cmg_size shape[2])
{
    hid_t group = -1;
    if (w->h5 == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_h5_open_group(w->h5, name, &group));
    const bool good = cmgi_h5_put_text(group, "encoding-type", "csr_matrix") &&
                      cmgi_h5_put_text(group, "encoding-version", "0.1.0") &&
                      cmgi_h5_put_attribute(group, "shape", H5T_NATIVE_INT64, 2, shape);
    cmgi_h5_release(group);
    return good ? CMG_OK : cmgi_h5_fail_write(w->h5, name);
}

/* Offsets into the entries of all: the last part has one more than it has rows. */
static cmg_status put_offsets(const writer *w, const char *group, const matrix *M)
{
    cmg_size before = 0;
    cmg_size all = 0;
    cmg_size *offset = NULL;
    const cmg_size count = M->rows + (w->others == NULL || w->others->last);
    if (w->others != NULL) {
        CMGI_TRY(w->others->count(w->ctx, M->indptr[M->rows], &before, &all));
    }
    if (before > 0) {
        CMGI_TRY(cmgi_alloc(w->ctx, M->rows + 1, sizeof *offset, &offset));
        for (cmg_size i = 0; i <= M->rows; ++i) {
            offset[i] = before + M->indptr[i];
        }
    }
    const cmg_status status = cmgi_h5_put_member(w, group, "indptr", CMGI_H5_SIZE, count,
                                                 before > 0 ? offset : M->indptr);
    cmgi_free(w->ctx, offset);
    return status;
}

static cmg_status put_columns(const writer *w, const char *group, const matrix *M)
{
    const cmg_size nnz = M->indptr[M->rows];
    cmg_index *narrow = NULL;
    if (M->wide != NULL) {
        CMGI_TRY(cmgi_alloc(w->ctx, nnz, sizeof *narrow, &narrow));
        for (cmg_size k = 0; k < nnz; ++k) {
            narrow[k] = (cmg_index)M->wide[k];
        }
    }
    const cmg_status status = cmgi_h5_put_member(w, group, "indices", CMGI_H5_INDEX, nnz,
                                                 M->wide != NULL ? narrow : M->columns);
    cmgi_free(w->ctx, narrow);
    return status;
}

static cmg_status put_matrix(const writer *w, const char *name, const matrix *M)
{
    CMGI_TRY(put_shape(w, name, M->shape));
    CMGI_TRY(put_offsets(w, name, M));
    CMGI_TRY(put_columns(w, name, M));
    return cmgi_h5_put_member(w, name, "data", CMGI_H5_REAL, M->indptr[M->rows], M->values);
}

static cmg_status put_csr(const writer *w, const char *name, const cmg_csr *A)
{
    const matrix M = {{A->rows, A->cols}, A->rows, A->indptr, A->indices, NULL, A->values};
    return put_matrix(w, name, &M);
}

static cmg_status put_own(const writer *w, const char *name, const cmgi_own_rows *A,
                          const cmg_size shape[2])
{
    const matrix M = {{shape[0], shape[1]}, A->rows, A->indptr, NULL, A->indices, A->values};
    return A->indptr != NULL ? put_matrix(w, name, &M) : CMG_OK;
}

/* All entries, columns ascending: stored as a two-dimensional dataset. */
static bool is_dense(const cmg_csr *A)
{
    bool dense = A->rows > 0 && A->indptr[A->rows] == A->rows * A->cols;
    for (cmg_size k = 0; dense && k < A->indptr[A->rows]; ++k) {
        dense = A->indices[k] == k % A->cols;
    }
    return dense;
}

/* A, P or R. */
static cmg_status put_role(const writer *w, const cmg_hierarchy *h, int level, cmg_role role)
{
    static const char letter[] = {[CMG_ROLE_A] = 'A', [CMG_ROLE_P] = 'P', [CMG_ROLE_R] = 'R'};
    char name[32];
    (void)snprintf(name, sizeof name, "/levels/%d/%c", level, letter[role]);
    if (w->others != NULL) {
        const cmg_size *rows = w->others->rows;
        const cmg_size shape[2] = {rows[level + (role == CMG_ROLE_R)],
                                   rows[level + (role == CMG_ROLE_P)]};
        return put_own(w, name, cmgi_own_find(h->own, level, role), shape);
    }
    const cmgi_csr *found = cmgi_hierarchy_find(h, level, role, NULL, 0);
    return found != NULL ? put_csr(w, name, &found->view) : CMG_OK;
}

static cmg_status put_inverse(const writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_csr *found = cmgi_hierarchy_find(h, level, CMG_ROLE_INVERSE, NULL, 0);
    char name[32];
    (void)snprintf(name, sizeof name, "/levels/%d/inverse", level);
    if (found == NULL) {
        return CMG_OK;
    }
    const cmg_csr A = found->view;
    return is_dense(&A) ? cmgi_h5_put_table(w, name, CMGI_H5_REAL,
                                            &(cmgi_extent){2, A.rows, A.cols}, A.values)
                        : put_csr(w, name, &A);
}

/* Names become links of the file. */
static cmg_status check_name(const writer *w, const char *name)
{
    const size_t length = strlen(name);
    CMGI_CHECK(w->ctx,
               length > 0 && length < CMGI_NAME_LENGTH && strchr(name, '/') == NULL &&
                   strcmp(name, ".") != 0 && strcmp(name, "..") != 0,
               CMG_ERR_UNSUPPORTED,
               "%s: \"%s\" cannot be a name in the container (1 to %d bytes without /)",
               w->h5 != NULL ? w->h5->path : "", name, CMGI_NAME_LENGTH - 1);
    return CMG_OK;
}

static cmg_status put_smoother(const writer *w, const cmg_hierarchy *h, int level,
                               const char *smoother)
{
    char group[CMGI_H5_NAME];
    const int factors = cmg_hierarchy_factors(h, level, smoother);
    CMGI_TRY(check_name(w, smoother));
    (void)snprintf(group, sizeof group, "/levels/%d/smoothers/%s", level, smoother);
    if (factors > 1) {
        CMGI_TRY(cmgi_h5_put_group(w, group));
    }
    for (int k = 0; k < factors; ++k) {
        char name[CMGI_H5_NAME + 16];
        cmg_csr M;
        const int length = snprintf(name, sizeof name, "%s", group);
        if (factors > 1) {
            (void)snprintf(name + length, sizeof name - (size_t)length, "/%d", k);
        }
        CMGI_TRY(cmg_hierarchy_get_csr(h, level, CMG_ROLE_SMOOTHER, smoother, k, &M));
        CMGI_TRY(put_csr(w, name, &M));
    }
    return CMG_OK;
}

static cmg_status put_smoothers(const writer *w, const cmg_hierarchy *h, int level)
{
    char group[64];
    (void)snprintf(group, sizeof group, "/levels/%d/smoothers", level);
    for (int i = 0; cmg_hierarchy_smoother(h, level, i) != NULL; ++i) {
        if (i == 0) {
            CMGI_TRY(cmgi_h5_put_group(w, group));
        }
        CMGI_TRY(put_smoother(w, h, level, cmg_hierarchy_smoother(h, level, i)));
    }
    return CMG_OK;
}

/* That A takes the vectors of a dataset to 0. */
static cmg_status put_exact(const writer *w, const char *name)
{
    const int64_t exact = 1;
    const hid_t dataset = H5Dopen2(w->h5->file, name, H5P_DEFAULT);
    const bool good =
        dataset >= 0 && cmgi_h5_put_attribute(dataset, "exact", H5T_NATIVE_INT64, 0, &exact);
    cmgi_h5_release(dataset);
    return good ? CMG_OK : cmgi_h5_fail_write(w->h5, name);
}

/* Coordinates by nodes. */
static cmg_status put_coords(const writer *w, const cmg_hierarchy *h, int level)
{
    const char *text = cmg_hierarchy_attribute(h, "dim");
    const cmg_size dim = text != NULL ? strtoll(text, NULL, 10) : 0;
    const double *values = NULL;
    cmg_size n = 0;
    char name[64];
    if (cmg_hierarchy_get_vector(h, level, "coords", NULL, &n, &values) != CMG_OK ||
        (w->others != NULL && dim < 1)) { /* nodes may have parts of their rows elsewhere */
        return CMG_OK;
    }
    const cmg_size nodes = w->others != NULL ? n / dim : cmgi_coords_rows(h, level, n);
    CMGI_CHECK(w->ctx, w->others != NULL || nodes > 0, CMG_ERR_SHAPE,
               "level %d: %lld coordinates do not fit %lld rows", level, (long long)n,
               (long long)cmg_hierarchy_rows(h, level));
    (void)snprintf(name, sizeof name, "/levels/%d/coords", level);
    const cmgi_extent e = {2, nodes, w->others != NULL ? dim : n / nodes};
    return cmgi_h5_put_table(w, name, CMGI_H5_REAL, &e, values);
}

/* Near-null-space vectors by rows, as many for every row of the level: who has none of the rows
 * cannot tell how many. */
static cmg_status put_nullspace(const writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *B = cmgi_hierarchy_vector(h, level, "nullspace", NULL);
    const cmg_size rows = cmgi_range_of(h, level).rows;
    cmg_size before = 0;
    cmg_size all = B != NULL ? B->n : 0;
    char name[64];
    if (B == NULL) {
        return CMG_OK;
    }
    if (w->others != NULL) {
        CMGI_TRY(w->others->count(w->ctx, B->n, &before, &all));
    }
    const cmg_size total = w->others != NULL ? w->others->rows[level] : rows;
    const cmgi_extent e = {2, rows, total > 0 ? all / total : 0};
    CMGI_CHECK(w->ctx, B->n == rows * e.row, CMG_ERR_SHAPE,
               "level %d: %lld values of the null space do not fit %lld rows of %lld", level,
               (long long)B->n, (long long)rows, (long long)e.row);
    (void)snprintf(name, sizeof name, "/levels/%d/nullspace", level);
    CMGI_TRY(cmgi_h5_put_table(w, name, CMGI_H5_REAL, &e, B->values));
    return w->h5 != NULL && h->level[level].exact_nullspace ? put_exact(w, name) : CMG_OK;
}

/* First rows of the ranks that a level is divided among. */
static cmg_status put_partition(const writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *first = cmgi_hierarchy_vector(h, level, "partition", NULL);
    const cmg_size n = first != NULL ? first->n : 0;
    cmg_size *rows = NULL;
    char group[32];
    if (first == NULL) {
        return CMG_OK;
    }
    (void)snprintf(group, sizeof group, "/levels/%d", level);
    CMGI_TRY(cmgi_alloc(w->ctx, n, sizeof *rows, &rows));
    for (cmg_size r = 0; r < n; ++r) {
        rows[r] = (cmg_size)first->values[r];
    }
    const cmg_status status = cmgi_h5_put_member(w, group, "partition", CMGI_H5_SIZE, n, rows);
    cmgi_free(w->ctx, rows);
    return status;
}

/* Vectors of one kind and level as datasets of a group. */
static cmg_status put_vectors(const writer *w, const cmg_hierarchy *h, int level, const char *kind)
{
    char group[64];
    bool made = false;
    if (level == 0) {
        (void)snprintf(group, sizeof group, "/%s", kind);
    } else {
        (void)snprintf(group, sizeof group, "/levels/%d/%s", level, kind);
    }
    for (int i = 0; i < h->vectors; ++i) {
        const cmgi_stored_vector *v = &h->vector[i];
        if (v->level != level || strcmp(v->kind, kind) != 0) {
            continue;
        }
        CMGI_TRY(check_name(w, v->name));
        CMGI_TRY(made ? CMG_OK : cmgi_h5_put_group(w, group));
        made = true;
        CMGI_TRY(cmgi_h5_put_member(w, group, v->name, CMGI_H5_REAL, v->n, v->values));
    }
    return CMG_OK;
}

static cmg_status put_elements(const writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_elements *E = &h->level[level].elements;
    char group[64];
    char name[CMGI_H5_NAME];
    if (E->dofs == NULL) {
        return CMG_OK;
    }
    const cmgi_extent dofs = {2, E->count, E->local};
    const cmgi_extent matrices = {2, E->templates > 0 ? E->templates : E->count,
                                  (cmg_size)E->local * E->local};
    (void)snprintf(group, sizeof group, "/levels/%d/elements", level);
    CMGI_TRY(cmgi_h5_put_group(w, group));
    (void)snprintf(name, sizeof name, "%s/dofs", group);
    CMGI_TRY(cmgi_h5_put_table(w, name, CMGI_H5_INDEX, &dofs, E->dofs));
    (void)snprintf(name, sizeof name, "%s/%s", group, E->templates > 0 ? "template" : "matrices");
    CMGI_TRY(cmgi_h5_put_table(w, name, CMGI_H5_REAL, &matrices, E->matrices));
    if (E->number != NULL) {
        CMGI_TRY(cmgi_h5_put_member(w, group, "number", CMGI_H5_INDEX, E->count, E->number));
    }
    if (E->factor != NULL) {
        CMGI_TRY(cmgi_h5_put_member(w, group, "factor", CMGI_H5_REAL, E->count, E->factor));
    }
    return E->diagonal != NULL
               ? cmgi_h5_put_member(w, group, "diagonal", CMGI_H5_REAL, E->rows, E->diagonal)
               : CMG_OK;
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

static cmg_status put_root(const writer *w, const cmg_hierarchy *h)
{
    const int64_t version = 1;
    const int64_t levels = h->levels;
    if (w->h5 == NULL) {
        return CMG_OK;
    }
    const hid_t file = w->h5->file;
    if (!cmgi_h5_put_text(file, "format", "cmg-hierarchy") ||
        !cmgi_h5_put_attribute(file, "version", H5T_NATIVE_INT64, 0, &version) ||
        !cmgi_h5_put_attribute(file, "levels", H5T_NATIVE_INT64, 0, &levels)) {
        return cmgi_h5_fail_write(w->h5, "the root's attributes");
    }
    for (int i = 0; cmgi_hierarchy_attribute_key(h, i) != NULL; ++i) {
        const char *key = cmgi_hierarchy_attribute_key(h, i);
        if (!put_root_attribute(file, key, cmg_hierarchy_attribute(h, key))) {
            return cmgi_h5_fail_write(w->h5, key);
        }
    }
    return cmgi_h5_put_group(w, "/levels");
}

/* The mesh of level 0: places, cells, which unknowns sit where. */
static cmg_status put_mesh(const writer *w, const cmgi_stored_mesh *m)
{
    if (m == NULL) {
        return CMG_OK;
    }
    cmg_size before = 0;
    cmg_size boundary = m->boundary; /* of all */
    if (w->others != NULL) {
        CMGI_TRY(w->others->count(w->ctx, m->boundary, &before, &boundary));
    }
    const struct part {
        const char *name;
        cmgi_h5_kind kind;
        cmgi_extent extent;
        const void *data;
    } parts[] = {
        {"/mesh/x", CMGI_H5_REAL, {2, m->nodes, m->dim}, m->x},
        {"/mesh/cells", CMGI_H5_INDEX, {2, m->cells, m->corners}, m->cell_nodes},
        {"/mesh/unknowns", CMGI_H5_INDEX, {1, m->nodes, 1}, m->unknown},
        {"/mesh/boundary_values",
         CMGI_H5_REAL,
         {2, m->boundary, m->components},
         m->boundary_values},
    };
    CMGI_TRY(cmgi_h5_put_group(w, "/mesh"));
    for (int k = 0; k < (boundary > 0 ? 4 : 3); ++k) {
        CMGI_TRY(
            cmgi_h5_put_table(w, parts[k].name, parts[k].kind, &parts[k].extent, parts[k].data));
    }
    return CMG_OK;
}

/* In the order of the file; some of it is only there with one who has all rows. */
static cmg_status put_level(const writer *w, const cmg_hierarchy *h, int level)
{
    const bool whole = w->others == NULL;
    char name[32];
    (void)snprintf(name, sizeof name, "/levels/%d", level);
    CMGI_TRY(cmgi_h5_put_group(w, name));
    CMGI_TRY(put_role(w, h, level, CMG_ROLE_A));
    CMGI_TRY(put_role(w, h, level, CMG_ROLE_P));
    CMGI_TRY(put_role(w, h, level, CMG_ROLE_R));
    if (whole) {
        CMGI_TRY(put_elements(w, h, level));
        CMGI_TRY(put_smoothers(w, h, level));
    }
    CMGI_TRY(put_coords(w, h, level));
    CMGI_TRY(put_nullspace(w, h, level));
    if (whole) {
        CMGI_TRY(put_partition(w, h, level));
        CMGI_TRY(put_inverse(w, h, level));
    }
    if (whole || level == 0) {
        CMGI_TRY(put_vectors(w, h, level, "rhs"));
        CMGI_TRY(put_vectors(w, h, level, "solutions"));
    }
    return CMG_OK;
}

cmg_status cmgi_container_put(cmgi_container *c, const cmg_hierarchy *h, const cmgi_others *others)
{
    const writer w = {h->ctx, c != NULL ? &c->h5 : NULL, others};
    CMGI_TRY(put_root(&w, h));
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(put_level(&w, h, l));
    }
    return put_mesh(&w, others != NULL ? h->own->mesh : h->mesh);
}

cmg_status cmgi_container_create(cmg_context *ctx, const char *path, cmgi_container **c)
{
    cmgi_container *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    cmg_status status = cmgi_output_open(ctx, path, CMGI_OUTPUT_NAME, &made->output);
    if (status == CMG_OK) {
        status = cmgi_h5_create(ctx, made->output.temp, &made->h5);
        status = status == CMG_OK ? CMG_OK : cmgi_output_finish(&made->output, status);
    }
    if (status != CMG_OK) {
        cmgi_free(ctx, made);
        return status;
    }
    made->h5.path = made->output.path;
    *c = made;
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
    cmgi_free(ctx, *c);
    *c = NULL;
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
