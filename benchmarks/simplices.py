#!/usr/bin/env python3
"""Unstructured triangles of the unit square or tetrahedra of the unit cube: simplices.py tri|tet SIZE OUT.msh

Sizes of 0.001476 and 0.0156 give about as many unknowns as the meshes tri and tet of Zhang and Zhang (2013), Table 1. Needs gmsh.
"""

import sys

import gmsh


def main(kind, size, path):
    gmsh.initialize()
    gmsh.option.setNumber("General.Verbosity", 2)
    gmsh.option.setNumber("Mesh.MeshSizeMin", size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
    gmsh.option.setNumber("Mesh.Binary", 1)
    dim = {"tri": 2, "tet": 3}[kind]
    occ = gmsh.model.occ
    body = occ.addRectangle(0, 0, 0, 1, 1) if dim == 2 else occ.addBox(0, 0, 0, 1, 1, 1)
    occ.synchronize()
    gmsh.model.addPhysicalGroup(dim, [body], name="body")
    gmsh.model.mesh.generate(dim)
    gmsh.write(path)
    print("%d nodes" % len(gmsh.model.mesh.getNodes()[0]))
    gmsh.finalize()


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("tri", "tet"):
        sys.exit(__doc__)
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
