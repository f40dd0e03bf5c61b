/* The table of smoothers and what is common to them: renumbering, formats, damping. */
#include "smoothers/smoother.h"

#include "smoothers/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AUTO = 0 }; /* the estimated damping */

static const cmgi_smoother_method methods[] = {
    {.name = "jacobi",
     .text = "diagonal of A",
     .omega = 0.7,
     .symmetric = true,
     .make = cmgi_jacobi_make},
    {.name = "l1-jacobi",
     .text = "row sums of |A|, safe undamped",
     .omega = 1.0,
     .symmetric = true,
     .make = cmgi_l1_jacobi_make},
    {.name = "spai",
     .text = "sparse approximate inverse, least |I - M A| on a pattern",
     .omega = 1.0,
     .keys = cmgi_spai_keys,
     .symmetric = true,
     .make = cmgi_spai_make},
    {.name = "sainv",
     .text = "factored approximate inverse of a symmetric positive definite A",
     .omega = AUTO,
     .keys = cmgi_sainv_keys,
     .symmetric = true,
     .make = cmgi_sainv_make},
    {.name = "ainv",
     .text = "factored approximate inverse of an unsymmetric A",
     .omega = AUTO,
     .keys = cmgi_ainv_keys,
     .make = cmgi_ainv_make},
    {.name = "fsai",
     .text = "factored approximate inverse on a pattern, A symmetric positive definite",
     .omega = AUTO,
     .keys = cmgi_fsai_keys,
     .symmetric = true,
     .make = cmgi_fsai_make},
    {.name = "isai",
     .text = "incomplete approximate inverse, M A = I on a pattern",
     .omega = AUTO,
     .keys = cmgi_isai_keys,
     .symmetric = true,
     .make = cmgi_isai_make},
    {.name = "block-jacobi",
     .text = "inverses of diagonal blocks",
     .omega = AUTO,
     .keys = cmgi_block_jacobi_keys,
     .symmetric = true,
     .make = cmgi_block_jacobi_make},
    {.name = "patches",
     .text = "additive inverses of element matrices, found in the matrix graph",
     .omega = AUTO,
     .keys = cmgi_patches_keys,
     .symmetric = true,
     .make = cmgi_patches_make},
    {.name = "gauss-seidel",
     .text = "multicolour Gauss-Seidel, one factor a colour",
     .omega = 1.0,
     .keys = cmgi_gauss_seidel_keys,
     .symmetric = true,
     .make = cmgi_gauss_seidel_make},
    {.name = "chebyshev",
     .text = "Chebyshev polynomial on the upper part of the spectrum",
     .omega = 1.0,
     .keys = cmgi_chebyshev_keys,
     .symmetric = true,
     .make = cmgi_chebyshev_make},
    {.name = "chebyshev4",
     .text = "Chebyshev polynomial of the fourth kind",
     .omega = 1.0,
     .keys = cmgi_polynomial_keys,
     .symmetric = true,
     .make = cmgi_chebyshev4_make},
    {.name = "chebyshev4-opt",
     .text = "the fourth kind optimised for the V-cycle",
     .omega = 1.0,
     .keys = cmgi_polynomial_keys,
     .symmetric = true,
     .make = cmgi_optimal_make},
    {.name = "least-squares",
     .text = "least-squares polynomial on the whole spectrum",
     .omega = 1.0,
     .keys = cmgi_polynomial_keys,
     .symmetric = true,
     .make = cmgi_least_squares_make},
    {.name = "gls",
     .text = "least-squares polynomial, weight from Lanczos",
     .omega = 1.0,
     .keys = cmgi_polynomial_keys,
     .symmetric = true,
     .make = cmgi_gls_make},
    {.name = "neumann",
     .text = "Neumann series, equal dampings",
     .omega = 1.0,
     .keys = cmgi_polynomial_keys,
     .symmetric = true,
     .make = cmgi_neumann_make},
    {.name = "file",
     .text = "matrices of the hierarchy",
     .omega = 1.0,
     .takes_name = true,
     .any_matrix = true,
     .make = cmgi_file_make},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

const char *cmg_smoother_name(int i)
{
    return i >= 0 && i < METHODS ? methods[i].name : NULL;
}

const char *cmg_smoother_text(int i)
{
    return i >= 0 && i < METHODS ? methods[i].text : NULL;
}

const cmg_smoother_key *cmg_smoother_argument(int i, int k)
{
    if (i < 0 || i >= METHODS || methods[i].keys == NULL) {
        return NULL;
    }
    const cmgi_key *key = methods[i].keys;
    for (int seen = 0; key->key != NULL; ++key, ++seen) {
        if (seen == k) {
            return key;
        }
    }
    return NULL;
}

cmg_status cmgi_smoother_parse(cmg_context *ctx, const char *name,
                               const cmgi_smoother_method **method, cmgi_arguments *arguments)
{
    const size_t length = strcspn(name, ":");
    char known[384] = "";
    for (int i = 0; i < METHODS; ++i) {
        const cmgi_smoother_method *m = &methods[i];
        if (strlen(m->name) == length && strncmp(m->name, name, length) == 0) {
            CMGI_TRY(cmgi_arguments_parse(ctx, m->name, name + length, m->keys, m->takes_name,
                                          arguments));
            *method = m;
            return CMG_OK;
        }
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s%s", i > 0 ? ", " : "", m->name,
                       m->takes_name ? ":NAME" : "");
    }
    return cmgi_fail(ctx, CMG_ERR_ARG, "unknown smoother \"%s\"; known: %s", name, known);
}

cmg_status cmgi_smoother_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D)
{
    CMGI_TRY(cmgi_csr_alloc(ctx, n, n, n, D));
    for (cmg_size i = 0; i < n; ++i) {
        D->indptr[i] = i;
        D->indices[i] = (cmg_index)i;
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ making */

/* No method can do anything with a zero on the diagonal or a value that is not a number. */
static cmg_status check_matrix(const cmgi_smoother_source *source, const char *name)
{
    const cmg_csr *A = &source->A;
    cmg_size bad = A->rows;
    CMGI_CHECK(source->ctx, A->rows == A->cols, CMG_ERR_SHAPE,
               "smoother %s: level %d: A is %lld x %lld, not square", name, source->level,
               (long long)A->rows, (long long)A->cols);
#pragma omp parallel for num_threads(source->ctx->threads) schedule(static) reduction(min : bad)
    for (cmg_size i = 0; i < A->rows; ++i) {
        double diagonal = 0;
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            diagonal += A->indices[k] == i ? A->values[k] : 0;
            sum += fabs(A->values[k]);
        }
        if (diagonal == 0 || !isfinite(sum)) {
            bad = i < bad ? i : bad;
        }
    }
    CMGI_CHECK(source->ctx, bad == A->rows, CMG_ERR_SINGULAR,
               "smoother %s: level %d: row %lld has a zero diagonal or a value that is not finite",
               name, source->level, (long long)bad);
    return CMG_OK;
}

/*
 * 4 / (3 lambda), the damping whose worst factor over the upper half of the spectrum [lambda/2,
 * lambda] is least: 2 / (lambda/2 + lambda). Where M is so good that all eigenvalues lie higher,
 * the lower end is the least Ritz value; the exact inverse gets 1.
 */
static cmg_status estimate_omega(const cmgi_smoother_source *source,
                                 const cmgi_smoother_product *product, double *omega)
{
    cmgi_spectrum spectrum;
    CMGI_TRY(cmgi_spectrum_estimate(source->ctx, &source->A, product->factor, product->factors,
                                    &spectrum));
    const double least = spectrum.count > 0 ? spectrum.ritz[0] : 0;
    *omega = 2 / (spectrum.largest + fmax(least, spectrum.largest / 2));
    return CMG_OK;
}

cmg_status cmgi_smoother_make(const cmgi_smoother_source *source, const char *name, double omega,
                              cmgi_smoother_product *product)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    CMGI_TRY(cmgi_smoother_parse(source->ctx, name, &method, &arguments));
    cmgi_smoother_source with_arguments = *source;
    with_arguments.arguments = &arguments;
    product->stages = 1;
    product->stage[0] = 1;
    if (!method->any_matrix) {
        CMGI_TRY(check_matrix(source, method->name));
    }
    CMGI_TRY(method->make(&with_arguments, product));
    double scale = omega != 0 ? omega : method->omega;
    if (arguments.omega != 0) {
        scale = arguments.omega;
    }
    if (arguments.omega_auto || scale == AUTO) {
        CMGI_TRY(estimate_omega(source, product, &scale));
    }
    for (int j = 0; j < product->stages; ++j) {
        product->stage[j] *= scale;
    }
    return CMG_OK;
}

void cmgi_smoother_product_clear(cmg_context *ctx, cmgi_smoother_product *product)
{
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmgi_csr_free(ctx, &product->factor[k]);
    }
    product->factors = 0;
    product->stages = 0;
}

/* ------------------------------------------------------------------ placing */

/* FNV-1a over offsets and columns (Fowler, Noll and Vo; RFC 9923). */
static uint64_t pattern_hash(const cmg_csr *A)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (cmg_size i = 0; i < A->rows; ++i) {
        hash = (hash ^ (uint64_t)A->indptr[i + 1]) * UINT64_C(0x100000001b3);
    }
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        hash = (hash ^ (uint64_t)A->indices[k]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Puts factor k into the level's numbering and its format, or updates the values of the one there.
 */
static cmg_status place_factor(cmg_context *ctx, const cmgi_csr *factor,
                               const cmgi_smoother_options *options, int k, cmgi_smoother *s)
{
    cmgi_csr renumbered = {0};
    cmg_csr view = cmgi_csr_view(factor);
    cmg_matrix_options matrix = options->matrix;
    cmg_status status = CMG_OK;
    if (options->perm != NULL) {
        CMGI_TRY(cmgi_csr_permute(ctx, &view, options->perm, options->perm, true, &renumbered));
        view = cmgi_csr_view(&renumbered);
    }
    if (cmgi_csr_is_diagonal(&view)) {
        matrix.format = CMG_FORMAT_DIAGONAL;
    }
    const uint64_t pattern = matrix.keep_map ? pattern_hash(&view) : 0;
    if (s->factor[k] != NULL && s->pattern[k] != pattern) {
        cmg_matrix_destroy(&s->factor[k]);
        s->changed = true;
    }
    if (s->factor[k] == NULL) {
        CMGI_TRY_GOTO(done, cmg_matrix_create_csr(ctx, &view, &matrix, &s->factor[k]));
        s->pattern[k] = pattern;
    } else {
        CMGI_TRY_GOTO(done, cmg_matrix_update(s->factor[k], view.values));
    }
done:
    cmgi_csr_free(ctx, &renumbered);
    return status;
}

cmg_status cmgi_smoother_build(const cmgi_smoother_source *source,
                               const cmgi_smoother_options *options, cmgi_smoother *s)
{
    cmg_context *ctx = source->ctx;
    cmgi_smoother_product *product = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *product, &product));
    cmg_status status = CMG_OK;
    s->changed = false;
    CMGI_TRY_GOTO(done, cmgi_smoother_make(source, options->name, options->omega, product));
    for (int k = 0; k < product->factors; ++k) {
        CMGI_TRY_GOTO(done, place_factor(ctx, &product->factor[k], options, k, s));
    }
    s->changed = s->changed || s->factors != product->factors || s->stages != product->stages;
    s->factors = product->factors;
    s->diagonal = s->factors == 1 && s->factor[0]->options.format == CMG_FORMAT_DIAGONAL;
    s->stages = product->stages;
    for (int j = 0; j < product->stages; ++j) {
        s->changed = s->changed || s->omega[j] != product->stage[j] ||
                     s->momentum[j] != product->momentum[j];
        s->omega[j] = product->stage[j];
        s->momentum[j] = product->momentum[j];
    }
done:
    cmgi_smoother_product_clear(ctx, product);
    cmgi_free(ctx, product);
    return status;
}

void cmgi_smoother_clear(cmgi_smoother *s)
{
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmg_matrix_destroy(&s->factor[k]);
    }
    s->factors = 0;
}
