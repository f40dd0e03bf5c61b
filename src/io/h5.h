/* The part of HDF5 that the container needs: a session, attributes, and datasets read with checks.
 */
#pragma once
#include "io/io.h"

/* One interface for the library's versions from 1.10 on. */
#define H5_USE_110_API
#include <hdf5.h>
#include <stdatomic.h>

enum { CMGI_H5_BUFFER = 1 << 18 };

/* What went wrong in a session while the library was told otherwise. */
typedef struct cmgi_h5_faults {
    atomic_int error; /* of the first system call that failed, 0 = none */
    bool unknown;     /* the library could not tell whether an object is there */
} cmgi_h5_faults;

/*
 * One file being read or written. The HDF5 library is not safe for several threads as most systems
 * build it, so a session holds a lock that all contexts of the process share.
 */
typedef struct cmgi_h5 {
    cmg_context *ctx;
    const char *path; /* borrowed */
    hid_t file;
    hid_t group_access; /* property lists that refuse links into other files */
    hid_t data_access;
    hid_t driver;
    cmgi_h5_faults fault;
    cmgi_h5_faults *faults; /* &fault, also where the session itself is const */
    cmg_size size;          /* bytes of the file */
    cmg_size done;          /* bytes of data read or written so far */
    int fd; /* for direct reads, -1 when the file is not a plain one of 64-bit addresses */
    unsigned char *buffer; /* CMGI_H5_BUFFER bytes for object headers */
    H5E_auto2_t error_print;
    void *error_user;
    unsigned plugins; /* whether the library may load filters, as it was */
} cmgi_h5;

/* Closes an object of the library that is no file; nothing where it could not be made. */
static inline void cmgi_h5_release(hid_t id)
{
    if (id >= 0) {
        (void)H5Idec_ref(id);
    }
}

/* A driver, to be unregistered after the file is closed, and an access list's use of it. */
hid_t cmgi_h5_register_driver(bool writes);
bool cmgi_h5_set_driver(hid_t access, hid_t driver, bool writes, cmgi_h5_faults *faults);
/* Bytes of the file besides the library; false, and noted, when they cannot be read. */
bool cmgi_h5_read_at(const cmgi_h5 *h5, cmg_size offset, size_t bytes, void *to);

cmg_status cmgi_h5_open(cmg_context *ctx, const char *path, cmgi_h5 *h5);
/* In a file that is there and empty. */
cmg_status cmgi_h5_create(cmg_context *ctx, const char *path, cmgi_h5 *h5);
/* False when closing failed, which for a written file means that data are lost. */
bool cmgi_h5_close(cmgi_h5 *h5);

/*
 * The status of what was done with the file: CMG_ERR_IO or CMG_ERR_MEMORY where the system failed,
 * whatever was made of that; CMG_ERR_FILE where an object's existence could not be told; else
 * `status`.
 */
cmg_status cmgi_h5_verdict(const cmgi_h5 *h5, cmg_status status);

/*
 * True when the object (full name, e.g. "/levels/0/R") is there, and so are all groups above it.
 * Where that cannot be told it is false, and noted for cmgi_h5_verdict.
 */
bool cmgi_h5_exists(const cmgi_h5 *h5, const char *name);
/* Name of the i-th link of a group, "" past the last; longer names are CMG_ERR_FILE. */
cmg_status cmgi_h5_name(const cmgi_h5 *h5, const char *group, cmg_size i, char *name, size_t room);

/* ------------------------------------------------------------------ attributes */

/* The attribute as text (strings, integers, reals); false when it is missing or none of these. */
bool cmgi_h5_attribute_text(const cmgi_h5 *h5, hid_t object, const char *name, char *text,
                            size_t room);
/* `count` integers; false when it is anything else. */
bool cmgi_h5_attribute_ints(const cmgi_h5 *h5, hid_t object, const char *name, int count,
                            int64_t *values);
/* Name of the i-th attribute, false past the last. */
bool cmgi_h5_attribute_name(const cmgi_h5 *h5, hid_t object, int i, char *name, size_t room);
/* Kept where texts of variable length are not read: more than eight in the latest layout. */
bool cmgi_h5_attributes_are_dense(const cmgi_h5 *h5, hid_t object);

/* ------------------------------------------------------------------ datasets */

enum { CMGI_H5_NAME = 512 };

/* What the creation property list says about the storage. */
typedef struct cmgi_storage {
    bool elsewhere; /* raw data in other files */
    bool packed;    /* a filter may shrink the data */
    bool plain;     /* no filter at all, or Fletcher-32 alone */
    bool checksum;  /* Fletcher-32 is on */
    H5D_layout_t layout;
    hsize_t chunk[2];
    cmg_size chunk_count; /* elements of a chunk, 0 when not chunked */
} cmgi_storage;

typedef struct cmgi_dataset {
    cmgi_h5 *h5;
    char name[CMGI_H5_NAME]; /* full name */
    hid_t id;
    hid_t type;
    int rank;         /* 1 or 2 */
    cmg_size dims[2]; /* dims[1] = 1 when rank is 1 */
    cmg_size count;   /* elements */
    size_t size;      /* bytes of an element in the file */
    bool real;        /* floating point, otherwise integer */
    cmgi_storage storage;
} cmgi_dataset;

/* A dataset of `rows` rows of `row` values; in one dimension (rank 1) row is 1. */
typedef struct cmgi_extent {
    int rank;
    cmg_size rows;
    cmg_size row;
} cmgi_extent;

/* Writes rows of a dataset that is open, from number `first` on, or reads them, where `to` is not
 * NULL. */
bool cmgi_h5_rows(hid_t set, hid_t type, cmg_size first, const cmgi_extent *rows, const void *from,
                  void *to);
/*
 * Looks at the headers of an object and the groups above it as they lie in the file, before the
 * library does: their parts lie in the file, and those of a dataset (`dataset`) say what this
 * library understands. CMG_ERR_FILE else; CMG_OK also where there is no such object.
 */
cmg_status cmgi_h5_inspect(const cmgi_h5 *h5, const char *name, bool dataset);

/* Opens a dataset; its size has been checked against the storage that the file holds for it. */
cmg_status cmgi_dataset_open(cmgi_h5 *h5, const char *name, cmgi_dataset *d);
void cmgi_dataset_close(cmgi_dataset *d);
/* Elements first .. first + count - 1 in the order of the rows, as doubles or 64-bit integers; of a
 * table, whole rows. */
cmg_status cmgi_dataset_read_real(cmgi_dataset *d, cmg_size first, cmg_size count, double *to);
cmg_status cmgi_dataset_read_size(cmgi_dataset *d, cmg_size first, cmg_size count, cmg_size *to);
/* All elements as 32-bit integers. Of wider ones those below `least`, or that do not fit, are
 * CMG_ERR_FILE. */
cmg_status cmgi_dataset_read_index(cmgi_dataset *d, cmg_index least, cmg_index *to);
/*
 * A dataset as a new array of doubles (`real`) or 32-bit integers, which may be -1; of `count`
 * elements, -1 = any; for the caller to free, also where it fails. It stays NULL where the file has
 * no such dataset; of *d its shape is of use afterwards.
 */
cmg_status cmgi_h5_read_array(cmgi_h5 *h5, const char *name, bool real, cmg_size count,
                              cmgi_dataset *d, void *array);

/*
 * All elements to an array on the device, as they are stored. *sent = false where that is not the
 * native type, they are not in plain chunks, one of which has the wrong checksum, or there is no
 * device.
 */
cmg_status cmgi_dataset_send(cmgi_dataset *d, hid_t native, void *there, bool *sent);
/* ------------------------------------------------------------------ parts of the container */

/* The group of a kind of vectors, or of the smoothers, of a level: of vectors of level 0 a root's.
 */
void cmgi_members_group(char group[64], int level, const char *kind);
/* The elements of a level, if the file has them. */
cmg_status cmgi_container_read_elements(cmgi_h5 *h5, int level, cmg_hierarchy *h);
/* The mesh of level 0, if the file has one. */
cmg_status cmgi_container_read_mesh(cmgi_h5 *h5, cmg_hierarchy *h);

/* The datasets of a CSR group, and its name with that of the file. */
typedef struct cmgi_csr_group {
    cmgi_h5 *h5;
    char place[CMGI_PATH_LENGTH];
    cmgi_dataset d[3]; /* indptr, indices, data */
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;
} cmgi_csr_group;

/* Opens a group, held against what is expected; `whole`: its sizes fit into 32 bits. It is to be
 * closed where that fails, too. */
cmg_status cmgi_csr_group_open(cmgi_h5 *h5, const char *name, const cmgi_expect *expect, bool whole,
                               cmgi_csr_group *g);
void cmgi_csr_group_close(cmgi_csr_group *g);
/*
 * What these make is for the caller to free, also where they fail. All rows: to the device, where
 * they are `wanted` there and worth it, checked, with nothing of them on the host; else to the
 * host, where only the sizes are checked.
 */
cmg_status cmgi_csr_group_read(cmgi_csr_group *g, bool wanted, cmgi_csr *A);
/* A range of the rows, on the host; the offsets of its ends are checked. */
cmg_status cmgi_csr_group_read_rows(cmgi_csr_group *g, const cmgi_range *range, cmgi_own_rows *A);
