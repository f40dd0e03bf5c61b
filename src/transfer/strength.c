/* Strong couplings between the nodes of a matrix. */
#include "transfer/aggregate.h"

#include "core/memory.h"

#include <math.h>

static const double ISOLATED = 0.1; /* sum of off-diagonal entries over the diagonal */

/* Sums squares of entries by pairs of nodes: `sum` has one place a node and is left as it was. */
static cmg_size condense_row(const cmg_csr *A, int block, cmg_size node, double *sum,
                             cmg_index *list)
{
    cmg_size count = 0;
    for (cmg_size k = A->indptr[node * block]; k < A->indptr[(node + 1) * block]; ++k) {
        const cmg_index j = A->indices[k] / block;
        if (sum[j] < 0) {
            list[count++] = j;
            sum[j] = 0;
        }
        sum[j] += A->values[k] * A->values[k];
    }
    return count;
}

/* The matrix of Frobenius norms of the blocks. */
static cmg_status condense(cmg_context *ctx, const cmg_csr *A, int block, cmgi_csr *C)
{
    const cmg_size nodes = A->rows / block;
    double *sum = NULL;
    cmg_index *list = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, nodes * ctx->threads, sizeof *sum, &sum));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, nodes * ctx->threads, sizeof *list, &list));
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, nodes, nodes, &made));
    for (cmg_size i = 0; i < nodes * ctx->threads; ++i) {
        sum[i] = -1;
    }
    for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nodes > 256)
        for (cmg_size i = 0; i < nodes; ++i) {
            double *mine = sum + nodes * cmgi_thread();
            cmg_index *columns = list + nodes * cmgi_thread();
            const cmg_size count = condense_row(A, block, i, mine, columns);
            for (cmg_size e = 0; e < count; ++e) {
                if (pass == 1) {
                    made.indices[made.indptr[i] + e] = columns[e];
                    made.values[made.indptr[i] + e] = sqrt(mine[columns[e]]);
                }
                mine[columns[e]] = -1;
            }
            if (pass == 0) {
                made.indptr[i + 1] = count;
            }
        }
        if (pass == 0) {
            CMGI_TRY_GOTO(done, cmgi_csr_alloc_entries(ctx, &made));
        }
    }
    *C = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    CMGI_FREE(ctx, sum, list);
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

/* Strong entries of row i, counted, and written where `to` is not NULL. */
static cmg_size strong_row(const cmg_csr *C, cmg_size i, const coupling *c, double theta,
                           cmgi_csr *to)
{
    const coupling own = c[i];
    const double share = theta * theta * own.largest;
    cmg_size count = 0;
    for (cmg_size k = C->indptr[i]; k < C->indptr[i + 1] && own.largest > 0; ++k) {
        const cmg_index j = C->indices[k];
        const double size = size_of(&own, C->values[k]);
        if (j == i || size <= 0 || c[j].largest == 0 || size * size < share * c[j].largest) {
            continue;
        }
        if (to != NULL) {
            to->indices[to->indptr[i] + count] = j;
            to->values[to->indptr[i] + count] = size;
        }
        ++count;
    }
    return count;
}

cmg_status cmgi_strength(cmg_context *ctx, const cmg_csr *A, int block, double theta, cmgi_csr *S)
{
    cmgi_csr condensed = {0};
    cmgi_csr made = {0};
    coupling *c = NULL;
    cmg_status status = CMG_OK;
    if (block > 1) {
        CMGI_TRY_GOTO(done, condense(ctx, A, block, &condensed));
    }
    const cmg_csr C = block > 1 ? cmgi_csr_view(&condensed) : *A;
    const cmg_size n = C.rows;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *c, &c));
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, n, n, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size i = 0; i < n; ++i) {
        c[i] = look_at_row(&C, i, block == 1);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size i = 0; i < n; ++i) {
        made.indptr[i + 1] = strong_row(&C, i, c, theta, NULL);
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_entries(ctx, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size i = 0; i < n; ++i) {
        (void)strong_row(&C, i, c, theta, &made);
    }
    *S = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &condensed);
    cmgi_csr_free(ctx, &made);
    cmgi_free(ctx, c);
    return status;
}
