/*
 * Datasets of HDF5 files, read with checks.
 *
 * Where the stored bytes are the wanted ones - native type, contiguous or in chunks of whole rows
 * with no filter but Fletcher-32 - the library is asked only for the places of the chunks; several
 * threads read them into the final array, or into pinned memory on their way to the device, and
 * compare the checksums. Everything else goes through H5Dread.
 */
#include "core/feed.h"
#include "core/memory.h"
#include "io/guard/fletcher.h"
#include "io/h5.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 20, CHUNKS_MOST = 8192 };
/* deflate, the densest of the common filters, stays below 1032 : 1 */
static const cmg_size EXPANSION = 1100;

static bool look_at_storage(cmgi_dataset *d)
{
    cmgi_storage *s = &d->storage;
    *s = (cmgi_storage){.plain = true};
    const hid_t creation = H5Dget_create_plist(d->id);
    if (creation < 0) {
        return false;
    }
    s->layout = H5Pget_layout(creation);
    s->elsewhere = s->layout == H5D_VIRTUAL || H5Pget_external_count(creation) > 0;
    bool good = s->layout >= 0;
    if (s->layout == H5D_CHUNKED) {
        good = H5Pget_chunk(creation, 2, s->chunk) == d->rank;
        s->chunk_count =
            good ? (cmg_size)s->chunk[0] * (d->rank == 2 ? (cmg_size)s->chunk[1] : 1) : 0;
    }
    const int filters = H5Pget_nfilters(creation);
    for (int k = 0; k < filters; ++k) {
        unsigned flags = 0;
        size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)k, &flags, &values, NULL, 0, NULL, NULL);
        s->checksum = s->checksum || filter == H5Z_FILTER_FLETCHER32;
        s->plain = s->plain && filter == H5Z_FILTER_FLETCHER32 && filters == 1;
        s->packed = s->packed || (filter != H5Z_FILTER_FLETCHER32 && filter != H5Z_FILTER_SHUFFLE);
    }
    cmgi_h5_release(creation);
    return good && filters >= 0;
}

static cmg_status check_storage(cmgi_dataset *d)
{
    const cmgi_storage *s = &d->storage;
    CMGI_IN_DATA(d->h5, d->name, look_at_storage(d), "the storage layout is unreadable");
    CMGI_IN_DATA(d->h5, d->name, !s->elsewhere, "data kept in other files are not read");
    const cmg_size kept = (cmg_size)H5Dget_storage_size(d->id);
    const cmg_size held = kept >= 0 && kept < d->h5->size ? kept : d->h5->size;
    const cmg_size most = s->packed ? held * EXPANSION : held;
    const cmg_size needed = s->chunk_count > d->count && d->count > 0 ? s->chunk_count : d->count;
    CMGI_IN_DATA(d->h5, d->name, needed <= most / (cmg_size)d->size,
                 "%lld elements of %zu bytes do not fit into the %lld bytes stored",
                 (long long)needed, d->size, (long long)held);
    return CMG_OK;
}

static cmg_status read_extent(cmgi_dataset *d)
{
    hsize_t dims[2] = {0, 1};
    const hid_t space = H5Dget_space(d->id);
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    const bool good =
        (rank == 1 || rank == 2) && H5Sget_simple_extent_dims(space, dims, NULL) == rank;
    cmgi_h5_release(space);
    CMGI_IN_DATA(d->h5, d->name, good, "neither one- nor two-dimensional");
    const hsize_t limit = (hsize_t)INT64_MAX / 4;
    CMGI_IN_DATA(d->h5, d->name,
                 dims[0] <= limit && dims[1] <= limit &&
                     (dims[1] == 0 || dims[0] <= limit / dims[1]),
                 "%llu x %llu elements are too many", (unsigned long long)dims[0],
                 (unsigned long long)dims[1]);
    d->rank = rank;
    d->dims[0] = (cmg_size)dims[0];
    d->dims[1] = (cmg_size)dims[1];
    d->count = d->dims[0] * d->dims[1];
    return CMG_OK;
}

static cmg_status read_type(cmgi_dataset *d)
{
    d->type = H5Dget_type(d->id);
    const H5T_class_t class = d->type >= 0 ? H5Tget_class(d->type) : H5T_NO_CLASS;
    d->size = d->type >= 0 ? H5Tget_size(d->type) : 0;
    d->real = class == H5T_FLOAT;
    const bool good = (class == H5T_FLOAT && (d->size == 4 || d->size == 8)) ||
                      (class == H5T_INTEGER && d->size >= 1 && d->size <= 8);
    CMGI_IN_DATA(d->h5, d->name, good,
                 "elements of %zu bytes are neither integers nor real numbers of 4 or 8 bytes",
                 d->size);
    return CMG_OK;
}

cmg_status cmgi_dataset_open(cmgi_h5 *h5, const char *name, cmgi_dataset *d)
{
    cmgi_scoped_by(cmgi_dataset_close) cmgi_dataset made = {.h5 = h5, .id = -1, .type = -1};
    CMGI_TRY(cmgi_h5_inspect(h5, name, true));
    (void)snprintf(made.name, sizeof made.name, "%s", name);
    made.id = H5Dopen2(h5->file, name, h5->data_access);
    CMGI_IN_DATA(h5, name, made.id >= 0, "%s",
                 cmgi_h5_exists(h5, name) ? "not a readable dataset" : "missing or damaged");
    CMGI_TRY(read_extent(&made));
    CMGI_TRY(read_type(&made));
    CMGI_TRY(check_storage(&made));
    CMGI_PASS_ON(&made, d);
    return CMG_OK;
}

void cmgi_dataset_close(cmgi_dataset *d)
{
    if (d->h5 == NULL) {
        return;
    }
    cmgi_h5_release(d->type);
    cmgi_h5_release(d->id);
    d->h5 = NULL;
}

/* Places of the chunks in the file, from number `begin` on; false when one is missing or stored in
 * an unexpected way. */
static bool find_chunks(const cmgi_dataset *d, cmg_size begin, cmg_size chunks, haddr_t *address)
{
#if H5_VERSION_GE(1, 10, 5)
    const cmgi_storage *s = &d->storage;
    const hsize_t bytes = (hsize_t)s->chunk_count * d->size + (s->checksum ? 4 : 0);
    for (cmg_size c = 0; c < chunks; ++c) {
        const hsize_t offset[2] = {(hsize_t)(begin + c) * s->chunk[0], 0};
        unsigned mask = 1;
        hsize_t size = 0;
        if (H5Dget_chunk_info_by_coord(d->id, offset, &mask, &address[c], &size) < 0 ||
            address[c] == HADDR_UNDEF || mask != 0 || size != bytes ||
            address[c] > (haddr_t)d->h5->size || bytes > (hsize_t)d->h5->size - address[c]) {
            return false;
        }
    }
    return true;
#else
    (void)d;
    (void)begin;
    (void)chunks;
    (void)address;
    return false;
#endif
}

/* Reads one chunk to `to` and compares its checksum. */
static bool read_chunk(const cmgi_dataset *d, haddr_t address, void *to)
{
    const size_t bytes = (size_t)d->storage.chunk_count * d->size;
    const cmg_size begin = (cmg_size)address;
    unsigned char stored[4] = {0};
    return cmgi_h5_read_at(d->h5, begin, bytes, to) &&
           (!d->storage.checksum || (cmgi_h5_read_at(d->h5, begin + (cmg_size)bytes, 4, stored) &&
                                     cmgi_little(stored, 4) == cmgi_fletcher32(to, bytes)));
}

/* How elements first .. first + count - 1 are read without the library's data path. */
typedef struct direct {
    const cmgi_dataset *d;
    cmg_size first;
    cmg_size count;
    haddr_t *address; /* of the chunks that hold them, NULL = contiguous */
    cmg_size begin;   /* number of the first of these chunks */
    cmg_size start;   /* else place of the first element */
} direct;

/* All chunks that are wanted: whole ones to their places; one at either end may be cut, which
 * comes by way of a buffer. */
static cmg_status read_chunks(const direct *plan, char *to)
{
    const cmgi_dataset *d = plan->d;
    cmg_context *ctx = d->h5->ctx;
    const cmg_size chunk = d->storage.chunk_count;
    const size_t bytes = (size_t)chunk * d->size;
    const cmg_size first = plan->first;
    const cmg_size last = first + plan->count;
    const cmg_size end = (last - 1) / chunk + 1;
    char *ends[2] = {NULL, NULL};
    cmg_size bad = INT64_MAX;
    if (first % chunk != 0 || last % chunk != 0) {
        CMGI_TRY(cmgi_alloc(ctx, 2, bytes, &ends[0]));
        ends[1] = ends[0] + bytes;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (end - plan->begin > 1)
    for (cmg_size c = plan->begin; c < end; ++c) {
        const cmg_size from = c * chunk > first ? c * chunk : first;
        const cmg_size until = (c + 1) * chunk < last ? (c + 1) * chunk : last;
        char *place = to + (size_t)(from - first) * d->size;
        char *read = until - from == chunk ? place : ends[c > plan->begin];
        if (!read_chunk(d, plan->address[c - plan->begin], read)) {
            bad = c < bad ? c : bad;
        }
        if (read != place) {
            memcpy(place, read + (size_t)(from - c * chunk) * d->size,
                   (size_t)(until - from) * d->size);
        }
    }
    cmgi_free(ctx, ends[0]);
    CMGI_IN_DATA(d->h5, d->name, bad == INT64_MAX,
                 "elements %lld .. %lld: the checksum is wrong, the file is damaged",
                 (long long)(bad * chunk),
                 (long long)((bad + 1) * chunk < d->count ? (bad + 1) * chunk : d->count) - 1);
    return CMG_OK;
}

/* *found: the elements can be read so. */
static cmg_status plan_direct(const cmgi_dataset *d, hid_t native, cmg_size first, cmg_size count,
                              direct *plan, bool *found)
{
    const cmg_size size = (cmg_size)d->size;
    *plan = (direct){.d = d, .first = first, .count = count};
    const cmgi_storage *s = &d->storage;
    *found = false;
    if (d->h5->fd < 0 || count == 0 || H5Tequal(d->type, native) <= 0 || !s->plain) {
        return CMG_OK;
    }
    if (s->layout == H5D_CONTIGUOUS) {
        const haddr_t address = H5Dget_offset(d->id);
        plan->start = (cmg_size)address + first * size;
        *found = address != HADDR_UNDEF && (cmg_size)address <= d->h5->size &&
                 d->count * size <= d->h5->size - (cmg_size)address;
        return CMG_OK;
    }
    const bool rows = d->rank == 1 || (cmg_size)s->chunk[1] == d->dims[1]; /* whole ones */
    const cmg_size chunk = s->layout == H5D_CHUNKED && rows ? s->chunk_count : 0;
    const cmg_size all = chunk > 0 ? (d->count - 1) / chunk + 1 : CHUNKS_MOST + 1;
    if (all > CHUNKS_MOST) { /* looking up a chunk costs time in proportion to their number */
        return CMG_OK;
    }
    plan->begin = first / chunk;
    const cmg_size chunks = (first + count - 1) / chunk + 1 - plan->begin;
    CMGI_TRY(cmgi_alloc(d->h5->ctx, chunks, sizeof *plan->address, &plan->address));
    *found = find_chunks(d, plan->begin, chunks, plan->address);
    return CMG_OK;
}

/* Of a plan for all elements of a chunked dataset, or any of a contiguous one. */
static bool fill_unit(void *user, size_t unit, void *to)
{
    const direct *plan = user;
    const cmgi_dataset *d = plan->d;
    if (plan->address != NULL) {
        return read_chunk(d, plan->address[unit], to);
    }
    const cmg_size at = (cmg_size)unit * BLOCK;
    const cmg_size rest = plan->count * (cmg_size)d->size - at;
    return cmgi_h5_read_at(d->h5, plan->start + at, (size_t)(rest < BLOCK ? rest : BLOCK), to);
}

static cmg_status told(cmgi_dataset *d, cmg_size count)
{
    cmgi_h5 *h5 = d->h5;
    h5->done += count * (cmg_size)d->size;
    return cmgi_progress(h5->ctx, "reading", h5->done, h5->size);
}

cmg_status cmgi_dataset_send(cmgi_dataset *d, hid_t native, void *there, bool *sent)
{
    cmg_context *ctx = d->h5->ctx;
    const size_t bytes = (size_t)d->count * d->size;
    direct plan = {0};
    CMGI_FREED(ctx, &plan.address);
    CMGI_TRY(plan_direct(d, native, 0, d->count, &plan, sent));
    if (*sent) {
        const size_t chunk =
            plan.address != NULL ? (size_t)d->storage.chunk_count * d->size : BLOCK;
        const cmgi_feed from = {fill_unit, &plan, chunk};
        CMGI_TRY(cmgi_feed_device(ctx, there, bytes, &from, sent));
    }
    return *sent ? told(d, d->count) : CMG_OK;
}

bool cmgi_h5_rows(hid_t set, hid_t type, cmg_size first, const cmgi_extent *rows, const void *from,
                  void *to)
{
    const hsize_t start[2] = {(hsize_t)first, 0};
    const hsize_t count[2] = {(hsize_t)rows->rows, (hsize_t)rows->row};
    const hid_t file = H5Dget_space(set);
    const hid_t memory = H5Screate_simple(rows->rank, count, NULL);
    const bool good = file >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      (to != NULL ? H5Dread(set, type, memory, file, H5P_DEFAULT, to)
                                  : H5Dwrite(set, type, memory, file, H5P_DEFAULT, from)) >= 0;
    cmgi_h5_release(memory);
    cmgi_h5_release(file);
    return good;
}

/* By the library, which reads whole rows of a table. */
static bool read_library(const cmgi_dataset *d, hid_t native, cmg_size first, cmg_size count,
                         void *to)
{
    const cmg_size row = d->dims[1] > 0 ? d->dims[1] : 1;
    const cmgi_extent rows = {d->rank, count / row, row};
    return count == d->count ? H5Dread(d->id, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0
                             : first % row == 0 && count % row == 0 &&
                                   cmgi_h5_rows(d->id, native, first / row, &rows, NULL, to);
}

static cmg_status read_as(cmgi_dataset *d, hid_t native, cmg_size first, cmg_size count, void *to)
{
    const cmgi_h5 *h5 = d->h5;
    direct plan = {0};
    bool read = false;
    CMGI_FREED(h5->ctx, &plan.address);
    CMGI_IN_DATA(h5, d->name, first >= 0 && count >= 0 && first <= d->count - count,
                 "elements %lld .. %lld are wanted, there are %lld", (long long)first,
                 (long long)(first + count) - 1, (long long)d->count);
    CMGI_TRY(plan_direct(d, native, first, count, &plan, &read));
    if (read && plan.address != NULL) {
        CMGI_TRY(read_chunks(&plan, to));
    } else if (read) {
        const size_t units = ((size_t)count * d->size + BLOCK - 1) / BLOCK;
        const cmgi_feed from = {fill_unit, &plan, BLOCK};
        read = cmgi_feed_units(h5->ctx, &from, 0, units, to);
    }
    CMGI_IN_DATA(h5, d->name, read || count == 0 || read_library(d, native, first, count, to),
                 "the data cannot be read: damaged, or packed with a filter that is not here");
    return told(d, count);
}

cmg_status cmgi_dataset_read_real(cmgi_dataset *d, cmg_size first, cmg_size count, double *to)
{
    CMGI_IN_DATA(d->h5, d->name, d->real, "integers where real numbers are needed");
    return read_as(d, H5T_NATIVE_DOUBLE, first, count, to);
}

cmg_status cmgi_dataset_read_size(cmgi_dataset *d, cmg_size first, cmg_size count, cmg_size *to)
{
    CMGI_IN_DATA(d->h5, d->name, !d->real, "real numbers where integers are needed");
    return read_as(d, H5T_NATIVE_INT64, first, count, to);
}

cmg_status cmgi_dataset_read_index(cmgi_dataset *d, cmg_index least, cmg_index *to)
{
    CMGI_IN_DATA(d->h5, d->name, !d->real, "real numbers where integers are needed");
    if (d->size < 4 || (d->size == 4 && H5Tget_sign(d->type) == H5T_SGN_2)) {
        return read_as(d, H5T_NATIVE_INT32, 0, d->count, to);
    }
    /* wider integers would be clipped in silence */
    CMGI_SCOPED(d->h5->ctx, d->count, cmg_size, wide);
    CMGI_TRY(read_as(d, H5T_NATIVE_INT64, 0, d->count, wide));
    cmg_size bad = d->count;
#pragma omp parallel for num_threads(d->h5->ctx->threads) schedule(static)                         \
    reduction(min                                                                                  \
              : bad) if (d->count > BLOCK)
    for (cmg_size k = 0; k < d->count; ++k) {
        const bool fits = wide[k] >= least && wide[k] <= INT32_MAX;
        to[k] = fits ? (cmg_index)wide[k] : 0;
        bad = !fits && k < bad ? k : bad;
    }
    CMGI_IN_DATA(d->h5, d->name, bad == d->count, "element %lld: column %lld is out of range",
                 (long long)bad, (long long)wide[bad]);
    return CMG_OK;
}

cmg_status cmgi_h5_read_array(cmgi_h5 *h5, const char *name, bool real, cmg_size count,
                              cmgi_dataset *d, void *array)
{
    cmgi_scoped_by(cmgi_dataset_close) cmgi_dataset open = {0};
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_dataset_open(h5, name, &open));
    *d = open;
    CMGI_IN_DATA(h5, name, count < 0 || d->count == count, "%lld values, not %lld",
                 (long long)d->count, (long long)count);
    CMGI_TRY(cmgi_alloc(h5->ctx, d->count, real ? sizeof(double) : sizeof(cmg_index), array));
    return real ? cmgi_dataset_read_real(&open, 0, d->count, *(void **)array)
                : cmgi_dataset_read_index(&open, -1, *(void **)array);
}
