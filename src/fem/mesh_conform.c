/* Duplicate and hanging nodes, found with the boundary nodes sorted into a grid of boxes. */
#include "fem/mesh_geometry.h"

#include "core/memory.h"
#include "csr/elements.h"
#include "hierarchy/numbering.h"

#include <math.h>
#include <string.h>

static const double CLOSE = 1e-6;

typedef struct boxes {
    const cmgi_mesh *mesh;
    double low[3];
    double per_unit[3]; /* boxes a length */
    int size[3];        /* boxes in each direction */
    cmg_index *start;   /* boundary nodes in each box */
    cmg_index *list;
    cmg_size count; /* of these nodes */
} boxes;

static int box_of(const boxes *b, int d, double x)
{
    const double at = (x - b->low[d]) * b->per_unit[d];
    return at <= 0 ? 0 : (at >= b->size[d] - 1 ? b->size[d] - 1 : (int)at);
}

/* About one box a boundary node. */
static cmg_status fill_boxes(boxes *b)
{
    const cmgi_mesh *mesh = b->mesh;
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    cmg_size total = 1;
    double high[3];
    CMGI_SCOPED(mesh->ctx, mesh->nodes, cmg_index, box); /* of a boundary node, -1 = it is none */
    memset(box, 0xff, (size_t)mesh->nodes * sizeof *box);
    for (cmg_size k = 0; k < mesh->facets * corners; ++k) {
        b->count += box[mesh->facet_nodes[k]] < 0;
        box[mesh->facet_nodes[k]] = 0;
    }
    const int side = 1 + (int)pow((double)b->count, 1.0 / mesh->dim);
    cmgi_box_of(mesh->dim, mesh->nodes, mesh->x, b->low, high);
    for (int d = 0; d < mesh->dim; ++d) {
        b->size[d] = side;
        b->per_unit[d] = high[d] > b->low[d] ? side / (high[d] - b->low[d]) : 0;
        total *= side;
    }
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        cmg_size number = 0;
        for (int d = mesh->dim - 1; d >= 0; --d) {
            number = number * b->size[d] + box_of(b, d, mesh->x[v * mesh->dim + d]);
        }
        box[v] = box[v] < 0 ? -1 : (cmg_index)number;
    }
    return cmgi_incidence_make(mesh->ctx, total, mesh->nodes, box, &b->start, &b->list);
}

/* p is on the segment ab to within tol. */
static bool on_segment(int dim, const double *p, const double *a, const double *b, double tol)
{
    double dot = 0;
    const double length2 = cmgi_distance2(dim, a, b);
    for (int d = 0; d < dim; ++d) {
        dot += (p[d] - a[d]) * (b[d] - a[d]);
    }
    const double t = dot / length2;
    if (!(t > 0 && t < 1)) {
        return false;
    }
    double foot[3];
    for (int d = 0; d < dim; ++d) {
        foot[d] = a[d] + t * (b[d] - a[d]);
    }
    return cmgi_distance2(dim, p, foot) < tol * tol;
}

/* p is in the closed triangle abc to within tol: barycentric coordinates by least squares. */
static bool in_triangle(const double *p, const double *a, const double *b, const double *c,
                        double tol)
{
    double uu = 0;
    double uv = 0;
    double vv = 0;
    double up = 0;
    double vp = 0;
    for (int d = 0; d < 3; ++d) {
        const double u = b[d] - a[d];
        const double v = c[d] - a[d];
        uu += u * u;
        uv += u * v;
        vv += v * v;
        up += u * (p[d] - a[d]);
        vp += v * (p[d] - a[d]);
    }
    const double det = uu * vv - uv * uv;
    const double s = (up * vv - vp * uv) / det;
    const double t = (vp * uu - up * uv) / det;
    if (!(s > -1e-9 && t > -1e-9 && s + t < 1 + 1e-9)) {
        return false;
    }
    double foot[3];
    for (int d = 0; d < 3; ++d) {
        foot[d] = a[d] + s * (b[d] - a[d]) + t * (c[d] - a[d]);
    }
    return cmgi_distance2(3, p, foot) < tol * tol;
}

/* Node v, not one of its corners, lies in the facet. */
static bool in_facet(const cmgi_mesh *mesh, const cmg_index *node, cmg_index v, double tol)
{
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    const double *x[4] = {NULL};
    for (int i = 0; i < corners; ++i) {
        if (node[i] == v) {
            return false;
        }
        x[i] = mesh->x + (cmg_size)node[i] * mesh->dim;
    }
    const double *p = mesh->x + (cmg_size)v * mesh->dim;
    if (corners == 2) {
        return on_segment(2, p, x[0], x[1], tol);
    }
    return in_triangle(p, x[0], x[1], x[2], tol) ||
           (corners == 4 && in_triangle(p, x[1], x[2], x[3], tol));
}

/* What is looked for among the boundary nodes in a box. */
typedef bool (*wanted_fn)(const cmgi_mesh *mesh, const cmg_index *of, cmg_index v, double tol);

/* The first one, in the order of the boxes, within tol of [low, high]; -1 = none. */
static cmg_index first_in(const boxes *b, const double *low, const double *high, double tol,
                          wanted_fn wanted, const cmg_index *of)
{
    int first[3] = {0, 0, 0};
    int many[3] = {1, 1, 1};
    for (int d = 0; d < b->mesh->dim; ++d) {
        first[d] = box_of(b, d, low[d] - tol);
        many[d] = box_of(b, d, high[d] + tol) - first[d] + 1;
    }
    for (cmg_size k = 0; k < (cmg_size)many[0] * many[1] * many[2]; ++k) {
        const cmg_size i = first[0] + k % many[0];
        const cmg_size j = first[1] + k / many[0] % many[1];
        const cmg_size l = first[2] + k / ((cmg_size)many[0] * many[1]);
        const cmg_size box = i + b->size[0] * (j + (b->mesh->dim == 3 ? b->size[1] * l : 0));
        for (cmg_index e = b->start[box]; e < b->start[box + 1]; ++e) {
            if (wanted(b->mesh, of, b->list[e], tol)) {
                return b->list[e];
            }
        }
    }
    return -1;
}

static bool is_twin(const cmgi_mesh *mesh, const cmg_index *of, cmg_index v, double tol)
{
    const double *x = mesh->x + (cmg_size)*of * mesh->dim;
    return v < *of && cmgi_distance2(mesh->dim, x, mesh->x + (cmg_size)v * mesh->dim) < tol * tol;
}

/* A boundary node inside facet f, -1 = none. */
static cmg_index node_in_facet(const boxes *b, cmg_size f)
{
    const int dim = b->mesh->dim;
    const int corners = cmgi_cell_table(b->mesh->cell)->facet_corners;
    const cmg_index *node = b->mesh->facet_nodes + f * corners;
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    double high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double size = 0;
    for (int d = 0; d < dim; ++d) {
        for (int i = 0; i < corners; ++i) {
            low[d] = fmin(low[d], b->mesh->x[(cmg_size)node[i] * dim + d]);
            high[d] = fmax(high[d], b->mesh->x[(cmg_size)node[i] * dim + d]);
        }
        size = fmax(size, high[d] - low[d]);
    }
    return first_in(b, low, high, CLOSE * size, in_facet, node);
}

static cmg_status find_duplicates(const boxes *b, cmgi_mesh_report *report)
{
    const cmgi_mesh *mesh = b->mesh;
    cmg_index first[2] = {-1, -1};
    for (cmg_size i = 0; i < b->count; ++i) {
        const double *x = mesh->x + (cmg_size)b->list[i] * mesh->dim;
        const cmg_index twin = first_in(b, x, x, CLOSE * report->edge_min, is_twin, &b->list[i]);
        if (twin >= 0) {
            ++report->duplicates;
            if (first[0] < 0 || b->list[i] < first[1]) {
                first[0] = twin;
                first[1] = b->list[i];
            }
        }
    }
    CMGI_CHECK(mesh->ctx, report->duplicates == 0, CMG_ERR_SHAPE,
               "nodes %d and %d are at one place; %lld duplicate nodes", (int)first[0],
               (int)first[1], (long long)report->duplicates);
    return CMG_OK;
}

static cmg_status find_hanging(const boxes *b, cmgi_mesh_report *report)
{
    const cmgi_mesh *mesh = b->mesh;
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    cmg_index first[3] = {-1, -1, -1};
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        const cmg_index v = node_in_facet(b, f);
        if (v >= 0 && report->hanging++ == 0) {
            first[0] = v;
            first[1] = mesh->facet_nodes[f * corners];
            first[2] = mesh->facet_nodes[f * corners + corners - 1];
        }
    }
    CMGI_CHECK(mesh->ctx, report->hanging == 0, CMG_ERR_SHAPE,
               "the mesh does not conform: node %d hangs in the side from node %d to node %d; %lld "
               "such sides",
               (int)first[0], (int)first[1], (int)first[2], (long long)report->hanging);
    return CMG_OK;
}

cmg_status cmgi_mesh_check_conforming(const cmgi_mesh *mesh, cmgi_mesh_report *report)
{
    boxes b = {.mesh = mesh};
    CMGI_FREED(mesh->ctx, &b.list, &b.start);
    CMGI_TRY(fill_boxes(&b));
    CMGI_TRY(find_duplicates(&b, report));
    return find_hanging(&b, report);
}
