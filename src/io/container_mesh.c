/*
 * The mesh in a container: /mesh/x (nodes x dim), /mesh/cells (cells x corners), /mesh/unknowns
 * (nodes), and /mesh/boundary_values where nodes have no unknowns.
 */
#include "core/memory.h"
#include "io/h5.h"
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { X, CELLS, UNKNOWNS, VALUES, PARTS };
static const char *const names[PARTS] = {"/mesh/x", "/mesh/cells", "/mesh/unknowns",
                                         "/mesh/boundary_values"};

static cmg_status make(cmgi_h5 *h5, const cmg_hierarchy *h, const cmgi_dataset d[PARTS],
                       cmgi_stored_mesh **mesh)
{
    const char *text = cmg_hierarchy_attribute(h, "block_size");
    const cmg_size block = text != NULL ? strtoll(text, NULL, 10) : 1;
    const cmg_size boundary = d[VALUES].name[0] != 0 ? d[VALUES].dims[0] : 0;
    CMGI_CHECK(h5->ctx, d[X].dims[1] <= 3 && d[CELLS].dims[1] <= 8, CMG_ERR_FILE,
               "%s: /mesh: %lld coordinates a node and %lld corners a cell; 2 or 3 and 3, 4 or 8 "
               "are possible",
               h5->path, (long long)d[X].dims[1], (long long)d[CELLS].dims[1]);
    CMGI_CHECK(h5->ctx, d[UNKNOWNS].count == d[X].dims[0], CMG_ERR_FILE,
               "%s: /mesh/unknowns: %lld numbers for %lld nodes", h5->path,
               (long long)d[UNKNOWNS].count, (long long)d[X].dims[0]);
    CMGI_CHECK(h5->ctx, block >= 1 && block <= 64 && (boundary == 0 || d[VALUES].dims[1] == block),
               CMG_ERR_FILE,
               "%s: /mesh/boundary_values: %lld values a node, the block size is %lld", h5->path,
               (long long)d[VALUES].dims[1], (long long)block);
    const cmgi_stored_mesh sizes = {.dim = (int)d[X].dims[1],
                                    .corners = (int)d[CELLS].dims[1],
                                    .components = (int)block,
                                    .nodes = d[X].dims[0],
                                    .cells = d[CELLS].dims[0],
                                    .boundary = boundary};
    return cmgi_stored_mesh_create(h5->ctx, &sizes, mesh);
}

/* -1 is a value here, which column numbers cannot be. */
static cmg_status read_unknowns(cmgi_dataset *d, cmgi_stored_mesh *mesh)
{
    cmgi_h5 *h5 = d->h5;
    cmg_size *wide = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(h5->ctx, mesh->nodes, sizeof *wide, &wide));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_size(d, 0, d->count, wide));
    for (cmg_size i = 0; i < mesh->nodes; ++i) {
        CMGI_CHECK_GOTO(done, h5->ctx, wide[i] >= -1 && wide[i] <= INT32_MAX, CMG_ERR_FILE,
                        "%s: %s: element %lld: %lld is out of range", h5->path, d->name,
                        (long long)i, (long long)wide[i]);
        mesh->unknown[i] = (cmg_index)wide[i];
    }
done:
    cmgi_free(h5->ctx, wide);
    return status;
}

cmg_status cmgi_container_read_mesh(cmgi_h5 *h5, cmg_hierarchy *h)
{
    cmgi_dataset d[PARTS] = {{0}, {0}, {0}, {0}};
    cmgi_stored_mesh *mesh = NULL;
    cmg_status status = CMG_OK;
    if (!cmgi_h5_exists(h5, "/mesh")) {
        return CMG_OK;
    }
    for (int k = 0; k < PARTS; ++k) {
        if (k != VALUES || cmgi_h5_exists(h5, names[k])) {
            CMGI_TRY_GOTO(done, cmgi_dataset_open(h5, names[k], &d[k]));
        }
    }
    CMGI_TRY_GOTO(done, make(h5, h, d, &mesh));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_real(&d[X], 0, d[X].count, mesh->x));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_index(&d[CELLS], mesh->cell_nodes));
    CMGI_TRY_GOTO(done, read_unknowns(&d[UNKNOWNS], mesh));
    if (mesh->boundary > 0) {
        CMGI_TRY_GOTO(
            done, cmgi_dataset_read_real(&d[VALUES], 0, d[VALUES].count, mesh->boundary_values));
    }
    CMGI_TRY_GOTO(done, cmgi_in_file(h5->ctx, h5->path, cmgi_hierarchy_take_mesh(h, &mesh)));
done:
    cmgi_stored_mesh_destroy(h5->ctx, &mesh);
    for (int k = 0; k < PARTS; ++k) {
        cmgi_dataset_close(&d[k]);
    }
    return status;
}
