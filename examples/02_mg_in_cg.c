/*
 * A cycle as the preconditioner of a Krylov method of your own.
 *
 *   02_mg_in_cg FILE
 *
 * The conjugate gradients below are the caller's code (Saad 2003, algorithm 9.1). They see the
 * matrix and the preconditioner as a cmg_operator each: y = A x and z = C r. Your own matrix takes
 * the place of `A` by filling a cmg_operator with your own function.
 */
#include <cmg.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the library's own sentence; enough for an example. */
static cmg_context *ctx = NULL;
static void must(cmg_status status)
{
    if (status != CMG_OK) {
        fprintf(stderr, "%s: %s\n", cmg_status_name(status),
                ctx != NULL ? cmg_context_message(ctx) : "no context");
        exit(1);
    }
}

static double dot(const cmg_vector *x, const cmg_vector *y)
{
    double result = 0;
    must(cmg_vector_dot(x, y, &result));
    return result;
}

static cmg_vector *zeros(cmg_size n)
{
    cmg_vector *x = NULL;
    must(cmg_vector_create(ctx, n, CMG_FP64, &x));
    return x;
}

/* Solves A x = b from x = 0; returns the number of iterations, -1 past `limit`. */
static int conjugate_gradients(const cmg_operator *A, const cmg_operator *C, const cmg_vector *b,
                               cmg_vector *x, double rtol, int limit)
{
    cmg_vector *r = zeros(A->rows);
    cmg_vector *z = zeros(A->rows);
    cmg_vector *p = zeros(A->rows);
    cmg_vector *q = zeros(A->rows);
    const double tolerance = rtol * sqrt(dot(b, b));
    int found = -1;
    must(cmg_vector_copy(b, r));
    must(C->apply(C->user, r, z));
    must(cmg_vector_copy(z, p));
    double rz = dot(r, z);
    for (int k = 1; k <= limit && found < 0; ++k) {
        must(A->apply(A->user, p, q));
        const double alpha = rz / dot(p, q);
        must(cmg_vector_axpby(alpha, p, 1.0, x));
        must(cmg_vector_axpby(-alpha, q, 1.0, r));
        const double norm = sqrt(dot(r, r));
        printf("  %3d  %.3e\n", k, norm);
        found = norm <= tolerance ? k : -1;
        must(C->apply(C->user, r, z));
        const double rz_old = rz;
        rz = dot(r, z);
        must(cmg_vector_axpby(1.0, z, rz / rz_old, p));
    }
    cmg_vector_destroy(&r);
    cmg_vector_destroy(&z);
    cmg_vector_destroy(&p);
    cmg_vector_destroy(&q);
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 1;
    }
    cmg_hierarchy *h = NULL;
    must(cmg_context_create(NULL, &ctx));
    must(cmg_hierarchy_read(ctx, argv[1], CMG_FILE_AUTO, &h));

    /* the preconditioner: one V(2,2)-cycle in single precision */
    cmg_solver_options options;
    cmg_solver *solver = NULL;
    cmg_solver_options_default(&options);
    options.pre = 2;
    options.post = 2;
    options.precision = CMG_FP32;
    must(cmg_solver_create(h, &options, &solver));
    const cmg_operator C = cmg_solver_operator(solver);

    /* the matrix: here the hierarchy's own, in double precision */
    cmg_csr csr;
    cmg_matrix *matrix = NULL;
    must(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &csr));
    must(cmg_matrix_create_csr(ctx, &csr, NULL, &matrix));
    const cmg_operator A = cmg_matrix_operator(matrix);

    cmg_vector *b = zeros(A.rows);
    cmg_vector *x = zeros(A.rows);
    must(cmg_vector_fill(b, 1.0));
    const int iterations = conjugate_gradients(&A, &C, b, x, 1e-10, 100);
    printf(iterations > 0 ? "converged in %d iterations\n" : "did not converge (%d)\n", iterations);

    cmg_vector_destroy(&x);
    cmg_vector_destroy(&b);
    cmg_matrix_destroy(&matrix);
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return iterations > 0 ? 0 : 1;
}
