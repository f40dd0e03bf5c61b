#include "mg/hint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 40 }; /* iterations that are worth a word although they converged */

static const double REMOVED = 1e-8; /* of b in the null space of A: more than rounding */

static bool assumes_symmetry(cmg_krylov method)
{
    return method == CMG_KRYLOV_CG || method == CMG_KRYLOV_FCG || method == CMG_KRYLOV_DEFECT ||
           method == CMG_KRYLOV_MERGED;
}

/* The method does not suit A or the cycle; "" where it does. */
static cmg_status method_hint(cmgi_multigrid *mg, char text[CMGI_HINT])
{
    const cmg_solver_options *o = &mg->options;
    const cmg_krylov method = mg->krylov->options.method;
    if (!assumes_symmetry(method)) {
        return CMG_OK;
    }
    if (o->krylov != CMG_KRYLOV_AUTO) { /* else it has been looked at */
        CMGI_TRY(cmgi_symmetry_look(mg->ctx, &mg->levels, mg->cycle, &mg->symmetry));
    }
    if (!mg->symmetry.matrix) {
        (void)snprintf(text, CMGI_HINT,
                       "A is not symmetric, which krylov=%s takes it to be: try "
                       "krylov=auto or fgmres",
                       cmg_enum_name("krylov", (int)method));
    } else if (!mg->symmetry.cycle && method != CMG_KRYLOV_FCG) {
        (void)snprintf(
            text, CMGI_HINT,
            "the cycle is not symmetric (pre=%d post=%d, smoother %.60s): try krylov=fcg", o->pre,
            o->post, o->smoother);
    }
    return CMG_OK;
}

static void limit_hint(const cmg_report *r, double rtol, char text[CMGI_HINT])
{
    const double factor = pow(r->residual / r->history[0], 1.0 / r->iterations);
    const double left = log(rtol * r->rhs_norm / r->residual) / log(factor);
    if (factor < 0.97 && left < 100 * (r->iterations + 1.0)) {
        (void)snprintf(text, CMGI_HINT,
                       "at this pace, %.2f an iteration, about %.0f more iterations are needed: "
                       "raise max-it, or try smoother=fsai",
                       factor, ceil(left));
    } else {
        (void)snprintf(
            text, CMGI_HINT,
            "the residual hardly falls, %.2f an iteration: try smoother=fsai or spai, or "
            "more smoothing steps",
            factor);
    }
}

/* What the outcome itself suggests. */
static void outcome_hint(const cmgi_multigrid *mg, const cmg_report *r, char text[CMGI_HINT])
{
    const cmg_solver_options *o = &mg->options;
    const bool low = o->precision != CMG_FP64;
    if (r->outcome == CMG_NOT_A_NUMBER && !isfinite(r->history[0])) {
        (void)snprintf(text, CMGI_HINT,
                       "b or the initial guess has an entry that is no finite number");
    } else if (low && !o->fallback) {
        (void)snprintf(text, CMGI_HINT,
                       "the cycle is in fewer bits than fp64: try precision=fp64, or leave out "
                       "no-fallback");
    } else if (mg->levels.count == 1 && mg->levels.coarse == NULL) {
        (void)snprintf(text, CMGI_HINT,
                       "level 0 alone is smoothed: coarser levels (P, and A or R A P) make the "
                       "iterations few");
    } else if (r->outcome == CMG_BREAKDOWN) {
        (void)snprintf(text, CMGI_HINT, "A is not positive definite: try krylov=fgmres");
    } else if (r->outcome == CMG_ITERATION_LIMIT && r->iterations > 0) {
        limit_hint(r, o->rtol, text);
    } else if (r->outcome == CMG_ITERATION_LIMIT) {
        (void)snprintf(text, CMGI_HINT, "max-it is 0");
    } else {
        (void)snprintf(
            text, CMGI_HINT,
            "smoother %.60s does not suit this matrix%s: try smoother=%s, or look at the "
            "coarse matrices with cmg info",
            o->smoother, o->omega > 0 ? " with this omega" : "",
            strncmp(o->smoother, "fsai", 4) == 0 ? "spai" : "fsai");
    }
}

cmg_status cmgi_hint(cmgi_multigrid *mg, const cmg_report *r, char text[CMGI_HINT])
{
    text[0] = '\0';
    if (cmg_outcome_converged(r->outcome)) {
        if (r->removed > REMOVED * hypot(r->removed, r->rhs_norm)) {
            (void)snprintf(text, CMGI_HINT,
                           "%.3g of b was in the null space of A and left out: A x = b has no "
                           "solution, and x is that of least squares",
                           r->removed / hypot(r->removed, r->rhs_norm));
            return CMG_OK;
        }
        if (r->iterations > MANY && !(mg->levels.count == 1 && mg->levels.coarse == NULL)) {
            const double factor = pow(r->residual / r->history[0], 1.0 / r->iterations);
            (void)snprintf(text, CMGI_HINT,
                           "%d iterations, %.2f each: smoother=fsai or spai may need fewer; cmg "
                           "compare tells",
                           r->iterations, factor);
        }
        return CMG_OK;
    }
    if (r->outcome != CMG_NOT_A_NUMBER) {
        CMGI_TRY(method_hint(mg, text));
    }
    if (text[0] == '\0') {
        outcome_hint(mg, r, text);
    }
    return CMG_OK;
}
