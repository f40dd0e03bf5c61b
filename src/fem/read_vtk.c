/* VTK legacy files in text: unstructured grids, with the cell layout of versions up to 4 and of 5.
 */
#include "core/memory.h"
#include "fem/read_raw.h"

#include <string.h>

typedef struct grid {
    cmg_size cells;
    cmg_size entries; /* node numbers of all cells */
    cmg_size *start;  /* cells + 1 */
    cmg_size *line;   /* of each cell */
    cmg_index *node;
    cmg_index *type;
    cmg_index *label; /* NULL = no cell data that look like labels */
} grid;

static cmg_status read_points(cmgi_text *t, cmgi_raw *raw)
{
    cmg_size count = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of points", 1, cmgi_text_room(t, 6), &count));
    cmgi_text_word(t); /* type */
    for (cmg_size v = 0; v < count; ++v) {
        double x[3];
        for (int d = 0; d < 3; ++d) {
            CMGI_TRY(cmgi_text_real(t, "a coordinate", &x[d]));
        }
        CMGI_TRY(cmgi_raw_add_node(raw, v, x));
    }
    return CMG_OK;
}

/* Version 5: cells + 1 offsets, then the node numbers of all cells. */
static cmg_status read_offsets(cmgi_text *t, grid *g)
{
    cmgi_text_word(t); /* type */
    for (cmg_size c = 0; c <= g->cells; ++c) {
        const cmg_size low = c == 0 ? 0 : g->start[c - 1];
        CMGI_TRY(cmgi_text_int(t, "an offset", low, c == 0 ? 0 : g->entries, &g->start[c]));
    }
    CMGI_TRY(cmgi_text_expect(t, "CONNECTIVITY"));
    cmgi_text_word(t);
    for (cmg_size c = 0; c < g->cells; ++c) {
        for (cmg_size k = g->start[c]; k < g->start[c + 1]; ++k) {
            cmg_size node = 0;
            CMGI_TRY(cmgi_text_int(t, "a point number", 0, INT32_MAX, &node));
            g->node[k] = (cmg_index)node;
            g->line[c] = k == g->start[c] ? t->line : g->line[c];
        }
    }
    return CMG_OK;
}

/* Up to version 4: for each cell the number of its nodes and then these. */
static cmg_status read_counted(cmgi_text *t, grid *g)
{
    g->start[0] = 0;
    for (cmg_size c = 0; c < g->cells; ++c) {
        cmg_size count = 0;
        const cmg_size left = g->entries - g->start[c] - (c + 1);
        CMGI_TRY(cmgi_text_int(t, "the number of nodes of a cell", 1, left, &count));
        g->line[c] = t->line;
        g->start[c + 1] = g->start[c] + count;
        for (cmg_size k = g->start[c]; k < g->start[c + 1]; ++k) {
            cmg_size node = 0;
            CMGI_TRY(cmgi_text_int(t, "a point number", 0, INT32_MAX, &node));
            g->node[k] = (cmg_index)node;
        }
    }
    return CMG_OK;
}

static cmg_status read_cells(cmgi_text *t, grid *g)
{
    if (g->start != NULL) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "CELLS is duplicated");
    }
    CMGI_TRY(cmgi_text_int(t, "the number of cells", 1, cmgi_text_room(t, 4), &g->cells));
    CMGI_TRY(
        cmgi_text_int(t, "the length of the cell list", 1, cmgi_text_room(t, 1) + 1, &g->entries));
    CMGI_TRY(cmgi_alloc(t->ctx, g->cells + 1, sizeof *g->start, &g->start));
    CMGI_TRY(cmgi_alloc_zero(t->ctx, g->cells, sizeof *g->line, &g->line));
    CMGI_TRY(cmgi_alloc(t->ctx, g->entries, sizeof *g->node, &g->node));
    const char *mark = t->p;
    const cmg_size line = t->line;
    cmgi_text_word(t);
    if (strcmp(t->word, "OFFSETS") == 0) {
        --g->cells; /* version 5 counts the offsets */
        return read_offsets(t, g);
    }
    t->p = mark;
    t->line = line;
    return read_counted(t, g);
}

static cmg_status read_types(cmgi_text *t, grid *g)
{
    cmg_size count = 0;
    if (g->start == NULL || g->type != NULL) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "CELL_TYPES once, after CELLS, is expected");
    }
    CMGI_TRY(cmgi_text_int(t, "the number of cell types", g->cells, g->cells, &count));
    CMGI_TRY(cmgi_alloc(t->ctx, count, sizeof *g->type, &g->type));
    for (cmg_size c = 0; c < count; ++c) {
        cmg_size type = 0;
        CMGI_TRY(cmgi_text_int(t, "a cell type", 1, 255, &type));
        g->type[c] = (cmg_index)type;
    }
    return CMG_OK;
}

/* Names under which programs write labels. */
static bool names_labels(const char *name)
{
    static const char *const known[] = {"attribute", "label",         "labels",   "region",
                                        "material",  "CellEntityIds", "physical", "gmsh:physical",
                                        "marker",    "boundary",      "medit:ref"};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
        if (cmgi_text_same(name, known[k])) {
            return true;
        }
    }
    return false;
}

/* One array of cell data: labels, if there are none yet, or passed over. */
static cmg_status read_array(cmgi_text *t, grid *g, bool labels, cmg_size values)
{
    labels = labels && g->label == NULL && values == g->cells;
    if (labels) {
        CMGI_TRY(cmgi_alloc_zero(t->ctx, g->cells, sizeof *g->label, &g->label));
    }
    for (cmg_size k = 0; k < values; ++k) {
        cmg_size value = 0;
        if (labels) {
            CMGI_TRY(cmgi_text_int(t, "a label", -INT32_MAX, INT32_MAX, &value));
            g->label[k] = (cmg_index)value;
        } else {
            cmgi_text_word(t);
        }
    }
    return CMG_OK;
}

/* "SCALARS name type [components]", "LOOKUP_TABLE name", values */
static cmg_status read_scalars(cmgi_text *t, grid *g)
{
    cmg_size components = 1;
    cmgi_text_word(t);
    const bool labels = names_labels(t->word);
    cmgi_text_word(t);
    if (cmgi_text_more(t, true)) {
        CMGI_TRY(cmgi_text_int(t, "the number of components", 1, 9, &components));
    }
    CMGI_TRY(cmgi_text_expect(t, "LOOKUP_TABLE"));
    cmgi_text_word(t);
    return read_array(t, g, labels, components * g->cells);
}

/* "FIELD name arrays", then for each "name components tuples type" and values */
static cmg_status read_field(cmgi_text *t, grid *g)
{
    cmg_size arrays = 0;
    cmgi_text_word(t);
    CMGI_TRY(cmgi_text_int(t, "the number of arrays", 0, cmgi_text_room(t, 4), &arrays));
    for (cmg_size k = 0; k < arrays; ++k) {
        cmg_size components = 0;
        cmg_size tuples = 0;
        cmgi_text_word(t);
        const bool labels = names_labels(t->word);
        CMGI_TRY(cmgi_text_int(t, "the number of components", 1, 1000, &components));
        CMGI_TRY(cmgi_text_int(t, "the number of tuples", 0, cmgi_text_room(t, 1), &tuples));
        cmgi_text_word(t);
        CMGI_TRY(read_array(t, g, labels, components * tuples));
    }
    return CMG_OK;
}

/* What follows CELL_DATA, as far as it is understood; point data end it. */
static cmg_status read_cell_data(cmgi_text *t, grid *g)
{
    cmg_size count = 0;
    CMGI_TRY(cmgi_text_int(t, "the number of cell data", g->cells, g->cells, &count));
    while (cmgi_text_more(t, false)) {
        cmgi_text_word(t);
        if (strcmp(t->word, "SCALARS") == 0) {
            CMGI_TRY(read_scalars(t, g));
        } else if (strcmp(t->word, "FIELD") == 0) {
            CMGI_TRY(read_field(t, g));
        } else {
            return CMG_OK;
        }
    }
    return CMG_OK;
}

/* Corners of VTK cell types and whether pixels and voxels need turning to ring order. */
static bool kind_of(cmg_index type, cmgi_raw_kind *kind)
{
    switch (type) {
    case 1:
        *kind = CMGI_RAW_POINT;
        return true;
    case 3:
    case 21:
        *kind = CMGI_RAW_LINE;
        return true;
    case 5:
    case 22:
        *kind = CMGI_RAW_TRI;
        return true;
    case 8:
    case 9:
    case 23:
    case 28:
        *kind = CMGI_RAW_QUAD;
        return true;
    case 10:
    case 24:
        *kind = CMGI_RAW_TET;
        return true;
    case 11:
    case 12:
    case 25:
    case 29:
        *kind = CMGI_RAW_HEX;
        return true;
    case 13:
        *kind = CMGI_RAW_PRISM;
        return true;
    case 14:
        *kind = CMGI_RAW_PYRAMID;
        return true;
    default:
        return false;
    }
}

static cmg_status add_cell(cmgi_text *t, const grid *g, cmg_size c, cmgi_raw *raw)
{
    static const int ring[8] = {0, 1, 3, 2, 4, 5, 7, 6};
    const cmg_size count = g->start[c + 1] - g->start[c];
    const bool tensor = g->type[c] == 8 || g->type[c] == 11;
    cmgi_raw_element element = {.line = g->line[c]};
    t->line = g->line[c];
    if (!kind_of(g->type[c], &element.kind)) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                              "cell %lld has VTK type %d, which is not read", (long long)c,
                              (int)g->type[c]);
    }
    const int corners = cmgi_raw_corners(element.kind);
    const bool linear = g->type[c] < 20;
    if (count < corners || (linear && count != corners)) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "cell %lld, a %s, has %lld nodes", (long long)c,
                              cmgi_raw_kind_name(element.kind), (long long)count);
    }
    for (int k = 0; k < corners; ++k) {
        element.node[k] = g->node[g->start[c] + (tensor ? ring[k] : k)];
    }
    element.tag = g->label != NULL ? g->label[c] : 0;
    raw->curved += !linear;
    return cmgi_raw_add_element(raw, &element);
}

static cmg_status read_grid(cmgi_text *t, cmgi_raw *raw, grid *g)
{
    for (cmgi_text_word(t); t->word[0] != 0; cmgi_text_word(t)) {
        if (strcmp(t->word, "POINTS") == 0 && raw->nodes == 0) {
            CMGI_TRY(read_points(t, raw));
        } else if (strcmp(t->word, "CELLS") == 0) {
            CMGI_TRY(read_cells(t, g));
        } else if (strcmp(t->word, "CELL_TYPES") == 0) {
            CMGI_TRY(read_types(t, g));
        } else if (strcmp(t->word, "CELL_DATA") == 0 && g->type != NULL) {
            CMGI_TRY(read_cell_data(t, g));
        } else if (strcmp(t->word, "FIELD") == 0 && g->start == NULL) {
            grid none = {0}; /* facts about the data set before the points */
            CMGI_TRY(read_field(t, &none));
        } else if (g->type == NULL) {
            return cmgi_text_fail(t, CMG_ERR_FILE,
                                  "'%.60s' where POINTS, CELLS or CELL_TYPES is expected", t->word);
        } /* else: point data and the rest do not matter */
    }
    if (raw->nodes == 0 || g->type == NULL) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends without %s",
                              raw->nodes == 0 ? "POINTS" : "CELL_TYPES");
    }
    const cmg_size line = t->line;
    for (cmg_size c = 0; c < g->cells; ++c) {
        CMGI_TRY(add_cell(t, g, c, raw));
    }
    t->line = line;
    return CMG_OK;
}

cmg_status cmgi_read_vtk(cmgi_text *t, cmgi_raw *raw)
{
    cmgi_text_skip_line(t);
    cmgi_text_skip_line(t); /* title */
    cmgi_text_word(t);
    if (!cmgi_text_same(t->word, "ASCII")) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "a legacy VTK file in %.20s; ASCII is read",
                              t->word);
    }
    CMGI_TRY(cmgi_text_expect(t, "DATASET"));
    cmgi_text_word(t);
    if (!cmgi_text_same(t->word, "UNSTRUCTURED_GRID")) {
        return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED, "data set %.40s; UNSTRUCTURED_GRID is read",
                              t->word);
    }
    grid g = {0};
    const cmg_status status = read_grid(t, raw, &g);
    cmgi_free(t->ctx, g.start);
    cmgi_free(t->ctx, g.line);
    cmgi_free(t->ctx, g.node);
    cmgi_free(t->ctx, g.type);
    cmgi_free(t->ctx, g.label);
    return status;
}
