/*
 * Hierarchies made by others, read from their files: stand-alone V-cycles need as many iterations
 * as an independent program counted (the table of the data's README), within one; algebraic
 * hierarchies converge as preconditioners of CG. Reads the shared data, skipped visibly without it.
 */
#include "io/io.h"
#include "oracle.h"
#include "test.h"

typedef struct known {
    const char *folder;
    int level; /* finest level used, 0 = all */
    int drop;  /* coarsest levels left out */
    cmg_dirichlet dirichlet;
    const char *smoother;
    double omega;
    int steps;
    int iterations; /* -1 = diverges */
} known;

#define Q1 "hier/honei_poisson_q1"
#define PA2 "hier/honei_pa2_q1_ell"
#define KEEP CMG_DIRICHLET_KEEP
#define ZERO CMG_DIRICHLET_ZERO

static const known table[] = {
    {Q1, 0, 0, KEEP, "jacobi", 0.7, 4, 12},    {Q1, 0, 0, KEEP, "jacobi", 0.7, 2, 47},
    {Q1, 0, 0, KEEP, "jacobi", 0.7, 1, -1},    {Q1, 0, 0, ZERO, "jacobi", 0.7, 4, 10},
    {Q1, 0, 0, ZERO, "jacobi", 0.7, 2, 15},    {Q1, 0, 0, ZERO, "jacobi", 0.7, 1, 24},
    {PA2, 0, 0, KEEP, "jacobi", 0.7, 4, 18},   {PA2, 0, 0, KEEP, "jacobi", 0.7, 2, 39},
    {PA2, 0, 0, KEEP, "jacobi", 0.7, 1, -1},   {PA2, 0, 0, KEEP, "file:spai", 1, 4, 6},
    {PA2, 0, 0, KEEP, "file:spai", 1, 2, 9},   {PA2, 0, 0, KEEP, "file:spai", 1, 1, 16},
    {PA2, 0, 0, KEEP, "file:sainv", 1, 4, 8},  {PA2, 0, 0, KEEP, "file:sainv", 1, 2, 14},
    {PA2, 0, 1, ZERO, "jacobi", 0.7, 4, 20},   {PA2, 0, 1, ZERO, "jacobi", 0.7, 2, 39},
    {PA2, 0, 1, ZERO, "jacobi", 0.7, 1, 78},   {PA2, 0, 1, ZERO, "file:spai", 1, 4, 7},
    {PA2, 0, 1, ZERO, "file:spai", 1, 2, 10},  {PA2, 0, 1, ZERO, "file:spai", 1, 1, 19},
    {PA2, 0, 1, ZERO, "file:sainv", 1, 4, 8},  {PA2, 0, 1, ZERO, "file:sainv", 1, 2, 15},
    {PA2, 0, 1, ZERO, "file:sainv", 1, 1, 29}, {PA2, 2, 1, ZERO, "jacobi", 0.7, 4, 17},
    {PA2, 2, 1, ZERO, "jacobi", 0.7, 2, 32},   {PA2, 2, 1, ZERO, "jacobi", 0.7, 1, 64},
    {PA2, 2, 1, ZERO, "file:spai", 1, 4, 6},   {PA2, 2, 1, ZERO, "file:spai", 1, 2, 8},
    {PA2, 2, 1, ZERO, "file:spai", 1, 1, 15},  {PA2, 2, 1, ZERO, "file:sainv", 1, 4, 6},
    {PA2, 2, 1, ZERO, "file:sainv", 1, 2, 11}, {PA2, 2, 1, ZERO, "file:sainv", 1, 1, 20},
};
enum { TABLE = sizeof table / sizeof table[0] };

static cmg_hierarchy *read_hierarchy(const char *folder)
{
    cmg_hierarchy *h = NULL;
    const char *path = sprint("%s/%s", test_shared_data(), folder);
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    return h;
}

/* Solves with the stored right-hand side of the finest level from 0. */
static cmg_report solve(cmg_hierarchy *h, const cmg_solver_options *options)
{
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN, .iterations = -2};
    cmg_size n = 0;
    const double *values = NULL;
    const cmg_size rows = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_new(rows, CMG_FP64);
    scoped_vector *x = vector_new(rows, CMG_FP64);
    CHECK_OK(cmg_vector_fill(b, 1));
    if (cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &values) == CMG_OK) {
        CHECK(n == rows);
        CHECK_OK(cmg_vector_set(b, values));
    }
    scoped_solver *s = solver_new(h, options);
    if (s != NULL) {
        CHECK_OK(cmg_solver_solve(s, b, x, &report));
    }
    report.history = NULL;
    return report;
}

static void check_count(const known *k, cmg_hierarchy *h, cmg_format format,
                        cmg_precision precision)
{
    cmg_solver_options o =
        solver_options("krylov=none dirichlet=%s smoother=%s omega=%.17g pre=%d post=%d "
                       "coarse=inverse format=%s precision=%s fallback=no",
                       WORD("dirichlet", k->dirichlet), k->smoother, k->omega, k->steps, k->steps,
                       WORD("format", format), WORD("precision", precision));
    const cmg_report report = solve(h, &o);
    const bool expected = k->iterations < 0 ? !cmg_outcome_converged(report.outcome)
                                            : report.outcome == CMG_CONVERGED_RTOL &&
                                                  abs(report.iterations - k->iterations) <= 1;
    CHECK_SAY(expected, "%s, %s, %d steps, %s: %d iterations (%s), known %d", k->folder,
              k->smoother, k->steps, cmg_enum_name("format", (int)format), report.iterations,
              cmg_enum_name("outcome", (int)report.outcome), k->iterations);
}

TEST(known_counts_are_met)
{
    scoped_hierarchy *h = NULL;
    for (int i = 0; i < TABLE; ++i) {
        const bool same = i > 0 && strcmp(table[i].folder, table[i - 1].folder) == 0 &&
                          table[i].level == table[i - 1].level &&
                          table[i].drop == table[i - 1].drop;
        if (!same) {
            cmg_hierarchy_destroy(&h);
            h = read_hierarchy(table[i].folder);
            CHECK_OK(cmg_hierarchy_select(h, table[i].level, table[i].drop));
        }
        if (h != NULL) {
            check_count(&table[i], h, CMG_FORMAT_AUTO, CMG_FP64);
            if (table[i].steps == 4) { /* the few cycles of these leave time for a second look */
                check_count(&table[i], h, i % 2 ? CMG_FORMAT_K2RS : CMG_FORMAT_COMPRESSED,
                            CMG_FP32);
            }
        }
    }
}

static void check_cg(const char *what, cmg_hierarchy *h)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        cmg_solver_options o = solver_options("precision=%s", WORD("precision", p));
        const cmg_report report = solve(h, &o);
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= 25);
        printf("   %s: %d levels, %d iterations\n", what, cmg_hierarchy_levels(h),
               report.iterations);
    }
}

TEST(ruge_stueben_hierarchy_preconditions_cg)
{
    scoped_hierarchy *h = read_hierarchy("hier/raptor_rss");
    if (h != NULL) {
        check_cg("raptor_rss", h);
    }
}

static cmgi_csr read_matrix(const char *file)
{
    cmgi_csr A = {0};
    const char *path = sprint("%s/hier/raptor_misc/%s", test_shared_data(), file);
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    CHECK_OK(cmgi_mtx_read(ctx, path, &anything, &A));
    return A;
}

/* Two matrices and a P of the same package: the coarse matrix is P^T A P. */
TEST(loose_matrices_make_a_two_level_hierarchy)
{
    static const char *const files[] = {"laplacian.mtx", "laplacian27.mtx"};
    for (int f = 0; f < 2; ++f) {
        scoped_csr A = read_matrix(files[f]);
        scoped_csr P = read_matrix("laplacian_P.mtx");
        scoped_csr R = {0};
        scoped_csr AP = {0};
        scoped_csr C = {0};
        CHECK_OK(cmgi_csr_transpose(ctx, &P.view, &R));
        CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &P.view, &AP));
        CHECK_OK(cmgi_csr_multiply(ctx, &R.view, &AP.view, &C));
        scoped_hierarchy *h = hierarchy_new(2);
        CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
        CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &P.view));
        CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &C.view));
        check_cg(files[f], h);
    }
}

BEFORE_TESTS
{
    test_need_shared_data();
}
