/*
 * The cardiac simulation with PETSc, to compare with: the cells of examples/heart/model.h, the same
 * Newton iteration and tolerances, KSPCG with block Jacobi (ILU(0) in every block), one MPI process
 * a core. The mesh is what `heart --dump DIR` has written:
 *
 *   mpirun -n 2 bench_heart_petsc -dump DIR -steps 20 [-pc_type jacobi]
 *
 * Prints one JSON object. Assembly is MatSetValuesCOO, which is PETSc's fastest.
 */
#include "../examples/heart/model.h"
#include "bench.h"

#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 4, PAIRS = 6, UPPER = 10, MOST = 12 };

typedef struct parts {
    double cells;
    double sums;
    double prepare;
    double solve;
} parts;

typedef struct problem {
    cell_arrays cells; /* of this process, nodes numbered as in `near` */
    Vec phi;
    Vec past[3];
    Vec R;
    Vec dphi;
    Vec near; /* phi of the nodes of these cells */
    Vec near_old;
    VecScatter gather;
    Mat K;
    KSP ksp;
    PetscScalar *entries; /* cells x 16 */
    double scale;
    double taken[2];
    int known;
    int newton;
    int iterations;
    parts spent;
} problem;

/* Numbers of a .npy file of fp64. */
static double *read_npy(const char *folder, const char *name, PetscInt *n)
{
    char path[4096];
    unsigned char head[10];
    (void)snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(head, 1, sizeof head, file) != sizeof head) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    const long begin = 10 + head[8] + 256L * head[9];
    (void)fseek(file, 0, SEEK_END);
    *n = (PetscInt)((ftell(file) - begin) / 8);
    double *values = malloc((size_t)*n * sizeof *values);
    (void)fseek(file, begin, SEEK_SET);
    if (values == NULL || fread(values, 8, (size_t)*n, file) != (size_t)*n) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    (void)fclose(file);
    return values;
}

static int by_number(const void *a, const void *b)
{
    const PetscInt x = *(const PetscInt *)a;
    const PetscInt y = *(const PetscInt *)b;
    return x < y ? -1 : x > y;
}

/* Cells whose centre is in the lowest tenth along z. */
static unsigned char *stimulated(PetscInt n, const double *x, const double *corner, PetscInt cells)
{
    double low = INFINITY;
    double high = -INFINITY;
    unsigned char *found = calloc((size_t)cells, 1);
    for (PetscInt i = 0; i < n; ++i) {
        low = fmin(low, x[3 * i + 2]);
        high = fmax(high, x[3 * i + 2]);
    }
    for (PetscInt c = 0; c < cells; ++c) {
        double z = 0;
        for (int a = 0; a < CORNERS; ++a) {
            z += x[3 * (PetscInt)corner[c * CORNERS + a] + 2] / CORNERS;
        }
        found[c] = z <= low + (high - low) / 10;
    }
    return found;
}

/* Vectors, the matrix's pattern, and what brings phi to the cells. */
static PetscErrorCode make_objects(problem *p, PetscInt n, const PetscInt *node)
{
    const PetscInt count = (PetscInt)p->cells.cells * CORNERS;
    PetscInt *rows = malloc((size_t)(4 * count) * sizeof *rows);
    PetscInt *cols = malloc((size_t)(4 * count) * sizeof *cols);
    PetscInt *near = malloc((size_t)count * sizeof *near);
    int32_t *local = malloc((size_t)count * sizeof *local);
    PetscInt known = 0;
    IS is;
    memcpy(near, node, (size_t)count * sizeof *near);
    qsort(near, (size_t)count, sizeof *near, by_number);
    for (PetscInt k = 0; k < count; ++k) {
        if (k == 0 || near[k] != near[known - 1]) {
            near[known++] = near[k];
        }
    }
    for (PetscInt k = 0; k < count; ++k) {
        const PetscInt *at = bsearch(node + k, near, (size_t)known, sizeof *near, by_number);
        local[k] = (int32_t)(at - near);
        for (int b = 0; b < CORNERS; ++b) {
            rows[4 * k + b] = node[k];
            cols[4 * k + b] = node[k / CORNERS * CORNERS + b];
        }
    }
    p->cells.nodes = local;
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, n, &p->phi));
    for (int k = 0; k < 3; ++k) {
        PetscCall(VecDuplicate(p->phi, &p->past[k]));
    }
    PetscCall(VecDuplicate(p->phi, &p->dphi));
    PetscCall(VecDuplicate(p->phi, &p->R));
    PetscCall(VecSetPreallocationCOO(p->R, count, node));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, known, &p->near));
    PetscCall(VecDuplicate(p->near, &p->near_old));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, known, near, PETSC_COPY_VALUES, &is));
    PetscCall(VecScatterCreate(p->phi, is, p->near, NULL, &p->gather));
    PetscCall(ISDestroy(&is));
    PetscInt own;
    PetscCall(VecGetLocalSize(p->phi, &own));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &p->K));
    PetscCall(MatSetSizes(p->K, own, own, n, n));
    PetscCall(MatSetType(p->K, MATAIJ));
    PetscCall(MatSetPreallocationCOO(p->K, 4 * count, rows, cols));
    free(rows);
    free(cols);
    free(near);
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &p->ksp));
    PetscCall(KSPSetType(p->ksp, KSPCG));
    PetscCall(KSPSetNormType(p->ksp, KSP_NORM_UNPRECONDITIONED));
    PC pc;
    PetscCall(KSPGetPC(p->ksp, &pc));
    PetscCall(PCSetType(pc, PCBJACOBI));
    return KSPSetFromOptions(p->ksp);
}

static PetscErrorCode load(problem *p, const char *folder)
{
    PetscInt n3;
    PetscInt count;
    PetscInt other;
    PetscMPIInt rank;
    PetscMPIInt ranks;
    double *x = read_npy(folder, "x", &n3);
    double *corner = read_npy(folder, "cells", &count);
    double *volume = read_npy(folder, "volume", &other);
    double *stiffness = read_npy(folder, "stiffness", &other);
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    const PetscInt all = count / CORNERS;
    const PetscInt first = all * rank / ranks;
    const PetscInt cells = all * (rank + 1) / ranks - first;
    PetscInt *node = malloc((size_t)(cells * CORNERS) * sizeof *node);
    for (PetscInt k = 0; k < cells * CORNERS; ++k) {
        node[k] = (PetscInt)corner[first * CORNERS + k];
    }
    p->cells.cells = cells;
    p->cells.volume = volume + first;
    p->cells.stiffness = stiffness + first * PAIRS;
    p->cells.stimulated = stimulated(n3 / 3, x, corner, all) + first;
    p->cells.r = calloc((size_t)cells, sizeof(double));
    p->cells.r_old = calloc((size_t)cells, sizeof(double));
    p->cells.matrix = calloc((size_t)(cells * UPPER), sizeof(double));
    p->cells.residual = calloc((size_t)(cells * CORNERS), sizeof(double));
    p->cells.diagonal = calloc((size_t)(cells * CORNERS), sizeof(double));
    p->entries = calloc((size_t)(cells * CORNERS * CORNERS), sizeof *p->entries);
    PetscCall(make_objects(p, n3 / 3, node));
    for (PetscInt k = 0; k < cells * CORNERS; ++k) {
        p->cells.residual[k] = p->cells.volume[k / CORNERS] / CORNERS;
    }
    PetscCall(VecSetValuesCOO(p->R, p->cells.residual, INSERT_VALUES));
    PetscCall(VecNorm(p->R, NORM_2, &p->scale));
    free(node);
    free(x);
    free(corner);
    return 0;
}

/* -R and the matrices of the cells at phi. */
static PetscErrorCode evaluate(problem *p)
{
    const double begin = bench_seconds();
    const PetscScalar *phi;
    const PetscScalar *old;
    PetscCall(VecScatterBegin(p->gather, p->phi, p->near, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(p->gather, p->phi, p->near, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterBegin(p->gather, p->past[0], p->near_old, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(p->gather, p->past[0], p->near_old, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(p->near, &phi));
    PetscCall(VecGetArrayRead(p->near_old, &old));
    p->cells.phi = phi;
    p->cells.phi_old = old;
    for (long long i = 0; i < p->cells.cells; ++i) {
        cell_newton(&p->cells, CORNERS, i);
    }
    PetscCall(VecRestoreArrayRead(p->near, &phi));
    PetscCall(VecRestoreArrayRead(p->near_old, &old));
    p->spent.cells += bench_seconds() - begin;
    return VecSetValuesCOO(p->R, p->cells.residual, INSERT_VALUES);
}

static PetscErrorCode assemble(problem *p)
{
    for (long long i = 0; i < p->cells.cells; ++i) {
        const double *upper = p->cells.matrix + i * UPPER;
        PetscScalar *full = p->entries + i * CORNERS * CORNERS;
        for (int a = 0; a < CORNERS; ++a) {
            for (int b = a; b < CORNERS; ++b) {
                full[a * CORNERS + b] = full[b * CORNERS + a] = *upper++;
            }
        }
    }
    return MatSetValuesCOO(p->K, p->entries, INSERT_VALUES);
}

static PetscErrorCode newton(problem *p, double dt)
{
    const double enough = 1e-10 * p->scale / dt;
    p->cells.dt = dt;
    for (int k = 0; k <= MOST; ++k) {
        double norm;
        double begin = bench_seconds();
        const double before = p->spent.cells;
        PetscInt its;
        PetscCall(evaluate(p));
        PetscCall(VecNorm(p->R, NORM_2, &norm));
        p->spent.sums += bench_seconds() - begin - (p->spent.cells - before);
        if (norm <= enough) {
            return 0;
        }
        begin = bench_seconds();
        PetscCall(assemble(p));
        p->spent.sums += bench_seconds() - begin;
        begin = bench_seconds();
        PetscCall(KSPSetOperators(p->ksp, p->K, p->K));
        PetscCall(KSPSetTolerances(p->ksp, k == 0 ? 1e-2 : 1e-5, enough, 1e5, 1000));
        PetscCall(KSPSetUp(p->ksp));
        PetscCall(KSPSetUpOnBlocks(p->ksp));
        p->spent.prepare += bench_seconds() - begin;
        begin = bench_seconds();
        PetscCall(KSPSolve(p->ksp, p->R, p->dphi));
        PetscCall(KSPGetIterationNumber(p->ksp, &its));
        p->spent.solve += bench_seconds() - begin;
        ++p->newton;
        p->iterations += (int)its;
        PetscCall(VecAXPY(p->phi, 1, p->dphi));
    }
    (void)fprintf(stderr, "no convergence\n");
    return PETSC_ERR_NOT_CONVERGED;
}

/* As step.c of the example: phi from the parabola through the last three. */
static PetscErrorCode step(problem *p, double dt)
{
    Vec oldest = p->past[2];
    double *r = (double *)(uintptr_t)p->cells.r_old;
    p->past[2] = p->past[1];
    p->past[1] = p->past[0];
    p->past[0] = p->phi;
    p->phi = oldest;
    p->cells.r_old = p->cells.r;
    p->cells.r = r;
    const double *d = p->taken;
    const double slope = p->known > 0 ? dt / d[0] : 0;
    const double bend = p->known > 1 ? dt * (dt + d[0]) / (d[0] + d[1]) : 0;
    PetscCall(VecCopy(p->past[0], p->phi));
    if (p->known > 0) {
        PetscCall(VecScale(p->phi, 1 + slope + (p->known > 1 ? bend / d[0] : 0)));
        PetscCall(
            VecAXPY(p->phi, -slope - (p->known > 1 ? bend / d[0] + bend / d[1] : 0), p->past[1]));
    }
    if (p->known > 1) {
        PetscCall(VecAXPY(p->phi, bend / d[1], p->past[2]));
    }
    PetscCall(newton(p, dt));
    p->taken[1] = d[0];
    p->taken[0] = dt;
    p->known = p->known < 2 ? p->known + 1 : 2;
    return 0;
}

int main(int argc, char **argv)
{
    problem p = {.newton = 0};
    char folder[2048] = ".";
    PetscInt steps = 20;
    PetscInt n;
    PetscMPIInt ranks;
    PetscReal bounds[2];
    PCType pc_type;
    PC pc;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-dump", folder, sizeof folder, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
    PetscCall(load(&p, folder));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    const double begin = bench_seconds();
    for (PetscInt k = 0; k < steps; ++k) {
        p.cells.current[0] = k < 2 ? 0.5 : 0;
        PetscCall(step(&p, 1.0));
    }
    const double total = bench_seconds() - begin;
    PetscCall(VecMin(p.phi, NULL, &bounds[0]));
    PetscCall(VecMax(p.phi, NULL, &bounds[1]));
    PetscCall(VecGetSize(p.phi, &n));
    PetscCall(KSPGetPC(p.ksp, &pc));
    PetscCall(PCGetType(pc, &pc_type));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "{\"solver\": \"petsc %s\", \"threads\": %d, \"nodes\": %d, \"steps\": %d, \"newton\": %d, "
        "\"cg_iterations\": %d, \"phi\": [%.17g, %.17g], \"seconds\": {\"cells\": %.6g, \"sums\": "
        "%.6g, \"prepare\": %.6g, \"solve\": %.6g, \"output\": 0, \"total\": %.6g}}\n",
        pc_type, ranks, (int)n, (int)steps, p.newton, p.iterations, bounds[0], bounds[1],
        p.spent.cells, p.spent.sums, p.spent.prepare, p.spent.solve, total));
    return PetscFinalize();
}
