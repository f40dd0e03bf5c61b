/* Cell matrices and loads: K_ab = int (k grad phi_b) . grad phi_a + (v . grad phi_b + c phi_b)
 * phi_a. */
#include "fem/cell.h"
#include "core/memory.h"
#include "fem/quadrature.h"

#include <string.h>

cmg_status cmgi_cell_form_create(cmg_context *ctx, const cmgi_problem *problem, cmgi_basis basis,
                                 int axis_points, cmgi_cell_form *form)
{
    const int dim = basis.dim;
    const cmgi_basis geometry = {basis.simplex, 1, dim};
    cmgi_cell_form made = {.problem = problem,
                           .basis = basis,
                           .nodes = cmgi_basis_nodes(basis),
                           .corners = cmgi_basis_nodes(geometry),
                           .points = cmgi_quadrature_points(dim, axis_points)};
    made.rows = made.nodes * problem->components;
    const cmg_size n = made.points;
    const cmg_size each = 1 + (made.nodes + made.corners) * (1 + dim) + dim;
    CMGI_TRY(cmgi_alloc(ctx, n * each, sizeof(double), &made.weight));
    made.N = made.weight + n;
    made.dN = made.N + n * made.nodes;
    made.G = made.dN + n * made.nodes * dim;
    made.dG = made.G + n * made.corners;
    double *position = made.dG + n * made.corners * dim;
    cmgi_quadrature(basis.simplex, dim, axis_points, position, made.weight);
    for (int q = 0; q < made.points; ++q) {
        const double *xi = position + q * dim;
        cmgi_basis_eval(basis, xi, made.N + q * made.nodes, made.dN + q * made.nodes * dim);
        cmgi_basis_eval(geometry, xi, made.G + q * made.corners, made.dG + q * made.corners * dim);
    }
    *form = made;
    return CMG_OK;
}

void cmgi_cell_form_free(cmg_context *ctx, cmgi_cell_form *form)
{
    cmgi_free(ctx, form->weight);
    *form = (cmgi_cell_form){0};
}

/* The map of the cell at one quadrature point. */
typedef struct cell_point {
    double x[3]; /* position */
    double w;    /* quadrature weight times determinant */
    double determinant;
    double g[3][CMGI_MAX_NODES]; /* gradients of the basis, one array an axis */
    const double *N;             /* values of the basis */
} cell_point;

static void map_point(const cmgi_cell_form *form, const double *corners, int q, cell_point *point)
{
    const int dim = form->basis.dim;
    const double *G = form->G + q * form->corners;
    const double *dG = form->dG + q * form->corners * dim;
    const double *dN = form->dN + q * form->nodes * dim;
    double J[3][3] = {{0}};
    double inverse[3][3] = {{0}};
    memset(point->x, 0, sizeof point->x);
    for (int c = 0; c < form->corners; ++c) {
        for (int d = 0; d < dim; ++d) {
            point->x[d] += G[c] * corners[c * dim + d];
            for (int e = 0; e < dim; ++e) {
                J[d][e] += corners[c * dim + d] * dG[c * dim + e];
            }
        }
    }
    point->determinant = cmgi_adjugate(dim, J, inverse);
    for (int d = 0; d < dim * dim; ++d) {
        inverse[d / dim][d % dim] /= point->determinant;
    }
    point->w = form->weight[q] * point->determinant;
    point->N = form->N + q * form->nodes;
    for (int d = 0; d < dim; ++d) {
        for (int a = 0; a < form->nodes; ++a) {
            double sum = 0;
            for (int e = 0; e < dim; ++e) {
                sum += inverse[e][d] * dN[a * dim + e];
            }
            point->g[d][a] = sum;
        }
    }
}

/*
 * K += w (flux_b . grad phi_a + transport_b phi_a), with the numbers of nodes and dimensions as
 * constants of the calls below, so that the loops are unrolled.
 */
static inline void add_scalar_fixed(const cmgi_problem *p, const cell_point *point, const double *k,
                                    double *K, int n, int dim)
{
    double flux[3][CMGI_MAX_NODES];
    double transport[CMGI_MAX_NODES];
    const bool transports = p->reaction != 0 || !p->symmetric;
    for (int d = 0; d < dim; ++d) {
        for (int b = 0; b < n; ++b) {
            double sum = 0;
            for (int e = 0; e < dim; ++e) {
                sum += k[d * dim + e] * point->g[e][b];
            }
            flux[d][b] = point->w * sum;
        }
    }
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) {
            double sum = 0;
            for (int d = 0; d < dim; ++d) {
                sum += point->g[d][a] * flux[d][b];
            }
            K[a * n + b] += sum;
        }
    }
    if (!transports) {
        return;
    }
    for (int b = 0; b < n; ++b) {
        transport[b] = p->reaction * point->N[b];
        for (int d = 0; d < dim; ++d) {
            transport[b] += p->velocity[d] * point->g[d][b];
        }
        transport[b] *= point->w;
    }
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) {
            K[a * n + b] += point->N[a] * transport[b];
        }
    }
}

static void add_scalar(const cmgi_cell_form *form, const cell_point *point, const double *k,
                       double *K)
{
    const cmgi_problem *p = form->problem;
    const int n = form->nodes;
    if (n == 4 && p->dim == 2) {
        add_scalar_fixed(p, point, k, K, 4, 2);
    } else if (n == 9 && p->dim == 2) {
        add_scalar_fixed(p, point, k, K, 9, 2);
    } else if (n == 8 && p->dim == 3) {
        add_scalar_fixed(p, point, k, K, 8, 3);
    } else if (n == 27 && p->dim == 3) {
        add_scalar_fixed(p, point, k, K, 27, 3);
    } else {
        add_scalar_fixed(p, point, k, K, n, p->dim);
    }
}

/* K_(a,i)(b,j) += w k (lambda d_i a d_j b + mu (d_j a d_i b + delta_ij grad a . grad b)); the
 * dimension is a constant of the calls. */
static inline void add_elastic(const cmgi_cell_form *form, const cell_point *point, double k,
                               double *K, int dim)
{
    const cmgi_problem *p = form->problem;
    const double lambda = point->w * k * p->lambda;
    const double mu = point->w * k * p->mu;
    for (int a = 0; a < form->nodes; ++a) {
        for (int b = 0; b < form->nodes; ++b) {
            double dot = 0;
            for (int d = 0; d < dim; ++d) {
                dot += point->g[d][a] * point->g[d][b];
            }
            for (int i = 0; i < dim; ++i) {
                double *entry = K + (a * dim + i) * form->rows + b * dim;
                for (int j = 0; j < dim; ++j) {
                    entry[j] += lambda * point->g[i][a] * point->g[j][b] +
                                mu * (point->g[j][a] * point->g[i][b] + (i == j ? dot : 0));
                }
            }
        }
    }
}

/* Stress (components x dim) that the exact gradient du causes, k included: k grad u or sigma(u). */
static void exact_flux(const cmgi_problem *p, const double *k, const double *du, double *flux)
{
    const int dim = p->dim;
    double divergence = 0;
    for (int d = 0; d < dim && p->elastic; ++d) {
        divergence += du[d * dim + d];
    }
    for (int c = 0; c < p->components; ++c) {
        for (int d = 0; d < dim; ++d) {
            double sum = 0;
            if (p->elastic) {
                sum = k[0] * ((c == d ? p->lambda * divergence : 0) +
                              p->mu * (du[c * dim + d] + du[d * dim + c]));
            } else {
                for (int e = 0; e < dim; ++e) {
                    sum += k[d * dim + e] * du[e];
                }
            }
            flux[c * dim + d] = sum;
        }
    }
}

/* F_a += w (f phi_a), or w (flux(u) . grad phi_a + (v . grad u + c u) phi_a) for a known u */
static void add_load(const cmgi_cell_form *form, const cell_point *point, const double *k,
                     double *F)
{
    const cmgi_problem *p = form->problem;
    const int dim = p->dim;
    double f[3] = {0};
    double flux[9] = {0};
    if (cmgi_problem_solved(p)) {
        double u[3];
        double du[9];
        cmgi_problem_exact(p, point->x, u, du);
        exact_flux(p, k, du, flux);
        if (!p->elastic) {
            f[0] = p->reaction * u[0];
            for (int d = 0; d < dim; ++d) {
                f[0] += p->velocity[d] * du[d];
            }
        }
    } else {
        cmgi_problem_source(p, point->x, f);
    }
    for (int a = 0; a < form->nodes; ++a) {
        for (int c = 0; c < p->components; ++c) {
            double sum = f[c] * point->N[a];
            for (int d = 0; d < dim; ++d) {
                sum += flux[c * dim + d] * point->g[d][a];
            }
            F[a * p->components + c] += point->w * sum;
        }
    }
}

double cmgi_cell_integrals(const cmgi_cell_form *form, cmg_index region, const double *corners,
                           double *K, double *F)
{
    const cmgi_problem *p = form->problem;
    double least = 0;
    if (K != NULL) {
        memset(K, 0, (size_t)(form->rows * form->rows) * sizeof *K);
    }
    if (F != NULL) {
        memset(F, 0, (size_t)form->rows * sizeof *F);
    }
    for (int q = 0; q < form->points; ++q) {
        cell_point point;
        double k[9];
        map_point(form, corners, q, &point);
        cmgi_problem_coefficient(p, region, point.x, k);
        least = q == 0 || point.determinant < least ? point.determinant : least;
        if (K != NULL && p->elastic && p->dim == 3) {
            add_elastic(form, &point, k[0], K, 3);
        } else if (K != NULL && p->elastic) {
            add_elastic(form, &point, k[0], K, 2);
        } else if (K != NULL) {
            add_scalar(form, &point, k, K);
        }
        if (F != NULL) {
            add_load(form, &point, k, F);
        }
    }
    return least;
}
