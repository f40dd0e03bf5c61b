/* Cell matrices on the CPU: a thread a cell, sizes as constants so that loops are unrolled. */
#include "fem/cell_matrices.h"

#include "core/backend.h"
#include "core/each.h"

#include "fem/cell_inverted.inc"

#include <string.h>

/* Stores the upper triangle of a matrix as the layout wants it. */
static inline void store(cmgi_cell_layout layout, int rows, const double *K, double *e)
{
    if (layout.symmetric) {
        memcpy(e, K, (size_t)(rows * (rows + 1) / 2) * sizeof *e);
        return;
    }
    for (int r = 0; r < rows; ++r) {
        for (int s = r; s < rows; ++s) {
            e[r * rows + s] = *K;
            e[s * rows + r] = *K++;
        }
    }
}

static inline void one_cell(const cmgi_cell_batch *c, bool simplex, int dim, bool elastic,
                            cmg_size cell)
{
    const int rows = (simplex ? dim + 1 : 1 << dim) * (elastic ? dim : 1);
    double K[CMGI_FIRST_NUMBERS];
    cmgi_cell_matrix(c, simplex, dim, elastic, cell, K);
    store(c->layout, rows, K, c->e + cell * c->entries);
}

static inline void sized_cell(const cmgi_cell_batch *c, bool simplex, int dim, cmg_size cell)
{
    if (c->components > 1) {
        one_cell(c, simplex, dim, true, cell);
    } else {
        one_cell(c, simplex, dim, false, cell);
    }
}

static cmg_status matrices_cpu(cmg_context *ctx, const cmgi_cell_batch *c)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (c->cells > 256)
    for (cmg_size cell = 0; cell < c->cells; ++cell) {
        if (c->simplex && c->dim == 3) {
            sized_cell(c, true, 3, cell);
        } else if (c->simplex) {
            sized_cell(c, true, 2, cell);
        } else if (c->dim == 3) {
            sized_cell(c, false, 3, cell);
        } else {
            sized_cell(c, false, 2, cell);
        }
    }
    return CMG_OK;
}

cmg_status cmgi_cell_matrices(cmg_context *ctx, const cmgi_cell_batch *cells)
{
    CMGI_EITHER(matrices, matrices_cpu, cmgi_cell_matrices_cuda);
    return matrices[cmgi_column(ctx)](ctx, cells);
}

cmg_status cmgi_cells_inverted(cmg_context *ctx, const cmgi_cell_batch *cells, cmg_index *found)
{
    const cmgi_place at = (cmgi_place)cmgi_column(ctx);
    cell_range range = {.cells = *cells};
    cmg_size end = cells->cells;
    cmg_size count = 0;
    CMGI_TRY(count_inverted(ctx, at, end, &range, &count));
    *found = -1;
    if (count == 0) {
        return CMG_OK;
    }
    cmg_size begin = 0; /* the last one is before `end`, and not before `begin` */
    while (end - begin > 1) {
        range.first = begin + (end - begin) / 2;
        CMGI_TRY(count_inverted(ctx, at, end - range.first, &range, &count));
        begin = count > 0 ? range.first : begin;
        end = count > 0 ? end : range.first;
    }
    *found = (cmg_index)begin;
    return CMG_OK;
}
