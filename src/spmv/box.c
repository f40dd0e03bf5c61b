/* Search for the box of a matrix of templates, or of a CSR; see box.h. */
#include "spmv/box.h"

#include "core/each.h"
#include "csr/small_dense.h"
#include "spmv/formats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spmv/box.inc"

enum { NEIGHBOURS = 27, LEAST_ROWS = 64 };

/* The offsets that the templates have between them, and their values. */
typedef struct stencil {
    int count;
    cmg_index offset[NEIGHBOURS];
    double value[NEIGHBOURS];
} stencil;

/* False where there are too many offsets, or two values at one of them. */
static bool join_templates(const cmgi_compressed *C, cmg_precision precision, stencil *S)
{
    for (cmg_index e = 0; e < C->t.entries; ++e) {
        const double value = cmgi_number_at(precision, C->t.value, e);
        int k = 0;
        while (k < S->count && S->offset[k] != C->t.offset[e]) {
            ++k;
        }
        if (value == 0 || (k < S->count && S->value[k] == value)) {
            continue;
        }
        if (k < S->count || k == NEIGHBOURS || !isfinite(value)) {
            return false;
        }
        S->offset[k] = C->t.offset[e];
        S->value[k] = value;
        ++S->count;
    }
    return true;
}

/* Fills in the values; false where an offset is no neighbour. */
static bool place_values(const stencil *S, cmgi_box *box)
{
    memset(box->value, 0, sizeof box->value);
    for (int k = 0; k < S->count; ++k) {
        const int at = cmgi_box_neighbour(box->size, box->dims, S->offset[k]);
        if (at < 0) {
            return false;
        }
        box->value[at] = S->value[k];
    }
    return true;
}

static uint32_t stencil_bits(const cmgi_box *box)
{
    uint32_t bits = 0;
    for (int k = 0; k < NEIGHBOURS; ++k) {
        bits |= box->value[k] != 0 ? UINT32_C(1) << k : 0;
    }
    return bits;
}

/* The neighbours at `step` along an axis. */
static uint32_t side_bits(int axis, int step)
{
    static const int apart[3] = {1, 3, 9};
    uint32_t bits = 0;
    for (int k = 0; k < NEIGHBOURS; ++k) {
        bits |= k / apart[axis] % 3 - 1 == step ? UINT32_C(1) << k : 0;
    }
    return bits;
}

static void describe_rows(const cmgi_compressed *C, cmg_precision precision, const cmgi_box *box,
                          const uint16_t *id, box_rows *rows)
{
    *rows = (box_rows){.id = id,
                       .size = {box->size[0], box->size[1], box->size[2]},
                       .pieces = (box->size[0] + CMGI_BOX_PIECE - 1) / CMGI_BOX_PIECE,
                       .stencil = stencil_bits(box)};
    for (int axis = 0; axis < 3; ++axis) {
        rows->low[axis] = side_bits(axis, -1);
        rows->high[axis] = side_bits(axis, 1);
    }
    for (int t = 0; t < C->t.kinds; ++t) {
        for (cmg_index e = C->t.begin[t]; e < C->t.begin[t + 1]; ++e) {
            rows->has[t] |= cmgi_number_at(precision, C->t.value, e) != 0
                                ? UINT32_C(1)
                                      << cmgi_box_neighbour(box->size, box->dims, C->t.offset[e])
                                : 0;
        }
    }
}

/* Whether the first row of each template has what its position leaves: mostly enough to say no. */
static bool first_rows_agree(const box_rows *rows, int kinds, const cmg_index *row)
{
    for (int t = 0; t < kinds; ++t) {
        const cmg_index at[3] = {row[t] % rows->size[0], row[t] / rows->size[0] % rows->size[1],
                                 row[t] / rows->size[0] / rows->size[1]};
        uint32_t left = rows->stencil;
        for (int axis = 0; axis < 3; ++axis) {
            left &= ~(at[axis] == 0 ? rows->low[axis] : 0);
            left &= ~(at[axis] == rows->size[axis] - 1 ? rows->high[axis] : 0);
        }
        if (rows->has[t] != left) {
            return false;
        }
    }
    return true;
}

/* The search: what is known, and what has been found. */
typedef struct search {
    cmg_context *ctx;
    cmg_size rows;
    const cmgi_compressor *B; /* templates are compared ... */
    const cmgi_templates *t;
    const box_entries *entries; /* ... or, where this is not NULL, entries ... */
    const cmgi_own_rows *own;   /* ... of these rows, or NULL = of all */
    cmgi_place at;
    stencil S;
    cmgi_box box;
    bool found;
} search;

static cmg_status compare_entries(search *s)
{
    box_entries e = *s->entries;
    cmg_size others = 0;
    cmg_size rows = s->rows;
    if (s->own != NULL) {
        const int axis = s->box.dims - 1;
        const cmg_size unit = s->rows / s->box.size[axis];
        rows = s->own->rows;
        if (s->own->first % unit != 0 || rows % unit != 0 || rows + 2 * unit > INT32_MAX) {
            return CMG_OK;
        }
        e.lead = s->own->first > 0 ? (cmg_index)unit : 0;
        e.before = s->own->first - e.lead;
        e.from[axis] = (cmg_index)(e.before / unit);
    }
    memcpy(e.size, s->box.size, sizeof e.size);
    memcpy(e.value, s->box.value, sizeof e.value);
    CMGI_TRY(count_other_rows(s->ctx, s->at, rows, &e, &others));
    s->found = others == 0;
    return CMG_OK;
}

/* Looks at every row where the first ones agree. */
static cmg_status compare_templates(search *s)
{
    const cmgi_compressed *C = s->B->C;
    box_rows rows;
    cmg_size pieces = 0;
    describe_rows(C, s->B->A->options.precision, &s->box, s->t->id, &rows);
    if (!first_rows_agree(&rows, C->t.kinds, s->t->row)) {
        return CMG_OK;
    }
    const cmg_size lines = (cmg_size)s->box.size[1] * s->box.size[2];
    CMGI_TRY(count_other_pieces(s->ctx, s->at, lines * rows.pieces, &rows, &pieces));
    s->found = pieces == 0;
    return CMG_OK;
}

static cmg_status try_sizes(search *s, int dims, cmg_size line, cmg_size lines, cmg_size planes)
{
    s->box =
        (cmgi_box){.dims = dims, .size = {(cmg_index)line, (cmg_index)lines, (cmg_index)planes}};
    return !place_values(&s->S, &s->box) ? CMG_OK
           : s->entries != NULL          ? compare_entries(s)
                                         : compare_templates(s);
}

/* The smallest offset, either way, above `least`; 0 = none. */
static cmg_size next_offset(const stencil *S, cmg_size least)
{
    cmg_size next = 0;
    for (int k = 0; k < S->count; ++k) {
        const cmg_size o = llabs(S->offset[k]);
        next = o > least && (next == 0 || o < next) ? o : next;
    }
    return next;
}

/* All planes that go with a line: the smallest offset above those of a plane is P - L - 1 or more,
 * at most P + L + 1. */
static cmg_status try_planes(search *s, cmg_size line)
{
    const cmg_size lines = s->rows / line;
    const cmg_size next = next_offset(&s->S, line + 1);
    if (next == 0) {
        return try_sizes(s, 2, line, lines, 1);
    }
    for (cmg_size m = (next + line + 1) / line; m * line >= next - line - 1 && m >= 3 && !s->found;
         --m) {
        CMGI_TRY(lines % m == 0 ? try_sizes(s, 3, line, m, lines / m) : CMG_OK);
    }
    return CMG_OK;
}

static cmg_status try_lines(search *s)
{
    const cmg_size next = next_offset(&s->S, 1);
    for (cmg_size line = next + 1; line >= next - 1 && line >= 3 && next > 0 && !s->found; --line) {
        CMGI_TRY(s->rows % line == 0 ? try_planes(s, line) : CMG_OK);
    }
    return CMG_OK;
}

/*
 * Makes a box even whose mirrored values differ by rounding alone, as those of assembled matrices
 * do: by less than four units in the last place of the largest one, which is less than a row's sum
 * loses by rounding.
 */
static bool make_even(double *value, double unit)
{
    double even[NEIGHBOURS];
    const double most = cmgi_largest(NEIGHBOURS, value);
    for (int k = 0; k < NEIGHBOURS; ++k) {
        const int mirrored = k / 9 % 3 / 2 * 18 + k / 3 % 3 / 2 * 6 + k % 3 / 2 * 2;
        even[k] = value[k - mirrored];
        if (fabs(value[k] - even[k]) > 4 * unit * most) {
            return false;
        }
    }
    memcpy(value, even, sizeof even);
    return true;
}

/* The box of the same CSR in fp64, rounded: rows that agree there do so here. */
static const cmgi_box *known_box(const cmgi_compressor *B)
{
    const cmg_matrix *like = B->from->like;
    const bool wide = like != NULL && like->options.precision == CMG_FP64;
    return wide && B->A->options.precision == CMG_FP32 ? cmgi_matrix_box(like) : NULL;
}

/* The box as products in this precision have it. */
static void round_box(const cmgi_box *found, cmg_precision precision, cmgi_box *box)
{
    *box = *found;
    for (int k = 0; k < NEIGHBOURS && precision == CMG_FP32; ++k) {
        box->value[k] = (double)(float)found->value[k];
    }
    box->even = make_even(box->value, precision == CMG_FP32 ? FLT_EPSILON : DBL_EPSILON);
}

static cmg_status keep(const cmgi_compressor *B, const cmgi_box *found)
{
    cmgi_compressed *C = B->C;
    CMGI_TRY(cmgi_alloc(B->A->ctx, 1, sizeof *C->t.box, &C->t.box));
    round_box(found, B->A->options.precision, C->t.box);
    return CMG_OK;
}

cmg_status cmgi_box_find(const cmgi_compressor *B, const cmgi_templates *t)
{
    const cmgi_compressed *C = B->C;
    const cmg_size slices = (C->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    search s = {.rows = C->rows, .B = B, .t = t, .ctx = B->A->ctx, .at = cmgi_compressor_place(B)};
    if (C->t.count != slices || C->ref != NULL || C->lead != 0 || C->rows != C->cols ||
        C->block > 1 || C->rows < LEAST_ROWS || C->t.kinds > CMGI_BOX_KINDS ||
        !join_templates(C, B->A->options.precision, &s.S)) {
        return CMG_OK;
    }
    if (known_box(B) != NULL) {
        return keep(B, known_box(B));
    }
    CMGI_TRY(try_lines(&s));
    return s.found ? keep(B, &s.box) : CMG_OK;
}

static double rounded(double value, bool single)
{
    return single ? (double)(float)value : value;
}

/* The stencil of the row in the middle, which is inside of a box of odd sides. */
static cmg_status middle_row(cmg_context *ctx, const cmg_csr *csr, const cmgi_resident *there,
                             bool single, stencil *S)
{
    const cmg_index middle = (cmg_index)((csr != NULL ? csr : &there->csr)->rows / 2);
    cmgi_scoped_csr row = {0};
    CMGI_TRY(cmgi_rows_on_host(ctx, csr, there, &middle, 1, &row));
    const cmg_size entries = row.indptr[1];
    S->count = entries <= NEIGHBOURS ? (int)entries : 0;
    for (int k = 0; k < S->count; ++k) {
        S->offset[k] = row.indices[k] - middle;
        S->value[k] = rounded(row.values[k], single);
    }
    return CMG_OK;
}

cmg_status cmgi_box_of_csr(cmg_context *ctx, const cmg_csr *csr, const cmgi_resident *there,
                           cmg_precision precision, cmgi_box *box, bool *found)
{
    const cmg_csr *A = csr != NULL ? csr : &there->csr;
    const bool single = precision == CMG_FP32;
    const box_entries entries = {.indptr = A->indptr,
                                 .indices = A->indices,
                                 .values = A->values,
                                 .single = single,
                                 .own = A->cols};
    search s = {.rows = A->rows,
                .ctx = ctx,
                .entries = &entries,
                .at = csr != NULL ? CMGI_HOST : CMGI_DEVICE};
    *found = false;
    if (A->rows != A->cols || A->rows < NEIGHBOURS / 3 || A->rows % 2 == 0) {
        return CMG_OK;
    }
    CMGI_TRY(middle_row(ctx, csr, there, single, &s.S));
    CMGI_TRY(try_lines(&s));
    *found = s.found;
    round_box(&s.box, precision, box);
    return CMG_OK;
}

cmg_status cmgi_box_of_own(cmg_context *ctx, const cmgi_box_rows *of, cmg_precision precision,
                           cmgi_box *box, bool *found)
{
    const bool single = precision == CMG_FP32;
    const cmgi_own_rows *own = of->own;
    const cmgi_own_rows *middle = of->middle;
    const size_t halo_bytes = (size_t)of->halo_count * sizeof *of->halo;
    box_entries entries = {
        .indptr = own->indptr, .wide = own->indices, .values = own->values, .single = single};
    search s = {.rows = of->rows, .ctx = ctx, .entries = &entries, .own = own, .at = CMGI_HOST};
    cmg_size *halo = NULL;
    CMGI_FREED(ctx, &halo);
    bool near = of->rows % 2 != 0 && own->rows > 0 && middle->indptr[1] <= NEIGHBOURS;
    for (cmg_size k = 0; near && k < middle->indptr[1]; ++k) {
        const cmg_size offset = middle->indices[k] - of->rows / 2;
        near = llabs(offset) <= INT32_MAX / 2;
        s.S.offset[s.S.count] = (cmg_index)offset;
        s.S.value[s.S.count++] = rounded(middle->values[k], single);
    }
    if (near && of->there != NULL) {
        const cmg_csr *A = &of->there->csr;
        CMGI_TRY(cmgi_alloc_device(ctx, of->halo_count, sizeof *halo, &halo));
        CMGI_TRY(cmgi_to_device(ctx, halo, of->halo, halo_bytes));
        entries = (box_entries){.indptr = A->indptr,
                                .indices = A->indices,
                                .values = A->values,
                                .single = single,
                                .own = own->rows,
                                .first = own->first,
                                .halo = halo};
        s.at = CMGI_DEVICE;
    }
    CMGI_TRY(near ? try_lines(&s) : CMG_OK);
    *found = s.found;
    round_box(&s.box, precision, box);
    return CMG_OK;
}

bool cmgi_box_sizes(const cmg_csr *A, cmgi_box *box)
{
    enum { LINE = 16, PLANE = 22 }; /* where the neighbours in the next line and plane stand */
    const cmg_size middle = A->rows / 2;
    const cmg_index *columns = A->indices + A->indptr[middle];
    if (A->rows != A->cols || A->indptr[middle + 1] - A->indptr[middle] != NEIGHBOURS) {
        return false;
    }
    const cmg_size line = columns[LINE] - middle;
    const cmg_size plane = columns[PLANE] - middle;
    if (line < 3 || plane < line || plane % line != 0 || A->rows % plane != 0) {
        return false;
    }
    *box = (cmgi_box){
        .dims = 3,
        .size = {(cmg_index)line, (cmg_index)(plane / line), (cmg_index)(A->rows / plane)}};
    return true;
}

const cmgi_box *cmgi_matrix_box(const cmg_matrix *A)
{
    return A->format->id == CMG_FORMAT_COMPRESSED ? ((const cmgi_compressed *)A->data)->t.box
                                                  : NULL;
}
