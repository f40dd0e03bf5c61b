/* Matrices and levels: from interpolations of other preconditioners, from a DM, and what goes
 * along. */
#include "pccmg_impl.h"

#include <cmg_expert.h>
#include <cmg_ranks.h>

/* ------------------------------------------------------------------ matrices */

/* The matrix as SeqAIJ of this process: itself or a copy. */
PetscErrorCode pccmg_local_aij(Mat A, Mat *local)
{
    PetscBool is_seq = PETSC_FALSE;
    PetscBool is_mpi = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &is_seq));
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
    if (is_seq) {
        PetscCall(PetscObjectReference((PetscObject)A));
        *local = A;
    } else if (is_mpi) {
        PetscCall(MatMPIAIJGetLocalMat(A, MAT_INITIAL_MATRIX, local));
    } else {
        PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, local));
    }
    PetscFunctionReturn(0);
}

/* This process's rows of a matrix, with the columns of the whole one, into a role. */
static PetscErrorCode set_rows(PC pc, int level, cmg_role role, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    Mat aij = NULL;
    PetscInt first = 0;
    PetscInt last = 0;
    PetscInt entries = 0;
    PetscInt n = 0;
    cmg_size *indptr = NULL;
    cmg_size *indices = NULL;
    PetscScalar *values = NULL;
    PetscFunctionBegin;
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &aij)); /* rows of symmetric halves whole */
    PetscCall(MatGetOwnershipRange(aij, &first, &last));
    for (PetscInt i = first; i < last; ++i) {
        PetscCall(MatGetRow(aij, i, &n, NULL, NULL));
        entries += n;
        PetscCall(MatRestoreRow(aij, i, &n, NULL, NULL));
    }
    PetscCall(PetscMalloc3(last - first + 1, &indptr, entries, &indices, entries, &values));
    indptr[0] = 0;
    for (PetscInt i = first; i < last; ++i) {
        const PetscInt *columns = NULL;
        const PetscScalar *row = NULL;
        const cmg_size begin = indptr[i - first];
        PetscCall(MatGetRow(aij, i, &n, &columns, &row));
        for (PetscInt k = 0; k < n; ++k) {
            indices[begin + k] = columns[k];
            values[begin + k] = row[k];
        }
        indptr[i - first + 1] = begin + n;
        PetscCall(MatRestoreRow(aij, i, &n, &columns, &row));
    }
    if (level == 0 && role == CMG_ROLE_A) {
        data->rows = last - first;
        data->nonzeros = entries;
    }
    const cmg_rows rows = {first, last - first, indptr, indices, values};
    PetscCall(pccmg_check(pc, cmg_hierarchy_set_rows(data->h, level, role, &rows)));
    PetscCall(PetscFree3(indptr, indices, values));
    PetscCall(MatDestroy(&aij));
    PetscFunctionReturn(0);
}

/* Copies a matrix into a role of the hierarchy. Reads alone: MatSeqAIJGetArray would pass for a
 * change of the matrix, and every application of the PC then be preceded by a set-up. */
PetscErrorCode pccmg_set_matrix(PC pc, int level, cmg_role role, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    Mat local = NULL;
    PetscInt n = 0;
    const PetscInt *ia = NULL;
    const PetscInt *ja = NULL;
    const PetscScalar *values = NULL;
    PetscBool done = PETSC_FALSE;
    PetscInt rows = 0;
    PetscInt cols = 0;
    cmg_size *indptr = NULL;
    cmg_index *indices = NULL;
    PetscFunctionBegin;
    if (data->ranks > 1) {
        PetscCall(set_rows(pc, level, role, A));
        PetscFunctionReturn(0);
    }
    PetscCall(pccmg_local_aij(A, &local));
    PetscCall(MatGetSize(local, &rows, &cols));
    PetscCall(MatGetRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "rows of the matrix are not accessible");
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    PetscCall(PetscMalloc2(n + 1, &indptr, ia[n], &indices));
    for (PetscInt i = 0; i <= n; ++i) {
        indptr[i] = ia[i];
    }
    for (PetscInt k = 0; k < ia[n]; ++k) {
        indices[k] = (cmg_index)ja[k];
    }
    if (level == 0 && role == CMG_ROLE_A) {
        data->rows = rows;
        data->nonzeros = ia[n];
    }
    const cmg_csr csr = {rows, cols, indptr, indices, values};
    PetscCall(pccmg_check(pc, cmg_hierarchy_set_csr(data->h, level, role, NULL, 0, &csr)));
    PetscCall(PetscFree2(indptr, indices));
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscCall(MatRestoreRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    PetscCall(MatDestroy(&local));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ where the levels come from */

static PetscErrorCode levels_of_pc(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PC other = NULL;
    PetscInt levels = 0;
    PetscFunctionBegin;
    PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &other));
    PetscCall(PCSetOptionsPrefix(other, ((PetscObject)pc)->prefix));
    PetscCall(PCAppendOptionsPrefix(other, "cmg_levels_"));
    PetscCall(PCSetType(other, data->levels_from));
    PetscCall(PCSetOperators(other, pc->mat, pc->pmat));
    if (pc->dm != NULL) {
        PetscCall(PCSetDM(other, pc->dm));
    }
    PetscCall(PCSetFromOptions(other));
    PetscCall(PCSetUp(other));
    PetscCall(PCMGGetLevels(other, &levels));
    PetscCheck(levels >= 1 && levels <= PC_CMG_LEVELS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%s has %" PetscInt_FMT " levels, 1 to %d are possible", data->levels_from, levels,
               PC_CMG_LEVELS);
    for (PetscInt l = levels - 1; l > 0; --l) {
        Mat P = NULL;
        PetscCall(PCMGGetInterpolation(other, l, &P));
        PetscCall(PetscObjectReference((PetscObject)P));
        data->P[data->count++] = P;
    }
    PetscCall(PCDestroy(&other));
    PetscFunctionReturn(0);
}

/* Steps down from a DM as often as it can be coarsened, or `levels` - 1 times. */
static PetscErrorCode levels_of_dm(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    DM fine = pc->dm;
    PetscInt steps = data->levels - 1;
    PetscFunctionBegin;
    if (data->levels == 0) {
        PetscCall(DMGetRefineLevel(fine, &steps));
        PetscInt coarser = 0;
        PetscCall(DMGetCoarsenLevel(fine, &coarser));
        steps = steps > coarser ? steps : coarser;
    }
    PetscCall(PetscObjectReference((PetscObject)fine));
    while (steps-- > 0 && data->count < PC_CMG_LEVELS - 1) {
        DM coarse = NULL;
        Mat P = NULL;
        PetscCall(DMCoarsen(fine, PetscObjectComm((PetscObject)pc), &coarse));
        if (coarse == NULL) {
            break;
        }
        PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
        data->P[data->count++] = P;
        PetscCall(DMDestroy(&fine));
        fine = coarse;
    }
    PetscCall(DMDestroy(&fine));
    PetscFunctionReturn(0);
}

/* Vectors of a null space, a column each, the constant one last; free them with PetscFree. */
static PetscErrorCode columns_of(MatNullSpace space, PetscInt rows, PetscInt *k, PetscReal **all)
{
    PetscInt count = 0;
    const Vec *vectors = NULL;
    PetscBool constant = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatNullSpaceGetVecs(space, &constant, &count, &vectors));
    *k = count + (constant ? 1 : 0);
    PetscCall(PetscMalloc1(rows * *k, all));
    for (PetscInt c = 0; c < *k; ++c) {
        const PetscScalar *v = NULL;
        if (c < count) {
            PetscCall(VecGetArrayRead(vectors[c], &v));
        }
        for (PetscInt i = 0; i < rows; ++i) {
            (*all)[i * *k + c] = c < count ? PetscRealPart(v[i]) : 1.0;
        }
        if (c < count) {
            PetscCall(VecRestoreArrayRead(vectors[c], &v));
        }
    }
    PetscFunctionReturn(0);
}

/*
 * What MatSetNearNullSpace says, for algebraic levels; the library finds out which of it A takes to
 * 0. Without it what MatSetNullSpace says, which A does take to 0.
 */
static PetscErrorCode set_null_spaces(PC pc, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    MatNullSpace near = NULL;
    MatNullSpace exact = NULL;
    PetscInt k = 0;
    PetscReal *all = NULL;
    cmg_status status = CMG_OK;
    PetscFunctionBegin;
    PetscCall(MatGetNearNullSpace(A, &near));
    PetscCall(MatGetNullSpace(A, &exact));
    if (near == NULL && exact == NULL) {
        PetscFunctionReturn(0);
    }
    PetscCall(columns_of(near != NULL ? near : exact, data->rows, &k, &all));
    if (k > 0 && near != NULL) {
        status = cmg_hierarchy_set_vector(data->h, 0, "nullspace", NULL, data->rows * k, all);
    } else if (k > 0) {
        status = cmg_hierarchy_set_nullspace(data->h, 0, (int)k, all);
    }
    PetscCall(PetscFree(all));
    PetscCall(pccmg_check(pc, status));
    PetscFunctionReturn(0);
}

/* Block size, null spaces and coordinates, for levels that the library makes itself. */
PetscErrorCode pccmg_set_facts(PC pc, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscInt block = 1;
    char text[16];
    PetscFunctionBegin;
    PetscCall(MatGetBlockSize(A, &block));
    if (block > 1) {
        PetscCall(PetscSNPrintf(text, sizeof text, "%" PetscInt_FMT, block));
        PetscCall(pccmg_check(pc, cmg_hierarchy_set_attribute(data->h, "block_size", text)));
    }
    if (data->dim > 0) {
        PetscCheck(data->nodes * block == data->rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
                   "%" PetscInt_FMT " nodes with coordinates, the matrix has %" PetscInt_FMT
                   " rows in blocks of %" PetscInt_FMT,
                   data->nodes, data->rows, block);
        PetscCall(
            pccmg_check(pc, cmg_hierarchy_set_vector(data->h, 0, "coords", NULL,
                                                     data->nodes * data->dim, data->coordinates)));
    }
    PetscCall(set_null_spaces(pc, A));
    PetscFunctionReturn(0);
}

PetscErrorCode pccmg_coarsen(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    char text[sizeof data->coarsen + 8];
    cmg_coarsen_options options;
    PetscFunctionBegin;
    if (data->coarsen[0] == '\0') {
        PetscFunctionReturn(0);
    }
    PetscCheck(data->ranks == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
               "-pc_cmg_coarsen is for one process");
    cmg_coarsen_options_default(&options);
    PetscCall(PetscSNPrintf(text, sizeof text, "method=%s", data->coarsen));
    PetscCheck(cmg_coarsen_options_set(&options, text) == CMG_OK, PETSC_COMM_SELF,
               PETSC_ERR_USER_INPUT, "-pc_cmg_coarsen: %s", options.refused);
    PetscCall(pccmg_check(pc, cmg_hierarchy_coarsen(data->h, &options, NULL)));
    PetscFunctionReturn(0);
}

PetscErrorCode pccmg_find_levels(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    if (data->given == 0 && data->levels_from[0] != '\0') {
        PetscCall(levels_of_pc(pc));
    } else if (data->given == 0 && pc->dm != NULL) {
        PetscCall(levels_of_dm(pc));
    }
    PetscFunctionReturn(0);
}
