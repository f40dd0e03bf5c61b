/*
 * From the hierarchy's CSR matrices to the matrices of the cycle: which format and precision each
 * role has, renumbered where A is. What P and R are is said in transfer/.
 */
#include "mg/level.h"

#include "spmv/chain.h"
#include "spmv/formats.h"
#include "transfer/galerkin.h"

#include <string.h>

static cmgi_request request_of(const cmgi_level_options *options, int l, cmg_role role)
{
    static const cmgi_use uses[] = {[CMG_ROLE_A] = CMGI_USE_A,
                                    [CMG_ROLE_P] = CMGI_USE_P,
                                    [CMG_ROLE_R] = CMGI_USE_R,
                                    [CMG_ROLE_SMOOTHER] = CMGI_USE_M};
    const bool given = options->schedule->given[l][role];
    cmgi_request ask = {.options = options->matrix, .use = uses[role]};
    ask.halves = options->schedule->halves && !given;
    if (given) {
        ask.options.values = options->schedule->values[l][role];
        if (ask.options.values != CMG_VALUES_FULL) {
            ask.options.format = CMG_FORMAT_COMPRESSED;
            ask.use = CMGI_USE_ANY;
        }
    }
    return ask;
}

/* Creates a matrix, renumbered where there are permutations, or, when there is one, gives it the
 * values of the same pattern. */
static cmg_status place(cmg_context *ctx, const cmg_csr *csr, const cmg_index *row_perm,
                        const cmg_index *col_perm, const cmgi_request *ask, cmg_matrix **M)
{
    const bool renumbers = row_perm != NULL || col_perm != NULL;
    cmgi_scoped_csr renumbered = {0};
    if (renumbers) {
        CMGI_TRY(cmgi_csr_permute(ctx, csr, row_perm, col_perm, true, &renumbered));
    }
    const cmgi_matrix_source from = {.csr = renumbers ? &renumbered.view : csr,
                                     .like = ask->like,
                                     .same =
                                         ask->looks != NULL && !renumbers ? ask->looks->same : NULL,
                                     .halves = ask->halves};
    return *M == NULL ? cmgi_matrix_create(ctx, &from, ask->use, &ask->options, M)
                      : cmg_matrix_update(*M, from.csr->values);
}

/*
 * A of a level. On level 0 of a cycle with fewer bits the outer matrix owns the numbering:
 * residuals and corrections meet in it. A format that sorts the rows comes to the same order from
 * the same pattern; others get the renumbered matrix.
 */
static cmg_status place_matrix(cmg_context *ctx, const cmg_csr *A, const cmg_matrix *outer,
                               const cmgi_request *ask, cmgi_level *level)
{
    const cmg_index *perm = outer != NULL ? cmg_matrix_permutation(outer) : NULL;
    const cmgi_format *format = cmgi_format_find(ctx, ask->options.format); /* NULL = chosen */
    const bool sorts = perm == NULL || (format != NULL && format->renumbers);
    const cmg_index *by = sorts ? NULL : perm;
    CMGI_TRY(place(ctx, A, by, by, ask, &level->A));
    level->perm = sorts ? cmg_matrix_permutation(level->A) : perm;
    const bool same =
        level->perm == perm || (level->perm != NULL && perm != NULL &&
                                memcmp(level->perm, perm, (size_t)A->rows * sizeof *perm) == 0);
    CMGI_CHECK(ctx, outer == NULL || same, CMG_ERR_INTERNAL,
               "level 0: A in the cycle and A of the residuals are numbered differently");
    return CMG_OK;
}

/*
 * A matrix on the device that is used there: the formats that renumber read it on the host, and
 * Dirichlet rows are looked for where the finest A is.
 */
static const cmgi_resident *resident(const cmg_hierarchy *h, int l, cmg_role role,
                                     const cmgi_level_options *options)
{
    const cmgi_format *format = cmgi_format_find(h->ctx, options->matrix.format);
    if ((format != NULL && (format->renumbers || format->elements)) ||
        options->matrix.format == CMG_FORMAT_TUNE ||
        (options->solver->dirichlet == CMG_DIRICHLET_ZERO &&
         cmgi_hierarchy_there(h, 0, CMG_ROLE_A) == NULL)) {
        return NULL;
    }
    return cmgi_hierarchy_there(h, l, role);
}

bool cmgi_level_is_there(const cmg_hierarchy *h, const cmgi_level_options *options)
{
    return !cmgi_is_divided(options->divided, 0) && resident(h, 0, CMG_ROLE_A, options) != NULL;
}

cmg_status cmgi_level_settle(const cmg_hierarchy *h, cmgi_level_options *options, bool *fewer)
{
    enum { LARGE = 1 << 19 }; /* a look at fewer rows is not worth sharing */
    const bool is_there = cmgi_level_is_there(h, options);
    const cmgi_resident *there = is_there ? resident(h, 0, CMG_ROLE_A, options) : NULL;
    const cmgi_request ask = request_of(options, 0, CMG_ROLE_A);
    *fewer = ask.options.values != CMG_VALUES_FULL;
    if (there != NULL && !*fewer && there->csr.rows >= LARGE) {
        const cmgi_matrix_source from = {
            .there = there, .device = &there->csr, .halves = ask.halves};
        CMGI_TRY(cmgi_choose(h->ctx, &from, ask.use, &options->matrix, NULL));
        *fewer = options->matrix.values != CMG_VALUES_FULL;
    }
    return CMG_OK;
}

/* P^T, which may be there from R A P; gone afterwards, unless new values need it. */
static cmg_status place_transpose(cmg_context *ctx, const cmgi_resident *P, cmgi_csr *PT,
                                  const cmgi_request *ask, cmgi_level *level, cmg_matrix **M)
{
    const bool passing = *M == NULL || PT->there == NULL;
    CMGI_RELEASED(cmgi_csr_free, ctx, passing ? PT : NULL);
    CMGI_TRY(cmgi_transpose_there(ctx, P, PT));
    cmgi_resident *R = PT->there;
    R->facts.beside = P->facts.beside;
    if (cmgi_resident_is_diagonal(R) && R->diagonal == NULL) {
        CMGI_TRY(cmgi_resident_kernels_of(ctx)->entries(ctx, &R->csr, R));
    }
    return cmgi_level_place_there(ctx, R, ask, level, M);
}

/* The Dirichlet rows of a level as they are now, from those above (NULL on level 0). */
static cmg_status find_dirichlet(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                                 cmgi_dirichlet *above, cmgi_dirichlet *d)
{
    cmgi_dirichlet found = {0};
    if (options->solver->dirichlet == CMG_DIRICHLET_ZERO) {
        CMGI_TRY(cmgi_dirichlet_of_level(h, l, above, &found));
    }
    return cmgi_dirichlet_take(h->ctx, &found, d);
}

cmg_status cmgi_level_matrix(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                             const cmg_matrix *outer, cmgi_level *level)
{
    cmg_context *ctx = h->ctx;
    cmgi_request ask = request_of(options, l, CMG_ROLE_A);
    cmg_csr A;
    if (cmgi_is_divided(options->divided, l)) {
        const cmgi_divided_functions *by = cmgi_divided_by(ctx);
        by->describe(options->divided, l, level);
        return by->matrix(options->divided, l, CMG_ROLE_A, ask.use, &ask.options, &level->A);
    }
    const cmgi_resident *there = resident(h, l, CMG_ROLE_A, options);
    const cmgi_kinds *kinds = cmgi_hierarchy_kinds(h, l, CMG_ROLE_A);
    level->remade = false;
    if (l == 0) {
        CMGI_TRY(find_dirichlet(h, 0, options, NULL, &level->dirichlet));
        ask.twin = options->twin;
    }
    if (there != NULL) {
        level->rows = there->csr.rows;
        kinds = cmgi_level_repeats(there, &ask.options);
    }
    ask.like = outer;
    if (there != NULL && kinds == NULL) {
        return cmgi_level_place_there(ctx, there, &ask, level, &level->A);
    }
    if (kinds != NULL) {
        level->rows = kinds->rows;
        return cmgi_level_place_kinds(ctx, kinds, &ask, level, &level->version_A, &level->A);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    level->rows = A.rows;
    bool taken = false;
    CMGI_TRY(cmgi_level_elements(h, l, &ask.options, &taken, &level->A));
    if (taken) {
        return CMG_OK;
    }
    if (l > 0 && cmgi_level_by_elements(ctx, ask.options.format)) {
        ask.options.format = CMG_FORMAT_AUTO; /* cliques are looked for on the finest level alone */
    }
    ask.looks = cmgi_hierarchy_looks(h, l);
    return place_matrix(ctx, &A, outer, &ask, level);
}

/*
 * P and R, or P^T, of matrices on the device, without what Dirichlet rows forbid; left alone where
 * all is as it was.
 */
static cmg_status transfer_there(cmg_context *ctx, const cmgi_resident *P, const cmgi_resident *R,
                                 cmgi_csr *PT, const cmgi_request ask[2], cmgi_level *fine,
                                 cmgi_level *coarse)
{
    cmgi_dirichlet *const d[2] = {&fine->dirichlet, &coarse->dirichlet};
    const uint64_t version_P = P->version + 1;
    const uint64_t version_R = (R != NULL ? R : P)->version + 1;
    const uint64_t version_D = d[0]->version + d[1]->version;
    const bool other = fine->version_D != version_D;
    const bool places_P = fine->P == NULL || fine->version_P != version_P || other;
    const bool places_R = fine->R == NULL || fine->version_R != version_R || other;
    cmgi_resident clean = {0};
    cmgi_resident clean_R = {0};
    cmgi_scoped_csr own = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &clean, &clean_R);
    if (places_P || (places_R && R == NULL)) {
        CMGI_TRY(cmgi_dirichlet_clean_there(ctx, P, d[0], d[1], &clean));
    }
    CMGI_TRY(places_P ? cmgi_level_place_there(ctx, &clean, &ask[0], fine, &fine->P) : CMG_OK);
    if (places_R && R != NULL) {
        CMGI_TRY(cmgi_dirichlet_clean_there(ctx, R, d[1], d[0], &clean_R));
        CMGI_TRY(cmgi_level_place_there(ctx, &clean_R, &ask[1], fine, &fine->R));
    } else if (places_R) { /* the P^T from R A P is that of all P */
        cmgi_csr *T = clean.csr.values == P->csr.values ? PT : &own;
        cmgi_csr_free(ctx, T == &own ? PT : &own);
        CMGI_TRY(place_transpose(ctx, &clean, T, &ask[1], fine, &fine->R));
    }
    fine->version_P = version_P;
    fine->version_R = version_R;
    fine->version_D = version_D;
    return CMG_OK;
}

cmg_status cmgi_level_bring_P(const cmg_hierarchy *h, int l, cmgi_level *fine, cmgi_level *coarse,
                              cmgi_csr *P)
{
    cmg_csr stored;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &stored));
    CMGI_TRY(cmgi_dirichlet_at(h->ctx, CMGI_HOST, &fine->dirichlet, &coarse->dirichlet));
    return cmgi_prolongation(h->ctx, &stored, &fine->dirichlet, &coarse->dirichlet, P);
}

cmg_status cmgi_level_bring_R(const cmg_hierarchy *h, int l, const cmgi_level *fine,
                              const cmgi_level *coarse, const cmgi_csr *P, cmgi_csr *R)
{
    cmg_csr stored;
    const bool given = cmgi_hierarchy_view(h, l, CMG_ROLE_R, NULL, 0, &stored);
    return cmgi_restriction(h->ctx, given ? &stored : NULL, P, &fine->dirichlet, &coarse->dirichlet,
                            R);
}

/* The same on the host, renumbered where a level is. */
static cmg_status transfer_here(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                                const cmgi_request ask[2], cmgi_level *fine, cmgi_level *coarse)
{
    cmg_context *ctx = h->ctx;
    const bool folds = /* whether it pays is seen once it is formed */
        options->solver->fuse &&
        (options->solver->fuse_restriction || fine->rows <= ctx->backend->fold_rows);
    cmgi_scoped_csr P = {0};
    cmgi_scoped_csr R = {0};
    CMGI_TRY(cmgi_level_bring_P(h, l, fine, coarse, &P));
    fine->version_P = 0;
    fine->version_R = 0;
    const bool plain = cmgi_hierarchy_has(h, l, CMG_ROLE_R) || folds || fine->P != NULL;
    cmgi_box sizes;
    const cmgi_box *box = plain ? NULL : cmgi_level_grid(h, l, fine, &sizes);
    if (box != NULL) {
        CMGI_TRY(place(ctx, &P.view, fine->perm, coarse->perm, ask, &fine->P));
        CMGI_TRY(cmgi_chain_restriction(fine->P, box, &ask[1].options, &fine->R));
    }
    if (box == NULL || fine->R == NULL) {
        CMGI_TRY(cmgi_level_bring_R(h, l, fine, coarse, &P, &R));
        CMGI_TRY(place(ctx, &R.view, coarse->perm, fine->perm, ask + 1, &fine->R));
    }
    if (folds) {
        cmgi_csr_free(ctx, &fine->restriction);
        fine->restriction = cmgi_csr_pass_on(&R);
    }
    cmgi_csr_free(ctx, &R); /* P takes its place */
    return box == NULL ? place(ctx, &P.view, fine->perm, coarse->perm, ask, &fine->P) : CMG_OK;
}

cmg_status cmgi_level_transfer(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                               cmgi_level *fine, cmgi_level *coarse)
{
    const cmgi_request ask[2] = {request_of(options, l, CMG_ROLE_P),
                                 request_of(options, l, CMG_ROLE_R)};
    const cmgi_divided *divided = options->divided;
    if (cmgi_is_divided(divided, l)) {
        const cmgi_divided_functions *by = cmgi_divided_by(h->ctx);
        CMGI_TRY(by->matrix(divided, l, CMG_ROLE_P, ask[0].use, &ask[0].options, &fine->P));
        CMGI_TRY(by->matrix(divided, l, CMG_ROLE_R, ask[1].use, &ask[1].options, &fine->R));
        return l + 1 == divided->count ? by->dirichlet(divided, &coarse->dirichlet) : CMG_OK;
    }
    CMGI_TRY(find_dirichlet(h, l + 1, options, &fine->dirichlet, &coarse->dirichlet));
    if (cmgi_hierarchy_kinds(h, l, CMG_ROLE_P) != NULL ||
        cmgi_hierarchy_kinds(h, l, CMG_ROLE_R) != NULL) {
        return cmgi_level_transfer_kinds(h, l, ask, fine);
    }
    const cmgi_resident *there = resident(h, l, CMG_ROLE_P, options);
    const bool has_r = cmgi_hierarchy_has(h, l, CMG_ROLE_R);
    const cmgi_resident *there_r = has_r ? resident(h, l, CMG_ROLE_R, options) : NULL;
    if (there != NULL && (there_r != NULL || !has_r) && fine->perm == NULL &&
        coarse->perm == NULL) {
        return transfer_there(h->ctx, there, there_r, &h->level[l].PT, ask, fine, coarse);
    }
    return transfer_here(h, l, options, ask, fine, coarse);
}

bool cmgi_level_smoother_first(const cmg_hierarchy *h, const cmgi_level_options *options,
                               const cmgi_level *fine)
{
    return options->divided == NULL && fine->A == NULL &&
           resident(h, 0, CMG_ROLE_A, options) != NULL &&
           cmgi_smoother_goes_first(h->ctx, options->smoother, options->solver->omega);
}

cmg_status cmgi_level_smoother(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                               cmgi_level *level)
{
    cmg_context *ctx = h->ctx;
    cmgi_smoother_source source = {
        .ctx = ctx, .h = h, .level = l, .matrix = level->A, .like = options->like};
    const cmgi_request ask = request_of(options, l, CMG_ROLE_SMOOTHER);
    cmgi_smoother_options smoother = {.name = options->smoother,
                                      .omega = options->solver->omega,
                                      .matrix = ask.options,
                                      .use = ask.use};
    cmgi_resident made = {0};
    if (cmgi_is_divided(options->divided, l)) {
        return cmgi_divided_by(ctx)->smoother(options->divided, l, level->A, &smoother,
                                              &level->smoother);
    }
    source.kinds = cmgi_hierarchy_kinds(h, l, CMG_ROLE_A);
    source.there = level->perm == NULL ? resident(h, l, CMG_ROLE_A, options) : NULL;
    if (source.kinds != NULL && source.kinds->facts.rows.identity == 0) {
        CMGI_TRY(cmgi_level_look_at_kinds(&source, &made));
    } else if (source.there != NULL) {
        source.A = (cmg_csr){.rows = source.there->csr.rows, .cols = source.there->csr.cols};
    } else {
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &source.A));
        source.known = cmgi_hierarchy_facts(h, l);
    }
    smoother.perm = level->perm;
    smoother.reuse = options->solver->reuse;
    cmgi_group_alone(ctx, true); /* all ranks do the same */
    const cmg_status status = cmgi_smoother_build(&source, &smoother, &level->smoother);
    cmgi_group_alone(ctx, false);
    cmgi_resident_free(ctx, &made);
    return status;
}

/* The product from the restriction that is kept, into the level. */
static cmg_status fuse(cmg_context *ctx, const cmg_csr *A, bool smooths, const cmgi_request *ask,
                       cmgi_level *fine, const cmgi_level *coarse)
{
    const cmgi_csr *R = &fine->restriction;
    cmg_matrix **out = smooths ? &fine->RS : &fine->RA;
    cmgi_scoped_csr product = {0};
    cmgi_scoped double *scale = NULL;
    bool fits = false;
    if (smooths) { /* omega D^-1 on the host, as the cycle has it */
        const cmg_matrix *D = fine->smoother.factor[0];
        cmgi_scoped_by(cmg_vector_destroy) cmg_vector *d = NULL;
        CMGI_TRY(cmgi_alloc(ctx, fine->rows, sizeof *scale, &scale));
        CMGI_TRY(cmg_vector_wrap(ctx, D->rows, D->options.precision, D->values, &d));
        CMGI_TRY(cmg_vector_get(d, scale));
        for (cmg_size i = 0; i < D->rows; ++i) {
            scale[i] *= fine->smoother.omega[0];
        }
    }
    CMGI_TRY(cmgi_restriction_fold(ctx, R, A, scale, &product, &fits));
    /* R S replaces A, R and the diagonal; R A replaces A, whose vector it saves */
    const cmg_size replaced = A->indptr[A->rows] + (smooths ? R->indptr[R->rows] : 0);
    return fits && (*out != NULL || product.indptr[product.rows] < replaced)
               ? place(ctx, &product.view, coarse->perm, fine->perm, ask, out)
               : CMG_OK;
}

cmg_status cmgi_level_fuse(cmg_hierarchy *h, int l, const cmgi_level_options *options,
                           cmgi_level *fine, cmgi_level *coarse)
{
    cmg_context *ctx = h->ctx;
    const bool fuses = options->solver->fuse;
    const bool small = fuses && fine->rows <= ctx->backend->fold_rows;
    const cmgi_smoother *M = &fine->smoother;
    const bool smooths = /* a step of Jacobi, in the numbering of the hierarchy */
        options->solver->pre == 1 && fine->perm == NULL && M->diagonal && M->stages == 1;
    if (cmgi_is_divided(options->divided, l) || cmgi_hierarchy_kinds(h, l, CMG_ROLE_A) != NULL ||
        cmgi_hierarchy_kinds(h, l, CMG_ROLE_P) != NULL) {
        return CMG_OK;
    }
    CMGI_RELEASED(cmgi_csr_free, ctx, &fine->restriction);
    if (fine->halves.taken) { /* now: they have the values of before */
        cmg_matrix_destroy(&fine->RA);
        cmg_matrix_destroy(&fine->RS);
    } else if ((fuses && options->solver->fuse_restriction) || (small && smooths)) {
        cmgi_request ask = request_of(options, l, CMG_ROLE_R);
        if (small && ask.use != CMGI_USE_ANY) {
            ask.options.format = CMG_FORMAT_AUTO; /* few and long rows want many lanes each */
        }
        cmg_csr A;
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
        if (fine->restriction.indptr == NULL) { /* R was made on the device */
            cmgi_scoped_csr P = {0};
            CMGI_TRY(cmgi_level_bring_P(h, l, fine, coarse, &P));
            CMGI_TRY(cmgi_level_bring_R(h, l, fine, coarse, &P, &fine->restriction));
        }
        CMGI_TRY(fuse(ctx, &A, smooths, &ask, fine, coarse));
    }
    return CMG_OK;
}

void cmgi_level_clear(cmg_context *ctx, cmgi_level *level)
{
    cmg_matrix_destroy(&level->A);
    cmg_matrix_destroy(&level->P);
    cmg_matrix_destroy(&level->R);
    cmg_matrix_destroy(&level->RA);
    cmg_matrix_destroy(&level->RS);
    cmgi_smoother_clear(ctx, &level->smoother);
    cmgi_csr_free(ctx, &level->restriction);
    cmgi_dirichlet_clear(ctx, &level->dirichlet);
    cmgi_halves_clear(&level->halves);
    *level = (cmgi_level){0};
}
