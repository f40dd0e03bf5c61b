/*
 * Our approximate inverses against those that the authors of FE-gMG published with their
 * hierarchies (HONEI, testdata/poisson_advanced): equal to the printed digits when the same minimum
 * is asked for, and no more iterations.
 */
#include "hierarchy/hierarchy.h"
#include "solves.h"

static cmg_hierarchy *published(const char *name)
{
    const char *folder = test_shared_data();
    cmg_hierarchy *h = NULL;
    if (folder == NULL) {
        SKIP("no shared data");
        return NULL;
    }
    const char *path = sprint("%s/hier/%s", folder, name);
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    return h;
}

/* Ours, called `method`, on every level against the stored `name`. */
static void matches(const char *hierarchy, const char *name, const char *method)
{
    scoped_hierarchy *h = published(hierarchy);
    if (h == NULL) {
        return;
    }
    int compared = 0;
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        cmg_csr theirs;
        cmg_csr ours;
        if (cmg_hierarchy_factors(h, l, name) != 1) {
            continue;
        }
        CHECK_OK(cmg_hierarchy_smooth(h, l, method, "ours", NULL));
        CHECK_OK(cmg_hierarchy_get_csr(h, l, CMG_ROLE_SMOOTHER, name, 0, &theirs));
        CHECK_OK(cmg_hierarchy_get_csr(h, l, CMG_ROLE_SMOOTHER, "ours", 0, &ours));
        /* entries are below 1.1; their 16 digits and a condition number of 100 */
        CHECK_NEAR(matrix_difference(&ours, &theirs), 0, 1e-13);
        ++compared;
    }
    CHECK(compared >= 4);
}

static const char *const same_spai = "spai:tau=0:side=right:symmetric=no:weight=count";
static const char *const same_sainv =
    "sainv:drop=0.13:rule=absolute:scale=no:form=product:dirichlet=keep:omega=1";

TEST(spai_is_reproduced)
{
    matches("honei_pa1_q1", "spai", same_spai);
    matches("honei_pa2_q1_ell", "spai", same_spai);
}

TEST(sainv_is_reproduced)
{
    matches("honei_pa2_q1_ell", "sainv", same_sainv);
}

static int iterations(cmg_hierarchy *h, const char *smoother, int steps)
{
    const cmg_solver_options o =
        solver_options("krylov=none smoother=%s pre=%d post=%d", smoother, steps, steps);
    scoped_vector *b = zero_for(h);
    scoped_vector *x = zero_for(h);
    CHECK_OK(cmg_vector_fill(b, 1));
    const cmg_report report = solve(h, &o, b, x);
    CHECK(cmg_outcome_converged(report.outcome));
    return report.iterations;
}

/* With 1, 2 and 4 steps of stand-alone V-cycles. */
static void iterations_are_no_worse(const char *hierarchy, const char *ours, const char *theirs)
{
    scoped_hierarchy *h = published(hierarchy);
    for (int steps = 1; h != NULL && steps <= 4; steps *= 2) {
        const int a = iterations(h, ours, steps);
        const int b = iterations(h, theirs, steps);
        CHECK_SAY(a <= b, "%s, %d steps: %s %d, %s %d", hierarchy, steps, ours, a, theirs, b);
    }
}

TEST(ours_are_no_worse)
{
    iterations_are_no_worse("honei_pa1_q1", "spai:weight=count", "file:spai");
    iterations_are_no_worse("honei_pa2_q1_ell", "spai:weight=count", "file:spai");
    iterations_are_no_worse("honei_pa2_q1_ell", "sainv", "file:sainv");
}
