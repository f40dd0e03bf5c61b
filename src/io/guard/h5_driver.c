/*
 * File drivers of the HDF5 library. Both note the first fault of the system in the session, where
 * it is asked for at the end.
 *
 * The reader reads only inside the file. The library's own driver lets it gather metadata in a
 * buffer whose bounds overflow when a damaged file names an address near 2^64 (HDF5 1.10,
 * H5F__accum_read). A driver that does not offer that buffer is asked for every piece, and refuses
 * what is not there. An error of the device looks to the library like an object that is missing,
 * and it forgets to free what it had begun: it gets zeros, and its word is not taken for anything.
 *
 * The writer tells the library that everything went well: where a write or a close fails inside it,
 * versions of the 1.10 series keep the file half open and crash at the end of the program. What
 * could not be written reads as zeros from then on.
 */
#define _DEFAULT_SOURCE
#include "io/h5.h"
#include "io/source.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GUESS = 1 << 16 }; /* bytes that the library may ask for past the end */

/* What the access list of a file carries for its driver. */
typedef struct access_info {
    bool writes;
    cmgi_h5_faults *faults;
} access_info;

/* The library's part first; allocated for the library and freed when it closes the file. */
typedef struct opened {
    H5FD_t base;
    int fd;
    haddr_t end_of_file;
    haddr_t end_of_addresses; /* what the library has laid out */
    bool writes;
    cmgi_h5_faults *faults;
} opened;

/* Notes a fault of the system, unless one is noted already; 0 = of unknown kind. Any thread. */
static void note(cmgi_h5_faults *faults, int error)
{
    int none = 0;
    /* several threads may meet the same bad place; any of their reasons will do */
    (void)atomic_compare_exchange_strong(&faults->error, &none, error != 0 ? error : EIO);
}

bool cmgi_h5_read_at(const cmgi_h5 *h5, cmg_size offset, size_t bytes, void *to)
{
    errno = 0;
    const bool good = cmgi_read_at(h5->fd, offset, bytes, to);
    if (!good) {
        note(h5->faults, errno);
    }
    return good;
}

/* What is written has been made, with its rights, and is empty. */
static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const access_info *info = H5Pget_driver_info(access);
    struct stat facts;
    (void)most;
    if (info == NULL || (!info->writes && (flags & H5F_ACC_RDWR) != 0)) {
        return NULL;
    }
    errno = 0;
    const int fd = open(name, (info->writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    opened *file = fd >= 0 && fstat(fd, &facts) == 0 ? calloc(1, sizeof *file) : NULL;
    if (file == NULL) {
        note(info->faults, errno);
        if (fd >= 0) {
            (void)close(fd);
        }
        return NULL;
    }
    file->fd = fd;
    file->end_of_file = (haddr_t)facts.st_size;
    file->writes = info->writes;
    file->faults = info->faults;
    return &file->base;
}

/* What was read is there whatever close says. */
static herr_t close_file(H5FD_t *file)
{
    opened *f = (opened *)file;
    errno = 0;
    if (close(f->fd) != 0 && f->writes) {
        note(f->faults, errno);
    }
    free(f);
    return 0;
}

static herr_t query_reader(const H5FD_t *file, unsigned long *features)
{
    (void)file;
    *features = 0;
    return 0;
}

static herr_t query_writer(const H5FD_t *file, unsigned long *features)
{
    (void)file;
    *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t get_end_of_addresses(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const opened *)file)->end_of_addresses;
}

static herr_t set_end_of_addresses(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((opened *)file)->end_of_addresses = address;
    return 0;
}

static haddr_t get_end_of_file(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const opened *)file)->end_of_file;
}

static herr_t get_descriptor(H5FD_t *file, hid_t access, void **handle)
{
    (void)access;
    *handle = &((opened *)file)->fd;
    return 0;
}

/*
 * Pieces may reach over the end, as guesses of the library do: zeros follow the file. So they do
 * where the library has not yet written what it wants to see again.
 */
static herr_t read_piece(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                         size_t size, void *to)
{
    const opened *f = (const opened *)file;
    (void)type;
    (void)transfer;
    const haddr_t rest = address <= f->end_of_file ? f->end_of_file - address : 0;
    const size_t there = size < rest ? size : (size_t)rest;
    if (!f->writes && (address > f->end_of_file || size - there > GUESS)) {
        return -1;
    }
    memset((char *)to + there, 0, size - there);
    errno = 0;
    if (!cmgi_read_at(f->fd, (cmg_size)address, there, to)) {
        note(f->faults, errno); /* whatever is made of zeros counts for nothing */
        memset(to, 0, there);
    }
    return 0;
}

static herr_t write_piece(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t size, const void *from)
{
    opened *w = (opened *)file;
    const char *p = from;
    size_t done = 0;
    (void)type;
    (void)transfer;
    if (!w->writes) {
        return -1;
    }
    while (done < size && atomic_load(&w->faults->error) == 0) {
        errno = 0;
        const ssize_t put = pwrite(w->fd, p + done, size - done, (off_t)(address + done));
        if (put > 0) {
            done += (size_t)put;
        } else if (errno != EINTR) {
            note(w->faults, errno);
        }
    }
    w->end_of_file = address + done > w->end_of_file ? address + done : w->end_of_file;
    return 0;
}

static herr_t truncate_file(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    opened *w = (opened *)file;
    (void)transfer;
    (void)closing;
    if (w->end_of_file != w->end_of_addresses && atomic_load(&w->faults->error) == 0) {
        errno = 0;
        if (ftruncate(w->fd, (off_t)w->end_of_addresses) != 0) {
            note(w->faults, errno);
        }
    }
    w->end_of_file = w->end_of_addresses;
    return 0;
}

#ifdef H5FD_CLASS_VERSION /* numbers in the range for drivers that are not registered */
#define DRIVER(NUMBER, NAME)                                                                       \
    .version = H5FD_CLASS_VERSION, .value = (H5FD_class_value_t)(NUMBER), .name = (NAME)
#else
#define DRIVER(NUMBER, NAME) .name = (NAME)
#endif

/* All that both have; only what is written is truncated. */
#define BOTH                                                                                       \
    .maxaddr = (haddr_t)INT64_MAX, .fc_degree = H5F_CLOSE_STRONG,                                  \
    .fapl_size = sizeof(access_info), .open = open_file, .close = close_file,                      \
    .get_eoa = get_end_of_addresses, .set_eoa = set_end_of_addresses, .get_eof = get_end_of_file,  \
    .get_handle = get_descriptor, .read = read_piece, .write = write_piece,                        \
    .fl_map = H5FD_FLMAP_DICHOTOMY

static const H5FD_class_t reader = {DRIVER(513, "cmg-reader"), BOTH, .query = query_reader};
static const H5FD_class_t writer = {DRIVER(514, "cmg-writer"), BOTH, .query = query_writer,
                                    .truncate = truncate_file};

hid_t cmgi_h5_register_driver(bool writes)
{
    return H5FDregister(writes ? &writer : &reader);
}

bool cmgi_h5_set_driver(hid_t access, hid_t driver, bool writes, cmgi_h5_faults *faults)
{
    const access_info info = {writes, faults};
    return H5Pset_driver(access, driver, &info) >= 0;
}
