/*
 * Matrix and right-hand side on a tensor-product grid, row by row:
 *
 *   A_ij = sum over the cells of node i of K_ab,  b_i = sum of F_a - sum over fixed j of A_ij g_j
 *
 * The nodes that node i couples with form a box of positions, its window; a row is summed up there,
 * then the part of the window that has columns is copied out. Where all cells are alike a row
 * depends only on whether each of its positions is at the start, inside, in mid-cell or at the end,
 * so that at most 4^dim windows are summed up at all.
 *
 * Cells are integrated layer by layer along the last axis into a ring of layers, from which rows
 * are gathered: no map from cells to rows, no atomics, and sums in one order whatever the threads.
 */
#include "core/memory.h"
#include "fem/grid.h"

#include <string.h>

enum {
    MAX_WINDOW = 125 * 9, /* positions of a Q2 vertex's window in 3D, times components squared */
    CLASSES = 4,          /* of a position on its axis: start, mid-cell, inner vertex, end */
    CHUNK_CELLS = 16384,  /* cells integrated between two rounds of rows */
    CHUNK_ROWS = 1 << 18  /* rows a round where all cells are alike */
};

typedef struct assembly {
    cmg_context *ctx;
    const cmgi_grid *grid;
    const cmgi_cell_form *form;
    cmgi_csr *A;
    double *b;            /* NULL = matrix alone */
    int layers;           /* axis of the layers: dim - 1 */
    cmg_size layer_cells; /* cells of a layer */
    cmg_size layer_nodes; /* nodes with unknowns in a plane of nodes */
    cmg_size slots;       /* layers in the ring */
    bool same_matrix;     /* one K for all cells */
    bool same_load;       /* one F */
    double *K;            /* ring, or one cell */
    double *F;
    double *window; /* same_matrix: CLASSES^3 windows */
} assembly;

/* The box of positions that couple with a node. */
typedef struct window {
    cmg_size low[3];
    int width[3];
    cmg_size cell[3]; /* first cell of the node */
    int cells[3];     /* cells of the node along the axis */
} window;

static window window_of(const cmgi_grid *grid, const cmg_size p[3])
{
    window w;
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

/* Number of cell e in the ring (or 0 where one cell stands for all). */
static cmg_size slot_of(const assembly *s, const cmg_size e[3])
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const cmg_size in_layer = s->layers == 2 ? e[0] + axis[0].cells * e[1] : e[0];
    return e[s->layers] % s->slots * s->layer_cells + in_layer;
}

/* Sums the rows of the node at p over its window: component by component, positions x fastest. */
static void gather_window(const assembly *s, const cmg_size p[3], const window *w, double *sum)
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
        const double *K = s->K + (s->same_matrix ? 0 : slot_of(s, e) * rows * rows) + a * nc * rows;
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

/* Class of a position on its axis. */
static int class_of(const cmgi_grid_axis *axis, cmg_size p)
{
    if (p == 0) {
        return 0;
    }
    return p == axis->nodes - 1 ? 3 : p % axis->order == 0 ? 2 : 1;
}

/* A position of that class, -1 when the axis has none. */
static cmg_size position_of(const cmgi_grid_axis *axis, int class)
{
    const cmg_size candidate[CLASSES] = {0, 1, axis->order, axis->nodes - 1};
    if (candidate[class] >= axis->nodes || (axis->order == 0 && class > 0)) {
        return -1;
    }
    return class_of(axis, candidate[class]) == class ? candidate[class] : -1;
}

/* Sums up one window of every class that occurs. */
static void gather_classes(assembly *s)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    for (int n = 0; n < CLASSES * CLASSES * CLASSES; ++n) {
        const cmg_size p[3] = {position_of(&axis[0], n % CLASSES),
                               position_of(&axis[1], n / CLASSES % CLASSES),
                               position_of(&axis[2], n / (CLASSES * CLASSES))};
        if (p[0] >= 0 && p[1] >= 0 && p[2] >= 0) {
            const window w = window_of(s->grid, p);
            gather_window(s, p, &w, s->window + (cmg_size)n * MAX_WINDOW);
        }
    }
}

/* Window of the node at p: a stored one or, summed up now, `scratch`. */
static const double *window_values(const assembly *s, const cmg_size p[3], const window *w,
                                   double *scratch)
{
    if (!s->same_matrix) {
        gather_window(s, p, w, scratch);
        return scratch;
    }
    const cmgi_grid_axis *axis = s->grid->axis;
    const int n = class_of(&axis[0], p[0]) +
                  CLASSES * (class_of(&axis[1], p[1]) + CLASSES * class_of(&axis[2], p[2]));
    return s->window + (cmg_size)n * MAX_WINDOW;
}

/* The part of a window that has columns, relative to its low corner. */
static void clip(const cmgi_grid *grid, const window *w, int begin[3], int end[3])
{
    for (int d = 0; d < 3; ++d) {
        const cmg_size below = grid->axis[d].column_first - w->low[d];
        const cmg_size above = grid->axis[d].column_last - w->low[d] + 1;
        begin[d] = below > 0 ? (int)below : 0;
        end[d] = above < w->width[d] ? (int)above : w->width[d];
    }
}

/* Copies the rows of a node out of its window; `row` is its first. */
static void write_rows(const assembly *s, const window *w, const double *sum, cmg_size row)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const int nc = s->grid->components;
    const int volume = w->width[0] * w->width[1] * w->width[2];
    int begin[3];
    int end[3];
    clip(s->grid, w, begin, end);
    const int length = (end[0] - begin[0]) * nc;
    cmg_size k = s->A->indptr[row];
    for (int c = 0; c < nc; ++c) {
        for (int z = begin[2]; z < end[2]; ++z) {
            for (int y = begin[1]; y < end[1]; ++y) {
                const int from = w->width[0] * (y + w->width[1] * z) + begin[0];
                const cmg_size line = w->low[1] + y - axis[1].first +
                                      axis[1].unknowns * (w->low[2] + z - axis[2].first);
                const cmg_size column =
                    (w->low[0] + begin[0] - axis[0].first + axis[0].unknowns * line) * nc;
                const double *values = sum + (c * volume + from) * nc;
                for (int i = 0; i < length; ++i, ++k) {
                    s->A->indices[k] = (cmg_index)(column + i);
                    s->A->values[k] = values[i];
                }
            }
        }
    }
}

/* b_i -= A_ij g_j over the positions j of the window on Dirichlet faces. */
static void lift(const assembly *s, const window *w, const double *sum, double *b)
{
    const int nc = s->grid->components;
    const int volume = w->width[0] * w->width[1] * w->width[2];
    for (int n = 0; n < volume; ++n) {
        const cmg_size p[3] = {w->low[0] + n % w->width[0],
                               w->low[1] + n / w->width[0] % w->width[1],
                               w->low[2] + n / (w->width[0] * w->width[1])};
        double x[3];
        double g[3];
        if (!cmgi_grid_fixed(s->grid, p)) {
            continue;
        }
        cmgi_grid_position(s->grid, p, x);
        cmgi_problem_exact(s->form->problem, x, g, NULL);
        for (int c = 0; c < nc; ++c) {
            for (int j = 0; j < nc; ++j) {
                b[c] -= sum[(c * volume + n) * nc + j] * g[j];
            }
        }
    }
}

/* b_i = sum of F_a over the cells of the node. */
static void gather_load(const assembly *s, const cmg_size p[3], const window *w, double *b)
{
    const int nc = s->grid->components;
    const int m = s->grid->order + 1;
    for (int c = 0; c < nc; ++c) {
        b[c] = 0;
    }
    for (int n = 0; n < w->cells[0] * w->cells[1] * w->cells[2]; ++n) {
        const cmg_size e[3] = {w->cell[0] + n % w->cells[0],
                               w->cell[1] + n / w->cells[0] % w->cells[1],
                               w->cell[2] + n / (w->cells[0] * w->cells[1])};
        cmg_size a = 0;
        for (int d = 2; d >= 0; --d) {
            a = a * m + p[d] - e[d] * s->grid->axis[d].order;
        }
        const double *F = s->F + (s->same_load ? 0 : slot_of(s, e) * s->form->rows) + a * nc;
        for (int c = 0; c < nc; ++c) {
            b[c] += F[c];
        }
    }
}

/* An identity row a component, with the boundary value on the right. */
static void write_fixed(const assembly *s, const cmg_size p[3], cmg_size row)
{
    const int nc = s->grid->components;
    const bool solved = cmgi_problem_solved(s->form->problem);
    double x[3];
    double g[3] = {0};
    if (solved) {
        cmgi_grid_position(s->grid, p, x);
        cmgi_problem_exact(s->form->problem, x, g, NULL);
    }
    for (int c = 0; c < nc; ++c) {
        s->A->indices[s->A->indptr[row + c]] = (cmg_index)(row + c);
        s->A->values[s->A->indptr[row + c]] = 1;
        if (s->b != NULL) {
            s->b[row + c] = g[c];
        }
    }
}

static void assemble_node(const assembly *s, cmg_size node, double *scratch)
{
    cmg_size p[3];
    cmgi_grid_node(s->grid, node, p);
    const cmg_size row = node * s->grid->components;
    if (cmgi_grid_fixed(s->grid, p)) {
        write_fixed(s, p, row);
        return;
    }
    const window w = window_of(s->grid, p);
    const double *sum = window_values(s, p, &w, scratch);
    write_rows(s, &w, sum, row);
    if (s->b != NULL) {
        gather_load(s, p, &w, s->b + row);
        if (cmgi_problem_solved(s->form->problem) &&
            s->grid->domain->boundary != CMG_BOUNDARY_IDENTITY_KEEP) {
            lift(s, &w, sum, s->b + row);
        }
    }
}

/* Row lengths, then their sums. */
static void count_rows(const assembly *s)
{
    const cmg_size nodes = cmgi_grid_nodes(s->grid);
    const int nc = s->grid->components;
    cmg_size *indptr = s->A->indptr;
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static)
    for (cmg_size n = 0; n < nodes; ++n) {
        cmg_size p[3];
        int begin[3];
        int end[3];
        cmgi_grid_node(s->grid, n, p);
        cmg_size length = nc;
        if (cmgi_grid_fixed(s->grid, p)) {
            length = 1;
        } else {
            const window w = window_of(s->grid, p);
            clip(s->grid, &w, begin, end);
            for (int d = 0; d < 3; ++d) {
                length *= end[d] - begin[d];
            }
        }
        for (int c = 0; c < nc; ++c) {
            indptr[n * nc + c + 1] = length;
        }
    }
    for (cmg_size r = 0; r < nodes * nc; ++r) {
        indptr[r + 1] += indptr[r];
    }
}

/* Integrates the layers [begin, end) into the ring. */
static cmg_status integrate(const assembly *s, cmg_size begin, cmg_size end)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const cmg_size rows = s->form->rows;
    cmg_size bad = -1;
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static) reduction(max : bad)
    for (cmg_size n = begin * s->layer_cells; n < end * s->layer_cells; ++n) {
        const cmg_size in_layer = n % s->layer_cells;
        cmg_size e[3] = {in_layer % axis[0].cells, in_layer / axis[0].cells, 0};
        e[s->layers] = n / s->layer_cells;
        double corners[CMGI_GEOMETRY_CORNERS * 3];
        cmgi_grid_corners(s->grid, e, corners);
        const cmg_size slot = slot_of(s, e);
        double *K = s->same_matrix ? NULL : s->K + slot * rows * rows;
        double *F = s->b == NULL || s->same_load ? NULL : s->F + slot * rows;
        if (!(cmgi_cell_integrals(s->form, corners, K, F) > 0)) {
            bad = n > bad ? n : bad;
        }
    }
    CMGI_CHECK(s->ctx, bad < 0, CMG_ERR_ARG, "cell %lld of the grid is inverted", (long long)bad);
    return CMG_OK;
}

/* All rows of nodes whose layer position is in [begin, end). */
static void assemble_planes(const assembly *s, cmg_size begin, cmg_size end)
{
    const cmgi_grid_axis *axis = &s->grid->axis[s->layers];
    cmg_size first = begin - axis->first;
    cmg_size last = end - axis->first;
    first = first < 0 ? 0 : first;
    last = last > axis->unknowns ? axis->unknowns : last;
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static)
    for (cmg_size n = first * s->layer_nodes; n < last * s->layer_nodes; ++n) {
        double scratch[MAX_WINDOW];
        assemble_node(s, n, scratch);
    }
}

static cmg_status allocate(assembly *s)
{
    const cmg_size rows = s->form->rows;
    const cmg_size ring = s->slots * s->layer_cells;
    CMGI_TRY(cmgi_alloc(s->ctx, (s->same_matrix ? 1 : ring) * rows * rows, sizeof(double), &s->K));
    CMGI_TRY(cmgi_alloc(s->ctx, (s->b == NULL || s->same_load ? 1 : ring) * rows, sizeof(double),
                        &s->F));
    if (s->same_matrix) {
        CMGI_TRY(cmgi_alloc(s->ctx, (cmg_size)CLASSES * CLASSES * CLASSES * MAX_WINDOW,
                            sizeof(double), &s->window));
    }
    return CMG_OK;
}

static cmg_status run(assembly *s, cmg_size depth)
{
    const cmgi_grid_axis *axis = &s->grid->axis[s->layers];
    if (s->same_matrix || s->same_load) {
        const cmg_size origin[3] = {0, 0, 0};
        double corners[CMGI_GEOMETRY_CORNERS * 3];
        cmgi_grid_corners(s->grid, origin, corners);
        (void)cmgi_cell_integrals(s->form, corners, s->same_matrix ? s->K : NULL,
                                  s->same_load ? s->F : NULL);
    }
    if (s->same_matrix) {
        gather_classes(s);
    }
    for (cmg_size begin = 0; begin < axis->cells; begin += depth) {
        const cmg_size end = begin + depth < axis->cells ? begin + depth : axis->cells;
        if (!s->same_matrix || (s->b != NULL && !s->same_load)) {
            CMGI_TRY(integrate(s, begin, end));
        }
        assemble_planes(s, begin * axis->order, end * axis->order + (end == axis->cells ? 1 : 0));
        CMGI_TRY(cmgi_progress(s->ctx, "assembling", end, axis->cells));
    }
    return CMG_OK;
}

cmg_status cmgi_grid_assemble(cmg_context *ctx, const cmgi_grid *grid, const cmgi_cell_form *form,
                              cmgi_csr *A, double *b)
{
    const cmg_size nodes = cmgi_grid_nodes(grid);
    const cmg_size rows = nodes * grid->components;
    const int layers = grid->dim - 1;
    const bool affine = grid->domain->vertices == NULL;
    cmgi_csr made = {0};
    assembly s = {.ctx = ctx, .grid = grid, .form = form, .A = &made, .b = b, .layers = layers};
    s.layer_cells = grid->axis[0].cells * (layers == 2 ? grid->axis[1].cells : 1);
    s.layer_nodes = nodes / grid->axis[layers].unknowns;
    s.same_matrix = affine && cmgi_problem_constant(form->problem);
    s.same_load = affine && !cmgi_problem_solved(form->problem) && form->problem->source == NULL;
    const bool integrates = !s.same_matrix || (b != NULL && !s.same_load);
    const cmg_size room = integrates ? CHUNK_CELLS : CHUNK_ROWS;
    const cmg_size depth = s.layer_cells < room ? room / s.layer_cells : 1;
    s.slots = depth + 1;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, rows <= INT32_MAX, CMG_ERR_ARG, "%lld unknowns are more than 2^31 - 1",
               (long long)rows);
    CMGI_TRY_GOTO(done, cmgi_csr_alloc(ctx, rows, rows, cmgi_grid_entries(grid), &made));
    count_rows(&s);
    CMGI_TRY_GOTO(done, allocate(&s));
    CMGI_TRY_GOTO(done, run(&s, depth));
    *A = made;
    made = (cmgi_csr){0};
done:
    cmgi_free(ctx, s.window);
    cmgi_free(ctx, s.K);
    cmgi_free(ctx, s.F);
    cmgi_csr_free(ctx, &made);
    return status;
}
