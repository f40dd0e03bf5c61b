/*
 * Products of several columns: every format over every matrix of the suite, every write-back and
 * several numbers of columns, against plain loops over the CSR; vectors of columns; the operations
 * on them.
 */
#include "core/backend.h"
#include "core/vector.h"
#include "spmv/columns.h"
#include "spmv/formats.h"
#include "samples.h"
#include "arrays.h"

static const int counts[] = {2, 8, 19, 64};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* One matrix and blocks of k columns for it. */
typedef struct blocks {
    const cmgi_csr *A;
    cmg_matrix *M;
    cmg_precision precision;
    int k;
    double *x; /* cols x k */
    double *b; /* rows x k */
    double *c;
    double *d; /* rows */
    const char *name;
} blocks;

/* Largest error over what rounding allows. */
static double error_of(const blocks *t, const cmgi_writeback *w, const double *y)
{
    const double eps = t->precision == CMG_FP64 ? 0x1p-52 : 0x1p-23;
    double worst = 0;
    for (cmg_size i = 0; i < t->A->rows; ++i) {
        const cmg_size length = t->A->indptr[i + 1] - t->A->indptr[i];
        for (int c = 0; c < t->k; ++c) {
            double s = 0;
            double magnitude = 0;
            for (cmg_size e = t->A->indptr[i]; e < t->A->indptr[i + 1]; ++e) {
                const double term = t->A->values[e] * t->x[(cmg_size)t->A->indices[e] * t->k + c];
                s += term;
                magnitude += fabs(term);
            }
            const double bound = eps * ((double)length + 16) * (magnitude + 8);
            const cmg_size at = i * t->k + c;
            const double right = suite_writeback(w, s, t->b[at], t->c[at], t->d[i], t->b[at]);
            const double error = fabs(y[at] - right);
            worst = worst_of(worst, error / bound);
        }
    }
    return worst;
}

static void compare(const blocks *t, int kind)
{
    const cmg_size n = t->A->rows;
    scoped_vector *x = columns_in(t->precision, t->A->cols, t->k, t->x);
    scoped_vector *b = columns_in(t->precision, n, t->k, t->b);
    scoped_vector *c = columns_in(t->precision, n, t->k, t->c);
    scoped_vector *d = columns_in(t->precision, n, 1, t->d);
    scoped_vector *y = columns_in(t->precision, n, t->k, t->c);
    const bool scaled =
        kind == CMGI_WB_JACOBI || kind == CMGI_WB_MOMENTUM || kind == CMGI_WB_FROM_ZERO;
    const cmgi_writeback w = {.kind = (cmgi_wb_kind)kind,
                              .alpha = 0.5,
                              .beta = -2,
                              .b = kind == CMGI_WB_RESIDUAL || scaled ? b->data : NULL,
                              .c = kind == CMGI_WB_AXPBY ? y->data : c->data,
                              .d = scaled ? d->data : NULL,
                              .e = kind == CMGI_WB_MOMENTUM ? b->data : NULL,
                              .y = y->data,
                              .columns = t->k};
    CHECK_OK(cmgi_columns_reserve(t->M, t->k));
    cmgi_context_fail_after(ctx, 0); /* a product allocates nothing */
    const cmg_status status = cmgi_matrix_spmv(t->M, &w, x->data);
    cmgi_context_fail_after(ctx, -1);
    CHECK_OK(status);
    scoped double *values = values_of(y);
    const double error = error_of(t, &w, values);
    CHECK_SAY(error <= 1, "%s, write-back %d, %d columns, precision %d: %.3g times the bound",
              t->name, kind, t->k, (int)t->precision, error);
}

/* Plain vectors in the format's numbering are only those of formats that do not renumber. */
static void multiply_columns(const cmgi_format *format, const suite_row *row,
                             cmg_precision precision, int block_rows)
{
    scoped_csr A = suite_make(row);
    cmg_matrix_options o =
        matrix_options("format=%s precision=%s block_rows=%d", WORD("format", format->id),
                       WORD("precision", precision), block_rows);
    scoped_matrix *M = NULL;
    if (!format->renumbers && A.rows > 0 && cmg_matrix_create_csr(ctx, &A.view, &o, &M) == CMG_OK) {
        for (int i = 0; i < COUNTS; ++i) {
            const int k = counts[i];
            if (A.rows > 500 && (k == 64 || (A.rows > 10000 && k != 8))) {
                continue;
            }
            const char *name = sprint("%s, %s", WORD("format", format->id), row->name);
            blocks t = {.A = &A, .M = M, .precision = precision, .k = k, .name = name};
            t.x = random_values(A.cols * k, 3);
            t.b = random_values(A.rows * k, 4);
            t.c = random_values(A.rows * k, 5);
            t.d = random_values(A.rows, 6);
            for (cmg_size v = 0; precision == CMG_FP32 && v < A.cols * k; ++v) {
                t.x[v] = (double)(float)t.x[v];
            }
            for (int kind = 0; kind<CMGI_WB_KINDS; kind += A.rows> 10000 ? 3 : 1) {
                compare(&t, kind);
            }
            free_all(t.x, t.b, t.c, t.d);
        }
    }
}

TEST(vectors_have_columns)
{
    scoped_vector *x = NULL;
    scoped_vector *y = NULL;
    const double values[6] = {1, 2, 3, 4, 5, 6};
    double back[6] = {0};
    double dots[2] = {0};
    CHECK(cmg_vector_create_columns(ctx, 3, 0, CMG_FP64, &x) == CMG_ERR_ARG);
    CHECK(cmg_vector_create_columns(ctx, 3, 65, CMG_FP64, &x) == CMG_ERR_ARG);
    CHECK_OK(cmg_vector_create_columns(ctx, 3, 2, CMG_FP64, &x));
    CHECK_OK(cmg_vector_create_columns(ctx, 3, 2, CMG_FP32, &y));
    CHECK(cmg_vector_columns(x) == 2 && cmg_vector_length(x) == 3);
    CHECK_OK(cmg_vector_set(x, values));
    CHECK_OK(cmg_vector_copy(x, y));
    CHECK_OK(cmg_vector_get(y, back));
    CHECK_EACH(i, 6, back[i] == values[i]);
    scoped_device double *result = device_new(2, sizeof *result);
    CHECK_OK(ctx->backend->dot(ctx, CMG_FP64, 3, 2, x->data, x->data, result));
    CHECK_OK(cmgi_to_host(ctx, dots, result, sizeof dots));
    CHECK(dots[0] == 35 && dots[1] == 56);
    cmg_vector_destroy(&y);
    CHECK_OK(cmg_vector_create(ctx, 3, CMG_FP64, &y));
    CHECK(cmg_vector_copy(x, y) == CMG_ERR_SHAPE);
}

/* Sums of many parts, a column that rests, and one that was never a number. */
TEST(updates_leave_resting_columns)
{
    enum { N = 5000, K = 3 };
    const double scalars[3][K] = {{2, 2, NAN}, {4, 4, 4}, {0, 0, 0}};
    const cmgi_stop tests[K] = {{.running = 1, .most = 9}};
    double rr[K];
    double sum = 0;
    cmg_vector *v[4] = {NULL};
    double *values[4];
    for (int i = 0; i < 4; ++i) {
        values[i] = random_values((cmg_size)N * K, (uint64_t)i + 1);
        values[i][2] = i > 1 ? values[i][2] : NAN;
        v[i] = columns_in(CMG_FP64, N, K, values[i]);
    }
    scoped_device double *device = copy_there(scalars, 3, sizeof scalars[0]);
    scoped_device cmgi_stop *stop = copy_there(tests, K, sizeof *tests);
    const cmgi_cg_update u = {.rz = device,
                              .pq = device + K,
                              .p = v[0]->data,
                              .q = v[1]->data,
                              .x = v[2]->data,
                              .r = v[3]->data,
                              .rr = device + 2 * K,
                              .stop = stop};
    CHECK_OK(ctx->backend->cg_update(ctx, N, K, &u));
    CHECK_OK(cmgi_to_host(ctx, rr, device + 2 * K, sizeof rr));
    scoped double *x = values_of(v[2]);
    for (int i = 0; i < N * K; ++i) {
        const double step = i % K == 0 ? 0.5 * values[0][i] : 0;
        CHECK(fabs(x[i] - values[2][i] - step) < 1e-14);
        const double r = i % K == 0 ? values[3][i] - 0.5 * values[1][i] : 0;
        sum += r * r;
    }
    CHECK(fabs(rr[0] - sum) < 1e-10 * sum && isfinite(rr[1]) && isfinite(rr[2]));
    for (int i = 0; i < 4; ++i) {
        cmg_vector_destroy(&v[i]);
        free(values[i]);
    }
}

TEST(wrong_shapes_are_refused)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_index indices[] = {0, 1};
    const double values[] = {1, 2};
    const cmg_csr csr = {2, 2, indptr, indices, values};
    scoped_vector *x = columns_in(CMG_FP64, 2, 2, (const double[]){1, 2, 3, 4});
    scoped_vector *y = columns_in(CMG_FP64, 2, 2, (const double[]){1, 2, 3, 4});
    scoped_vector *z = columns_in(CMG_FP64, 2, 1, values);
    scoped_matrix *M = matrix_new(&csr, NULL);
    CHECK(cmg_matrix_apply(M, x, z) == CMG_ERR_SHAPE);
    CHECK(cmg_matrix_residual(M, x, z, y) == CMG_ERR_SHAPE);
    CHECK(cmg_matrix_jacobi(M, 1, x, x, x, y) == CMG_ERR_SHAPE);
    CHECK_OK(cmg_matrix_jacobi(M, 1, z, x, x, y));
}

TEST(every_format_multiplies_columns)
{
    const cmgi_format *format = NULL;
    for (int f = 0; (format = cmgi_format_at(ctx, f)) != NULL; ++f) {
        for (int r = 0; r < SUITE; ++r) {
            multiply_columns(format, &suite[r], CMG_FP64, 0);
            multiply_columns(format, &suite[r], CMG_FP32, 0);
        }
    }
}

/* Where the size of the block fits the matrix: others are refused. */
TEST(blocks_multiply_columns)
{
    static const cmg_format formats[] = {CMG_FORMAT_SELL, CMG_FORMAT_SBELL, CMG_FORMAT_COMPRESSED};
    EACH_PAIR (turn, 6, r, SUITE) {
        multiply_columns(cmgi_format_find(ctx, formats[turn / 2]), &suite[r], CMG_FP64,
                         2 + turn % 2);
    }
}

/* Patterns and slices of several columns by each instruction set, against plain loops. */
TEST(instruction_sets_multiply_columns)
{
    const cmgi_cpu_kernels *set = NULL;
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "kernels of the CPU");
    scoped_csr A = grid(50, 0.5);
    for (int s = 0; (set = cmgi_cpu_kernels_at(s)) != NULL; ++s) {
        for (int turn = 0; turn < 2 * COUNTS; ++turn) {
            const int k = counts[turn / 2];
            const cmg_matrix_options o = {
                .size = sizeof o, .format = turn % 2 ? CMG_FORMAT_SELL : CMG_FORMAT_COMPRESSED};
            const cmgi_rows rows = turn % 2 ? CMGI_ROWS_SLICES : CMGI_ROWS_PACKED;
            scoped_matrix *M = matrix_new(&A.view, &o);
            scoped double *x = random_values(A.cols * k, 5);
            scoped double *y = calloc((size_t)(A.rows * k), sizeof *y);
            const cmgi_writeback w = {.kind = CMGI_WB_SCALED, .alpha = 1, .y = y, .columns = k};
            const cmg_size slices =
                turn % 2 ? ((const cmgi_slices *)M->data)->nslices : layout(M)->p.count;
            double worst = 0;
            set->columns[CMG_FP64][rows](M, &w, x, 0, slices);
            for (cmg_size i = 0; i < A.rows * k; ++i) {
                for (cmg_size e = A.indptr[i / k]; e < A.indptr[i / k + 1]; ++e) {
                    y[i] -= A.values[e] * x[A.indices[e] * k + i % k];
                }
                worst = worst_of(worst, fabs(y[i]));
            }
            CHECK_NEAR(worst, 0, 2e-14); /* sums of five terms up to 6 */
        }
    }
}
