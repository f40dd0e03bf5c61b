/* Growing lists of nodes, elements and names. */
#include "fem/read_raw.h"

#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <stdio.h>

const cmgi_raw_shape *cmgi_raw_shape_of(cmgi_raw_kind kind)
{
    static const cmgi_raw_shape shapes[CMGI_RAW_KINDS] = {
        [CMGI_RAW_POINT] = {"point", 0, 1, false, 0, 0},
        [CMGI_RAW_LINE] = {"line", 1, 2, false, 0, 0},
        [CMGI_RAW_TRI] = {"triangle", 2, 3, true, CMGI_TRI, CMGI_RAW_LINE},
        [CMGI_RAW_QUAD] = {"quadrilateral", 2, 4, true, CMGI_QUAD, CMGI_RAW_LINE},
        [CMGI_RAW_TET] = {"tetrahedron", 3, 4, true, CMGI_TET, CMGI_RAW_TRI},
        [CMGI_RAW_HEX] = {"hexahedron", 3, 8, true, CMGI_HEX, CMGI_RAW_QUAD},
        [CMGI_RAW_PRISM] = {"prism", 3, 6, false, 0, 0},
        [CMGI_RAW_PYRAMID] = {"pyramid", 3, 5, false, 0, 0},
    };
    return &shapes[kind];
}

/* The item after the last of an array; NULL after a failure. */
static void *next(cmgi_text *t, void *array, cmg_size *count, size_t size)
{
    if (t->status == CMG_OK) {
        t->status = cmgi_hierarchy_grow(t->ctx, array, *count, size);
    }
    return t->status == CMG_OK ? *(char **)array + (size_t)(*count)++ * size : NULL;
}

void cmgi_raw_add_node(cmgi_raw *raw, cmg_size tag, const double x[3])
{
    cmgi_raw_node *last = next(raw->text, &raw->node, &raw->nodes, sizeof *raw->node);
    if (last != NULL) {
        *last = (cmgi_raw_node){{x[0], x[1], x[2]}, (cmg_index)tag};
    }
}

void cmgi_raw_add_element(cmgi_raw *raw, const cmgi_raw_element *element)
{
    cmgi_raw_element *last = next(raw->text, &raw->element, &raw->elements, sizeof *raw->element);
    if (last != NULL) {
        *last = *element;
    }
}

void cmgi_raw_add_name(cmgi_raw *raw, int dim, cmg_index tag, const char *name)
{
    cmgi_raw_name *last = next(raw->text, &raw->name, &raw->names, sizeof *raw->name);
    if (last != NULL) {
        *last = (cmgi_raw_name){.dim = dim, .tag = tag};
        (void)snprintf(last->name, sizeof last->name, "%s", name);
    }
}

void cmgi_raw_free(cmgi_raw *raw)
{
    CMGI_FREE(raw->text->ctx, raw->node, raw->element, raw->name);
    *raw = (cmgi_raw){0};
}
