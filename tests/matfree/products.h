/* Products of elements by plain loops, and matrices against them. */
#pragma once
#include "csr/elements.h"
#include "spmv/matrix.h"
#include "../spmv/suite.h"

/* y = A x and the sums of |a_ij x_j|, element by element. */
static void multiply(const cmg_elements *E, const double *x, double *y, double *magnitude)
{
    scoped bool *met = calloc((size_t)E->rows + 1, sizeof *met);
    fill_values(y, E->rows, 0);
    fill_values(magnitude, E->rows, 0);
    for (cmg_size e = 0; e < E->count; ++e) {
        const cmg_size t = E->templates == 0 ? e : E->number != NULL ? E->number[e] : 0;
        const double factor = E->factor != NULL ? E->factor[e] : 1;
        for (int a = 0; a < E->local; ++a) {
            const cmg_index i = E->dofs[e * E->local + a];
            for (int b = 0; i >= 0 && b < E->local; ++b) {
                const cmg_index j = E->dofs[e * E->local + b];
                const double k = factor * E->matrices[(t * E->local + a) * E->local + b];
                y[i] += j >= 0 ? k * x[j] : 0;
                magnitude[i] += j >= 0 ? fabs(k * x[j]) : 0;
                met[i] = true;
            }
        }
    }
    for (cmg_size i = 0; i < E->rows; ++i) {
        if (!met[i]) {
            y[i] = E->diagonal[i] * x[i];
            magnitude[i] = fabs(y[i]);
        }
    }
}

static inline cmg_matrix *elements_matrix(const cmg_elements *E, const cmg_matrix_options *o)
{
    cmg_matrix *M = NULL;
    CHECK_OK(cmg_matrix_create_elements(ctx, E, o, &M));
    return M;
}

/* r = b - A x, twice, against the loops; the second time bit for bit. */
static void check_product(const cmg_elements *E, cmg_matrix *M, const char *what)
{
    const cmg_size n = E->rows;
    const double eps = M->options.precision == CMG_FP64 ? 0x1p-52 : 0x1p-23;
    scoped double *host = random_values(n, 3);
    scoped double *load = random_values(n, 4);
    scoped double *sum = malloc((size_t)n * sizeof *sum);
    scoped double *magnitude = malloc((size_t)n * sizeof *sum);
    double *out[2];
    scoped_vector *x = vector_from(n, M->options.precision, host);
    scoped_vector *b = vector_from(n, M->options.precision, load);
    scoped_vector *r = vector_new(n, M->options.precision);
    for (int k = 0; k < 2; ++k) {
        CHECK_OK(cmg_vector_fill(r, 7));
        CHECK_OK(cmg_matrix_residual(M, x, b, r));
        out[k] = values_of(r);
    }
    CHECK(memcmp(out[0], out[1], (size_t)n * sizeof *sum) == 0);
    multiply(E, host, sum, magnitude);
    double worst = 0; /* every product rounds three times, every sum once */
    for (cmg_size i = 0; i < n; ++i) {
        worst = worst_of(worst, fabs(out[0][i] - (load[i] - sum[i])) /
                                    (eps * (4 * magnitude[i] + 2) * E->local));
    }
    CHECK_SAY(worst <= 1, "%s, %s, %lld elements of %d: %.3g times the bound", what,
              cmg_enum_name("format", (int)M->options.format), (long long)E->count, E->local,
              worst);
    free_all(out[0], out[1]);
}
