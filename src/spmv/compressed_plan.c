/*
 * How a packed slice of the compressed format is stored: as one pattern of offsets where its rows
 * look alike, else with a base a slice column and the shortest codes that fit.
 */
#include "spmv/compressed_plan.h"

#include <string.h>

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
    int low = 0;
    int high = plan->width - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (plan->offset[middle] < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The union of the offsets of all rows, if it is not much wider than the longest row. */
static bool plan_pattern(const cmgi_compressor *B, cmg_size slice, int longest,
                         cmgi_slice_plan *plan)
{
    const cmg_csr *csr = B->csr;
    const int most = longest + longest / 4 + 1;
    plan->width = 0;
    plan->bytes = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        int at = 0;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const cmg_index offset = csr->indices[k] - cmgi_reference(B->C, i);
            if (!cmgi_packs(B, i, k)) {
                continue;
            }
            if (at >= plan->width || plan->offset[at] != offset) {
                if (!insert(plan, offset) || plan->width > most) {
                    return false;
                }
                at = cmgi_pattern_find(plan, offset, 0);
            }
            ++at;
        }
    }
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice) && plan->width > 0; ++i) {
        /* padded entries read x as well: they have to stay inside */
        const cmg_size low = (cmg_size)cmgi_reference(B->C, i) + plan->offset[0];
        const cmg_size high = (cmg_size)cmgi_reference(B->C, i) + plan->offset[plan->width - 1];
        if (low < 0 || high >= csr->cols) {
            return false;
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
                spread = code > spread ? code : spread;
            }
        }
    }
    plan->width = longest;
    plan->bytes = spread < 256 ? 1 : spread < 65536 ? 2 : 4;
}

static int longest_row(const cmgi_compressor *B, cmg_size slice)
{
    cmg_size longest = 0;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        cmg_size length = 0;
        for (cmg_size k = B->csr->indptr[i]; k < B->csr->indptr[i + 1]; ++k) {
            length += cmgi_packs(B, i, k);
        }
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

/* A base may point behind the last column for a row that lacks the entry: such slices take 4 bytes.
 */
static bool padding_fits(const cmgi_compressor *B, cmg_size slice, const cmgi_slice_plan *plan,
                         const cmg_index *base)
{
    const cmg_size largest = plan->bytes == 1 ? 255 : plan->bytes == 2 ? 65535 : INT32_MAX;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(B, slice); ++i) {
        for (int e = 0; e < plan->width; ++e) {
            const cmg_size low = (cmg_size)cmgi_reference(B->C, i) + base[e];
            if (low >= B->csr->cols || -low > largest) {
                return false;
            }
        }
    }
    return true;
}

void cmgi_plan_slice(const cmgi_compressor *B, cmg_size slice, cmgi_slice_plan *plan,
                     cmg_index *base)
{
    const int longest = longest_row(B, slice);
    if (longest < CMGI_PATTERN && plan_pattern(B, slice, longest, plan)) {
        memcpy(base, plan->offset, (size_t)plan->width * sizeof *base);
        return;
    }
    plan_codes(B, slice, longest, plan, base);
    if (!padding_fits(B, slice, plan, base)) {
        /* 32-bit codes are whole columns less the reference: a base of 0 fits every row */
        plan->bytes = 4;
        memset(base, 0, (size_t)plan->width * sizeof *base);
    }
}
