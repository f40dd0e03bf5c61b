/* The mesh: read or made, put into an order that keeps neighbours close, refined; fibres; stimuli;
 * what every cell keeps. */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ blocks */

/* Simplices of a square or a cube: each goes from corner 0 to the last, along the axes in some
 * order; corner k has coordinate d where bit d of k is set. */
static const int cut[2][24] = {
    {0, 1, 3, 0, 3, 2}, {0, 1, 3, 7, 0, 2, 6, 7, 0, 4, 5, 7, 0, 3, 2, 7, 0, 5, 1, 7, 0, 6, 4, 7}};

static void make_block(const heart_options *o, cmg_fem_mesh *mesh)
{
    const int dim = o->slab[0] > 0 ? 3 : 2;
    const double *block = dim == 3 ? o->slab : o->square;
    const cmg_size n[3] = {(cmg_size)block[0], (cmg_size)block[1],
                           dim == 3 ? (cmg_size)block[2] : 1};
    const cmg_size row = n[0] + 1;
    const cmg_size plane = row * (n[1] + 1);
    const cmg_size numbers = dim == 3 ? 24 : 6; /* of a square's or cube's simplices */
    *mesh = (cmg_fem_mesh){.element = CMG_ELEMENT_P1,
                           .dim = dim,
                           .nodes = plane * (dim == 3 ? n[2] + 1 : 1),
                           .cells = n[0] * n[1] * n[2] * numbers / (dim + 1)};
    double *x = room((size_t)(mesh->nodes * dim) * sizeof *x);
    cmg_index *cells = room((size_t)(mesh->cells * (dim + 1)) * sizeof *cells);
    mesh->x = x;
    mesh->cell_nodes = cells;
    for (cmg_size i = 0; i < mesh->nodes * dim; ++i) {
        const cmg_size node = i / dim;
        const cmg_size at[3] = {node % row, node / row % (n[1] + 1), node / plane};
        x[i] = block[dim] * (double)at[i % dim];
    }
    for (cmg_size i = 0; i < mesh->cells * (dim + 1); ++i) {
        const cmg_size c = i / numbers;
        const cmg_size low = c % n[0] + c / n[0] % n[1] * row + c / (n[0] * n[1]) * plane;
        const int k = cut[dim - 2][i % numbers];
        cells[i] = (cmg_index)(low + (k & 1) + (k >> 1 & 1) * row + (k >> 2) * plane);
    }
}

/* ------------------------------------------------------------------ order */

typedef struct key {
    uint64_t code;
    cmg_index number;
} key;

static int by_code(const void *a, const void *b)
{
    const key *x = a;
    const key *y = b;
    return x->code != y->code ? (x->code < y->code ? -1 : 1) : x->number < y->number ? -1 : 1;
}

/* n points along Morton's curve: number[k] is the k-th. */
static void sort_points(int dim, cmg_size n, const double *x, cmg_index *number)
{
    double low[3] = {INFINITY, INFINITY, INFINITY};
    double size = 0;
    key *keys = room((size_t)n * sizeof *keys);
    for (cmg_size i = 0; i < n * dim; ++i) {
        low[i % dim] = fmin(low[i % dim], x[i]);
    }
    for (cmg_size i = 0; i < n * dim; ++i) {
        size = fmax(size, x[i] - low[i % dim]);
    }
    for (cmg_size i = 0; i < n; ++i) {
        keys[i] = (key){.number = (cmg_index)i};
        for (int d = 0; d < dim; ++d) {
            const uint64_t at = (uint64_t)((x[i * dim + d] - low[d]) / size * 1048575);
            for (int bit = 0; bit < 20; ++bit) {
                keys[i].code |= (at >> bit & 1) << (bit * 3 + d);
            }
        }
    }
    qsort(keys, (size_t)n, sizeof *keys, by_code);
    for (cmg_size i = 0; i < n; ++i) {
        number[i] = keys[i].number;
    }
    free(keys);
}

/* A copy of the mesh with nodes, and cells by their centres, along the curve; fibres follow. */
static void sorted_copy(const cmg_fem_mesh *from, double *fibre, cmg_fem_mesh *to)
{
    const int dim = from->dim;
    const int nv = dim + 1;
    const cmg_size most = from->nodes > from->cells ? from->nodes : from->cells;
    double *x = room((size_t)(from->nodes * dim) * sizeof *x);
    cmg_index *cells = room((size_t)(from->cells * nv) * sizeof *cells);
    double *own = room((size_t)from->cells * 3 * sizeof *own);
    cmg_index *order = room((size_t)most * sizeof *order);
    cmg_index *position = room((size_t)from->nodes * sizeof *position);
    *to = (cmg_fem_mesh){CMG_ELEMENT_P1, dim, from->nodes, x, from->cells, cells};
    sort_points(dim, from->nodes, from->x, order);
    for (cmg_size i = 0; i < from->nodes; ++i) {
        memcpy(x + i * dim, from->x + (cmg_size)order[i] * dim, (size_t)dim * sizeof *x);
        position[order[i]] = (cmg_index)i;
    }
    for (cmg_size i = 0; i < from->cells * dim; ++i) { /* sums of corners, as good as centres */
        own[i] = 0;
        for (int a = 0; a < nv; ++a) {
            own[i] += from->x[from->cell_nodes[i / dim * nv + a] * dim + i % dim];
        }
    }
    sort_points(dim, from->cells, own, order);
    for (cmg_size i = 0; i < from->cells * nv; ++i) {
        cells[i] = position[from->cell_nodes[order[i / nv] * (cmg_size)nv + i % nv]];
    }
    if (fibre != NULL) {
        memcpy(own, fibre, (size_t)from->cells * 3 * sizeof *own);
        for (cmg_size i = 0; i < from->cells * 3; ++i) {
            fibre[i] = own[(cmg_size)order[i / 3] * 3 + i % 3];
        }
    }
    free(position);
    free(order);
    free(own);
}

/* ------------------------------------------------------------------ fibres */

void mesh_centre(const cmg_fem_mesh *mesh, cmg_size cell, double x[3])
{
    const int nv = mesh->dim + 1;
    x[2] = 0;
    for (int d = 0; d < mesh->dim; ++d) {
        x[d] = 0;
        for (int a = 0; a < nv; ++a) {
            x[d] += mesh->x[mesh->cell_nodes[cell * nv + a] * mesh->dim + d] / nv;
        }
    }
}

/* Helix of the truncated ellipsoid of ellipsoid.py: +60 degrees inside to -60 outside. */
static void helix(const double x[3], double n[3])
{
    const double outer = sqrt((x[0] * x[0] + x[1] * x[1]) / 100 + x[2] * x[2] / 400);
    const double inner = sqrt((x[0] * x[0] + x[1] * x[1]) / 49 + x[2] * x[2] / 289);
    const double depth = (inner - 1) / (inner - outer); /* 0 inside, 1 outside */
    const double a = 7 + 3 * depth;
    const double c = 17 + 3 * depth;
    const double angle = (1 - 2 * depth) * 60 * 3.14159265358979324 / 180;
    const double radius = hypot(x[0], x[1]);
    const double around[3] = {radius > 0 ? -x[1] / radius : 1, radius > 0 ? x[0] / radius : 0, 0};
    double out[3] = {x[0] / (a * a), x[1] / (a * a), x[2] / (c * c)};
    const double length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    const double along[3] = {-out[2] * around[1] / length, out[2] * around[0] / length,
                             (out[0] * around[1] - out[1] * around[0]) / length};
    for (int d = 0; d < 3; ++d) {
        n[d] = cos(angle) * around[d] + sin(angle) * along[d];
    }
}

/* Those of a file belong to its cells, and are read before these are sorted. */
static cmg_status read_fibres(heart *h, const cmg_fem_mesh *mesh)
{
    static const char *const rules[] = {"none", "x", "y", "z", "ellipsoid"};
    cmg_size n = 0;
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; ++k) {
        if (strcmp(h->o->fibres, rules[k]) == 0) {
            return CMG_OK;
        }
    }
    const cmg_status status = cmg_vector_read(h->ctx, h->o->fibres, &n, &h->fibre);
    if (status == CMG_OK && n != mesh->cells * 3) {
        (void)fprintf(stderr, "heart: %s has %lld numbers, the mesh %lld cells\n", h->o->fibres,
                      (long long)n, (long long)mesh->cells);
        return CMG_ERR_SHAPE;
    }
    return status;
}

/* Of the finest mesh, unit vectors: by a rule, or those of the parents. */
static void finish_fibres(heart *h, cmg_size parents)
{
    const cmg_fem_mesh *mesh = &h->mesh;
    const char *rule = h->o->fibres;
    if (strcmp(rule, "none") == 0) {
        return;
    }
    double *made = room((size_t)mesh->cells * 3 * sizeof *made);
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        double x[3];
        double *n = made + c * 3;
        mesh_centre(mesh, c, x);
        if (h->fibre != NULL) {
            memcpy(n, h->fibre + c / (mesh->cells / parents) * 3, 3 * sizeof *n);
        } else if (strcmp(rule, "ellipsoid") == 0) {
            helix(x, n);
        } else {
            for (int d = 0; d < 3; ++d) {
                n[d] = rule[0] == 'x' + d;
            }
        }
        const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int d = 0; d < 3 && length > 0; ++d) {
            n[d] /= length;
        }
    }
    cmg_free(h->fibre);
    h->fibre = made;
}

/* ------------------------------------------------------------------ the mesh */

cmg_status mesh_make(heart *h)
{
    cmg_fem_mesh read = {.nodes = 0};
    cmg_fem_mesh made = {.nodes = 0};
    const bool file = h->o->mesh[0] != '\0';
    const cmg_fem_mesh *from = file ? &read : &made;
    cmg_status status = CMG_OK;
    if (file) {
        status = cmg_fem_mesh_read(h->ctx, h->o->mesh, 1, &read);
    } else {
        make_block(h->o, &made);
    }
    if (status == CMG_OK && from->element != CMG_ELEMENT_P1) {
        (void)fprintf(stderr, "heart: %s has no triangles or tetrahedra\n", h->o->mesh);
        status = CMG_ERR_ARG;
    }
    status = status ? status : read_fibres(h, from);
    if (status == CMG_OK) {
        sorted_copy(from, h->fibre, &h->mesh);
    }
    cmg_fem_mesh_free(h->ctx, &read);
    free((void *)made.x);
    free((void *)made.cell_nodes);
    const cmg_size parents = h->mesh.cells;
    for (h->levels = 1; status == CMG_OK && h->levels <= h->o->refine; ++h->levels) {
        cmg_fem_mesh fine = {.nodes = 0};
        status = cmg_fem_mesh_refine(h->ctx, &h->mesh, &fine, &h->P[h->levels - 1]);
        if (status == CMG_OK) {
            mesh_free(h);
            h->mesh = fine;
        }
    }
    h->corners = h->mesh.dim + 1;
    if (status == CMG_OK) {
        finish_fibres(h, parents);
    }
    return status;
}

void mesh_free(heart *h)
{
    if (h->levels > 1) {
        cmg_fem_mesh_free(h->ctx, &h->mesh);
    } else {
        free((void *)h->mesh.x);
        free((void *)h->mesh.cell_nodes);
    }
}
