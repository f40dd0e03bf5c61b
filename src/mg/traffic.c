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
 * - FGMRES: cycle, A z, 3 vectors, 5 more for each one kept and 3 in the end; BiCGStab: two cycles
 *   and products, 27 vectors;
 * - defect: cycle, A p, 13 vectors in low precision; a start: residual, 8 vectors in fp64 and 5 in
 *   low precision for the correction, its conversions and norms.
 */
#include "mg/multigrid.h"

static double cycle_bytes(const cmgi_cycle *cycle)
{
    double bytes = 0;
    for (int i = 0; i < cycle->nsteps; ++i) {
        bytes += (double)cmgi_cycle_step_bytes(cycle, &cycle->steps[i]);
    }
    return bytes;
}

/* r into a cycle in fp32 and z out of it, a row. */
static double converted(const cmgi_cycle *cycle)
{
    const cmg_precision precision = cmgi_cycle_precision(cycle);
    return precision == CMG_FP64 ? 0 : 2 * (8 + (double)cmgi_precision_bytes(precision));
}

/* Step j of FGMRES works on j + 1 vectors five times, and every one is added to x in the end. */
static double arnoldi_bytes(const cmgi_krylov *k, double n)
{
    const int m = k->options.restart;
    const int whole = k->iterations / m;
    const int rest = k->iterations - whole * m;
    const double pairs = 0.5 * (whole * (double)m * (m + 1) + rest * (rest + 1.0));
    return (40 * pairs + 24.0 * k->iterations) * n;
}

/* All iterations, and the starts of defect correction. */
static double iterations_bytes(const cmgi_multigrid *mg)
{
    const cmgi_krylov *k = mg->krylov;
    const cmg_matrix *A = mg->levels.A;
    const double n = (double)mg->levels.level[0].rows;
    const double product = (double)cmgi_matrix_traffic(A, CMGI_WB_APPLY, 1);
    const double residual =
        (double)cmgi_matrix_traffic(cmgi_levels_rows(&mg->levels), CMGI_WB_RESIDUAL, 1);
    const double low = (double)cmgi_precision_bytes(cmgi_cycle_precision(mg->cycle));
    const double inner = A->dots != NULL ? 0 : 16; /* (p,q) */
    const double cycle = cycle_bytes(mg->cycle);
    const double wide = cycle + converted(mg->cycle) * n; /* for vectors in fp64 */
    switch (k->options.method) {
    case CMG_KRYLOV_CG:
        return k->iterations * (cycle + product + ((low < 8 ? 80 : 88) + inner) * n);
    case CMG_KRYLOV_FCG:
        return k->iterations * (wide + product + 15 * 8 * n);
    case CMG_KRYLOV_MERGED:
        return k->iterations * (wide + product + 21 * 8 * n);
    case CMG_KRYLOV_DEFECT:
        return k->iterations *
                   (cycle + 13 * low * n +
                    (double)cmgi_matrix_traffic(mg->levels.level[0].A, CMGI_WB_APPLY, 1)) +
               k->starts * (residual + (64 + 5 * low) * n);
    case CMG_KRYLOV_FGMRES:
        return k->iterations * (wide + product + 3 * 8 * n) + arnoldi_bytes(k, n);
    case CMG_KRYLOV_BICGSTAB:
        return k->iterations * (2 * (wide + product) + 27 * 8 * n);
    default:
        return k->iterations * (wide + residual + 32 * n);
    }
}

/* What comes before the iteration (multigrid.c): norms, the boundary, nested iteration. */
static double guess_bytes(const cmgi_multigrid *mg, double n, double residual)
{
    const bool boundary =
        mg->levels.boundary != NULL && mg->krylov->options.method != CMG_KRYLOV_NONE;
    double bytes = mg->nested != NULL || boundary ? residual + 16 * n : 0;
    if (boundary) {
        bytes += residual + (double)cmgi_matrix_traffic(mg->levels.boundary, CMGI_WB_AXPBY, 1);
    }
    if (mg->nested != NULL) {
        bytes += residual + cycle_bytes(mg->nested) + (24 + converted(mg->nested)) * n;
    }
    return bytes;
}

double cmgi_multigrid_bytes(const cmgi_multigrid *mg, double *iteration)
{
    const double n = (double)mg->levels.level[0].rows;
    const double residual =
        (double)cmgi_matrix_traffic(cmgi_levels_rows(&mg->levels), CMGI_WB_RESIDUAL, 1);
    const double iterations = iterations_bytes(mg);
    *iteration = mg->krylov->iterations > 0 ? iterations / mg->krylov->iterations : 0;
    /* the first and the last residual, their norms and that of b, and the guess that is kept */
    return iterations + guess_bytes(mg, n, residual) + 2 * residual + (24 + 16) * n;
}

double cmgi_column_bytes(const cmgi_multigrid *mg, const cmgi_cycle *cycle, int iterations,
                         bool from_zero, double *iteration)
{
    const cmg_matrix *A = mg->levels.A;
    const int k = cycle->columns;
    const double values = (double)mg->levels.level[0].rows * k;
    const double residual =
        (double)cmgi_matrix_traffic(cmgi_levels_rows(&mg->levels), CMGI_WB_RESIDUAL, k);
    const double product = (double)cmgi_matrix_traffic(A, CMGI_WB_APPLY, k);
    const double vectors = (cmgi_cycle_precision(cycle) == CMG_FP64 ? 88 : 80) + 16;
    *iteration = cycle_bytes(cycle) + product + vectors * values;
    /* the residual of x = 0 is a copy, found by x . x */
    const double first = from_zero ? (8 + 16) * values : residual + (8 + 8) * values;
    return iterations * *iteration + first + residual + (16 + 16) * values;
}
