/*
 * Builds the slice layouts of slices.h from CSR, and multiplies on the CPU.
 *
 *   sort      K formats order rows by length, longest first, ties in the given order
 *   renumber  r formats apply that order to rows and columns, rs sorts the columns of a row again
 *   split     K2 gives a row over the threshold 2, 4, ... lanes until each takes at most the
 *             threshold, at most a whole warp (Wong, Kuhl and Darve 2015, section 5)
 *   pack      rows go into slices of `lanes` lanes, padded to the longest row of the slice
 */
#include "core/each.h"
#include "core/search.h"
#include "csr/by_rows.h"
#include "spmv/columns.h"
#include "spmv/slices.h"

#include "spmv/slices.inc"

static cmg_status fill(cmg_matrix *A, cmgi_place at, const cmg_csr *csr, const cmg_size *ids)
{
    const cmgi_slices *S = A->data;
    const bool wide = A->options.precision == CMG_FP64;
    const slice_fill f = {.S = *S,
                          .A = *csr,
                          .ids = ids,
                          .marked = A->options.format == CMG_FORMAT_CUSPARSE_SELL,
                          .wide = wide ? A->values : NULL,
                          .narrow = wide ? NULL : A->values,
                          .map = A->value_map};
    return slices_fill(A->ctx, at, S->nslices * S->lanes, &f);
}

static size_t storage_bytes(const cmg_matrix *A)
{
    const cmgi_slices *S = A->data;
    const size_t slices = (size_t)S->nslices;
    const size_t rows = (size_t)S->rows;
    return (size_t)S->places * sizeof *S->columns +
           (size_t)A->stored * cmgi_precision_bytes(A->options.precision) +
           slices * (sizeof *S->start + sizeof *S->width + sizeof *S->first_row) +
           (S->shift != NULL ? slices : 0) +
           (S->row_length != NULL ? rows * sizeof *S->row_length : 0) +
           (S->rowmap != NULL ? rows * sizeof *S->rowmap : 0);
}

static cmg_status move(cmg_context *ctx, cmgi_slices *S)
{
    return CMGI_MOVE(ctx, &S->start, &S->width, &S->first_row, &S->shift, &S->row_length,
                     &S->rowmap, &S->columns);
}

/* Values of one slice of blocks from the CSR, at the places of blocks.h. */
static void fill_blocks(cmg_matrix *A, const cmg_csr *csr, const cmgi_csr *pattern,
                        const cmg_size *ids, cmg_size s)
{
    const cmgi_slices *S = A->data;
    const cmg_size b = S->block;
    for (cmg_size r = S->first_row[s]; r < S->first_row[s + 1]; ++r) {
        const cmg_size lane = r - S->first_row[s];
        const cmg_size row = S->rowmap != NULL ? S->rowmap[r] : r;
        const cmg_size begin = pattern->indptr[row];
        const cmg_size end = pattern->indptr[row + 1];
        for (cmg_size i = row * b; i < row * b + (S->identity ? 1 : b); ++i) {
            for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
                const cmg_size e = cmgi_search_index(pattern->indices, begin, end,
                                                     (cmg_index)(csr->indices[k] / b)) -
                                   begin;
                const cmg_size first = S->start[s] + e * S->stride;
                const cmg_size inside = (i % b) * b + csr->indices[k] % b;
                const cmg_size at =
                    S->identity ? first + lane : first * b * b + inside * S->lanes + lane;
                cmgi_matrix_put(A, ids != NULL ? ids[k] : k, at, csr->values[k]);
            }
        }
    }
}

/* Columns and values on the host; `ids` as in slices.inc. */
static cmg_status fill_on_host(cmg_matrix *A, const cmgi_matrix_source *from,
                               const cmgi_csr *blocks, const cmg_size *ids)
{
    cmgi_slices *S = A->data;
    CMGI_TRY(cmgi_alloc(A->ctx, S->places, sizeof *S->columns, &S->columns));
    if (S->block == 1) {
        CMGI_TRY(cmgi_matrix_alloc_values(A, from, false));
        return fill(A, CMGI_HOST, from->csr, ids);
    }
    const slice_fill columns = {.S = *S, .A = blocks->view};
    CMGI_TRY(slices_fill(A->ctx, CMGI_HOST, S->nslices * S->lanes, &columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
#pragma omp parallel for num_threads(A->ctx->threads)                                              \
    schedule(static) if (A->stored > CMGI_PARALLEL_ENTRIES)
    for (cmg_size s = 0; s < S->nslices; ++s) {
        fill_blocks(A, from->csr, blocks, ids, s);
    }
    return CMG_OK;
}

/* Slices of a CSR, or of its blocks, whose storage rows are taken in the order of S->rowmap. */
static cmg_status pack(cmg_matrix *A, const cmgi_slices_plan *plan, const cmgi_matrix_source *from,
                       const cmgi_csr *blocks, const cmg_size *ids)
{
    cmg_context *ctx = A->ctx;
    const cmg_csr *csr = from->csr;
    cmgi_slices *S = A->data;
    CMGI_TRY(cmgi_slices_make(ctx, plan, S->block > 1 ? &blocks->view : csr, NULL, S));
    A->stored = S->places * (S->identity ? 1 : S->block * S->block);
    CMGI_TRY(from->device == NULL ? fill_on_host(A, from, blocks, ids) : CMG_OK);
    if (plan->lengths && S->block == 1) {
        CMGI_TRY(cmgi_alloc(ctx, csr->rows, sizeof *S->row_length, &S->row_length));
        for (cmg_size r = 0; r < csr->rows; ++r) {
            S->row_length[r] = (cmg_index)cmgi_slices_length(csr, S->rowmap, r);
        }
    }
    A->bytes = storage_bytes(A);
    CMGI_TRY(move(ctx, S));
    if (from->device == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, A->stored, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    return fill(A, CMGI_DEVICE, from->device, NULL);
}

/* A lane or as many a row: slices follow from the statistics of the rows, in their order or sorted
 * by length. */
static bool takes_device(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const cmgi_slices_plan plan = cmgi_slices_plan_of(options);
    const int lanes = plan.lanes;
    const bool sorts = !plan.split && !plan.renumbers && s->longest <= CMGI_LONGEST_SORTED;
    return (!plan.sorted || sorts) && !plan.lengths && plan.block == 1 && s->rows > 0 &&
           (plan.uniform || (lanes >= 4 && lanes <= 512 && (lanes & (lanes - 1)) == 0));
}

/* All of it on the device, which nobody waits for. */
static cmg_status build_there(cmg_matrix *A, const cmgi_slices_plan *plan,
                              const cmgi_matrix_source *from)
{
    CMGI_CUDA_ONLY(sort, cmgi_slices_sort_cuda);
    cmg_context *ctx = A->ctx;
    cmgi_slices *S = A->data;
    if (plan->sorted) {
        CMGI_TRY(cmgi_alloc_device(ctx, from->device->rows, sizeof *S->rowmap, &S->rowmap));
        CMGI_TRY(sort(ctx, from->device, from->there->rows.longest, S->rowmap));
    }
    CMGI_TRY(cmgi_slices_make(ctx, plan, from->device, &from->there->rows, S));
    A->stored = S->places;
    A->bytes = storage_bytes(A);
    CMGI_TRY(cmgi_alloc_device(ctx, A->stored, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    return fill(A, CMGI_DEVICE, from->device, NULL);
}

/* The order of the rows, or block rows, becomes the numbering of the matrix. */
static cmg_status number_by_order(cmg_matrix *A)
{
    cmgi_slices *S = A->data;
    const cmg_index b = (cmg_index)S->block;
    CMGI_TRY(cmgi_alloc(A->ctx, A->rows, sizeof *A->perm, &A->perm));
    for (cmg_size i = 0; i < A->rows; ++i) {
        A->perm[i] = S->rowmap[i / b] * b + (cmg_index)(i % b);
    }
    cmgi_free(A->ctx, cmgi_pass_on(&S->rowmap));
    return CMG_OK;
}

/* Planned on the host from the row pointers, of block rows where there are blocks. */
static cmg_status build_planned(cmg_matrix *A, const cmgi_slices_plan *plan,
                                const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_slices *S = A->data;
    cmgi_matrix_source source = *from;
    cmgi_scoped_csr blocks = {0};
    cmgi_scoped_csr sorted = {0};
    cmgi_scoped cmg_size *ids = NULL;
    CMGI_TRY(S->block > 1 ? cmgi_csr_block_columns(ctx, from->csr, NULL, S->block, &blocks)
                          : CMG_OK);
    if (plan->sorted) {
        CMGI_TRY(cmgi_slices_sort(ctx, S->block > 1 ? &blocks.view : from->csr, &S->rowmap));
    }
    if (plan->sorted && plan->renumbers) {
        CMGI_TRY(number_by_order(A));
        CMGI_TRY(A->options.keep_map
                     ? cmgi_csr_permute_from(ctx, from->csr, A->perm, A->perm, plan->resort, &ids,
                                             &sorted)
                     : cmgi_csr_permute(ctx, from->csr, A->perm, A->perm, plan->resort, &sorted));
        source = (cmgi_matrix_source){.csr = &sorted.view};
        if (S->block > 1) {
            cmgi_csr_free(ctx, &blocks);
            CMGI_TRY(cmgi_csr_block_columns(ctx, &sorted.view, NULL, S->block, &blocks));
        }
    }
    return pack(A, plan, &source, &blocks, ids);
}

cmg_status cmgi_slices_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const cmgi_slices_plan plan = cmgi_slices_plan_of(&A->options);
    cmgi_slices *S = NULL;
    cmgi_blocks blocks = {1, false};
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    S->block = 1;
    if (from->device != NULL && from->csr == NULL) {
        return build_there(A, &plan, from);
    }
    if (plan.block != 1) {
        CMGI_TRY(cmgi_blocks_find(ctx, from->csr, plan.block, !A->options.keep_map, &blocks));
    }
    S->block = blocks.size;
    S->identity = blocks.identity;
    return build_planned(A, &plan, from);
}

void cmgi_slices_destroy(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_slices *S = A->data;
    if (S == NULL) {
        return;
    }
    CMGI_FREE_DEVICE(ctx, S->start, S->width, S->first_row, S->shift, S->row_length, S->rowmap,
                     S->columns);
    cmgi_free(ctx, S);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_slices *S = A->data;
    return cmgi_rows_cpu(A, CMGI_ROWS_SLICES, S->table ? NULL : S->start, S->nslices, w, x);
}

/* Kernels of CUDA with a lane a thread leave x . y block by block. */
static cmg_status finish(cmg_matrix *A)
{
    const cmgi_slices *S = A->data;
    if (cmgi_on_cuda(A->ctx) && S->block == 1 && (S->table || S->lanes != 64)) {
        A->sums = (S->nslices * S->lanes + A->options.block - 1) / A->options.block;
    }
    return CMG_OK;
}

#define ROW(NAME, ID, ...)                                                                         \
    const cmgi_format cmgi_format_##NAME = {                                                       \
        .id = ID,                                                                                  \
        .bytes = cmgi_slices_bytes,                                                                \
        .build = cmgi_slices_build,                                                                \
        .finish = finish,                                                                          \
        .spmv_cpu = multiply,                                                                      \
        .spmv_cuda = CMGI_CUDA_FN(cmgi_slices_spmv_cuda),                                          \
        .destroy = cmgi_slices_destroy,                                                            \
        __VA_ARGS__,                                                                               \
    }
/* Blocks come from the host, and column by column. */
#define ENTRIES .columns = true, .blocks = true, .takes_device = takes_device, .fills = true
#define BLOCKS .at_least = true

ROW(ellpack, CMG_FORMAT_ELLPACK, ENTRIES);
ROW(ellr, CMG_FORMAT_ELLR, ENTRIES);
ROW(ellt, CMG_FORMAT_ELLT, ENTRIES);
ROW(sell, CMG_FORMAT_SELL, ENTRIES);
ROW(k1, CMG_FORMAT_K1, ENTRIES);
ROW(k1r, CMG_FORMAT_K1R, ENTRIES, .renumbers = true);
ROW(k1rs, CMG_FORMAT_K1RS, ENTRIES, .renumbers = true);
ROW(k2, CMG_FORMAT_K2, ENTRIES);
ROW(k2r, CMG_FORMAT_K2R, ENTRIES, .renumbers = true);
ROW(k2rs, CMG_FORMAT_K2RS, ENTRIES, .renumbers = true);
ROW(bell, CMG_FORMAT_BELL, BLOCKS);
ROW(sbell, CMG_FORMAT_SBELL, BLOCKS);
