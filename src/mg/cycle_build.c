/*
 * Compiles a cycle into a list of steps. Nothing is clever here: every smoothing step is a defect
 * and a product with M, every guess is a vector, zero or not. The passes make the list cheaper.
 *
 * Source  Trottenberg, Oosterlee and Schueller, Multigrid, 2001, sections 2.4 and 2.6.
 */
#include "mg/cycle.h"

enum { MOST_STEPS = 200000 }; /* passes look through the list for every step */

typedef struct builder {
    cmgi_cycle *cycle;
    const cmgi_cycle_plan *plan;
} builder;

static cmg_status new_value(builder *B, int level, char letter, int *id)
{
    cmgi_cycle *cycle = B->cycle;
    const cmgi_value value = {.n = B->plan->levels[level].rows,
                              .level = level,
                              .letter = letter,
                              .precision = B->plan->precision,
                              .buffer = CMGI_NONE};
    CMGI_TRY(cmgi_hierarchy_grow(cycle->ctx, &cycle->values, cycle->nvalues, sizeof value));
    cycle->values[cycle->nvalues] = value;
    *id = cycle->nvalues++;
    return CMG_OK;
}

/* A step of level l with one matrix and one vector, and nothing else yet. */
static cmgi_step step_with(const cmg_matrix *A, const char *name, int l, int in)
{
    cmgi_step step = cmgi_step_none();
    step.writeback = CMGI_WB_APPLY;
    step.A = A;
    step.name = name;
    step.level = l;
    step.in = in;
    return step;
}

/* Appends the step, with a new vector of `level` for its result. */
static cmg_status append(builder *B, cmgi_step step, int level, char letter, int *out)
{
    cmgi_cycle *cycle = B->cycle;
    CMGI_TRY(new_value(B, level, letter, &step.out));
    CMGI_TRY(cmgi_hierarchy_grow(cycle->ctx, &cycle->steps, cycle->nsteps, sizeof step));
    cycle->steps[cycle->nsteps++] = step;
    *out = step.out;
    return CMG_OK;
}

static cmg_status zero(builder *B, int level, int *x)
{
    cmgi_step step = step_with(NULL, "", level, CMGI_NONE);
    step.kind = CMGI_STEP_ZERO;
    return append(B, step, level, 'x', x);
}

static cmg_status residual(builder *B, int l, int b, int x, int *r)
{
    cmgi_step step = step_with(B->plan->levels[l].A, "A", l, x);
    step.writeback = CMGI_WB_RESIDUAL;
    step.b = b;
    return append(B, step, l, 'r', r);
}

/* *x = x + alpha A r */
static cmg_status add(builder *B, const cmg_matrix *A, const char *name, int l, double alpha, int r,
                      int *x)
{
    cmgi_step step = step_with(A, name, l, r);
    step.writeback = CMGI_WB_AXPBY;
    step.alpha = alpha;
    step.beta = 1;
    step.c = *x;
    return append(B, step, l, 'x', x);
}

/*
 * `steps` times x <- x + omega M (b - A x), every stage of a polynomial with its own omega and, as
 * a recurrence, with a part of the last correction.
 */
static cmg_status smooth(builder *B, int l, int b, int steps, int *x)
{
    const cmgi_smoother *s = &B->plan->levels[l].smoother;
    const cmg_matrix *M = s->factors > 0 ? s->factor[s->factors - 1] : NULL;
    int before = CMGI_NONE;
    for (int k = 0; k < steps * s->stages; ++k) {
        const double momentum = s->momentum[k % s->stages];
        int r = CMGI_NONE;
        CMGI_TRY(residual(B, l, b, *x, &r));
        for (int f = 0; f + 1 < s->factors; ++f) {
            CMGI_TRY(append(B, step_with(s->factor[f], "M", l, r), l, 't', &r));
        }
        cmgi_step step = step_with(M, "M", l, r);
        step.writeback = momentum == 0 ? CMGI_WB_AXPBY : CMGI_WB_MOMENTUM;
        step.alpha = s->omega[k % s->stages];
        step.beta = momentum == 0 ? 1 : momentum;
        step.c = *x;
        step.e = momentum == 0 ? CMGI_NONE : before;
        before = *x;
        CMGI_TRY(append(B, step, l, 'x', x));
    }
    return CMG_OK;
}

/* One cycle on level l for right-hand side b, improving the guess *x; on the coarsest
 * x = x + C (b - A x) with the preassembled operator, or smoothing. */
static cmg_status visit(builder *B, int l, int b, cmg_cycle shape, int *x)
{
    const cmgi_cycle_plan *plan = B->plan;
    int r = CMGI_NONE;
    if (l == plan->nlevels - 1 && plan->coarse == NULL) {
        return smooth(B, l, b, plan->coarse_steps, x);
    }
    if (l == plan->nlevels - 1) {
        CMGI_TRY(residual(B, l, b, *x, &r));
        return add(B, plan->coarse, plan->coarse_name, l, 1.0, r, x);
    }
    const cmgi_level *level = &plan->levels[l];
    const int before = level->smoother.after && plan->post > 0 ? 0 : plan->pre;
    int coarse_b = CMGI_NONE;
    int coarse_x = CMGI_NONE;
    CMGI_TRY(smooth(B, l, b, before, x));
    CMGI_TRY(residual(B, l, b, *x, &r));
    CMGI_TRY(append(B, step_with(level->R, "R", l, r), l + 1, 'b', &coarse_b));
    CMGI_TRY(zero(B, l + 1, &coarse_x));
    CMGI_TRY(visit(B, l + 1, coarse_b, shape, &coarse_x));
    if (shape != CMG_CYCLE_V && (l + 1 < plan->nlevels - 1 || !plan->coarse_exact)) {
        CMGI_TRY(
            visit(B, l + 1, coarse_b, shape == CMG_CYCLE_W ? CMG_CYCLE_W : CMG_CYCLE_V, &coarse_x));
    }
    CMGI_TRY(add(B, level->P, "P", l, 1.0, coarse_x, x));
    return smooth(B, l, b, plan->post, x);
}

/* Whether nested iteration on level l takes its guess from level l + 1. */
static bool nests(const cmgi_cycle_plan *plan, int l)
{
    return plan->fmg && l < plan->nlevels - 1 && (plan->opening == 0 || l < plan->opening);
}

/* Nested iteration: solve on the last level, prolong, improve by one cycle, up to the finest. */
static cmg_status nested(builder *B, int l, int b, int *x)
{
    const cmgi_cycle_plan *plan = B->plan;
    if (!nests(plan, l)) {
        CMGI_TRY(zero(B, l, x));
        return visit(B, l, b, plan->shape, x);
    }
    int coarse_b = CMGI_NONE;
    int coarse_x = CMGI_NONE;
    CMGI_TRY(append(B, step_with(plan->levels[l].R, "R", l, b), l + 1, 'b', &coarse_b));
    CMGI_TRY(nested(B, l + 1, coarse_b, &coarse_x));
    CMGI_TRY(append(B, step_with(plan->levels[l].P, "P", l, coarse_x), l, 'x', x));
    return visit(B, l, b, plan->shape, x);
}

/* Steps of the list, counted level by level: a W-cycle visits level l 2^l times. */
static double count_steps(const cmgi_cycle_plan *plan)
{
    double v = plan->shape == CMG_CYCLE_V; /* visits of the level by each shape */
    double w = plan->shape == CMG_CYCLE_W;
    double f = plan->shape == CMG_CYCLE_F;
    double steps = 0;
    for (int l = plan->first; l < plan->nlevels; ++l) {
        const cmgi_smoother *s = &plan->levels[l].smoother;
        const double one = (double)s->stages * (s->factors + 1);
        const double visit = l < plan->nlevels - 1  ? (plan->pre + plan->post) * one + 4
                             : plan->coarse != NULL ? 2
                                                    : plan->coarse_steps * one;
        const bool again = l + 2 < plan->nlevels || !plan->coarse_exact;
        steps += (v + w + f) * visit;
        v += (again ? f : 0) + (nests(plan, l) && plan->shape == CMG_CYCLE_V);
        w += (again ? w : 0) + (nests(plan, l) && plan->shape == CMG_CYCLE_W);
        f += nests(plan, l) && plan->shape == CMG_CYCLE_F;
    }
    return steps;
}

cmg_status cmgi_cycle_build(cmgi_cycle *cycle, const cmgi_cycle_plan *plan)
{
    builder B = {.cycle = cycle, .plan = plan};
    int b = CMGI_NONE;
    int x = CMGI_NONE;
    const double steps = count_steps(plan);
    CMGI_CHECK(cycle->ctx, steps <= MOST_STEPS, CMG_ERR_UNSUPPORTED,
               "cycle: %s over %d levels has %.3g steps, at most %d are kept: take V, or fewer "
               "levels or smoothing steps",
               cmg_enum_name("cycle", (int)plan->shape), plan->nlevels - plan->first, steps,
               MOST_STEPS);
    CMGI_TRY(new_value(&B, plan->first, 'b', &b));
    cycle->input = b;
    CMGI_TRY(nested(&B, plan->first, b, &x));
    cycle->output = x;
    return CMG_OK;
}
