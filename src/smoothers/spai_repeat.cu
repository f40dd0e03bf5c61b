/*
 * Which rows of SPAI pose the same least squares problem. Row i minimises |e_i^T - m A(J,:)| over
 * the columns J of its pattern; row r poses the same problem where the lists J - i and J - r are
 * equal and so are the rows of A they name, in their columns relative to their own row and in the
 * bits of their values. Both would be numbered and solved in the same way, to the bit, so one
 * solution serves all.
 *
 * Twice the same grouping (csr/row_groups.cuh), of the rows of A by (relative column, value) and of
 * those of the pattern by (relative column, class of that row of A). Where more than one row in 16
 * differs, nothing is looked up: to find so costs less the sooner it is found.
 */
#include "smoothers/spai.cuh"

enum { FEW = 1024, SHARE = 16, MANY = 1 << 28 };

/* Values of the rows that were not solved themselves. */
typedef struct copying {
    cmgi_device_csr S;
    const int *same;
} copying;

CMGI_EACH_ROW(spai_copy, copying)
{
    const cmg_size r = real ? a.same[i] : i;
    const cmg_size mine = real ? a.S.indptr[i] : 0;
    const cmg_size length = real && r != i ? a.S.indptr[i + 1] - mine : 0;
    for (cmg_size e = lane; e < length; e += CMGI_STEP) {
        a.S.values[mine + e] = a.S.values[a.S.indptr[r] + e];
    }
}

struct value_bits {
    cmgi_device_csr A;
    __device__ __forceinline__ unsigned long long operator()(cmg_size i, cmg_index j,
                                                             cmg_size k) const
    {
        return (unsigned long long)__double_as_longlong(cmgi_value_at(A, i, j, k));
    }
};

cmg_status cmgi_spai_repeats_find(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                                  const cmgi_device_csr *S, cmgi_spai_groups *R)
{
    const cmg_size limit = (A->rows / SHARE < MANY ? A->rows / SHARE : (cmg_size)MANY) + FEW;
    CMGI_TRY(cmgi_spai_group(ctx, scratch, A, value_bits{*A}, S, limit, R));
    if (R->same != NULL) {
        cmgi_log(ctx, CMG_LOG_INFO, "spai: %lld rows pose %d different least squares problems",
                 (long long)S->rows, R->count);
    }
    return CMG_OK;
}

cmg_status cmgi_spai_repeats_copy(cmg_context *ctx, const cmgi_spai_groups *R, cmgi_device_csr *S)
{
    const copying c = {*S, R->same};
    return cmgi_spai_copy_device(ctx, S->rows, &c);
}
