/*
 * Halves of the cycle on several ranks, each with whole planes of a box or lines of one in two
 * dimensions: the solution of one rank, and where they cannot be, that solution too.
 */
#include "spmv/halves.h"

#include "ranks.h"
#include "generated.h"

/* So many halves, where the device has any; levels of up to 60 rows are whole and collapsed. */
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

/* No slabs, other values on one rank, no box; levels that are whole have halves all the same. */
TEST(others_have_none)
{
    scoped_hierarchy *h = generated("cells=64");
    const char *options = "smoother=jacobi krylov=cg";
    expect_halves(h, options, 3, EVEN, 0);
    expect_halves(h, sprint("%s gather=961", options), 3, EVEN, 4);
    cmgi_csr *A = &h->level[0].A;
    const cmg_size i = A->rows - 1; /* of the last rank */
    A->values[A->indptr[i + 1] - 1] *= 1.25;
    expect_halves(h, options, 3, PLANES, 4);
    scoped_hierarchy *bent = generated("cells=64 distort=0.2");
    expect_halves(bent, options, 2, PLANES, 0);
}
