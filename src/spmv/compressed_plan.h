/* The plan of a packed slice, shared by the search (compressed_plan.c) and the build
 * (compressed.c). */
#pragma once
#include "spmv/compressed.h"

enum { CMGI_PATTERN = 160 }; /* most offsets of a slice's pattern */

/* How one packed slice will be stored. */
typedef struct cmgi_slice_plan {
    int width;
    int bytes; /* of a code; 0 = pattern */
    cmg_index offset[CMGI_PATTERN];
} cmgi_slice_plan;

/* A conversion under way. */
typedef struct cmgi_compressor {
    cmg_matrix *A;
    const cmg_csr *csr;
    cmgi_compressed *C;
    bool split_diagonal; /* kept apart */
} cmgi_compressor;

static inline cmg_index cmgi_reference(const cmgi_compressed *C, cmg_size i)
{
    return C->ref != NULL ? C->ref[i] : (cmg_index)i;
}

static inline cmg_size cmgi_slice_end(const cmgi_compressor *B, cmg_size slice)
{
    const cmg_size end = (slice + 1) * CMGI_SLICE;
    return end < B->csr->rows ? end : B->csr->rows;
}

/* True for entries that go into the slices: all but a diagonal that is kept apart. */
static inline bool cmgi_packs(const cmgi_compressor *B, cmg_size i, cmg_size k)
{
    return !B->split_diagonal || B->csr->indices[k] != i;
}

/*
 * Plans a slice; `base` gets the bases of its columns and has room for the longest row of the
 * matrix and for CMGI_PATTERN entries.
 */
void cmgi_plan_slice(const cmgi_compressor *B, cmg_size slice, cmgi_slice_plan *plan,
                     cmg_index *base);
/* Position of an offset in the pattern, from a guess on; the pattern has it. */
int cmgi_pattern_find(const cmgi_slice_plan *plan, cmg_index offset, int guess);
