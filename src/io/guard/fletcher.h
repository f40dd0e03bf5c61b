/* The checksum of HDF5's Fletcher-32 filter. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Equal to H5_checksum_fletcher32 of the HDF5 library for every length. */
uint32_t cmgi_fletcher32(const void *data, size_t bytes);
