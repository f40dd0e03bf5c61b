/* Directories made by others: what is found in them, and that the numbers belong together. */
#include "hierarchy/hierarchy.h"
#include "test.h"

static cmg_hierarchy *read_set(const char *name)
{
    cmg_hierarchy *h = NULL;
    const char *path = sprint("%s/hier/%s", test_shared_data(), name);
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    return h;
}

/* ||b - A x|| / ||b|| of the right-hand side and solution stored on a level, -1 if there are none.
 */
static double stored_residual(const cmg_hierarchy *h, int level)
{
    cmg_csr A;
    const double *b = NULL;
    const double *x = NULL;
    cmg_size n = 0;
    if (cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, &A) != CMG_OK ||
        cmg_hierarchy_get_vector(h, level, "rhs", "b", &n, &b) != CMG_OK ||
        cmg_hierarchy_get_vector(h, level, "solutions", "x", &n, &x) != CMG_OK) {
        return -1;
    }
    return relative_residual(&A, b, x);
}

/* Binary matrices, text vectors; six levels, two smoothers, vectors on all levels but the coarsest.
 */
TEST(binary_directory_of_the_authors)
{
    scoped_hierarchy *h = read_set("honei_pa2_q1_ell");
    static const cmg_size rows[6] = {8448, 2176, 576, 160, 48, 16};
    CHECK(cmg_hierarchy_levels(h) == 6);
    for (int l = 0; l < 6 && h != NULL; ++l) {
        CHECK(cmg_hierarchy_rows(h, l) == rows[l]);
        CHECK(cmg_hierarchy_factors(h, l, "spai") == 1 &&
              cmg_hierarchy_factors(h, l, "sainv") == 1);
        const double residual = stored_residual(h, l);
        CHECK(l == 5 ? residual == -1 : residual >= 0 && residual < 1e-4);
    }
}

/* prol_7, rhs_8 and others belong to levels whose matrices are missing. */
TEST(longest_chain_of_a_directory)
{
    scoped_hierarchy *h = read_set("honei_pa1_q1");
    CHECK(cmg_hierarchy_levels(h) == 6 && cmg_hierarchy_rows(h, 0) == 8448);
    CHECK(cmg_hierarchy_factors(h, 5, "spai") == 1 &&
          cmg_hierarchy_vector_name(h, "rhs", 0) == NULL);
    const double residual = stored_residual(h, 2);
    CHECK(residual >= 0 && residual < 1e-4);
    cmg_hierarchy_destroy(&h);
    h = read_set("honei_poisson_q1");
    CHECK(cmg_hierarchy_levels(h) == 6 && cmg_hierarchy_rows(h, 0) == 4225 &&
          cmg_hierarchy_rows(h, 5) == 9);
    CHECK(stored_residual(h, 0) >= 0 && stored_residual(h, 0) < 1e-4);
}

TEST(plain_directory)
{
    scoped_hierarchy *h = read_set("raptor_rss");
    CHECK(cmg_hierarchy_levels(h) == 3 && cmg_hierarchy_rows(h, 0) == 2500 &&
          cmg_hierarchy_rows(h, 2) == 846);
}

TEST(directory_without_level_matrices)
{
    cmg_hierarchy *h = NULL;
    const char *path = sprint("%s/hier/raptor_misc", test_shared_data());
    CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h), CMG_ERR_FILE);
    CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_ELL, &h), CMG_ERR_FILE);
    CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_CONTAINER, &h), CMG_ERR_FILE);
}

BEFORE_TESTS
{
    test_need_shared_data();
}
