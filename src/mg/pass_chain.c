/*
 * On the CPU: neighbouring steps on one box become a chain (chain.h), which is run in one sweep.
 * The list stays as it is: a chain has the results of its steps one by one, to the bit but for P
 * and R, whose sums have another order.
 *
 *   x' = alpha D^-1 b;  x = x' + omega D^-1 (b - A x');  r = b - A x;  c = R r       down
 *   x' = x + P e;  x'' = x' + omega D^-1 (b - A x');  z = x'' + ...                  up
 */
#include "mg/cycle.h"

#include "spmv/chain.h"

#include <string.h>

static const size_t MOST_RING = (size_t)8 << 20; /* bytes of a part: it is to stay in a cache */

static bool made_inside(const cmgi_cycle *cycle, int value, int first, int last)
{
    for (int s = first; s <= last && value != CMGI_NONE; ++s) {
        if (cycle->steps[s].out == value) {
            return true;
        }
    }
    return false;
}

/* The box of a step's A, three dimensions; NULL = it has none. */
static const cmgi_box *box_of(const cmgi_step *step)
{
    const bool product = step->kind == CMGI_STEP_PRODUCT && step->A != NULL;
    const cmgi_box *box = product ? cmgi_matrix_box(step->A) : NULL;
    return box != NULL && box->dims == 3 && box->size[0] <= CMGI_CHAIN_LINE ? box : NULL;
}

/* Whether a chain on this box may begin with a step that has none itself. */
static bool begins(cmgi_step *step, const cmgi_box *box, cmg_size rows)
{
    if (step->kind != CMGI_STEP_PRODUCT || step->writeback != CMGI_WB_AXPBY ||
        step->A->rows != rows) {
        return false;
    }
    return step->beta == 0
               ? step->A->format->id == CMG_FORMAT_DIAGONAL
               : step->alpha == 1 && step->beta == 1 && step->c != step->in &&
                     cmgi_chain_transfers(step->A, box, CMGI_GRID_INTERPOLATION, &step->scale);
}

/* Whether `step` goes on with what the one before it has made. */
static bool goes_on(const cmgi_cycle *cycle, int first, int s, const cmgi_box *box)
{
    const cmgi_step *step = &cycle->steps[s];
    const int before = cycle->steps[s - 1].out;
    const cmgi_box *own = box_of(step);
    return own != NULL && memcmp(own->size, box->size, sizeof own->size) == 0 &&
           step->in == before && step->b != before && !made_inside(cycle, step->b, first, s - 1) &&
           !made_inside(cycle, step->e, first, s - 1) &&
           (step->c == before || !made_inside(cycle, step->c, first, s - 1));
}

static bool ends(const cmgi_cycle *cycle, int s, const cmgi_box *box)
{
    cmgi_step *step = &cycle->steps[s];
    return step->kind == CMGI_STEP_PRODUCT && step->writeback == CMGI_WB_APPLY &&
           step->in == cycle->steps[s - 1].out &&
           cmgi_chain_transfers(step->A, box, CMGI_GRID_RESTRICTION, &step->scale);
}

/* How many steps from `first` on are a chain, 0 = none. */
static int length_of(const cmgi_cycle *cycle, int first)
{
    const cmgi_box *own = box_of(&cycle->steps[first]);
    const cmgi_box *box = own != NULL                 ? own
                          : first + 1 < cycle->nsteps ? box_of(&cycle->steps[first + 1])
                                                      : NULL;
    int s = first + 1;
    if (box == NULL ||
        (own == NULL && !begins(&cycle->steps[first], box, cycle->steps[first + 1].A->rows))) {
        return 0;
    }
    while (s < cycle->nsteps && s < first + CMGI_CHAIN_STAGES - 1 &&
           goes_on(cycle, first, s, box)) {
        ++s;
    }
    s += s < cycle->nsteps && ends(cycle, s, box);
    const cmgi_chain chain = {.stages = s - first, .size = {box->size[0], box->size[1]}};
    const size_t bytes =
        (size_t)cmgi_chain_ring(&chain) * cmgi_precision_bytes(cmgi_cycle_precision(cycle));
    return s - first > 1 && bytes <= MOST_RING ? s - first : 0;
}

void cmgi_pass_chain(cmgi_cycle *cycle)
{
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmg_matrix *A = cycle->steps[s].A;
        if (A != NULL && A->format->talk != NULL) {
            return; /* steps of several ranks change places yet */
        }
    }
    for (int s = 0; s < cycle->nsteps; ++s) {
        cycle->steps[s].chain = length_of(cycle, s);
        s += cycle->steps[s].chain > 1 ? cycle->steps[s].chain - 1 : 0;
    }
}

/* The ring of a chain's part, in values. */
static cmg_size ring_of(const cmgi_cycle *cycle, int first, cmgi_chain *chain)
{
    const cmgi_box *own = box_of(&cycle->steps[first]);
    const cmgi_box *box = own != NULL ? own : box_of(&cycle->steps[first + 1]);
    *chain = (cmgi_chain){.stages = cycle->steps[first].chain,
                          .size = {box->size[0], box->size[1], box->size[2]}};
    return cmgi_chain_ring(chain);
}

cmg_status cmgi_chain_reserve(cmgi_cycle *cycle)
{
    cmgi_chain chain;
    cmg_size most = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        if (cycle->steps[s].chain > 1) {
            const cmg_size ring = ring_of(cycle, s, &chain);
            most = ring > most ? ring : most;
            for (int k = s; k < s + cycle->steps[s].chain - 1; ++k) {
                const int value = cycle->steps[k].out; /* nobody else may read it */
                cycle->steps[k].passed =
                    value != cycle->output && cmgi_cycle_readers(cycle, value) <=
                                                  cmgi_step_reads(&cycle->steps[k + 1], value);
            }
        }
    }
    const int threads = cycle->ctx->threads;
    const int often = cycle->ctx->sharing.most;
    cycle->parts = threads > often ? threads : often;
    return most == 0 ? CMG_OK
                     : cmgi_alloc(cycle->ctx, most * cycle->parts,
                                  cmgi_precision_bytes(cmgi_cycle_precision(cycle)), &cycle->ring);
}

void cmgi_chain_of(const cmgi_cycle *cycle, int first, const cmgi_writeback *w,
                   const void *const *in, cmgi_chain *chain)
{
    cmg_size nnz = 0;
    (void)ring_of(cycle, first, chain);
    for (int k = 0; k < chain->stages; ++k) {
        const cmgi_step *step = &cycle->steps[first + k];
        cmgi_chain_stage *stage = &chain->stage[k];
        stage->box = box_of(step);
        stage->kind = stage->box != NULL                           ? CMGI_CHAIN_BOX
                      : step->A->format->id == CMG_FORMAT_DIAGONAL ? CMGI_CHAIN_DIAGONAL
                      : k == 0                                     ? CMGI_CHAIN_P
                                                                   : CMGI_CHAIN_R;
        stage->scale = step->scale;
        stage->w = cmgi_wb_reduce(&w[k]);
        stage->w.d = stage->kind == CMGI_CHAIN_DIAGONAL ? step->A->values : stage->w.d;
        stage->w.y = step->passed ? NULL : w[k].y;
        stage->adds = k > 0 && step->c == cycle->steps[first + k - 1].out;
        stage->x = in[k];
        nnz += step->A->nnz;
    }
    const int threads = nnz > CMGI_PARALLEL_ENTRIES ? cycle->ctx->threads : 1;
    const int room = threads < cycle->parts ? threads : cycle->parts;
    chain->parts = room < chain->size[2] / 2 ? room : chain->size[2] / 2;
    chain->parts = chain->parts > 0 ? chain->parts : 1;
    chain->ring = cycle->ring;
}
