/* The part of HDF5 that writing the container needs. */
#pragma once
#include "io/container.h"
#include "io/h5.h"

/* Where data go. */
typedef struct cmgi_h5_writer {
    cmg_context *ctx;
    cmgi_h5 *h5;               /* NULL = another has the file: rows go to it, and nothing else */
    const cmgi_others *others; /* NULL = all rows are here */
} cmgi_h5_writer;

/* What values are. Names of types call the library, which is for the one alone who has the file. */
typedef enum cmgi_h5_kind { CMGI_H5_REAL, CMGI_H5_INDEX, CMGI_H5_SIZE } cmgi_h5_kind;

/* A dataset of `rows` rows of `row` values; in one dimension (rank 1) row is 1. */
typedef struct cmgi_extent {
    int rank;
    cmg_size rows;
    cmg_size row;
} cmgi_extent;

/* CMG_ERR_IO: it could not be written. */
cmg_status cmgi_h5_fail_write(const cmgi_h5 *h5, const char *name);
/* `count` values of a type, 0 = one without an extent; a text; false on failure. */
bool cmgi_h5_put_attribute(hid_t object, const char *key, hid_t type, int count, const void *value);
bool cmgi_h5_put_text(hid_t object, const char *key, const char *value);
/* A new group, to be released. */
cmg_status cmgi_h5_open_group(const cmgi_h5 *h5, const char *name, hid_t *group);
cmg_status cmgi_h5_put_group(const cmgi_h5_writer *w, const char *name);
/* A dataset of the rows that are here and, in their order, those of the others. */
cmg_status cmgi_h5_put_table(const cmgi_h5_writer *w, const char *name, cmgi_h5_kind kind,
                             const cmgi_extent *mine, const void *data);
/* One of n values in a group. */
cmg_status cmgi_h5_put_member(const cmgi_h5_writer *w, const char *group, const char *member,
                              cmgi_h5_kind kind, cmg_size n, const void *data);
