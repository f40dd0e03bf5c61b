/*
 * What a numbering would gain: the compressed format is predicted for every matrix as if the
 * hierarchy were renumbered, one matrix at a time.
 */
#include "hierarchy/numbering.h"
#include "spmv/options.h"
#include "spmv/packed_plan.h"

#include <stdio.h>
#include <string.h>

/* A prediction under way. */
typedef struct prediction {
    cmg_hierarchy *h;
    const cmg_matrix_options *options;
    cmg_size rows;
    cmg_index **order; /* of a level's unknowns, NULL = as they are */
    char what[48];     /* for the progress line */
    int done;
} prediction;

/* A of rows and columns in the order of the levels `rows` and `cols`. */
static cmg_status predict_matrix(prediction *p, const cmgi_csr *A, int rows, int cols,
                                 cmg_compression_info *info)
{
    cmg_context *ctx = p->h->ctx;
    const bool renumbered = p->order[rows] != NULL || p->order[cols] != NULL;
    cmgi_scoped_csr ordered = {0};
    CMGI_TRY(cmgi_progress(ctx, p->what, p->done++, (cmg_size)3 * p->h->levels));
    if (renumbered) {
        CMGI_TRY(cmgi_csr_permute(ctx, &A->view, p->order[rows], p->order[cols], true, &ordered));
    }
    const cmgi_matrix_source from = {.csr = renumbered ? &ordered.view : &A->view};
    const cmgi_compression_look look = {.from = &from, .options = p->options, .rows = p->rows};
    return cmgi_compression_predict(ctx, &look, info);
}

cmg_status cmg_hierarchy_predict(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed,
                                 const cmg_matrix_options *options, cmg_size rows,
                                 cmg_level_prediction *levels)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, levels != NULL && rows >= 0, CMG_ERR_ARG,
               "prediction: the result is NULL, or %lld rows are negative", (long long)rows);
    cmg_matrix_options own;
    CMGI_TRY(cmgi_matrix_options_take(h->ctx, options, &own));
    CMGI_TRY(cmgi_hierarchy_bring(h));
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders order = {NULL}; /* of nodes */
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders unknowns = {NULL};
    prediction p = {.h = h, .options = &own, .rows = rows, .order = unknowns};
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h, false));
    CMGI_TRY(cmgi_hierarchy_orders(h, numbering, seed, order));
    (void)snprintf(p.what, sizeof p.what, "predicting %s",
                   cmg_enum_name("numbering", (int)numbering));
    for (int l = 0; l < h->levels; ++l) {
        const int block = cmgi_hierarchy_block(h, l);
        CMGI_TRY(
            cmgi_order_expand(h->ctx, order[l], h->level[l].A.rows / block, block, &p.order[l]));
        cmgi_free(h->ctx, cmgi_pass_on(&order[l]));
    }
    for (int l = 0; l < h->levels; ++l) {
        const cmgi_stored_level *level = &h->level[l];
        const cmgi_csr *R = &level->R;
        cmgi_scoped_csr transposed = {0};
        memset(&levels[l], 0, sizeof levels[l]);
        CMGI_TRY(predict_matrix(&p, &level->A, l, l, &levels[l].A));
        if (level->P.indptr == NULL) {
            continue;
        }
        if (R->indptr == NULL) {
            CMGI_TRY(cmgi_csr_transpose(h->ctx, &level->P.view, &transposed));
            R = &transposed;
        }
        CMGI_TRY(predict_matrix(&p, &level->P, l, l + 1, &levels[l].P));
        CMGI_TRY(predict_matrix(&p, R, l + 1, l, &levels[l].R));
    }
    return CMG_OK;
}
