/*
 * Kinds of rows of C = A B on the device: on meshes with a pattern, all rows but a few have their
 * products in the same places as one of some hundred others. The columns of those are found once
 * (product_cuda.cu); every row takes them from there, and no value is looked for.
 *
 * A row of B has a shape: its columns, counted from the first. Rows of A of one kind have B's rows
 * of the same shapes, at the same distances from each other. Both are groups of row_groups.cuh.
 *
 * Where rows of A and of B are known to repeat, equal values are asked for as well, now and with
 * new ones: then all rows of a kind are equal, and products are formed for one of each alone.
 */
#include "csr/product.cuh"
#include "csr/row_groups.cuh"

extern "C" {
#include "csr/kinds.h"
}

enum {
    MOST_KINDS = 2048, /* more do not pay */
    LEAST_ROWS = 2048, /* fewer do not pay */
    PLACES = 1 << 24   /* bytes of places of all kinds */
};

/* A row of B. */
struct shape_of_row {
    int shape;
    cmg_index first; /* column; 0 without any */
};

/* What tells rows of B apart: the columns, from the first on. */
struct by_columns {
    const cmg_size *indptr;
    const cmg_index *indices;
    const uint16_t *id; /* rows of equal values; NULL = not asked for */

    __device__ __forceinline__ cmg_index base(cmg_size, cmg_size begin, cmg_size end) const
    {
        return begin < end ? indices[begin] : 0;
    }
    __device__ __forceinline__ unsigned offset(cmg_size k, cmg_index from) const
    {
        return (unsigned)(indices[k] - from);
    }
    __device__ __forceinline__ unsigned long long content(cmg_size i, cmg_size) const
    {
        return id != NULL ? id[i] : 0;
    }
};

/* What tells rows of A apart: the shapes of B's rows, and how far apart they begin. */
struct by_shapes {
    const cmg_size *indptr;
    const cmg_index *indices;
    const shape_of_row *of;
    const uint16_t *id; /* likewise */

    __device__ __forceinline__ cmg_index base(cmg_size, cmg_size begin, cmg_size end) const
    {
        return begin < end ? of[indices[begin]].first : 0;
    }
    __device__ __forceinline__ unsigned offset(cmg_size k, cmg_index from) const
    {
        return (unsigned)(of[indices[k]].first - from);
    }
    __device__ __forceinline__ unsigned long long content(cmg_size i, cmg_size k) const
    {
        const unsigned long long shape = (unsigned long long)of[indices[k]].shape;
        return id != NULL ? shape << 16 | id[i] : shape;
    }
};

struct shaping {
    by_columns B;
    const int *same;
    shape_of_row *of;
};

CMGI_EACH_INDEX(shape_row, shaping)
{
    a.of[i] = shape_of_row{a.same[i], a.B.base(i, a.B.indptr[i], a.B.indptr[i + 1])};
}

/* What is made on the way. */
struct work {
    cmgi_row_groups groups;
    int *same;        /* rows of A, or of B */
    shape_of_row *of; /* rows of B */
    cmg_csr few;      /* these rows of A */
    cmgi_resident C;  /* and of C */
    cmgi_product_kinds made;
};

/* Numbers of rows that repeat as they do now; NULL = that is not known. */
static const uint16_t *numbers_of(const cmgi_resident *M)
{
    return M->repeats != NULL && M->repeats->hold ? M->repeats->id
           : M->kinds.exact > 0                   ? M->kinds.kind
                                                  : NULL;
}

/* The shapes of B's rows, and the kinds of A's, by their values as well where they are `exact`;
 * *few: they are. */
static cmg_status find_kinds(cmg_context *ctx, const cmgi_resident *left,
                             const cmgi_resident *right, bool exact, work *w, bool *few)
{
    const cmg_csr *A = &left->csr;
    const cmg_csr *B = &right->csr;
    const by_columns of_B = {B->indptr, B->indices, exact ? numbers_of(right) : NULL};
    const by_shapes of_A = {A->indptr, A->indices, w->of, exact ? numbers_of(left) : NULL};
    const shaping s = {of_B, w->same, w->of};
    CMGI_TRY(cmgi_row_groups_find(ctx, of_B, B->rows, &w->groups, w->same, few));
    if (!*few) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_shape_row_device(ctx, B->rows, &s));
    CMGI_TRY(cmgi_row_groups_find(ctx, of_A, A->rows, &w->groups, w->same, few));
    if (!*few) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *w->made.kind, &w->made.kind));
    CMGI_TRY(cmgi_alloc_device(ctx, MOST_KINDS, sizeof *w->made.row, &w->made.row));
    CMGI_TRY(cmgi_row_groups_list(ctx, A->rows, &w->groups, w->same, w->made.row, &w->made.count));
    w->made.exact = exact;
    return cmgi_row_groups_number(ctx, A->rows, w->made.row, w->made.count, w->same, w->made.kind);
}

struct placing {
    cmg_csr A; /* a row of each kind */
    cmg_csr B;
    cmg_csr C;
    int width;
    uint8_t *place;
};

/* Where the products of the entries of A go, by their eight lanes a row; see product.cuh. */
CMGI_EACH_ROW(place_products, placing)
{
    const cmg_index *columns = a.C.indices + (real ? a.C.indptr[i] : 0);
    const cmg_size length = real ? a.C.indptr[i + 1] - a.C.indptr[i] : 0;
    const cmg_size last = real ? a.A.indptr[i + 1] : 0;
    for (cmg_size k = (real ? a.A.indptr[i] : 0) + lane; k < last; k += CMGI_STEP) {
        const cmg_size begin = a.B.indptr[a.A.indices[k]];
        const cmg_size end = a.B.indptr[a.A.indices[k] + 1];
        for (cmg_size e = begin; e < end; ++e) {
            int at = 0;
            while (at < length && columns[at] != a.B.indices[e]) {
                ++at;
            }
            a.place[((cmg_size)k * a.width + at % a.width) * EACH + at / a.width] =
                (uint8_t)(e - begin + 1);
        }
    }
}

/* A row of each kind of A and of C, and the places. */
static cmg_status form_places(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B, work *w,
                              bool *few)
{
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_resident_pick(ctx, A, w->made.row, w->made.count, &w->few, &nnz));
    CMGI_TRY(cmgi_product_pattern(ctx, &w->few, B, false, &w->C));
    const cmg_size longest = w->C.rows.longest;
    w->made.width = width_for((longest + EACH - 1) / EACH);
    *few = longest <= CMGI_WARP * EACH && nnz <= PLACES / (w->made.width * EACH);
    if (!*few) {
        return CMG_OK;
    }
    const cmg_size places = nnz * w->made.width * EACH;
    CMGI_TRY(cmgi_alloc_device(ctx, places, sizeof *w->made.place, &w->made.place));
    CMGI_TRY(cmgi_cuda_clear(ctx, w->made.place, (size_t)places));
    const placing p = {w->few, B->csr, w->C.csr, w->made.width, w->made.place};
    CMGI_TRY(cmgi_place_products_device(ctx, w->made.count, &p));
    w->made.first = (cmg_size *)w->few.indptr;
    return CMG_OK;
}

struct moving {
    by_shapes A;
    const uint16_t *kind;
    const int *row;
    cmg_csr few; /* rows of C */
    bool filled;
    cmg_size *indptr;
    cmg_index *columns;
};

/* indptr[i] = length of row i of C, as columns_kernel has it */
CMGI_EACH_INDEX(take_length, moving)
{
    const cmg_size length = a.few.indptr[a.kind[i] + 1] - a.few.indptr[a.kind[i]];
    a.indptr[i] = length > 0 || !a.filled ? length : 1;
}

/* The columns of the row of its kind, moved. */
CMGI_EACH_ROW(move_columns, moving)
{
    if (!real) {
        return;
    }
    const int q = a.kind[i];
    const cmg_size from = a.few.indptr[q];
    const cmg_size length = a.few.indptr[q + 1] - from;
    const cmg_size *indptr = a.A.indptr;
    const cmg_size row = a.row[q];
    const cmg_index by =
        a.A.base(i, indptr[i], indptr[i + 1]) - a.A.base(row, indptr[row], indptr[row + 1]);
    for (cmg_size e = lane; e < length; e += CMGI_STEP) {
        a.columns[a.indptr[i] + e] = a.few.indices[from + e] + by;
    }
    if (length == 0 && a.filled && lane == 0) {
        a.columns[a.indptr[i]] = (cmg_index)i;
    }
}

static cmg_status form_rows(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                            const work *w, bool filled, cmgi_resident *C)
{
    moving a = {{A->indptr, A->indices, w->of, NULL},
                w->made.kind,
                w->made.row,
                w->C.csr,
                filled,
                NULL,
                NULL};
    C->csr.rows = A->rows;
    C->csr.cols = B->csr.cols;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    C->csr.indptr = a.indptr;
    CMGI_TRY(cmgi_take_length_device(ctx, A->rows, &a));
    CMGI_TRY(cmgi_product_open(ctx, C, &a.columns));
    return cmgi_move_columns_device(ctx, A->rows, &a);
}

cmg_status cmgi_product_kinds_find(cmg_context *ctx, const cmgi_resident *left,
                                   const cmgi_resident *B, bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_csr *A = &left->csr;
    const cmg_size rows = A->rows > B->csr.rows ? A->rows : B->csr.rows;
    bool few = false;
    work w = {};
    cmgi_scratch scratch(ctx);
    CMGI_FREED(ctx, &w.made.kind, &w.made.row, &w.made.place);
    CMGI_RELEASED(cmgi_resident_free_arrays, ctx, &w.few);
    CMGI_RELEASED(cmgi_resident_free, ctx, &w.C);
    if (A->rows < LEAST_ROWS || B->csr.rows == 0 || B->rows.nnz > INT32_MAX) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_row_groups_take(scratch, MOST_KINDS, &w.groups));
    CMGI_TRY(scratch.take(rows, &w.same));
    CMGI_TRY(scratch.take(B->csr.rows, &w.of));
    if (numbers_of(left) != NULL && numbers_of(B) != NULL) {
        CMGI_TRY(find_kinds(ctx, left, B, true, &w, &few));
    }
    CMGI_TRY(few ? CMG_OK : find_kinds(ctx, left, B, false, &w, &few));
    CMGI_TRY(few ? form_places(ctx, A, B, &w, &few) : CMG_OK);
    if (few) {
        CMGI_TRY(form_rows(ctx, A, B, &w, filled, C));
        C->kinds = w.made;
        w.made = cmgi_product_kinds{};
        w.few.indptr = NULL;
    }
    return CMG_OK;
}
