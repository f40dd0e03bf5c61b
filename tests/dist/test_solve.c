/* Generated hierarchies and those made by others, on 1 .. 64 ranks of one process. */
#include "ranks.h"
#include "generated.h"

static const char *const small = "gather=60 no-fallback";

/* What the cases below differ in. */
typedef struct problem {
    cmg_element element;
    int dim;
    cmg_size cells;
    cmg_problem problem;
    cmg_boundary boundary;
    cmg_coarsening coarsening;
    double distort;
} problem;

static cmg_hierarchy *generate(const problem *p)
{
    return generated("element=%s dim=%d cells=%lld problem=%s dirichlet=%s coarse=%s distort=%.17g",
                     FEM_WORD("element", p->element), p->dim, (long long)p->cells,
                     FEM_WORD("problem", p->problem), FEM_WORD("boundary", p->boundary),
                     FEM_WORD("coarsening", p->coarsening), p->distort);
}

static double *random_rhs(const cmg_hierarchy *h)
{
    const cmg_size n = h->level[0].A.rows;
    double *b = malloc((size_t)n * sizeof *b);
    for (cmg_size i = 0; i < n; ++i) {
        b[i] = cmgi_random_at(3, (uint64_t)i);
    }
    return b;
}

/* Every number of ranks, every partition. */
static void all_ranks(const problem *p, const char *options)
{
    static const int ranks[] = {1, 2, 3, 8};
    scoped_hierarchy *h = generate(p);
    scoped double *b = random_rhs(h);
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
        for (int partition = 0; partition < PARTITIONS; ++partition) {
            compare_ranks(h, b, options, ranks[r], partition, 1e-9);
        }
    }
    compare_ranks(h, b, options, 64, RANDOM, 1e-9);
}

TEST(default_solver)
{
    const problem p = {.dim = 2, .cells = 32};
    all_ranks(&p, small);
}

TEST(jacobi_in_three_dimensions)
{
    const problem p = {.dim = 3, .cells = 8, .distort = 0.2};
    all_ranks(&p, "gather=10 smoother=jacobi no-fallback");
}

/* Options on one problem, with a few ranks each. */
static void some_ranks(const problem *p, const char *options, double tolerance)
{
    scoped_hierarchy *h = generate(p);
    scoped double *b = random_rhs(h);
    compare_ranks(h, b, options, 2, EVEN, tolerance);
    compare_ranks(h, b, options, 5, RANDOM, tolerance);
    compare_ranks(h, b, options, 9, ONE_ROW, tolerance);
}

TEST(cycles_and_iterations)
{
    static const char *const options[] = {
        "cycle=W krylov=cg",
        "cycle=F fmg",
        "krylov=fcg pre=2 post=1",
        "krylov=fgmres restart=4",
        "krylov=bicgstab",
        "krylov=semi",
        "krylov=semi precision=mixed cycle=W",
        "krylov=none max-it=20",
        "krylov=defect precision=mixed",
        "precision=mixed",
        "format=compressed precision=mixed values=fp16",
        "no-fuse",
        "fuse-restriction",
        "cycle=none max-it=300",
        "format=sell",
    };
    const problem p = {.dim = 2, .cells = 16, .distort = 0.2};
    for (size_t k = 0; k < sizeof options / sizeof *options; ++k) {
        const bool low = strstr(options[k], "mixed") != NULL;
        const char *text = sprint("%s gather=20 no-fallback", options[k]);
        some_ranks(&p, text, low ? 1e-3 : 1e-8);
    }
}

TEST(smoothers)
{
    static const char *const names[] = {"jacobi:omega=auto",
                                        "l1-jacobi",
                                        "chebyshev:degree=3",
                                        "chebyshev4:bound=gershgorin",
                                        "chebyshev4-opt:base=spai",
                                        "gls",
                                        "least-squares",
                                        "neumann:form=recurrence",
                                        "spai",
                                        "spai:power=2",
                                        "spai:adaptive=2:power=0",
                                        "spai:symmetric=no:side=right",
                                        "fsai",
                                        "fsai:adaptive=0:tau=0"};
    const problem p = {.dim = 2, .cells = 16, .distort = 0.25};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        const char *text = sprint("smoother=%s gather=20 no-fallback", names[k]);
        some_ranks(&p, text, 1e-7);
    }
}

TEST(problems)
{
    static const problem cases[] = {
        {.element = CMG_ELEMENT_P1, .dim = 2, .cells = 16},
        {.element = CMG_ELEMENT_Q2, .dim = 2, .cells = 8},
        {.dim = 3, .cells = 8, .boundary = CMG_BOUNDARY_IDENTITY},
        {.dim = 2, .cells = 16, .boundary = CMG_BOUNDARY_IDENTITY_KEEP},
        {.dim = 2, .cells = 16, .problem = CMG_PROBLEM_ELASTICITY},
        {.dim = 2, .cells = 16, .problem = CMG_PROBLEM_HEAT, .boundary = CMG_BOUNDARY_NEUMANN},
#ifdef CMGI_HAVE_LAPACK
        {.dim = 2, .cells = 16, .boundary = CMG_BOUNDARY_NEUMANN}, /* singular: a pseudo-inverse */
#endif
        {.dim = 2, .cells = 16, .problem = CMG_PROBLEM_CONVECTION},
        {.dim = 2, .cells = 16, .coarsening = CMG_COARSENING_GALERKIN},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        some_ranks(&cases[k], "gather=20 no-fallback", 1e-7);
        some_ranks(&cases[k], "gather=20 max-it=4",
                   1e-7); /* not converged, and the report says why */
    }
}

/* So few rows a rank that those of an approximate inverse are diagonal on some, and not on others.
 */
TEST(few_rows_a_rank)
{
    const problem p = {.dim = 2,
                       .cells = 8,
                       .problem = CMG_PROBLEM_ELASTICITY,
                       .boundary = CMG_BOUNDARY_IDENTITY_KEEP};
    scoped_hierarchy *h = generate(&p);
    scoped double *b = random_rhs(h);
    compare_ranks(h, b, "smoother=spai no-fallback", 20, EVEN, 1e-7);
    compare_ranks(h, b, "smoother=spai gather=0 no-fallback", 64, RANDOM, 1e-7);
}

/* Level matrices that are formed, a restriction that is given, a matrix alone. */
TEST(what_is_missing)
{
    const problem p = {.dim = 2, .cells = 16, .boundary = CMG_BOUNDARY_IDENTITY};
    scoped_hierarchy *h = generate(&p);
    scoped double *b = random_rhs(h);
    compare_ranks(h, b, "gather=20 galerkin=always no-fallback", 3, RANDOM, 1e-8);
    for (int l = 1; l < h->levels; ++l) {
        const cmg_size n = h->level[l].A.rows;
        cmgi_csr_free(ctx, &h->level[l].A);
        h->level[l].A.rows = n;
        h->level[l].A.cols = n;
    }
    compare_ranks(h, b, "gather=20 no-fallback", 3, RANDOM, 1e-8);
    for (int l = 0; l + 1 < h->levels; ++l) {
        const cmg_csr P = cmgi_csr_view(&h->level[l].P);
        cmgi_csr R = {0};
        CHECK_OK(cmgi_csr_transpose(ctx, &P, &R));
        CHECK_OK(cmgi_hierarchy_take_csr(h, l, CMG_ROLE_R, NULL, 0, &R));
    }
    compare_ranks(h, b, "gather=20 no-fallback", 4, RANDOM, 1e-8);
    CHECK_OK(cmg_hierarchy_select(h, 0, h->levels - 1));
    /* one rank would factorise a matrix of which nothing is said */
    compare_ranks(h, b, "no-fallback smoother=chebyshev4", 3, RANDOM, 1e-8);
    compare_ranks(h, b, "no-fallback no-coarsen max-it=200", 3, EVEN, 1e-7);
}

/* Fewer bits move fewer bytes: the fp64 matrix of the residual is compressed over ranks, too. */
TEST(fewer_bits_move_less)
{
    static const char *const options[] = {"precision=fp64 max-it=2", "precision=mixed max-it=2"};
    const problem p = {.dim = 3, .cells = 32};
    double bytes[2] = {0};
    char why[CMG_MESSAGE] = "";
    scoped_hierarchy *h = generate(&p);
    scoped double *b = random_rhs(h);
    divide(h, 2, EVEN);
    for (int k = 0; k < 2; ++k) {
        trial t = {.whole = h, .options = options[k], .n = h->level[0].A.rows, .b = b};
        t.x = calloc((size_t)t.n, sizeof(double));
        CHECK(cmg_loopback_run(2, 60, solve_rank, &t, why) == CMG_OK);
        bytes[k] = t.report.bytes;
        CHECK(strstr(t.notes, "divided among them") != NULL); /* over coarse levels of each */
        CHECK(strstr(t.notes, "finest matrix alone") == NULL);
        trial_end(&t);
    }
    CHECK(bytes[0] > 0 && bytes[1] < bytes[0]);
}
