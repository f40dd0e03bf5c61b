/* The part of HDF5 that writing the container needs. */
#pragma once
#include "io/container.h"
#include "io/h5.h"

/* Where data go, until something fails; what comes after that is left out. */
typedef struct cmgi_h5_writer {
    cmg_context *ctx;
    cmgi_h5 *h5;               /* NULL = another has the file: rows go to it, and nothing else */
    const cmgi_others *others; /* NULL = all rows are here */
    cmg_status status;         /* of the first failure */
} cmgi_h5_writer;

/* What values are. Names of types call the library, which is for the one alone who has the file. */
typedef enum cmgi_h5_kind { CMGI_H5_REAL, CMGI_H5_INDEX, CMGI_H5_SIZE } cmgi_h5_kind;

/* How many of something the ones before have, and all, where `mine` are here. */
void cmgi_h5_count(cmgi_h5_writer *w, cmg_size mine, cmg_size *before, cmg_size *all);
/* Attributes of an object that is open: `count` values of a type, 0 = one without an extent; a
 * text; false on failure. */
bool cmgi_h5_put_attribute(hid_t object, const char *key, hid_t type, int count, const void *value);
bool cmgi_h5_put_text(hid_t object, const char *key, const char *value);
/* CMG_ERR_IO unless that was good: it could not be written. */
void cmgi_h5_put_check(cmgi_h5_writer *w, bool good, const char *name);
/* A new group of that name, as printf forms it; a matrix's has its encoding and its shape. */
void cmgi_h5_put_group(cmgi_h5_writer *w, const cmg_size *shape, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A dataset of the rows that are here and, in their order, those of the others. */
void cmgi_h5_put(cmgi_h5_writer *w, cmgi_h5_kind kind, cmgi_extent mine, const void *data,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
