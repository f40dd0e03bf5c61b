/* The hierarchy object: what is put in comes out, what is wrong is refused, levels are selected. */
#include "hierarchy/hierarchy.h"
#include "mg/poisson.h"

#include <limits.h>

TEST(matrices_and_vectors_come_back)
{
    cmg_hierarchy *h = poisson(8, 3, 0);
    CHECK(cmg_hierarchy_levels(h) == 3);
    CHECK(cmg_hierarchy_rows(h, 0) == 81 && cmg_hierarchy_rows(h, 1) == 25 &&
          cmg_hierarchy_rows(h, 2) == 9);
    cmg_csr A = csr_of(h, 0, CMG_ROLE_P);
    CHECK(A.rows == 81 && A.cols == 25);
    CHECK_STATUS(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_R, NULL, 0, &A), CMG_ERR_STATE);
    CHECK_STATUS(cmg_hierarchy_get_csr(h, 2, CMG_ROLE_P, NULL, 0, &A), CMG_ERR_STATE);
    double b[81];
    FILL(b, i, 81, i);
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "b", 81, b));
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "second", 81, b));
    cmg_size n = 0;
    const double *values = vector_in(h, 0, "rhs", "b", &n);
    CHECK(n == 81 && memcmp(values, b, sizeof b) == 0);
    CHECK(strcmp(cmg_hierarchy_vector_name(h, "rhs", 1), "second") == 0);
    CHECK(cmg_hierarchy_vector_name(h, "rhs", 2) == NULL);
    CHECK_OK(cmg_hierarchy_set_attribute(h, "element", "Q1"));
    CHECK_OK(cmg_hierarchy_set_attribute(h, "element", "Q2"));
    CHECK(strcmp(cmg_hierarchy_attribute(h, "element"), "Q2") == 0);
    CHECK(cmg_hierarchy_attribute(h, "dim") == NULL);
    CHECK_OK(cmg_hierarchy_check(h));
    cmg_hierarchy_destroy(&h);
    CHECK(h == NULL);
}

TEST(smoothers_have_factors_in_order)
{
    scoped_hierarchy *h = poisson(4, 1, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    CHECK_STATUS(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "ainv", 1, &A), CMG_ERR_ARG);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "ainv", 0, &A));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "ainv", 1, &A));
    CHECK(cmg_hierarchy_factors(h, 0, "ainv") == 2);
    CHECK(cmg_hierarchy_factors(h, 0, "spai") == 0);
    CHECK(strcmp(cmg_hierarchy_smoother(h, 0, 0), "ainv") == 0);
    CHECK(cmg_hierarchy_smoother(h, 0, 1) == NULL);
    CHECK_STATUS(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, NULL, 0, &A), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &A), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_csr(h, 7, CMG_ROLE_A, NULL, 0, &A), CMG_ERR_ARG);
}

/* Each of many is found by its name, also after others went and came back. */
TEST(many_smoothers_are_distinguished)
{
    enum { MANY = 300 };
    scoped_csr M = csr_diagonal(1, 0);
    scoped_hierarchy *h = hierarchy_new(1);
    for (int round = 0; round < 2; ++round) {
        for (int k = 0; k < MANY; ++k) {
            M.values[0] = k + 1000 * round;
            const char *name = sprint("s%d", k);
            if (round == 0 || k % 7 == 0) {
                CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, name, 0, &M.view));
            }
        }
        int good = 0;
        for (int k = 0; k < MANY; ++k) {
            cmg_csr found = {.rows = 0};
            const char *name = sprint("s%d", k);
            CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_SMOOTHER, name, 0, &found));
            const double value = k + (k % 7 == 0 ? 1000 * round : 0);
            good += found.rows == 1 && found.values[0] >= value && found.values[0] <= value;
            if (round == 0 && k % 7 == 0) {
                cmgi_hierarchy_drop_smoother(h, 0, name);
                CHECK(cmgi_hierarchy_find(h, 0, CMG_ROLE_SMOOTHER, name, 0) == NULL);
            }
        }
        CHECK(good == MANY);
    }
}

TEST(select_keeps_the_named_levels)
{
    scoped_hierarchy *h = poisson(16, 4, 0);
    double ones[289];
    fill_values(ones, 289, 1);
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "b", 289, ones));
    CHECK_OK(cmg_hierarchy_set_vector(h, 1, "rhs", "b", 81, ones));
    CHECK_REFUSED(cmg_hierarchy_set_vector(h, 0, "rhs", "b", 3, ones), CMG_ERR_SHAPE, "3 entries");
    CHECK_MESSAGE("289 rows");
    CHECK_OK(cmg_hierarchy_select(h, 1, 1));
    CHECK(cmg_hierarchy_levels(h) == 2 && cmg_hierarchy_rows(h, 0) == 81 &&
          cmg_hierarchy_rows(h, 1) == 25);
    cmg_size n = 0;
    (void)vector_in(h, 0, "rhs", "b", &n);
    CHECK(n == 81);
    cmg_csr P;
    CHECK_STATUS(cmg_hierarchy_get_csr(h, 1, CMG_ROLE_P, NULL, 0, &P), CMG_ERR_STATE);
    CHECK_OK(cmg_hierarchy_check(h));
    CHECK_STATUS(cmg_hierarchy_select(h, 1, 1), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_select(h, INT_MAX, 0), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_select(h, INT_MIN, 0), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_select(h, 0, INT_MAX), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_select(h, 0, INT_MIN), CMG_ERR_ARG);
}

/* Each defect is one change to a good hierarchy; the message must name the level. */
TEST(check_finds_what_is_wrong)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; ++k) {
        scoped_hierarchy *h = poisson(8, 3, 0);
        ((double *)(uintptr_t)h->level[1].A.values)[7] = bad[k];
        CHECK_REFUSED(cmg_hierarchy_check(h), CMG_ERR_ARG, "level 1: A: row");
    }
    scoped_hierarchy *h = poisson(8, 3, 0);
    cmgi_csr *A = &h->level[0].A;
    for (cmg_size e = A->indptr[40]; e < A->indptr[41]; ++e) {
        A->values[e] = A->indices[e] == 40 ? 0 : A->values[e];
    }
    CHECK_REFUSED(cmg_hierarchy_check(h), CMG_ERR_ARG, "row 40: the diagonal");
    scoped_hierarchy *other = poisson(8, 3, 0);
    scoped_csr P = poisson_prolongation(4);
    CHECK_OK(cmg_hierarchy_set_csr(other, 0, CMG_ROLE_P, NULL, 0, &P.view));
    CHECK_STATUS(cmg_hierarchy_check(other), CMG_ERR_ARG);
    const cmg_size indptr[] = {0, 1, 1};
    const cmg_index indices[] = {0};
    const double one[] = {1};
    const cmg_csr empty_row = {2, 2, indptr, indices, one};
    scoped_hierarchy *empty = hierarchy_new(1);
    CHECK_STATUS(cmg_hierarchy_check(empty), CMG_ERR_ARG);
    CHECK_OK(cmg_hierarchy_set_csr(empty, 0, CMG_ROLE_A, NULL, 0, &empty_row));
    CHECK_REFUSED(cmg_hierarchy_check(empty), CMG_ERR_ARG, "row 1 is empty");
    CHECK_STATUS(cmg_hierarchy_create(ctx, 0, &(cmg_hierarchy *){NULL}), CMG_ERR_ARG);
}

/* Bilinear embedding: R A P is the coarse matrix; Dirichlet columns make A unsymmetric outside
 * only. */
TEST(facts_about_a_level)
{
    scoped_hierarchy *h = poisson(16, 2, POISSON_COLUMNS);
    cmg_level_info info = {.size = sizeof info};
    CHECK_OK(cmg_hierarchy_level_info(h, 0, true, &info));
    CHECK(info.rows == 289 && info.dirichlet_rows == 64 && info.row_min == 1 && info.row_max == 9);
    CHECK(info.asymmetry > 0.1);
    CHECK_NEAR(info.asymmetry_interior, 0, 1e-15);
    CHECK_NEAR(info.galerkin_defect, 0, 1e-14);
    CHECK(info.negative_diagonal == 0);
    CHECK_OK(cmg_hierarchy_level_info(h, 1, true, &info));
    CHECK(info.galerkin_defect == -1 && info.p_nnz == 0);
    cmg_hierarchy_destroy(&h);
    h = poisson(16, 1, 0);
    CHECK_OK(cmg_hierarchy_level_info(h, 0, false, &info));
    CHECK(info.asymmetry == 0);
}

/* With P = I, ||A - A_c|| / ||A_c||: entries of A alone, at the ends of rows too, count as they
 * are. */
TEST(a_coarse_matrix_of_fewer_entries)
{
    const double full[] = {4, -1, -2, -1, 5, -3, -2, -3, 6};
    const double fewer[] = {4, -1, 0, -1, 3, -3, 0, -3, 7};
    scoped_csr A = csr_of_dense(3, full);
    scoped_csr P = csr_diagonal(3, 1);
    scoped_csr Ac = csr_of_dense(3, fewer);
    cmg_level_info info = {.size = sizeof info};
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &P.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &Ac.view));
    CHECK_OK(cmg_hierarchy_level_info(h, 0, true, &info));
    /* 2^2 and 1^2 on the diagonal, twice 2^2 in the corners */
    CHECK_NEAR(info.galerkin_defect, sqrt(13.0 / (16 + 9 + 49 + 2 * (1 + 9))), 1e-14);
}

TEST(wrapped_arrays_are_borrowed)
{
    scoped_csr A = poisson_matrix(4, 0);
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_wrap_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
    const cmg_csr back = csr_of(h, 0, CMG_ROLE_A);
    CHECK(back.values == A.values && back.indices == A.indices);
    cmg_hierarchy_destroy(&h);
    CHECK(A.values[0] == 1);
}
