/* P = P_z (x) P_y (x) P_x (x) I, row by row. */
#include "transfer/tensor.h"

#include "core/memory.h"
#include "csr/by_rows.h"

cmg_status cmgi_axis_map_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_axis_map *map)
{
    cmgi_axis_map made = {.rows = rows, .cols = cols};
    CMGI_RELEASED(cmgi_axis_map_free, ctx, &made);
    CMGI_TRY(cmgi_alloc_zero(ctx, rows, sizeof *made.count, &made.count));
    CMGI_TRY(cmgi_alloc(ctx, rows * CMGI_AXIS_WIDTH, sizeof *made.column, &made.column));
    CMGI_TRY(cmgi_alloc(ctx, rows * CMGI_AXIS_WIDTH, sizeof *made.weight, &made.weight));
    CMGI_PASS_ON(&made, map);
    return CMG_OK;
}

void cmgi_axis_map_free(cmg_context *ctx, cmgi_axis_map *map)
{
    CMGI_FREE(ctx, map->count, map->column, map->weight);
    *map = (cmgi_axis_map){0};
}

typedef struct tensor {
    const cmgi_axis_map *axis;
    int block;
} tensor;

/* The row of an unknown of fine position `at`. */
static cmg_size tensor_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const tensor *t = user;
    const cmgi_axis_map *axis = t->axis;
    cmg_size at[3] = {i / t->block, 0, 0};
    const cmg_index *c[3];
    const double *w[3];
    int count[3];
    for (int d = 0; d < 3; ++d) {
        if (d < 2) {
            at[d + 1] = at[d] / axis[d].rows;
            at[d] %= axis[d].rows;
        }
        c[d] = axis[d].column + at[d] * CMGI_AXIS_WIDTH;
        w[d] = axis[d].weight + at[d] * CMGI_AXIS_WIDTH;
        count[d] = axis[d].count[at[d]];
    }
    const int lines = count[1] * count[2];
    for (int line = 0, k = 0; columns != NULL && line < lines; ++line) {
        const int b = line % count[1];
        const int a = line / count[1];
        const cmg_size from = axis[0].cols * (c[1][b] + axis[1].cols * c[2][a]);
        for (int e = 0; e < count[0]; ++e, ++k) {
            columns[k] = (cmg_index)((from + c[0][e]) * t->block + i % t->block);
            values[k] = w[2][a] * w[1][b] * w[0][e];
        }
    }
    return (cmg_size)lines * count[0];
}

cmg_status cmgi_transfer_tensor(cmg_context *ctx, const cmgi_axis_map axis[3], int block,
                                cmgi_csr *P)
{
    const tensor t = {axis, block};
    const cmg_size rows = axis[0].rows * axis[1].rows * axis[2].rows;
    const cmg_size cols = axis[0].cols * axis[1].cols * axis[2].cols;
    return cmgi_csr_by_rows(ctx, rows * block, cols * block, tensor_row, &t, P);
}
