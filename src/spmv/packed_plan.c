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
    return r > 0 && cmgi_plan_repeats(S, P->first + r);
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
    cmgi_slice_plan plan = {.pattern = pattern, .base = base};
    plan_slice(&B->plan, slice, 0, &plan);
    if (plan.bytes == 0) {
        memcpy(base, pattern, (size_t)plan.width * sizeof *base);
    }
    if (B->pairs_columns && plan.width % 2 != 0) { /* an even width: the last column again */
        base[plan.width] = base[plan.width - 1];
        ++plan.width;
    }
    return plan;
}

size_t cmgi_compressed_storage(const cmgi_compressed *C, cmg_precision precision)
{
    const size_t each = (size_t)cmgi_compressed_each(C);
    const size_t block = each > 1 ? (size_t)C->block : 1; /* rows of a diagonal kept apart */
    const size_t full = each * cmgi_precision_bytes(precision);
    const size_t value = each * cmgi_values_bytes(C->p.kind, precision);
    const size_t rows = (size_t)C->rows;
    const size_t packed = (size_t)C->p.count;
    const size_t t_rows = (size_t)C->t.count * CMGI_SLICE;
    const bool reduced = C->p.kind != CMG_VALUES_FULL;
    const bool both = C->t.count > 0 && C->p.count > 0; /* lists of slices are kept */
    size_t bytes = (size_t)C->p.steps * (CMGI_SLICE * value + sizeof *C->p.base) +
                   (size_t)C->p.code_bytes + packed * (2 * sizeof *C->p.step + 1);
    bytes += C->ref != NULL ? rows * sizeof *C->ref : 0;
    bytes += (t_rows < rows ? t_rows : rows) * sizeof *C->t.id;
    bytes += (size_t)C->t.entries * (sizeof *C->t.offset + full);
    bytes += reduced ? packed * sizeof *C->p.scale : 0;
    bytes += reduced && C->square ? block * rows * sizeof *C->diagonal : 0;
    return bytes + (both ? ((size_t)C->t.count + packed) * sizeof *C->t.slice : 0);
}
