/*
 * Identity rows of the finest level are solved by x_i += (b - A x)_i / a_ii before the iteration
 * starts: the diagonal matrix of those 1 / a_ii, 0 in the other rows.
 */
#include "mg/setup.h"

static cmg_matrix_options diagonal_options(const cmgi_setup *s)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = CMG_FORMAT_DIAGONAL;
    options.keep_map = s->options->matrix.keep_map;
    return options;
}

/* The 1 / a_ii of Dirichlet rows where A is on the device, in the numbering of the hierarchy. */
static cmg_status build_there(const cmgi_setup *s, const cmgi_resident *A)
{
    cmg_matrix **boundary = &s->levels->boundary;
    const cmgi_dirichlet *d = &s->levels->level[0].dirichlet;
    const cmg_matrix_options options = diagonal_options(s);
    double *inverse = NULL;
    cmgi_resident D = {0};
    const cmgi_matrix_source from = {.there = &D};
    CMGI_FREED(s->ctx, &inverse);
    CMGI_RELEASED(cmgi_resident_free, s->ctx, &D);
    CMGI_TRY(cmgi_alloc_device(s->ctx, d->rows, sizeof *inverse, &inverse));
    CMGI_TRY(cmgi_dirichlet_invert_there(s->ctx, d, A->diagonal, inverse));
    CMGI_TRY(cmgi_resident_diagonal(s->ctx, d->rows, inverse, &D));
    inverse = NULL;
    return *boundary == NULL ? cmgi_matrix_create(s->ctx, &from, CMGI_USE_ANY, &options, boundary)
                             : cmg_matrix_update(*boundary, D.diagonal);
}

cmg_status cmgi_setup_boundary(const cmgi_setup *s)
{
    cmgi_level *fine = &s->levels->level[0];
    if (s->divided != NULL) {
        return cmgi_divided_by(s->ctx)->boundary(s->divided, &s->levels->boundary);
    }
    if (!cmgi_dirichlet_any(&fine->dirichlet)) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(s->h, 0, CMG_ROLE_A);
    if (there != NULL && fine->dirichlet.there != NULL && fine->perm == NULL) {
        return build_there(s, there);
    }
    cmg_csr A;
    cmgi_scoped_csr D = {0};
    CMGI_TRY(cmgi_dirichlet_at(s->ctx, CMGI_HOST, &fine->dirichlet, NULL));
    CMGI_TRY(cmg_hierarchy_get_csr(s->h, 0, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmgi_csr_alloc_diagonal(s->ctx, fine->rows, &D));
    for (cmg_size i = 0; i < fine->rows; ++i) {
        const cmg_size row = fine->perm != NULL ? fine->perm[i] : i;
        D.values[i] = 0;
        for (cmg_size k = A.indptr[row]; fine->dirichlet.row[row] && k < A.indptr[row + 1]; ++k) {
            D.values[i] += A.indices[k] == row ? 1 / A.values[k] : 0;
        }
    }
    const cmg_csr view = D.view;
    const cmg_matrix_options options = diagonal_options(s);
    return s->levels->boundary == NULL
               ? cmg_matrix_create_csr(s->ctx, &view, &options, &s->levels->boundary)
               : cmg_matrix_update(s->levels->boundary, view.values);
}
