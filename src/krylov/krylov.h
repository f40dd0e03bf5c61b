/*
 * Outer iterations in fp64. They see the matrix and the preconditioner only as functions on arrays
 * in the backend's memory, and keep every scalar there, so that nothing waits for the device
 * except the stopping test.
 */
#pragma once
#include "core/backend.h"
#include "core/memory.h"

/* y = A x, r = b - A x, z = C r; `user` is the caller's. All arrays have n entries in fp64. */
typedef struct cmgi_linear_system {
    cmg_context *ctx;
    cmg_size n;
    void *user;
    cmg_status (*apply)(void *user, const double *x, double *y);
    cmg_status (*residual)(void *user, const double *b, const double *x, double *r);
    cmg_status (*precondition)(void *user, const double *r, double *z); /* NULL: z = r */
} cmgi_linear_system;

enum { CMGI_KRYLOV_VECTORS = 4, CMGI_KRYLOV_SCALARS = 8 };

/* An iteration with its work vectors. */
typedef struct cmgi_krylov {
    cmgi_linear_system system;
    double rtol;
    double atol;
    double dtol;
    int max_it;
    double *work[CMGI_KRYLOV_VECTORS]; /* r, z, p, q */
    double *scalars;                   /* CMGI_KRYLOV_SCALARS in the backend's memory */
    double *history;                   /* host: max_it + 1 residual norms */
    int iterations;
    cmg_outcome outcome;
    double rhs_norm;
    double residual; /* ||b - A x||, true */
} cmgi_krylov;

cmg_status cmgi_krylov_create(const cmgi_linear_system *system, const cmg_solver_options *options,
                              cmgi_krylov **k);
void cmgi_krylov_destroy(cmgi_krylov **k);
/* Improves x until a stopping test holds; fills outcome, iterations, history and norms. */
cmg_status cmgi_krylov_solve(cmgi_krylov *k, cmg_krylov method, const double *b, double *x);

/* Used by the methods. */
cmg_status cmgi_cg(cmgi_krylov *k, const double *b, double *x);
cmg_status cmgi_richardson(cmgi_krylov *k, const double *b, double *x);
/* Norm of the vector on the host. */
cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm);
/* z = C r, or z = r without a preconditioner. */
cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z);
/* Residual norm under which the iteration has converged. */
double cmgi_krylov_tolerance(const cmgi_krylov *k);
/* Notes a residual norm after k->iterations iterations; true when the iteration has to stop. */
bool cmgi_krylov_stops(cmgi_krylov *k, double residual);
