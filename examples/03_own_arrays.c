/*
 * A hierarchy from CSR arrays that the program has in memory.
 *
 *   03_own_arrays [OUT]
 *
 * -Laplace u = 2 pi^2 sin(pi x) sin(pi y) on the unit square, u = 0 on its boundary, with bilinear
 * elements on n x n squares: the stencil (1/3) [-1 -1 -1; -1 8 -1; -1 -1 -1] over the (n-1)^2 inner
 * nodes. Level l has n / 2^l squares a side; P interpolates bilinearly; R = P^T is the default.
 * The exact solution is sin(pi x) sin(pi y), so the program checks its error at the nodes.
 *
 * With OUT the hierarchy is written there as a directory of Matrix Market files.
 */
#include <cmg.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SQUARES = 128, LEVELS = 6 };

/* Arrays of one matrix, owned by this program. */
typedef struct arrays {
    cmg_size rows;
    cmg_size cols;
    cmg_size *indptr;
    cmg_index *indices;
    double *values;
} arrays;

static arrays allocate(cmg_size rows, cmg_size cols, cmg_size most)
{
    const arrays a = {rows, cols, malloc((size_t)(rows + 1) * sizeof(cmg_size)),
                      malloc((size_t)most * sizeof(cmg_index)),
                      malloc((size_t)most * sizeof(double))};
    if (a.indptr == NULL || a.indices == NULL || a.values == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    a.indptr[0] = 0;
    return a;
}

static void release(arrays *a)
{
    free(a->indptr);
    free(a->indices);
    free(a->values);
    *a = (arrays){0};
}

/* Appends an entry to row i, which is the last one begun. */
static void append(arrays *a, cmg_size i, cmg_size j, double value)
{
    a->indices[a->indptr[i + 1]] = (cmg_index)j;
    a->values[a->indptr[i + 1]++] = value;
}

/* Stiffness matrix of bilinear elements on n x n squares, inner nodes row by row. */
static arrays stiffness(int n)
{
    const int m = n - 1;
    arrays A = allocate((cmg_size)m * m, (cmg_size)m * m, 9 * (cmg_size)m * m);
    for (int y = 0; y < m; ++y) {
        for (int x = 0; x < m; ++x) {
            const cmg_size i = (cmg_size)y * m + x;
            A.indptr[i + 1] = A.indptr[i];
            for (int s = 0; s < 9; ++s) {
                const int v = y + s / 3 - 1;
                const int u = x + s % 3 - 1;
                if (u >= 0 && u < m && v >= 0 && v < m) {
                    append(&A, i, (cmg_size)v * m + u, s == 4 ? 8.0 / 3.0 : -1.0 / 3.0);
                }
            }
        }
    }
    return A;
}

/* Bilinear interpolation from n/2 x n/2 to n x n squares, between inner nodes. */
static arrays interpolation(int n)
{
    const int m = n - 1;
    const int c = n / 2 - 1;
    arrays P = allocate((cmg_size)m * m, (cmg_size)c * c, 4 * (cmg_size)m * m);
    for (cmg_size i = 0; i < P.rows; ++i) {
        const int x = (int)(i % m) + 1; /* node numbers, 0 and n on the boundary */
        const int y = (int)(i / m) + 1;
        P.indptr[i + 1] = P.indptr[i];
        for (int v = y / 2; v <= (y + 1) / 2; ++v) {
            for (int u = x / 2; u <= (x + 1) / 2; ++u) {
                const double weight = (x % 2 == 1 ? 0.5 : 1.0) * (y % 2 == 1 ? 0.5 : 1.0);
                if (u > 0 && u <= c && v > 0 && v <= c) {
                    append(&P, i, (cmg_size)(v - 1) * c + u - 1, weight);
                }
            }
        }
    }
    return P;
}

/* Hands the arrays over without a copy: they have to live as long as the hierarchy. */
static cmg_status give(cmg_hierarchy *h, int level, cmg_role role, const arrays *a)
{
    const cmg_csr csr = {.rows = a->rows,
                         .cols = a->cols,
                         .indptr = a->indptr,
                         .indices = a->indices,
                         .values = a->values};
    return cmg_hierarchy_wrap_csr(h, level, role, NULL, 0, &csr);
}

/* u = sin(pi x) sin(pi y) at the inner nodes, and b = h^2 f there. */
static void problem(double *u, double *b)
{
    const double pi = acos(-1.0);
    const double width = 1.0 / SQUARES;
    const int m = SQUARES - 1;
    for (int i = 0; i < m * m; ++i) {
        u[i] = sin(pi * width * (i % m + 1)) * sin(pi * width * (i / m + 1));
        b[i] = width * width * 2 * pi * pi * u[i];
    }
}

/* Solves A x = b from a zero guess. */
static cmg_status solve(cmg_context *ctx, cmg_hierarchy *h, const double *b, double *x,
                        cmg_report *report)
{
    cmg_solver *solver = NULL;
    cmg_vector *rhs = NULL;
    cmg_vector *result = NULL;
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_status status = cmg_solver_create(h, NULL, &solver);
    if (status == CMG_OK) {
        status = cmg_vector_create(ctx, n, CMG_FP64, &rhs);
    }
    if (status == CMG_OK) {
        status = cmg_vector_create(ctx, n, CMG_FP64, &result);
    }
    if (status == CMG_OK) {
        status = cmg_vector_set(rhs, b);
    }
    if (status == CMG_OK) {
        status = cmg_solver_solve(solver, rhs, result, report);
    }
    if (status == CMG_OK) {
        status = cmg_vector_get(result, x);
    }
    report->history = NULL; /* it goes with the solver */
    cmg_vector_destroy(&result);
    cmg_vector_destroy(&rhs);
    cmg_solver_destroy(&solver);
    return status;
}

static cmg_status fill(cmg_hierarchy *h, arrays *A, arrays *P, const double *b)
{
    cmg_status status = CMG_OK;
    for (int l = 0; l < LEVELS && status == CMG_OK; ++l) {
        A[l] = stiffness(SQUARES >> l);
        status = give(h, l, CMG_ROLE_A, &A[l]);
        if (status == CMG_OK && l + 1 < LEVELS) {
            P[l] = interpolation(SQUARES >> l);
            status = give(h, l, CMG_ROLE_P, &P[l]);
        }
    }
    return status == CMG_OK ? cmg_hierarchy_set_vector(h, 0, "rhs", "b", A[0].rows, b) : status;
}

int main(int argc, char **argv)
{
    enum { UNKNOWNS = (SQUARES - 1) * (SQUARES - 1) };
    static double u[UNKNOWNS];
    static double b[UNKNOWNS];
    static double x[UNKNOWNS];
    arrays A[LEVELS] = {{0}};
    arrays P[LEVELS] = {{0}};
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_report report = {.size = sizeof report, .outcome = CMG_NOT_A_NUMBER};
    double error = INFINITY;
    problem(u, b);
    cmg_status status = cmg_context_create(NULL, &ctx);
    if (status == CMG_OK) {
        status = cmg_hierarchy_create(ctx, LEVELS, &h);
    }
    if (status == CMG_OK) {
        status = fill(h, A, P, b);
    }
    if (status == CMG_OK && argc > 1) {
        status = cmg_hierarchy_write(h, argv[1], CMG_FILE_MTX);
    }
    if (status == CMG_OK) {
        status = solve(ctx, h, b, x, &report);
    }
    if (status == CMG_OK) {
        error = 0;
        for (int i = 0; i < UNKNOWNS; ++i) {
            error = fmax(error, fabs(x[i] - u[i]));
        }
        printf("%s after %d iterations, relative residual %.2e, error at the nodes %.2e\n",
               cmg_enum_name("outcome", (int)report.outcome), report.iterations,
               report.relative_residual, error);
    } else {
        fprintf(stderr, "%s: %s\n", cmg_status_name(status),
                ctx != NULL ? cmg_context_message(ctx) : "no context");
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    for (int l = 0; l < LEVELS; ++l) {
        release(&A[l]);
        release(&P[l]);
    }
    /* the stencil takes sin(pi x) sin(pi y) to 2 (pi h)^2 (1 - (pi h)^2 / 4 + ...) times itself */
    const double expected = pow(acos(-1.0) / SQUARES, 2) / 4;
    return cmg_outcome_converged(report.outcome) && error < 1.1 * expected ? 0 : 1;
}
