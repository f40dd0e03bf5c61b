/* The table of smoothers and what is common to them: renumbering, formats, damping. */
#include "smoothers/smoother.h"

#include "smoothers/pattern.h"
#include "smoothers/spectrum.h"
#include "spmv/sweep.h"

#include <math.h>
#include <string.h>

#ifndef CMGI_SMOOTHER_LIST
#define CMGI_SMOOTHER_LIST "smoothers/list.inc"
#endif

#define CMGI_SMOOTHER(row, file) extern const cmgi_smoother_method cmgi_smoother_##row;
#include CMGI_SMOOTHER_LIST
#undef CMGI_SMOOTHER

static const cmgi_smoother_method *const methods[] = {
#define CMGI_SMOOTHER(row, file) &cmgi_smoother_##row,
#include CMGI_SMOOTHER_LIST
#undef CMGI_SMOOTHER
};
enum { METHODS = sizeof methods / sizeof methods[0] };

const char *cmg_smoother_name(int i)
{
    return i >= 0 && i < METHODS ? methods[i]->name : NULL;
}

const char *cmg_smoother_text(int i)
{
    return i >= 0 && i < METHODS ? methods[i]->text : NULL;
}

const cmg_smoother_key *cmg_smoother_argument(int i, int k)
{
    if (i < 0 || i >= METHODS || methods[i]->keys == NULL) {
        return NULL;
    }
    const cmgi_key *key = methods[i]->keys;
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
        const cmgi_smoother_method *m = methods[i];
        if (strlen(m->name) == length && strncmp(m->name, name, length) == 0) {
            CMGI_TRY(cmgi_arguments_parse(ctx, m->name, name + length, m->keys, m->takes_name,
                                          arguments));
            *method = m;
            return CMG_OK;
        }
        cmgi_append(known, sizeof known, "%s%s%s", i > 0 ? ", " : "", m->name,
                    m->takes_name ? ":NAME" : "");
    }
    return cmgi_fail(ctx, CMG_ERR_ARG, "unknown smoother \"%s\"; known: %s", name, known);
}

/* No method can do anything with a zero on the diagonal or a value that is not a number. */
static cmg_status check_matrix(const cmgi_smoother_source *source, const char *name)
{
    const cmg_csr *A = &source->A;
    cmgi_csr_facts facts = {0};
    CMGI_CHECK(source->ctx, A->rows == A->cols, CMG_ERR_SHAPE,
               "smoother %s: level %d: A is %lld x %lld, not square", name, source->level,
               (long long)A->rows, (long long)A->cols);
    if (source->known != NULL) {
        facts = *source->known;
    } else {
        CMGI_TRY(cmgi_csr_facts_take(source->ctx, A, cmgi_source_first(source),
                                     cmgi_source_last(source), &facts));
    }
    CMGI_CHECK(source->ctx, facts.bad < 0, CMG_ERR_SINGULAR,
               "smoother %s: level %d: row %lld has a zero diagonal or a value that is not finite "
               "(docs/when-not.md)",
               name, source->level, (long long)facts.bad);
    if (source->facts != NULL) {
        *source->facts = facts;
    }
    return CMG_OK;
}

/*
 * 4 / (3 lambda), the damping whose worst factor over the upper half of the spectrum [lambda/2,
 * lambda] is least: 2 / (lambda/2 + lambda). Where M is so good that all eigenvalues lie higher,
 * the lower end is the least Ritz value; the exact inverse gets 1.
 */
static double damping(const cmgi_spectrum *spectrum)
{
    const double least = spectrum->count > 0 ? spectrum->ritz[0] : 0;
    return 2 / (spectrum->largest + fmax(least, spectrum->largest / 2));
}

/* That of `count` factors as they are stored, NULL = they are not, else, where these have no bound
 * in their precision, of what they were made of; 0 where that is NULL. */
static cmg_status estimate_omega(const cmgi_smoother_source *source, cmg_matrix *const *stored,
                                 int count, const cmgi_csr *factor, double *omega)
{
    cmgi_spectrum spectrum;
    bool bounded = false;
    if (stored != NULL) {
        CMGI_TRY(cmgi_spectrum_estimate_stored(source, stored, count, &spectrum, &bounded));
    }
    if (!bounded && factor != NULL) {
        CMGI_TRY(cmgi_spectrum_estimate(source, factor, count, CMGI_LANCZOS_STEPS, &spectrum));
        bounded = true;
    }
    *omega = bounded ? damping(&spectrum) : 0;
    return CMG_OK;
}

static void scale_stages(int stages, double by, double *omega)
{
    for (int j = 0; j < stages; ++j) {
        omega[j] *= by;
    }
}

cmg_status cmgi_smoother_source_here(const cmgi_smoother_source *source, cmgi_smoother_source *here)
{
    *here = *source;
    here->there = NULL;
    here->kinds = NULL;
    if (source->frame != NULL && source->there != NULL) {
        return source->frame->bring(source->frame, here);
    }
    return source->there != NULL || source->kinds != NULL
               ? cmg_hierarchy_get_csr(source->h, source->level, CMG_ROLE_A, NULL, 0, &here->A)
               : CMG_OK;
}

static cmg_status try_device(const cmgi_smoother_source *source, const char *name,
                             cmgi_make_at make, cmgi_csr *factor, bool *made)
{
    cmg_context *ctx = source->ctx;
    cmgi_resident sent = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &sent);
    CMGI_TRY(source->there == NULL ? cmgi_resident_send(ctx, &source->A, &sent) : CMG_OK);
    const cmgi_resident *A = source->there != NULL ? source->there : &sent;
    if (A->csr.rows > 0 && A->rows.longest <= CMGI_LONGEST_SORTED) {
        CMGI_TRY(make(source, A, factor, made));
    }
    if (!*made) {
        cmgi_log(
            ctx, CMG_LOG_INFO,
            "%s: A has %lld rows, the longest of %lld entries (the device sorts from 1 row and "
            "to %d entries), or a row needs more room than the device has: the CPU does it",
            name, (long long)A->csr.rows, (long long)A->rows.longest, (int)CMGI_LONGEST_SORTED);
    }
    return CMG_OK;
}

cmg_status cmgi_smoother_make_where(const cmgi_smoother_source *source, const char *name,
                                    bool wanted, cmgi_make_at make, cmgi_csr *factor)
{
    bool made = false;
    cmgi_smoother_source here;
    if (wanted && cmgi_resident_kernels_of(source->ctx) != NULL) {
        CMGI_TRY(try_device(source, name, make, factor, &made));
    }
    if (made) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_smoother_source_here(source, &here));
    return make(&here, NULL, factor, &made);
}

cmg_status cmgi_smoother_is_product(cmg_context *ctx, const cmgi_smoother_factors *out,
                                    const char *name)
{
    CMGI_CHECK(
        ctx, !out->solves, CMG_ERR_UNSUPPORTED,
        "smoother %s is a substitution, no matrix: it can be neither kept nor a base, and its "
        "damping is not estimated",
        name);
    return CMG_OK;
}

/* Without an estimated damping where that may come *later, NULL: it may not. */
static cmg_status make(const cmgi_smoother_source *source, const char *name, double omega,
                       cmgi_smoother_factors *out, bool *later)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    CMGI_TRY(cmgi_smoother_parse(source->ctx, name, &method, &arguments));
    cmgi_smoother_source with_arguments = *source;
    if (!method->resident || (source->kinds != NULL && !method->kinds)) {
        CMGI_TRY(cmgi_smoother_source_here(source, &with_arguments));
    }
    with_arguments.arguments = &arguments;
    out->stages = 1;
    out->stage[0] = 1;
    if (!method->any_matrix && with_arguments.there == NULL) { /* else the hierarchy's check did */
        CMGI_TRY(check_matrix(&with_arguments, method->name));
    }
    CMGI_TRY(method->make(&with_arguments, out));
    double scale = arguments.omega != 0 ? arguments.omega : omega != 0 ? omega : method->omega;
    const bool estimated = arguments.omega_auto || scale == CMGI_OMEGA_AUTO;
    if (later != NULL) {
        *later = estimated && method->later;
    }
    if (estimated && later != NULL && *later) {
        scale = 1;
    } else if (estimated) {
        CMGI_TRY(cmgi_smoother_is_product(source->ctx, out, name));
        CMGI_TRY(estimate_omega(&with_arguments, NULL, out->factors, out->factor, &scale));
    }
    scale_stages(out->stages, scale, out->stage);
    return CMG_OK;
}

cmg_status cmgi_smoother_make(const cmgi_smoother_source *source, const char *name, double omega,
                              cmgi_smoother_factors *out)
{
    return make(source, name, omega, out, NULL);
}

bool cmgi_smoother_goes_first(cmg_context *ctx, const char *name, double omega)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    if (cmgi_smoother_parse(ctx, name, &method, &arguments) != CMG_OK) {
        return false;
    }
    const double given = arguments.omega != 0 ? arguments.omega : omega;
    const bool known = !arguments.omega_auto && (given != 0 || method->omega != CMGI_OMEGA_AUTO);
    return method->first && (known || method->later);
}

void cmgi_smoother_factors_clear(cmg_context *ctx, cmgi_smoother_factors *out)
{
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmgi_csr_free(ctx, &out->factor[k]);
    }
    out->factors = 0;
    out->stages = 0;
    out->solves = false;
}

/* Puts factor k into the level's numbering and its format, or updates the values of the one there.
 */
static cmg_status place_factor(const cmgi_smoother_source *source, const cmgi_smoother_factors *out,
                               const cmgi_smoother_options *options, int k, cmgi_smoother *s)
{
    cmg_context *ctx = source->ctx;
    const cmgi_resident *there = out->factor[k].there;
    const bool known = there != NULL && there->csr.indptr == NULL; /* a diagonal */
    cmgi_scoped_csr renumbered = {0};
    cmg_csr view = out->factor[k].view;
    const cmg_csr *M = there != NULL ? &there->csr : &view;
    cmg_matrix_options matrix = options->matrix;
    uint64_t pattern = 0;
    if (source->frame != NULL) {
        cmg_matrix_destroy(&s->factor[k]);
        s->changed = true;
        if (there == NULL) {
            return source->frame->place(source->frame, &view, options->use, &matrix, &s->factor[k]);
        }
    }
    if (there == NULL && options->perm != NULL) {
        CMGI_TRY(cmgi_csr_permute(ctx, &view, options->perm, options->perm, true, &renumbered));
        view = renumbered.view;
    }
    if (there != NULL ? cmgi_resident_is_diagonal(there)
                      : cmgi_csr_is_diagonal(ctx, &view) && !out->solves) {
        matrix.format = CMG_FORMAT_DIAGONAL;
    }
    const cmg_size entries = known           ? M->rows
                             : there != NULL ? there->rows.nnz
                                             : view.indptr[view.rows];
    if (matrix.format == CMG_FORMAT_DIAGONAL && entries == M->rows) {
        pattern = (uint64_t)M->rows; /* the same wherever it has been made */
    } else if (matrix.keep_map) {
        CMGI_TRY(cmgi_pattern_hash(ctx, there != NULL ? CMGI_DEVICE : CMGI_HOST, M, &pattern));
    }
    if (s->factor[k] != NULL && s->pattern[k] != pattern) {
        cmg_matrix_destroy(&s->factor[k]);
        s->changed = true;
    }
    if (s->factor[k] == NULL) {
        const cmgi_matrix_source from = {.csr = there != NULL ? NULL : &view, .there = there};
        CMGI_TRY(out->solves
                     ? cmgi_sweep_create(ctx, &view, &matrix, &s->factor[k])
                     : cmgi_matrix_create(ctx, &from, options->use, &matrix, &s->factor[k]));
        s->pattern[k] = pattern;
    } else {
        CMGI_TRY(cmg_matrix_update(s->factor[k], known ? there->diagonal : M->values));
    }
    return CMG_OK;
}

/*
 * The dampings are those that are there, but for a thousandth, far less than what the estimates
 * behind them leave open: then they stay, and with them what was recorded.
 */
static bool dampings_are_near(const cmgi_smoother *s, const cmgi_smoother_factors *out)
{
    bool near = true;
    for (int j = 0; j < out->stages; ++j) {
        near = near && fabs(s->omega[j] - out->stage[j]) <= 1e-3 * fabs(s->omega[j]) &&
               fabs(s->momentum[j] - out->momentum[j]) <= 1e-3 * fabs(s->momentum[j]);
    }
    return near;
}

cmg_status cmgi_smoother_build(const cmgi_smoother_source *source,
                               const cmgi_smoother_options *options, cmgi_smoother *s)
{
    cmg_context *ctx = source->ctx;
    cmgi_smoother_source with_bounds = *source;
    const bool stored = ctx->backend->alloc != NULL && source->frame == NULL &&
                        options->perm == NULL && options->matrix.values == CMG_VALUES_FULL;
    bool later = false;
    double omega = 0;
    s->changed = false;
    if (s->undamped) { /* what was left when there was no matrix of the level */
        s->undamped = false;
        with_bounds.kept = s->kept;
        cmgi_spectra_begin(s->kept);
        CMGI_TRY(estimate_omega(&with_bounds, s->factor, s->factors, NULL, &omega));
        if (omega != 0) {
            scale_stages(s->stages, omega, s->omega);
            return CMG_OK;
        }
        cmgi_smoother_clear(ctx, s);
    }
    if (options->reuse == CMG_REUSE_SMOOTHER && s->factors > 0) {
        return CMG_OK;
    }
    if (source->frame == NULL && s->kept == NULL) {
        CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *s->kept, &s->kept));
        s->kept->same = options->reuse == CMG_REUSE_BOUNDS;
    }
    with_bounds.kept = s->kept;
    cmgi_spectra_begin(s->kept);
    CMGI_SCOPED_ZERO(ctx, 1, cmgi_smoother_factors, out);
    CMGI_RELEASED(cmgi_smoother_factors_clear, ctx, out);
    CMGI_TRY(make(&with_bounds, options->name, options->omega, out, stored ? &later : NULL));
    for (int k = 0; k < out->factors; ++k) {
        CMGI_TRY(place_factor(source, out, options, k, s));
        if (later && source->matrix == NULL) { /* nothing needs it any more */
            cmgi_csr_free(ctx, &out->factor[k]);
        }
    }
    s->undamped = later && source->matrix == NULL;
    if (later && !s->undamped) {
        CMGI_TRY(estimate_omega(&with_bounds, s->factor, out->factors, out->factor, &omega));
        scale_stages(out->stages, omega, out->stage);
    }
    s->changed = s->changed || s->factors != out->factors || s->stages != out->stages ||
                 !dampings_are_near(s, out);
    s->factors = out->factors;
    s->diagonal = s->factors == 1 && s->factor[0]->format->id == CMG_FORMAT_DIAGONAL;
    s->renewed = s->kept != NULL && s->kept->renewed;
    s->stages = out->stages;
    memcpy(s->chosen, out->chosen, sizeof s->chosen);
    s->why = out->why;
    s->symmetric = out->symmetric;
    s->after = out->after;
    for (int j = 0; s->changed && j < out->stages; ++j) {
        s->omega[j] = out->stage[j];
        s->momentum[j] = out->momentum[j];
    }
    return CMG_OK;
}

void cmgi_smoother_clear(cmg_context *ctx, cmgi_smoother *s)
{
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmg_matrix_destroy(&s->factor[k]);
    }
    cmgi_free(ctx, cmgi_pass_on(&s->kept));
    s->factors = 0;
    s->undamped = false;
}
