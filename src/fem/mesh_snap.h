/* New boundary nodes onto circles, cylinders and spheres. */
#pragma once
#include "fem/mesh.h"

/*
 * Moves the new nodes of `fine` on facets whose label has a surface to its nearest point, then the
 * centres of quads and hexes (and of inner faces) that border them by transfinite interpolation.
 * Fails with the cell when that inverts one.
 */
cmg_status cmgi_mesh_snap(const cmgi_mesh *coarse, const cmgi_entities *e, const cmgi_snap *snap,
                          cmgi_mesh *fine);
