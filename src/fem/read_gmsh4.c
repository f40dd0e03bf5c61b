/* gmsh .msh, version 4.1: nodes and elements in blocks by geometric entity, which carries the
 * groups. */
#include "core/memory.h"
#include "fem/read_raw.h"

static cmg_index group_of(const cmgi_gmsh_entities *all, cmg_size dim, cmg_size tag)
{
    for (cmg_size k = 0; k < all->count[dim]; ++k) {
        if (all->list[dim][k].tag == tag) {
            return all->list[dim][k].group;
        }
    }
    return 0;
}

/* tag, box (a point: its place), groups, and the entities that bound it */
static cmg_status read_entity(cmgi_text *t, int dim, cmgi_gmsh_entity *e)
{
    cmg_size value = 0;
    cmg_size count = 0;
    double ignored = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of an entity", -INT32_MAX, INT32_MAX, &value));
    *e = (cmgi_gmsh_entity){.tag = (cmg_index)value};
    for (int k = 0; k < (dim == 0 ? 3 : 6); ++k) {
        CMGI_TRY(cmgi_text_real(t, "the extent of an entity", &ignored));
    }
    CMGI_TRY(cmgi_text_size(t, "a number of groups", 0, cmgi_text_room(t, 2), &count));
    for (cmg_size k = 0; k < count; ++k) {
        CMGI_TRY(cmgi_text_int(t, "a group", -INT32_MAX, INT32_MAX, &value));
        e->group = k == 0 ? (cmg_index)(value < 0 ? -value : value) : e->group;
    }
    if (dim > 0) {
        CMGI_TRY(cmgi_text_size(t, "a number of bounds", 0, cmgi_text_room(t, 2), &count));
        for (cmg_size k = 0; k < count; ++k) {
            CMGI_TRY(cmgi_text_int(t, "a bound", -INT32_MAX, INT32_MAX, &value));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_gmsh4_entities(cmgi_text *t, cmgi_gmsh_entities *all)
{
    for (int dim = 0; dim < 4; ++dim) {
        CMGI_TRY(
            cmgi_text_size(t, "a number of entities", 0, cmgi_text_room(t, 8), &all->count[dim]));
    }
    for (int dim = 0; dim < 4; ++dim) {
        CMGI_CHECK(t->ctx, all->list[dim] == NULL, CMG_ERR_FILE, "%s: $Entities is duplicated",
                   t->path);
        CMGI_TRY(cmgi_alloc(t->ctx, all->count[dim], sizeof *all->list[dim], &all->list[dim]));
        for (cmg_size k = 0; k < all->count[dim]; ++k) {
            CMGI_TRY(read_entity(t, dim, &all->list[dim][k]));
        }
    }
    return CMG_OK;
}

/* blocks, items, lowest and highest number */
static cmg_status read_head(cmgi_text *t, const char *what, cmg_size *blocks, cmg_size *items)
{
    cmg_size bound = 0;
    CMGI_TRY(cmgi_text_size(t, "a number of blocks", 0, cmgi_text_room(t, 6), blocks));
    CMGI_TRY(cmgi_text_size(t, what, 1, cmgi_text_room(t, 2), items));
    CMGI_TRY(cmgi_text_size(t, "the lowest number", 0, INT32_MAX, &bound));
    return cmgi_text_size(t, "the highest number", 0, INT32_MAX, &bound);
}

/* A block has first the numbers of its nodes, then their places, with parameters if it says so. */
static cmg_status read_node_block(cmgi_text *t, cmgi_raw *raw, cmg_size left, cmg_size *count)
{
    cmg_size dim = 0;
    cmg_size tag = 0;
    cmg_size parametric = 0;
    CMGI_TRY(cmgi_text_int(t, "the dimension of a block", 0, 3, &dim));
    CMGI_TRY(cmgi_text_int(t, "the entity of a block", -INT32_MAX, INT32_MAX, &tag));
    CMGI_TRY(cmgi_text_int(t, "whether a block is parametric", 0, 1, &parametric));
    CMGI_TRY(cmgi_text_size(t, "the nodes in a block", 0, left, count));
    const double none[3] = {0, 0, 0};
    const cmg_size first = raw->nodes;
    for (cmg_size k = 0; k < *count; ++k) {
        CMGI_TRY(cmgi_text_size(t, "a node number", 1, INT32_MAX, &tag));
        CMGI_TRY(cmgi_raw_add_node(raw, tag, none));
    }
    for (cmg_size k = 0; k < *count; ++k) {
        double ignored = 0;
        for (int d = 0; d < 3; ++d) {
            CMGI_TRY(cmgi_text_real(t, "a coordinate", &raw->x[3 * (first + k) + d]));
        }
        for (cmg_size d = 0; parametric && d < dim; ++d) {
            CMGI_TRY(cmgi_text_real(t, "a parameter", &ignored));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_gmsh4_nodes(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size blocks = 0;
    cmg_size nodes = 0;
    CMGI_TRY(read_head(t, "the number of nodes", &blocks, &nodes));
    for (cmg_size b = 0; b < blocks; ++b) {
        cmg_size count = 0;
        CMGI_TRY(read_node_block(t, raw, nodes, &count));
        nodes -= count;
    }
    if (nodes != 0) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%lld nodes fewer than announced", (long long)nodes);
    }
    return CMG_OK;
}

static cmg_status read_element_block(cmgi_text *t, cmgi_raw *raw, const cmgi_gmsh_entities *all,
                                     cmg_size left, cmg_size *count)
{
    cmg_size dim = 0;
    cmg_size tag = 0;
    cmg_size type = 0;
    CMGI_TRY(cmgi_text_int(t, "the dimension of a block", 0, 3, &dim));
    CMGI_TRY(cmgi_text_int(t, "the entity of a block", -INT32_MAX, INT32_MAX, &tag));
    CMGI_TRY(cmgi_text_int(t, "an element type", 1, 255, &type));
    CMGI_TRY(cmgi_text_size(t, "the elements in a block", 0, left, count));
    cmgi_raw_element element = {.entity = (cmg_index)tag, .tag = group_of(all, dim, tag)};
    const int nodes = cmgi_gmsh_type(type, &element.kind);
    if (nodes == 0) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "element type %lld is not known",
                              (long long)type);
    }
    for (cmg_size k = 0; k < *count; ++k) {
        cmg_size number = 0;
        CMGI_TRY(cmgi_text_size(t, "an element number", 1, INT32_MAX, &number));
        element.line = t->binary ? 0 : t->line;
        CMGI_TRY(cmgi_gmsh_corners(t, raw, nodes, true, &element));
        if (!t->binary) {
            CMGI_TRY(cmgi_text_end_line(t, "an element"));
        }
        CMGI_TRY(cmgi_raw_add_element(raw, &element));
    }
    return CMG_OK;
}

cmg_status cmgi_gmsh4_elements(cmgi_text *t, cmgi_raw *raw, const cmgi_gmsh_entities *all)
{
    cmg_size blocks = 0;
    cmg_size elements = 0;
    CMGI_TRY(read_head(t, "the number of elements", &blocks, &elements));
    for (cmg_size b = 0; b < blocks; ++b) {
        cmg_size count = 0;
        CMGI_TRY(read_element_block(t, raw, all, elements, &count));
        elements -= count;
    }
    if (elements != 0) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%lld elements fewer than announced",
                              (long long)elements);
    }
    return CMG_OK;
}
