/*
 * hypre on the problems of bench_solve, on the CPU or the GPU as it was built: 3D Q1 or P1 Poisson,
 * b = 1, CG to the same relative residual, which is recomputed here from the matrix of libcmgfem.
 *
 *   bench_hypre --cells 128                 PFMG on the grid's 27 points, and BoomerAMG
 *   bench_hypre --cells 128 --smg 1         SMG, too
 *   bench_hypre --cells 128 --drop 1        PFMG alone, exact zeros left out (not with hypre 2.26)
 *   bench_hypre --cells 128 --distort 0.4   BoomerAMG on a mesh without two equal cells
 *   bench_hypre --cells 128 --p1 1          BoomerAMG on tetrahedra
 *
 * One JSON line a setting, the least of `--repeat` set-ups and solves after one that is not timed.
 * Settings name what differs from hypre's own defaults. PFMG relaxes by weighted Jacobi: red-black
 * (--relax 2) has ended in memory errors on these stencils.
 */
#include "peers_hypre.h"

double hypre_now(void)
{
#ifdef HYPRE_USING_CUDA
    (void)cudaDeviceSynchronize();
#endif
    return bench_seconds();
}

void *hypre_there(const void *from, size_t bytes)
{
    void *to = NULL;
#ifdef HYPRE_USING_CUDA
    if (cudaMalloc(&to, bytes + 1) != cudaSuccess ||
        cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
        (void)fprintf(stderr, "bench_hypre: no device memory\n");
        exit(1);
    }
#else
    to = malloc(bytes + 1);
    memcpy(to, from, bytes);
#endif
    return to;
}

void hypre_back(void *from, void *to, size_t bytes)
{
#ifdef HYPRE_USING_CUDA
    if (to != NULL) {
        (void)cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
    }
    (void)cudaFree(from);
#else
    if (to != NULL) {
        memcpy(to, from, bytes);
    }
    free(from);
#endif
}

/* First row of a process: whole planes of the grid. */
static int first_of(const problem *p, int rank)
{
    const cmg_size plane = (cmg_size)(p->cells - 1) * (p->cells - 1);
    const cmg_size planes = p->A.rows / plane;
    return (int)(rank == p->processes ? p->A.rows : plane * (planes * rank / p->processes));
}

/* ||b - A x|| / ||b|| with b = 1 and the own rows of x put together. */
static double true_residual(problem *p)
{
    double rr = 0;
#ifndef HYPRE_SEQUENTIAL
    for (int r = 0; r < p->processes; ++r) { /* x of all */
        const int from = first_of(p, r);
        MPI_Bcast(p->x + from, first_of(p, r + 1) - from, MPI_DOUBLE, r, WORLD);
    }
#endif
    for (cmg_size i = 0; i < p->A.rows; ++i) {
        double r = 1;
        for (cmg_size k = p->A.indptr[i]; k < p->A.indptr[i + 1]; ++k) {
            r -= p->A.values[k] * p->x[p->A.indices[k]];
        }
        rr += r * r;
    }
    return sqrt(rr / (double)p->A.rows);
}

void hypre_print(problem *p, const result *r)
{
    const double residual = true_residual(p);
    char device[256] = "";
    const char *backend = "cpu";
#ifdef HYPRE_USING_CUDA
    struct cudaDeviceProp about;
    (void)cudaGetDeviceProperties(&about, 0);
    (void)snprintf(device, sizeof device, "%s", about.name);
    backend = "cuda";
#endif
    if (p->rank == 0) {
        printf(
            "{\"benchmark\": \"solve\", \"solver\": \"%s, %s\", \"hypre\": "
            "\"%s\", "
            "\"backend\": \"%s\", \"device\": \"%s\", \"problem\": \"%s-3d-%d\", \"distort\": %g, "
            "\"unknowns\": %lld, \"iterations\": %d, \"relative_residual\": %.3g, "
            "\"converged\": %s, \"setup_seconds\": %.5g, \"solve_seconds\": %.5g, "
            "\"best_of\": %d, \"processes\": %d, ",
            r->solver, r->options, HYPRE_RELEASE_VERSION, backend, device, p->p1 ? "p1" : "q1",
            p->cells, p->distort, (long long)p->A.rows, (int)r->iterations, residual,
            residual <= 1.001 * pow(10, RTOL_EXPONENT) ? "true" : "false", r->setup, r->solve,
            p->repeat, p->processes);
        bench_machine(stdout, 1);
        printf(", \"command\": \"%s\"}\n", p->command);
        (void)fflush(stdout);
    }
}

/* ------------------------------------------------------------------ a matrix alone */

static HYPRE_IJVector make_vector(const problem *p, double value)
{
    const int n = p->last - p->first;
    HYPRE_IJVector v;
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    HYPRE_BigInt *rows = malloc(((size_t)n + 1) * sizeof *rows);
    for (int i = 0; i < n; ++i) {
        values[i] = value;
        rows[i] = p->first + i;
    }
    double *values_there = hypre_there(values, (size_t)n * sizeof *values);
    HYPRE_BigInt *rows_there = hypre_there(rows, (size_t)n * sizeof *rows);
    HYPRE_IJVectorCreate(WORLD, p->first, p->last - 1, &v);
    HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(v);
    HYPRE_IJVectorSetValues(v, n, rows_there, values_there);
    HYPRE_IJVectorAssemble(v);
    hypre_back(values_there, NULL, 0);
    hypre_back(rows_there, NULL, 0);
    free(values);
    free(rows);
    return v;
}

static HYPRE_IJMatrix make_matrix(const problem *p)
{
    const int n = p->last - p->first;
    const cmg_size begin = p->A.indptr[p->first];
    const size_t nnz = (size_t)(p->A.indptr[p->last] - begin);
    HYPRE_IJMatrix A;
    HYPRE_Int *counts = malloc(((size_t)n + 1) * sizeof *counts);
    HYPRE_BigInt *rows = malloc(((size_t)n + 1) * sizeof *rows);
    for (int i = 0; i < n; ++i) {
        counts[i] = (HYPRE_Int)(p->A.indptr[p->first + i + 1] - p->A.indptr[p->first + i]);
        rows[i] = p->first + i;
    }
    void *parts[4] = {hypre_there(counts, (size_t)n * sizeof *counts),
                      hypre_there(rows, (size_t)n * sizeof *rows),
                      hypre_there(p->A.indices + begin, nnz * sizeof(cmg_index)),
                      hypre_there(p->A.values + begin, nnz * sizeof(double))};
    HYPRE_IJMatrixCreate(WORLD, p->first, p->last - 1, p->first, p->last - 1, &A);
    HYPRE_IJMatrixSetObjectType(A, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(A);
    HYPRE_IJMatrixSetValues(A, n, parts[0], parts[1], parts[2], parts[3]);
    HYPRE_IJMatrixAssemble(A);
    for (int k = 0; k < 4; ++k) {
        hypre_back(parts[k], NULL, 0);
    }
    free(counts);
    free(rows);
    return A;
}

/* What a setting changes; 0 = hypre's own. */
typedef struct setting {
    const char *name;
    double threshold;
    int aggressive; /* levels */
    int chebyshev;  /* degree of the smoother */
} setting;

static const setting settings[] = {{"own defaults", 0, 0, 0},
                                   {"aggressive=1", 0, 1, 0},
                                   {"strong=0.5", 0.5, 0, 0},
                                   {"strong=0.5 aggressive=1", 0.5, 1, 0},
                                   {"aggressive=1 chebyshev=2", 0, 1, 2}};

static HYPRE_Solver make_boomer(const setting *with)
{
    HYPRE_Solver C;
    HYPRE_BoomerAMGCreate(&C);
    HYPRE_BoomerAMGSetTol(C, 0);
    HYPRE_BoomerAMGSetMaxIter(C, 1);
#ifdef HYPRE_USING_CUDA
    HYPRE_BoomerAMGSetKeepTranspose(C, 1); /* as its manual advises */
#endif
    if (with->threshold > 0) {
        HYPRE_BoomerAMGSetStrongThreshold(C, with->threshold);
    }
    if (with->aggressive > 0) {
        HYPRE_BoomerAMGSetAggNumLevels(C, with->aggressive);
#ifdef HYPRE_USING_CUDA
        HYPRE_BoomerAMGSetAggInterpType(C, 7); /* the default has no device code */
#endif
    }
    if (with->chebyshev > 0) {
        HYPRE_BoomerAMGSetRelaxType(C, 16);
        HYPRE_BoomerAMGSetChebyOrder(C, with->chebyshev);
    }
    return C;
}

static void solve_matrix(problem *p, HYPRE_ParCSRMatrix A, HYPRE_IJVector ib, HYPRE_IJVector ix,
                         const setting *with)
{
    const int n = p->last - p->first;
    result r = {.solver = "hypre-boomeramg", .setup = 1e300, .solve = 1e300};
    HYPRE_ParVector b;
    HYPRE_ParVector x;
    (void)snprintf(r.options, sizeof r.options, "%s", with->name);
    HYPRE_IJVectorGetObject(ib, (void **)&b);
    HYPRE_IJVectorGetObject(ix, (void **)&x);
    for (int k = 0; k <= p->repeat; ++k) { /* the first touches the memory */
        HYPRE_Solver C = make_boomer(with);
        HYPRE_Solver cg;
        HYPRE_ParVectorSetConstantValues(x, 0);
        HYPRE_ParCSRPCGCreate(WORLD, &cg);
        HYPRE_PCGSetTol(cg, pow(10, RTOL_EXPONENT));
        HYPRE_PCGSetMaxIter(cg, MOST);
        HYPRE_PCGSetTwoNorm(cg, 1);
        HYPRE_PCGSetPrecond(cg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                            (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, C);
        const double begin = hypre_now();
        HYPRE_ParCSRPCGSetup(cg, A, b, x);
        const double made = hypre_now();
        HYPRE_ParCSRPCGSolve(cg, A, b, x);
        const double end = hypre_now();
        HYPRE_PCGGetNumIterations(cg, &r.iterations);
        HYPRE_ParCSRPCGDestroy(cg);
        HYPRE_BoomerAMGDestroy(C);
        if (k > 0) {
            r.setup = fmin(r.setup, made - begin);
            r.solve = fmin(r.solve, end - made);
        }
    }
    HYPRE_BigInt *rows = malloc(((size_t)n + 1) * sizeof *rows);
    for (int i = 0; i < n; ++i) {
        rows[i] = p->first + i;
    }
    HYPRE_BigInt *rows_there = hypre_there(rows, (size_t)n * sizeof *rows);
    double *values = hypre_there(p->x + p->first, (size_t)n * sizeof *values);
    HYPRE_IJVectorGetValues(ix, n, rows_there, values);
    hypre_back(values, p->x + p->first, (size_t)n * sizeof *values);
    hypre_back(rows_there, NULL, 0);
    free(rows);
    hypre_print(p, &r);
}

/* The finest matrix of libcmgfem, which every process makes. */
static int make_problem(problem *p, cmg_context **ctx, cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = 3;
    o.cells = p->cells;
    o.element = p->p1 ? CMG_ELEMENT_P1 : CMG_ELEMENT_Q1;
    o.distort = p->distort;
    o.coefficient = p->distort > 0 ? CMG_COEFFICIENT_SMOOTH : CMG_COEFFICIENT_CONSTANT;
    o.levels = 1; /* as q1_distorted: nodes are shifted on a mesh of 16 cells a side or fewer */
    for (int n = p->cells; p->distort > 0 && n % 2 == 0 && n > 16; n /= 2) {
        ++o.levels;
    }
    o.coords = false;
    o.output_mesh = false;
    cmg_status status = cmg_context_create(NULL, ctx);
    status = THEN(status, cmg_hierarchy_generate(*ctx, &o, h));
    status = THEN(status, cmg_hierarchy_get_csr(*h, 0, CMG_ROLE_A, NULL, 0, &p->A));
    p->first = status == CMG_OK ? first_of(p, p->rank) : 0;
    p->last = status == CMG_OK ? first_of(p, p->rank + 1) : 0;
    p->x = calloc((size_t)p->A.rows + 1, sizeof *p->x);
    return status == CMG_OK ? 0 : bench_failed("bench_hypre", *ctx, status);
}

static void run(problem *p)
{
    if (p->distort == 0 && !p->p1) {
        hypre_on_grid(p);
    }
    if (p->drop) {
        return;
    }
    HYPRE_ParCSRMatrix A;
    HYPRE_IJMatrix matrix = make_matrix(p);
    HYPRE_IJVector b = make_vector(p, 1);
    HYPRE_IJVector x = make_vector(p, 0);
    HYPRE_IJMatrixGetObject(matrix, (void **)&A);
    for (size_t k = 0; k < sizeof settings / sizeof *settings; ++k) {
        solve_matrix(p, A, b, x, &settings[k]);
    }
    HYPRE_IJVectorDestroy(b);
    HYPRE_IJVectorDestroy(x);
    HYPRE_IJMatrixDestroy(matrix);
}

static void begin_hypre(problem *p, int *argc, char ***argv)
{
#ifndef HYPRE_SEQUENTIAL
    MPI_Init(argc, argv);
    MPI_Comm_rank(WORLD, &p->rank);
    MPI_Comm_size(WORLD, &p->processes);
#endif
    (void)p;
    (void)argc;
    (void)argv;
#if HYPRE_RELEASE_NUMBER >= 22900
    HYPRE_Initialize();
#else
    HYPRE_Init();
#endif
#ifdef HYPRE_USING_CUDA
    HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE);
    HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE);
    HYPRE_SetSpGemmUseVendor(0); /* the faster one on this device in older trials */
#endif
}

int main(int argc, char **argv)
{
    problem p = {.cells = 64, .relax = 1, .repeat = 3, .processes = 1};
    struct {
        const char *name;
        int *value;
    } numbers[] = {{"--cells", &p.cells}, {"--p1", &p.p1},       {"--smg", &p.smg},
                   {"--drop", &p.drop},   {"--relax", &p.relax}, {"--repeat", &p.repeat}};
    char command[256] = "bench_hypre";
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    begin_hypre(&p, &argc, &argv);
    for (int a = 1; a + 1 < argc; a += 2) {
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
            if (strcmp(argv[a], numbers[k].name) == 0) {
                *numbers[k].value = atoi(argv[a + 1]);
            }
        }
        if (strcmp(argv[a], "--distort") == 0) {
            p.distort = atof(argv[a + 1]);
        }
        const size_t used = strlen(command);
        (void)snprintf(command + used, sizeof command - used, " %s %s", argv[a], argv[a + 1]);
    }
    p.command = command;
    const int failed = make_problem(&p, &ctx, &h);
    if (!failed) {
        run(&p);
    }
    free(p.x);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    HYPRE_Finalize();
#ifndef HYPRE_SEQUENTIAL
    MPI_Finalize();
#endif
    return failed;
}
