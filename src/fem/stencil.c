/* Stencils of spaces. */
#include "fem/stencil.h"

#include "core/memory.h"
#include "core/order.h"
#include "core/search.h"

/* Sorts and drops duplicates; returns the number left. */
static cmg_size sort_unique(cmg_index *list, cmg_size n)
{
    cmg_size kept = 0;
    cmgi_sort_indices(list, n);
    for (cmg_size i = 0; i < n; ++i) {
        if (kept == 0 || list[kept - 1] != list[i]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* What cells of a stencil are counted from. */
static cmg_size first_cell(const cmgi_space *space, cmg_size node)
{
    return space->grid != NULL ? cmgi_grid_first_cell(space->grid, node) : 0;
}

static void list_cells(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    if (space->grid != NULL) {
        s->cells = cmgi_grid_cells_around(space->grid, node, s->cell);
    } else {
        s->cells = (int)(space->start[node + 1] - space->start[node]);
        s->cell = space->cell + space->start[node];
    }
}

/* Coupled nodes whose columns are kept, or those whose are not, counted from the node. */
static int list_nodes(const cmgi_space *space, cmg_size node, const cmgi_stencil *s, bool kept,
                      cmg_index *list)
{
    const cmg_size first = first_cell(space, node);
    cmg_size n = 0;
    for (int k = 0; k < s->cells; ++k) {
        for (int b = 0; b < space->local; ++b) {
            const cmg_size other = cmgi_space_cell_node(space, first + s->cell[k], b);
            if (cmgi_space_keeps(space, other) == kept) {
                list[n++] = (cmg_index)(other - node);
            }
        }
    }
    return (int)sort_unique(list, n);
}

static void find_columns(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    list_cells(space, node, s);
    s->columns = list_nodes(space, node, s, true, s->window);
}

static void find_offsets(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    const int nc = space->components;
    const cmg_size unknown = cmgi_space_unknown(space, node);
    for (int e = 0; e < s->columns; ++e) {
        const cmg_size column = cmgi_space_unknown(space, node + s->window[e]);
        for (int j = 0; j < nc; ++j) {
            s->offset[e * nc + j] = (cmg_index)((column - unknown) * nc + j);
        }
    }
}

static void find_places(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    const cmg_size first = first_cell(space, node);
    cmg_index *place = s->place;
    for (int k = 0; k < s->cells; ++k) {
        const bool again = k > 0 && s->cell[k] == s->cell[k - 1]; /* a cell has the node twice */
        s->local[k] = again ? s->local[k - 1] + 1 : 0;
        while (cmgi_space_cell_node(space, first + s->cell[k], s->local[k]) != node) {
            ++s->local[k];
        }
        for (int b = 0; b < space->local; ++b) {
            const cmg_size other = cmgi_space_cell_node(space, first + s->cell[k], b);
            const bool kept = cmgi_space_keeps(space, other);
            const int begin = kept ? 0 : s->columns;
            const int end = kept ? s->columns : s->columns + s->lost;
            *place++ = (cmg_index)cmgi_find_index(s->window, begin, end, (cmg_index)(other - node));
        }
    }
}

const cmgi_stencil *cmgi_stencil_of(const cmgi_stencils *stencils, cmg_size unknown)
{
    const cmgi_space *space = stencils->space;
    if (space->grid != NULL) {
        const int class = cmgi_grid_class(space->grid, unknown);
        return class >= 0 ? &stencils->list[class] : NULL;
    }
    const cmg_size node = space->node[unknown];
    cmgi_stencil *s = &stencils->list[cmgi_thread()];
    if (space->fixed[node]) {
        return NULL;
    }
    find_columns(space, node, s);
    find_offsets(space, node, s);
    find_places(space, node, s);
    return s;
}

/* The stencils of all classes of a grid's nodes. */
static void make_classes(const cmgi_stencils *stencils)
{
    const cmgi_space *space = stencils->space;
    for (int class = 0; class < CMGI_GRID_CLASSES; ++class) {
        cmgi_stencil *s = &stencils->list[class];
        const cmg_size node = cmgi_grid_class_node(space->grid, class);
        if (node >= 0 && !cmgi_space_fixed(space, node)) {
            find_columns(space, node, s);
            s->lost = list_nodes(space, node, s, false, s->window + s->columns);
            find_offsets(space, node, s);
            find_places(space, node, s);
        }
    }
}

cmg_status cmgi_stencils_create(const cmgi_space *space, cmgi_stencils *stencils)
{
    cmg_context *ctx = space->ctx;
    const bool grid = space->grid != NULL;
    cmgi_stencils made = {.space = space, .count = grid ? CMGI_GRID_CLASSES : ctx->threads};
    cmg_size most = grid ? (cmg_size)1 << space->grid->dim : 1; /* cells around a node */
    cmg_status status = CMG_OK;
    for (cmg_size n = 0; n < space->nodes && !grid; ++n) {
        const cmg_size cells = space->start[n + 1] - space->start[n];
        most = cells > most ? cells : most;
    }
    made.room = most * space->local;
    const cmg_size each = 2 * most + (2 + space->components) * made.room;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, made.count, sizeof *made.list, &made.list));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, made.count * each, sizeof *made.numbers, &made.numbers));
    for (cmg_size k = 0; k < made.count; ++k) {
        cmg_index *numbers = made.numbers + k * each;
        made.list[k] = (cmgi_stencil){.cell = numbers,
                                      .local = numbers + most,
                                      .window = numbers + 2 * most,
                                      .place = numbers + 2 * most + made.room,
                                      .offset = numbers + 2 * most + 2 * made.room};
    }
    if (grid) {
        make_classes(&made);
    }
    *stencils = made;
    made = (cmgi_stencils){.space = space};
done:
    cmgi_stencils_free(&made);
    return status;
}

void cmgi_stencils_free(cmgi_stencils *stencils)
{
    if (stencils->space != NULL) {
        CMGI_FREE(stencils->space->ctx, stencils->list, stencils->numbers);
    }
    *stencils = (cmgi_stencils){0};
}

/* Nodes that a node's rows have columns of, -1 where it is fixed. */
static int columns_of(const cmgi_stencils *stencils, cmg_size unknown)
{
    const cmgi_space *space = stencils->space;
    if (space->grid != NULL) {
        const cmgi_stencil *s = cmgi_stencil_of(stencils, unknown);
        return s != NULL ? s->columns : -1;
    }
    cmgi_stencil *s = &stencils->list[cmgi_thread()];
    const cmg_size node = space->node[unknown];
    if (space->fixed[node]) {
        return -1;
    }
    find_columns(space, node, s);
    return s->columns;
}

cmg_status cmgi_stencils_count(const cmgi_stencils *stencils, cmgi_csr *A)
{
    const cmgi_space *space = stencils->space;
    const int nc = space->components;
    const cmg_size rows = space->unknowns * nc;
    CMGI_CHECK(space->ctx, rows <= INT32_MAX, CMG_ERR_ARG, "%lld unknowns are more than 2^31 - 1",
               (long long)rows);
    CMGI_TRY(cmgi_csr_alloc_rows(space->ctx, rows, rows, A));
#pragma omp parallel for num_threads(space->ctx->threads)                                          \
    schedule(static) if (space->unknowns > 256)
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        const int columns = columns_of(stencils, u);
        for (int c = 0; c < nc; ++c) {
            A->indptr[u * nc + c + 1] = columns < 0 ? 1 : columns * nc;
        }
    }
    return cmgi_csr_alloc_entries(space->ctx, A);
}
