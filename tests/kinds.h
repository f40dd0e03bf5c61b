/* Matrices of few kinds of rows that are no grids, and the CSR that they stand for by plain loops.
 */
#pragma once
#include "arrays.h"
#include "core/random.h"

enum { TEST_KINDS = 6, TEST_REACH = 5, TEST_KIND_ENTRIES = 7 };

typedef struct test_kinds {
    cmg_templates t;
    cmg_size indptr[TEST_KINDS + 1];
    cmg_index offset[TEST_KINDS * TEST_KIND_ENTRIES];
    double value[TEST_KINDS * TEST_KIND_ENTRIES];
    void *ids;
    cmg_index *references;
} test_kinds;

/* A whole number in low .. high. */
static inline cmg_size random_in(uint64_t *state, cmg_size low, cmg_size high)
{
    const cmg_size at = low + (cmg_size)(cmgi_random(state) * (double)(high - low + 1));
    return at > high ? high : at;
}

/* The kind of row i. */
static inline cmg_index kind_of_row(const cmg_templates *t, cmg_size i)
{
    return t->id_bits == 8    ? ((const uint8_t *)t->ids)[i]
           : t->id_bits == 16 ? ((const uint16_t *)t->ids)[i]
                              : ((const cmg_index *)t->ids)[i];
}

static inline void set_kind(test_kinds *k, cmg_size i, cmg_size kind)
{
    switch (k->t.id_bits) {
    case 8:
        ((uint8_t *)k->ids)[i] = (uint8_t)kind;
        return;
    case 16:
        ((uint16_t *)k->ids)[i] = (uint16_t)kind;
        return;
    default:
        ((cmg_index *)k->ids)[i] = (cmg_index)kind;
    }
}

/*
 * Offsets -REACH .. REACH in any order, each at most once; of a square matrix the diagonal is among
 * them, and rules. Kind 0 has offset 0 alone, of kinds 1 and 2 the other one is 1 and -1; the last
 * kind has no rows.
 */
static inline void draw_kind(test_kinds *k, int kind, bool square, uint64_t *state)
{
    bool taken[2 * TEST_REACH + 1] = {false};
    const cmg_size length = kind == 0 ? 1 : kind < 3 ? 2 : random_in(state, 2, TEST_KIND_ENTRIES);
    cmg_size e = k->indptr[kind];
    double sum = 0;
    for (cmg_size n = 0; n < length; ++n) {
        cmg_size at = n == 0     ? TEST_REACH
                      : kind < 3 ? TEST_REACH + (kind == 1 ? 1 : -1)
                                 : random_in(state, 0, 2 * TEST_REACH);
        while (taken[at]) {
            at = (at + 1) % (2 * TEST_REACH + 1);
        }
        taken[at] = true;
        k->offset[e] = (cmg_index)(at - TEST_REACH);
        k->value[e] = 2 * cmgi_random(state) - 1;
        sum += fabs(k->value[e++]);
    }
    k->value[k->indptr[kind]] += square ? 2 * sum : 0;
    k->indptr[kind + 1] = e;
}

/* Rows of random kinds; those of a square matrix near its ends have one neighbour. */
static inline void draw_kinds(cmg_size rows, cmg_size cols, bool square, int id_bits, uint64_t seed,
                              test_kinds *k)
{
    uint64_t state = seed;
    memset(k, 0, sizeof *k);
    for (int kind = 0; kind < TEST_KINDS; ++kind) {
        draw_kind(k, kind, square, &state);
    }
    k->ids = calloc((size_t)rows + 1, 4);
    k->references = square ? NULL : calloc((size_t)rows + 1, sizeof *k->references);
    k->t = (cmg_templates){.rows = rows,
                           .cols = cols,
                           .kinds = TEST_KINDS,
                           .indptr = k->indptr,
                           .offsets = k->offset,
                           .values = k->value,
                           .ids = k->ids,
                           .id_bits = id_bits,
                           .references = k->references};
    for (cmg_size i = 0; i < rows; ++i) {
        const bool inner =
            cols > 2 * TEST_REACH && (!square || (i >= TEST_REACH && i < rows - TEST_REACH));
        const cmg_size end = !square || rows == 1 ? 0 : i == rows - 1 || i > TEST_REACH ? 2 : 1;
        set_kind(k, i, inner ? random_in(&state, square ? 1 : 0, TEST_KINDS - 2) : end);
        if (!square) {
            k->references[i] =
                (cmg_index)(inner ? random_in(&state, TEST_REACH, cols - 1 - TEST_REACH)
                                  : random_in(&state, 0, cols - 1));
        }
    }
}

static inline void free_kinds(test_kinds *k)
{
    free_all(k->ids, k->references);
}

/* The CSR of templates with ids. */
static inline cmgi_csr csr_of_kinds(const cmg_templates *t)
{
    cmgi_csr A = {0};
    cmg_size nnz = 0;
    for (cmg_size i = 0; i < t->rows; ++i) {
        nnz += t->indptr[kind_of_row(t, i) + 1] - t->indptr[kind_of_row(t, i)];
    }
    CHECK_OK(cmgi_csr_alloc(ctx, t->rows, t->cols, nnz, &A));
    cmg_size at = 0;
    for (cmg_size i = 0; i < t->rows; ++i) {
        const cmg_index kind = kind_of_row(t, i);
        A.indptr[i] = at;
        for (cmg_size e = t->indptr[kind]; e < t->indptr[kind + 1]; ++e) {
            A.indices[at] =
                (cmg_index)(t->offsets[e] + (t->references != NULL ? t->references[i] : i));
            A.values[at++] = t->values[e];
        }
    }
    A.indptr[t->rows] = at;
    return A;
}
