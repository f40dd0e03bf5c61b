/*
 * Prolongation between two meshes: row i has the coarse basis at fine node i. Polynomials that the
 * coarse space contains come out exactly, also at fine nodes a little outside the coarse mesh, as
 * they are along curved boundaries.
 */
#include "cmg_fem.h"

#include "core/memory.h"
#include "csr/csr.h"
#include "fem/locate.h"
#include "fem/mesh_read.h"
#include "fem/space.h"
#include "transfer/rows.h"

#include <math.h>
#include <string.h>

static cmg_status check_mesh(cmg_context *ctx, const cmg_fem_mesh *m)
{
    CMGI_CHECK(ctx, m != NULL, CMG_ERR_ARG, "the coarse mesh is NULL");
    CMGI_CHECK(
        ctx, cmg_fem_enum_name("element", (int)m->element) != NULL && (m->dim == 2 || m->dim == 3),
        CMG_ERR_ARG, "element %d in %d dimensions", (int)m->element, m->dim);
    CMGI_CHECK(ctx,
               m->nodes > 0 && m->nodes <= INT32_MAX && m->cells > 0 && m->x != NULL &&
                   m->cell_nodes != NULL,
               CMG_ERR_ARG, "the coarse mesh has %lld nodes and %lld cells", (long long)m->nodes,
               (long long)m->cells);
    const cmg_size entries = m->cells * cmgi_basis_nodes(cmgi_basis_of(m->element, m->dim));
    for (cmg_size k = 0; k < entries; ++k) {
        CMGI_CHECK(ctx, m->cell_nodes[k] >= 0 && m->cell_nodes[k] < m->nodes, CMG_ERR_ARG,
                   "cell %lld has node %d, there are %lld", (long long)(k * m->cells / entries),
                   (int)m->cell_nodes[k], (long long)m->nodes);
    }
    for (cmg_size k = 0; k < m->nodes * m->dim; ++k) {
        CMGI_CHECK(ctx, isfinite(m->x[k]), CMG_ERR_ARG, "node %lld has a coordinate %g",
                   (long long)(k / m->dim), m->x[k]);
    }
    return CMG_OK;
}

typedef struct finding {
    const cmgi_locator *locator;
    cmgi_place *place;
} finding;

/*
 * Basis at the point. Weights within rounding of a multiple of 1/1024 are that multiple: on nested
 * meshes rows are then equal to the bit, which compressed storage lives on.
 */
static int weigh(const void *user, cmg_size node, cmg_index *column, double *weight)
{
    const finding *f = user;
    const cmgi_locator *t = f->locator;
    const cmgi_place *place = &f->place[node];
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

/* Cells of all points; the one that lies farthest outside must be within a cell of the mesh. */
static cmg_status find_all(const cmgi_locator *t, cmg_size points, const double *x,
                           cmgi_place *place)
{
    const int dim = t->mesh->dim;
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
    }
    return CMG_OK;
}

cmg_status cmg_fem_transfer(cmg_context *ctx, const cmg_fem_mesh *coarse, int components,
                            cmg_size nodes, const double *x, cmg_csr *P)
{
    cmgi_locator locator = {0};
    cmgi_place *place = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_CHECK(NULL, ctx != NULL, CMG_ERR_ARG, "the context is NULL");
    CMGI_CHECK(ctx, P != NULL && x != NULL && nodes > 0, CMG_ERR_ARG,
               "no fine nodes, or P is NULL");
    CMGI_TRY(check_mesh(ctx, coarse));
    CMGI_CHECK(ctx,
               components >= 1 && nodes <= INT32_MAX / components &&
                   coarse->nodes <= INT32_MAX / components,
               CMG_ERR_ARG, "%lld fine nodes with %d unknowns each", (long long)nodes, components);
    for (cmg_size k = 0; k < nodes * coarse->dim; ++k) {
        CMGI_CHECK(ctx, isfinite(x[k]), CMG_ERR_ARG, "fine node %lld has a coordinate %g",
                   (long long)(k / coarse->dim), x[k]);
    }
    CMGI_TRY_GOTO(done, cmgi_locator_create(ctx, coarse, &locator));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, nodes, sizeof *place, &place));
    CMGI_TRY_GOTO(done, find_all(&locator, nodes, x, place));
    const finding f = {&locator, place};
    CMGI_TRY_GOTO(done,
                  cmgi_transfer_rows(ctx, nodes, coarse->nodes, components, weigh, &f, &made));
    *P = cmgi_csr_view(&made);
done:
    cmgi_free(ctx, place);
    cmgi_locator_free(&locator);
    return status;
}

void cmg_fem_csr_free(cmg_context *ctx, cmg_csr *A)
{
    if (ctx != NULL && A != NULL) {
        cmgi_free(ctx, (void *)A->indptr);
        cmgi_free(ctx, (void *)A->indices);
        cmgi_free(ctx, (void *)A->values);
        *A = (cmg_csr){0};
    }
}

cmg_status cmgi_space_export(const cmgi_space *s, cmg_fem_mesh *mesh)
{
    static const cmg_element elements[2][2] = {{CMG_ELEMENT_Q1, CMG_ELEMENT_Q2},
                                               {CMG_ELEMENT_P1, CMG_ELEMENT_P2}};
    const int dim = s->mesh->dim;
    const cmg_size cells = s->mesh->cells;
    const unsigned char *local = cmgi_vtk_order(s->basis);
    double *x = NULL;
    cmg_index *cell_nodes = NULL;
    CMGI_TRY(cmgi_alloc(s->ctx, s->nodes * dim, sizeof *x, &x));
    const cmg_status status = cmgi_alloc(s->ctx, cells * s->local, sizeof *cell_nodes, &cell_nodes);
    if (status != CMG_OK) {
        cmgi_free(s->ctx, x);
        return status;
    }
    for (cmg_size n = 0; n < s->nodes; ++n) {
        cmgi_space_position(s, n, x + n * dim);
    }
    for (cmg_size k = 0; k < cells * s->local; ++k) {
        cell_nodes[k] = s->cell_nodes[k - k % s->local + local[k % s->local]];
    }
    *mesh = (cmg_fem_mesh){
        elements[s->basis.simplex][s->basis.order - 1], dim, s->nodes, x, cells, cell_nodes};
    return CMG_OK;
}

cmg_status cmg_fem_mesh_read(cmg_context *ctx, const char *path, int order, cmg_fem_mesh *mesh)
{
    cmgi_mesh *read = NULL;
    cmgi_space *space = NULL;
    bool *fixes = NULL;
    cmg_status status = CMG_OK;
    CMGI_CHECK(NULL, ctx != NULL, CMG_ERR_ARG, "the context is NULL");
    CMGI_CHECK(ctx, path != NULL && mesh != NULL && (order == 1 || order == 2), CMG_ERR_ARG,
               "no path, no mesh, or order %d", order);
    CMGI_TRY_GOTO(done, cmgi_mesh_read(ctx, path, &read));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, read->labels, sizeof *fixes, &fixes));
    CMGI_TRY_GOTO(done, cmgi_space_create(read, order, 1, CMG_BOUNDARY_NEUMANN, fixes, &space));
    CMGI_TRY_GOTO(done, cmgi_space_export(space, mesh));
done:
    cmgi_space_destroy(&space);
    cmgi_free(ctx, fixes);
    cmgi_mesh_destroy(&read);
    return status;
}

void cmg_fem_mesh_free(cmg_context *ctx, cmg_fem_mesh *mesh)
{
    if (ctx != NULL && mesh != NULL) {
        cmgi_free(ctx, (void *)mesh->x);
        cmgi_free(ctx, (void *)mesh->cell_nodes);
        *mesh = (cmg_fem_mesh){0};
    }
}
