/* Level matrices that are formed as R A P: where one is missing, does not fit, or has new values.
 */
#include "grids.h"
#include "transfer/galerkin.h"

/* A grid with all its levels by aggregation; those of `keep` alone keep their A. */
static cmg_hierarchy *grid_levels(double weight, bool keep)
{
    const grid g = {{64, 48, 1}, {1, weight, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    scoped_hierarchy *made = alone(&A);
    (void)coarsen(made, "rows=20");
    cmg_hierarchy *h = hierarchy_new(cmg_hierarchy_levels(made));
    for (int l = 0; l < cmg_hierarchy_levels(made); ++l) {
        cmg_csr M;
        if (l == 0 || keep) {
            CHECK_OK(cmg_hierarchy_get_csr(made, l, CMG_ROLE_A, NULL, 0, &M));
            CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &M));
        }
        if (cmg_hierarchy_get_csr(made, l, CMG_ROLE_P, NULL, 0, &M) == CMG_OK) {
            CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &M));
        }
    }
    return h;
}

TEST(missing_matrices_are_formed)
{
    scoped_hierarchy *full = grid_levels(1, true);
    scoped_hierarchy *bare = grid_levels(1, false);
    const cmg_solver_options o = chebyshev();
    CHECK_OK(cmg_hierarchy_check(bare));
    CHECK(cmg_hierarchy_rows(bare, 1) == cmg_hierarchy_rows(full, 1));
    const cmg_report wanted = solve(full, &o);
    const cmg_report found = solve(bare, &o);
    CHECK(found.iterations == wanted.iterations && found.residual == wanted.residual);
    cmg_csr M;
    CHECK_STATUS(cmg_hierarchy_get_csr(bare, 1, CMG_ROLE_A, NULL, 0, &M), CMG_ERR_STATE);
    CHECK_OK(cmg_hierarchy_galerkin(bare, 0));
    CHECK_OK(cmg_hierarchy_get_csr(bare, 1, CMG_ROLE_A, NULL, 0, &M));
    cmg_level_info info = {.size = sizeof info};
    CHECK_OK(cmg_hierarchy_level_info(bare, 0, true, &info));
    CHECK(info.galerkin_defect == 0);
}

/* New values of A0 alone: a refreshed solver is a new one, whoever formed the coarse matrices. */
TEST(formed_matrices_follow_new_values)
{
    for (int kind = 0; kind < 2; ++kind) {
        scoped_hierarchy *h = grid_levels(1, false);
        cmg_solver_options o = chebyshev();
        o.matrix.keep_map = true;
        if (kind == 1) {
            CHECK_OK(cmg_hierarchy_galerkin(h, 1));
        }
        scoped_solver *s = solver_new(h, &o);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        const cmg_size n = A.rows;
        scoped double *values = malloc((size_t)A.indptr[n] * sizeof *values);
        for (int round = 1; round <= 2; ++round) {
            EACH_ENTRY (&A, i, k) {
                values[k] = A.values[k] * 3 + (A.indices[k] == i ? 0.1 * round : 0);
            }
            CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
            CHECK_OK(cmg_solver_refresh(s));
            cmg_report report[2] = {{.size = sizeof *report}, {.size = sizeof *report}};
            scoped_vector *b = vector_new(n, CMG_FP64);
            CHECK_OK(cmg_vector_fill(b, 1));
            scoped_solver *fresh = solver_new(h, &o);
            for (int k = 0; k < 2; ++k) {
                scoped_vector *x = vector_new(n, CMG_FP64);
                CHECK_OK(cmg_solver_solve(k == 0 ? s : fresh, b, x, &report[k]));
            }
            CHECK(report[0].iterations == report[1].iterations);
            /* its bounds may be those of the values before in part */
            CHECK_NEAR(report[0].residual / report[1].residual, 1, 0.3);
        }
    }
}

/* P scaled, or a coarse A scaled: the cycle would hardly help; energies tell. */
TEST(what_does_not_fit_is_replaced)
{
    for (int kind = 0; kind < 3; ++kind) {
        scoped_hierarchy *h = grid_levels(1, true);
        const cmg_role role = kind == 0 ? CMG_ROLE_P : CMG_ROLE_A;
        const int level = kind == 0 ? 0 : 1;
        const cmg_csr M = csr_of(h, level, role);
        const double factor = kind == 0 ? 0.5 : kind == 1 ? 8 : 1.02;
        scoped double *values = scaled_copy(M.values, M.indptr[M.rows], factor);
        CHECK_OK(cmg_hierarchy_update(h, level, role, values));
        cmg_solver_options o = chebyshev();
        const cmg_report found = solve(h, &o);
        scoped_solver *s = solver_new(h, &o);
        CHECK(has_note(s, "do not fit") == (kind < 2));
        o.galerkin = CMG_GALERKIN_MISSING;
        const cmg_report kept = solve(h, &o);
        CHECK(found.outcome == CMG_CONVERGED_RTOL && found.iterations <= 16);
        CHECK(kind == 2 || kept.iterations > found.iterations);
        o.galerkin = CMG_GALERKIN_ALWAYS;
        const cmg_report always = solve(h, &o);
        CHECK(always.iterations <= found.iterations + 1);
    }
}

/* New values of a product on its pattern have the bits of the product made anew. */
TEST(values_of_products_are_exact)
{
    const grid g = {{20, 15, 1}, {1, 0.5, 0}, false};
    scoped_csr A = grid_matrix(&g);
    scoped_csr B = grid_matrix(&g);
    scoped_csr C = {0};
    scoped_csr D = {0};
    CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &B.view, &C));
    FILL(B.values, k, B.indptr[B.rows], 1.0 / (double)(k + 3));
    CHECK_OK(cmgi_csr_multiply_values(ctx, &A.view, &B.view, &C));
    CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &B.view, &D));
    CHECK(memcmp(C.values, D.values, (size_t)D.indptr[D.rows] * sizeof *D.values) == 0);
}
