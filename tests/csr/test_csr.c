/* CSR on the host against dense arithmetic: transpose, sort, renumber, multiply. */
#include "core/hash.h"
#include "core/search.h"
#include "csr/facts.h"
#include "csr/resident.h"
#include "csr/statistics.h"
#include "spmv/suite.h"

static bool rows_ascend(const cmgi_csr *A)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i] + 1; k < A->indptr[i + 1]; ++k) {
            if (A->indices[k] <= A->indices[k - 1]) {
                return false;
            }
        }
    }
    return true;
}

TEST(transpose_swaps_indices)
{
    for (int s = 0; s < SUITE - 1; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        scoped_csr T = {0};
        CHECK_OK(cmgi_csr_transpose(ctx, &A.view, &T));
        scoped double *a = dense_of(&A.view);
        scoped double *t = dense_of(&T.view);
        double worst = 0;
        EACH_PAIR (i, A.rows, j, A.cols) {
            worst = worst_of(worst, fabs(a[i * A.cols + j] - t[j * A.rows + i]));
        }
        CHECK(worst == 0);
        CHECK(rows_ascend(&T));
    }
}

TEST(sort_keeps_the_matrix)
{
    for (int s = 0; s < SUITE - 1; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        scoped double *before = dense_of(&A.view);
        CHECK_OK(cmgi_csr_sort(ctx, &A));
        scoped double *after = dense_of(&A.view);
        CHECK(rows_ascend(&A));
        CHECK(memcmp(before, after, (size_t)(A.rows * A.cols) * sizeof *after) == 0);
    }
}

TEST(permute_renumbers_rows_and_columns)
{
    scoped_csr A = suite_make(&suite[12]);
    const cmg_size n = A.rows;
    scoped cmg_index *perm = malloc((size_t)n * sizeof *perm);
    for (cmg_size k = 0; k < n; ++k) {
        perm[k] = (cmg_index)((k * 5 + 3) % n); /* n = 257 is prime */
    }
    scoped_csr B = {0};
    CHECK_OK(cmgi_csr_permute(ctx, &A.view, perm, perm, true, &B));
    scoped double *a = dense_of(&A.view);
    scoped double *b = dense_of(&B.view);
    bool equal = true;
    EACH_PAIR (i, n, j, n) {
        equal = equal && b[i * n + j] == a[(cmg_size)perm[i] * n + perm[j]];
    }
    CHECK(equal);
    CHECK(rows_ascend(&B));
}

TEST(product_matches_dense)
{
    scoped_csr A = suite_make(&suite[14]); /* 65 x 700 */
    scoped_csr B = suite_make(&suite[15]); /* 700 x 65 */
    scoped_csr C = {0};
    CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &B.view, &C));
    scoped double *a = dense_of(&A.view);
    scoped double *b = dense_of(&B.view);
    scoped double *c = dense_of(&C.view);
    double worst = 0;
    EACH_PAIR (i, 65, j, 65) {
        double sum = 0;
        for (cmg_size k = 0; k < 700; ++k) {
            sum += a[i * 700 + k] * b[k * 65 + j];
        }
        worst = worst_of(worst, fabs(sum - c[i * 65 + j]));
    }
    CHECK_NEAR(worst, 0, 1e-13);
    CHECK(rows_ascend(&C));
    cmgi_csr D = {0};
    CHECK_STATUS(cmgi_csr_multiply(ctx, &A.view, &A.view, &D), CMG_ERR_SHAPE);
}

/* Each list of columns is that of `repeat` rows; some have none. */
static cmgi_csr repeating(cmg_size rows, cmg_size cols, int repeat, uint64_t seed)
{
    cmgi_csr A = csr_new(rows, cols, rows * cols);
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size list = i / repeat;
        for (cmg_size j = 0; j < cols && list % 7 != 3; ++j) {
            if (cmgi_random_at(seed, (uint64_t)(list * cols + j)) < (list % 5 == 0 ? -0.9 : 0)) {
                csr_put(&A, i, j, cmgi_random_at(seed + 1, (uint64_t)(i * cols + j)));
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Sums over the rows of A in their order, dense. */
static double *sums(const cmgi_csr *A, const cmgi_csr *B)
{
    double *sum = calloc((size_t)(A->rows * B->cols), sizeof *sum);
    EACH_ENTRY (A, i, k) {
        const cmg_index r = A->indices[k];
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            sum[i * B->cols + B->indices[e]] += A->values[k] * B->values[e];
        }
    }
    return sum;
}

/* To the bit, by few and by many threads, small products and those that are formed in two passes.
 */
TEST(products_are_sums_in_order)
{
    static const int repeats[] = {1, 3, 6};
    const int threads = ctx->threads;
    for (int c = 0; c < 12; ++c) {
        const bool large = c >= 9;
        scoped_csr A = repeating(large ? 300 : 61, large ? 700 : 65, repeats[c % 3], 3);
        scoped_csr B = repeating(A.cols, 129, repeats[c % 3], 5);
        scoped_csr C = {0};
        const size_t bytes = (size_t)(A.rows * B.cols) * sizeof(double);
        ctx->threads = large ? 3 : 1 + c / 3;
        CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &B.view, &C));
        scoped double *wanted = sums(&A, &B);
        scoped double *found = dense_of(&C.view);
        CHECK(rows_ascend(&C) && memcmp(wanted, found, bytes) == 0);
        memset(C.values, 0, (size_t)C.indptr[C.rows] * sizeof *C.values);
        CHECK_OK(cmgi_csr_multiply_values(ctx, &A.view, &B.view, &C));
        scoped double *again = dense_of(&C.view);
        CHECK(memcmp(wanted, again, bytes) == 0);
    }
    ctx->threads = threads;
}

TEST(broken_structure_is_named)
{
    const cmg_size falling[] = {0, 2, 1};
    const cmg_size offset[] = {1, 2, 2};
    const cmg_size far[] = {0, INT64_MIN + 10, 2}; /* lengths overflow */
    const cmg_size fine[] = {0, 1, 2};
    const cmg_index indices[] = {0, 1};
    const cmg_index negative[] = {0, -1};
    const double values[] = {1, 2};
    cmg_csr A = {2, 2, falling, indices, values};
    CHECK_STATUS(cmgi_csr_check(ctx, "A", &A), CMG_ERR_SHAPE);
    A.indptr = offset;
    CHECK_STATUS(cmgi_csr_check(ctx, "A", &A), CMG_ERR_SHAPE);
    A.indptr = far;
    CHECK_REFUSED(cmgi_csr_check(ctx, "A", &A), CMG_ERR_SHAPE, "row 0");
    A.indptr = fine;
    CHECK_OK(cmgi_csr_check(ctx, "A", &A));
    A.indices = negative;
    CHECK_REFUSED(cmgi_csr_check(ctx, "A", &A), CMG_ERR_SHAPE, "row 1");
    A.indices = indices;
    A.rows = -1;
    CHECK_STATUS(cmgi_csr_check(ctx, "A", &A), CMG_ERR_SHAPE);
}

static void check_statistics(const cmg_csr *A, const cmgi_row_statistics *s)
{
    cmg_size counted = 0;
    CHECK(s->rows == A->rows && s->cols == A->cols && s->nnz == A->indptr[A->rows]);
    CHECK(s->longest == cmgi_csr_longest_row(A));
    CHECK(s->filled == s->rows - s->count[0]);
    for (cmg_size length = 0; length <= s->longest; ++length) {
        counted += s->count[length];
        for (cmg_size i = 0; i < A->rows && s->count[length] == 0; ++i) {
            CHECK(A->indptr[i + 1] - A->indptr[i] != length);
        }
    }
    CHECK(counted == A->rows);
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        const cmg_size lanes = (cmg_size)4 << k;
        cmg_size sliced = 0;
        CHECK(cmgi_slice_size((int)lanes) == k);
        for (cmg_size r = 0; r < A->rows; r += lanes) {
            cmg_size most = 0;
            for (cmg_size i = r; i < r + lanes && i < A->rows; ++i) {
                const cmg_size length = A->indptr[i + 1] - A->indptr[i];
                most = length > most ? length : most;
            }
            sliced += most * lanes;
        }
        CHECK(s->sliced[k] == sliced);
    }
}

/* Statistics of rows and columns by plain counting, for every shape of the suite. */
TEST(statistics_are_those_of_the_rows)
{
    for (int k = 0; k < SUITE; ++k) {
        scoped_csr A = suite_make(&suite[k]);
        scoped_csr T = {0};
        cmgi_row_statistics s;
        CHECK_OK(cmgi_row_statistics_take(ctx, &A.view, &s));
        check_statistics(&A.view, &s);
        cmgi_row_statistics_free(ctx, &s);
        CHECK_OK(cmgi_csr_transpose(ctx, &A.view, &T));
        CHECK_OK(cmgi_column_statistics_take(ctx, &A.view, &s));
        check_statistics(&T.view, &s);
        cmgi_row_statistics_free(ctx, &s);
    }
}

/* Rows of a line that repeat for a while; every 1000th is one of the identity, others are strong
 * along the line or have but two entries. */
static cmgi_csr line_of_kinds(cmg_size n)
{
    cmgi_csr A = csr_new(n, n, 4 * n);
    for (cmg_size i = 0; i < n; ++i) {
        const bool identity = i % 1000 == 17;
        const double side = i / 300 % 3 == 0 ? 0.5 : i / 300 % 3 == 1 ? 0.42 : 0.3;
        for (cmg_size j = i > 0 ? i - 1 : 0; j <= i + 2 && j < n; ++j) {
            csr_put(&A, i, j, j == i ? -2 : identity ? 0 : j == i + 2 ? 0.01 : 2 * side);
        }
    }
    csr_end(&A);
    return A;
}

/* What is kept of every row, against plain loops; facts are the same. */
static void check_looks(const cmgi_csr *A, cmg_size first, const cmgi_csr_facts *facts)
{
    cmgi_csr_facts found = {.looks.wanted = true};
    CHECK_OK(cmgi_csr_facts_take(ctx, &A->view, first, A->rows, &found));
    CHECK(found.rows.lines == facts->rows.lines && found.rows.gershgorin == facts->rows.gershgorin);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        bool columns = i > 0 && length == A->indptr[i] - A->indptr[i - 1];
        bool values = columns;
        double diagonal = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            diagonal += A->indices[k] == i ? A->values[k] : 0;
            columns = columns && A->indices[k] == A->indices[k - length] + 1;
            values = values && A->values[k] == A->values[k - length];
        }
        CHECK(found.looks.same[i] == (columns ? values ? CMGI_SAME_ROWS : CMGI_SAME_COLUMNS : 0));
        CHECK(found.looks.diagonal[i] == diagonal);
    }
    cmgi_csr_facts_forget(ctx, &found);
    CHECK(found.looks.same == NULL && found.known);
}

TEST(facts_are_those_of_every_row)
{
    const cmg_size sizes[] = {1, 3, 4000, 9001};
    for (int s = 0; s < 4; ++s) {
        const cmg_size n = sizes[s];
        scoped_csr A = line_of_kinds(n);
        const cmg_size first = n / 4;
        cmgi_csr_facts found = {0};
        cmgi_csr_facts wanted = {0};
        for (cmg_size i = 0; i < n; ++i) {
            double other[2] = {0, 0};
            double sum = 0;
            for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
                const double a = A.indices[k] == i ? 0 : fabs(A.values[k]);
                sum += fabs(A.values[k]);
                other[1] = worst_of(other[1], fmin(a, other[0]));
                other[0] = worst_of(other[0], a);
            }
            const double two = other[0] + other[1];
            wanted.rows.gershgorin = worst_of(wanted.rows.gershgorin, sum / 2);
            wanted.rows.identity += i >= first && other[0] == 0;
            wanted.dominated += i >= first && sum <= (1 + CMGI_DOMINATED) * 2;
            wanted.rows.lines += i >= first && two > CMGI_LINE * 2;
            wanted.strong_lines += i >= first && two > CMGI_STRONG_LINE * 2 &&
                                   A.indptr[i + 1] - A.indptr[i] >= CMGI_STRONG_ENTRIES;
        }
        CHECK_OK(cmgi_csr_facts_take(ctx, &A.view, first, n, &found));
        CHECK(found.known && found.bad == -1);
        CHECK(found.rows.identity == wanted.rows.identity && found.rows.lines == wanted.rows.lines);
        CHECK(found.strong_lines == wanted.strong_lines && found.dominated == wanted.dominated);
        CHECK_NEAR(found.rows.gershgorin, wanted.rows.gershgorin, 1e-14);
        CHECK(found.rows.most == 2 && found.rows.least == 2 && found.looks.diagonal == NULL);
        check_looks(&A, first, &found);
        A.values[A.indptr[n / 2] + (n / 2 > 0)] = 0; /* the diagonal */
        CHECK_OK(cmgi_csr_facts_take(ctx, &A.view, first, n, &found));
        CHECK(found.bad == n / 2);
        A.values[A.indptr[n / 3]] = NAN;
        CHECK_OK(cmgi_csr_facts_take(ctx, &A.view, first, n, &found));
        CHECK(found.bad == n / 3);
    }
}

TEST(searches_find_the_first_place)
{
    static const cmg_index list[] = {-3, 0, 0, 4, 9};
    static const cmg_size offsets[] = {0, 0, 2, 2, 7};
    for (cmg_index wanted = -5; wanted < 12; ++wanted) {
        cmg_size place = 0;
        cmg_size offset = 1;
        while (place < 5 && list[place] < wanted) {
            ++place;
        }
        while (offset < 4 && offsets[offset] < wanted) {
            ++offset;
        }
        CHECK(cmgi_search_index(list, 0, 5, wanted) == place);
        CHECK(cmgi_search_size(offsets, 1, 4, wanted) == offset);
        CHECK(cmgi_find_index(list, 0, 5, wanted) ==
              (place < 5 && list[place] == wanted ? place : -1));
    }
    CHECK(cmgi_search_index(list, 3, 3, 0) == 3);
    CHECK(cmgi_hash_mix(cmgi_hash_mix(0, 1), 2) != cmgi_hash_mix(cmgi_hash_mix(0, 2), 1));
}
