/*
 * Rows of A that number the equations of SPAI alike. On a mesh with a pattern all rows but a few
 * have the columns, less their own number, of one of some hundred others, and so have the rows of A
 * that they name. Such rows are a kind: its equations are numbered once, in the order in which a
 * row's entries meet them, and each row of the kind finds its own entries by that table.
 *
 * Twice the grouping of csr/row_groups.cuh: by relative columns, then by these and the classes of
 * the rows that are named. Values play no part.
 */
#include "smoothers/spai.cuh"
#include "smoothers/spai_numbering.cuh"

enum {
    MOST_KINDS = 2048,  /* more do not pay ... */
    ROWS_OF_A_KIND = 8, /* ... nor do they with fewer rows each */
    LEAST_ROWS = 2048,
    SLOTS = 2 * CMGI_SPAI_EQUATIONS
};

/* The table of each kind, whose lowest row is in the list, by a warp. */
__global__ void __launch_bounds__(CMGI_WARP)
    place_kernel(const cmgi_device_csr A, const int *list, cmgi_spai_kind *kinds)
{
    __shared__ int keys[SLOTS];
    __shared__ unsigned short number[SLOTS];
    const int lane = (int)threadIdx.x;
    const cmg_size i = list[blockIdx.x];
    const cmg_size first = A.indptr[i];
    const cmg_size entries = A.indptr[i + 1] - first;
    const table t = {keys, number, SLOTS, 32 - log2_of(SLOTS), CMGI_SPAI_EQUATIONS};
    cmgi_spai_kind *kind = &kinds[blockIdx.x];
    bool fits = entries <= CMGI_SPAI_LONGEST;
    int met = 0;
    clear(t, lane);
    for (cmg_size e = 0; fits && e < entries; ++e) {
        const cmg_index j = A.indices[first + e];
        const cmg_size begin = A.indptr[j];
        const cmg_size length = A.indptr[j + 1] - begin;
        const cmg_index column = lane < length ? A.indices[begin + lane] : -1;
        const int at = length <= CMGI_SPAI_LONGEST ? meet(t, lane, column, &met) : -1;
        fits = length <= CMGI_SPAI_LONGEST && met <= CMGI_SPAI_EQUATIONS;
        if (fits && at >= 0) {
            kind->place[e][at % 4][at / 4] = (unsigned char)(lane + 1);
            kind->offset[at] = column - (cmg_index)i;
        }
    }
    if (lane == 0) {
        const int slot = slot_of(t, (cmg_index)i);
        kind->equations = fits ? met : 0;
        kind->own = fits && keys[slot] != -1 ? number[slot] : -1;
    }
}

struct nothing {
    __device__ __forceinline__ unsigned long long operator()(cmg_size, cmg_index, cmg_size) const
    {
        return 0;
    }
};

static cmg_status make_tables(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                              cmgi_spai_groups *R, cmgi_spai_kinds *K)
{
    CMGI_TRY(scratch.take(A->rows, &K->kind));
    CMGI_TRY(scratch.take_zero(R->count, &K->of));
    place_kernel<<<(unsigned)R->count, CMGI_WARP, 0, cmgi_stream(ctx)>>>(*A, R->list, K->of);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_row_groups_number(ctx, A->rows, R->list, R->count, R->same, K->kind));
    K->count = R->count;
    cmgi_log(ctx, CMG_LOG_INFO, "spai: %lld rows number their equations in %d ways",
             (long long)A->rows, K->count);
    return CMG_OK;
}

cmg_status cmgi_spai_kinds_find(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                                cmgi_spai_kinds *K)
{
    const cmg_size most = A->rows / ROWS_OF_A_KIND;
    cmgi_spai_groups R = {};
    cmgi_scratch own(ctx);
    *K = {};
    if (A->rows < LEAST_ROWS) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_spai_group(ctx, own, A, nothing{}, A,
                             most < MOST_KINDS ? most : (cmg_size)MOST_KINDS, &R));
    return R.same != NULL ? make_tables(ctx, scratch, A, &R, K) : CMG_OK;
}
