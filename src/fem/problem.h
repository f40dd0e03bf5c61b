/*
 * A boundary value problem, bound to a domain: coefficients, right-hand side, exact solution.
 *
 *   scalar      -div(k grad u) + v . grad u + c u = f
 *   elasticity  -div(k sigma(u)) = f,  sigma = lambda (div u) I + mu (grad u + grad u^T)
 *
 * For a known solution u the right-hand side is taken in weak form, b_i = a(u, phi_i), so that it
 * needs no second derivatives and carries the Neumann data k du/dn of u by itself.
 */
#pragma once
#include "cmg_fem.h"

#include "core/status.h"

typedef struct cmgi_problem {
    int dim;
    int components; /* unknowns a node: 1, in elasticity dim */
    bool elastic;
    bool symmetric;     /* the bilinear form is */
    double diffusion;   /* scales k: 1, in HEAT the time step */
    double velocity[3]; /* v */
    double reaction;    /* c: in HEAT 1 */
    double lambda;      /* Lame constants; in 2D lambda of plane stress, E nu / (1 - nu^2) */
    double mu;
    const double *factor; /* of k in cells of each region, NULL = 1 */
    double axes[2];       /* cosine and sine of the angle */
    double origin[3];     /* bounding box */
    double extent[3];
    int degree;                   /* of the polynomial solution: the space's order */
    cmg_generate_options options; /* coefficient, load and source as they are asked for */
} cmgi_problem;

/* The problem the options ask for, on a bounding box. */
cmgi_problem cmgi_problem_make(const cmg_generate_options *options, int dim, const double *origin,
                               const double *extent);
/* True when k is the same everywhere. */
bool cmgi_problem_constant(const cmgi_problem *p);
/* The tensor k at x in a cell of the region, dim x dim; in elasticity only k[0] counts. */
void cmgi_problem_coefficient(const cmgi_problem *p, cmg_index region, const double *x, double *k);
/* True when the exact solution is known. */
bool cmgi_problem_solved(const cmgi_problem *p);
/* Exact solution u (components) and du (components x dim) at x; du may be NULL. */
void cmgi_problem_exact(const cmgi_problem *p, const double *x, double *u, double *du);
/* f at x (components). */
void cmgi_problem_source(const cmgi_problem *p, const double *x, double *f);
