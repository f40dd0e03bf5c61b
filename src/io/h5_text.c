/*
 * Attributes that are strings of variable length, read past the library.
 *
 * The library copies such a string without comparing the length in the attribute, the length in the
 * heap and the size of the heap (HDF5 1.10, H5HG_read), so that a damaged file makes it write where
 * it must not. Python writes every string this way, so they are read here, with every step inside
 * bounds: object header -> attribute message -> (length, heap address, index) -> object of the
 * global heap.
 *
 * Source: HDF5 File Format Specification 3.0, sections III.E (global heap), IV.A (object headers),
 * IV.A.2.m (attribute message) and IV.A.2.q (continuation). Attributes in dense storage (more than
 * eight in files of the newer layout, unless asked otherwise) are not found here.
 */
#include "io/h5.h"
#include "io/source.h"

#include <string.h>

enum {
    BLOCK_MOST = 1 << 14,
    BLOCKS_MOST = 32,
    HEAP_MOST = 1 << 20,
    MESSAGE_ATTRIBUTE = 12,
    MESSAGE_CONTINUATION = 16
};

/* A part of an object header that is still to be looked at. */
typedef struct block {
    uint64_t address;
    uint64_t length;
} block;

typedef struct search {
    const cmgi_h5 *h5;
    const char *name;
    block todo[BLOCKS_MOST];
    int blocks;
    int version;  /* of the object header */
    bool ordered; /* messages carry a creation order */
    bool found;
    uint64_t length; /* of the string */
    uint64_t heap;   /* address of its collection */
    uint64_t index;  /* in the collection */
} search;

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int k = bytes - 1; k >= 0; --k) {
        v = v << 8 | p[k];
    }
    return v;
}

static bool read_bytes(const cmgi_h5 *h5, uint64_t address, uint64_t bytes, void *to)
{
    return address <= (uint64_t)h5->size && bytes <= (uint64_t)h5->size - address &&
           cmgi_read_at(h5->fd, (cmg_size)address, (size_t)bytes, to);
}

/* ------------------------------------------------------------------ object header */

/* An attribute message: sizes of name, type and space, then the three, then the value. */
static void match_attribute(search *s, const unsigned char *p, size_t size)
{
    if (size < 9 || p[0] < 1 || p[0] > 3) {
        return;
    }
    const size_t mask = p[0] == 1 ? 7 : 0; /* version 1 pads to eight bytes */
    const size_t start = p[0] == 3 ? 9 : 8;
    const size_t name = (size_t)little(p + 2, 2);
    const size_t value = start + ((name + mask) & ~mask) +
                         (((size_t)little(p + 4, 2) + mask) & ~mask) +
                         (((size_t)little(p + 6, 2) + mask) & ~mask);
    const size_t wanted = strlen(s->name) + 1;
    if (name != wanted || start + name > size || memcmp(p + start, s->name, wanted) != 0 ||
        value + 16 > size) {
        return;
    }
    s->found = true;
    s->length = little(p + value, 4);
    s->heap = little(p + value + 4, 8);
    s->index = little(p + value + 12, 4);
}

static void scan_messages(search *s, const unsigned char *p, size_t size)
{
    const size_t head = s->version == 1 ? 8 : (s->ordered ? 6 : 4);
    while (size >= head && !s->found) {
        const uint64_t type = s->version == 1 ? little(p, 2) : p[0];
        const size_t length = (size_t)little(p + (s->version == 1 ? 2 : 1), 2);
        if (length > size - head) {
            return;
        }
        if (type == MESSAGE_ATTRIBUTE) {
            match_attribute(s, p + head, length);
        } else if (type == MESSAGE_CONTINUATION && length >= 16 && s->blocks < BLOCKS_MOST) {
            s->todo[s->blocks++] = (block){little(p + head, 8), little(p + head + 8, 8)};
        }
        p += head + length;
        size -= head + length;
    }
}

/* The first block of the header: where its messages are. */
static bool open_header(search *s, uint64_t address)
{
    unsigned char p[64] = {0};
    const uint64_t size = (uint64_t)s->h5->size;
    const uint64_t rest = address < size ? size - address : 0;
    if (!read_bytes(s->h5, address, rest < 64 ? rest : 64, p)) {
        return false;
    }
    if (memcmp(p, "OHDR", 4) != 0) {
        s->version = 1;
        s->todo[s->blocks++] = (block){address + 16, little(p + 8, 4)};
        return p[0] == 1;
    }
    const unsigned flags = p[5];
    const int width = 1 << (flags & 3);
    const unsigned start = 6u + ((flags & 0x20) != 0 ? 16u : 0u) + ((flags & 0x10) != 0 ? 4u : 0u);
    s->version = 2;
    s->ordered = (flags & 0x04) != 0;
    s->todo[s->blocks++] = (block){address + start + (unsigned)width, little(p + start, width)};
    return p[4] == 2;
}

/* Looks through all blocks, those included that continuations add. */
static bool find_attribute(search *s, uint64_t address)
{
    unsigned char data[BLOCK_MOST];
    if (!open_header(s, address)) {
        return false;
    }
    for (int k = 0; k < s->blocks && !s->found; ++k) {
        const block b = s->todo[k];
        /* a continuation of version 2 is "OCHK", messages, checksum */
        const uint64_t skip = s->version == 2 && k > 0 ? 4 : 0;
        const uint64_t tail = s->version == 2 && k > 0 ? 4 : 0;
        if (b.length > skip + tail && b.length <= BLOCK_MOST &&
            read_bytes(s->h5, b.address, b.length, data)) {
            scan_messages(s, data + skip, (size_t)(b.length - skip - tail));
        }
    }
    return s->found;
}

/* ------------------------------------------------------------------ global heap */

static bool read_heap(const search *s, char *text)
{
    unsigned char p[16];
    if (!read_bytes(s->h5, s->heap, 16, p) || memcmp(p, "GCOL", 4) != 0) {
        return false;
    }
    const uint64_t size = little(p + 8, 8);
    for (uint64_t at = 16; size <= HEAP_MOST && at + 16 <= size;) {
        if (!read_bytes(s->h5, s->heap + at, 16, p)) {
            return false;
        }
        const uint64_t index = little(p, 2);
        const uint64_t length = little(p + 8, 8);
        if (index == 0 || length > size - at - 16) { /* free space, or damage */
            return false;
        }
        if (index == s->index) {
            return s->length <= length && read_bytes(s->h5, s->heap + at + 16, s->length, text);
        }
        at += 16 + ((length + 7) & ~(uint64_t)7);
    }
    return false;
}

bool cmgi_h5_long_text(const cmgi_h5 *h5, hid_t object, const char *name, char *text, size_t room)
{
    search s = {.h5 = h5, .name = name};
    H5O_info_t info;
    size_t address_size = 0;
    size_t length_size = 0;
    const hid_t creation = h5->fd >= 0 ? H5Fget_create_plist(h5->file) : -1;
    const bool usual = creation >= 0 && H5Pget_sizes(creation, &address_size, &length_size) >= 0 &&
                       address_size == 8 && length_size == 8;
    if (creation >= 0) {
        (void)H5Pclose(creation);
    }
    if (!usual || H5Oget_info(object, &info) < 0 || !find_attribute(&s, info.addr) ||
        s.length >= room) {
        return false;
    }
    text[s.length] = '\0';
    return s.length == 0 || read_heap(&s, text);
}
