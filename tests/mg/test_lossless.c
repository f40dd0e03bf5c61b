/*
 * Iterations do not depend on the storage: fp64 compressed, fp32 and fp16 take as many as
 * fp64 CSR, within one, on preassembled/, on distorted meshes and on hierarchies made by others
 * (shared data, skipped visibly without it); nothing falls back.
 */
#include "solves.h"
#include "generated.h"

static const char *const storages[] = {
    "precision=fp64 format=compressed",
    "precision=fp64 format=compressed no_templates",
    "precision=mixed format=csr",
    "precision=mixed format=compressed",
    "precision=mixed format=compressed no_templates",
    "precision=mixed format=compressed precision_schedule=A:fp16,P:fp16,R:fp16,M:fp16",
    "precision=mixed format=compressed precision_schedule=A:fp16,P:fp16,R:fp16,M:fp16 no_templates",
};
enum { STORAGES = sizeof storages / sizeof storages[0] };

/* The right-hand side of the hierarchy, or ones. */
static cmg_vector *given_rhs(cmg_hierarchy *h)
{
    cmg_size n = 0;
    const double *values = NULL;
    cmg_vector *b = zero_for(h);
    CHECK_OK(cmg_vector_fill(b, 1));
    if (cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &values) == CMG_OK) {
        CHECK_OK(cmg_vector_set(b, values));
    }
    return b;
}

static void compare_storages(const char *name, cmg_hierarchy *h, const char *options)
{
    scoped_vector *b = given_rhs(h);
    scoped_vector *x = zero_for(h);
    cmg_solver_options o = solver_options("%s format=csr", options);
    const cmg_report plain = solve(h, &o, b, x);
    CHECK(plain.outcome == CMG_CONVERGED_RTOL);
    for (int k = 0; k < STORAGES; ++k) {
        o = solver_options("%s %s", options, storages[k]);
        const cmg_report report = solve(h, &o, b, from_zero(x));
        const bool same = report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0 &&
                          abs(report.iterations - plain.iterations) <= 1;
        CHECK_SAY(same, "%s, %s: %d iterations (%s), fp64 csr %d", name, storages[k],
                  report.iterations, WORD("outcome", report.outcome), plain.iterations);
    }
}

/* In CG, and cycles alone with a smoother of the hierarchy or Jacobi. */
static void compare_methods(const char *name, cmg_hierarchy *h, const char *stored)
{
    compare_storages(name, h, "smoother=jacobi");
    compare_storages(name, h, sprint("smoother=%s krylov=none pre=4 post=4", stored));
}

/* NULL where it cannot be read in this build. */
static cmg_hierarchy *read(const char *folder, const char *name)
{
    cmg_hierarchy *h = NULL;
    const char *path = sprint("%s/%s", folder, name);
    const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h);
    if (status == CMG_ERR_UNSUPPORTED) {
        SKIP("this build reads no containers: %s", name);
    } else {
        CHECK_OK(status);
    }
    return h;
}

TEST(preassembled_hierarchies)
{
    static const char *const names[] = {
        "poisson_q1_2d_64.cmg", "poisson_q1_2d_64_dirichlet_rows.cmg", "poisson_q1_3d_16.cmg"};
    for (int i = 0; i < 3; ++i) {
        scoped_hierarchy *h = read(CMG_SOURCE_DIR "/preassembled/tiny", names[i]);
        if (h != NULL) {
            compare_methods(names[i], h, "jacobi");
        }
    }
}

TEST(distorted_meshes)
{
    static const char *const meshes[] = {
        "element=q1 dim=2 cells=32",         "element=q1 dim=3 cells=8",
        "element=q2 dim=2 cells=16",         "element=p1 dim=2 cells=32",
        "problem=elasticity dim=2 cells=16", "problem=elasticity dim=3 cells=6"};
    for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; ++m) {
        scoped_hierarchy *h = generated("levels=2 distort=0.2 %s", meshes[m]);
        if (h != NULL) {
            compare_methods(meshes[m], h, "jacobi");
        }
    }
}

TEST(hierarchies_made_by_others)
{
    static const struct {
        const char *name;
        const char *smoother;
    } others[] = {{"hier/honei_poisson_q1", "jacobi"},
                  {"hier/honei_pa2_q1_ell", "file:spai"},
                  {"hier/raptor_rss", "jacobi"}};
    NEEDS(test_shared_data() != NULL, "hierarchies made by others: no shared data");
    for (int i = 0; i < 3; ++i) {
        scoped_hierarchy *h = read(test_shared_data(), others[i].name);
        if (h != NULL) {
            compare_methods(others[i].name, h, others[i].smoother);
        }
    }
}
