/*
 * Builds the slice layouts of slices.h from CSR, and multiplies on the CPU.
 *
 *   sort      K formats order rows by length, longest first, ties in the given order
 *   renumber  r formats apply that order to rows and columns, rs sorts the columns of a row again
 *   split     K2 gives a row over the threshold 2, 4, ... lanes until each takes at most the
 *             threshold, at most a whole warp (Wong, Kuhl and Darve 2015, section 5)
 *   pack      rows go into slices of `lanes` lanes, padded to the longest row of the slice
 */
#include "core/search.h"
#include "spmv/cpu_kernels.h"

#include <string.h>

/* What tells the formats apart. */
typedef struct layout_plan {
    bool sorted;    /* by length */
    bool renumbers; /* and that is the numbering of rows and columns */
    bool split;     /* rows over the threshold take several lanes */
    bool uniform;  /* every slice as wide as the longest row, all steps of a slice `stride` apart */
    bool lengths;  /* keep row lengths */
    bool resort;   /* columns ascend in a renumbered row */
    int t;         /* lanes a row where rows are not split */
    int lanes;     /* lanes a slice */
    int threshold; /* entries a lane before a row is split */
} layout_plan;

static layout_plan plan_of(const cmg_matrix_options *o)
{
    const cmg_format f = o->format;
    layout_plan plan = {.t = 1, .lanes = o->warp, .threshold = o->threshold};
    plan.uniform = f == CMG_FORMAT_ELLPACK || f == CMG_FORMAT_ELLR || f == CMG_FORMAT_ELLT;
    if (plan.uniform && plan.lanes < 32) {
        plan.lanes = 32; /* a table is read across slices, whole vectors at a time */
    }
    plan.lengths = f == CMG_FORMAT_ELLR;
    if (f == CMG_FORMAT_CUSPARSE_SELL) {
        plan.lanes = 32;
    }
    plan.split = f == CMG_FORMAT_K2 || f == CMG_FORMAT_K2R || f == CMG_FORMAT_K2RS;
    plan.sorted = plan.split || f == CMG_FORMAT_K1 || f == CMG_FORMAT_K1R || f == CMG_FORMAT_K1RS;
    plan.renumbers = plan.sorted && f != CMG_FORMAT_K1 && f != CMG_FORMAT_K2;
    plan.resort = f == CMG_FORMAT_K1RS || f == CMG_FORMAT_K2RS;
    if (f == CMG_FORMAT_ELLT) {
        plan.t = o->t;
        plan.lanes = 32 * o->t;
    }
    return plan;
}

/* Rows by length, longest first, stable: a counting sort. */
static cmg_status sort_by_length(cmg_context *ctx, const cmg_csr *A, cmg_index **order)
{
    const cmg_size longest = cmgi_csr_longest_row(A);
    cmg_size *next = NULL;
    cmg_index *sorted = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, longest + 2, sizeof *next, &next));
    const cmg_status status = cmgi_alloc(ctx, A->rows, sizeof *sorted, &sorted);
    if (status != CMG_OK) {
        cmgi_free(ctx, next);
        return status;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        ++next[longest - (A->indptr[i + 1] - A->indptr[i]) + 1];
    }
    for (cmg_size d = 0; d <= longest; ++d) {
        next[d + 1] += next[d];
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        sorted[next[longest - (A->indptr[i + 1] - A->indptr[i])]++] = (cmg_index)i;
    }
    cmgi_free(ctx, next);
    *order = sorted;
    return CMG_OK;
}

/* log2 of the lanes that a row of this length takes. */
static int lanes_shift(const layout_plan *plan, cmg_size length)
{
    int shift = 0;
    if (!plan->split) {
        while (1 << shift < plan->t) {
            ++shift;
        }
        return shift;
    }
    while ((1 << shift) < plan->lanes && ((length + (1 << shift) - 1) >> shift) > plan->threshold) {
        ++shift;
    }
    return shift;
}

/* Length of storage row r; `order` NULL = given order. */
static cmg_size length_of(const cmg_csr *A, const cmg_index *order, cmg_size r)
{
    const cmg_size i = order != NULL ? order[r] : r;
    return A->indptr[i + 1] - A->indptr[i];
}

/* As cut_slices where every row takes `t` lanes: slice s begins at row s room, whatever the others
 * are. */
static cmg_size cut_evenly(const cmg_context *ctx, const layout_plan *plan, const cmg_csr *A,
                           const cmg_index *order, cmgi_slices *S)
{
    const int shift = lanes_shift(plan, 0);
    const cmg_size room = (cmg_size)plan->lanes >> shift;
    const cmg_size count = (A->rows + room - 1) / room;
    if (S->first_row == NULL) {
        return count;
    }
#pragma omp parallel for num_threads(ctx->threads)                                                 \
    schedule(static) if (A->rows > CMGI_PARALLEL_ENTRIES)
    for (cmg_size s = 0; s < count; ++s) {
        const cmg_size end = (s + 1) * room < A->rows ? (s + 1) * room : A->rows;
        cmg_size longest = 0;
        for (cmg_size q = s * room; q < end; ++q) {
            const cmg_size length = length_of(A, order, q);
            longest = length > longest ? length : longest;
        }
        S->first_row[s] = (cmg_index)(s * room);
        S->width[s] = (cmg_index)((longest + (1 << shift) - 1) >> shift);
    }
    S->first_row[count] = (cmg_index)A->rows;
    (void)ctx;
    return count;
}

/* Fills first_row, width and shift; counts slices when S->first_row is NULL. Returns their number.
 */
static cmg_size cut_slices(const layout_plan *plan, const cmg_csr *A, const cmg_index *order,
                           cmgi_slices *S)
{
    cmg_size s = 0;
    cmg_size r = 0;
    while (r < A->rows) {
        const int shift = lanes_shift(plan, length_of(A, order, r));
        const cmg_size room = (cmg_size)plan->lanes >> shift;
        const cmg_size end = r + room < A->rows ? r + room : A->rows;
        cmg_size longest = 0;
        for (cmg_size q = r; q < end; ++q) {
            const cmg_size length = length_of(A, order, q);
            longest = length > longest ? length : longest;
        }
        if (S->first_row != NULL) {
            S->first_row[s] = (cmg_index)r;
            S->width[s] = (cmg_index)((longest + (1 << shift) - 1) >> shift);
            if (S->shift != NULL) {
                S->shift[s] = (unsigned char)shift;
            }
        }
        ++s;
        r = end;
    }
    if (S->first_row != NULL) {
        S->first_row[s] = (cmg_index)A->rows;
    }
    return s;
}

static cmg_status make_slices(cmg_context *ctx, const layout_plan *plan, const cmg_csr *A,
                              const cmg_index *order, cmgi_slices *S)
{
    S->rows = A->rows;
    S->table = plan->uniform;
    S->lanes = plan->lanes;
    S->uniform_shift = plan->split ? 0 : lanes_shift(plan, 0);
    S->nslices = plan->split ? cut_slices(plan, A, order, S) : cut_evenly(ctx, plan, A, order, S);
    CMGI_TRY(cmgi_alloc(ctx, S->nslices + 1, sizeof *S->start, &S->start));
    CMGI_TRY(cmgi_alloc(ctx, S->nslices, sizeof *S->width, &S->width));
    if (plan->split) {
        CMGI_TRY(cmgi_alloc(ctx, S->nslices, sizeof *S->shift, &S->shift));
    }
    CMGI_TRY(cmgi_alloc(ctx, S->nslices + 1, sizeof *S->first_row, &S->first_row));
    (void)(plan->split ? cut_slices(plan, A, order, S) : cut_evenly(ctx, plan, A, order, S));
    if (plan->uniform) {
        cmg_index longest = 0;
        for (cmg_size s = 0; s < S->nslices; ++s) {
            longest = S->width[s] > longest ? S->width[s] : longest;
        }
        for (cmg_size s = 0; s < S->nslices; ++s) {
            S->width[s] = longest;
            S->start[s] = s * S->lanes;
        }
        S->stride = S->nslices * S->lanes;
        S->start[S->nslices] = S->stride * longest;
        return CMG_OK;
    }
    S->stride = S->lanes;
    S->start[0] = 0;
    for (cmg_size s = 0; s < S->nslices; ++s) {
        S->start[s + 1] = S->start[s] + (cmg_size)S->width[s] * S->lanes;
    }
    return CMG_OK;
}

/* Entries of one slice; `order` is the row map, NULL = the same. `ids` NULL or the CSR entry of
 * each. */
static void fill_slice(cmg_matrix *A, const cmg_csr *csr, const cmg_index *order, const double *ids,
                       cmg_size s)
{
    const cmgi_slices *S = A->data;
    const int shift = S->shift != NULL ? S->shift[s] : S->uniform_shift;
    const cmg_size t = (cmg_size)1 << shift;
    const cmg_size room = (cmg_size)S->lanes >> shift;
    const cmg_size first = S->first_row[s];
    const bool marked = A->options.format == CMG_FORMAT_CUSPARSE_SELL; /* it wants padding marked */
    for (cmg_size r = first; r < first + room; ++r) {
        const bool real = r < S->first_row[s + 1];
        const cmg_size i = real && order != NULL ? order[r] : r;
        const cmg_size begin = real ? csr->indptr[i] : 0;
        const cmg_size length = real ? csr->indptr[i + 1] - begin : 0;
        const cmg_index pad = marked ? -1 : length > 0 ? csr->indices[begin + length - 1] : 0;
        for (cmg_size e = 0; e < S->width[s] * t; ++e) {
            const cmg_size at =
                S->start[s] + (e >> shift) * S->stride + (r - first) * t + (e & (t - 1));
            const cmg_size k = begin + e;
            S->columns[at] = e < length ? csr->indices[k] : pad;
            if (e < length) {
                cmgi_matrix_put(A, ids != NULL ? (cmg_size)ids[k] : k, at, csr->values[k]);
            }
        }
    }
}

static cmg_status fill(cmg_matrix *A, const cmgi_matrix_source *from, const cmg_index *order,
                       const double *ids)
{
    cmg_context *ctx = A->ctx;
    cmgi_slices *S = A->data;
    A->stored = S->start[S->nslices];
    if (from->device != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, A->stored, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from));
#pragma omp parallel for num_threads(ctx->threads)                                                 \
    schedule(static) if (A->stored > CMGI_PARALLEL_ENTRIES)
    for (cmg_size s = 0; s < S->nslices; ++s) {
        fill_slice(A, from->csr, order, ids, s);
    }
    return CMG_OK;
}

/*
 * The CSR in the sorted numbering. Under keep_map `ids` gets, in the order of the new entries, the
 * number of the old one; it rides through the renumbering as a value, exact below 2^53.
 */
static cmg_status renumber(cmg_matrix *A, const cmg_csr *csr, bool resort, cmgi_csr *sorted,
                           cmgi_csr *ids)
{
    cmg_context *ctx = A->ctx;
    CMGI_TRY(cmgi_csr_permute(ctx, csr, A->perm, A->perm, resort, sorted));
    if (!A->options.keep_map) {
        return CMG_OK;
    }
    const cmg_size nnz = csr->indptr[csr->rows];
    double *number = NULL;
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *number, &number));
    for (cmg_size k = 0; k < nnz; ++k) {
        number[k] = (double)k;
    }
    cmg_csr numbered = *csr;
    numbered.values = number;
    const cmg_status status = cmgi_csr_permute(ctx, &numbered, A->perm, A->perm, resort, ids);
    cmgi_free(ctx, number);
    return status;
}

/* ------------------------------------------------------------------ bytes */

/* What the storage is made of, without its arrays. */
typedef struct extent {
    cmg_size entries;
    cmg_size slices;
} extent;

/* Slices of rows sorted by length: the first row of a slice is its longest. */
static extent sorted_extent(const layout_plan *plan, const cmgi_row_statistics *s)
{
    extent sum = {0, 0};
    cmg_size length = s->longest;
    cmg_size below = s->count[length]; /* rows of this length and longer */
    for (cmg_size r = 0; r < s->rows; ++sum.slices) {
        while (below <= r) {
            below += s->count[--length];
        }
        const int shift = lanes_shift(plan, length);
        const cmg_size width = (length + (1 << shift) - 1) >> shift;
        sum.entries += width * plan->lanes;
        r += (cmg_size)plan->lanes >> shift;
    }
    return sum;
}

static extent extent_of(const layout_plan *plan, const cmgi_row_statistics *s)
{
    const cmg_size room = plan->lanes / plan->t;
    const cmg_size slices = (s->rows + room - 1) / room;
    if (plan->sorted) {
        return sorted_extent(plan, s);
    }
    if (plan->uniform) {
        const cmg_size width = (s->longest + plan->t - 1) / plan->t;
        return (extent){slices * plan->lanes * width, slices};
    }
    return (extent){s->sliced[cmgi_slice_size(plan->lanes)], slices};
}

size_t cmgi_slices_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const layout_plan plan = plan_of(options);
    const extent all = extent_of(&plan, s);
    const size_t a_slice = sizeof(cmg_size) + 2 * sizeof(cmg_index) + (plan.split ? 1 : 0);
    const size_t a_row = (plan.lengths ? sizeof(cmg_index) : 0) +
                         (plan.sorted && !plan.renumbers ? sizeof(cmg_index) : 0);
    return (size_t)all.entries * (sizeof(cmg_index) + cmgi_precision_bytes(options->precision)) +
           (size_t)all.slices * a_slice + (size_t)s->rows * a_row;
}

static size_t storage_bytes(const cmg_matrix *A)
{
    const cmgi_slices *S = A->data;
    const size_t slices = (size_t)S->nslices;
    const size_t rows = (size_t)S->rows;
    return (size_t)A->stored * (sizeof *S->columns + cmgi_precision_bytes(A->options.precision)) +
           slices * (sizeof *S->start + sizeof *S->width + sizeof *S->first_row) +
           (S->shift != NULL ? slices : 0) +
           (S->row_length != NULL ? rows * sizeof *S->row_length : 0) +
           (S->rowmap != NULL ? rows * sizeof *S->rowmap : 0);
}

static cmg_status move(cmg_context *ctx, cmgi_slices *S, cmg_size stored)
{
    CMGI_TRY(cmgi_move_to_device(ctx, &S->start, S->nslices + 1, sizeof *S->start));
    CMGI_TRY(cmgi_move_to_device(ctx, &S->width, S->nslices, sizeof *S->width));
    CMGI_TRY(cmgi_move_to_device(ctx, &S->first_row, S->nslices + 1, sizeof *S->first_row));
    CMGI_TRY(cmgi_move_to_device(ctx, &S->shift, S->nslices, sizeof *S->shift));
    CMGI_TRY(cmgi_move_to_device(ctx, &S->row_length, S->rows, sizeof *S->row_length));
    CMGI_TRY(cmgi_move_to_device(ctx, &S->rowmap, S->rows, sizeof *S->rowmap));
    return cmgi_move_to_device(ctx, &S->columns, stored, sizeof *S->columns);
}

/* Slices of a CSR whose storage rows are taken in `order`, NULL = as given. */
static cmg_status pack(cmg_matrix *A, const layout_plan *plan, const cmgi_matrix_source *from,
                       cmg_index *order, const double *ids)
{
    cmg_context *ctx = A->ctx;
    const cmg_csr *csr = from->csr;
    cmgi_slices *S = A->data;
    S->rowmap = order;
    CMGI_TRY(make_slices(ctx, plan, csr, order, S));
    CMGI_TRY(fill(A, from, order, ids));
    if (plan->lengths) {
        CMGI_TRY(cmgi_alloc(ctx, csr->rows, sizeof *S->row_length, &S->row_length));
        for (cmg_size r = 0; r < csr->rows; ++r) {
            S->row_length[r] = (cmg_index)length_of(csr, order, r);
        }
    }
    A->bytes = storage_bytes(A);
    CMGI_TRY(move(ctx, S, A->stored));
    if (from->device == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, A->stored, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from));
    return A->format->fill_cuda(A, from->device);
}

cmg_status cmgi_slices_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const layout_plan plan = plan_of(&A->options);
    cmgi_slices *S = NULL;
    cmg_index *order = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    if (!plan.sorted) {
        return pack(A, &plan, from, NULL, NULL);
    }
    CMGI_TRY(sort_by_length(ctx, from->csr, &order));
    if (!plan.renumbers) {
        return pack(A, &plan, from, order, NULL);
    }
    A->perm = order;
    cmgi_csr sorted = {0};
    cmgi_csr ids = {0};
    cmg_status status = renumber(A, from->csr, plan.resort, &sorted, &ids);
    if (status == CMG_OK) {
        const cmg_csr view = cmgi_csr_view(&sorted);
        const cmgi_matrix_source source = {.csr = &view};
        status = pack(A, &plan, &source, NULL, ids.values);
    }
    cmgi_csr_free(ctx, &sorted);
    cmgi_csr_free(ctx, &ids);
    return status;
}

void cmgi_slices_destroy(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_slices *S = A->data;
    if (S == NULL) {
        return;
    }
    cmgi_free_device(ctx, S->start);
    cmgi_free_device(ctx, S->width);
    cmgi_free_device(ctx, S->first_row);
    cmgi_free_device(ctx, S->shift);
    cmgi_free_device(ctx, S->row_length);
    cmgi_free_device(ctx, S->rowmap);
    cmgi_free_device(ctx, S->columns);
    cmgi_free(ctx, S);
}

/* First slice of part p of `parts`: parts hold equal numbers of entries. */
static cmg_size slice_at(const cmgi_slices *S, int p, int parts)
{
    if (S->table || p == 0 || p == parts) {
        return S->nslices * p / parts;
    }
    return cmgi_search_size(S->start, 0, S->nslices, S->start[S->nslices] / parts * p);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const cmgi_slices *S = A->data;
    const int parts = A->stored > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const cmg_size first = slice_at(S, p, parts);
        const cmg_size last = slice_at(S, p + 1, parts);
        if (A->options.precision == CMG_FP64) {
            kernels->slices_f64(S, A->values, w, x, first, last);
        } else {
            kernels->slices_f32(S, A->values, w, x, first, last);
        }
    }
    return CMG_OK;
}

#define ROW(NAME, ID, RENUMBERS)                                                                   \
    const cmgi_format cmgi_format_##NAME = {                                                       \
        .id = ID,                                                                                  \
        .renumbers = RENUMBERS,                                                                    \
        .bytes = cmgi_slices_bytes,                                                                \
        .build = cmgi_slices_build,                                                                \
        .fill_cuda = CMGI_CUDA_FN(cmgi_slices_fill_cuda),                                          \
        .spmv_cpu = multiply,                                                                      \
        .spmv_cuda = CMGI_CUDA_FN(cmgi_slices_spmv_cuda),                                          \
        .destroy = cmgi_slices_destroy,                                                            \
    }

ROW(ellpack, CMG_FORMAT_ELLPACK, false);
ROW(ellr, CMG_FORMAT_ELLR, false);
ROW(ellt, CMG_FORMAT_ELLT, false);
ROW(sell, CMG_FORMAT_SELL, false);
ROW(k1, CMG_FORMAT_K1, false);
ROW(k1r, CMG_FORMAT_K1R, true);
ROW(k1rs, CMG_FORMAT_K1RS, true);
ROW(k2, CMG_FORMAT_K2, false);
ROW(k2r, CMG_FORMAT_K2R, true);
ROW(k2rs, CMG_FORMAT_K2RS, true);
