#!/usr/bin/env python3
"""A truncated ellipsoid, as a left ventricle: ellipsoid.py SIZE OUT.msh

Outer semi-axes 10, 10, 20 mm, inner 7, 7, 17 mm, cut at z = 5 mm. Sizes of 1.109, 0.93, 0.475 and
0.387 mm give the meshes of Wong, Kuhl and Darve (3, 5, 30 and 50 thousand nodes); 0.333 and 0.166 mm
one and eight million tetrahedra. `heart --refine 1` and `--refine 2` on a coarser one do the same.
"""

import sys

import gmsh


def shell(outer, inner, top):
    """The solid between two half-axes triples, below z = top."""
    model = gmsh.model.occ

    def ellipsoid(axes):
        tag = model.addSphere(0, 0, 0, 1)
        model.dilate([(3, tag)], 0, 0, 0, *axes)
        return [(3, tag)]

    solid, _ = model.cut(ellipsoid(outer), ellipsoid(inner))
    lid = [(3, model.addBox(-50, -50, top, 100, 100, 100))]
    solid, _ = model.cut(solid, lid)
    model.synchronize()
    return solid


def main(size, path):
    gmsh.initialize()
    gmsh.option.setNumber("General.Verbosity", 2)
    gmsh.option.setNumber("Mesh.MeshSizeMin", size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
    gmsh.option.setNumber("Mesh.Binary", 1)
    gmsh.option.setNumber("Mesh.Algorithm3D", 10)  # HXT, in parallel
    solid = shell((10, 10, 20), (7, 7, 17), 5)
    gmsh.model.addPhysicalGroup(3, [tag for _, tag in solid], name="tissue")
    gmsh.model.mesh.generate(3)
    gmsh.write(path)
    cells = sum(len(tags) for tags in gmsh.model.mesh.getElements(3)[1])
    print("%d nodes, %d tetrahedra" % (len(gmsh.model.mesh.getNodes()[0]), cells))
    gmsh.finalize()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(float(sys.argv[1]), sys.argv[2])
