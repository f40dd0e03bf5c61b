/* Matrices of few kinds of rows as they are given: checks, and new values; see kinds.h. */
#include "csr/kinds_given.h"

#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 4096 };

static int by_rows(const void *a, const void *b)
{
    const cmgi_kind_span *p = *(const cmgi_kind_span *const *)a;
    const cmgi_kind_span *q = *(const cmgi_kind_span *const *)b;
    if (p->many != q->many) {
        return p->many < q->many ? 1 : -1;
    }
    return (p->first > q->first) - (p->first < q->first);
}

cmg_status cmgi_kinds_take(cmg_context *ctx, const cmgi_kind_draft *d, cmgi_kinds *K,
                           uint16_t *number)
{
    const cmgi_kind_span **order = NULL;
    cmg_size entries = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, d->kinds, sizeof *order, &order));
    for (int k = 0; k < d->kinds; ++k) {
        if (d->rows[k].many > 0) {
            order[K->count++] = &d->rows[k];
            entries += d->indptr[k + 1] - d->indptr[k];
            K->nnz += d->rows[k].many * (d->indptr[k + 1] - d->indptr[k]);
        }
    }
    qsort(order, (size_t)K->count, sizeof *order, by_rows);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, K->count + 1, sizeof *K->indptr, &K->indptr));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, entries, sizeof *K->offset, &K->offset));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, entries, sizeof *K->value, &K->value));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, entries, sizeof *K->from, &K->from));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, K->count, sizeof *K->many, &K->many));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, K->count, sizeof *K->row, &K->row));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, K->count, sizeof *K->number, &K->number));
    K->given = d->given;
    K->indptr[0] = 0;
    for (int k = 0; k < K->count; ++k) {
        const cmg_size of = order[k] - d->rows;
        const cmg_size begin = d->indptr[of];
        const cmg_size length = d->indptr[of + 1] - begin;
        const cmg_index shift = !K->square && length > 0 ? d->offset[begin] : 0;
        number[of] = (uint16_t)k;
        K->number[k] = (cmg_index)of;
        K->many[k] = order[k]->many;
        K->row[k] = order[k]->first;
        K->indptr[k + 1] = K->indptr[k] + length;
        for (cmg_size e = 0; e < length; ++e) {
            const cmg_size at = K->indptr[k] + e;
            K->offset[at] = d->offset[begin + e] - shift;
            K->value[at] = d->value[begin + e];
            K->from[at] = d->from != NULL ? d->from[begin + e] : (cmg_index)(begin + e);
        }
    }
done:
    cmgi_free(ctx, order);
    return status;
}

/* Values of every kind, of which the message tells the first row. */
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
        CMGI_CHECK(ctx, !K->square || K->indptr[k + 1] > K->indptr[k], CMG_ERR_ARG,
                   "%s: kind %lld, row %lld: the row is empty", name, (long long)K->number[k],
                   (long long)K->row[k]);
        CMGI_CHECK(ctx, !K->square || diagonal != 0, CMG_ERR_ARG,
                   "%s: kind %lld, row %lld: the diagonal is zero or missing", name,
                   (long long)K->number[k], (long long)K->row[k]);
    }
    return CMG_OK;
}

static cmg_status take_facts(cmg_context *ctx, cmgi_kinds *K)
{
    cmgi_csr rows = {0};
    if (!K->square) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_kinds_rows(ctx, K, &rows));
    cmgi_csr_facts_of_kinds(&rows.view, K->row, K->many, &K->facts);
    K->most = 0;
    K->least = INFINITY;
    for (cmg_size e = 0; e < K->indptr[K->count]; ++e) {
        const double a = K->offset[e] == 0 ? fabs(K->value[e]) : K->most;
        K->most = fmax(K->most, a);
        K->least = K->offset[e] == 0 ? fmin(K->least, a) : K->least;
    }
    cmgi_csr_free(ctx, &rows);
    return CMG_OK;
}

static cmg_index id_at(const cmg_templates *t, cmg_size i)
{
    switch (t->id_bits) {
    case 8:
        return ((const uint8_t *)t->ids)[i];
    case 16:
        return ((const uint16_t *)t->ids)[i];
    default:
        return ((const cmg_index *)t->ids)[i];
    }
}

static cmg_index reference_at(const cmg_templates *t, cmg_size i)
{
    return t->references != NULL ? t->references[i] : (cmg_index)i;
}

static cmg_status check_arrays(cmg_context *ctx, const char *name, bool square,
                               const cmg_templates *t)
{
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
        CMGI_CHECK(ctx, t->indptr[k + 1] >= t->indptr[k] && t->indptr[k + 1] <= CMGI_KIND_ENTRIES,
                   CMG_ERR_SHAPE,
                   "%s: kind %d: indptr goes from %lld to %lld; all kinds have 0 .. %d entries",
                   name, k, (long long)t->indptr[k], (long long)t->indptr[k + 1],
                   (int)CMGI_KIND_ENTRIES);
    }
    CMGI_CHECK(ctx, t->indptr[t->kinds] == 0 || (t->offsets != NULL && t->values != NULL),
               CMG_ERR_ARG, "%s: offsets or values are NULL", name);
    return CMG_OK;
}

/* No offset twice in a kind. */
static cmg_status check_offsets(cmg_context *ctx, const char *name, const cmg_templates *t)
{
    cmg_index *sorted = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, t->indptr[t->kinds], sizeof *sorted, &sorted));
    for (int k = 0; k < t->kinds; ++k) {
        const cmg_size length = t->indptr[k + 1] - t->indptr[k];
        for (cmg_size e = 0; e < length; ++e) {
            sorted[e] = t->offsets[t->indptr[k] + e];
        }
        cmgi_sort_indices(sorted, length);
        for (cmg_size e = 1; e < length; ++e) {
            CMGI_CHECK_GOTO(done, ctx, sorted[e] != sorted[e - 1], CMG_ERR_SHAPE,
                            "%s: kind %d: offset %lld is duplicated", name, k,
                            (long long)sorted[e]);
        }
    }
done:
    cmgi_free(ctx, sorted);
    return status;
}

/* Rows begin .. end - 1; returns the first whose id is no kind, `end` if all are one. */
static cmg_size count_part(const cmg_templates *t, cmg_size begin, cmg_size end, cmgi_kind_span *of)
{
    for (cmg_size i = begin; i < end; ++i) {
        const cmg_index k = id_at(t, i);
        if (k < 0 || k >= t->kinds) {
            return i;
        }
        const cmg_index ref = reference_at(t, i);
        cmgi_kind_span *s = &of[k];
        if (s->many++ == 0) {
            s->first = s->low = s->high = (cmg_index)i;
        }
        s->low = ref < reference_at(t, s->low) ? (cmg_index)i : s->low;
        s->high = ref > reference_at(t, s->high) ? (cmg_index)i : s->high;
    }
    return end;
}

static void join(const cmg_templates *t, const cmgi_kind_span *part, cmgi_kind_span *all)
{
    if (part->many > 0 && all->many == 0) {
        *all = *part;
    } else if (part->many > 0) {
        const bool low = reference_at(t, part->low) < reference_at(t, all->low);
        const bool high = reference_at(t, part->high) > reference_at(t, all->high);
        all->many += part->many;
        all->low = low ? part->low : all->low;
        all->high = high ? part->high : all->high;
    }
}

/* Which rows the kinds have. */
static cmg_status count_rows(cmg_context *ctx, const char *name, const cmg_templates *t,
                             cmgi_kind_span *all)
{
    const int parts = t->rows > SMALL ? ctx->threads : 1;
    cmg_size bad = t->rows;
    cmgi_kind_span *part = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, (cmg_size)parts * t->kinds, sizeof *part, &part));
#pragma omp parallel for num_threads(parts) schedule(static, 1) reduction(min : bad) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const cmg_size end = t->rows * (p + 1) / parts;
        const cmg_size at = count_part(t, t->rows * p / parts, end, part + (cmg_size)p * t->kinds);
        bad = at < end && at < bad ? at : bad;
    }
    for (cmg_size k = 0; k < (cmg_size)parts * t->kinds; ++k) {
        join(t, &part[k], &all[k % t->kinds]);
    }
    cmgi_free(ctx, part);
    CMGI_CHECK(ctx, bad == t->rows, CMG_ERR_SHAPE, "%s: row %lld is of kind %lld, there are %d",
               name, (long long)bad, (long long)id_at(t, bad), t->kinds);
    return CMG_OK;
}

/* Columns of all rows, by the least and the largest reference of each kind. */
static cmg_status check_columns(cmg_context *ctx, const char *name, const cmg_templates *t,
                                const cmgi_kind_span *rows)
{
    for (int k = 0; k < t->kinds; ++k) {
        for (cmg_size e = t->indptr[k]; e < t->indptr[k + 1] && rows[k].many > 0; ++e) {
            const int64_t low = (int64_t)t->offsets[e] + reference_at(t, rows[k].low);
            const int64_t high = (int64_t)t->offsets[e] + reference_at(t, rows[k].high);
            const int64_t bad = low < 0 ? low : high;
            CMGI_CHECK(ctx, low >= 0 && high < t->cols, CMG_ERR_SHAPE,
                       "%s: kind %d, offset %lld: in row %lld column %lld is out of range [0, "
                       "%lld)",
                       name, k, (long long)t->offsets[e],
                       (long long)(low < 0 ? rows[k].low : rows[k].high), (long long)bad,
                       (long long)t->cols);
        }
    }
    return CMG_OK;
}

/* Rows by their kinds' numbers, and the columns of their first entries. */
static cmg_status take_rows(cmg_context *ctx, const cmg_templates *t, const uint16_t *number,
                            cmgi_kinds *K)
{
    CMGI_TRY(cmgi_alloc(ctx, t->rows, sizeof *K->id, &K->id));
    CMGI_TRY(K->square ? CMG_OK : cmgi_alloc(ctx, t->rows, sizeof *K->ref, &K->ref));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (t->rows > SMALL)
    for (cmg_size i = 0; i < t->rows; ++i) {
        const cmg_index k = id_at(t, i);
        K->id[i] = number[k];
        if (K->ref != NULL) {
            const bool filled = t->indptr[k + 1] > t->indptr[k];
            K->ref[i] = filled ? reference_at(t, i) + t->offsets[t->indptr[k]] : 0;
        }
    }
    return CMG_OK;
}

static cmg_status take_listed(cmg_context *ctx, const char *name, const cmg_templates *t,
                              cmgi_kinds *K)
{
    uint16_t number[CMGI_KINDS_MOST];
    cmgi_kind_draft d = {0};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, t->rows >= 0 && t->rows <= INT32_MAX && t->cols >= 0 && t->cols <= INT32_MAX,
               CMG_ERR_SHAPE, "%s: %lld x %lld is not a size of 0 .. 2147483647 rows and columns",
               name, (long long)t->rows, (long long)t->cols);
    CMGI_TRY(check_arrays(ctx, name, K->square, t));
    CMGI_TRY(check_offsets(ctx, name, t));
    CMGI_TRY(cmgi_alloc_zero(ctx, t->kinds, sizeof *d.rows, &d.rows));
    d.kinds = t->kinds;
    d.indptr = t->indptr;
    d.offset = t->offsets;
    d.value = t->values;
    d.given = t->indptr[t->kinds];
    K->rows = t->rows;
    K->cols = t->cols;
    CMGI_TRY_GOTO(done, count_rows(ctx, name, t, d.rows));
    CMGI_TRY_GOTO(done, check_columns(ctx, name, t, d.rows));
    CMGI_TRY_GOTO(done, cmgi_kinds_take(ctx, &d, K, number));
    CMGI_TRY_GOTO(done, take_rows(ctx, t, number, K));
done:
    cmgi_free(ctx, d.rows);
    return status;
}

cmg_status cmgi_kinds_create(cmg_context *ctx, const char *name, bool square,
                             const cmg_templates *given, cmgi_csr *M)
{
    cmgi_kinds *K = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, given != NULL, CMG_ERR_ARG, "%s: the templates are NULL", name);
    CMGI_CHECK(ctx, !square || given->rows == given->cols, CMG_ERR_SHAPE,
               "%s is %lld x %lld, not square", name, (long long)given->rows,
               (long long)given->cols);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *K, &K));
    K->square = square;
    const bool grid = given->ids == NULL && given->grid[0] != 0;
    CMGI_TRY_GOTO(done, (grid ? cmgi_kinds_take_grid : take_listed)(ctx, name, given, K));
    CMGI_TRY_GOTO(done, check_values(ctx, name, K, K->value));
    CMGI_TRY_GOTO(done, take_facts(ctx, K));
    *M = (cmgi_csr){.rows = K->rows, .cols = K->cols, .kinds = K};
    K = NULL;
done:
    cmgi_kinds_destroy(ctx, &K);
    return status;
}

cmg_status cmgi_kinds_update(cmg_context *ctx, const char *name, const double *values, cmgi_csr *M)
{
    cmgi_kinds *K = M->kinds;
    const cmg_size entries = K->indptr[K->count];
    const size_t bytes = (size_t)K->given * sizeof *values;
    double *given = NULL;
    double *value = NULL;
    bool device = false;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, K->given > 0, CMG_ERR_STATE, "hierarchy update: %s has no values", name);
    CMGI_TRY(cmgi_is_device(ctx, values, &device));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, K->given, sizeof *given, &given));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, entries, sizeof *value, &value));
    if (device) {
        CMGI_TRY_GOTO(done, cmgi_to_host(ctx, given, values, bytes));
    } else {
        memcpy(given, values, bytes);
    }
    for (cmg_size e = 0; e < entries; ++e) {
        value[e] = given[K->from[e]];
    }
    if (K->grid.form != CMGI_NO_GRID) {
        CMGI_TRY_GOTO(done, cmgi_kinds_check_stencil(ctx, name, K, given));
    }
    CMGI_TRY_GOTO(done, check_values(ctx, name, K, value));
    const cmgi_kinds before = *K;
    K->value = value;
    status = take_facts(ctx, K);
    if (status == CMG_OK && M->indptr != NULL) {
        status = cmgi_kinds_fill(ctx, K, M);
    }
    if (status == CMG_OK) {
        ++K->version;
        value = before.value;
    } else {
        *K = before;
    }
done:
    CMGI_FREE(ctx, given, value);
    return status;
}
