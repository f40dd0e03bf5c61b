/*
 * Templates of rectangular matrices, whose rows take turns and step on in x, by each instruction
 * set against plain loops, for lines of every remainder and x that ends with the last row.
 */
#include "spmv/cpu_kernels.h"
#include "samples.h"

/* Lines of `line` rows; row l of a line begins at column line's first + (l / period) step and has
 * as many more entries as l mod period, which go on backwards where `back`. */
static cmgi_csr stepping(cmg_size lines, cmg_size line, int period, int step, bool back)
{
    const cmg_size turns = (line + period - 1) / period;
    const cmg_size wide = (turns - 1) * step + 2 * period + 1;
    const cmg_size cols = lines * wide + (wide == line ? 2 : 0); /* not square */
    cmgi_csr A = {0};
    cmg_size k = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, lines * line, cols, lines * line * (1 + period) + 2 * lines * line,
                            &A));
    for (cmg_size i = 0; i < lines * line; ++i) {
        const cmg_size l = i % line;
        const cmg_size first = i / line * wide + l / period * step;
        const int count = 2 + (int)(l % period);
        for (int e = 0; e < count; ++e) {
            A.indices[k] = (cmg_index)(first + 2 * (back ? count - 1 - e : e));
            A.values[k++] = 1 + 0.5 * (double)(l % period) + 0.125 * e;
        }
        A.indptr[i + 1] = k;
    }
    return A;
}

/* Largest difference to the product, over all rows, by one instruction set. */
static double error_of(const cmgi_cpu_kernels *set, const cmgi_csr *A, cmg_precision precision)
{
    scoped_matrix *M = compress(A, precision, CMG_VALUES_FULL);
    const size_t size = cmgi_precision_bytes(precision);
    scoped double *x = random_values(A->cols, 5);
    scoped float *single =
        malloc((size_t)A->cols * sizeof *single); /* no entry more: sanitizers see it */
    scoped void *y = malloc((size_t)A->rows * size);
    const cmgi_writeback w = {.kind = CMGI_WB_SCALED, .alpha = 1, .y = y};
    double worst = 0;
    CHECK(layout(M)->p.count == 0 && layout(M)->ref != NULL);
    for (cmg_size j = 0; j < A->cols; ++j) {
        single[j] = (float)x[j];
        x[j] = precision == CMG_FP64 ? x[j] : single[j];
    }
    set->rows[precision][CMGI_ROWS_TEMPLATES](
        M, &w, precision == CMG_FP64 ? (void *)x : (void *)single, 0, layout(M)->t.count);
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k] * x[A->indices[k]];
        }
        const double found = precision == CMG_FP64 ? ((double *)y)[i] : ((float *)y)[i];
        worst = fmax(worst, fabs(found - sum));
    }
    return worst;
}

TEST(lines_step_on)
{
    const cmgi_cpu_kernels *set = NULL;
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "kernels of the CPU");
    static const cmg_size lengths[] = {1, 2, 5, 9, 16, 31, 33, 47, 63, 64, 65, 127};
    for (int kind = 0; kind < 5 * 4; ++kind) {
        const int period = 1 + kind % 5;
        const int step = kind / 5; /* 0 and 3 are not steps that vectors take */
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; ++k) {
            scoped_csr A = stepping(1500 / lengths[k] + 1, lengths[k], period, step, k % 2 == 0);
            for (int s = 0; (set = cmgi_cpu_kernels_at(s)) != NULL; ++s) {
                /* sums of up to six terms of order one */
                CHECK_NEAR(error_of(set, &A, CMG_FP64), 0, 1e-14);
                CHECK_NEAR(error_of(set, &A, CMG_FP32), 0, 1e-5);
            }
        }
    }
}

TEST(backends_multiply_equally)
{
    for (int period = 1; period <= 4; ++period) {
        scoped_csr A = stepping(30, 127, period, 3 - (period + 1) / 2, false);
        for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
            scoped_matrix *M = compress(&A, (cmg_precision)p, CMG_VALUES_FULL);
            CHECK(product_error(&A, M, false) <= (p == CMG_FP64 ? 1e-14 : 1e-6));
        }
    }
}
