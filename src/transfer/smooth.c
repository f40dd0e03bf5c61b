/*
 * P from P_0: one step of damped Jacobi on every column, by A without its weak entries.
 */
#include "transfer/aggregate.h"

#include "core/backend.h"
#include "core/lanes.h"
#include "core/memory.h"
#include "csr/by_rows.h"
#include "csr/resident.h"
#include "transfer/aggregate_rows.h"

/* The same of matrices on the device (smooth.cu); P has all facts, and P0 is taken over. */
cmg_status cmgi_smooth_device(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, double omega,
                              cmg_csr *P0, cmgi_resident *P);

/* A and S, which the rows of A_F are made of. */
typedef struct filter {
    const cmg_csr *A;
    const cmg_csr *S;
} filter;

/*
 * Row i of A without the entries that are neither strong nor on the diagonal, which takes them over
 * so that constants stay what they are to A. Zeros beside the diagonal are left out. The columns of
 * S come in the order of A's.
 */
static cmg_size filtered_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmg_csr *A = ((const filter *)user)->A;
    const cmg_csr *S = ((const filter *)user)->S;
    const cmg_size begin = A->indptr[i];
    const cmg_size end = S->indptr[i + 1];
    cmgi_row_sum sum = {0};
    double diagonal = 0;
    cmg_size s = S->indptr[i];
    for (cmg_size k = begin; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool strong = s < end && S->indices[s] == j;
        s += strong;
        cmgi_row_add(&sum, k - begin, j != i && !strong ? A->values[k] : 0);
        diagonal = j == i ? A->values[k] : diagonal;
    }
    const double dropped = cmgi_row_total(&sum);
    const bool whole = end == S->indptr[i] || cmgi_stays_whole(diagonal, dropped);
    cmg_size count = 0;
    s = S->indptr[i];
    for (cmg_size k = begin; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool strong = s < end && S->indices[s] == j;
        s += strong;
        const double lumped = j == i ? diagonal + dropped : (strong ? A->values[k] : 0);
        const double value = whole ? A->values[k] : lumped;
        if (value == 0 && j != i) {
            continue;
        }
        if (columns != NULL) {
            columns[count] = j;
            values[count] = value;
        }
        ++count;
    }
    return count;
}

/* (row i of A) x */
static double row_product(const cmg_csr *A, cmg_size i, const double *x)
{
    cmgi_row_sum sum = {0};
    const cmg_size end = A->indptr[i + 1];
    cmg_size k = A->indptr[i];
    for (; k + CMGI_LANES <= end; k += CMGI_LANES) {
        for (int lane = 0; lane < CMGI_LANES; ++lane) {
            sum.part[lane] += A->values[k + lane] * x[A->indices[k + lane]];
        }
    }
    for (int lane = 0; k + lane < end; ++lane) {
        sum.part[lane] += A->values[k + lane] * x[A->indices[k + lane]];
    }
    return cmgi_row_total(&sum);
}

static cmg_status multiply(cmg_context *ctx, const cmgi_power_matrix *A, const double *x, double *y)
{
    const cmg_csr *F = A->of;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 1024)
    for (cmg_size i = 0; i < A->rows; ++i) {
        y[i] = A->d[i] != 0 ? row_product(F, i, x) / A->d[i] : 0;
    }
    return CMG_OK;
}

static double largest_row_sum(cmg_context *ctx, const cmg_csr *A, const double *d)
{
    double bound = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : bound)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double sum = d[i] != 0 ? cmgi_row_magnitude(A, i) / fabs(d[i]) : 0;
        bound = sum > bound ? sum : bound;
    }
    return bound;
}

static cmg_status smooth_on_host(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, double omega,
                                 cmgi_csr *P0, cmgi_csr *P)
{
    cmgi_csr filtered = {0};
    cmgi_csr made = {0};
    cmgi_pair step[CMGI_POWER_STEPS];
    double *d = NULL;
    cmg_status status = CMG_OK;
    if (S != NULL) {
        const filter f = {A, S};
        const cmgi_csr_shape shape = {A->rows, A->cols, A->indptr[A->rows]};
        CMGI_TRY(cmgi_csr_by_rows_once(ctx, &shape, filtered_row, &f, &filtered));
    }
    const cmg_csr F = S != NULL ? filtered.view : *A;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, F.rows, sizeof *d, &d));
    cmgi_csr_diagonal(ctx, &F, d);
    const cmgi_power_matrix power = {F.rows, d, &F, multiply};
    CMGI_TRY_GOTO(done, cmgi_power_sums(ctx, CMGI_HOST, &power, step));
    const double lambda = cmgi_power_result(step, largest_row_sum(ctx, &F, d));
    CMGI_TRY_GOTO(done, cmgi_csr_multiply(ctx, &F, &P0->view, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (P0->rows > 1024)
    for (cmg_size i = 0; i < P0->rows; ++i) {
        cmgi_smoothed_row(&P0->view, &made.view, i, d[i], omega / lambda, made.values);
    }
    *P = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &filtered);
    cmgi_csr_free(ctx, &made);
    cmgi_free(ctx, d);
    return status;
}

cmg_status cmgi_smooth_tentative(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                                 const cmg_csr *S, double omega, cmgi_csr *P0, cmgi_csr *P)
{
    static cmg_status (*const on_device)(cmg_context *, const cmg_csr *, const cmg_csr *, double,
                                         cmg_csr *, cmgi_resident *) =
        CMGI_CUDA_FN(cmgi_smooth_device);
    cmgi_resident made = {0};
    cmg_status status = CMG_OK;
    if (at == CMGI_DEVICE && on_device != NULL) {
        CMGI_TRY(on_device(ctx, A, S, omega, &P0->view, &made));
        status = cmgi_resident_attach(ctx, &made, P);
        cmgi_resident_free(ctx, &made);
        return status;
    }
    if (omega == 0) {
        *P = *P0;
        *P0 = (cmgi_csr){0};
        return CMG_OK;
    }
    return smooth_on_host(ctx, A, S, omega, P0, P);
}
