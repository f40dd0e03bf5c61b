/* Attributes as they lie in an object header of an HDF5 file, found without the library. */
#pragma once
#include "io/h5.h"

typedef enum cmgi_raw_class {
    CMGI_RAW_OTHER, /* nothing that is read here */
    CMGI_RAW_INTEGER,
    CMGI_RAW_REAL,
    CMGI_RAW_TEXT,     /* of fixed length */
    CMGI_RAW_LONG_TEXT /* of variable length: kept in the global heap */
} cmgi_raw_class;

/* One attribute; the pointers lie in h5->buffer and hold until the next search. */
typedef struct cmgi_raw_attribute {
    const char *name; /* ends with NUL */
    cmgi_raw_class class;
    uint64_t count; /* elements */
    size_t size;    /* bytes of an element */
    bool big_endian;
    bool is_signed;
    const unsigned char *value; /* count * size bytes */
} cmgi_raw_attribute;

/*
 * The attribute of that name, or, when name is NULL, the i-th one. False when it is not there.
 * *dense says that the object keeps attributes elsewhere, where the library alone finds them.
 */
bool cmgi_h5_find_raw(const cmgi_h5 *h5, hid_t object, const char *name, int i,
                      cmgi_raw_attribute *a, bool *dense);
/* The text of a CMGI_RAW_LONG_TEXT attribute; false when it does not fit or the file is damaged. */
bool cmgi_h5_long_text(const cmgi_h5 *h5, const cmgi_raw_attribute *a, char *text, size_t room);
