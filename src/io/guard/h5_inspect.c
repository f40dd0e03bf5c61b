/*
 * Looks at an object before the HDF5 library does.
 *
 * Versions of the 1.10 series trust a dataset's header: a layout message of another version divides
 * by zero, a length asks for gigabytes. Only headers are looked at that the library would read
 * next: a group's before what is in it, a dataset's before it is opened. What is accepted is what
 * writers of the last fifteen years write for plain arrays of numbers.
 *
 * Source: HDF5 File Format Specification 3.0, sections IV.A.2.b (dataspace), d (datatype), i
 * (layout), l (filters).
 */
#include "io/guard/h5_header.h"

#include <string.h>

enum { SPACE = 0x01, TYPE = 0x03, LAYOUT = 0x08, FILTERS = 0x0b };
enum { HOPS_MOST = 16 };

#if H5_VERSION_GE(2, 0, 0)
enum { NEWEST_LAYOUT = 5 };
#else
enum { NEWEST_LAYOUT = 4 };
#endif

/* What the header of a dataset has been found to say. */
typedef struct facts {
    bool dataset; /* else only the parts of the header are of interest */
    int spaces;
    int types;
    int layouts;
    int rank;
    size_t size; /* bytes of an element */
    int chunk_rank;
    uint64_t chunk_size; /* bytes of an element as the chunks have it, 0 = not said */
    const char *wrong;   /* NULL = nothing */
} facts;

static void inspect_space(facts *f, const cmgi_h5_message *m)
{
    const unsigned char *p = m->data;
    const size_t start = m->size > 0 && p[0] == 1 ? 8 : 4;
    ++f->spaces;
    if (m->size < start || (p[0] != 1 && p[0] != 2) || (p[0] == 2 && p[3] != 1) ||
        (p[1] != 1 && p[1] != 2)) {
        f->wrong = "neither one- nor two-dimensional";
        return;
    }
    f->rank = p[1];
    if (m->size < start + 8 * p[1] * ((p[2] & 1) != 0 ? 2U : 1U)) {
        f->wrong = "the dataspace is damaged";
    }
}

static void inspect_type(facts *f, const cmgi_h5_message *m)
{
    cmgi_raw_attribute a = {.class = CMGI_RAW_OTHER};
    ++f->types;
    cmgi_h5_parse_type(m->data, m->size, &a);
    f->size = a.size;
    if ((a.class != CMGI_RAW_INTEGER && a.class != CMGI_RAW_REAL) || (m->data[0] & 0x0f) == 8) {
        f->wrong = "elements are neither integers nor real numbers of 4 or 8 bytes";
    }
}

/* Sizes of a chunk: `width` bytes each from p on. */
static void inspect_chunk(facts *f, const unsigned char *p, int rank, int width)
{
    uint64_t bytes = 1;
    f->chunk_rank = rank;
    for (int d = 0; d < rank; ++d) {
        const uint64_t n = cmgi_little(p + d * width, width);
        if (n == 0 || n > UINT32_MAX / bytes) {
            f->wrong = "a chunk of no bytes, or of over 4294967295";
            return;
        }
        bytes *= n;
        f->chunk_size = n;
    }
}

static void inspect_chunks(facts *f, const cmgi_h5_message *m)
{
    const unsigned char *p = m->data;
    const bool old = p[0] == 3;
    const size_t start = old ? 11 : 5;
    const int rank = m->size > 3 ? p[old ? 2 : 3] : 0;
    const int width = old ? 4 : (m->size > 4 ? p[4] : 0);
    if (rank < 2 || rank > 3 || width < 1 || width > 8 ||
        m->size < start + (size_t)rank * (size_t)width) {
        f->wrong = "the storage layout is damaged";
        return;
    }
    inspect_chunk(f, p + start, rank, width);
    const size_t index = start + (size_t)rank * (size_t)width;
    if (!old && (m->size < index + 1 || p[index] < 1 || p[index] > 5)) {
        f->wrong = "the storage layout is damaged";
    }
}

static void inspect_layout(facts *f, const cmgi_h5_message *m)
{
    enum { COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL };
    const unsigned char *p = m->data;
    ++f->layouts;
    if (m->size < 2 || p[0] < 3) {
        f->wrong = "a storage layout of HDF5 before 1.6.3, which is not read";
    } else if (p[0] > NEWEST_LAYOUT) {
        f->wrong = "a storage layout newer than this build's HDF5 library: write it with "
                   "libver=(\"v110\", \"v110\")";
    } else if (p[1] == COMPACT) {
        f->wrong = m->size < 4 || cmgi_little(p + 2, 2) > m->size - 4
                       ? "the storage layout is damaged"
                       : f->wrong;
    } else if (p[1] == CONTIGUOUS) {
        f->wrong = m->size < 18 ? "the storage layout is damaged" : f->wrong;
    } else if (p[1] == CHUNKED && p[0] < 5) {
        inspect_chunks(f, m);
    } else if (p[1] != CHUNKED) {
        f->wrong = p[1] == VIRTUAL ? "data kept in other files are not read"
                                   : "the storage layout is damaged";
    }
}

/* Every filter's description lies in the message. */
static void inspect_filters(facts *f, const cmgi_h5_message *m)
{
    const unsigned char *p = m->data;
    const bool old = m->size > 1 && p[0] == 1;
    size_t at = old ? 8 : 2;
    bool good = m->size >= at && (p[0] == 1 || p[0] == 2) && p[1] <= 32;
    for (int k = 0; good && k < p[1]; ++k) {
        const bool named = old || (at + 2 <= m->size && cmgi_little(p + at, 2) >= 256);
        const size_t head = named ? 8 : 6;
        good = at + head <= m->size;
        if (good) {
            const size_t name = named ? (size_t)cmgi_little(p + at + 2, 2) : 0;
            const size_t values = (size_t)cmgi_little(p + at + head - 2, 2);
            const size_t padded = old ? (name + 7) & ~(size_t)7 : name;
            at += head + padded + 4 * (values + (old ? values % 2 : 0));
            good = at <= m->size && values <= 64;
        }
    }
    if (!good) {
        f->wrong = "the list of filters is damaged";
    }
}

static bool visit(void *user, const cmgi_h5_message *m)
{
    facts *f = user;
    const bool known =
        m->type == SPACE || m->type == TYPE || m->type == LAYOUT || m->type == FILTERS;
    if (!f->dataset || !known) {
        return true;
    }
    if (m->shared) {
        f->wrong = "named types, and headers that lie elsewhere, are not read";
    } else if (m->type == SPACE) {
        inspect_space(f, m);
    } else if (m->type == TYPE) {
        inspect_type(f, m);
    } else if (m->type == LAYOUT) {
        inspect_layout(f, m);
    } else {
        inspect_filters(f, m);
    }
    return f->wrong == NULL;
}

static cmg_status inspect_header(const cmgi_h5 *h5, const char *name, uint64_t address,
                                 bool dataset)
{
    facts f = {.dataset = dataset};
    const bool whole = cmgi_h5_scan(h5, address, visit, &f);
    if (dataset && f.wrong == NULL && f.spaces + f.types + f.layouts == 0) {
        return CMG_OK; /* a group, say: the library will tell */
    }
    if (f.wrong == NULL &&
        (!whole || (dataset && (f.spaces != 1 || f.types != 1 || f.layouts != 1)))) {
        f.wrong = "the object's header is damaged or too long";
    }
    if (f.wrong == NULL && f.chunk_rank > 0 &&
        (f.chunk_rank != f.rank + 1 || f.chunk_size != f.size)) {
        f.wrong = "chunks of another shape than the dataset's";
    }
    CMGI_IN_DATA(h5, name, f.wrong == NULL, "%s", f.wrong);
    return CMG_OK;
}

/*
 * Where the link of that name leads: an address, or another name, which is put in the place of
 * name[0 .. end). False when there is no such link, or it leads out of the file.
 */
static bool follow(const cmgi_h5 *h5, char *name, size_t end, uint64_t *address)
{
    H5L_info_t info;
    char link[CMGI_H5_NAME] = "";
    char target[CMGI_H5_NAME] = "";
    char rest[CMGI_H5_NAME] = "";
    *address = HADDR_UNDEF;
    (void)snprintf(link, sizeof link, "%.*s", (int)end, name);
    if (H5Lget_info(h5->file, link, &info, h5->group_access) < 0) {
        return false;
    }
    if (info.type == H5L_TYPE_HARD) {
        *address = (uint64_t)info.u.address;
        return true;
    }
    if (info.type != H5L_TYPE_SOFT || info.u.val_size >= sizeof target ||
        H5Lget_val(h5->file, link, target, sizeof target, h5->group_access) < 0) {
        return false;
    }
    (void)snprintf(rest, sizeof rest, "%s", name + end);
    *strrchr(link, '/') = '\0'; /* a name without / in front is relative to the link's group */
    const int length = snprintf(name, CMGI_H5_NAME, "%s%s%s%s", target[0] == '/' ? "" : link,
                                target[0] == '/' ? "" : "/", target, rest);
    return length > 0 && length < CMGI_H5_NAME;
}

cmg_status cmgi_h5_inspect(const cmgi_h5 *h5, const char *name, bool dataset)
{
    char full[CMGI_H5_NAME];
    int hops = 0;
    (void)snprintf(full, sizeof full, "%s%s", name[0] == '/' ? "" : "/", name);
    for (size_t n = 1; full[n - 1] != '\0' && full[n] != '\0';) {
        uint64_t address = 0;
        n += strcspn(full + n, "/");
        if (!follow(h5, full, n, &address)) {
            return CMG_OK; /* the library will tell */
        }
        if (address == HADDR_UNDEF) { /* a soft link: from the beginning */
            CMGI_IN_DATA(h5, name, ++hops < HOPS_MOST, "too many links in a row");
            n = 1;
            continue;
        }
        CMGI_TRY(inspect_header(h5, name, address, dataset && full[n] == '\0'));
        n += full[n] == '/' ? 1 : 0;
    }
    return CMG_OK;
}
