/*
 * Cells as maps of the reference cell: x(s) = sum_c N_c(s) x_c with the linear N_c of simplices or
 * the multilinear ones of quads and hexes; determinants of dx/ds and the volume, its integral. The
 * determinant is linear in each variable on quads and quadratic on hexes, so two Gauss points a
 * direction are exact.
 */
#include "fem/mesh_geometry.h"

#include <math.h>

double cmgi_determinant(int dim, double rows[3][3])
{
    if (dim == 2) {
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0];
    }
    return rows[0][0] * (rows[1][1] * rows[2][2] - rows[1][2] * rows[2][1]) -
           rows[0][1] * (rows[1][0] * rows[2][2] - rows[1][2] * rows[2][0]) +
           rows[0][2] * (rows[1][0] * rows[2][1] - rows[1][1] * rows[2][0]);
}

static bool is_simplex(const cmgi_mesh *mesh)
{
    return mesh->cell == CMGI_TRI || mesh->cell == CMGI_TET;
}

static const double *corner_x(const cmgi_mesh *mesh, cmg_size cell, int c)
{
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    return mesh->x + (cmg_size)mesh->cell_nodes[cell * corners + c] * mesh->dim;
}

/* rows[b] = dx/ds_b at corner c: the edges that leave it, in the direction of s. */
static void corner_rows(const cmgi_mesh *mesh, cmg_size cell, int c, double rows[3][3])
{
    for (int b = 0; b < mesh->dim; ++b) {
        const int other = is_simplex(mesh) ? b + 1 : c | 1 << b;
        const int origin = is_simplex(mesh) ? 0 : other ^ 1 << b;
        const double *p = corner_x(mesh, cell, origin);
        const double *q = corner_x(mesh, cell, other);
        for (int d = 0; d < mesh->dim; ++d) {
            rows[b][d] = q[d] - p[d];
        }
    }
}

double cmgi_mesh_corner_det(const cmgi_mesh *mesh, cmg_size cell, int c)
{
    double rows[3][3];
    corner_rows(mesh, cell, c, rows);
    return cmgi_determinant(mesh->dim, rows);
}

/* Determinant at the Gauss point whose coordinates are low or high as the bits of g say. */
static double gauss_det(const cmgi_mesh *mesh, cmg_size cell, int g)
{
    const int dim = mesh->dim;
    const double low = 0.5 - 0.5 / sqrt(3.0);
    double s[3];
    double rows[3][3] = {{0}};
    for (int d = 0; d < dim; ++d) {
        s[d] = (g >> d & 1) != 0 ? 1 - low : low;
    }
    for (int c = 0; c < 1 << dim; ++c) {
        const double *x = corner_x(mesh, cell, c);
        for (int b = 0; b < dim; ++b) {
            double slope = (c >> b & 1) != 0 ? 1 : -1;
            for (int d = 0; d < dim; ++d) {
                slope *= d == b ? 1 : ((c >> d & 1) != 0 ? s[d] : 1 - s[d]);
            }
            for (int d = 0; d < dim; ++d) {
                rows[b][d] += slope * x[d];
            }
        }
    }
    return cmgi_determinant(dim, rows);
}

double cmgi_mesh_cell_volume(const cmgi_mesh *mesh, cmg_size cell)
{
    if (is_simplex(mesh)) {
        return cmgi_mesh_corner_det(mesh, cell, 0) / (mesh->dim == 2 ? 2 : 6);
    }
    double sum = 0;
    for (int g = 0; g < 1 << mesh->dim; ++g) {
        sum += gauss_det(mesh, cell, g);
    }
    return sum / (1 << mesh->dim);
}

double cmgi_mesh_least_det(const cmgi_mesh *mesh, cmg_size cell, int *corner)
{
    const int corners = is_simplex(mesh) ? 1 : cmgi_cell_table(mesh->cell)->corners;
    double least = cmgi_mesh_corner_det(mesh, cell, 0);
    *corner = 0;
    for (int c = 1; c < corners; ++c) {
        const double det = cmgi_mesh_corner_det(mesh, cell, c);
        if (det < least) {
            least = det;
            *corner = c;
        }
    }
    for (int g = 0; g < 8 && mesh->cell == CMGI_HEX; ++g) {
        const double det = gauss_det(mesh, cell, g);
        if (det < least) {
            least = det;
            *corner = -1;
        }
    }
    return least;
}

/* Product of the lengths of the edges at corner c. */
static double edge_product(const cmgi_mesh *mesh, cmg_size cell, int c)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    double product = 1;
    for (int e = 0; e < info->edges; ++e) {
        if (info->edge[e][0] != c && info->edge[e][1] != c) {
            continue;
        }
        const double *p = corner_x(mesh, cell, info->edge[e][0]);
        const double *q = corner_x(mesh, cell, info->edge[e][1]);
        double square = 0;
        for (int d = 0; d < mesh->dim; ++d) {
            square += (q[d] - p[d]) * (q[d] - p[d]);
        }
        product *= sqrt(square);
    }
    return product;
}

double cmgi_mesh_cell_quality(const cmgi_mesh *mesh, cmg_size cell)
{
    /* determinant of unit edges in the equilateral triangle and the regular tetrahedron */
    static const double ideal[CMGI_CELL_KINDS] = {0.86602540378443865, 1, 0.70710678118654752, 1};
    double worst = HUGE_VAL;
    for (int c = 0; c < cmgi_cell_table(mesh->cell)->corners; ++c) {
        const double product = edge_product(mesh, cell, c);
        const double det = cmgi_mesh_corner_det(mesh, cell, c);
        worst = fmin(worst, product > 0 ? det / product : 0);
    }
    return worst / ideal[mesh->cell];
}

/* Below this scaled determinant a cell is flat to rounding. */
static const double FLAT = 1e-13;

static bool is_inverted(const cmgi_mesh *mesh, cmg_size cell)
{
    int corner = 0;
    return !(cmgi_mesh_least_det(mesh, cell, &corner) > 0) ||
           !(cmgi_mesh_cell_quality(mesh, cell) > FLAT);
}

cmg_status cmgi_mesh_check_dets(const cmgi_mesh *mesh, const char *what, cmg_size *cell,
                                cmg_size *inverted)
{
    cmg_size first = mesh->cells;
    cmg_size count = 0;
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) reduction(min : first)   \
    reduction(+ : count) if (mesh->cells > 4096)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        if (is_inverted(mesh, c)) {
            ++count;
            first = c < first ? c : first;
        }
    }
    if (inverted != NULL) {
        *inverted = count;
    }
    if (count == 0) {
        return CMG_OK;
    }
    if (cell != NULL) {
        *cell = first;
    }
    int corner = 0;
    const double det = cmgi_mesh_least_det(mesh, first, &corner);
    const char *kind = det < 0 ? "inverted" : "degenerate";
    const double quality = cmgi_mesh_cell_quality(mesh, first);
    if (corner < 0) {
        return cmgi_fail(mesh->ctx, CMG_ERR_SHAPE,
                         "%scell %lld (%s) is %s: determinant %.6g inside it; %lld such cells",
                         what, (long long)first, cmgi_cell_table(mesh->cell)->name, kind, det,
                         (long long)count);
    }
    return cmgi_fail(
        mesh->ctx, CMG_ERR_SHAPE,
        "%scell %lld (%s) is %s: determinant %.6g at corner %d, scaled %.3g; %lld such "
        "cells",
        what, (long long)first, cmgi_cell_table(mesh->cell)->name, kind, det, corner, quality,
        (long long)count);
}
