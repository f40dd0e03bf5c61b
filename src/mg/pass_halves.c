/*
 * Halves of the cycle as one step each, where a level is a box and P linear interpolation
 * (spmv/halves.h):
 *
 *   x = omega_1 D^-1 b;  x = x + omega_2 D^-1 (b - A x);  r = b - A x;  c = R r     becomes  down
 *   x = x + P e;  x = x + omega_1 D^-1 (b - A x);  x = x + omega_2 ...              becomes  up
 *
 * and so do x = P e with its stages, and r = b - A x;  c = R r alone, as in nested iteration;
 *
 * which keeps all that is between them in registers: 24 bytes a row in fp32 where the steps one by
 * one move 120. One stage or two are taken; further ones of the up half stay as they are. A
 * recurrence, whose second stage repeats a part of the first correction, is the same polynomial
 * with other dampings. It comes after pass_jacobi, whose steps it looks for.
 */
#include "mg/cycle.h"

#include <math.h>
#include <string.h>

static bool same_halves(const cmgi_halves *a, const cmgi_halves *b)
{
    return a->taken == b->taken &&
           (!a->taken || (a->d == b->d && a->precision == b->precision &&
                          memcmp(a->box.size, b->box.size, sizeof a->box.size) == 0 &&
                          memcmp(a->box.value, b->box.value, sizeof a->box.value) == 0));
}

/* On levels of fewer rows A is stored so that products wait least, not as a box. */
enum { SMALL = 1 << 19 };

/* The box of A, by its entries where it is not stored as one. */
static cmg_status find_box(cmg_context *ctx, cmg_hierarchy *h, int l, const cmgi_level *level,
                           cmgi_box *box, bool *found)
{
    const cmg_matrix *A = level->A;
    const cmgi_box *stored = cmgi_matrix_box(A);
    *found = stored != NULL;
    if (stored != NULL) {
        *box = *stored;
        return CMG_OK;
    }
    if (h == NULL || level->rows >= SMALL || cmgi_hierarchy_kinds(h, l, CMG_ROLE_A) != NULL ||
        level->perm != NULL || A->format->elements || A->options.values != CMG_VALUES_FULL) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(h, l, CMG_ROLE_A);
    cmg_csr csr;
    CMGI_TRY(there == NULL ? cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &csr) : CMG_OK);
    return cmgi_box_of_csr(ctx, there == NULL ? &csr : NULL, there, A->options.precision, box,
                           found);
}

/* What halves.c asks for, of matrices that are there. */
static bool may_have_halves(const cmg_context *ctx, const cmgi_level *level)
{
    const cmgi_smoother *s = &level->smoother;
    return cmgi_halves_possible(ctx) && level->P != NULL && level->R != NULL && s->factors == 1 &&
           s->factor[0]->format->id == CMG_FORMAT_DIAGONAL;
}

cmg_status cmgi_level_halves_divided(cmg_context *ctx, const cmgi_divided *levels, int l,
                                     cmgi_level *level)
{
    cmgi_halves *halves = &level->halves;
    double say[3] = {!may_have_halves(ctx, level) || level->A->options.values != CMG_VALUES_FULL};
    cmgi_box box = {0};
    bool found = false;
    cmgi_halves_clear(halves);
    CMGI_TRY(cmgi_all_max(ctx, say, 1));
    if (say[0] == 0) {
        CMGI_TRY(cmgi_divided_by(ctx)->halves(levels, l, level->A->options.precision, &box,
                                              &halves->slab, &found));
    }
    if (found) {
        CMGI_TRY(cmgi_halves_find(ctx, level->A, &box, level->P, level->R,
                                  level->smoother.factor[0], halves));
        say[0] = !halves->taken;
        say[1] = halves->d;
        say[2] = -halves->d;
        CMGI_TRY(cmgi_all_max(ctx, say, 3));
        found = say[0] == 0 && say[1] == -say[2];
    }
    if (!found) {
        cmgi_halves_clear(halves);
    }
    return CMG_OK;
}

cmg_status cmgi_level_halves(cmg_context *ctx, cmg_hierarchy *h, int l, cmgi_level *level)
{
    const cmgi_halves before = level->halves;
    cmgi_box box;
    bool found = false;
    const uint64_t versions[] = {level->version_P, level->version_R, level->version_D};
    level->halves = (cmgi_halves){0};
    CMGI_TRY(may_have_halves(ctx, level) ? find_box(ctx, h, l, level, &box, &found) : CMG_OK);
    if (found) { /* of the P and R of before new values of A change nothing */
        level->halves.known = before.taken && before.precision == level->A->options.precision &&
                              memcmp(before.box.size, box.size, sizeof box.size) == 0 &&
                              versions[0] > 0 && versions[1] > 0 &&
                              memcmp(versions, level->version_halves, sizeof versions) == 0;
        CMGI_TRY(cmgi_halves_find(ctx, level->A, &box, level->P, level->R,
                                  level->smoother.factor[0], &level->halves));
    }
    memcpy(level->version_halves, versions, sizeof versions);
    level->halves_changed = !same_halves(&before, &level->halves);
    return CMG_OK;
}

typedef struct finder {
    cmgi_cycle *cycle;
    const cmgi_level *level; /* whose half is looked for */
    int at;                  /* the next step */
} finder;

/* The next step where it is a product with A that reads x; NULL = it is not. */
static const cmgi_step *next_product(const finder *f, const cmg_matrix *A, int x)
{
    const cmgi_step *step = f->at < f->cycle->nsteps ? &f->cycle->steps[f->at] : NULL;
    return step != NULL && step->kind == CMGI_STEP_PRODUCT && step->A == A && step->in == x ? step
                                                                                            : NULL;
}

/* The next step where it is x + omega D^-1 (b - A x), with a part of x - before or without. */
static const cmgi_step *next_stage(const finder *f, int b, int x, int before)
{
    const cmgi_step *step = next_product(f, f->level->A, x);
    const bool stage = step != NULL && step->D == f->level->smoother.factor[0] && step->b == b &&
                       step->c == x &&
                       (step->writeback == CMGI_WB_JACOBI ||
                        (step->writeback == CMGI_WB_MOMENTUM && step->e == before));
    return stage ? step : NULL;
}

static double momentum_of(const cmgi_step *stage)
{
    return stage->writeback == CMGI_WB_MOMENTUM ? stage->beta : 0;
}

static bool read_once(const finder *f, int value)
{
    return cmgi_cycle_readers(f->cycle, value) == 1 && value != f->cycle->output;
}

/* r = b - A x, c = R r in the next two steps, which are then passed. */
static bool next_defect(finder *f, int b, int x)
{
    const cmgi_step *defect = next_product(f, f->level->A, x);
    if (defect == NULL || defect->writeback != CMGI_WB_RESIDUAL || !read_once(f, defect->out) ||
        defect->b != b) {
        return false;
    }
    ++f->at;
    const cmgi_step *restriction = next_product(f, f->level->R, defect->out);
    f->at += restriction != NULL;
    return restriction != NULL && restriction->writeback == CMGI_WB_APPLY;
}

/* A half in place of the steps from `begin` on that were looked at, with the result of the last. */
static void put(const finder *f, int begin, cmgi_step half)
{
    cmgi_step *last = &f->cycle->steps[f->at - 1];
    half.A = f->level->A;
    half.name = "";
    half.level = last->level;
    half.e = CMGI_NONE;
    half.out = last->out;
    half.halves = &f->level->halves;
    half.seconds = -1;
    for (int s = begin; s < f->at; ++s) {
        f->cycle->steps[s] = cmgi_step_none();
    }
    *last = half;
}

/* x = omega_1 D^-1 b, perhaps a stage more, r = b - A x, c = R r: from the step at f->at on. */
static void try_down(finder *f)
{
    const int begin = f->at;
    const cmgi_step *first = &f->cycle->steps[f->at++];
    const double d = f->level->halves.d;
    const int b = first->in;
    int x = first->out;
    double alpha = first->alpha * d;
    double beta = 0;
    int stages = 1;
    const cmgi_step *stage = next_stage(f, b, x, CMGI_NONE);
    if (stage != NULL && read_once(f, x)) {
        beta = alpha * stage->alpha * d;
        alpha = alpha * (1 + momentum_of(stage)) + stage->alpha * d;
        x = stage->out;
        stages = 2;
        ++f->at;
    }
    if (next_defect(f, b, x)) {
        put(f, begin,
            (cmgi_step){.kind = CMGI_STEP_DOWN,
                        .alpha = alpha,
                        .beta = beta,
                        .in = b,
                        .b = b,
                        .c = CMGI_NONE,
                        .also = x,
                        .stages = stages});
    }
}

/*
 * Two dampings of a polynomial 1 - s t + p t^2 with real roots: those of a recurrence's two stages,
 * s = omega_1 (1 + beta) + omega_2 and p = omega_1 omega_2. False where the roots are not real.
 */
static bool dampings_of(double s, double p, double *first, double *second)
{
    const double root = s * s - 4 * p;
    *second = 0.5 * (s + sqrt(fmax(root, 0)));
    *first = p / *second;
    return root >= 0;
}

/* x = x + P e, or P e, and one or two stages: from the step at f->at on. */
static void try_up(finder *f)
{
    const int begin = f->at;
    const cmgi_step correction = f->cycle->steps[f->at++];
    const double d = f->level->halves.d;
    const cmgi_step *stage = next_product(f, f->level->A, correction.out);
    const int b = stage != NULL ? stage->b : CMGI_NONE;
    stage = b != CMGI_NONE ? next_stage(f, b, correction.out, CMGI_NONE) : NULL;
    if (stage == NULL || momentum_of(stage) != 0) {
        return;
    }
    double first = stage->alpha;
    double second = 0;
    int stages = 1;
    const int between = stage->out;
    ++f->at;
    stage = next_stage(f, b, between, correction.out);
    const int readers = cmgi_cycle_readers(f->cycle, correction.out);
    const double beta = stage != NULL ? momentum_of(stage) : 0;
    if (stage != NULL && read_once(f, between) && readers == (beta != 0 ? 2 : 1) &&
        (beta == 0 ||
         dampings_of(first * (1 + beta) + stage->alpha, first * stage->alpha, &first, &second))) {
        second = beta == 0 ? stage->alpha : second;
        stages = 2;
        ++f->at;
    } else if (readers != 1) {
        return;
    }
    put(f, begin,
        (cmgi_step){.kind = CMGI_STEP_UP,
                    .alpha = first * d,
                    .beta = second * d,
                    .in = correction.writeback == CMGI_WB_AXPBY ? correction.c : CMGI_NONE,
                    .b = b,
                    .c = correction.in,
                    .also = CMGI_NONE,
                    .stages = stages});
}

void cmgi_pass_halves(cmgi_cycle *cycle, const cmgi_level *levels)
{
    for (int s = 0; s < cycle->nsteps && cycle->columns == 1; ++s) {
        const cmgi_step *step = &cycle->steps[s];
        finder f = {.cycle = cycle, .level = &levels[step->level], .at = s};
        if (step->kind != CMGI_STEP_PRODUCT || !f.level->halves.taken) {
            continue;
        }
        const bool adds = step->writeback == CMGI_WB_AXPBY;
        if (step->A == f.level->smoother.factor[0] && adds && step->beta == 0) {
            try_down(&f);
        } else if (step->A == f.level->P && (adds ? step->alpha == 1 && step->beta == 1
                                                  : step->writeback == CMGI_WB_APPLY)) {
            try_up(&f);
        } else if (step->A == f.level->A) { /* r = b - A x, c = R r */
            const cmgi_step first = *step;
            if (next_defect(&f, first.b, first.in)) {
                put(&f, s,
                    (cmgi_step){.kind = CMGI_STEP_DOWN,
                                .in = first.in,
                                .b = first.b,
                                .c = CMGI_NONE,
                                .also = CMGI_NONE});
            }
        }
    }
    cmgi_cycle_compact(cycle);
}
