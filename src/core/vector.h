/*
 * Vectors: length, precision and an array in the backend's memory. Of k columns entry i of column c
 * is data[i k + c]: what a product reads of x in a row of the matrix then lies side by side.
 */
#pragma once
#include "core/backend.h"

struct cmg_vector {
    cmg_context *ctx;
    cmg_size n;
    int columns;
    cmg_precision precision;
    bool owned; /* data was allocated here */
    void *data; /* n x columns values in the backend's memory */
};

/* Values of all columns. */
static inline cmg_size cmgi_vector_count(const cmg_vector *x)
{
    return x->n * x->columns;
}

/* Some entry of one is some entry of the other. */
static inline bool cmgi_vectors_overlap(const cmg_vector *a, const cmg_vector *b)
{
    const size_t as = (size_t)cmgi_vector_count(a) * cmgi_precision_bytes(a->precision);
    const size_t bs = (size_t)cmgi_vector_count(b) * cmgi_precision_bytes(b->precision);
    const uintptr_t at = (uintptr_t)a->data;
    const uintptr_t bt = (uintptr_t)b->data;
    return as > 0 && bs > 0 && at < bt + bs && bt < at + as;
}

/* n numbers at x in the backend's memory: x[k] = cmgi_random_at(seed, first + perm[k]); made there
 * where perm is NULL, the identity. */
cmg_status cmgi_draw_numbered(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed,
                              cmg_size first, const cmg_index *perm, void *x);
