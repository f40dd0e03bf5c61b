#include "mg/ladder.h"

#include "mg/edge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    STEPS = 2, /* of a stronger smoother */
    DIRECT_ROWS =
        6000 /* where it has to be dense, an inverse of so many rows takes 5 s and 290 MB */
};
static const double FAR = 1e-4; /* a residual that fell so far was not stopped by the smoother */
static const char *const HIGH_DEGREE = "chebyshev4:degree=16";

/* The storage with the fewest bits in the cycle. */
static cmg_values least_values(const cmgi_multigrid *mg)
{
    const cmg_format format = mg->options.matrix.format;
    const bool keeps_values =
        format == CMG_FORMAT_COMPRESSED || format == CMG_FORMAT_TUNE || format == CMG_FORMAT_DENSE;
    const cmg_values scheduled = cmgi_schedule_least(&mg->schedule);
    const cmg_values matrix = keeps_values ? mg->options.matrix.values : CMG_VALUES_FULL;
    cmg_values least = matrix > scheduled ? matrix : scheduled;
    for (int l = 0; mg->schedule.halves && l < mg->levels.count; ++l) {
        const cmg_matrix *A = mg->levels.level[l].A;
        const cmg_values taken = A != NULL ? cmgi_matrix_values(A) : CMG_VALUES_FULL;
        least = taken > least ? taken : least;
    }
    return least;
}

const char *cmgi_ladder_precision(const cmgi_multigrid *mg)
{
    const cmg_values least = least_values(mg);
    return mg->options.precision == CMG_FP64 ? "fp64"
           : least == CMG_VALUES_FULL        ? "fp32"
                                             : cmg_enum_name("values", (int)least);
}

/* The next storage with more bits than `least`; others stay. */
static cmg_values more_bits(cmg_values values, cmg_values least)
{
    return least != CMG_VALUES_FP8    ? CMG_VALUES_FULL
           : values == CMG_VALUES_FP8 ? CMG_VALUES_FP16
                                      : values;
}

static void strengthen_options(cmgi_multigrid *mg)
{
    const cmg_values least = least_values(mg);
    if (least == CMG_VALUES_FULL) {
        mg->options.precision = CMG_FP64;
    }
    mg->schedule.halves = mg->schedule.halves && least == CMG_VALUES_FP8;
    mg->options.matrix.values = more_bits(mg->options.matrix.values, least);
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        for (int role = 0; role < CMGI_ROLES; ++role) {
            mg->schedule.values[l][role] = more_bits(mg->schedule.values[l][role], least);
        }
    }
}

/* Smoothers of one diagonal, or of polynomials in it. */
static bool is_weak(const char *smoother)
{
    static const char *const weak[] = {"auto",       "jacobi",  "l1-jacobi",    "chebyshev",
                                       "chebyshev4", "neumann", "least-squares"};
    const size_t length = strcspn(smoother, ":");
    for (size_t k = 0; k < sizeof weak / sizeof *weak; ++k) {
        if (strlen(weak[k]) == length && strncmp(weak[k], smoother, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool takes_symmetry(const cmgi_multigrid *mg)
{
    const cmg_krylov method = mg->krylov->options.method;
    return method != CMG_KRYLOV_FGMRES && method != CMG_KRYLOV_BICGSTAB;
}

/* Levels come with the hierarchy, or Jacobi was to do without, and A alone gives others. */
static bool has_other_levels(const cmgi_ladder *ladder, const cmgi_multigrid *mg)
{
    return mg->divided == NULL && ladder->automatic && !ladder->used[CMGI_RUNG_LEVELS] &&
           mg->options.coarsen && mg->options.coarse == CMG_COARSE_AUTO &&
           mg->options.cycle != CMG_CYCLE_NONE && !mg->from_matrix &&
           (cmg_hierarchy_levels(mg->h) > 1 || mg->dominated);
}

/*
 * Levels may misfit, which the matrix shows: unknowns coupled along lines, with which no point
 * smoother and no P across the lines goes, or coefficients that coarse cells cut through.
 */
static cmgi_rung steady_rung(const cmgi_ladder *ladder, const cmgi_multigrid *mg)
{
    const cmgi_smoother *smoother = &mg->levels.level[0].smoother;
    const bool polynomial = strcmp(smoother->chosen, "chebyshev4") == 0;
    const bool degree = ladder->automatic && !ladder->used[CMGI_RUNG_DEGREE] && polynomial;
    const bool misfit = (polynomial && smoother->stages > 2) || mg->completion.misfits > 0;
    return misfit && has_other_levels(ladder, mg) && cmgi_multigrid_scalar(mg) ? CMGI_RUNG_LEVELS
           : degree && takes_symmetry(mg)                                      ? CMGI_RUNG_DEGREE
                                                                               : CMGI_RUNG_NONE;
}

cmgi_rung cmgi_ladder_next(const cmgi_ladder *ladder, const cmgi_multigrid *mg,
                           const cmgi_ending *end)
{
    const cmg_outcome why = end->outcome;
    if (mg->outdated || (mg->borrowed && why != CMG_STAGNATED)) { /* slow it is not by a bound */
        return CMGI_RUNG_RENEW;
    }
    if (mg->krylov->options.method == CMG_KRYLOV_SEMI && why != CMG_NOT_A_NUMBER) {
        return CMGI_RUNG_CG;
    }
    const bool bits = mg->options.precision != CMG_FP64 && !ladder->used[CMGI_RUNG_BITS];
    const bool smoother = /* one level: a stronger smoother does not make it fast */
        !ladder->used[CMGI_RUNG_SMOOTHER] && is_weak(mg->options.smoother) && mg->levels.count > 1;
    if (bits &&
        (why == CMG_NOT_A_NUMBER || least_values(mg) != CMG_VALUES_FULL || end->factor < FAR)) {
        return CMGI_RUNG_BITS;
    }
    if (end->steady) {
        return steady_rung(ladder, mg);
    }
    const bool seen = /* that A, or its cycle, is not definite; or values were not looked at */
        why == CMG_BREAKDOWN || mg->unseen ||
        (why == CMG_INDEFINITE_PRECONDITIONER &&
         (ladder->automatic || ladder->used[CMGI_RUNG_SMOOTHER]));
    if (seen && !ladder->used[CMGI_RUNG_METHOD] && mg->options.krylov == CMG_KRYLOV_AUTO &&
        takes_symmetry(mg)) {
        return CMGI_RUNG_METHOD;
    }
    if (smoother && why != CMG_NOT_A_NUMBER && why != CMG_BREAKDOWN) {
        return CMGI_RUNG_SMOOTHER;
    }
    const bool direct = mg->divided == NULL && ladder->automatic &&
                        !ladder->used[CMGI_RUNG_DIRECT] && mg->options.cycle != CMG_CYCLE_NONE &&
                        mg->options.coarse == CMG_COARSE_AUTO &&
                        cmg_hierarchy_rows(mg->h, 0) <= DIRECT_ROWS;
    return bits                           ? CMGI_RUNG_BITS
           : has_other_levels(ladder, mg) ? CMGI_RUNG_LEVELS
           : direct                       ? CMGI_RUNG_DIRECT
                                          : CMGI_RUNG_NONE;
}

static void use_stronger_smoother(const cmgi_ladder *ladder, cmgi_multigrid *mg)
{
    cmg_solver_options *o = &mg->options;
    const cmgi_smoother *first = &mg->levels.level[0].smoother;
    const bool spai = strcmp(first->chosen, "spai") == 0 || first->after; /* or flow */
    const char *stronger = takes_symmetry(mg) ? "fsai" : spai ? "ainv" : "spai";
    (void)snprintf(o->smoother, sizeof o->smoother, "%s", stronger);
    o->omega = 0;
    if (ladder->automatic) {
        o->pre = o->pre > STEPS ? o->pre : STEPS;
        o->post = o->post > STEPS ? o->post : STEPS;
    }
}

/* Options of the rung, and what it is called. */
static const char *change(const cmgi_ladder *ladder, cmgi_multigrid *mg, cmgi_rung rung)
{
    cmg_solver_options *o = &mg->options;
    switch (rung) {
    case CMGI_RUNG_RENEW:
        return "new smoother";
    case CMGI_RUNG_CG:
        return "cg";
    case CMGI_RUNG_METHOD:
        o->krylov = CMG_KRYLOV_FGMRES;
        return "fgmres";
    case CMGI_RUNG_LEVELS:
        mg->from_matrix = true;
        return "algebraic levels";
    case CMGI_RUNG_DEGREE:
        (void)snprintf(o->smoother, sizeof o->smoother, "%s", HIGH_DEGREE);
        o->omega = 0;
        return o->smoother;
    case CMGI_RUNG_SMOOTHER:
        use_stronger_smoother(ladder, mg);
        return o->smoother;
    case CMGI_RUNG_DIRECT:
        mg->from_matrix = true;
        o->coarse = CMG_COARSE_INVERSE;
        return "direct solve";
    default:
        strengthen_options(mg);
        return cmgi_ladder_precision(mg);
    }
}

/* How the last attempt went: its mean factor where it was slow, else its outcome. */
static void describe(const cmgi_ending *end, char *text, size_t size)
{
    if (end->outcome == CMG_STAGNATED && end->last > 0) {
        (void)snprintf(text, size, "had a factor of %.2f", pow(end->factor, 1.0 / end->last));
    } else {
        (void)snprintf(text, size, "ended as %s", cmg_enum_name("outcome", (int)end->outcome));
    }
}

/* What a rung makes: levels and cycles, and where `levels`, what is completed for them. */
static void drop(cmgi_multigrid *mg, bool levels)
{
    cmgi_multigrid_clear(mg);
    if (levels) {
        cmgi_multigrid_drop_completion(mg);
    }
}

/* The same is left to the copy of mg that the caller has. */
static void leave(cmgi_multigrid *mg, bool levels)
{
    mg->levels = (cmgi_levels){0};
    mg->cycle = NULL;
    mg->nested = NULL;
    mg->krylov = NULL;
    mg->outdated = mg->borrowed = mg->ready = false;
    if (levels) {
        mg->completion = (cmgi_completion){0};
        mg->envelope = NULL;
    }
}

static cmg_status build(cmgi_multigrid *mg, bool levels)
{
    CMGI_TRY(levels ? cmgi_multigrid_complete(mg, (cmgi_meanwhile){0}) : CMG_OK);
    CMGI_TRY(cmgi_memory_check(cmgi_multigrid_hierarchy(mg), &mg->options, &mg->schedule, 0));
    return cmgi_multigrid_build(mg);
}

cmg_status cmgi_ladder_climb(cmgi_ladder *ladder, cmgi_multigrid *mg, cmgi_rung rung,
                             const cmgi_ending *end, char clause[CMGI_CLAUSE])
{
    cmgi_multigrid before = *mg;
    const bool levels = rung == CMGI_RUNG_LEVELS || rung == CMGI_RUNG_DIRECT;
    const cmg_krylov method = mg->krylov->options.method;
    cmg_krylov fits = CMG_KRYLOV_FGMRES;
    char less[16];
    char went[48];
    if (rung == CMGI_RUNG_METHOD && mg->unseen) {
        CMGI_TRY(cmgi_multigrid_choose_method(mg, &fits));
        if (fits == method || fits == CMG_KRYLOV_CG) {
            return CMG_OK; /* the next rung then */
        }
    }
    ladder->used[rung] = rung != CMGI_RUNG_BITS; /* there may be more bits still */
    (void)snprintf(less, sizeof less, "%s", cmgi_ladder_precision(mg));
    describe(end, went, sizeof went);
    const char *name = change(ladder, mg, rung);
    if (rung == CMGI_RUNG_BITS) {
        (void)snprintf(clause, CMGI_CLAUSE, "%s to %s after %d iterations (%s)", less, name,
                       end->last, cmg_enum_name("outcome", (int)end->outcome));
    } else {
        (void)snprintf(clause, CMGI_CLAUSE, "%.40s from iteration %d: %.32s %s", name,
                       end->iterations,
                       rung <= CMGI_RUNG_METHOD && rung > CMGI_RUNG_RENEW
                           ? cmg_enum_name("krylov", (int)method)
                           : before.options.smoother,
                       went);
    }
    if (rung == CMGI_RUNG_CG) {
        mg->missed = true;
        return cmgi_multigrid_take_method(mg, CMG_KRYLOV_CG);
    }
    CMGI_TRY(cmgi_edge_refresh(mg->numbered));
    /* what is completed has borrowed from arrays that may be gone since there are newer values */
    CMGI_TRY(levels || mg->levels.values == mg->h->values
                 ? CMG_OK
                 : cmgi_completion_update(mg->h, &mg->completion));
    mg->apart = true;
    leave(mg, levels);
    cmg_status status = build(mg, levels);
    const bool crowded = status == CMG_ERR_MEMORY && mg->divided == NULL;
    if (status == CMG_OK || crowded) {
        drop(&before, levels);
        if (status == CMG_OK) {
            return CMG_OK;
        }
        drop(mg, levels); /* not beside the one before: then in its place */
        return build(mg, levels);
    }
    drop(mg, levels);
    *mg = before;
    if (status == CMG_ERR_MEMORY || status == CMG_ERR_DEVICE || status == CMG_ERR_INTERNAL) {
        return status;
    }
    clause[0] = '\0';
    ladder->used[rung] = true;                              /* the same would fail again, */
    mg->outdated = mg->outdated && rung != CMGI_RUNG_RENEW; /* for ever */
    mg->borrowed = mg->borrowed && rung != CMGI_RUNG_RENEW;
    return CMG_OK;
}
