/*
 * The smoother that nobody has to choose. Level by level, from an estimate of the spectrum of
 * D^-1 A, D = diag(A), by Lanczos on the backend of the solve:
 *
 *     symmetric positive definite   Chebyshev of the fourth kind up to lambda_max, degree 2, or 6
 *                                   where rows are coupled along lines;
 *                                   Jacobi where one step of it is enough, see below
 *     nearly so                     the same of degree 2, where |A - A^T| <= 0.15 |A|
 *     otherwise                     SPAI; AINV where convection rules, |A - A^T| > 0.7 |A|
 *     R ideal on fine rows          these, then coarse rows, by Jacobi, after the coarse correction
 *
 * Chebyshev. The residual polynomial of degree 2 is (4 t^2 + 2 t - 1) / 5 at the eigenvalue
 * lambda_max (1 - t) / 2: W_2(t) / 5 with the Chebyshev polynomial of the fourth kind. It stays
 * below 1 up to 1.25 lambda_max, so that neither a bound that is a fifth too low nor rounding makes
 * a symmetric cycle indefinite, which Jacobi with a fixed damping does as soon as lambda_max > 2 /
 * omega: elasticity, stretched cells.
 *
 * Lines. Under anisotropy errors are rough across the strong direction that no point smoother sees;
 * the cycle is slow, and CG gains more from a cycle of degree 6 than from three times as many of
 * degree 2. A row counts where its two largest other entries have 0.8 of the diagonal, which Q1
 * cells do from an anisotropy of 6.5 on; measured, degree 6 then moves 0.9 to 0.7 of the bytes.
 * Algebraic levels coarsen along the lines alone: there degree 3 takes a fifth more iterations of
 * half the time.
 *
 * Jacobi. Damped by 2 / (lambda_max + lambda_min) it reduces every error by
 * rho = (lambda_max - lambda_min) / (lambda_max + lambda_min). For rho <= 1/2 two steps reduce it
 * to 1/4, the most that the polynomial leaves of any, for the same two products; and one step is a
 * cycle of half the bytes. So are mass matrices and short time steps.
 *
 * Nearly symmetric. Eigenvalues then lie near the real axis, where the polynomial is small; SPAI
 * needs as many iterations and five times the set-up.
 *
 * Unsymmetric. Galerkin convection with cell Peclet numbers over 1 has |A - A^T| near |A|: SPAI and
 * every point method then diverge, AINV does not (docs/smoothers/auto.md has the figures).
 *
 * Sources  Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl.
 *          30 (2023); Saad, Iterative Methods for Sparse Linear Systems, 2003, section 4.2.1.
 */
#include "core/ranks.h"
#include "hierarchy/hierarchy.h"
#include "smoothers/roots.h"

#include <stdio.h>

enum {
    DEGREE = 2,
    LINE_DEGREE = 6,
    ALGEBRAIC_DEGREE = 3, /* for lines, above an algebraic level */
    STEPS = 6 /* of Lanczos; 12, which methods that are named take, change no iteration count */
};
static const double LINES = 0.25;     /* share of such rows */
static const double ENOUGH = 0.5;     /* rho of Jacobi */
static const double CONVECTION = 0.7; /* |A - A^T| / |A| in Frobenius norms */
static const double MILD = 0.15;      /* the same */
static const double SPREAD = 1e3;     /* of the diagonal */
static const double CAUTIOUS = 0.5;   /* damping of Jacobi where nothing better can be computed */

/* |A - A^T|^2 of a matrix and its transpose, rows sorted; *size becomes |A|^2. */
static double skew_part(const cmgi_smoother_source *source, const cmg_csr *A, const cmg_csr *T,
                        double *size)
{
    double skew = 0;
    double all = 0;
    for (cmg_size i = cmgi_source_first(source); i < cmgi_source_last(source); ++i) {
        for (cmgi_row_pair v = cmgi_row_pair_before(A, T, i); cmgi_row_pair_next(&v);) {
            skew += (v.a - v.b) * (v.a - v.b);
            all += v.a * v.a;
        }
    }
    *size = all;
    return skew;
}

static void choose(const char *name, const char *why, cmgi_smoother_factors *out)
{
    (void)snprintf(out->chosen, sizeof out->chosen, "%s", name);
    out->why = why;
}

/* Chebyshev of the fourth kind for eigenvalues up to `largest`; `out` has Jacobi. */
static void make_polynomial(int degree, double largest, const char *why, cmgi_smoother_factors *out)
{
    double theta[LINE_DEGREE];
    out->stages = degree;
    cmgi_roots(&(cmgi_polynomial){.family = CMGI_CHEBYSHEV4, .n = degree}, theta);
    for (int j = 0; j < degree; ++j) {
        out->stage[j] = 1 / (theta[j] * largest);
    }
    choose("chebyshev4", why, out);
}

/*
 * Relaxation of fine rows, after the coarse correction alone, where R leaves their errors alone;
 * `out` has Jacobi, and keeps it where R does not.
 */
static cmg_status make_reducing(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    const cmg_hierarchy *h = source->h;
    if (h == NULL || source->frame != NULL || source->kinds != NULL ||
        !cmgi_hierarchy_has(h, source->level, CMG_ROLE_R)) {
        return CMG_OK;
    }
    cmgi_smoother_factors_clear(source->ctx, out);
    CMGI_TRY(cmgi_smoother_make(source, "fc-jacobi", 1, out));
    if (out->factors == 2) {
        out->after = true;
        choose("fc-jacobi", "R is ideal on fine rows", out);
    }
    return CMG_OK;
}

/* A method that does not take a matrix is no failure of the solver: another one goes on. */
static bool may_go_on(cmg_status status)
{
    return status == CMG_ERR_SINGULAR || status == CMG_ERR_ARG;
}

/* `out` has Jacobi. */
static cmg_status make_unsymmetric(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr A = {0};
    cmgi_smoother_source here;
    cmgi_spectrum spectrum;
    bool sorted = true;
    double sums[2] = {0, 0}; /* |A - A^T|^2 and |A|^2 */
    CMGI_TRY(make_reducing(source, out));
    if (out->after) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_smoother_source_here(source, &here));
    CMGI_TRY(cmgi_csr_transpose(ctx, &here.A, &T));
    for (cmg_size i = 0; i < here.A.rows && sorted; ++i) {
        sorted = cmgi_csr_ascends(&here.A, i);
    }
    CMGI_TRY(sorted ? CMG_OK : cmgi_csr_transpose(ctx, &T.view, &A));
    sums[0] = skew_part(&here, A.indptr != NULL ? &A.view : &here.A, &T.view, &sums[1]);
    CMGI_TRY(cmgi_all_sum(ctx, sums, 2));
    if (sums[0] <= MILD * MILD * sums[1]) {
        const cmg_status status =
            cmgi_spectrum_estimate(source, out->factor, out->factors, 0, &spectrum);
        if (status == CMG_OK) {
            make_polynomial(DEGREE, spectrum.largest, "A is nearly symmetric", out);
        }
        if (!may_go_on(status)) {
            return status;
        }
    }
    const bool convection = sums[0] > CONVECTION * CONVECTION * sums[1];
    const char *name = convection ? "ainv" : "spai";
    CMGI_CHECK(ctx, source->frame == NULL || !convection, CMG_ERR_ARG,
               "smoother auto: convection rules, and AINV needs all rows on one rank");
    cmgi_smoother_factors_clear(ctx, out);
    CMGI_TRY(cmgi_smoother_make(&here, name, 0, out));
    choose(name, convection ? "convection rules in A" : "A is not symmetric", out);
    return CMG_OK;
}

/* Of A as a whole. */
typedef struct look {
    double share; /* of rows whose two largest entries beside the diagonal nearly make it up */
    bool spread;  /* the diagonal's entries differ by more than SPREAD */
} look;

/* What is known of A on the device is already of all ranks. */
static cmg_status look_at(const cmgi_smoother_source *source, look *seen)
{
    const cmgi_resident *there = source->there;
    double lines = (double)(there != NULL ? there->facts.rows.lines : source->facts->rows.lines);
    double extent[2] = {1 / (there != NULL ? there->facts.rows.least : source->facts->rows.least),
                        -1 / (there != NULL ? there->facts.rows.most : source->facts->rows.most)};
    if (there == NULL) {
        CMGI_TRY(cmgi_all_sum(source->ctx, &lines, 1));
        CMGI_TRY(cmgi_all_max(source->ctx, extent, 2));
    }
    seen->share = lines / (double)cmgi_source_total(source);
    seen->spread = extent[0] > SPREAD * -extent[1];
    return CMG_OK;
}

/* One step of Jacobi reduces every error to ENOUGH of it. */
static bool jacobi_is_enough(const cmgi_spectrum *spectrum)
{
    const double largest = spectrum->largest;
    const double least = spectrum->count > 0 ? spectrum->ritz[0] : largest;
    return largest - least <= ENOUGH * (largest + least);
}

static void make_symmetric(const cmgi_smoother_source *source, const cmgi_spectrum *spectrum,
                           double lines, cmgi_smoother_factors *out)
{
    const double largest = spectrum->largest;
    const double least = spectrum->count > 0 ? spectrum->ritz[0] : largest;
    out->symmetric = spectrum->symmetric;
    if (jacobi_is_enough(spectrum)) {
        out->stage[0] = 2 / (largest + least);
        choose("jacobi", "one step halves every error", out);
        return;
    }
    /* unknowns of the next level are aggregates of what is coupled strongly */
    const cmg_hierarchy *h = source->h;
    const int next = source->level + 1;
    const bool algebraic = h != NULL && next < h->levels && h->level[next].block > 0;
    const bool along = lines >= LINES;
    make_polynomial(along ? (algebraic ? ALGEBRAIC_DEGREE : LINE_DEGREE) : DEGREE, largest,
                    along ? "rows are coupled along lines" : "A is symmetric positive definite",
                    out);
}

static cmg_status make(const cmgi_smoother_source *given, cmgi_smoother_factors *out)
{
    cmgi_spectrum spectrum = {0};
    cmgi_csr_facts facts = {0};
    cmgi_smoother_source with_facts = *given;
    const cmgi_smoother_source *source = &with_facts;
    look seen = {0};
    with_facts.facts = &facts;
    with_facts.only_symmetric = true;
    CMGI_TRY(cmgi_smoother_make(source, "jacobi", 1, out));
    CMGI_TRY(look_at(source, &seen));
    /* Where coefficients jump by many powers of ten the largest eigenvalues belong to a few
     * elements, which a random vector hardly contains: the spread of the diagonal tells. */
    const int steps = seen.spread ? CMGI_LANCZOS_STEPS : STEPS;
    const bool ideal = source->h != NULL && source->h->level[source->level].ideal;
    cmg_status status =
        ideal ? CMG_OK
              : cmgi_spectrum_estimate(source, out->factor, out->factors, steps, &spectrum);
    if (status == CMG_OK && spectrum.symmetric && jacobi_is_enough(&spectrum)) {
        /* the least eigenvalue, on which that rests, needs more steps */
        status = cmgi_spectrum_estimate(source, out->factor, out->factors, CMGI_LANCZOS_STEPS,
                                        &spectrum);
    }
    if (status == CMG_OK && (spectrum.symmetric || cmgi_source_total(source) == 0)) {
        make_symmetric(source, &spectrum, seen.share, out);
        return CMG_OK;
    }
    with_facts.only_symmetric = false;
    status = status == CMG_OK || may_go_on(status) ? make_unsymmetric(source, out) : status;
    if (status == CMG_OK || may_go_on(status)) {
        status = cmgi_group_agree(source->ctx, status);
    }
    if (!may_go_on(status)) {
        return status;
    }
    cmgi_smoother_factors_clear(source->ctx, out);
    CMGI_TRY(cmgi_smoother_make(source, "jacobi", CAUTIOUS, out));
    choose("jacobi", "no other method takes A", out);
    return CMG_OK;
}

const cmgi_smoother_method cmgi_smoother_auto = {
    .name = "auto",
    .text = "Chebyshev, Jacobi, SPAI or AINV, by the spectrum of each level",
    .omega = 1.0,
    .resident = true,
    .kinds = true,
    .symmetric = true,
    .any_matrix = true, /* the methods that it chooses from look at A */
    .make = make,
};
