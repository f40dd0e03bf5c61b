/* Strong couplings between the nodes of a matrix. */
#include "transfer/aggregate.h"

#include "core/memory.h"
#include "csr/by_rows.h"
#include "transfer/aggregate_rows.h"

typedef struct blocks {
    const cmg_csr *A;
    int block;
    cmg_size nodes;
    double *sum;     /* of the threads: a place a node, -1 between rows */
    cmg_index *list; /* likewise */
} blocks;

/* Frobenius norms of a row of blocks. */
static cmg_size condense_row(const void *user, cmg_size node, cmg_index *columns, double *values)
{
    const blocks *b = user;
    const cmg_csr *A = b->A;
    double *sum = b->sum + b->nodes * cmgi_thread();
    cmg_index *list = b->list + b->nodes * cmgi_thread();
    cmg_size count = 0;
    for (cmg_size k = A->indptr[node * b->block]; k < A->indptr[(node + 1) * b->block]; ++k) {
        const cmg_index j = A->indices[k] / b->block;
        if (sum[j] < 0) {
            list[count++] = j;
            sum[j] = 0;
        }
        sum[j] += A->values[k] * A->values[k];
    }
    for (cmg_size e = 0; e < count; ++e) {
        if (columns != NULL) {
            columns[e] = list[e];
            values[e] = sqrt(sum[list[e]]);
        }
        sum[list[e]] = -1;
    }
    return count;
}

/* The matrix of Frobenius norms of the blocks. */
static cmg_status condense(cmg_context *ctx, const cmg_csr *A, int block, cmgi_csr *C)
{
    blocks b = {.A = A, .block = block, .nodes = A->rows / block};
    const cmg_size places = b.nodes * ctx->threads;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, places, sizeof *b.sum, &b.sum));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, places, sizeof *b.list, &b.list));
    for (cmg_size i = 0; i < places; ++i) {
        b.sum[i] = -1;
    }
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, b.nodes, b.nodes, condense_row, &b, C));
done:
    CMGI_FREE(ctx, b.sum, b.list);
    return status;
}

typedef struct couplings {
    const cmg_csr *C;
    cmgi_coupling *of; /* each row */
    double theta;
} couplings;

static cmgi_row_look look_at_row(const cmg_csr *C, cmg_size i)
{
    cmgi_row_look row = {0};
    double part[CMGI_ROW_LANES] = {0};
    const cmg_size begin = C->indptr[i];
    for (cmg_size k = begin; k < C->indptr[i + 1]; ++k) {
        const double value = C->values[k];
        if (C->indices[k] == i) {
            row.diagonal = value;
        } else {
            const double size = fabs(value);
            double *most = value > 0 ? &row.positive : &row.negative;
            part[(k - begin) % CMGI_ROW_LANES] += size;
            *most = size > *most ? size : *most;
        }
    }
    row.sum = cmgi_add_lanes(part);
    return row;
}

/* Strong entries of row i, in its order. */
static cmg_size strong_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const couplings *s = user;
    const cmg_csr *C = s->C;
    const cmgi_coupling own = s->of[i];
    const double share = s->theta * s->theta * own.largest;
    cmg_size count = 0;
    for (cmg_size k = C->indptr[i]; k < C->indptr[i + 1] && own.largest > 0; ++k) {
        const cmg_index j = C->indices[k];
        const double size = cmgi_coupling_size(&own, C->values[k]);
        if (j == i || !cmgi_is_strong(size, share, &s->of[j])) {
            continue;
        }
        if (columns != NULL) {
            columns[count] = j;
            values[count] = size;
        }
        ++count;
    }
    return count;
}

cmg_status cmgi_strength(cmg_context *ctx, const cmg_csr *A, int block, double theta, cmgi_csr *S)
{
    cmgi_csr condensed = {0};
    cmg_status status = CMG_OK;
    if (block > 1) {
        CMGI_TRY(condense(ctx, A, block, &condensed));
    }
    const cmg_csr C = block > 1 ? condensed.view : *A;
    couplings s = {.C = &C, .theta = theta};
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, C.rows, sizeof *s.of, &s.of));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (C.rows > 256)
    for (cmg_size i = 0; i < C.rows; ++i) {
        const cmgi_row_look row = look_at_row(&C, i);
        s.of[i] = cmgi_coupling_of(&row, block == 1);
    }
    const cmgi_csr_shape shape = {C.rows, C.rows, C.indptr[C.rows]};
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows_once(ctx, &shape, strong_row, &s, S));
done:
    cmgi_csr_free(ctx, &condensed);
    cmgi_free(ctx, s.of);
    return status;
}
