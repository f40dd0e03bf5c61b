/* See cmg_hypre.h. hypre keeps its levels in a struct of its internal headers, which Debian ships.
 */
#include "cmg_hypre.h"

#include <_hypre_parcsr_ls.h>
#include <stdlib.h>

/* The block of this process, which on one process is the matrix, into a role. */
static cmg_status set(cmg_hierarchy *h, int level, cmg_role role, hypre_ParCSRMatrix *M)
{
    const hypre_CSRMatrix *block = hypre_ParCSRMatrixDiag(M);
    const cmg_size rows = hypre_CSRMatrixNumRows(block);
    const HYPRE_Int *i = hypre_CSRMatrixI(block);
    const cmg_size nnz = i[rows];
    cmg_size *indptr = malloc(((size_t)rows + 1) * sizeof *indptr);
    cmg_index *indices = malloc(((size_t)nnz + 1) * sizeof *indices);
    cmg_status status = indptr != NULL && indices != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (cmg_size r = 0; r <= rows && status == CMG_OK; ++r) {
        indptr[r] = i[r];
    }
    for (cmg_size k = 0; k < nnz && status == CMG_OK; ++k) {
        indices[k] = (cmg_index)hypre_CSRMatrixJ(block)[k];
    }
    if (status == CMG_OK) {
        const cmg_csr csr = {rows, hypre_CSRMatrixNumCols(block), indptr, indices,
                             hypre_CSRMatrixData(block)};
        status = cmg_hierarchy_set_csr(h, level, role, NULL, 0, &csr);
    }
    free(indptr);
    free(indices);
    return status;
}

cmg_status cmg_hierarchy_from_hypre(cmg_context *ctx, HYPRE_Solver amg, cmg_hierarchy **h)
{
    hypre_ParAMGData *data = (hypre_ParAMGData *)amg;
    cmg_hierarchy *made = NULL;
    if (ctx == NULL || amg == NULL || h == NULL) {
        return CMG_ERR_ARG;
    }
    hypre_ParCSRMatrix **A = hypre_ParAMGDataAArray(data);
    hypre_ParCSRMatrix **P = hypre_ParAMGDataPArray(data);
    const int levels = (int)hypre_ParAMGDataNumLevels(data);
    int processes = 1;
    if (A == NULL || levels < 1) {
        return CMG_ERR_STATE;
    }
    MPI_Comm_size(hypre_ParCSRMatrixComm(A[0]), &processes);
    if (processes != 1) {
        return CMG_ERR_UNSUPPORTED;
    }
    cmg_status status = cmg_hierarchy_create(ctx, levels, &made);
    for (int l = 0; l < levels && status == CMG_OK; ++l) {
        status = set(made, l, CMG_ROLE_A, A[l]);
        if (status == CMG_OK && l + 1 < levels) {
            status = set(made, l, CMG_ROLE_P, P[l]);
        }
    }
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&made);
        return status;
    }
    *h = made;
    return CMG_OK;
}
