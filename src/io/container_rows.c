/*
 * Pieces of datasets, and partitions: what ranks read of a container each for itself, and how what
 * they have is written. HDF5 brings the chunks that a piece touches and compares their checksums.
 */
#include "io/io.h"

#ifdef CMGI_HAVE_HDF5
#include "core/memory.h"
#include "io/h5.h"

/* Whole rows of a table. */
static cmg_status read_part(cmgi_dataset *d, hid_t native, cmg_size first, cmg_size count, void *to)
{
    const cmg_size wide = d->dims[1];
    cmg_context *ctx = d->h5->ctx;
    CMGI_CHECK(ctx, wide > 0 && first % wide == 0 && count % wide == 0, CMG_ERR_FILE,
               "%s: %s: %lld columns, a rank's part is of whole rows", d->h5->path, d->name,
               (long long)wide);
    const hsize_t start[2] = {(hsize_t)(first / wide), 0};
    const hsize_t length[2] = {(hsize_t)(count / wide), (hsize_t)wide};
    CMGI_CHECK(ctx, first >= 0 && count >= 0 && first <= d->count - count, CMG_ERR_FILE,
               "%s: %s: elements %lld .. %lld are wanted, there are %lld", d->h5->path, d->name,
               (long long)first, (long long)(first + count) - 1, (long long)d->count);
    if (count == 0) {
        return CMG_OK;
    }
    const hid_t file = H5Dget_space(d->id);
    const hid_t memory = H5Screate_simple(d->rank, length, NULL);
    const bool good = file >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, length, NULL) >= 0 &&
                      H5Dread(d->id, native, memory, file, H5P_DEFAULT, to) >= 0;
    cmgi_h5_release(memory);
    cmgi_h5_release(file);
    CMGI_CHECK(ctx, good, CMG_ERR_FILE, "%s: %s: elements %lld .. %lld cannot be read: damaged",
               d->h5->path, d->name, (long long)first, (long long)(first + count) - 1);
    return CMG_OK;
}

cmg_status cmgi_dataset_part_real(cmgi_dataset *d, cmg_size first, cmg_size count, double *to)
{
    CMGI_CHECK(d->h5->ctx, d->real, CMG_ERR_FILE, "%s: %s: integers where real numbers are needed",
               d->h5->path, d->name);
    return read_part(d, H5T_NATIVE_DOUBLE, first, count, to);
}

cmg_status cmgi_dataset_part_size(cmgi_dataset *d, cmg_size first, cmg_size count, cmg_size *to)
{
    CMGI_CHECK(d->h5->ctx, !d->real, CMG_ERR_FILE, "%s: %s: real numbers where integers are needed",
               d->h5->path, d->name);
    return read_part(d, H5T_NATIVE_INT64, first, count, to);
}

cmg_status cmgi_h5_put_rows(const cmgi_h5 *h5, const char *name, hid_t dataset, cmg_size first,
                            const cmgi_extent *part, const void *data)
{
    const hsize_t start[2] = {(hsize_t)first, 0};
    const hsize_t count[2] = {(hsize_t)part->rows, (hsize_t)part->row};
    const hid_t type = H5Dget_type(dataset);
    const hid_t file = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(part->rank, count, NULL);
    const bool good = type >= 0 && file >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, data) >= 0;
    cmgi_h5_release(memory);
    cmgi_h5_release(file);
    cmgi_h5_release(type);
    CMGI_CHECK(h5->ctx, good, CMG_ERR_IO, "%s: %s: rows %lld .. %lld could not be written",
               h5->path, name, (long long)first, (long long)(first + part->rows) - 1);
    return CMG_OK;
}

cmg_status cmgi_container_partition(cmgi_h5 *h5, const char *name, cmg_size rows, cmgi_partition *p)
{
    enum { MOST = 1 << 20 };
    cmgi_dataset d = {0};
    cmg_size *first = NULL;
    cmg_status status = CMG_OK;
    bool good = true;
    *p = (cmgi_partition){0, NULL};
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_dataset_open(h5, name, &d));
    CMGI_CHECK_GOTO(done, h5->ctx, d.rank == 1 && d.count >= 2 && d.count <= MOST, CMG_ERR_FILE,
                    "%s: %s: %lld elements are no partition", h5->path, name, (long long)d.count);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, d.count, sizeof *first, &first));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_size(&d, first));
    good = first[0] == 0 && first[d.count - 1] == rows;
    for (cmg_size r = 1; r < d.count && good; ++r) {
        good = first[r] >= first[r - 1];
    }
    CMGI_CHECK_GOTO(done, h5->ctx, good, CMG_ERR_FILE,
                    "%s: %s: it does not rise from 0 to the %lld rows of the level", h5->path, name,
                    (long long)rows);
    *p = (cmgi_partition){(int)d.count - 1, first};
    first = NULL;
done:
    cmgi_free(h5->ctx, first);
    cmgi_dataset_close(&d);
    return status;
}
#endif
