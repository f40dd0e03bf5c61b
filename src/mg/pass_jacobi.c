/*
 * Jacobi in one pass over A: with a diagonal M = D^-1 and r read only here,
 *
 *   r = b - A x;  y = x + alpha D^-1 r     becomes     y = x + alpha D^-1 (b - A x)
 *
 * which saves writing and reading r. The same with momentum, y = x + beta (x - x_old) + ... What a
 * rank has of a matrix over ranks is none, though it may be diagonal: the others' is not.
 */
#include "mg/cycle.h"

void cmgi_pass_jacobi(cmgi_cycle *cycle)
{
    for (int s = 0; s + 1 < cycle->nsteps; ++s) {
        cmgi_step *defect = &cycle->steps[s];
        cmgi_step *update = &cycle->steps[s + 1];
        const bool momentum = update->writeback == CMGI_WB_MOMENTUM;
        const bool adds = momentum || (update->writeback == CMGI_WB_AXPBY && update->beta == 1);
        if (defect->kind != CMGI_STEP_PRODUCT || defect->writeback != CMGI_WB_RESIDUAL ||
            update->kind != CMGI_STEP_PRODUCT || !adds || update->D != NULL ||
            update->A->format->id != CMG_FORMAT_DIAGONAL || update->in != defect->out ||
            cmgi_cycle_readers(cycle, defect->out) != 1) {
            continue;
        }
        update->writeback = momentum ? CMGI_WB_MOMENTUM : CMGI_WB_JACOBI;
        update->D = update->A;
        update->A = defect->A;
        update->name = defect->name;
        update->in = defect->in;
        update->b = defect->b;
        *defect = cmgi_step_none();
    }
    cmgi_cycle_compact(cycle);
}
