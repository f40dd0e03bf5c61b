/* What a solver relies on, and facts about a level for people. */
#include "hierarchy/hierarchy.h"

#include "core/memory.h"
#include "core/report.h"
#include "core/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cmg_size cmgi_first_not_finite(cmg_context *ctx, cmg_size n, const double *values)
{
    cmg_size bad = n;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (n > 1 << 16)
    for (cmg_size k = 0; k < n; ++k) {
        bad = !isfinite(values[k]) && k < bad ? k : bad;
    }
    (void)ctx;
    return bad < n ? bad : -1;
}

static cmg_status check_values(cmg_context *ctx, const char *name, const cmgi_csr *M)
{
    if (M->kinds != NULL || (M->there != NULL && M->there->facts.not_finite < 0)) {
        return CMG_OK; /* of kinds when they were given */
    }
    /* where the device has found something, the host looks at its copy and says what */
    CMGI_TRY(cmgi_resident_bring(ctx, (cmgi_csr *)(uintptr_t)M));
    const cmg_size k = cmgi_first_not_finite(ctx, M->indptr[M->rows], M->values);
    if (k < 0) {
        return CMG_OK; /* sums of a row overflow */
    }
    return cmgi_fail(ctx, CMG_ERR_ARG, "%s: row %lld, column %lld: value %g is not finite", name,
                     (long long)cmgi_csr_row_of(&M->view, k), (long long)M->indices[k],
                     M->values[k]);
}

static cmg_status check_sized(const cmg_hierarchy *h, int l, const char *what, const cmgi_csr *M,
                              cmg_size rows, cmg_size cols)
{
    char name[256];
    (void)snprintf(name, sizeof name, "level %d: %s", h->above + l, what);
    CMGI_CHECK(h->ctx, M->rows == rows && M->cols == cols, CMG_ERR_ARG,
               "%s is %lld x %lld where the levels' sizes ask for %lld x %lld", name,
               (long long)M->rows, (long long)M->cols, (long long)rows, (long long)cols);
    return check_values(h->ctx, name, M);
}

static cmg_status check_rows(cmg_context *ctx, const char *name, const cmgi_csr *A)
{
    if (A->there != NULL && A->there->facts.zero_diagonal < 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_resident_bring(ctx, (cmgi_csr *)(uintptr_t)A));
    const cmg_size bad = cmgi_csr_zero_diagonal(&A->view);
    if (bad == A->rows) {
        return CMG_OK;
    }
    CMGI_CHECK(ctx, A->indptr[bad + 1] > A->indptr[bad], CMG_ERR_ARG, "%s: row %lld is empty", name,
               (long long)bad);
    return cmgi_fail(ctx, CMG_ERR_ARG,
                     "%s: row %lld: the diagonal is zero or missing, and smoothing divides by it: "
                     "put the rows in an order that has one, or of a saddle point take the block "
                     "that has one (docs/when-not.md)",
                     name, (long long)bad);
}

/* Values and rows in one pass, which says where to look at them again. */
static cmg_status check_matrix(cmg_context *ctx, const char *name, const cmgi_csr *A,
                               cmgi_csr_facts *facts)
{
    *facts =
        A->kinds != NULL ? A->kinds->facts : (cmgi_csr_facts){.looks.wanted = facts->looks.wanted};
    if (A->kinds != NULL) {
        return CMG_OK;
    }
    if (A->there == NULL && A->rows == A->cols) {
        CMGI_TRY(cmgi_csr_facts_take(ctx, &A->view, 0, A->rows, facts));
        if (facts->bad < 0) {
            return CMG_OK;
        }
        facts->known = false;
    }
    CMGI_TRY(check_values(ctx, name, A));
    return check_rows(ctx, name, A);
}

cmg_status cmgi_hierarchy_check_values(cmg_context *ctx, const char *name, cmg_role role,
                                       const cmgi_csr *M, cmgi_csr_facts *facts)
{
    return role == CMG_ROLE_A ? check_matrix(ctx, name, M, facts) : check_values(ctx, name, M);
}

static cmg_status check_level(const cmg_hierarchy *h, int l, cmgi_csr_facts *facts)
{
    cmg_context *ctx = h->ctx;
    const cmgi_stored_level *level = &h->level[l];
    const cmg_size n = level->A.rows;
    char name[192];
    (void)snprintf(name, sizeof name, "level %d: A", h->above + l);
    CMGI_CHECK(ctx, cmgi_csr_given(&level->A) || (l > 0 && cmgi_csr_given(&h->level[l - 1].P)),
               CMG_ERR_ARG, "level %d has no A", h->above + l);
    CMGI_CHECK(ctx, n > 0, CMG_ERR_ARG, "%s has no rows", name);
    if (cmgi_csr_given(&level->A)) {
        CMGI_TRY(check_matrix(ctx, name, &level->A, facts));
    }
    if (l + 1 < h->levels) {
        const cmg_size coarse = h->level[l + 1].A.rows;
        const bool restricts = cmgi_csr_given(&level->R);
        CMGI_CHECK(ctx, cmgi_csr_given(&level->P), CMG_ERR_ARG, "level %d has no P", h->above + l);
        CMGI_TRY(check_sized(h, l, "P", &level->P, n, coarse));
        CMGI_TRY(restricts ? check_sized(h, l, "R", &level->R, coarse, n) : CMG_OK);
    }
    for (int s = 0; s < level->smoothers; ++s) {
        for (int k = 0; k < level->smoother[s]->factors; ++k) {
            (void)snprintf(name, sizeof name, "smoother %s, factor %d", level->smoother[s]->name,
                           k);
            CMGI_TRY(check_sized(h, l, name, &level->smoother[s]->factor[k], n, n));
        }
    }
    return level->inverse.indptr != NULL ? check_sized(h, l, "inverse", &level->inverse, n, n)
                                         : CMG_OK;
}

static cmg_status check_vector(const cmg_hierarchy *h, const cmgi_stored_vector *v)
{
    const cmg_size n = h->level[v->level].A.rows;
    const bool partition = strcmp(v->kind, "partition") == 0;
    const bool coords = strcmp(v->kind, "coords") == 0 || partition;
    const bool several = strcmp(v->kind, "nullspace") == 0 && v->n > 0 && n > 0 && v->n % n == 0;
    CMGI_CHECK(h->ctx, coords || several || v->n == n, CMG_ERR_ARG,
               "level %d: vector %s %s has %lld entries, A has %lld rows", h->above + v->level,
               v->kind, v->name, (long long)v->n, (long long)n);
    const cmg_size k = cmgi_first_not_finite(h->ctx, v->n, v->values);
    CMGI_CHECK(h->ctx, k < 0, CMG_ERR_ARG,
               "level %d: vector %s %s: entry %lld: value %g is not finite", h->above + v->level,
               v->kind, v->name, (long long)k, v->values[k]);
    bool divides =
        !partition || (v->n >= 2 && v->values[0] == 0 && v->values[v->n - 1] == (double)n);
    for (cmg_size r = 1; partition && divides && r < v->n; ++r) {
        divides = v->values[r] >= v->values[r - 1] && v->values[r] == floor(v->values[r]);
    }
    CMGI_CHECK(h->ctx, divides, CMG_ERR_ARG,
               "level %d: the partition of %lld entries does not rise from 0 to the %lld rows",
               v->level, (long long)v->n, (long long)n);
    return CMG_OK;
}

static cmg_status check(const cmg_hierarchy *h, cmgi_csr_facts facts[CMGI_HIERARCHY_LEVELS])
{
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(check_level(h, l, &facts[l]));
    }
    for (int i = 0; i < h->vectors; ++i) {
        CMGI_TRY(check_vector(h, &h->vector[i]));
    }
    return CMG_OK;
}

cmg_status cmg_hierarchy_check(const cmg_hierarchy *h)
{
    cmgi_csr_facts facts[CMGI_HIERARCHY_LEVELS] = {{0}};
    CMGI_GIVEN(h);
    return check(h, facts);
}

cmg_status cmgi_hierarchy_ensure_checked(cmg_hierarchy *h, bool looks)
{
    cmgi_csr_facts facts[CMGI_HIERARCHY_LEVELS] = {{0}};
    if (h->checked) {
        return CMG_OK;
    }
    for (int l = 0; l < h->levels; ++l) {
        facts[l].looks.wanted = looks;
    }
    const cmg_status status = check(h, facts);
    for (int l = 0; l < h->levels; ++l) {
        if (status == CMG_OK) {
            cmgi_csr_facts_forget(h->ctx, &h->level[l].facts);
            h->level[l].facts = facts[l];
        } else {
            cmgi_csr_facts_forget(h->ctx, &facts[l]);
        }
    }
    h->checked = status == CMG_OK;
    return status;
}

void cmgi_hierarchy_forget(cmg_hierarchy *h)
{
    for (int l = 0; l < h->levels; ++l) {
        cmgi_csr_facts_forget(h->ctx, &h->level[l].facts);
    }
}

/* The largest |a_ij - a_ji|, of all entries and of interior ones. */
static cmg_status measure_asymmetry(cmg_context *ctx, const cmg_csr *A, const bool *dirichlet,
                                    cmg_level_info *info)
{
    cmgi_scoped_csr T = {0}; /* its rows are sorted */
    double all = 0;
    double interior = 0;
    double largest = 0;
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &T));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(max                                                                                  \
              : all, interior, largest)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size end = T.indptr[i + 1];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_index j = A->indices[k];
            const cmg_size q = cmgi_search_index(T.indices, T.indptr[i], end, j);
            const double back = q < end && T.indices[q] == j ? T.values[q] : 0;
            const double difference = fabs(A->values[k] - back);
            largest = fmax(largest, fabs(A->values[k]));
            all = fmax(all, difference);
            interior = fmax(interior, dirichlet[i] || dirichlet[j] ? 0 : difference);
        }
    }
    info->asymmetry = largest > 0 ? all / largest : 0;
    info->asymmetry_interior = largest > 0 ? interior / largest : 0;
    return CMG_OK;
}

/* ||R A P - A_c||_F / ||A_c||_F without rows and columns that are Dirichlet in A_c */
static cmg_status measure_galerkin(const cmg_hierarchy *h, int l, double *defect)
{
    cmg_context *ctx = h->ctx;
    const cmg_csr A = h->level[l].A.view;
    const cmg_csr P = h->level[l].P.view;
    const cmg_csr B = h->level[l + 1].A.view;
    cmgi_scoped_csr R = {0};
    cmgi_scoped_csr AP = {0};
    cmgi_scoped_csr C = {0};
    cmgi_scoped_csr sorted = {0};
    if (h->level[l].R.indptr == NULL) {
        CMGI_TRY(cmgi_csr_transpose(ctx, &P, &R));
    }
    const cmg_csr restriction = (R.indptr != NULL ? &R : &h->level[l].R)->view;
    CMGI_TRY(cmgi_csr_multiply(ctx, &A, &P, &AP));
    CMGI_TRY(cmgi_csr_multiply(ctx, &restriction, &AP.view, &C));
    CMGI_TRY(cmgi_csr_permute(ctx, &B, NULL, NULL, true, &sorted));
    CMGI_SCOPED(ctx, B.rows, bool, skip);
    for (cmg_size i = 0; i < B.rows; ++i) {
        skip[i] = cmgi_csr_identity_row(&B, i);
    }
    double sums[2] = {0, 0};
    for (cmg_size i = 0; i < B.rows; ++i) {
        cmgi_row_pair v = cmgi_row_pair_before(&C.view, &sorted.view, i);
        while (!skip[i] && cmgi_row_pair_next(&v)) {
            sums[0] += skip[v.j] ? 0 : (v.a - v.b) * (v.a - v.b);
            sums[1] += skip[v.j] ? 0 : v.b * v.b;
        }
    }
    *defect = sums[1] > 0 ? sqrt(sums[0] / sums[1]) : sqrt(sums[0]);
    return CMG_OK;
}

static size_t csr_bytes(const cmgi_csr *M)
{
    if (M->indptr == NULL) {
        return 0;
    }
    return (size_t)(M->rows + 1) * sizeof *M->indptr +
           (size_t)M->indptr[M->rows] * (sizeof *M->indices + sizeof *M->values);
}

cmg_status cmg_hierarchy_level_info(const cmg_hierarchy *h, int level, bool galerkin,
                                    cmg_level_info *info)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, info != NULL, CMG_ERR_ARG, "level info: the out-pointer is NULL");
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_level_info", info, sizeof *info));
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    CMGI_TRY(cmgi_hierarchy_bring(h));
    const cmgi_stored_level *stored = &h->level[level];
    CMGI_CHECK(ctx, stored->A.indptr != NULL, CMG_ERR_STATE, "level %d has no A", level);
    const cmg_csr A = stored->A.view;
    cmg_level_info made = {.rows = A.rows, .nnz = A.indptr[A.rows], .galerkin_defect = -1};
    CMGI_SCOPED(ctx, A.rows, bool, dirichlet);
    made.row_min = A.rows > 0 ? A.cols : 0;
    for (cmg_size i = 0; i < A.rows; ++i) {
        const cmg_size length = A.indptr[i + 1] - A.indptr[i];
        made.row_min = length < made.row_min ? length : made.row_min;
        made.row_max = length > made.row_max ? length : made.row_max;
        dirichlet[i] = cmgi_csr_identity_row(&A, i);
        made.dirichlet_rows += dirichlet[i];
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            made.explicit_zeros += A.values[k] == 0;
            made.negative_diagonal += A.indices[k] == i && A.values[k] < 0;
        }
    }
    CMGI_TRY(measure_asymmetry(ctx, &A, dirichlet, &made));
    made.p_nnz = stored->P.indptr != NULL ? stored->P.indptr[stored->P.rows] : 0;
    made.bytes = csr_bytes(&stored->A) + csr_bytes(&stored->P) + csr_bytes(&stored->R) +
                 csr_bytes(&stored->inverse);
    for (int s = 0; s < stored->smoothers; ++s) {
        for (int k = 0; k < stored->smoother[s]->factors; ++k) {
            made.bytes += csr_bytes(&stored->smoother[s]->factor[k]);
        }
    }
    if (galerkin && stored->P.indptr != NULL && h->level[level + 1].A.indptr != NULL) {
        CMGI_TRY(measure_galerkin(h, level, &made.galerkin_defect));
    }
    cmgi_sized_give(&made, info);
    return CMG_OK;
}
