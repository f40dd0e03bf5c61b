/* P = P_z (x) P_y (x) P_x (x) I, row by row. */
#include "transfer/tensor.h"
#include "core/memory.h"

cmg_status cmgi_axis_map_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_axis_map *map)
{
    cmgi_axis_map made = {.rows = rows, .cols = cols};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, rows, sizeof *made.count, &made.count));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows * CMGI_AXIS_WIDTH, sizeof *made.column, &made.column));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows * CMGI_AXIS_WIDTH, sizeof *made.weight, &made.weight));
    *map = made;
    made = (cmgi_axis_map){0};
done:
    cmgi_axis_map_free(ctx, &made);
    return status;
}

void cmgi_axis_map_free(cmg_context *ctx, cmgi_axis_map *map)
{
    CMGI_FREE(ctx, map->count, map->column, map->weight);
    *map = (cmgi_axis_map){0};
}

/* Fills the `block` rows of fine position (i, j, k), whose first entry is at `begin`. */
static void fill_rows(const cmgi_axis_map axis[3], const cmg_size at[3], int block, cmg_size begin,
                      cmgi_csr *P)
{
    const cmg_index *c[3];
    const double *w[3];
    for (int d = 0; d < 3; ++d) {
        c[d] = axis[d].column + at[d] * CMGI_AXIS_WIDTH;
        w[d] = axis[d].weight + at[d] * CMGI_AXIS_WIDTH;
    }
    const int nx = axis[0].count[at[0]];
    const int lines = axis[1].count[at[1]] * axis[2].count[at[2]];
    const cmg_size mx = axis[0].cols;
    const cmg_size my = axis[1].cols;
    cmg_size k = begin;
    for (int comp = 0; comp < block; ++comp) {
        for (int line = 0; line < lines; ++line) {
            const int b = line % axis[1].count[at[1]];
            const int a = line / axis[1].count[at[1]];
            const cmg_size from = mx * (c[1][b] + my * c[2][a]);
            for (int e = 0; e < nx; ++e, ++k) {
                P->indices[k] = (cmg_index)((from + c[0][e]) * block + comp);
                P->values[k] = w[2][a] * w[1][b] * w[0][e];
            }
        }
    }
}

cmg_status cmgi_transfer_tensor(cmg_context *ctx, const cmgi_axis_map axis[3], int block,
                                cmgi_csr *P)
{
    const cmg_size nx = axis[0].rows;
    const cmg_size ny = axis[1].rows;
    const cmg_size nodes = nx * ny * axis[2].rows;
    const cmg_size cols = axis[0].cols * axis[1].cols * axis[2].cols * block;
    cmg_size total[3] = {0, 0, 0};
    for (int d = 0; d < 3; ++d) {
        for (cmg_size i = 0; i < axis[d].rows; ++i) {
            total[d] += axis[d].count[i];
        }
    }
    CMGI_TRY(cmgi_csr_alloc(ctx, nodes * block, cols, total[0] * total[1] * total[2] * block, P));
    cmg_size k = 0;
    for (cmg_size r = 0; r < nodes; ++r) {
        const cmg_size length = (cmg_size)axis[0].count[r % nx] * axis[1].count[r / nx % ny] *
                                axis[2].count[r / (nx * ny)];
        for (int comp = 0; comp < block; ++comp, k += length) {
            P->indptr[r * block + comp] = k;
        }
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nodes > 256)
    for (cmg_size r = 0; r < nodes; ++r) {
        const cmg_size at[3] = {r % nx, r / nx % ny, r / (nx * ny)};
        fill_rows(axis, at, block, P->indptr[r * block], P);
    }
    return CMG_OK;
}
