/* C = A B, row by row (Gustavson 1978, doi:10.1145/355791.355796). */
#include "core/memory.h"
#include "core/order.h"
#include "csr/csr.h"

#include <string.h>

/* Number of columns of row i of A B; mark[j] == i + 1 says that j was seen. */
static cmg_size count_row(const cmg_csr *A, const cmg_csr *B, cmg_size i, cmg_index *mark)
{
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            const cmg_index j = B->indices[e];
            length += mark[j] != i + 1;
            mark[j] = (cmg_index)(i + 1);
        }
    }
    return length;
}

/* Row i of C = A B, its place known; mark as above, sum has a place a column. */
static void form_row(const cmg_csr *A, const cmg_csr *B, cmg_size i, cmg_index *mark, double *sum,
                     cmgi_csr *C)
{
    cmg_index *columns = C->indices + C->indptr[i];
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        const double a = A->values[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            const cmg_index j = B->indices[e];
            if (mark[j] != i + 1) {
                mark[j] = (cmg_index)(i + 1);
                columns[length++] = j;
                sum[j] = a * B->values[e];
            } else {
                sum[j] += a * B->values[e];
            }
        }
    }
    cmgi_sort_indices(columns, length);
    for (cmg_size e = 0; e < length; ++e) {
        C->values[C->indptr[i] + e] = sum[columns[e]];
    }
}

/* Values of row i of C = A B, whose columns are there. */
static void multiply_row(const cmg_csr *A, const cmg_csr *B, cmg_size i, double *sum, cmgi_csr *C)
{
    const cmg_index *columns = C->indices + C->indptr[i];
    const cmg_size length = C->indptr[i + 1] - C->indptr[i];
    for (cmg_size e = 0; e < length; ++e) {
        sum[columns[e]] = 0;
    }
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        const double a = A->values[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            sum[B->indices[e]] += a * B->values[e];
        }
    }
    for (cmg_size e = 0; e < length; ++e) {
        C->values[C->indptr[i] + e] = sum[columns[e]];
    }
}

cmg_status cmgi_csr_multiply(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, cmgi_csr *C)
{
    CMGI_CHECK(ctx, A->cols == B->rows, CMG_ERR_SHAPE,
               "product: A has %lld columns, B has %lld rows", (long long)A->cols,
               (long long)B->rows);
    cmg_index *mark = NULL;
    double *sum = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    const cmg_size room = B->cols * ctx->threads;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, room, sizeof *mark, &mark));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room, sizeof *sum, &sum));
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, A->rows, B->cols, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        made.indptr[i + 1] = count_row(A, B, i, mark + B->cols * cmgi_thread());
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_entries(ctx, &made));
    memset(mark, 0, (size_t)room * sizeof *mark);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size mine = B->cols * cmgi_thread();
        form_row(A, B, i, mark + mine, sum + mine, &made);
    }
    *C = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    CMGI_FREE(ctx, mark, sum);
    return status;
}

cmg_status cmgi_csr_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                    cmgi_csr *C)
{
    double *sum = NULL;
    CMGI_TRY(cmgi_alloc(ctx, B->cols * ctx->threads, sizeof *sum, &sum));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < A->rows; ++i) {
        multiply_row(A, B, i, sum + B->cols * cmgi_thread(), C);
    }
    cmgi_free(ctx, sum);
    return CMG_OK;
}
