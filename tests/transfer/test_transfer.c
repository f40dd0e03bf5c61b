/*
 * Prolongations and Galerkin products against plain loops: Kronecker products of axis maps, rows
 * from a function, P^T A P of random matrices.
 */
#include "test.h"
#include "transfer/galerkin.h"
#include "transfer/rows.h"
#include "transfer/tensor.h"

/* A random axis map: some rows are empty, the others have up to 3 ascending columns. */
static double *random_axis(cmg_size rows, cmg_size cols, uint64_t *seed, cmgi_axis_map *map)
{
    double *D = calloc((size_t)(rows * cols) + 1, sizeof *D);
    CHECK_OK(cmgi_axis_map_alloc(ctx, rows, cols, map));
    for (cmg_size i = 0; i < rows; ++i) {
        const int wanted = (int)(cmgi_random_bits(seed) % 4);
        int count = 0;
        for (cmg_size j = 0; j < cols && count < wanted; ++j) {
            if (cmgi_random(seed) < 0.5) {
                D[i * cols + j] = 2 * cmgi_random(seed) - 1;
                map->column[i * CMGI_AXIS_WIDTH + count] = (cmg_index)j;
                map->weight[i * CMGI_AXIS_WIDTH + count] = D[i * cols + j];
                ++count;
            }
        }
        map->count[i] = (unsigned char)count;
    }
    return D;
}

static void check_tensor(const cmg_size rows[3], const cmg_size cols[3], int block, uint64_t seed)
{
    cmgi_axis_map map[3];
    double *axis[3];
    scoped_csr P = {0};
    FILL(axis, d, 3, random_axis(rows[d], cols[d], &seed, &map[d]));
    CHECK_OK(cmgi_transfer_tensor(ctx, map, block, &P));
    CHECK(P.rows == rows[0] * rows[1] * rows[2] * block);
    CHECK(P.cols == cols[0] * cols[1] * cols[2] * block);
    CHECK_OK(cmgi_csr_check(ctx, "P", &P.view));
    scoped double *D = dense_of(&P.view);
    double worst = 0;
    for (cmg_size k = 0; k < P.rows * P.cols; ++k) {
        const cmg_size r = k / P.cols / block;
        const cmg_size c = k % P.cols / block;
        const cmg_size i[3] = {r % rows[0], r / rows[0] % rows[1], r / (rows[0] * rows[1])};
        const cmg_size j[3] = {c % cols[0], c / cols[0] % cols[1], c / (cols[0] * cols[1])};
        double expected = k / P.cols % block == k % P.cols % block;
        for (int d = 0; d < 3; ++d) {
            expected *= axis[d][i[d] * cols[d] + j[d]];
        }
        worst = worst_of(worst, fabs(D[k] - expected));
    }
    CHECK_NEAR(worst, 0, 1e-15);
    for (int d = 0; d < 3; ++d) {
        cmgi_axis_map_free(ctx, &map[d]);
        free(axis[d]);
    }
}

TEST(tensor_is_a_kronecker_product)
{
    const cmg_size rows[][3] = {{5, 4, 3}, {7, 1, 1}, {3, 9, 1}, {1, 1, 1}, {0, 2, 2}, {11, 2, 5}};
    const cmg_size cols[][3] = {{3, 2, 2}, {4, 1, 1}, {2, 5, 1}, {1, 1, 1}, {1, 1, 1}, {6, 1, 3}};
    for (int k = 0; k < 6; ++k) {
        check_tensor(rows[k], cols[k], 1, 17 + (uint64_t)k);
        check_tensor(rows[k], cols[k], 1 + k % 3, 91 + (uint64_t)k);
    }
}

/* Columns in falling order, one of them with weight 0. */
static int falling_row(const void *user, cmg_size node, cmg_index *column, double *weight)
{
    const cmg_size cols = *(const cmg_size *)user;
    const int count = node % 4 == 3 ? 0 : (int)(node % 4) + 2;
    for (int k = 0; k < count; ++k) {
        column[k] = (cmg_index)((cols - 1 - k + node) % cols);
        weight[k] = k == 1 ? 0 : 1.0 / (k + 1) + (double)node;
    }
    return count;
}

TEST(rows_are_sorted_and_clean)
{
    for (int block = 1; block <= 3; ++block) {
        for (cmg_size rows = 0; rows <= 33; rows += 11) {
            const cmg_size cols = 9;
            scoped_csr P = {0};
            CHECK_OK(cmgi_transfer_rows(ctx, rows, cols, block, falling_row, &cols, &P));
            CHECK(P.rows == rows * block && P.cols == cols * block);
            scoped double *D = dense_of(&P.view);
            double worst = 0;
            for (cmg_size i = 0; i < P.rows; ++i) {
                cmg_index column[CMGI_ROW_WIDTH];
                double weight[CMGI_ROW_WIDTH];
                const int count = falling_row(&cols, i / block, column, weight);
                CHECK(P.indptr[i + 1] - P.indptr[i] == (count > 0 ? count - 1 : 0));
                for (cmg_size k = P.indptr[i] + 1; k < P.indptr[i + 1]; ++k) {
                    CHECK(P.indices[k - 1] < P.indices[k]);
                }
                for (int k = 0; k < count; ++k) {
                    const cmg_size j = (cmg_size)column[k] * block + i % block;
                    worst = worst_of(worst, fabs(D[i * P.cols + j] - weight[k]));
                }
            }
            CHECK_NEAR(worst, 0, 0);
        }
    }
}

/* About three entries a row; column `skip` stays empty. */
static cmgi_csr random_csr(cmg_size rows, cmg_size cols, cmg_size skip, uint64_t *seed)
{
    cmgi_csr A = csr_new(rows, cols, rows * 3);
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size first = (cmg_size)(cmgi_random_bits(seed) % (uint64_t)cols);
        for (cmg_size e = 0; e < (cols < 3 ? cols : 3); ++e) {
            const cmg_size j = (first + e) % cols;
            if (j != skip) {
                csr_put(&A, i, j, 2 * cmgi_random(seed) - 1);
            }
        }
    }
    csr_end(&A);
    return A;
}

static void check_galerkin(cmg_size n, cmg_size m, bool own_r, bool unit, uint64_t seed)
{
    const cmg_size skip = unit ? m / 2 : -1;
    scoped_csr A = random_csr(n, n, -1, &seed);
    scoped_csr P = random_csr(n, m, skip, &seed);
    scoped_csr R = random_csr(m, n, -1, &seed);
    scoped_csr Ac = {0};
    CHECK_OK(cmgi_galerkin(ctx, own_r ? &R.view : NULL, &A.view, &P.view, unit, &Ac));
    CHECK(Ac.rows == m && Ac.cols == m);
    scoped double *dA = dense_of(&A.view);
    scoped double *dP = dense_of(&P.view);
    scoped double *dR = dense_of(&R.view);
    scoped double *dC = dense_of(&Ac.view);
    double worst = 0;
    EACH_PAIR (i, m, j, m) {
        double sum = unit && !own_r && i == skip && j == skip;
        EACH_PAIR (k, n, l, n) {
            sum += (own_r ? dR[i * n + k] : dP[k * m + i]) * dA[k * n + l] * dP[l * m + j];
        }
        worst = worst_of(worst, fabs(dC[i * m + j] - sum));
    }
    CHECK_NEAR(worst, 0, 1e-14 * (double)n);
}

TEST(galerkin_is_the_triple_product)
{
    const cmg_size n[] = {1, 2, 7, 31, 33};
    for (int k = 0; k < 5; ++k) {
        const cmg_size m = n[k] / 2 + 1;
        check_galerkin(n[k], m, false, false, 5 + (uint64_t)k);
        check_galerkin(n[k], m, true, false, 25 + (uint64_t)k);
        check_galerkin(n[k], m, false, true, 45 + (uint64_t)k);
    }
}

TEST(faults_leave_nothing)
{
    uint64_t seed = 3;
    scoped_csr A = random_csr(12, 12, -1, &seed);
    scoped_csr P = random_csr(12, 5, 2, &seed);
    for (failing f = {.most = 1000, .fewest = 5}; failing_next(&f);) {
        scoped_csr Ac = {0};
        failing_done(&f, cmgi_galerkin(ctx, NULL, &A.view, &P.view, true, &Ac));
    }
}
