/* Sum matrices for callers: what belongs together of a mesh, its pattern and its two sums. */
#include "cmg_fem.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/vector.h"
#include "fem/cell_matrices.h"
#include "fem/mesh_public.h"
#include "spmv/matrix.h"

#include <string.h>

struct cmg_fem_sum {
    cmg_context *ctx;
    cmg_element element;
    cmgi_mesh shape;  /* dim and the number of cells alone */
    cmgi_space space; /* every node has unknowns */
    cmgi_cell_layout layout;
    cmgi_csr A;
    cmgi_sum matrix;
    cmgi_sum vector;
    cmgi_sum stored;    /* in the order of the bound matrix's storage */
    cmg_matrix *bound;  /* NULL = none */
    double *x;          /* nodes x dim, in the backend's memory */
    cmg_index *nodes;   /* cells x local, likewise */
    cmg_index inverted; /* a cell that is, -1 = none */
};

/* A copy of a host array, in the backend's memory. */
static cmg_status copy_to_backend(cmg_context *ctx, const void *from, cmg_size n, size_t size,
                                  void *to)
{
    void *made = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, n, size, &made));
    const cmg_status status = cmgi_to_device(ctx, made, from, (size_t)n * size);
    if (status != CMG_OK) {
        cmgi_free_device(ctx, made);
        return status;
    }
    *(void **)to = made;
    return CMG_OK;
}

static bool has_matrices(const cmg_fem_sum *s)
{
    return (s->element == CMG_ELEMENT_Q1 || s->element == CMG_ELEMENT_P1) &&
           (s->space.components == 1 || s->space.components == s->shape.dim);
}

/* What the element kernels need but the form; x and nodes on the host or in the backend's memory.
 */
static cmgi_cell_batch cells_of(const cmg_fem_sum *s, const double *x, const cmg_index *nodes)
{
    return (cmgi_cell_batch){.simplex = s->element == CMG_ELEMENT_P1,
                             .dim = s->shape.dim,
                             .local = s->space.local,
                             .components = s->space.components,
                             .layout = s->layout,
                             .entries = cmgi_cell_entries(s->layout),
                             .cells = s->shape.cells,
                             .x = x,
                             .nodes = nodes,
                             .k_points = 1,
                             .diffusion = 1};
}

static cmg_status make_space(cmg_fem_sum *s, const cmg_fem_mesh *mesh, const unsigned char *fixed)
{
    cmg_context *ctx = s->ctx;
    cmgi_space *space = &s->space;
    const cmg_size n = mesh->nodes;
    const cmg_size entries = mesh->cells * space->local;
    space->nodes = n;
    space->unknowns = n;
    CMGI_TRY(cmgi_alloc(ctx, entries, sizeof(cmg_index), &space->cell_nodes));
    memcpy(space->cell_nodes, mesh->cell_nodes, (size_t)entries * sizeof(cmg_index));
    CMGI_TRY(cmgi_alloc_zero(ctx, n, 1, &space->fixed));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof(cmg_index), &space->unknown));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof(cmg_index), &space->node));
    for (cmg_size i = 0; i < n; ++i) {
        space->fixed[i] = fixed != NULL && fixed[i] != 0;
        space->unknown[i] = (cmg_index)i;
        space->node[i] = (cmg_index)i;
    }
    const cmgi_incidence in = {n, mesh->cells, space->local, space->cell_nodes};
    return cmgi_cells_of_nodes(ctx, &in, &space->start, &space->cell);
}

static cmg_status make(cmg_fem_sum *s, const cmg_fem_mesh *mesh, const unsigned char *fixed)
{
    cmg_context *ctx = s->ctx;
    CMGI_TRY(make_space(s, mesh, fixed));
    CMGI_TRY(cmgi_space_pattern(&s->space, &s->A));
    const cmg_size nnz = s->A.indptr[s->A.rows];
    CMGI_CHECK(ctx, nnz <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: A has %lld entries, more than 2^31 - 1", (long long)nnz);
    CMGI_TRY(cmgi_space_sum_matrix(&s->space, s->layout, &s->A, nnz, NULL, &s->matrix));
    CMGI_TRY(cmgi_space_sum_load(&s->space, &s->vector));
    if (has_matrices(s)) {
        const cmgi_cell_batch cells = cells_of(s, mesh->x, mesh->cell_nodes);
        s->inverted = cmgi_cells_inverted(ctx, &cells);
        CMGI_TRY(copy_to_backend(ctx, mesh->x, mesh->nodes * mesh->dim, sizeof *s->x, &s->x));
        CMGI_TRY(copy_to_backend(ctx, mesh->cell_nodes, mesh->cells * s->space.local,
                                 sizeof *s->nodes, &s->nodes));
    }
    return CMG_OK;
}

cmg_status cmg_fem_sum_create(cmg_context *ctx, const cmg_fem_mesh *mesh, int components,
                              bool symmetric, const unsigned char *fixed, cmg_fem_sum **sum)
{
    cmg_fem_sum *s = NULL;
    CMGI_CHECK(NULL, ctx != NULL, CMG_ERR_ARG, "the context is NULL");
    CMGI_CHECK(ctx, sum != NULL, CMG_ERR_ARG, "sum matrix: the out-pointer is NULL");
    CMGI_TRY(cmgi_fem_mesh_check(ctx, mesh, "mesh"));
    CMGI_CHECK(ctx, components >= 1 && components <= 3 && mesh->nodes <= INT32_MAX / components,
               CMG_ERR_ARG, "sum matrix: %lld nodes with %d unknowns each", (long long)mesh->nodes,
               components);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *s, &s));
    const cmgi_basis basis = cmgi_basis_of(mesh->element, mesh->dim);
    const int local = cmgi_basis_nodes(basis);
    s->ctx = ctx;
    s->element = mesh->element;
    s->shape =
        (cmgi_mesh){.ctx = ctx, .dim = mesh->dim, .nodes = mesh->nodes, .cells = mesh->cells};
    s->space = (cmgi_space){.ctx = ctx,
                            .mesh = &s->shape,
                            .basis = basis,
                            .components = components,
                            .boundary = CMG_BOUNDARY_IDENTITY,
                            .local = local};
    s->layout = (cmgi_cell_layout){.rows = local * components, .symmetric = symmetric};
    s->matrix.ctx = s->vector.ctx = s->stored.ctx = ctx;
    s->inverted = -1;
    const cmg_status status = make(s, mesh, fixed);
    if (status != CMG_OK) {
        cmg_fem_sum_destroy(&s);
        return status;
    }
    *sum = s;
    return CMG_OK;
}

void cmg_fem_sum_destroy(cmg_fem_sum **sum)
{
    if (sum == NULL || *sum == NULL) {
        return;
    }
    cmg_fem_sum *s = *sum;
    cmg_context *ctx = s->ctx;
    cmgi_sum_free(&s->stored);
    cmgi_sum_free(&s->vector);
    cmgi_sum_free(&s->matrix);
    cmgi_csr_free(ctx, &s->A);
    CMGI_FREE_DEVICE(ctx, s->x, s->nodes);
    CMGI_FREE(ctx, s->space.cell_nodes, s->space.fixed, s->space.unknown, s->space.node,
              s->space.start, s->space.cell, s);
    *sum = NULL;
}

int cmg_fem_sum_entries(const cmg_fem_sum *sum)
{
    return sum != NULL ? cmgi_cell_entries(sum->layout) : 0;
}

cmg_csr cmg_fem_sum_csr(const cmg_fem_sum *sum)
{
    return sum != NULL ? sum->A.view : (cmg_csr){0};
}

/* An fp64 vector of this context with n numbers. */
static cmg_status check(const cmg_fem_sum *s, const cmg_vector *v, cmg_size n, const char *name)
{
    CMGI_CHECK(s->ctx, v != NULL, CMG_ERR_ARG, "sum matrix: %s is NULL", name);
    CMGI_CHECK(s->ctx, v->ctx == s->ctx && v->precision == CMG_FP64, CMG_ERR_ARG,
               "sum matrix: %s has to be fp64 and of the same context", name);
    CMGI_CHECK(s->ctx, v->n == n, CMG_ERR_SHAPE, "sum matrix: %s has %lld numbers, expected %lld",
               name, (long long)v->n, (long long)n);
    return CMG_OK;
}

cmg_status cmg_fem_sum_matrix(const cmg_fem_sum *sum, const cmg_vector *e, cmg_vector *values)
{
    CMGI_CHECK(NULL, sum != NULL, CMG_ERR_ARG, "the sum is NULL");
    CMGI_TRY(check(sum, e, sum->shape.cells * cmgi_cell_entries(sum->layout), "e"));
    CMGI_TRY(check(sum, values, sum->matrix.rows, "values"));
    return cmgi_sum_apply(&sum->matrix, e->data, CMG_FP64, values->data);
}

cmg_status cmg_fem_sum_vector(const cmg_fem_sum *sum, const cmg_vector *f, cmg_vector *b)
{
    CMGI_CHECK(NULL, sum != NULL, CMG_ERR_ARG, "the sum is NULL");
    CMGI_TRY(check(sum, f, sum->shape.cells * sum->layout.rows, "f"));
    CMGI_TRY(check(sum, b, sum->vector.rows, "b"));
    return cmgi_sum_apply(&sum->vector, f->data, CMG_FP64, b->data);
}

cmg_status cmg_fem_sum_bind(cmg_fem_sum *sum, cmg_matrix *A)
{
    CMGI_CHECK(NULL, sum != NULL, CMG_ERR_ARG, "the sum is NULL");
    cmg_context *ctx = sum->ctx;
    const cmg_size nnz = sum->A.indptr[sum->A.rows];
    CMGI_CHECK(ctx, A != NULL && A->ctx == ctx, CMG_ERR_ARG,
               "sum matrix: A is NULL or of another context");
    CMGI_CHECK(ctx, A->rows == sum->A.rows && A->cols == sum->A.cols && A->nnz == nnz,
               CMG_ERR_SHAPE,
               "sum matrix: A has %lld rows and %lld entries, the mesh %lld and %lld",
               (long long)A->rows, (long long)A->nnz, (long long)sum->A.rows, (long long)nnz);
    CMGI_CHECK(ctx, A->options.keep_map, CMG_ERR_STATE,
               "sum matrix: A was created without keep_map");
    CMGI_CHECK(ctx, A->format->update == NULL, CMG_ERR_UNSUPPORTED,
               "sum matrix: format %s keeps its values in several parts",
               cmg_enum_name("format", (int)A->format->id));
    cmgi_sum made = {.ctx = ctx};
    cmg_size *map = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *map, &map));
    CMGI_TRY_GOTO(done, cmgi_matrix_map(A, map));
    CMGI_TRY_GOTO(done,
                  cmgi_space_sum_matrix(&sum->space, sum->layout, &sum->A, A->stored, map, &made));
    cmgi_sum_free(&sum->stored);
    sum->stored = made;
    sum->bound = A;
done:
    cmgi_free(ctx, map);
    return status;
}

cmg_status cmg_fem_sum_store(const cmg_fem_sum *sum, const cmg_vector *e)
{
    CMGI_CHECK(NULL, sum != NULL, CMG_ERR_ARG, "the sum is NULL");
    CMGI_CHECK(sum->ctx, sum->bound != NULL, CMG_ERR_STATE, "sum matrix: no matrix is bound to it");
    CMGI_TRY(check(sum, e, sum->shape.cells * cmgi_cell_entries(sum->layout), "e"));
    return cmgi_sum_apply(&sum->stored, e->data, sum->bound->options.precision, sum->bound->values);
}

/* Constants of the form, as problem.c has them for the generator. */
static cmg_status take_form(const cmg_fem_sum *s, const cmg_fem_form *form, cmgi_cell_batch *c)
{
    cmg_context *ctx = s->ctx;
    const int wanted = form->problem == CMG_PROBLEM_ELASTICITY ? c->dim : 1;
    CMGI_CHECK(ctx,
               form->problem == CMG_PROBLEM_POISSON || form->problem == CMG_PROBLEM_HEAT ||
                   form->problem == CMG_PROBLEM_ELASTICITY,
               CMG_ERR_ARG, "sum matrix: no cell matrices for problem %d", (int)form->problem);
    CMGI_CHECK(ctx, c->components == wanted, CMG_ERR_ARG,
               "sum matrix: the problem has %d unknowns a node, the sum %d", wanted, c->components);
    if (form->problem == CMG_PROBLEM_HEAT) {
        CMGI_CHECK(ctx, form->time_step > 0, CMG_ERR_ARG, "sum matrix: time step %g",
                   form->time_step);
        c->diffusion = form->time_step;
        c->mass = 1;
    }
    if (form->problem == CMG_PROBLEM_ELASTICITY) {
        const double nu = form->poisson_ratio;
        CMGI_CHECK(ctx, form->young > 0 && nu > -1 && nu < 0.5, CMG_ERR_ARG,
                   "sum matrix: Young's modulus %g, Poisson's ratio %g", form->young, nu);
        c->mu = form->young / (2 * (1 + nu));
        c->lambda = form->young * nu / ((1 + nu) * (c->dim == 2 ? 1 - nu : 1 - 2 * nu));
    }
    return CMG_OK;
}

cmg_status cmg_fem_sum_cells(const cmg_fem_sum *sum, const cmg_fem_form *form, const cmg_vector *k,
                             cmg_vector *e)
{
    CMGI_CHECK(NULL, sum != NULL, CMG_ERR_ARG, "the sum is NULL");
    cmg_context *ctx = sum->ctx;
    cmgi_cell_batch c = cells_of(sum, sum->x, sum->nodes);
    CMGI_CHECK(ctx, form != NULL, CMG_ERR_ARG, "sum matrix: the form is NULL");
    CMGI_CHECK(ctx, has_matrices(sum), CMG_ERR_UNSUPPORTED,
               "sum matrix: cell matrices of P1 and Q1 alone");
    CMGI_TRY(take_form(sum, form, &c));
    CMGI_CHECK(ctx, sum->inverted < 0, CMG_ERR_SHAPE, "cell %lld of %lld is inverted",
               (long long)sum->inverted, (long long)c.cells);
    CMGI_TRY(check(sum, e, c.cells * c.entries, "e"));
    if (k != NULL) {
        const int points = c.simplex ? 1 : c.local;
        c.k_points = k->n == c.cells ? 1 : points;
        CMGI_TRY(check(sum, k, c.cells * c.k_points, "k"));
        c.k = k->data;
    }
    c.e = e->data;
    return cmgi_cell_matrices(ctx, &c);
}
