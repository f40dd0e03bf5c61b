/* Matrices of a batch as teams read them: slots of slices, terms of products; layouts are in
 * batch.h. */
#include "core/order.h"
#include "mg/batch_plan.h"

#include <stdlib.h>
#include <string.h>

cmg_status cmgi_batch_hold(cmg_batch *batch, void *array, cmg_size count, size_t size, void *held)
{
    void **moved = array;
    if (*moved == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_move_to_device(batch->ctx, array, count, size));
    *(void **)held = *moved;
    batch->held[batch->holds++] = *moved;
    *moved = NULL;
    return CMG_OK;
}

static cmg_size slices_of(const cmg_csr *A)
{
    return (A->rows + CMGI_BATCH_SLICE - 1) / CMGI_BATCH_SLICE;
}

/* Where slice s ends in the rows. */
static cmg_size slice_end(const cmg_csr *A, cmg_size s)
{
    const cmg_size end = (s + 1) * CMGI_BATCH_SLICE;
    return end < A->rows ? end : A->rows;
}

/* Whether entry k of row i has a slot: that of the diagonal has none in an A of a level. */
static bool has_slot(const cmg_csr *A, cmg_size i, cmg_size k, bool diagonal)
{
    return diagonal || A->indices[k] != i;
}

/* The slots that every slice needs, and `start`: one for each distance that one of its rows has;
 * `place` has rows + cols elements. An odd slice ends with a slot of distance 0 and no entries. */
static void find_distances(const cmg_csr *A, bool diagonal, int *place, int *start,
                           cmg_index *distance)
{
    memset(place, -1, (size_t)(A->rows + A->cols) * sizeof *place);
    start[0] = 0;
    for (cmg_size s = 0; s < slices_of(A); ++s) {
        cmg_index *own = distance + 2 * start[s];
        int count = 0;
        cmg_size row = s * CMGI_BATCH_SLICE;
        for (cmg_size k = A->indptr[row]; k < A->indptr[slice_end(A, s)]; ++k) {
            while (k >= A->indptr[row + 1]) {
                ++row;
            }
            const int d = (int)(A->indices[k] - row);
            if (has_slot(A, row, k, diagonal) && place[d + A->rows] != (int)s) {
                place[d + A->rows] = (int)s;
                own[count++] = d;
            }
        }
        qsort(own, (size_t)count, sizeof *own, cmgi_ascending_index);
        own[count] = 0;
        start[s + 1] = start[s] + (count + 1) / 2;
    }
}

/* As many slots as the longest row of a slice has entries. */
static void find_lengths(const cmg_csr *A, bool diagonal, int *start)
{
    start[0] = 0;
    for (cmg_size s = 0; s < slices_of(A); ++s) {
        cmg_size most = 0;
        for (cmg_size i = s * CMGI_BATCH_SLICE; i < slice_end(A, s); ++i) {
            cmg_size length = 0;
            for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
                length += has_slot(A, i, k, diagonal);
            }
            most = length > most ? length : most;
        }
        start[s + 1] = start[s] + (int)((most + 1) / 2);
    }
}

/* Entries to slots; by distances, or, where these are NULL, in their order, with columns. */
static void place_entries(const cmg_csr *A, bool diagonal, const int *start, const int *distance,
                          int *entry, uint32_t *columns)
{
    memset(entry, -1, (size_t)start[slices_of(A)] * 2 * CMGI_BATCH_SLICE * sizeof *entry);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size first = start[i / CMGI_BATCH_SLICE];
        const int *own = distance != NULL ? distance + 2 * first : NULL;
        int slot = -1;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            if (!has_slot(A, i, k, diagonal)) {
                continue;
            }
            slot = own != NULL ? 0 : slot + 1;
            while (own != NULL && own[slot] != A->indices[k] - i) {
                ++slot;
            }
            const cmg_size pair = (first + slot / 2) * CMGI_BATCH_SLICE + i % CMGI_BATCH_SLICE;
            const cmg_size at = 2 * pair + slot % 2;
            entry[at] = (int)k;
            if (columns != NULL) {
                columns[pair] |= (uint32_t)A->indices[k] << 16 * (slot % 2);
            }
        }
    }
}

/*
 * Distances need no columns, which in a cycle are as many bytes as values: they are taken up to
 * half as many slots more.
 */
cmg_status cmgi_batch_slice(cmg_batch *batch, const cmg_csr *A, bool diagonal, cmgi_batch_slices *M,
                            int **entry)
{
    cmg_context *ctx = batch->ctx;
    const cmg_size slices = slices_of(A);
    cmgi_scoped int *shift = NULL;
    cmgi_scoped uint32_t *columns = NULL;
    CMGI_SCOPED(ctx, slices + 1, int, start);
    CMGI_SCOPED_ZERO(ctx, A->indptr[A->rows] + 2 * slices + 2 * CMGI_BATCH_PAST, int, distance);
    CMGI_SCOPED(ctx, A->rows + A->cols + slices + 1, int, work);
    find_distances(A, diagonal, work, start, distance);
    find_lengths(A, diagonal, work);
    const bool distances = 2 * start[slices] <= 3 * work[slices];
    if (!distances) {
        memcpy(start, work, (size_t)(slices + 1) * sizeof *start);
        cmgi_free(ctx, cmgi_pass_on(&distance));
    }
    const int pairs = start[slices];
    const cmg_size words = (cmg_size)pairs * CMGI_BATCH_SLICE;
    const cmg_size past = CMGI_BATCH_PAST * CMGI_BATCH_SLICE;
    CMGI_TRY(cmgi_alloc(ctx, 2 * words, sizeof **entry, entry));
    if (!distances) {
        CMGI_TRY(cmgi_alloc_zero(ctx, words + past, sizeof *columns, &columns));
    }
    place_entries(A, diagonal, start, distance, *entry, columns);
    *M = (cmgi_batch_slices){.rows = (int)A->rows, .cols = (int)A->cols, .pairs = pairs};
    if (distances) {
        CMGI_TRY(cmgi_alloc(ctx, slices, sizeof *shift, &shift));
    }
    for (cmg_size s = 0; s < slices && distances; ++s) {
        /* slices of the same distances share those of the first, so that these stay in a cache */
        const size_t bytes = 2 * (size_t)(start[s + 1] - start[s]) * sizeof *distance;
        shift[s] = 0;
        for (cmg_size k = 0; k < s && shift[s] == 0; ++k) {
            const bool same = shift[k] == 0 && start[k + 1] - start[k] == start[s + 1] - start[s] &&
                              memcmp(distance + 2 * start[k], distance + 2 * start[s], bytes) == 0;
            shift[s] = same ? start[k] - start[s] : 0;
        }
    }
    CMGI_TRY(cmgi_batch_hold(batch, &start, slices + 1, sizeof *start, &M->start));
    CMGI_TRY(cmgi_batch_hold(batch, &shift, slices, sizeof *shift, &M->shift));
    CMGI_TRY(cmgi_batch_hold(batch, &distance, 2 * (pairs + CMGI_BATCH_PAST), sizeof *distance,
                             &M->distance));
    return cmgi_batch_hold(batch, &columns, words + past, sizeof *columns, &M->columns);
}

/* Terms of row i of C = A B, whose entries `place` finds by their columns: counted in start, or,
 * from where that says, written. */
static void row_terms(const cmg_csr *A, const cmg_csr *B, cmg_size i, bool left, const int *place,
                      int *start, int *from, float *weight)
{
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index row = A->indices[k];
        for (cmg_size m = B->indptr[row]; m < B->indptr[row + 1]; ++m) {
            const int c = place[B->indices[m]];
            if (from != NULL) {
                from[start[c]] = (int)(left ? m : k);
                weight[start[c]] = (float)(left ? A->values[k] : B->values[m]);
            }
            ++start[c];
        }
    }
}

cmg_status cmgi_batch_multiply(cmg_batch *batch, const cmg_csr *A, const cmg_csr *B,
                               const cmg_csr *C, bool left, cmgi_batch_terms *T)
{
    cmg_context *ctx = batch->ctx;
    const cmg_size entries = C->indptr[C->rows];
    cmgi_scoped int *from = NULL;
    cmgi_scoped float *weight = NULL;
    cmg_size total = 0;
    CMGI_SCOPED_ZERO(ctx, entries + 1, int, start);
    CMGI_SCOPED(ctx, C->cols, int, place);
    for (int fill = 0; fill < 2; ++fill) {
        for (cmg_size i = 0; i < C->rows; ++i) {
            for (cmg_size k = C->indptr[i]; k < C->indptr[i + 1]; ++k) {
                place[C->indices[k]] = (int)k;
            }
            row_terms(A, B, i, left, place, start, from, weight);
        }
        if (fill == 0) { /* from lengths to beginnings; the second round moves them on by one */
            for (cmg_size k = 0; k < entries; ++k) {
                const int length = start[k];
                start[k] = (int)total;
                total += length;
            }
            CMGI_CHECK(ctx, total <= INT32_MAX, CMG_ERR_UNSUPPORTED,
                       "batch: a product of level matrices has %lld terms, %lld are possible",
                       (long long)total, (long long)INT32_MAX);
            CMGI_TRY(cmgi_alloc(ctx, total, sizeof *from, &from));
            CMGI_TRY(cmgi_alloc(ctx, total, sizeof *weight, &weight));
        }
    }
    memmove(start + 1, start, (size_t)entries * sizeof *start);
    start[0] = 0;
    T->count = (int)entries;
    CMGI_TRY(cmgi_batch_hold(batch, &start, entries + 1, sizeof *start, &T->start));
    CMGI_TRY(cmgi_batch_hold(batch, &from, total, sizeof *from, &T->from));
    return cmgi_batch_hold(batch, &weight, total, sizeof *weight, &T->weight);
}
