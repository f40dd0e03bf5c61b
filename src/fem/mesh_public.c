/* Meshes that callers hand over or get: checks, files, refinement. */
#include "fem/locate.h"

#include "core/memory.h"
#include "fem/read_raw.h"
#include "fem/space.h"
#include "hierarchy/hierarchy.h"
#include "io/source.h"

#include <string.h>

cmg_status cmgi_fem_mesh_check(cmg_context *ctx, const cmg_fem_mesh *m, const char *name)
{
    CMGI_CHECK(ctx, m != NULL, CMG_ERR_ARG, "the %s is NULL", name);
    CMGI_CHECK(
        ctx, cmg_fem_enum_name("element", (int)m->element) != NULL && (m->dim == 2 || m->dim == 3),
        CMG_ERR_ARG, "element %d in %d dimensions", (int)m->element, m->dim);
    CMGI_CHECK(ctx,
               m->nodes > 0 && m->nodes <= INT32_MAX && m->cells > 0 && m->x != NULL &&
                   m->cell_nodes != NULL,
               CMG_ERR_ARG, "the %s has %lld nodes and %lld cells", name, (long long)m->nodes,
               (long long)m->cells);
    const cmg_size entries = m->cells * cmgi_basis_nodes(cmgi_basis_of(m->element, m->dim));
    cmg_size bad = entries;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min : bad)
    for (cmg_size k = 0; k < entries; ++k) {
        const bool good = m->cell_nodes[k] >= 0 && m->cell_nodes[k] < m->nodes;
        bad = good || bad < k ? bad : k;
    }
    CMGI_CHECK(ctx, bad == entries, CMG_ERR_ARG, "cell %lld has node %d, there are %lld",
               (long long)(bad * m->cells / entries), (int)m->cell_nodes[bad], (long long)m->nodes);
    const cmg_size wild = cmgi_first_not_finite(ctx, m->nodes * m->dim, m->x);
    CMGI_CHECK(ctx, wild < 0, CMG_ERR_ARG, "node %lld has a coordinate %g",
               (long long)(wild / m->dim), m->x[wild]);
    return CMG_OK;
}

cmg_status cmgi_space_export(const cmgi_space *s, cmg_fem_mesh *mesh)
{
    static const cmg_element elements[2][2] = {{CMG_ELEMENT_Q1, CMG_ELEMENT_Q2},
                                               {CMG_ELEMENT_P1, CMG_ELEMENT_P2}};
    const int dim = s->mesh->dim;
    const cmg_size cells = s->mesh->cells;
    const unsigned char *local = cmgi_vtk_order(s->basis);
    CMGI_SCOPED(s->ctx, s->nodes * dim, double, x);
    CMGI_SCOPED(s->ctx, cells * s->local, cmg_index, cell_nodes);
    for (cmg_size n = 0; n < s->nodes; ++n) {
        cmgi_space_position(s, n, x + n * dim);
    }
    for (cmg_size k = 0; k < cells * s->local; ++k) {
        cell_nodes[k] = s->cell_nodes[k - k % s->local + local[k % s->local]];
    }
    *mesh = (cmg_fem_mesh){elements[s->basis.simplex][s->basis.order - 1],
                           dim,
                           s->nodes,
                           cmgi_pass_on(&x),
                           cells,
                           cmgi_pass_on(&cell_nodes)};
    return CMG_OK;
}

static bool begins(const cmgi_text *t, const char *with)
{
    return strncmp(t->data, with, strlen(with)) == 0;
}

cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh)
{
    cmgi_text t = {.ctx = ctx, .path = path, .line = 1};
    cmgi_scoped_by(cmgi_raw_free) cmgi_raw raw = {.text = &t};
    CMGI_FREED(ctx, &t.data);
    CMGI_CHECK(ctx, path != NULL && mesh != NULL, CMG_ERR_ARG, "no path or no mesh");
    CMGI_TRY(cmgi_file_text(ctx, path, &t.data, &t.size));
    t.p = t.data;
    /* detected by content, whatever the name */
    if (begins(&t, "$MeshFormat")) {
        cmgi_read_gmsh(&raw);
    } else if (begins(&t, "MFEM mesh")) {
        cmgi_read_mfem(&raw);
    } else {
        cmgi_text_word(&t);
        (void)cmgi_text_fail(&t, CMG_ERR_UNSUPPORTED,
                             "begins with '%.20s': neither gmsh (2, 4.1) nor MFEM (v1.0); other "
                             "forms are converted in Python, "
                             "cascademg.read_mesh(file).write(\"x.msh\")",
                             t.word);
    }
    CMGI_TRY(t.status);
    t.binary = false;
    CMGI_TRY(cmgi_raw_finish(&raw, mesh));
    if ((*mesh)->note[0] != '\0') {
        cmgi_log(ctx, CMG_LOG_WARN, "%s: %s", path, (*mesh)->note);
    }
    return CMG_OK;
}

cmg_status cmg_fem_mesh_read(cmg_context *ctx, const char *path, int order, cmg_fem_mesh *mesh)
{
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *read = NULL;
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *space = NULL;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && mesh != NULL && (order == 1 || order == 2), CMG_ERR_ARG,
               "no path, no mesh, or order %d", order);
    CMGI_TRY(cmgi_mesh_read(ctx, path, &read));
    CMGI_TRY(cmgi_space_create(read, order, 1, CMG_BOUNDARY_NEUMANN, NULL, &space));
    return cmgi_space_export(space, mesh);
}

void cmg_fem_mesh_free(cmg_context *ctx, cmg_fem_mesh *mesh)
{
    if (ctx != NULL && mesh != NULL) {
        CMGI_FREE(ctx, (void *)mesh->x, (void *)mesh->cell_nodes);
        *mesh = (cmg_fem_mesh){0};
    }
}

cmg_status cmgi_fem_mesh_take(cmg_context *ctx, const cmg_fem_mesh *from, cmgi_mesh **mesh)
{
    const cmgi_cell cell = cmgi_cell_of(from->element == CMG_ELEMENT_P1, from->dim);
    const int corners = cmgi_cell_table(cell)->corners;
    const unsigned char *local = cmgi_vtk_order(cmgi_basis_of(from->element, from->dim));
    CMGI_TRY(cmgi_mesh_create(ctx, cell, from->nodes, from->cells, 0, mesh));
    memcpy((*mesh)->x, from->x, (size_t)(from->nodes * from->dim) * sizeof(double));
    for (cmg_size k = 0; k < from->cells * corners; ++k) {
        (*mesh)->cell_nodes[k - k % corners + local[k % corners]] = from->cell_nodes[k];
    }
    return CMG_OK;
}

cmg_status cmg_fem_mesh_refine(cmg_context *ctx, const cmg_fem_mesh *coarse, cmg_fem_mesh *fine,
                               cmg_csr *P)
{
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *mesh = NULL;
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *refined = NULL;
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *nodes = NULL;
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *all_nodes = NULL;
    cmgi_scoped_csr made = {0};
    cmg_size fault = -1;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, fine != NULL, CMG_ERR_ARG, "refine: the out-pointer is NULL");
    CMGI_TRY(cmgi_fem_mesh_check(ctx, coarse, "coarse mesh"));
    CMGI_CHECK(ctx, coarse->element == CMG_ELEMENT_P1 || coarse->element == CMG_ELEMENT_Q1,
               CMG_ERR_ARG, "refine: meshes of first order alone");
    CMGI_TRY(cmgi_fem_mesh_take(ctx, coarse, &mesh));
    CMGI_TRY(cmgi_mesh_check_cells(mesh, &fault));
    CMGI_TRY(cmgi_mesh_refine(mesh, NULL, &refined));
    CMGI_TRY(cmgi_space_create(mesh, 1, 1, CMG_BOUNDARY_NEUMANN, NULL, &nodes));
    CMGI_TRY(cmgi_space_create(refined, 1, 1, CMG_BOUNDARY_NEUMANN, NULL, &all_nodes));
    if (P != NULL) {
        CMGI_TRY(cmgi_space_prolongation(all_nodes, nodes, &made));
    }
    CMGI_TRY(cmgi_space_export(all_nodes, fine));
    if (P != NULL) {
        *P = cmgi_csr_pass_on(&made).view;
    }
    return CMG_OK;
}
