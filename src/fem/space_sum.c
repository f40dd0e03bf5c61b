/*
 * The sum matrices of a space, and assembly as a sparse matrix-vector product with them: values(A)
 * = S e and b = T f, where e and f hold the entries of all cell matrices and loads, cell after
 * cell. It costs memory: 64 numbers a Q1 hexahedron, where a row of A has 27.
 *
 * Source: Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), arXiv 1501.00324, section 4.
 *
 * Every row of A is visited from its node, whose cells are listed in ascending order: so terms are
 * added in the order in which the assembly by rows adds them.
 *
 * All terms of a node stand together, so that its rows of terms can be filled in one visit: they
 * are counted, which gives their starts, and put down.
 */
#include "fem/mesh_sums.h"

#include "core/memory.h"
#include "core/search.h"
#include "fem/stencil.h"

#include <string.h>

/* The rows of a sum matrix. */
typedef struct terms {
    cmg_size *first; /* unknowns + 1: first term of a node's rows */
    cmg_size *indptr;
    cmg_index *indices;
} terms;

typedef struct builder {
    const cmgi_space *space;
    cmgi_cell_layout layout;
    cmgi_stencils stencils;
    cmgi_csr *A;
    terms matrix;
    terms vector;
    cmg_index *place; /* rows x rows: of the numbers of a cell matrix */
} builder;

/* Terms of a node's rows of A. */
static cmg_size count_terms(const cmgi_space *space, cmg_index node)
{
    const int nc = space->components;
    cmg_size n = 0;
    if (space->fixed[node]) {
        return nc;
    }
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_index *nodes = space->cell_nodes + (cmg_size)space->cell[e] * space->local;
        for (int b = 0; b < space->local; ++b) {
            n += cmgi_space_keeps(space, nodes[b]);
        }
    }
    return n * nc * nc;
}

/* Counts the terms of each entry of a node into `at`, or puts them down from there on: the entry of
 * (k, b) is what the stencil has at that place. */
static inline void visit_terms(const builder *s, cmg_size u, const cmgi_stencil *stencil,
                               bool counts)
{
    const int nc = s->space->components;
    const int local = s->space->local;
    const int rows = s->layout.rows;
    for (int k = 0; k < stencil->cells * local; ++k) {
        const cmg_index cell = stencil->cell[k / local] * cmgi_cell_entries(s->layout);
        const cmg_index *place =
            s->place + (cmg_size)stencil->local[k / local] * nc * rows + k % local * nc;
        for (int c = 0; c < nc && stencil->place[k] >= 0; ++c) {
            cmg_size *at =
                s->matrix.indptr + s->A->indptr[u * nc + c] + (cmg_size)stencil->place[k] * nc;
            for (int j = 0; j < nc; ++j) {
                const cmg_size to = at[j]++;
                if (!counts) {
                    s->matrix.indices[to] = cell + place[c * rows + j];
                }
            }
        }
    }
}

static void visit_matrix(const builder *s, cmg_size u, const cmgi_stencil *stencil)
{
    const int nc = s->space->components;
    const cmg_size entries = s->A->indptr[(u + 1) * nc] - s->A->indptr[u * nc];
    cmg_size *at = s->matrix.indptr + s->A->indptr[u * nc];
    cmg_size next = s->matrix.first[u];
    memset(at, 0, (size_t)entries * sizeof *at);
    visit_terms(s, u, stencil, true);
    for (cmg_size k = 0; k < entries; ++k) {
        const cmg_size length = at[k];
        at[k] = next;
        next += length;
    }
    visit_terms(s, u, stencil, false);
    for (cmg_size k = entries - 1; k >= 0; --k) { /* ends are the next starts */
        at[k] = k > 0 ? at[k - 1] : s->matrix.first[u];
    }
}

/* The rows of a node in A and in both sums. */
static void visit(const builder *s, cmg_size u)
{
    const int nc = s->space->components;
    const cmgi_stencil *stencil = cmgi_stencil_of(&s->stencils, u);
    for (cmg_size row = u * nc; row < (u + 1) * nc; ++row) {
        const cmg_size begin = s->A->indptr[row];
        for (cmg_size k = begin; k < s->A->indptr[row + 1]; ++k) {
            s->A->indices[k] =
                (cmg_index)(stencil == NULL ? row : u * nc + stencil->offset[k - begin]);
            s->A->values[k] = 0;
        }
    }
    for (int c = 0; c < nc && stencil == NULL; ++c) {
        s->matrix.indptr[s->A->indptr[u * nc + c]] = s->matrix.first[u] + c;
        s->matrix.indices[s->matrix.first[u] + c] = -1;
    }
    if (stencil != NULL) {
        visit_matrix(s, u, stencil);
    }
    const int cells = stencil != NULL ? stencil->cells : 0;
    for (int c = 0; c < nc; ++c) {
        const cmg_size first = s->vector.first[u] + c * cells;
        s->vector.indptr[u * nc + c] = first;
        for (int k = 0; k < cells; ++k) {
            s->vector.indices[first + k] =
                stencil->cell[k] * s->layout.rows + stencil->local[k] * nc + c;
        }
    }
}

/* Room for the terms of both sums. */
static cmg_status count(builder *s)
{
    const cmgi_space *space = s->space;
    cmg_context *ctx = space->ctx;
    const cmg_size n = space->unknowns;
    const int nc = space->components;
    CMGI_TRY(cmgi_alloc_zero(ctx, n + 1, sizeof(cmg_size), &s->matrix.first));
    CMGI_TRY(cmgi_alloc_zero(ctx, n + 1, sizeof(cmg_size), &s->vector.first));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size u = 0; u < n; ++u) {
        const cmg_index node = space->node[u];
        const cmg_size cells = space->start[node + 1] - space->start[node];
        s->matrix.first[u + 1] = count_terms(space, node);
        s->vector.first[u + 1] = space->fixed[node] ? 0 : cells * nc;
    }
    cmgi_add_up(s->matrix.first, n);
    cmgi_add_up(s->vector.first, n);
    CMGI_TRY(cmgi_alloc(ctx, s->A->indptr[n * nc] + 1, sizeof(cmg_size), &s->matrix.indptr));
    CMGI_TRY(cmgi_alloc(ctx, s->matrix.first[n], sizeof(cmg_index), &s->matrix.indices));
    CMGI_TRY(cmgi_alloc(ctx, n * nc + 1, sizeof(cmg_size), &s->vector.indptr));
    return cmgi_alloc(ctx, s->vector.first[n], sizeof(cmg_index), &s->vector.indices);
}

/* The sum of rows of terms, which are handed over. */
static cmg_status finish(const builder *s, cmg_size rows, terms *t, cmgi_sum *S)
{
    cmg_context *ctx = s->space->ctx;
    t->indptr[rows] = t->first[s->space->unknowns];
    CMGI_TRY(CMGI_MOVE(ctx, &t->indptr, &t->indices));
    return cmgi_sum_create(ctx, rows, cmgi_pass_on(&t->indptr), cmgi_pass_on(&t->indices), S);
}

cmg_status cmgi_space_sums(const cmgi_space *space, cmgi_cell_layout layout, cmgi_csr *A,
                           cmgi_sum *matrix, cmgi_sum *vector)
{
    cmg_context *ctx = space->ctx;
    const int rows = layout.rows;
    const cmg_size unknowns = space->unknowns * space->components;
    const cmg_size numbers = cmgi_cell_entries(layout);
    builder s = {.space = space, .layout = layout, .A = A};
    CMGI_FREED(ctx, &s.place, &s.matrix.first, &s.matrix.indptr, &s.matrix.indices, &s.vector.first,
               &s.vector.indptr, &s.vector.indices);
    CMGI_RELEASED(cmgi_stencils_free, ctx, &s.stencils);
    CMGI_CHECK(ctx, space->cells * numbers <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: %lld cells with %lld numbers each are more than 2^31 - 1",
               (long long)space->cells, (long long)numbers);
    CMGI_TRY(cmgi_stencils_create(space, &s.stencils));
    CMGI_TRY(cmgi_stencils_count(&s.stencils, A));
    const cmg_size nnz = A->indptr[unknowns];
    CMGI_TRY(cmgi_sum_check(ctx, nnz));
    CMGI_TRY(count(&s));
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)rows * rows, sizeof *s.place, &s.place));
    for (int k = 0; k < rows * rows; ++k) {
        s.place[k] = cmgi_cell_place(layout, k / rows, k % rows);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (space->unknowns > 256)
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        visit(&s, u);
    }
    CMGI_TRY(finish(&s, nnz, &s.matrix, matrix));
    return finish(&s, unknowns, &s.vector, vector);
}

/* sums = S e with e and sums on the host. */
static cmg_status multiply(const cmgi_sum *S, cmg_size numbers, const double *e, double *sums)
{
    cmg_context *ctx = S->ctx;
    cmgi_scoped_by(cmg_vector_destroy) cmg_vector *x = NULL;
    cmgi_scoped_by(cmg_vector_destroy) cmg_vector *y = NULL;
    CMGI_TRY(cmg_vector_create(ctx, numbers, CMG_FP64, &x));
    CMGI_TRY(cmg_vector_create(ctx, S->rows, CMG_FP64, &y));
    CMGI_TRY(cmg_vector_set(x, e));
    CMGI_TRY(cmgi_sum_apply(S, cmg_vector_data(x), CMG_FP64, cmg_vector_data(y)));
    return cmg_vector_get(y, sums);
}

cmg_status cmgi_space_assemble_spmv(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmgi_csr *A, double *b)
{
    cmg_context *ctx = space->ctx;
    const cmg_size rows = form->rows;
    const cmg_size cells = space->mesh->cells;
    cmgi_scoped_by(cmgi_sum_free) cmgi_sum S = {.ctx = ctx};
    cmgi_scoped_by(cmgi_sum_free) cmgi_sum T = {.ctx = ctx};
    cmgi_scoped double *F = NULL;
    const cmgi_cell_layout layout = {.rows = form->rows};
    CMGI_TRY(cmgi_space_sums(space, layout, A, &S, &T));
    CMGI_SCOPED(ctx, cells * rows * rows, double, K);
    if (b != NULL) {
        CMGI_TRY(cmgi_alloc(ctx, cells * rows, sizeof *F, &F));
    }
    const cmgi_cell_ring all = {cells, K, F, NULL};
    CMGI_TRY(cmgi_space_inverted(space, cmgi_space_integrate_cells(space, form, 0, cells, &all)));
    CMGI_TRY(multiply(&S, cells * rows * rows, K, A->values));
    if (b != NULL) {
        CMGI_TRY(multiply(&T, cells * rows, F, b));
    }
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        if (space->fixed[space->node[u]]) {
            cmgi_space_fix_rows(space, form->problem, u, A, b);
        }
    }
    return CMG_OK;
}
