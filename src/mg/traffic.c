/*
 * Bytes that a solve moves by the model: every array that a kernel reads or writes counts once, the
 * storage of a matrix as cmg_matrix_info.traffic says.
 *
 * A vector counts 8 bytes a row in fp64 and `low` in the precision of the cycle. An iteration of
 *
 * - CG: cycle, A p, and 13 vectors: (r,z) 2, p 3, (p,q) 2 or, taken along with A p, none, x and r
 *   6; around a cycle in fp32 (r,z) 2 and z 1 in it, and r once more;
 * - FCG: an inner product more;
 * - semi-iteration: cycle, residual, z, d 2, x 2 and the norm 1; around a cycle in fp32 z and d
 *   in it, and r once more, or in place of r in fp64 and of the norm where a product rounds it; no
 *   z where the cycle takes the step; the first has nested iteration for its cycle;
 * - Richardson: cycle, residual, 3 vectors for x, 1 for the norm;
 * - FGMRES: cycle, A z, 3 vectors, 5 more for each one kept and 3 in the end; BiCGStab: two cycles
 *   and products, 27 vectors;
 * - defect: cycle, A p, 13 vectors in low precision; a start: residual, 8 vectors in fp64 and 5 in
 *   low precision for the correction, its conversions and norms.
 *
 * Of several columns vectors count as often as there are columns, and matrices once: an iteration
 * is one of all columns, and there are as many as the slowest one takes.
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
    const int whole = k->column->iterations / m;
    const int rest = k->column->iterations - whole * m;
    const double pairs = 0.5 * (whole * (double)m * (m + 1) + rest * (rest + 1.0));
    return (40 * pairs + 24.0 * k->column->iterations) * n;
}

/* What the first steps of semi-iteration have instead of a cycle, without the last d. */
static double opening_bytes(const cmgi_multigrid *mg, int iterations, double cycle, double vector)
{
    const bool nested = mg->nested != NULL;
    const int fresh = nested ? 2 : 1; /* steps that do not read d */
    return (nested && iterations > 0 ? cycle_bytes(mg->nested) - cycle : 0) -
           (iterations < fresh ? iterations : fresh) * vector -
           (mg->krylov->zero && iterations > 0 ? 8.0 * (double)cmgi_krylov_values(mg->krylov) : 0);
}

/* All iterations, and the starts of defect correction. */
static double iterations_bytes(const cmgi_multigrid *mg, int iterations, double n, double residual)
{
    const cmgi_krylov *k = mg->krylov;
    const cmg_matrix *A = mg->levels.A;
    const double product = (double)cmgi_matrix_traffic(A, CMGI_WB_APPLY, mg->columns);
    const double low = (double)cmgi_precision_bytes(cmgi_cycle_precision(mg->cycle));
    const double inner = A->dots != NULL && mg->columns == 1 ? 0 : 16; /* (p,q) */
    const bool forms = low < 8 && mg->columns == 1 && cmgi_matrix_forms(A) &&
                       k->used == CMG_LOOP_GRAPH && k->recorded[CMGI_RECORD_WHOLE].steps > 0;
    const double formed = forms ? 8 : 0; /* p, which its product forms */
    const double cycle = cycle_bytes(mg->cycle);
    const double wide = cycle + converted(mg->cycle) * n; /* for vectors in fp64 */
    switch (k->options.method) {
    case CMG_KRYLOV_CG:
        return iterations * (cycle + product + ((low < 8 ? 80 : 88) + inner - formed) * n);
    case CMG_KRYLOV_FCG:
        return iterations * (wide + product + 15 * 8 * n);
    case CMG_KRYLOV_MERGED:
        return iterations * (wide + product + 21 * 8 * n);
    case CMG_KRYLOV_SEMI:
        return iterations *
                   (cycle + residual + (24 + (low < 8 ? 16 : 24)) * n -
                    (mg->columns == 1 && cmgi_cycle_takes_step(mg->cycle) ? 2 * low * n : 0) -
                    (low < 8 && mg->columns == 1 && cmgi_matrix_rounds(A) ? 16 * n : 0)) +
               opening_bytes(mg, iterations, cycle, low * n);
    case CMG_KRYLOV_DEFECT:
        return iterations * (cycle + 13 * low * n +
                             (double)cmgi_matrix_traffic(mg->levels.level[0].A, CMGI_WB_APPLY, 1)) +
               k->column->starts * (residual + (64 + 5 * low) * n);
    case CMG_KRYLOV_FGMRES:
        return iterations * (wide + product + 3 * 8 * n) + arnoldi_bytes(k, n);
    case CMG_KRYLOV_BICGSTAB:
        return iterations * (2 * (wide + product) + 27 * 8 * n);
    default:
        return iterations * (wide + residual + 32 * n);
    }
}

double cmgi_multigrid_bytes(const cmgi_multigrid *mg, double *iteration)
{
    const double n = (double)cmgi_krylov_values(mg->krylov);
    const double residual =
        (double)cmgi_matrix_traffic(cmgi_levels_rows(&mg->levels), CMGI_WB_RESIDUAL, mg->columns);
    int iterations = 0; /* of the column that takes the most */
    for (int c = 0; c < mg->krylov->system.columns; ++c) {
        const int own = mg->krylov->column[c].iterations;
        iterations = own > iterations ? own : iterations;
    }
    const double all = iterations_bytes(mg, iterations, n, residual);
    const bool boundary = cmgi_multigrid_solves_boundary(mg);
    const bool fmg = cmgi_multigrid_nests_before(mg);
    double before = fmg || boundary ? residual + 16 * n : 0; /* the guess (multigrid.c) */
    if (boundary) {
        before +=
            residual + (double)cmgi_matrix_traffic(mg->levels.boundary, CMGI_WB_AXPBY, mg->columns);
    }
    if (fmg) {
        before += residual + cycle_bytes(mg->nested) + (24 + converted(mg->nested)) * n;
    }
    *iteration = iterations > 0 ? all / iterations : 0;
    /* the first and, where steps do not end with it, the last residual, their norms and that of b,
     * and the guess that is kept */
    const cmgi_krylov *k = mg->krylov;
    const double last = k->method->exact ? 0 : residual + 8 * n;
    const bool rounds = k->method->rounds && k->rounded != k->work[0];
    const double first = !k->zero ? residual + (8 + 8 + 16) * n : (rounds ? 12 : 8 + 16) * n;
    return all + before + first + last;
}
