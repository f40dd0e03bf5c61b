/*
 * What ranks say to each other, as steps of the list:
 *
 *     out <- writeback(A in)   becomes   start   what others want of `in` is packed and sent
 *                                        rows    that need nobody else's entries
 *                                        end     the entries of others are there, and the other
 * rows gather  everyone's rows on every rank
 *
 * the last where every rank solves the level of `out`. A start goes up to the step that makes `in`:
 * what lies between runs beside the messages. One exchange of a vector serves two products with the
 * same matrix where the vector is still the same. It is the last pass: it moves what reads, and
 * nothing that writes, so that buffers stay as they are.
 */
#include "mg/cycle.h"

/* Place behind the step that makes the value; 0 for the input. */
static int made_at(const cmgi_step *steps, int count, int value)
{
    int at = count;
    while (at > 0 && !(steps[at - 1].kind != CMGI_STEP_START && steps[at - 1].out == value)) {
        --at;
    }
    return at;
}

static void insert(cmgi_step *steps, int *count, int at, cmgi_step step)
{
    for (int s = *count; s > at; --s) {
        steps[s] = steps[s - 1];
    }
    steps[at] = step;
    ++*count;
}

static cmgi_step part_of(const cmgi_step *step, cmgi_step_kind kind)
{
    cmgi_step part = *step;
    part.kind = kind;
    return part;
}

/* The start of an exchange reads, and makes no vector. */
static cmgi_step start_of(const cmgi_step *step)
{
    cmgi_step start = part_of(step, CMGI_STEP_START);
    start.b = CMGI_NONE;
    start.c = CMGI_NONE;
    start.e = CMGI_NONE;
    return start;
}

static int extra_steps(const cmgi_cycle *cycle)
{
    int extra = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        extra +=
            cycle->steps[s].kind == CMGI_STEP_PRODUCT && cycle->steps[s].A->format->talk != NULL
                ? 3
                : 0;
    }
    return extra;
}

cmg_status cmgi_pass_exchange(cmgi_cycle *cycle)
{
    const int extra = extra_steps(cycle);
    cmgi_step *made = NULL;
    int count = 0;
    if (extra == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(cycle->ctx, cycle->nsteps + extra, sizeof *made, &made));
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        const cmgi_talk talk = step->kind == CMGI_STEP_PRODUCT ? cmgi_matrix_talk(step->A)
                                                               : (cmgi_talk){.exchanges = false};
        if (talk.exchanges) {
            insert(made, &count, made_at(made, count, step->in), start_of(step));
        }
        made[count++] = part_of(step, talk.exchanges || talk.gathers ? CMGI_STEP_ROWS : step->kind);
        if (talk.exchanges) {
            made[count++] = part_of(step, CMGI_STEP_END);
        }
        if (talk.gathers) {
            made[count++] = part_of(step, CMGI_STEP_GATHER);
        }
    }
    cmgi_free(cycle->ctx, cycle->steps);
    cycle->steps = made;
    cycle->steps_capacity = cycle->nsteps + extra;
    cycle->nsteps = count;
    return CMG_OK;
}
