/* Object headers of an HDF5 file as they lie in it, read without the library. */
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

/* A message of an object header; `data` lies in h5->buffer. */
typedef struct cmgi_h5_message {
    unsigned type;
    bool shared; /* `data` says where the message is */
    const unsigned char *data;
    size_t size;
} cmgi_h5_message;

/* What to do with a message; false ends the scan. */
typedef bool (*cmgi_h5_visit)(void *user, const cmgi_h5_message *m);

/*
 * Visits the messages of the header at `address` but continuations, which it follows. False when
 * the visitor has ended it, or a part lies outside the file, is longer than h5->buffer, or has
 * messages that do not fit into it.
 */
bool cmgi_h5_scan(const cmgi_h5 *h5, uint64_t address, cmgi_h5_visit visit, void *user);
/* Class, size and byte order from a datatype message. */
void cmgi_h5_parse_type(const unsigned char *p, size_t size, cmgi_raw_attribute *a);

/* Number of an object's attributes; 0, and noted, where it cannot be told. */
int cmgi_h5_attributes(const cmgi_h5 *h5, hid_t object);

/*
 * The attribute of that name, or, when name is NULL, the i-th one. False when it is not there.
 * *dense says that the object keeps attributes elsewhere, where the library alone finds them.
 */
bool cmgi_h5_find_raw(const cmgi_h5 *h5, hid_t object, const char *name, int i,
                      cmgi_raw_attribute *a, bool *dense);
/* The text of a CMGI_RAW_LONG_TEXT attribute; false when it does not fit or the file is damaged. */
bool cmgi_h5_long_text(const cmgi_h5 *h5, const cmgi_raw_attribute *a, char *text, size_t room);
