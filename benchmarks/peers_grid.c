/* hypre on a uniform grid: CG around PFMG or SMG on the stencil of 3D Q1, see peers_hypre.c. */
#include "peers_hypre.h"

typedef struct grid {
    HYPRE_StructMatrix A;
    HYPRE_StructVector b;
    HYPRE_StructVector x;
    HYPRE_Int low[3];
    HYPRE_Int high[3];
} grid;

/* The stencil of Q1 on cells of width h over h: 8/3, 0, -1/6, -1/12 by the number of steps. */
static void make_grid(const problem *p, bool zeros, grid *g)
{
    static const double by_steps[] = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};
    const int n = p->cells - 1;
    const size_t rows = (size_t)(p->last - p->first);
    HYPRE_StructGrid cells;
    HYPRE_StructStencil stencil;
    double *values = malloc((rows + 1) * sizeof *values);
    int size = 0;
    g->low[0] = g->low[1] = 0;
    g->high[0] = g->high[1] = n - 1;
    g->low[2] = p->first / (n * n);
    g->high[2] = p->last / (n * n) - 1;
    HYPRE_StructGridCreate(WORLD, 3, &cells);
    HYPRE_StructGridSetExtents(cells, g->low, g->high);
    HYPRE_StructGridAssemble(cells);
    HYPRE_StructStencilCreate(3, zeros ? 27 : 21, &stencil);
    for (int pass = 0; pass < 2; ++pass) { /* the stencil, then the values */
        size = 0;
        for (int at = 0; at < 27; ++at) {
            HYPRE_Int to[3] = {at % 3 - 1, at / 3 % 3 - 1, at / 9 - 1};
            const int steps = abs(to[0]) + abs(to[1]) + abs(to[2]);
            if (steps == 1 && !zeros) {
                continue;
            }
            HYPRE_Int entry = size++;
            if (pass == 0) {
                HYPRE_StructStencilSetElement(stencil, entry, to);
                continue;
            }
            for (size_t q = 0; q < rows; ++q) {
                const int i = (int)(q % (size_t)n) + to[0];
                const int j = (int)(q / (size_t)n % (size_t)n) + to[1];
                const int k = g->low[2] + (int)(q / ((size_t)n * (size_t)n)) + to[2];
                const bool inside = i >= 0 && j >= 0 && k >= 0 && i < n && j < n && k < n;
                values[q] = inside ? by_steps[steps] / p->cells : 0;
            }
            double *copy = hypre_there(values, rows * sizeof *values);
            HYPRE_StructMatrixSetBoxValues(g->A, g->low, g->high, 1, &entry, copy);
            hypre_back(copy, NULL, 0);
        }
        if (pass == 0) {
            HYPRE_StructMatrixCreate(WORLD, cells, stencil, &g->A);
            HYPRE_StructMatrixInitialize(g->A);
        }
    }
    HYPRE_StructMatrixAssemble(g->A);
    HYPRE_StructVectorCreate(WORLD, cells, &g->b);
    HYPRE_StructVectorInitialize(g->b);
    HYPRE_StructVectorSetConstantValues(g->b, 1.0);
    HYPRE_StructVectorAssemble(g->b);
    HYPRE_StructVectorCreate(WORLD, cells, &g->x);
    HYPRE_StructVectorInitialize(g->x);
    HYPRE_StructVectorAssemble(g->x);
    HYPRE_StructStencilDestroy(stencil);
    HYPRE_StructGridDestroy(cells);
    free(values);
}

/* CG around PFMG, or around SMG; false where hypre says that it failed. */
static void solve_grid(problem *p, const grid *g, bool zeros, bool smg, int skip)
{
    const size_t bytes = (size_t)(p->last - p->first) * sizeof(double);
    result r = {.solver = smg ? "hypre-smg" : "hypre-pfmg", .setup = 1e300, .solve = 1e300};
    double *x = NULL;
    (void)snprintf(r.options, sizeof r.options, smg ? "%d points" : "%d points relax=%d skip=%d",
                   zeros ? 27 : 21, p->relax, skip);
    for (int k = 0; k <= p->repeat; ++k) { /* the first touches the memory */
        HYPRE_StructSolver C;
        HYPRE_StructSolver cg;
        HYPRE_StructVectorSetConstantValues(g->x, 0.0);
        HYPRE_StructPCGCreate(WORLD, &cg);
        HYPRE_StructPCGSetTol(cg, pow(10, RTOL_EXPONENT));
        HYPRE_StructPCGSetMaxIter(cg, MOST);
        HYPRE_StructPCGSetTwoNorm(cg, 1);
        if (smg) {
            HYPRE_StructSMGCreate(WORLD, &C);
            HYPRE_StructSMGSetMaxIter(C, 1);
            HYPRE_StructSMGSetTol(C, 0);
            HYPRE_StructSMGSetZeroGuess(C);
            HYPRE_StructPCGSetPrecond(cg, HYPRE_StructSMGSolve, HYPRE_StructSMGSetup, C);
        } else {
            HYPRE_StructPFMGCreate(WORLD, &C);
            HYPRE_StructPFMGSetMaxIter(C, 1);
            HYPRE_StructPFMGSetTol(C, 0);
            HYPRE_StructPFMGSetZeroGuess(C);
            HYPRE_StructPFMGSetRelaxType(C, p->relax);
            HYPRE_StructPFMGSetSkipRelax(C, skip);
            HYPRE_StructPCGSetPrecond(cg, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, C);
        }
        const double begin = hypre_now();
        HYPRE_StructPCGSetup(cg, g->A, g->b, g->x);
        const double made = hypre_now();
        HYPRE_StructPCGSolve(cg, g->A, g->b, g->x);
        const double end = hypre_now();
        HYPRE_StructPCGGetNumIterations(cg, &r.iterations);
        HYPRE_StructPCGDestroy(cg);
        (void)(smg ? HYPRE_StructSMGDestroy(C) : HYPRE_StructPFMGDestroy(C));
        if (k > 0) {
            r.setup = fmin(r.setup, made - begin);
            r.solve = fmin(r.solve, end - made);
        }
    }
    x = hypre_there(p->x + p->first, bytes);
    HYPRE_StructVectorGetBoxValues(g->x, (HYPRE_Int *)g->low, (HYPRE_Int *)g->high, x);
    hypre_back(x, p->x + p->first, bytes);
    hypre_print(p, &r);
}

void hypre_on_grid(problem *p)
{
    const bool zeros = p->drop == 0;
    grid g;
    make_grid(p, zeros, &g);
    for (int skip = 0; skip < 2; ++skip) {
        solve_grid(p, &g, zeros, false, skip);
    }
    if (p->smg) {
        solve_grid(p, &g, zeros, true, 0);
    }
    HYPRE_StructMatrixDestroy(g.A);
    HYPRE_StructVectorDestroy(g.b);
    HYPRE_StructVectorDestroy(g.x);
}
