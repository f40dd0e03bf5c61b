/*
 * SPAI from A to M on the device: the pattern (pattern.cu), the least squares (spai.cu), and the
 * symmetric part with the same comparisons in the same arithmetic as on the host.
 */
#include "core/each.h"

extern "C" {
#include "smoothers/pattern.h"
}
#include "smoothers/spai.cuh"
#include "smoothers/symmetric.inc"

enum { LONGEST_SORTED = 1024 };

/* M = (M + M^T) / 2 in the entries that have a partner; the lane of the upper one writes both.
 * Counts the rows with entries that have none. */
CMGI_COUNT_ROW(join_partners, scaling)
{
    const cmg_size end = real ? a.M.indptr[i + 1] : 0;
    bool unmatched = false;
    for (cmg_size k = (real ? a.M.indptr[i] : 0) + lane; k < end; k += CMGI_STEP) {
        const cmg_size other = cmgi_partner(a.M.indptr, a.M.indices, i, k);
        if (other < 0) {
            unmatched = true;
        } else if (a.M.indices[k] > i) {
            a.values[k] = a.values[other] = 0.5 * (a.values[k] + a.values[other]);
        }
    }
    return cmgi_row_any(unmatched);
}

static cmg_csr view_of(const cmgi_device_csr *M)
{
    return cmg_csr{M->rows, M->rows, M->indptr, M->indices, M->values};
}

/* M = (M + M^T) / 2 where their patterns differ. */
static cmg_status merge(cmg_context *ctx, cmgi_device_csr *M)
{
    halves both = {view_of(M), {}, NULL, NULL, NULL};
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->transpose(ctx, &both.M, M->nnz, &both.T));
    made.rows = M->rows;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, M->rows + 1, sizeof *made.indptr, &made.indptr));
    both.offset = made.indptr;
    CMGI_TRY_GOTO(done, cmgi_add_halves_device(ctx, M->rows, &both));
    CMGI_TRY_GOTO(done, cmgi_device_csr_offsets(ctx, M->rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    both.columns = made.indices;
    both.values = made.values;
    CMGI_TRY_GOTO(done, cmgi_add_halves_device(ctx, M->rows, &both));
    cmgi_device_csr_free(ctx, M);
    *M = made;
    made = {};
done:
    cmgi_device_csr_free(ctx, &made);
    cmgi_resident_free_arrays(ctx, &both.T);
    return status;
}

/* M = S M S, then its symmetric part. */
static cmg_status finish(const cmgi_prepared *p, cmgi_device_csr *M)
{
    cmg_context *ctx = p->ctx;
    const scaling s = {view_of(M), p->s, p->s, M->values};
    cmg_size unmatched = 0;
    if (p->s != NULL) {
        CMGI_TRY(cmgi_scale_row_device(ctx, M->rows, &s));
    }
    if (p->symmetric) {
        CMGI_TRY(cmgi_join_partners_device(ctx, M->rows, &s, &unmatched));
    }
    return unmatched > 0 ? merge(ctx, M) : CMG_OK;
}

extern "C" cmg_status cmgi_spai_left_cuda(cmg_context *ctx, const cmgi_resident *A,
                                          const cmgi_spai_choice *choice, cmgi_resident *M,
                                          bool *made)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_prepared p = {};
    cmgi_device_csr S = {};
    cmg_status status = CMG_OK;
    const cmg_size longest = A->rows.longest;
    *made = A->csr.rows > 0 && longest <= LONGEST_SORTED;
    if (!*made) {
        cmgi_log(ctx, CMG_LOG_INFO,
                 "spai: A has %lld rows, the longest of %lld entries; the device prepares from 1 "
                 "row and to %d entries, the CPU does it",
                 (long long)A->csr.rows, (long long)longest, (int)LONGEST_SORTED);
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_device_prepare(ctx, A, choice->symmetric, choice->scale, &p));
    CMGI_TRY_GOTO(done, cmgi_device_pattern(&p, choice->tau, choice->power, &S));
    CMGI_TRY_GOTO(done, cmgi_spai_rows_cuda(ctx, &p.B, choice->counted, &S, made));
    if (*made) {
        CMGI_TRY_GOTO(done, finish(&p, &S));
        CMGI_TRY_GOTO(done, cmgi_device_csr_hand_over(ctx, &S, M));
    }
done:
    cmgi_device_csr_free(ctx, &S);
    cmgi_prepared_free(&p);
    return status;
}

extern "C" cmg_status cmgi_spai_static_cuda(cmg_context *ctx, const cmg_csr *A, bool counted,
                                            cmgi_csr *S, bool *made)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_csr pattern = cmgi_csr_view(S);
    cmgi_device_csr dA = {};
    cmgi_device_csr dS = {};
    cmg_status status = CMG_OK;
    *made = true;
    CMGI_TRY_GOTO(done, cmgi_device_csr_send(ctx, A, true, &dA));
    CMGI_TRY_GOTO(done, cmgi_device_csr_send(ctx, &pattern, false, &dS));
    CMGI_TRY_GOTO(done, cmgi_spai_rows_cuda(ctx, &dA, counted, &dS, made));
    if (*made) {
        CMGI_TRY_GOTO(done,
                      cmgi_to_host(ctx, S->values, dS.values, (size_t)dS.nnz * sizeof *dS.values));
    }
done:
    cmgi_device_csr_free(ctx, &dA);
    cmgi_device_csr_free(ctx, &dS);
    return status;
}
