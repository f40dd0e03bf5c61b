/* The rows of a matrix on the host as the search for templates sees them; see templates.h. */
#include "core/memory.h"
#include "csr/facts.h"
#include "csr/templates.h"

#include <string.h>

/* Fewer rows are looked at by one thread. */
enum { FEW_ROWS = 2048 };

/* Bit by bit. */
static bool same_rows(const cmgi_template_search *what, cmg_size i, cmg_size j)
{
    const cmg_csr *A = &what->A;
    const cmg_size length = A->indptr[i + 1] - A->indptr[i];
    const cmg_index shift = cmgi_reference_at(what, i) - cmgi_reference_at(what, j);
    if (!cmgi_csr_same_columns(A, i, j, shift)) {
        return false;
    }
    const double *values = A->values + A->indptr[i];
    const double *there = A->values + A->indptr[j];
    if (!what->single) {
        return memcmp(values, there, (size_t)length * sizeof *values) == 0;
    }
    uint64_t differ = 0;
    for (cmg_size e = 0; e < length; ++e) {
        differ |= cmgi_value_bits(values[e], true) ^ cmgi_value_bits(there[e], true);
    }
    return differ == 0;
}

static cmg_status sample_rows(cmg_context *ctx, const cmgi_template_search *what,
                              const uint16_t *id, uint64_t bound, cmg_size room,
                              cmgi_row_hash *sample, cmg_size *count)
{
    enum { BATCH = 64 };
    const cmg_size rows = what->A.rows;
    cmg_size taken = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > FEW_ROWS)
    for (cmg_size first = 0; first < rows; first += BATCH) {
        cmgi_row_hash one[BATCH];
        const cmg_size last = first + BATCH < rows ? first + BATCH : rows;
        int many = 0;
        for (cmg_size i = first; i < last; ++i) {
            if (id[i] == CMGI_NO_TEMPLATE && cmgi_sampled(i, bound)) {
                const int length = (int)(what->A.indptr[i + 1] - what->A.indptr[i]);
                one[many++] = (cmgi_row_hash){cmgi_hash_of_row(what, i), (cmg_index)i, length, 1};
            }
        }
        cmg_size at;
#pragma omp atomic capture
        {
            at = taken;
            taken += many;
        }
        for (int k = 0; k < many && at + k < room; ++k) {
            sample[at + k] = one[k];
        }
    }
    (void)ctx;
    *count = taken;
    return CMG_OK;
}

static uint16_t match_row(const cmgi_template_search *what, const cmgi_row_kinds *kinds, cmg_size i,
                          uint64_t hash)
{
    const uint16_t kind = cmgi_kind_of(kinds, hash);
    const bool same = kind != CMGI_NO_TEMPLATE && same_rows(what, i, kinds->row[kind]);
    return same ? kind : (uint16_t)CMGI_NO_TEMPLATE;
}

static void take_kind(cmg_size i, uint16_t kind, uint16_t *id, cmgi_kind_count *count)
{
    id[i] = kind;
    ++count[kind].rows;
    count[kind].first = i < count[kind].first ? i : count[kind].first;
}

/*
 * Rows first .. last - 1. The kind that came after the one before the last time is tried first: a
 * row that is the same has the hash of that kind, which is not computed.
 */
static void match_rows(const cmgi_template_search *what, const cmgi_row_kinds *kinds,
                       cmg_size first, cmg_size last, uint16_t *id, cmgi_kind_count *count)
{
    uint16_t after[CMGI_KINDS] = {0}; /* of each kind */
    uint16_t before = 0;
    for (cmg_size i = first; i < last; ++i) {
        if (id[i] != CMGI_NO_TEMPLATE) {
            continue;
        }
        /* the row before, one column on */
        const bool same = what->same != NULL && (what->same[i] & CMGI_SAME_ROWS) == CMGI_SAME_ROWS;
        if (i > first && same) {
            if (id[i - 1] != CMGI_NO_TEMPLATE) {
                take_kind(i, id[i - 1], id, count);
            }
            continue;
        }
        uint16_t kind = after[before];
        if (!same_rows(what, i, kinds->row[kind])) {
            kind = match_row(what, kinds, i, cmgi_hash_of_row(what, i));
        }
        if (kind != CMGI_NO_TEMPLATE) {
            take_kind(i, kind, id, count);
            after[before] = kind;
            before = kind;
        }
    }
}

/* Places first .. last - 1 of the list of unknown rows. */
static void match_list(const cmgi_template_search *what, const cmgi_row_kinds *kinds,
                       cmg_size first, cmg_size last, uint16_t *id, cmgi_kind_count *count)
{
    for (cmg_size k = first; k < last; ++k) {
        const cmgi_row_hash *one = &kinds->unknown[k];
        const uint16_t kind = match_row(what, kinds, one->row, one->hash);
        if (kind != CMGI_NO_TEMPLATE) {
            take_kind(one->row, kind, id, count);
        }
    }
}

static cmg_status match(cmg_context *ctx, const cmgi_template_search *what,
                        const cmgi_row_kinds *kinds, uint16_t *id, cmgi_kind_count *count)
{
    const cmg_size rows = kinds->unknown != NULL ? kinds->unknowns : what->A.rows;
    const int parts = rows > FEW_ROWS ? ctx->threads : 1;
    CMGI_SCOPED(ctx, (cmg_size)parts * kinds->count, cmgi_kind_count, part);
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        cmgi_kind_count *mine = part + (cmg_size)p * kinds->count;
        for (int k = 0; k < kinds->count; ++k) {
            mine[k] = (cmgi_kind_count){.first = INT64_MAX};
        }
        (kinds->unknown != NULL ? match_list : match_rows)(what, kinds, rows * p / parts,
                                                           rows * (p + 1) / parts, id, mine);
    }
    cmgi_kind_counts_add(part, parts, kinds->count, count);
    return CMG_OK;
}

const cmgi_template_scan cmgi_template_scan_cpu = {.sample = sample_rows, .match = match};
