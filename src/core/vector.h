/* Vectors: length, precision and an array in the backend's memory. */
#pragma once
#include "core/context.h"

struct cmg_vector {
    cmg_context *ctx;
    cmg_size n;
    cmg_precision precision;
    bool owned; /* data was allocated here */
    void *data; /* n values in the backend's memory */
};

/* Some entry of one is some entry of the other. */
static inline bool cmgi_vectors_overlap(const cmg_vector *a, const cmg_vector *b)
{
    const size_t as = (size_t)a->n * (a->precision == CMG_FP64 ? sizeof(double) : sizeof(float));
    const size_t bs = (size_t)b->n * (b->precision == CMG_FP64 ? sizeof(double) : sizeof(float));
    const uintptr_t at = (uintptr_t)a->data;
    const uintptr_t bt = (uintptr_t)b->data;
    return as > 0 && bs > 0 && at < bt + bs && bt < at + as;
}

/* An uninitialised vector. */
cmg_status cmgi_vector_create(cmg_context *ctx, cmg_size n, cmg_precision precision,
                              cmg_vector **x);
