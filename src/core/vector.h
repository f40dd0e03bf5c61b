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

/* An uninitialised vector. */
cmg_status cmgi_vector_create(cmg_context *ctx, cmg_size n, cmg_precision precision,
                              cmg_vector **x);
