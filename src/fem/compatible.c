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
        const int rotation = (m - components + 2) % 3; /* (x, y), (y, z), (z, x) about the origin */
        for (cmg_size k = 0; k < n; ++k) {
            const int c = (int)(k % components);
            q[k] = m < components ? m == c
                                  : cmgi_rotation(components, rotation, c, x->values + (k - c));
        }
        for (int k = 0; k < m; ++k) {
            cmgi_subtract(n, cmgi_dot(n, all + k * n, q), all + k * n, q);
        }
        const double length = sqrt(cmgi_dot(n, q, q));
        for (cmg_size i = 0; i < n; ++i) {
            q[i] /= length;
        }
    }
    for (int pass = 0; pass < 2; ++pass) { /* twice: what rounding left of a large part */
        for (int m = 0; m < modes; ++m) {
            cmgi_subtract(n, cmgi_dot(n, all + m * n, b->values), all + m * n, b->values);
        }
    }
    return CMG_OK;
}
