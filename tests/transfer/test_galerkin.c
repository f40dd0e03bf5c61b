/*
 * Products of matrices on the device: pattern and values have the bits of the host's products, also
 * with new values on the same pattern, and nothing is left when there is no memory.
 */
#include "arrays.h"
#include "spmv/suite.h"
#include "transfer/galerkin.h"

/* On the device, with all facts. */
static cmgi_csr sent(const cmgi_csr *A)
{
    cmgi_resident R = {0};
    cmgi_csr made = {0};
    CHECK_OK(cmgi_resident_send(ctx, &A->view, &R));
    CHECK_OK(cmgi_resident_look_again(ctx, &R));
    CHECK_OK(cmgi_resident_attach(ctx, &R, &made));
    return made;
}

static void check_same(const cmgi_csr *here, const cmgi_resident *there)
{
    const cmg_size nnz = here->indptr[here->rows];
    scoped_csr found = {0};
    CHECK(there->csr.rows == here->rows && there->csr.cols == here->cols && there->rows.nnz == nnz);
    if (there->csr.rows != here->rows || there->rows.nnz != nnz) {
        return;
    }
    CHECK_OK(cmgi_resident_fetch(ctx, &there->csr, nnz, &found));
    CHECK(same_csr(&found.view, &here->view));
}

/* Other values in the same pattern, in both places. */
static void change_values(cmgi_csr *here, cmgi_csr *there, uint64_t *seed)
{
    const cmg_size nnz = here->indptr[here->rows];
    FILL(here->values, k, nnz, 2 * cmgi_random(seed) - 1);
    CHECK_OK(cmgi_to_device(ctx, (void *)(uintptr_t)there->there->csr.values, here->values,
                            (size_t)nnz * sizeof *here->values));
    CHECK_OK(cmgi_resident_look_again(ctx, there->there));
}

static void check_matrices(cmgi_csr *A, cmgi_csr *B, uint64_t seed)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    scoped_csr A_there = sent(A);
    scoped_csr B_there = sent(B);
    scoped_csr C = {0};
    cmgi_resident C_there = {0};
    CHECK_OK(cmgi_csr_multiply(ctx, &A->view, &B->view, &C));
    CHECK_OK(on->multiply(ctx, A_there.there, B_there.there, false, &C_there));
    check_same(&C, &C_there);
    change_values(A, &A_there, &seed);
    change_values(B, &B_there, &seed);
    CHECK_OK(cmgi_csr_multiply_values(ctx, &A->view, &B->view, &C));
    CHECK_OK(on->multiply_values(ctx, &A_there.there->csr, B_there.there, &C_there, CMGI_ROWS_ALL));
    check_same(&C, &C_there);
    cmgi_resident_free(ctx, &C_there);
}

static void check_product(const suite_row *a, cmg_size cols, int width, uint64_t seed)
{
    const suite_row b = {"B", a->cols, cols, 0, width};
    scoped_csr A = suite_make(a);
    scoped_csr B = suite_make(&b);
    check_matrices(&A, &B, seed);
}

TEST(products_have_the_bits_of_the_host)
{
    for (int s = 0; s < SUITE - 1; ++s) {
        check_product(&suite[s], 33, 1 + s % 5, 3 + (uint64_t)s);
        check_product(&suite[s], 300, 1 << s % 7, 30 + (uint64_t)s);
    }
    /* tables of shared memory in fewer groups a block, and, past 1024 columns, in global memory */
    const suite_row few = {"few rows", 12, 90, 0, 20};
    const suite_row two = {"two rows", 2, 90, 0, 60};
    check_product(&few, 900, 40, 5);
    check_product(&two, 5000, 90, 6);
}

/* Rows of A as long as there are lanes that merge rows of B, and one more or less. */
TEST(rows_are_merged_by_lanes)
{
    static const int widths[] = {3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 128, 129, 256, 257};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w) {
        const suite_row a = {"merged", 70, 700, 0, widths[w]};
        check_product(&a, 500, 6, (uint64_t)w);
        check_product(&a, 40, 1, (uint64_t)w);
    }
}

/* Rows of 4 entries but for `count` that follow one another, of 60: these are formed apart where
 * they are fewer than one in 64. */
TEST(few_rows_are_long)
{
    static const int counts[] = {0, 1, 2, 15, 16, 40};
    enum { ROWS = 1000, COLS = 500, SHORT = 4, LONG = 60 };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        for (int width = 1; width < 80; width = 3 * width + 1) { /* of B: 2 to 32 lanes */
            uint64_t seed = 17 * c + (uint64_t)width;
            const suite_row b = {"B", COLS, 2 * COLS, 0, width};
            scoped_csr A = csr_new(ROWS, COLS, ROWS * LONG);
            scoped_csr B = suite_make(&b);
            for (cmg_size i = 0; i < ROWS; ++i) {
                const bool within = i >= ROWS / 2 && i < ROWS / 2 + counts[c];
                const int length = within ? LONG : SHORT;
                for (int k = 0; k < length; ++k) {
                    const cmg_size j = COLS / length * k + i % (COLS / length);
                    csr_put(&A, i, j, 2 * cmgi_random(&seed) - 1);
                }
            }
            csr_end(&A);
            check_matrices(&A, &B, seed);
        }
    }
}

/* P with an empty column, for a row of R A P that is empty, and one of zeros. */
static cmgi_csr prolongation(cmg_size n, cmg_size m)
{
    const suite_row p = {"P", n, m, 0, 3};
    cmgi_csr P = suite_make(&p);
    cmg_size kept = 0;
    cmg_size k = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size end = P.indptr[i + 1];
        for (; k < end; ++k) {
            if (P.indices[k] != 1) {
                P.indices[kept] = P.indices[k];
                P.values[kept++] = P.indices[k] == 2 ? 0 : P.values[k];
            }
        }
        P.indptr[i + 1] = kept;
    }
    return P;
}

/* R, A and P on the host and the device, and what is made of them; R is empty where it is P^T. */
typedef struct triples {
    cmgi_csr R;
    cmgi_csr A;
    cmgi_csr P;
    cmgi_csr R_there;
    cmgi_csr A_there;
    cmgi_csr P_there;
    cmgi_csr PT_there;
    cmgi_csr AP;
    cmgi_csr AP_there;
    cmgi_csr C;
    cmgi_csr C_there;
} triples;

/* R A P and its new values have the same bits on both; P is new once where it moves. */
static void check_triples(triples *x, int rounds, bool moves, uint64_t *seed)
{
    const bool own_r = x->R.indptr != NULL;
    const cmg_csr *left = own_r ? &x->R.view : NULL;
    if (own_r) {
        x->R_there = sent(&x->R);
    }
    x->A_there = sent(&x->A);
    x->P_there = sent(&x->P);
    const cmgi_triple t = {x->R_there.there, x->A_there.there, x->P_there.there, &x->PT_there,
                           &x->AP_there};
    CHECK_OK(cmgi_galerkin(ctx, left, &x->A.view, &x->P.view, true, &x->C));
    CHECK_OK(cmgi_galerkin_there(ctx, &t, &x->C_there));
    check_same(&x->C, x->C_there.there);
    CHECK(x->C_there.there->facts.zero_diagonal < 0 || own_r);
    for (int round = 0; round < rounds; ++round) {
        change_values(&x->A, &x->A_there, seed);
        if (moves && round == 1) { /* P^T follows */
            change_values(&x->P, &x->P_there, seed);
        }
        CHECK_OK(cmgi_galerkin_values(ctx, left, &x->A.view, &x->P.view, &x->AP, &x->C));
        CHECK_OK(cmgi_galerkin_values_there(ctx, &t, &x->C_there));
        check_same(&x->AP, x->AP_there.there);
        check_same(&x->C, x->C_there.there);
    }
}

static void free_triples(triples *x)
{
    csrs_free(&x->R, &x->A, &x->P, &x->R_there, &x->A_there, &x->P_there, &x->PT_there, &x->AP,
              &x->AP_there, &x->C, &x->C_there);
}

static void check_galerkin(cmg_size n, cmg_size m, bool own_r, uint64_t seed)
{
    const suite_row a = {"A", n, n, 1, 9};
    const suite_row r = {"R", m, n, 0, 5};
    triples x = {.A = suite_make(&a), .P = prolongation(n, m)};
    if (own_r) {
        x.R = suite_make(&r);
    }
    check_triples(&x, 3, true, &seed);
    free_triples(&x);
}

TEST(triple_products_have_the_bits_of_the_host)
{
    const cmg_size n[] = {4, 31, 33, 400, 3000};
    for (int k = 0; k < 5; ++k) {
        check_galerkin(n[k], n[k] / 4 + 3, false, 11 + (uint64_t)k);
        check_galerkin(n[k], n[k] / 4 + 3, true, 21 + (uint64_t)k);
    }
}

/* An entry of row i for each place of a box, as far as it is in the grid. */
static void put_box(const cmg_size *low, const cmg_size *high, const cmg_size *n, cmg_size i,
                    cmgi_csr *M)
{
    for (cmg_size z = low[2]; z <= high[2]; ++z) {
        for (cmg_size y = low[1]; y <= high[1]; ++y) {
            for (cmg_size x = low[0]; x <= high[0]; ++x) {
                if (x >= 0 && y >= 0 && z >= 0 && x < n[0] && y < n[1] && z < n[2]) {
                    csr_put(M, i, x + n[0] * (y + n[1] * z),
                            1.0 / (double)(1 + M->indptr[0] % 7)); /* by its number */
                }
            }
        }
    }
}

/* 27 points, or the trilinear interpolation of every other of them: n and m a direction. */
static cmgi_csr grid_of_boxes(const cmg_size *n, const cmg_size *m, bool coarser)
{
    const cmg_size rows = n[0] * n[1] * n[2];
    cmgi_csr M = csr_new(rows, m[0] * m[1] * m[2], 27 * rows);
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size at[3] = {i % n[0], i / n[0] % n[1], i / (n[0] * n[1])};
        cmg_size low[3];
        cmg_size high[3];
        for (int d = 0; d < 3; ++d) { /* point 2 j + 1 is point j of the coarse grid */
            low[d] = coarser ? (at[d] + 1) / 2 - 1 : at[d] - 1;
            high[d] = coarser ? at[d] / 2 : at[d] + 1;
        }
        put_box(low, high, m, i, &M);
    }
    csr_end(&M);
    return M;
}

/* Of grids, rows of products are of few kinds; with `odd` one row has none of them. */
static void check_kinds(const cmg_size *n, bool odd, uint64_t seed)
{
    const cmg_size m[3] = {n[0] / 2, n[1] / 2, n[2] / 2};
    triples x = {.A = grid_of_boxes(n, n, false), .P = grid_of_boxes(n, m, true)};
    if (odd) {
        x.A.indices[x.A.indptr[x.A.rows / 2]] = 0;
        x.P.indices[x.P.indptr[x.P.rows / 3]] = 1;
    }
    check_triples(&x, 2, false, &seed);
    CHECK(x.AP_there.there->kinds.width > 0);
    CHECK((x.C_there.there->kinds.width > 0) == (x.C.rows >= 2048));
    free_triples(&x);
}

TEST(rows_of_grids_are_of_few_kinds)
{
    const cmg_size line[3] = {4099, 1, 1};
    const cmg_size plane[3] = {65, 63, 1};
    const cmg_size box[3] = {15, 13, 16};
    const cmg_size large[3] = {27, 28, 27};
    check_kinds(line, false, 41);
    check_kinds(plane, true, 42);
    check_kinds(box, true, 43);
    check_kinds(large, false, 44);
}

TEST(faults_leave_nothing)
{
    const cmg_size box[3] = {14, 13, 13};
    const cmg_size half[3] = {7, 6, 6};
    scoped_csr A = grid_of_boxes(box, box, false);
    scoped_csr P = grid_of_boxes(box, half, true);
    scoped_csr A_there = sent(&A);
    scoped_csr P_there = sent(&P);
    for (failing f = {.most = 10000, .fewest = 20}; failing_next(&f);) {
        scoped_csr AP = {0};
        scoped_csr PT = {0};
        scoped_csr C = {0};
        const cmgi_triple t = {NULL, A_there.there, P_there.there, &PT, &AP};
        const cmg_status status = cmgi_galerkin_there(ctx, &t, &C);
        failing_done(&f, status != CMG_OK ? status : cmgi_galerkin_values_there(ctx, &t, &C));
    }
}
