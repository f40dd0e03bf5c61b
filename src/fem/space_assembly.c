/*
 * Matrix and right-hand side, row by row:
 *
 *   A_ij = sum over the cells of node i of K_ab,  b_i = sum of F_a - sum over fixed j of A_ij g_j
 *
 * Meshes: nodes are taken in the order of their first cell, in blocks of a few hundred: a thread
 * integrates all cells around a block, then gathers the block's rows from them. Cells on the rim of
 * a block are integrated again for the next one.
 *
 * Grids: cells are integrated layer by layer along the last axis into a ring of layers, from which
 * rows are gathered. Where all cells are alike one is integrated, and the rows of a class of nodes
 * are summed up once and copied.
 *
 * No thread writes to another's rows, and no sum depends on the threads.
 */
#include "core/memory.h"
#include "core/search.h"
#include "fem/stencil.h"

#include <string.h>

enum {
    BLOCK = 256,         /* nodes of a mesh */
    CHUNK_CELLS = 16384, /* of a grid: integrated between two rounds of rows */
    CHUNK_ROWS = 1 << 18 /* of a grid: rows a round where all cells are alike */
};

typedef struct assembly {
    const cmgi_space *space;
    const cmgi_cell_form *form;
    cmgi_stencils stencils;
    cmgi_csr A;
    double *b;
    bool same_matrix; /* one K for all cells */
    bool same_load;   /* one F */
    double *sums;     /* of the stencils: windows of their rows, finished where K is the same */
    cmg_size window;  /* numbers of one */
    /* of a mesh */
    cmg_index *order; /* unknown nodes by their first cell */
    cmg_size blocks;
    cmg_size most_cells;  /* around a block, each counted once */
    cmg_size most_visits; /* around a block, counted from every node */
} assembly;

/* Integrals of cells: of those in the list, one after the other, or in the ring. */
typedef struct integrals {
    cmg_index *cells; /* ascending, NULL = all are in the ring */
    cmg_size count;
    cmgi_cell_ring ring;
    cmg_size K_slots; /* of the ring, 1 where all cells are alike */
    cmg_size F_slots;
} integrals;

static cmg_size slot_of(const integrals *in, cmg_size slots, cmg_size cell)
{
    return in->cells != NULL ? cmgi_find(in->cells, in->count, (cmg_index)cell) : cell % slots;
}

/* Number of the cell that a stencil of a node counts from. */
static cmg_size first_cell(const cmgi_space *space, cmg_size unknown)
{
    return space->grid != NULL
               ? cmgi_grid_first_cell(space->grid, cmgi_grid_node(space->grid, unknown))
               : 0;
}

/* Sums of K_ab over a node's window, component by component. */
static void sum_window(const assembly *s, const integrals *in, const cmgi_stencil *stencil,
                       cmg_size first, double *sum)
{
    const int nc = s->space->components;
    const int local = s->space->local;
    const int rows = s->form->rows;
    const cmg_size width = (cmg_size)(stencil->columns + stencil->lost) * nc;
    memset(sum, 0, (size_t)(width * nc) * sizeof *sum);
    for (int k = 0; k < stencil->cells; ++k) {
        const cmg_size at = slot_of(in, in->K_slots, first + stencil->cell[k]);
        const double *K = in->ring.K + (at * rows + stencil->local[k] * nc) * rows;
        const cmg_index *place = stencil->place + (cmg_size)k * local;
        for (int c = 0; c < nc; ++c) {
            const double *from = K + c * rows;
            for (int b = 0; b < local; ++b, from += nc) {
                double *to = sum + c * width + (cmg_size)place[b] * nc;
                for (int j = 0; j < nc && place[b] >= 0; ++j) {
                    to[j] += from[j];
                }
            }
        }
    }
}

/* b_i = sum of F_a over the cells of the node. */
static void sum_load(const assembly *s, const integrals *in, const cmgi_stencil *stencil,
                     cmg_size first, double *b)
{
    const int nc = s->space->components;
    for (int c = 0; c < nc; ++c) {
        b[c] = 0;
    }
    for (int k = 0; k < stencil->cells; ++k) {
        const cmg_size at = slot_of(in, in->F_slots, first + stencil->cell[k]);
        const double *F = in->ring.F + at * s->form->rows + stencil->local[k] * nc;
        for (int c = 0; c < nc; ++c) {
            b[c] += F[c];
        }
    }
}

/* b_i -= A_ij g_j over the coupled nodes j without columns. */
static void lift_row(const assembly *s, const cmgi_stencil *stencil, cmg_size unknown,
                     const double *sum, double *b)
{
    const int nc = s->space->components;
    const cmg_size node = cmgi_space_node(s->space, unknown);
    const cmg_size width = (cmg_size)(stencil->columns + stencil->lost) * nc;
    for (int n = stencil->columns; n < stencil->columns + stencil->lost; ++n) {
        double x[3];
        double g[3];
        cmgi_space_position(s->space, node + stencil->window[n], x);
        cmgi_problem_exact(s->form->problem, x, g, NULL);
        for (int c = 0; c < nc; ++c) {
            for (int j = 0; j < nc; ++j) {
                b[c] -= sum[c * width + n * nc + j] * g[j];
            }
        }
    }
}

/* Copies the part of a window that has columns to the rows of a node. */
static void write_rows(const assembly *s, const cmgi_stencil *stencil, cmg_size row,
                       const double *sum)
{
    const int nc = s->space->components;
    const int length = stencil->columns * nc;
    for (int c = 0; c < nc; ++c) {
        cmg_index *restrict indices = s->A.indices + s->A.indptr[row + c];
        double *restrict values = s->A.values + s->A.indptr[row + c];
        for (int e = 0; e < length; ++e) {
            indices[e] = (cmg_index)row + stencil->offset[e];
        }
        memcpy(values, sum + (cmg_size)c * (length + stencil->lost * nc),
               (size_t)length * sizeof *values);
    }
}

/* The rows of one node. */
static void gather_rows(assembly *s, const integrals *in, cmg_size unknown)
{
    const cmg_size row = unknown * s->space->components;
    const cmgi_stencil *stencil = cmgi_stencil_of(&s->stencils, unknown);
    if (stencil == NULL) {
        cmgi_space_fix_rows(s->space, s->form->problem, unknown, &s->A, s->b);
        return;
    }
    const bool counts = !s->same_matrix || (s->b != NULL && !s->same_load);
    const cmg_size first = counts ? first_cell(s->space, unknown) : 0;
    double *sum = s->sums + s->window * (s->same_matrix ? stencil - s->stencils.list
                                                        : (ptrdiff_t)cmgi_thread());
    if (!s->same_matrix) {
        sum_window(s, in, stencil, first, sum);
    }
    write_rows(s, stencil, row, sum);
    if (s->b == NULL) {
        return;
    }
    sum_load(s, in, stencil, first, s->b + row);
    if (stencil->lost > 0 && cmgi_problem_solved(s->form->problem)) {
        lift_row(s, stencil, unknown, sum, s->b + row);
    }
}

static cmg_size block_end(const assembly *s, cmg_size block)
{
    const cmg_size end = (block + 1) * BLOCK;
    return end < s->space->unknowns ? end : s->space->unknowns;
}

/* Cells around the nodes of a block, ascending. */
static cmg_size cells_around(const assembly *s, cmg_size block, cmg_index *cells)
{
    cmg_size n = 0;
    for (cmg_size k = block * BLOCK; k < block_end(s, block); ++k) {
        const cmg_index node = s->space->node[s->order[k]];
        for (cmg_size e = s->space->start[node]; e < s->space->start[node + 1]; ++e) {
            cells[n++] = s->space->cell[e];
        }
    }
    return cmgi_sort_unique(cells, n);
}

/* Integrates the cells around a block and gathers its rows; returns an inverted cell or -1. */
static cmg_index assemble_block(assembly *s, cmg_size block, integrals *in)
{
    const cmg_size rows = s->form->rows;
    cmg_index bad = -1;
    in->count = cells_around(s, block, in->cells);
    for (cmg_size e = 0; e < in->count; ++e) {
        double *F = s->b != NULL ? in->ring.F + e * rows : NULL;
        if (!cmgi_space_integrate(s->space, s->form, in->cells[e], in->ring.K + e * rows * rows,
                                  F)) {
            bad = in->cells[e];
        }
    }
    for (cmg_size k = block * BLOCK; k < block_end(s, block); ++k) {
        gather_rows(s, in, s->order[k]);
    }
    return bad;
}

/* Unknown nodes by their first cell: a counting sort. */
static cmg_status order_nodes(assembly *s)
{
    const cmgi_space *space = s->space;
    cmg_size *start = NULL;
    CMGI_TRY(cmgi_alloc(space->ctx, space->unknowns, sizeof *s->order, &s->order));
    CMGI_TRY(cmgi_alloc_zero(space->ctx, space->mesh->cells + 1, sizeof *start, &start));
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        ++start[space->cell[space->start[space->node[u]]] + 1];
    }
    cmgi_add_up(start, space->mesh->cells);
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        s->order[start[space->cell[space->start[space->node[u]]]]++] = (cmg_index)u;
    }
    cmgi_free(space->ctx, start);
    s->blocks = (space->unknowns + BLOCK - 1) / BLOCK;
    return CMG_OK;
}

/* Bounds of the room that the lists of a thread need. */
static void measure_visits(assembly *s)
{
    const cmgi_space *space = s->space;
    for (cmg_size block = 0; block < s->blocks; ++block) {
        cmg_size visits = 0;
        for (cmg_size k = block * BLOCK; k < block_end(s, block); ++k) {
            const cmg_index node = space->node[s->order[k]];
            visits += space->start[node + 1] - space->start[node];
        }
        s->most_visits = visits > s->most_visits ? visits : s->most_visits;
    }
}

static void measure_cells(assembly *s, const integrals *all)
{
    cmg_size most = 0;
#pragma omp parallel for num_threads(s->space->ctx->threads) schedule(static)                      \
    reduction(max                                                                                  \
              : most) if (s->blocks > 1)
    for (cmg_size block = 0; block < s->blocks; ++block) {
        const cmg_size cells = cells_around(s, block, all->cells + s->most_visits * cmgi_thread());
        most = cells > most ? cells : most;
    }
    s->most_cells = most;
}

static cmg_status run_blocks(assembly *s, const integrals *all)
{
    cmg_context *ctx = s->space->ctx;
    const cmg_size rows = s->form->rows;
    const cmg_size step = (s->blocks + 63) / 64 + ctx->threads * 4;
    cmg_index bad = -1;
    for (cmg_size begin = 0; begin < s->blocks; begin += step) {
        const cmg_size end = begin + step < s->blocks ? begin + step : s->blocks;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)                               \
    reduction(max                                                                                  \
              : bad) if (end > begin + 1)
        for (cmg_size block = begin; block < end; ++block) {
            const int t = cmgi_thread();
            integrals own = {.cells = all->cells + s->most_visits * t,
                             .ring = {.K = all->ring.K + s->most_cells * rows * rows * t,
                                      .F = all->ring.F + s->most_cells * rows * t}};
            const cmg_index found = assemble_block(s, block, &own);
            bad = found > bad ? found : bad;
        }
        CMGI_TRY(cmgi_space_inverted(s->space, bad));
        CMGI_TRY(cmgi_progress(ctx, "assembling", end, s->blocks));
    }
    return CMG_OK;
}

static cmg_status assemble_blocks(assembly *s)
{
    cmg_context *ctx = s->space->ctx;
    const cmg_size rows = s->form->rows;
    integrals all = {.cells = NULL};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, order_nodes(s));
    measure_visits(s);
    CMGI_TRY_GOTO(done,
                  cmgi_alloc(ctx, s->most_visits * ctx->threads, sizeof(cmg_index), &all.cells));
    measure_cells(s, &all);
    const cmg_size room = s->most_cells * ctx->threads;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * rows * rows, sizeof(double), &all.ring.K));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * rows, sizeof(double), &all.ring.F));
    CMGI_TRY_GOTO(done, run_blocks(s, &all));
done:
    CMGI_FREE(ctx, all.cells, all.ring.K, all.ring.F, s->order);
    return status;
}

/* The cell that all are like, and the windows of the classes of nodes. */
static void sum_classes(assembly *s, const integrals *in)
{
    (void)cmgi_space_integrate(s->space, s->form, 0, s->same_matrix ? in->ring.K : NULL,
                               s->same_load ? in->ring.F : NULL);
    for (cmg_size c = 0; c < s->stencils.count && s->same_matrix; ++c) {
        sum_window(s, in, &s->stencils.list[c], 0, s->sums + c * s->window);
    }
}

/* Layers [begin, end) of cells, then the rows of the nodes that they complete. */
static cmg_status assemble_layers(assembly *s, const integrals *in, cmg_size begin, cmg_size end)
{
    const cmgi_space *space = s->space;
    const cmgi_grid_axis *axis = &space->grid->axis[space->grid->dim - 1];
    const cmg_size layer = space->cells / axis->cells;
    const cmg_size plane = axis->unknowns > 0 ? space->unknowns / axis->unknowns : 0;
    const cmgi_cell_ring ring = {in->ring.slots, s->same_matrix ? NULL : in->ring.K,
                                 s->b == NULL || s->same_load ? NULL : in->ring.F};
    if (ring.K != NULL || ring.F != NULL) {
        CMGI_TRY(cmgi_space_inverted(
            space, cmgi_space_integrate_cells(space, s->form, begin * layer, end * layer, &ring)));
    }
    cmg_size first = begin * axis->order - axis->first;
    cmg_size last = end * axis->order + (end == axis->cells ? 1 : 0) - axis->first;
    first = first < 0 ? 0 : first;
    last = last > axis->unknowns ? axis->unknowns : last;
#pragma omp parallel for num_threads(space->ctx->threads)                                          \
    schedule(static) if ((last - first) * plane > 256)
    for (cmg_size u = first * plane; u < last * plane; ++u) {
        gather_rows(s, in, u);
    }
    return CMG_OK;
}

static cmg_status assemble_grid(assembly *s)
{
    cmg_context *ctx = s->space->ctx;
    const cmg_size rows = s->form->rows;
    const cmgi_grid_axis *axis = &s->space->grid->axis[s->space->grid->dim - 1];
    const cmg_size layer = s->space->cells / axis->cells;
    const bool integrates = !s->same_matrix || (s->b != NULL && !s->same_load);
    const cmg_size room = integrates ? CHUNK_CELLS : CHUNK_ROWS;
    const cmg_size depth = layer < room ? room / layer : 1;
    const cmg_size slots = (depth + 1) * layer; /* a node has cells of the layer before as well */
    integrals in = {.ring = {.slots = slots},
                    .K_slots = s->same_matrix ? 1 : slots,
                    .F_slots = s->same_load || s->b == NULL ? 1 : slots};
    cmg_size last = 0; /* layers that a node has a cell in: of a slab, not all */
    cmg_size begin = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, in.K_slots * rows * rows, sizeof(double), &in.ring.K));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, in.F_slots * rows, sizeof(double), &in.ring.F));
    sum_classes(s, &in);
    if (axis->unknowns > 0) {
        begin = axis->first > 0 ? (axis->first - 1) / axis->order : 0;
        last = (axis->first + axis->unknowns - 1) / axis->order + 1;
        last = last < axis->cells ? last : axis->cells;
    }
    for (; begin < last; begin += depth) {
        const cmg_size end = begin + depth < last ? begin + depth : last;
        CMGI_TRY_GOTO(done, assemble_layers(s, &in, begin, end));
        CMGI_TRY_GOTO(done, cmgi_progress(ctx, "assembling", end, last));
    }
done:
    CMGI_FREE(ctx, in.ring.K, in.ring.F);
    return status;
}

cmg_status cmgi_space_stencil(const cmgi_space *space, const cmgi_cell_form *form,
                              double stencil[27])
{
    cmg_context *ctx = space->ctx;
    const cmgi_grid_axis *axis = space->grid->axis;
    const cmg_size line = axis[0].nodes;
    const cmg_size plane = line * axis[1].nodes;
    const cmg_size node = cmgi_space_node(space, space->unknowns / 2);
    assembly s = {.space = space, .form = form};
    integrals in = {.ring = {.slots = 1}, .K_slots = 1};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_stencils_create(space, &s.stencils));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, s.stencils.room, sizeof *s.sums, &s.sums));
    CMGI_TRY_GOTO(done,
                  cmgi_alloc(ctx, (cmg_size)form->rows * form->rows, sizeof(double), &in.ring.K));
    (void)cmgi_space_integrate(space, form, 0, in.ring.K, NULL);
    const cmgi_stencil *of = cmgi_stencil_of(&s.stencils, space->unknowns / 2);
    sum_window(&s, &in, of, 0, s.sums);
    memset(stencil, 0, 27 * sizeof *stencil);
    for (int k = 0; k < of->columns + of->lost; ++k) {
        const cmg_size other = node + of->window[k];
        const cmg_size x = other % line - node % line;
        const cmg_size y = other % plane / line - node % plane / line;
        const cmg_size z = other / plane - node / plane;
        stencil[9 * (z + 1) + 3 * (y + 1) + x + 1] = s.sums[k];
    }
done:
    CMGI_FREE(ctx, s.sums, in.ring.K);
    cmgi_stencils_free(&s.stencils);
    return status;
}

cmg_status cmgi_space_assemble(const cmgi_space *space, const cmgi_cell_form *form, cmgi_csr *A,
                               double *b)
{
    cmg_context *ctx = space->ctx;
    const bool affine = space->grid != NULL && space->grid->domain->vertices == NULL;
    const cmgi_problem *problem = form->problem;
    assembly s = {.space = space,
                  .form = form,
                  .b = b,
                  .same_matrix = affine && cmgi_problem_constant(problem),
                  .same_load = affine && !cmgi_problem_solved(problem) && problem->source == NULL};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_stencils_create(space, &s.stencils));
    CMGI_TRY_GOTO(done, cmgi_stencils_count(&s.stencils, &s.A));
    s.window = s.stencils.room * space->components * space->components;
    const cmg_size windows = s.same_matrix ? s.stencils.count : ctx->threads;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, windows * s.window, sizeof *s.sums, &s.sums));
    CMGI_TRY_GOTO(done, space->grid != NULL ? assemble_grid(&s) : assemble_blocks(&s));
    *A = s.A;
    s.A = (cmgi_csr){0};
done:
    cmgi_free(ctx, s.sums);
    cmgi_stencils_free(&s.stencils);
    cmgi_csr_free(ctx, &s.A);
    return status;
}
