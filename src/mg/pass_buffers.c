/*
 * Buffers by liveness: a value lives from the step that writes it to the last one that reads it.
 * Values whose lives do not overlap share a buffer; a result may also take over the buffer of a
 * vector that its step reads entry by entry (b, c and e, not the one that is multiplied). First fit
 * by bytes. The vectors of a chain live until its end: a thread writes results there while another
 * one still reads.
 */
#include "mg/cycle.h"

#include <string.h>

size_t cmgi_value_bytes(const cmgi_cycle *cycle, const cmgi_value *value)
{
    return (size_t)value->n * (size_t)cycle->columns * cmgi_precision_bytes(value->precision);
}

/* Smallest free buffer that is large enough, else the largest free one, else a new one. */
static int choose_buffer(cmgi_cycle *cycle, const bool *taken, bool share, size_t bytes)
{
    int best = CMGI_NONE;
    for (int k = 0; share && k < cycle->nbuffers; ++k) {
        if (taken[k]) {
            continue;
        }
        const size_t size = cycle->buffer_bytes[k];
        const size_t best_size = best == CMGI_NONE ? 0 : cycle->buffer_bytes[best];
        const bool fits_tighter =
            size >= bytes && (best == CMGI_NONE || best_size < bytes || size < best_size);
        const bool larger_misfit =
            size < bytes && best_size < bytes && (best == CMGI_NONE || size > best_size);
        best = fits_tighter || larger_misfit ? k : best;
    }
    if (best == CMGI_NONE) {
        best = cycle->nbuffers++;
        cycle->buffer_bytes[best] = 0;
    }
    if (cycle->buffer_bytes[best] < bytes) {
        cycle->buffer_bytes[best] = bytes;
    }
    return best;
}

static void release(const cmgi_cycle *cycle, bool *taken, const int *last, int value, int step)
{
    if (value != CMGI_NONE && cycle->values[value].buffer != CMGI_NONE && last[value] == step) {
        taken[cycle->values[value].buffer] = false;
    }
}

static void take(cmgi_cycle *cycle, bool *taken, bool share, int value)
{
    if (value != CMGI_NONE && value != cycle->input && value != cycle->output) {
        cmgi_value *v = &cycle->values[value];
        v->buffer = choose_buffer(cycle, taken, share, cmgi_value_bytes(cycle, v));
        taken[v->buffer] = true;
    }
}

static void assign(cmgi_cycle *cycle, const int *last, bool *taken, bool share)
{
    int end = CMGI_NONE; /* of a chain */
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        end = step->chain > 1 ? s + step->chain - 1 : end;
        const int entrywise[] = {step->b, step->c, step->e};
        for (int k = 0; k < 3 && share && step->kind == CMGI_STEP_PRODUCT && s > end; ++k) {
            if (entrywise[k] != step->in) {
                release(cycle, taken, last, entrywise[k], s);
            }
        }
        take(cycle, taken, share, step->out);
        take(cycle, taken, share, step->also);
        release(cycle, taken, last, step->in, s);
        if (step->halves != NULL) { /* these are read beside others' results */
            release(cycle, taken, last, step->b, s);
            release(cycle, taken, last, step->c, s);
        }
        for (int v = 0; s == end && v < cycle->nvalues; ++v) {
            release(cycle, taken, last, v, s);
        }
    }
}

cmg_status cmgi_pass_buffers(cmgi_cycle *cycle, bool share)
{
    cmg_context *ctx = cycle->ctx;
    CMGI_SCOPED(ctx, cycle->nvalues, int, last); /* step after which no one reads the value */
    CMGI_SCOPED_ZERO(ctx, cycle->nvalues, bool, taken);
    CMGI_TRY(
        cmgi_alloc_zero(ctx, cycle->nvalues, sizeof *cycle->buffer_bytes, &cycle->buffer_bytes));
    CMGI_TRY(cmgi_alloc_zero(ctx, cycle->nvalues, sizeof *cycle->buffers, &cycle->buffers));
    memset(last, CMGI_NONE, (size_t)cycle->nvalues * sizeof *last);
    for (int s = 0, end = 0; s < cycle->nsteps; ++s) { /* end: of a chain */
        const cmgi_step *step = &cycle->steps[s];
        const int read[] = {step->in, step->b, step->c, step->e};
        end = s + step->chain - 1 > end ? s + step->chain - 1 : end;
        for (int k = 0; k < 4; ++k) {
            if (read[k] != CMGI_NONE) {
                last[read[k]] = s < end ? end : s;
            }
        }
    }
    assign(cycle, last, taken, share);
    for (int k = 0; k < cycle->nbuffers; ++k) {
        CMGI_TRY(cmgi_alloc_device(ctx, (cmg_size)cycle->buffer_bytes[k], 1, &cycle->buffers[k]));
    }
    return CMG_OK;
}
