/*
 * The mesh in a container: /mesh/x (nodes x dim), /mesh/cells (cells x corners), /mesh/unknowns
 * (nodes), and /mesh/boundary_values where nodes have no unknowns.
 */
#include "core/memory.h"
#include "io/h5.h"

/* Its arrays, and what their shapes say. */
static cmg_status fill_in(cmgi_h5 *h5, const cmg_hierarchy *h, cmgi_stored_mesh *m)
{
    const cmg_size block = cmgi_hierarchy_number(h, "block_size", 1);
    cmgi_dataset x = {0};
    cmgi_dataset cells = {0};
    cmgi_dataset d = {0};
    CMGI_TRY(cmgi_h5_read_array(h5, "/mesh/x", true, -1, &x, &m->x));
    CMGI_TRY(cmgi_h5_read_array(h5, "/mesh/cells", false, -1, &cells, &m->cell_nodes));
    CMGI_IN_FILE(h5, m->x != NULL && m->cell_nodes != NULL, "/mesh has no x or no cells");
    CMGI_IN_FILE(
        h5, x.dims[1] <= 3 && cells.dims[1] <= 8,
        "/mesh: %lld coordinates a node and %lld corners a cell; 2 or 3 and 3, 4 or 8 are possible",
        (long long)x.dims[1], (long long)cells.dims[1]);
    CMGI_TRY(cmgi_h5_read_array(h5, "/mesh/unknowns", false, x.dims[0], &d, &m->unknown));
    CMGI_IN_FILE(h5, m->unknown != NULL, "/mesh has no unknowns");
    CMGI_TRY(cmgi_h5_read_array(h5, "/mesh/boundary_values", true, -1, &d, &m->boundary_values));
    m->boundary = m->boundary_values != NULL ? d.dims[0] : 0;
    CMGI_IN_FILE(h5, block >= 1 && block <= 64 && (m->boundary == 0 || d.dims[1] == block),
                 "/mesh/boundary_values: %lld values a node, the block size is %lld",
                 (long long)d.dims[1], (long long)block);
    m->dim = (int)x.dims[1];
    m->corners = (int)cells.dims[1];
    m->components = (int)block;
    m->nodes = x.dims[0];
    m->cells = cells.dims[0];
    return CMG_OK;
}

cmg_status cmgi_container_read_mesh(cmgi_h5 *h5, cmg_hierarchy *h)
{
    cmgi_stored_mesh *mesh = NULL;
    CMGI_RELEASED(cmgi_stored_mesh_destroy, h5->ctx, &mesh);
    if (!cmgi_h5_exists(h5, "/mesh")) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(h5->ctx, 1, sizeof *mesh, &mesh));
    CMGI_TRY(fill_in(h5, h, mesh));
    return cmgi_in_file(h5->ctx, h5->path, cmgi_hierarchy_take_mesh(h, &mesh));
}
