/*
 * A file driver of the HDF5 library that only reads, and only inside the file.
 *
 * The library's own driver lets it gather metadata in a buffer whose bounds overflow when a damaged
 * file names an address near 2^64 (HDF5 1.10, H5F__accum_read). A driver that does not offer that
 * buffer is asked for every piece, and refuses what is not there.
 */
#define _DEFAULT_SOURCE
#include "io/h5.h"
#include "io/source.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GUESS = 1 << 16 }; /* bytes that the library may ask for past the end */

/* The library's part first; allocated for the library and freed when it closes the file. */
typedef struct reader {
    H5FD_t base;
    int fd;
    haddr_t end_of_file;
    haddr_t end_of_addresses; /* what the library has laid out */
} reader;

static H5FD_t *open_reader(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    struct stat facts;
    (void)access;
    (void)most;
    const int fd = (flags & H5F_ACC_RDWR) == 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    reader *r = fd >= 0 && fstat(fd, &facts) == 0 ? calloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return NULL;
    }
    r->fd = fd;
    r->end_of_file = (haddr_t)facts.st_size;
    return &r->base;
}

static herr_t close_reader(H5FD_t *file)
{
    reader *r = (reader *)file;
    const int status = close(r->fd);
    free(r);
    return status;
}

static herr_t query_reader(const H5FD_t *file, unsigned long *features)
{
    (void)file;
    *features = 0;
    return 0;
}

static haddr_t get_end_of_addresses(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)file)->end_of_addresses;
}

static herr_t set_end_of_addresses(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((reader *)file)->end_of_addresses = address;
    return 0;
}

static haddr_t get_end_of_file(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)file)->end_of_file;
}

static herr_t get_descriptor(H5FD_t *file, hid_t access, void **handle)
{
    (void)access;
    *handle = &((reader *)file)->fd;
    return 0;
}

/* Pieces may reach over the end, as guesses of the library do: zeros follow the file. */
static herr_t read_piece(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                         size_t size, void *to)
{
    const reader *r = (const reader *)file;
    (void)type;
    (void)transfer;
    const haddr_t rest = address <= r->end_of_file ? r->end_of_file - address : 0;
    const size_t there = size < rest ? size : (size_t)rest;
    if (address > r->end_of_file || size - there > GUESS) {
        return -1;
    }
    memset((char *)to + there, 0, size - there);
    return cmgi_read_at(r->fd, (cmg_size)address, there, to) ? 0 : -1;
}

static herr_t refuse_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                           size_t size, const void *from)
{
    (void)file;
    (void)type;
    (void)transfer;
    (void)address;
    (void)size;
    (void)from;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)513, /* in the range for drivers that are not registered */
#endif
    .name = "cmg-reader",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = open_reader,
    .close = close_reader,
    .query = query_reader,
    .get_eoa = get_end_of_addresses,
    .set_eoa = set_end_of_addresses,
    .get_eof = get_end_of_file,
    .get_handle = get_descriptor,
    .read = read_piece,
    .write = refuse_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t cmgi_h5_register_reader(void)
{
    return H5FDregister(&driver);
}
