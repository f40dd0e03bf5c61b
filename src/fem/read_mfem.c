/* MFEM mesh v1.0: sections dimension, elements, boundary, vertices and, for curved meshes, nodes.
 */
#include "core/memory.h"
#include "fem/read_raw.h"

#include <string.h>

static cmg_status read_elements(cmgi_text *t, cmgi_raw *raw)
{
    static const cmgi_raw_kind kinds[8] = {CMGI_RAW_POINT, CMGI_RAW_LINE,   CMGI_RAW_TRI,
                                           CMGI_RAW_QUAD,  CMGI_RAW_TET,    CMGI_RAW_HEX,
                                           CMGI_RAW_PRISM, CMGI_RAW_PYRAMID};
    cmg_size count = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of elements", 0, cmgi_text_room(t, 5), &count));
    for (cmg_size k = 0; k < count; ++k) {
        cmg_size value = 0;
        cmgi_raw_element element = {.kind = CMGI_RAW_POINT};
        CMGI_TRY(cmgi_text_int(t, "an attribute", 0, INT32_MAX, &value));
        element.tag = (cmg_index)value;
        element.line = t->line;
        CMGI_TRY(cmgi_text_int(t, "a geometry type", 0, 7, &value));
        element.kind = kinds[value];
        for (int c = 0; c < cmgi_raw_corners(element.kind); ++c) {
            CMGI_TRY(cmgi_text_int(t, "a vertex number", 0, INT32_MAX, &value));
            element.node[c] = (cmg_index)value;
        }
        CMGI_TRY(cmgi_text_end_line(t, "an element"));
        CMGI_TRY(cmgi_raw_add_element(raw, &element));
    }
    return CMG_OK;
}

/* The number of vertices, then their dimension and places, unless nodes follow. */
static cmg_status read_vertices(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size count = 0;
    cmg_size dim = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of vertices", 1, cmgi_text_room(t, 1), &count));
    const char *mark = t->p;
    const cmg_size line = t->line;
    cmgi_text_word(t);
    const bool places = t->word[0] != 0 && strcmp(t->word, "nodes") != 0;
    t->p = mark;
    t->line = line;
    if (places) {
        CMGI_TRY(cmgi_text_int(t, "the dimension of space", 2, 3, &dim));
    }
    for (cmg_size v = 0; v < count; ++v) {
        double x[3] = {0, 0, 0};
        for (cmg_size d = 0; d < dim; ++d) {
            CMGI_TRY(cmgi_text_real(t, "a coordinate", &x[d]));
        }
        if (places) {
            CMGI_TRY(cmgi_text_end_line(t, "a vertex"));
        }
        CMGI_TRY(cmgi_raw_add_node(raw, v, x));
    }
    return CMG_OK;
}

/* All numbers from here on; *count of them in *list. */
static cmg_status read_numbers(cmgi_text *t, double **list, cmg_size *count)
{
    cmg_size room = cmgi_text_room(t, 2);
    CMGI_TRY(cmgi_alloc(t->ctx, room, sizeof **list, list));
    *count = 0;
    while (cmgi_text_more(t, false) && *count < room) {
        CMGI_TRY(cmgi_text_real(t, "a coordinate", &(*list)[*count]));
        ++*count;
    }
    return CMG_OK;
}

/* The space of the nodes; only spaces that begin with the vertices can give the corners. */
static cmg_status read_space(cmgi_text *t, cmg_size *dim, cmg_size *ordering, bool *curved)
{
    static const char *const vertex_first[] = {"H1_", "Linear", "Quadratic", "Cubic"};
    bool known = false;
    CMGI_TRY(cmgi_text_expect(t, "FiniteElementSpace"));
    CMGI_TRY(cmgi_text_expect(t, "FiniteElementCollection:"));
    cmgi_text_word(t);
    for (size_t k = 0; k < sizeof vertex_first / sizeof vertex_first[0]; ++k) {
        known = known || strncmp(t->word, vertex_first[k], strlen(vertex_first[k])) == 0;
    }
    if (!known) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                              "nodes in the space %.40s, which does not begin with the vertices",
                              t->word);
    }
    const size_t length = strlen(t->word);
    const bool order1 = length > 3 && strcmp(t->word + length - 3, "_P1") == 0;
    *curved = strcmp(t->word, "Linear") != 0 && !order1;
    CMGI_TRY(cmgi_text_expect(t, "VDim:"));
    CMGI_TRY(cmgi_text_int(t, "the dimension of space", 2, 3, dim));
    CMGI_TRY(cmgi_text_expect(t, "Ordering:"));
    return cmgi_text_int(t, "the ordering", 0, 1, ordering);
}

static cmg_status read_nodes(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size dim = 0;
    cmg_size ordering = 0;
    cmg_size count = 0;
    bool curved = false;
    double *list = NULL;
    CMGI_TRY(read_space(t, &dim, &ordering, &curved));
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, read_numbers(t, &list, &count));
    const cmg_size each = count / dim;
    if (count % dim != 0 || each < raw->nodes) {
        status = cmgi_text_fail(
            t, CMG_ERR_FILE, "%lld coordinates for %lld vertices and more nodes of dimension %lld",
            (long long)count, (long long)raw->nodes, (long long)dim);
        goto done;
    }
    for (cmg_size v = 0; v < raw->nodes; ++v) {
        for (cmg_size d = 0; d < dim; ++d) {
            raw->x[3 * v + d] = ordering == 0 ? list[d * each + v] : list[v * dim + d];
        }
    }
    raw->curved = curved ? raw->elements : 0;
done:
    cmgi_free(t->ctx, list);
    return status;
}

cmg_status cmgi_read_mfem(cmgi_text *t, cmgi_raw *raw)
{
    t->comment = '#';
    CMGI_TRY(cmgi_text_expect(t, "MFEM"));
    CMGI_TRY(cmgi_text_expect(t, "mesh"));
    cmgi_text_word(t);
    if (strcmp(t->word, "v1.0") != 0) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "MFEM mesh %.40s; v1.0 is read", t->word);
    }
    for (cmgi_text_word(t); t->word[0] != 0; cmgi_text_word(t)) {
        cmg_size dim = 0;
        if (strcmp(t->word, "dimension") == 0) {
            CMGI_TRY(cmgi_text_int(t, "the dimension", 2, 3, &dim));
        } else if (strcmp(t->word, "elements") == 0 || strcmp(t->word, "boundary") == 0) {
            CMGI_TRY(read_elements(t, raw));
        } else if (strcmp(t->word, "vertices") == 0 && raw->nodes == 0) {
            CMGI_TRY(read_vertices(t, raw));
        } else if (strcmp(t->word, "nodes") == 0 && raw->nodes > 0) {
            CMGI_TRY(read_nodes(t, raw));
        } else {
            return cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where a section is expected", t->word);
        }
    }
    if (raw->nodes == 0 || raw->elements == 0) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends without %s",
                              raw->nodes == 0 ? "vertices" : "elements");
    }
    return CMG_OK;
}
