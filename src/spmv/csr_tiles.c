/* Tiles of a CSR; see csr.h. */
#include "spmv/csr.h"

enum { WARP = 32 };

int cmgi_csr_lanes(cmg_size rows, cmg_size nnz)
{
    /* About four entries a lane; a matrix too small to fill the device takes more lanes, because
     * then a row costs the time of its longest chain of loads and not its bytes. */
    const cmg_size mean = rows > 0 ? nnz / rows : 0;
    int lanes = 1;
    while (lanes < 32 && mean > 6 * lanes - 4) {
        lanes *= 2;
    }
    while (lanes < 32 && lanes < mean && rows * lanes < 65536) {
        lanes *= 2;
    }
    return lanes;
}

/* Fewer entries than this are products of a few microseconds, whatever is done. */
static const cmg_size FEW_ENTRIES = 100000;

bool cmgi_csr_uneven(const cmg_context *ctx, const cmg_csr *csr)
{
    const cmg_size nnz = csr->indptr[csr->rows];
    if (nnz < FEW_ENTRIES) {
        return false;
    }
    const int lanes = cmgi_csr_lanes(csr->rows, nnz);
    const cmg_size rows = WARP / lanes; /* of a warp */
    cmg_size steps = 0;                 /* of all warps: each waits for its longest row */
    cmg_size longest = 0;               /* steps of a row */
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : steps) reduction(max : longest)
    for (cmg_size r = 0; r < csr->rows; r += rows) {
        cmg_size most = 0;
        for (cmg_size i = r; i < csr->rows && i < r + rows; ++i) {
            const cmg_size length = (csr->indptr[i + 1] - csr->indptr[i] + lanes - 1) / lanes;
            most = length > most ? length : most;
        }
        steps += most;
        longest = most > longest ? most : longest;
    }
    (void)ctx;
    /* H200, look-alikes of published matrices, lanes and tiles in microseconds: web links (12 times
     * the steps that even rows take, longest 4699) 602 and 21, circuit (4 times, 177) 23 and 8,
     * economy (3 times, 22) 9.3 and 10.1, heart (1, 35) 9.8 and 9.4; tiles cost up to 1.4 times as
     * much on even rows. */
    return steps * WARP > 4 * nnz || longest > 32;
}

bool cmgi_rows_uneven(const cmgi_row_statistics *s)
{
    if (s->nnz < FEW_ENTRIES) {
        return false;
    }
    const int lanes = cmgi_csr_lanes(s->rows, s->nnz);
    const int rows = WARP / lanes;
    const int k = cmgi_slice_size(rows);
    return s->sliced[k] / (4 << k) * rows > 4 * s->nnz || s->longest > WARP * lanes;
}

bool cmgi_rows_even(const cmgi_row_statistics *s)
{
    const int lanes = cmgi_csr_lanes(s->rows, s->nnz);
    const int k = cmgi_slice_size(WARP / lanes);
    /* a warp takes a step more than its longest row has entries for all lanes, at most */
    const cmg_size steps = s->sliced[k] + (s->rows + WARP) * (lanes - 1); /* times WARP */
    return s->nnz < FEW_ENTRIES || (steps <= 4 * s->nnz && s->longest <= WARP * lanes);
}

/* Tiles are counted while there are no arrays, and written once there are. */
static void put(cmgi_csr_tiles *m, cmg_size row, cmg_size entry, cmg_size rows, cmg_size entries)
{
    if (m->tile != NULL) {
        m->tile[m->ntiles] = (cmgi_tile){row, entry, (int)rows, (int)entries};
    }
    ++m->ntiles;
}

/* A row with a tile of its own, or several. */
static void put_long(cmgi_csr_tiles *m, cmg_size row, cmg_size begin, cmg_size end)
{
    if (end - begin <= CMGI_TILE_LONG) {
        put(m, row, begin, 1, end - begin);
        return;
    }
    const cmg_size parts = (end - begin + CMGI_TILE_PART - 1) / CMGI_TILE_PART;
    if (m->split != NULL) {
        m->split[m->nsplit] = (cmgi_split_row){row, (int)m->nparts, (int)parts};
    }
    ++m->nsplit;
    for (cmg_size at = begin; at < end; at += CMGI_TILE_PART) {
        put(m, m->nparts, at, 0, end - at < CMGI_TILE_PART ? end - at : CMGI_TILE_PART);
        ++m->nparts;
    }
}

static bool is_long(const cmg_size *indptr, cmg_size row)
{
    return indptr[row + 1] - indptr[row] >= CMGI_TILE_ROW;
}

static void put_all(cmgi_csr_tiles *m, const cmg_csr *csr)
{
    const cmg_size *indptr = csr->indptr;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        if (is_long(indptr, i)) {
            put_long(m, i, indptr[i], indptr[i + 1]);
        }
    }
    for (cmg_size i = 0; i < csr->rows;) {
        cmg_size end = i;
        while (end < csr->rows && !is_long(indptr, end) &&
               end + 1 - i + indptr[end + 1] - indptr[i] <= CMGI_TILE) {
            ++end;
        }
        if (end > i) {
            put(m, i, indptr[i], end - i, indptr[end] - indptr[i]);
        }
        i = end > i ? end : i + 1;
    }
}

cmg_status cmgi_csr_tiles_make(cmg_context *ctx, const cmg_csr *csr, cmg_precision precision,
                               cmgi_csr_tiles **tiles)
{
    cmgi_csr_tiles made = {0};
    CMGI_FREED(ctx, &made.tile, &made.split, &made.parts);
    put_all(&made, csr);
    CMGI_TRY(cmgi_alloc(ctx, made.ntiles, sizeof *made.tile, &made.tile));
    CMGI_TRY(cmgi_alloc(ctx, made.nsplit, sizeof *made.split, &made.split));
    CMGI_TRY(cmgi_alloc_device(ctx, made.nparts, cmgi_precision_bytes(precision), &made.parts));
    made.ntiles = made.nsplit = made.nparts = 0;
    put_all(&made, csr);
    CMGI_TRY(CMGI_MOVE(ctx, &made.tile, &made.split));
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof made, tiles));
    CMGI_PASS_ON(&made, *tiles);
    return CMG_OK;
}

void cmgi_csr_tiles_destroy(cmg_context *ctx, cmgi_csr_tiles *tiles)
{
    if (tiles != NULL) {
        CMGI_FREE_DEVICE(ctx, tiles->tile, tiles->split, tiles->parts);
        cmgi_free(ctx, tiles);
    }
}
