/*
 * The hierarchy container, written. Datasets are chunked with a Fletcher-32 checksum; no times are
 * stored, so that the same hierarchy gives the same bytes.
 */
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "io/h5.h"

#include "core/memory.h"
#include "core/number.h"

#include <string.h>

enum { CHUNK_BYTES = 1 << 20, CHUNKS_MOST = 1024 };

static cmg_status fail_write(const cmgi_h5 *h5, const char *name)
{
    return cmgi_fail(h5->ctx, CMG_ERR_IO, "%s: %s could not be written", h5->path, name);
}

static bool put_attribute(hid_t object, const char *key, hid_t type, int count, const void *value)
{
    const hsize_t dims[1] = {(hsize_t)count};
    const hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, dims, NULL);
    const hid_t attribute =
        space >= 0 ? H5Acreate2(object, key, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    const bool good = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    cmgi_h5_release(attribute);
    cmgi_h5_release(space);
    return good;
}

/* Of variable length, which readers in Python get as text and not as bytes. */
static bool put_text(hid_t object, const char *key, const char *value)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const bool good = type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
                      H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                      put_attribute(object, key, type, 0, &value);
    cmgi_h5_release(type);
    return good;
}

static cmg_status open_group(const cmgi_h5 *h5, const char *name, hid_t *group)
{
    const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    hid_t made = -1;
    if (creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0) {
        made = H5Gcreate2(h5->file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    cmgi_h5_release(creation);
    *group = made;
    return made >= 0 ? CMG_OK : fail_write(h5, name);
}

cmg_status cmgi_h5_put_group(const cmgi_h5 *h5, const char *name)
{
    hid_t group = -1;
    CMGI_TRY(open_group(h5, name, &group));
    cmgi_h5_release(group);
    return CMG_OK;
}

cmg_size cmgi_h5_chunk_rows(const cmgi_extent *e, size_t size)
{
    const cmg_size most = e->row > 0 ? CHUNK_BYTES / (cmg_size)size / e->row : 0;
    const cmg_size fewest = (e->rows + CHUNKS_MOST - 1) / CHUNKS_MOST;
    const cmg_size chunk = most > fewest ? most : fewest;
    return chunk > e->rows ? e->rows : chunk;
}

static bool set_layout(hid_t creation, const cmgi_extent *e, size_t size)
{
    bool good = H5Pset_obj_track_times(creation, false) >= 0;
    if (e->rows > 0 && e->row > 0) {
        const hsize_t chunk[2] = {(hsize_t)cmgi_h5_chunk_rows(e, size), (hsize_t)e->row};
        good =
            good && H5Pset_chunk(creation, e->rank, chunk) >= 0 && H5Pset_fletcher32(creation) >= 0;
    }
    return good;
}

cmg_status cmgi_h5_begin(const cmgi_h5 *h5, const char *name, hid_t type, const cmgi_extent *e,
                         hid_t *dataset)
{
    const hsize_t dims[2] = {(hsize_t)e->rows, (hsize_t)e->row};
    const size_t size = H5Tget_size(type);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(e->rank, dims, NULL);
    *dataset = -1;
    if (size > 0 && creation >= 0 && space >= 0 && set_layout(creation, e, size)) {
        *dataset = H5Dcreate2(h5->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    cmgi_h5_release(space);
    cmgi_h5_release(creation);
    return *dataset >= 0 ? CMG_OK : fail_write(h5, name);
}

/* Closes a dataset; what follows would be lost as well where it failed. */
cmg_status cmgi_h5_end(const cmgi_h5 *h5, const char *name, hid_t dataset, cmg_status status)
{
    const bool closed = H5Dclose(dataset) >= 0;
    CMGI_TRY(status);
    return closed ? cmgi_h5_verdict(h5, CMG_OK) : fail_write(h5, name);
}

cmg_status cmgi_h5_told(cmgi_h5 *h5, cmg_size bytes)
{
    h5->done += bytes;
    return cmgi_progress(h5->ctx, "writing", h5->done, 0);
}

static cmg_status put_dataset(cmgi_h5 *h5, const char *name, hid_t type, int rank,
                              const hsize_t *dims, const void *data)
{
    const cmgi_extent e = {rank, (cmg_size)dims[0], rank == 2 ? (cmg_size)dims[1] : 1};
    hid_t dataset = -1;
    CMGI_TRY(cmgi_h5_begin(h5, name, type, &e, &dataset));
    const bool good =
        e.rows * e.row == 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    CMGI_TRY(cmgi_h5_end(h5, name, dataset, good ? CMG_OK : fail_write(h5, name)));
    return cmgi_h5_told(h5, e.rows * e.row * (cmg_size)H5Tget_size(type));
}

static cmg_status put_member(cmgi_h5 *h5, const char *group, const char *member, hid_t type,
                             cmg_size n, const void *data)
{
    char name[CMGI_H5_NAME + 32];
    const hsize_t dims[1] = {(hsize_t)n};
    (void)snprintf(name, sizeof name, "%s/%s", group, member);
    return put_dataset(h5, name, type, 1, dims, data);
}

cmg_status cmgi_h5_put_matrix(const cmgi_h5 *h5, const char *name, cmg_size rows, cmg_size cols)
{
    const int64_t shape[2] = {rows, cols};
    hid_t group = -1;
    CMGI_TRY(open_group(h5, name, &group));
    const bool good = put_text(group, "encoding-type", "csr_matrix") &&
                      put_text(group, "encoding-version", "0.1.0") &&
                      put_attribute(group, "shape", H5T_NATIVE_INT64, 2, shape);
    cmgi_h5_release(group);
    return good ? CMG_OK : fail_write(h5, name);
}

static cmg_status put_csr(cmgi_h5 *h5, const char *name, const cmg_csr *A)
{
    const cmg_size nnz = A->indptr[A->rows];
    CMGI_TRY(cmgi_h5_put_matrix(h5, name, A->rows, A->cols));
    CMGI_TRY(put_member(h5, name, "indptr", H5T_NATIVE_INT64, A->rows + 1, A->indptr));
    CMGI_TRY(put_member(h5, name, "indices", H5T_NATIVE_INT32, nnz, A->indices));
    return put_member(h5, name, "data", H5T_NATIVE_DOUBLE, nnz, A->values);
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

static cmg_status put_role(cmgi_h5 *h5, const cmg_hierarchy *h, int level, cmg_role role,
                           const char *member)
{
    const cmgi_csr *found = cmgi_hierarchy_find(h, level, role, NULL, 0);
    char name[CMGI_H5_NAME];
    (void)snprintf(name, sizeof name, "/levels/%d/%s", level, member);
    if (found == NULL) {
        return CMG_OK;
    }
    const cmg_csr A = found->view;
    if (role == CMG_ROLE_INVERSE && is_dense(&A)) {
        const hsize_t dims[2] = {(hsize_t)A.rows, (hsize_t)A.cols};
        return put_dataset(h5, name, H5T_NATIVE_DOUBLE, 2, dims, A.values);
    }
    return put_csr(h5, name, &A);
}

/* Names become links of the file. */
static cmg_status check_name(const cmgi_h5 *h5, const char *name)
{
    const size_t length = strlen(name);
    CMGI_CHECK(h5->ctx,
               length > 0 && length < CMGI_NAME_LENGTH && strchr(name, '/') == NULL &&
                   strcmp(name, ".") != 0 && strcmp(name, "..") != 0,
               CMG_ERR_UNSUPPORTED,
               "%s: \"%s\" cannot be a name in the container (1 to %d bytes without /)", h5->path,
               name, CMGI_NAME_LENGTH - 1);
    return CMG_OK;
}

static cmg_status put_smoother(cmgi_h5 *h5, const cmg_hierarchy *h, int level, const char *smoother)
{
    char group[CMGI_H5_NAME];
    const int factors = cmg_hierarchy_factors(h, level, smoother);
    CMGI_TRY(check_name(h5, smoother));
    (void)snprintf(group, sizeof group, "/levels/%d/smoothers/%s", level, smoother);
    if (factors > 1) {
        CMGI_TRY(cmgi_h5_put_group(h5, group));
    }
    for (int k = 0; k < factors; ++k) {
        char name[CMGI_H5_NAME + 16];
        cmg_csr M;
        const int length = snprintf(name, sizeof name, "%s", group);
        if (factors > 1) {
            (void)snprintf(name + length, sizeof name - (size_t)length, "/%d", k);
        }
        CMGI_TRY(cmg_hierarchy_get_csr(h, level, CMG_ROLE_SMOOTHER, smoother, k, &M));
        CMGI_TRY(put_csr(h5, name, &M));
    }
    return CMG_OK;
}

static cmg_status put_smoothers(cmgi_h5 *h5, const cmg_hierarchy *h, int level)
{
    char group[64];
    (void)snprintf(group, sizeof group, "/levels/%d/smoothers", level);
    for (int i = 0; cmg_hierarchy_smoother(h, level, i) != NULL; ++i) {
        if (i == 0) {
            CMGI_TRY(cmgi_h5_put_group(h5, group));
        }
        CMGI_TRY(put_smoother(h5, h, level, cmg_hierarchy_smoother(h, level, i)));
    }
    return CMG_OK;
}

cmg_status cmgi_h5_put_exact(cmgi_h5 *h5, const char *name)
{
    const int64_t exact = 1;
    const hid_t dataset = H5Dopen2(h5->file, name, H5P_DEFAULT);
    const bool good = dataset >= 0 && put_attribute(dataset, "exact", H5T_NATIVE_INT64, 0, &exact);
    cmgi_h5_release(dataset);
    return good ? CMG_OK : fail_write(h5, name);
}

/* Coordinates by nodes, near-null-space vectors by rows. */
static cmg_status put_table(cmgi_h5 *h5, const cmg_hierarchy *h, int level, const char *kind)
{
    const bool coords = strcmp(kind, "coords") == 0;
    cmg_size n = 0;
    const double *values = NULL;
    char name[64];
    if (cmg_hierarchy_get_vector(h, level, kind, NULL, &n, &values) != CMG_OK) {
        return CMG_OK;
    }
    const cmg_size rows = cmg_hierarchy_rows(h, level);
    const cmg_size given = coords ? cmgi_coords_rows(h, level, n) : rows;
    const hsize_t dims[2] = {(hsize_t)given, given > 0 ? (hsize_t)(n / given) : 0};
    CMGI_CHECK(h5->ctx, !coords || given > 0, CMG_ERR_SHAPE,
               "level %d: %lld coordinates do not fit %lld rows", level, (long long)n,
               (long long)rows);
    (void)snprintf(name, sizeof name, "/levels/%d/%s", level, kind);
    CMGI_TRY(put_dataset(h5, name, H5T_NATIVE_DOUBLE, 2, dims, values));
    return !coords && h->level[level].exact_nullspace ? cmgi_h5_put_exact(h5, name) : CMG_OK;
}

/* First rows of the ranks that a level is divided among. */
static cmg_status put_partition(cmgi_h5 *h5, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *first = cmgi_hierarchy_vector(h, level, "partition", NULL);
    const cmg_size n = first != NULL ? first->n : 0;
    cmg_size *rows = NULL;
    char group[32];
    if (first == NULL) {
        return CMG_OK;
    }
    (void)snprintf(group, sizeof group, "/levels/%d", level);
    CMGI_TRY(cmgi_alloc(h5->ctx, n, sizeof *rows, &rows));
    for (cmg_size r = 0; r < n; ++r) {
        rows[r] = (cmg_size)first->values[r];
    }
    const cmg_status status = put_member(h5, group, "partition", H5T_NATIVE_INT64, n, rows);
    cmgi_free(h5->ctx, rows);
    return status;
}

/* Vectors of one kind and level as datasets of a group. */
static cmg_status put_vectors(cmgi_h5 *h5, const cmg_hierarchy *h, int level, const char *kind)
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
        CMGI_TRY(check_name(h5, v->name));
        CMGI_TRY(made ? CMG_OK : cmgi_h5_put_group(h5, group));
        made = true;
        CMGI_TRY(put_member(h5, group, v->name, H5T_NATIVE_DOUBLE, v->n, v->values));
    }
    return CMG_OK;
}

static cmg_status put_elements(cmgi_h5 *h5, const cmg_hierarchy *h, int level)
{
    const cmgi_elements *E = &h->level[level].elements;
    char group[64];
    char name[CMGI_H5_NAME];
    if (E->dofs == NULL) {
        return CMG_OK;
    }
    const cmg_size matrices = E->templates > 0 ? E->templates : E->count;
    const hsize_t dofs[2] = {(hsize_t)E->count, (hsize_t)E->local};
    const hsize_t values[2] = {(hsize_t)matrices, (hsize_t)(E->local * E->local)};
    (void)snprintf(group, sizeof group, "/levels/%d/elements", level);
    CMGI_TRY(cmgi_h5_put_group(h5, group));
    (void)snprintf(name, sizeof name, "%s/dofs", group);
    CMGI_TRY(put_dataset(h5, name, H5T_NATIVE_INT32, 2, dofs, E->dofs));
    (void)snprintf(name, sizeof name, "%s/%s", group, E->templates > 0 ? "template" : "matrices");
    CMGI_TRY(put_dataset(h5, name, H5T_NATIVE_DOUBLE, 2, values, E->matrices));
    if (E->number != NULL) {
        CMGI_TRY(put_member(h5, group, "number", H5T_NATIVE_INT32, E->count, E->number));
    }
    if (E->factor != NULL) {
        CMGI_TRY(put_member(h5, group, "factor", H5T_NATIVE_DOUBLE, E->count, E->factor));
    }
    return E->diagonal != NULL
               ? put_member(h5, group, "diagonal", H5T_NATIVE_DOUBLE, E->rows, E->diagonal)
               : CMG_OK;
}

/* Integers where the value is one and the key is known to be one; text otherwise. */
static cmg_status put_root_attribute(cmgi_h5 *h5, const char *key, const char *value)
{
    static const char *const integers[] = {"dim", "block_size", "symmetric"};
    static const char *const own[] = {"format", "version", "levels"};
    for (int k = 0; k < 3; ++k) {
        cmg_size number = 0;
        const char *end = cmgi_parse_size(value, &number);
        if (strcmp(key, own[k]) == 0) {
            return CMG_OK;
        }
        if (strcmp(key, integers[k]) == 0 && end != NULL && *end == '\0') {
            const int64_t integer = number;
            return put_attribute(h5->file, key, H5T_NATIVE_INT64, 0, &integer)
                       ? CMG_OK
                       : fail_write(h5, key);
        }
    }
    return put_text(h5->file, key, value) ? CMG_OK : fail_write(h5, key);
}

cmg_status cmgi_h5_put_root(cmgi_h5 *h5, const cmg_hierarchy *h)
{
    const int64_t version = 1;
    const int64_t levels = h->levels;
    if (!put_text(h5->file, "format", "cmg-hierarchy") ||
        !put_attribute(h5->file, "version", H5T_NATIVE_INT64, 0, &version) ||
        !put_attribute(h5->file, "levels", H5T_NATIVE_INT64, 0, &levels)) {
        return fail_write(h5, "the root's attributes");
    }
    for (int i = 0; cmgi_hierarchy_attribute_key(h, i) != NULL; ++i) {
        const char *key = cmgi_hierarchy_attribute_key(h, i);
        CMGI_TRY(put_root_attribute(h5, key, cmg_hierarchy_attribute(h, key)));
    }
    return cmgi_h5_put_group(h5, "/levels");
}

/* The mesh of level 0: places, cells, which unknowns sit where. */
static cmg_status put_mesh(cmgi_h5 *h5, const cmgi_stored_mesh *mesh)
{
    if (mesh == NULL) {
        return CMG_OK;
    }
    const hsize_t x[2] = {(hsize_t)mesh->nodes, (hsize_t)mesh->dim};
    const hsize_t cells[2] = {(hsize_t)mesh->cells, (hsize_t)mesh->corners};
    const hsize_t values[2] = {(hsize_t)mesh->boundary, (hsize_t)mesh->components};
    CMGI_TRY(cmgi_h5_put_group(h5, "/mesh"));
    CMGI_TRY(put_dataset(h5, "/mesh/x", H5T_NATIVE_DOUBLE, 2, x, mesh->x));
    CMGI_TRY(put_dataset(h5, "/mesh/cells", H5T_NATIVE_INT32, 2, cells, mesh->cell_nodes));
    CMGI_TRY(put_dataset(h5, "/mesh/unknowns", H5T_NATIVE_INT32, 1, x, mesh->unknown));
    return mesh->boundary == 0 ? CMG_OK
                               : put_dataset(h5, "/mesh/boundary_values", H5T_NATIVE_DOUBLE, 2,
                                             values, mesh->boundary_values);
}

static cmg_status put_all(cmgi_h5 *h5, const cmg_hierarchy *h)
{
    CMGI_TRY(cmgi_h5_put_root(h5, h));
    for (int l = 0; l < h->levels; ++l) {
        char name[32];
        (void)snprintf(name, sizeof name, "/levels/%d", l);
        CMGI_TRY(cmgi_h5_put_group(h5, name));
        CMGI_TRY(put_role(h5, h, l, CMG_ROLE_A, "A"));
        CMGI_TRY(put_role(h5, h, l, CMG_ROLE_P, "P"));
        CMGI_TRY(put_role(h5, h, l, CMG_ROLE_R, "R"));
        CMGI_TRY(put_elements(h5, h, l));
        CMGI_TRY(put_smoothers(h5, h, l));
        CMGI_TRY(put_table(h5, h, l, "coords"));
        CMGI_TRY(put_table(h5, h, l, "nullspace"));
        CMGI_TRY(put_partition(h5, h, l));
        CMGI_TRY(put_role(h5, h, l, CMG_ROLE_INVERSE, "inverse"));
        CMGI_TRY(put_vectors(h5, h, l, "rhs"));
        CMGI_TRY(put_vectors(h5, h, l, "solutions"));
    }
    return put_mesh(h5, h->mesh);
}

cmg_status cmgi_write_container(const cmg_hierarchy *h, const char *path)
{
    cmg_context *ctx = h->ctx;
    cmgi_output output = {0};
    cmgi_h5 h5;
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_NAME, &output));
    cmg_status status = cmgi_h5_create(ctx, output.temp, &h5);
    if (status == CMG_OK) {
        h5.path = path;
        status = put_all(&h5, h);
        if (!cmgi_h5_close(&h5) && status == CMG_OK) {
            status = cmgi_fail(ctx, CMG_ERR_IO, "%s: could not be completed", path);
        }
        status = cmgi_h5_verdict(&h5, status);
    }
    return cmgi_output_finish(&output, status);
}

#else

cmg_status cmgi_write_container(const cmg_hierarchy *h, const char *path)
{
    return cmgi_fail(h->ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}
#endif
