/*
 * gmsh .msh, text or binary, versions 2 and 4.1. Version 4.1 has nodes and elements in blocks by
 * geometric entity, which carries the groups.
 */
#include "core/memory.h"
#include "fem/read_raw.h"

#include <string.h>

typedef struct entity {
    cmg_index tag;
    cmg_index group; /* first physical group, 0 = none */
} entity;

typedef struct gmsh {
    cmgi_text *t;
    cmgi_raw *raw;
    bool four;         /* version 4.1 */
    bool binary;       /* the sections of numbers are */
    cmg_size count[4]; /* entities by dimension */
    entity *list[4];
} gmsh;

static const struct {
    unsigned char type;
    unsigned char kind;
    unsigned char nodes;
} types[] = {
    {1, CMGI_RAW_LINE, 2},      {2, CMGI_RAW_TRI, 3},       {3, CMGI_RAW_QUAD, 4},
    {4, CMGI_RAW_TET, 4},       {5, CMGI_RAW_HEX, 8},       {6, CMGI_RAW_PRISM, 6},
    {7, CMGI_RAW_PYRAMID, 5},   {8, CMGI_RAW_LINE, 3},      {9, CMGI_RAW_TRI, 6},
    {10, CMGI_RAW_QUAD, 9},     {11, CMGI_RAW_TET, 10},     {12, CMGI_RAW_HEX, 27},
    {13, CMGI_RAW_PRISM, 18},   {14, CMGI_RAW_PYRAMID, 14}, {15, CMGI_RAW_POINT, 1},
    {16, CMGI_RAW_QUAD, 8},     {17, CMGI_RAW_HEX, 20},     {18, CMGI_RAW_PRISM, 15},
    {19, CMGI_RAW_PYRAMID, 13}, {20, CMGI_RAW_TRI, 9},      {21, CMGI_RAW_TRI, 10},
    {22, CMGI_RAW_TRI, 12},     {23, CMGI_RAW_TRI, 15},     {24, CMGI_RAW_TRI, 15},
    {25, CMGI_RAW_TRI, 21},     {26, CMGI_RAW_LINE, 4},     {27, CMGI_RAW_LINE, 5},
    {28, CMGI_RAW_LINE, 6},     {29, CMGI_RAW_TET, 20},     {30, CMGI_RAW_TET, 35},
    {31, CMGI_RAW_TET, 56},     {36, CMGI_RAW_QUAD, 16},    {37, CMGI_RAW_QUAD, 25},
    {38, CMGI_RAW_QUAD, 36},    {92, CMGI_RAW_HEX, 64},     {93, CMGI_RAW_HEX, 125},
};

/* Nodes of an element of this type, whose kind goes to *kind. */
static int nodes_of(cmgi_text *t, cmg_size type, cmgi_raw_kind *kind)
{
    for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) {
        if (types[k].type == type) {
            *kind = (cmgi_raw_kind)types[k].kind;
            return types[k].nodes;
        }
    }
    (void)cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "element type %lld is not known", (long long)type);
    return 0;
}

/* A number of either sign: of a group or an entity. */
static cmg_index read_tag(cmgi_text *t, const char *what)
{
    return (cmg_index)cmgi_text_int(t, what, -INT32_MAX, INT32_MAX);
}

/* The number of a node or an element. */
static cmg_size read_number(const gmsh *f, const char *what)
{
    return f->four ? cmgi_text_size(f->t, what, 1, INT32_MAX)
                   : cmgi_text_int(f->t, what, 1, INT32_MAX);
}

/* The nodes of an element, of which its corners are kept, to the end of the line. */
static void read_corners(const gmsh *f, int nodes, cmgi_raw_element *element)
{
    const int corners = cmgi_raw_shape_of(element->kind)->corners;
    for (int k = 0; k < nodes; ++k) {
        const cmg_size node = read_number(f, "a node number");
        if (k < corners) {
            element->node[k] = (cmg_index)node;
        }
    }
    f->raw->curved += nodes > corners;
    cmgi_text_end_line(f->t, "an element");
    cmgi_raw_add(f->t, &f->raw->element, &f->raw->elements, sizeof *element, element);
}

/* number, then lines "dim tag "name"" */
static void read_names(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size left = cmgi_text_int(t, "the number of names", 0, cmgi_text_room(t, 4));
    for (; left > 0 && t->status == CMG_OK; --left) {
        cmgi_raw_name group = {.dim = (int)cmgi_text_int(t, "the dimension of a group", 0, 3)};
        group.tag = read_tag(t, "the number of a group");
        const char *end = memchr(t->p, '\n', (size_t)(t->data + t->size - t->p));
        end = end != NULL ? end : t->data + t->size;
        const char *open = memchr(t->p, '"', (size_t)(end - t->p));
        const char *close = open != NULL ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close == NULL) {
            (void)cmgi_text_fail(t, CMG_ERR_FILE, "group %d has no name in quotes", (int)group.tag);
            return;
        }
        const size_t length = (size_t)(close - open - 1);
        memcpy(group.name, open + 1, length < sizeof group.name ? length : sizeof group.name - 1);
        cmgi_raw_add(t, &raw->name, &raw->names, sizeof group, &group);
        t->p = close + 1;
        cmgi_text_end_line(t, "a name");
    }
}

/* The count on a section's first line is text; the numbers after it may be bytes. */
static cmg_size read_count(const gmsh *f, const char *what, cmg_size least)
{
    cmgi_text *t = f->t;
    t->binary = false;
    const cmg_size count = cmgi_text_int(t, what, 1, cmgi_text_room(t, least));
    cmgi_text_end_line(t, what);
    t->p += f->binary && t->p < t->data + t->size ? 1 : 0;
    t->binary = f->binary;
    return count;
}

static void read_nodes(const gmsh *f)
{
    cmgi_text *t = f->t;
    cmg_size left = read_count(f, "the number of nodes", f->binary ? 28 : 8);
    for (; left > 0 && t->status == CMG_OK; --left) {
        cmgi_raw_node node = {.tag = (cmg_index)read_number(f, "a node number")};
        for (int d = 0; d < 3; ++d) {
            node.x[d] = cmgi_text_real(t, "a coordinate");
        }
        cmgi_text_end_line(t, "a node");
        cmgi_raw_add(t, &f->raw->node, &f->raw->nodes, sizeof node, &node);
    }
}

/* Elements: number, type, number of tags, tags, nodes. Binary ones come in runs: type, number of
 * elements, number of tags; each with its number. The first tag of an element is its physical
 * group, the second its entity. */
static void read_elements(const gmsh *f)
{
    cmgi_text *t = f->t;
    cmg_size left = read_count(f, "the number of elements", f->binary ? 8 : 7);
    while (left > 0 && t->status == CMG_OK) {
        if (!f->binary) {
            (void)read_number(f, "an element number");
        }
        const cmg_size type = cmgi_text_int(t, "an element type", 1, 255);
        const cmg_size run = f->binary ? cmgi_text_int(t, "a number of elements", 1, left) : 1;
        const cmg_size tags = cmgi_text_int(t, "a number of tags", 0, 1000);
        for (cmg_size n = 0; n < run && t->status == CMG_OK; ++n) {
            if (f->binary) {
                (void)read_number(f, "an element number");
            }
            cmgi_raw_element element = {.line = f->binary ? 0 : t->line};
            const int nodes = nodes_of(t, type, &element.kind);
            for (cmg_size k = 0; k < tags; ++k) {
                const cmg_index tag = read_tag(t, "a tag");
                element.tag = k == 0 ? tag : element.tag;
                element.entity = k == 1 ? tag : element.entity;
            }
            read_corners(f, nodes, &element);
        }
        left -= run;
    }
}

/* tag, box (a point: its place), groups, and the entities that bound it */
static void read_entity(cmgi_text *t, int dim, entity *e)
{
    *e = (entity){.tag = read_tag(t, "the number of an entity")};
    for (int k = 0; k < (dim == 0 ? 3 : 6); ++k) {
        (void)cmgi_text_real(t, "the extent of an entity");
    }
    cmg_size count = cmgi_text_size(t, "a number of groups", 0, cmgi_text_room(t, 2));
    for (cmg_size k = 0; k < count && t->status == CMG_OK; ++k) {
        const cmg_index group = read_tag(t, "a group");
        e->group = k == 0 ? (group < 0 ? -group : group) : e->group;
    }
    count = dim > 0 ? cmgi_text_size(t, "a number of bounds", 0, cmgi_text_room(t, 2)) : 0;
    for (cmg_size k = 0; k < count && t->status == CMG_OK; ++k) {
        (void)read_tag(t, "a bound");
    }
}

static void read_entities(gmsh *f)
{
    cmgi_text *t = f->t;
    for (int dim = 0; dim < 4; ++dim) {
        f->count[dim] = cmgi_text_size(t, "a number of entities", 0, cmgi_text_room(t, 8));
    }
    for (int dim = 0; dim < 4 && t->status == CMG_OK; ++dim) {
        t->status = f->list[dim] != NULL
                        ? cmgi_fail(t->ctx, CMG_ERR_FILE, "%s: $Entities is duplicated", t->path)
                        : cmgi_alloc(t->ctx, f->count[dim], sizeof *f->list[dim], &f->list[dim]);
        for (cmg_size k = 0; k < f->count[dim] && t->status == CMG_OK; ++k) {
            read_entity(t, dim, &f->list[dim][k]);
        }
    }
}

/* A block has first the numbers of its nodes, then their places, with parameters. */
static void read_node_block(const gmsh *f, cmg_size parameters, cmg_size count)
{
    cmgi_text *t = f->t;
    const cmg_size first = f->raw->nodes;
    for (cmg_size k = 0; k < count && t->status == CMG_OK; ++k) {
        const cmgi_raw_node node = {.tag = (cmg_index)read_number(f, "a node number")};
        cmgi_raw_add(t, &f->raw->node, &f->raw->nodes, sizeof node, &node);
    }
    for (cmg_size k = 0; k < count && t->status == CMG_OK; ++k) {
        for (int d = 0; d < 3; ++d) {
            f->raw->node[first + k].x[d] = cmgi_text_real(t, "a coordinate");
        }
        for (cmg_size d = 0; d < parameters; ++d) {
            (void)cmgi_text_real(t, "a parameter");
        }
    }
}

/* Blocks, items, lowest and highest number; then the blocks. */
static void read_blocks(const gmsh *f, bool nodes)
{
    cmgi_text *t = f->t;
    const cmg_size blocks = cmgi_text_size(t, "a number of blocks", 0, cmgi_text_room(t, 6));
    cmg_size left = cmgi_text_size(t, nodes ? "the number of nodes" : "the number of elements", 1,
                                   cmgi_text_room(t, 2));
    (void)cmgi_text_size(t, "the lowest number", 0, INT32_MAX);
    (void)cmgi_text_size(t, "the highest number", 0, INT32_MAX);
    for (cmg_size b = 0; b < blocks && t->status == CMG_OK; ++b) {
        const cmg_size dim = cmgi_text_int(t, "the dimension of a block", 0, 3);
        const cmg_index tag = read_tag(t, "the entity of a block");
        const cmg_size kind = nodes ? cmgi_text_int(t, "whether a block is parametric", 0, 1)
                                    : cmgi_text_int(t, "an element type", 1, 255);
        const cmg_size count =
            cmgi_text_size(t, nodes ? "the nodes in a block" : "the elements in a block", 0, left);
        left -= count;
        if (nodes) {
            read_node_block(f, kind * dim, count);
            continue;
        }
        cmgi_raw_element element = {.entity = tag};
        for (cmg_size k = f->count[dim] - 1; k >= 0; --k) {
            element.tag = f->list[dim][k].tag == tag ? f->list[dim][k].group : element.tag;
        }
        const int each = nodes_of(t, kind, &element.kind);
        for (cmg_size k = 0; k < count && t->status == CMG_OK; ++k) {
            (void)read_number(f, "an element number");
            element.line = f->binary ? 0 : t->line;
            read_corners(f, each, &element);
        }
    }
    CMGI_TEXT_CHECK(t, left == 0, CMG_ERR_FILE, "%lld %s fewer than announced", (long long)left,
                    nodes ? "nodes" : "elements");
}

static void read_section(gmsh *f, const char *name)
{
    cmgi_text *t = f->t;
    char end[140] = "$End";
    (void)strncat(end, name + 1, sizeof end - 5);
    if (f->four) {
        cmgi_text_skip_line(t); /* binary data begin on the next line */
    }
    const bool nodes = strcmp(name, "$Nodes") == 0;
    const bool elements = strcmp(name, "$Elements") == 0;
    const bool entities = f->four && strcmp(name, "$Entities") == 0;
    t->binary = f->binary && (nodes || elements || entities);
    if (entities) {
        read_entities(f);
    } else if (f->four && (nodes || elements)) {
        read_blocks(f, nodes);
    } else if (nodes) {
        read_nodes(f);
    } else if (elements) {
        read_elements(f);
    } else if (strcmp(name, "$PhysicalNames") == 0) {
        read_names(t, f->raw);
    } else {
        cmgi_text_skip_to(t, end);
    }
    t->binary = false;
    cmgi_text_expect(t, end);
}

/* After "$MeshFormat": version, file type, size of a double; then, in binary files, the number 1.
 */
static void read_format(gmsh *f)
{
    cmgi_text *t = f->t;
    cmgi_text_expect(t, "$MeshFormat");
    const double version = cmgi_text_real(t, "the version");
    f->four = version > 4.05 && version < 4.15;
    CMGI_TEXT_CHECK(t, f->four || (version >= 2 && version < 3), CMG_ERR_UNSUPPORTED,
                    "gmsh version %g; 2.0 to 2.2 and 4.1 are read", version);
    f->binary = cmgi_text_int(t, "the file type", 0, 1) == 1;
    (void)cmgi_text_int(t, "the size of numbers", 8, 8);
    if (f->binary) {
        int32_t one = 0;
        cmgi_text_end_line(t, "the format");
        cmgi_text_skip_line(t);
        if (t->data + t->size - t->p < (ptrdiff_t)sizeof one) {
            (void)cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before the byte order");
            return;
        }
        memcpy(&one, t->p, sizeof one);
        t->p += sizeof one;
        t->swap = one == 0x01000000;
        CMGI_TEXT_CHECK(t, one == 1 || t->swap, CMG_ERR_FILE,
                        "the number that shows the byte order is %d, not 1", (int)one);
    }
    cmgi_text_expect(t, "$EndMeshFormat");
}

void cmgi_read_gmsh(cmgi_raw *raw)
{
    cmgi_text *t = raw->text;
    gmsh f = {.t = t, .raw = raw};
    read_format(&f);
    for (cmgi_text_word(t); t->word[0] != 0; cmgi_text_word(t)) {
        char name[sizeof t->word];
        memcpy(name, t->word, sizeof name);
        if (name[0] != '$') {
            (void)cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where a section is expected", name);
        } else {
            read_section(&f, name);
        }
    }
    CMGI_TEXT_CHECK(t, raw->nodes > 0 && raw->elements > 0, CMG_ERR_FILE,
                    "the file ends without %s", raw->nodes == 0 ? "$Nodes" : "$Elements");
    CMGI_FREE(t->ctx, f.list[0], f.list[1], f.list[2], f.list[3]);
}
