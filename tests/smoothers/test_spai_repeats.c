/*
 * Least squares problems that several rows of SPAI pose are solved once. That must not show: what
 * a row gets depends on its own problem alone, bit for bit, wherever the row is and whatever else
 * the matrix holds. Matrices of independent blocks are compared with their blocks alone.
 */
#include "core/backend.h"
#include "smoothers/pattern.h"
#include "smoothers/spai.h"
#include "smoothers/spai_cuda.h"

#include "smoothers/factors.h"
#include "test.h"

static const char *const names[] = {
    "spai",
    "spai:tau=0",
    "spai:symmetric=no",
    "spai:tau=0:power=2:symmetric=no",
    "spai:tau=0:side=right:symmetric=no",
    "spai:tau=0:symmetric=no:scale=yes",
    "spai:tau=0:weight=count:symmetric=no",
};
enum { AUTOMATIC = 2, NAMES = sizeof names / sizeof names[0] }; /* the first judge all of A */

/* The given blocks along the diagonal. */
static cmgi_csr stack(const cmgi_csr *const *block, int blocks)
{
    cmg_size n = 0;
    cmg_size nnz = 0;
    for (int b = 0; b < blocks; ++b) {
        n += block[b]->rows;
        nnz += block[b]->indptr[block[b]->rows];
    }
    cmgi_csr A = csr_new(n, n, nnz);
    cmg_size first = 0;
    for (int b = 0; b < blocks; ++b) {
        EACH_ENTRY (block[b], i, k) {
            csr_put(&A, first + i, first + block[b]->indices[k], block[b]->values[k]);
        }
        first += block[b]->rows;
    }
    csr_end(&A);
    return A;
}

/* Rows of M from `first` on against those of `alone`: the same columns? */
static bool holds_pattern(const cmgi_csr *M, cmg_size first, const cmgi_csr *alone)
{
    const cmg_size begin = M->indptr[first];
    const cmg_size nnz = alone->indptr[alone->rows];
    bool same = M->indptr[first + alone->rows] - begin == nnz;
    for (cmg_size k = 0; same && k < nnz; ++k) {
        same = M->indices[begin + k] - first == alone->indices[k];
    }
    return same;
}

/* The same bits? */
static bool holds(const cmgi_csr *M, cmg_size first, const cmgi_csr *alone)
{
    const size_t bytes = (size_t)alone->indptr[alone->rows] * sizeof *alone->values;
    return holds_pattern(M, first, alone) &&
           memcmp(M->values + M->indptr[first], alone->values, bytes) == 0;
}

/* SPAI of the stacked blocks has the SPAI of each block, bit for bit. */
static void blocks_are_independent(const cmgi_csr *const *block, int blocks, const char *name)
{
    scoped_csr A = stack(block, blocks);
    scoped_factors *whole = factors_make(&A, name);
    cmg_size first = 0;
    for (int b = 0; b < blocks; ++b) {
        scoped_factors *alone = factors_make(block[b], name);
        const bool same = holds(&whole->factor[0], first, &alone->factor[0]);
        CHECK_SAY(same, "block %d, %s", b, name);
        first += block[b]->rows;
    }
}

/* The host's least squares for the same, one row after the other. */
static void agrees_with_host(const cmgi_csr *const *block, int blocks, double tau)
{
    scoped_csr A = stack(block, blocks);
    scoped_csr expected = {0};
    const char *name = sprint("spai:tau=%g:symmetric=no:scale=no", tau);
    scoped_factors *made = factors_make(&A, name);
    const cmgi_csr *M = &made->factor[0];
    CHECK_OK(cmgi_pattern(ctx, &A.view, tau, 1, &expected));
    CHECK_OK(cmgi_spai_static(ctx, &A.view, false, &expected));
    CHECK(holds_pattern(M, 0, &expected));
    CHECK_NEAR(largest_difference(M->values, expected.values, expected.indptr[A.rows]), 0, 1e-12);
}

/* A grid of trilinear elements, 5 x 5 x 5 nodes, its rows all different from each other or many of
 * them the same. */
static cmgi_csr grid(bool rescaled)
{
    enum { M = 5 };
    scoped double *dense = model_q1(M, 3, 1.5);
    if (rescaled) {
        model_rescale((cmg_size)M * M * M, dense);
    }
    return csr_of_dense((cmg_size)M * M * M, dense);
}

TEST(copies_get_the_same)
{
    scoped_csr regular = grid(false);
    scoped_csr irregular = grid(true);
    const cmgi_csr *const block[] = {&irregular, &regular, &irregular, &regular, &irregular};
    for (int v = 0; v < NAMES; ++v) {
        blocks_are_independent(block, 5, names[v]);
    }
}

/* Blocks that differ from the first in a single detail: the last bit of a value, two values
 * exchanged, the sign of a zero, an entry in the next column. */
TEST(near_misses_get_their_own)
{
    enum { DETAILS = 4, ROW = 62 };
    scoped_csr plain = grid(false);
    cmgi_csr changed[DETAILS];
    const cmgi_csr *block[2 * DETAILS + 2];
    for (int d = 0; d < DETAILS; ++d) {
        changed[d] = grid(false);
        double *value = changed[d].values + changed[d].indptr[ROW];
        cmg_index *column = changed[d].indices + changed[d].indptr[ROW];
        const cmg_size last = changed[d].indptr[ROW + 1] - changed[d].indptr[ROW] - 1;
        switch (d) {
        case 0:
            value[2] = nextafter(value[2], INFINITY);
            break;
        case 1: {
            const double first = value[0];
            value[0] = value[1];
            value[1] = first;
            break;
        }
        case 2:
            value[last] = -0.0;
            break;
        default:
            ++column[last];
        }
        block[2 * d] = &plain;
        block[2 * d + 1] = &changed[d];
    }
    block[2 * DETAILS] = &plain;
    block[2 * DETAILS + 1] = &plain;
    for (int v = AUTOMATIC; v < NAMES; ++v) {
        blocks_are_independent(block, 2 * DETAILS + 2, names[v]);
    }
    agrees_with_host(block, 2 * DETAILS + 2, 0);
    agrees_with_host(block, 2 * DETAILS + 2, 0.04);
    scoped_factors *before = factors_make(&plain, "spai:tau=0:symmetric=no");
    for (int d = 0; d < DETAILS; ++d) {
        scoped_factors *after = factors_make(&changed[d], "spai:tau=0:symmetric=no");
        CHECK(!holds(&after->factor[0], 0, &before->factor[0]));
        cmgi_csr_free(ctx, &changed[d]);
    }
}

/* A matrix with so many different rows that a device looks nothing up, and copies of it, of which
 * it looks up every row. */
TEST(looking_up_changes_no_bit)
{
    enum { COPIES = 13 }; /* 3600 rows differ: more than 1024 and a 16th of one, fewer of 13 */
    scoped_csr A = model_five_point(60);
    const cmgi_csr *block[COPIES];
    FILL(block, k, COPIES, &A);
    blocks_are_independent(block, COPIES, "spai");
    blocks_are_independent(block, COPIES, "spai:tau=0:weight=count:symmetric=no");
    agrees_with_host(block, COPIES, 0.3);
}

/* Rows of one entry, identity rows whose columns other rows have, a matrix of one row. */
TEST(short_rows)
{
    enum { N = 96 };
    scoped double *dense = calloc((size_t)N * N, sizeof *dense);
    for (int i = 0; i < N; ++i) {
        for (int j = i - 2; j <= i + 2 && j < N && i % 12 > 3; ++j) {
            dense[i * N + j] = -1.0 / (1 + abs(i - j));
        }
        dense[i * N + i] = i % 12 == 1 ? 2 : i % 12 < 3 ? 1 : 4;
    }
    scoped_csr A = csr_of_dense(N, dense);
    scoped_csr one = csr_diagonal(1, 3);
    const cmgi_csr *const block[] = {&one, &A, &one, &one, &A, &one};
    for (int v = 0; v < NAMES; ++v) {
        blocks_are_independent(block, 6, names[v]);
    }
}

/* Empty rows in the matrix and in the pattern: both backends' least squares, without the steps
 * around them. */
TEST(empty_rows)
{
    enum { N = 130 };
    static cmg_status (*const on_device)(cmg_context *, const cmg_csr *, bool, cmgi_csr *, bool *) =
        CMGI_CUDA_FN(cmgi_spai_static_cuda);
    scoped double *dense = calloc((size_t)N * N, sizeof *dense);
    for (int i = 0; i < N; ++i) {
        for (int j = i - 1; j <= i + 2; ++j) {
            dense[i * N + (j + N) % N] = i % 5 == 3 ? 0 : i == j ? 4 : 1.0 / (3 + j - i);
        }
    }
    scoped_csr A = csr_of_dense(N, dense);
    for (int transposed = 0; transposed <= 1; ++transposed) {
        scoped_csr expected = {0};
        scoped_csr S = {0};
        bool made = false;
        if (transposed == 0) {
            CHECK_OK(cmgi_csr_copy(ctx, &A.view, &S));
        } else { /* names empty rows of A */
            CHECK_OK(cmgi_csr_transpose(ctx, &A.view, &S));
        }
        CHECK_OK(cmgi_csr_copy(ctx, &S.view, &expected));
        CHECK_OK(cmgi_spai_static(ctx, &A.view, false, &expected));
        if (cmgi_on_cuda(ctx) && on_device != NULL) {
            CHECK_OK(on_device(ctx, &A.view, false, &S, &made));
            CHECK(made);
        }
        for (cmg_size k = 0; made && k < S.indptr[N]; ++k) {
            CHECK_NEAR(S.values[k], expected.values[k], 1e-13);
        }
    }
}
