/* Generated hierarchies and those made by others, on 1 .. 64 ranks of one process. */
#include "ranks.h"
#include "generated.h"

static const char *const small = "gather=60 no-fallback";

/* Every number of ranks, every partition. */
static void all_ranks(const char *problem, const char *options)
{
    static const int ranks[] = {1, 2, 3, 8};
    scoped_hierarchy *h = generated("%s", problem);
    scoped double *b = random_rhs(h);
    EACH_PAIR (r, sizeof ranks / sizeof *ranks, partition, PARTITIONS) {
        compare_ranks(h, b, options, ranks[r], partition, 1e-9);
    }
    compare_ranks(h, b, options, 64, RANDOM, 1e-9);
}

TEST(default_solver)
{
    all_ranks("cells=32", small);
}

TEST(jacobi_in_three_dimensions)
{
    all_ranks("dim=3 cells=8 distort=0.2", "gather=10 smoother=jacobi no-fallback");
}

/* One rank has the whole box, whose product leaves its inner products as it divides them. */
TEST(one_rank_has_a_box)
{
    scoped_hierarchy *h = generated("dim=3 cells=42 levels=2");
    scoped double *b = random_rhs(h);
    compare_ranks(h, b, "smoother=jacobi krylov=cg no-fallback gather=60", 1, PLANES, 1e-9);
}

/* Options on one problem, with a few ranks each. */
static void some_ranks(const char *problem, const char *options, double tolerance)
{
    scoped_hierarchy *h = generated("%s", problem);
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
    for (size_t k = 0; k < sizeof options / sizeof *options; ++k) {
        const bool low = strstr(options[k], "mixed") != NULL;
        some_ranks("cells=16 distort=0.2", sprint("%s gather=20 no-fallback", options[k]),
                   low ? 1e-3 : 1e-8);
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
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        some_ranks("cells=16 distort=0.25", sprint("smoother=%s gather=20 no-fallback", names[k]),
                   1e-7);
    }
}

TEST(problems)
{
    static const char *const cases[] = {
        "element=p1 cells=16",
        "element=q2 cells=8",
        "dim=3 cells=8 dirichlet=identity",
        "cells=16 dirichlet=identity-keep",
        "cells=16 problem=elasticity",
        "cells=16 problem=heat dirichlet=neumann",
#ifdef CMGI_HAVE_LAPACK
        "cells=16 dirichlet=neumann", /* singular: a pseudo-inverse */
#endif
        "cells=16 problem=convection",
        "cells=16 coarse=galerkin",
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        some_ranks(cases[k], "gather=20 no-fallback", 1e-7);
        some_ranks(cases[k], "gather=20 max-it=4", 1e-7); /* not converged, with a reason */
    }
}

/* So few rows a rank that those of an approximate inverse are diagonal on some, and not on others.
 */
TEST(few_rows_a_rank)
{
    scoped_hierarchy *h = generated("cells=8 problem=elasticity dirichlet=identity-keep");
    scoped double *b = random_rhs(h);
    compare_ranks(h, b, "smoother=spai no-fallback", 20, EVEN, 1e-7);
    compare_ranks(h, b, "smoother=spai gather=0 no-fallback", 64, RANDOM, 1e-7);
}

/* Level matrices that are formed, a restriction that is given, a matrix alone. */
TEST(what_is_missing)
{
    scoped_hierarchy *h = generated("cells=16 dirichlet=identity");
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
        const cmg_csr P = h->level[l].P.view;
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
    double bytes[2] = {0};
    scoped_hierarchy *h = generated("dim=3 cells=32");
    scoped double *b = random_rhs(h);
    divide(h, 2, EVEN);
    for (int k = 0; k < 2; ++k) {
        scoped_trial t = trial_of(h, b, options[k]);
        run_ranks(2, 60, solve_rank, &t, CMG_OK, "");
        bytes[k] = t.report.bytes;
        CHECK(strstr(t.notes, "divided among them") != NULL); /* over coarse levels of each */
        CHECK(strstr(t.notes, "finest matrix alone") == NULL);
    }
    CHECK(bytes[0] > 0 && bytes[1] < bytes[0]);
}
