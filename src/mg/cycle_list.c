/* The step list as data: growing, asking who reads a value, dropping steps. */
#include "mg/cycle.h"

cmg_status cmgi_cycle_value(cmgi_cycle *cycle, cmgi_value value, int *id)
{
    CMGI_TRY(cmgi_hierarchy_grow(cycle->ctx, &cycle->values, cycle->nvalues, sizeof value));
    value.buffer = CMGI_NONE;
    cycle->values[cycle->nvalues] = value;
    *id = cycle->nvalues++;
    return CMG_OK;
}

cmg_status cmgi_cycle_append(cmgi_cycle *cycle, cmgi_step step)
{
    CMGI_TRY(cmgi_hierarchy_grow(cycle->ctx, &cycle->steps, cycle->nsteps, sizeof step));
    cycle->steps[cycle->nsteps++] = step;
    return CMG_OK;
}

bool cmgi_step_reads(const cmgi_step *step, int value)
{
    return step->in == value || step->b == value || step->c == value || step->e == value;
}

cmg_precision cmgi_cycle_precision(const cmgi_cycle *cycle)
{
    return cycle->values[cycle->input].precision;
}

int cmgi_cycle_readers(const cmgi_cycle *cycle, int value)
{
    int readers = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        readers += cmgi_step_reads(&cycle->steps[s], value);
    }
    return readers;
}

cmgi_step cmgi_step_none(void)
{
    return (cmgi_step){.kind = CMGI_STEP_PRODUCT,
                       .in = CMGI_NONE,
                       .b = CMGI_NONE,
                       .c = CMGI_NONE,
                       .e = CMGI_NONE,
                       .also = CMGI_NONE,
                       .out = CMGI_NONE,
                       .seconds = -1};
}

void cmgi_cycle_compact(cmgi_cycle *cycle)
{
    int kept = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        if (cycle->steps[s].kind != CMGI_STEP_PRODUCT || cycle->steps[s].A != NULL) {
            cycle->steps[kept++] = cycle->steps[s];
        }
    }
    cycle->nsteps = kept;
}
