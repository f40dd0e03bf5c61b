/*
 * Rows as sums over windows, and templates: where all cells are alike, a node's class - per axis,
 * its position in the first cell, in the last, or in a cell between - decides its rows up to a
 * shift.
 */
#include "fem/grid_window.h"
#include "core/memory.h"

#include <string.h>

/* of a position on its axis: 3 in the first cell, 2 inside, 3 in the last */
enum { CLASSES = 8 };

cmgi_window cmgi_window_of(const cmgi_grid *grid, const cmg_size p[3])
{
    cmgi_window w;
    for (int d = 0; d < 3; ++d) {
        const cmgi_grid_axis *axis = &grid->axis[d];
        const cmg_size o = axis->order > 0 ? axis->order : 1;
        cmg_size first = p[d] / o;
        cmg_size last = first < axis->cells ? first : axis->cells - 1;
        if (axis->order > 0 && p[d] % o == 0 && first > 0) {
            --first;
        }
        w.cell[d] = first;
        w.cells[d] = (int)(last - first) + 1;
        w.low[d] = first * axis->order;
        w.width[d] = w.cells[d] * axis->order + 1;
    }
    return w;
}

cmg_size cmgi_cell_slot(const cmgi_grid_assembly *s, const cmg_size e[3])
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const cmg_size in_layer = s->layers == 2 ? e[0] + axis[0].cells * e[1] : e[0];
    return e[s->layers] % s->slots * s->layer_cells + in_layer;
}

void cmgi_gather_window(const cmgi_grid_assembly *s, const cmg_size p[3], const cmgi_window *w,
                        double *sum)
{
    const int nc = s->grid->components;
    const int m = s->grid->order + 1;
    const int rows = s->form->rows;
    const int mz = s->grid->dim == 3 ? m : 1;
    const int volume = w->width[0] * w->width[1] * w->width[2];
    memset(sum, 0, (size_t)(volume * nc * nc) * sizeof *sum);
    for (int n = 0; n < w->cells[0] * w->cells[1] * w->cells[2]; ++n) {
        const int at[3] = {n % w->cells[0], n / w->cells[0] % w->cells[1],
                           n / (w->cells[0] * w->cells[1])};
        cmg_size e[3];
        cmg_size local[3];
        for (int d = 0; d < 3; ++d) {
            e[d] = w->cell[d] + at[d];
            local[d] = p[d] - e[d] * s->grid->axis[d].order;
        }
        const cmg_size a = local[0] + m * (local[1] + m * local[2]);
        const double *K =
            s->K + (s->same_matrix ? 0 : cmgi_cell_slot(s, e) * rows * rows) + a * nc * rows;
        const int corner = s->grid->order * (at[0] + w->width[0] * (at[1] + w->width[1] * at[2]));
        for (int line = 0; line < nc * m * mz; ++line) {
            const int c = line / (m * mz);
            const int y = line % m;
            const int z = line / m % mz;
            const double *from = K + c * rows + (z * m + y) * m * nc;
            double *to = sum + (c * volume + corner + w->width[0] * (y + w->width[1] * z)) * nc;
            for (int i = 0; i < m * nc; ++i) {
                to[i] += from[i];
            }
        }
    }
}

void cmgi_window_clip(const cmgi_grid *grid, const cmgi_window *w, int begin[3], int end[3])
{
    for (int d = 0; d < 3; ++d) {
        const cmg_size below = grid->axis[d].column_first - w->low[d];
        const cmg_size above = grid->axis[d].column_last - w->low[d] + 1;
        begin[d] = below > 0 ? (int)below : 0;
        end[d] = above < w->width[d] ? (int)above : w->width[d];
    }
}

/* Class of a position on its axis. */
static int class_of(const cmgi_grid_axis *axis, cmg_size p)
{
    const cmg_size left = axis->nodes - 1 - p;
    if (p <= axis->order) {
        return (int)p;
    }
    if (left <= axis->order) {
        return CLASSES - 1 - (int)left;
    }
    return p % axis->order == 0 ? 4 : 3;
}

/* A position of that class, -1 when the axis has none. */
static cmg_size position_of(const cmgi_grid_axis *axis, int class)
{
    const cmg_size last = axis->nodes - 1;
    const cmg_size o = axis->order;
    const cmg_size candidate[CLASSES] = {0, 1, 2, o + 1, 2 * o, last - 2, last - 1, last};
    const cmg_size p = candidate[class];
    return p >= 0 && p <= last && class_of(axis, p) == class ? p : -1;
}

void cmgi_cut_rows(const cmgi_grid *grid, const cmg_size p[3], const cmgi_window *w,
                   const double *sum, cmgi_row_template *rows)
{
    const int nc = grid->components;
    const int volume = w->width[0] * w->width[1] * w->width[2];
    int begin[3];
    int end[3];
    cmgi_window_clip(grid, w, begin, end);
    rows->length = 0;
    for (int n = 0; n < volume; ++n) {
        const int at[3] = {n % w->width[0], n / w->width[0] % w->width[1],
                           n / (w->width[0] * w->width[1])};
        cmg_size offset = 0;
        bool inside = true;
        for (int d = 2; d >= 0; --d) {
            offset = offset * grid->axis[d].unknowns + w->low[d] + at[d] - p[d];
            inside = inside && at[d] >= begin[d] && at[d] < end[d];
        }
        for (int j = 0; j < nc && inside; ++j, ++rows->length) {
            rows->offset[rows->length] = (cmg_index)(offset * nc + j);
            for (int c = 0; c < nc; ++c) {
                rows->values[c * volume * nc + rows->length] = sum[(c * volume + n) * nc + j];
            }
        }
    }
    for (int c = 1; c < nc; ++c) {
        memmove(rows->values + c * rows->length, rows->values + c * volume * nc,
                (size_t)rows->length * sizeof *rows->values);
    }
}

cmg_status cmgi_make_templates(cmgi_grid_assembly *s)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const int classes = s->grid->dim == 3 ? CLASSES * CLASSES * CLASSES : CLASSES * CLASSES;
    const int nc = s->grid->components;
    cmg_size room = nc;
    for (int d = 0; d < s->grid->dim; ++d) {
        room *= 2 * s->grid->order + 1;
    }
    CMGI_TRY(cmgi_alloc_zero(s->ctx, classes, sizeof *s->rows, &s->rows));
    CMGI_TRY(cmgi_alloc(s->ctx, classes * room, sizeof *s->offsets, &s->offsets));
    CMGI_TRY(cmgi_alloc(s->ctx, classes * room * nc, sizeof *s->values, &s->values));
    for (int n = 0; n < classes; ++n) {
        const cmg_size p[3] = {position_of(&axis[0], n % CLASSES),
                               position_of(&axis[1], n / CLASSES % CLASSES),
                               position_of(&axis[2], n / (CLASSES * CLASSES))};
        s->rows[n].offset = s->offsets + n * room;
        s->rows[n].values = s->values + n * room * nc;
        if (p[0] >= 0 && p[1] >= 0 && p[2] >= 0 && !cmgi_grid_fixed(s->grid, p)) {
            const cmgi_window w = cmgi_window_of(s->grid, p);
            double sum[CMGI_MAX_WINDOW];
            cmgi_gather_window(s, p, &w, sum);
            cmgi_cut_rows(s->grid, p, &w, sum, &s->rows[n]);
        }
    }
    return CMG_OK;
}

const cmgi_row_template *cmgi_template_of(const cmgi_grid_assembly *s, const cmg_size p[3])
{
    const cmgi_grid_axis *axis = s->grid->axis;
    return &s->rows[class_of(&axis[0], p[0]) +
                    CLASSES * (class_of(&axis[1], p[1]) + CLASSES * class_of(&axis[2], p[2]))];
}

void cmgi_copy_rows(const cmgi_grid_assembly *s, const cmgi_row_template *rows, cmg_size row)
{
    const int length = rows->length;
    for (int c = 0; c < s->grid->components; ++c) {
        cmg_index *restrict indices = s->A->indices + s->A->indptr[row + c];
        double *restrict values = s->A->values + s->A->indptr[row + c];
        for (int e = 0; e < length; ++e) {
            indices[e] = (cmg_index)row + rows->offset[e];
        }
        for (int e = 0; e < length; ++e) {
            values[e] = rows->values[c * length + e];
        }
    }
}
