/* The step list as data: asking who reads a value, dropping steps. */
#include "mg/cycle.h"

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
