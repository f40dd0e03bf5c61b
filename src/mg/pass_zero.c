/*
 * No product with a zero vector. Where x is known to be 0:
 *
 *   r = b - A x             r is b
 *   y = x + alpha M r       y = alpha M r
 *   y = ... - beta x        without that term
 *
 * What then writes a vector nobody reads is dropped.
 */
#include "mg/cycle.h"

static int resolve(const int *alias, int value)
{
    while (value != CMGI_NONE && alias[value] != value) {
        value = alias[value];
    }
    return value;
}

cmg_status cmgi_pass_zero(cmgi_cycle *cycle)
{
    CMGI_SCOPED(cycle->ctx, cycle->nvalues, int, alias);
    CMGI_SCOPED_ZERO(cycle->ctx, cycle->nvalues, bool, zero);
    for (int v = 0; v < cycle->nvalues; ++v) {
        alias[v] = v;
    }
    for (int s = 0; s < cycle->nsteps; ++s) {
        cmgi_step *step = &cycle->steps[s];
        step->in = resolve(alias, step->in);
        step->b = resolve(alias, step->b);
        step->c = resolve(alias, step->c);
        step->e = resolve(alias, step->e);
        if (step->kind == CMGI_STEP_ZERO) {
            zero[step->out] = true;
        } else if (step->kind == CMGI_STEP_PRODUCT && step->writeback == CMGI_WB_RESIDUAL &&
                   zero[step->in]) {
            alias[step->out] = step->b;
        } else if (step->writeback == CMGI_WB_AXPBY && step->c != CMGI_NONE && zero[step->c]) {
            step->beta = 0;
            step->c = CMGI_NONE;
        } else if (step->e != CMGI_NONE && zero[step->e]) {
            step->e = CMGI_NONE;
        }
    }
    cycle->output = resolve(alias, cycle->output);
    for (int s = cycle->nsteps - 1; s >= 0; --s) { /* last to first, so that chains go at once */
        cmgi_step *step = &cycle->steps[s];
        if (step->out != cycle->output && cmgi_cycle_readers(cycle, step->out) == 0) {
            *step = cmgi_step_none();
        }
    }
    cmgi_cycle_compact(cycle);
    return CMG_OK;
}
