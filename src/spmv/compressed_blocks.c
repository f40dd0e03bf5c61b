/*
 * Blocks in compressed slices (compressed.h): a matrix of block rows whose values stand for blocks,
 * so that search, plan and codes are those of entries, and what the blocks hold.
 */
#include "spmv/blocks.h"
#include "spmv/packed_plan.h"

#include "core/search.h"
#include "csr/by_rows.h"

#include <string.h>

/* The first entry of a row that may be in block column j. */
static cmg_size first_of(const cmgi_entries *A, cmg_size row, cmg_size j)
{
    const cmg_size begin = A->csr->indptr[row];
    return A->ascend ? cmgi_search_index(A->csr->indices, begin, A->csr->indptr[row + 1],
                                         (cmg_index)(j * A->block))
                     : begin;
}

/* Goes on from entry *k of a row to one in block column j, at place *at of its row; false: there is
 * none. */
static bool goes_on(const cmgi_entries *A, cmg_size row, cmg_size j, cmg_size *k, cmg_size *at)
{
    for (; *k < A->csr->indptr[row + 1]; ++*k) {
        *at = A->csr->indices[*k] - j * A->block;
        if (A->ascend || (*at >= 0 && *at < A->block)) {
            return *at < A->block;
        }
    }
    return false;
}

cmgi_entries cmgi_entries_in_blocks(const cmg_context *ctx, const cmg_csr *A, int block)
{
    bool ascend = true;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : ascend)
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i] + 1; k < A->indptr[i + 1]; ++k) {
            ascend = ascend && A->indices[k - 1] < A->indices[k];
        }
    }
    (void)ctx;
    return (cmgi_entries){A, block, ascend};
}

/* The values of block (i, j). */
static void gather(const cmgi_entries *A, cmg_size i, cmg_size j, double *values)
{
    const int b = A->block;
    memset(values, 0, (size_t)(b * b) * sizeof *values);
    cmg_size at = 0;
    for (int c = 0; c < b; ++c) {
        const cmg_size row = i * b + c;
        for (cmg_size k = first_of(A, row, j); goes_on(A, row, j, &k, &at); ++k) {
            values[c * b + at] = A->csr->values[k];
        }
    }
}

/* A whole number below 2^52, so that it is a value like any other. */
static double hash_of(const double *values, int count, bool single)
{
    uint64_t hash = 0;
    for (int v = 0; v < count; ++v) {
        hash = cmgi_hash_mix(hash, cmgi_value_bits(values[v], single));
    }
    return (double)(cmgi_hash_mix(hash, 1) >> 12);
}

cmg_status cmgi_compressed_blocks_make(const cmg_matrix *A, const cmgi_entries *entries,
                                       const cmgi_compressed *C, cmgi_csr *blocks)
{
    const int b = C->block;
    const bool single = A->options.precision == CMG_FP32;
    CMGI_TRY(cmgi_csr_block_columns(A->ctx, entries->csr, NULL, b, blocks));
    CMGI_TRY(
        cmgi_alloc(A->ctx, blocks->indptr[blocks->rows], sizeof *blocks->values, &blocks->values));
#pragma omp parallel for num_threads(A->ctx->threads)                                              \
    schedule(static) if (A->nnz > CMGI_PARALLEL_ENTRIES)
    for (cmg_size i = 0; i < blocks->rows; ++i) {
        for (cmg_size k = blocks->indptr[i]; k < blocks->indptr[i + 1]; ++k) {
            double values[CMGI_BLOCK_MOST * CMGI_BLOCK_MOST];
            gather(entries, i, blocks->indices[k], values);
            blocks->values[k] = C->identity ? values[0] : hash_of(values, b * b, single);
        }
    }
    return CMG_OK;
}

void cmgi_compressed_block(const cmgi_compressor *B, cmg_size i, cmg_size k, double *values)
{
    gather(B->entries, i, B->csr->indices[k], values);
}

static bool same_blocks(const cmgi_compressor *B, cmg_size i, cmg_size j)
{
    const int count = B->C->block * B->C->block;
    const bool single = B->A->options.precision == CMG_FP32;
    const cmg_csr *csr = B->csr;
    for (cmg_size e = 0; e < csr->indptr[i + 1] - csr->indptr[i]; ++e) {
        double mine[CMGI_BLOCK_MOST * CMGI_BLOCK_MOST];
        double other[CMGI_BLOCK_MOST * CMGI_BLOCK_MOST];
        cmgi_compressed_block(B, i, csr->indptr[i] + e, mine);
        cmgi_compressed_block(B, j, csr->indptr[j] + e, other);
        for (int v = 0; v < count; ++v) {
            if (cmgi_value_bits(mine[v], single) != cmgi_value_bits(other[v], single)) {
                return false;
            }
        }
    }
    return true;
}

void cmgi_compressed_blocks_verify(const cmgi_compressor *B, const cmgi_templates *t)
{
#pragma omp parallel for num_threads(B->A->ctx->threads)                                           \
    schedule(static) if (B->A->nnz > CMGI_PARALLEL_ENTRIES)
    for (cmg_size i = 0; i < B->csr->rows; ++i) {
        if (t->id[i] < CMGI_TEMPLATES && t->row[t->id[i]] != i &&
            !same_blocks(B, i, t->row[t->id[i]])) {
            t->id[i] = CMGI_NO_TEMPLATE;
        }
    }
}

void cmgi_compressed_block_store(const cmgi_compressor *B, cmg_size p, cmg_size i, cmg_size k,
                                 cmg_size at, double *apart)
{
    const cmgi_compressed *C = B->C;
    const double *values = B->entries->csr->values;
    const int b = C->block;
    const cmg_size j = B->csr->indices[k];
    const cmg_size place = at % CMGI_SLICE;
    const cmg_size first = (at - place) * b * b + place;
    cmg_size column = 0;
    for (int c = 0; c < b; ++c) {
        const cmg_size row = i * b + c;
        for (cmg_size e = first_of(B->entries, row, j); goes_on(B->entries, row, j, &e, &column);
             ++e) {
            const cmg_size to = first + (c * b + column) * CMGI_SLICE;
            if (C->p.scale == NULL) {
                cmgi_matrix_put(B->A, e, to, values[e]);
            } else if (B->split_diagonal && j * b + column == row + b * B->C->lead) {
                apart[c] += values[e];
            } else {
                apart[c] += values[e] - cmgi_reduced_store(C->p.kind, B->A->values, to, values[e],
                                                           C->p.scale[p]);
            }
        }
    }
}
