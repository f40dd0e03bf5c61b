/*
 * What ranks say to each other, as steps of the list:
 *
 *     out <- writeback(A in)   becomes   start   what others want of `in` is packed and sent
 *                                        rows    that need nobody else's entries
 *                                        end     the entries of others are there, and the other
 * rows gather  everyone's rows on every rank
 *
 * the last where every rank solves the level of `out`. A half of the cycle (pass_halves.c) comes
 * after the exchange of the planes that it reads beside its own, unless they are there: from a half
 * before, or because that has made them. A start goes up to the step that makes `in`: what lies
 * between runs beside the messages. One exchange of a vector serves two products with the same
 * matrix where the vector is still the same. It is the last pass: it moves what reads, and nothing
 * that writes, so that buffers stay as they are.
 */
#include "mg/cycle.h"

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
    start.b = start.c = start.e = CMGI_NONE;
    return start;
}

static int extra_steps(const cmgi_cycle *cycle)
{
    int extra = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        const bool half = step->halves != NULL && step->halves->slab.ghosts[CMGI_GHOST_B] != NULL;
        const bool product = step->kind == CMGI_STEP_PRODUCT && step->A->format->talk != NULL;
        extra += half ? 2 * CMGI_GHOSTS + 1 : product ? 3 : 0;
    }
    return extra;
}

/* A half, after what it reads of others, or by wire partly beside that; there[k] are the values
 * whose planes are there. */
static void put_half(const cmgi_step *step, const cmg_matrix *R, int *there, cmgi_step *made,
                     int *count)
{
    const bool splits =
        cmgi_group_wired(step->A->ctx) && step->halves->slab.planes >= CMGI_HALF_SPLITS;
    cmgi_step half = *step;
    const cmgi_planes *slab = &step->halves->slab;
    const bool up = step->kind == CMGI_STEP_UP;
    const int wanted[CMGI_GHOSTS] = {up || step->stages == 0 ? step->in : CMGI_NONE, step->b,
                                     up ? step->c : CMGI_NONE};
    cmgi_step talk = start_of(step);
    talk.halves = NULL;
    talk.also = CMGI_NONE;
    talk.name = up ? "up" : "down";
    for (int k = 0; k < CMGI_GHOSTS; ++k) {
        if (wanted[k] == CMGI_NONE || wanted[k] == there[k] || slab->ghosts[k] == NULL ||
            !cmgi_matrix_talk(slab->ghosts[k]).exchanges) {
            continue;
        }
        talk.A = slab->ghosts[k];
        talk.in = talk.out = there[k] = wanted[k];
        made[(*count)++] = part_of(&talk, CMGI_STEP_START);
        if (!splits) {
            made[(*count)++] = part_of(&talk, CMGI_STEP_END);
        }
        half.split = splits;
    }
    made[(*count)++] = half;
    if (half.split) {
        made[(*count)++] = part_of(&talk, CMGI_STEP_END);
    }
    there[CMGI_GHOST_X] = step->also != CMGI_NONE ? step->also : there[CMGI_GHOST_X];
    if (!up && cmgi_matrix_talk(R).gathers) {
        talk.A = R;
        talk.in = step->b;
        talk.out = step->out;
        made[(*count)++] = part_of(&talk, CMGI_STEP_GATHER);
    }
}

cmg_status cmgi_pass_exchange(cmgi_cycle *cycle, const cmgi_level *levels)
{
    int there[CMGI_MAX_LEVELS][CMGI_GHOSTS];
    const int extra = extra_steps(cycle);
    cmgi_step *made = NULL;
    int count = 0;
    if (extra == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(cycle->ctx, cycle->nsteps + extra, sizeof *made, &made));
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        for (int k = 0; k < CMGI_GHOSTS; ++k) {
            there[l][k] = CMGI_NONE;
        }
    }
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        if (step->halves != NULL) {
            put_half(step, levels[step->level].R, there[step->level], made, &count);
            continue;
        }
        const cmgi_talk talk = step->kind == CMGI_STEP_PRODUCT ? cmgi_matrix_talk(step->A)
                                                               : (cmgi_talk){.exchanges = false};
        if (talk.exchanges) { /* behind the step that makes the vector */
            int at = count++;
            for (; at > 0 && (made[at - 1].kind == CMGI_STEP_START ||
                              (made[at - 1].out != step->in && made[at - 1].also != step->in));
                 --at) {
                made[at] = made[at - 1];
            }
            made[at] = start_of(step);
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
    cycle->nsteps = count;
    return CMG_OK;
}
