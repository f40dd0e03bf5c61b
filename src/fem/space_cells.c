/* Integrals of a space's cells, with boundary values, and the rows of fixed nodes. */
#include "fem/space.h"

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
    const cmg_index *regions = space->mesh != NULL ? space->mesh->cell_label : NULL;
    const cmg_index region = regions != NULL ? regions[cell] : 0;
    cmgi_space_corners(space, cell, corners);
    const double determinant = cmgi_cell_integrals(form, region, corners, K, F);
    if (F != NULL && space->grid == NULL && cmgi_problem_solved(form->problem)) {
        lift(space, form, cell, K, F);
    }
    return determinant > 0;
}

cmg_size cmgi_space_integrate_cells(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmg_size first, cmg_size last, const cmgi_cell_ring *ring)
{
    const cmg_size rows = form->rows;
    cmg_size bad = -1;
#pragma omp parallel for num_threads(space->ctx->threads) schedule(static)                         \
    reduction(max                                                                                  \
              : bad) if (last - first > 64)
    for (cmg_size c = first; c < last; ++c) {
        const cmg_size slot = c % ring->slots;
        const cmg_size cell = ring->list != NULL ? ring->list[c] : c;
        double *K = ring->K != NULL ? ring->K + slot * rows * rows : NULL;
        double *F = ring->F != NULL ? ring->F + slot * rows : NULL;
        if (!cmgi_space_integrate(space, form, cell, K, F)) {
            bad = cell > bad ? cell : bad;
        }
    }
    return bad;
}

cmg_status cmgi_space_inverted(const cmgi_space *space, cmg_size cell)
{
    CMGI_CHECK(space->ctx, cell < 0, CMG_ERR_SHAPE, "cell %lld of %lld is inverted",
               (long long)cell, (long long)space->cells);
    return CMG_OK;
}

void cmgi_space_fix_rows(const cmgi_space *space, const cmgi_problem *problem, cmg_size unknown,
                         cmgi_csr *A, double *b)
{
    const cmg_size row = unknown * space->components;
    double g[3] = {0, 0, 0};
    if (b != NULL && cmgi_problem_solved(problem)) {
        double x[3];
        cmgi_space_position(space, cmgi_space_node(space, unknown), x);
        cmgi_problem_exact(problem, x, g, NULL);
    }
    for (int c = 0; c < space->components; ++c) {
        A->indices[A->indptr[row + c]] = (cmg_index)(row + c);
        A->values[A->indptr[row + c]] = 1;
        if (b != NULL) {
            b[row + c] = g[c];
        }
    }
}
