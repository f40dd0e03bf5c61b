/* Vectors of level 0 on the mesh that the hierarchy carries, and fields on a mesh of the caller's.
 */
#include "cmg_fem.h"

#include "core/memory.h"
#include "fem/locate.h"
#include "fem/mesh.h"
#include "hierarchy/hierarchy.h"

#include <string.h>

cmg_status cmg_hierarchy_write_vtu(const cmg_hierarchy *h, const char *path, int count,
                                   const char *const *names, const double *const *vectors)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, path != NULL && count >= 0, CMG_ERR_ARG, "no path, or %d fields", count);
    for (int k = 0; k < count; ++k) {
        CMGI_CHECK(h->ctx, names[k] != NULL && vectors[k] != NULL, CMG_ERR_ARG,
                   "field %d has no name or no values", k);
    }
    CMGI_CHECK(h->ctx, h->mesh != NULL, CMG_ERR_STATE,
               "the hierarchy carries no mesh, which %s needs", path);
    CMGI_CHECK(h->ctx, h->level[0].A.rows % h->mesh->components == 0, CMG_ERR_STATE,
               "level 0 has %lld rows, the mesh %d unknowns a node", (long long)h->level[0].A.rows,
               h->mesh->components);
    const cmgi_stored_mesh *m = h->mesh;
    const cmgi_mesh shown = {.ctx = h->ctx,
                             .dim = m->dim,
                             .cell = cmgi_cell_of(m->corners == m->dim + 1, m->dim),
                             .nodes = m->nodes,
                             .x = m->x,
                             .cells = m->cells,
                             .cell_nodes = m->cell_nodes};
    const int nc = m->components;
    const cmg_size length = m->nodes * nc;
    CMGI_SCOPED(h->ctx, count, cmg_fem_field, field);
    CMGI_SCOPED(h->ctx, count * length, double, values);
    for (int k = 0; k < count; ++k) {
        double *to = values + k * length;
        const double *boundary = m->boundary_values;
        for (cmg_size v = 0; v < m->nodes; ++v) {
            const bool inside = m->unknown[v] >= 0;
            const double *from = inside ? vectors[k] + (cmg_size)m->unknown[v] * nc : boundary;
            memcpy(to + v * nc, from, (size_t)nc * sizeof *to);
            boundary += inside ? 0 : nc;
        }
        field[k] = (cmg_fem_field){names[k], nc, false, to};
    }
    return cmgi_vtu_write(h->ctx, path, &shown, count, field);
}

cmg_status cmg_fem_mesh_write_vtu(cmg_context *ctx, const char *path, const cmg_fem_mesh *mesh,
                                  int count, const cmg_fem_field *fields)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && count >= 0 && (count == 0 || fields != NULL), CMG_ERR_ARG,
               "no path, or %d fields", count);
    CMGI_TRY(cmgi_fem_mesh_check(ctx, mesh, "mesh"));
    CMGI_CHECK(ctx, mesh->element == CMG_ELEMENT_Q1 || mesh->element == CMG_ELEMENT_P1, CMG_ERR_ARG,
               "%s: a mesh of %s, not of first order", path,
               cmg_fem_enum_name("element", (int)mesh->element));
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *shown = NULL;
    CMGI_TRY(cmgi_fem_mesh_take(ctx, mesh, &shown));
    return cmgi_vtu_write(ctx, path, shown, count, fields);
}
