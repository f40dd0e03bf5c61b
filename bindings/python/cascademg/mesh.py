"""Meshes for prolongations of one's own: read through meshio, from arrays, and between two of them."""
import os

import numpy as np

from ._errors import ArgumentError
from ._ffi import ffi
from ._library import enum_value, has, lib
from .context import resolve

# element and dimension of a cell type of meshio
_CELLS = {
    "triangle": ("p1", 2), "triangle6": ("p2", 2), "tetra": ("p1", 3), "tetra10": ("p2", 3),
    "quad": ("q1", 2), "quad9": ("q2", 2), "hexahedron": ("q1", 3), "hexahedron27": ("q2", 3),
}


class Mesh:
    """Nodes and cells of a finite element mesh.

    Parameters
    ----------
    points : array, shape (nodes, 2 or 3)
    cells : array of int, shape (cells, nodes of a cell)
        Nodes of a cell in VTK's order, as meshio has it.
    element : str, optional
        "p1", "p2", "q1" or "q2", to be checked; the number of nodes of a cell says which it is.
    """

    def __init__(self, points, cells, element=None):
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.cells = np.ascontiguousarray(cells, dtype=np.int32)
        if self.points.ndim != 2 or self.points.shape[1] not in (2, 3) or self.cells.ndim != 2:
            raise ArgumentError("points of shape (nodes, 2 or 3) and cells of shape (cells, nodes of a cell) are needed")
        known = {(2, 3): "p1", (2, 6): "p2", (2, 4): "q1", (2, 9): "q2", (3, 4): "p1", (3, 10): "p2", (3, 8): "q1", (3, 27): "q2"}
        size = (self.points.shape[1], self.cells.shape[1])
        if size not in known or element not in (None, known[size]):
            raise ArgumentError(f"cells of {size[1]} nodes in {size[0]} dimensions do not make element {element or 'p1 to q2'}")
        self.element = known[size]

    @classmethod
    def from_meshio(cls, mesh):
        """The cells of highest dimension of a meshio.Mesh, which have to be of one type."""
        types = {block.type for block in mesh.cells}
        cells = [t for t in types if t in _CELLS]
        if not cells:
            raise ArgumentError(f"no cells of a known type among {', '.join(sorted(types)) or 'none'}")
        dim = max(_CELLS[t][1] for t in cells)
        top = [t for t in cells if _CELLS[t][1] == dim]
        if len(top) > 1:
            raise ArgumentError(f"a mesh has one type of cells, not {' and '.join(sorted(top))}")
        points = np.asarray(mesh.points)
        if dim == 2 and points.shape[1] == 3:
            if np.ptp(points[:, 2]) > 1e-10 * np.abs(points).max():
                raise ArgumentError("a surface in space; 2D meshes lie in a plane z = constant")
            points = points[:, :2]
        found = np.vstack([block.data for block in mesh.cells if block.type == top[0]])
        used, compact = np.unique(found, return_inverse=True)
        return cls(points[used], compact.reshape(found.shape))

    def write(self, path):
        """Writes the mesh through meshio; .msh is what ``generate(mesh=...)`` reads."""
        import meshio
        points = np.column_stack([self.points, np.zeros(len(self.points))]) if self.points.shape[1] == 2 else self.points
        (kind,) = [t for t, what in _CELLS.items()
                   if what == (self.element, self.points.shape[1])]
        options = {"file_format": "gmsh22", "binary": False} if str(path).endswith(".msh") else {}
        meshio.write(os.fspath(path), meshio.Mesh(points, [(kind, self.cells)]), **options)

    def __repr__(self):
        return f"<cascademg.Mesh {self.element}, {len(self.points)} nodes, {len(self.cells)} cells, {self.points.shape[1]}D>"


def read_mesh(path):
    """Reads a mesh file of any form that meshio knows: gmsh, VTK, Triangle and TetGen, Abaqus, Exodus, XDMF, ..."""
    import meshio
    return Mesh.from_meshio(meshio.read(os.fspath(path)))


def transfer(coarse, fine, components=1, context=None):
    """Prolongation between two meshes of one domain, nested or not, as scipy.sparse.csr_matrix.

    Row i has the coarse basis at fine node i, so that functions of the coarse space keep their values.

    Parameters
    ----------
    coarse : Mesh
        Or a meshio.Mesh.
    fine : Mesh or array
        Or a meshio.Mesh, or the places of the fine nodes, shape (nodes, dim), in any order.
    components : int, optional
        Unknowns a node, numbered node by node.
    """
    import scipy.sparse
    if not has("cmg_fem_transfer"):
        raise NotImplementedError("this build has no libcmgfem")
    context = resolve(context)
    coarse = coarse if isinstance(coarse, Mesh) else Mesh.from_meshio(coarse)
    if not isinstance(fine, (Mesh, np.ndarray, list, tuple)):
        fine = Mesh.from_meshio(fine)
    x = np.ascontiguousarray(fine.points if isinstance(fine, Mesh) else fine, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != coarse.points.shape[1]:
        raise ArgumentError(f"fine nodes of shape {x.shape}, the coarse mesh has {coarse.points.shape[1]} dimensions")
    given = ffi.new("cmg_fem_mesh *", {
        "element": enum_value("element", coarse.element), "dim": coarse.points.shape[1], "nodes": len(coarse.points),
        "x": ffi.from_buffer("double[]", coarse.points), "cells": len(coarse.cells),
        "cell_nodes": ffi.from_buffer("cmg_index[]", coarse.cells)})
    P = ffi.new("cmg_csr *")
    with context.lock:
        context.check(lib().cmg_fem_transfer(context.ptr, given, components, len(x), ffi.from_buffer("double[]", x), P))
        try:
            nnz = P.indptr[P.rows]
            indptr = np.frombuffer(ffi.buffer(P.indptr, 8 * (P.rows + 1)), dtype=np.int64).copy()
            indices = np.frombuffer(ffi.buffer(P.indices, 4 * nnz), dtype=np.int32).copy()
            data = np.frombuffer(ffi.buffer(P.values, 8 * nnz), dtype=np.float64).copy()
            shape = (P.rows, P.cols)
        finally:
            lib().cmg_fem_csr_free(context.ptr, P)
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=shape)
