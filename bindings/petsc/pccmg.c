/* PETSc's preconditioner type "cmg"; see pccmg.h. */
#include "pccmg_impl.h"

#include <cmg_elements.h>
#ifdef PC_CMG_MPI
#include <cmg_mpi.h>
#endif

PetscErrorCode pccmg_check(PC pc, cmg_status status)
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

/* How the processes of the matrix speak to each other; none on one. */
static PetscErrorCode make_transport(PC pc, cmg_context_options *options)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    MPI_Comm comm = PetscObjectComm((PetscObject)pc->pmat);
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(comm, &data->ranks));
    if (data->ranks > 1) {
#ifdef PC_CMG_MPI
        cmg_transport *transport = NULL;
        PetscCheck(cmg_mpi_transport_create(comm, 0, &transport) == CMG_OK, comm, PETSC_ERR_LIB,
                   "CascadeMG: no transport over %d processes", data->ranks);
        data->transport = transport;
        cmg_ranks_use(options, transport);
#else
        SETERRQ(comm, PETSC_ERR_SUP,
                "-pc_type cmg was built for one process of MPI, the matrix is on %d", data->ranks);
#endif
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode make_context(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    char why[CMG_MESSAGE] = "";
    cmg_context_options options;
    PetscFunctionBegin;
    cmg_context_options_default(&options);
    cmg_elements_use(&options);
    options.why = why;
    PetscCall(make_transport(pc, &options));
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
    PetscCall(pccmg_find_levels(pc));
    if (data->ctx == NULL) {
        PetscCall(make_context(pc));
    }
    PetscCall(pccmg_check(pc, cmg_hierarchy_create(data->ctx, (int)data->count + 1, &data->h)));
    PetscCall(pccmg_set_matrix(pc, 0, CMG_ROLE_A, pc->pmat));
    for (PetscInt l = 0; l < data->count; ++l) {
        PetscCall(pccmg_set_matrix(pc, (int)l, CMG_ROLE_P, data->P[l]));
    }
    if (data->count > 0 && data->ranks == 1) { /* several form what is missing at set-up */
        PetscCall(pccmg_check(pc, cmg_hierarchy_galerkin(data->h, 1)));
    }
    PetscCall(pccmg_set_facts(pc, pc->pmat));
    PetscCall(pccmg_coarsen(pc));

    cmg_solver_options options;
    cmg_solver_options_default(&options);
    options.precision = CMG_FP64; /* of a preconditioner, unless the text says otherwise */
    options.matrix.keep_map = data->ranks == 1; /* new values alone */
    PetscCheck(cmg_solver_options_set(&options, data->options) == CMG_OK,
               PetscObjectComm((PetscObject)pc), PETSC_ERR_USER_INPUT, "-pc_cmg_options: %s",
               options.refused);
    PetscCall(pccmg_check(pc, cmg_solver_create(data->h, &options, &data->solver)));
    if (cmg_context_backend(data->ctx) != CMG_BACKEND_CPU) {
        PetscCall(pccmg_check(pc, cmg_vector_create(data->ctx, data->rows, CMG_FP64, &data->r)));
        PetscCall(pccmg_check(pc, cmg_vector_create(data->ctx, data->rows, CMG_FP64, &data->z)));
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
    PetscCall(pccmg_local_aij(pc->pmat, &local));
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    PetscCall(pccmg_check(pc, cmg_hierarchy_update(data->h, 0, CMG_ROLE_A, values)));
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscCall(MatDestroy(&local));
    PetscCall(pccmg_check(pc, cmg_solver_refresh(data->solver)));
    ++data->refreshes;
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ what PETSc calls */

static PetscErrorCode mat_apply(PC pc, Mat X, Mat Y);

static PetscErrorCode setup(PC pc)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscFunctionBegin;
    MatInfo info;
    PetscInt rows = 0;
    PetscCall(MatGetLocalSize(pc->pmat, &rows, NULL));
    PetscCall(MatGetInfo(pc->pmat, MAT_LOCAL, &info));
    if (data->solver != NULL && data->ranks == 1 && pc->flag != DIFFERENT_NONZERO_PATTERN &&
        rows == data->rows && (PetscInt)info.nz_used == data->nonzeros) {
        PetscCall(refresh(pc));
    } else {
        PetscCall(build(pc));
        pc->ops->matapply = data->ranks == 1 ? mat_apply : NULL; /* else column by column */
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
    PetscCall(pccmg_check(pc, status));
    PetscFunctionReturn(0);
}

/* Columns first .. first + k - 1 of a dense matrix to or from an array of n x k values by rows. */
static PetscErrorCode move_columns(Mat M, PetscInt first, PetscInt k, PetscBool out,
                                   PetscScalar *rows)
{
    PetscScalar *array = NULL;
    PetscInt n = 0;
    PetscInt lda = 0;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(M, &n, NULL));
    PetscCall(MatDenseGetLDA(M, &lda));
    if (out) {
        PetscCall(MatDenseGetArrayWrite(M, &array));
    } else {
        PetscCall(MatDenseGetArrayRead(M, (const PetscScalar **)&array));
    }
    for (PetscInt c = 0; c < k; ++c) {
        PetscScalar *column = array + (first + c) * lda;
        for (PetscInt i = 0; i < n; ++i) {
            if (out) {
                column[i] = rows[i * k + c];
            } else {
                rows[i * k + c] = column[i];
            }
        }
    }
    if (out) {
        PetscCall(MatDenseRestoreArrayWrite(M, &array));
    } else {
        PetscCall(MatDenseRestoreArrayRead(M, (const PetscScalar **)&array));
    }
    PetscFunctionReturn(0);
}

/* A cycle on several columns, in host memory or through the device. */
static cmg_status cycle_columns(PC_CMG *data, int k, PetscScalar *r, PetscScalar *z)
{
    cmg_vector *vr = NULL;
    cmg_vector *vz = NULL;
    cmg_status status = cmg_vector_create_columns(data->ctx, data->rows, k, CMG_FP64, &vr);
    status = status == CMG_OK ? cmg_vector_create_columns(data->ctx, data->rows, k, CMG_FP64, &vz)
                              : status;
    status = status == CMG_OK ? cmg_vector_set(vr, r) : status;
    status = status == CMG_OK ? cmg_solver_precondition(data->solver, vr, vz) : status;
    status = status == CMG_OK ? cmg_vector_get(vz, z) : status;
    cmg_vector_destroy(&vr);
    cmg_vector_destroy(&vz);
    return status;
}

/* Y = C X, up to CMG_COLUMNS columns in one pass over the matrices. */
static PetscErrorCode mat_apply(PC pc, Mat X, Mat Y)
{
    PC_CMG *const data = (PC_CMG *)pc->data;
    PetscInt columns = 0;
    PetscScalar *rows = NULL;
    PetscFunctionBegin;
    PetscCall(MatGetSize(X, NULL, &columns));
    PetscCall(PetscMalloc1(data->rows * PetscMin(columns, CMG_COLUMNS), &rows));
    for (PetscInt first = 0; first < columns; first += CMG_COLUMNS) {
        const PetscInt k = PetscMin(columns - first, CMG_COLUMNS);
        PetscCall(move_columns(X, first, k, PETSC_FALSE, rows));
        PetscCall(pccmg_check(pc, cycle_columns(data, (int)k, rows, rows)));
        PetscCall(move_columns(Y, first, k, PETSC_TRUE, rows));
    }
    PetscCall(PetscFree(rows));
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
#ifdef PC_CMG_MPI
    cmg_transport *transport = data->transport;
    cmg_mpi_transport_destroy(&transport);
#endif
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
    PetscCall(PetscOptionsString("-pc_cmg_coarsen",
                                 "Method of algebraic levels, and options, air distance=1", "none",
                                 data->coarsen, data->coarsen, sizeof data->coarsen, NULL));
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
    pc->ops->matapply = mat_apply;
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
