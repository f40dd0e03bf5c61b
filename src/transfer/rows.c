/* P row by row: one pass counts, one fills; columns ascending. */
#include "transfer/rows.h"
#include "core/memory.h"

#include <math.h>

/* The row without its zeros, sorted by column. */
static int clean_row(cmgi_row_fn row, const void *user, cmg_size node, cmg_index *column,
                     double *weight)
{
    cmg_index c[CMGI_ROW_WIDTH];
    double w[CMGI_ROW_WIDTH];
    const int given = row(user, node, c, w);
    int count = 0;
    for (int k = 0; k < given; ++k) {
        if (fabs(w[k]) < 1e-14) {
            continue;
        }
        int at = count++;
        for (; at > 0 && column[at - 1] > c[k]; --at) {
            column[at] = column[at - 1];
            weight[at] = weight[at - 1];
        }
        column[at] = c[k];
        weight[at] = w[k];
    }
    return count;
}

static void fill_rows(cmgi_row_fn row, const void *user, cmg_size node, int block, cmgi_csr *P)
{
    cmg_index column[CMGI_ROW_WIDTH];
    double weight[CMGI_ROW_WIDTH];
    const int count = clean_row(row, user, node, column, weight);
    cmg_size k = P->indptr[node * block];
    for (int c = 0; c < block; ++c) {
        for (int e = 0; e < count; ++e, ++k) {
            P->indices[k] = column[e] * block + c;
            P->values[k] = weight[e];
        }
    }
}

cmg_status cmgi_transfer_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, int block,
                              cmgi_row_fn row, const void *user, cmgi_csr *P)
{
    unsigned char *length = NULL;
    cmg_status status = CMG_OK;
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_alloc(ctx, rows, sizeof *length, &length));
#pragma omp parallel for num_threads(ctx->threads) \
    schedule(static) reduction(+ : nnz) if (rows > 256)
    for (cmg_size n = 0; n < rows; ++n) {
        cmg_index column[CMGI_ROW_WIDTH];
        double weight[CMGI_ROW_WIDTH];
        const int count = clean_row(row, user, n, column, weight);
        length[n] = (unsigned char)count;
        nnz += count;
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, rows * block, cols * block, nnz * block, P));
    for (cmg_size r = 0; r < rows * block; ++r) {
        P->indptr[r + 1] = P->indptr[r] + length[r / block];
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 256)
    for (cmg_size n = 0; n < rows; ++n) {
        fill_rows(row, user, n, block, P);
    }
done:
    cmgi_free(ctx, length);
    return status;
}
