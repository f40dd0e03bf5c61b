/* Blocks of a matrix: found where they are, of the size that they have, by numbers or by fill. */
#include "csr/by_rows.h"
#include "spmv/blocks.h"
#include "test.h"

/*
 * Every node of a ring is coupled with the next `reach`: rows of `size` unknowns a node. Entry
 * (a, b) of a block is stored where `filled` says so, and is one number in all of it or not.
 */
static cmgi_csr ring(cmg_size nodes, int reach, int size, const bool *filled, bool identity)
{
    cmgi_csr A = csr_new(nodes * size, nodes * size, nodes * reach * size * size);
    EACH_PAIR (i, nodes * size, node, nodes) {
        const cmg_size apart = (node - i / size + nodes) % nodes;
        uint64_t seed = (uint64_t)(i / size * nodes + node + 1);
        const double number = 1 + cmgi_random(&seed);
        for (int b = 0; b < size && apart < reach; ++b) {
            const int a = (int)(i % size);
            if (filled[a * size + b]) {
                csr_put(&A, i, (node * size + b), identity ? number : number + a * size + b);
            }
        }
    }
    csr_end(&A);
    return A;
}

static cmgi_blocks found_in(const cmgi_csr *A, bool numbers)
{
    cmgi_blocks found = {0, false};
    CHECK_OK(cmgi_blocks_find(ctx, &A->view, 0, numbers, &found));
    return found;
}

TEST(numbers_are_found)
{
    static const bool diagonal[2][9] = {
        {true, false, false, true}, {true, false, false, false, true, false, false, false, true}};
    for (int size = 2; size <= CMGI_BLOCK_MOST; ++size) {
        for (int reach = 1; reach <= 5; ++reach) {
            scoped_csr A = ring(30, reach, size, diagonal[size - 2], true);
            cmgi_blocks found = found_in(&A, true);
            CHECK(found.size == size && found.identity);
            CHECK(found_in(&A, false).size == 1);
            const cmg_size last = A.indptr[A.rows] - 1; /* of the last row of a node */
            A.values[last] *= 2;
            found = found_in(&A, true);
            CHECK(found.size == 1 && !found.identity);
        }
    }
}

/* Other columns, or other lengths, than the first row of a block are no numbers. */
TEST(other_patterns_are_no_numbers)
{
    static const bool turned[4] = {false, true, true, false};
    static const bool triangle[4] = {true, false, true, true};
    scoped_csr A = ring(30, 3, 2, turned, true);
    CHECK(!found_in(&A, true).identity);
    cmgi_csr_free(ctx, &A);
    A = ring(30, 3, 2, triangle, true);
    CHECK(!found_in(&A, true).identity && found_in(&A, true).size == 2); /* three quarters full */
}

/* Three quarters of the entries are enough, two thirds are not. */
TEST(full_blocks_are_found)
{
    for (int size = 2; size <= CMGI_BLOCK_MOST; ++size) {
        for (int missing = 0; missing < 4; ++missing) {
            bool filled[9];
            FILL(filled, e, size * size, e == 0 || e > missing);
            scoped_csr A = ring(25, 4, size, filled, false);
            const bool full = 4 * (size * size - missing) >= 3 * size * size;
            CHECK(found_in(&A, true).size == (full ? size : 1) && !found_in(&A, true).identity);
        }
    }
}

TEST(wanted_blocks_are_taken)
{
    static const bool filled[4] = {true, false, false, true};
    scoped_csr A = ring(9, 2, 2, filled, true); /* 18 rows */
    cmgi_blocks found = {0, false};
    CHECK_OK(cmgi_blocks_find(ctx, &A.view, 2, true, &found));
    CHECK(found.size == 2 && found.identity);
    CHECK_OK(cmgi_blocks_find(ctx, &A.view, 2, false, &found));
    CHECK(found.size == 2 && !found.identity);
    CHECK_OK(cmgi_blocks_find(ctx, &A.view, 3, true, &found));
    CHECK(found.size == 3 && !found.identity);
    CHECK_OK(cmgi_blocks_find(ctx, &A.view, 1, true, &found));
    CHECK(found.size == 1 && !found.identity);
    CHECK_STATUS(cmgi_blocks_find(ctx, &A.view, 4, true, &found), CMG_ERR_SHAPE);
}

/* The pattern of the blocks is that of the ring, columns ascending. */
TEST(patterns_are_of_blocks)
{
    static const bool filled[9] = {true, false, false, false, false, true, false, true, false};
    scoped_csr A = ring(12, 4, 3, filled, false), pattern = {0};
    CHECK_OK(cmgi_csr_block_columns(ctx, &A.view, NULL, 3, &pattern));
    CHECK(pattern.rows == 12 && pattern.cols == 12 && pattern.indptr[12] == 48);
    for (cmg_size i = 0; i < 12; ++i) {
        CHECK(pattern.indptr[i] == 4 * i);
        for (cmg_size k = 4 * i; k < 4 * i + 4; ++k) {
            CHECK((pattern.indices[k] - i + 12) % 12 < 4);
            CHECK(k == 4 * i || pattern.indices[k] > pattern.indices[k - 1]);
        }
    }
}
