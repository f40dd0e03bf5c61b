/* Blocks of a CSR; see blocks.h. */
#include "spmv/blocks.h"

#include "csr/by_rows.h"

/* Share of the stored entries that are in the matrix, from which blocks are worth their zeros. */
static const double worth = 0.75;

/* True when the rows of every block row hold the same numbers, each in its own component. */
static bool all_identity(const cmg_csr *A, int size)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        const int component = (int)(i % size);
        const cmg_size first = A->indptr[i - component];
        const cmg_size begin = A->indptr[i];
        const cmg_size length = A->indptr[i + 1] - begin;
        if (A->indptr[i - component + 1] - first != length) {
            return false;
        }
        for (cmg_size e = 0; e < length; ++e) {
            if (A->indices[begin + e] % size != component ||
                A->indices[begin + e] - component != A->indices[first + e] ||
                A->values[begin + e] != A->values[first + e]) {
                return false;
            }
        }
    }
    return true;
}

static cmg_status mostly_full(cmg_context *ctx, const cmg_csr *A, int size, bool *full)
{
    cmgi_scoped_csr pattern = {0};
    CMGI_TRY(cmgi_csr_block_columns(ctx, A, NULL, size, &pattern));
    const double stored = (double)pattern.indptr[pattern.rows] * size * size;
    *full = (double)A->indptr[A->rows] >= worth * stored;
    return CMG_OK;
}

static bool divides(const cmg_csr *A, int size)
{
    return A->rows % size == 0 && A->cols % size == 0;
}

cmg_status cmgi_blocks_find(cmg_context *ctx, const cmg_csr *A, int wanted, bool numbers,
                            cmgi_blocks *found)
{
    *found = (cmgi_blocks){1, false};
    if (wanted > 0) {
        CMGI_CHECK(ctx, divides(A, wanted), CMG_ERR_SHAPE,
                   "blocks of %d do not divide a matrix of %lld x %lld", wanted, (long long)A->rows,
                   (long long)A->cols);
        *found = (cmgi_blocks){wanted, numbers && wanted > 1 && all_identity(A, wanted)};
        return CMG_OK;
    }
    for (int size = CMGI_BLOCK_MOST; size > found->size && A->indptr[A->rows] > 0; --size) {
        bool taken = divides(A, size) && numbers && all_identity(A, size);
        const bool identity = taken;
        CMGI_TRY(taken || !divides(A, size) ? CMG_OK : mostly_full(ctx, A, size, &taken));
        *found = taken ? (cmgi_blocks){size, identity} : *found;
    }
    return CMG_OK;
}
