/*
 * Dirichlet conditions kept as identity rows in hierarchies on the device: the solver is that of
 * the same hierarchy on the host, bit for bit, new values that fix other rows included, and nothing
 * but the coarsest matrix comes to the host.
 */
#include "transfer/energy.h"
#include "transfer/galerkin.h"
#include "twins.h"
#include "generated.h"

/* Q1 problems with fixed boundary nodes. */
typedef struct problem {
    const char *generate;
    bool keep;       /* the columns of fixed nodes */
    bool whole_P;    /* P has entries in fixed rows and columns */
    bool own_R;      /* P^T, given */
    double diagonal; /* of fixed rows */
    bool alone;      /* the finest A is all that there is: levels are algebraic */
} problem;

/* A without conditions, on its pattern, with those of the first `count` rows. */
static void set_matrix(const problem *p, const cmg_csr *natural, const cmg_csr *fixed,
                       cmg_size count, cmg_hierarchy *h, int l)
{
    scoped_csr A = {0};
    CHECK_OK(cmgi_csr_copy(ctx, natural, &A));
    for (cmg_size i = 0; i < A.rows; ++i) {
        const bool whole = i < count && cmgi_csr_identity_row(fixed, i);
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_index j = A.indices[k];
            const bool column = !p->keep && j < count && cmgi_csr_identity_row(fixed, j);
            const double other = whole || column ? 0 : A.values[k];
            A.values[k] = whole && j == i ? p->diagonal : other;
        }
    }
    CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &A.view));
}

/* The conditions hold in the first `share` of the rows of every level. */
static cmg_hierarchy *conditions(const problem *p, double share)
{
    scoped_hierarchy *natural = generated("%s levels=3 dirichlet=neumann", p->generate);
    scoped_hierarchy *fixed = generated("%s levels=3 dirichlet=identity", p->generate);
    const int levels = p->alone ? 1 : cmg_hierarchy_levels(fixed);
    cmg_hierarchy *h = hierarchy_new(levels);
    for (int l = 0; l < levels; ++l) {
        const cmg_csr A = csr_of(natural, l, CMG_ROLE_A);
        const cmg_csr I = csr_of(fixed, l, CMG_ROLE_A);
        set_matrix(p, &A, &I, (cmg_size)(share * (double)A.rows), h, l);
        if (l + 1 < levels) {
            const cmg_csr P = csr_of(p->whole_P ? natural : fixed, l, CMG_ROLE_P);
            scoped_csr R = {0};
            CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &P));
            CHECK_OK(cmgi_csr_transpose(ctx, &P, &R));
            if (p->own_R) {
                CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_R, NULL, 0, &R.view));
            }
        }
    }
    return h;
}

/* After a solve the finest A is on the host, as the test's own residual reads it. */
static void check_nothing_came(const cmg_hierarchy *twin, const cmg_solver *t, bool solved)
{
    const cmg_hierarchy *of[2] = {twin, t->mg.completion.h};
    for (int k = 0; k < 2; ++k) {
        for (int l = 0; of[k] != NULL && l + 1 < of[k]->levels && cmgi_on_cuda(ctx); ++l) {
            CHECK((l == 0 && solved) || of[k]->level[l].A.indptr == NULL);
            CHECK(of[k]->level[l].P.indptr == NULL);
            CHECK(of[k]->level[l].R.indptr == NULL);
        }
    }
}

static void compare(const problem *p, const char *text)
{
    scoped_hierarchy *h = conditions(p, 1);
    scoped_hierarchy *first = conditions(p, 1);
    scoped_hierarchy *half = conditions(p, 0.5);
    scoped_twin twin = twin_of(h, p->own_R);
    const cmg_solver_options o = solver_options("keep_map %s", text);
    scoped_solver *s = solver_new(h, &o);
    scoped_solver *t = solver_new(twin.h, &o);
    check_nothing_came(twin.h, t, false);
    CHECK(s->mg.levels.level[0].dirichlet.count > 0);
    CHECK(s->mg.levels.level[0].dirichlet.count == t->mg.levels.level[0].dirichlet.count);
    check_matrix(s->mg.levels.boundary, t->mg.levels.boundary);
    check_levels(&s->mg.levels, &t->mg.levels);
    check_solves(s, t);
    check_staged(h, &o, s);
    check_refresh(first, 1.5, h, &twin, s, t);
    check_refresh(half, 1, h, &twin, s, t);
    check_matrix(s->mg.levels.boundary, t->mg.levels.boundary);
    check_refresh(first, 1, h, &twin, s, t);
    check_nothing_came(twin.h, t, true);
}

TEST(given_levels_are_cleaned_on_the_device)
{
    static const problem problems[] = {
        {"dim=2 cells=20", false, false, false, 1, false},
        {"dim=2 cells=20", true, true, false, 1, false},
        {"dim=2 cells=20", false, true, true, 2.5, false},
        {"dim=3 cells=8", false, true, false, 1, false},
        {"dim=3 cells=8", true, false, true, 1, false},
    };
    static const char *const texts[] = {"format=compressed precision=mixed", "",
                                        "galerkin=always format=compressed"};
    for (size_t k = 0; k < sizeof problems / sizeof *problems; ++k) {
        compare(&problems[k], texts[k % 2]);
        compare(&problems[k], texts[2]);
    }
}

TEST(blocks_are_cleaned_on_the_device)
{
    const problem p = {"problem=elasticity dim=2 cells=12", false, true, false, 1, false};
    compare(&p, "");
    compare(&p, "galerkin=always");
}

TEST(algebraic_levels_are_made_on_the_device)
{
    const problem symmetric = {"dim=2 cells=24", false, false, false, 1, true};
    const problem kept = {"dim=2 cells=24", true, false, false, 2.5, true};
    compare(&symmetric, "");
    compare(&kept, "format=compressed precision=mixed");
}

/* Two levels on the device, of which the coarse one is `factor` times R A P. */
static test_twin scaled_product(const problem *p, double factor)
{
    scoped_hierarchy *h = conditions(p, 1);
    scoped_csr C = {0};
    CHECK_OK(cmg_hierarchy_galerkin(h, 1));
    scoped_hierarchy *pair = hierarchy_new(2);
    for (int r = 0; r < 3; ++r) {
        static const cmg_role roles[] = {CMG_ROLE_A, CMG_ROLE_P, CMG_ROLE_R};
        if (cmgi_hierarchy_has(h, 0, roles[r])) {
            const cmg_csr M = csr_of(h, 0, roles[r]);
            CHECK_OK(cmg_hierarchy_set_csr(pair, 0, roles[r], NULL, 0, &M));
        }
    }
    const cmg_csr formed = csr_of(h, 1, CMG_ROLE_A);
    CHECK_OK(cmgi_csr_copy(ctx, &formed, &C));
    for (cmg_size k = 0; k < C.indptr[C.rows]; ++k) {
        C.values[k] *= factor;
    }
    CHECK_OK(cmg_hierarchy_set_csr(pair, 1, CMG_ROLE_A, NULL, 0, &C.view));
    return twin_of(pair, false);
}

/* Energies of R A P and of the fine matrix are equal where the fixed rows of both are left out. */
TEST(energies_leave_conditions_out)
{
    static const problem problems[] = {
        {"dim=2 cells=20", false, true, false, 1e4, false},
        {"dim=2 cells=20", true, true, false, 1e4, false},
        {"dim=3 cells=8", true, true, true, 1e4, false},
    };
    static const double factors[] = {1, 8, 0.125};
    for (int k = 0; k < 9; ++k) {
        const problem *p = &problems[k / 3];
        const double wanted = fmax(factors[k % 3], 1 / factors[k % 3]);
        double factor[2] = {0, 0};
        double here = 0;
        cmgi_dirichlet d[2] = {{0}};
        scoped_twin twin = scaled_product(p, factors[k % 3]);
        CHECK_OK(cmgi_form_dirichlet(twin.h, 1, d));
        CHECK(d[0].count > 0 && d[1].count > 0);
        CHECK_OK(cmgi_energy_misfits_there(twin.h, 1, d, &(cmgi_meanwhile){0}, factor));
        if (cmgi_on_cuda(ctx)) {
            CHECK_NEAR(factor[1] / wanted, 1, 1e-10);
            CHECK(twin.h->level[0].A.indptr == NULL);
        }
        CHECK_OK(cmgi_energy_misfit(twin.h, 0, &d[0], &d[1], &here));
        CHECK_NEAR(here / wanted, 1, 1e-10);
        cmgi_dirichlet_clear(ctx, &d[0]);
        cmgi_dirichlet_clear(ctx, &d[1]);
    }
}
