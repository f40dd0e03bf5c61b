/*
 * Prolongation between two meshes: row i has the coarse basis at fine node i. Polynomials that the
 * coarse space contains come out exactly, also at fine nodes a little outside the coarse mesh, as
 * they are along curved boundaries.
 */
#include "cmg_expert.h"
#include "cmg_fem.h"

#include "core/memory.h"
#include "csr/csr.h"
#include "fem/locate.h"
#include "hierarchy/hierarchy.h"
#include "transfer/rows.h"

#include <math.h>

typedef struct finding {
    const cmgi_locator *locator;
    cmgi_location *place;
} finding;

/*
 * Basis at the point. Weights within rounding of a multiple of 1/1024 are that multiple: on nested
 * meshes rows are then equal to the bit, which compressed storage lives on.
 */
static int weigh(const void *user, cmg_size node, cmg_index *column, double *weight)
{
    const finding *f = user;
    const cmgi_locator *t = f->locator;
    const cmgi_location *place = &f->place[node];
    double N[CMGI_MAX_NODES];
    cmgi_basis_eval(t->basis, place->xi, N, NULL);
    for (int a = 0; a < t->nodes; ++a) {
        const double w = N[t->local[a]];
        const double round = rint(w * 1024) / 1024;
        column[a] = t->mesh->cell_nodes[(cmg_size)place->cell * t->nodes + a];
        weight[a] = fabs(w - round) < 1e-12 ? round : w;
    }
    return t->nodes;
}

/* Outside of the nearest cell by more than this part of it: no boundary that is only curved. */
static const double FAR_OUTSIDE = 0.25;

/* Cells of all points; the one that lies farthest outside must be within a cell of the mesh. */
static cmg_status find_all(const cmgi_locator *t, cmg_size points, const double *x,
                           cmgi_location *place)
{
    const int dim = t->mesh->dim;
    cmg_size far = 0;
    double most = 0;
#pragma omp parallel for num_threads(t->ctx->threads) schedule(dynamic, 256) if (points > 256)
    for (cmg_size i = 0; i < points; ++i) {
        place[i] = cmgi_locate(t, x + i * dim);
    }
    for (cmg_size i = 0; i < points; ++i) {
        CMGI_CHECK(t->ctx, place[i].outside <= 1, CMG_ERR_SHAPE,
                   "fine node %lld at (%g, %g%s%.6g) lies %g outside the coarse mesh, more than "
                   "the cell %d next to it",
                   (long long)i, x[i * dim], x[i * dim + 1], dim == 3 ? ", " : "; ",
                   dim == 3 ? x[i * dim + 2] : 0.0, place[i].distance, (int)place[i].cell);
        far += place[i].outside > FAR_OUTSIDE;
        most = fmax(most, place[i].distance);
    }
    if (far > 0) {
        cmgi_log(t->ctx, CMG_LOG_WARN,
                 "transfer: %lld of %lld fine nodes (%.2g %%) lie far outside the coarse mesh, by "
                 "up to %g: are both meshes of one domain?",
                 (long long)far, (long long)points, 100.0 * (double)far / (double)points, most);
    }
    return CMG_OK;
}

cmg_status cmg_fem_transfer(cmg_context *ctx, const cmg_fem_mesh *coarse, int components,
                            cmg_size nodes, const double *x, cmg_csr *P)
{
    cmgi_scoped_by(cmgi_locator_free) cmgi_locator locator = {0};
    cmgi_csr made = {0};
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, P != NULL && x != NULL && nodes > 0, CMG_ERR_ARG,
               "no fine nodes, or P is NULL");
    CMGI_TRY(cmgi_fem_mesh_check(ctx, coarse, "coarse mesh"));
    CMGI_CHECK(ctx,
               components >= 1 && nodes <= INT32_MAX / components &&
                   coarse->nodes <= INT32_MAX / components,
               CMG_ERR_ARG, "%lld fine nodes with %d unknowns each", (long long)nodes, components);
    const cmg_size wild = cmgi_first_not_finite(ctx, nodes * coarse->dim, x);
    CMGI_CHECK(ctx, wild < 0, CMG_ERR_ARG, "fine node %lld has a coordinate %g",
               (long long)(wild / coarse->dim), x[wild]);
    CMGI_TRY(cmgi_locator_create(ctx, coarse, &locator));
    CMGI_SCOPED(ctx, nodes, cmgi_location, place);
    CMGI_TRY(find_all(&locator, nodes, x, place));
    const finding f = {&locator, place};
    CMGI_TRY(cmgi_transfer_rows(ctx, nodes, coarse->nodes, components, weigh, &f, &made));
    *P = made.view;
    return CMG_OK;
}

void cmg_fem_csr_free(cmg_context *ctx, cmg_csr *A)
{
    cmg_csr_free(ctx, A);
}
