/* Sum matrices for callers: those of a mesh, a matrix bound to them, cell matrices of its cells. */
#include "cmg_fem.h"

#include "core/memory.h"
#include "core/vector.h"
#include "fem/cell_matrices.h"
#include "fem/locate.h"
#include "fem/mesh_sums.h"
#include "spmv/matrix.h"

struct cmg_fem_sum {
    cmg_context *ctx;
    cmg_element element;
    cmgi_cell_batch cells; /* without a form; no arrays where there are no cell matrices */
    cmgi_mesh_sums made;
    cmgi_sum stored;    /* in the order of the bound matrix's storage */
    cmg_matrix *bound;  /* NULL = none */
    cmg_index inverted; /* a cell that is, -1 = none */
};

/* A copy of a host array, in the backend's memory; for the caller to free, also where it fails. */
static cmg_status copy_to_backend(cmg_context *ctx, const void *from, cmg_size n, size_t size,
                                  void *to)
{
    CMGI_TRY(cmgi_alloc_device(ctx, n, size, to));
    return cmgi_to_device(ctx, *(void **)to, from, (size_t)n * size);
}

static bool has_matrices(const cmg_fem_sum *s)
{
    return (s->element == CMG_ELEMENT_Q1 || s->element == CMG_ELEMENT_P1) &&
           (s->cells.components == 1 || s->cells.components == s->cells.dim);
}

static cmg_status make(cmg_fem_sum *s, const cmg_fem_mesh *mesh, const unsigned char *fixed)
{
    cmg_context *ctx = s->ctx;
    unsigned char *copy = NULL;
    CMGI_FREED(ctx, &copy);
    cmgi_cell_batch *c = &s->cells;
    CMGI_TRY(
        copy_to_backend(ctx, mesh->cell_nodes, c->cells * c->local, sizeof *c->nodes, &c->nodes));
    if (fixed != NULL) {
        CMGI_TRY(copy_to_backend(ctx, fixed, mesh->nodes, sizeof *copy, &copy));
    }
    const cmgi_sum_cells of = {.nodes = mesh->nodes,
                               .cells = c->cells,
                               .local = c->local,
                               .components = c->components,
                               .layout = c->layout,
                               .cell_nodes = c->nodes,
                               .fixed = copy};
    CMGI_TRY(cmgi_mesh_sums_create(ctx, &of, &s->made));
    if (!has_matrices(s)) {
        cmgi_free_device(ctx, cmgi_pass_on(&c->nodes));
        return CMG_OK;
    }
    CMGI_TRY(copy_to_backend(ctx, mesh->x, mesh->nodes * mesh->dim, sizeof *c->x, &c->x));
    return cmgi_cells_inverted(ctx, c, &s->inverted);
}

cmg_status cmg_fem_sum_create(cmg_context *ctx, const cmg_fem_mesh *mesh, int components,
                              bool symmetric, const unsigned char *fixed, cmg_fem_sum **sum)
{
    cmgi_scoped_by(cmg_fem_sum_destroy) cmg_fem_sum *s = NULL;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, sum != NULL, CMG_ERR_ARG, "sum matrix: the out-pointer is NULL");
    CMGI_TRY(cmgi_fem_mesh_check(ctx, mesh, "mesh"));
    CMGI_CHECK(ctx, components >= 1 && components <= 3 && mesh->nodes <= INT32_MAX / components,
               CMG_ERR_ARG, "sum matrix: %lld nodes with %d unknowns each", (long long)mesh->nodes,
               components);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *s, &s));
    const int local = cmgi_basis_nodes(cmgi_basis_of(mesh->element, mesh->dim));
    const cmgi_cell_layout layout = {.rows = local * components, .symmetric = symmetric};
    s->ctx = ctx;
    s->element = mesh->element;
    s->cells = (cmgi_cell_batch){.simplex = mesh->element == CMG_ELEMENT_P1,
                                 .dim = mesh->dim,
                                 .local = local,
                                 .components = components,
                                 .layout = layout,
                                 .entries = cmgi_cell_entries(layout),
                                 .cells = mesh->cells,
                                 .k_points = 1,
                                 .diffusion = 1};
    s->made.matrix.ctx = s->made.vector.ctx = s->stored.ctx = ctx;
    s->inverted = -1;
    cmgi_hold_memory(ctx, true);
    const cmg_status status = make(s, mesh, fixed);
    cmgi_hold_memory(ctx, false);
    CMGI_TRY(status);
    *sum = cmgi_pass_on(&s);
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
    cmgi_mesh_sums_free(ctx, &s->made);
    CMGI_FREE_DEVICE(ctx, (void *)s->cells.x, (void *)s->cells.nodes);
    cmgi_free(ctx, s);
    *sum = NULL;
}

int cmg_fem_sum_entries(const cmg_fem_sum *sum)
{
    return sum != NULL ? sum->cells.entries : 0;
}

cmg_csr cmg_fem_sum_csr(const cmg_fem_sum *sum)
{
    cmg_fem_sum *s = (cmg_fem_sum *)(uintptr_t)sum; /* what is fetched is kept */
    const bool there = s != NULL && cmgi_mesh_sums_bring(s->ctx, &s->made) == CMG_OK;
    return there ? s->made.A.view : (cmg_csr){0};
}

cmg_csr cmg_fem_sum_pattern(const cmg_fem_sum *sum, cmg_size *nnz)
{
    cmg_csr A = sum != NULL ? sum->made.there : (cmg_csr){0};
    A.values = NULL;
    if (nnz != NULL) {
        *nnz = sum != NULL ? sum->made.nnz : 0;
    }
    return A;
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
    CMGI_GIVEN(sum);
    CMGI_TRY(check(sum, e, sum->cells.cells * sum->cells.entries, "e"));
    CMGI_TRY(check(sum, values, sum->made.matrix.rows, "values"));
    return cmgi_sum_apply(&sum->made.matrix, e->data, CMG_FP64, values->data);
}

cmg_status cmg_fem_sum_vector(const cmg_fem_sum *sum, const cmg_vector *f, cmg_vector *b)
{
    CMGI_GIVEN(sum);
    CMGI_TRY(check(sum, f, sum->cells.cells * sum->cells.layout.rows, "f"));
    CMGI_TRY(check(sum, b, sum->made.vector.rows, "b"));
    return cmgi_sum_apply(&sum->made.vector, f->data, CMG_FP64, b->data);
}

cmg_status cmg_fem_sum_bind(cmg_fem_sum *sum, cmg_matrix *A)
{
    CMGI_GIVEN(sum);
    cmg_context *ctx = sum->ctx;
    const cmg_csr *own = &sum->made.there;
    const cmg_size nnz = sum->made.nnz;
    CMGI_CHECK(ctx, A != NULL && A->ctx == ctx, CMG_ERR_ARG,
               "sum matrix: A is NULL or of another context");
    CMGI_CHECK(ctx, A->rows == own->rows && A->cols == own->cols && A->nnz == nnz, CMG_ERR_SHAPE,
               "sum matrix: A has %lld rows and %lld entries, the mesh %lld and %lld",
               (long long)A->rows, (long long)A->nnz, (long long)own->rows, (long long)nnz);
    CMGI_CHECK(ctx, A->options.keep_map, CMG_ERR_STATE,
               "sum matrix: A was created without keep_map");
    CMGI_CHECK(ctx, A->format->update == NULL, CMG_ERR_UNSUPPORTED,
               "sum matrix: format %s keeps its values in several parts",
               cmg_enum_name("format", (int)A->format->id));
    const cmg_size *map = NULL;
    cmg_size *made = NULL;
    cmgi_sum stored = {.ctx = ctx};
    cmg_status status = CMG_OK;
    cmgi_hold_memory(ctx, true);
    CMGI_TRY_GOTO(done, cmgi_matrix_map(A, &map, &made));
    CMGI_TRY_GOTO(done, cmgi_sum_permute(&sum->made.matrix, A->stored, map, &stored));
    cmgi_sum_free(&sum->stored);
    sum->stored = stored;
    sum->bound = A;
done:
    cmgi_free_device(ctx, made);
    cmgi_hold_memory(ctx, false);
    return status;
}

cmg_status cmg_fem_sum_store(const cmg_fem_sum *sum, const cmg_vector *e)
{
    CMGI_GIVEN(sum);
    CMGI_CHECK(sum->ctx, sum->bound != NULL, CMG_ERR_STATE, "sum matrix: no matrix is bound to it");
    CMGI_TRY(check(sum, e, sum->cells.cells * sum->cells.entries, "e"));
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
    CMGI_GIVEN(sum);
    cmg_context *ctx = sum->ctx;
    cmgi_cell_batch c = sum->cells;
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
