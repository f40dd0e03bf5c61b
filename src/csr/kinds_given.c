/* Matrices of few kinds of rows as they are given: checks, grids, new values; see kinds.h. */
#include "csr/kinds.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 4096 };

/* Kinds as they are given, or as a grid has them. */
typedef struct draft {
    int kinds;
    const cmg_size *indptr;
    const cmg_index *offset;
    const double *value;
    const cmg_index *from; /* NULL = entry e has value e */
    cmgi_kind_count *rows; /* kinds */
} draft;

/* In the order of cmgi_kinds_by_rows. */
typedef struct ranked {
    cmgi_kind_count rows;
    int kind;
} ranked;

/* Kinds that rows have, the most frequent first; number[k] of the given kind k. */
static cmg_status take_kinds(cmg_context *ctx, const draft *d, cmgi_kinds *K, uint16_t *number)
{
    const cmg_size entries = d->indptr[d->kinds];
    CMGI_SCOPED(ctx, d->kinds, ranked, order);
    for (int k = 0; k < d->kinds; ++k) {
        order[k] = (ranked){d->rows[k], k};
        K->count += d->rows[k].rows > 0;
    }
    qsort(order, (size_t)d->kinds, sizeof *order, cmgi_kinds_by_rows);
    CMGI_TRY(cmgi_alloc(ctx, K->count + 1, sizeof *K->indptr, &K->indptr));
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *K->offset, &K->offset));
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *K->value, &K->value));
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof *K->from, &K->from));
    CMGI_TRY(cmgi_alloc(ctx, K->count, sizeof *K->many, &K->many));
    CMGI_TRY(cmgi_alloc(ctx, K->count, sizeof *K->row, &K->row));
    CMGI_TRY(cmgi_alloc(ctx, K->count, sizeof *K->number, &K->number));
    K->indptr[0] = 0;
    for (int k = 0; k < K->count; ++k) {
        const int of = order[k].kind;
        const cmg_size begin = d->indptr[of];
        const cmg_size length = d->indptr[of + 1] - begin;
        const cmg_index shift = !K->square && length > 0 ? d->offset[begin] : 0;
        number[of] = (uint16_t)k;
        K->number[k] = of;
        K->many[k] = order[k].rows.rows;
        K->row[k] = (cmg_index)order[k].rows.first;
        K->nnz += K->many[k] * length;
        K->indptr[k + 1] = K->indptr[k] + length;
        for (cmg_size e = 0; e < length; ++e) {
            const cmg_size at = K->indptr[k] + e;
            K->offset[at] = d->offset[begin + e] - shift;
            K->value[at] = d->value[begin + e];
            K->from[at] = d->from != NULL ? d->from[begin + e] : (cmg_index)(begin + e);
        }
    }
    return CMG_OK;
}

static cmg_status check_values(cmg_context *ctx, const char *name, const cmgi_kinds *K,
                               const double *value)
{
    for (int k = 0; k < K->count; ++k) {
        double diagonal = 0;
        for (cmg_size e = K->indptr[k]; e < K->indptr[k + 1]; ++e) {
            CMGI_CHECK(ctx, isfinite(value[e]), CMG_ERR_ARG,
                       "%s: kind %lld, row %lld, entry %lld: value %g is not finite", name,
                       (long long)K->number[k], (long long)K->row[k], (long long)(e - K->indptr[k]),
                       value[e]);
            diagonal += K->offset[e] == 0 ? value[e] : 0;
        }
        CMGI_CHECK(ctx, !K->square || diagonal != 0, CMG_ERR_ARG, "%s: kind %lld, row %lld: %s",
                   name, (long long)K->number[k], (long long)K->row[k],
                   K->indptr[k + 1] == K->indptr[k] ? "the row is empty"
                                                    : "the diagonal is zero or missing");
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ kinds and ids */

static cmg_index id_at(const cmg_templates *t, cmg_size i)
{
    return t->id_bits == 8    ? ((const uint8_t *)t->ids)[i]
           : t->id_bits == 16 ? ((const uint16_t *)t->ids)[i]
                              : ((const cmg_index *)t->ids)[i];
}

static cmg_index reference_at(const cmg_templates *t, cmg_size i)
{
    return t->references != NULL ? t->references[i] : (cmg_index)i;
}

static cmg_status check_arrays(cmg_context *ctx, const char *name, bool square,
                               const cmg_templates *t)
{
    CMGI_CHECK(ctx, t->rows >= 0 && t->rows <= INT32_MAX && t->cols >= 0 && t->cols <= INT32_MAX,
               CMG_ERR_SHAPE, "%s: %lld x %lld is not a size of 0 .. 2147483647 rows and columns",
               name, (long long)t->rows, (long long)t->cols);
    CMGI_CHECK(ctx, t->kinds >= (t->rows > 0) && t->kinds <= CMGI_KINDS_MOST, CMG_ERR_ARG,
               "%s: %d kinds are not in 1 .. %d", name, t->kinds, (int)CMGI_KINDS_MOST);
    CMGI_CHECK(ctx, t->id_bits == 8 || t->id_bits == 16 || t->id_bits == 32, CMG_ERR_ARG,
               "%s: ids of %d bits; 8, 16 and 32 are known", name, t->id_bits);
    CMGI_CHECK(ctx, t->indptr != NULL && (t->ids != NULL || t->rows == 0), CMG_ERR_ARG,
               "%s: indptr or ids are NULL", name);
    CMGI_CHECK(ctx, !square || t->references == NULL, CMG_ERR_ARG,
               "%s: rows of a level matrix are their own references", name);
    CMGI_CHECK(ctx, t->indptr[0] == 0, CMG_ERR_SHAPE, "%s: indptr[0] is %lld, not 0", name,
               (long long)t->indptr[0]);
    for (int k = 0; k < t->kinds; ++k) {
        const cmg_size begin = t->indptr[k];
        const cmg_size end = t->indptr[k + 1];
        CMGI_CHECK(ctx, end >= begin && end <= CMGI_KIND_ENTRIES, CMG_ERR_SHAPE,
                   "%s: kind %d: indptr goes from %lld to %lld; all kinds have 0 .. %d entries",
                   name, k, (long long)begin, (long long)end, (int)CMGI_KIND_ENTRIES);
        CMGI_CHECK(ctx, end == begin || (t->offsets != NULL && t->values != NULL), CMG_ERR_ARG,
                   "%s: offsets or values are NULL", name);
        for (cmg_size e = begin; e < end; ++e) {
            cmg_size first = begin;
            while (t->offsets[first] != t->offsets[e]) {
                ++first;
            }
            CMGI_CHECK(ctx, first == e, CMG_ERR_SHAPE, "%s: kind %d: offset %lld is duplicated",
                       name, k, (long long)t->offsets[e]);
        }
    }
    return CMG_OK;
}

/* What is wrong with a row. */
static cmg_status tell(cmg_context *ctx, const char *name, const cmg_templates *t, cmg_size i)
{
    const cmg_index k = id_at(t, i);
    CMGI_CHECK(ctx, k >= 0 && k < t->kinds, CMG_ERR_SHAPE,
               "%s: row %lld is of kind %lld, there are %d", name, (long long)i, (long long)k,
               t->kinds);
    for (cmg_size e = t->indptr[k]; e < t->indptr[k + 1]; ++e) {
        const int64_t column = (int64_t)t->offsets[e] + reference_at(t, i);
        CMGI_CHECK(ctx, column >= 0 && column < t->cols, CMG_ERR_SHAPE,
                   "%s: kind %lld, offset %lld: in row %lld column %lld is out of range [0, %lld)",
                   name, (long long)k, (long long)t->offsets[e], (long long)i, (long long)column,
                   (long long)t->cols);
    }
    return CMG_OK;
}

/* Ids and columns of all rows, by the least and the largest offset of each kind. */
static cmg_status check_rows(cmg_context *ctx, const char *name, const cmg_templates *t,
                             uint16_t *id)
{
    cmgi_scoped cmg_index(*span)[2] = NULL;
    cmg_size bad = t->rows;
    CMGI_TRY(cmgi_alloc(ctx, t->kinds, sizeof *span, &span));
    for (int k = 0; k < t->kinds; ++k) {
        span[k][0] = INT32_MAX; /* of no entries: columns are never below 0 or past the end */
        span[k][1] = INT32_MIN;
        for (cmg_size e = t->indptr[k]; e < t->indptr[k + 1]; ++e) {
            span[k][0] = t->offsets[e] < span[k][0] ? t->offsets[e] : span[k][0];
            span[k][1] = t->offsets[e] > span[k][1] ? t->offsets[e] : span[k][1];
        }
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(min                                                                                  \
              : bad) if (t->rows > SMALL)
    for (cmg_size i = 0; i < t->rows; ++i) {
        const cmg_index k = id_at(t, i);
        const int64_t ref = reference_at(t, i);
        const bool known = k >= 0 && k < t->kinds;
        const bool empty = known && span[k][0] > span[k][1];
        const bool good = known && (empty || (ref + span[k][0] >= 0 && ref + span[k][1] < t->cols));
        bad = good || i > bad ? bad : i;
        id[i] = (uint16_t)k;
    }
    return bad < t->rows ? tell(ctx, name, t, bad) : CMG_OK;
}

/* How often each kind is met, and its first row. */
static cmg_status count_kinds(cmg_context *ctx, cmg_size rows, const uint16_t *id, int kinds,
                              cmgi_kind_count *count)
{
    const int parts = rows > SMALL ? ctx->threads : 1;
    CMGI_SCOPED(ctx, (cmg_size)parts * kinds, cmgi_kind_count, part);
    for (int k = 0; k < kinds; ++k) {
        count[k] = (cmgi_kind_count){.first = INT64_MAX};
    }
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        cmgi_kind_count *mine = part + (cmg_size)p * kinds;
        for (int k = 0; k < kinds; ++k) {
            mine[k] = (cmgi_kind_count){.first = INT64_MAX};
        }
        for (cmg_size i = rows * (p + 1) / parts - 1; i >= rows * p / parts; --i) {
            ++mine[id[i]].rows;
            mine[id[i]].first = i;
        }
    }
    cmgi_kind_counts_add(part, parts, kinds, count);
    return CMG_OK;
}

static cmg_status take_listed(cmg_context *ctx, const char *name, const cmg_templates *t,
                              cmgi_kinds *K)
{
    uint16_t number[CMGI_KINDS_MOST];
    draft d = {t->kinds, t->indptr, t->offsets, t->values, NULL, NULL};
    CMGI_FREED(ctx, &d.rows);
    CMGI_TRY(check_arrays(ctx, name, K->square, t));
    K->rows = t->rows;
    K->cols = t->cols;
    K->given = t->indptr[t->kinds];
    CMGI_TRY(cmgi_alloc(ctx, t->rows, sizeof *K->id, &K->id));
    CMGI_TRY(K->square ? CMG_OK : cmgi_alloc(ctx, t->rows, sizeof *K->ref, &K->ref));
    CMGI_TRY(check_rows(ctx, name, t, K->id));
    CMGI_TRY(cmgi_alloc(ctx, t->kinds, sizeof *d.rows, &d.rows));
    CMGI_TRY(count_kinds(ctx, t->rows, K->id, t->kinds, d.rows));
    CMGI_TRY(take_kinds(ctx, &d, K, number));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (t->rows > SMALL)
    for (cmg_size i = 0; i < t->rows; ++i) {
        const int k = K->id[i];
        const bool filled = t->indptr[k + 1] > t->indptr[k];
        if (K->ref != NULL) { /* the column of the first entry */
            K->ref[i] = filled ? reference_at(t, i) + t->offsets[t->indptr[k]] : 0;
        }
        K->id[i] = number[k];
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ grids */

/* Weights of a row along an axis, as many as are returned. */
static int weigh(cmgi_grid_form form, int side, cmg_index other, double *weight)
{
    if (form == CMGI_GRID_RESTRICTION && other > 1) {
        weight[0] = weight[2] = 0.5;
        weight[1] = 1;
        return 3;
    }
    weight[0] = weight[1] = form == CMGI_GRID_INTERPOLATION && side != 0 ? 0.5 : 1;
    return form == CMGI_GRID_INTERPOLATION && side == 3 ? 2 : 1;
}

cmg_size cmgi_grid_kind_entries(const cmgi_kind_grid *g, const double *stencil, const int *side,
                                cmg_size e, cmg_index *offset, double *value, cmg_index *from)
{
    double weight[3][3] = {{0}};
    int many[3] = {3, 3, 3};
    for (int d = 0; d < 3 && stencil == NULL; ++d) {
        many[d] = weigh(g->form, side[d], g->other[d], weight[d]);
    }
    for (int n = 0; n < many[0] * many[1] * many[2]; ++n) {
        const int at[3] = {n % many[0], n / many[0] % many[1], n / many[0] / many[1]};
        double v = stencil != NULL ? stencil[n] : 1;
        cmg_index to = 0;
        for (int d = 2; d >= 0; --d) {
            const int step = stencil != NULL ? at[d] - 1 : at[d];
            const bool cut = stencil != NULL &&
                             ((step < 0 && (side[d] & 1) != 0) || (step > 0 && (side[d] & 2) != 0));
            v *= cut ? 0 : stencil != NULL ? 1 : weight[d][at[d]];
            to = to * g->other[d] + step;
        }
        if (v != 0) {
            offset[e] = to;
            value[e] = v;
            from[e++] = n;
        }
    }
    return e;
}

static cmg_status take_grid(cmg_context *ctx, const double *stencil, cmgi_kinds *K)
{
    enum { ENTRIES = CMGI_GRID_KINDS * CMGI_STENCIL };
    cmgi_kind_grid *g = &K->grid;
    uint16_t number[CMGI_GRID_KINDS] = {0};
    cmgi_kind_count rows[CMGI_GRID_KINDS];
    cmg_size indptr[CMGI_GRID_KINDS + 1] = {0};
    cmg_index offset[ENTRIES];
    cmg_index from[ENTRIES];
    double value[ENTRIES];
    cmgi_kind_count on[3][4] = {{{0}}}; /* positions on each side of an axis */
    for (int d = 0; d < 3; ++d) {
        for (cmg_index at = g->size[d] - 1; at >= 0; --at) {
            cmgi_kind_count *side = &on[d][cmgi_grid_side(g->form, at, g->size[d])];
            *side = (cmgi_kind_count){side->rows + 1, at};
        }
    }
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        const int side[3] = {k % 4, k / 4 % 4, k / 16};
        const cmgi_kind_count *of[3] = {&on[0][side[0]], &on[1][side[1]], &on[2][side[2]]};
        rows[k].rows = of[0]->rows * of[1]->rows * of[2]->rows;
        rows[k].first = (of[2]->first * g->size[1] + of[1]->first) * g->size[0] + of[0]->first;
        indptr[k + 1] = cmgi_grid_kind_entries(g, stencil, side, indptr[k], offset, value, from);
    }
    const draft d = {CMGI_GRID_KINDS, indptr, offset, value, from, rows};
    K->given = stencil != NULL ? CMGI_STENCIL : 0;
    CMGI_TRY(take_kinds(ctx, &d, K, number));
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        g->number[k] = (uint8_t)number[k];
    }
    return CMG_OK;
}

static cmg_status take_given_grid(cmg_context *ctx, const char *name, const cmg_templates *t,
                                  cmgi_kinds *K)
{
    cmgi_kind_grid *g = &K->grid;
    CMGI_CHECK(ctx,
               t->kinds == 0 && t->indptr == NULL && t->offsets == NULL && t->references == NULL,
               CMG_ERR_ARG, "%s: a grid has neither kinds nor references", name);
    K->rows = K->cols = 1;
    g->form = K->square ? CMGI_GRID_STENCIL : CMGI_GRID_INTERPOLATION;
    for (int d = 0; d < 3; ++d) {
        const cmg_size n = t->grid[d];
        CMGI_CHECK(ctx, n >= 1 && K->rows * n <= INT32_MAX, CMG_ERR_SHAPE,
                   "%s: a grid of %lld x %lld x %lld is not one of 1 .. 2147483647 positions", name,
                   (long long)t->grid[0], (long long)t->grid[1], (long long)t->grid[2]);
        CMGI_CHECK(ctx, K->square || n % 2 == 1, CMG_ERR_SHAPE,
                   "%s: side %d of the grid has %lld positions; interpolation is from every second "
                   "one of an odd number",
                   name, d, (long long)n);
        g->size[d] = (cmg_index)n;
        g->other[d] = (cmg_index)(K->square || n == 1 ? n : n / 2);
        K->rows *= n;
        K->cols *= g->other[d];
    }
    CMGI_CHECK(ctx, (t->rows == 0 || t->rows == K->rows) && (t->cols == 0 || t->cols == K->cols),
               CMG_ERR_SHAPE, "%s: the grid says %lld x %lld, not %lld x %lld", name,
               (long long)K->rows, (long long)K->cols, (long long)t->rows, (long long)t->cols);
    CMGI_CHECK(ctx, (t->values != NULL) == K->square, CMG_ERR_ARG,
               K->square ? "%s: the values of the stencil are NULL"
                         : "%s: interpolation on a grid has no values",
               name);
    return take_grid(ctx, t->values, K);
}

cmg_status cmgi_kinds_transpose(cmg_context *ctx, const cmgi_kinds *P, cmgi_kinds **R)
{
    cmgi_kinds *K = NULL;
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &K);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *K, &K));
    K->rows = P->cols;
    K->cols = P->rows;
    K->grid.form = CMGI_GRID_RESTRICTION;
    memcpy(K->grid.size, P->grid.other, sizeof K->grid.size);
    memcpy(K->grid.other, P->grid.size, sizeof K->grid.other);
    CMGI_TRY(take_grid(ctx, NULL, K));
    *R = cmgi_pass_on(&K);
    return CMG_OK;
}

/* New values of a stencil come where there were some: others would be other columns. */
static cmg_status check_stencil(cmg_context *ctx, const char *name, const cmgi_kinds *K,
                                const double *values)
{
    bool placed[CMGI_STENCIL] = {false};
    for (cmg_size e = 0; e < K->indptr[K->count]; ++e) {
        placed[K->from[e]] = true;
    }
    for (int n = 0; n < CMGI_STENCIL; ++n) {
        const int step[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        const cmg_index *size = K->grid.size;
        const bool seen = (step[0] == 0 || size[0] > 1) && (step[1] == 0 || size[1] > 1) &&
                          (step[2] == 0 || size[2] > 1);
        CMGI_CHECK(ctx, placed[n] || values[n] == 0 || !seen, CMG_ERR_ARG,
                   "%s: neighbour (%d, %d, %d) of the stencil had no entry, now it has the value "
                   "%g",
                   name, step[0], step[1], step[2], values[n]);
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ both */

cmg_status cmgi_kinds_create(cmg_context *ctx, const char *name, bool square,
                             const cmg_templates *given, cmgi_csr *M)
{
    cmgi_kinds *K = NULL;
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &K);
    CMGI_CHECK(ctx, given != NULL, CMG_ERR_ARG, "%s: the templates are NULL", name);
    CMGI_CHECK(ctx, !square || given->rows == given->cols, CMG_ERR_SHAPE,
               "%s is %lld x %lld, not square", name, (long long)given->rows,
               (long long)given->cols);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *K, &K));
    K->square = square;
    const bool grid = given->ids == NULL && given->grid[0] != 0;
    CMGI_TRY((grid ? take_given_grid : take_listed)(ctx, name, given, K));
    CMGI_TRY(check_values(ctx, name, K, K->value));
    CMGI_TRY(cmgi_kinds_look(ctx, K));
    *M = (cmgi_csr){.rows = K->rows, .cols = K->cols, .kinds = K};
    K = NULL;
    return CMG_OK;
}

/* Puts values, which are checked, into the place of the old ones, in a CSR as well; *value becomes
 * those that are to be freed. */
static cmg_status exchange(cmg_context *ctx, cmgi_csr *M, double **value)
{
    cmgi_kinds *K = M->kinds;
    const cmgi_kinds before = *K;
    K->value = *value;
    cmg_status status = cmgi_kinds_look(ctx, K);
    if (status == CMG_OK && M->indptr != NULL) {
        status = cmgi_kinds_fill(ctx, K, M);
    }
    if (status != CMG_OK) {
        *K = before;
        return status;
    }
    ++K->version;
    *value = before.value;
    return CMG_OK;
}

cmg_status cmgi_kinds_update(cmg_context *ctx, const char *name, const double *values, cmgi_csr *M)
{
    const cmgi_kinds *K = M->kinds;
    const cmg_size entries = K->indptr[K->count];
    cmgi_scoped double *given = NULL;
    bool device = false;
    CMGI_CHECK(ctx, K->given > 0, CMG_ERR_STATE, "hierarchy update: %s has no values", name);
    CMGI_TRY(cmgi_is_device(ctx, values, &device));
    CMGI_SCOPED(ctx, entries, double, value);
    if (device) {
        CMGI_TRY(cmgi_alloc(ctx, K->given, sizeof *given, &given));
        CMGI_TRY(cmgi_to_host(ctx, given, values, (size_t)K->given * sizeof *given));
        values = given;
    }
    for (cmg_size e = 0; e < entries; ++e) {
        value[e] = values[K->from[e]];
    }
    if (K->grid.form != CMGI_NO_GRID) {
        CMGI_TRY(check_stencil(ctx, name, K, values));
    }
    CMGI_TRY(check_values(ctx, name, K, value));
    return exchange(ctx, M, &value);
}
