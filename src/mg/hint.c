/* Advice on a solve that was not good, from facts that are known. */
#include "mg/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 40 }; /* iterations that are worth a word although they converged */

#define SAY(...) (void)snprintf(text, CMGI_HINT, __VA_ARGS__)

static const double REMOVED = 1e-8; /* of b outside the range of A: worth a word */

/* A norm ||b - A x||, or ||b||, without what no x can reach. */
static double within(const cmg_report *r, double norm)
{
    return norm > r->removed ? sqrt((norm - r->removed) * (norm + r->removed)) : 0;
}

/* Factor by which an iteration reduces the residual, in the mean. */
static double pace(const cmg_report *r)
{
    const double now = r->removed > 0 ? r->range_residual * r->rhs_norm : r->residual;
    const double first = within(r, r->history[0]);
    return first > 0 ? pow(now / first, 1.0 / r->iterations) : 1;
}

/* The method does not suit A or the cycle; "" where it does. */
static cmg_status method_hint(cmgi_multigrid *mg, char text[CMGI_HINT])
{
    const cmg_solver_options *o = &mg->options;
    const cmg_krylov method = mg->krylov->options.method;
    if (method != CMG_KRYLOV_CG && method != CMG_KRYLOV_FCG && method != CMG_KRYLOV_DEFECT &&
        method != CMG_KRYLOV_MERGED && method != CMG_KRYLOV_SEMI) {
        return CMG_OK; /* it takes any A */
    }
    if (o->krylov != CMG_KRYLOV_AUTO) { /* else it has been looked at */
        CMGI_TRY(cmgi_symmetry_look(mg->ctx, &mg->levels, mg->cycle, &mg->symmetry));
    }
    if (!mg->symmetry.matrix) {
        SAY("A is not symmetric, which krylov=%s takes it to be: try "
            "krylov=auto or fgmres",
            cmg_enum_name("krylov", (int)method));
    } else if (!mg->symmetry.cycle && method != CMG_KRYLOV_FCG) {
        SAY("the cycle is not symmetric (pre=%d post=%d, smoother %.60s): try krylov=fcg", o->pre,
            o->post, o->smoother);
    }
    return CMG_OK;
}

/* CG has seen a p with p^T A p <= 0, unless `iteration` is -1: then only what the diagonal says. */
static cmg_status definite_hint(const cmgi_multigrid *mg, int iteration, char text[CMGI_HINT])
{
    char why[96];
    cmg_csr A = {0};
    cmg_size i = 0;
    if (mg->h->own == NULL) {
        CMGI_TRY(cmg_hierarchy_get_csr(mg->h, 0, CMG_ROLE_A, NULL, 0, &A));
    }
    while (i < A.rows && cmgi_csr_diagonal_at(&A, i) * cmgi_csr_diagonal_at(&A, 0) > 0) {
        ++i;
    }
    (void)snprintf(why, sizeof why, "p^T A p <= 0 in iteration %d", iteration);
    if (i < A.rows) {
        (void)snprintf(why, sizeof why, "the diagonal is %.3g in row 0, %.3g in row %lld",
                       cmgi_csr_diagonal_at(&A, 0), cmgi_csr_diagonal_at(&A, i), (long long)i);
    } else if (iteration < 0) {
        return CMG_OK;
    }
    SAY("A is not positive definite (%s): krylov=fgmres smoother=spai takes a few "
        "negative eigenvalues, MINRES or a factorisation any (docs/when-not.md)",
        why);
    return CMG_OK;
}

static void limit_hint(const cmg_report *r, double rtol, char text[CMGI_HINT])
{
    const double factor = pace(r);
    const double now = r->removed > 0 ? r->range_residual * r->rhs_norm : r->residual;
    const double left = log(rtol * within(r, r->rhs_norm) / now) / log(factor);
    if (factor < 0.97 && left < 100 * (r->iterations + 1.0)) {
        SAY("at this pace, %.2f an iteration, about %.0f more iterations are needed: "
            "raise max-it, or try smoother=fsai",
            factor, ceil(left));
    } else if (r->fallbacks > 0) { /* these were tried */
        SAY("the residual hardly falls, %.2f an iteration, with stronger smoothers, too: "
            "several unknowns a node need block_size; docs/when-not.md names other methods",
            factor);
    } else {
        SAY("the residual hardly falls, %.2f an iteration: try smoother=fsai or spai, or "
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
        SAY("b or the initial guess has an entry that is no finite number");
    } else if (r->outcome == CMG_OUT_OF_RANGE) {
        SAY("%s does not fit fp64, which ends near 1e308 and 1e-308: scale A or b",
            isinf(r->rhs_norm) ? "the norm of b" : "x");
    } else if (low && !o->fallback) {
        SAY("the cycle is in fewer bits than fp64: try precision=fp64, or leave out "
            "no-fallback");
    } else if (mg->levels.count == 1 && mg->levels.coarse == NULL) {
        SAY("level 0 alone is smoothed: coarser levels (P, and A or R A P) make the "
            "iterations few");
    } else if (r->outcome == CMG_ITERATION_LIMIT && r->iterations > 0) {
        limit_hint(r, o->rtol, text);
    } else if (r->outcome == CMG_ITERATION_LIMIT) {
        SAY("max-it is 0");
    } else {
        SAY("smoother %.60s does not suit this matrix%s: try smoother=%s, or look at the "
            "coarse matrices with cmg info",
            o->smoother, o->omega > 0 ? " with this omega" : "",
            strncmp(o->smoother, "fsai", 4) == 0 ? "spai" : "fsai");
    }
}

cmg_status cmgi_hint(cmgi_multigrid *mg, const cmg_report *r, int indefinite, char text[CMGI_HINT])
{
    const bool within_atol = r->outcome == CMG_CONVERGED_ATOL &&
                             r->residual <= mg->options.atol; /* what was asked for */
    text[0] = '\0';
    if (r->outcome == CMG_LEAST_SQUARES ||
        (cmg_outcome_converged(r->outcome) && !within_atol && r->removed > REMOVED * r->rhs_norm)) {
        SAY("%.3g %% of b lies outside the range of A: there is no solution; x solves the "
            "least-squares problem%s",
            100 * (r->removed / r->rhs_norm),
            r->outcome == CMG_LEAST_SQUARES
                ? " (option least-squares, or a null space given as exact, asks for it)"
                : "");
        return CMG_OK;
    }
    if (cmg_outcome_converged(r->outcome)) {
        if (r->iterations > MANY && r->fallbacks == 0 &&
            !(mg->levels.count == 1 && mg->levels.coarse == NULL)) {
            SAY("%d iterations, %.2f each: smoother=fsai or spai may need fewer, as "
                "cmg compare shows",
                r->iterations, pace(r));
        }
        return CMG_OK;
    }
    if (r->outcome != CMG_NOT_A_NUMBER && r->outcome != CMG_OUT_OF_RANGE) {
        CMGI_TRY(method_hint(mg, text));
    }
    if (text[0] == '\0' && (indefinite > 0 || r->outcome == CMG_INDEFINITE_PRECONDITIONER)) {
        CMGI_TRY(definite_hint(mg, indefinite - 1, text));
    }
    if (text[0] == '\0') {
        outcome_hint(mg, r, text);
    }
    return CMG_OK;
}
