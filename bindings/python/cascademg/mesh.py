"""Meshes for prolongations of one's own: read through meshio, from arrays, and between two of them."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._errors import ArgumentError
from ._ffi import ffi
from ._library import enum_value, has, lib
from .context import Context, resolve

# element and dimension of a cell type of meshio
_CELLS = {
    "triangle": ("p1", 2), "triangle6": ("p2", 2), "tetra": ("p1", 3), "tetra10": ("p2", 3),
    "quad": ("q1", 2), "quad9": ("q2", 2), "hexahedron": ("q1", 3), "hexahedron27": ("q2", 3),
}


_NODES = {("p1", 2): 3, ("p2", 2): 6, ("q1", 2): 4, ("q2", 2): 9, ("p1", 3): 4, ("p2", 3): 10, ("q1", 3): 8, ("q2", 3): 27}
# facets of the cells, and the names under which programs keep the marks of cells and facets
_FACETS = {2: ("line", "line3"), 3: ("triangle", "triangle6", "quad", "quad8", "quad9")}
_MARKS = ("gmsh:physical", "medit:ref", "tetgen:ref", "CellEntityIds", "attribute", "label", "region", "material",
          "marker", "boundary", "physical")


class Mesh:
    """Nodes and cells of a finite element mesh.

    Parameters
    ----------
    points : array, shape (nodes, 2 or 3)
    cells : array of int, shape (cells, nodes of a cell)
        Nodes of a cell in VTK's order, as meshio has it.
    element : str, optional
        "p1", "p2", "q1" or "q2", to be checked; the number of nodes of a cell says which it is.
    regions : array of int, optional
        A number for every cell.
    facets : list of (type of meshio, nodes, numbers), optional
        Labels of sides: the nodes of each, and a number for each.
    names : dict, optional
        {name: (number, dimension)} of labels and regions, as meshio's field_data.

    Raises
    ------
    ArgumentError
        Shapes that are none of the elements', or not the element that was named.
    """

    def __init__(self, points: Any, cells: Any, element: str | None = None, regions: Any = None, facets: Any = (),
                 names: dict | None = None) -> None:
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.cells = np.ascontiguousarray(cells, dtype=np.int32)
        if self.points.ndim != 2 or self.points.shape[1] not in (2, 3) or self.cells.ndim != 2:
            raise ArgumentError("points of shape (nodes, 2 or 3) and cells of shape (cells, nodes of a cell) are needed")
        known = {(dim, n): element for (element, dim), n in _NODES.items()}
        size = (self.points.shape[1], self.cells.shape[1])
        if size not in known or element not in (None, known[size]):
            raise ArgumentError(f"cells of {size[1]} nodes in {size[0]} dimensions do not make element {element or 'p1 to q2'}")
        self.element = known[size]
        self.regions = None if regions is None else np.asarray(regions, dtype=np.int32)
        self.facets = list(facets)
        self.names = dict(names or {})

    @classmethod
    def from_meshio(cls, mesh: Any) -> Mesh:
        """The cells of highest dimension of a meshio.Mesh, which have to be of one type; its sides as facets.

        Parameters
        ----------
        mesh : meshio.Mesh

        Raises
        ------
        ArgumentError
            Several types of cells, none that is known, or a surface in space.
        """
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
        key = next((k for k in _MARKS if k in mesh.cell_data), None)
        marks = mesh.cell_data[key] if key else [None] * len(mesh.cells)
        found = [(b.type, np.asarray(b.data), m) for b, m in zip(mesh.cells, marks)]
        return cls._compact(points, top[0], found, mesh.field_data)

    @classmethod
    def _compact(cls, points, top, blocks, names=None):
        """From blocks (type, nodes, marks); nodes that no cell has are left out, and so are facets with such nodes."""
        cells = np.vstack([nodes for kind, nodes, _ in blocks if kind == top])
        used, compact = np.unique(cells, return_inverse=True)
        number = np.full(len(points), -1)
        number[used] = np.arange(len(used))
        regions = [marks for kind, _, marks in blocks if kind == top]
        facets = [(kind, number[nodes], np.asarray(marks, dtype=np.int32)) for kind, nodes, marks in blocks
                  if kind in _FACETS[points.shape[1]] and kind != top and marks is not None and len(nodes)]
        kept = [(kind, nodes[(nodes >= 0).all(1)], marks[(nodes >= 0).all(1)]) for kind, nodes, marks in facets]
        return cls(points[used], compact.reshape(cells.shape), names=names, facets=kept,
                   regions=None if any(m is None for m in regions) else np.concatenate(regions))

    def write(self, path: str | os.PathLike) -> None:
        """Writes the mesh through meshio; .msh is what ``generate(mesh=...)`` reads, labels and regions included.

        Parameters
        ----------
        path : path
            Its suffix says the form.
        """
        import meshio
        points = np.column_stack([self.points, np.zeros(len(self.points))]) if self.points.shape[1] == 2 else self.points
        (kind,) = [t for t, what in _CELLS.items()
                   if what == (self.element, self.points.shape[1])]
        regions = np.zeros(len(self.cells), dtype=np.int32) if self.regions is None else self.regions
        blocks = [(kind, self.cells, regions)] + self.facets
        data = {}
        if self.facets or self.regions is not None:
            data = {key: [marks for _, _, marks in blocks] for key in ("gmsh:physical", "gmsh:geometrical")}
        options = {"file_format": "gmsh22", "binary": False} if str(path).endswith(".msh") else {}
        meshio.write(os.fspath(path), meshio.Mesh(points, [block[:2] for block in blocks], cell_data=data,
                                                  field_data={k: np.asarray(v) for k, v in self.names.items()}), **options)

    def __repr__(self) -> str:
        return f"<cascademg.Mesh {self.element}, {len(self.points)} nodes, {len(self.cells)} cells, {self.points.shape[1]}D>"


def _rows(path):
    """Lines of numbers, without comments; the first says how many there are."""
    with open(path) as file:
        rows = [line.split() for line in (line.split("#")[0] for line in file) if line.strip()]
    if not rows or len(rows) <= int(rows[0][0]):
        raise ArgumentError(f"{path}: {len(rows) - 1} lines of numbers, fewer than it says")
    return [int(word) for word in rows[0]], rows[1:int(rows[0][0]) + 1]


def _read_triangle(path):
    """Files of Triangle and TetGen: .node and .ele, .edge or .face beside them; of quadratic cells the corners."""
    base = os.path.splitext(path)[0]
    head, rows = _rows(base + ".node")
    dim = head[1]
    if dim not in (2, 3):
        raise ArgumentError(f"{base}.node: points of dimension {dim}")
    short = [i for i, row in enumerate(rows) if len(row) <= dim or int(row[0]) != int(rows[0][0]) + i]
    if short:
        raise ArgumentError(f"{base}.node: '{' '.join(rows[short[0]])}' where node {int(rows[0][0]) + short[0]} is expected")
    points = np.array([row[1:dim + 1] for row in rows], dtype=float)
    first = int(rows[0][0])
    head, rows = _rows(base + ".ele")
    nodes = np.array([row[1:dim + 2] for row in rows], dtype=int) - first
    marks = np.array([row[head[1] + 1] for row in rows], dtype=float).astype(int) if len(head) > 2 and head[2] else None
    blocks = [("triangle" if dim == 2 else "tetra", nodes, marks)]
    sides = base + (".edge" if dim == 2 else ".face")
    if os.path.exists(sides):
        head, rows = _rows(sides)
        if len(head) > 1 and head[1]:
            blocks.append(("line" if dim == 2 else "triangle", np.array([row[1:dim + 1] for row in rows], dtype=int) - first,
                           np.array([row[-1] for row in rows], dtype=int)))
    if any(nodes.min() < 0 or nodes.max() >= len(points) for _, nodes, _ in blocks):
        raise ArgumentError(f"{base}: a node number is out of range, {first} to {first + len(points) - 1}")
    return Mesh._compact(points, blocks[0][0], blocks)


def read_mesh(path: str | os.PathLike) -> Mesh:
    """Reads a mesh file: Triangle and TetGen, and any form that meshio knows (gmsh, VTK, Abaqus, Exodus, XDMF, ...).

    Parameters
    ----------
    path : path

    Returns
    -------
    Mesh

    Raises
    ------
    ArgumentError
        What the file holds is no mesh of one type of cells, with the line.
    """
    path = os.fspath(path)
    if os.path.splitext(path)[1] in (".node", ".ele", ".edge", ".face"):
        return _read_triangle(path)
    import meshio
    return Mesh.from_meshio(meshio.read(path))


def transfer(coarse: Any, fine: Any, components: int = 1, context: Context | None = None) -> Any:
    """Prolongation between two meshes of one domain, nested or not, as scipy.sparse.csr_matrix.

    Functions of the coarse space keep their values.

    Parameters
    ----------
    coarse : Mesh
        Or a meshio.Mesh.
    fine : Mesh or array
        Or a meshio.Mesh, or the places of the fine nodes, shape (nodes, dim), in any order.
    components : int, optional
        Unknowns a node, numbered node by node.
    context : Context, optional

    Returns
    -------
    scipy.sparse.csr_matrix
        Of shape (fine nodes * components, coarse nodes * components); row i has the
        coarse basis at fine node i.

    Raises
    ------
    ArgumentError
        Meshes of different dimensions, or a fine node far outside the coarse mesh.

    Notes
    -----
    A search tree over the coarse cells: time grows as n log n.
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
