/*
 * Raw nodes and elements, and from them a mesh: numbers resolved, unused nodes left out, cells
 * turned positive, facets found and labelled, everything checked.
 */
#include "fem/read_raw.h"

#include "core/memory.h"
#include "core/order.h"
#include "fem/locate.h"
#include "fem/mesh_geometry.h"
#include "hierarchy/hierarchy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void cmgi_raw_add(cmgi_text *t, void *list, cmg_size *count, size_t size, const void *item)
{
    if (t->status == CMG_OK) {
        t->status = cmgi_hierarchy_grow(t->ctx, list, *count, size);
    }
    if (t->status == CMG_OK) {
        memcpy(*(char **)list + (size_t)(*count)++ * size, item, size);
    }
}

void cmgi_raw_free(cmgi_raw *raw)
{
    CMGI_FREE(raw->text->ctx, raw->node, raw->element, raw->name);
    *raw = (cmgi_raw){0};
}

/* Sorted and searched by tag. */
typedef struct tag_at {
    cmg_index tag;
    cmg_index at;
} tag_at;

static cmg_index find_tag(const tag_at *list, cmg_size count, cmg_index tag)
{
    /* files mostly number their nodes without gaps */
    if (count > 0 && tag >= list[0].tag && tag - list[0].tag < count &&
        list[tag - list[0].tag].tag == tag) {
        return list[tag - list[0].tag].at;
    }
    const tag_at *found = bsearch(&tag, list, (size_t)count, sizeof *list, cmgi_ascending_index);
    return found != NULL ? found->at : -1;
}

/* Element nodes become positions in the node list. */
static cmg_status resolve(cmgi_raw *raw)
{
    cmgi_text *t = raw->text;
    CMGI_SCOPED(t->ctx, raw->nodes, tag_at, list);
    for (cmg_size v = 0; v < raw->nodes; ++v) {
        list[v] = (tag_at){raw->node[v].tag, (cmg_index)v};
    }
    qsort(list, (size_t)raw->nodes, sizeof *list, cmgi_ascending_index);
    for (cmg_size v = 1; v < raw->nodes; ++v) {
        CMGI_CHECK(t->ctx, list[v].tag != list[v - 1].tag, CMG_ERR_FILE,
                   "%s: node number %d is given twice", t->path, (int)list[v].tag);
    }
    for (cmg_size e = 0; e < raw->elements; ++e) {
        cmgi_raw_element *element = &raw->element[e];
        for (int k = 0; k < cmgi_raw_shape_of(element->kind)->corners; ++k) {
            const cmg_index at = find_tag(list, raw->nodes, element->node[k]);
            if (at < 0) {
                t->line = element->line;
                return cmgi_text_fail(t, CMG_ERR_FILE, "%s with node %d, which is not defined",
                                      cmgi_raw_shape_of(element->kind)->name,
                                      (int)element->node[k]);
            }
            element->node[k] = at;
        }
    }
    return CMG_OK;
}

/* The one kind of the highest dimension. */
static cmg_status choose_cells(const cmgi_raw *raw, cmgi_raw_kind *kind, cmg_size *cells)
{
    cmgi_text *t = raw->text;
    cmg_size count[CMGI_RAW_KINDS] = {0};
    cmg_size line[CMGI_RAW_KINDS] = {0};
    int top = 0;
    for (cmg_size e = 0; e < raw->elements; ++e) {
        const cmgi_raw_kind k = raw->element[e].kind;
        const int dim = cmgi_raw_shape_of(k)->dim;
        line[k] = count[k]++ == 0 ? raw->element[e].line : line[k];
        top = dim > top ? dim : top;
    }
    CMGI_CHECK(t->ctx, top >= 2, CMG_ERR_FILE,
               "%s: no cells of dimension 2 or 3 among %lld elements", t->path,
               (long long)raw->elements);
    *cells = 0;
    for (int k = 0; k < CMGI_RAW_KINDS; ++k) {
        const cmgi_raw_shape *shape = cmgi_raw_shape_of((cmgi_raw_kind)k);
        if (count[k] == 0 || shape->dim != top) {
            continue;
        }
        t->line = line[k];
        if (!shape->is_cell) {
            return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                                  "a %s; cells may be quads, triangles, hexes or tets",
                                  shape->name);
        }
        if (*cells > 0) {
            return cmgi_text_fail(
                t, CMG_ERR_UNSUPPORTED,
                "a mixed mesh: %lld x %s and, from here, %lld x %s; a mesh has one cell type",
                (long long)*cells, cmgi_raw_shape_of(*kind)->name, (long long)count[k],
                shape->name);
        }
        *kind = (cmgi_raw_kind)k;
        *cells = count[k];
    }
    return CMG_OK;
}

static cmg_status copy_nodes(const cmgi_raw *raw, const cmg_index *number, cmgi_mesh *mesh)
{
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    double size = 0;
    for (cmg_size v = 0; v < raw->nodes; ++v) {
        const double *x = raw->node[v].x;
        if (number[v] < 0) {
            continue;
        }
        low = fmin(low, x[2]);
        high = fmax(high, x[2]);
        size = fmax(size, fmax(fabs(x[0]), fabs(x[1])));
        memcpy(mesh->x + (cmg_size)number[v] * mesh->dim, x, (size_t)mesh->dim * sizeof *x);
    }
    CMGI_CHECK(
        mesh->ctx, mesh->dim == 3 || high - low <= 1e-10 * size, CMG_ERR_UNSUPPORTED,
        "%s: a surface in space: z goes from %g to %g; 2D meshes lie in a plane z = constant",
        raw->text->path, low, high);
    return CMG_OK;
}

/* Sides are listed by node in room for cells of different corners: no other cell gets that far. */
static cmg_status copy_cells(const cmgi_raw *raw, cmgi_raw_kind kind, const cmg_index *number,
                             cmgi_mesh *mesh)
{
    const unsigned char *corner = /* in files, quads and hexes have theirs as VTK has */
        cmgi_vtk_order((cmgi_basis){cmgi_cell_simplex(mesh->cell), 1, mesh->dim});
    const int corners = cmgi_raw_shape_of(kind)->corners;
    cmg_size cell = 0;
    for (cmg_size e = 0; e < raw->elements; ++e) {
        const cmgi_raw_element *element = &raw->element[e];
        if (element->kind != kind) {
            continue;
        }
        for (int k = 0; k < corners; ++k) {
            for (int i = 0; i < k; ++i) {
                if (element->node[i] == element->node[k]) {
                    raw->text->line = element->line;
                    return cmgi_text_fail(raw->text, CMG_ERR_SHAPE,
                                          "cell %lld is degenerate: it has node %d twice",
                                          (long long)cell, (int)raw->node[element->node[k]].tag);
                }
            }
            mesh->cell_nodes[cell * corners + k] = number[element->node[corner[k]]];
        }
        ++cell;
    }
    return CMG_OK;
}

/* Facet elements with a tag, all of whose nodes are in the mesh, which has room for them. */
static void copy_facets(const cmgi_raw *raw, cmgi_raw_kind kind, const cmg_index *number,
                        cmgi_mesh *mesh)
{
    const int corners = cmgi_raw_shape_of(kind)->corners;
    mesh->facets = 0;
    for (cmg_size e = 0; e < raw->elements; ++e) {
        const cmgi_raw_element *element = &raw->element[e];
        cmg_index *node = mesh->facet_nodes + mesh->facets * corners;
        bool inside = element->kind == kind && element->tag != 0;
        for (int k = 0; inside && k < corners; ++k) {
            node[k] = number[element->node[k]];
            inside = node[k] >= 0;
        }
        if (inside) {
            mesh->facet_label[mesh->facets++] = element->tag;
        }
    }
}

/* Replaces the `count` tags by numbers in `label`, in order of the tags. */
static cmg_status number_tags(const cmgi_raw *raw, int dim, cmg_size count, cmg_index *tag,
                              cmgi_label **label, cmg_index *labels)
{
    cmg_context *ctx = raw->text->ctx;
    CMGI_SCOPED(ctx, count, tag_at, list);
    for (cmg_size k = 0; k < count; ++k) {
        list[k] = (tag_at){tag[k], (cmg_index)k};
    }
    qsort(list, (size_t)count, sizeof *list, cmgi_ascending_index);
    for (cmg_size k = 0; k < count; ++k) {
        const cmg_index t = list[k].tag;
        if (t != 0 && (k == 0 || t != list[k - 1].tag)) {
            cmg_size n = 0;
            while (n < raw->names && (raw->name[n].tag != t || raw->name[n].dim != dim)) {
                ++n;
            }
            const char *name = n < raw->names ? raw->name[n].name : NULL;
            CMGI_TRY(cmgi_label_add(ctx, t, name, label, labels));
        }
        tag[list[k].at] = t == 0 ? 0 : *labels - 1;
    }
    return CMG_OK;
}

static cmg_status copy_regions(const cmgi_raw *raw, cmgi_raw_kind kind, cmgi_mesh *mesh)
{
    cmg_size c = 0;
    bool any = false;
    CMGI_SCOPED(mesh->ctx, mesh->cells, cmg_index, tags);
    for (cmg_size e = 0; e < raw->elements; ++e) {
        if (raw->element[e].kind == kind) {
            any = any || raw->element[e].tag != 0;
            tags[c++] = raw->element[e].tag;
        }
    }
    if (!any) {
        return CMG_OK;
    }
    mesh->cell_label = cmgi_pass_on(&tags);
    return number_tags(raw, mesh->dim, mesh->cells, mesh->cell_label, &mesh->region,
                       &mesh->regions);
}

static void add_note(cmgi_mesh *mesh, cmg_size count, const char *text)
{
    if (count > 0) {
        cmgi_append(mesh->note, sizeof mesh->note, "%s%lld %s", mesh->note[0] != '\0' ? "; " : "",
                    (long long)count, text);
    }
}

/* Checks the mesh; a fault of a cell is reported at its line in the file. */
static cmg_status check(const cmgi_raw *raw, cmgi_raw_kind kind, const cmgi_mesh *mesh)
{
    cmgi_text *t = raw->text;
    cmgi_mesh_report report;
    const cmg_status status = cmgi_mesh_check(mesh, &report);
    if (status == CMG_OK || status == CMG_ERR_MEMORY) {
        return status;
    }
    char reason[400];
    (void)snprintf(reason, sizeof reason, "%.399s", t->ctx->message);
    cmg_size cell = -1;
    t->line = 0;
    for (cmg_size e = 0; e < raw->elements && cell < report.fault_cell; ++e) {
        cell += raw->element[e].kind == kind;
        t->line = raw->element[e].line;
    }
    return cmgi_text_fail(t, status, "%s", reason);
}

cmg_status cmgi_raw_finish(cmgi_raw *raw, cmgi_mesh **mesh)
{
    cmg_context *ctx = raw->text->ctx;
    cmgi_raw_kind kind = CMGI_RAW_TRI;
    cmg_size cells = 0;
    cmg_size dropped = 0;
    cmg_size turned = 0;
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *m = NULL;
    CMGI_TRY(resolve(raw));
    CMGI_TRY(choose_cells(raw, &kind, &cells));
    CMGI_SCOPED(ctx, raw->nodes, cmg_index, number);
    const cmgi_raw_shape *shape = cmgi_raw_shape_of(kind);
    cmg_size nodes = 0;
    cmg_size entities = 0;
    bool tagged = false;
    memset(number, 0, (size_t)raw->nodes * sizeof *number);
    for (cmg_size e = 0; e < raw->elements; ++e) {
        const cmgi_raw_element *element = &raw->element[e];
        tagged = tagged || element->tag != 0;
        for (int k = 0; element->kind == kind && k < shape->corners; ++k) {
            number[element->node[k]] = 1;
        }
    }
    for (cmg_size v = 0; v < raw->nodes; ++v) { /* of those that cells use; -1 for the others */
        number[v] = number[v] != 0 ? (cmg_index)nodes++ : -1;
    }
    for (cmg_size e = 0; e < raw->elements && !tagged; ++e) { /* by their geometric entities */
        raw->element[e].tag = raw->element[e].entity;
        entities += raw->element[e].entity != 0;
    }
    CMGI_TRY(cmgi_mesh_create(ctx, shape->cell, nodes, cells, raw->elements - cells, &m));
    CMGI_TRY(copy_nodes(raw, number, m));
    CMGI_TRY(copy_cells(raw, kind, number, m));
    copy_facets(raw, shape->facet, number, m);
    CMGI_TRY(number_tags(raw, m->dim - 1, m->facets, m->facet_label, &m->label, &m->labels));
    CMGI_TRY(copy_regions(raw, kind, m));
    cmgi_mesh_make_positive(m, &turned);
    cmgi_mesh_order_tets(m);
    CMGI_TRY(cmgi_mesh_find_facets(m, &dropped));
    add_note(m, raw->curved, "elements of higher order kept by their corners");
    add_note(m, turned, "cells were numbered the other way round");
    add_note(m, dropped, "labelled facets are not on the boundary");
    add_note(m, raw->nodes - nodes,
             raw->curved > 0 ? "nodes are no corners of cells" : "nodes belong to no cell");
    add_note(m, entities, "elements are labelled by their entities, none by a group");
    CMGI_TRY(check(raw, kind, m));
    *mesh = cmgi_pass_on(&m);
    return CMG_OK;
}
