/*
 * HDF5 files, written: attributes, groups, and datasets, whose rows may come from several. Datasets
 * are chunked with a Fletcher-32 checksum; no times are stored, so that the same data give the same
 * bytes.
 */
#include "io/h5_write.h"

#include <stdarg.h>
#include <stdio.h>

enum { CHUNK_BYTES = 1 << 20, CHUNKS_MOST = 1024 };

/* A dataset that is open, and its kind of values. */
typedef struct dataset {
    const cmgi_h5 *h5;
    const char *name;
    hid_t id;
    hid_t type;
    cmgi_extent extent;
} dataset;

/* It could not be written. */
static cmg_status fail_write(const cmgi_h5 *h5, const char *name)
{
    return cmgi_fail(h5->ctx, CMG_ERR_IO, "%s: %s could not be written", h5->path, name);
}

void cmgi_h5_count(cmgi_h5_writer *w, cmg_size mine, cmg_size *before, cmg_size *all)
{
    *before = 0;
    *all = mine;
    if (w->others != NULL && w->status == CMG_OK) {
        w->status = w->others->count(w->ctx, mine, before, all);
    }
}

void cmgi_h5_put_check(cmgi_h5_writer *w, bool good, const char *name)
{
    if (!good && w->status == CMG_OK) {
        w->status = fail_write(w->h5, name);
    }
}

bool cmgi_h5_put_attribute(hid_t object, const char *key, hid_t type, int count, const void *value)
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
bool cmgi_h5_put_text(hid_t object, const char *key, const char *value)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const bool good = type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
                      H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                      cmgi_h5_put_attribute(object, key, type, 0, &value);
    cmgi_h5_release(type);
    return good;
}

void cmgi_h5_put_group(cmgi_h5_writer *w, const cmg_size *shape, const char *format, ...)
{
    char name[CMGI_H5_NAME];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (w->h5 == NULL || w->status != CMG_OK) {
        return;
    }
    const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    const hid_t group = creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0
                            ? H5Gcreate2(w->h5->file, name, H5P_DEFAULT, creation, H5P_DEFAULT)
                            : -1;
    bool good = group >= 0;
    if (good && shape != NULL) {
        good = cmgi_h5_put_text(group, "encoding-type", "csr_matrix") &&
               cmgi_h5_put_text(group, "encoding-version", "0.1.0") &&
               cmgi_h5_put_attribute(group, "shape", H5T_NATIVE_INT64, 2, shape);
    }
    cmgi_h5_put_check(w, good, name);
    cmgi_h5_release(creation);
    cmgi_h5_release(group);
}

/* Rows of a chunk: about 1 MiB, more where chunks would be too many. */
static cmg_size chunk_rows(const cmgi_extent *e, size_t size)
{
    const cmg_size most = e->row > 0 ? CHUNK_BYTES / (cmg_size)size / e->row : 0;
    const cmg_size fewest = (e->rows + CHUNKS_MOST - 1) / CHUNKS_MOST;
    const cmg_size chunk = most > fewest ? most : fewest;
    return chunk > e->rows ? e->rows : chunk;
}

static cmg_status begin_dataset(dataset *d, size_t size)
{
    const cmgi_extent *e = &d->extent;
    const hsize_t dims[2] = {(hsize_t)e->rows, (hsize_t)e->row};
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(e->rank, dims, NULL);
    bool good = creation >= 0 && space >= 0 && H5Pset_obj_track_times(creation, false) >= 0;
    if (good && e->rows > 0 && e->row > 0) {
        const hsize_t chunk[2] = {(hsize_t)chunk_rows(e, size), (hsize_t)e->row};
        good = H5Pset_chunk(creation, e->rank, chunk) >= 0 && H5Pset_fletcher32(creation) >= 0;
    }
    d->id =
        good ? H5Dcreate2(d->h5->file, d->name, d->type, space, H5P_DEFAULT, creation, H5P_DEFAULT)
             : -1;
    cmgi_h5_release(space);
    cmgi_h5_release(creation);
    return d->id >= 0 ? CMG_OK : fail_write(d->h5, d->name);
}

/* Rows of a dataset that is open. */
static cmg_status put_rows(void *user, cmg_size first, cmg_size rows, const void *data)
{
    const dataset *d = user;
    const cmgi_extent part = {d->extent.rank, rows, d->extent.row};
    return cmgi_h5_rows(d->id, d->type, first, &part, data, NULL) ? CMG_OK
                                                                  : fail_write(d->h5, d->name);
}

static cmg_status put_table(cmgi_h5_writer *w, const char *name, cmgi_h5_kind kind,
                            const cmgi_extent *mine, const void *data)
{
    static const size_t sizes[] = {[CMGI_H5_REAL] = sizeof(double),
                                   [CMGI_H5_INDEX] = sizeof(cmg_index),
                                   [CMGI_H5_SIZE] = sizeof(cmg_size)};
    dataset d = {.h5 = w->h5, .name = name, .extent = *mine};
    cmgi_pieces pieces = {mine->rows, (size_t)mine->row * sizes[kind], data, 0};
    cmg_size before = 0;
    cmgi_h5_count(w, mine->rows, &before, &d.extent.rows);
    CMGI_TRY(w->status);
    const bool any = d.extent.rows * d.extent.row > 0;
    pieces.chunk = chunk_rows(&d.extent, sizes[kind]);
    if (w->h5 == NULL) {
        return any ? w->others->collect(w->ctx, &pieces, NULL, NULL) : CMG_OK;
    }
    d.type = kind == CMGI_H5_REAL    ? H5T_NATIVE_DOUBLE
             : kind == CMGI_H5_INDEX ? H5T_NATIVE_INT32
                                     : H5T_NATIVE_INT64;
    CMGI_TRY(begin_dataset(&d, sizes[kind]));
    cmg_status status = CMG_OK;
    if (any) {
        status = w->others == NULL ? put_rows(&d, 0, mine->rows, data)
                                   : w->others->collect(w->ctx, &pieces, put_rows, &d);
    }
    const bool closed = H5Dclose(d.id) >= 0; /* else what follows would be lost as well */
    CMGI_TRY(status);
    CMGI_TRY(closed ? cmgi_h5_verdict(d.h5, CMG_OK) : fail_write(d.h5, name));
    w->h5->done += d.extent.rows * d.extent.row * (cmg_size)sizes[kind];
    return cmgi_progress(w->ctx, "writing", w->h5->done, 0);
}

void cmgi_h5_put(cmgi_h5_writer *w, cmgi_h5_kind kind, cmgi_extent mine, const void *data,
                 const char *format, ...)
{
    char name[CMGI_H5_NAME + 32];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (w->status == CMG_OK) {
        w->status = put_table(w, name, kind, &mine, data);
    }
}
