/*
 * Identity rows of the finest level are solved by x_i += (b - A x)_i / a_ii before the iteration
 * starts: the diagonal matrix of those 1 / a_ii, 0 in the other rows.
 */
#include "mg/multigrid.h"

cmg_status cmgi_setup_boundary(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    cmgi_level *fine = &mg->levels.level[0];
    cmg_matrix **boundary = &mg->levels.boundary;
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = CMG_FORMAT_DIAGONAL;
    options.keep_map = mg->options.matrix.keep_map;
    if (mg->divided != NULL) {
        return cmgi_divided_by(mg->ctx)->boundary(mg->divided, boundary);
    }
    if (!cmgi_dirichlet_any(&fine->dirichlet)) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(h, 0, CMG_ROLE_A);
    if (there != NULL && fine->dirichlet.there != NULL && fine->perm == NULL) {
        cmgi_resident R = {0};
        const cmgi_matrix_source from = {.there = &R};
        CMGI_RELEASED(cmgi_resident_free, mg->ctx, &R);
        CMGI_SCOPED_DEVICE(mg->ctx, fine->rows, double, inverse);
        CMGI_TRY(cmgi_dirichlet_invert_there(mg->ctx, &fine->dirichlet, there->diagonal, inverse));
        CMGI_TRY(cmgi_resident_diagonal(mg->ctx, fine->rows, inverse, &R));
        inverse = NULL;
        return *boundary == NULL
                   ? cmgi_matrix_create(mg->ctx, &from, CMGI_USE_ANY, &options, boundary)
                   : cmg_matrix_update(*boundary, R.diagonal);
    }
    cmg_csr A;
    cmgi_scoped_csr D = {0};
    CMGI_TRY(cmgi_dirichlet_at(mg->ctx, CMGI_HOST, &fine->dirichlet, NULL));
    CMGI_TRY(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmgi_csr_alloc_diagonal(mg->ctx, fine->rows, &D));
    for (cmg_size i = 0; i < fine->rows; ++i) {
        const cmg_size row = fine->perm != NULL ? fine->perm[i] : i;
        D.values[i] = fine->dirichlet.row[row] ? 1 / cmgi_csr_diagonal_at(&A, row) : 0;
    }
    return *boundary == NULL ? cmg_matrix_create_csr(mg->ctx, &D.view, &options, boundary)
                             : cmg_matrix_update(*boundary, D.values);
}
