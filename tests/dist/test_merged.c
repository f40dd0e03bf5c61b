/*
 * CG with one sum over the ranks an iteration: it is CG, on one rank and on several, and the sums
 * are counted.
 */
#include "ranks.h"
#include "generated.h"

static const char *const cases[] = {
    "cells=16",
    "dim=3 cells=8",
    "element=p1 cells=16",
    "element=q2 cells=8",
    "cells=16 dirichlet=identity",
    "cells=16 problem=elasticity",
    "cells=16 problem=heat dirichlet=neumann",
    "cells=16 coarse=galerkin",
#ifdef CMGI_HAVE_LAPACK
    "cells=64 dirichlet=neumann", /* singular: a pseudo-inverse */
#else
    "cells=64",
#endif
};
enum { CASES = sizeof cases / sizeof *cases };

static cmg_hierarchy *generate(int k, double **b)
{
    cmg_hierarchy *h = generated("distort=0.2 %s", cases[k]);
    *b = random_rhs(h);
    return h;
}

static trial solved(cmg_hierarchy *h, const double *b, const char *options)
{
    trial t = trial_of(h, b, options);
    CHECK_OK(solve_own(h, &t, 0, t.n, true));
    return t;
}

/* Norm that the iteration went by at its end, less the true one, over that of b. */
static double gap(const trial *t)
{
    return fabs(t->history[t->report.iterations] - t->report.residual) / t->report.rhs_norm;
}

/* Both reach the tolerance, in counts that differ by `most`; norms agree above rounding. */
static void compare_with_cg(cmg_hierarchy *h, const double *b, const char *rest, int most)
{
    scoped_trial cg = solved(h, b, sprint("krylov=cg %s no-fallback", rest));
    scoped_trial one = solved(h, b, sprint("krylov=merged %s no-fallback", rest));
    const int before = test_failures;
    CHECK(one.report.krylov == CMG_KRYLOV_MERGED);
    CHECK(cmg_outcome_converged(cg.report.outcome) && cmg_outcome_converged(one.report.outcome));
    CHECK(abs(one.report.iterations - cg.report.iterations) <= most);
    CHECK(gap(&one) <= 1e-12);
    compare_histories(&cg, &one, strstr(rest, "mixed") != NULL ? 1e-3 : 1e-6);
    if (test_failures != before) {
        printf("  %lld rows, %s: %d iterations, cg %d; gap %.1e, cg %.1e\n", (long long)one.n, rest,
               one.report.iterations, cg.report.iterations, gap(&one), gap(&cg));
    }
}

TEST(is_cg)
{
    for (int k = 0; k < CASES; ++k) {
        scoped double *b = NULL;
        scoped_hierarchy *h = generate(k, &b);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        double mean = 0;
        for (cmg_size i = 0; i < n; ++i) {
            mean += b[i] / (double)n;
        }
        for (cmg_size i = 0; i < n && strstr(cases[k], "neumann") != NULL; ++i) {
            b[i] -= mean; /* else there is no solution */
        }
        compare_with_cg(h, b, "smoother=jacobi ", 1);
        compare_with_cg(h, b, "smoother=jacobi rtol=1e-12", 1);
        compare_with_cg(h, b, "smoother=fsai pre=2 post=2", 1);
        compare_with_cg(h, b, "precision=mixed", 1);
    }
}

/* Hundreds of iterations, in which the recurrence of A p drifts. */
TEST(is_cg_for_long)
{
    scoped double *b = NULL;
    scoped_hierarchy *h = generate(0, &b);
    compare_with_cg(h, b, "cycle=none smoother=jacobi max-it=1000", 1);
    scoped_trial tight =
        solved(h, b, "krylov=merged cycle=none rtol=1e-14 max-it=1000 no-fallback");
    CHECK(cmg_outcome_converged(tight.report.outcome) ||
          tight.report.outcome == CMG_STAGNATED); /* rounding, and reported */
    CHECK(tight.report.relative_residual <= 1e-12);
}

TEST(ranks_do_the_same)
{
    static const int ranks[] = {1, 2, 3, 8};
    for (int k = 0; k < CASES; ++k) {
        scoped double *b = NULL;
        scoped_hierarchy *h = generate(k, &b);
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
            compare_ranks(h, b, "krylov=merged gather=20 no-fallback", ranks[r], EVEN, 1e-7);
            compare_ranks(h, b, "krylov=merged gather=20 precision=mixed no-fallback", ranks[r],
                          RANDOM, 1e-3);
        }
        compare_ranks(h, b, "krylov=merged gather=20 no-fallback", 64, RANDOM, 1e-7);
    }
}

/* A transport that counts the gatherings of rank 0, of which a sum over the ranks is one. */
typedef struct counted {
    trial t;
    long gathers;
    const cmg_transport *real;
} counted;

static cmg_status count_gather(void *user, const void *mine, void *all, const size_t *offsets)
{
    counted *c = user;
    ++c->gathers;
    return c->real->gather(c->real->user, mine, all, offsets);
}

static cmg_status counted_start(void *user, const cmg_message *send, int sends,
                                const cmg_message *receive, int receives)
{
    const counted *c = user;
    return c->real->start(c->real->user, send, sends, receive, receives);
}

static cmg_status counted_finish(void *user)
{
    const counted *c = user;
    return c->real->finish(c->real->user);
}

static void counted_fail(void *user, cmg_status status, const char *message)
{
    const counted *c = user;
    c->real->fail(c->real->user, status, message);
}

static const char *counted_message(void *user)
{
    const counted *c = user;
    return c->real->message(c->real->user);
}

static cmg_status counted_check(void *user)
{
    const counted *c = user;
    return c->real->check(c->real->user);
}

static cmg_status count_rank(void *user, const cmg_transport *transport)
{
    counted *c = user;
    if (transport->rank != 0) {
        return solve_rank(&c->t, transport);
    }
    cmg_transport mine = *transport;
    c->real = transport;
    mine.user = c;
    mine.start = counted_start;
    mine.finish = counted_finish;
    mine.gather = count_gather;
    mine.fail = counted_fail;
    mine.message = counted_message;
    mine.check = counted_check;
    return solve_rank(&c->t, &mine);
}

/* Gatherings of `iterations` more iterations. */
static long gathers(cmg_hierarchy *h, const double *b, const char *krylov, int iterations)
{
    long seen[2] = {0, 0};
    for (int k = 0; k < 2; ++k) {
        const char *options =
            sprint("krylov=%s gather=0 smoother=jacobi no-coarsen no-fallback rtol=0 max-it=%d",
                   krylov, 2 + k * iterations);
        counted c = {.t = trial_of(h, b, options)};
        run_ranks(2, 60, count_rank, &c, CMG_OK, "");
        CHECK(c.t.report.iterations == 2 + k * iterations);
        seen[k] = c.gathers;
        trial_end(&c.t);
    }
    return seen[1] - seen[0];
}

/* An iteration of CG has three sums, and each has one gathering for the coarsest level. */
TEST(one_sum_an_iteration)
{
    if (cmg_context_backend(ctx) != CMG_BACKEND_CPU) {
        return; /* sums may be those of devices */
    }
    scoped double *b = NULL;
    scoped_hierarchy *h = generate(0, &b);
    divide(h, 2, EVEN);
    const long plain = gathers(h, b, "cg", 4);
    const long merged = gathers(h, b, "merged", 4);
    CHECK(plain == 4 * (3 + 1));
    CHECK(merged == 4 * (1 + 1));
    if (plain != 16 || merged != 8) {
        printf("  %ld and %ld gatherings in four iterations\n", plain, merged);
    }
}
