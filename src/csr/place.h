/* A CSR of a set-up whose three arrays are at a place, on the host or on the device. */
#pragma once
#include "core/place.h"
#include "csr/csr.h"

/* flag[i] = row i is one of the identity; *count of them, NULL = known. */
cmg_status cmgi_csr_identity_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, bool *flag,
                                cmg_size *count);
/* A row of zeros gets a 1 on the diagonal, where it has that place. */
cmg_status cmgi_csr_unit_rows_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A);
/* inverse[i] = 1 / d[i] */
cmg_status cmgi_invert_at(cmg_context *ctx, cmgi_place at, cmg_size n, const double *d,
                          double *inverse);
/* d[i] = flag[i] ? 0 : 1 */
cmg_status cmgi_mask_at(cmg_context *ctx, cmgi_place at, cmg_size n, const bool *flag, double *d);
/* 0, 1, ... */
cmg_status cmgi_count_up_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_size *numbers);
/* to[k] = from[k] for k < n: integers of 32 or 64 bits, values of a precision. */
cmg_status cmgi_widen_sizes_at(cmg_context *ctx, cmgi_place at, cmg_size n, const void *from,
                               int bits, cmg_size *to);
cmg_status cmgi_widen_values_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_precision p,
                                const void *from, double *to);
/* In the backend's memory: y[k] = x[perm[k]] (scatter false) or y[perm[k]] = x[k] (scatter true).
 */
cmg_status cmgi_permute(cmg_context *ctx, cmg_precision p, cmg_size n, const cmg_index *perm,
                        bool scatter, const void *x, void *y);
/* y[map[k]] = x[k] for k < n, y in precision p: new values into a storage of the backend. */
cmg_status cmgi_scatter(cmg_context *ctx, cmg_precision p, cmg_size n, const double *x,
                        const cmg_size *map, void *y);
/* Counts of n rows become the sums of those before them, count[n] all of them: *total. */
cmg_status cmgi_offsets_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_size *count,
                           cmg_size *total);
/* From lengths of rows in indptr[0 .. rows - 1] to offsets, and arrays for the *nnz entries. */
cmg_status cmgi_csr_open_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M, cmg_size *nnz);
/*
 * name(ctx, at, &a, M, &nnz): M, whose rows and cols are set, by a body (core/each.h) that counts
 * the entries of row i into a.offset[i] while a.columns is NULL, and then writes them from there
 * on; for the caller to free, also where this fails.
 */
#define CMGI_CSR_BY_BODY(name, body, args)                                                         \
    static cmg_status name(cmg_context *ctx, cmgi_place at, args *a, cmgi_csr *M, cmg_size *nnz)   \
    {                                                                                              \
        CMGI_TRY(cmgi_alloc_at(ctx, at, M->rows + 1, sizeof *M->indptr, &M->indptr));              \
        a->offset = M->indptr;                                                                     \
        a->columns = NULL;                                                                         \
        CMGI_TRY(body(ctx, at, M->rows, a));                                                       \
        CMGI_TRY(cmgi_csr_open_at(ctx, at, M, nnz));                                               \
        a->columns = M->indices;                                                                   \
        a->values = M->values;                                                                     \
        return body(ctx, at, M->rows, a);                                                          \
    }
/* D, a diagonal n x n matrix at a place, whose *values are set by the caller. */
cmg_status cmgi_csr_open_diagonal_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmgi_csr *D,
                                     double **values);
/* T = A^T with its nnz entries, rows sorted. */
cmg_status cmgi_csr_transpose_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size nnz,
                                 cmgi_csr *T);
/* C = A B, rows sorted, of the same bits at both places; B's arrays are left alone. */
cmg_status cmgi_csr_multiply_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, const cmg_csr *B,
                                cmgi_csr *C);
/* M takes the arrays of a matrix over; on the device it has all facts of them (resident.h). */
cmg_status cmgi_csr_settle_at(cmg_context *ctx, cmgi_place at, cmgi_csr *made, cmgi_csr *M);
void cmgi_csr_free_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M);
/* A hash of sizes, offsets and columns of a matrix at a place: the same at both, and for any number
 * of threads. */
cmg_status cmgi_pattern_hash(cmg_context *ctx, cmgi_place at, const cmg_csr *A, uint64_t *hash);
