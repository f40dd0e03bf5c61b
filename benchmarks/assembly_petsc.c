/*
 * Assembly on the CPU, ours beside PETSc's: the heat equation on hexahedra of first order. From one
 * array of cell matrices (cmg_fem_sum_cells) the values of A by MatSetValuesCOO, PETSc's fastest,
 * and by a product with the sum matrix; both patterns are set up before. Beside them the generator,
 * which visits every row, with mesh and pattern in its seconds.
 *
 *   OMP_NUM_THREADS=1 assembly_petsc [--cells N] [--distort D] [--repeat N]
 *
 * One process and one thread. Both have to give the generator's values to 1e-12. One JSON line.
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <petscmat.h>
#include <stdlib.h>

typedef struct work {
    cmg_context *ctx;
    cmg_fem_sum *sum;
    cmg_fem_form form;
    cmg_vector *e;
    cmg_vector *values;
    Mat M;
    bench_problem p;
    double seconds[6]; /* generator, set-up of both, cells, COO, sum */
    double error[2];
} work;

enum { GENERATOR, SUM_SETUP, COO_SETUP, CELLS, COO, SUM };

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
    double begin = bench_seconds();
    cmg_status status = cmg_hierarchy_generate(w->ctx, &o, h);
    keep_least(&w->seconds[GENERATOR], begin);
    cmg_fem_mesh mesh = {.element = CMG_ELEMENT_Q1, .dim = 3, .cell_nodes = corners};
    mesh.nodes = (o.cells + 1) * (o.cells + 1) * (o.cells + 1);
    mesh.cells = o.cells * o.cells * o.cells;
    cmg_size numbers = 0;
    status = status ? status : cmg_hierarchy_get_vector(*h, 0, "coords", NULL, &numbers, &mesh.x);
    q1_corners(o.cells, corners);
    begin = bench_seconds();
    status = status ? status : cmg_fem_sum_create(w->ctx, &mesh, 1, false, NULL, &w->sum);
    keep_least(&w->seconds[SUM_SETUP], begin);
    const cmg_csr A = cmg_fem_sum_csr(w->sum);
    status = status ? status : cmg_vector_create(w->ctx, 64 * mesh.cells, CMG_FP64, &w->e);
    return status ? status : cmg_vector_create(w->ctx, A.indptr[A.rows], CMG_FP64, &w->values);
}

static PetscErrorCode make_coo(work *w, const cmg_index *corners)
{
    const PetscInt rows = (PetscInt)cmg_fem_sum_csr(w->sum).rows;
    const PetscCount n = cmg_vector_length(w->e);
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
    keep_least(&w->seconds[COO_SETUP], begin);
    free(ij);
    PetscFunctionReturn(0);
}

static PetscErrorCode measure(work *w, cmg_status *status)
{
    PetscFunctionBegin;
    for (int k = 0; k <= w->p.repeat && *status == CMG_OK; ++k) {
        double begin = bench_seconds();
        *status = cmg_fem_sum_cells(w->sum, &w->form, NULL, w->e);
        keep_least(&w->seconds[CELLS], begin);
        begin = bench_seconds();
        *status = *status ? *status : cmg_fem_sum_matrix(w->sum, w->e, w->values);
        keep_least(&w->seconds[SUM], begin);
        begin = bench_seconds();
        PetscCall(MatSetValuesCOO(w->M, cmg_vector_data(w->e), INSERT_VALUES));
        keep_least(&w->seconds[COO], begin);
    }
    PetscFunctionReturn(0);
}

/* Distances from the generator's values, over the largest of these. */
static PetscErrorCode compare(work *w, const cmg_csr *A)
{
    const PetscScalar *theirs = NULL;
    const double *ours = cmg_vector_data(w->values);
    double largest = 0;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArrayRead(w->M, &theirs));
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        largest = fmax(largest, fabs(A->values[k]));
        w->error[0] = fmax(w->error[0], fabs(A->values[k] - ours[k]));
        w->error[1] = fmax(w->error[1], fabs(A->values[k] - theirs[k]));
    }
    w->error[0] /= largest;
    w->error[1] /= largest;
    PetscCall(MatSeqAIJRestoreArrayRead(w->M, &theirs));
    PetscFunctionReturn(0);
}

static void print_line(const work *w, const cmg_csr *A)
{
    printf("{\"benchmark\": \"assembly-petsc\", \"problem\": \"heat-q1-3d-%d\", \"distort\": %g, "
           "\"unknowns\": %lld, \"entries\": %lld, \"generator_seconds\": %.4g, "
           "\"sum_setup_seconds\": %.4g, \"coo_setup_seconds\": %.4g, \"cells_seconds\": %.4g, "
           "\"sum_seconds\": %.4g, \"coo_seconds\": %.4g, \"sum_error\": %.3g, "
           "\"coo_error\": %.3g, \"petsc\": \"%d.%d.%d\", \"repeats\": %d, ",
           w->p.cells, w->p.distort, (long long)A->rows, (long long)A->indptr[A->rows],
           w->seconds[GENERATOR], w->seconds[SUM_SETUP], w->seconds[COO_SETUP], w->seconds[CELLS],
           w->seconds[SUM], w->seconds[COO], w->error[0], w->error[1], PETSC_VERSION_MAJOR,
           PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, w->p.repeat);
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
    if (!bench_parse("assembly_petsc", argc, argv, &w.p, NULL, NULL)) {
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
    cmg_vector_destroy(&w.e);
    cmg_vector_destroy(&w.values);
    cmg_fem_sum_destroy(&w.sum);
    cmg_context_destroy(&w.ctx);
    PetscCall(PetscFinalize());
    return status != CMG_OK ? 4 : w.error[0] <= 1e-12 && w.error[1] <= 1e-12 ? 0 : 3;
}
