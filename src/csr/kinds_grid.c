/* Kinds of the positions of a grid; see kinds.h. */
#include "csr/kinds_given.h"

#include "core/memory.h"

#include <string.h>

/* The neighbour of number n along an axis. */
static int step_of(int n, int axis)
{
    static const int apart[3] = {1, 3, 9};
    return n / apart[axis] % 3 - 1;
}

/* Weights of a row along an axis, as many as are returned. */
static int weigh(cmgi_grid_form form, int side, cmg_index other, double *weight)
{
    if (form == CMGI_GRID_RESTRICTION && other > 1) {
        weight[0] = weight[2] = 0.5;
        weight[1] = 1;
        return 3;
    }
    weight[0] = weight[1] = form == CMGI_GRID_INTERPOLATION && side != 0 ? 0.5 : 1;
    return form == CMGI_GRID_INTERPOLATION && side == 3 ? 2 : 1;
}

/* Entries of the rows on these sides of the grid, from number e on; returns the next. */
static cmg_size fill_grid_kind(const cmgi_kind_grid *g, const double *stencil, const int *side,
                               cmg_size e, cmg_index *offset, double *value, cmg_index *from)
{
    double weight[3][3] = {{0}};
    int many[3] = {3, 3, 3};
    for (int d = 0; d < 3 && stencil == NULL; ++d) {
        many[d] = weigh(g->form, side[d], g->other[d], weight[d]);
    }
    for (int n = 0; n < many[0] * many[1] * many[2]; ++n) {
        const int at[3] = {n % many[0], n / many[0] % many[1], n / many[0] / many[1]};
        cmg_index to = 0;
        bool inside = true;
        for (int d = 2; d >= 0; --d) {
            const int step = stencil != NULL ? at[d] - 1 : at[d];
            inside = inside && !(step < 0 && (side[d] & 1) != 0) &&
                     (stencil == NULL || !(step > 0 && (side[d] & 2) != 0));
            to = to * g->other[d] + step;
        }
        if (inside && (stencil == NULL || stencil[n] != 0)) {
            offset[e] = to;
            value[e] = stencil != NULL ? stencil[n]
                                       : weight[0][at[0]] * weight[1][at[1]] * weight[2][at[2]];
            from[e++] = n;
        }
    }
    return e;
}

/* All kinds of the positions of a grid, of a stencil or, where that is NULL, of a transfer. */
static cmg_status take_grid(cmg_context *ctx, const double *stencil, cmgi_kinds *K)
{
    enum { ENTRIES = CMGI_GRID_KINDS * CMGI_STENCIL };
    cmgi_kind_grid *g = &K->grid;
    uint16_t number[CMGI_GRID_KINDS] = {0};
    cmgi_kind_span rows[CMGI_GRID_KINDS];
    cmg_size indptr[CMGI_GRID_KINDS + 1] = {0};
    cmg_index offset[ENTRIES];
    cmg_index from[ENTRIES];
    double value[ENTRIES];
    cmg_size many[3][4] = {{0}};
    cmg_index first[3][4] = {{0}};
    for (int d = 0; d < 3; ++d) {
        for (cmg_index at = g->size[d] - 1; at >= 0; --at) {
            const int side = cmgi_grid_side(g->form, at, g->size[d]);
            ++many[d][side];
            first[d][side] = at;
        }
    }
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        const int side[3] = {k % 4, k / 4 % 4, k / 16};
        rows[k] = (cmgi_kind_span){.many = many[0][side[0]] * many[1][side[1]] * many[2][side[2]],
                                   .first = (first[2][side[2]] * g->size[1] + first[1][side[1]]) *
                                                g->size[0] +
                                            first[0][side[0]]};
        indptr[k + 1] = fill_grid_kind(g, stencil, side, indptr[k], offset, value, from);
    }
    const cmgi_kind_draft d = {.kinds = CMGI_GRID_KINDS,
                               .indptr = indptr,
                               .offset = offset,
                               .value = value,
                               .from = from,
                               .given = stencil != NULL ? CMGI_STENCIL : 0,
                               .rows = rows};
    CMGI_TRY(cmgi_kinds_take(ctx, &d, K, number));
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        g->number[k] = (uint8_t)number[k];
    }
    return CMG_OK;
}

static cmg_status open_grid(cmg_context *ctx, const char *name, const cmg_templates *t,
                            cmgi_kinds *K)
{
    cmgi_kind_grid *g = &K->grid;
    const bool stencil = K->square;
    cmg_size size[2] = {1, 1};
    g->form = stencil ? CMGI_GRID_STENCIL : CMGI_GRID_INTERPOLATION;
    for (int d = 0; d < 3; ++d) {
        const cmg_size n = t->grid[d];
        CMGI_CHECK(ctx, n >= 1 && size[0] * n <= INT32_MAX, CMG_ERR_SHAPE,
                   "%s: a grid of %lld x %lld x %lld is not one of 1 .. 2147483647 positions", name,
                   (long long)t->grid[0], (long long)t->grid[1], (long long)t->grid[2]);
        CMGI_CHECK(ctx, stencil || n % 2 == 1, CMG_ERR_SHAPE,
                   "%s: side %d of the grid has %lld positions; interpolation is from every second "
                   "one of an odd number",
                   name, d, (long long)n);
        g->size[d] = (cmg_index)n;
        g->other[d] = (cmg_index)(stencil || n == 1 ? n : n / 2);
        size[0] *= n;
        size[1] *= g->other[d];
    }
    CMGI_CHECK(ctx, (t->rows == 0 || t->rows == size[0]) && (t->cols == 0 || t->cols == size[1]),
               CMG_ERR_SHAPE, "%s: the grid says %lld x %lld, not %lld x %lld", name,
               (long long)size[0], (long long)size[1], (long long)t->rows, (long long)t->cols);
    K->rows = size[0];
    K->cols = size[1];
    return CMG_OK;
}

/* Whether the grid has a neighbour of number n at all. */
static bool has_neighbour(const cmgi_kind_grid *g, int n)
{
    bool has = true;
    for (int d = 0; d < 3; ++d) {
        has = has && (step_of(n, d) == 0 || g->size[d] > 1);
    }
    return has;
}

cmg_status cmgi_kinds_check_stencil(cmg_context *ctx, const char *name, const cmgi_kinds *K,
                                    const double *values)
{
    bool placed[CMGI_STENCIL] = {false};
    for (cmg_size e = 0; e < K->indptr[K->count]; ++e) {
        placed[K->from[e]] = true;
    }
    for (int n = 0; n < CMGI_STENCIL; ++n) {
        CMGI_CHECK(
            ctx, placed[n] || values[n] == 0 || !has_neighbour(&K->grid, n), CMG_ERR_ARG,
            "%s: neighbour (%d, %d, %d) of the stencil had no entry, now it has the value %g", name,
            step_of(n, 0), step_of(n, 1), step_of(n, 2), values[n]);
    }
    return CMG_OK;
}

cmg_status cmgi_kinds_take_grid(cmg_context *ctx, const char *name, const cmg_templates *t,
                                cmgi_kinds *K)
{
    CMGI_CHECK(ctx,
               t->kinds == 0 && t->indptr == NULL && t->offsets == NULL && t->references == NULL,
               CMG_ERR_ARG, "%s: a grid has neither kinds nor references", name);
    CMGI_TRY(open_grid(ctx, name, t, K));
    CMGI_CHECK(ctx, (t->values != NULL) == K->square, CMG_ERR_ARG,
               K->square ? "%s: the values of the stencil are NULL"
                         : "%s: interpolation on a grid has no values",
               name);
    return take_grid(ctx, t->values, K);
}

cmg_status cmgi_kinds_transpose(cmg_context *ctx, const cmgi_kinds *P, cmgi_kinds **R)
{
    cmgi_kinds *K = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *K, &K));
    K->rows = P->cols;
    K->cols = P->rows;
    K->grid.form = CMGI_GRID_RESTRICTION;
    memcpy(K->grid.size, P->grid.other, sizeof K->grid.size);
    memcpy(K->grid.other, P->grid.size, sizeof K->grid.other);
    const cmg_status status = take_grid(ctx, NULL, K);
    if (status == CMG_OK) {
        *R = K;
        K = NULL;
    }
    cmgi_kinds_destroy(ctx, &K);
    return status;
}
