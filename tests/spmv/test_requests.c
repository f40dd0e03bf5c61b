/* What is asked for of a matrix: refused where it is wrong, held where it is not, and remembered.
 */
#include "core/vector.h"
#include "spmv/formats.h"
#ifdef CMGI_HAVE_STUDIES
#include "csr/place.h"
#include "studies/tune.h"
#endif
#include "suite.h"

TEST(wrong_arguments_are_refused)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_index indices[] = {0, 1};
    const cmg_index twice[] = {1, 1};
    const cmg_size pair[] = {0, 2, 2};
    const cmg_index outside[] = {0, 2};
    const double values[] = {1, 2};
    cmg_csr csr = {2, 2, indptr, indices, values};
    cmg_matrix_options options = matrix_defaults();
    scoped_matrix *A = NULL;
    options.t = 3;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_ARG);
    options.t = 0;
    options.format = (cmg_format)99;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_ARG);
    if (cmg_context_backend(ctx) == CMG_BACKEND_CPU) {
        options.format = CMG_FORMAT_CUSPARSE_CSR;
        CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_UNSUPPORTED);
    }
    options.format = CMG_FORMAT_CSR;
    csr.indices = outside;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_SHAPE);
    csr.indices = twice;
    csr.indptr = pair;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_SHAPE);
    csr = (cmg_csr){2, 3, indptr, indices, values};
    options.format = CMG_FORMAT_K1R;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_SHAPE);
    options.format = CMG_FORMAT_DIAGONAL;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &csr, &options, &A), CMG_ERR_SHAPE);
    CHECK(A == NULL);
    options.format = CMG_FORMAT_CSR;
    CHECK_OK(cmg_matrix_create_csr(ctx, &csr, &options, &A));
    CHECK_STATUS(cmg_matrix_update(A, values), CMG_ERR_STATE);
    scoped_vector *x = vector_new(3, CMG_FP64);
    scoped_vector *y = vector_new(3, CMG_FP64);
    CHECK_STATUS(cmg_matrix_apply(A, x, y), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_matrix_apply(A, NULL, y), CMG_ERR_ARG);
    scoped_vector *single = vector_new(2, CMG_FP32);
    CHECK_STATUS(cmg_matrix_apply(A, x, single), CMG_ERR_ARG);
}

#ifdef CMGI_HAVE_STUDIES
/* The second matrix of a pattern takes the choice of the first, also with other values. */
TEST(measured_choices_are_remembered)
{
    scoped_csr A = suite_make(&suite[10]);
    cmg_matrix_options options = matrix_defaults();
    options.format = CMG_FORMAT_TUNE;
    const int before = cmgi_tune_count(ctx);
    scoped_matrix *M = matrix_new(&A.view, &options);
    const int after = cmgi_tune_count(ctx);
    CHECK(after - before <= 1);
    A.values[0] += 1;
    scoped_matrix *N = matrix_new(&A.view, &options);
    CHECK(cmgi_tune_count(ctx) == after);
    cmg_matrix_info first = {.size = sizeof first};
    cmg_matrix_info second = {.size = sizeof second};
    CHECK_OK(cmg_matrix_get_info(M, &first));
    CHECK_OK(cmg_matrix_get_info(N, &second));
    CHECK(first.format != CMG_FORMAT_TUNE && first.format == second.format && first.t == second.t);
    CHECK(M->options.block == N->options.block && M->perm == NULL);
    /* the hash sees every column */
    uint64_t hash[2] = {0};
    CHECK_OK(cmgi_pattern_hash(ctx, CMGI_HOST, &A.view, &hash[0]));
    A.indices[A.indptr[A.rows] - 1] ^= 1;
    CHECK(cmgi_pattern_hash(ctx, CMGI_HOST, &A.view, &hash[1]) == CMG_OK && hash[0] != hash[1]);
}

/* Full blocks of three, each its own: blocks are tried as well, and remembered with the rest. */
TEST(blocks_are_tried)
{
    enum { NODES = 400, N = 3 * NODES };
    uint64_t seed = 5;
    scoped_csr A = csr_new(N, N, 9 * (3 * NODES - 2));
    for (cmg_size i = 0; i < N; ++i) {
        const cmg_size first = i / 3 > 0 ? i / 3 - 1 : 0;
        const cmg_size last = i / 3 < NODES - 1 ? i / 3 + 1 : i / 3;
        for (cmg_size j = 3 * first; j < 3 * (last + 1); ++j) {
            csr_put(&A, i, j, cmgi_random(&seed) - 0.5);
        }
    }
    csr_end(&A);
    scoped double *x = random_values(N, 3);
    cmg_matrix_options options = matrix_defaults();
    options.format = CMG_FORMAT_TUNE;
    cmg_matrix *M[] = {matrix_new(&A.view, &options), matrix_new(&A.view, &options)};
    scoped_vector *vx = vector_from(N, CMG_FP64, x);
    scoped_vector *vy = vector_new(N, CMG_FP64);
    for (int m = 0; m < 2; ++m) {
        CHECK_OK(cmg_matrix_apply(M[m], vx, vy));
        scoped double *y = values_of(vy);
        CHECK_EACH(i, N, fabs(y[i] - row_times(&A.view, i, x)) < 1e-13);
    }
    CHECK(M[0]->format == M[1]->format && M[0]->options.block_rows == M[1]->options.block_rows);
    cmg_matrix_destroy(&M[0]);
    cmg_matrix_destroy(&M[1]);
}
#endif

/* What is asked for is what is held, whatever was asked before in the same context: all pairs of a
 * few requests for one pattern, under every format. */
TEST(requests_do_not_mix)
{
    static const cmg_matrix_options request[] = {
        {.precision = CMG_FP32},
        {.precision = CMG_FP32, .values = CMG_VALUES_FP16},
        {.precision = CMG_FP32, .values = CMG_VALUES_FP8},
        {.precision = CMG_FP32, .values = CMG_VALUES_FP16, .no_templates = true},
        {.precision = CMG_FP32, .keep_map = true},
        {.precision = CMG_FP32, .t = 2},
        {.precision = CMG_FP32, .warp = 8},
        {.precision = CMG_FP32, .threshold = 3},
        {.precision = CMG_FP32, .block = 96},
        {.precision = CMG_FP64},
    };
    enum { REQUESTS = sizeof request / sizeof request[0] };
    static const cmg_format formats[] = {
#ifdef CMGI_HAVE_STUDIES
        CMG_FORMAT_TUNE,
#endif
        CMG_FORMAT_AUTO, CMG_FORMAT_COMPRESSED, CMG_FORMAT_SELL};
    scoped_csr A = suite_make(&suite[10]);
    EACH_PAIR (f, sizeof formats / sizeof formats[0], k, REQUESTS * REQUESTS) {
        const cmg_matrix_options pair[] = {request[k / REQUESTS], request[k % REQUESTS]};
        for (int side = 0; side < 2; ++side) {
            cmg_matrix_options asked = pair[side];
            asked.size = sizeof asked;
            asked.format = formats[f];
            scoped_matrix *M = matrix_new(&A.view, &asked);
            const cmg_matrix_options *held = &M->options;
            CHECK(held->precision == asked.precision && held->values == asked.values);
            CHECK(held->no_templates == asked.no_templates);
            CHECK(held->keep_map == asked.keep_map &&
                  (cmg_matrix_update(M, A.view.values) == CMG_OK) == asked.keep_map);
            CHECK(asked.t == 0 || held->t == asked.t);
            CHECK(asked.warp == 0 || held->warp == asked.warp);
            CHECK(asked.threshold == 0 || held->threshold == asked.threshold);
            CHECK(asked.block == 0 || held->block == asked.block);
        }
    }
}
