/*
 * How a packed slice of the compressed format is stored: as one pattern of offsets where its rows
 * look alike, else with a base a slice column and the shortest codes that fit.
 */
#include "spmv/packed_plan.h"

#include "core/search.h"

#include <string.h>

const char *const cmgi_obstacle_text[CMGI_OBSTACLES] = {
    "templates were not looked for",
    "no template: offsets of a row do not repeat",
    "no template: values do not repeat",
    "no template: too many different rows",
    "no pattern: a row is longer than one",
    "no pattern: too many offsets in the slice",
    "no pattern: a padded row would read outside x",
    "no 8-bit codes: offsets are over 255 apart",
    "no 16-bit codes: offsets are over 65535 apart",
    "no short codes: a padded row would read outside x",
};

/* Inserts an offset into the sorted pattern; false when there is no room. */
static bool insert(cmgi_slice_plan *plan, cmg_index offset)
{
    int at = plan->width;
    while (at > 0 && plan->offset[at - 1] > offset) {
        --at;
    }
    if (at > 0 && plan->offset[at - 1] == offset) {
        return true;
    }
    if (plan->width == CMGI_PATTERN) {
        return false;
    }
    memmove(plan->offset + at + 1, plan->offset + at,
            (size_t)(plan->width - at) * sizeof *plan->offset);
    plan->offset[at] = offset;
    ++plan->width;
    return true;
}

int cmgi_pattern_find(const cmgi_slice_plan *plan, cmg_index offset, int guess)
{
    if (guess < plan->width && plan->offset[guess] == offset) {
        return guess;
    }
    return (int)cmgi_search_index(plan->offset, 0, plan->width, offset);
}

/* Notes why the slice cannot be one pattern, and the row that shows it. */
static bool refuse_pattern(cmgi_slice_plan *plan, cmgi_obstacle why, cmg_size row)
{
    plan->no_pattern = why;
    plan->pattern_row = row;
    return false;
}

/* Widest pattern that is taken whatever the codes would need: it has none to load. */
static int always_worth(int longest)
{
    return longest + longest / 4 + 1;
}

/* Widest pattern that is no more to read than codes of `bytes`; entries of x count too. */
static int worth_beside(const cmgi_compressor *B, int longest, int bytes)
{
    const int widest = longest * (B->value_bytes + bytes) / B->value_bytes;
    const int most = widest < 2 * longest ? widest : 2 * longest;
    return most > always_worth(longest) ? most : always_worth(longest);
}

/* The union of the offsets of all rows, if it may be worth its width. */
static bool plan_pattern(const cmgi_compressor *B, cmg_size slice, int longest,
                         cmgi_slice_plan *plan)
{
    const cmg_csr *csr = B->csr;
    const int most = worth_beside(B, longest, 4);
    plan->width = 0;
    plan->bytes = 0;
    plan->pattern_row = -1;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        int at = 0;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const cmg_index offset = csr->indices[k] - cmgi_reference(B->C, i);
            if (!cmgi_packs(B, i, k)) {
                continue;
            }
            if (at >= plan->width || plan->offset[at] != offset) {
                if (!insert(plan, offset) || plan->width > most) {
                    return refuse_pattern(plan, CMGI_OBSTACLE_MANY_OFFSETS, i);
                }
                at = cmgi_pattern_find(plan, offset, 0);
            }
            ++at;
        }
        if (plan->pattern_row < 0 && plan->width > always_worth(longest)) {
            plan->pattern_row = i;
        }
    }
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice) && plan->width > 0; ++i) {
        /* padded entries read x as well: they have to stay inside */
        const cmg_size low = (cmg_size)cmgi_reference(B->C, i) + plan->offset[0];
        const cmg_size high = (cmg_size)cmgi_reference(B->C, i) + plan->offset[plan->width - 1];
        if (low < 0 || high >= csr->cols) {
            return refuse_pattern(plan, CMGI_OBSTACLE_OUTSIDE, i);
        }
    }
    return true;
}

/* Columns in the given order with a base a slice column; the code takes what the spread needs. */
static void plan_codes(const cmgi_compressor *B, cmg_size slice, int longest, cmgi_slice_plan *plan,
                       cmg_index *base)
{
    const cmg_csr *csr = B->csr;
    const cmg_size end = cmgi_slice_end(B, slice);
    for (int e = 0; e < longest; ++e) {
        base[e] = INT32_MAX;
    }
    for (cmg_size i = slice * CMGI_SLICE; i < end; ++i) {
        cmg_index *low = base;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            if (cmgi_packs(B, i, k)) {
                const cmg_index offset = csr->indices[k] - cmgi_reference(B->C, i);
                *low = offset < *low ? offset : *low;
                ++low;
            }
        }
    }
    cmg_size spread = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < end; ++i) {
        const cmg_index *low = base;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            if (cmgi_packs(B, i, k)) {
                const cmg_size code = (cmg_size)csr->indices[k] - cmgi_reference(B->C, i) - *low++;
                if (code > spread) {
                    spread = code;
                    plan->codes_row = i;
                }
            }
        }
    }
    plan->width = longest;
    plan->no_codes = spread < 256     ? (cmgi_obstacle)CMGI_OBSTACLES
                     : spread < 65536 ? CMGI_OBSTACLE_OVER_8_BITS
                                      : CMGI_OBSTACLE_OVER_16_BITS;
    plan->bytes = spread < 256 ? 1 : spread < 65536 ? 2 : 4;
}

/* Entries of the longest row, and which row that is. */
static int longest_row(const cmgi_compressor *B, cmg_size slice, cmg_size *which)
{
    cmg_size longest = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        cmg_size length = 0;
        for (cmg_size k = B->csr->indptr[i]; k < B->csr->indptr[i + 1]; ++k) {
            length += cmgi_packs(B, i, k);
        }
        if (length > longest) {
            longest = length;
            *which = i;
        }
    }
    return (int)longest;
}

/* A base may point past the last column for a row that lacks the entry: such slices take 4 bytes.
 */
static bool padding_fits(const cmgi_compressor *B, cmg_size slice, const cmg_index *base,
                         cmgi_slice_plan *plan)
{
    const cmg_size largest = plan->bytes == 1 ? 255 : plan->bytes == 2 ? 65535 : INT32_MAX;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        for (int e = 0; e < plan->width; ++e) {
            const cmg_size low = (cmg_size)cmgi_reference(B->C, i) + base[e];
            if (low >= B->csr->cols || -low > largest) {
                if (plan->bytes < 4) {
                    plan->no_codes = CMGI_OBSTACLE_SHORT_ROW;
                    plan->codes_row = i;
                }
                return false;
            }
        }
    }
    return true;
}

static void take_pattern(cmgi_slice_plan *plan, int width, cmg_index *base)
{
    plan->width = width;
    plan->bytes = 0;
    plan->no_codes = (cmgi_obstacle)CMGI_OBSTACLES;
    memcpy(base, plan->offset, (size_t)width * sizeof *base);
}

static void plan_rows(const cmgi_compressor *B, cmg_size slice, cmgi_slice_plan *plan,
                      cmg_index *base)
{
    cmg_size which = slice * CMGI_SLICE;
    const int longest = longest_row(B, slice, &which);
    plan->no_pattern = (cmgi_obstacle)CMGI_OBSTACLES;
    plan->no_codes = (cmgi_obstacle)CMGI_OBSTACLES;
    const bool pattern = longest < CMGI_PATTERN
                             ? plan_pattern(B, slice, longest, plan)
                             : refuse_pattern(plan, CMGI_OBSTACLE_LONG_ROW, which);
    const int width = pattern ? plan->width : 0;
    if (pattern && width <= always_worth(longest)) {
        take_pattern(plan, width, base);
        return;
    }
    plan_codes(B, slice, longest, plan, base);
    if (pattern && width <= worth_beside(B, longest, plan->bytes)) {
        take_pattern(plan, width, base);
        return;
    }
    if (pattern) {
        plan->no_pattern = CMGI_OBSTACLE_MANY_OFFSETS;
    }
    if (!padding_fits(B, slice, base, plan)) {
        /* 32-bit codes are whole columns less the reference: a base of 0 fits every row */
        plan->bytes = 4;
        memset(base, 0, (size_t)plan->width * sizeof *base);
    }
}

void cmgi_plan_slice(const cmgi_compressor *B, cmg_size slice, cmgi_slice_plan *plan,
                     cmg_index *base)
{
    plan_rows(B, slice, plan, base);
    if (B->pairs_columns && plan->width % 2 != 0) { /* an even width: the last column again */
        base[plan->width] = base[plan->width - 1];
        if (plan->bytes == 0) {
            plan->offset[plan->width] = base[plan->width];
        }
        ++plan->width;
    }
}

size_t cmgi_compressed_storage(const cmgi_compressed_size *size)
{
    const size_t each = size->each > 0 ? (size_t)size->each : 1;
    const size_t block = each > 1 ? (size_t)size->block : 1; /* rows of a diagonal kept apart */
    const size_t full = each * cmgi_precision_bytes(size->precision);
    const size_t value = each * cmgi_values_bytes(size->values, size->precision);
    const size_t rows = (size_t)size->rows;
    const size_t packed = (size_t)size->p_slices;
    const size_t t_rows = (size_t)size->t_slices * CMGI_SLICE;
    const bool both = size->t_slices > 0 && size->p_slices > 0; /* lists of slices are kept */
    size_t bytes = (size_t)size->p_steps * (CMGI_SLICE * value + sizeof(cmg_index)) +
                   (size_t)size->code_bytes + packed * (2 * sizeof(cmg_size) + 1);
    bytes += size->references ? rows * sizeof(cmg_index) : 0;
    bytes += (t_rows < rows ? t_rows : rows) * sizeof(uint16_t);
    bytes += (size_t)size->t_entries * (sizeof(cmg_index) + full);
    bytes += size->values != CMG_VALUES_FULL ? packed * sizeof(float) : 0;
    bytes += size->apart ? block * rows * sizeof(float) : 0;
    return bytes + (both ? ((size_t)size->t_slices + packed) * sizeof(cmg_index) : 0);
}

void cmgi_references(const cmg_csr *A, int threads, cmg_index *ref)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        ref[i] = A->indptr[i] < A->indptr[i + 1] ? A->indices[A->indptr[i]] : 0;
    }
}
