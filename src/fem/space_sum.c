/*
 * The sum matrices of a space. Every row of A is visited from its node, whose cells are listed in
 * ascending order: so terms are added in the order in which the assembly by rows adds them.
 *
 * All terms of a node stand together, so that rows of terms can be filled in one visit: the terms
 * of an entry of A are the pairs (cell, local number of its column) that were found at its place,
 * and the same for each pair of components.
 */
#include "fem/space_sum.h"

#include "core/memory.h"
#include "core/search.h"

#include <string.h>

typedef struct builder {
    const cmgi_space *space;
    cmgi_cell_layout layout;
    const cmgi_csr *A; /* NULL: of the load */
    cmg_size *first;   /* unknowns + 1: first term of a node's rows */
    cmg_size *indptr;
    cmg_index *indices;
    cmg_index *place;   /* rows x rows: of the numbers of a cell matrix */
    cmg_index *scratch; /* room of every thread */
    cmg_size room;
} builder;

/* Local number of a node in its cell e, of those around it; a cell that has the node twice is
 * listed twice. */
static int local_number(const cmgi_space *space, cmg_index node, cmg_size e, int last)
{
    const bool again = e > space->start[node] && space->cell[e] == space->cell[e - 1];
    const cmg_index *nodes = space->cell_nodes + (cmg_size)space->cell[e] * space->local;
    int a = again ? last + 1 : 0;
    while (nodes[a] != node) {
        ++a;
    }
    return a;
}

/* Terms of a node's rows. */
static cmg_size count_terms(const builder *s, cmg_index node)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    cmg_size n = 0;
    if (space->fixed[node]) {
        return s->A != NULL ? nc : 0;
    }
    if (s->A == NULL) {
        return (space->start[node + 1] - space->start[node]) * nc;
    }
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_index *nodes = space->cell_nodes + (cmg_size)space->cell[e] * space->local;
        for (int b = 0; b < space->local; ++b) {
            n += cmgi_space_keeps(space, nodes[b]);
        }
    }
    return n * nc * nc;
}

/* The place of a column that a row has, of n columns `step` apart; the one after `last` is the most
 * likely. */
static inline cmg_size find_column(const cmg_index *columns, cmg_size n, int step, cmg_index wanted,
                                   cmg_size last)
{
    if (last + 1 < n && columns[(last + 1) * step] == wanted) {
        return last + 1;
    }
    cmg_size low = 0;
    while (n > 1) {
        const cmg_size half = n / 2;
        low += columns[(low + half) * step] <= wanted ? half : 0;
        n -= half;
    }
    return low;
}

/* The position in row, a node's first row of A, of every column of the cells around it, in their
 * order, -1 = it is not kept; count[p] becomes the number of those before position p. */
static void find_places(const builder *s, cmg_index node, cmg_size row, cmg_index *place,
                        cmg_index *count)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_index *in_row = s->A->indices + s->A->indptr[row];
    const cmg_size columns = (s->A->indptr[row + 1] - s->A->indptr[row]) / nc;
    cmg_size p = -1;
    memset(count, 0, (size_t)(columns + 1) * sizeof *count);
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_index *nodes = space->cell_nodes + (cmg_size)space->cell[e] * space->local;
        for (int b = 0; b < space->local; ++b, ++place) {
            *place = -1;
            if (cmgi_space_keeps(space, nodes[b])) {
                p = find_column(in_row, columns, nc, space->unknown[nodes[b]] * nc, p);
                *place = (cmg_index)p;
                ++count[p + 1];
            }
        }
    }
    for (cmg_size q = 0; q < columns; ++q) {
        count[q + 1] += count[q];
    }
}

/* What a node's rows of A have: their columns as nodes, the terms of each component, and, for
 * column p, the number of cells that have columns before it, and that have been visited. */
typedef struct node_rows {
    cmg_size first;
    cmg_size terms;
    cmg_size columns;
    const cmg_index *before;
    cmg_index *taken;
} node_rows;

/* Where the rows of terms begin. */
static void begin_entries(const builder *s, const node_rows *r, cmg_size *at)
{
    const int nc = s->space->components;
    for (int c = 0; c < nc; ++c) {
        for (cmg_size p = 0; p < r->columns; ++p) {
            const cmg_size first = r->first + c * r->terms + (cmg_size)r->before[p] * nc;
            for (int j = 0; j < nc; ++j) {
                *at++ = first + j * (r->before[p + 1] - r->before[p]);
            }
        }
    }
}

/* The terms of two nodes of a cell, one in each of the entries at position p; their numbers are
 * those from `place` on, beginning at that of the cell. */
static inline void add_terms(const node_rows *r, int nc, int rows, cmg_size p, cmg_index cell,
                             const cmg_index *place, cmg_index *indices)
{
    const cmg_size many = r->before[p + 1] - r->before[p];
    cmg_index *to = indices + r->first + (cmg_size)r->before[p] * nc + r->taken[p]++;
    for (int c = 0; c < nc; ++c) {
        for (int j = 0; j < nc; ++j) {
            to[c * r->terms + j * many] = cell + place[c * rows + j];
        }
    }
}

static void visit_matrix(const builder *s, cmg_size u, cmg_index *place)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_index node = space->node[u];
    const cmg_size row = u * nc;
    const cmg_size begin = s->A->indptr[row];
    const cmg_size pairs = (space->start[node + 1] - space->start[node]) * space->local;
    const cmg_size entries = cmgi_cell_entries(s->layout);
    cmg_index *const before = place + pairs;
    node_rows r = {s->first[u], (s->first[u + 1] - s->first[u]) / nc,
                   (s->A->indptr[row + 1] - begin) / nc, before, NULL};
    r.taken = before + r.columns + 1;
    find_places(s, node, row, place, before);
    begin_entries(s, &r, s->indptr + begin);
    memset(r.taken, 0, (size_t)r.columns * sizeof *r.taken);
    int a = 0;
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        a = local_number(space, node, e, a);
        const cmg_index *of_row = s->place + (cmg_size)a * nc * s->layout.rows;
        const cmg_index cell = (cmg_index)(space->cell[e] * entries);
        for (int b = 0; b < space->local; ++b, ++place) {
            if (*place >= 0) {
                add_terms(&r, nc, s->layout.rows, *place, cell, of_row + b * nc, s->indices);
            }
        }
    }
}

static void visit_load(const builder *s, cmg_size u)
{
    const cmgi_space *space = s->space;
    const cmg_index node = space->node[u];
    const int nc = space->components;
    const cmg_size cells = (s->first[u + 1] - s->first[u]) / nc;
    int a = 0;
    for (cmg_size e = 0; e < cells; ++e) {
        a = local_number(space, node, space->start[node] + e, a);
        const cmg_size cell = space->cell[space->start[node] + e];
        for (int c = 0; c < nc; ++c) {
            s->indices[s->first[u] + c * cells + e] =
                (cmg_index)(cell * s->layout.rows + a * nc + c);
        }
    }
    for (int c = 0; c < nc; ++c) {
        s->indptr[u * nc + c] = s->first[u] + c * cells;
    }
}

static void visit(const builder *s, cmg_size u)
{
    const int nc = s->space->components;
    if (s->A == NULL) {
        visit_load(s, u);
    } else if (!s->space->fixed[s->space->node[u]]) {
        visit_matrix(s, u, s->scratch + s->room * cmgi_thread());
    } else {
        for (int c = 0; c < nc; ++c) {
            s->indptr[s->A->indptr[u * nc + c]] = s->first[u] + c;
            s->indices[s->first[u] + c] = -1;
        }
    }
}

static cmg_status make_places(builder *s)
{
    const int rows = s->layout.rows;
    CMGI_TRY(cmgi_alloc(s->space->ctx, (cmg_size)rows * rows, sizeof *s->place, &s->place));
    for (int k = 0; k < rows * rows; ++k) {
        s->place[k] = cmgi_cell_place(s->layout, k / rows, k % rows);
    }
    return CMG_OK;
}

/* Most numbers that a node needs: places of columns, and two more for each that differs. */
static cmg_size room_of(const cmgi_space *space)
{
    cmg_size most = 0;
    for (cmg_size n = 0; n < space->nodes; ++n) {
        const cmg_size cells = space->start[n + 1] - space->start[n];
        most = cells > most ? cells : most;
    }
    return 3 * most * space->local + 2;
}

static cmg_status build(builder *s, cmg_size rows, cmgi_sum *S)
{
    const cmgi_space *space = s->space;
    cmg_context *ctx = space->ctx;
    const cmg_size n = space->unknowns;
    const cmg_size numbers = s->A != NULL ? cmgi_cell_entries(s->layout) : s->layout.rows;
    cmg_size *indptr = NULL; /* in the backend's memory */
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, space->mesh->cells * numbers <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: %lld cells with %lld numbers each are more than 2^31 - 1",
               (long long)space->mesh->cells, (long long)numbers);
    s->room = room_of(space);
    CMGI_TRY_GOTO(done, make_places(s));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n + 1, sizeof *s->first, &s->first));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, s->room * ctx->threads, sizeof *s->scratch, &s->scratch));
    s->first[0] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size u = 0; u < n; ++u) {
        s->first[u + 1] = count_terms(s, space->node[u]);
    }
    cmgi_add_up(s->first, n);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows + 1, sizeof *s->indptr, &s->indptr));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, s->first[n], sizeof *s->indices, &s->indices));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 256)
    for (cmg_size u = 0; u < n; ++u) {
        visit(s, u);
    }
    s->indptr[rows] = s->first[n];
    CMGI_TRY_GOTO(done, cmgi_move_to_device(ctx, &s->indptr, rows + 1, sizeof *s->indptr));
    indptr = s->indptr;
    s->indptr = NULL;
    CMGI_TRY_GOTO(done, cmgi_move_to_device(ctx, &s->indices, s->first[n], sizeof *s->indices));
    status = cmgi_sum_create(ctx, rows, indptr, s->indices, S);
    indptr = NULL;
    s->indices = NULL;
done:
    cmgi_free_device(ctx, indptr);
    CMGI_FREE(ctx, s->first, s->place, s->scratch, s->indptr, s->indices);
    return status;
}

cmg_status cmgi_space_sum_matrix(const cmgi_space *space, cmgi_cell_layout layout,
                                 const cmgi_csr *A, cmgi_sum *S)
{
    builder s = {.space = space, .layout = layout, .A = A};
    return build(&s, A->indptr[A->rows], S);
}

cmg_status cmgi_space_sum_load(const cmgi_space *space, cmgi_sum *T)
{
    builder s = {.space = space, .layout = {.rows = space->local * space->components}};
    return build(&s, space->unknowns * space->components, T);
}
