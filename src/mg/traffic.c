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
#include "mg/multigrid.h"

static double cycle_bytes(const cmgi_multigrid *mg)
{
    double bytes = 0;
    for (int i = 0; i < mg->cycle->nsteps; ++i) {
        bytes += (double)cmgi_cycle_step_bytes(mg->cycle, &mg->cycle->steps[i]);
    }
    return bytes;
}

/* All iterations, and the starts of defect correction. */
static double iterations_bytes(const cmgi_multigrid *mg, int iterations, int starts)
{
    const double n = (double)mg->levels.level[0].rows;
    const cmg_matrix *A = mg->levels.A;
    const double product = (double)cmgi_matrix_traffic(A, CMGI_WB_APPLY);
    const double residual = (double)cmgi_matrix_traffic(A, CMGI_WB_RESIDUAL);
    const double low = (double)cmgi_precision_bytes(cmgi_cycle_precision(mg->cycle));
    const double inner = A->dots != NULL ? 0 : 16;        /* (p,q) */
    const double converted = low < 8 ? 2 * (8 + low) : 0; /* r in and z out */
    const double cycle = cycle_bytes(mg);
    switch (mg->options.krylov) {
    case CMG_KRYLOV_CG:
        return iterations * (cycle + product + ((low < 8 ? 80 : 88) + inner) * n);
    case CMG_KRYLOV_FCG:
        return iterations * (cycle + product + (15 * 8 + converted) * n);
    case CMG_KRYLOV_DEFECT:
        return iterations * (cycle + 13 * low * n +
                             (double)cmgi_matrix_traffic(mg->levels.level[0].A, CMGI_WB_APPLY)) +
               starts * (residual + (64 + 5 * low) * n);
    default:
        return iterations * (cycle + residual + (32 + converted) * n);
    }
}

double cmgi_multigrid_bytes(const cmgi_multigrid *mg, double *iteration)
{
    const cmgi_krylov *k = mg->krylov;
    const double n = (double)mg->levels.level[0].rows;
    const double iterations = iterations_bytes(mg, k->iterations, k->starts);
    *iteration = k->iterations > 0 ? iterations / k->iterations : 0;
    /* the first and the last residual, and their norms */
    return iterations + 2 * (double)cmgi_matrix_traffic(mg->levels.A, CMGI_WB_RESIDUAL) + 24 * n;
}
