/*
 * Cells as maps of the reference cell: x(s) = sum_c N_c(s) x_c with the linear N_c of simplices or
 * the multilinear ones of quads and hexes; determinants of dx/ds and the volume, its integral. The
 * determinant is linear in each variable on quads and quadratic on hexes, so two Gauss points a
 * direction are exact. Their orientation, and the numbering of tets that makes their refinement
 * good.
 */
#include "fem/mesh_geometry.h"

#include "fem/basis.h"

#include <math.h>
#include <string.h>

double cmgi_determinant(int dim, double rows[3][3])
{
    double adjugate[3][3];
    return cmgi_adjugate(dim, rows, adjugate);
}

static const double *corner_x(const cmgi_mesh *mesh, cmg_size cell, int c)
{
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    return mesh->x + (cmg_size)mesh->cell_nodes[cell * corners + c] * mesh->dim;
}

double cmgi_mesh_corner_det(const cmgi_mesh *mesh, cmg_size cell, int c)
{
    double rows[3][3]; /* [b] = dx/ds_b: the edges that leave the corner, in the direction of s */
    for (int b = 0; b < mesh->dim; ++b) {
        const int other = cmgi_cell_simplex(mesh->cell) ? b + 1 : c | 1 << b;
        const int origin = cmgi_cell_simplex(mesh->cell) ? 0 : other ^ 1 << b;
        const double *p = corner_x(mesh, cell, origin);
        const double *q = corner_x(mesh, cell, other);
        for (int d = 0; d < mesh->dim; ++d) {
            rows[b][d] = q[d] - p[d];
        }
    }
    return cmgi_determinant(mesh->dim, rows);
}

/*
 * Determinant at the Gauss point whose coordinates are low or high as the bits of g say. dN_c/ds_b
 * is, but for the sign, a product of 1/2 + 1/sqrt(12) for every other direction in which c and g
 * agree and 1/2 - 1/sqrt(12) for every one in which they differ.
 */
static double gauss_det(int dim, const double x[CMGI_MAX_CORNERS][3], int g)
{
    static const double high = 0.78867513459481288;
    static const double low = 0.21132486540518712;
    const double weight[2][3] = {{high, low, 0}, {high * high, high * low, low * low}};
    double rows[3][3] = {{0}};
    for (int c = 0; c < 1 << dim; ++c) {
        for (int b = 0; b < dim; ++b) {
            const int differ = (c ^ g) & ~(1 << b);
            const int count = (differ & 1) + (differ >> 1 & 1) + (differ >> 2 & 1);
            /* cppcheck-suppress arrayIndexOutOfBounds ; there are two other directions at most */
            const double size = weight[dim - 2][count];
            const double slope = (c >> b & 1) != 0 ? size : -size;
            for (int d = 0; d < dim; ++d) {
                rows[b][d] += slope * x[c][d];
            }
        }
    }
    return cmgi_determinant(dim, rows);
}

/* Lengths of all edges; at each corner the product of those that meet there. */
static void measure_edges(const cmgi_cell_info *info, const double x[CMGI_MAX_CORNERS][3],
                          double product[CMGI_MAX_CORNERS], cmgi_cell_measure *m)
{
    m->edge_min = HUGE_VAL;
    m->edge_max = 0;
    for (int c = 0; c < info->corners; ++c) {
        product[c] = 1;
    }
    for (int e = 0; e < info->edges; ++e) {
        const double length =
            sqrt(cmgi_distance2(info->dim, x[info->edge[e][1]], x[info->edge[e][0]]));
        product[info->edge[e][0]] *= length;
        product[info->edge[e][1]] *= length;
        m->edge_min = length < m->edge_min ? length : m->edge_min;
        m->edge_max = length > m->edge_max ? length : m->edge_max;
    }
}

cmgi_cell_measure cmgi_mesh_measure_cell(const cmgi_mesh *mesh, cmg_size cell)
{
    /* determinant of unit edges in the equilateral triangle and the regular tetrahedron */
    static const double ideal[CMGI_CELL_KINDS] = {0.86602540378443865, 1, 0.70710678118654752, 1};
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmgi_cell_measure m = {.det = HUGE_VAL, .quality = HUGE_VAL};
    double x[CMGI_MAX_CORNERS][3];
    double product[CMGI_MAX_CORNERS];
    for (int c = 0; c < info->corners; ++c) {
        memcpy(x[c], corner_x(mesh, cell, c), (size_t)mesh->dim * sizeof *x[c]);
    }
    measure_edges(info, (const double(*)[3])x, product, &m);
    for (int c = 0; c < info->corners; ++c) {
        const double det = cmgi_mesh_corner_det(mesh, cell, c);
        const double scaled = product[c] > 0 ? det / (product[c] * ideal[mesh->cell]) : 0;
        m.quality = scaled < m.quality ? scaled : m.quality;
        if (!(det >= m.det)) { /* also where it is not a number */
            m.det = det;
            m.corner = c;
        }
    }
    if (cmgi_cell_simplex(mesh->cell)) {
        m.volume = m.det / (mesh->dim == 2 ? 2 : 6);
        return m;
    }
    for (int g = 0; g < info->corners; ++g) {
        const double det = gauss_det(mesh->dim, (const double(*)[3])x, g);
        m.volume += det / info->corners;
        if (det < m.det) {
            m.det = det;
            m.corner = -1;
        }
    }
    return m;
}

static void swap(cmg_index *a, cmg_index *b)
{
    const cmg_index c = *a;
    *a = *b;
    *b = c;
}

void cmgi_mesh_make_positive(cmgi_mesh *mesh, cmg_size *turned)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmg_size count = 0;
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) reduction(+ : count)               \
    if (mesh->cells > 4096)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        bool negative = true;
        for (int k = 0; k < info->corners && negative; ++k) {
            negative = cmgi_mesh_corner_det(mesh, c, k) < 0;
        }
        if (!negative) {
            continue;
        }
        /* exchanges the first two directions of every cell type */
        cmg_index *node = mesh->cell_nodes + c * info->corners;
        swap(&node[1], &node[2]);
        if (mesh->cell == CMGI_HEX) {
            swap(&node[5], &node[6]);
        }
        ++count;
    }
    *turned = count;
}

/* Squared length of the diagonal between the midpoints of edges ab and cd, times 4. */
static double diagonal2(const cmgi_mesh *mesh, cmg_index a, cmg_index b, cmg_index c, cmg_index d)
{
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        const double gap = mesh->x[3 * (cmg_size)a + k] + mesh->x[3 * (cmg_size)b + k] -
                           mesh->x[3 * (cmg_size)c + k] - mesh->x[3 * (cmg_size)d + k];
        sum += gap * gap;
    }
    return sum;
}

void cmgi_mesh_order_tets(cmgi_mesh *mesh)
{
    /* even permutations that bring the pair 02|13, 01|23, 03|12 to the places of 02|13 */
    static const int turn[3][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}};
    if (mesh->cell != CMGI_TET) {
        return;
    }
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) if (mesh->cells > 4096)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        cmg_index *node = mesh->cell_nodes + 4 * c;
        const cmg_index old[4] = {node[0], node[1], node[2], node[3]};
        const double length[3] = {diagonal2(mesh, old[0], old[2], old[1], old[3]),
                                  diagonal2(mesh, old[0], old[1], old[2], old[3]),
                                  diagonal2(mesh, old[0], old[3], old[1], old[2])};
        int best = 0;
        for (int k = 1; k < 3; ++k) {
            best = length[k] < length[best] * (1 - 1e-9) ? k : best;
        }
        for (int k = 0; k < 4; ++k) {
            node[k] = old[turn[best][k]];
        }
    }
}
