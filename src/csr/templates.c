/*
 * Row templates by hashing. Kinds of rows are found in samples: a share of the rows that have no
 * kind yet is hashed, what repeats in the sample becomes a kind, and one pass over those rows tells
 * which of them are of a known kind, compared bit by bit. What is left is sampled again, until it
 * is all looked at or hardly repeats. A grid takes two rounds: the inside and the sides, then the
 * few rows of edges and corners, all of them.
 *
 * The most frequent kinds become templates. Which rows are sampled depends on their numbers alone,
 * so that the result is the same on every backend.
 */
#include "csr/templates.h"

#include "core/each.h"

#include <stdlib.h>
#include <string.h>

#include "csr/templates.inc"

/* Few kinds: at most FEW, each of REPEATED rows in the mean, in a matrix of some size. */
enum { FEW = 256, REPEATED = 16, SOME_ROWS = 1024 };
/* A round that tells less than one row in so many is the last. */
enum { ROUNDS = 8, GAIN = 8 };
/* All rows may repeat where at most one in WHOLE of the first sample does not. */
enum { WHOLE = 16 };

/* A kind that a sample has; in the order of cmgi_kinds_by_rows. */
typedef struct candidate {
    cmgi_kind_count met;
    uint64_t hash;
    int length;
} candidate;

/* The search under way. */
typedef struct search {
    cmg_context *ctx;
    const cmgi_template_search *what;
    const cmgi_template_scan *scan;
    cmg_size unknown; /* rows without a kind */
    bool complete;    /* the last sample had all of them */
    int rounds;
    int kinds;
    int most;  /* kinds there is room for */
    int slots; /* of key and at, a power of two */
    cmg_size room;
    uint64_t *key; /* slots */
    uint16_t *at;  /* slots */
    cmg_index *row;
    int *length;
    uint16_t *number;
    cmgi_kind_count *count;
    cmgi_row_hash *sample; /* room */
    candidate *seen;       /* room: of the sample, then in order */
    int *slot;             /* into seen, -1 = free; four times the room */
} search;

/* Counts equal hashes of the sample; those worth a look come to s->seen, the most frequent first.
 * Returns how many there are. */
static int count_kinds(search *s, cmg_size sampled)
{
    size_t slots = 64;
    int kinds = 0;
    int kept = 0;
    while (slots < 2 * (size_t)sampled) {
        slots *= 2;
    }
    memset(s->slot, 0xff, slots * sizeof *s->slot);
    candidate *of = NULL;
    for (cmg_size k = 0; k < sampled; ++k) {
        const cmgi_row_hash *one = &s->sample[k];
        if (of != NULL && of->hash == one->hash &&
            of->met.first < one->row) { /* mostly in a grid */
            of->met.rows += one->rows;
            continue;
        }
        size_t at = (size_t)one->hash & (slots - 1);
        while (s->slot[at] >= 0 && s->seen[s->slot[at]].hash != one->hash) {
            at = (at + 1) & (slots - 1);
        }
        if (s->slot[at] < 0) {
            s->slot[at] = kinds;
            s->seen[kinds++] = (candidate){{0, one->row}, one->hash, one->length};
        }
        of = &s->seen[s->slot[at]];
        of->length = one->row < of->met.first ? one->length : of->length;
        of->met.first = one->row < of->met.first ? one->row : of->met.first;
        of->met.rows += one->rows;
    }
    /* rows that make a kind worth a look: one where all kinds may become templates */
    const int64_t least = !s->complete ? 2 : s->kinds + kinds <= FEW ? 1 : s->what->least;
    for (int k = 0; k < kinds; ++k) { /* before they are sorted: mostly all or none */
        s->seen[kept] = s->seen[k];
        kept += s->seen[k].met.rows >= least;
    }
    qsort(s->seen, (size_t)kept, sizeof *s->seen, cmgi_kinds_by_rows);
    return kept;
}

static void add_kind(search *s, const candidate *c)
{
    const size_t mask = (size_t)s->slots - 1;
    size_t at = (size_t)c->hash & mask;
    while (s->at[at] != CMGI_NO_TEMPLATE) {
        if (s->key[at] == c->hash) {
            return; /* other rows have this hash: theirs stay without a kind */
        }
        at = (at + 1) & mask;
    }
    s->key[at] = c->hash;
    s->at[at] = (uint16_t)s->kinds;
    s->row[s->kinds] = (cmg_index)c->met.first;
    s->length[s->kinds] = c->length;
    s->count[s->kinds] = (cmgi_kind_count){.first = INT64_MAX};
    ++s->kinds;
}

/* Kinds from a sample of what is unknown; returns how many were added. */
static cmg_status find_kinds(search *s, const uint16_t *id, cmg_size *sampled, int *added)
{
    const int before = s->kinds;
    s->complete = s->unknown <= CMGI_SAMPLE;
    const uint64_t share = s->complete
                               ? UINT64_MAX
                               : (uint64_t)((double)CMGI_SAMPLE / (double)s->unknown * 0x1p63) * 2;
    *added = 0;
    CMGI_TRY(s->scan->sample(s->ctx, s->what, id, share, s->room, s->sample, sampled));
    if (*sampled > s->room) {
        return CMG_OK; /* a sample of twice the mean: the numbers conspire */
    }
    const int kinds = count_kinds(s, *sampled);
    cmg_size repeated = 0;
    for (int k = 0; k < kinds; ++k) {
        repeated += s->seen[k].met.rows;
    }
    if (s->what->whole && before == 0 && repeated * WHOLE < *sampled * (WHOLE - 1)) {
        return CMG_OK;
    }
    for (int k = 0; k < kinds && s->kinds < s->most; ++k) {
        add_kind(s, &s->seen[k]);
    }
    *added = s->kinds - before;
    return CMG_OK;
}

static cmg_status match(search *s, cmg_size sampled, int added, uint16_t *id)
{
    const cmgi_row_kinds kinds = {.count = s->kinds,
                                  .likely = s->kinds - added,
                                  .slots = s->slots,
                                  .key = s->key,
                                  .at = s->at,
                                  .row = s->row,
                                  .length = s->length,
                                  .unknown = s->complete ? s->sample : NULL,
                                  .unknowns = s->complete ? sampled : 0};
    CMGI_TRY(s->scan->match(s->ctx, s->what, &kinds, id, s->count));
    s->unknown = s->what->A.rows;
    for (int k = 0; k < s->kinds; ++k) {
        s->unknown -= s->count[k].rows;
    }
    return CMG_OK;
}

static cmg_status find_all(search *s, uint16_t *id)
{
    for (int round = 0; round < ROUNDS && s->unknown > 0; ++round) {
        const cmg_size before = s->unknown;
        cmg_size sampled = 0;
        int added = 0;
        CMGI_TRY(find_kinds(s, id, &sampled, &added));
        if (added == 0) {
            return CMG_OK;
        }
        CMGI_TRY(match(s, sampled, added, id));
        s->rounds = round + 1;
        if (s->complete || (before - s->unknown) * GAIN < before) {
            return CMG_OK;
        }
    }
    return CMG_OK;
}

/* Numbers the most frequent kinds, of as many rows as is asked for; but where there are few kinds
 * all of them are templates, so that the corners of a grid do not need a storage of their own. */
static void number_kinds(search *s, cmgi_templates *t)
{
    uint16_t *number = s->number;
    const cmg_size rows = s->what->A.rows;
    const bool few = s->unknown == 0 && s->kinds <= FEW && (cmg_size)s->kinds * REPEATED <= rows &&
                     rows >= SOME_ROWS;
    const cmg_size least = few ? 1 : s->what->least;
    cmg_size total = 0;
    int used = 0;
    for (int k = 0; k < s->kinds; ++k) {
        number[k] = CMGI_NO_TEMPLATE;
        if (s->count[k].rows > 0 && s->count[k].rows >= least) {
            s->seen[used++] = (candidate){.met = s->count[k], .hash = (uint64_t)k};
        }
    }
    qsort(s->seen, (size_t)used, sizeof *s->seen, cmgi_kinds_by_rows);
    for (int k = 0; k < used; ++k) {
        const int kind = (int)s->seen[k].hash;
        if (t->count < s->what->most && total + s->length[kind] <= s->what->entries) {
            total += s->length[kind];
            number[kind] = (uint16_t)t->count;
            t->many[t->count] = s->seen[k].met.rows;
            t->row[t->count++] = (cmg_index)s->seen[k].met.first;
        }
    }
}

/* Room for what so many rows can have: a few rows are looked at often. */
static cmg_status reserve(search *s)
{
    cmg_context *ctx = s->ctx;
    const cmg_size rows = s->what->A.rows;
    s->room = rows < 2 * CMGI_SAMPLE ? rows : 2 * CMGI_SAMPLE;
    s->most = rows < CMGI_KINDS ? (int)rows : CMGI_KINDS;
    s->slots = 64;
    while (s->slots < 2 * s->most) {
        s->slots *= 2;
    }
    CMGI_TRY(cmgi_alloc(ctx, s->slots, sizeof *s->key, &s->key));
    CMGI_TRY(cmgi_alloc(ctx, s->slots, sizeof *s->at, &s->at));
    CMGI_TRY(cmgi_alloc(ctx, s->most, sizeof *s->row, &s->row));
    CMGI_TRY(cmgi_alloc(ctx, s->most, sizeof *s->length, &s->length));
    CMGI_TRY(cmgi_alloc(ctx, s->most, sizeof *s->number, &s->number));
    CMGI_TRY(cmgi_alloc(ctx, s->most, sizeof *s->count, &s->count));
    CMGI_TRY(cmgi_alloc(ctx, s->room, sizeof *s->sample, &s->sample));
    CMGI_TRY(cmgi_alloc(ctx, s->room, sizeof *s->seen, &s->seen));
    CMGI_TRY(cmgi_alloc(ctx, 4 * s->room + 64, sizeof *s->slot, &s->slot));
    memset(s->at, 0xff, (size_t)s->slots * sizeof *s->at);
    return CMG_OK;
}

/* id <- s->number[id] where id < count, CMGI_NO_TEMPLATE elsewhere. */
static cmg_status number_rows(const search *s, int count, uint16_t *id)
{
    cmg_context *ctx = s->ctx;
    const cmgi_place at = s->what->at;
    const size_t bytes = (size_t)count * sizeof *s->number;
    numbering n = {.count = count, .number = s->number, .id = id};
    uint16_t *sent = NULL;
    CMGI_FREED(ctx, &sent);
    if (at == CMGI_DEVICE && count > 0) {
        CMGI_TRY(cmgi_alloc_device(ctx, count, sizeof *sent, &sent));
        CMGI_TRY(cmgi_to_device(ctx, sent, s->number, bytes));
        n.number = sent;
    }
    return number_row(ctx, at, s->what->A.rows, &n);
}

cmg_status cmgi_references(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_index *ref)
{
    return refer_row(ctx, at, A->rows, &(reference_rows){*A, ref});
}

cmg_status cmgi_templates_find(cmg_context *ctx, const cmgi_template_search *what,
                               cmgi_templates *found)
{
    search s = {.ctx = ctx, .what = what, .unknown = what->A.rows};
    cmgi_templates made = {0};
    CMGI_FREED(ctx, &s.key, &s.at, &s.row, &s.length, &s.number, &s.count, &s.sample, &s.seen,
               &s.slot);
    CMGI_RELEASED(cmgi_templates_free, ctx, &made);
    s.scan =
        what->at == CMGI_DEVICE ? CMGI_CUDA_FN(&cmgi_template_scan_cuda) : &cmgi_template_scan_cpu;
    CMGI_TRY(reserve(&s));
    CMGI_TRY(cmgi_alloc(ctx, what->most, sizeof *made.row, &made.row));
    CMGI_TRY(cmgi_alloc(ctx, what->most, sizeof *made.many, &made.many));
    CMGI_TRY(cmgi_alloc_at(ctx, what->at, what->A.rows, sizeof *made.id, &made.id));
    CMGI_TRY(number_rows(&s, 0, made.id));
    CMGI_TRY(find_all(&s, made.id));
    number_kinds(&s, &made);
    made.all = s.unknown == 0 && s.rounds <= 2 && made.count == s.kinds;
    CMGI_TRY(number_rows(&s, s.kinds, made.id));
    CMGI_PASS_ON(&made, found);
    return CMG_OK;
}

void cmgi_templates_free(cmg_context *ctx, cmgi_templates *t)
{
    CMGI_FREE(ctx, t->row, t->many);
    cmgi_free_device(ctx, t->id); /* either memory */
    cmgi_csr_free(ctx, &t->rows);
    *t = (cmgi_templates){0};
}

void cmgi_twin_free(cmg_context *ctx, cmgi_twin *t)
{
    cmgi_templates_free(ctx, &t->templates);
    cmgi_free_device(ctx, cmgi_pass_on(&t->rest));
}
