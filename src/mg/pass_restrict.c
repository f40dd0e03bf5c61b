/*
 * Defect and restriction in one: where R A was formed (level.c decides by entries) and r is read
 * only by the restriction,
 *
 *   r = b - A x;  c = R r      becomes      c = R b;  c' = c - (R A) x
 *
 * R A has fewer entries than A on nested meshes (27-point Q1 in 3D: 15.6 a fine row against 27),
 * and r is neither written nor read.
 */
#include "mg/cycle.h"

void cmgi_pass_restrict(cmgi_cycle *cycle, const cmgi_level *levels)
{
    for (int s = 0; s + 1 < cycle->nsteps; ++s) {
        cmgi_step *defect = &cycle->steps[s];
        cmgi_step *restriction = &cycle->steps[s + 1];
        const cmg_matrix *RA = levels[defect->level].RA;
        const bool fuses =
            RA != NULL && defect->kind == CMGI_STEP_PRODUCT &&
            defect->writeback == CMGI_WB_RESIDUAL && restriction->kind == CMGI_STEP_PRODUCT &&
            restriction->A == levels[defect->level].R && restriction->in == defect->out &&
            cmgi_cycle_readers(cycle, defect->out) == 1;
        if (!fuses) {
            continue;
        }
        /* The number of r is taken over by c = R b, which lives on the coarse level. */
        const cmgi_step before = *defect;
        cycle->values[before.out] = cycle->values[restriction->out];
        *defect = *restriction;
        defect->in = before.b;
        defect->out = before.out;
        restriction->writeback = CMGI_WB_RESIDUAL;
        restriction->A = RA;
        restriction->name = "RA";
        restriction->in = before.in;
        restriction->b = before.out;
    }
}
