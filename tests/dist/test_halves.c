/*
 * Halves of the cycle on several ranks, each with whole planes of a box or lines of one in two
 * dimensions: the solution of one rank, and where they cannot be, that solution too.
 */
#include "spmv/halves.h"

#include "ranks.h"
#include "generated.h"

/* As many halves, where the device has any; levels of up to 60 rows are whole and collapsed. */
static void expect_halves(cmg_hierarchy *h, const char *options, int ranks, int partition,
                          int halves)
{
    scoped double *b = random_rhs(h);
    const char *all = sprint("gather=60 collapse=60 no-fallback precision=mixed %s", options);
    const int taken = compare_ranks(h, b, all, ranks, partition, 1e-5);
    const int due = cmgi_halves_possible(ctx) ? halves : 0;
    CHECK_SAY(taken == due, "%d ranks, %s: %d halves, not %d", ranks, options, taken, due);
}

/* Levels of 15, 7 and 3 planes, the last one whole; a rank needs four planes. */
TEST(cubes)
{
    static const int halves[] = {0, 4, 2, 2, 0};
    scoped_hierarchy *h = generated("dim=3 cells=16");
    for (int ranks = 1; ranks <= 4; ++ranks) {
        expect_halves(h, "smoother=jacobi krylov=cg", ranks, PLANES, halves[ranks]);
    }
    expect_halves(h, "smoother=jacobi pre=2 post=2 krylov=cg", 3, PLANES, 2);
    expect_halves(h, "krylov=semi", 2, PLANES, 2);
}

/* Levels of 63, 31, 15 and 7 lines, the last one whole. */
TEST(squares)
{
    static const int halves[] = {0, 6, 6, 6, 4};
    scoped_hierarchy *h = generated("cells=64");
    for (int ranks = 1; ranks <= 4; ++ranks) {
        expect_halves(h, "smoother=jacobi pre=2 post=2 krylov=cg", ranks, PLANES, halves[ranks]);
    }
    expect_halves(h, "smoother=jacobi cycle=W krylov=none max-it=8", 3, PLANES, 14);
    expect_halves(h, "smoother=jacobi fmg krylov=none max-it=8", 2, PLANES, 6);
    expect_halves(h, "krylov=semi", 4, PLANES, 4);
}

/* No slabs, another P or A on one rank, no box; levels that are whole have halves all the same. */
TEST(others_have_none)
{
    scoped_hierarchy *h = generated("cells=64");
    const char *options = "smoother=jacobi krylov=cg";
    expect_halves(h, options, 3, EVEN, 0);
    expect_halves(h, sprint("%s gather=961", options), 3, EVEN, 4);
    cmgi_csr *P = &h->level[0].P;
    P->values[P->indptr[P->rows] - 1] *= 0.75; /* of the last rank */
    expect_halves(h, options, 3, PLANES, 4);
    P->values[P->indptr[P->rows] - 1] /= 0.75;
    cmgi_csr *A = &h->level[0].A;
    A->values[A->indptr[A->rows] - 1] *= 1.25;
    expect_halves(h, options, 3, PLANES, 4);
    scoped_hierarchy *bent = generated("cells=64 distort=0.2");
    expect_halves(bent, options, 2, PLANES, 0);
}

static const char *const cube = "dim=3 cells=16 levels=3";

static cmg_status solve_generated(void *user, const cmg_transport *transport)
{
    trial *t = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    cmg_generate_options options = generate_defaults();
    (void)cmg_generate_options_set(&options, cube);
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_generate(mine, &options, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_own_rows(h, 0, &first, &rows);
    status = status != CMG_OK ? status : solve_own(h, t, first, rows, transport->rank == 0);
    return rank_end(transport, mine, status);
}

/* What ranks generate for themselves are slabs. */
TEST(generated_slabs)
{
    scoped_hierarchy *h = generated("%s", cube);
    scoped double *b = random_rhs(h);
    for (int ranks = 2; ranks <= 3; ++ranks) {
        scoped_trial t = trial_of(h, b, "gather=60 no-fallback precision=mixed format=compressed");
        run_ranks(ranks, 60, solve_generated, &t, CMG_OK, "");
        CHECK(cmg_outcome_converged(t.report.outcome));
        CHECK(t.halves == (cmgi_halves_possible(ctx) ? 2 : 0));
    }
}
