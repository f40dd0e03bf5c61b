"""Hierarchies: level matrices and prolongations, from arrays."""
from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _ranks
from ._csr import device_csr, fit, host_csr
from ._errors import ArgumentError, StateError
from ._ffi import ffi
from ._library import chars, defaults, enum_value, has, lib, path_chars, text
from .context import Context, own, resolve
from .templates import Templates

if TYPE_CHECKING:
    from .solver import Solver

_ROLES = {"A": 0, "P": 1, "R": 2, "smoother": 3, "inverse": 4}


class Hierarchy:
    """Levels of a multigrid method, the finest first.

    Parameters
    ----------
    A : sparse matrix or list of them
        Level matrices, finest first: SciPy or CuPy sparse, ``(data, indices, indptr)`` triples, dense arrays, or
        :class:`Templates`. One matrix alone is a one-level hierarchy; below the first, None stands for R A P.
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

    Raises
    ------
    ArgumentError
        Shapes that do not fit one another, columns out of range, complex values, or what is no matrix.
    UnsupportedError
        ``backend="cuda"`` in a build without CUDA.

    Notes
    -----
    The arrays of float64 values and int32 columns are used in place and must not change while the hierarchy lives,
    except through :meth:`update`; other types are copied. Missing coarse matrices cost two sparse products each.
    """

    def __init__(self, A: Any, P: Any = None, R: Any = None, coords: Any = None, block_size: int | None = None,
                 nullspace: Any = None, context: Context | None = None, backend: str | None = None) -> None:
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
        if any(matrix is None for matrix in A) and self.context.comm is None:
            with self.context.lock:
                self.context.check(lib().cmg_hierarchy_galerkin(self.ptr, 0))

    def _start(self, pointer):
        self.ptr = pointer
        self._held = {}
        self._version = 0

    @classmethod
    def _adopt(cls, context, pointer):
        made = cls.__new__(cls)
        made.context = context
        made._start(own("cmg_hierarchy", pointer))
        return made

    def _set_rows(self, level, role, matrix):
        what = f"{role} of level {level}"
        try:
            shape, *arrays = host_csr(matrix, what, np.int64)
            indptr, indices, data = fit(what, shape, *arrays)
        except Exception as error:
            self.context.fail(str(error))
            raise
        counts = _ranks.gather(self.context, shape[0])
        own_rows = ffi.new("cmg_rows *", {
            "first": sum(counts[:self.context.comm.Get_rank()]), "rows": shape[0],
            "indptr": ffi.cast("cmg_size *", indptr.ctypes.data), "values": ffi.cast("double *", data.ctypes.data),
            "indices": ffi.cast("cmg_size *", indices.ctypes.data)})
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_set_rows(self.ptr, level, _ROLES[role], own_rows))

    def _set(self, level, role, matrix, name=None, factor=0):
        if self.context.comm is not None:
            self._set_rows(level, role, matrix)
            return
        if isinstance(matrix, Templates):
            with self.context.lock:
                self.context.check(lib().cmg_hierarchy_set_templates(self.ptr, level, _ROLES[role], matrix._struct()))
            self._held[level, role, None, 0] = (matrix, np.zeros(0 if matrix._values is None else matrix._values.size), None)
            return
        what = f"{role} of level {level}"
        found = device_csr(matrix, what, self.context)
        address = _arrays.device_address if found is not None else lambda array: array.ctypes.data
        shape, *arrays = found if found is not None else host_csr(matrix, what)
        indptr, indices, data = fit(what, shape, *arrays)
        csr = ffi.new("cmg_csr *")
        csr.rows, csr.cols = shape
        csr.indptr = ffi.cast("cmg_size *", address(indptr))
        csr.indices = ffi.cast("cmg_index *", address(indices))
        csr.values = ffi.cast("double *", address(data))
        label = ffi.NULL if name is None else chars(name, "name")
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_wrap_csr(self.ptr, level, _ROLES[role], label, factor, csr))
        self._held[level, role, name, factor] = (indptr, indices, data)


    # ------------------------------------------------------------------ what is in it

    @property
    def levels(self) -> int:
        """Number of levels of the hierarchy; :attr:`Solver.levels` has those of the cycle, algebraic ones included."""
        return lib().cmg_hierarchy_levels(self.ptr)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix of level 0, (n, n)."""
        return (self.rows(0), self.rows(0))

    def rows(self, level: int = 0) -> int:
        """Rows of a level; with a communicator those of this rank.

        Parameters
        ----------
        level : int
            0 is the finest.
        """
        return self.own_rows(level)[1]

    def own_rows(self, level: int = 0) -> tuple[int, int]:
        """Number of the first row of a level on this rank, and how many rows it has.

        Parameters
        ----------
        level : int
            0 is the finest.

        Returns
        -------
        (first, rows) : tuple of int
            (0, all rows) without a communicator.
        """
        first, rows = ffi.new("cmg_size *"), ffi.new("cmg_size *")
        if self.context.comm is None:
            return 0, lib().cmg_hierarchy_rows(self.ptr, level)
        self.context.check(lib().cmg_hierarchy_own_rows(self.ptr, level, first, rows))
        return first[0], rows[0]

    def matrix(self, role: str = "A", level: int = 0, name: str | None = None, factor: int = 0,
               missing: Any = StateError) -> Any:
        """A copy of a matrix.

        Parameters
        ----------
        role : {"A", "P", "R", "smoother", "inverse"}
        level : int
        name : str, optional
            Of a smoother.
        factor : int
            Which of the matrices of a smoother that has several.
        missing : optional
            Returned where there is none; by default StateError is raised.

        Returns
        -------
        scipy.sparse.csr_matrix

        Raises
        ------
        StateError
            The hierarchy has no such matrix, and `missing` is not given.
        """
        import scipy.sparse
        found = self.arrays(role, level, name, factor, missing)
        return found if found is missing else scipy.sparse.csr_matrix(found[:3], shape=found[3])

    def arrays(self, role: str = "A", level: int = 0, name: str | None = None, factor: int = 0,
               missing: Any = StateError) -> Any:
        """What :meth:`matrix` gives as arrays, without SciPy.

        Parameters
        ----------
        role, level, name, factor, missing
            As those of :meth:`matrix`.

        Returns
        -------
        (data, indices, indptr, shape)
            Copies: float64 and int32 of shape (nnz,), int64 of shape (rows + 1,).
        """
        if role not in _ROLES:
            raise ArgumentError(f"role: {role!r} is unknown; known are {', '.join(_ROLES)}")
        csr = ffi.new("cmg_csr *")
        label = ffi.NULL if name is None else chars(name, "name")
        with self.context.lock:
            status = lib().cmg_hierarchy_get_csr(self.ptr, level, _ROLES[role], label, factor, csr)
            if status != 0 and missing is not StateError:
                return missing
            self.context.check(status)
            nnz = csr.indptr[csr.rows]
            indptr = np.frombuffer(ffi.buffer(csr.indptr, 8 * (csr.rows + 1)), dtype=np.int64).copy()
            indices = np.frombuffer(ffi.buffer(csr.indices, 4 * nnz), dtype=np.int32).copy() if nnz else np.zeros(0, np.int32)
            data = np.frombuffer(ffi.buffer(csr.values, 8 * nnz), dtype=np.float64).copy() if nnz else np.zeros(0)
        return data, indices, indptr, (csr.rows, csr.cols)

    def vector(self, kind: str = "rhs", name: str | None = None, level: int = 0) -> np.ndarray | None:
        """A copy of a vector that is kept with the hierarchy, None where there is none.

        Parameters
        ----------
        kind : {"rhs", "solutions", "coords", "nullspace"}
        name : str, optional
            Of a right-hand side, by default "b", or a solution, by default "x".
        level : int

        Returns
        -------
        numpy.ndarray or None
            Shape (n,); coordinates and null spaces row by row, n times dim or k values.
        """
        n, values = ffi.new("cmg_size *"), ffi.new("double **")
        if name is None and kind in ("rhs", "solutions"):
            name = "b" if kind == "rhs" else "x"
        label = ffi.NULL if name is None else chars(name, "name")
        with self.context.lock:
            if lib().cmg_hierarchy_get_vector(self.ptr, level, chars(kind, "kind"), label, n, values) != 0:
                return None
            return np.frombuffer(ffi.buffer(values[0], 8 * n[0]), dtype=np.float64).copy() if n[0] else np.zeros(0)

    def set_vector(self, kind: str, values: Any, name: str | None = None, level: int = 0) -> None:
        """Keeps a copy of a vector with the hierarchy; solvers and files have it.

        Parameters
        ----------
        kind : {"rhs", "solutions", "coords", "nullspace"}
        values : array of real numbers
            As many as the level has rows; nodes times dim, or rows times k, for coordinates and null spaces.
        name : str, optional
            By default "b" or "x".
        level : int

        Raises
        ------
        ArgumentError
            Another number of values.
        """
        values = np.ascontiguousarray(_arrays.numbers(values, kind))
        if name is None and kind in ("rhs", "solutions"):
            name = "b" if kind == "rhs" else "x"
        label = ffi.NULL if name is None else chars(name, "name")
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_set_vector(self.ptr, level, chars(kind, "kind"), label, values.size,
                                                              _arrays.doubles(values)))

    def attribute(self, key: str) -> str | None:
        """A text attribute or None.

        Parameters
        ----------
        key : str
            "element", "dim", "block_size", ...
        """
        value = lib().cmg_hierarchy_attribute(self.ptr, chars(key, "key"))
        return None if value == ffi.NULL else text(value)

    def set_attribute(self, key: str, value: Any) -> None:
        """Sets a text attribute.

        Parameters
        ----------
        key : str
        value
            Written as its str().
        """
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_set_attribute(self.ptr, chars(key, "key"), chars(str(value), key)))

    def check(self) -> None:
        """Looks at all levels as a set-up does: sizes, columns, diagonals, finite values. One pass over all matrices.

        Raises
        ------
        FileError
            The first thing that a solver could not work with.
        """
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_check(self.ptr))

    def update(self, values: Any, role: str = "A", level: int = 0) -> None:
        """New values of a matrix on its pattern; solvers follow at :meth:`Solver.refresh`.

        Values that no solver could work with - not finite, a zero on the diagonal of A - raise ArgumentError, and the
        old ones stay, unless the new ones were written over them in the arrays that the hierarchy was made from.

        Parameters
        ----------
        values : array or sparse matrix
            In CSR order, or a matrix of the same pattern; of :class:`Templates` as they were given. Used in place when
            they are float64 in the memory of the matrix, and must not change then.
        role : {"A", "P", "R"}
        level : int

        Raises
        ------
        ArgumentError
            Another pattern or number of values, values that are not finite, a zero on the diagonal of A.

        Notes
        -----
        Costs a pass over the values. Coarse matrices that were formed as R A P follow at the refresh; those that were
        given do not.
        """
        what = f"{role} of level {level}"
        if role not in ("A", "P", "R"):
            raise ArgumentError(f"{role!r} takes no new values; A, P and R do")
        held = self._held.get((level, role, None, 0))
        if held is not None and isinstance(held[0], Templates):
            values = held[0].order(values)
        elif _arrays.is_sparse(values) or isinstance(values, tuple) and len(values) > 2:
            values = self._values_of(values, role, level, what)
        nnz = self._entries(level, role)
        if not _arrays.is_device_array(values):
            values = np.ascontiguousarray(_arrays.numbers(values, f"values of {what}"))
        if values.ndim != 1 or len(values) != nnz:
            raise ArgumentError(f"{what} has {nnz} entries, values of shape {tuple(values.shape)} are given")
        self._update_view(_arrays.view(values, "values", nnz, self.context.backend, stream=self.context.stream), role, level)

    def _values_of(self, matrix, role, level, what):
        """Values of a matrix in the order of the entries of this hierarchy's."""
        shape, *found = host_csr(matrix, what)
        indptr, indices, data = fit(what, shape, *found)
        _, own, own_indptr, own_shape = self.arrays(role, level)
        if shape == own_shape and np.array_equal(indptr, own_indptr):
            if np.array_equal(indices, own):
                return data
            rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
            here, there = np.lexsort((own, rows)), np.lexsort((indices, rows))
            if np.array_equal(own[here], indices[there]):
                values = np.empty_like(data)
                values[here] = data[there]
                return values
        raise ArgumentError(f"{what}: the matrix {shape[0]} x {shape[1]} with {len(data)} entries has not the pattern of the one "
                            f"of {own_shape[0]} x {own_shape[1]} with {len(own)}; new patterns need a new hierarchy")

    def _entries(self, level, role):
        held = self._held.get((level, role, None, 0))
        return len(held[1]) if held else len(self.arrays(role, level)[0])

    def _update_view(self, seen, role="A", level=0):
        """New values seen somewhere; without an owner (`keep`) they are copied."""
        held = self._held.get((level, role, None, 0))
        there = held is not None and not isinstance(held[1], np.ndarray)  # the matrix is in device memory
        double = np.dtype(seen.dtype) == np.float64
        if there and seen.device and double and seen.keep is not None:
            kept, pointer = seen.keep, seen.pointer
        elif there:
            kept = _arrays.create(self.context, seen.n)
            if seen.device:
                self.context.check(lib().cmg_vector_copy(_arrays.wrap(self.context, seen), kept))
            else:
                self.context.check(lib().cmg_vector_set(kept, _arrays.doubles(seen.host_copy())))
            pointer = _arrays.data(kept)
        else:
            kept = (_arrays.to_host(self.context, seen) if seen.device else
                    seen.keep if double and seen.keep is not None else seen.host_copy())
            pointer = kept.ctypes.data
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_update(self.ptr, level, _ROLES[role], ffi.cast("double *", pointer)))
        self._version += 1
        if held:
            self._held[level, role, None, 0] = (held[0], held[1], kept)

    # ------------------------------------------------------------------ making more of it

    def solver(self, options: str = "", **keywords: Any) -> Solver:
        """A :class:`Solver` for this hierarchy.

        Parameters
        ----------
        options : str, optional
            Options as one text, "smoother=fsai pre=2".
        **keywords
            Those of the command line with _ for -.

        Returns
        -------
        Solver
            Further solvers of one hierarchy share its matrices.

        Raises
        ------
        ArgumentError, SingularError, UnsupportedError, OutOfMemoryError
            As those of :class:`Solver`.
        """
        from .solver import Solver
        return Solver(self, options, **keywords)

    def symmetric(self) -> bool:
        """Whether A of level 0 equals its transpose to 1e-12 of its largest entry; copies its entries."""
        A = self.matrix()
        return A.nnz == 0 or bool(abs(A - A.T).max() <= 1e-12 * abs(A.data).max())

    def transpose(self) -> Hierarchy:
        """The hierarchy of A^T: prolongations become the transposed restrictions. Copies all matrices."""
        A = [self.matrix("A", level).T.tocsr() for level in range(self.levels)]
        P = [self.matrix("P", level) for level in range(self.levels - 1)]
        R = [self.matrix("R", level, missing=None) for level in range(self.levels - 1)]
        back = [p if r is None else r.T.tocsr() for p, r in zip(P, R)]
        forth = [None if r is None else p.T.tocsr() for p, r in zip(P, R)]
        return Hierarchy(A, back, R=forth, block_size=self.attribute("block_size"), context=self.context)

    def smooth(self, smoother: str, save_as: str, level: int = 0) -> None:
        """Computes a smoother and keeps it with the hierarchy.

        Parameters
        ----------
        smoother : str
            Its name with arguments, "spai:tau=0.1".
        save_as : str
            Solvers take it as smoother="file:save_as".
        level : int

        Raises
        ------
        ArgumentError
            The smoother is unknown.
        UnsupportedError
            It is no matrix (a polynomial, a sweep).
        """
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_smooth(self.ptr, level, chars(smoother, "smoother"),
                                                          chars(save_as, "save_as"), ffi.NULL))

    def coarsen(self, options: str = "", **keywords: Any) -> int:
        """Appends algebraic levels below the coarsest, as a solver does by itself, and keeps them.

        Parameters
        ----------
        options : str, optional
            Options as one text, "method=classical rows=100".
        **keywords
            Those of ``cmg coarsen``: method ("auto", "aggregation", "classical", "lattice", "air"), interpolation, distance, near, rows, levels, strength, omega, filter.

        Returns
        -------
        int
            Levels added; 0 where the matrix has no couplings to follow.

        Raises
        ------
        ArgumentError
            An option is unknown or out of range.
        """
        from .solver import option_text
        choice, made = defaults("cmg_coarsen_options"), ffi.new("int *")
        words = " ".join(word for word in (options, option_text(keywords)) if word)
        if lib().cmg_coarsen_options_set(choice, chars(words, "options")) != 0:
            raise ArgumentError(text(choice.refused))
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_coarsen(self.ptr, choice, made))
        return made[0]

    def renumber(self, numbering: str, seed: int = 1) -> None:
        """Renumbers the unknowns of every level.

        Parameters
        ----------
        numbering : str
            "reverse-cuthill-mckee", "hierarchical", "random", ...
        seed : int
            Of a random one.

        Raises
        ------
        StateError
            The numbering needs coordinates, and there are none.

        Notes
        -----
        Vectors, coordinates and stored smoothers are renumbered alike, and vectors that the program holds are not.
        """
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_renumber(self.ptr, enum_value("numbering", numbering), seed))
        self._held.clear()

    def write(self, path: str | os.PathLike, kind: str = "auto") -> None:
        """Writes a file or folder.

        Parameters
        ----------
        path : path
        kind : {"auto", "container", "mtx", "petsc", ...}
            By default what the suffix says: a container for .cmg and .h5.

        Raises
        ------
        FileError
            The file cannot be written; nothing of it is left.
        UnsupportedError
            A container in a build without HDF5.
        """
        if self.context.comm is not None and kind not in ("auto", "container"):
            raise ArgumentError(f"ranks write a container, not {kind}")
        name = path_chars(path)
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_write(self.ptr, name, enum_value("file", kind))
                               if self.context.comm is None else lib().cmg_hierarchy_write_rows(self.ptr, name))

    def write_vtu(self, path: str | os.PathLike, **fields: Any) -> None:
        """Writes vectors of level 0 on the mesh that the hierarchy carries, for ParaView.

        Parameters
        ----------
        path : path
        **fields
            Arrays of n values by name.

        Raises
        ------
        ArgumentError
            A field of another length.
        StateError
            The hierarchy carries no mesh: generated ones do.
        """
        if not has("cmg_hierarchy_write_vtu"):
            raise NotImplementedError("this build has no mesh output")
        arrays = {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in fields.items()}
        for name, values in arrays.items():
            if values.size != self.rows(0):
                raise ArgumentError(f"{name} has {values.size} entries, {self.rows(0)} are needed")
        names = [ffi.new("char[]", name.encode()) for name in arrays]
        with self.context.lock:
            self.context.check(lib().cmg_hierarchy_write_vtu(
                self.ptr, path_chars(path), len(arrays), ffi.new("char *[]", names or [ffi.NULL]),
                ffi.new("double *[]", [_arrays.doubles(values) for values in arrays.values()] or [ffi.NULL])))

    def __getstate__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hierarchy.cmg")
            self.write(path, "container")
            with open(path, "rb") as stream:
                return {"container": stream.read(), "backend": self.context.backend}

    def __setstate__(self, state):
        from .sources import read
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hierarchy.cmg")
            with open(path, "wb") as stream:
                stream.write(state["container"])
            loaded = read(path, backend=state["backend"])
        self.context = loaded.context
        self._start(loaded.ptr)

    def __repr__(self) -> str:
        rows = ", ".join(str(self.rows(level)) for level in range(self.levels))
        return f"<cascademg.Hierarchy of {self.levels} levels ({rows} rows), {self.context.backend}>"
