/*
 * Solvers of a symmetric matrix on a grid, large enough for products by its upper half (mirror.h):
 * several columns, values that are symmetric and others that are not, every precision. Residuals
 * are sums over the test's own arrays.
 */
#include "own.h"
#include "solves.h"

enum { LINE = 61, LINES = 46, PLANES = 47, N = LINE * LINES * PLANES, COLUMNS = 2 };

/* Weight between two unknowns, 0.5 to 1.5; the same both ways but for `skew`. */
static double weight(cmg_size i, cmg_size j, unsigned salt, double skew)
{
    unsigned seed = salt + (unsigned)(i < j ? i * 31 + j : j * 31 + i);
    (void)own_random(&seed);
    return (0.5 + own_random(&seed)) * (i < j ? 1 : 1 - skew);
}

/* A graph Laplacian of 27 points, and a little more. */
static void fill(own_matrix *A, unsigned salt, double skew)
{
    EACH_ENTRY (A, i, e) {
        A->values[e] = A->indices[e] == i ? 0.01 : -weight(i, A->indices[e], salt, skew);
    }
    for (cmg_size i = 0; i < N; ++i) {
        double sum = 0;
        cmg_size own = 0;
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            own = A->indices[e] == i ? e : own;
            sum += A->indices[e] == i ? 0 : A->values[e];
        }
        A->values[own] -= sum;
    }
}

static own_matrix make(void)
{
    own_matrix A = {.rows = N,
                    .cols = N,
                    .indptr = calloc(N + 1, sizeof *A.indptr),
                    .indices = calloc((size_t)27 * N, sizeof *A.indices),
                    .values = calloc((size_t)27 * N, sizeof *A.values)};
    static const int size[3] = {LINE, LINES, PLANES};
    for (cmg_size i = 0; i < N; ++i) {
        const int at[3] = {(int)(i % LINE), (int)(i / LINE % LINES), (int)(i / LINE / LINES)};
        A.indptr[i + 1] = A.indptr[i];
        for (int k = 0; k < 27; ++k) {
            const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
                inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < size[d];
            }
            if (inside) {
                A.indices[A.indptr[i + 1]++] =
                    (cmg_index)(i + (step[2] * LINES + step[1]) * LINE + step[0]);
            }
        }
    }
    return A;
}

static void check_solve(cmg_solver *s, const own_matrix *A, int columns)
{
    scoped double *b = random_values((cmg_size)N * columns, 5);
    scoped_vector *vb = columns_from(N, columns, b);
    scoped_vector *vx = columns_new(N, columns);
    CHECK_OK(cmg_vector_fill(vx, 0));
    CHECK_OK(cmg_solver_solve(s, vb, vx, NULL));
    scoped double *x = values_of(vx);
    for (int k = 0; k < columns; ++k) {
        double rounding = 0;
        cmg_report report = {.size = sizeof report};
        const double own = own_residual(A, b, x, columns, k, &rounding);
        CHECK_OK(cmg_solver_column(s, k, &report));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && own <= 1.0001e-8);
        CHECK_NEAR(report.relative_residual, own, 1e-6 * own + rounding);
    }
}

/* Products and transposed products of preconditioning are of the same operator: (M x, y) = (x, M
 * y).
 */
static void check_symmetry(cmg_solver *s, double tolerance)
{
    scoped_vector *x = vector_of(N, 3);
    scoped_vector *y = vector_of(N, 4);
    scoped_vector *mx = vector_of(N, 5);
    scoped_vector *my = vector_of(N, 6);
    CHECK_OK(cmg_solver_precondition(s, x, mx));
    CHECK_OK(cmg_solver_precondition(s, y, my));
    double left = 0;
    double right = 0;
    double size = 0;
    CHECK_OK(cmg_vector_dot(mx, y, &left));
    CHECK_OK(cmg_vector_dot(x, my, &right));
    CHECK_OK(cmg_vector_norm(mx, &size));
    CHECK_NEAR(left, right, tolerance * size * sqrt(N));
}

/* A solver of its own for each set of values, or one that is refreshed, which has no mirrors. */
static void check_states(const char *options)
{
    own_matrix A = make();
    fill(&A, 1, 0);
    const cmg_csr csr = {N, N, A.indptr, A.indices, A.values};
    const bool refreshed = strstr(options, "keep_map") != NULL;
    scoped_hierarchy *h = hierarchy_alone(&csr);
    scoped_solver *s = solver_with(h, "%s", options);
    check_solve(s, &A, COLUMNS);
    check_solve(s, &A, 1);
    check_symmetry(s, 1e-6);
    static const double skews[] = {0.05, 0};
    for (int k = 0; k < 2; ++k) {
        fill(&A, 2 + (unsigned)k, skews[k]);
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, A.values));
        if (refreshed) {
            CHECK_OK(cmg_solver_refresh(s));
        } else {
            cmg_solver_destroy(&s);
            s = solver_with(h, "%s", options);
        }
        check_solve(s, &A, 1);
    }
    check_solve(s, &A, COLUMNS);
    check_solve(s, &A, 1);
    free(A.indptr);
    free(A.indices);
    free(A.values);
}

TEST(values_and_columns_are_solved)
{
    check_states("precision=auto");
    check_states("precision=mixed format=compressed");
    check_states("precision=fp64 format=compressed krylov=cg");
    check_states("precision=mixed format=compressed keep_map=true");
}
