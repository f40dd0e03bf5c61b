/* Nodes of the boundary that lie where they should not. */
#pragma once
#include "fem/mesh.h"

/*
 * Finds boundary nodes at the place of another one (closer than 1e-6 of the shortest edge) and
 * inside a boundary facet that is not theirs (closer than 1e-6 of its size), and fails with the
 * first one. A conforming mesh has neither; a crack between coincident facets has the former.
 */
cmg_status cmgi_mesh_check_conforming(const cmgi_mesh *mesh, cmgi_mesh_report *report);
