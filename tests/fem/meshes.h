/* Meshes of shapes, refined in place, and their topology. */
#pragma once
#include "fem/mesh_shapes.h"
#include "fem/space.h"
#include "generated.h"

#define scoped_space scoped_by(cmgi_space_destroy) cmgi_space

static inline void fem_mesh_free(cmg_fem_mesh *mesh)
{
    cmg_fem_mesh_free(ctx, mesh);
}

static inline void fem_csr_free(cmg_csr *A)
{
    cmg_fem_csr_free(ctx, A);
}

#define scoped_fem_mesh scoped_by(fem_mesh_free) cmg_fem_mesh
#define scoped_fem_csr scoped_by(fem_csr_free) cmg_csr

/* The defaults of a shape, with other cells of this number. */
static inline cmgi_shape_options shape_options(cmg_shape shape, cmgi_cell cell, cmg_size n)
{
    cmgi_shape_options o;
    cmgi_shape_options_default(shape, &o);
    o.cell = cell;
    o.n = n;
    return o;
}

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
