/*
 * Row templates by hashing. The rows are cut into a fixed number of chunks; each chunk counts its
 * rows in an open-addressing table of representatives, the tables are merged, the most frequent
 * templates are numbered, and every row looks itself up.
 */
#include "spmv/templates.h"

#include "core/hash.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

/* Small matrices take fewer and smaller tables, so that clearing them costs less than the search.
 */
enum { CHUNKS = 64, CHUNK_ROWS = 4096, SLOTS = 2 * CHUNK_ROWS };
/* Few kinds: at most FEW, each of REPEATED rows in the mean, in a matrix of some size. */
enum { FEW = 256, REPEATED = 16, SOME_ROWS = 1024 };

typedef struct slot {
    uint64_t hash;
    cmg_size count; /* 0 = free */
    cmg_index row;  /* the first one of its kind */
    int id;
} slot;

typedef struct search {
    const cmg_csr *A;
    const cmg_index *ref;
    const cmgi_template_search *what;
    int chunks;
    int slots; /* of a table, a power of two */
    int full;  /* kinds that a table takes */
} search;

static cmg_index reference(const search *s, cmg_size i)
{
    return s->ref != NULL ? s->ref[i] : (cmg_index)i;
}

static uint64_t bits_of(double v)
{
    union {
        double d;
        uint64_t u;
    } bits = {.d = v};
    return bits.u;
}

static uint64_t value_key(const search *s, double v)
{
    return bits_of(s->what->single ? (double)(float)v : v);
}

static uint64_t hash_row(const search *s, cmg_size i)
{
    uint64_t h = (uint64_t)(s->A->indptr[i + 1] - s->A->indptr[i]);
    for (cmg_size k = s->A->indptr[i]; k < s->A->indptr[i + 1]; ++k) {
        h = cmgi_hash_mix(h, (uint64_t)(uint32_t)(s->A->indices[k] - reference(s, i)));
        h = s->what->offsets_only ? h : cmgi_hash_mix(h, value_key(s, s->A->values[k]));
    }
    return h;
}

static bool same_rows(const search *s, cmg_size i, cmg_size j)
{
    const cmg_size length = s->A->indptr[i + 1] - s->A->indptr[i];
    if (s->A->indptr[j + 1] - s->A->indptr[j] != length) {
        return false;
    }
    const cmg_index shift = reference(s, i) - reference(s, j);
    for (cmg_size e = 0; e < length; ++e) {
        const cmg_size p = s->A->indptr[i] + e;
        const cmg_size q = s->A->indptr[j] + e;
        if (s->A->indices[p] - s->A->indices[q] != shift ||
            (!s->what->offsets_only &&
             value_key(s, s->A->values[p]) != value_key(s, s->A->values[q]))) {
            return false;
        }
    }
    return true;
}

/* Slot of a row: the one of its kind or a free one. */
static slot *look_up(const search *s, slot *table, cmg_size i, uint64_t hash)
{
    const size_t mask = (size_t)s->slots - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        if (table[at].count == 0 || (table[at].hash == hash && same_rows(s, table[at].row, i))) {
            return &table[at];
        }
    }
}

/* Adds `count` rows of a kind; a full table takes no new kinds. */
static void add(const search *s, slot *table, int *used, cmg_size i, uint64_t hash, cmg_size count)
{
    slot *at = look_up(s, table, i, hash);
    if (at->count == 0) {
        if (*used >= s->full) {
            return;
        }
        ++*used;
        *at = (slot){.hash = hash, .row = (cmg_index)i, .id = CMGI_NO_TEMPLATE};
    }
    at->row = i < at->row ? (cmg_index)i : at->row;
    at->count += count;
}

static void count_chunk(const search *s, cmg_size first, cmg_size last, slot *table)
{
    int used = 0;
    for (cmg_size i = first; i < last; ++i) {
        add(s, table, &used, i, hash_row(s, i), 1);
        if (used == s->full && i - first < 2 * s->full) {
            return; /* hardly a row repeats */
        }
    }
}

static int by_frequency(const void *a, const void *b)
{
    const slot *p = *(slot *const *)a;
    const slot *q = *(slot *const *)b;
    if (p->count != q->count) {
        return p->count < q->count ? 1 : -1;
    }
    return (p->row > q->row) - (p->row < q->row);
}

/* Rows that make a template: as asked, but where there are few kinds all of them are templates, so
 * that the corners of a grid do not need a storage of their own. */
static cmg_size least_rows(const search *s, const slot *table)
{
    cmg_size kinds = 0;
    for (int k = 0; k < s->slots; ++k) {
        kinds += table[k].count > 0;
    }
    const cmg_size rows = s->what->A->rows;
    const bool few = kinds <= FEW && kinds * REPEATED <= rows && rows >= SOME_ROWS;
    return few ? 1 : s->what->least;
}

/* Numbers the most frequent kinds; the others that repeat are marked as left out. */
static void number(const search *s, slot *table, slot **order, cmgi_templates *t)
{
    int used = 0;
    cmg_size total = 0;
    const cmg_size least = least_rows(s, table);
    for (int k = 0; k < s->slots; ++k) {
        if (table[k].count > 0 && table[k].count >= least) {
            order[used++] = &table[k];
        }
    }
    qsort(order, (size_t)used, sizeof *order, by_frequency);
    for (int k = 0; k < used; ++k) {
        const cmg_size length = s->A->indptr[order[k]->row + 1] - s->A->indptr[order[k]->row];
        order[k]->id = CMGI_TEMPLATE_LEFT_OUT;
        if (t->count < s->what->most && total + length <= s->what->entries) {
            total += length;
            order[k]->id = t->count;
            t->row[t->count++] = order[k]->row;
        }
    }
}

static void merge(const search *s, slot *tables)
{
    int used = 0;
    for (int k = 0; k < s->slots; ++k) {
        used += tables[k].count > 0;
    }
    for (int c = 1; c < s->chunks; ++c) {
        for (int k = 0; k < s->slots; ++k) {
            const slot *from = &tables[(cmg_size)c * s->slots + k];
            if (from->count > 0) {
                add(s, tables, &used, from->row, from->hash, from->count);
            }
        }
    }
}

static search begin_search(const cmgi_template_search *what)
{
    const cmg_size rows = what->A->rows;
    search s = {.A = what->A, .ref = what->ref, .what = what, .slots = SLOTS};
    while (s.slots > 64 && s.slots / 4 >= rows) {
        s.slots /= 2;
    }
    s.full = s.slots / 4 * 3;
    s.chunks = rows > (cmg_size)CHUNKS * CHUNK_ROWS ? CHUNKS : (int)(rows / CHUNK_ROWS) + 1;
    return s;
}

cmg_status cmgi_templates_find(cmg_context *ctx, const cmgi_template_search *what,
                               cmgi_templates *found)
{
    const search s = begin_search(what);
    const cmg_size rows = what->A->rows;
    slot *tables = NULL;
    slot **order = NULL;
    cmgi_templates made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done,
                  cmgi_alloc_zero(ctx, (cmg_size)s.chunks * s.slots, sizeof *tables, &tables));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, s.slots, sizeof(slot *), &order));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, what->most, sizeof *made.row, &made.row));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows, sizeof *made.id, &made.id));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1) if (s.chunks > 1)
    for (int c = 0; c < s.chunks; ++c) {
        count_chunk(&s, rows * c / s.chunks, rows * (c + 1) / s.chunks,
                    tables + (cmg_size)c * s.slots);
    }
    merge(&s, tables);
    number(&s, tables, order, &made);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (s.chunks > 1)
    for (cmg_size i = 0; i < rows; ++i) {
        const slot *at = made.count > 0 ? look_up(&s, tables, i, hash_row(&s, i)) : NULL;
        made.id[i] = at != NULL && at->count > 0 ? (uint16_t)at->id : (uint16_t)CMGI_NO_TEMPLATE;
    }
    *found = made;
    made = (cmgi_templates){0};
done:
    cmgi_templates_free(ctx, &made);
    cmgi_free(ctx, tables);
    cmgi_free(ctx, order);
    return status;
}

void cmgi_templates_free(cmg_context *ctx, cmgi_templates *t)
{
    cmgi_free(ctx, t->row);
    cmgi_free(ctx, t->id);
    *t = (cmgi_templates){0};
}
