/* Smoothers in the solver: all methods, kept ones, new values; and the published ones of FE-gMG. */
#include "hierarchy/hierarchy.h"
#include "solves.h"
#include "generated.h"

enum { SIDE = 24, LEVELS = 3 };

static cmg_solver_options options_for(const char *smoother)
{
    return solver_options("smoother=%s", smoother);
}

/* Solves from zero. */
static cmg_report run(cmg_hierarchy *h, const cmg_solver_options *o)
{
    scoped_vector *b = vector_for(h, 77);
    scoped_vector *x = zero_for(h);
    return solve(h, o, b, x);
}

static bool is_file(const char *name)
{
    return strcmp(name, "file") == 0;
}

/* CG with a V(1,1) cycle: every method, boundary columns kept or not, both precisions. */
TEST(every_method_solves)
{
    for (int columns = 0; columns < 2; ++columns) {
        scoped_hierarchy *h = poisson(SIDE, LEVELS, columns ? POISSON_COLUMNS : 0);
        for (int i = 0; cmg_smoother_name(i) != NULL; ++i) {
            const char *name = cmg_smoother_name(i);
            for (int p = CMG_FP64; p <= CMG_FP32 && !is_file(name); ++p) {
                const cmg_solver_options o =
                    solver_options("smoother=%s precision=%s", name, WORD("precision", p));
                const cmg_report report = run(h, &o);
                CHECK_SAY(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= 15,
                          "%s, columns %d: %s, %d iterations", name, columns,
                          WORD("outcome", report.outcome), report.iterations);
            }
        }
    }
}

/* Strong smoothers need no more cycles than Jacobi with the same steps. */
TEST(strong_smoothers_beat_jacobi)
{
    static const char *const names[] = {"spai",       "spai:tau=0", "sainv",
                                        "fsai:tau=0", "isai",       "sweep:order=colours",
                                        "sweep",      "chebyshev",  "chebyshev4-opt"};
    scoped_hierarchy *h = poisson(SIDE, LEVELS, 0);
    cmg_solver_options o = solver_options("smoother=jacobi krylov=none");
    const cmg_report jacobi = run(h, &o);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        solver_set(&o, "smoother=%s", names[k]);
        const cmg_report report = run(h, &o);
        CHECK(cmg_outcome_converged(report.outcome));
        CHECK(report.iterations <= jacobi.iterations);
    }
}

/* What is kept gives the same bits as what is computed at set-up. */
TEST(kept_smoothers_are_found_again)
{
    scoped_hierarchy *h = poisson(SIDE, LEVELS, POISSON_COLUMNS);
    for (int i = 0; cmg_smoother_name(i) != NULL; ++i) {
        const char *name = cmg_smoother_name(i);
        cmg_smoother_info info = {.size = sizeof info};
        if (is_file(name)) {
            continue;
        }
        const cmg_status status = cmg_hierarchy_smooth(h, 0, name, "kept", &info);
        if (status == CMG_ERR_UNSUPPORTED) { /* polynomials, sweeps: said so, nothing replaced */
            CHECK(strstr(cmg_context_message(ctx), "dampings") != NULL ||
                  strstr(cmg_context_message(ctx), "substitution") != NULL);
            continue;
        }
        CHECK_OK(status);
        for (int l = 1; l < LEVELS; ++l) {
            CHECK_OK(cmg_hierarchy_smooth(h, l, name, "kept", NULL));
        }
        CHECK(info.factors == cmg_hierarchy_factors(h, 0, "kept"));
        CHECK(info.nnz > 0 && info.bytes > 0 && info.quality > 0 && info.quality < 1);
        CHECK(info.lambda_max > 0.3 && info.lambda_max < 2.5);
        const cmg_solver_options direct = options_for(name);
        const cmg_solver_options stored = options_for("file:kept");
        const cmg_report a = run(h, &direct);
        const cmg_report b = run(h, &stored);
        CHECK(a.iterations == b.iterations);
        /* damping multiplied in rounds differently */
        CHECK_NEAR(a.residual, b.residual, 1e-4 * a.residual);
    }
}

TEST(smooth_refuses)
{
    scoped_hierarchy *h = poisson(8, 2, 0);
    CHECK_STATUS(cmg_hierarchy_smooth(NULL, 0, "spai", "m", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 2, "spai", "m", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, NULL, "m", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "spai", "", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "spai", "a/b", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "spai", "a:b", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "unknown", "m", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "file:none", "m", NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "chebyshev", "m", NULL), CMG_ERR_UNSUPPORTED);
    CHECK(cmg_hierarchy_factors(h, 0, "m") == 0);
}

/* A smoother of three factors is replaced by one of one. */
TEST(replacing_leaves_no_factor)
{
    scoped_hierarchy *h = poisson(8, 2, 0);
    CHECK_OK(cmg_hierarchy_smooth(h, 0, "sainv:form=three", "m", NULL));
    CHECK(cmg_hierarchy_factors(h, 0, "m") == 3);
    CHECK_OK(cmg_hierarchy_smooth(h, 0, "spai", "m", NULL));
    CHECK(cmg_hierarchy_factors(h, 0, "m") == 1);
    CHECK_OK(cmg_hierarchy_smooth(h, 0, "fsai", "other", NULL));
    CHECK_OK(cmg_hierarchy_smooth(h, 0, "file:m", "copy", NULL));
    CHECK(cmg_hierarchy_smoother(h, 0, 3) == NULL && cmg_hierarchy_smoother(h, 0, 2) != NULL);
}

/* Refresh: also where dampings and patterns follow the values, the result is that of a new solver.
 */
TEST(new_values_are_followed)
{
    static const char *const names[] = {"spai",
                                        "spai:tau=0.2:omega=auto",
                                        "sainv",
                                        "chebyshev:base=spai",
                                        "chebyshev4",
                                        "sweep:order=colours",
                                        "sweep",
                                        "sweep:ilu=yes",
                                        "gls:form=recurrence"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        scoped_hierarchy *h = poisson(SIDE, LEVELS, 0);
        const cmg_solver_options o = solver_options("smoother=%s keep_map galerkin=missing",
                                                    names[k]); /* couplings fade on all levels */
        scoped_solver *s = solver_new(h, &o);
        for (int l = 0; l < LEVELS; ++l) {
            /* couplings along x fade: thresholds and spectra change */
            const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
            scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
            EACH_ENTRY (&A, i, e) {
                values[e] *= llabs((long long)A.indices[e] - (long long)i) == 1 ? 0.25 : 1;
            }
            CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
        }
        CHECK_OK(cmg_solver_refresh(s));
        scoped_vector *b = vector_for(h, 77);
        scoped_vector *x = zero_for(h);
        const cmg_report report = solve_with(s, b, x);
        const cmg_report fresh = run(h, &o);
        CHECK(report.iterations == fresh.iterations && report.residual == fresh.residual);
    }
}

/* Values that no smoother can be made from: the solver says so until better ones come. */
TEST(failed_refresh_is_remembered)
{
    scoped_hierarchy *h = poisson(SIDE, LEVELS, 0);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    const cmg_solver_options o = solver_options(
        "smoother=sainv keep_map galerkin=missing"); /* the coarse matrices keep their values */
    cmg_report report = {.size = sizeof report};
    cmg_step_info step = {.size = sizeof step};
    scoped_solver *s = solver_new(h, &o);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *good = scaled_copy(A.values, A.indptr[n], 2);
    scoped double *bad = scaled_copy(A.values, A.indptr[n], -1);
    scoped_vector *b = vector_of(n, 77);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, bad));
    CHECK_STATUS(cmg_solver_refresh(s), CMG_ERR_SINGULAR);
    CHECK_STATUS(cmg_solver_solve(s, b, x, &report), CMG_ERR_STATE);
    CHECK_STATUS(cmg_solver_precondition(s, b, x), CMG_ERR_STATE);
    CHECK_STATUS(cmg_solver_measure(s, 1), CMG_ERR_STATE);
    CHECK_STATUS(cmg_solver_step(s, 0, &step), CMG_ERR_ARG);
    CHECK(cmg_solver_steps(s) == 0);
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, good));
    CHECK_OK(cmg_solver_refresh(s));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    const cmg_report fresh = run(h, &o);
    CHECK(cmg_outcome_converged(report.outcome));
    CHECK(report.iterations == fresh.iterations);
    CHECK_NEAR(report.residual / fresh.residual, 1, 1e-6);
}

/* Dampings that were estimated can be read. */
TEST(notes_name_size_and_dampings)
{
    static const char *const names[][2] = {
        {"jacobi", "smoother jacobi: 1 factor, "},
        {"sainv", "smoother sainv: 2 factors, "},
        {"chebyshev4:degree=3", "smoother chebyshev4:degree=3: 1 factor, "},
        {"gls:form=recurrence", "smoother gls:form=recurrence: 1 factor, "},
    };
    scoped_hierarchy *h = poisson(SIDE, LEVELS, 0);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        const cmg_solver_options o = options_for(names[k][0]);
        bool found = false;
        scoped_solver *s = solver_new(h, &o);
        for (int i = 0; cmg_solver_note(s, i) != NULL; ++i) {
            const char *note = cmg_solver_note(s, i);
            found = found || (strncmp(note, names[k][1], strlen(names[k][1])) == 0 &&
                              strstr(note, "damping") != NULL);
        }
        CHECK(found);
    }
}

/* Generated problems that are harder on a smoother than Poisson on squares. */
/* Elasticity has blocks of dim unknowns a node; with CG every symmetric method gets there. */
TEST(elasticity_is_solved)
{
    for (int dim = 2; dim <= 3; ++dim) {
        scoped_hierarchy *h =
            generated("problem=elasticity levels=3 dim=%d cells=%d", dim, dim == 2 ? 16 : 8);
        for (int i = 0; h != NULL && cmg_smoother_name(i) != NULL; ++i) {
            const char *name = cmg_smoother_name(i);
            if (is_file(name)) {
                continue;
            }
            const cmg_solver_options o = options_for(name);
            const cmg_report report = run(h, &o);
            CHECK_SAY(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= 30,
                      "%dD %s: %s, %d iterations", dim, name, WORD("outcome", report.outcome),
                      report.iterations);
        }
    }
}

/* Unsymmetric: stand-alone cycles converge, or the method says that it needs symmetry. */
TEST(convection_is_solved_or_refused)
{
    scoped_hierarchy *h = generated("problem=convection velocity=20 cells=16 levels=3");
    for (int i = 0; h != NULL && cmg_smoother_name(i) != NULL; ++i) {
        const char *name = cmg_smoother_name(i);
        cmg_solver *s = NULL;
        cmg_solver_options o = options_for(name);
        o.krylov = CMG_KRYLOV_NONE;
        if (is_file(name)) {
            continue;
        }
        const cmg_status status = cmg_solver_create(h, &o, &s);
        cmg_solver_destroy(&s);
        if (strcmp(name, "sainv") == 0 || strcmp(name, "fsai") == 0) {
            CHECK(status == CMG_ERR_UNSUPPORTED);
            CHECK_MESSAGE("ainv");
            continue;
        }
        CHECK_OK(status);
        const cmg_report report = run(h, &o);
        CHECK_SAY(report.outcome == CMG_CONVERGED_RTOL, "%s: %s, %d iterations", name,
                  WORD("outcome", report.outcome), report.iterations);
    }
}

/* On cells 6 : 1 the adaptive factors need fewer than half of Jacobi's iterations. */
TEST(adaptive_factors_follow_stretched_cells)
{
    scoped_hierarchy *h = generated("aspect=6 cells=16 levels=3");
    cmg_solver_options o = options_for("jacobi:omega=auto");
    const cmg_report jacobi = run(h, &o);
    CHECK_OK(cmg_solver_options_set(&o, "smoother=fsai:power=0:adaptive=8:add=1"));
    const cmg_report fsai = run(h, &o);
    CHECK_OK(cmg_solver_options_set(&o, "smoother=sainv"));
    const cmg_report sainv = run(h, &o);
    CHECK(cmg_outcome_converged(jacobi.outcome) && cmg_outcome_converged(fsai.outcome));
    CHECK(2 * fsai.iterations < jacobi.iterations && 2 * sainv.iterations < jacobi.iterations);
}

static int note_levels(void *user, const char *what, cmg_size done, cmg_size total)
{
    int *seen = user;
    int level = -1;
    char method[32] = "";
    CHECK(done <= total);
    if (sscanf(what, "level %d: %31s", &level, method) == 2 && level >= 0 && level < LEVELS) {
        seen[level] += strcmp(method, "FSAI") == 0;
    }
    return 0;
}

/* Progress of a smoother names its level, in a set-up and where smoothers are kept. */
TEST(progress_names_the_level)
{
    scoped_hierarchy *h = poisson(SIDE, LEVELS, 0);
    const cmg_solver_options o = options_for("fsai");
    int seen[LEVELS] = {0};
    ctx->options.progress = note_levels;
    ctx->options.progress_user = seen;
    scoped_solver *s = solver_new(h, &o);
    CHECK(s != NULL && seen[0] > 0 && seen[1] > 0 && seen[2] == 0);
    CHECK_OK(cmg_hierarchy_smooth(h, 2, "fsai", "f", NULL));
    CHECK(seen[2] > 0);
    ctx->options.progress = NULL;
    ctx->options.progress_user = NULL;
}
