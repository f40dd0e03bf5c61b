"""Hierarchies from files, from the generator and from other packages."""
from __future__ import annotations

import itertools
import os
from typing import Any

from ._errors import ArgumentError
from ._ffi import ffi
from ._library import chars, defaults, enum_value, has, lib, path_chars, set_option, text
from .context import Context, resolve
from .hierarchy import Hierarchy


def read(path: str | os.PathLike, kind: str = "auto", context: Context | None = None,
         backend: str | None = None) -> Hierarchy:
    """Reads a hierarchy.

    Parameters
    ----------
    path : path
        A container, a folder of matrices, a PETSc dump or a single matrix file.
    kind : str, optional
        Which of these it is ("container", "mtx", "petsc", ...); by default found out.
    context : Context, optional
    backend : {"cpu", "cuda"}, optional

    Returns
    -------
    Hierarchy

    Raises
    ------
    FileError
        The file is missing, truncated or not what it should be, with the place.
    UnsupportedError
        A container in a build without HDF5.
    """
    context = resolve(context, backend)
    out = ffi.new("cmg_hierarchy **")
    with context.lock:
        name = path_chars(path)
        context.check(lib().cmg_hierarchy_read(context.ptr, name, enum_value("file", kind), out)
                      if context.comm is None else lib().cmg_hierarchy_read_rows(context.ptr, name, out))
    return Hierarchy._adopt(context, out[0])


def generate(case: str | None = None, context: Context | None = None, backend: str | None = None,
             **options: Any) -> Hierarchy:
    """Generates a geometric hierarchy.

    Parameters
    ----------
    case : str, optional
        A named case of ``cmg generate --list`` to start from.
    context : Context, optional
    backend : {"cpu", "cuda"}, optional
    **options
        Options of ``cmg generate``, with _ for -: element="q1", dim=3, cells=64, problem="elasticity", flux=[0, -1],
        ... With ``templates=True`` matrices are :class:`Templates`, and there are no vectors and no mesh.

    Returns
    -------
    Hierarchy
        With right-hand side "b", coordinates and mesh.

    Raises
    ------
    ArgumentError
        There is no such case, or a value is out of range.
    TypeError
        An unknown option, with the nearest known one.
    """
    if not has("cmg_hierarchy_generate"):
        raise NotImplementedError("this build has no generator")
    context = resolve(context, backend)
    made = defaults("cmg_generate_options")
    if case is not None and lib().cmg_generate_case(chars(case, "case"), made) != 0:
        known = itertools.takewhile(bool, (text(lib().cmg_generate_case_name(i)) for i in itertools.count()))
        raise ArgumentError(f"there is no case {case!r}; there are {', '.join(known)}")
    for key, value in options.items():
        set_option(lib().cmg_generate_option, made, key, value)
    out = ffi.new("cmg_hierarchy **")
    with context.lock:
        context.check(lib().cmg_hierarchy_generate(context.ptr, made, out))
    return Hierarchy._adopt(context, out[0])


def from_pyamg(ml: Any, **arguments: Any) -> Hierarchy:
    """The levels of a PyAMG multilevel solver: matrices, prolongations and restrictions as they are.

    Parameters
    ----------
    ml : pyamg.MultilevelSolver
        Of smoothed_aggregation_solver, ruge_stuben_solver, air_solver, ...
    **arguments
        Further ones of :class:`Hierarchy`: ``backend="cuda"`` puts the levels on a GPU.

    Returns
    -------
    Hierarchy
        CSR matrices of float64 are used in place; block size is that of a BSR matrix.
    """
    A = [level.A for level in ml.levels]
    P = [level.P for level in ml.levels[:-1]]
    R = [None if _is_transpose(level.R, level.P) else level.R for level in ml.levels[:-1]]
    block = getattr(A[0], "blocksize", (1, 1))[0]
    if block > 1:
        arguments.setdefault("block_size", block)
    return Hierarchy(A, P, R=R if any(r is not None for r in R) else None, **arguments)


def _is_transpose(R, P):
    difference = R.tocsr() - P.T.tocsr()
    return R.shape == P.shape[::-1] and (difference.nnz == 0 or abs(difference).max() == 0)


def from_petsc(A: Any, interpolations: list | None = None, **arguments: Any) -> Hierarchy:
    """Levels from petsc4py objects.

    Parameters
    ----------
    A : petsc4py.PETSc.Mat or PC
        The matrix, or a PC of type mg or gamg that is set up.
    interpolations : list of Mat, optional
        Of a matrix, finest first.
    **arguments
        Further ones of :class:`Hierarchy`.

    Returns
    -------
    Hierarchy
        Copies of the matrices, of one process.
    """
    import scipy.sparse

    def csr(mat):
        indptr, indices, data = mat.getValuesCSR()
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=mat.getSize())

    if hasattr(A, "getMGLevels"):
        pc = A
        levels = pc.getMGLevels()
        matrices = [csr(pc.getMGSmoother(level).getOperators()[0]) for level in reversed(range(levels))]
        transfers = [csr(pc.getMGInterpolation(level)) for level in reversed(range(1, levels))]
        return Hierarchy(matrices, transfers, **arguments)
    if A.getBlockSize() > 1:
        arguments.setdefault("block_size", A.getBlockSize())
    return Hierarchy([csr(A)], [csr(P) for P in interpolations or []], **arguments)
