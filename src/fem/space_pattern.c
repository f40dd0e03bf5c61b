/* Pattern of a space's matrix, cell integrals with boundary values, identity rows, errors. */
#include "core/memory.h"
#include "core/search.h"
#include "core/order.h"
#include "fem/space.h"

#include <stdlib.h>
#include <string.h>

/* The list of a long row, or of a block of nodes. */
static cmg_size sort_long(cmg_index *list, cmg_size n)
{
    qsort(list, (size_t)n, sizeof *list, cmgi_ascending_index);
    cmg_size kept = 0;
    for (cmg_size i = 0; i < n; ++i) {
        if (kept == 0 || list[kept - 1] != list[i]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

cmg_size cmgi_sort_unique(cmg_index *list, cmg_size n)
{
    enum { LONG = 512 };
    if (n > LONG) {
        return sort_long(list, n);
    }
    cmg_size kept = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_index value = list[i];
        cmg_size at = kept;
        if (kept > 0 && value <= list[kept - 1]) {
            at = value < list[0] ? 0 : cmgi_find(list, kept, value);
            if (list[at] == value) {
                continue;
            }
            at += value < list[0] ? 0 : 1;
            memmove(list + at + 1, list + at, (size_t)(kept - at) * sizeof *list);
        }
        list[at] = value;
        ++kept;
    }
    return kept;
}

cmg_size cmgi_find(const cmg_index *list, cmg_size n, cmg_index value)
{
    cmg_size low = 0;
    while (n > 1) {
        const cmg_size half = n / 2;
        low += list[low + half] <= value ? half : 0;
        n -= half;
    }
    return low;
}

cmg_size cmgi_space_column(const cmgi_csr *A, cmg_size row, cmg_index column)
{
    const cmg_size begin = A->indptr[row];
    return cmgi_find(A->indices + begin, A->indptr[row + 1] - begin, column);
}

/* Columns of a node's rows, as unknown nodes, ascending. A fixed node has its own alone. */
static cmg_size columns_of(const cmgi_space *space, cmg_index node, cmg_index *columns)
{
    cmg_size n = 0;
    if (space->fixed[node]) {
        columns[0] = space->unknown[node];
        return 1;
    }
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_index *nodes = space->cell_nodes + (cmg_size)space->cell[e] * space->local;
        for (int b = 0; b < space->local; ++b) {
            if (cmgi_space_keeps(space, nodes[b])) {
                columns[n++] = space->unknown[nodes[b]];
            }
        }
    }
    return cmgi_sort_unique(columns, n);
}

/* Row lengths into indptr, then their sums. */
static void count_rows(const cmgi_space *space, cmg_index *scratch, cmg_size room, cmg_size *indptr)
{
    const int nc = space->components;
#pragma omp parallel for num_threads(space->ctx->threads)                                          \
    schedule(static) if (space->unknowns > 256)
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        const cmg_index node = space->node[u];
        const cmg_size length = columns_of(space, node, scratch + room * cmgi_thread());
        for (int c = 0; c < nc; ++c) {
            indptr[u * nc + c + 1] = space->fixed[node] ? 1 : length * nc;
        }
    }
    cmgi_add_up(indptr, space->unknowns * nc);
}

static void fill_rows(const cmgi_space *space, cmg_index *scratch, cmg_size room, cmgi_csr *A)
{
    const int nc = space->components;
#pragma omp parallel for num_threads(space->ctx->threads)                                          \
    schedule(static) if (space->unknowns > 256)
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        cmg_index *columns = scratch + room * cmgi_thread();
        (void)columns_of(space, space->node[u], columns);
        for (int c = 0; c < nc; ++c) {
            const cmg_size begin = A->indptr[u * nc + c];
            const cmg_size length = A->indptr[u * nc + c + 1] - begin;
            const bool fixed = space->fixed[space->node[u]];
            for (cmg_size e = 0; e < length; ++e) {
                A->indices[begin + e] =
                    (cmg_index)(columns[e / nc] * nc + (fixed ? c : (int)(e % nc)));
                A->values[begin + e] = 0;
            }
        }
    }
}

cmg_status cmgi_space_pattern(const cmgi_space *space, cmgi_csr *A)
{
    cmg_context *ctx = space->ctx;
    const cmg_size rows = space->unknowns * space->components;
    cmg_size room = 1;
    cmg_size *indptr = NULL;
    cmg_index *scratch = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, rows <= INT32_MAX, CMG_ERR_ARG, "%lld unknowns are more than 2^31 - 1",
               (long long)rows);
    for (cmg_size n = 0; n < space->nodes; ++n) {
        const cmg_size columns = (space->start[n + 1] - space->start[n]) * space->local;
        room = columns > room ? columns : room;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, room * ctx->threads, sizeof *scratch, &scratch));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, rows + 1, sizeof *indptr, &indptr));
    count_rows(space, scratch, room, indptr);
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, rows, rows, indptr[rows], A));
    memcpy(A->indptr, indptr, (size_t)(rows + 1) * sizeof *indptr);
    fill_rows(space, scratch, room, A);
done:
    CMGI_FREE(ctx, scratch, indptr);
    return status;
}

/* F_a -= sum over the cell's nodes without a column of K_ab g_b */
static void lift(const cmgi_space *space, const cmgi_cell_form *form, cmg_size cell,
                 const double *K, double *F)
{
    const int nc = space->components;
    const cmg_index *nodes = space->cell_nodes + cell * space->local;
    for (int b = 0; b < space->local; ++b) {
        double x[3];
        double g[3];
        if (cmgi_space_keeps(space, nodes[b])) {
            continue;
        }
        cmgi_space_position(space, nodes[b], x);
        cmgi_problem_exact(form->problem, x, g, NULL);
        for (int i = 0; i < form->rows; ++i) {
            for (int j = 0; j < nc; ++j) {
                F[i] -= K[i * form->rows + b * nc + j] * g[j];
            }
        }
    }
}

bool cmgi_space_integrate(const cmgi_space *space, const cmgi_cell_form *form, cmg_size cell,
                          double *K, double *F)
{
    double corners[CMGI_GEOMETRY_CORNERS * 3];
    cmgi_space_corners(space, cell, corners);
    const double determinant = cmgi_cell_integrals(form, corners, K, F);
    if (F != NULL && cmgi_problem_solved(form->problem)) {
        lift(space, form, cell, K, F);
    }
    return determinant > 0;
}

void cmgi_space_fix_rows(const cmgi_space *space, const cmgi_problem *problem, cmg_index node,
                         cmgi_csr *A, double *b)
{
    const cmg_size row = (cmg_size)space->unknown[node] * space->components;
    double g[3] = {0, 0, 0};
    if (b != NULL && cmgi_problem_solved(problem)) {
        double x[3];
        cmgi_space_position(space, node, x);
        cmgi_problem_exact(problem, x, g, NULL);
    }
    for (int c = 0; c < space->components; ++c) {
        A->values[A->indptr[row + c]] = 1;
        if (b != NULL) {
            b[row + c] = g[c];
        }
    }
}
