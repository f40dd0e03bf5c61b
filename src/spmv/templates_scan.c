/* The rows of a matrix on the host as the search for templates sees them; see templates.h. */
#include "core/memory.h"
#include "spmv/templates.h"

/* Fewer rows are looked at by one thread; renumbered, which is less work. */
enum { FEW_ROWS = 2048, CHUNK = 4096 };

static cmg_index reference(const cmgi_template_search *what, cmg_size i)
{
    return what->ref != NULL ? what->ref[i] : (cmg_index)i + what->lead;
}

static uint64_t hash_row(const cmgi_template_search *what, cmg_size i)
{
    const cmg_csr *A = what->A;
    const cmg_index ref = reference(what, i);
    const cmg_size begin = A->indptr[i];
    const cmg_size length = A->indptr[i + 1] - begin;
    uint64_t sum = cmgi_length_hash(length);
    for (cmg_size e = 0; e < length; ++e) {
        const uint64_t bits =
            what->offsets_only ? 0 : cmgi_value_bits(A->values[begin + e], what->single);
        sum += cmgi_entry_hash(e, A->indices[begin + e] - ref, bits);
    }
    return sum;
}

static bool same_rows(const cmgi_template_search *what, cmg_size i, cmg_size j)
{
    const cmg_csr *A = what->A;
    const cmg_size length = A->indptr[i + 1] - A->indptr[i];
    if (A->indptr[j + 1] - A->indptr[j] != length) {
        return false;
    }
    const cmg_index shift = reference(what, i) - reference(what, j);
    for (cmg_size e = 0; e < length; ++e) {
        const cmg_size p = A->indptr[i] + e;
        const cmg_size q = A->indptr[j] + e;
        if (A->indices[p] - A->indices[q] != shift ||
            (!what->offsets_only && cmgi_value_bits(A->values[p], what->single) !=
                                        cmgi_value_bits(A->values[q], what->single))) {
            return false;
        }
    }
    return true;
}

/* The rows first .. last of the sample, which are at most BATCH; returns how many there are. */
static int sample_batch(const cmgi_template_search *what, const uint16_t *id, uint64_t bound,
                        cmg_size first, cmg_size last, cmgi_row_hash *one)
{
    int taken = 0;
    for (cmg_size i = first; i < last; ++i) {
        if (id[i] == CMGI_NO_TEMPLATE && cmgi_sampled(i, bound)) {
            const int length = (int)(what->A->indptr[i + 1] - what->A->indptr[i]);
            one[taken++] = (cmgi_row_hash){hash_row(what, i), (cmg_index)i, length};
        }
    }
    return taken;
}

static cmg_status sample_rows(cmg_context *ctx, const cmgi_template_search *what,
                              const uint16_t *id, uint64_t bound, cmg_size room,
                              cmgi_row_hash *sample, cmg_size *count)
{
    enum { BATCH = 64 };
    const cmg_size rows = what->A->rows;
    cmg_size taken = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > FEW_ROWS)
    for (cmg_size first = 0; first < rows; first += BATCH) {
        cmgi_row_hash one[BATCH];
        const cmg_size last = first + BATCH < rows ? first + BATCH : rows;
        const int many = sample_batch(what, id, bound, first, last, one);
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

static void match_row(const cmgi_template_search *what, const cmgi_row_kinds *kinds, cmg_size i,
                      uint64_t hash, uint16_t *id, cmgi_kind_count *count)
{
    const uint16_t kind = cmgi_kind_of(kinds, hash);
    if (kind != CMGI_NO_TEMPLATE && same_rows(what, i, kinds->row[kind])) {
        id[i] = kind;
        ++count[kind].rows;
        count[kind].first = i < count[kind].first ? i : count[kind].first;
    }
}

/* Rows first .. last - 1, or those of the list of unknown ones. */
static void match_rows(const cmgi_template_search *what, const cmgi_row_kinds *kinds,
                       cmg_size first, cmg_size last, uint16_t *id, cmgi_kind_count *count)
{
    const cmgi_row_hash *list = kinds->unknown;
    for (cmg_size k = first; k < last; ++k) {
        if (list != NULL) {
            match_row(what, kinds, list[k].row, list[k].hash, id, count);
        } else if (id[k] == CMGI_NO_TEMPLATE) {
            match_row(what, kinds, k, hash_row(what, k), id, count);
        }
    }
}

static cmg_status match(cmg_context *ctx, const cmgi_template_search *what,
                        const cmgi_row_kinds *kinds, uint16_t *id, cmgi_kind_count *count)
{
    const cmg_size rows = kinds->unknown != NULL ? kinds->unknowns : what->A->rows;
    const int parts = rows > FEW_ROWS ? ctx->threads : 1;
    cmgi_kind_count *part = NULL;
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)parts * kinds->count, sizeof *part, &part));
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        cmgi_kind_count *mine = part + (cmg_size)p * kinds->count;
        for (int k = 0; k < kinds->count; ++k) {
            mine[k] = (cmgi_kind_count){.first = INT64_MAX};
        }
        match_rows(what, kinds, rows * p / parts, rows * (p + 1) / parts, id, mine);
    }
    for (int p = 0; p < parts; ++p) {
        for (int k = 0; k < kinds->count; ++k) {
            const cmgi_kind_count *one = &part[(cmg_size)p * kinds->count + k];
            count[k].rows += one->rows;
            count[k].first = one->first < count[k].first ? one->first : count[k].first;
        }
    }
    cmgi_free(ctx, part);
    return CMG_OK;
}

static cmg_status number_rows(cmg_context *ctx, cmg_size rows, int count, const uint16_t *number,
                              uint16_t *id)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > CHUNK)
    for (cmg_size i = 0; i < rows; ++i) {
        id[i] = id[i] < count ? number[id[i]] : (uint16_t)CMGI_NO_TEMPLATE;
    }
    (void)ctx;
    return CMG_OK;
}

const cmgi_template_scan cmgi_template_scan_cpu = {
    .sample = sample_rows, .match = match, .number = number_rows};
