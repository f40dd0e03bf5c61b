/* Sources and boundary fluxes: balance without Dirichlet conditions, exact solutions, total forces.
 */
#include "generated.h"

static cmg_generate_options small(int dim, cmg_element element)
{
    return generate_options("dim=%d element=%s cells=%d levels=2", dim,
                            FEM_WORD("element", element), dim == 3 ? 4 : 8);
}

/* b of a source without Dirichlet conditions is orthogonal to constants, or to rigid motions. */
TEST(neumann_sources_are_balanced)
{
    for (int c = 0; c < 8; ++c) {
        cmg_generate_options o = small(2 + c % 2, (cmg_element)(c / 2 % 4));
        generate_set(&o, "dirichlet=neumann distort=0.3 problem=%s",
                     c / 4 ? "elasticity" : "poisson");
        cmg_size n = 0;
        cmg_size m = 0;
        const int nc = c / 4 ? o.dim : 1;
        scoped_hierarchy *h = hierarchy_generated(&o);
        const double *b = vector_in(h, 0, "rhs", "b", &n);
        const double *x = vector_in(h, 0, "coords", NULL, &m);
        CHECK(largest(b, n) > 1e-4);
        for (int i = 0; i < nc; ++i) {
            double force = 0;
            double moment = 0;
            for (cmg_size k = 0; k < n; k += nc) {
                const int j = (i + 1) % nc;
                force += b[k + i];
                moment += x[k / nc * o.dim + i] * b[k + j] - x[k / nc * o.dim + j] * b[k + i];
            }
            CHECK_NEAR(force, 0, 1e-13);
            CHECK_NEAR(moment, 0, 1e-13);
        }
    }
}

/*
 * A flux alone: with u = 0 on the left, u = 3 x solves the problem of flux 3 on the right, and the
 * sum of a traction's loads is the traction times the area, on every element.
 */
TEST(fluxes_are_loads)
{
    for (int c = 0; c < 16; ++c) {
        cmg_generate_options o = small(2 + c % 2, (cmg_element)(c / 2 % 4));
        generate_set(&o,
                     "strength=0 flux-labels=right flux=3,-2 dirichlet-labels=left distort=0.3 "
                     "quadrature=3 problem=%s",
                     c / 8 ? "elasticity" : "poisson");
        cmg_size n = 0;
        const int nc = c / 8 ? o.dim : 1;
        scoped_hierarchy *h = hierarchy_generated(&o);
        CHECK(strcmp(cmg_hierarchy_attribute(h, "flux"), "3") == 0);
        CHECK(strcmp(cmg_hierarchy_attribute(h, "flux_y"), "-2") == 0);
        CHECK(cmg_hierarchy_attribute(h, "flux_z") == NULL);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        const double *b = vector_in(h, 0, "rhs", "b", &n);
        double sum[3] = {0, 0, 0};
        for (cmg_size i = 0; i < n; ++i) {
            sum[i % nc] += b[i];
        }
        CHECK_NEAR(sum[0], 3, 1e-12);
        CHECK_NEAR(sum[1], nc > 1 ? -2 : 0, 1e-12);
        if (nc == 1) {
            const double *x = vector_in(h, 0, "coords", NULL, &n);
            scoped double *u = malloc((size_t)A.rows * sizeof *u);
            FILL(u, i, A.rows, 3 * x[i * o.dim]);
            scoped double *Au = csr_times(&A, u);
            CHECK_NEAR(largest_difference(Au, b, A.rows), 0, 1e-12);
        }
    }
}
