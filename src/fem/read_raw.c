/* Growing lists of nodes, elements and names. */
#include "fem/read_raw.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int dim;
    int corners;
} kinds[CMGI_RAW_KINDS] = {
    [CMGI_RAW_POINT] = {"point", 0, 1},     [CMGI_RAW_LINE] = {"line", 1, 2},
    [CMGI_RAW_TRI] = {"triangle", 2, 3},    [CMGI_RAW_QUAD] = {"quadrilateral", 2, 4},
    [CMGI_RAW_TET] = {"tetrahedron", 3, 4}, [CMGI_RAW_HEX] = {"hexahedron", 3, 8},
    [CMGI_RAW_PRISM] = {"prism", 3, 6},     [CMGI_RAW_PYRAMID] = {"pyramid", 3, 5},
};

int cmgi_raw_dim(cmgi_raw_kind kind)
{
    return kinds[kind].dim;
}

int cmgi_raw_corners(cmgi_raw_kind kind)
{
    return kinds[kind].corners;
}

const char *cmgi_raw_kind_name(cmgi_raw_kind kind)
{
    return kinds[kind].name;
}

/* A longer copy of an array; the old one is freed. */
static cmg_status grow(cmg_context *ctx, void *array, cmg_size used, cmg_size room, size_t size)
{
    void *longer = NULL;
    CMGI_TRY(cmgi_alloc(ctx, room, size, &longer));
    void *old = *(void **)array;
    if (used > 0) {
        memcpy(longer, old, (size_t)used * size);
    }
    cmgi_free(ctx, old);
    *(void **)array = longer;
    return CMG_OK;
}

cmg_status cmgi_raw_add_node(cmgi_raw *raw, cmg_size tag, const double x[3])
{
    if (raw->nodes == raw->node_room) {
        const cmg_size room = 2 * raw->node_room + 64;
        CMGI_TRY(grow(raw->ctx, &raw->x, raw->nodes, room, 3 * sizeof *raw->x));
        CMGI_TRY(grow(raw->ctx, &raw->node_tag, raw->nodes, room, sizeof *raw->node_tag));
        raw->node_room = room;
    }
    memcpy(raw->x + 3 * raw->nodes, x, 3 * sizeof *x);
    raw->node_tag[raw->nodes++] = (cmg_index)tag;
    return CMG_OK;
}

cmg_status cmgi_raw_add_element(cmgi_raw *raw, const cmgi_raw_element *element)
{
    if (raw->elements == raw->element_room) {
        const cmg_size room = 2 * raw->element_room + 64;
        CMGI_TRY(grow(raw->ctx, &raw->element, raw->elements, room, sizeof *raw->element));
        raw->element_room = room;
    }
    raw->element[raw->elements++] = *element;
    return CMG_OK;
}

cmg_status cmgi_raw_add_name(cmgi_raw *raw, int dim, cmg_index tag, const char *name)
{
    if (raw->names == raw->name_room) {
        const cmg_size room = 2 * raw->name_room + 8;
        CMGI_TRY(grow(raw->ctx, &raw->name, raw->names, room, sizeof *raw->name));
        raw->name_room = room;
    }
    cmgi_raw_name *last = &raw->name[raw->names++];
    *last = (cmgi_raw_name){.dim = dim, .tag = tag};
    (void)snprintf(last->name, sizeof last->name, "%s", name);
    return CMG_OK;
}

void cmgi_raw_free(cmgi_raw *raw)
{
    CMGI_FREE(raw->ctx, raw->x, raw->node_tag, raw->element, raw->name);
    *raw = (cmgi_raw){0};
}
