/* What the .cu files of SPAI share: a CSR on the device, its repeated rows, the least squares. */
#pragma once
#include "csr/row_groups.cuh"

extern "C" {
#include "smoothers/spai_cuda.h"
}

/* Entry k, which is in row i and column j, times s_i s_j. */
static __device__ __forceinline__ double cmgi_value_at(const cmgi_device_csr &A, cmg_size i,
                                                       cmg_index j, cmg_size k)
{
    return A.s != NULL ? A.values[k] * (A.s[i] * A.s[j]) : A.values[k];
}

/* What tells rows of a matrix apart: their columns less their own number, and a content of each
 * entry. */
template <typename CONTENT>
struct cmgi_spai_look {
    const cmg_size *indptr;
    const cmg_index *indices;
    CONTENT of;

    __device__ __forceinline__ cmg_index base(cmg_size i, cmg_size, cmg_size) const
    {
        return (cmg_index)i;
    }
    __device__ __forceinline__ unsigned offset(cmg_size k, cmg_index from) const
    {
        return (unsigned)(indices[k] - from);
    }
    __device__ __forceinline__ unsigned long long content(cmg_size i, cmg_size k) const
    {
        return of(i, indices[k], k);
    }
};

/* The class of the row that an entry names. */
struct cmgi_spai_class {
    const int *same;
    __device__ __forceinline__ unsigned long long operator()(cmg_size, cmg_index j, cmg_size) const
    {
        return (unsigned long long)same[j];
    }
};

/* Rows of a matrix in groups. */
typedef struct cmgi_spai_groups {
    int *same; /* lowest row of row i's group; NULL: too many differ */
    int *list; /* the rows i with same[i] = i, in an order that depends on the run */
    int count; /* their number */
} cmgi_spai_groups;

/* Rows of S in at most `limit` groups: by their columns less their own number, and the groups of
 * the rows of A that these are, whose entries have `content` besides. */
template <typename CONTENT>
static cmg_status cmgi_spai_group(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                                  const CONTENT &content, const cmgi_device_csr *S, cmg_size limit,
                                  cmgi_spai_groups *R)
{
    cmgi_row_groups g = {};
    cmgi_spai_groups made = {};
    int *of_A = NULL;
    bool found = false;
    cmgi_scratch own(ctx);
    CMGI_TRY(cmgi_row_groups_take(own, limit, &g));
    CMGI_TRY(own.take(A->rows, &of_A));
    CMGI_TRY(scratch.take(S->rows, &made.same));
    CMGI_TRY(scratch.take(S->rows, &made.list));
    const cmgi_spai_look<CONTENT> in_A = {A->indptr, A->indices, content};
    const cmgi_spai_look<cmgi_spai_class> in_S = {S->indptr, S->indices, {of_A}};
    CMGI_TRY(cmgi_row_groups_find(ctx, in_A, A->rows, &g, of_A, &found));
    if (found) {
        CMGI_TRY(cmgi_row_groups_find(ctx, in_S, S->rows, &g, made.same, &found));
    }
    if (found) {
        CMGI_TRY(cmgi_row_groups_list(ctx, S->rows, &g, made.same, made.list, &made.count));
        *R = made;
    }
    return CMG_OK;
}

/* Rows that are left over. */
typedef struct cmgi_spai_left {
    int *space[2]; /* rows + 1 each */
    int *list;     /* one of both; NULL: all rows */
    int count;
} cmgi_spai_left;

/* Rows of a list, NULL: the first `rows`, by normal equations where these are safe
 * (spai_normal.cu). */
cmg_status cmgi_spai_normal(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            const int *list, int rows, cmgi_spai_left *left);

/* The rows that are left, the first time all, where they have patterns of a few kinds
 * (spai_placed.cu). */
cmg_status cmgi_spai_placed(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            cmgi_spai_left *left);
