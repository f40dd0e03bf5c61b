/* The mesh that a hierarchy carries for output. */
#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <math.h>

bool cmg_hierarchy_has_mesh(const cmg_hierarchy *h)
{
    return h != NULL && h->mesh != NULL;
}

void cmgi_stored_mesh_destroy(cmg_context *ctx, cmgi_stored_mesh **mesh)
{
    if (*mesh == NULL) {
        return;
    }
    CMGI_FREE(ctx, (*mesh)->x, (*mesh)->cell_nodes, (*mesh)->unknown, (*mesh)->boundary_values,
              *mesh);
    *mesh = NULL;
}

cmg_status cmgi_stored_mesh_create(cmg_context *ctx, const cmgi_stored_mesh *sizes,
                                   cmgi_stored_mesh **mesh)
{
    cmgi_stored_mesh *m = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof *m, &m));
    *m = *sizes;
    m->x = NULL;
    m->cell_nodes = NULL;
    m->unknown = NULL;
    m->boundary_values = NULL;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, m->nodes * m->dim, sizeof *m->x, &m->x));
    CMGI_TRY_GOTO(done,
                  cmgi_alloc(ctx, m->cells * m->corners, sizeof *m->cell_nodes, &m->cell_nodes));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, m->nodes, sizeof *m->unknown, &m->unknown));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, m->boundary * m->components, sizeof *m->boundary_values,
                                   &m->boundary_values));
    *mesh = m;
    m = NULL;
done:
    cmgi_stored_mesh_destroy(ctx, &m);
    return status;
}

static cmg_status check_sizes(const cmg_hierarchy *h, const cmgi_stored_mesh *m)
{
    const cmg_size rows = h->level[0].A.rows;
    const bool plane = m->dim == 2 && (m->corners == 3 || m->corners == 4);
    const bool solid = m->dim == 3 && (m->corners == 4 || m->corners == 8);
    CMGI_CHECK(h->ctx, plane || solid, CMG_ERR_FILE,
               "mesh: there are no cells of %d corners in %d dimensions", m->corners, m->dim);
    CMGI_CHECK(h->ctx, m->components >= 1 && rows % m->components == 0, CMG_ERR_FILE,
               "mesh: %lld rows are no multiple of %d unknowns a node", (long long)rows,
               m->components);
    CMGI_CHECK(h->ctx, m->nodes <= INT32_MAX && m->cells <= INT32_MAX, CMG_ERR_FILE,
               "mesh: %lld nodes and %lld cells; 2147483647 are possible", (long long)m->nodes,
               (long long)m->cells);
    return CMG_OK;
}

static cmg_status check_mesh(const cmg_hierarchy *h, const cmgi_stored_mesh *m)
{
    CMGI_TRY(check_sizes(h, m));
    const cmg_size blocks = h->level[0].A.rows / m->components;
    cmg_size boundary = 0;
    for (cmg_size i = 0; i < m->nodes; ++i) {
        CMGI_CHECK(h->ctx, m->unknown[i] >= -1 && m->unknown[i] < blocks, CMG_ERR_FILE,
                   "mesh: node %lld has unknown %d, not in [-1, %lld)", (long long)i,
                   (int)m->unknown[i], (long long)blocks);
        boundary += m->unknown[i] < 0;
    }
    CMGI_CHECK(h->ctx, boundary == m->boundary, CMG_ERR_FILE,
               "mesh: %lld boundary values for %lld nodes without unknowns", (long long)m->boundary,
               (long long)boundary);
    for (cmg_size k = 0; k < m->nodes * m->dim; ++k) {
        CMGI_CHECK(h->ctx, isfinite(m->x[k]), CMG_ERR_FILE,
                   "mesh: node %lld: a coordinate is not a finite number", (long long)(k / m->dim));
    }
    for (cmg_size k = 0; k < m->cells * m->corners; ++k) {
        CMGI_CHECK(h->ctx, m->cell_nodes[k] >= 0 && m->cell_nodes[k] < m->nodes, CMG_ERR_FILE,
                   "mesh: cell %lld: node %d is not in [0, %lld)", (long long)(k / m->corners),
                   (int)m->cell_nodes[k], (long long)m->nodes);
    }
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_mesh(cmg_hierarchy *h, cmgi_stored_mesh **mesh)
{
    CMGI_TRY(check_mesh(h, *mesh));
    cmgi_stored_mesh_destroy(h->ctx, &h->mesh);
    h->mesh = *mesh;
    *mesh = NULL;
    return CMG_OK;
}
