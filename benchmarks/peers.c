/*
 * The same problem with PETSc and hypre: 3D Q1 Poisson on a grid or a distorted mesh, the same
 * matrices, b = 1, CG to the same true relative residual. Started with one MPI process a thread:
 * mpirun -n 2 bench_peers --cells 128 [--distort 0.4].
 *
 *   petsc-mg    CG + PCMG over the given levels, Chebyshev/Jacobi smoothing
 *   petsc-gamg  CG + GAMG
 *   hypre       CG + BoomerAMG, PETSc's defaults (not hypre's, see peers_hypre.c) and tuned for 3D
 */
#include "bench.h"
#include "q1.h"

#include <petscksp.h>
#include <stdlib.h>
#include <string.h>

typedef struct peer {
    const char *name;
    const char *options; /* PETSc options, all that differs from the defaults */
    bool geometric;
} peer;

static const peer peers[] = {
    {"petsc-mg-cheby1",
     "-pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -mg_levels_ksp_max_it 1",
     true},
    {"petsc-mg-cheby2",
     "-pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -mg_levels_ksp_max_it 2",
     true},
    {"petsc-gamg", "-pc_type gamg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi", false},
    {"hypre-boomeramg", "-pc_type hypre -pc_hypre_type boomeramg", false},
    {"hypre-boomeramg-tuned",
     "-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_strong_threshold 0.5 "
     "-pc_hypre_boomeramg_agg_nl 1 -pc_hypre_boomeramg_coarsen_type HMIS "
     "-pc_hypre_boomeramg_interp_type ext+i "
     "-pc_hypre_boomeramg_P_max 4",
     false},
};
enum { PEERS = sizeof peers / sizeof peers[0], MAX_LEVELS = 16 };

/* Rows [n rank / size, n (rank + 1) / size) of a matrix every process has made. */
static PetscErrorCode distribute(const cmg_csr *A, Mat *M)
{
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    const cmg_size first = A->rows * rank / size;
    const cmg_size last = A->rows * (rank + 1) / size;
    const cmg_size cols = A->cols * (rank + 1) / size - A->cols * rank / size;
    PetscInt *indptr = malloc((size_t)(last - first + 1) * sizeof *indptr);
    for (cmg_size i = first; i <= last; ++i) {
        indptr[i - first] = (PetscInt)(A->indptr[i] - A->indptr[first]);
    }
    PetscFunctionBegin;
    PetscCall(MatCreateMPIAIJWithArrays(
        PETSC_COMM_WORLD, (PetscInt)(last - first), (PetscInt)cols, (PetscInt)A->rows,
        (PetscInt)A->cols, indptr, A->indices + A->indptr[first], A->values + A->indptr[first], M));
    free(indptr);
    PetscFunctionReturn(0);
}

static PetscErrorCode set_levels(KSP ksp, int levels, Mat *A, Mat *P)
{
    PC pc = NULL;
    PetscFunctionBegin;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, levels, NULL));
    for (int l = 0; l < levels; ++l) { /* PETSc counts levels from the coarsest */
        KSP smoother = NULL;
        PetscCall(PCMGGetSmoother(pc, levels - 1 - l, &smoother));
        PetscCall(KSPSetOperators(smoother, A[l], A[l]));
        if (l + 1 < levels) {
            PetscCall(PCMGSetInterpolation(pc, levels - 1 - l, P[l]));
        }
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode run(const peer *p, int levels, Mat *A, Mat *P, int cells, double distort,
                          double rtol, int repeat)
{
    KSP ksp = NULL;
    Vec b = NULL;
    Vec x = NULL;
    Vec r = NULL;
    PetscInt iterations = 0;
    PetscReal residual = 0;
    PetscReal norm = 1;
    double best = 1e300;
    int rank = 0;
    PetscFunctionBegin;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsInsertString(NULL, p->options));
    PetscCall(MatCreateVecs(A[0], &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecSet(b, 1.0));
    const double begin = bench_seconds();
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetOperators(ksp, A[0], A[0]));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 500));
    if (p->geometric) {
        PetscCall(set_levels(ksp, levels, A, P));
    }
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    const double setup = bench_seconds() - begin;
    for (int k = 0; k < repeat; ++k) {
        PetscCall(VecSet(x, 0.0));
        MPI_Barrier(PETSC_COMM_WORLD);
        const double start = bench_seconds();
        PetscCall(KSPSolve(ksp, b, x));
        const double taken = bench_seconds() - start;
        best = taken < best ? taken : best;
    }
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(MatMult(A[0], x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    if (rank == 0) {
        int size = 1;
        MPI_Comm_size(PETSC_COMM_WORLD, &size);
        printf("{\"benchmark\": \"solve\", \"solver\": \"%s\", \"problem\": \"q1-3d-%d\", "
               "\"distort\": %g, \"iterations\": %d, "
               "\"relative_residual\": %.3g, \"setup_seconds\": %.4g, \"solve_seconds\": %.5g, "
               "\"best_of\": %d, "
               "\"processes\": %d, \"resident_bytes_a_process\": %.0f, ",
               p->name, cells, distort, (int)iterations, residual / norm, setup, best, repeat, size,
               bench_peak_memory());
        bench_machine(stdout, 1);
        printf(", \"command\": \"bench_peers --cells %d --distort %g\"}\n", cells, distort);
        fflush(stdout);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

/* The levels of the grid, or of the distorted mesh. */
static PetscErrorCode make_levels(int cells, double distort, Mat *A, Mat *P, int *levels)
{
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_csr csr;
    PetscFunctionBegin;
    PetscCheck(cmg_context_create(NULL, &ctx) == CMG_OK, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "no context");
    PetscCheck((distort > 0 ? q1_distorted(ctx, 3, cells, distort, &h)
                            : q1_hierarchy(ctx, 3, cells, &h)) == CMG_OK,
               PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", cmg_context_message(ctx));
    *levels = 0;
    for (int l = 0; l < cmg_hierarchy_levels(h) && (cells >> l) >= 4; ++l, ++*levels) {
        if (l > 0) {
            (void)cmg_hierarchy_get_csr(h, l - 1, CMG_ROLE_P, NULL, 0, &csr);
            PetscCall(distribute(&csr, &P[l - 1]));
        }
        (void)cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &csr);
        PetscCall(distribute(&csr, &A[l]));
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    int cells = 128;
    double distort = 0;
    double rtol = 1e-8;
    for (int a = 1; a + 1 < argc; a += 2) {
        if (strcmp(argv[a], "--cells") == 0) {
            cells = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--distort") == 0) {
            distort = atof(argv[a + 1]);
        } else if (strcmp(argv[a], "--rtol") == 0) {
            rtol = atof(argv[a + 1]);
        }
    }
    int none = 1;
    PetscCall(PetscInitialize(&none, &argv, NULL, NULL));
    Mat A[MAX_LEVELS];
    Mat P[MAX_LEVELS];
    int levels = 0;
    PetscCall(make_levels(cells, distort, A, P, &levels));
    for (int i = 0; i < PEERS; ++i) {
        PetscCall(run(&peers[i], levels, A, P, cells, distort, rtol, 3));
    }
    for (int l = 0; l < levels; ++l) {
        PetscCall(MatDestroy(&A[l]));
        if (l + 1 < levels) {
            PetscCall(MatDestroy(&P[l]));
        }
    }
    PetscCall(PetscFinalize());
    return 0;
}
