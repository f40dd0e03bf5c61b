/*
 * Spectrum of M A by the Lanczos process (lanczos.h) where A is symmetric, by the power method
 * where it is not.
 *
 * Dirichlet rows kept as identity rows make A unsymmetric where their columns are kept, too.
 * Vectors that are 0 there stay so and see the interior alone, whose eigenvalues are the others of
 * A.
 */
#include "smoothers/lanczos.h"

#include "core/ranks.h"
#include "csr/place.h"

#include <float.h>
#include <math.h>

enum { POWER_STEPS = 15 };

/* What is estimated, and what it takes. */
typedef struct problem {
    cmgi_pencil on;
    cmg_matrix *const *given; /* M, NULL = made of CSR */
    cmg_matrix *own;          /* A, where the caller has none */
    bool only_symmetric;      /* the power method is not asked for */
    const cmgi_frame *frame;  /* NULL = all rows are here */
    cmg_matrix *mask;         /* diagonal: 0 in identity rows, else 1; NULL = there are none */
} problem;

/* A fixed random vector; 0 in identity rows where they are told apart. t is used in between. */
static cmg_status start_vector(const problem *P, uint64_t seed, void *x)
{
    const cmgi_frame *frame = P->frame; /* the vector does not depend on who has which rows */
    void *drawn = P->mask != NULL ? P->on.t : x;
    CMGI_TRY(cmgi_draw_numbered(P->on.ctx, P->on.precision, P->on.n, seed,
                                frame != NULL ? frame->number : 0,
                                frame != NULL ? frame->perm : NULL, drawn));
    return P->mask != NULL ? cmgi_pencil_multiply(P->mask, drawn, x) : CMG_OK;
}

/*
 * B is symmetric where u . B v = v . B u for two random vectors: the difference has the mean square
 * |B - B^T|^2 / 18 (Frobenius) with entries uniform in [-1, 1], and |B v|^2 the mean |B|^2 / 3.
 */
static cmg_status is_symmetric(const problem *P, bool inverse, double allowed, bool *symmetric)
{
    enum { UBV, VBU, LENGTH, NUMBERS };
    const cmgi_pencil *on = &P->on;
    double found[NUMBERS];
    CMGI_TRY(start_vector(P, 1, on->r));
    CMGI_TRY(start_vector(P, 2, on->q));
    CMGI_TRY(inverse ? cmgi_pencil_precondition(on, on->r, on->z)
                     : cmgi_pencil_multiply(on->A, on->r, on->z));
    CMGI_TRY(cmgi_pencil_dot(on, on->q, on->z, UBV));
    CMGI_TRY(inverse ? cmgi_pencil_precondition(on, on->q, on->p)
                     : cmgi_pencil_multiply(on->A, on->q, on->p));
    CMGI_TRY(cmgi_pencil_dot(on, on->r, on->p, VBU));
    CMGI_TRY(cmgi_pencil_dot(on, on->p, on->p, LENGTH));
    CMGI_TRY(cmgi_to_host(on->ctx, found, on->scalar, sizeof found));
    *symmetric = fabs(found[UBV] - found[VBU]) <= allowed * sqrt(found[LENGTH]);
    return CMG_OK;
}

/* sqrt(x . x), on the host */
static cmg_status norm(const cmgi_pencil *on, const void *x, double *result)
{
    CMGI_TRY(cmgi_pencil_dot(on, x, x, 0));
    CMGI_TRY(cmgi_to_host(on->ctx, result, on->scalar, sizeof *result));
    *result = sqrt(*result);
    return CMG_OK;
}

/* Largest growth of the last steps, with a tenth on top; for matrices without symmetry. Growth is 2
 * at most where rows of D^-1 A have no more beside the diagonal: no norm is needed before. */
static cmg_status power_method(const problem *P, double *bound)
{
    const cmgi_pencil *on = &P->on;
    double largest = 0;
    double before = 0;
    double after = 2;
    CMGI_TRY(start_vector(P, 0, on->p));
    CMGI_TRY(norm(on, on->p, &before));
    for (int step = 0; step < POWER_STEPS && before > 0; ++step) {
        CMGI_TRY(cmgi_pencil_multiply(on->A, on->p, on->r));
        CMGI_TRY(cmgi_pencil_precondition(on, on->r, on->z));
        CMGI_TRY(step + 1 >= POWER_STEPS / 2 ? norm(on, on->z, &after) : CMG_OK);
        if (step >= POWER_STEPS / 2 || after == 0) {
            largest = fmax(largest, after / before);
        }
        CMGI_TRY(on->ctx->backend->axpby(on->ctx, on->precision, on->n, 1 / fmax(after, FLT_MIN),
                                         on->z, 0, on->p));
        before = after > 0 ? 1 : 0;
    }
    *bound = 1.1 * largest;
    return CMG_OK;
}

/* A matrix of the estimate, on the host or `there`: in A's numbering, on the backend. */
static cmg_status place(const problem *P, const cmg_csr *csr, const cmgi_resident *there,
                        cmg_matrix **M)
{
    const cmg_index *perm = P->on.A != NULL ? cmg_matrix_permutation(P->on.A) : NULL;
    cmgi_matrix_source from = {.csr = there != NULL ? NULL : csr, .there = there};
    cmgi_scoped_csr renumbered = {0};
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.precision = P->on.precision;
    options.format =
        (there != NULL ? cmgi_resident_is_diagonal(there) : cmgi_csr_is_diagonal(P->on.ctx, csr))
            ? CMG_FORMAT_DIAGONAL
            : CMG_FORMAT_CSR;
    if (there == NULL && P->frame != NULL) {
        return P->frame->place(P->frame, csr, CMGI_USE_M, &options, M);
    }
    if (there == NULL && perm != NULL) {
        CMGI_TRY(cmgi_csr_permute(P->on.ctx, csr, perm, perm, true, &renumbered));
        from.csr = &renumbered.view;
    }
    return cmgi_matrix_create(P->on.ctx, &from, CMGI_USE_ANY, &options, M);
}

/* The mask of identity rows, where there are some besides other rows. */
static cmg_status make_mask(problem *P, const cmgi_smoother_source *source)
{
    cmg_context *ctx = P->on.ctx;
    const cmgi_place at = source->there != NULL ? CMGI_DEVICE : CMGI_HOST;
    const cmg_size n = source->A.rows;
    const cmg_size known = source->there != NULL   ? source->there->facts.rows.identity
                           : source->known != NULL ? source->known->rows.identity
                                                   : -1;
    cmgi_scoped_csr D = {0};
    bool *flag = NULL;
    double *values = NULL;
    double count = at == CMGI_DEVICE ? (double)known : 0; /* of all ranks */
    CMGI_FREED(ctx, &flag);
    if (known == 0 || known == P->on.total) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *flag, &flag));
    CMGI_TRY(cmgi_csr_identity_at(ctx, at, at == CMGI_DEVICE ? &source->there->csr : &source->A,
                                  flag, NULL));
    if (at == CMGI_HOST) {
        for (cmg_size i = cmgi_source_first(source); i < cmgi_source_last(source); ++i) {
            count += flag[i];
        }
        CMGI_TRY(cmgi_all_sum(ctx, &count, 1));
    }
    if (count == 0 || count == (double)P->on.total) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_open_diagonal_at(ctx, at, n, &D, &values));
    CMGI_TRY(cmgi_mask_at(ctx, at, n, flag, values));
    return place(P, &D.view, D.there, &P->mask);
}

static cmg_status prepare(const cmgi_smoother_source *source, const cmgi_csr *factor, int factors,
                          problem *P)
{
    CMGI_TRY(source->matrix == NULL ? place(P, &source->A, source->there, &P->own) : CMG_OK);
    P->on.A = source->matrix != NULL ? source->matrix : P->own;
    P->on.precision = P->on.A->options.precision;
    P->on.n = P->on.A->rows;
    for (int f = 0; f < factors; ++f) {
        P->on.factors = f + 1;
        P->on.M[f] = P->given != NULL ? P->given[f] : NULL;
        CMGI_TRY(P->given != NULL ? CMG_OK
                                  : place(P, &factor[f].view, factor[f].there, &P->on.M[f]));
    }
    CMGI_TRY(make_mask(P, source));
    return cmgi_pencil_open(&P->on, 5);
}

static void release(problem *P)
{
    cmgi_pencil_close(P->on.ctx, &P->on);
    for (int f = 0; f < P->on.factors && P->given == NULL; ++f) {
        cmg_matrix_destroy(&P->on.M[f]);
    }
    cmg_matrix_destroy(&P->mask);
    cmg_matrix_destroy(&P->own);
}

static bool is_bound(double largest)
{
    return largest > 0 && isfinite(largest);
}

/* The estimate itself; T has that of earlier values, and gets the coefficients. */
static cmg_status estimate(problem *P, cmgi_tridiagonal *kept, cmgi_spectrum *spectrum)
{
    /* |B - B^T| / |B| in Frobenius norms up to which B counts as symmetric: rounding of the
     * products is far below it; values in few bits are rounded row by row, so that a_ij and a_ji
     * differ */
    const cmg_values values = cmgi_matrix_values(P->on.A);
    const double allowed = values == CMG_VALUES_FP8      ? 0.2
                           : values != CMG_VALUES_FULL   ? 0.02
                           : P->on.precision == CMG_FP64 ? 1e-8
                                                         : 1e-5;
    const bool on_the_way = cmgi_pencil_is_jacobi(&P->on) && P->on.steps > 1;
    bool symmetric = on_the_way;
    cmgi_tridiagonal T = {0};
    if (!on_the_way && P->on.steps > 0) {
        const double less = P->on.precision == CMG_FP64 ? 1e-9 : 1e-5;
        CMGI_TRY(is_symmetric(P, false, allowed, &symmetric));
        if (symmetric && !cmgi_pencil_is_jacobi(&P->on)) {
            CMGI_TRY(is_symmetric(P, true, less, &symmetric));
        }
    }
    if (symmetric) {
        CMGI_TRY(start_vector(P, 0, P->on.r));
        CMGI_TRY(cmgi_lanczos(&P->on, on_the_way ? allowed : 0, kept, &T));
    }
    if (kept != NULL && !T.renewed) {
        *kept = T;
    }
    spectrum->symmetric = T.definite;
    spectrum->renewed = T.renewed;
    if (T.definite) {
        cmgi_ritz_values(&T, spectrum);
        return CMG_OK;
    }
    cmg_matrix_destroy(&P->mask);
    return P->only_symmetric ? CMG_OK : power_method(P, &spectrum->largest);
}

/* The estimate with the source's matrix, or with the CSR in fp64 where it has none; M is given, or
 * has factors as CSR. */
static cmg_status try_estimate(const cmgi_smoother_source *source, cmg_matrix *const *given,
                               const cmgi_csr *factor, int factors, int steps,
                               cmgi_tridiagonal *kept, cmgi_spectrum *spectrum)
{
    cmgi_scoped_by(release) problem P = {.on = {.ctx = source->ctx,
                                                .precision = CMG_FP64,
                                                .total = cmgi_source_total(source),
                                                .steps = steps},
                                         .given = given,
                                         .only_symmetric = source->only_symmetric,
                                         .frame = source->frame};
    *spectrum = (cmgi_spectrum){.largest = 1};
    CMGI_TRY(prepare(source, factor, factors, &P));
    return estimate(&P, kept, spectrum);
}

/* Facts are asked for with D^-1, on the host. */
static bool is_asked_for(const cmgi_smoother_source *source)
{
    return source->facts != NULL && source->facts->known;
}

/* Gershgorin's circles where M is one diagonal matrix. */
static cmg_status lower_to_gershgorin(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                      int factors, double *largest)
{
    cmg_context *ctx = source->ctx;
    const cmgi_resident *there = factor[0].there;
    cmgi_smoother_source here;
    cmgi_scoped_csr fetched = {0};
    double bound = *largest;
    if (there != NULL && there->csr.indptr == NULL) { /* D^-1 */
        bound = source->there->facts.rows.gershgorin;
    } else if (is_asked_for(source)) {
        bound = source->facts->rows.gershgorin;
        CMGI_TRY(cmgi_all_max(ctx, &bound, 1));
    } else if (factors == 1 && (there != NULL ? cmgi_resident_is_diagonal(there)
                                              : cmgi_csr_is_diagonal(ctx, &factor[0].view))) {
        CMGI_TRY(cmgi_smoother_source_here(source, &here));
        if (there != NULL) {
            CMGI_TRY(cmgi_resident_fetch(ctx, &there->csr, there->rows.nnz, &fetched));
        }
        const cmgi_csr *M = there != NULL ? &fetched : &factor[0];
        CMGI_TRY(M->indptr[M->rows] == M->rows ? cmgi_gershgorin(ctx, &here.A, M, &bound) : CMG_OK);
    }
    *largest = fmin(*largest, bound);
    return CMG_OK;
}

/* From above and below: what is computed and what Gershgorin's circles allow. */
static cmg_status bound_spectrum(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                 int factors, int steps, cmgi_tridiagonal *kept,
                                 cmgi_spectrum *spectrum)
{
    cmg_context *ctx = source->ctx;
    *spectrum = (cmgi_spectrum){.largest = 1};
    if (cmgi_source_total(source) == 0) {
        return CMG_OK;
    }
    CMGI_TRY(try_estimate(source, NULL, factor, factors, steps, kept, spectrum));
    if (source->matrix != NULL && source->frame == NULL && source->kinds == NULL &&
        !is_bound(spectrum->largest)) {
        cmgi_smoother_source exact = *source; /* few bits may overflow */
        exact.matrix = NULL;
        CMGI_TRY(try_estimate(&exact, NULL, factor, factors, steps, NULL, spectrum));
    }
    CMGI_TRY(lower_to_gershgorin(source, factor, factors, &spectrum->largest));
    CMGI_CHECK(ctx, is_bound(spectrum->largest), CMG_ERR_SINGULAR,
               "no positive bound on the spectrum of M A: %g", spectrum->largest);
    return CMG_OK;
}

/* The next of those that are kept, *place of them (-1 = none); false: it is to be estimated, ... */
static bool find_kept(cmgi_spectra *kept, int *place, cmgi_spectrum *spectrum)
{
    *place = kept != NULL && kept->used < CMGI_SPECTRA ? kept->used++ : -1;
    const bool found = *place >= 0 && kept->same && *place < kept->count;
    if (found) {
        *spectrum = kept->spectrum[*place];
    }
    return found;
}

/*
 * ... from these coefficients, at first those of a neighbouring level of the same stencil:
 * coefficients of a random vector are moments of the density of eigenvalues, which hardly depends
 * on the mesh width (3D Q1: the largest eigenvalue is 1.4767, 1.4792, 1.4795 for 32, 64, 128
 * cells). Lanczos sees whether the first ones are.
 */
static cmgi_tridiagonal *coefficients(const cmgi_smoother_source *source, int place)
{
    cmgi_spectra *kept = source->kept;
    if (place < 0 || kept->same) {
        return NULL;
    }
    if (source->like != NULL && kept->T[place].count == 0) {
        kept->T[place] = source->like->T[place];
    }
    return &kept->T[place];
}

/* ... or, with D^-1, are those of that level, ... */
static bool find_like(const cmgi_smoother_source *source, const cmgi_csr *factor, int place,
                      cmgi_spectrum *spectrum)
{
    const cmgi_spectra *like = source->like;
    const cmgi_resident *M = factor[0].there;
    const bool inverse = M != NULL ? M->csr.indptr == NULL : is_asked_for(source);
    const bool found = like != NULL && inverse && place >= 0 && !source->kept->same &&
                       place < like->count && like->T[place].definite;
    if (found) {
        *spectrum = like->spectrum[place];
        spectrum->renewed = true;
        source->kept->T[place] = like->T[place];
    }
    return found;
}

/* and put there. */
static void keep(cmgi_spectra *kept, int place, const cmgi_spectrum *spectrum)
{
    if (place >= 0) {
        kept->spectrum[place] = *spectrum;
        kept->count = place + 1 > kept->count ? place + 1 : kept->count;
        kept->renewed = kept->renewed || spectrum->renewed;
    }
}

cmg_status cmgi_spectrum_estimate(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                  int factors, int steps, cmgi_spectrum *spectrum)
{
    int place = -1;
    if (find_kept(source->kept, &place, spectrum)) {
        return CMG_OK;
    }
    if (!find_like(source, factor, place, spectrum)) {
        CMGI_TRY(
            bound_spectrum(source, factor, factors, steps, coefficients(source, place), spectrum));
    }
    keep(source->kept, place, spectrum);
    return CMG_OK;
}

cmg_status cmgi_spectrum_estimate_stored(const cmgi_smoother_source *source, cmg_matrix *const *M,
                                         int factors, cmgi_spectrum *spectrum, bool *bounded)
{
    int place = -1;
    *bounded = true;
    *spectrum = (cmgi_spectrum){.largest = 1};
    if (source->A.rows == 0 || find_kept(source->kept, &place, spectrum)) {
        return CMG_OK;
    }
    CMGI_TRY(try_estimate(source, M, NULL, factors, CMGI_LANCZOS_STEPS, coefficients(source, place),
                          spectrum));
    *bounded = is_bound(spectrum->largest);
    if (*bounded) {
        keep(source->kept, place, spectrum);
    } else if (place >= 0) {
        source->kept->used = place; /* for an estimate of another kind */
    }
    return CMG_OK;
}
