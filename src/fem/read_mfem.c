/* MFEM mesh v1.0: sections dimension, elements, boundary, vertices and, for curved meshes, nodes.
 */
#include "core/memory.h"
#include "fem/read_raw.h"

#include <string.h>

static void read_elements(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size left = cmgi_text_int(t, "the number of elements", 0, cmgi_text_room(t, 5));
    for (; left > 0 && t->status == CMG_OK; --left) {
        cmgi_raw_element element = {.kind = CMGI_RAW_POINT};
        element.tag = (cmg_index)cmgi_text_int(t, "an attribute", 0, INT32_MAX);
        element.line = t->line;
        element.kind = (cmgi_raw_kind)cmgi_text_int(t, "a geometry type", 0, CMGI_RAW_KINDS - 1);
        for (int c = 0; c < cmgi_raw_shape_of(element.kind)->corners; ++c) {
            element.node[c] = (cmg_index)cmgi_text_int(t, "a vertex number", 0, INT32_MAX);
        }
        cmgi_text_end_line(t, "an element");
        cmgi_raw_add(t, &raw->element, &raw->elements, sizeof element, &element);
    }
}

/* The number of vertices, then their dimension and places, unless nodes follow. */
static void read_vertices(cmgi_text *t, cmgi_raw *raw)
{
    const cmg_size count = cmgi_text_int(t, "the number of vertices", 1, cmgi_text_room(t, 1));
    const char *mark = t->p;
    const cmg_size line = t->line;
    cmgi_text_word(t);
    const bool places = t->word[0] != 0 && strcmp(t->word, "nodes") != 0;
    t->p = mark;
    t->line = line;
    const cmg_size dim = places ? cmgi_text_int(t, "the dimension of space", 2, 3) : 0;
    for (cmg_size v = 0; v < count && t->status == CMG_OK; ++v) {
        cmgi_raw_node node = {.tag = (cmg_index)v};
        for (cmg_size d = 0; d < dim; ++d) {
            node.x[d] = cmgi_text_real(t, "a coordinate");
        }
        if (places) {
            cmgi_text_end_line(t, "a vertex");
        }
        cmgi_raw_add(t, &raw->node, &raw->nodes, sizeof node, &node);
    }
}

/* The space of the nodes; only spaces that begin with the vertices can give the corners. */
static void read_space(cmgi_text *t, cmg_size *dim, cmg_size *ordering, bool *curved)
{
    static const char *const vertex_first[] = {"H1_", "Linear", "Quadratic", "Cubic"};
    bool known = false;
    cmgi_text_expect(t, "FiniteElementSpace");
    cmgi_text_expect(t, "FiniteElementCollection:");
    cmgi_text_word(t);
    for (size_t k = 0; k < sizeof vertex_first / sizeof vertex_first[0]; ++k) {
        known = known || strncmp(t->word, vertex_first[k], strlen(vertex_first[k])) == 0;
    }
    CMGI_TEXT_CHECK(t, known, CMG_ERR_UNSUPPORTED,
                    "nodes in the space %.40s, which does not begin with the vertices", t->word);
    const size_t length = strlen(t->word);
    const bool order1 = length > 3 && strcmp(t->word + length - 3, "_P1") == 0;
    *curved = strcmp(t->word, "Linear") != 0 && !order1;
    cmgi_text_expect(t, "VDim:");
    *dim = cmgi_text_int(t, "the dimension of space", 2, 3);
    cmgi_text_expect(t, "Ordering:");
    *ordering = cmgi_text_int(t, "the ordering", 0, 1);
}

static void read_nodes(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size dim = 0;
    cmg_size ordering = 0;
    cmg_size count = 0;
    bool curved = false;
    cmgi_scoped double *list = NULL;
    read_space(t, &dim, &ordering, &curved);
    const cmg_size room = cmgi_text_room(t, 2);
    if (t->status == CMG_OK) {
        t->status = cmgi_alloc(t->ctx, room, sizeof *list, &list);
    }
    for (; t->status == CMG_OK && cmgi_text_more(t, false) && count < room; ++count) {
        list[count] = cmgi_text_real(t, "a coordinate");
    }
    const cmg_size each = count / dim;
    CMGI_TEXT_CHECK(t, count % dim == 0 && each >= raw->nodes, CMG_ERR_FILE,
                    "%lld coordinates for %lld vertices and more nodes of dimension %lld",
                    (long long)count, (long long)raw->nodes, (long long)dim);
    for (cmg_size v = 0; v < raw->nodes && t->status == CMG_OK; ++v) {
        for (cmg_size d = 0; d < dim; ++d) {
            raw->node[v].x[d] = ordering == 0 ? list[d * each + v] : list[v * dim + d];
        }
    }
    raw->curved = curved ? raw->elements : 0;
}

void cmgi_read_mfem(cmgi_raw *raw)
{
    cmgi_text *t = raw->text;
    t->comment = '#';
    cmgi_text_expect(t, "MFEM");
    cmgi_text_expect(t, "mesh");
    cmgi_text_word(t);
    CMGI_TEXT_CHECK(t, strcmp(t->word, "v1.0") == 0, CMG_ERR_UNSUPPORTED,
                    "MFEM mesh %.40s; v1.0 is read", t->word);
    for (cmgi_text_word(t); t->word[0] != 0; cmgi_text_word(t)) {
        if (strcmp(t->word, "dimension") == 0) {
            (void)cmgi_text_int(t, "the dimension", 2, 3);
        } else if (strcmp(t->word, "elements") == 0 || strcmp(t->word, "boundary") == 0) {
            read_elements(t, raw);
        } else if (strcmp(t->word, "vertices") == 0 && raw->nodes == 0) {
            read_vertices(t, raw);
        } else if (strcmp(t->word, "nodes") == 0 && raw->nodes > 0) {
            read_nodes(t, raw);
        } else {
            (void)cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where a section is expected", t->word);
        }
    }
    CMGI_TEXT_CHECK(t, raw->nodes > 0 && raw->elements > 0, CMG_ERR_FILE,
                    "the file ends without %s", raw->nodes == 0 ? "vertices" : "elements");
}
