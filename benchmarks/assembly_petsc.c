/*
 * Assembly on the CPU, ours beside PETSc's: the heat equation on hexahedra of first order. From
 * cell matrices (cmg_fem_sum_cells) the values of A by MatSetValuesCOO, PETSc's fastest, and by
 * products with sum matrices, one of the same 64 numbers a cell and one of the upper triangles; all
 * patterns are set up before. Beside them the generator, which visits every row, with mesh and
 * pattern in its seconds.
 *
 *   OMP_NUM_THREADS=1 assembly_petsc [--cells N] [--distort D] [--repeat N]
 *
 * One process and one thread. All have to give the generator's values to 1e-12. One JSON line.
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <petscmat.h>
#include <stdlib.h>

enum { FULL, UPPER, LAYOUTS }; /* of cell matrices */

typedef struct work {
    cmg_context *ctx;
    cmg_fem_sum *sum[LAYOUTS];
    cmg_fem_form form;
    cmg_vector *e[LAYOUTS];
    cmg_vector *values[LAYOUTS];
    Mat M;
    bench_problem p;
    double generator; /* seconds, these and the following */
    double coo_setup;
    double coo;
    double setup[LAYOUTS];
    double cells[LAYOUTS];
    double sums[LAYOUTS];
    double error[LAYOUTS + 1]; /* the last is PETSc's */
} work;

static void keep_least(double *least, double begin)
{
    const double seconds = bench_seconds() - begin;
    *least = *least == 0 || seconds < *least ? seconds : *least;
}

static cmg_status make(work *w, cmg_hierarchy **h, cmg_index *corners)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = 3;
    o.cells = w->p.cells;
    o.levels = 1;
    o.distort = w->p.distort;
    o.problem = CMG_PROBLEM_HEAT;
    o.time_step = w->form.time_step;
    o.boundary = CMG_BOUNDARY_NEUMANN;
    o.general = true;
    o.output_mesh = false;
    const double begin = bench_seconds();
    cmg_status status = cmg_hierarchy_generate(w->ctx, &o, h);
    keep_least(&w->generator, begin);
    cmg_fem_mesh mesh = {.element = CMG_ELEMENT_Q1, .dim = 3, .cell_nodes = corners};
    mesh.nodes = (o.cells + 1) * (o.cells + 1) * (o.cells + 1);
    mesh.cells = o.cells * o.cells * o.cells;
    cmg_size numbers = 0;
    status = status ? status : cmg_hierarchy_get_vector(*h, 0, "coords", NULL, &numbers, &mesh.x);
    q1_corners(o.cells, corners);
    for (int k = 0; k < LAYOUTS && status == CMG_OK; ++k) {
        const double start = bench_seconds();
        status = cmg_fem_sum_create(w->ctx, &mesh, 1, k == UPPER, NULL, &w->sum[k]);
        keep_least(&w->setup[k], start);
        const cmg_csr A = cmg_fem_sum_csr(w->sum[k]);
        const cmg_size n = mesh.cells * cmg_fem_sum_entries(w->sum[k]);
        status = status ? status : cmg_vector_create(w->ctx, n, CMG_FP64, &w->e[k]);
        status =
            status ? status : cmg_vector_create(w->ctx, A.indptr[A.rows], CMG_FP64, &w->values[k]);
    }
    return status;
}

static PetscErrorCode make_coo(work *w, const cmg_index *corners)
{
    const PetscInt rows = (PetscInt)cmg_fem_sum_csr(w->sum[FULL]).rows;
    const PetscCount n = cmg_vector_length(w->e[FULL]);
    PetscInt *ij = malloc((size_t)(2 * n) * sizeof *ij);
    PetscFunctionBegin;
    for (PetscCount k = 0; k < n; ++k) {
        ij[k] = corners[k / 64 * 8 + k / 8 % 8];
        ij[n + k] = corners[k / 64 * 8 + k % 8];
    }
    PetscCall(MatCreate(PETSC_COMM_WORLD, &w->M));
    PetscCall(MatSetSizes(w->M, rows, rows, rows, rows));
    PetscCall(MatSetType(w->M, MATAIJ));
    const double begin = bench_seconds();
    PetscCall(MatSetPreallocationCOO(w->M, n, ij, ij + n));
    keep_least(&w->coo_setup, begin);
    free(ij);
    PetscFunctionReturn(0);
}

static PetscErrorCode measure(work *w, cmg_status *status)
{
    PetscFunctionBegin;
    for (int r = 0; r <= w->p.repeat && *status == CMG_OK; ++r) {
        for (int k = 0; k < LAYOUTS && *status == CMG_OK; ++k) {
            double begin = bench_seconds();
            *status = cmg_fem_sum_cells(w->sum[k], &w->form, NULL, w->e[k]);
            keep_least(&w->cells[k], begin);
            begin = bench_seconds();
            *status = *status ? *status : cmg_fem_sum_matrix(w->sum[k], w->e[k], w->values[k]);
            keep_least(&w->sums[k], begin);
        }
        const double begin = bench_seconds();
        PetscCall(MatSetValuesCOO(w->M, cmg_vector_data(w->e[FULL]), INSERT_VALUES));
        keep_least(&w->coo, begin);
    }
    PetscFunctionReturn(0);
}

/* Distances from the generator's values, over the largest of these. */
static PetscErrorCode compare(work *w, const cmg_csr *A)
{
    const PetscScalar *theirs = NULL;
    double largest = 0;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArrayRead(w->M, &theirs));
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        largest = fmax(largest, fabs(A->values[k]));
    }
    for (int s = 0; s <= LAYOUTS; ++s) {
        const double *values = s < LAYOUTS ? cmg_vector_data(w->values[s]) : theirs;
        for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
            w->error[s] = fmax(w->error[s], fabs(A->values[k] - values[k]) / largest);
        }
    }
    PetscCall(MatSeqAIJRestoreArrayRead(w->M, &theirs));
    PetscFunctionReturn(0);
}

static void print_line(const work *w, const cmg_csr *A)
{
    printf("{\"benchmark\": \"assembly-petsc\", \"problem\": \"heat-q1-3d-%d\", \"distort\": %g, "
           "\"unknowns\": %lld, \"entries\": %lld, \"generator_seconds\": %.4g, "
           "\"coo_setup_seconds\": %.4g, \"coo_seconds\": %.4g, \"coo_error\": %.3g, ",
           w->p.cells, w->p.distort, (long long)A->rows, (long long)A->indptr[A->rows],
           w->generator, w->coo_setup, w->coo, w->error[LAYOUTS]);
    for (int k = 0; k < LAYOUTS; ++k) {
        const char *name = k == FULL ? "full" : "upper";
        printf("\"%s_setup_seconds\": %.4g, \"%s_cells_seconds\": %.4g, "
               "\"%s_sum_seconds\": %.4g, \"%s_error\": %.3g, ",
               name, w->setup[k], name, w->cells[k], name, w->sums[k], name, w->error[k]);
    }
    printf("\"petsc\": \"%d.%d.%d\", \"repeats\": %d, ", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR, w->p.repeat);
    bench_machine(stdout, cmg_context_threads(w->ctx));
    printf("}\n");
}

static PetscErrorCode run(work *w, cmg_status *status)
{
    const size_t cells = (size_t)w->p.cells * (size_t)w->p.cells * (size_t)w->p.cells;
    cmg_index *corners = malloc(8 * cells * sizeof *corners);
    cmg_hierarchy *h = NULL;
    cmg_csr A = {0};
    PetscFunctionBegin;
    *status = corners == NULL ? CMG_ERR_MEMORY : make(w, &h, corners);
    if (*status == CMG_OK) {
        PetscCall(make_coo(w, corners));
        PetscCall(measure(w, status));
        *status = *status ? *status : cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A);
    }
    if (*status == CMG_OK) {
        PetscCall(compare(w, &A));
        print_line(w, &A);
    }
    PetscCall(MatDestroy(&w->M));
    cmg_hierarchy_destroy(&h);
    free(corners);
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    work w = {.form = {.problem = CMG_PROBLEM_HEAT, .time_step = 1},
              .p = {.dim = 3, .cells = 64, .repeat = 9}};
    if (!bench_parse("assembly_petsc", argc, argv, &w.p, NULL)) {
        return 1;
    }
    w.p.context.threads = 1;
    PetscCall(PetscInitializeNoArguments());
    cmg_status status = cmg_context_create(&w.p.context, &w.ctx);
    if (status == CMG_OK) {
        PetscCall(run(&w, &status));
    }
    if (status != CMG_OK) {
        (void)bench_failed("assembly_petsc", w.ctx, status);
    }
    bool good = true;
    for (int k = 0; k < LAYOUTS; ++k) {
        cmg_vector_destroy(&w.e[k]);
        cmg_vector_destroy(&w.values[k]);
        cmg_fem_sum_destroy(&w.sum[k]);
        good = good && w.error[k] <= 1e-12;
    }
    cmg_context_destroy(&w.ctx);
    PetscCall(PetscFinalize());
    return status != CMG_OK ? 4 : good && w.error[LAYOUTS] <= 1e-12 ? 0 : 3;
}
