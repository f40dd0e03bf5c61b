/* Packed slices as they are planned on the host, and what the storage of the format takes. */
#include "spmv/packed_plan.h"

#include <string.h>

/* packed_plan.inc of one lane. */
#define PLAN static inline
enum { LANES = 1 };

static inline bool plan_any(bool b)
{
    return b;
}
static inline cmg_size plan_max(cmg_size v)
{
    return v;
}
static inline unsigned plan_ballot(bool b)
{
    return b;
}
static inline int plan_first(unsigned lanes)
{
    (void)lanes;
    return 0;
}
static inline int plan_count(unsigned lanes, int lane)
{
    return lane == LANES ? (int)lanes : 0;
}
static inline int plan_from(int v, int lane)
{
    (void)lane;
    return v;
}
static inline void plan_sync(void)
{
}
/* Of a row that is none of the first, as most rows of a mesh whose nodes are numbered along lines.
 */
static inline bool plan_repeats(const cmgi_plan_source *S, const cmgi_slice_plan *P, int r)
{
    const cmg_size i = P->first + r;
    const cmg_index shift = r > 0 ? cmgi_plan_reference(S, i) - cmgi_plan_reference(S, i - 1) : 0;
    return r > 0 && cmgi_plan_repeats(&S->A, S->same, shift, i);
}
static inline void plan_insert(cmgi_slice_plan *P, cmg_index offset, int lane)
{
    int at = P->width++;
    for (; at > 0 && P->pattern[at - 1] > offset; --at) {
        P->pattern[at] = P->pattern[at - 1];
    }
    P->pattern[at] = offset;
    (void)lane;
}

#include "spmv/packed_plan.inc"

cmgi_slice_plan cmgi_plan_slice(const cmgi_compressor *B, cmg_size slice, cmg_index *pattern,
                                cmg_index *base)
{
    const cmgi_plan_source from = {.A = *B->csr,
                                   .ref = B->C->ref,
                                   .lead = B->C->lead,
                                   .same = cmgi_rows_before(B),
                                   .value_bytes = B->value_bytes,
                                   .split_diagonal = B->split_diagonal && B->entries == NULL};
    cmgi_slice_plan plan = {.pattern = pattern, .base = base};
    plan_slice(&from, slice, 0, &plan);
    if (plan.bytes == 0) {
        memcpy(base, pattern, (size_t)plan.width * sizeof *base);
    }
    if (B->pairs_columns && plan.width % 2 != 0) { /* an even width: the last column again */
        base[plan.width] = base[plan.width - 1];
        ++plan.width;
    }
    return plan;
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
