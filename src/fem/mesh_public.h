/* Meshes as the public interface has them. */
#pragma once
#include "cmg_fem.h"

#include "fem/mesh.h"

/* Numbers in range, coordinates finite; `name` is for the message. */
cmg_status cmgi_fem_mesh_check(cmg_context *ctx, const cmg_fem_mesh *mesh, const char *name);
