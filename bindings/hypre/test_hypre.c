/* BoomerAMG's levels of a 3D Laplacian solve here in about as many iterations as there, to a
 * residual that plain loops confirm. */
#include "cmg_hypre.h"

#include <_hypre_parcsr_ls.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 24 };

#define CHECK(cond)                                                                                \
    if (!(cond)) {                                                                                 \
        printf("%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #cond, cmg_context_message(ctx));   \
        return 1;                                                                                  \
    }

/* ||1 - A x|| / ||1|| of the seven-point Laplacian that hypre generates. */
static double residual(const double *x)
{
    double rr = 0;
    for (int r = 0; r < SIDE * SIDE * SIDE; ++r) {
        const int at[3] = {r % SIDE, r / SIDE % SIDE, r / (SIDE * SIDE)};
        const int step[3] = {1, SIDE, SIDE * SIDE};
        double s = 1 - 6 * x[r];
        for (int d = 0; d < 3; ++d) {
            s += at[d] > 0 ? x[r - step[d]] : 0;
            s += at[d] < SIDE - 1 ? x[r + step[d]] : 0;
        }
        rr += s * s;
    }
    return sqrt(rr / (SIDE * SIDE * SIDE));
}

int main(int argc, char **argv)
{
    HYPRE_Real values[4] = {6, -1, -1, -1};
    HYPRE_Solver amg = NULL;
    HYPRE_Solver pcg = NULL;
    HYPRE_Int there = 0;
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_report report = {.size = sizeof report};
    const cmg_size n = SIDE * SIDE * SIDE;
    MPI_Init(&argc, &argv);
    HYPRE_ParCSRMatrix A = (HYPRE_ParCSRMatrix)GenerateLaplacian(MPI_COMM_WORLD, SIDE, SIDE, SIDE,
                                                                 1, 1, 1, 0, 0, 0, values);
    hypre_ParVector *rhs = hypre_ParVectorInRangeOf((hypre_ParCSRMatrix *)A);
    hypre_ParVector *zero = hypre_ParVectorInRangeOf((hypre_ParCSRMatrix *)A);
    hypre_ParVectorInitialize(rhs);
    hypre_ParVectorInitialize(zero);
    hypre_ParVectorSetConstantValues(rhs, 1.0);
    hypre_ParVectorSetConstantValues(zero, 0.0);
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetPrintLevel(amg, 0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_BoomerAMGSetTol(amg, 0.0);
    CHECK(cmg_context_create(NULL, &ctx) == CMG_OK);
    CHECK(cmg_hierarchy_from_hypre(ctx, amg, &h) == CMG_ERR_STATE);
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
    HYPRE_PCGSetTol(pcg, 1e-8);
    HYPRE_PCGSetTwoNorm(pcg, 1);
    HYPRE_PCGSetPrecond(pcg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                        (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
    HYPRE_ParCSRPCGSetup(pcg, A, (HYPRE_ParVector)rhs, (HYPRE_ParVector)zero);
    HYPRE_ParCSRPCGSolve(pcg, A, (HYPRE_ParVector)rhs, (HYPRE_ParVector)zero);
    HYPRE_PCGGetNumIterations(pcg, &there);

    CHECK(cmg_hierarchy_from_hypre(ctx, amg, &h) == CMG_OK);
    HYPRE_ParCSRPCGDestroy(pcg);
    HYPRE_BoomerAMGDestroy(amg); /* the levels are copies */
    CHECK(cmg_hierarchy_levels(h) >= 3);
    CHECK(cmg_solver_create(h, NULL, &solver) == CMG_OK);
    CHECK(cmg_vector_create(ctx, n, CMG_FP64, &b) == CMG_OK);
    CHECK(cmg_vector_create(ctx, n, CMG_FP64, &x) == CMG_OK);
    CHECK(cmg_vector_fill(b, 1.0) == CMG_OK);
    CHECK(cmg_solver_solve(solver, b, x, &report) == CMG_OK);
    double *found = malloc((size_t)n * sizeof *found);
    CHECK(found != NULL && cmg_vector_get(x, found) == CMG_OK);
    printf("%d levels, %d iterations in hypre, %d here, residual %.2e\n", cmg_hierarchy_levels(h),
           (int)there, report.iterations, residual(found));
    CHECK(cmg_outcome_converged(report.outcome) && residual(found) <= 1.01e-8);
    CHECK(report.iterations <= (int)there + 6);
    free(found);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    hypre_ParVectorDestroy(rhs);
    hypre_ParVectorDestroy(zero);
    HYPRE_ParCSRMatrixDestroy(A);
    MPI_Finalize();
    return 0;
}
