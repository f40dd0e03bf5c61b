/* Strong couplings between the nodes of a matrix. */
#include "transfer/aggregate.h"

#include "core/memory.h"
#include "csr/by_rows.h"

#include <math.h>

static const double ISOLATED = 0.1; /* sum of off-diagonal entries over the diagonal */

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

/* How a row couples: sign of its couplings (0: by size), and the largest. */
typedef struct coupling {
    double sign;
    double largest; /* 0 = isolated */
} coupling;

static double size_of(const coupling *c, double value)
{
    return c->sign == 0 ? fabs(value) : c->sign * value;
}

static coupling look_at_row(const cmg_csr *C, cmg_size i, bool has_signs)
{
    coupling c = {0, 0};
    double diagonal = 0;
    double sum = 0;
    double most[2] = {0, 0}; /* negative, positive */
    for (cmg_size k = C->indptr[i]; k < C->indptr[i + 1]; ++k) {
        if (C->indices[k] == i) {
            diagonal = C->values[k];
        } else {
            const double size = fabs(C->values[k]);
            double *side = &most[C->values[k] > 0];
            sum += size;
            *side = size > *side ? size : *side;
        }
    }
    if (sum <= ISOLATED * fabs(diagonal)) {
        return c;
    }
    const double wanted = most[diagonal < 0];
    if (has_signs && wanted > 0) {
        c.sign = diagonal < 0 ? 1 : -1;
        c.largest = wanted;
    } else {
        c.largest = fmax(most[0], most[1]);
    }
    return c;
}

typedef struct couplings {
    const cmg_csr *C;
    coupling *of; /* each row */
    double theta;
} couplings;

/* Strong entries of row i. */
static cmg_size strong_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const couplings *s = user;
    const cmg_csr *C = s->C;
    const coupling *c = s->of;
    const coupling own = c[i];
    const double share = s->theta * s->theta * own.largest;
    cmg_size count = 0;
    for (cmg_size k = C->indptr[i]; k < C->indptr[i + 1] && own.largest > 0; ++k) {
        const cmg_index j = C->indices[k];
        const double size = size_of(&own, C->values[k]);
        if (j == i || size <= 0 || c[j].largest == 0 || size * size < share * c[j].largest) {
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
        s.of[i] = look_at_row(&C, i, block == 1);
    }
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, C.rows, C.rows, strong_row, &s, S));
done:
    cmgi_csr_free(ctx, &condensed);
    cmgi_free(ctx, s.of);
    return status;
}
