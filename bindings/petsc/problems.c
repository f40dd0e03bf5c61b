/*
 * Three problems of PETSc's tutorials in one plain PETSc program, which knows nothing of CascadeMG:
 *
 *   -problem poisson2     ksp/ex2: five-point Laplacian on m x m points
 *   -problem poisson3     ksp/ex45: seven-point Laplacian on a DMDA, boundary rows kept; -da_refine
 * gives it levels -problem elasticity   ksp/ex56: Q1 elasticity on m^3 cells, clamped at z = 0, a
 * soft ball in it; block size 3, rigid body modes as near null space
 *
 *   problems -problem elasticity -m 20 -dll_append libpetsccmg.so -pc_type cmg
 *
 * Prints one JSON object: unknowns, iterations, seconds of set-up and of the second of two solves,
 * the true residual; with -refresh those of a set-up with other values on the same pattern, too.
 */
#include <math.h>
#include <petscdmda.h>
#include <petscksp.h>
#include <stdbool.h>

typedef struct Problem {
    DM dm; /* NULL = none */
    Mat A;
    Vec b;
} Problem;

/* ------------------------------------------------------------------ ex2 */

static PetscErrorCode make_poisson2(PetscInt m, Problem *p)
{
    PetscInt first = 0;
    PetscInt end = 0;
    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m, 5, NULL, 4,
                           NULL, &p->A));
    PetscCall(MatGetOwnershipRange(p->A, &first, &end));
    for (PetscInt row = first; row < end; ++row) {
        const PetscInt i = row / m;
        const PetscInt j = row % m;
        PetscInt cols[5] = {row};
        PetscScalar values[5] = {4.0, -1.0, -1.0, -1.0, -1.0};
        PetscInt n = 1;
        if (i > 0)
            cols[n++] = row - m;
        if (i < m - 1)
            cols[n++] = row + m;
        if (j > 0)
            cols[n++] = row - 1;
        if (j < m - 1)
            cols[n++] = row + 1;
        PetscCall(MatSetValues(p->A, 1, &row, n, cols, values, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(p->A, NULL, &p->b));
    PetscCall(VecSet(p->b, 1.0));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ ex45 */

static PetscErrorCode laplace_row(const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k,
                                  Mat A)
{
    static const PetscInt step[6][3] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                        {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
    const PetscReal h[3] = {1.0 / (PetscReal)(info->mx - 1), 1.0 / (PetscReal)(info->my - 1),
                            1.0 / (PetscReal)(info->mz - 1)};
    const PetscReal across[3] = {h[1] * h[2] / h[0], h[0] * h[2] / h[1], h[0] * h[1] / h[2]};
    const bool boundary =
        i == 0 || j == 0 || k == 0 || i == info->mx - 1 || j == info->my - 1 || k == info->mz - 1;
    MatStencil row = {.i = i, .j = j, .k = k};
    MatStencil cols[7] = {row};
    PetscScalar values[7] = {2.0 * (across[0] + across[1] + across[2])};
    PetscInt n = 1;
    PetscFunctionBegin;
    for (int s = 0; s < 6 && !boundary; ++s, ++n) {
        cols[n] = (MatStencil){.i = i + step[s][0], .j = j + step[s][1], .k = k + step[s][2]};
        values[n] = -across[s / 2];
    }
    PetscCall(MatSetValuesStencil(A, 1, &row, n, cols, values, INSERT_VALUES));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_poisson3(PetscInt m, Problem *p)
{
    DMDALocalInfo info;
    PetscScalar ***b = NULL;
    PetscFunctionBegin;
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_STAR, m, m, m, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1,
                           1, NULL, NULL, NULL, &p->dm));
    PetscCall(DMSetFromOptions(p->dm)); /* -da_refine */
    PetscCall(DMSetUp(p->dm));
    PetscCall(DMCreateMatrix(p->dm, &p->A));
    PetscCall(DMCreateGlobalVector(p->dm, &p->b));
    PetscCall(DMDAGetLocalInfo(p->dm, &info));
    PetscCall(DMDAVecGetArray(p->dm, p->b, &b));
    for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
        for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
            for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
                const PetscReal h = 1.0 / (PetscReal)(info.mx - 1);
                const bool boundary = i == 0 || j == 0 || k == 0 || i == info.mx - 1 ||
                                      j == info.my - 1 || k == info.mz - 1;
                b[k][j][i] = boundary ? 6.0 * h : h * h * h;
                PetscCall(laplace_row(&info, i, j, k, p->A));
            }
        }
    }
    PetscCall(DMDAVecRestoreArray(p->dm, p->b, &b));
    PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ ex56 */

/* K = int B^T C B over a cube of side h, nu = 0.25, by 2 x 2 x 2 Gauss points; B is the strain of
 * the trilinear shape functions, C of isotropic elasticity for Young's modulus 1. */
static void element_stiffness(PetscReal h, PetscScalar K[24][24])
{
    const PetscReal nu = 0.25;
    const PetscReal mu = 0.5 / (1.0 + nu);
    const PetscReal lambda = nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    PetscCallVoid(PetscMemzero(K, 24 * 24 * sizeof(PetscScalar)));
    for (int point = 0; point < 8; ++point) {
        PetscReal at[3];
        PetscReal gradient[8][3];
        for (int d = 0; d < 3; ++d) {
            at[d] = 0.5 + ((point >> d & 1) != 0 ? 0.5 : -0.5) / sqrt(3.0);
        }
        for (int v = 0; v < 8; ++v) {
            for (int d = 0; d < 3; ++d) {
                gradient[v][d] = (v >> d & 1) != 0 ? 1.0 / h : -1.0 / h;
                for (int o = 0; o < 3; ++o) {
                    gradient[v][d] *= o == d ? 1.0 : (v >> o & 1) != 0 ? at[o] : 1.0 - at[o];
                }
            }
        }
        for (int r = 0; r < 24; ++r) {
            for (int c = 0; c < 24; ++c) {
                const PetscReal *g = gradient[r / 3];
                const PetscReal *f = gradient[c / 3];
                const PetscReal same =
                    r % 3 == c % 3 ? g[0] * f[0] + g[1] * f[1] + g[2] * f[2] : 0.0;
                K[r][c] += h * h * h / 8.0 *
                           (lambda * g[r % 3] * f[c % 3] + mu * (g[c % 3] * f[r % 3] + same));
            }
        }
    }
}

static PetscErrorCode add_element(const DMDALocalInfo *info, const PetscInt at[3],
                                  PetscScalar K[24][24], Mat A)
{
    MatStencil nodes[24];
    PetscScalar values[24][24];
    PetscReal square = 0;
    PetscFunctionBegin;
    for (int d = 0; d < 3; ++d) {
        const PetscReal x = ((PetscReal)at[d] + 0.5) / (PetscReal)(info->mx - 1) - 0.5;
        square += x * x;
    }
    const PetscReal young = square < 0.0625 ? 1e-3 : 1.0;
    for (int r = 0; r < 24; ++r) {
        const int v = r / 3;
        nodes[r] = (MatStencil){
            .i = at[0] + (v & 1), .j = at[1] + (v >> 1 & 1), .k = at[2] + (v >> 2 & 1), .c = r % 3};
        for (int c = 0; c < 24; ++c) { /* clamped nodes keep their diagonal alone */
            const bool clamped = at[2] == 0 && (v >> 2 == 0 || c / 3 >> 2 == 0);
            values[r][c] = clamped && r != c ? 0.0 : young * K[r][c];
        }
    }
    PetscCall(MatSetValuesStencil(A, 24, nodes, 24, nodes, &values[0][0], ADD_VALUES));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_elasticity(PetscInt m, Problem *p)
{
    DMDALocalInfo info;
    PetscScalar K[24][24];
    Vec coordinates = NULL;
    MatNullSpace modes = NULL;
    PetscScalar ****b = NULL;
    PetscFunctionBegin;
    element_stiffness(1.0 / (PetscReal)m, K);
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_BOX, m + 1, m + 1, m + 1, PETSC_DECIDE, PETSC_DECIDE,
                           PETSC_DECIDE, 3, 1, NULL, NULL, NULL, &p->dm));
    PetscCall(DMSetUp(p->dm));
    PetscCall(DMDASetUniformCoordinates(p->dm, 0, 1, 0, 1, 0, 1));
    PetscCall(DMCreateMatrix(p->dm, &p->A));
    PetscCall(DMCreateGlobalVector(p->dm, &p->b));
    PetscCall(DMDAGetLocalInfo(p->dm, &info));
    PetscCall(DMDAVecGetArrayDOF(p->dm, p->b, &b));
    for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
        for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
            for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
                const PetscInt at[3] = {i, j, k};
                b[k][j][i][2] = k == 0 ? 0.0 : -1.0 / (PetscReal)(m * m * m);
                if (i < m && j < m && k < m) {
                    PetscCall(add_element(&info, at, K, p->A));
                }
            }
        }
    }
    PetscCall(DMDAVecRestoreArrayDOF(p->dm, p->b, &b));
    PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(DMGetCoordinates(p->dm, &coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
    PetscCall(MatSetNearNullSpace(p->A, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(
        DMDestroy(&p->dm)); /* as in ex56: levels come from the matrix and its near null space */
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ the solve */

static PetscErrorCode true_residual(Mat A, Vec b, Vec x, PetscReal *residual)
{
    Vec r = NULL;
    PetscReal norm = 0;
    PetscFunctionBegin;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    *residual /= norm;
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

/* Set-up and two solves; prints one object. */
static PetscErrorCode measure(KSP ksp, const Problem *p, const char *problem, const char *what)
{
    Vec x = NULL;
    PC pc = NULL;
    PCType type = NULL;
    PetscLogDouble t[4];
    PetscInt rows = 0;
    PetscInt iterations = 0;
    PetscReal residual = 0;
    PetscMPIInt ranks = 1;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    PetscFunctionBegin;
    PetscCall(VecDuplicate(p->b, &x));
    PetscCall(PetscTime(&t[0]));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscTime(&t[1]));
    PetscCall(KSPSolve(ksp, p->b, x));
    PetscCall(PetscTime(&t[2]));
    PetscCall(VecSet(x, 0.0));
    PetscCall(KSPSolve(ksp, p->b, x));
    PetscCall(PetscTime(&t[3]));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(true_residual(p->A, p->b, x, &residual));
    PetscCall(MatGetSize(p->A, &rows, NULL));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetType(pc, &type));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    const double solve = PetscMin(t[2] - t[1], t[3] - t[2]);
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "{\"benchmark\": \"petsc\", \"problem\": \"%s\", \"what\": \"%s\", \"unknowns\": "
        "%" PetscInt_FMT
        ", \"pc\": \"%s\", \"ranks\": %d, \"converged\": %s, \"iterations\": %" PetscInt_FMT
        ", \"residual\": %.2e, \"setup_seconds\": %.4g, \"solve_seconds\": %.4g}\n",
        problem, what, rows, type, ranks, reason > 0 ? "true" : "false", iterations,
        (double)residual, t[1] - t[0], solve));
    PetscCall(VecDestroy(&x));
    PetscFunctionReturn(0);
}

static PetscErrorCode make(const char *problem, PetscInt m, Problem *p)
{
    PetscBool same = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscStrcmp(problem, "poisson2", &same));
    if (same) {
        PetscCall(make_poisson2(m, p));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscStrcmp(problem, "poisson3", &same));
    if (same) {
        PetscCall(make_poisson3(m, p));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscStrcmp(problem, "elasticity", &same));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_USER,
               "-problem is poisson2, poisson3 or elasticity");
    PetscCall(make_elasticity(m, p));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    char problem[32] = "poisson2";
    PetscInt m = 32;
    PetscBool refresh = PETSC_FALSE;
    Problem p = {NULL, NULL, NULL};
    KSP ksp = NULL;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", problem, sizeof problem, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-refresh", &refresh, NULL));
    PetscCall(make(problem, m, &p));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    if (p.dm != NULL) {
        PetscCall(KSPSetDM(ksp, p.dm));
        PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
    }
    PetscCall(KSPSetOperators(ksp, p.A, p.A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(measure(ksp, &p, problem, "first"));
    if (refresh) {
        PetscCall(MatScale(p.A, 3.0));
        PetscCall(KSPSetOperators(ksp, p.A, p.A));
        PetscCall(measure(ksp, &p, problem, "new values"));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&p.A));
    PetscCall(VecDestroy(&p.b));
    PetscCall(DMDestroy(&p.dm));
    PetscCall(PetscFinalize());
    return 0;
}
