/*
 * Matrix and right-hand side on any mesh, row by row:
 *
 *   A_ij = sum over the cells of node i of K_ab,  b_i = sum of F_a - sum over fixed j of A_ij g_j
 *
 * Nodes are taken in the order of their first cell, in blocks of a few hundred: a thread integrates
 * all cells around a block, then gathers the block's rows from them. Cells on the rim of a block
 * are integrated again for the next one; no thread writes to another's rows, and no sum depends on
 * the threads.
 */
#include "core/memory.h"
#include "core/search.h"
#include "fem/space.h"

enum { BLOCK = 256 };

typedef struct assembly {
    const cmgi_space *space;
    const cmgi_cell_form *form;
    cmgi_csr *A;
    double *b;
    cmg_index *order; /* unknown nodes by their first cell */
    cmg_size blocks;
    cmg_size most_cells;  /* around a block, each counted once */
    cmg_size most_visits; /* around a block, counted from every node */
} assembly;

/* Room of one thread. */
typedef struct workspace {
    cmg_index *cells; /* most_visits: cells around the block, ascending */
    double *K;        /* most_cells cell matrices */
    double *F;
} workspace;

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

/* Adds one cell's part to the rows of a node that is its local node a. */
static void add_cell(const assembly *s, cmg_size cell, int a, const double *K, cmg_size row)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_index *nodes = space->cell_nodes + cell * space->local;
    for (int b = 0; b < space->local; ++b) {
        if (!cmgi_space_keeps(space, nodes[b])) {
            continue;
        }
        const cmg_size at = cmgi_space_column(s->A, row, space->unknown[nodes[b]] * nc);
        for (int c = 0; c < nc; ++c) {
            double *to = s->A->values + s->A->indptr[row + c] + at;
            const double *from = K + (a * nc + c) * s->form->rows + b * nc;
            for (int j = 0; j < nc; ++j) {
                to[j] += from[j];
            }
        }
    }
}

/* The rows of one node. K and F hold the integrals of the `count` cells around the block. */
static void gather_rows(const assembly *s, cmg_index unknown, const workspace *w, cmg_size count)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_size row = (cmg_size)unknown * nc;
    const cmg_index node = space->node[unknown];
    if (space->fixed[node]) {
        cmgi_space_fix_rows(space, s->form->problem, node, s->A, s->b);
        return;
    }
    for (int c = 0; c < nc && s->b != NULL; ++c) {
        s->b[row + c] = 0;
    }
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_index cell = space->cell[e];
        const cmg_size at = cmgi_find(w->cells, count, cell);
        const int a = cmgi_space_local(space, cell, node);
        add_cell(s, cell, a, w->K + at * s->form->rows * s->form->rows, row);
        for (int c = 0; c < nc && s->b != NULL; ++c) {
            s->b[row + c] += w->F[at * s->form->rows + a * nc + c];
        }
    }
}

/* Integrates and gathers a block; returns an inverted cell or -1. */
static cmg_index assemble_block(const assembly *s, cmg_size block, const workspace *w)
{
    const cmg_size rows = s->form->rows;
    const cmg_size count = cells_around(s, block, w->cells);
    cmg_index bad = -1;
    for (cmg_size e = 0; e < count; ++e) {
        double *F = s->b != NULL ? w->F + e * rows : NULL;
        if (!cmgi_space_integrate(s->space, s->form, w->cells[e], w->K + e * rows * rows, F)) {
            bad = w->cells[e];
        }
    }
    for (cmg_size k = block * BLOCK; k < block_end(s, block); ++k) {
        gather_rows(s, s->order[k], w, count);
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

static void measure_cells(assembly *s, const workspace *all)
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

static cmg_status assemble_blocks(const assembly *s, const workspace *all)
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
            const workspace w = {.cells = all->cells + s->most_visits * t,
                                 .K = all->K + s->most_cells * rows * rows * t,
                                 .F = all->F + s->most_cells * rows * t};
            const cmg_index found = assemble_block(s, block, &w);
            bad = found > bad ? found : bad;
        }
        CMGI_CHECK(ctx, bad < 0, CMG_ERR_SHAPE, "cell %lld of %lld is inverted", (long long)bad,
                   (long long)s->space->mesh->cells);
        CMGI_TRY(cmgi_progress(ctx, "assembling", end, s->blocks));
    }
    return CMG_OK;
}

cmg_status cmgi_space_assemble(const cmgi_space *space, const cmgi_cell_form *form, cmgi_csr *A,
                               double *b)
{
    cmg_context *ctx = space->ctx;
    const cmg_size rows = form->rows;
    assembly s = {.space = space, .form = form, .b = b};
    workspace all = {0};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_space_pattern(space, &made));
    s.A = &made;
    CMGI_TRY_GOTO(done, order_nodes(&s));
    measure_visits(&s);
    CMGI_TRY_GOTO(done,
                  cmgi_alloc(ctx, s.most_visits * ctx->threads, sizeof(cmg_index), &all.cells));
    measure_cells(&s, &all);
    const cmg_size room = s.most_cells * ctx->threads;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * rows * rows, sizeof(double), &all.K));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * rows, sizeof(double), &all.F));
    CMGI_TRY_GOTO(done, assemble_blocks(&s, &all));
    *A = made;
    made = (cmgi_csr){0};
done:
    CMGI_FREE(ctx, all.cells, all.K, all.F, s.order);
    cmgi_csr_free(ctx, &made);
    return status;
}
