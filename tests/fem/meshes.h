/* Meshes of shapes, refined in place, and their topology. */
#pragma once
#include "fem/mesh_shapes.h"
#include "generated.h"

static inline cmgi_mesh *shape_mesh(const cmgi_shape_options *o)
{
    cmgi_mesh *mesh = NULL;
    CHECK_OK(cmgi_shape_mesh(ctx, o, &mesh));
    return mesh;
}

/* The refined mesh takes the place of the coarse one. */
static inline void refine(cmgi_mesh **mesh, const cmgi_snap *snap)
{
    cmgi_mesh *fine = NULL;
    CHECK_OK(cmgi_mesh_refine(*mesh, snap, &fine));
    cmgi_mesh_destroy(mesh);
    *mesh = fine;
}

/* nodes - edges + faces - cells, from the entities. */
static inline long euler(const cmgi_mesh *mesh)
{
    cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
    CHECK_OK(cmgi_mesh_entities(mesh, true, &e));
    const cmg_size sum = mesh->dim == 2 ? mesh->nodes - e.edge.count + mesh->cells
                                        : mesh->nodes - e.edge.count + e.face.count - mesh->cells;
    return (long)sum;
}
