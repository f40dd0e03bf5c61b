/* P row by row; columns ascending. */
#include "transfer/rows.h"

#include "csr/by_rows.h"

#include <math.h>

/* Nodes, and unknowns of each. */
typedef struct nodes {
    cmgi_row_fn row;
    const void *user;
    int block;
} nodes;

/* The row of an unknown without its zeros. */
static cmg_size clean_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const nodes *n = user;
    cmg_index column[CMGI_ROW_WIDTH];
    double weight[CMGI_ROW_WIDTH];
    const int given = n->row(n->user, i / n->block, column, weight);
    cmg_size count = 0;
    for (int k = 0; k < given; ++k) {
        const cmg_index j = column[k] * n->block + (cmg_index)(i % n->block);
        if (fabs(weight[k]) < 1e-14) {
            continue;
        }
        cmg_size at = count++;
        for (; columns != NULL && at > 0 && columns[at - 1] > j; --at) {
            columns[at] = columns[at - 1];
            values[at] = values[at - 1];
        }
        if (columns != NULL) {
            columns[at] = j;
            values[at] = weight[k];
        }
    }
    return count;
}

cmg_status cmgi_transfer_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, int block,
                              cmgi_row_fn row, const void *user, cmgi_csr *P)
{
    const nodes n = {row, user, block};
    return cmgi_csr_by_rows(ctx, rows * block, cols * block, clean_row, &n, P);
}
