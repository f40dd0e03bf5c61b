/* Mesh files: gmsh .msh 2.2 and 4.1 (text, binary) and MFEM .mesh 1.0; others come through the
 * Python package and meshio. */
#pragma once
#include "fem/mesh.h"

/*
 * Reads a mesh; the format is found by content. Cells of the highest dimension make the mesh; nodes
 * that none uses are left out; cells numbered the other way round are turned; corner nodes stand
 * for curved cells; all of that is said in mesh->note. Physical groups and boundary attributes
 * become labels.
 *
 * CMG_ERR_IO           the file cannot be read
 * CMG_ERR_FILE         the content is wrong: "path:line: reason" (byte offset in binary parts)
 * CMG_ERR_UNSUPPORTED  a format, version, cell type or mixture that is not read
 * CMG_ERR_SHAPE        the mesh is faulty, see cmgi_mesh_check
 */
cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh);
