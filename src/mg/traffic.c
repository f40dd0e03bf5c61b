/*
 * Bytes that a solve moves by the model: every array that a kernel reads or writes counts once, the
 * storage of a matrix as cmg_matrix_info.traffic says.
 *
 * A vector counts 8 bytes a row in fp64 and `low` in the precision of the cycle. An iteration of
 *
 * - CG: cycle, A p, and 13 vectors: (r,z) 2, p 3, (p,q) 2 or, taken along with A p, none, x and r
 *   6; around a cycle in fp32 (r,z) 2 and z 1 in it, and r once more;
 * - FCG: an inner product more;
 * - Richardson: cycle, residual, 3 vectors for x, 1 for the norm;
 * - defect: cycle, A p, 13 vectors in low precision; a start: residual, 8 vectors in fp64 and 5 in
 *   low precision for the correction, its conversions and norms.
 */
#include "mg/solver.h"

/* Steps of the cycle, with or without the conversions at its ends. */
static double cycle_bytes(const cmg_solver *s, bool conversions)
{
    double bytes = 0;
    for (int i = 0; i < s->cycle->nsteps; ++i) {
        const cmgi_step *step = &s->cycle->steps[i];
        bytes += conversions || step->kind != CMGI_STEP_CONVERT
                     ? (double)cmgi_cycle_step_bytes(s->cycle, step)
                     : 0;
    }
    return bytes;
}

static double cg_bytes(const cmg_solver *s, double n, double product)
{
    const bool single = cmgi_krylov_single(s->krylov);
    const double inner = s->A->dots != NULL ? 0 : 16;
    return cycle_bytes(s, !single) + product + (single ? 80 + inner : 88 + inner) * n;
}

/* All iterations, and the starts of defect correction. */
static double iterations_bytes(const cmg_solver *s, int iterations, int starts)
{
    const double n = (double)s->level[0].rows;
    const double product = (double)cmgi_matrix_traffic(s->A, CMGI_WB_APPLY);
    const double residual = (double)cmgi_matrix_traffic(s->A, CMGI_WB_RESIDUAL);
    const double low = (double)cmgi_precision_bytes(s->options.precision);
    switch (s->options.krylov) {
    case CMG_KRYLOV_CG:
        return iterations * cg_bytes(s, n, product);
    case CMG_KRYLOV_FCG:
        return iterations * (cycle_bytes(s, true) + product + 15 * 8 * n);
    case CMG_KRYLOV_DEFECT:
        return iterations * (cycle_bytes(s, false) + 13 * low * n +
                             (double)cmgi_matrix_traffic(s->level[0].A, CMGI_WB_APPLY)) +
               starts * (residual + (64 + 5 * low) * n);
    default:
        return iterations * (cycle_bytes(s, true) + residual + 32 * n);
    }
}

void cmgi_solver_add_bytes(cmg_solver *s)
{
    const cmgi_krylov *k = s->krylov;
    const double n = (double)s->level[0].rows;
    const double iterations = iterations_bytes(s, k->iterations, k->starts);
    /* the first and the last residual, and their norms */
    s->report.bytes +=
        iterations + 2 * (double)cmgi_matrix_traffic(s->A, CMGI_WB_RESIDUAL) + 24 * n;
    s->report.iteration_bytes = k->iterations > 0 ? iterations / k->iterations : 0;
}
