/*
 * Seam of the fuzz target of containers: every checksum is right, so that flipped bits reach what
 * stands behind it. The two functions of HDF5 are called through its table of symbols, where those
 * of the program come first; ours are wrapped by the linker.
 */
#include "io/h5.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int H5F_get_checksums(const uint8_t *buffer, size_t size, uint32_t *stored, uint32_t *computed);
uint32_t H5_checksum_fletcher32(const void *data, size_t size);
bool __real_cmgi_h5_read_at(const cmgi_h5 *h5, cmg_size at, size_t bytes, void *to);
bool __wrap_cmgi_h5_read_at(const cmgi_h5 *h5, cmg_size at, size_t bytes, void *to);
uint32_t __wrap_cmgi_fletcher32(const void *data, size_t bytes);

static uint32_t last; /* the four bytes that were read last: the checksum that is stored */

int H5F_get_checksums(const uint8_t *buffer, size_t size, uint32_t *stored, uint32_t *computed)
{
    (void)buffer;
    (void)size;
    if (stored != NULL) {
        *stored = 0;
    }
    if (computed != NULL) {
        *computed = 0;
    }
    return 0;
}

/* What is stored stands behind the data. */
uint32_t H5_checksum_fletcher32(const void *data, size_t size)
{
    uint32_t sum = 0;
    memcpy(&sum, (const char *)data + size, sizeof sum);
    return sum;
}

bool __wrap_cmgi_h5_read_at(const cmgi_h5 *h5, cmg_size at, size_t bytes, void *to)
{
    const bool read = __real_cmgi_h5_read_at(h5, at, bytes, to);
    if (read && bytes == sizeof last) {
        memcpy(&last, to, sizeof last);
    }
    return read;
}

uint32_t __wrap_cmgi_fletcher32(const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return last;
}
