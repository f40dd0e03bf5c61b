/*
 * The hierarchies of preassembled/ and the named cases of cmg_generate_case, solved on the backend
 * under test and on the CPU: the same outcome, and iteration counts within one, as sums are taken
 * in another order. On the CPU the second run has one thread: equal counts. And what a solve costs
 * a GPU beside its kernels: launches of graphs and synchronisations.
 *
 * CMG_TEST_UNKNOWNS is the size of the largest case that is taken, 20000 by default.
 */
#include "oracle.h"
#include "generated.h"

typedef struct method {
    const char *name;
    const char *options;
    bool symmetric; /* is asked for */
    bool sorted;    /* b and x are renumbered */
} method;

static const method methods[] = {
    {"cg, fp64", "krylov=cg precision=fp64", true, false},
    {"cg, fp64, explained", "krylov=cg precision=fp64 explain", true, false},
    {"cg, mixed, compressed", "krylov=cg precision=mixed format=compressed", true, false},
    {"stand-alone, fp64", "krylov=none precision=fp64 pre=2 post=2", false, false},
    {"stand-alone, mixed, k2rs", "krylov=none precision=mixed format=k2rs pre=2 post=2", false,
     true},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* The report of the last of several solves: the first one also gives the limits to the device. */
static cmg_report solve(cmg_context *on, cmg_hierarchy *h, const method *m, int times)
{
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN, .iterations = -9};
    scoped_solver *s = NULL;
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    const double *values = NULL;
    cmg_size n = 0;
    const cmg_solver_options options = solver_options("smoother=jacobi %s", m->options);
    CHECK_OK(cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &values));
    CHECK_OK(cmg_vector_create(on, n, CMG_FP64, &b));
    CHECK_OK(cmg_vector_create(on, n, CMG_FP64, &x));
    CHECK_OK(cmg_vector_set(b, values));
    CHECK_OK(cmg_solver_create(h, &options, &s));
    for (int k = 0; k < times; ++k) {
        CHECK_OK(cmg_vector_fill(x, 0.0));
        CHECK_OK(cmg_solver_solve(s, b, x, &report));
    }
    report.history = NULL;
    return report;
}

static cmg_context *other_context(void)
{
    cmg_context_options options = context_defaults();
    cmg_context *other = NULL;
    cmg_elements_use(&options);
    options.threads = cmg_context_backend(ctx) == CMG_BACKEND_CPU ? 1 : 0;
    CHECK_OK(cmg_context_create(&options, &other));
    return other;
}

static void compare(const char *name, cmg_hierarchy *here, cmg_context *other, cmg_hierarchy *there,
                    bool symmetric)
{
    const int apart = cmg_context_backend(ctx) == CMG_BACKEND_CPU ? 0 : 1;
    for (int m = 0; m < METHODS; ++m) {
        if (!symmetric && methods[m].symmetric) {
            continue;
        }
        const cmg_report a = solve(ctx, here, &methods[m], 1);
        const cmg_report b = solve(other, there, &methods[m], 1);
        CHECK(a.outcome == b.outcome);
        /* at the rounding level an iteration more or less is rounding too */
        const int rounding = a.outcome == CMG_ROUNDING ? b.iterations / 5 : 0;
        CHECK(abs(a.iterations - b.iterations) <= (apart > 0 ? apart + rounding : 0));
        printf("   | %s | %lld | %s | %d | %d | %s |\n", name,
               (long long)cmg_hierarchy_rows(here, 0), methods[m].name, b.iterations, a.iterations,
               cmg_enum_name("outcome", (int)a.outcome));
    }
}

static void compare_generated(const char *name, const cmg_generate_options *options,
                              cmg_context *other)
{
    scoped_hierarchy *there = NULL;
    scoped_hierarchy *here = hierarchy_generated(options);
    CHECK_OK(cmg_hierarchy_generate(other, options, &there));
    if (here != NULL && there != NULL) {
        compare(name, here, other, there, options->problem != CMG_PROBLEM_CONVECTION);
    }
}

TEST(cases_take_the_same_iterations)
{
    const char *limit = getenv("CMG_TEST_UNKNOWNS");
    const cmg_size most = limit != NULL ? atoll(limit) : 20000;
    scoped_context *other = other_context();
    int taken = 0;
    for (int i = 0; cmg_generate_case_name(i) != NULL; ++i) {
        const char *name = cmg_generate_case_name(i);
        cmg_generate_options options;
        cmg_generate_size size = {.size = sizeof size};
        CHECK_OK(cmg_generate_case(name, &options));
        if (pow((double)options.cells / 2, options.dim) > (double)most) {
            continue; /* its coarsest mesh need not be made for that */
        }
        CHECK_OK(cmg_generate_estimate(ctx, &options, &size));
        if (size.rows <= most) {
            compare_generated(name, &options, other);
            ++taken;
        }
    }
    CHECK(taken >= 5);
}

/* The stored ones, and where containers cannot be read, what the third of them holds: the others
 * are named cases. */
TEST(preassembled_cases_take_the_same_iterations)
{
    static const char *const names[] = {"poisson_q1_2d_64", "poisson_q1_2d_64_dirichlet_rows",
                                        "poisson_q1_3d_16"};
    scoped_context *other = other_context();
    cmg_generate_options options;
    CHECK_OK(cmg_generate_case("poisson-q1-2d-64", &options));
    options.boundary = CMG_BOUNDARY_IDENTITY_KEEP;
    compare_generated("poisson-q1-2d-64, identity rows", &options, other);
    for (int i = 0; i < 3; ++i) {
        scoped_hierarchy *here = NULL;
        scoped_hierarchy *there = NULL;
        const char *path = sprint("%s/preassembled/tiny/%s.cmg", CMG_SOURCE_DIR, names[i]);
        const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &here);
        if (status == CMG_ERR_UNSUPPORTED) {
            SKIP("this build reads no containers: %s", names[i]);
            continue;
        }
        CHECK_OK(status);
        CHECK_OK(cmg_hierarchy_read(other, path, CMG_FILE_AUTO, &there));
        if (here != NULL && there != NULL) {
            compare(names[i], here, other, there, true);
        }
    }
}

TEST(a_solve_is_one_launch)
{
    cmg_generate_options options;
    CHECK_OK(cmg_generate_case("poisson-q1-2d-64", &options));
    scoped_hierarchy *h = hierarchy_generated(&options);
    for (int m = 0; m < METHODS && h != NULL; ++m) {
        const cmg_report r = solve(ctx, h, &methods[m], 2);
        CHECK(r.outcome == CMG_CONVERGED_RTOL);
        if (r.loop != CMG_LOOP_GRAPH) {
            CHECK(cmg_context_backend(ctx) == CMG_BACKEND_CUDA || r.graph_launches == 0);
            SKIP("%s: no conditional nodes here, loop %s", methods[m].name,
                 cmg_enum_name("loop", (int)r.loop));
            continue;
        }
        CHECK(r.graph_launches >= 1 && r.graph_launches <= 2);
        CHECK(r.synchronisations >= 1 &&
              r.synchronisations <= 1 + r.iterations / 10 + methods[m].sorted);
    }
}
