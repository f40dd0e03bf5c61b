/* Stencils of spaces. */
#include "fem/stencil.h"

#include "core/memory.h"
#include "core/order.h"
#include "core/search.h"

/* Coupled nodes whose columns are kept, or those whose are not, counted from the node. */
static int list_nodes(const cmgi_space *space, cmg_size node, const cmgi_stencil *s, bool kept,
                      cmg_index *list)
{
    const cmg_size first = cmgi_space_first_cell(space, node);
    cmg_size n = 0;
    int unique = 0;
    for (int k = 0; k < s->cells; ++k) {
        for (int b = 0; b < space->local; ++b) {
            const cmg_size other = cmgi_space_cell_node(space, first + s->cell[k], b);
            if (cmgi_space_keeps(space, other) == kept) {
                list[n++] = (cmg_index)(other - node);
            }
        }
    }
    cmgi_sort_indices(list, n);
    for (cmg_size i = 0; i < n; ++i) {
        if (unique == 0 || list[unique - 1] != list[i]) {
            list[unique++] = list[i];
        }
    }
    return unique;
}

static void find_columns(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    if (space->grid != NULL) {
        s->cells = cmgi_grid_cells_around(space->grid, node, s->cell);
    } else {
        s->cells = (int)(space->start[node + 1] - space->start[node]);
        s->cell = space->cell + space->start[node];
    }
    s->columns = list_nodes(space, node, s, true, s->window);
}

/* Of a stencil that has its columns. */
static void find_places(const cmgi_space *space, cmg_size node, cmgi_stencil *s)
{
    const int nc = space->components;
    const cmg_size unknown = cmgi_space_unknown(space, node);
    const cmg_size first = cmgi_space_first_cell(space, node);
    cmg_index *place = s->place;
    for (int e = 0; e < s->columns * nc; ++e) {
        const cmg_size column = cmgi_space_unknown(space, node + s->window[e / nc]);
        s->offset[e] = (cmg_index)((column - unknown) * nc + e % nc);
    }
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

/* With its columns at least; NULL where the node is fixed. */
static cmgi_stencil *begin_stencil(const cmgi_stencils *stencils, cmg_size unknown)
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
    return s;
}

const cmgi_stencil *cmgi_stencil_of(const cmgi_stencils *stencils, cmg_size unknown)
{
    const cmgi_space *space = stencils->space;
    cmgi_stencil *s = begin_stencil(stencils, unknown);
    if (s != NULL && space->grid == NULL) {
        find_places(space, space->node[unknown], s);
    }
    return s;
}

cmg_status cmgi_stencils_create(const cmgi_space *space, cmgi_stencils *s)
{
    cmg_context *ctx = space->ctx;
    const bool grid = space->grid != NULL;
    cmg_size most = grid ? (cmg_size)1 << space->grid->dim : 1; /* cells around a node */
    *s = (cmgi_stencils){.space = space, .count = grid ? CMGI_GRID_CLASSES : ctx->threads};
    for (cmg_size n = 0; n < space->nodes && !grid; ++n) {
        const cmg_size cells = space->start[n + 1] - space->start[n];
        most = cells > most ? cells : most;
    }
    s->room = most * space->local;
    const cmg_size each = 2 * most + (2 + space->components) * s->room;
    CMGI_TRY(cmgi_alloc_zero(ctx, s->count, sizeof *s->list, &s->list));
    CMGI_TRY(cmgi_alloc(ctx, s->count * each, sizeof *s->numbers, &s->numbers));
    for (cmg_size k = 0; k < s->count; ++k) {
        cmg_index *numbers = s->numbers + k * each;
        s->list[k] = (cmgi_stencil){.cell = numbers,
                                    .local = numbers + most,
                                    .window = numbers + 2 * most,
                                    .place = numbers + 2 * most + s->room,
                                    .offset = numbers + 2 * most + 2 * s->room};
    }
    for (int class = 0; grid && class < CMGI_GRID_CLASSES; ++class) {
        cmgi_stencil *one = &s->list[class];
        const cmg_size node = cmgi_grid_class_node(space->grid, class);
        if (node >= 0 && !cmgi_space_fixed(space, node)) {
            find_columns(space, node, one);
            one->lost = list_nodes(space, node, one, false, one->window + one->columns);
            find_places(space, node, one);
        }
    }
    return CMG_OK;
}

void cmgi_stencils_free(cmg_context *ctx, cmgi_stencils *stencils)
{
    CMGI_FREE(ctx, stencils->list, stencils->numbers);
    *stencils = (cmgi_stencils){0};
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
        const cmgi_stencil *s = begin_stencil(stencils, u);
        for (int c = 0; c < nc; ++c) {
            A->indptr[u * nc + c + 1] = s == NULL ? 1 : s->columns * nc;
        }
    }
    return cmgi_csr_alloc_entries(space->ctx, A);
}
