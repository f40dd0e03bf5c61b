/*
 * Slices by each instruction set against plain loops: columns that run on from row to row, that
 * jump, and that do either in turns, as the kernels choose by the first step of a slice.
 */
#include "spmv/cpu_kernels.h"
#include "suite.h"
#include "test.h"

enum { ROWS = 1000, STEPS = 7 };
typedef enum columns { RUNNING, JUMPING, FIRST_RUNS, FIRST_JUMPS, KINDS } columns;

/* Row i has `length` entries; a column runs on where that of row i + 1 is the next one. */
static cmg_index column_of(columns kind, cmg_size i, int e, uint64_t *seed)
{
    const bool runs =
        kind == RUNNING || (kind == FIRST_RUNS && e == 0) || (kind == FIRST_JUMPS && e > 0);
    const cmg_size span = 400; /* columns of an entry, no two entries of a row alike */
    const cmg_size drawn = (cmg_size)(cmgi_random(seed) * (double)span);
    return (cmg_index)(e * (ROWS + span) + (runs ? i : i / 3 + drawn));
}

static cmgi_csr make(columns kind)
{
    cmgi_csr A = {0};
    uint64_t seed = 3;
    CHECK_OK(cmgi_csr_alloc_rows(ctx, ROWS, STEPS * (ROWS + 400), &A));
    for (cmg_size i = 0; i < ROWS; ++i) {
        A.indptr[i + 1] = i % 50 == 49 ? 0 : i % 20 == 19 ? STEPS - 3 : STEPS;
    }
    CHECK_OK(cmgi_csr_alloc_entries(ctx, &A));
    for (cmg_size i = 0; i < ROWS; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            A.indices[k] = column_of(kind, i, (int)(k - A.indptr[i]), &seed);
            A.values[k] = 2 * cmgi_random(&seed) - 1;
        }
    }
    return A;
}

/* The largest difference of a product from the loop over the CSR. */
static double worst_of(const cmgi_cpu_kernels *set, const cmgi_csr *A, const cmg_matrix *M)
{
    const bool single = M->options.precision == CMG_FP32;
    const cmgi_slices *S = M->data;
    scoped double *x = random_values(A->cols, 5);
    scoped double *y = calloc((size_t)A->rows, sizeof *y);
    scoped float *narrow_x = calloc((size_t)A->cols, sizeof *narrow_x);
    scoped float *narrow_y = calloc((size_t)A->rows, sizeof *narrow_y);
    const cmgi_writeback w = {
        .kind = CMGI_WB_SCALED, .alpha = 1, .y = single ? (void *)narrow_y : (void *)y};
    double worst = 0;
    for (cmg_size j = 0; j < A->cols; ++j) {
        narrow_x[j] = (float)x[j];
    }
    set->rows[single][CMGI_ROWS_SLICES](M, &w, single ? (void *)narrow_x : (void *)x, 0,
                                        S->nslices);
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = single ? (double)narrow_y[i] : y[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum -= A->values[k] * x[A->indices[k]];
        }
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

TEST(instruction_sets_multiply)
{
    static const cmg_format formats[] = {CMG_FORMAT_SELL, CMG_FORMAT_K1, CMG_FORMAT_ELLPACK};
    const cmgi_cpu_kernels *set = NULL;
    for (int turn = 0; turn < KINDS * 3 * 2; ++turn) {
        scoped_csr A = make((columns)(turn / 6));
        cmg_matrix_options o = matrix_defaults();
        o.format = formats[turn / 2 % 3];
        o.precision = turn % 2 ? CMG_FP32 : CMG_FP64;
        for (int warp = 8; warp <= 32; warp += 24) {
            o.warp = warp;
            scoped_matrix *M = matrix_new(&A.view, &o);
            for (int s = 0; (set = cmgi_cpu_kernels_at(s)) != NULL; ++s) {
                /* sums of seven products of up to 1 */
                CHECK_NEAR(worst_of(set, &A, M), 0, turn % 2 ? 4e-6 : 1e-14);
            }
        }
    }
}

/* With a map of values rows are filled one entry after the other: the same slices. */
TEST(maps_change_nothing)
{
    scoped_csr A = make(JUMPING);
    for (int turn = 0; turn < 4; ++turn) {
        cmg_matrix *M[2] = {NULL, NULL};
        cmg_matrix_options o = matrix_options("format=%s precision=%s", turn < 2 ? "sell" : "k1",
                                              turn % 2 ? "mixed" : "fp64");
        for (int k = 0; k < 2; ++k) {
            o.keep_map = k == 1;
            CHECK_OK(cmg_matrix_create_csr(ctx, &A.view, &o, &M[k]));
        }
        const cmgi_slices *S[2] = {M[0]->data, M[1]->data};
        const size_t bytes = (size_t)M[0]->stored * cmgi_precision_bytes(o.precision);
        CHECK(M[0]->stored == M[1]->stored && S[0]->places == S[1]->places);
        CHECK(memcmp(M[0]->values, M[1]->values, bytes) == 0);
        CHECK(memcmp(S[0]->columns, S[1]->columns, (size_t)S[0]->places * sizeof *S[0]->columns) ==
              0);
        cmg_matrix_destroy(&M[0]);
        cmg_matrix_destroy(&M[1]);
    }
}
