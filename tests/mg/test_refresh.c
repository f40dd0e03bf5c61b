/* What a solver does when its hierarchy has new values, or another structure. */
#include "solves.h"

/* Refreshing a solver after new values is the same as making a new one. */
TEST(new_values_need_no_new_structure)
{
    for (int way = 0; way < 16; ++way) {
        cmg_solver_options o = solver_options(
            "smoother=jacobi keep_map=true renumber=%s fuse_restriction=%d format=%s precision=%s",
            way % 2 == 0 && way / 8 ? "rcm" : "auto", way / 4 % 2, way % 2 ? "k2rs" : "auto",
            way / 2 % 2 ? "mixed" : "fp64");
        scoped_hierarchy *h = poisson(32, 5, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = zero_for(h);
        scoped_vector *y = zero_for(h);
        scoped_solver *s = solver_new(h, &o);
        scale(h, 3);
        CHECK_OK(cmg_solver_refresh(s));
        cmg_report first = solve_with(s, b, x);
        const cmg_report second = solve(h, &o, b, y);
        CHECK(first.iterations == second.iterations && first.outcome == CMG_CONVERGED_RTOL);
        CHECK(first.residual == second.residual);
    }
}

static void set_diagonal(cmg_hierarchy *h, int level)
{
    scoped_csr D = csr_diagonal(cmg_hierarchy_rows(h, level), 2);
    CHECK_OK(cmg_hierarchy_set_csr(h, level, CMG_ROLE_A, NULL, 0, &D.view));
}

enum {
    OTHER_PATTERN,
    OTHER_COARSE_PATTERN,
    FEWER_LEVELS,
    WITHOUT_COARSEST,
    TWO,
    RENUMBERED,
    CHANGES
};

static void change_structure(cmg_hierarchy *h, int change)
{
    switch (change) {
    case OTHER_PATTERN:
        set_diagonal(h, 0);
        break;
    case OTHER_COARSE_PATTERN:
        set_diagonal(h, 2);
        break;
    case FEWER_LEVELS:
        CHECK_OK(cmg_hierarchy_select(h, 1, 0));
        break;
    case WITHOUT_COARSEST:
        CHECK_OK(cmg_hierarchy_select(h, 0, 1));
        break;
    case TWO: /* the second does not take the first back */
        set_diagonal(h, 0);
        CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 1));
        break;
    default:
        CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 1));
        break;
    }
}

/* A hierarchy of another structure is not taken over; the same matrices set again are. */
TEST(new_structure_is_refused)
{
    for (int change = 0; change < CHANGES; ++change) {
        scoped_csr copy = {0};
        scoped_hierarchy *h = poisson(16, 4, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_with(h, "smoother=jacobi keep_map=true");
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        CHECK_OK(cmgi_csr_copy(ctx, &A, &copy));
        CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &copy.view));
        CHECK_OK(cmg_solver_refresh(s));
        change_structure(h, change);
        CHECK_STATUS(cmg_solver_refresh(s), CMG_ERR_STATE);
        CHECK_STATUS(cmg_solver_solve(s, b, x, NULL), CMG_ERR_STATE);
    }
}

/* A solve that would rebuild its cycle from such a hierarchy ends instead. */
TEST(fallback_on_a_new_structure_is_refused)
{
    cmg_solver_options o = solver_options("precision=mixed krylov=none smoother=jacobi");
    o.omega = 3; /* diverges, so that it falls back */
    scoped_hierarchy *h = poisson(16, 4, 0);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    cmg_report report = {.size = sizeof report};
    scoped_solver *s = solver_new(h, &o);
    CHECK_OK(cmg_hierarchy_select(h, 1, 0));
    CHECK_STATUS(cmg_solver_solve(s, b, x, &report), CMG_ERR_STATE);
}

/* What was recorded of the iteration. */
static const void *recorded(const cmg_solver *s)
{
    const void *found = NULL;
    for (int k = 0; k < CMGI_RECORDINGS && found == NULL; ++k) {
        found = s->mg.krylov->recorded[k].graph;
    }
    return found;
}

/* A + size I, on all levels. */
static void shift(cmg_hierarchy *h, double size)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        change_level(h, l, 1, size);
    }
}

/* Value k of a factor, and the damping of the first stage. */
typedef struct smoothing {
    double value;
    double omega;
} smoothing;

static smoothing smoothing_of(const cmg_solver *s)
{
    const cmgi_smoother *smoother = &s->mg.levels.level[0].smoother;
    smoothing found = {0, smoother->omega[0]};
    CHECK_OK(cmgi_to_host(ctx, &found.value, smoother->factor[0]->values, sizeof found.value));
    return found;
}

/* New values leave of a smoother what `reuse` says; the rest is that of a new solver. */
TEST(smoothers_are_kept_as_asked)
{
    static const char *const smoothers[] = {"auto", "jacobi:omega=auto", "chebyshev:degree=3",
                                            "spai"};
    static const char *const reuses[] = {"none", "bounds", "smoother"};
    for (int k = 0; k < 12; ++k) {
        const int reuse = k % 3;
        const cmg_solver_options o =
            solver_options("keep_map=true smoother=%s reuse=%s", smoothers[k / 3], reuses[reuse]);
        scoped_hierarchy *h = poisson(16, 4, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_new(h, &o);
        const smoothing before = smoothing_of(s);
        shift(h, 1);
        CHECK_OK(cmg_solver_refresh(s));
        scoped_solver *fresh = solver_new(h, &o);
        const smoothing after = smoothing_of(s);
        const smoothing anew = smoothing_of(fresh);
        CHECK(anew.value != before.value);
        CHECK(anew.omega != before.omega || k / 3 == 3); /* spai has a fixed one */
        CHECK(after.value == (reuse == CMG_REUSE_SMOOTHER ? before.value : anew.value));
        CHECK(after.omega == (reuse == CMG_REUSE_NONE ? anew.omega : before.omega));
        const cmg_report report = solve_with(s, b, x);
        CHECK(cmg_outcome_converged(report.outcome));
    }
}

/* A smoother that was kept and does not suit new values is made anew, whatever it is, after every
 * refresh; then the solver is a fresh one. */
TEST(kept_smoothers_are_renewed)
{
    static const char *const kept[] = {"smoother=auto reuse=smoother",
                                       "smoother=spai reuse=smoother",
                                       "smoother=jacobi:omega=auto reuse=bounds"};
    for (int k = 0; k < 3; ++k) {
        const cmg_solver_options o = solver_options("keep_map %s", kept[k]);
        scoped_hierarchy *h = poisson(32, 5, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_new(h, &o);
        for (int again = 0; again < 2; ++again) {
            scale(h, again == 0 ? 16 : 1.0 / 64);
            CHECK_OK(cmg_solver_refresh(s));
            CHECK(s->mg.outdated);
            const cmg_report report = solve_with(s, b, from_zero(x));
            CHECK(cmg_outcome_converged(report.outcome));
            CHECK_NEAR(true_residual(h, b, x), 0, 2e-8);
            if (k < 2 && again == 0) { /* the old one is 16 times too strong */
                CHECK(report.fallbacks == 1 && !s->mg.outdated);
                CHECK(strncmp(report.fallback, "new smoother from iteration ", 28) == 0);
                const int renewed = solve_with(s, b, from_zero(x)).iterations;
                CHECK(solve(h, &o, b, from_zero(x)).iterations == renewed);
            }
        }
    }
}

/*
 * Values that change little leave of the bounds what three steps do not see; however often they do
 * so, the damping stays near that of a new solver, and what was recorded goes on where it is as it
 * was. Values that change much are estimated anew.
 */
TEST(bounds_follow_small_changes)
{
    static const char *const smoothers[] = {"auto", "jacobi:omega=auto", "chebyshev:degree=3"};
    for (int k = 0; k < 3; ++k) {
        const cmg_solver_options o = solver_options("smoother=%s keep_map", smoothers[k]);
        scoped_hierarchy *h = poisson(32, 4, POISSON_COLUMNS);
        scoped_solver *s = solver_new(h, &o);
        CHECK(!s->mg.levels.level[0].smoother.renewed && !s->mg.outdated);
        const smoothing first = smoothing_of(s);
        scale(h, 3); /* D^-1 A is the same but for rounding */
        CHECK_OK(cmg_solver_refresh(s));
        CHECK(s->mg.levels.level[0].smoother.renewed && s->mg.outdated);
        CHECK(!s->mg.levels.level[0].smoother.changed && smoothing_of(s).omega == first.omega);
        int renewed = 0;
        for (int step = 0; step < 20; ++step) {
            shift(h, 0.2); /* of a diagonal of 12 and more */
            CHECK_OK(cmg_solver_refresh(s));
            scoped_solver *fresh = solver_new(h, &o);
            const smoothing after = smoothing_of(s);
            const smoothing anew = smoothing_of(fresh);
            CHECK(after.value == anew.value);
            CHECK_NEAR(after.omega / anew.omega, 1, 0.05);
            renewed += s->mg.levels.level[0].smoother.renewed;
        }
        CHECK(renewed > 0 && renewed < 20);
        scale(h, 0.5);
        shift(h, 30);
        CHECK_OK(cmg_solver_refresh(s));
        CHECK(!s->mg.levels.level[0].smoother.renewed && !s->mg.outdated);
    }
}

/* Vectors that come again are recorded. A graph goes on with new values where no damping and no
 * place has changed, and gives their x. */
TEST(graphs_stay)
{
    static const char *const texts[] = {"smoother=jacobi", "smoother=jacobi precision=mixed",
                                        "smoother=auto reuse=bounds", "smoother=auto"};
    for (int k = 0; k < 4; ++k) {
        scoped_hierarchy *h = poisson(32, 5, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_with(h, "keep_map=true %s", texts[k]);
        cmg_report report = solve_with(s, b, x);
        CHECK(recorded(s) == NULL && report.loop == CMG_LOOP_HOST);
        CHECK_OK(cmg_solver_solve(s, b, from_zero(x), &report));
        const void *before = recorded(s);
        CHECK((before != NULL) == cmgi_on_cuda(ctx));
        shift(h, 1);
        CHECK_OK(cmg_solver_refresh(s));
        CHECK(k == 3 ? recorded(s) == NULL : recorded(s) == before);
        CHECK_OK(cmg_solver_solve(s, b, from_zero(x), &report));
        CHECK(cmg_outcome_converged(report.outcome));
        CHECK_NEAR(true_residual(h, b, x), 0, 2e-8);
    }
}

enum { LINE = 40, LINE_NNZ = 3 * LINE - 2, LINE_DIAGONAL_19 = 3 * 19 };

static void line_matrix(cmg_size *indptr, cmg_index *indices, double *values)
{
    cmg_size nnz = 0;
    for (int i = 0; i < LINE; ++i) {
        indptr[i] = nnz;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < LINE; ++j) {
            indices[nnz] = j;
            values[nnz++] = i == j ? 2 + 0.1 * i : -1;
        }
    }
    indptr[LINE] = nnz;
}

/* ||b - A x|| <= tolerance ||b|| of a tridiagonal A, by arrays that the library never had. */
static bool solved_line(const double *values, const double *b, const double *x, double tolerance)
{
    long double rr = 0;
    long double bb = 0;
    for (int i = 0, k = 0; i < LINE; ++i) {
        long double r = b[i];
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < LINE; ++j) {
            r -= (long double)values[k++] * x[j];
        }
        rr += r * r;
        bb += (long double)b[i] * b[i];
    }
    return rr <= (long double)tolerance * tolerance * bb;
}

/* Refused values leave hierarchy and solvers as they were, over copied and over borrowed arrays. */
TEST(refused_values_change_nothing)
{
    const double wrong[] = {NAN, INFINITY, -INFINITY, 0};
    for (int way = 0; way < 8; ++way) {
        cmg_size indptr[LINE + 1];
        cmg_index indices[LINE_NNZ];
        double good[LINE_NNZ];
        double bad[LINE_NNZ];
        double b[LINE];
        double x[LINE];
        line_matrix(indptr, indices, good);
        FILL(b, i, LINE, sin(i + 1.0));
        memcpy(bad, good, sizeof bad);
        bad[LINE_DIAGONAL_19] = wrong[way / 2];
        const cmg_csr A = {LINE, LINE, indptr, indices, good};
        cmg_solver_options o = solver_options("smoother=jacobi keep_map=true");
        scoped_hierarchy *h = hierarchy_new(1);
        CHECK_OK((way % 2 ? cmg_hierarchy_wrap_csr : cmg_hierarchy_set_csr)(h, 0, CMG_ROLE_A, NULL,
                                                                            0, &A));
        scoped_solver *old = solver_new(h, &o);
        CHECK_REFUSED(cmg_hierarchy_update(h, 0, CMG_ROLE_A, bad), CMG_ERR_ARG, "row 19");
        const cmg_csr seen = csr_of(h, 0, CMG_ROLE_A);
        CHECK(memcmp(seen.values, good, sizeof good) == 0 &&
              (seen.values == good) == (way % 2 == 1));
        CHECK_OK(cmg_hierarchy_check(h));
        scoped_vector *vb = vector_from(LINE, CMG_FP64, b);
        scoped_vector *vx = vector_new(LINE, CMG_FP64);
        scoped_solver *made = solver_new(h, &o);
        for (int k = 0; k < 3; ++k) { /* as it was, refreshed, made since */
            CHECK_OK(k == 1 ? cmg_solver_refresh(old) : CMG_OK);
            const cmg_report report = solve_with(k < 2 ? old : made, vb, vx);
            CHECK_OK(cmg_vector_get(vx, x));
            CHECK(cmg_outcome_converged(report.outcome) && solved_line(good, b, x, 1e-7));
        }
        if (way % 2 == 1) { /* written over what is borrowed: that it is wrong is not forgotten */
            good[LINE_DIAGONAL_19] = wrong[way / 2];
            CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, good), CMG_ERR_ARG);
            CHECK_STATUS(cmg_solver_refresh(old), CMG_ERR_ARG);
        }
    }
}

/* A solver that is built again without a refresh has the new values, in its own numbering, too, and
 * looks at no array that they have replaced. */
TEST(replaced_arrays_may_go)
{
    static const char *const ways[] = {"auto", "rcm", "rcm keep_map=true"};
    for (int way = 0; way < 3; ++way) {
        scoped_hierarchy *given = poisson(72, 1, 0);
        cmg_csr A = csr_of(given, 0, CMG_ROLE_A);
        const cmg_size nnz = A.indptr[A.rows];
        scoped double *first = scaled_copy(A.values, nnz, 1);
        scoped double *second = scaled_copy(A.values, nnz, 3);
        A.values = first;
        scoped_hierarchy *h = hierarchy_new(1);
        CHECK_OK(cmg_hierarchy_wrap_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
        scoped_solver *s = solver_with(h, "smoother=jacobi renumber=%s", ways[way]);
        scoped_vector *r = vector_for(h, 3);
        scoped_vector *z = zero_for(h);
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, second));
        FILL(first, k, nnz, NAN);
        CHECK_OK(cmg_solver_precondition(s, r, z)); /* from fp32 to fp64 */
        A.values = second;
        scoped double *given_r = values_of(r);
        scoped double *made_z = values_of(z);
        CHECK(column_residual(&A, given_r, made_z, 1, 0) < 1);
    }
}

/* Values that bring a wind: what couples to the right is weaker, to the left stronger. */
static void blow(cmg_hierarchy *h, double wind)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
        scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
        EACH_ENTRY (&A, i, k) {
            values[k] *= A.indices[k] == i ? 1 : A.indices[k] > i ? 1 - wind : 1 + wind;
        }
        CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
    }
}

/* CG was chosen for symmetric values: others are looked at once the iteration goes badly. */
TEST(method_follows_new_values)
{
    for (int way = 0; way < 6; ++way) {
        static const double winds[] = {0, 0.3, 0.9};
        cmg_solver_options o = solver_options("smoother=spai precision=fp64 keep_map=true");
        o.coarsen = way % 2 == 0; /* else one level, which is slow by nature */
        scoped_hierarchy *h = poisson(16, o.coarsen ? 4 : 1, POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = zero_for(h);
        scoped_solver *s = solver_new(h, &o);
        blow(h, winds[way / 2]);
        CHECK_OK(cmg_solver_refresh(s));
        const cmg_report report = solve_with(s, b, x);
        CHECK(report.outcome == CMG_CONVERGED_RTOL);
        CHECK(report.krylov == (way < 2 ? CMG_KRYLOV_CG : CMG_KRYLOV_FGMRES));
        CHECK(report.fallbacks == (way >= 2));
    }
}
