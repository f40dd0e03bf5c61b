/*
 * SPAI from A to M on the device: the pattern (pattern.cu), the least squares (spai.cu), and the
 * symmetric part with the same comparisons in the same arithmetic as on the host.
 */
#include "smoothers/pattern.cuh"

enum { LONGEST_SORTED = 1024 };

/* M = (M + M^T) / 2 in the entries that have a partner; the thread of the upper one writes both. */
__global__ void symmetrize_kernel(cmgi_device_csr M, int *unmatched)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(M, &first);
    if (i >= M.rows) {
        return;
    }
    for (cmg_size k = first; k < M.indptr[i + 1]; k += LANES) {
        const cmg_size other = find_partner(M, i, M.indices[k], k);
        if (other < 0) {
            *unmatched = 1;
        } else if (M.indices[k] > i) {
            M.values[k] = M.values[other] = 0.5 * (M.values[k] + M.values[other]);
        }
    }
}

/* Row i of (M + M^T) / 2 from sorted rows of both; B.indices = NULL: its length alone. */
__global__ void merge_kernel(const cmgi_device_csr M, const cmgi_device_csr T, cmgi_device_csr B)
{
    const cmg_size i = thread_row();
    if (i >= M.rows) {
        return;
    }
    cmg_size a = M.indptr[i];
    cmg_size b = T.indptr[i];
    cmg_size at = B.indices != NULL ? B.indptr[i] : 0;
    while (a < M.indptr[i + 1] || b < T.indptr[i + 1]) {
        const cmg_index ja = a < M.indptr[i + 1] ? M.indices[a] : INT32_MAX;
        const cmg_index jb = b < T.indptr[i + 1] ? T.indices[b] : INT32_MAX;
        const cmg_index j = ja < jb ? ja : jb;
        const double va = ja == j ? M.values[a++] : 0;
        const double vb = jb == j ? T.values[b++] : 0;
        if (B.indices != NULL) {
            B.indices[at] = j;
            B.values[at] = 0.5 * (va + vb);
        }
        ++at;
    }
    if (B.indices == NULL) {
        B.indptr[i] = at;
    }
}

/* M = S M S */
__global__ void scale_kernel(cmgi_device_csr M, const double *s)
{
    cmg_size first = 0;
    const cmg_size i = shared_row(M, &first);
    if (i >= M.rows) {
        return;
    }
    for (cmg_size k = first; k < M.indptr[i + 1]; k += LANES) {
        M.values[k] *= s[i] * s[M.indices[k]];
    }
}

/* M = (M + M^T) / 2 where their patterns differ. */
static cmg_status merge(cmg_context *ctx, cmgi_device_csr *M)
{
    cmg_csr view = {M->rows, M->rows, M->indptr, M->indices, M->values};
    cmg_csr transposed = {};
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->transpose(ctx, &view, M->nnz, &transposed));
    const cmgi_device_csr T = cmgi_device_csr_view(&transposed, M->nnz);
    made.rows = M->rows;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, M->rows + 1, sizeof *made.indptr, &made.indptr));
    merge_kernel<<<ROWS(M->rows)>>>(*M, T, made);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_device_csr_offsets(ctx, M->rows, made.indptr, &made.nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.nnz, sizeof *made.values, &made.values));
    merge_kernel<<<ROWS(M->rows)>>>(*M, T, made);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    cmgi_device_csr_free(ctx, M);
    *M = made;
    made = {};
done:
    cmgi_device_csr_free(ctx, &made);
    cmgi_resident_free_arrays(ctx, &transposed);
    return status;
}

/* M = S M S, then its symmetric part. */
static cmg_status finish(const cmgi_prepared *p, cmgi_device_csr *M)
{
    cmg_context *ctx = p->ctx;
    int unmatched = 0;
    if (p->s != NULL) {
        scale_kernel<<<ROWS(M->rows * LANES)>>>(*M, p->s);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
    }
    if (p->symmetric) {
        CMGI_TRY(cmgi_cuda_clear(ctx, p->findings, sizeof *p->findings));
        symmetrize_kernel<<<ROWS(M->rows * LANES)>>>(*M, p->findings);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        CMGI_TRY(cmgi_to_host(ctx, &unmatched, p->findings, sizeof unmatched));
    }
    return unmatched ? merge(ctx, M) : CMG_OK;
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
