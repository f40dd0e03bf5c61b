/*
 * Object headers and the global heap, read with every step inside bounds.
 *
 * The HDF5 library trusts what these structures say: versions of the 1.10 series read and write
 * past their buffers when a damaged file contradicts itself (strings of variable length in
 * H5HG_read, types and spaces of attributes). Everything that a container says about itself is an
 * attribute, and Python writes texts with variable length, so they are looked up here:
 *
 *   object header -> attribute message -> value, or (length, heap address, index) -> heap object
 *
 * Source: HDF5 File Format Specification 3.0, sections III.E (global heap), IV.A.1 (headers),
 * IV.A.2.b (dataspace), d (datatype), m (attribute), q (continuation), v (attribute info).
 */
#include "io/guard/h5_header.h"

#include <string.h>

enum { BLOCKS_MOST = 32, HEAP_MOST = 1 << 20 };
enum { MESSAGE_ATTRIBUTE = 0x0c, MESSAGE_CONTINUATION = 0x10, MESSAGE_ATTRIBUTE_INFO = 0x15 };

/* A part of an object header that is still to be looked at. */
typedef struct block {
    uint64_t address;
    uint64_t length;
} block;

/* An object header under way. */
typedef struct header {
    const cmgi_h5 *h5;
    block todo[BLOCKS_MOST];
    int blocks;
    int version;  /* of the object header */
    bool ordered; /* messages carry a creation order */
    cmgi_h5_visit visit;
    void *user;
} header;

typedef struct search {
    const char *name; /* wanted, or NULL */
    int left;         /* attributes to pass before the wanted one */
    bool found;
    bool dense;
    cmgi_raw_attribute attribute;
} search;

static bool read_bytes(const cmgi_h5 *h5, uint64_t address, uint64_t bytes, void *to)
{
    return address <= (uint64_t)h5->size && bytes <= (uint64_t)h5->size - address &&
           cmgi_h5_read_at(h5, (cmg_size)address, (size_t)bytes, to);
}

/* The fields of IEEE numbers of four or eight bytes, the only real ones that are read. */
static bool is_ieee(const unsigned char *p, size_t size)
{
    static const unsigned char single[] = {23, 8, 0, 23, 127, 0, 0, 0};
    static const unsigned char twice[] = {52, 11, 0, 52, 0xff, 0x03, 0, 0};
    return size >= 20 && (p[1] & 0x7e) == 0x20 && p[2] == (p[4] == 4 ? 31 : 63) &&
           memcmp(p + 12, p[4] == 4 ? single : twice, 8) == 0;
}

void cmgi_h5_parse_type(const unsigned char *p, size_t size, cmgi_raw_attribute *a)
{
    a->class = CMGI_RAW_OTHER;
    if (size < 8) {
        return;
    }
    const unsigned class = p[0] & 0x0f;
    a->size = (size_t)cmgi_little(p + 4, 4);
    a->big_endian = (p[1] & 1) != 0;
    a->is_signed = (p[1] & 8) != 0;
    const bool whole =
        size >= 12 && cmgi_little(p + 8, 2) == 0 && cmgi_little(p + 10, 2) == 8 * a->size;
    if (class == 0 && whole && a->size >= 1 && a->size <= 8) {
        a->class = CMGI_RAW_INTEGER;
    } else if (class == 1 && whole && (a->size == 4 || a->size == 8) && is_ieee(p, size)) {
        a->class = CMGI_RAW_REAL;
    } else if (class == 3 && a->size >= 1) {
        a->class = CMGI_RAW_TEXT;
    } else if (class == 8 &&
               a->size == 1) { /* an enumeration of one byte is how h5py stores a boolean */
        a->class = CMGI_RAW_INTEGER;
    } else if (class == 9 && (p[1] & 0x0f) == 1 && a->size == 16) {
        a->class = CMGI_RAW_LONG_TEXT;
    }
}

/* Number of elements from a dataspace message, 0 for what is none. */
static uint64_t parse_space(const unsigned char *p, size_t size)
{
    if (size < 4 || (p[0] != 1 && p[0] != 2) || (p[0] == 2 && p[3] == 2)) {
        return 0;
    }
    const size_t start = p[0] == 1 ? 8 : 4;
    uint64_t count = 1;
    for (size_t d = 0; d < p[1]; ++d) {
        const uint64_t n = start + 8 * d + 8 <= size ? cmgi_little(p + start + 8 * d, 8) : 0;
        if (n == 0 || count > UINT32_MAX / n) {
            return 0;
        }
        count *= n;
    }
    return count;
}

/* Sizes of name, type and space, then the three, then the value; version 1 pads to eight bytes. */
static void parse_attribute(search *s, const unsigned char *p, size_t size)
{
    if (size < 9 || p[0] < 1 || p[0] > 3) {
        return;
    }
    const size_t mask = p[0] == 1 ? 7 : 0;
    const size_t start = p[0] == 3 ? 9 : 8;
    const size_t name = (size_t)cmgi_little(p + 2, 2);
    const size_t type_size = (size_t)cmgi_little(p + 4, 2);
    const size_t space_size = (size_t)cmgi_little(p + 6, 2);
    const size_t type = start + ((name + mask) & ~mask);
    const size_t space = type + ((type_size + mask) & ~mask);
    const size_t value = space + ((space_size + mask) & ~mask);
    if (value > size || name == 0 || p[start + name - 1] != '\0') {
        return;
    }
    cmgi_raw_attribute a = {.name = (const char *)p + start, .value = p + value};
    const bool wanted = s->name != NULL ? strcmp(a.name, s->name) == 0 : s->left-- == 0;
    if (!wanted) {
        return;
    }
    cmgi_h5_parse_type(p + type, type_size, &a);
    a.count = parse_space(p + space, space_size);
    const bool shared = p[0] > 1 && (p[1] & 3) != 0; /* the type or space lies elsewhere */
    if (shared || a.size == 0 || a.count > (size - value) / a.size) {
        a.class = CMGI_RAW_OTHER;
    }
    s->attribute = a;
    s->found = true;
}

/* One part of a header; false when the visitor has seen enough or the part is broken. */
static bool scan_messages(header *o, const unsigned char *p, size_t size)
{
    const size_t head = o->version == 1 ? 8 : (o->ordered ? 6 : 4);
    while (size >= head) {
        const cmgi_h5_message m = {.type = (unsigned)(o->version == 1 ? cmgi_little(p, 2) : p[0]),
                                   .size = (size_t)cmgi_little(p + (o->version == 1 ? 2 : 1), 2),
                                   .shared = (p[o->version == 1 ? 4 : 3] & 2) != 0,
                                   .data = p + head};
        if (m.size > size - head) {
            return false;
        }
        if (m.type == MESSAGE_CONTINUATION) {
            if (m.size < 16 || o->blocks == BLOCKS_MOST) {
                return false;
            }
            o->todo[o->blocks++] = (block){cmgi_little(m.data, 8), cmgi_little(m.data + 8, 8)};
        } else if (!o->visit(o->user, &m)) {
            return false;
        }
        p += head + m.size;
        size -= head + m.size;
    }
    return true;
}

/* The first block of the header: where its messages are. */
static bool open_header(header *o, uint64_t address)
{
    unsigned char p[64] = {0};
    const uint64_t size = (uint64_t)o->h5->size;
    const uint64_t rest = address < size ? size - address : 0;
    if (!read_bytes(o->h5, address, rest < 64 ? rest : 64, p)) {
        return false;
    }
    if (memcmp(p, "OHDR", 4) != 0) {
        o->version = 1;
        o->todo[o->blocks++] = (block){address + 16, cmgi_little(p + 8, 4)};
        return p[0] == 1;
    }
    const unsigned flags = p[5];
    const int width = 1 << (flags & 3);
    const unsigned start = 6u + ((flags & 0x20) != 0 ? 16u : 0u) + ((flags & 0x10) != 0 ? 4u : 0u);
    o->version = 2;
    o->ordered = (flags & 0x04) != 0;
    o->todo[o->blocks++] =
        (block){address + start + (unsigned)width, cmgi_little(p + start, width)};
    return p[4] == 2;
}

bool cmgi_h5_scan(const cmgi_h5 *h5, uint64_t address, cmgi_h5_visit visit, void *user)
{
    header o = {.h5 = h5, .visit = visit, .user = user};
    if (!open_header(&o, address)) {
        return false;
    }
    for (int k = 0; k < o.blocks; ++k) {
        const block b = o.todo[k];
        /* a continuation of version 2 is "OCHK", messages, checksum */
        const uint64_t around = o.version == 2 && k > 0 ? 4 : 0;
        if (b.length < 2 * around || b.length > CMGI_H5_BUFFER ||
            !read_bytes(h5, b.address, b.length, h5->buffer) ||
            !scan_messages(&o, h5->buffer + around, (size_t)(b.length - 2 * around))) {
            return false;
        }
    }
    return true;
}

/* Facts of an object; only what needs no further structure of the file where `basic`. */
static bool facts_of(const cmgi_h5 *h5, hid_t object, bool basic, H5O_info_t *info)
{
#if H5_VERSION_GE(1, 10, 3)
    const unsigned fields = basic ? H5O_INFO_BASIC : H5O_INFO_NUM_ATTRS;
    const bool good = H5Oget_info2(object, info, fields) >= 0;
#else
    const bool good = H5Oget_info(object, info) >= 0;
#endif
    h5->faults->unknown = h5->faults->unknown || !good;
    return good;
}

int cmgi_h5_attributes(const cmgi_h5 *h5, hid_t object)
{
    H5O_info_t info;
    return facts_of(h5, object, false, &info) && info.num_attrs < INT32_MAX ? (int)info.num_attrs
                                                                            : 0;
}

static bool visit_attribute(void *user, const cmgi_h5_message *m)
{
    search *s = user;
    if (m->type == MESSAGE_ATTRIBUTE) {
        parse_attribute(s, m->data, m->size);
    } else if (m->type == MESSAGE_ATTRIBUTE_INFO) { /* with a heap's address, they lie there */
        const size_t at = m->size >= 2 && (m->data[1] & 1) != 0 ? 4 : 2;
        s->dense = s->dense || (at + 8 <= m->size && cmgi_little(m->data + at, 8) != UINT64_MAX);
    }
    return !s->found;
}

bool cmgi_h5_find_raw(const cmgi_h5 *h5, hid_t object, const char *name, int i,
                      cmgi_raw_attribute *a, bool *dense)
{
    search s = {.name = name, .left = i};
    H5O_info_t info;
    *dense = false;
    if (!facts_of(h5, object, true, &info)) {
        return false;
    }
    (void)cmgi_h5_scan(h5, info.addr, visit_attribute, &s);
    *a = s.attribute;
    *dense = s.dense;
    return s.found;
}

bool cmgi_h5_long_text(const cmgi_h5 *h5, const cmgi_raw_attribute *a, char *text, size_t room)
{
    const uint64_t wanted = cmgi_little(a->value, 4);
    const uint64_t heap = cmgi_little(a->value + 4, 8);
    const uint64_t index = cmgi_little(a->value + 12, 4);
    unsigned char p[16] = {0};
    if (wanted >= room) {
        return false;
    }
    text[wanted] = '\0';
    if (wanted == 0) {
        return true;
    }
    if (!read_bytes(h5, heap, 16, p) || memcmp(p, "GCOL", 4) != 0) {
        return false;
    }
    const uint64_t size = cmgi_little(p + 8, 8);
    for (uint64_t at = 16;
         size <= HEAP_MOST && at + 16 <= size && read_bytes(h5, heap + at, 16, p);) {
        const uint64_t found = cmgi_little(p, 2);
        const uint64_t length = cmgi_little(p + 8, 8);
        if (found == 0 || length > size - at - 16) { /* free space, or damage */
            break;
        }
        if (found == index) {
            return wanted <= length && read_bytes(h5, heap + at + 16, wanted, text);
        }
        at += 16 + ((length + 7) & ~(uint64_t)7);
    }
    return false;
}
