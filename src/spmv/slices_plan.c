/* Plans of slices, and what they come to in bytes; see slices.h. */
#include "spmv/slices.h"

#include "core/each.h"
#include "core/search.h"
#include "csr/place.h"

#include "spmv/slices_cut.inc"

cmgi_slices_plan cmgi_slices_plan_of(const cmg_matrix_options *o)
{
    const cmg_format f = o->format;
    cmgi_slices_plan plan = {.block = 1, .t = 1, .lanes = o->warp, .threshold = o->threshold};
    plan.uniform = f == CMG_FORMAT_BELL || f == CMG_FORMAT_ELLPACK || f == CMG_FORMAT_ELLR ||
                   f == CMG_FORMAT_ELLT;
    if (plan.uniform && plan.lanes < 32) {
        plan.lanes = 32; /* a table is read across slices, whole vectors at a time */
    }
    plan.lengths = f == CMG_FORMAT_ELLR;
    if (f == CMG_FORMAT_CUSPARSE_SELL) {
        plan.lanes = 32;
    }
    plan.split = f == CMG_FORMAT_K2 || f == CMG_FORMAT_K2R || f == CMG_FORMAT_K2RS;
    if ((plan.split || plan.uniform) && plan.lanes > 64) {
        plan.lanes = 64; /* a row is shared within a warp or two; a table has no slices to widen */
    }
    plan.sorted = plan.split || f == CMG_FORMAT_SBELL || f == CMG_FORMAT_K1 ||
                  f == CMG_FORMAT_K1R || f == CMG_FORMAT_K1RS;
    plan.renumbers =
        plan.sorted && f != CMG_FORMAT_K1 && f != CMG_FORMAT_K2 && f != CMG_FORMAT_SBELL;
    plan.resort = f == CMG_FORMAT_K1RS || f == CMG_FORMAT_K2RS;
    plan.blocked = f == CMG_FORMAT_BELL || f == CMG_FORMAT_SBELL;
    if (plan.blocked || ((f == CMG_FORMAT_SELL || plan.sorted) && !plan.split)) {
        plan.block = plan.blocked || o->block_rows > 0 ? o->block_rows : 1;
    }
    if (f == CMG_FORMAT_ELLT) {
        plan.t = o->t;
        plan.lanes = 32 * o->t;
    }
    return plan;
}

enum { MANY_ROWS = 65536, SHORT_ROWS = 1024 };

/* Rows of part p of so many, longest first: counts their lengths, or puts them where each begins.
 * The counters are those of one length after the other, of each part. */
static void sort_part(const cmg_csr *A, cmg_size longest, int p, int parts, cmg_size *next,
                      cmg_index *sorted)
{
    cmg_size own[SHORT_ROWS] = {0}; /* threads do not share lines */
    cmg_size *mine = parts > 1 ? own : next;
    for (cmg_size d = 0; parts > 1 && d <= longest; ++d) {
        own[d] = next[d * parts + p];
    }
    for (cmg_size i = A->rows * p / parts; i < A->rows * (p + 1) / parts; ++i) {
        const cmg_size at = mine[longest - (A->indptr[i + 1] - A->indptr[i])]++;
        if (sorted != NULL) {
            sorted[at] = (cmg_index)i;
        }
    }
    for (cmg_size d = 0; parts > 1 && d <= longest; ++d) {
        next[d * parts + p] = own[d];
    }
}

/* A counting sort; many short rows by parts. */
cmg_status cmgi_slices_sort(cmg_context *ctx, const cmg_csr *A, cmg_index **order)
{
    const cmg_size longest = cmgi_csr_longest_row(A);
    const int parts = A->rows > MANY_ROWS && longest < SHORT_ROWS ? ctx->threads : 1;
    cmg_index *sorted = NULL;
    /* next[0] = 0, then the counters */
    CMGI_SCOPED_ZERO(ctx, (longest + 1) * parts + 1, cmg_size, next);
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *sorted, &sorted));
    CMGI_PARTS(parts, p, sort_part(A, longest, p, parts, next + 1, NULL));
    cmgi_add_up(next, (longest + 1) * parts);
    CMGI_PARTS(parts, p, sort_part(A, longest, p, parts, next, sorted));
    *order = sorted;
    return CMG_OK;
}

int cmgi_slices_shift(const cmgi_slices_plan *plan, cmg_size length)
{
    const int most = plan->split ? plan->lanes : plan->t;
    int shift = 0;
    while (1 << shift < most &&
           (!plan->split || ((length + (1 << shift) - 1) >> shift) > plan->threshold)) {
        ++shift;
    }
    return shift;
}

cmg_size cmgi_slices_length(const cmg_csr *A, const cmg_index *order, cmg_size r)
{
    const cmg_size i = order != NULL ? order[r] : r;
    return A->indptr[i + 1] - A->indptr[i];
}

/* Storage rows r .. end - 1 as slice s, whose rows take 2^shift lanes. */
static void cut_slice(const cmg_csr *A, cmg_size r, cmg_size end, int shift, cmg_size s,
                      cmgi_slices *S)
{
    cmg_size longest = 0;
    for (cmg_size q = r; q < end; ++q) {
        const cmg_size length = cmgi_slices_length(A, S->rowmap, q);
        longest = length > longest ? length : longest;
    }
    S->first_row[s] = (cmg_index)r;
    S->width[s] = (cmg_index)((longest + (1 << shift) - 1) >> shift);
    S->start[s] = (cmg_size)S->width[s] * S->lanes;
    S->shift[s] = (unsigned char)shift;
}

/* Fills the arrays, start with the entries of a slice; counts slices when S->first_row is NULL.
 * Returns their number. */
static cmg_size cut_slices(const cmgi_slices_plan *plan, const cmg_csr *A, cmgi_slices *S)
{
    cmg_size s = 0;
    cmg_size r = 0;
    while (r < A->rows) {
        const int shift = cmgi_slices_shift(plan, cmgi_slices_length(A, S->rowmap, r));
        const cmg_size room = (cmg_size)plan->lanes >> shift;
        const cmg_size end = r + room < A->rows ? r + room : A->rows;
        if (S->first_row != NULL) {
            cut_slice(A, r, end, shift, s, S);
        }
        ++s;
        r = end;
    }
    if (S->first_row != NULL) {
        S->first_row[s] = (cmg_index)A->rows;
    }
    return s;
}

/* What the storage is made of, without its arrays. */
typedef struct extent {
    cmg_size entries;
    cmg_size slices;
} extent;

/* Slices of rows sorted by length: the first row of a slice is its longest. All slices that begin
 * with a row of one length are counted at once. */
static extent sorted_extent(const cmgi_slices_plan *plan, const cmgi_row_statistics *s)
{
    extent sum = {0, 0};
    cmg_size below = 0; /* rows of this length and longer */
    cmg_size r = 0;
    for (cmg_size length = s->longest; length >= 0 && r < s->rows; --length) {
        below += s->count[length];
        const int shift = cmgi_slices_shift(plan, length);
        const cmg_size width = (length + (1 << shift) - 1) >> shift;
        const cmg_size room = (cmg_size)plan->lanes >> shift;
        const cmg_size slices = below > r ? (below - r + room - 1) / room : 0;
        sum.entries += slices * width * plan->lanes;
        sum.slices += slices;
        r += slices * room;
    }
    return sum;
}

static extent extent_of(const cmgi_slices_plan *plan, const cmgi_row_statistics *s)
{
    const cmg_size room = plan->lanes / plan->t;
    const cmg_size slices = (s->rows + room - 1) / room;
    if (plan->sorted) {
        return sorted_extent(plan, s);
    }
    const cmg_size width = (s->longest + plan->t - 1) / plan->t;
    return (extent){plan->uniform ? slices * plan->lanes * width
                                  : s->sliced[cmgi_slice_size(plan->lanes)],
                    slices};
}

size_t cmgi_slices_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const cmgi_slices_plan plan = cmgi_slices_plan_of(options);
    if (plan.block != 1) { /* the columns tell more: every number once a block */
        const size_t b = plan.block != 0 ? (size_t)plan.block : CMGI_BLOCK_MOST;
        return (size_t)s->nnz * cmgi_precision_bytes(options->precision) / b +
               (size_t)s->nnz * sizeof(cmg_index) / (b * b);
    }
    const extent all = extent_of(&plan, s);
    const size_t a_slice = sizeof(cmg_size) + 2 * sizeof(cmg_index) + (plan.split ? 1 : 0);
    const size_t a_row = (plan.lengths ? sizeof(cmg_index) : 0) +
                         (plan.sorted && !plan.renumbers ? sizeof(cmg_index) : 0);
    return (size_t)all.entries * (sizeof(cmg_index) + cmgi_precision_bytes(options->precision)) +
           (size_t)all.slices * a_slice + (size_t)s->rows * a_row;
}

cmg_status cmgi_slices_make(cmg_context *ctx, const cmgi_slices_plan *plan, const cmg_csr *A,
                            const cmgi_row_statistics *there, cmgi_slices *S)
{
    const cmgi_place at = there != NULL ? CMGI_DEVICE : CMGI_HOST;
    const cmg_size longest = !plan->uniform  ? 0
                             : there != NULL ? there->longest
                                             : cmgi_csr_longest_row(A);
    const cmg_size width = (longest + plan->t - 1) / plan->t;
    S->rows = A->rows;
    S->table = plan->uniform;
    S->lanes = plan->lanes;
    S->uniform_shift = plan->split ? 0 : cmgi_slices_shift(plan, 0);
    const cmg_size room = (cmg_size)plan->lanes >> S->uniform_shift;
    S->nslices = plan->split ? cut_slices(plan, A, S) : (A->rows + room - 1) / room;
    S->stride = plan->uniform ? S->nslices * S->lanes : S->lanes;
    S->places = there != NULL ? extent_of(plan, there).entries : S->stride * width;
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->nslices + 1, sizeof *S->start, &S->start));
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->nslices, sizeof *S->width, &S->width));
    CMGI_TRY(plan->split ? cmgi_alloc(ctx, S->nslices, sizeof *S->shift, &S->shift) : CMG_OK);
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->nslices + 1, sizeof *S->first_row, &S->first_row));
    if (plan->split) {
        (void)cut_slices(plan, A, S);
    } else if (S->nslices > 0) {
        const slice_cut cut = {.S = *S, .indptr = A->indptr, .width = (cmg_index)width};
        CMGI_TRY(slices_cut(ctx, at, S->nslices, &cut));
    } else {
        S->start[0] = 0;
        S->first_row[0] = 0;
    }
    return S->table
               ? CMG_OK
               : cmgi_offsets_at(ctx, at, S->nslices, S->start, there != NULL ? NULL : &S->places);
}
