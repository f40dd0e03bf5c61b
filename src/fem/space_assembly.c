/*
 * Matrix and right-hand side, row by row:
 *
 *   A_ij = sum over the cells of node i of K_ab,  b_i = sum of F_a - sum over fixed j of A_ij g_j
 *
 * Meshes: nodes are taken in the order of their first cell, as many at a time as there is room for
 * the cells around them: these are integrated, then the rows are gathered from them. Cells on the
 * rim are integrated again for the next nodes.
 *
 * Grids: cells are integrated layer by layer along the last axis into a ring of layers, from which
 * rows are gathered. Where all cells are alike one is integrated, and the rows of a class of nodes
 * are summed up once and copied.
 *
 * No thread writes to another's rows, and no sum depends on the threads.
 */
#include "core/memory.h"
#include "fem/stencil.h"

#include <string.h>

enum {
    MESH_NUMBERS = 1 << 17, /* of a mesh: room in cell matrices, for each thread */
    MESH_CELLS = 128,       /* ... or, where these are large, cells */
    CHUNK_CELLS = 16384,    /* of a grid: integrated between two rounds of rows */
    CHUNK_ROWS = 1 << 18    /* of a grid: rows a round where all cells are alike */
};

typedef struct assembly {
    const cmgi_space *space;
    const cmgi_cell_form *form;
    cmgi_stencils stencils;
    cmgi_csr *A;
    double *b;
    bool same_matrix; /* one K for all cells */
    bool same_load;   /* one F */
    double *sums;     /* of the stencils: windows of their rows, finished where K is the same */
    cmg_size window;  /* numbers of one */
    cmg_index *order; /* of a mesh: unknown nodes by their first cell */
} assembly;

/* Integrals of cells: of a mesh those of a list, of a grid those in the ring. */
typedef struct integrals {
    cmgi_cell_ring ring;
    cmg_index *cells; /* of a mesh, at most ring.slots */
    cmg_size count;
    cmg_index *slot;  /* cells of a mesh: where each is in the list, -1 = it is not */
    cmg_size K_slots; /* of the ring, 1 where all cells are alike */
    cmg_size F_slots;
} integrals;

static cmg_size slot_of(const integrals *in, cmg_size slots, cmg_size cell)
{
    return in->slot != NULL ? in->slot[cell] : cell % slots;
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
        cmg_index *restrict indices = s->A->indices + s->A->indptr[row + c];
        double *restrict values = s->A->values + s->A->indptr[row + c];
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
        cmgi_space_fix_rows(s->space, s->form->problem, unknown, s->A, s->b);
        return;
    }
    const bool counts = !s->same_matrix || (s->b != NULL && !s->same_load);
    const cmg_size first =
        counts ? cmgi_space_first_cell(s->space, cmgi_space_node(s->space, unknown)) : 0;
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

/* Lists the cells around the nodes from `begin` on, of as many as there is room for; returns the
 * end of the nodes. */
static cmg_size list_cells(const assembly *s, integrals *in, cmg_size begin)
{
    const cmgi_space *space = s->space;
    cmg_size end = begin;
    for (cmg_size k = 0; k < in->count; ++k) {
        in->slot[in->cells[k]] = -1;
    }
    in->count = 0;
    for (; end < space->unknowns; ++end) {
        const cmg_index node = space->node[s->order[end]];
        if (in->count + space->start[node + 1] - space->start[node] > in->ring.slots) {
            break;
        }
        for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
            const cmg_index cell = space->cell[e];
            if (in->slot[cell] < 0) {
                in->slot[cell] = (cmg_index)in->count;
                in->cells[in->count++] = cell;
            }
        }
    }
    return end;
}

static cmg_status assemble_mesh(assembly *s)
{
    cmg_context *ctx = s->space->ctx;
    const cmg_size rows = s->form->rows;
    const cmg_size cells = s->space->mesh->cells;
    const cmg_size fit = MESH_NUMBERS / (rows * rows);
    const cmg_size room = (fit > MESH_CELLS ? fit : MESH_CELLS) * ctx->threads;
    const cmg_size least = s->stencils.room / s->space->local; /* around one node */
    integrals in = {.ring.slots = room < cells ? room : cells};
    in.ring.slots = in.ring.slots > least ? in.ring.slots : least;
    CMGI_FREED(ctx, &in.cells, &in.slot, &in.ring.K, &in.ring.F, &s->order);
    cmgi_scoped cmg_index *start = NULL;
    CMGI_SCOPED(ctx, s->space->unknowns, cmg_index, first); /* cell of an unknown node */
    for (cmg_size u = 0; u < s->space->unknowns; ++u) {
        first[u] = s->space->cell[s->space->start[s->space->node[u]]];
    }
    CMGI_TRY(cmgi_incidence_make(ctx, cells, s->space->unknowns, first, &start, &s->order));
    CMGI_TRY(cmgi_alloc(ctx, in.ring.slots, sizeof *in.cells, &in.cells));
    CMGI_TRY(cmgi_alloc(ctx, cells, sizeof *in.slot, &in.slot));
    CMGI_TRY(cmgi_alloc(ctx, in.ring.slots * rows * rows, sizeof(double), &in.ring.K));
    if (s->b != NULL) {
        CMGI_TRY(cmgi_alloc(ctx, in.ring.slots * rows, sizeof(double), &in.ring.F));
    }
    memset(in.slot, -1, (size_t)cells * sizeof *in.slot);
    in.ring.list = in.cells;
    cmg_size end = 0;
    for (cmg_size begin = 0; begin < s->space->unknowns; begin = end) {
        end = list_cells(s, &in, begin);
        CMGI_TRY(cmgi_space_inverted(
            s->space, cmgi_space_integrate_cells(s->space, s->form, 0, in.count, &in.ring)));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (end - begin > 64)
        for (cmg_size k = begin; k < end; ++k) {
            gather_rows(s, &in, s->order[k]);
        }
        CMGI_TRY(cmgi_progress(ctx, "assembling", end, s->space->unknowns));
    }
    return CMG_OK;
}

/* Layers [begin, end) of cells, then the rows of the nodes that they complete. */
static cmg_status assemble_layers(assembly *s, const integrals *in, cmg_size begin, cmg_size end)
{
    const cmgi_space *space = s->space;
    const cmgi_grid_axis *axis = &space->grid->axis[space->grid->dim - 1];
    const cmg_size layer = space->cells / axis->cells;
    const cmg_size plane = axis->unknowns > 0 ? space->unknowns / axis->unknowns : 0;
    const cmgi_cell_ring ring = {in->ring.slots, s->same_matrix ? NULL : in->ring.K,
                                 s->b == NULL || s->same_load ? NULL : in->ring.F, NULL};
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
    CMGI_FREED(ctx, &in.ring.K, &in.ring.F);
    CMGI_TRY(cmgi_alloc(ctx, in.K_slots * rows * rows, sizeof(double), &in.ring.K));
    CMGI_TRY(cmgi_alloc(ctx, in.F_slots * rows, sizeof(double), &in.ring.F));
    /* the cell that all are like, and the windows of the classes of nodes */
    (void)cmgi_space_integrate(s->space, s->form, 0, s->same_matrix ? in.ring.K : NULL,
                               s->same_load ? in.ring.F : NULL);
    for (cmg_size c = 0; c < s->stencils.count && s->same_matrix; ++c) {
        sum_window(s, &in, &s->stencils.list[c], 0, s->sums + c * s->window);
    }
    if (axis->unknowns > 0) {
        begin = axis->first > 0 ? (axis->first - 1) / axis->order : 0;
        last = (axis->first + axis->unknowns - 1) / axis->order + 1;
        last = last < axis->cells ? last : axis->cells;
    }
    for (; begin < last; begin += depth) {
        const cmg_size end = begin + depth < last ? begin + depth : last;
        CMGI_TRY(assemble_layers(s, &in, begin, end));
        CMGI_TRY(cmgi_progress(ctx, "assembling", end, last));
    }
    return CMG_OK;
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
    CMGI_FREED(ctx, &s.sums, &in.ring.K);
    CMGI_RELEASED(cmgi_stencils_free, ctx, &s.stencils);
    CMGI_TRY(cmgi_stencils_create(space, &s.stencils));
    CMGI_TRY(cmgi_alloc(ctx, s.stencils.room, sizeof *s.sums, &s.sums));
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)form->rows * form->rows, sizeof(double), &in.ring.K));
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
    return CMG_OK;
}

cmg_status cmgi_space_assemble(const cmgi_space *space, const cmgi_cell_form *form, cmgi_csr *A,
                               double *b)
{
    cmg_context *ctx = space->ctx;
    const bool affine = space->grid != NULL && space->grid->domain->vertices == NULL;
    const cmgi_problem *problem = form->problem;
    assembly s = {.space = space,
                  .form = form,
                  .A = A,
                  .b = b,
                  .same_matrix = affine && cmgi_problem_constant(problem),
                  .same_load =
                      affine && !cmgi_problem_solved(problem) && problem->options.source == NULL};
    CMGI_FREED(ctx, &s.sums);
    CMGI_RELEASED(cmgi_stencils_free, ctx, &s.stencils);
    CMGI_TRY(cmgi_stencils_create(space, &s.stencils));
    CMGI_TRY(cmgi_stencils_count(&s.stencils, A));
    s.window = s.stencils.room * space->components * space->components;
    const cmg_size windows = s.same_matrix ? s.stencils.count : ctx->threads;
    CMGI_TRY(cmgi_alloc(ctx, windows * s.window, sizeof *s.sums, &s.sums));
    return space->grid != NULL ? assemble_grid(&s) : assemble_mesh(&s);
}
