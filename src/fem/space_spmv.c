/*
 * Assembly as a sparse matrix-vector product: values(A) = S e and b = T f, where e and f hold the
 * entries of all cell matrices and loads, cell after cell, and S and T are sum matrices (sum.h). It
 * costs memory: 64 numbers a Q1 hexahedron, where a row of A has 27.
 *
 * Source: Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), arXiv 1501.00324, section 4.
 */
#include "core/memory.h"
#include "fem/mesh_sums.h"

/* sums = S e with e and sums on the host. */
static cmg_status multiply(const cmgi_sum *S, cmg_size numbers, const double *e, double *sums)
{
    cmg_context *ctx = S->ctx;
    cmg_vector *x = NULL;
    cmg_vector *y = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmg_vector_create(ctx, numbers, CMG_FP64, &x));
    CMGI_TRY_GOTO(done, cmg_vector_create(ctx, S->rows, CMG_FP64, &y));
    CMGI_TRY_GOTO(done, cmg_vector_set(x, e));
    CMGI_TRY_GOTO(done, cmgi_sum_apply(S, cmg_vector_data(x), CMG_FP64, cmg_vector_data(y)));
    CMGI_TRY_GOTO(done, cmg_vector_get(y, sums));
done:
    cmg_vector_destroy(&y);
    cmg_vector_destroy(&x);
    return status;
}

cmg_status cmgi_space_assemble_spmv(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmgi_csr *A, double *b)
{
    cmg_context *ctx = space->ctx;
    const cmg_size rows = form->rows;
    const cmg_size cells = space->mesh->cells;
    cmgi_sum S = {.ctx = ctx};
    cmgi_sum T = {.ctx = ctx};
    cmgi_csr made = {0};
    double *K = NULL;
    double *F = NULL;
    cmg_status status = CMG_OK;
    const cmgi_cell_layout layout = {.rows = form->rows};
    CMGI_TRY_GOTO(done, cmgi_space_sums(space, layout, &made, &S, &T));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, cells * rows * rows, sizeof *K, &K));
    if (b != NULL) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, cells * rows, sizeof *F, &F));
    }
    const cmgi_cell_ring all = {cells, K, F};
    CMGI_TRY_GOTO(
        done, cmgi_space_inverted(space, cmgi_space_integrate_cells(space, form, 0, cells, &all)));
    CMGI_TRY_GOTO(done, multiply(&S, cells * rows * rows, K, made.values));
    if (b != NULL) {
        CMGI_TRY_GOTO(done, multiply(&T, cells * rows, F, b));
    }
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        if (space->fixed[space->node[u]]) {
            cmgi_space_fix_rows(space, form->problem, u, &made, b);
        }
    }
    *A = made;
    made = (cmgi_csr){0};
done:
    cmgi_sum_free(&S);
    cmgi_sum_free(&T);
    CMGI_FREE(ctx, K, F);
    cmgi_csr_free(ctx, &made);
    return status;
}
