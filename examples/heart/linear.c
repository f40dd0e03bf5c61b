/*
 * K dphi = b. "jacobi": CG with the diagonal of K, whose values the sum matrix writes into K's own
 * storage; "chebyshev": with steps of Jacobi instead, damped by the roots of Chebyshev's polynomial
 * over the upper part of the spectrum, which saves inner products. Else a multigrid solver, which
 * takes new values in CSR order; its levels are nested where the mesh was refined, algebraic below.
 */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

enum { DEGREE = 5, PART = 40 };

struct linear {
    bool jacobi; /* or chebyshev: K in a format of its own */
    bool chebyshev;
    double damping[DEGREE];
    cmg_vector *ones;
    cmg_vector *inverse; /* of the diagonal */
    cmg_vector *first;   /* diagonal over the first damping */
    cmg_vector *z;
    cmg_matrix *K;
    cmg_operator C;
    cmg_cg_solver *cg; /* on K and C */
    cmg_hierarchy *levels;
    cmg_solver *solver;
    cmg_vector *values; /* CSR order */
    double *host;       /* the same on the host, NULL = values are there */
    cmg_solver_options options;
    bool fresh; /* the solver has not seen this time step's values */
};

static cmg_status divide_by(const heart *h, const cmg_vector *x, cmg_vector *d, cmg_vector *y)
{
    double *from = cmg_vector_data((cmg_vector *)(uintptr_t)x);
    return h->k->divide(h->stream, h->mesh.nodes, from, cmg_vector_data(d), cmg_vector_data(y)) == 0
               ? CMG_OK
               : CMG_ERR_DEVICE;
}

static cmg_status divide(void *user, const cmg_vector *x, cmg_vector *y)
{
    const heart *h = user;
    return divide_by(h, x, h->diagonal, y);
}

/* y <- y + omega_j D^-1 (x - K y) from 0, DEGREE (odd) times: the first is a division. */
static cmg_status polynomial(void *user, const cmg_vector *x, cmg_vector *y)
{
    const heart *h = user;
    const linear *l = h->solver;
    cmg_vector *z[2] = {y, l->z};
    cmg_status status = divide_by(h, x, l->first, z[0]);
    for (int j = 1; j < DEGREE && status == CMG_OK; ++j) {
        status = cmg_matrix_jacobi(l->K, l->damping[j], l->inverse, x, z[(j - 1) % 2], z[j % 2]);
    }
    return status;
}

/*
 * Eigenvalues of D^-1 K are at most the number of corners, as those of every cell are: K is a sum
 * of semidefinite matrices with that many rows. Roots are taken from both ends in turn.
 */
static cmg_status make_polynomial(heart *h, linear *l)
{
    cmg_vector **all[] = {&l->ones, &l->inverse, &l->first, &l->z};
    const double high = h->corners;
    const double low = high / PART;
    cmg_status status = CMG_OK;
    for (int j = 0; j < DEGREE; ++j) {
        const int k = j % 2 == 0 ? j / 2 : DEGREE - 1 - j / 2;
        const double root = cos(3.14159265358979324 * (k + 0.5) / DEGREE);
        l->damping[j] = 2 / (high + low + (high - low) * root);
    }
    for (int k = 0; k < 4 && status == CMG_OK; ++k) {
        status = cmg_vector_create(h->ctx, h->mesh.nodes, CMG_FP64, all[k]);
    }
    l->C = (cmg_operator){h->mesh.nodes, h->mesh.nodes, polynomial, h};
    return status ? status : cmg_vector_fill(l->ones, 1);
}

/* K in a format, bound to the sum matrix. */
static cmg_status make_matrix(heart *h, linear *l)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    char text[128];
    (void)snprintf(text, sizeof text, "format=%s", h->o->format);
    const cmg_csr csr = cmg_fem_sum_csr(h->sum);
    cmg_status status = cmg_matrix_options_set(&options, text);
    if (status != CMG_OK) {
        (void)fprintf(stderr, "heart: %s\n", options.refused);
        return status;
    }
    options.keep_map = true;
    status = cmg_matrix_create_csr(h->ctx, &csr, &options, &l->K);
    if (status == CMG_OK && cmg_matrix_permutation(l->K) != NULL) {
        (void)fprintf(stderr, "heart: %s renumbers its vectors\n", h->o->format);
        return CMG_ERR_UNSUPPORTED;
    }
    return status ? status : cmg_fem_sum_bind(h->sum, l->K);
}

/* The values where the hierarchy takes them from. */
static cmg_status fetch_values(const heart *h, linear *l, const double **values)
{
    cmg_status status = cmg_fem_sum_matrix(h->sum, h->matrix, l->values);
    if (l->host == NULL) {
        *values = cmg_vector_data(l->values);
        return status;
    }
    *values = l->host;
    return status ? status : cmg_vector_get(l->values, l->host);
}

/* Levels and steps are made from the matrix of tissue at rest, so that they do not depend on when
 * they are made: a run that goes on from a checkpoint has the same ones. */
static cmg_status make_solver(heart *h, linear *l)
{
    const double *values = NULL;
    cmg_csr csr = cmg_fem_sum_csr(h->sum);
    const cmg_size nnz = csr.indptr[csr.rows];
    cmg_status status = cmg_vector_create(h->ctx, nnz, CMG_FP64, &l->values);
    if (status == CMG_OK && cmg_context_backend(h->ctx) != CMG_BACKEND_CPU) {
        l->host = malloc((size_t)nnz * sizeof *l->host);
        status = l->host != NULL ? CMG_OK : CMG_ERR_MEMORY;
    }
    status = status ? status : cells_newton(h, h->o->dt);
    status = status ? status : fetch_values(h, l, &values);
    status = status ? status : cmg_hierarchy_create(h->ctx, h->levels, &l->levels);
    csr.values = values;
    if (status == CMG_OK) {
        status = cmg_hierarchy_wrap_csr(l->levels, 0, CMG_ROLE_A, NULL, 0, &csr);
    }
    for (int p = 0; p + 1 < h->levels && status == CMG_OK; ++p) {
        const cmg_csr *P = &h->P[h->levels - 2 - p];
        status = cmg_hierarchy_wrap_csr(l->levels, p, CMG_ROLE_P, NULL, 0, P);
    }
    l->options.matrix.keep_map = true;
    l->options.fallback = false;
    status = status ? status : cmg_solver_create(l->levels, &l->options, &l->solver);
    l->C = cmg_solver_operator(l->solver);
    return status;
}

cmg_status linear_create(heart *h)
{
    linear *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return CMG_ERR_MEMORY;
    }
    h->solver = l;
    l->chebyshev = strcmp(h->o->solver, "chebyshev") == 0;
    l->jacobi = l->chebyshev || strcmp(h->o->solver, "jacobi") == 0;
    cmg_solver_options_default(&l->options);
    l->options.krylov = CMG_KRYLOV_CG;
    l->options.rtol = h->o->linear_rtol;
    l->options.max_it = 1000;
    if (!l->jacobi && strcmp(h->o->solver, "multigrid") != 0 &&
        cmg_solver_options_set(&l->options, h->o->solver) != CMG_OK) {
        (void)fprintf(stderr, "heart: --solver: %s\n", l->options.refused);
        return CMG_ERR_ARG;
    }
    cmg_status status = CMG_OK;
    if (!l->jacobi) {
        status = make_solver(h, l);
    }
    if (status == CMG_OK && (l->jacobi || h->o->keep)) {
        status = make_matrix(h, l);
    }
    if (status != CMG_OK || l->K == NULL) {
        return status;
    }
    if (l->jacobi) {
        l->C = (cmg_operator){h->mesh.nodes, h->mesh.nodes, divide, h};
        l->options.loop = CMG_LOOP_GRAPH; /* divide, too, does nothing but launch a kernel */
    }
    if (l->chebyshev) {
        status = make_polynomial(h, l);
    }
    if (status != CMG_OK) {
        return status;
    }
    const cmg_operator A = cmg_matrix_operator(l->K);
    return cmg_cg_create(h->ctx, &A, &l->C, &l->options, &l->cg);
}

void linear_destroy(heart *h)
{
    linear *l = h->solver;
    if (l != NULL) {
        cmg_cg_destroy(&l->cg);
        cmg_solver_destroy(&l->solver);
        cmg_hierarchy_destroy(&l->levels);
        cmg_matrix_destroy(&l->K);
        cmg_vector_destroy(&l->values);
        cmg_vector_destroy(&l->ones);
        cmg_vector_destroy(&l->inverse);
        cmg_vector_destroy(&l->first);
        cmg_vector_destroy(&l->z);
        free(l->host);
        free(l);
        h->solver = NULL;
    }
}

/* A new time step has begun. */
void linear_begin(heart *h)
{
    h->solver->fresh = true;
}

cmg_status linear_prepare(heart *h)
{
    linear *l = h->solver;
    cmg_status status = CMG_OK;
    double begin = now();
    if (l->K != NULL) {
        status = cmg_fem_sum_store(h->sum, h->matrix);
    }
    if (status == CMG_OK && l->jacobi) {
        status = cmg_fem_sum_vector(h->sum, h->diagonals, h->diagonal);
    }
    if (status == CMG_OK && l->chebyshev) {
        status = divide_by(h, l->ones, h->diagonal, l->inverse);
        status = status ? status : cmg_vector_axpby(1 / l->damping[0], h->diagonal, 0, l->first);
    }
    const double *values = NULL;
    const bool renew = !l->jacobi && (l->fresh || !h->o->keep);
    if (status == CMG_OK && renew) {
        status = fetch_values(h, l, &values);
    }
    status = status ? status : lap(h, begin, &h->spent.sums);
    begin = now();
    if (status == CMG_OK && renew) {
        status = cmg_hierarchy_update(l->levels, 0, CMG_ROLE_A, values);
        status = status ? status : cmg_solver_refresh(l->solver);
        l->fresh = false;
    }
    return status ? status : lap(h, begin, &h->spent.prepare);
}

cmg_status linear_solve(heart *h)
{
    linear *l = h->solver;
    cmg_report report;
    cmg_report_default(&report);
    const double begin = now();
    cmg_status status = cmg_vector_fill(h->dphi, 0);
    if (status == CMG_OK) {
        status = l->cg != NULL ? cmg_cg_solve(l->cg, h->b, h->dphi, &report)
                               : cmg_solver_solve(l->solver, h->b, h->dphi, &report);
    }
    h->count.iterations += report.iterations;
    status = status ? status : lap(h, begin, &h->spent.solve);
    return status == CMG_OK && !cmg_outcome_converged(report.outcome) ? CMG_ERR_STATE : status;
}
