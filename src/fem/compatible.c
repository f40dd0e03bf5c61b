/*
 * Right-hand sides of pure Neumann problems. A is singular: its kernel is the constants (Poisson)
 * or the rigid motions (elasticity), and A x = b has a solution only for b orthogonal to them. A
 * given source is not; its part in the kernel, spanned by q_1, q_2, ... orthonormal, is taken out:
 *
 *   b <- b - sum_k (q_k . b) q_k
 */
#include "core/memory.h"
#include "csr/small_dense.h"
#include "fem/generate.h"
#include "hierarchy/hierarchy.h"
#include "transfer/aggregate.h"

#include <math.h>

/* Mode m: translations, then rotations (x, y), (y, z), (z, x) about the origin. */
static void fill_mode(int m, int components, cmg_size n, const double *x, double *q)
{
    const int rotation = (m - components + 2) % 3;
    for (cmg_size k = 0; k < n; ++k) {
        const int c = (int)(k % components);
        q[k] = m < components ? m == c : cmgi_rotation(components, rotation, c, x + (k - c));
    }
}

static double product(cmg_size n, const double *x, const double *y)
{
    double sum = 0;
    for (cmg_size i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Takes the part along q, which has length 1, out of b. */
static void project(cmg_size n, const double *q, double *b)
{
    cmgi_subtract(n, product(n, q, b), q, b);
}

cmg_status cmgi_make_compatible(const cmgi_plan *plan, cmg_hierarchy *h)
{
    const cmg_generate_options *o = &plan->options;
    const bool elastic = o->problem == CMG_PROBLEM_ELASTICITY;
    if (o->boundary != CMG_BOUNDARY_NEUMANN || o->load != CMG_LOAD_SOURCE ||
        (!elastic && o->problem != CMG_PROBLEM_POISSON)) {
        return CMG_OK;
    }
    const int components = elastic ? o->dim : 1;
    const int modes = !elastic ? 1 : o->dim == 2 ? 3 : 6;
    const cmgi_stored_vector *x = cmgi_hierarchy_vector(h, 0, "coords", NULL);
    const cmgi_stored_vector *b = cmgi_hierarchy_vector(h, 0, "rhs", "b");
    const cmg_size n = b->n;
    CMGI_CHECK(h->ctx, !elastic || x != NULL, CMG_ERR_ARG,
               "elasticity without Dirichlet conditions needs coordinates to balance the "
               "load");
    CMGI_SCOPED(h->ctx, modes * n, double, all); /* modes x n */
    for (int m = 0; m < modes; ++m) {
        double *q = all + m * n;
        fill_mode(m, components, n, elastic ? x->values : NULL, q);
        for (int k = 0; k < m; ++k) {
            project(n, all + k * n, q);
        }
        const double length = sqrt(product(n, q, q));
        for (cmg_size i = 0; i < n; ++i) {
            q[i] /= length;
        }
    }
    for (int pass = 0; pass < 2; ++pass) { /* twice: what rounding left of a large part */
        for (int m = 0; m < modes; ++m) {
            project(n, all + m * n, b->values);
        }
    }
    return CMG_OK;
}
