/* Element data of a discretised level; see elements.h. */
#include "fem/elements.h"

#include "core/memory.h"

enum { CHUNK = 4096, MOST_TEMPLATES = 64 };

/* What the cells are of: a grid or a space. */
typedef struct cells {
    const cmgi_grid *grid;
    const cmgi_space *space;
    const cmgi_cell_form *form;
} cells;

static void cell_at(const cmgi_grid *grid, cmg_size n, cmg_size e[3])
{
    for (int d = 0; d < 3; ++d) {
        e[d] = n % grid->axis[d].cells;
        n /= grid->axis[d].cells;
    }
}

/* Unknown of local node a of a cell, counted in nodes; -1 = fixed. */
static cmg_index node_of(const cells *s, cmg_size n, int a)
{
    if (s->space != NULL) {
        const cmg_index node = s->space->cell_nodes[n * s->space->local + a];
        return s->space->fixed[node] ? -1 : s->space->unknown[node];
    }
    const cmgi_grid_axis *axis = s->grid->axis;
    const int m = s->grid->order + 1;
    const int local[3] = {a % m, a / m % m, a / m / m};
    cmg_size e[3];
    cmg_size p[3];
    cell_at(s->grid, n, e);
    for (int d = 0; d < 3; ++d) {
        p[d] = e[d] * axis[d].order + local[d];
    }
    const cmg_size line = p[1] - axis[1].first + axis[1].unknowns * (p[2] - axis[2].first);
    return cmgi_grid_fixed(s->grid, p)
               ? -1
               : (cmg_index)(p[0] - axis[0].first + axis[0].unknowns * line);
}

/* The matrix of a cell; false for an inverted one. */
static bool integrate_cell(const cells *s, cmg_size n, double *K)
{
    if (s->space != NULL) {
        return cmgi_space_integrate(s->space, s->form, n, K, NULL);
    }
    cmg_size e[3];
    double corners[CMGI_GEOMETRY_CORNERS * 3];
    cell_at(s->grid, n, e);
    cmgi_grid_corners(s->grid, e, corners);
    return cmgi_cell_integrals(s->form, corners, K, NULL) > 0;
}

/* Matrices of the cells from `first` on; the number of an inverted one, or -1. */
static cmg_size integrate(const cmg_context *ctx, const cells *from, cmg_size first, cmg_size count,
                          double *K)
{
    const cmg_size square = (cmg_size)from->form->rows * from->form->rows;
    cmg_size bad = -1;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : bad)
    for (cmg_size n = first; n < first + count; ++n) {
        if (!integrate_cell(from, n, K + (n - first) * square)) {
            bad = n > bad ? n : bad;
        }
    }
    (void)ctx;
    return bad;
}

/* Templates, numbers and factors; E->templates = 0 afterwards where there are too many. */
static cmg_status find_templates(cmg_context *ctx, const cells *from, double *K, cmgi_elements *E)
{
    const cmg_size square = (cmg_size)E->local * E->local;
    cmgi_alike list = {0};
    bool fits = true;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alike_create(ctx, E->local, MOST_TEMPLATES, &list));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, E->count, sizeof *E->number, &E->number));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, E->count, sizeof *E->factor, &E->factor));
    for (cmg_size first = 0; first < E->count && fits; first += CHUNK) {
        const cmg_size count = E->count - first < CHUNK ? E->count - first : CHUNK;
        const cmg_size bad = integrate(ctx, from, first, count, K);
        if (bad >= 0) {
            status = cmgi_fail(ctx, CMG_ERR_ARG, "cell %lld is inverted", (long long)bad);
            goto done;
        }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (cmg_size n = 0; n < count; ++n) {
            const bool known = cmgi_alike_look(&list, K + n * square, &E->number[first + n],
                                               &E->factor[first + n]);
            E->number[first + n] = known ? E->number[first + n] : -1;
        }
        for (cmg_size n = first; n < first + count && fits; ++n) {
            fits = E->number[n] >= 0 ||
                   cmgi_alike_find(&list, K + (n - first) * square, &E->number[n], &E->factor[n]);
        }
    }
    if (fits && 4 * list.count <= E->count) {
        E->templates = list.count;
        E->matrices = list.templates;
        list.templates = NULL;
    }
done:
    cmgi_alike_free(ctx, &list);
    return status;
}

static cmg_status make(cmg_context *ctx, const cells *from, bool own, cmgi_elements *E)
{
    const int nc = from->form->rows / from->form->nodes;
    const cmg_size square = (cmg_size)E->local * E->local;
    double *K = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, E->count <= INT32_MAX / E->local, CMG_ERR_UNSUPPORTED,
               "elements: %lld cells of %d unknowns are more than 2^31 - 1 together",
               (long long)E->count, E->local);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, E->count * E->local, sizeof *E->dofs, &E->dofs));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, CHUNK * square, sizeof *K, &K));
    for (cmg_size k = 0; k < E->count * from->form->nodes; ++k) {
        const cmg_index node = node_of(from, k / from->form->nodes, (int)(k % from->form->nodes));
        for (int c = 0; c < nc; ++c) {
            E->dofs[k * nc + c] = node < 0 ? -1 : node * nc + c;
        }
    }
    CMGI_TRY_GOTO(done, find_templates(ctx, from, K, E));
    if (E->templates == 0 && !own) {
        cmgi_elements_free(ctx, E);
    } else if (E->templates == 0) { /* a matrix for every cell */
        CMGI_FREE(ctx, E->number, E->factor);
        E->number = NULL;
        E->factor = NULL;
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, E->count * square, sizeof *E->matrices, &E->matrices));
        (void)integrate(ctx, from, 0, E->count, E->matrices);
    }
done:
    cmgi_free(ctx, K);
    return status;
}

cmg_status cmgi_fem_elements(cmg_context *ctx, const cmgi_grid *grid, const cmgi_space *space,
                             const cmgi_cell_form *form, bool own, cmgi_elements *E)
{
    const cells from = {grid, space, form};
    const cmg_boundary boundary = grid != NULL ? grid->domain->boundary : space->boundary;
    cmgi_elements made = {.local = form->rows};
    CMGI_CHECK(ctx, boundary != CMG_BOUNDARY_IDENTITY_KEEP, CMG_ERR_UNSUPPORTED,
               "elements: columns of fixed unknowns cannot be kept");
    if (grid != NULL) {
        made.rows = cmgi_grid_nodes(grid) * grid->components;
        made.count = grid->axis[0].cells * grid->axis[1].cells * grid->axis[2].cells;
    } else {
        made.rows = space->unknowns * space->components;
        made.count = space->mesh->cells;
    }
    const cmg_status status = make(ctx, &from, own, &made);
    if (status != CMG_OK) {
        cmgi_elements_free(ctx, &made);
        return status;
    }
    *E = made;
    return CMG_OK;
}
