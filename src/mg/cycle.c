/* Life of a cycle, and the loop that runs its step list. */
#include "mg/cycle.h"

#include "spmv/chain.h"
#include "spmv/columns.h"

#include <stdio.h>

/* The vector, if there is one, has n entries, and its buffer room for them. */
static bool fits(const cmgi_cycle *cycle, int value, cmg_size n)
{
    if (value == CMGI_NONE) {
        return true;
    }
    const cmgi_value *v = &cycle->values[value];
    const bool given = value == cycle->input || value == cycle->output;
    return v->n == n && (given || (v->buffer != CMGI_NONE &&
                                   cycle->buffer_bytes[v->buffer] >= cmgi_value_bytes(cycle, v)));
}

/* CMG_ERR_INTERNAL unless every step's matrices are as large as its vectors, and those as their
 * buffers: a list that is not so would write behind an array. */
static cmg_status check_lengths(const cmgi_cycle *cycle)
{
    for (int s = 0; s < cycle->nsteps; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        if (step->halves != NULL && cycle->columns == 1) {
            const cmg_size fine = cmgi_halves_rows(step->halves, true);
            const cmg_size coarse = cmgi_halves_rows(step->halves, false);
            if (fits(cycle, step->in, fine) && fits(cycle, step->b, fine) &&
                fits(cycle, step->c, coarse) && fits(cycle, step->also, fine) &&
                fits(cycle, step->out, step->kind == CMGI_STEP_DOWN ? coarse : fine)) {
                continue;
            }
        }
        const cmg_size out = cycle->values[step->out].n;
        const cmg_size in = step->in != CMGI_NONE ? cycle->values[step->in].n : 0;
        const bool matrix = step->kind == CMGI_STEP_ZERO ||
                            (step->halves == NULL && step->A != NULL && step->A->rows == out &&
                             step->A->cols == in && (step->D == NULL || step->D->rows == out));
        if (!matrix || !fits(cycle, step->in, in) || !fits(cycle, step->b, out) ||
            !fits(cycle, step->c, out) || !fits(cycle, step->e, out) ||
            !fits(cycle, step->out, out)) {
            char text[CMGI_STEP_TEXT];
            cmgi_cycle_text(cycle, step, text);
            return cmgi_fail(cycle->ctx, CMG_ERR_INTERNAL,
                             "cycle: step %d, %s, takes %lld entries to %lld by a matrix of %lld x "
                             "%lld, or its vectors have others",
                             s, text, (long long)in, (long long)out,
                             (long long)(step->A != NULL ? step->A->rows : 0),
                             (long long)(step->A != NULL ? step->A->cols : 0));
        }
        CMGI_TRY(step->A != NULL ? cmgi_columns_reserve(step->A, cycle->columns) : CMG_OK);
    }
    return CMG_OK;
}

/* The last step where it is an up half, or NULL. */
static const cmgi_step *last_up(const cmgi_cycle *cycle)
{
    const cmgi_step *last = cycle->nsteps > 0 ? &cycle->steps[cycle->nsteps - 1] : NULL;
    return last != NULL && last->kind == CMGI_STEP_UP ? last : NULL;
}

bool cmgi_cycle_takes_step(const cmgi_cycle *cycle)
{
    const cmgi_step *last = last_up(cycle);
    return last != NULL && cmgi_half_steps(cycle->ctx, last->halves, last->stages);
}

cmg_status cmgi_cycle_create(cmg_context *ctx, const cmgi_cycle_plan *plan, cmgi_cycle **cycle)
{
    cmgi_scoped_by(cmgi_cycle_destroy) cmgi_cycle *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->columns = plan->columns > 1 ? plan->columns : 1;
    CMGI_TRY(cmgi_cycle_build(made, plan));
    if (plan->fuse) {
        CMGI_TRY(cmgi_pass_zero(made));
        cmgi_pass_jacobi(made);
    }
    if (plan->fuse && !plan->plain) {
        cmgi_pass_halves(made, plan->levels);
        cmgi_pass_presmooth(made, plan->levels);
        cmgi_pass_restrict(made, plan->levels);
    }
    if (plan->fuse && !plan->plain && !cmgi_on_cuda(ctx) && made->columns == 1) {
        cmgi_pass_chain(made);
    }
    CMGI_TRY(cmgi_pass_buffers(made, plan->fuse));
    CMGI_TRY(cmgi_pass_exchange(made, plan->levels));
    CMGI_TRY(cmgi_chain_reserve(made));
    const cmgi_step *up = last_up(made);
    if (up != NULL && up->b == made->input) { /* it leaves the parts of (r, z) */
        made->left.count = cmgi_half_dots(ctx, up->halves);
        CMGI_TRY(cmgi_alloc_device(ctx, made->left.count, sizeof *made->dots, &made->dots));
        made->left.at = made->dots;
    }
    /* the last half down in tiles, the smallest: it leaves processors free for a note beside it */
    made->notes = cmgi_cycle_takes_step(made) ? made->nsteps - 1 : CMGI_NONE;
    while (made->notes != CMGI_NONE &&
           (made->steps[made->notes].kind != CMGI_STEP_DOWN ||
            cmgi_half_dots(ctx, made->steps[made->notes].halves) == 0)) {
        --made->notes;
    }
    CMGI_TRY(check_lengths(made));
    *cycle = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmgi_cycle_destroy(cmgi_cycle **cycle)
{
    if (*cycle == NULL) {
        return;
    }
    cmgi_cycle *c = *cycle;
    cmgi_cycle_drop_graph(c);
    for (int k = 0; k < c->nbuffers && c->buffers != NULL; ++k) {
        cmgi_free_device(c->ctx, c->buffers[k]);
    }
    cmgi_free_device(c->ctx, c->dots);
    CMGI_FREE(c->ctx, c->ring, c->buffers, c->buffer_bytes, c->steps, c->values, c);
    *cycle = NULL;
}

/* Array of a value; the input is only ever read. */
static void *address(const cmgi_cycle *cycle, int value, const void *r, void *z)
{
    return value == CMGI_NONE       ? NULL
           : value == cycle->input  ? (void *)(uintptr_t)r
           : value == cycle->output ? z
                                    : cycle->buffers[cycle->values[value].buffer];
}

static cmgi_writeback writeback_of(const cmgi_cycle *cycle, const cmgi_step *step, const void *r,
                                   void *z)
{
    return (cmgi_writeback){.kind = step->writeback,
                            .alpha = step->alpha,
                            .beta = step->beta,
                            .b = address(cycle, step->b, r, z),
                            .c = address(cycle, step->c, r, z),
                            .d = step->D != NULL ? step->D->values : NULL,
                            .e = address(cycle, step->e, r, z),
                            .y = address(cycle, step->out, r, z),
                            .columns = cycle->columns};
}

static cmg_status run_half(const cmgi_cycle *cycle, const cmgi_step *step, const void *r, void *z)
{
    const bool up = step->kind == CMGI_STEP_UP;
    const bool last = up && step->out == cycle->output;
    const bool notes = step - cycle->steps == cycle->notes;
    cmgi_half half = {.of = step->halves,
                      .up = up,
                      .stages = step->stages,
                      .first = step->alpha,
                      .second = step->beta,
                      .x = address(cycle, step->in, r, z),
                      .b = address(cycle, step->b, r, z),
                      .e = address(cycle, step->c, r, z),
                      .out = address(cycle, up ? step->out : step->also, r, z),
                      .coarse = up ? NULL : address(cycle, step->out, r, z),
                      .dots = last ? cycle->dots : NULL,
                      .step = last || notes ? cycle->step : NULL};
    if (step->split) {
        half.part = CMGI_HALF_RIMS;
        CMGI_TRY(step->A->format->talk->aside(step->A));
        const cmg_status status = cmgi_half_run(cycle->ctx, &half);
        step->A->format->talk->back(step->A);
        CMGI_TRY(status);
        half.part = CMGI_HALF_INNER;
    }
    return cmgi_half_run(cycle->ctx, &half);
}

cmg_status cmgi_cycle_step(cmgi_cycle *cycle, int number, const void *r, void *z)
{
    cmg_context *ctx = cycle->ctx;
    const cmgi_step *step = &cycle->steps[number];
    const cmgi_value *out = &cycle->values[step->out];
    void *y = address(cycle, step->out, r, z);
    if (step->kind == CMGI_STEP_ZERO) {
        return ctx->backend->fill(ctx, out->precision, out->n * cycle->columns, 0.0, y);
    }
    if (step->halves != NULL) {
        return run_half(cycle, step, r, z);
    }
    const cmgi_writeback w = writeback_of(cycle, step, r, z);
    const void *x = address(cycle, step->in, r, z);
    switch (step->kind) {
    case CMGI_STEP_START:
        return step->A->format->talk->start(step->A, x);
    case CMGI_STEP_ROWS:
        return step->A->format->talk->rows(step->A, &w, x);
    case CMGI_STEP_END:
        return step->A->format->talk->end(step->A, &w);
    case CMGI_STEP_GATHER:
        return step->A->format->talk->gather(step->A, y);
    default:
        return cmgi_matrix_spmv(step->A, &w, x);
    }
}

cmg_status cmgi_cycle_run(void *user, const void *r, void *z)
{
    cmgi_cycle *cycle = user;
    cmgi_threads_adapt(cycle->ctx);
    for (int s = 0; s < cycle->nsteps; ++s) {
        if (cycle->steps[s].chain > 1) {
            cmgi_chain chain;
            cmgi_writeback w[CMGI_CHAIN_STAGES];
            const void *in[CMGI_CHAIN_STAGES];
            for (int k = 0; k < cycle->steps[s].chain; ++k) {
                w[k] = writeback_of(cycle, &cycle->steps[s + k], r, z);
                in[k] = address(cycle, cycle->steps[s + k].in, r, z);
            }
            cmgi_chain_of(cycle, s, w, in, &chain);
            cmgi_chain_run(&chain, cmgi_cycle_precision(cycle));
            s += cycle->steps[s].chain - 1;
        } else {
            CMGI_TRY(cmgi_cycle_step(cycle, s, r, z));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_cycle_run_step(cmgi_cycle *cycle, const void *r, const cmgi_semi_update *step,
                               bool *taken)
{
    *taken = cmgi_cycle_takes_step(cycle);
    cycle->step = step;
    const cmg_status status = *taken ? cmgi_cycle_run(cycle, r, step->d) : CMG_OK;
    cycle->step = NULL;
    return status;
}

void cmgi_cycle_drop_graph(cmgi_cycle *cycle)
{
    if (cycle != NULL && cycle->graph != NULL) {
        cycle->ctx->backend->graph_destroy(cycle->ctx, cycle->graph);
        cycle->graph = NULL;
    }
}

static cmg_status record(cmgi_cycle *cycle, const void *r, void *z)
{
    cmg_context *ctx = cycle->ctx;
    CMGI_TRY(ctx->backend->graph_begin(ctx, NULL, 0));
    const cmg_status status = cmgi_cycle_run(cycle, r, z);
    const cmg_status ended = ctx->backend->graph_end(ctx, status == CMG_OK ? &cycle->graph : NULL);
    return status != CMG_OK ? status : ended;
}

cmg_status cmgi_cycle_launch(void *user, const void *r, void *z)
{
    cmgi_cycle *cycle = user;
    const cmgi_backend *backend = cycle->ctx->backend;
    if (cycle->ctx->recording) {
        return cmgi_cycle_run(cycle, r, z);
    }
    const bool again = cycle->seen_r == r && cycle->seen_z == z;
    cycle->seen_r = r;
    cycle->seen_z = z;
    if (!again) {
        cmgi_cycle_drop_graph(cycle);
    }
    if (again && cycle->graph == NULL && backend->graph_begin != NULL) {
        const cmg_status status = record(cycle, r, z);
        if (status != CMG_OK && status != CMG_ERR_UNSUPPORTED) {
            return status;
        }
    }
    return cycle->graph != NULL ? backend->graph_launch(cycle->ctx, cycle->graph)
                                : cmgi_cycle_run(cycle, r, z);
}

/* A vector for people, "" where there is none. */
typedef struct vector_name {
    char text[16];
} vector_name;

static vector_name name_of(const cmgi_cycle *cycle, int value)
{
    vector_name name = {""};
    if (value != CMGI_NONE) {
        const cmgi_value *v = &cycle->values[value];
        (void)snprintf(name.text, sizeof name.text, "%s%c%d", value == cycle->input ? "given " : "",
                       v->letter, v->level);
    }
    return name;
}

#define SAY(...) (void)snprintf(text, CMGI_STEP_TEXT, __VA_ARGS__)

/* down: x0 by 2 stages from 0, b1 = R0 (b0 - A0 x0); up: x0 + P0 x1, or P0 x1, 2 stages, for b0. */
static void half_text(const cmgi_cycle *cycle, const cmgi_step *step, char *text)
{
    const bool up = step->kind == CMGI_STEP_UP;
    const vector_name out = name_of(cycle, step->out);
    const vector_name b = name_of(cycle, step->b);
    const vector_name x = name_of(cycle, up || step->stages == 0 ? step->in : step->also);
    const int l = step->level;
    const char *stages = step->stages == 1 ? "1 stage" : "2 stages";
    if (up) {
        SAY("up: %s = S (%s%sP%d %s) (%s for %s)", out.text, x.text, x.text[0] != '\0' ? " + " : "",
            l, name_of(cycle, step->c).text, stages, b.text);
    } else if (step->stages == 0) {
        SAY("down: %s = R%d (%s - A%d %s)", out.text, l, b.text, l, x.text);
    } else {
        SAY("down: %s = S 0 (%s for %s), %s = R%d (%s - A%d %s)", x.text, stages, b.text, out.text,
            l, b.text, l, x.text);
    }
}

static void product_text(const cmgi_step *step, const char *out, const char *in, const char *b,
                         const char *c, const char *matrix, char *text)
{
    char from[64]; /* c, or with momentum c + beta (c - the c before) */
    if (step->writeback != CMGI_WB_MOMENTUM) {
        (void)snprintf(from, sizeof from, "%s", c);
    } else if (step->e == CMGI_NONE) {
        (void)snprintf(from, sizeof from, "%.4g %s", 1 + step->beta, c);
    } else {
        (void)snprintf(from, sizeof from, "%s + %.4g (%s - old)", c, step->beta, c);
    }
    if (step->writeback == CMGI_WB_RESIDUAL) {
        SAY("%s = %s - %s %s", out, b, matrix, in);
    } else if (step->writeback == CMGI_WB_FROM_ZERO) {
        SAY("%s = %.4g D%d^-1 %s + %s %s", out, step->alpha, step->level, b, matrix, in);
    } else if (step->writeback == CMGI_WB_APPLY) {
        SAY("%s = %s %s", out, matrix, in);
    } else if (step->D != NULL) {
        SAY("%s = %s + %.4g D%d^-1 (%s - %s %s)", out, from, step->alpha, step->level, b, matrix,
            in);
    } else if (step->writeback == CMGI_WB_AXPBY && step->beta == 0) {
        SAY("%s = %.4g %s %s", out, step->alpha, matrix, in);
    } else if (step->writeback == CMGI_WB_AXPBY && step->alpha == 1) {
        SAY("%s = %s + %s %s", out, from, matrix, in);
    } else {
        SAY("%s = %s + %.4g %s %s", out, from, step->alpha, matrix, in);
    }
}

void cmgi_cycle_text(const cmgi_cycle *cycle, const cmgi_step *step, char text[CMGI_STEP_TEXT])
{
    const vector_name out = name_of(cycle, step->out);
    const vector_name in = name_of(cycle, step->in);
    char matrix[24];
    (void)snprintf(matrix, sizeof matrix, "%s%d", step->name, step->level);
    if (step->kind == CMGI_STEP_ZERO) {
        SAY("%s = 0", out.text);
    } else if (step->halves != NULL) {
        half_text(cycle, step, text);
    } else if (step->kind == CMGI_STEP_START) {
        SAY("exchange-start: %s for %s", in.text, matrix);
    } else if (step->kind == CMGI_STEP_END) {
        SAY("exchange-end: %s for %s", in.text, matrix);
    } else if (step->kind == CMGI_STEP_GATHER) {
        SAY("gather: %s on every rank", out.text);
    } else {
        product_text(step, out.text, in.text, name_of(cycle, step->b).text,
                     name_of(cycle, step->c).text, matrix, text);
    }
}

size_t cmgi_cycle_step_bytes(const cmgi_cycle *cycle, const cmgi_step *step)
{
    const cmgi_value *out = &cycle->values[step->out];
    const size_t once = (size_t)out->n * cmgi_precision_bytes(out->precision);
    const size_t written = once * (size_t)cycle->columns;
    if (step->kind == CMGI_STEP_ZERO) {
        return written;
    }
    if (step->halves != NULL) {
        const int read = step->in == CMGI_NONE || step->in == step->b ? 1 : 2;
        return cmgi_half_bytes(step->halves,
                               read + (step->kind == CMGI_STEP_UP || step->also != CMGI_NONE));
    }
    if (step->kind == CMGI_STEP_START) {
        return cmgi_matrix_talk(step->A).packed;
    }
    if (step->kind == CMGI_STEP_END || step->kind == CMGI_STEP_GATHER) {
        return 0;
    }
    size_t bytes = cmgi_matrix_traffic(step->A, step->writeback, cycle->columns);
    if (step->writeback == CMGI_WB_MOMENTUM) {
        bytes += step->e != CMGI_NONE ? written : 0;
        bytes -= step->D == NULL ? written + once : 0; /* neither b nor d is read */
    }
    /* the vector that is multiplied is read once, also where it is b or c, and beta = 0 reads no c
     */
    const bool one_less = step->c == step->in || step->b == step->in ||
                          (step->writeback == CMGI_WB_AXPBY && step->beta == 0);
    return one_less ? bytes - written : bytes;
}
