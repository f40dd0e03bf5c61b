/*
 * Matrix and right-hand side on a tensor-product grid, row by row:
 *
 *   A_ij = sum over the cells of node i of K_ab,  b_i = sum of F_a - sum over fixed j of A_ij g_j
 *
 * The nodes that node i couples with form a box of positions, its window; a row is summed up there,
 * then the part of the window that has columns is copied out. Where all cells are alike a row
 * depends only on where each of its positions is in its cell and whether that is the first, the
 * last or another cell: at most 8^dim rows are summed up at all, kept as columns relative to the
 * diagonal and values, and copied.
 *
 * Otherwise cells are integrated layer by layer along the last axis into a ring of layers, from
 * which rows are gathered: no map from cells to rows, no atomics, and sums in one order whatever
 * the threads.
 */
#include "fem/grid_window.h"
#include "core/memory.h"

enum {
    CHUNK_CELLS = 16384, /* cells integrated between two rounds of rows */
    CHUNK_ROWS = 1 << 18 /* rows a round where all cells are alike */
};

/* b_i -= A_ij g_j over the positions j of the window on Dirichlet faces. */
static void lift(const cmgi_grid_assembly *s, const cmgi_window *w, const double *sum, double *b)
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
static void gather_load(const cmgi_grid_assembly *s, const cmg_size p[3], const cmgi_window *w,
                        double *b)
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
        const double *F = s->F + (s->same_load ? 0 : cmgi_cell_slot(s, e) * s->form->rows) + a * nc;
        for (int c = 0; c < nc; ++c) {
            b[c] += F[c];
        }
    }
}

/* An identity row a component, with the boundary value on the right. */
static void write_fixed(const cmgi_grid_assembly *s, const cmg_size p[3], cmg_size row)
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

static void assemble_node(const cmgi_grid_assembly *s, const cmg_size p[3], cmg_size row)
{
    const bool lifts = s->b != NULL && cmgi_problem_solved(s->form->problem) &&
                       s->grid->domain->boundary != CMG_BOUNDARY_IDENTITY_KEEP;
    if (cmgi_grid_fixed(s->grid, p)) {
        write_fixed(s, p, row);
        return;
    }
    if (s->same_matrix) {
        cmgi_copy_rows(s, cmgi_template_of(s, p), row);
    }
    if (s->same_matrix && s->b == NULL) {
        return;
    }
    const cmgi_window w = cmgi_window_of(s->grid, p);
    double sum[CMGI_MAX_WINDOW];
    if (!s->same_matrix || lifts) {
        cmgi_gather_window(s, p, &w, sum);
    }
    if (!s->same_matrix) {
        cmg_index offset[CMGI_MAX_WINDOW / 3];
        double values[CMGI_MAX_WINDOW];
        cmgi_row_template rows = {.offset = offset, .values = values};
        cmgi_cut_rows(s->grid, p, &w, sum, &rows);
        cmgi_copy_rows(s, &rows, row);
    }
    if (s->b != NULL) {
        gather_load(s, p, &w, s->b + row);
    }
    if (lifts) {
        lift(s, &w, sum, s->b + row);
    }
}

/* Columns along one axis of every position with unknowns, 0 at fixed ones. */
static cmg_status count_columns(const cmgi_grid_assembly *s, int d, unsigned char **columns)
{
    const cmgi_grid_axis *axis = &s->grid->axis[d];
    CMGI_TRY(cmgi_alloc(s->ctx, axis->unknowns, sizeof **columns, columns));
    for (cmg_size i = 0; i < axis->unknowns; ++i) {
        cmg_size p[3] = {0, 0, 0};
        int begin[3];
        int end[3];
        p[d] = axis->first + i;
        const cmgi_window w = cmgi_window_of(s->grid, p);
        cmgi_window_clip(s->grid, &w, begin, end);
        const bool fixed = p[d] < axis->free_first || p[d] > axis->free_last;
        (*columns)[i] = (unsigned char)(fixed ? 0 : end[d] - begin[d]);
    }
    return CMG_OK;
}

/* Lengths of rows are products over the axes, 1 where a factor is 0 (a fixed node). */
static cmg_status count_rows(const cmgi_grid_assembly *s)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const int nc = s->grid->components;
    const cmg_size lines = axis[1].unknowns * axis[2].unknowns;
    const cmg_size nx = axis[0].unknowns;
    unsigned char *columns[3] = {NULL, NULL, NULL};
    cmg_status status = CMG_OK;
    for (int d = 0; d < 3; ++d) {
        CMGI_TRY_GOTO(done, count_columns(s, d, &columns[d]));
    }
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static) if (lines * nx > 1024)
    for (cmg_size l = 0; l < lines; ++l) {
        const int across = columns[1][l % axis[1].unknowns] * columns[2][l / axis[1].unknowns];
        for (cmg_size i = 0; i < nx * nc; ++i) {
            const int length = across * columns[0][i / nc] * nc;
            s->A->indptr[l * nx * nc + i + 1] = length == 0 ? 1 : length;
        }
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_entries(s->ctx, s->A));
done:
    CMGI_FREE(s->ctx, columns[0], columns[1], columns[2]);
    return status;
}

/* Integrates the layers [begin, end) into the ring. */
static cmg_status integrate(const cmgi_grid_assembly *s, cmg_size begin, cmg_size end)
{
    const cmgi_grid_axis *axis = s->grid->axis;
    const cmg_size rows = s->form->rows;
    cmg_size bad = -1;
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static)                             \
    reduction(max                                                                                  \
              : bad) if ((end - begin) * s->layer_cells > 64)
    for (cmg_size n = begin * s->layer_cells; n < end * s->layer_cells; ++n) {
        const cmg_size in_layer = n % s->layer_cells;
        cmg_size e[3] = {in_layer % axis[0].cells, in_layer / axis[0].cells, 0};
        e[s->layers] = n / s->layer_cells;
        double corners[CMGI_GEOMETRY_CORNERS * 3];
        cmgi_grid_corners(s->grid, e, corners);
        const cmg_size slot = cmgi_cell_slot(s, e);
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
static void assemble_planes(const cmgi_grid_assembly *s, cmg_size begin, cmg_size end)
{
    enum { RUN = 128 }; /* nodes of a line that a thread takes at once */
    const cmgi_grid_axis *axis = s->grid->axis;
    const cmgi_grid_axis *last_axis = &axis[s->layers];
    const cmg_size nx = axis[0].unknowns;
    const cmg_size runs = (nx + RUN - 1) / RUN;
    const cmg_size plane = s->layers == 2 ? axis[1].unknowns : 1;
    cmg_size first = begin - last_axis->first;
    cmg_size last = end - last_axis->first;
    first = first < 0 ? 0 : first;
    last = last > last_axis->unknowns ? last_axis->unknowns : last;
#pragma omp parallel for num_threads(s->ctx->threads)                                              \
    schedule(static) if ((last - first) * plane * nx > 256)
    for (cmg_size r = first * plane * runs; r < last * plane * runs; ++r) {
        const cmg_size line = r / runs;
        const cmg_size i = r % runs * RUN;
        const cmg_size stop = i + RUN < nx ? i + RUN : nx;
        cmg_size p[3];
        cmgi_grid_node(s->grid, line * nx + i, p);
        for (cmg_size n = line * nx + i; n < line * nx + stop; ++n, ++p[0]) {
            assemble_node(s, p, n * s->grid->components);
        }
    }
}

static cmg_status allocate(cmgi_grid_assembly *s)
{
    const cmg_size rows = s->form->rows;
    const cmg_size ring = s->slots * s->layer_cells;
    CMGI_TRY(cmgi_alloc(s->ctx, (s->same_matrix ? 1 : ring) * rows * rows, sizeof(double), &s->K));
    CMGI_TRY(cmgi_alloc(s->ctx, (s->b == NULL || s->same_load ? 1 : ring) * rows, sizeof(double),
                        &s->F));
    return CMG_OK;
}

static cmg_status run(cmgi_grid_assembly *s, cmg_size depth)
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
        CMGI_TRY(cmgi_make_templates(s));
    }
    cmg_size last = axis->cells; /* layers that a node has a cell in: of a slab, not all */
    cmg_size begin = 0;
    if (axis->order > 0) {
        begin = axis->first > 0 ? (axis->first - 1) / axis->order : 0;
        last = (axis->first + axis->unknowns - 1) / axis->order + 1;
        last = last < axis->cells ? last : axis->cells;
    }
    for (; axis->unknowns > 0 && begin < last; begin += depth) {
        const cmg_size end = begin + depth < last ? begin + depth : last;
        if (!s->same_matrix || (s->b != NULL && !s->same_load)) {
            CMGI_TRY(integrate(s, begin, end));
        }
        assemble_planes(s, begin * axis->order, end * axis->order + (end == axis->cells ? 1 : 0));
        CMGI_TRY(cmgi_progress(s->ctx, "assembling", end, last));
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
    cmgi_grid_assembly s = {
        .ctx = ctx, .grid = grid, .form = form, .A = &made, .b = b, .layers = layers};
    s.layer_cells = grid->axis[0].cells * (layers == 2 ? grid->axis[1].cells : 1);
    s.same_matrix = affine && cmgi_problem_constant(form->problem);
    s.same_load = affine && !cmgi_problem_solved(form->problem) && form->problem->source == NULL;
    const bool integrates = !s.same_matrix || (b != NULL && !s.same_load);
    const cmg_size room = integrates ? CHUNK_CELLS : CHUNK_ROWS;
    const cmg_size depth = s.layer_cells < room ? room / s.layer_cells : 1;
    s.slots = depth + 1;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, rows <= INT32_MAX, CMG_ERR_ARG, "%lld unknowns are more than 2^31 - 1",
               (long long)rows);
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, rows, rows, &made));
    CMGI_TRY_GOTO(done, count_rows(&s));
    CMGI_TRY_GOTO(done, allocate(&s));
    CMGI_TRY_GOTO(done, run(&s, depth));
    *A = made;
    made = (cmgi_csr){0};
done:
    CMGI_FREE(ctx, s.rows, s.offsets, s.values, s.K, s.F);
    cmgi_csr_free(ctx, &made);
    return status;
}
