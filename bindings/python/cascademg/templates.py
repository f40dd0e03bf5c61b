"""Matrices of few kinds of rows, which never are stored entry by entry."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays
from ._errors import ArgumentError, StateError
from ._ffi import ffi


class Templates:
    """A matrix of few kinds of rows, in a list of matrices of :class:`Hierarchy`.

    Row i has the values of kind ``ids[i]`` in the columns ``offsets + references[i]``.

    Parameters
    ----------
    indptr : array of int
        Entries of kind k are ``indptr[k]`` to ``indptr[k + 1] - 1``; up to 4096 kinds.
    offsets : array of int
        Columns, counted from the reference of a row.
    values : array of float
        As many.
    ids : array of int
        The kind of each row; int8 to int32 and uint8, uint16 without a copy in Python.
    references : array of int, optional
        Of each row, for P and R; by default the row's number.
    columns : int, optional
        By default as many as rows.

    Notes
    -----
    The library copies all of it, the ids in 16 bits a row. :meth:`stencil` and :meth:`interpolation` need no ids.
    """

    def __init__(self, indptr: Any, offsets: Any, values: Any, ids: Any, references: Any = None,
                 columns: int | None = None) -> None:
        self._indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        self._offsets = _indices(offsets, "offsets")
        self._values = np.ascontiguousarray(_arrays.numbers(values, "values"))
        ids = np.asarray(ids)
        same = ids.dtype in (np.uint8, np.uint16, np.int32)
        self._ids = np.ascontiguousarray(ids) if same else _indices(ids, "ids")
        self._references = None if references is None else _indices(references, "references")
        rows = len(self._ids)
        self.shape = (rows, rows if columns is None else int(columns))
        self._grid = (0, 0, 0)
        lengths = {"offsets": self._offsets, "values": self._values}
        for name, array in lengths.items():
            if self._indptr.ndim != 1 or len(self._indptr) < 1 or array.shape != (self._indptr[-1],):
                raise ArgumentError(f"{name} of shape {array.shape} do not go with indptr of shape {self._indptr.shape}")
        if self._references is not None and self._references.shape != (rows,):
            raise ArgumentError(f"references of shape {self._references.shape}, {(rows,)} are needed")

    @classmethod
    def stencil(cls, values: Any, grid: tuple[int, ...]) -> Templates:
        """A level matrix that is one stencil at every position of a grid, cut at the rim.

        Parameters
        ----------
        values : array of float, 3 along each axis of the grid
            That of the neighbour (k - 1, j - 1, i - 1) at [k, j, i], as in :func:`scipy.ndimage.correlate`; 0 = none.
        grid : tuple of int
            Positions along each axis, the last one numbered fastest, as the shape of an array of unknowns.
        """
        made = cls._of_grid(grid)
        made._values = made.order(values)
        made.shape = (int(np.prod(grid)),) * 2
        return made

    @classmethod
    def interpolation(cls, grid: tuple[int, ...]) -> Templates:
        """Linear interpolation along each axis from the positions 1, 3, 5, ... of a grid, 0 beyond its ends.

        Parameters
        ----------
        grid : tuple of int
            As in :meth:`stencil`, odd: P of Q1 elements from twice the mesh width, without the boundary.
        """
        made = cls._of_grid(grid)
        made._interpolates = True
        made.shape = (int(np.prod(grid)), int(np.prod([n // 2 if n > 1 else 1 for n in grid])))
        return made

    @classmethod
    def _of_grid(cls, grid):
        made = cls.__new__(cls)
        made._dim = len(grid)
        made._interpolates = False
        if not 1 <= made._dim <= 3:
            raise ArgumentError(f"a grid of {made._dim} axes; 1 to 3 are possible")
        made._grid = tuple(int(n) for n in reversed(grid)) + (1,) * (3 - made._dim)
        made._indptr = made._offsets = made._values = made._ids = made._references = None
        return made

    def order(self, values: Any) -> np.ndarray:
        """New values as :meth:`Hierarchy.update` hands them over.

        Parameters
        ----------
        values : array of float
            As they were given.
        """
        values = _arrays.numbers(values, "values")
        if self._grid[0] == 0:
            if values.shape != self._values.shape:
                raise ArgumentError(f"values of shape {values.shape}, {self._values.shape} are needed")
            return np.ascontiguousarray(values)
        if self._interpolates:
            raise StateError("interpolation on a grid has no values")
        if values.shape != (3,) * self._dim:
            raise ArgumentError(f"a stencil of shape {values.shape}, {(3,) * self._dim} is needed")
        whole = np.zeros((3, 3, 3))
        whole[(1,) * (3 - self._dim)] = values
        return whole.ravel()

    def _struct(self):
        """The arguments of the library; arrays of self."""
        t = ffi.new("cmg_templates *")
        t.rows, t.cols = self.shape
        for d in range(3):
            t.grid[d] = self._grid[d]
        for name, ctype, array in (("indptr", "cmg_size *", self._indptr), ("offsets", "cmg_index *", self._offsets),
                                   ("values", "double *", self._values), ("ids", "void *", self._ids),
                                   ("references", "cmg_index *", self._references)):
            if array is not None:
                setattr(t, name, ffi.cast(ctype, array.ctypes.data))
        if self._grid[0] == 0:
            t.kinds, t.id_bits = len(self._indptr) - 1, 8 * self._ids.dtype.itemsize
        return t

    def __repr__(self) -> str:
        what = f"{len(self._indptr) - 1} kinds" if self._grid[0] == 0 else "a grid"
        return f"<cascademg.Templates of {what}, {self.shape[0]} x {self.shape[1]}>"


def _indices(a, what):
    a = np.asarray(a)
    info = np.iinfo(np.int32)
    if a.ndim != 1 or a.dtype.kind not in "iu" or a.size > 0 and not info.min <= a.min() <= a.max() <= info.max:
        raise ArgumentError(f"{what}: one-dimensional integers of 32 bits are needed, not {a.dtype} of shape {a.shape}")
    return np.ascontiguousarray(a, dtype=np.int32)
