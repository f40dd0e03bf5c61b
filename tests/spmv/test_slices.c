/*
 * Slices by each instruction set against plain loops: columns that run on from row to row, that
 * jump, and that do either in turns, as the kernels choose by the first step of a slice.
 */
#include "samples.h"

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
    cmgi_csr A = csr_new(ROWS, STEPS * (ROWS + 400), STEPS * ROWS);
    uint64_t seed = 3;
    for (cmg_size i = 0; i < ROWS; ++i) {
        const int length = i % 50 == 49 ? 0 : i % 20 == 19 ? STEPS - 3 : STEPS;
        for (int e = 0; e < length; ++e) {
            const cmg_index column = column_of(kind, i, e, &seed);
            csr_put(&A, i, column, 2 * cmgi_random(&seed) - 1);
        }
    }
    csr_end(&A);
    return A;
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
                CHECK_NEAR(set_error(set, &A, M), 0, turn % 2 ? 4e-6 : 1e-14);
            }
        }
    }
}

/* With a map of values rows are filled one entry after the other: the same slices. */
TEST(maps_change_nothing)
{
    scoped_csr A = make(JUMPING);
    for (int turn = 0; turn < 4; ++turn) {
        cmg_matrix *M[2];
        cmg_matrix_options o = matrix_options("format=%s precision=%s", turn < 2 ? "sell" : "k1",
                                              turn % 2 ? "mixed" : "fp64");
        for (int k = 0; k < 2; ++k) {
            o.keep_map = k == 1;
            M[k] = matrix_new(&A.view, &o);
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
