"""Hierarchies: level matrices and prolongations, from arrays, from files, from other packages."""
import os
import tempfile

import numpy as np

from . import _arrays
from ._errors import ArgumentError, StateError
from ._ffi import ffi
from ._library import defaults, enum_value, has, lib, set_option, text
from .context import own, resolve

_ROLES = {"A": 0, "P": 1, "R": 2, "smoother": 3, "inverse": 4}


def _csr(matrix, what):
    """(shape, indptr int64, indices int32, data float64) of a SciPy or CuPy sparse matrix, a triple or a dense array."""
    if isinstance(matrix, tuple) and len(matrix) in (3, 4):
        data, indices, indptr = matrix[:3]
        rows = len(indptr) - 1
        shape = matrix[3] if len(matrix) == 4 else (rows, rows)
    elif hasattr(matrix, "tocsr"):
        matrix = matrix.tocsr()
        if hasattr(matrix, "get"):  # CuPy: levels are set up from host memory
            matrix = matrix.get()
        if hasattr(matrix, "sum_duplicates") and not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        data, indices, indptr, shape = matrix.data, matrix.indices, matrix.indptr, matrix.shape
    else:
        dense = np.asarray(matrix, dtype=np.float64)
        if dense.ndim != 2:
            raise ArgumentError(f"{what}: a sparse matrix, (data, indices, indptr) or a two-dimensional array is needed")
        mask = dense != 0
        indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        indices = np.nonzero(mask)[1]
        data, shape = dense[mask], dense.shape
    data = np.asarray(data)
    if np.iscomplexobj(data):
        raise ArgumentError(f"{what}: complex values are not supported")
    return (tuple(int(s) for s in shape), np.ascontiguousarray(indptr, dtype=np.int64),
            np.ascontiguousarray(indices, dtype=np.int32), np.ascontiguousarray(data, dtype=np.float64))


class Hierarchy:
    """Levels of a multigrid method, the finest first.

    Parameters
    ----------
    A : sparse matrix or list of them
        Level matrices, finest first: SciPy or CuPy sparse, ``(data, indices, indptr)`` triples, or dense arrays. One
        matrix alone is a one-level hierarchy; below the first, None stands for the product R A P.
    P : sparse matrix or list, optional
        Prolongations, ``P[l]`` from level l + 1 to level l.
    R : list, optional
        Restrictions; by default the transposes of P.
    coords : array or list, optional
        Coordinates of the nodes of level 0 (or of every level), shape (nodes, dim).
    block_size : int, optional
        Unknowns a node.
    nullspace : array, optional
        Near-null-space vectors of level 0, shape (n, k).
    context : Context, optional
        Where the work is done; by default the CPU.
    backend : {"cpu", "cuda"}, optional
        Short for the default context of a backend.

    Notes
    -----
    The arrays of float64 values and int32 columns are used in place and must not change while the hierarchy lives,
    except through :meth:`update`.
    """

    def __init__(self, A, P=None, R=None, coords=None, block_size=None, nullspace=None, context=None, backend=None):
        A = list(A) if isinstance(A, list) else [A]
        P = [] if P is None else list(P) if isinstance(P, list) else [P]
        R = [] if R is None else list(R) if isinstance(R, list) else [R]
        levels = len(P) + 1
        if len(A) > levels:
            raise ArgumentError(f"{len(A)} level matrices need {len(A) - 1} prolongations, {len(P)} are given")
        A += [None] * (levels - len(A))
        if A[0] is None:
            raise ArgumentError("the matrix of level 0 is missing")
        out = ffi.new("cmg_hierarchy **")
        self.context = resolve(context, backend)
        self.context.check(lib().cmg_hierarchy_create(self.context.ptr, levels, out))
        self._start(own("cmg_hierarchy", out[0]))
        for level, matrix in enumerate(A):
            if matrix is not None:
                self._set(level, "A", matrix)
        for level, matrix in enumerate(P):
            self._set(level, "P", matrix)
        for level, matrix in enumerate(R):
            if matrix is not None:
                self._set(level, "R", matrix)
        if block_size is not None:
            self.set_attribute("block_size", int(block_size))
        for level, x in enumerate(coords if isinstance(coords, list) else [] if coords is None else [coords]):
            x = np.asarray(x, dtype=np.float64)
            self.set_attribute("dim", 1 if x.ndim == 1 else x.shape[1])
            self.set_vector("coords", x, level=level)
        if nullspace is not None:
            self.set_vector("nullspace", nullspace)
        if any(matrix is None for matrix in A):
            self._galerkin(A)

    def _start(self, pointer):
        self.ptr = pointer
        self._held = {}

    @classmethod
    def _adopt(cls, context, pointer):
        made = cls.__new__(cls)
        made.context = context
        made._start(own("cmg_hierarchy", pointer))
        return made

    def _set(self, level, role, matrix, name=None, factor=0):
        shape, indptr, indices, data = _csr(matrix, f"{role} of level {level}")
        csr = ffi.new("cmg_csr *")
        csr.rows, csr.cols = shape
        csr.indptr = ffi.cast("cmg_size *", indptr.ctypes.data)
        csr.indices = ffi.cast("cmg_index *", indices.ctypes.data)
        csr.values = ffi.cast("double *", data.ctypes.data)
        label = ffi.NULL if name is None else name.encode()
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_wrap_csr(self.ptr, level, _ROLES[role], label, factor, csr))
        self._held[level, role, name, factor] = (indptr, indices, data)

    def _galerkin(self, A):
        for level in range(1, len(A)):
            if A[level] is None:
                fine, P = self.matrix("A", level - 1), self.matrix("P", level - 1)
                R = self.matrix("R", level - 1, missing=None)
                coarse = (P.T if R is None else R) @ fine @ P
                self._set(level, "A", coarse.tocsr())

    # ------------------------------------------------------------------ what is in it

    @property
    def levels(self):
        """Number of levels."""
        return lib().cmg_hierarchy_levels(self.ptr)

    @property
    def shape(self):
        """Shape of the matrix of level 0."""
        return (self.rows(0), self.rows(0))

    def rows(self, level=0):
        """Rows of a level."""
        return lib().cmg_hierarchy_rows(self.ptr, level)

    def matrix(self, role="A", level=0, name=None, factor=0, missing=StateError):
        """A copy of a matrix as scipy.sparse.csr_matrix: role "A", "P", "R", "smoother" (with its name) or "inverse".

        Where there is none, StateError is raised, or `missing` returned.
        """
        import scipy.sparse
        csr = ffi.new("cmg_csr *")
        label = ffi.NULL if name is None else name.encode()
        with self.context.lock:
            status = lib().cmg_hierarchy_get_csr(self.ptr, level, _ROLES[role], label, factor, csr)
            if status != 0 and missing is not StateError:
                return missing
            self.context.check(status)
            nnz = csr.indptr[csr.rows]
            indptr = np.frombuffer(ffi.buffer(csr.indptr, 8 * (csr.rows + 1)), dtype=np.int64).copy()
            indices = np.frombuffer(ffi.buffer(csr.indices, 4 * nnz), dtype=np.int32).copy() if nnz else np.zeros(0, np.int32)
            data = np.frombuffer(ffi.buffer(csr.values, 8 * nnz), dtype=np.float64).copy() if nnz else np.zeros(0)
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=(csr.rows, csr.cols))

    def vector(self, kind="rhs", name=None, level=0):
        """A copy of a named vector, or None: kind "rhs", "solutions", "coords" or "nullspace"."""
        n, values = ffi.new("cmg_size *"), ffi.new("double **")
        if name is None and kind in ("rhs", "solutions"):
            name = "b" if kind == "rhs" else "x"
        label = ffi.NULL if name is None else name.encode()
        with self.context.lock:
            if lib().cmg_hierarchy_get_vector(self.ptr, level, kind.encode(), label, n, values) != 0:
                return None
            return np.frombuffer(ffi.buffer(values[0], 8 * n[0]), dtype=np.float64).copy() if n[0] else np.zeros(0)

    def set_vector(self, kind, values, name=None, level=0):
        """Keeps a copy of a named vector with the hierarchy."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        if name is None and kind in ("rhs", "solutions"):
            name = "b" if kind == "rhs" else "x"
        label = ffi.NULL if name is None else name.encode()
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_set_vector(self.ptr, level, kind.encode(), label, values.size,
                                                              _arrays.doubles(values)))

    def attribute(self, key):
        """A text attribute (element, dim, block_size, ...) or None."""
        value = lib().cmg_hierarchy_attribute(self.ptr, key.encode())
        return None if value == ffi.NULL else text(value)

    def set_attribute(self, key, value):
        """Sets a text attribute."""
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_set_attribute(self.ptr, key.encode(), str(value).encode()))

    def check(self):
        """Raises FileError with the first thing that a solver could not work with."""
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_check(self.ptr))

    def update(self, values, role="A", level=0):
        """New values of a matrix on its pattern, in CSR order; solvers follow at :meth:`Solver.refresh`."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        held = self._held.get((level, role, None, 0))
        nnz = len(held[2]) if held else self.matrix(role, level).nnz
        if values.size != nnz:
            raise ArgumentError(f"{role} of level {level} has {nnz} entries, {values.size} values are given")
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_update(self.ptr, level, _ROLES[role], _arrays.doubles(values)))
        if held:
            self._held[level, role, None, 0] = (held[0], held[1], values)

    # ------------------------------------------------------------------ making more of it

    def solver(self, options="", **keywords):
        """A :class:`Solver` for this hierarchy; the options are those of the command line with _ for -."""
        from .solver import Solver
        return Solver(self, options, **keywords)

    def _solver_like(self, solver):
        from .solver import Solver
        return Solver(self, **solver._keywords)

    def symmetric(self):
        """Whether A of level 0 equals its transpose to 1e-12 of its largest entry."""
        A = self.matrix()
        return A.nnz == 0 or abs(A - A.T).max() <= 1e-12 * abs(A.data).max()

    def transpose(self):
        """The hierarchy of A^T: prolongations become the transposed restrictions."""
        A = [self.matrix("A", level).T.tocsr() for level in range(self.levels)]
        P = [self.matrix("P", level) for level in range(self.levels - 1)]
        R = [self.matrix("R", level, missing=None) for level in range(self.levels - 1)]
        back = [p if r is None else r.T.tocsr() for p, r in zip(P, R)]
        forth = [None if r is None else p.T.tocsr() for p, r in zip(P, R)]
        return Hierarchy(A, back, R=forth, block_size=self.attribute("block_size"), context=self.context)

    def smooth(self, smoother, save_as, level=0):
        """Computes a smoother of a level and keeps it as "file:save_as"."""
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_smooth(self.ptr, level, smoother.encode(), save_as.encode(), ffi.NULL))

    def renumber(self, numbering, seed=1):
        """Renumbers the unknowns of every level ("reverse-cuthill-mckee", "hierarchical", ...)."""
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_renumber(self.ptr, enum_value("numbering", numbering), seed))
        self._held.clear()

    def write(self, path, kind="auto"):
        """Writes a container (.cmg, .h5), a Matrix Market, PETSc or FE-gMG file or folder."""
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_write(self.ptr, os.fspath(path).encode(), enum_value("file", kind)))

    def write_vtu(self, path, **fields):
        """Writes vectors of level 0 on the mesh that the hierarchy carries, for ParaView."""
        if not has("cmg_hierarchy_write_vtu"):
            raise NotImplementedError("this build has no mesh output")
        arrays = {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in fields.items()}
        for name, values in arrays.items():
            if values.size != self.rows(0):
                raise ArgumentError(f"{name} has {values.size} entries, {self.rows(0)} are needed")
        names = [ffi.new("char[]", name.encode()) for name in arrays]
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_write_vtu(
                self.ptr, os.fspath(path).encode(), len(arrays), ffi.new("char *[]", names or [ffi.NULL]),
                ffi.new("double *[]", [_arrays.doubles(values) for values in arrays.values()] or [ffi.NULL])))

    def __getstate__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hierarchy.cmg")
            self.write(path, "container")
            with open(path, "rb") as stream:
                return {"container": stream.read(), "backend": self.context.backend}

    def __setstate__(self, state):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hierarchy.cmg")
            with open(path, "wb") as stream:
                stream.write(state["container"])
            loaded = read(path, backend=state["backend"])
        self.context, self.ptr, self._held = loaded.context, loaded.ptr, {}

    def __repr__(self):
        rows = ", ".join(str(self.rows(level)) for level in range(self.levels))
        return f"<cascademg.Hierarchy of {self.levels} levels ({rows} rows), {self.context.backend}>"


def read(path, kind="auto", context=None, backend=None):
    """Reads a hierarchy: a container, a folder of matrices, a PETSc dump or a single matrix file."""
    context = resolve(context, backend)
    out = ffi.new("cmg_hierarchy **")
    with context.lock:
        context.check(lib().cmg_hierarchy_read(context.ptr, os.fspath(path).encode(), enum_value("file", kind), out))
    return Hierarchy._adopt(context, out[0])


def generate(case=None, context=None, backend=None, **options):
    """Generates a geometric hierarchy.

    Parameters
    ----------
    case : str, optional
        A named case of ``cmg generate --list`` to start from.
    **options
        Options of ``cmg generate``, with _ for -: element="q1", dim=3, cells=64, problem="elasticity", flux=[0, -1], ...
    """
    if not has("cmg_hierarchy_generate"):
        raise NotImplementedError("this build has no generator")
    context = resolve(context, backend)
    made = defaults("cmg_generate_options")
    if case is not None:
        context.check(lib().cmg_generate_case(case.encode(), made))
    for key, value in options.items():
        set_option(lib().cmg_generate_option, made, key, value)
    out = ffi.new("cmg_hierarchy **")
    with context.lock:
        context.check(lib().cmg_hierarchy_generate(context.ptr, made, out))
    return Hierarchy._adopt(context, out[0])


def from_pyamg(ml, **arguments):
    """The levels of a PyAMG multilevel solver: matrices, prolongations and restrictions as they are."""
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


def from_petsc(A, interpolations=None, **arguments):
    """Levels from petsc4py objects: a Mat with a list of interpolations, or a PC of type mg or gamg that is set up."""
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
