/* PETSc's preconditioner type "cmg"; see pccmg.h. */
#include "pccmg.h"

#include <cmg.h>
#include <petsc/private/pcimpl.h>
#include <petscdm.h>
#include <petscksp.h>

enum { PC_CMG_LEVELS = 32 };

typedef struct PC_CMG {
    char options[1024];
    char context[256];    /* options of the context: "threads=1 backend=cuda" */
    char levels_from[64]; /* "" or a type of PC that has interpolations */
    PetscInt levels;      /* of a DM; 0 = as many as it has */
    PetscInt count;       /* interpolations */
    PetscInt given;       /* of them, by PCCMGSetInterpolations */
    Mat P[PC_CMG_LEVELS];
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *solver;
    cmg_vector *r; /* on a device, where PETSc's vectors are copied to; NULL on the CPU */
    cmg_vector *z;
    PetscInt dim; /* of the coordinates given to PCSetCoordinates, 0 = none */
    PetscInt nodes;
    PetscReal *coordinates; /* nodes x dim */
    PetscInt rows;
    PetscInt nonzeros;
    PetscInt refreshes; /* set-ups that took new values alone */
} PC_CMG;

/* A status of the library as PETSc's error, with the library's sentence. */
static PetscErrorCode check(PC pc, cmg_status status)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    if (status == CMG_OK) {
        return 0;
    }
    SETERRQ(PetscObjectComm((PetscObject)pc),
            status == CMG_ERR_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB, "CascadeMG: %s",
            data->ctx != NULL ? cmg_context_message(data->ctx) : cmg_status_text(status));
}

static PetscErrorCode forget_levels(PC_CMG *data)
{
    PetscFunctionBegin;
    cmg_vector_destroy(&data->r);
    cmg_vector_destroy(&data->z);
    cmg_solver_destroy(&data->solver);
    cmg_hierarchy_destroy(&data->h);
    for (PetscInt l = data->given; l < data->count; ++l) {
        PetscCall(MatDestroy(&data->P[l]));
    }
    data->count = data->given;
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ matrices */

/* The matrix as SeqAIJ of this process: itself or a copy. */
static PetscErrorCode local_aij(Mat A, Mat *local)
{
    PetscMPIInt size = 1;
    PetscBool is_seq = PETSC_FALSE;
    PetscBool is_mpi = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
    PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "-pc_type cmg works on one process of MPI, the matrix is on %d", size);
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

/* Copies a matrix into a role of the hierarchy. Reads alone: MatSeqAIJGetArray would pass for a
 * change of the matrix, and every application of the PC then be preceded by a set-up. */
static PetscErrorCode set_matrix(PC pc, int level, cmg_role role, Mat A)
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
    PetscCall(local_aij(A, &local));
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
    PetscCall(check(pc, cmg_hierarchy_set_csr(data->h, level, role, NULL, 0, &csr)));
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

/* Vectors of the near null space, a column each. */
static PetscErrorCode set_near_null_space(PC pc, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    MatNullSpace near = NULL;
    PetscFunctionBegin;
    PetscCall(MatGetNearNullSpace(A, &near));
    if (near != NULL) {
        PetscInt count = 0;
        const Vec *vectors = NULL;
        PetscBool constant = PETSC_FALSE;
        PetscReal *all = NULL;
        PetscCall(MatNullSpaceGetVecs(near, &constant, &count, &vectors));
        const PetscInt k = count + (constant ? 1 : 0);
        PetscCall(PetscMalloc1(data->rows * k, &all));
        for (PetscInt c = 0; c < k; ++c) {
            const PetscScalar *v = NULL;
            if (c < count) {
                PetscCall(VecGetArrayRead(vectors[c], &v));
            }
            for (PetscInt i = 0; i < data->rows; ++i) {
                all[i * k + c] = c < count ? PetscRealPart(v[i]) : 1.0;
            }
            if (c < count) {
                PetscCall(VecRestoreArrayRead(vectors[c], &v));
            }
        }
        if (k > 0) {
            PetscCall(check(
                pc, cmg_hierarchy_set_vector(data->h, 0, "nullspace", NULL, data->rows * k, all)));
        }
        PetscCall(PetscFree(all));
    }
    PetscFunctionReturn(0);
}

/* Block size, near null space and coordinates, for levels that the library makes itself. */
static PetscErrorCode set_facts(PC pc, Mat A)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscInt block = 1;
    char text[16];
    PetscFunctionBegin;
    PetscCall(MatGetBlockSize(A, &block));
    if (block > 1) {
        PetscCall(PetscSNPrintf(text, sizeof text, "%" PetscInt_FMT, block));
        PetscCall(check(pc, cmg_hierarchy_set_attribute(data->h, "block_size", text)));
    }
    if (data->dim > 0) {
        PetscCheck(data->nodes * block == data->rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
                   "%" PetscInt_FMT " nodes with coordinates, the matrix has %" PetscInt_FMT
                   " rows in blocks of %" PetscInt_FMT,
                   data->nodes, data->rows, block);
        PetscCall(check(pc, cmg_hierarchy_set_vector(data->h, 0, "coords", NULL,
                                                     data->nodes * data->dim, data->coordinates)));
    }
    PetscCall(set_near_null_space(pc, A));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_context(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    char why[CMG_MESSAGE] = "";
    cmg_context_options options;
    PetscFunctionBegin;
    cmg_context_options_default(&options);
    options.why = why;
    (void)cmg_context_options_set(&options, data->context); /* a refusal comes back from create */
    PetscCheck(cmg_context_create(&options, &data->ctx) == CMG_OK, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_LIB, "CascadeMG: %s", why);
    PetscFunctionReturn(0);
}

static PetscErrorCode build(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCall(forget_levels(data));
    if (data->given == 0 && data->levels_from[0] != '\0') {
        PetscCall(levels_of_pc(pc));
    } else if (data->given == 0 && pc->dm != NULL) {
        PetscCall(levels_of_dm(pc));
    }
    if (data->ctx == NULL) {
        PetscCall(make_context(pc));
    }
    PetscCall(check(pc, cmg_hierarchy_create(data->ctx, (int)data->count + 1, &data->h)));
    PetscCall(set_matrix(pc, 0, CMG_ROLE_A, pc->pmat));
    for (PetscInt l = 0; l < data->count; ++l) {
        PetscCall(set_matrix(pc, (int)l, CMG_ROLE_P, data->P[l]));
    }
    if (data->count > 0) {
        PetscCall(check(pc, cmg_hierarchy_galerkin(data->h, 1)));
    }
    PetscCall(set_facts(pc, pc->pmat));

    cmg_solver_options options;
    cmg_solver_options_default(&options);
    options.matrix.keep_map = true;
    PetscCheck(cmg_solver_options_set(&options, data->options) == CMG_OK,
               PetscObjectComm((PetscObject)pc), PETSC_ERR_USER_INPUT, "-pc_cmg_options: %s",
               options.refused);
    PetscCall(check(pc, cmg_solver_create(data->h, &options, &data->solver)));
    if (cmg_context_backend(data->ctx) != CMG_BACKEND_CPU) {
        PetscCall(check(pc, cmg_vector_create(data->ctx, data->rows, CMG_FP64, &data->r)));
        PetscCall(check(pc, cmg_vector_create(data->ctx, data->rows, CMG_FP64, &data->z)));
    }
    PetscFunctionReturn(0);
}

/* New values on the pattern that the solver has. */
static PetscErrorCode refresh(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    Mat local = NULL;
    const PetscScalar *values = NULL;
    PetscFunctionBegin;
    PetscCall(local_aij(pc->pmat, &local));
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    PetscCall(check(pc, cmg_hierarchy_update(data->h, 0, CMG_ROLE_A, values)));
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscCall(MatDestroy(&local));
    PetscCall(check(pc, cmg_solver_refresh(data->solver)));
    ++data->refreshes;
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ what PETSc calls */

static PetscErrorCode setup(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    MatInfo info;
    PetscInt rows = 0;
    PetscCall(MatGetSize(pc->pmat, &rows, NULL));
    PetscCall(MatGetInfo(pc->pmat, MAT_LOCAL, &info));
    if (data->solver != NULL && pc->flag != DIFFERENT_NONZERO_PATTERN && rows == data->rows &&
        (PetscInt)info.nz_used == data->nonzeros) {
        PetscCall(refresh(pc));
    } else {
        PetscCall(build(pc));
    }
    PetscFunctionReturn(0);
}

/* Arrays of PETSc in place on the CPU; to a device they are copied, and back. */
static cmg_status cycle(PC_CMG *data, const PetscScalar *from, PetscScalar *to)
{
    cmg_vector *r = NULL;
    cmg_vector *z = NULL;
    cmg_status status = CMG_OK;
    if (data->r != NULL) {
        status = cmg_vector_set(data->r, from);
        status =
            status == CMG_OK ? cmg_solver_precondition(data->solver, data->r, data->z) : status;
        return status == CMG_OK ? cmg_vector_get(data->z, to) : status;
    }
    status = cmg_vector_wrap(data->ctx, data->rows, CMG_FP64, (void *)(uintptr_t)from, &r);
    status = status == CMG_OK ? cmg_vector_wrap(data->ctx, data->rows, CMG_FP64, to, &z) : status;
    status = status == CMG_OK ? cmg_solver_precondition(data->solver, r, z) : status;
    cmg_vector_destroy(&r);
    cmg_vector_destroy(&z);
    return status;
}

static PetscErrorCode apply(PC pc, Vec r, Vec z)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    const PetscScalar *from = NULL;
    PetscScalar *to = NULL;
    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(r, &from));
    PetscCall(VecGetArrayWrite(z, &to));
    const cmg_status status = cycle(data, from, to);
    PetscCall(VecRestoreArrayWrite(z, &to));
    PetscCall(VecRestoreArrayRead(r, &from));
    PetscCall(check(pc, status));
    PetscFunctionReturn(0);
}

static PetscErrorCode reset(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCall(forget_levels(data));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCall(reset(pc));
    for (PetscInt l = 0; l < data->given; ++l) {
        PetscCall(MatDestroy(&data->P[l]));
    }
    cmg_context_destroy(&data->ctx);
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCCMGSetInterpolations_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCCMGSetOptions_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", NULL));
    PetscCall(PetscFree(data->coordinates));
    PetscCall(PetscFree(pc->data));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_from_options(PC pc, PetscOptionItems *PetscOptionsObject)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "CascadeMG options");
    PetscCall(PetscOptionsString(
        "-pc_cmg_options", "Options of the cycle, smoother=fsai precision=mixed", "PCCMGSetOptions",
        data->options, data->options, sizeof data->options, NULL));
    PetscCall(PetscOptionsString("-pc_cmg_context",
                                 "Options of the context, threads=1 backend=cuda", "none",
                                 data->context, data->context, sizeof data->context, NULL));
    PetscCall(PetscOptionsString("-pc_cmg_levels_from", "Type of PC whose interpolations are taken",
                                 "none", data->levels_from, data->levels_from,
                                 sizeof data->levels_from, NULL));
    PetscCall(PetscOptionsInt("-pc_cmg_levels", "Levels made from a DM, 0 = as it was refined",
                              "none", data->levels, &data->levels, NULL));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscBool ascii = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii || data->solver == NULL) {
        PetscFunctionReturn(0);
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "  CascadeMG %s, %d levels, options: %s\n",
                                     cmg_version(), cmg_hierarchy_levels(data->h),
                                     data->options[0] != '\0' ? data->options : "none"));
    for (int i = 0; cmg_solver_note(data->solver, i) != NULL; ++i) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", cmg_solver_note(data->solver, i)));
    }
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  set-ups that took new values alone: %" PetscInt_FMT "\n", data->refreshes));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_interpolations(PC pc, PetscInt count, Mat P[])
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCheck(count >= 0 && count < PC_CMG_LEVELS, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " interpolations, up to %d are possible",
               count, PC_CMG_LEVELS - 1);
    PetscCall(forget_levels(data));
    for (PetscInt l = 0; l < count; ++l) {
        PetscCall(PetscObjectReference((PetscObject)P[l]));
    }
    for (PetscInt l = 0; l < data->given; ++l) {
        PetscCall(MatDestroy(&data->P[l]));
    }
    for (PetscInt l = 0; l < count; ++l) {
        data->P[l] = P[l];
    }
    data->given = data->count = count;
    pc->setupcalled = PETSC_FALSE;
    PetscFunctionReturn(0);
}

static PetscErrorCode set_options(PC pc, const char options[])
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCall(PetscStrncpy(data->options, options, sizeof data->options));
    pc->setupcalled = PETSC_FALSE;
    PetscCall(forget_levels(data));
    PetscFunctionReturn(0);
}

/* What PCSetCoordinates calls: nodes x dim, by rows. */
static PetscErrorCode set_coordinates(PC pc, PetscInt dim, PetscInt nodes, PetscReal *coordinates)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    PetscCall(PetscFree(data->coordinates));
    data->dim = coordinates != NULL ? dim : 0;
    data->nodes = nodes;
    if (coordinates != NULL) {
        PetscCall(PetscMalloc1(dim * nodes, &data->coordinates));
        PetscCall(PetscArraycpy(data->coordinates, coordinates, dim * nodes));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode PCCMGSetInterpolations(PC pc, PetscInt count, Mat P[])
{
    PetscFunctionBegin;
    PetscTryMethod(pc, "PCCMGSetInterpolations_C", (PC, PetscInt, Mat[]), (pc, count, P));
    PetscFunctionReturn(0);
}

PetscErrorCode PCCMGSetOptions(PC pc, const char options[])
{
    PetscFunctionBegin;
    PetscTryMethod(pc, "PCCMGSetOptions_C", (PC, const char[]), (pc, options));
    PetscFunctionReturn(0);
}

PetscErrorCode PCCreate_CMG(PC pc)
{
    PC_CMG *data = NULL;
    PetscFunctionBegin;
    PetscCall(PetscNew(&data));
    pc->data = data;
    pc->ops->setup = setup;
    pc->ops->apply = apply;
    pc->ops->reset = reset;
    pc->ops->destroy = destroy;
    pc->ops->setfromoptions = set_from_options;
    pc->ops->view = view;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCCMGSetInterpolations_C",
                                         set_interpolations));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCCMGSetOptions_C", set_options));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", set_coordinates));
    PetscFunctionReturn(0);
}

PetscErrorCode PetscDLLibraryRegister_petsccmg(void)
{
    PetscFunctionBegin;
    PetscCall(PCRegister("cmg", PCCreate_CMG));
    PetscFunctionReturn(0);
}
