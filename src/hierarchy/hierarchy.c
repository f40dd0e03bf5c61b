/* Storage of a hierarchy: its life, matrices by level and role, selection of levels. */
#include "hierarchy/hierarchy.h"

#include "core/backend.h"
#include "core/memory.h"
#include "hierarchy/own.h"

#include <stdio.h>
#include <string.h>

cmg_status cmg_hierarchy_create(cmg_context *ctx, int levels, cmg_hierarchy **h)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, h != NULL, CMG_ERR_ARG, "hierarchy: the out-pointer is NULL");
    CMGI_CHECK(ctx, levels >= 1 && levels <= CMGI_HIERARCHY_LEVELS, CMG_ERR_ARG,
               "hierarchy: %d levels are not in 1 .. %d", levels, (int)CMGI_HIERARCHY_LEVELS);
    CMGI_SCOPED_ZERO(ctx, 1, cmg_hierarchy, made);
    made->ctx = ctx;
    made->levels = levels;
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}

static void clear_level(cmg_context *ctx, cmgi_stored_level *level)
{
    cmgi_csr_free(ctx, &level->A);
    cmgi_csr_free(ctx, &level->P);
    cmgi_csr_free(ctx, &level->R);
    cmgi_csr_free(ctx, &level->inverse);
    cmgi_csr_free(ctx, &level->AP);
    cmgi_csr_free(ctx, &level->PT);
    cmgi_csr_facts_forget(ctx, &level->facts);
    cmgi_stored_elements_clear(ctx, level);
    cmgi_stored_smoothers_clear(ctx, level);
    *level = (cmgi_stored_level){0};
}

void cmg_hierarchy_destroy(cmg_hierarchy **h)
{
    if (h == NULL || *h == NULL) {
        return;
    }
    cmg_hierarchy *v = *h;
    cmg_context *ctx = v->ctx;
    for (int l = 0; l < v->levels; ++l) {
        clear_level(ctx, &v->level[l]);
    }
    for (int i = 0; i < v->vectors; ++i) {
        cmgi_stored_vector_clear(ctx, &v->vector[i]);
    }
    cmgi_stored_mesh_destroy(ctx, &v->mesh);
    cmgi_own_destroy(ctx, &v->own);
    for (int i = 0; i < v->attributes; ++i) {
        CMGI_FREE(ctx, v->attribute[i].key, v->attribute[i].value);
    }
    CMGI_FREE(ctx, v->vector, v->attribute, v);
    *h = NULL;
}

cmg_status cmgi_hierarchy_check_level(const cmg_hierarchy *h, int level)
{
    CMGI_CHECK(h->ctx, level >= 0 && level < h->levels, CMG_ERR_ARG, "level %d is not in 0 .. %d",
               level, h->levels - 1);
    return CMG_OK;
}

/* Where a matrix is, as the public functions say it. */
typedef struct place {
    int level;
    cmg_role role;
    const char *name;
    int factor;
} place;

/* The matrix there; NULL = there is none. */
static cmgi_csr *find_given(const cmg_hierarchy *h, const place *at)
{
    if (at->level < 0 || at->level >= h->levels) {
        return NULL;
    }
    const cmgi_stored_level *stored = &h->level[at->level];
    cmgi_csr *M = cmgi_stored_matrix(stored, at->role);
    if (at->role == CMG_ROLE_SMOOTHER) {
        cmgi_stored_smoother *s = cmgi_stored_smoother_find(stored, at->name);
        M = s != NULL && at->factor >= 0 && at->factor < s->factors ? &s->factor[at->factor] : NULL;
    }
    return M != NULL && cmgi_csr_given(M) ? M : NULL;
}

const cmgi_csr *cmgi_hierarchy_find(const cmg_hierarchy *h, int level, cmg_role role,
                                    const char *name, int factor)
{
    cmgi_csr *found = find_given(h, &(place){level, role, name, factor});
    return found != NULL && cmgi_resident_bring(h->ctx, found) == CMG_OK ? found : NULL;
}

bool cmgi_hierarchy_has(const cmg_hierarchy *h, int level, cmg_role role)
{
    return find_given(h, &(place){level, role, NULL, 0}) != NULL;
}

const cmgi_resident *cmgi_hierarchy_there(const cmg_hierarchy *h, int level, cmg_role role)
{
    const cmgi_csr *found = find_given(h, &(place){level, role, NULL, 0});
    return found != NULL ? found->there : NULL;
}

cmg_status cmgi_hierarchy_matrix(const cmg_hierarchy *h, int level, const cmgi_resident **there,
                                 cmg_csr *A)
{
    *there = cmgi_hierarchy_there(h, level, CMG_ROLE_A);
    if (*there == NULL) {
        return cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, A);
    }
    *A = (*there)->csr;
    return CMG_OK;
}

const char *const cmgi_role_names[] = {"A", "P", "R", "smoother", "inverse"};

static cmg_status check_role(cmg_context *ctx, cmg_role role)
{
    CMGI_CHECK(ctx, role >= CMG_ROLE_A && role <= CMG_ROLE_INVERSE, CMG_ERR_ARG, "unknown role %d",
               (int)role);
    return CMG_OK;
}

static cmg_status check_place(const cmg_hierarchy *h, const place *at)
{
    cmg_context *ctx = h->ctx;
    const bool transfer = at->role == CMG_ROLE_P || at->role == CMG_ROLE_R;
    CMGI_TRY(cmgi_hierarchy_check_level(h, at->level));
    CMGI_TRY(check_role(ctx, at->role));
    CMGI_CHECK(ctx, !transfer || at->level + 1 < h->levels, CMG_ERR_ARG,
               "level %d is the coarsest and has no %s", at->level, cmgi_role_names[at->role]);
    CMGI_CHECK(ctx, at->role != CMG_ROLE_INVERSE || at->level + 1 == h->levels, CMG_ERR_ARG,
               "level %d is not the coarsest and has no inverse", at->level);
    if (at->role != CMG_ROLE_SMOOTHER) {
        CMGI_CHECK(ctx, at->name == NULL && at->factor == 0, CMG_ERR_ARG,
                   "%s takes neither name nor factor", cmgi_role_names[at->role]);
        return CMG_OK;
    }
    CMGI_CHECK(ctx, at->name != NULL && at->name[0] != '\0', CMG_ERR_ARG,
               "a smoother needs a name");
    const cmgi_stored_smoother *s = cmgi_stored_smoother_find(&h->level[at->level], at->name);
    const int factors = s != NULL ? s->factors : 0;
    CMGI_CHECK(ctx, at->factor >= 0 && at->factor < CMGI_HIERARCHY_FACTORS && at->factor <= factors,
               CMG_ERR_ARG, "level %d: smoother \"%s\": factor %d follows %d factors", at->level,
               at->name, at->factor, factors);
    return CMG_OK;
}

/*
 * The same pattern, so that solvers can go on with new values. Borrowed arrays may have been
 * written to meanwhile, so they are not compared.
 */
static bool same_pattern(const cmgi_csr *A, const cmgi_csr *B)
{
    if (A->indptr == NULL || B->indptr == NULL || A->there != NULL || B->there != NULL ||
        A->borrowed || A->rows != B->rows || A->cols != B->cols ||
        A->indptr[A->rows] != B->indptr[B->rows]) {
        return false;
    }
    const size_t nnz = (size_t)A->indptr[A->rows];
    return memcmp(A->indptr, B->indptr, (size_t)(A->rows + 1) * sizeof *A->indptr) == 0 &&
           memcmp(A->indices, B->indices, nnz * sizeof *A->indices) == 0;
}

/* Puts a matrix into its place, freeing the one that is there. */
static cmg_status put(cmg_hierarchy *h, const place *at, cmgi_csr *csr)
{
    cmgi_stored_level *stored = &h->level[at->level];
    cmgi_csr *to = cmgi_stored_matrix(stored, at->role);
    if (at->role == CMG_ROLE_SMOOTHER) {
        cmgi_stored_smoother *s = NULL;
        CMGI_TRY(cmgi_stored_smoother_open(h->ctx, stored, at->name, &s));
        s->factors = at->factor + 1 > s->factors ? at->factor + 1 : s->factors;
        to = &s->factor[at->factor];
    }
    h->generation += same_pattern(to, csr) ? 0 : 1;
    ++h->values;
    cmgi_csr_free(h->ctx, to);
    CMGI_PASS_ON(csr, to);
    if (at->role <= CMG_ROLE_R) {
        h->stale = true;
        cmgi_csr_free(h->ctx, &stored->AP);
        cmgi_csr_free(h->ctx, &stored->PT);
    }
    stored->ideal = stored->ideal && at->role != CMG_ROLE_R;
    cmgi_csr *coarse = at->role == CMG_ROLE_P ? &h->level[at->level + 1].A : NULL;
    if (at->role == CMG_ROLE_A) {
        stored->facts.known = false;
        cmgi_csr_facts_forget(h->ctx, &stored->facts);
        stored->formed = false;
        cmgi_stored_elements_clear(h->ctx, stored); /* they were those of another A */
    } else if (coarse != NULL && !cmgi_csr_given(coarse)) {
        coarse->rows = to->cols;
        coarse->cols = to->cols;
    }
    h->checked = false;
    return CMG_OK;
}

/* How messages call a matrix. */
static void name_place(const place *at, char *what, size_t size)
{
    (void)snprintf(what, size, "level %d: %s%s%s", at->level, cmgi_role_names[at->role],
                   at->name != NULL ? " " : "", at->name != NULL ? at->name : "");
}

static cmg_status check_square(const cmg_hierarchy *h, cmg_role role, const char *what,
                               const cmg_csr *csr)
{
    const bool square = role != CMG_ROLE_P && role != CMG_ROLE_R;
    CMGI_CHECK(h->ctx, !square || csr->rows == csr->cols, CMG_ERR_SHAPE,
               "%s is %lld x %lld, not square", what, (long long)csr->rows, (long long)csr->cols);
    return CMG_OK;
}

static cmg_status check_structure(cmg_hierarchy *h, const place *at, const cmg_csr *csr)
{
    char what[128];
    CMGI_TRY(check_place(h, at));
    name_place(at, what, sizeof what);
    CMGI_TRY(cmgi_csr_check(h->ctx, what, csr));
    return check_square(h, at->role, what, csr);
}

cmg_status cmgi_hierarchy_take_csr(cmg_hierarchy *h, int level, cmg_role role, const char *name,
                                   int factor, cmgi_csr *csr)
{
    const place at = {level, role, name, factor};
    CMGI_RELEASED(cmgi_csr_free, h->ctx, csr);
    CMGI_TRY(csr->there != NULL || csr->kinds != NULL ? check_place(h, &at)
                                                      : check_structure(h, &at, &csr->view));
    return put(h, &at, csr);
}

cmg_status cmgi_hierarchy_take_formed(cmg_hierarchy *h, int level, cmgi_csr *csr)
{
    CMGI_TRY(cmgi_hierarchy_take_csr(h, level, CMG_ROLE_A, NULL, 0, csr));
    h->level[level].formed = true;
    return CMG_OK;
}

/*
 * A matrix on the device: as it is there for A, P and R; smoothers and inverses are read by the
 * host and fetched.
 */
static cmg_status put_there(cmg_hierarchy *h, const place *at, const cmg_csr *csr, bool borrow)
{
    cmg_context *ctx = h->ctx;
    char what[128];
    cmgi_resident R = {0};
    cmgi_scoped_csr made = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    CMGI_TRY(check_place(h, at));
    name_place(at, what, sizeof what);
    CMGI_TRY(cmgi_resident_look(ctx, what, csr, &R));
    CMGI_TRY(check_square(h, at->role, what, csr));
    if (at->role > CMG_ROLE_R) {
        CMGI_TRY(cmgi_resident_fetch(ctx, csr, R.rows.nnz, &made));
    } else {
        CMGI_TRY(borrow ? CMG_OK : cmgi_resident_keep(ctx, &R));
        CMGI_TRY(cmgi_resident_attach(ctx, &R, &made));
    }
    return put(h, at, &made);
}

cmg_status cmgi_hierarchy_take_there(cmg_hierarchy *h, int level, cmg_role role, cmg_csr *csr)
{
    const place at = {level, role, NULL, 0};
    CMGI_RELEASED(cmgi_resident_free_arrays, h->ctx, csr);
    CMGI_TRY(put_there(h, &at, csr, true));
    find_given(h, &at)->there->borrowed = false;
    *csr = (cmg_csr){0};
    return CMG_OK;
}

/* The caller's matrix, copied or borrowed. */
static cmg_status put_given(cmg_hierarchy *h, const place *at, const cmg_csr *csr, bool borrow)
{
    bool there = false;
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, csr != NULL, CMG_ERR_ARG, "hierarchy: the CSR is NULL");
    CMGI_TRY(cmgi_resident_is(h->ctx, csr, &there));
    if (there) {
        return put_there(h, at, csr, borrow);
    }
    CMGI_TRY(check_structure(h, at, csr));
    cmgi_scoped_csr own = borrow ? cmgi_csr_borrow(csr) : (cmgi_csr){0};
    CMGI_TRY(borrow ? CMG_OK : cmgi_csr_copy(h->ctx, csr, &own));
    return put(h, at, &own);
}

cmg_status cmg_hierarchy_set_csr(cmg_hierarchy *h, int level, cmg_role role, const char *name,
                                 int factor, const cmg_csr *csr)
{
    return put_given(h, &(place){level, role, name, factor}, csr, false);
}

cmg_status cmg_hierarchy_wrap_csr(cmg_hierarchy *h, int level, cmg_role role, const char *name,
                                  int factor, const cmg_csr *csr)
{
    return put_given(h, &(place){level, role, name, factor}, csr, true);
}

cmg_status cmg_hierarchy_get_csr(const cmg_hierarchy *h, int level, cmg_role role, const char *name,
                                 int factor, cmg_csr *csr)
{
    char what[128];
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, csr != NULL, CMG_ERR_ARG, "hierarchy: the out-pointer is NULL");
    CMGI_TRY(check_role(h->ctx, role));
    const place at = {level, role, name, factor};
    cmgi_csr *found = find_given(h, &at);
    CMGI_CHECK(h->ctx, found != NULL, CMG_ERR_STATE, "level %d has no %s%s%s", level,
               cmgi_role_names[role], name != NULL ? " " : "", name != NULL ? name : "");
    name_place(&at, what, sizeof what);
    CMGI_TRY(found->kinds != NULL && found->indptr == NULL ? cmgi_kinds_expand(h->ctx, what, found)
                                                           : cmgi_resident_bring(h->ctx, found));
    *csr = found->view;
    return CMG_OK;
}

/* What update_there and update_here are given: values that come into a matrix's place. */
typedef struct new_values {
    cmg_role role;
    const char *what; /* the matrix as messages call it */
    const double *values;
    bool device;    /* they are on one */
    bool reachable; /* ... that the context's can read */
} new_values;

/* Looks at values in a matrix's place, which has the old ones again where they are refused. */
static cmg_status try_values(cmg_context *ctx, const new_values *given, const double *values,
                             cmgi_resident *R, cmgi_csr_facts *facts)
{
    const double *old = R->csr.values;
    cmgi_csr seen = {.rows = R->csr.rows, .cols = R->csr.cols, .there = R};
    R->csr.values = values;
    cmg_status status = cmgi_resident_look_again(ctx, R);
    if (status == CMG_OK) {
        status = cmgi_hierarchy_check_values(ctx, given->what, given->role, &seen, facts);
    }
    if (status != CMG_OK) {
        R->csr.values = old;
        (void)cmgi_resident_look_again(ctx, R);
    }
    seen.there = NULL;
    cmgi_csr_free(ctx, &seen);
    return status;
}

/* New values of a matrix on the device, from there, or, where it is ours, from the host. */
static cmg_status update_there(cmg_context *ctx, const new_values *given, cmgi_csr *stored,
                               cmgi_csr_facts *facts)
{
    cmgi_resident *R = stored->there;
    const size_t bytes = (size_t)R->rows.nnz * sizeof *given->values;
    const double *old = R->csr.values;
    double *staged = NULL;
    CMGI_FREED(ctx, &staged);
    CMGI_CHECK(ctx, given->reachable == given->device && (given->device || !R->borrowed),
               CMG_ERR_ARG,
               "hierarchy update: %s is borrowed on device %d: so have to be its values",
               given->what, ctx->options.device);
    if (!given->device) {
        CMGI_TRY(cmgi_alloc_device(ctx, R->rows.nnz, sizeof *staged, &staged));
        CMGI_TRY(cmgi_to_device(ctx, staged, given->values, bytes));
    }
    const double *source = given->device ? given->values : staged;
    CMGI_TRY(try_values(ctx, given, source, R, facts));
    if (!R->borrowed) {
        R->csr.values = old;
        CMGI_TRY(cmgi_to_device(ctx, (void *)(uintptr_t)old, source, bytes));
    }
    stored->there = NULL; /* what the host had is old */
    cmgi_csr_free(ctx, stored);
    *stored = (cmgi_csr){.rows = R->csr.rows, .cols = R->csr.cols, .there = R};
    return CMG_OK;
}

/* New values on the host, which may come from the device. */
static cmg_status update_here(cmg_context *ctx, const new_values *given, cmgi_csr *stored,
                              cmgi_csr_facts *facts)
{
    CMGI_CHECK(ctx, !given->device || !stored->borrowed, CMG_ERR_ARG,
               "hierarchy update: %s is borrowed on the host: so have to be its values",
               given->what);
    const cmg_size nnz = stored->indptr[stored->rows];
    const size_t bytes = (size_t)nnz * sizeof *given->values;
    cmg_csr view = stored->view;
    cmgi_scoped double *fetched = NULL;
    if (given->device) {
        CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *fetched, &fetched));
        CMGI_TRY(cmgi_to_host(ctx, fetched, given->values, bytes));
    }
    view.values = given->device ? fetched : given->values;
    const cmgi_csr seen = cmgi_csr_borrow(&view);
    CMGI_TRY(cmgi_hierarchy_check_values(ctx, given->what, given->role, &seen, facts));
    if (stored->borrowed) {
        stored->values = (double *)(uintptr_t)view.values;
    } else {
        memmove(stored->values, view.values, bytes);
    }
    return CMG_OK;
}

cmg_status cmg_hierarchy_update(cmg_hierarchy *h, int level, cmg_role role, const double *values)
{
    char what[128];
    cmgi_csr_facts facts = {0};
    new_values given = {.role = role, .what = what, .values = values};
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, values != NULL, CMG_ERR_ARG, "hierarchy update: values is NULL");
    CMGI_CHECK(h->ctx, role >= CMG_ROLE_A && role <= CMG_ROLE_R, CMG_ERR_ARG,
               "hierarchy update: only A, P and R take new values");
    const place at = {level, role, NULL, 0};
    cmgi_csr *stored = find_given(h, &at);
    CMGI_CHECK(h->ctx, stored != NULL, CMG_ERR_STATE, "level %d has no %s", level,
               cmgi_role_names[role]);
    CMGI_CHECK(h->ctx, role != CMG_ROLE_A || h->level[level].elements.dofs == NULL, CMG_ERR_STATE,
               "level %d: A has elements: new values come with cmg_hierarchy_set_elements", level);
    name_place(&at, what, sizeof what);
    CMGI_TRY(cmgi_where_is(h->ctx, values, &given.device, &given.reachable));
    const bool there = stored->there != NULL;
    const double *old = there ? stored->there->csr.values : stored->values;
    const cmg_status status = stored->kinds != NULL
                                  ? cmgi_kinds_update(h->ctx, what, values, stored)
                              : there ? update_there(h->ctx, &given, stored, &facts)
                                      : update_here(h->ctx, &given, stored, &facts);
    const bool refused = status == CMG_ERR_ARG && values != old; /* else borrowed ones may be new */
    h->checked = h->checked && (status == CMG_OK || refused);
    h->values += !refused;
    CMGI_TRY(status);
    h->stale = true;
    if (role == CMG_ROLE_A) {
        cmgi_csr_facts_forget(h->ctx, &h->level[level].facts);
        h->level[level].facts = stored->kinds != NULL ? stored->kinds->facts : facts;
    }
    return CMG_OK;
}

int cmg_hierarchy_levels(const cmg_hierarchy *h)
{
    return h != NULL ? h->levels : 0;
}

cmg_size cmg_hierarchy_rows(const cmg_hierarchy *h, int level)
{
    return h != NULL && level >= 0 && level < h->levels ? h->level[level].A.rows : 0;
}

const char *cmg_hierarchy_smoother(const cmg_hierarchy *h, int level, int i)
{
    const bool there = h != NULL && level >= 0 && level < h->levels && i >= 0;
    return there && i < h->level[level].smoothers ? h->level[level].smoother[i]->name : NULL;
}

int cmg_hierarchy_factors(const cmg_hierarchy *h, int level, const char *name)
{
    const bool there = h != NULL && level >= 0 && level < h->levels;
    const cmgi_stored_smoother *s =
        there ? cmgi_stored_smoother_find(&h->level[level], name) : NULL;
    return s != NULL ? s->factors : 0;
}

cmg_status cmg_hierarchy_select(cmg_hierarchy *h, int first, int drop_coarsest)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx,
               first >= 0 && drop_coarsest >= 0 && drop_coarsest < h->levels &&
                   first < h->levels - drop_coarsest,
               CMG_ERR_ARG,
               "level %d as the finest without the %d coarsest leaves nothing of %d levels", first,
               drop_coarsest, h->levels);
    const int last = h->levels - 1 - drop_coarsest;
    for (int l = 0; l < h->levels; ++l) {
        if (l < first || l > last) {
            clear_level(ctx, &h->level[l]);
        }
    }
    ++h->generation;
    cmgi_csr_free(ctx, &h->level[last].P);
    cmgi_csr_free(ctx, &h->level[last].R);
    h->level[last].ideal = false;
    cmgi_hierarchy_select_vectors(h, first, last);
    if (first > 0) {
        cmgi_stored_mesh_destroy(ctx, &h->mesh);
    }
    memmove(h->level, h->level + first, (size_t)(last - first + 1) * sizeof h->level[0]);
    h->levels = last - first + 1;
    memset(h->level + h->levels, 0,
           (size_t)(CMGI_HIERARCHY_LEVELS - h->levels) * sizeof h->level[0]);
    h->checked = false;
    return CMG_OK;
}
