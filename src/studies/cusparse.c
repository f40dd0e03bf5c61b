/* The rows of cuSPARSE's formats, also in builds that lack it: known, but without a kernel. */
#include "studies/cusparse.h"

#include "csr/by_rows.h"

/* Lower bound of a matrix in whole blocks. */
static size_t bsr_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const size_t b = options->block_rows > 0 ? (size_t)options->block_rows : CMGI_BLOCK_MOST;
    return (size_t)s->nnz *
           (cmgi_precision_bytes(options->precision) + sizeof(cmg_index) / (b * b));
}

static size_t coo_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return (size_t)s->nnz * (2 * sizeof(cmg_index) + cmgi_precision_bytes(options->precision));
}

cmg_status cmgi_bsr_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_blocks blocks = {1, false};
    cmgi_csr_storage *S = NULL;
    cmgi_csr pattern = {0};
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    CMGI_TRY(cmgi_blocks_find(ctx, from->csr, A->options.block_rows, false, &blocks));
    CMGI_TRY(cmgi_csr_block_columns(ctx, from->csr, NULL, blocks.size, &pattern));
    const cmg_size rows = pattern.rows;
    const cmg_size count = pattern.indptr[rows];
    S->indptr = pattern.indptr;
    S->columns = pattern.indices;
    cmgi_free(ctx, pattern.values);
    A->options.block_rows = blocks.size;
    A->stored = count * blocks.size * blocks.size;
    A->bytes = (size_t)A->stored * cmgi_precision_bytes(A->options.precision) +
               (size_t)(count + rows + 1) * sizeof(cmg_index);
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    const cmg_csr *csr = from->csr;
    const int b = blocks.size;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size begin = S->indptr[i / b];
        const cmg_size end = S->indptr[i / b + 1];
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            const cmg_index j = csr->indices[k];
            const cmg_size block = cmgi_search_index(S->columns, begin, end, j / b);
            cmgi_matrix_put(A, k, (block * b + i % b) * b + j % b, csr->values[k]);
        }
    }
    return CMGI_MOVE(ctx, &S->indptr, &S->columns);
}

#ifdef CMGI_HAVE_CUSPARSE
#define CUSPARSE_FN(f) f
#else
#define CUSPARSE_FN(f) NULL
#endif

#define ROW(id_, bytes_, at_least_)                                                                \
    {                                                                                              \
        .id = id_, .at_least = at_least_, .bytes = bytes_,                                         \
        .build = CUSPARSE_FN(cmgi_cusparse_build), .finish = CUSPARSE_FN(cmgi_cusparse_finish),    \
        .spmv_cuda = CUSPARSE_FN(cmgi_cusparse_spmv),                                              \
        .destroy = CUSPARSE_FN(cmgi_cusparse_destroy)                                              \
    }

const cmgi_format cmgi_format_cusparse_csr = ROW(CMG_FORMAT_CUSPARSE_CSR, cmgi_csr_bytes, false);
const cmgi_format cmgi_format_cusparse_sell =
    ROW(CMG_FORMAT_CUSPARSE_SELL, cmgi_slices_bytes, false);
const cmgi_format cmgi_format_cusparse_coo = ROW(CMG_FORMAT_CUSPARSE_COO, coo_bytes, false);
const cmgi_format cmgi_format_cusparse_bsr = ROW(CMG_FORMAT_CUSPARSE_BSR, bsr_bytes, true);
