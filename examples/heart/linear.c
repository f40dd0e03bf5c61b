/*
 * K dphi = b by CG, K's values written by the sum matrix into K's own storage. Its preconditioner:
 *
 *   jacobi     the diagonal of K
 *   chebyshev  steps of Jacobi, damped by the roots of Chebyshev's polynomial over the upper part
 *              of the spectrum: fewer inner products, which is what a small heart waits for
 *   other      a cycle of a solver, set up from tissue at rest and kept, or refreshed with K; its
 *              levels are nested where the mesh was refined, algebraic below
 *
 * The last two know the longest time step; under half of it, where the mass rules and the diagonal
 * does well, the diagonal is taken. On a GPU a solve is one graph.
 */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

enum { DEGREE = 9, PART = 60, POWERS = 30 };

struct linear {
    cmg_matrix *K;
    cmg_operator C;
    cmg_cg_solver *cg[3]; /* of the first Newton step, of later ones, of short time steps */
    double atol;          /* that they have */
    double damping[DEGREE];
    cmg_vector *ones;
    cmg_vector *inverse; /* of the diagonal */
    cmg_vector *first;   /* diagonal over the first damping */
    cmg_vector *z;
    cmg_hierarchy *levels;
    cmg_solver *solver;
    cmg_vector *values; /* of K, in CSR order */
    cmg_vector *indptr; /* its pattern, where the values are */
    cmg_vector *indices;
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

/* Largest eigenvalue of D^-1 K by powers: from below, so a tenth is added. */
static cmg_status largest(heart *h, linear *l, double *value)
{
    double *start = room((size_t)h->mesh.nodes * sizeof *start);
    double norm = 1;
    for (cmg_size i = 0; i < h->mesh.nodes; ++i) {
        start[i] = sin(1e3 * (double)i); /* something of every frequency */
    }
    cmg_status status = cmg_vector_set(h->dphi, start);
    free(start);
    for (int k = 0; k < POWERS && status == CMG_OK; ++k) {
        status = cmg_vector_norm(h->dphi, &norm);
        status = status ? status : cmg_vector_axpby(1 / norm, h->dphi, 0, l->z);
        status = status ? status : cmg_matrix_apply(l->K, l->z, h->b);
        status = status ? status : divide_by(h, h->b, h->diagonal, h->dphi);
    }
    status = status ? status : cmg_vector_norm(h->dphi, value);
    *value *= 1.1;
    return status;
}

/* The polynomial's interval, from tissue at rest and the longest time step; at most the number of
 * corners, as the eigenvalues of every cell are. */
static cmg_status make_polynomial(heart *h, linear *l)
{
    cmg_vector **all[] = {&l->ones, &l->inverse, &l->first, &l->z};
    double high = 0;
    cmg_status status = CMG_OK;
    for (int k = 0; k < 4 && status == CMG_OK; ++k) {
        status = cmg_vector_create(h->ctx, h->mesh.nodes, CMG_FP64, all[k]);
    }
    status = status ? status : cmg_vector_fill(l->ones, 1);
    status = status ? status : cells_newton(h, h->o->dt);
    status = status ? status : cmg_fem_sum_store(h->sum, h->matrix);
    status = status ? status : cmg_fem_sum_vector(h->sum, h->diagonals, h->diagonal);
    status = status ? status : largest(h, l, &high);
    high = fmin(high, h->corners);
    const double low = high / PART;
    for (int j = 0; j < DEGREE; ++j) { /* roots from both ends in turn */
        const int k = j % 2 == 0 ? j / 2 : DEGREE - 1 - j / 2;
        const double root = cos(3.14159265358979324 * (k + 0.5) / DEGREE);
        l->damping[j] = 2 / (high + low + (high - low) * root);
    }
    l->C = (cmg_operator){h->mesh.nodes, h->mesh.nodes, polynomial, h};
    return status;
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

/* Levels and steps are made from the matrix of tissue at rest, so that they do not depend on when
 * they are made: a run that goes on from a checkpoint has the same ones. */
static cmg_status make_solver(heart *h, linear *l, const cmg_solver_options *options)
{
    cmg_csr csr = cmg_fem_sum_csr(h->sum);
    const size_t nnz = (size_t)csr.indptr[csr.rows];
    cmg_status status = cmg_vector_create(h->ctx, (cmg_size)nnz, CMG_FP64, &l->values);
    status = status ? status
                    : send(h, csr.indptr, (size_t)(csr.rows + 1) * sizeof *csr.indptr, &l->indptr);
    status = status ? status : send(h, csr.indices, nnz * sizeof *csr.indices, &l->indices);
    status = status ? status : cells_newton(h, h->o->dt);
    status = status ? status : cmg_fem_sum_matrix(h->sum, h->matrix, l->values);
    status = status ? status : cmg_hierarchy_create(h->ctx, h->levels, &l->levels);
    if (status == CMG_OK) {
        csr.values = cmg_vector_data(l->values);
        csr.indptr = cmg_vector_data(l->indptr);
        csr.indices = cmg_vector_data(l->indices);
        status = cmg_hierarchy_wrap_csr(l->levels, 0, CMG_ROLE_A, NULL, 0, &csr);
    }
    for (int p = 0; p + 1 < h->levels && status == CMG_OK; ++p) {
        const cmg_csr *P = &h->P[h->levels - 2 - p];
        status = cmg_hierarchy_wrap_csr(l->levels, p, CMG_ROLE_P, NULL, 0, P);
    }
    status = status ? status : cmg_solver_create(l->levels, options, &l->solver);
    l->C = cmg_solver_operator(l->solver);
    return status;
}

/* The preconditioner that --solver names. */
static cmg_status make_preconditioner(heart *h, linear *l)
{
    cmg_solver_options options;
    if (strcmp(h->o->solver, "jacobi") == 0) {
        l->C = (cmg_operator){h->mesh.nodes, h->mesh.nodes, divide, h};
        return CMG_OK;
    }
    if (strcmp(h->o->solver, "chebyshev") == 0) {
        return make_polynomial(h, l);
    }
    cmg_solver_options_default(&options);
    options.matrix.keep_map = true;
    options.fallback = false;
    if (strcmp(h->o->solver, "multigrid") != 0 &&
        cmg_solver_options_set(&options, h->o->solver) != CMG_OK) {
        (void)fprintf(stderr, "heart: --solver: %s\n", options.refused);
        return CMG_ERR_ARG;
    }
    return make_solver(h, l, &options);
}

cmg_status linear_create(heart *h)
{
    linear *l = room(sizeof *l);
    *l = (linear){.atol = 0};
    h->solver = l;
    cmg_status status = make_matrix(h, l);
    status = status ? status : make_preconditioner(h, l);
    const cmg_operator A = cmg_matrix_operator(l->K);
    cmg_solver_options options;
    cmg_solver_options_default(&options);
    options.krylov = CMG_KRYLOV_CG;
    options.max_it = 1000;
    options.loop = CMG_LOOP_GRAPH; /* our operators, too, do nothing but launch kernels */
    const cmg_operator D = {h->mesh.nodes, h->mesh.nodes, divide, h};
    for (int k = 0; k < 3 && status == CMG_OK; ++k) {
        options.rtol = h->o->linear_rtol[k > 0];
        status = cmg_cg_create(h->ctx, &A, k < 2 ? &l->C : &D, &options, &l->cg[k]);
    }
    return status;
}

void linear_destroy(heart *h)
{
    linear *l = h->solver;
    if (l != NULL) {
        cmg_vector **all[] = {&l->ones,   &l->inverse, &l->first,  &l->z,
                              &l->values, &l->indptr,  &l->indices};
        for (int k = 0; k < 3; ++k) {
            cmg_cg_destroy(&l->cg[k]);
        }
        cmg_solver_destroy(&l->solver);
        cmg_hierarchy_destroy(&l->levels);
        cmg_matrix_destroy(&l->K);
        for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
            cmg_vector_destroy(all[k]);
        }
        free(l);
        h->solver = NULL;
    }
}

/* K and what its preconditioner takes from it. */
cmg_status linear_prepare(heart *h, const newton_step *step)
{
    linear *l = h->solver;
    double begin = now();
    cmg_status status = cmg_fem_sum_store(h->sum, h->matrix);
    const bool renew =
        l->solver != NULL && (h->o->refresh > 1 || (h->o->refresh == 1 && step->number == 0));
    status = status ? status : cmg_fem_sum_vector(h->sum, h->diagonals, h->diagonal);
    if (status == CMG_OK && l->ones != NULL) {
        status = divide_by(h, l->ones, h->diagonal, l->inverse);
        status = status ? status : cmg_vector_axpby(1 / l->damping[0], h->diagonal, 0, l->first);
    }
    if (status == CMG_OK && renew) {
        status = cmg_fem_sum_matrix(h->sum, h->matrix, l->values);
    }
    status = status ? status : lap(h, begin, &h->spent.sums);
    begin = now();
    if (status == CMG_OK && renew) {
        status = cmg_hierarchy_update(l->levels, 0, CMG_ROLE_A, cmg_vector_data(l->values));
        status = status ? status : cmg_solver_refresh(l->solver);
    }
    return status ? status : lap(h, begin, &h->spent.prepare);
}

/* dphi, to the tolerance of the Newton step or, where that is more, to |b - K dphi| <= enough;
 * *norm is |b|, and with that below `enough` dphi = 0. CMG_ERR_STATE: it has not converged. */
cmg_status linear_solve(heart *h, const newton_step *step, double *norm)
{
    linear *l = h->solver;
    cmg_report report;
    cmg_report_default(&report);
    const double begin = now();
    cmg_status status = CMG_OK;
    if (l->atol != step->enough) {
        for (int j = 0; j < 3 && status == CMG_OK; ++j) {
            status = cmg_cg_set_limits(l->cg[j], -1, step->enough, 0);
        }
        l->atol = step->enough;
    }
    cmg_cg_solver *cg = l->cg[step->dt < 0.5 * h->o->dt ? 2 : step->number > 0];
    status = status ? status : cmg_vector_fill(h->dphi, 0);
    status = status ? status : cmg_cg_solve(cg, h->b, h->dphi, &report);
    h->count.iterations += report.iterations;
    *norm = report.rhs_norm;
    status = status ? status : lap(h, begin, &h->spent.solve);
    return status == CMG_OK && !cmg_outcome_converged(report.outcome) ? CMG_ERR_STATE : status;
}
