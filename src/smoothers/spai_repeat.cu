/*
 * Which rows of SPAI pose the same least squares problem. Row i minimises |e_i^T - m A(J,:)| over
 * the columns J of its pattern; row r poses the same problem where the lists J - i and J - r are
 * equal and so are the rows of A they name, in their columns relative to their own row and in the
 * bits of their values. Both would be numbered and solved in the same way, to the bit, so one
 * solution serves all.
 *
 * Twice the same grouping (spai_groups.cuh), of the rows of A by (relative column, value) and of
 * those of the pattern by (relative column, class of that row of A). Where more than one row in 16
 * differs, nothing is looked up: to find so costs less the sooner it is found.
 */
#include "smoothers/spai_groups.cuh"

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

static cmg_status find(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                       const cmgi_row_groups *g, int *of_A, cmgi_spai_repeats *R, bool *found)
{
    CMGI_TRY(cmgi_row_groups_find(ctx, A, CMGI_ROW_VALUES, NULL, g, of_A, found));
    if (!*found) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_row_groups_find(ctx, S, CMGI_ROW_CLASSES, of_A, g, R->same, found));
    if (!*found) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_row_groups_list(ctx, S->rows, g, R->same, R->list, &R->problems));
    cmgi_log(ctx, CMG_LOG_INFO, "spai: %lld rows pose %d different least squares problems",
             (long long)S->rows, R->problems);
    return CMG_OK;
}

cmg_status cmgi_spai_repeats_find(cmg_context *ctx, const cmgi_device_csr *A,
                                  const cmgi_device_csr *S, cmgi_spai_repeats *R)
{
    const cmg_size limit = (A->rows / SHARE < MANY ? A->rows / SHARE : (cmg_size)MANY) + FEW;
    cmgi_row_groups g = {};
    int *of_A = NULL;
    bool found = false;
    cmg_status status = CMG_OK;
    *R = {};
    CMGI_TRY_GOTO(done, cmgi_row_groups_alloc(ctx, limit, &g));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, A->rows, sizeof *of_A, &of_A));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, S->rows, sizeof *R->same, &R->same));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, S->rows, sizeof *R->list, &R->list));
    CMGI_TRY_GOTO(done, find(ctx, A, S, &g, of_A, R, &found));
done:
    cmgi_free_device(ctx, of_A);
    cmgi_row_groups_free(ctx, &g);
    if (!found) {
        cmgi_spai_repeats_free(ctx, R);
    }
    return status;
}

cmg_status cmgi_spai_repeats_copy(cmg_context *ctx, const cmgi_spai_repeats *R, cmgi_device_csr *S)
{
    const copying c = {*S, R->same};
    return cmgi_spai_copy_device(ctx, S->rows, &c);
}

void cmgi_spai_repeats_free(cmg_context *ctx, cmgi_spai_repeats *R)
{
    cmgi_free_device(ctx, R->same);
    cmgi_free_device(ctx, R->list);
    *R = {};
}
