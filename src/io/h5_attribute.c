/*
 * Attributes of HDF5 objects as text and numbers. They are looked up in the object's header by
 * h5_header.c; only where the object keeps them in dense storage, whose structures carry checksums,
 * the library reads them, texts of variable length excepted.
 */
#include "io/guard/h5_header.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

static uint64_t load(const cmgi_raw_attribute *a, uint64_t k)
{
    const unsigned char *p = a->value + k * a->size;
    uint64_t v = 0;
    for (size_t b = 0; b < a->size; ++b) {
        v = v << 8 | p[a->big_endian ? b : a->size - 1 - b];
    }
    return v;
}

static int64_t load_integer(const cmgi_raw_attribute *a, uint64_t k)
{
    const uint64_t v = load(a, k);
    const unsigned unused = 64 - 8 * (unsigned)a->size;
    return a->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

/* The bits of a number in IEEE's format of 4 or 8 bytes. */
static double real(uint64_t bits, int bytes)
{
    const uint32_t half = (uint32_t)bits;
    double wide = 0;
    float narrow = 0;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return bytes == 8 ? wide : (double)narrow;
}

/* A text of fixed length, padded with NUL or blanks. */
static bool copy_text(const unsigned char *value, size_t size, char *text, size_t room)
{
    const unsigned char *end = memchr(value, '\0', size);
    size_t n = end != NULL ? (size_t)(end - value) : size;
    while (end == NULL && n > 0 && value[n - 1] == ' ') {
        --n;
    }
    if (n >= room) {
        return false;
    }
    memcpy(text, value, n);
    text[n] = '\0';
    return true;
}

/* An attribute that the library finds, in numbers of this machine; a text is shorter than room. */
static bool read_dense(const cmgi_h5 *h5, hid_t object, const char *name, size_t room,
                       cmgi_raw_attribute *a)
{
    const uint16_t probe = 1;
    const htri_t there = H5Aexists(object, name);
    const hid_t id = there > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    const hid_t type = id >= 0 ? H5Aget_type(id) : -1;
    const hid_t space = id >= 0 ? H5Aget_space(id) : -1;
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    const hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    hid_t as = -1;
    *a = (cmgi_raw_attribute){.size = 8,
                              .count = count > 0 ? (uint64_t)count : 0,
                              .is_signed = true,
                              .big_endian = *(const unsigned char *)&probe == 0,
                              .value = h5->buffer};
    if (class == H5T_INTEGER || class == H5T_FLOAT) {
        a->class = class == H5T_FLOAT ? CMGI_RAW_REAL : CMGI_RAW_INTEGER;
        as = class == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_LLONG;
    } else if (class == H5T_STRING && H5Tis_variable_str(type) == 0 && H5Tget_size(type) < room) {
        a->class = CMGI_RAW_TEXT;
        a->size = H5Tget_size(type);
        as = type;
    }
    const bool good = as >= 0 && a->count > 0 && a->count <= CMGI_H5_BUFFER / a->size &&
                      H5Aread(id, as, h5->buffer) >= 0;
    h5->faults->unknown = h5->faults->unknown || (there != 0 && (type < 0 || space < 0));
    cmgi_h5_release(space);
    cmgi_h5_release(type);
    cmgi_h5_release(id);
    return good;
}

/* Wherever it is. */
static bool find(const cmgi_h5 *h5, hid_t object, const char *name, size_t room,
                 cmgi_raw_attribute *a)
{
    bool elsewhere = false;
    return cmgi_h5_find_raw(h5, object, name, 0, a, &elsewhere) ||
           (elsewhere && read_dense(h5, object, name, room, a));
}

bool cmgi_h5_attribute_text(const cmgi_h5 *h5, hid_t object, const char *name, char *text,
                            size_t room)
{
    cmgi_raw_attribute a;
    char number[CMGI_NUMBER_LENGTH]; /* whatever the locale of the program */
    if (!find(h5, object, name, room, &a) || a.count != 1) {
        return false;
    }
    switch (a.class) {
    case CMGI_RAW_INTEGER:
        return snprintf(text, room, "%lld", (long long)load_integer(&a, 0)) < (int)room;
    case CMGI_RAW_REAL:
        (void)cmgi_format_double(number, real(load(&a, 0), (int)a.size));
        return snprintf(text, room, "%s", number) < (int)room;
    case CMGI_RAW_TEXT:
        return copy_text(a.value, a.size, text, room);
    case CMGI_RAW_LONG_TEXT:
        return cmgi_h5_long_text(h5, &a, text, room);
    default:
        return false;
    }
}

bool cmgi_h5_attribute_ints(const cmgi_h5 *h5, hid_t object, const char *name, int count,
                            int64_t *values)
{
    cmgi_raw_attribute a;
    const bool fits =
        find(h5, object, name, 0, &a) && a.class == CMGI_RAW_INTEGER && a.count == (uint64_t)count;
    for (int k = 0; fits && k < count; ++k) {
        values[k] = load_integer(&a, (uint64_t)k);
    }
    return fits;
}

bool cmgi_h5_attribute_name(const cmgi_h5 *h5, hid_t object, int i, char *name, size_t room)
{
    cmgi_raw_attribute a;
    bool elsewhere = false;
    if (cmgi_h5_find_raw(h5, object, NULL, i, &a, &elsewhere)) {
        (void)snprintf(name, room, "%s", a.name);
        return true;
    }
    if (!elsewhere || i >= cmgi_h5_attributes(h5, object)) {
        return false; /* known from their number: the library fails behind the last, too */
    }
    const bool good = H5Aget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, name,
                                         room, H5P_DEFAULT) > 0;
    h5->faults->unknown = h5->faults->unknown || !good;
    return good;
}

bool cmgi_h5_attributes_are_dense(const cmgi_h5 *h5, hid_t object)
{
    cmgi_raw_attribute a;
    bool elsewhere = false;
    (void)cmgi_h5_find_raw(h5, object, "", 0, &a, &elsewhere);
    return elsewhere;
}
