/*
 * Spectrum of M A by the Lanczos process that conjugate gradients with preconditioner M run anyway:
 * with their coefficients alpha_k, beta_k the matrix
 *
 *     T_kk = 1/alpha_k + beta_(k-1)/alpha_(k-1),   T_(k,k+1) = sqrt(beta_k)/alpha_k
 *
 * has the Ritz values of M A. The largest one is below the largest eigenvalue; adding the residual
 * norm T_(m,m+1) |s_m| of its Ritz vector, s_m the last component, makes up for that.
 *
 * Dirichlet rows kept as identity rows make A unsymmetric where their columns are kept, too.
 * Vectors that are 0 there stay so and see the interior alone, whose eigenvalues are the others of
 * A.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 6.7.3; Zhou and Li,
 * Bounding the spectrum of large Hermitian matrices, Linear Algebra Appl. 435 (2011), (2.10).
 */
#include "smoothers/spectrum.h"

#include "core/group.h"
#include "core/memory.h"
#include "core/random.h"

#include <float.h>
#include <math.h>

enum { POWER_STEPS = 15, SMALL = 4096 };

/* What is applied, and its vectors, in the backend's memory and in A's numbering. */
typedef struct problem {
    cmg_context *ctx;
    const cmg_matrix *A;
    cmg_matrix *own; /* A, where the caller has none */
    cmg_matrix *M[CMGI_MAX_FACTORS];
    int factors;
    cmg_precision precision;
    cmg_size n;
    cmg_size total;          /* rows of all ranks */
    int steps;               /* most of Lanczos */
    const cmgi_frame *frame; /* NULL = n of them are here */
    cmg_matrix *mask;        /* diagonal: 0 in identity rows, else 1; NULL = there are none */
    double *scalar;
    void *r; /* n each, in `precision` */
    void *z;
    void *p;
    void *q;
    void *t;
} problem;

static cmg_status multiply(const cmg_matrix *A, const void *x, void *y)
{
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    return cmgi_matrix_spmv(A, &w, x);
}

/* z = M r; r and z are not t, which is used in between. */
static cmg_status precondition(const problem *P, const void *r, void *z)
{
    const void *x = r;
    for (int f = 0; f < P->factors; ++f) {
        void *y = (P->factors - 1 - f) % 2 == 0 ? z : P->t;
        CMGI_TRY(multiply(P->M[f], x, y));
        x = y;
    }
    return CMG_OK;
}

static cmg_status dot(const problem *P, const void *x, const void *y, double *result)
{
    const cmgi_backend *backend = P->ctx->backend;
    CMGI_TRY(backend->dot(P->ctx, P->precision, P->n, x, y, P->scalar));
    return cmgi_to_host(P->ctx, result, P->scalar, sizeof *result);
}

/* y = a x + b y */
static cmg_status axpby(const problem *P, double a, const void *x, double b, void *y)
{
    return P->ctx->backend->axpby(P->ctx, P->precision, P->n, a, x, b, y);
}

/* A random vector that does not depend on who has which rows. */
static cmg_status draw(const problem *P, uint64_t seed, void *x)
{
    cmg_context *ctx = P->ctx;
    const cmgi_frame *frame = P->frame;
    double *host = NULL;
    cmg_vector *view = NULL;
    cmg_status status = CMG_OK;
    if (frame == NULL) {
        return ctx->backend->random(ctx, P->precision, P->n, seed, x);
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, P->n, sizeof *host, &host));
    for (cmg_size k = 0; k < P->n; ++k) {
        host[k] = cmgi_random_at(seed, (uint64_t)(frame->number + frame->perm[k]));
    }
    CMGI_TRY_GOTO(done, cmg_vector_wrap(ctx, P->n, P->precision, x, &view));
    CMGI_TRY_GOTO(done, cmg_vector_set(view, host));
done:
    cmg_vector_destroy(&view);
    cmgi_free(ctx, host);
    return status;
}

/* A fixed random vector; 0 in identity rows where they are told apart. t is used in between. */
static cmg_status start_vector(const problem *P, uint64_t seed, void *x)
{
    void *drawn = P->mask != NULL ? P->t : x;
    CMGI_TRY(draw(P, seed, drawn));
    return P->mask != NULL ? multiply(P->mask, drawn, x) : CMG_OK;
}

/*
 * |B - B^T| / |B| in Frobenius norms up to which B counts as symmetric. Rounding of the products is
 * far below it; values in few bits are rounded row by row, so that a_ij and a_ji differ.
 */
static double asymmetry_allowed(const cmg_matrix *A)
{
    switch (cmgi_matrix_values(A)) {
    case CMG_VALUES_FULL:
        return A->options.precision == CMG_FP64 ? 1e-8 : 1e-5;
    case CMG_VALUES_FP8:
        return 0.2;
    default:
        return 0.02;
    }
}

/*
 * B is symmetric where u . B v = v . B u for two random vectors: the difference has the mean square
 * |B - B^T|^2 / 18 (Frobenius) with entries uniform in [-1, 1], and |B v|^2 the mean |B|^2 / 3.
 */
static cmg_status is_symmetric(const problem *P, bool inverse, double allowed, bool *symmetric)
{
    double uBv = 0;
    double vBu = 0;
    double size = 0;
    CMGI_TRY(start_vector(P, 1, P->r));
    CMGI_TRY(start_vector(P, 2, P->q));
    CMGI_TRY(inverse ? precondition(P, P->r, P->z) : multiply(P->A, P->r, P->z));
    CMGI_TRY(dot(P, P->q, P->z, &uBv));
    CMGI_TRY(inverse ? precondition(P, P->q, P->p) : multiply(P->A, P->q, P->p));
    CMGI_TRY(dot(P, P->r, P->p, &vBu));
    CMGI_TRY(dot(P, P->p, P->p, &size));
    *symmetric = fabs(uBv - vBu) <= allowed * sqrt(size);
    return CMG_OK;
}

/* Coefficients of the tridiagonal matrix; `next` couples it to the step that was not taken. */
typedef struct tridiagonal {
    int count;
    double diagonal[CMGI_LANCZOS_STEPS];
    double off[CMGI_LANCZOS_STEPS];
    double next;
    bool definite; /* false when A or M turns out not to be positive definite */
} tridiagonal;

/* Adds the coefficients of a step; false when the space is invariant, so that the Ritz values are
 * exact. */
static bool note_step(tridiagonal *T, double alpha, double before, double beta, bool last)
{
    T->diagonal[T->count] = 1 / alpha + before;
    T->next = last ? 0 : sqrt(beta) / alpha;
    T->off[T->count] = T->next;
    T->count += 1;
    return !last;
}

/*
 * A is symmetric where p_0 . A p_1 = p_1 . A p_0 for the first two directions, which the iteration
 * has anyway; on entry t has p_0 and q has A p_0, on return q has A p_1. Sizes as in is_symmetric.
 */
static cmg_status look_on_the_way(const problem *P, double allowed, bool *symmetric)
{
    double there = 0;
    double back = 0;
    double length = 0;
    double size = 0;
    CMGI_TRY(dot(P, P->p, P->q, &there));
    CMGI_TRY(multiply(P->A, P->p, P->q));
    CMGI_TRY(dot(P, P->t, P->q, &back));
    CMGI_TRY(dot(P, P->t, P->t, &length));
    CMGI_TRY(dot(P, P->q, P->q, &size));
    *symmetric = fabs(there - back) <= allowed * sqrt(3 * length * size / (double)P->total);
    return CMG_OK;
}

/* With D^-1 alone the symmetry of A is looked at on the way: `allowed` as in is_symmetric, 0 = it
 * is known. */
static cmg_status run_lanczos(const problem *P, double allowed, tridiagonal *T)
{
    /* rounding alone keeps the residual of an invariant space from 0 */
    const double invariant = P->precision == CMG_FP64 ? 1e-24 : 1e-10;
    double rho = 0;
    double rho_next = 0;
    double curvature = 0;
    double before = 0; /* beta_(k-1) / alpha_(k-1) */
    *T = (tridiagonal){0};
    CMGI_TRY(start_vector(P, 0, P->r));
    CMGI_TRY(precondition(P, P->r, P->z));
    CMGI_TRY(dot(P, P->r, P->z, &rho));
    CMGI_TRY(axpby(P, 1, P->z, 0, P->p));
    const double first = fabs(rho);
    const double sign = rho < 0 ? -1 : 1; /* M A is as positive where both are negative definite */
    while (T->count < P->steps) {
        cmgi_threads_adapt(P->ctx);
        if (allowed > 0 && T->count == 1) {
            bool symmetric = false;
            CMGI_TRY(look_on_the_way(P, allowed, &symmetric));
            if (!symmetric) {
                return CMG_OK;
            }
        } else {
            CMGI_TRY(multiply(P->A, P->p, P->q));
        }
        if (allowed > 0 && T->count == 0) {
            CMGI_TRY(axpby(P, 1, P->p, 0, P->t));
        }
        CMGI_TRY(dot(P, P->p, P->q, &curvature));
        if (!(sign * rho > 0) || !(sign * curvature > 0)) {
            return CMG_OK;
        }
        const double alpha = rho / curvature;
        CMGI_TRY(axpby(P, -alpha, P->q, 1, P->r));
        CMGI_TRY(precondition(P, P->r, P->z));
        CMGI_TRY(dot(P, P->r, P->z, &rho_next));
        const bool last = fabs(rho_next) <= invariant * first || T->count + 1 == P->total;
        const double beta = fmax(rho_next / rho, 0);
        if (!last && sign * rho_next < 0) {
            return CMG_OK;
        }
        if (!note_step(T, alpha, before, beta, last)) {
            break;
        }
        before = beta / alpha;
        CMGI_TRY(axpby(P, 1, P->z, beta, P->p));
        rho = rho_next;
    }
    T->definite = true;
    return CMG_OK;
}

static void ritz_values(const tridiagonal *T, cmgi_spectrum *spectrum)
{
    const int m = T->count;
    const double margin = T->next > 0 ? 1.02 : 1;
    double full[CMGI_LANCZOS_STEPS * CMGI_LANCZOS_STEPS] = {0};
    double vectors[CMGI_LANCZOS_STEPS * CMGI_LANCZOS_STEPS];
    for (int k = 0; k < m; ++k) {
        full[k * m + k] = T->diagonal[k];
        if (k + 1 < m) {
            full[k * m + k + 1] = T->off[k];
            full[(k + 1) * m + k] = T->off[k];
        }
    }
    cmgi_eigen_symmetric(m, full, vectors, spectrum->ritz);
    spectrum->count = m;
    spectrum->largest = spectrum->ritz[m - 1];
    for (int k = 0; k < m; ++k) {
        spectrum->weight[k] = vectors[k] * vectors[k];
        const double residual = T->next * fabs(vectors[(m - 1) * m + k]);
        spectrum->largest = fmax(spectrum->largest, margin * (spectrum->ritz[k] + residual));
    }
}

/* Largest growth of the last steps, with a tenth on top; for matrices without symmetry. */
static cmg_status power_method(const problem *P, double *bound)
{
    double largest = 0;
    double before = 0;
    double after = 0;
    CMGI_TRY(start_vector(P, 0, P->p));
    CMGI_TRY(dot(P, P->p, P->p, &before));
    before = sqrt(before);
    for (int step = 0; step < POWER_STEPS && before > 0; ++step) {
        CMGI_TRY(multiply(P->A, P->p, P->r));
        CMGI_TRY(precondition(P, P->r, P->z));
        CMGI_TRY(dot(P, P->z, P->z, &after));
        after = sqrt(after);
        if (step >= POWER_STEPS / 2 || after == 0) {
            largest = fmax(largest, after / before);
        }
        CMGI_TRY(axpby(P, 1 / fmax(after, FLT_MIN), P->z, 0, P->p));
        before = after > 0 ? 1 : 0;
    }
    *bound = 1.1 * largest;
    return CMG_OK;
}

/* A matrix of the estimate: in A's numbering, on the backend. */
static cmg_status place(const problem *P, const cmg_csr *csr, const cmg_index *perm, cmg_matrix **M)
{
    cmgi_csr renumbered = {0};
    cmg_csr view = *csr;
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.precision = P->precision;
    options.format = cmgi_csr_is_diagonal(csr) ? CMG_FORMAT_DIAGONAL : CMG_FORMAT_CSR;
    if (P->frame != NULL) {
        return P->frame->place(P->frame, csr, CMGI_USE_M, &options, M);
    }
    if (perm != NULL) {
        CMGI_TRY(cmgi_csr_permute(P->ctx, csr, perm, perm, true, &renumbered));
        view = renumbered.view;
    }
    const cmg_status status = cmg_matrix_create_csr(P->ctx, &view, &options, M);
    cmgi_csr_free(P->ctx, &renumbered);
    return status;
}

static cmg_status place_there(const problem *P, const cmgi_resident *R, cmg_matrix **M)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.precision = P->precision;
    options.format = cmgi_resident_is_diagonal(R) ? CMG_FORMAT_DIAGONAL : CMG_FORMAT_CSR;
    return cmgi_matrix_create_resident(P->ctx, R, CMGI_USE_ANY, &options, M);
}

/* The mask of identity rows, where there are some besides other rows. */
static cmg_status make_mask(problem *P, const cmgi_smoother_source *source, const cmg_index *perm)
{
    const cmg_csr *A = &source->A;
    const cmg_size first = cmgi_source_first(source);
    const cmg_size last = cmgi_source_last(source);
    cmgi_csr D = {0};
    cmg_size count = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_csr_alloc_diagonal(P->ctx, A->rows, &D));
#pragma omp parallel for num_threads(P->ctx->threads) schedule(static) reduction(+ : count)        \
    if (A->rows > SMALL)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const bool identity = cmgi_csr_identity_row(A, i);
        D.values[i] = identity ? 0 : 1;
        count += identity && i >= first && i < last;
    }
    double all = (double)count;
    status = cmgi_all_sum(P->ctx, &all, 1);
    if (status == CMG_OK && all > 0 && all < (double)P->total) {
        status = place(P, &D.view, perm, &P->mask);
    }
    cmgi_csr_free(P->ctx, &D);
    return status;
}

/* The same on the device. */
static cmg_status make_mask_there(problem *P, const cmgi_resident *A)
{
    cmg_context *ctx = P->ctx;
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    const cmg_size n = A->csr.rows;
    bool *flag = NULL;
    double *values = NULL;
    cmgi_resident D = {0};
    cmg_status status = CMG_OK;
    if (A->facts.identity == 0 || A->facts.identity == n) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *flag, &flag));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *values, &values));
    CMGI_TRY_GOTO(done, on->identity(ctx, &A->csr, flag));
    CMGI_TRY_GOTO(done, on->mask(ctx, n, flag, values));
    CMGI_TRY_GOTO(done, cmgi_resident_diagonal(ctx, n, values, &D));
    values = NULL;
    CMGI_TRY_GOTO(done, place_there(P, &D, &P->mask));
done:
    cmgi_resident_free(ctx, &D);
    CMGI_FREE_DEVICE(ctx, flag, values);
    return status;
}

static cmg_status prepare(const cmgi_smoother_source *source, const cmgi_csr *factor, int factors,
                          problem *P)
{
    cmg_context *ctx = P->ctx;
    void **const vectors[] = {&P->r, &P->z, &P->p, &P->q, &P->t};
    if (source->matrix == NULL) {
        CMGI_TRY(source->there != NULL ? place_there(P, source->there, &P->own)
                                       : place(P, &source->A, NULL, &P->own));
    }
    P->A = source->matrix != NULL ? source->matrix : P->own;
    P->precision = P->A->options.precision;
    P->n = P->A->rows;
    const cmg_index *perm = cmg_matrix_permutation(P->A);
    for (int f = 0; f < factors; ++f) {
        P->factors = f + 1;
        CMGI_TRY(factor[f].there != NULL ? place_there(P, factor[f].there, &P->M[f])
                                         : place(P, &factor[f].view, perm, &P->M[f]));
    }
    CMGI_TRY(source->there != NULL ? make_mask_there(P, source->there)
                                   : make_mask(P, source, perm));
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *P->scalar, &P->scalar));
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
        CMGI_TRY(cmgi_alloc_device(ctx, P->n, cmgi_precision_bytes(P->precision), vectors[v]));
    }
    return CMG_OK;
}

static void release(problem *P)
{
    void *const vectors[] = {P->scalar, P->r, P->z, P->p, P->q, P->t};
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
        cmgi_free_device(P->ctx, vectors[v]);
    }
    for (int f = 0; f < P->factors; ++f) {
        cmg_matrix_destroy(&P->M[f]);
    }
    cmg_matrix_destroy(&P->mask);
    cmg_matrix_destroy(&P->own);
}

static bool is_bound(double largest)
{
    return largest > 0 && isfinite(largest);
}

static bool diagonal_alone(const problem *P)
{
    return P->factors == 1 && P->M[0]->format->id == CMG_FORMAT_DIAGONAL;
}

/* The estimate itself. */
static cmg_status estimate(problem *P, cmgi_spectrum *spectrum)
{
    const double allowed = asymmetry_allowed(P->A);
    const bool on_the_way = diagonal_alone(P) && P->steps > 1;
    bool symmetric = on_the_way;
    tridiagonal T = {0};
    if (!on_the_way) {
        const double less = P->precision == CMG_FP64 ? 1e-9 : 1e-5;
        CMGI_TRY(is_symmetric(P, false, allowed, &symmetric));
        if (symmetric && !diagonal_alone(P)) {
            CMGI_TRY(is_symmetric(P, true, less, &symmetric));
        }
    }
    if (symmetric) {
        CMGI_TRY(run_lanczos(P, on_the_way ? allowed : 0, &T));
    }
    spectrum->symmetric = T.definite;
    if (T.definite) {
        ritz_values(&T, spectrum);
        return CMG_OK;
    }
    cmg_matrix_destroy(&P->mask);
    return power_method(P, &spectrum->largest);
}

/* The estimate with the source's matrix, or with the CSR in fp64 where it has none. */
static cmg_status try_estimate(const cmgi_smoother_source *source, const cmgi_csr *factor,
                               int factors, int steps, cmgi_spectrum *spectrum)
{
    problem P = {.ctx = source->ctx,
                 .precision = CMG_FP64,
                 .total = cmgi_source_total(source),
                 .steps = steps,
                 .frame = source->frame};
    cmg_status status = CMG_OK;
    *spectrum = (cmgi_spectrum){.largest = 1};
    CMGI_TRY_GOTO(done, prepare(source, factor, factors, &P));
    CMGI_TRY_GOTO(done, estimate(&P, spectrum));
done:
    release(&P);
    return status;
}

cmg_status cmgi_spectrum_estimate(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                  int factors, cmgi_spectrum *spectrum)
{
    return cmgi_spectrum_estimate_in(source, factor, factors, CMGI_LANCZOS_STEPS, spectrum);
}

/* From above and below: what is computed and what Gershgorin's circles allow. */
static cmg_status bound_spectrum(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                 int factors, int steps, cmgi_spectrum *spectrum)
{
    cmg_context *ctx = source->ctx;
    *spectrum = (cmgi_spectrum){.largest = 1};
    if (cmgi_source_total(source) == 0) {
        return CMG_OK;
    }
    CMGI_TRY(try_estimate(source, factor, factors, steps, spectrum));
    if (source->matrix != NULL && source->frame == NULL && !is_bound(spectrum->largest)) {
        cmgi_smoother_source exact = *source; /* few bits may overflow */
        exact.matrix = NULL;
        CMGI_TRY(try_estimate(&exact, factor, factors, steps, spectrum));
    }
    const cmg_csr first = factor[0].view;
    if (source->there != NULL) { /* only D^-1 is made there */
        spectrum->largest = fmin(spectrum->largest, source->there->facts.gershgorin);
    } else if (source->facts != NULL && source->facts->known) { /* asked for with D^-1 */
        double bound = source->facts->gershgorin;
        CMGI_TRY(cmgi_all_max(ctx, &bound, 1));
        spectrum->largest = fmin(spectrum->largest, bound);
    } else if (factors == 1 && cmgi_csr_is_diagonal(&first) &&
               first.indptr[first.rows] == first.rows) {
        double bound = 0;
        CMGI_TRY(cmgi_gershgorin(ctx, &source->A, &factor[0], &bound));
        spectrum->largest = fmin(spectrum->largest, bound);
    }
    CMGI_CHECK(ctx, is_bound(spectrum->largest), CMG_ERR_SINGULAR,
               "no positive bound on the spectrum of M A: %g", spectrum->largest);
    return CMG_OK;
}

cmg_status cmgi_spectrum_estimate_in(const cmgi_smoother_source *source, const cmgi_csr *factor,
                                     int factors, int steps, cmgi_spectrum *spectrum)
{
    cmgi_spectra *kept = source->kept;
    if (kept != NULL && kept->used < kept->count) {
        *spectrum = kept->spectrum[kept->used++];
        return CMG_OK;
    }
    CMGI_TRY(bound_spectrum(source, factor, factors, steps, spectrum));
    if (kept != NULL && kept->count < CMGI_SPECTRA) {
        kept->spectrum[kept->count++] = *spectrum;
        kept->used = kept->count;
    }
    return CMG_OK;
}
