/* Arrays in the backend's memory: copied to it, and compared bit by bit. */
#pragma once
#include "test.h"

static inline void *copy_there(const void *host, cmg_size count, size_t size)
{
    void *d = device_new(count, size);
    CHECK_OK(cmgi_to_device(ctx, d, host, (size_t)count * size));
    return d;
}

/* Both in it; two that are NULL are equal. */
static inline void check_arrays(const void *a, const void *b, cmg_size count, size_t size)
{
    const size_t bytes = (size_t)count * size;
    if (a == NULL || b == NULL) {
        CHECK(a == b);
        return;
    }
    scoped char *ha = malloc(bytes + 1);
    scoped char *hb = malloc(bytes + 1);
    CHECK_OK(cmgi_to_host(ctx, ha, a, bytes));
    CHECK_OK(cmgi_to_host(ctx, hb, b, bytes));
    CHECK(memcmp(ha, hb, bytes) == 0);
}

/* Entries, columns and values are equal, in order. */
static inline bool same_csr(const cmg_csr *A, const cmg_csr *B)
{
    const size_t rows = (size_t)A->rows + 1;
    const size_t nnz = (size_t)A->indptr[A->rows];
    return A->rows == B->rows && A->cols == B->cols &&
           memcmp(A->indptr, B->indptr, rows * sizeof *A->indptr) == 0 &&
           memcmp(A->indices, B->indices, nnz * sizeof *A->indices) == 0 &&
           memcmp(A->values, B->values, nnz * sizeof *A->values) == 0;
}

/* A matrix whose arrays are copied to the backend's memory. */
static inline cmg_csr csr_there(const cmg_csr *A)
{
    const cmg_size nnz = A->indptr[A->rows];
    return (cmg_csr){A->rows, A->cols, copy_there(A->indptr, A->rows + 1, sizeof *A->indptr),
                     copy_there(A->indices, nnz, sizeof *A->indices),
                     copy_there(A->values, nnz, sizeof *A->values)};
}

static inline void free_there(cmg_csr *A)
{
    cmgi_free_device(ctx, (void *)(uintptr_t)A->indptr);
    cmgi_free_device(ctx, (void *)(uintptr_t)A->indices);
    cmgi_free_device(ctx, (void *)(uintptr_t)A->values);
}

#define scoped_csr_there scoped_by(free_there) cmg_csr
