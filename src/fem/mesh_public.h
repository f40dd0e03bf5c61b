/* Meshes as the public interface has them. */
#pragma once
#include "cmg_fem.h"

#include "fem/mesh.h"

/* Numbers in range, coordinates finite; `name` is for the message. */
cmg_status cmgi_fem_mesh_check(cmg_context *ctx, const cmg_fem_mesh *mesh, const char *name);
/* A mesh of first order as the others here have it, without boundary facets. */
cmg_status cmgi_fem_mesh_take(cmg_context *ctx, const cmg_fem_mesh *from, cmgi_mesh **mesh);
