/*
 * From aggregates to P: near-null-space vectors made orthonormal on each aggregate, P_0 R_c = B,
 * and one step of damped Jacobi on every column.
 */
#include "transfer/aggregate.h"

#include "core/memory.h"
#include "core/search.h"

#include <math.h>

enum { MOST_VECTORS = 16 };

static const double DEPENDENT = 1e-10; /* what is left of a vector that the others give already */

/* Nodes sorted by aggregate, ascending in each: those of aggregate a are node[start[a]] ... */
static cmg_status list_members(cmg_context *ctx, const cmgi_aggregates *agg, cmg_size **start,
                               cmg_index **node)
{
    CMGI_TRY(cmgi_alloc_zero(ctx, agg->count + 2, sizeof **start, start));
    CMGI_TRY(cmgi_alloc(ctx, agg->nodes, sizeof **node, node));
    cmg_size *at = *start + 1; /* shifted by one while they are filled */
    for (cmg_size i = 0; i < agg->nodes; ++i) {
        if (agg->of[i] >= 0) {
            ++at[agg->of[i] + 1];
        }
    }
    cmgi_add_up(at, agg->count);
    for (cmg_size i = 0; i < agg->nodes; ++i) {
        if (agg->of[i] >= 0) {
            (*node)[at[agg->of[i]]++] = (cmg_index)i;
        }
    }
    return CMG_OK;
}

/* The rows of one aggregate in P, rows x vectors by rows wherever they lie. */
typedef struct panel {
    const cmg_index *node;
    cmg_size nodes;
    int block;
    int vectors;
    const cmg_size *indptr;
    double *values;
} panel;

static double *panel_row(const panel *p, cmg_size r)
{
    return p->values + p->indptr[(cmg_size)p->node[r / p->block] * p->block + r % p->block];
}

static double panel_dot(const panel *p, int c, int d)
{
    double sum = 0;
    for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
        const double *row = panel_row(p, r);
        sum += row[c] * row[d];
    }
    return sum;
}

/*
 * Modified Gram-Schmidt, each vector twice (Giraud, Langou, Rozloznik 2005: twice is enough). R is
 * vectors x vectors by rows.
 */
static void orthonormalise(const panel *p, double *R)
{
    for (int c = 0; c < p->vectors; ++c) {
        const double before = sqrt(panel_dot(p, c, c));
        for (int d = 0; d < 2 * c; ++d) {
            const double s = panel_dot(p, d % c, c);
            R[d % c * p->vectors + c] += s;
            for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
                double *row = panel_row(p, r);
                row[c] -= s * row[d % c];
            }
        }
        const double norm = sqrt(panel_dot(p, c, c));
        const bool dependent = !(norm > DEPENDENT * before);
        R[c * p->vectors + c] = dependent ? 0 : norm;
        for (cmg_size r = 0; r < p->nodes * p->block; ++r) {
            double *row = panel_row(p, r);
            row[c] = dependent ? 0 : row[c] / norm;
        }
    }
}

/* P with the pattern of aggregates and the values of B. */
static cmg_status restrict_to_aggregates(cmg_context *ctx, const cmgi_aggregates *agg, int block,
                                         int vectors, const double *B, cmgi_csr *P)
{
    cmg_size inside = 0;
    for (cmg_size i = 0; i < agg->nodes; ++i) {
        inside += agg->of[i] >= 0;
    }
    CMGI_TRY(
        cmgi_csr_alloc(ctx, agg->nodes * block, agg->count * vectors, inside * block * vectors, P));
    for (cmg_size r = 0; r < P->rows; ++r) {
        P->indptr[r + 1] = P->indptr[r] + (agg->of[r / block] >= 0 ? vectors : 0);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (P->rows > 1024)
    for (cmg_size r = 0; r < P->rows; ++r) {
        for (int c = 0; c < vectors && agg->of[r / block] >= 0; ++c) {
            P->indices[P->indptr[r] + c] = agg->of[r / block] * vectors + c;
            P->values[P->indptr[r] + c] = B[r * vectors + c];
        }
    }
    return CMG_OK;
}

cmg_status cmgi_tentative(cmg_context *ctx, const cmgi_aggregates *agg, int block, int vectors,
                          const double *B, cmgi_csr *P, double **coarse)
{
    cmg_size *start = NULL;
    cmg_index *node = NULL;
    double *Bc = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, vectors >= 1 && vectors <= MOST_VECTORS, CMG_ERR_ARG,
               "%d near-null-space vectors are not in 1 .. %d", vectors, (int)MOST_VECTORS);
    CMGI_TRY_GOTO(done, list_members(ctx, agg, &start, &node));
    CMGI_TRY_GOTO(done, restrict_to_aggregates(ctx, agg, block, vectors, B, &made));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, agg->count * vectors * vectors, sizeof *Bc, &Bc));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (agg->count > 64)
    for (cmg_size a = 0; a < agg->count; ++a) {
        const panel p = {.node = node + start[a],
                         .nodes = start[a + 1] - start[a],
                         .block = block,
                         .vectors = vectors,
                         .indptr = made.indptr,
                         .values = made.values};
        orthonormalise(&p, Bc + a * vectors * vectors);
    }
    *P = made;
    made = (cmgi_csr){0};
    *coarse = Bc;
    Bc = NULL;
done:
    cmgi_csr_free(ctx, &made);
    CMGI_FREE(ctx, Bc, start, node);
    return status;
}

/*
 * A without the entries that are neither strong nor on the diagonal, which takes them over so that
 * constants stay what they are to A. Rows whose diagonal would nearly vanish stay whole.
 */
static cmg_status filter(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *S, cmgi_csr *F)
{
    bool *strong = NULL;
    CMGI_TRY(cmgi_csr_copy(ctx, A, F));
    const cmg_status status = cmgi_alloc_zero(ctx, A->cols * ctx->threads, sizeof *strong, &strong);
    if (status != CMG_OK) {
        cmgi_csr_free(ctx, F);
        return status;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 256)
    for (cmg_size i = 0; i < A->rows; ++i) {
        bool *mine = strong + A->cols * cmgi_thread();
        double dropped = 0;
        double diagonal = 0;
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            mine[S->indices[k]] = true;
        }
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_index j = A->indices[k];
            dropped += j != i && !mine[j] ? A->values[k] : 0;
            diagonal = j == i ? A->values[k] : diagonal;
        }
        const bool whole =
            S->indptr[i + 1] == S->indptr[i] || !((diagonal + dropped) / diagonal > 0.2);
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1] && !whole; ++k) {
            const cmg_index j = A->indices[k];
            F->values[k] = j == i ? diagonal + dropped : (mine[j] ? A->values[k] : 0);
        }
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            mine[S->indices[k]] = false;
        }
    }
    cmgi_free(ctx, strong);
    return CMG_OK;
}

/* Drops entries that are zero, but for the diagonal. */
static void squeeze(cmgi_csr *F)
{
    cmg_size at = 0;
    cmg_size k = 0;
    for (cmg_size i = 0; i < F->rows; ++i) {
        for (const cmg_size end = F->indptr[i + 1]; k < end; ++k) {
            if (F->values[k] != 0 || F->indices[k] == i) {
                F->indices[at] = F->indices[k];
                F->values[at++] = F->values[k];
            }
        }
        F->indptr[i + 1] = at;
    }
}

enum { SUMMED = 4096 }; /* rows that are summed together */

static cmg_size chunks_of(cmg_size n)
{
    return (n + SUMMED - 1) / SUMMED;
}

/* y = D^-1 A x; returns x^T D x and x^T A x summed by chunks, the same for any number of threads.
 */
static void power_step(cmg_context *ctx, const cmg_csr *A, const double *d, const double *x,
                       double *y, double *part, double sums[2])
{
    const cmg_size chunks = chunks_of(A->rows);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size c = 0; c < chunks; ++c) {
        double xx = 0;
        double xy = 0;
        for (cmg_size i = c * SUMMED; i < A->rows && i < (c + 1) * SUMMED; ++i) {
            double sum = 0;
            for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
                sum += A->values[k] * x[A->indices[k]];
            }
            y[i] = d[i] != 0 ? sum / d[i] : 0;
            xx += fabs(d[i]) * x[i] * x[i];
            xy += fabs(d[i]) * x[i] * y[i];
        }
        part[2 * c] = xx;
        part[2 * c + 1] = xy;
    }
    sums[0] = 0;
    sums[1] = 0;
    for (cmg_size c = 0; c < chunks; ++c) {
        sums[0] += part[2 * c];
        sums[1] += part[2 * c + 1];
    }
}

/*
 * The largest eigenvalue of D^-1 A by the power method, from below, with a tenth for what is
 * missing after ten steps; at most the largest row sum of |D^-1 A|.
 */
static cmg_status largest_eigenvalue(cmg_context *ctx, const cmg_csr *A, const double *d,
                                     double *lambda)
{
    enum { STEPS = 12 };
    const cmg_size n = A->rows;
    double *x = NULL;
    double *y = NULL;
    double *part = NULL;
    double bound = 0;
    double found = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *x, &x));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *y, &y));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, 2 * chunks_of(n), sizeof *part, &part));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : bound)
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += fabs(A->values[k]);
        }
        bound = fmax(bound, d[i] != 0 ? sum / fabs(d[i]) : 0);
    }
    for (cmg_size i = 0; i < n; ++i) {
        /* rough, so that the top of the spectrum is in it */
        x[i] = (double)((uint64_t)i * 2654435761u % 1024) / 512 - 1;
    }
    for (int step = 0; step < STEPS; ++step) {
        double sums[2];
        power_step(ctx, A, d, x, y, part, sums);
        found = sums[0] > 0 ? fmax(found, sums[1] / sums[0]) : found;
        const double scale = sums[0] > 0 ? 1 / sqrt(sums[0]) : 0;
        for (cmg_size i = 0; i < n; ++i) {
            x[i] = y[i] * scale;
        }
    }
    *lambda = fmin(1.1 * found, bound);
    if (!(*lambda > 0) || !isfinite(*lambda)) {
        *lambda = isfinite(bound) && bound > 0 ? bound : 1;
    }
done:
    CMGI_FREE(ctx, x, y, part);
    return status;
}

/* AP becomes P0 - factor D^-1 AP; the pattern of A P0 holds that of P0 where A has a diagonal. */
static void subtract(cmg_context *ctx, const cmgi_csr *P0, const double *d, double factor,
                     cmgi_csr *AP)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (P0->rows > 1024)
    for (cmg_size i = 0; i < P0->rows; ++i) {
        cmg_size e = P0->indptr[i];
        for (cmg_size k = AP->indptr[i]; k < AP->indptr[i + 1]; ++k) {
            AP->values[k] *= d[i] != 0 ? -factor / d[i] : 0;
            if (e < P0->indptr[i + 1] && P0->indices[e] == AP->indices[k]) {
                AP->values[k] += P0->values[e++];
            }
        }
    }
}

cmg_status cmgi_smooth_tentative(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *S,
                                 double omega, const cmgi_csr *P0, cmgi_csr *P)
{
    cmgi_csr filtered = {0};
    cmgi_csr made = {0};
    double *d = NULL;
    double lambda = 1;
    cmg_status status = CMG_OK;
    if (omega == 0) {
        return cmgi_csr_copy(ctx, &P0->view, P);
    }
    if (S != NULL) {
        CMGI_TRY_GOTO(done, filter(ctx, A, S, &filtered));
        squeeze(&filtered);
    }
    const cmg_csr F = S != NULL ? filtered.view : *A;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, F.rows, sizeof *d, &d));
    cmgi_csr_diagonal(ctx, &F, d);
    CMGI_TRY_GOTO(done, largest_eigenvalue(ctx, &F, d, &lambda));
    CMGI_TRY_GOTO(done, cmgi_csr_multiply(ctx, &F, &P0->view, &made));
    subtract(ctx, P0, d, omega / lambda, &made);
    *P = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &filtered);
    cmgi_csr_free(ctx, &made);
    cmgi_free(ctx, d);
    return status;
}
