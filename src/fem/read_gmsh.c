/* gmsh .msh, text or binary: the sections of versions 2 and 4.1, and what is in them in version 2.
 */
#include "core/memory.h"
#include "fem/read_raw.h"

#include <string.h>

/* number, then lines "dim tag "name"" */
static cmg_status read_names(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size count = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of names", 0, cmgi_text_room(t, 4), &count));
    for (cmg_size k = 0; k < count; ++k) {
        cmg_size dim = 0;
        cmg_size tag = 0;
        CMGI_TRY(cmgi_text_int(t, "the dimension of a group", 0, 3, &dim));
        CMGI_TRY(cmgi_text_int(t, "the number of a group", -INT32_MAX, INT32_MAX, &tag));
        const char *end = memchr(t->p, '\n', (size_t)(t->data + t->size - t->p));
        end = end != NULL ? end : t->data + t->size;
        const char *open = memchr(t->p, '"', (size_t)(end - t->p));
        const char *close = open != NULL ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close == NULL) {
            return cmgi_text_fail(t, CMG_ERR_FILE, "group %lld has no name in quotes",
                                  (long long)tag);
        }
        char name[64] = {0};
        const size_t length = (size_t)(close - open - 1);
        memcpy(name, open + 1, length < sizeof name ? length : sizeof name - 1);
        CMGI_TRY(cmgi_raw_add_name(raw, (int)dim, (cmg_index)tag, name));
        t->p = close + 1;
        CMGI_TRY(cmgi_text_end_line(t, "a name"));
    }
    return CMG_OK;
}

/* The count on a section's first line is text; the numbers after it may be bytes. */
static cmg_status read_count(cmgi_text *t, const char *what, cmg_size least, cmg_size *count)
{
    const bool binary = t->binary;
    t->binary = false;
    CMGI_TRY(cmgi_text_int(t, what, 1, cmgi_text_room(t, least), count));
    CMGI_TRY(cmgi_text_end_line(t, what));
    t->p += binary && t->p < t->data + t->size ? 1 : 0;
    t->binary = binary;
    return CMG_OK;
}

static cmg_status read_nodes(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size count = 0;
    CMGI_TRY(read_count(t, "the number of nodes", t->binary ? 28 : 8, &count));
    for (cmg_size k = 0; k < count; ++k) {
        cmg_size tag = 0;
        double x[3];
        CMGI_TRY(cmgi_text_int(t, "a node number", 1, INT32_MAX, &tag));
        for (int d = 0; d < 3; ++d) {
            CMGI_TRY(cmgi_text_real(t, "a coordinate", &x[d]));
        }
        if (!t->binary) {
            CMGI_TRY(cmgi_text_end_line(t, "a node"));
        }
        CMGI_TRY(cmgi_raw_add_node(raw, tag, x));
    }
    return CMG_OK;
}

/* Tags and nodes of one element; the first tag is its physical group, the second its entity. */
static cmg_status read_element(cmgi_text *t, cmgi_raw *raw, cmg_size type, cmg_size tags)
{
    cmgi_raw_element element = {.line = t->binary ? 0 : t->line};
    const int nodes = cmgi_gmsh_type(type, &element.kind);
    if (nodes == 0) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "element type %lld is not known",
                              (long long)type);
    }
    for (cmg_size k = 0; k < tags; ++k) {
        cmg_size tag = 0;
        CMGI_TRY(cmgi_text_int(t, "a tag", -INT32_MAX, INT32_MAX, &tag));
        element.tag = k == 0 ? (cmg_index)tag : element.tag;
        element.entity = k == 1 ? (cmg_index)tag : element.entity;
    }
    CMGI_TRY(cmgi_gmsh_corners(t, raw, nodes, false, &element));
    return cmgi_raw_add_element(raw, &element);
}

static cmg_status read_text_elements(cmgi_text *t, cmgi_raw *raw, cmg_size count)
{
    for (cmg_size k = 0; k < count; ++k) {
        cmg_size head[3];
        CMGI_TRY(cmgi_text_int(t, "an element number", 1, INT32_MAX, &head[0]));
        CMGI_TRY(cmgi_text_int(t, "an element type", 1, 255, &head[1]));
        CMGI_TRY(cmgi_text_int(t, "a number of tags", 0, 1000, &head[2]));
        CMGI_TRY(read_element(t, raw, head[1], head[2]));
        CMGI_TRY(cmgi_text_end_line(t, "an element"));
    }
    return CMG_OK;
}

/* Binary elements come in runs: type, number of elements, number of tags; each with its number. */
static cmg_status read_binary_elements(cmgi_text *t, cmgi_raw *raw, cmg_size count)
{
    cmg_size done = 0;
    while (done < count) {
        cmg_size type = 0;
        cmg_size run = 0;
        cmg_size tags = 0;
        CMGI_TRY(cmgi_text_int(t, "an element type", 1, 255, &type));
        CMGI_TRY(cmgi_text_int(t, "a number of elements", 1, count - done, &run));
        CMGI_TRY(cmgi_text_int(t, "a number of tags", 0, 1000, &tags));
        for (cmg_size k = 0; k < run; ++k) {
            cmg_size number = 0;
            CMGI_TRY(cmgi_text_int(t, "an element number", 1, INT32_MAX, &number));
            CMGI_TRY(read_element(t, raw, type, tags));
        }
        done += run;
    }
    return CMG_OK;
}

static cmg_status read_elements(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size count = 0;
    CMGI_TRY(read_count(t, "the number of elements", t->binary ? 8 : 7, &count));
    return t->binary ? read_binary_elements(t, raw, count) : read_text_elements(t, raw, count);
}

/* A section of version 2 or, with entities, of version 4. */
static cmg_status read_section(cmgi_text *t, cmgi_raw *raw, cmgi_gmsh_entities *four,
                               const char *name, bool binary)
{
    char end[140] = "$End";
    (void)strncat(end, name + 1, sizeof end - 5);
    if (four != NULL) {
        cmgi_text_skip_line(t); /* binary data begin on the next line */
    }
    t->binary = binary;
    if (four != NULL && strcmp(name, "$Entities") == 0) {
        CMGI_TRY(cmgi_gmsh4_entities(t, four));
    } else if (strcmp(name, "$Nodes") == 0) {
        CMGI_TRY(four != NULL ? cmgi_gmsh4_nodes(t, raw) : read_nodes(t, raw));
    } else if (strcmp(name, "$Elements") == 0) {
        CMGI_TRY(four != NULL ? cmgi_gmsh4_elements(t, raw, four) : read_elements(t, raw));
    } else {
        t->binary = false;
        CMGI_TRY(strcmp(name, "$PhysicalNames") == 0 ? read_names(t, raw)
                                                     : cmgi_text_skip_to(t, end));
    }
    t->binary = false;
    return cmgi_text_expect(t, end);
}

/* After "$MeshFormat": version, file type, size of a double; then, in binary files, the number 1.
 */
static cmg_status read_format(cmgi_text *t, bool *four, bool *binary)
{
    double version = 0;
    cmg_size mode = 0;
    cmg_size bytes = 0;
    CMGI_TRY(cmgi_text_expect(t, "$MeshFormat"));
    CMGI_TRY(cmgi_text_real(t, "the version", &version));
    *four = version > 4.05 && version < 4.15;
    if (!*four && !(version >= 2 && version < 3)) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                              "gmsh version %g; 2.0 to 2.2 and 4.1 are read", version);
    }
    CMGI_TRY(cmgi_text_int(t, "the file type", 0, 1, &mode));
    CMGI_TRY(cmgi_text_int(t, "the size of numbers", 8, 8, &bytes));
    *binary = mode == 1;
    if (*binary) {
        int32_t one = 0;
        CMGI_TRY(cmgi_text_end_line(t, "the format"));
        cmgi_text_skip_line(t);
        if (t->data + t->size - t->p < (ptrdiff_t)sizeof one) {
            return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before the byte order");
        }
        memcpy(&one, t->p, sizeof one);
        t->p += sizeof one;
        t->swap = one == 0x01000000;
        if (one != 1 && !t->swap) {
            return cmgi_text_fail(t, CMG_ERR_FILE,
                                  "the number that shows the byte order is %d, not 1", (int)one);
        }
    }
    return cmgi_text_expect(t, "$EndMeshFormat");
}

cmg_status cmgi_read_gmsh(cmgi_text *t, cmgi_raw *raw)
{
    cmgi_gmsh_entities entities = {{0}, {NULL}};
    bool four = false;
    bool binary = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(read_format(t, &four, &binary));
    for (cmgi_text_word(t); t->word[0] != 0; cmgi_text_word(t)) {
        char name[sizeof t->word];
        memcpy(name, t->word, sizeof name);
        if (name[0] != '$') {
            status = cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where a section is expected", name);
            goto done;
        }
        CMGI_TRY_GOTO(done, read_section(t, raw, four ? &entities : NULL, name, binary));
    }
    if (raw->nodes == 0 || raw->elements == 0) {
        status = cmgi_text_fail(t, CMG_ERR_FILE, "the file ends without %s",
                                raw->nodes == 0 ? "$Nodes" : "$Elements");
    }
done:
    for (int dim = 0; dim < 4; ++dim) {
        cmgi_free(t->ctx, entities.list[dim]);
    }
    return status;
}
