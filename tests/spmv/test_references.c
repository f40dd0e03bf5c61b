/*
 * Templates of rectangular matrices, whose rows take turns and step on in x, by each instruction
 * set against plain loops, for lines of every remainder and x that ends with the last row.
 */
#include "samples.h"

/* Lines of `line` rows; row l of a line begins at column line's first + (l / period) step and has
 * as many more entries as l mod period, which go on backwards where `back`. */
static cmgi_csr stepping(cmg_size lines, cmg_size line, int period, int step, bool back)
{
    const cmg_size turns = (line + period - 1) / period;
    const cmg_size wide = (turns - 1) * step + 2 * period + 1;
    const cmg_size cols = lines * wide + (wide == line ? 2 : 0); /* not square */
    cmgi_csr A = csr_new(lines * line, cols, lines * line * (3 + period));
    for (cmg_size i = 0; i < lines * line; ++i) {
        const cmg_size l = i % line;
        const cmg_size first = i / line * wide + l / period * step;
        const int count = 2 + (int)(l % period);
        for (int e = 0; e < count; ++e) {
            csr_put(&A, i, first + 2 * (back ? count - 1 - e : e),
                    1 + 0.5 * (double)(l % period) + 0.125 * e);
        }
    }
    csr_end(&A);
    return A;
}

/* Largest difference to the product, over all rows, by one instruction set. */
static double error_of(const cmgi_cpu_kernels *set, const cmgi_csr *A, cmg_precision precision)
{
    scoped_matrix *M = compress(A, precision, CMG_VALUES_FULL);
    CHECK(layout(M)->p.count == 0 && layout(M)->ref != NULL);
    return set_error(set, A, M);
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
