"""Solvers: a hierarchy compiled into a cascade, solved again and again."""
from __future__ import annotations

import contextlib
import dataclasses
import numbers
import warnings
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from . import _arrays
from ._errors import ArgumentError, ConvergenceWarning, StateError
from ._ffi import ffi
from ._library import chars, defaults, enum_name, lib, text
from .context import own
from .info import ProgressBar, Step, solve_info

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from .hierarchy import Hierarchy
    from .study import Table


def option_text(options):
    """Keyword options as the text that the library reads: {"pre": 2, "fmg": True} is "pre=2 fmg=true"."""
    words = []
    for key, value in options.items():
        if value is None:
            continue
        word = str(bool(value)).lower() if isinstance(value, (bool, np.bool_)) else str(value)
        if any(c.isspace() for c in key + word) or "=" in key:
            raise ArgumentError(f"{key}: {word!r} is not one value")
        words.append(f"{key.replace('_', '-')}={word}")
    return " ".join(words)


_NOTHING = contextlib.nullcontext()
_TOGETHER = 64  # columns that are solved at once
_KEPT = 1 << 16  # values of a vector on the device up to which it is kept from call to call


class Solver:
    """A hierarchy compiled into a cascade of sparse products.

    Parameters
    ----------
    hierarchy : Hierarchy
        Borrowed: solver and hierarchy keep each other's matrices.
    options : str, optional
        Several options as one text, "smoother=fsai pre=2".
    **keywords
        Options of ``cmg solve`` with _ for -: smoother="fsai", krylov="cg", cycle="V", pre=1, post=1,
        precision="mixed", rtol=1e-8 (0 to 1), max_it=100 (at least 1), ... `tol` and `maxiter` are other names of `rtol`
        and `max_it`; `keep_map=True` prepares for :meth:`refresh`.

    Attributes
    ----------
    hierarchy : Hierarchy
    context : Context
    n : int
        Rows of the finest matrix.

    Raises
    ------
    ArgumentError
        An option is unknown or out of range, or the smoother is not in the hierarchy.
    SingularError
        The coarsest matrix, or a block of a smoother, cannot be inverted.
    UnsupportedError
        This build or backend has no such method.
    OutOfMemoryError
        On a GPU before anything is built, with both numbers.

    Notes
    -----
    Setting up costs as much as several solves: keep the solver. New values of the matrices are taken over by
    :meth:`update` or :meth:`refresh`. ``print(solver)`` shows levels, methods and why they were chosen.
    """

    def __init__(self, hierarchy: Hierarchy, options: str = "", **keywords: Any) -> None:
        self._keywords = {"options": options, **keywords}
        for other, name in (("maxiter", "max_it"), ("tol", "rtol")):
            if other in keywords and name in keywords:
                raise ArgumentError(f"{other} and {name} are the same limit: give one of them")
            if other in keywords:
                keywords[name] = keywords.pop(other)
        keep_map = keywords.pop("keep_map", False)
        if not isinstance(keep_map, (bool, np.bool_)):
            raise ArgumentError(f"keep_map: {keep_map!r}, True or False is needed")
        self.hierarchy, self.context = hierarchy, hierarchy.context
        self._options = defaults("cmg_solver_options")
        words = " ".join(word for word in (options, option_text(keywords)) if word)
        if lib().cmg_solver_options_set(self._options, chars(words, "options")) != 0:
            raise ArgumentError(text(self._options.refused))
        self._options.matrix.keep_map = bool(keep_map)
        self.n = hierarchy.rows(0)
        self._report = ffi.new("cmg_report *")
        self._report.size = ffi.sizeof("cmg_report")
        self._adjoint = None
        self._kept = None
        self._for_xla = None
        self._busy = False
        self._outdated = False
        self._version = hierarchy._version  # of the values that the solver has
        self._create()

    def _create(self):
        out = ffi.new("cmg_solver **")
        with self.context.lock:
            self.context.check(lib().cmg_solver_create(self.hierarchy.ptr, self._options, out))
            self.ptr = own("cmg_solver", out[0])
            if self._for_xla is not None:
                self._for_xla.solver = self.ptr

    @contextlib.contextmanager
    def _entered(self):
        """One call at a time: other threads wait, a callback within a call is refused."""
        with self.context.lock:
            if self._busy:
                raise StateError("the solver is at work: its callback cannot use it, another solver can be")
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _check_values(self):
        if self._outdated:
            raise StateError("the last refresh of the solver failed: it has no values until one succeeds")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix of level 0, (n, n)."""
        return (self.n, self.n)

    dtype = np.dtype(np.float64)

    # ------------------------------------------------------------------ solving

    def solve(self, b: Any, x0: Any = None, rtol: float | None = None, maxiter: int | None = None,
              callback: Callable[[int, float, float], Any] | str | None = None, return_info: bool = False, out: Any = None,
              atol: float | None = None, tol: float | None = None) -> Any:
        """Solves A x = b, or A X = B for all columns of an array at once.

        Parameters
        ----------
        b : array of n values, or of shape (n, k)
            NumPy, a list, or on the cuda backend a CuPy, PyTorch or JAX array in device memory. Contiguous float64
            is used in place, other types and strides are copied; on the device they are rejected. Columns share
            every pass over the matrices, each with its own iterations; up to 64 go together.
        x0 : array, optional
            Initial guess, by default zero.
        rtol, atol, maxiter, tol : float, float, int, float, optional
            Limits of this solve; by default those of the solver. `tol` is another name of `rtol`.
        callback : callable, optional
            Called with (iteration, residual norm, norm of b) from iteration 0 on, of several columns for the one with
            the largest relative residual; a true return ends the solve. "progress" shows a bar of tqdm.
        return_info : bool, optional
            Also return a :class:`SolveInfo`, of several columns a list of them.
        out : array, optional
            Where the solution is written, a float64 array, in host memory of any strides; by default a new one. What
            cannot be written in place, a list for example, is rejected.

        Returns
        -------
        x : array like b
        info : SolveInfo
            Only with `return_info`. Without it, a solve that does not converge issues a ConvergenceWarning.

        Raises
        ------
        ArgumentError
            A shape, dtype, limit or memory that does not fit; values that are not finite end the solve as
            "not_a_number" instead.
        TypeError
            A sparse matrix or linear operator where an array is needed.
        StateError
            From a callback of the same solver, or after a refresh that failed.

        Notes
        -----
        An iteration is a cycle, a product with A and a few passes over vectors; nothing of the size of A is allocated.
        """
        if tol is not None:
            if rtol is not None:
                raise ArgumentError("tol and rtol are the same limit: give one of them")
            rtol = tol
        like, device = b, _arrays.is_device_array(b)
        if not device:
            b = _arrays.block(b, "b", self.n)
        columns = b.shape[1] if b.ndim == 2 else 1
        if not 0 < columns <= _TOGETHER:
            return self._solve_parts(b, x0, out, return_info, rtol=rtol, maxiter=maxiter, callback=callback, atol=atol)
        own_limits = rtol is None and atol is None and maxiter is None
        limits = _NOTHING if own_limits else self._limits(rtol, atol, maxiter)
        monitor = _NOTHING if callback is None else self._monitored(callback)
        with self._entered(), limits, monitor:
            self._check_values()
            x = self._on(b, x0, out, columns) if device else self._from_host(like, b, x0, out, columns)
            told = return_info or not lib().cmg_outcome_converged(self._report.outcome)
            info = (self._columns(columns) if return_info and columns > 1 else solve_info(self._report)) if told else None
        if return_info:
            return x, info
        if info is not None:
            self._warn(info)
        return x

    @staticmethod
    def _warn(info):
        if not info.converged:
            advice = "; ".join(info.hints)
            plural = "" if info.iterations == 1 else "s"
            warnings.warn(f"{info.outcome} after {info.iterations} iteration{plural}, relative residual "
                          f"{info.relative_residual:.3e}" + (f": {advice}" if advice else ""),
                          ConvergenceWarning, stacklevel=3)

    def _set_limits(self, rtol, atol, maxiter):
        self.context.check(lib().cmg_solver_set_limits(self.ptr, rtol, atol, maxiter))

    @contextlib.contextmanager
    def _limits(self, rtol, atol, maxiter):
        """Limits of one solve; those of the solver come back."""
        for name, value, least in (("rtol", rtol, 0), ("atol", atol, 0), ("maxiter", maxiter, 1)):
            if value is not None and (not isinstance(value, numbers.Real) or isinstance(value, bool)):
                raise ArgumentError(f"{name}: {value!r}, a number is needed")
            if value is not None and not value >= least:
                raise ArgumentError(f"{name}: {value}, at least {least} is needed")
        own = self._options
        self._set_limits(-1 if rtol is None else rtol, -1 if atol is None else atol, maxiter or 0)
        try:
            yield
        finally:
            self._set_limits(own.rtol, own.atol, own.max_it)

    @contextlib.contextmanager
    def _monitored(self, callback):
        bar = ProgressBar(self._options.rtol) if callback == "progress" else None
        function = bar.show if bar is not None else callback

        def monitor(_user, iteration, residual, rhs_norm):
            try:
                return 1 if function(iteration, residual, rhs_norm) else 0
            except BaseException as error:  # handed on by check(), where the call returns
                self.context._progress_error = error
                return 1
        held = ffi.callback("int(void *, int, double, double)", monitor, error=1)
        self.context.check(lib().cmg_solver_set_monitor(self.ptr, held, ffi.NULL))
        try:
            yield
        finally:
            lib().cmg_solver_set_monitor(self.ptr, ffi.NULL, ffi.NULL)
            if bar is not None:
                bar.close()

    def _view(self, array, what, writable=False, columns=1, settled=False):
        return _arrays.view(array, what, self.n, self.context.backend, writable, self.context.stream, columns, settled)

    def _call(self, b, x, zero=False):
        solve = lib().cmg_solver_solve_from_zero if zero else lib().cmg_solver_solve
        self.context.check(solve(self.ptr, b, x, self._report))

    def _columns(self, columns):
        """What is reported of every column of the last solve."""
        found = []
        for column in range(columns):
            report = ffi.new("cmg_report *")
            report.size = ffi.sizeof("cmg_report")
            self.context.check(lib().cmg_solver_column(self.ptr, column, report))
            found.append(solve_info(report))
        return found

    def _on(self, b, x0, out, columns):
        """Of arrays in device memory, in place."""
        seen = self._view(b, "b", columns=columns)
        if str(seen.dtype) != "float64":
            raise ArgumentError(f"b: dtype {seen.dtype}, float64 is needed on the device")
        x = out if out is not None else _arrays.empty_like(b, self.n if columns == 1 else (self.n, columns))
        if not _arrays.is_device_array(x):
            raise ArgumentError(f"an array of {type(b).__module__.split('.')[0]} needs `out`, a float64 array on the device")
        place = self._view(x, "out", writable=True, columns=columns, settled=type(x) is type(b))
        if str(place.dtype) != "float64":
            raise ArgumentError(f"out: dtype {place.dtype}, float64 is needed")
        if abs(place.pointer - seen.pointer) < 8 * self.n * columns:
            raise ArgumentError("out: the memory is that of b")
        vector_b, vector_x = _arrays.wrap(self.context, seen), _arrays.wrap(self.context, place)
        if x0 is not None:
            guess = self._view(x0, "x0", columns=columns)
            self.context.check(lib().cmg_vector_copy(_arrays.wrap(self.context, guess), vector_x))
        self._call(vector_b, vector_x, x0 is None)
        return x

    def _from_host(self, like, b, x0, out, columns):
        """Of float64 arrays in host memory, on the CPU in place; the solution is of the kind of `like`, or `out`."""
        x = _arrays.empty_like(like, self.n if columns == 1 else (self.n, columns)) if out is None else out
        place = _arrays.target(x, self.n, columns)
        values = place if place.flags.c_contiguous else np.empty(place.shape)
        guess = None if x0 is None else self._guess(x0, columns)
        if out is not None and np.may_share_memory(values, b):
            b = b.copy()
        if self.context.backend == "cuda":
            self._staged(b, guess, values, columns)
        else:
            vector_b, vector_x = (_arrays.wrap(self.context, _arrays.over(a, self.n, columns)) for a in (b, values))
            if guess is not None:
                np.copyto(values, guess.reshape(values.shape))
            self._call(vector_b, vector_x, guess is None)
        if values is not place:
            place[...] = values
        return x

    def _guess(self, x0, columns):
        guess = _arrays.block(x0, "x0", self.n)
        if guess.size != self.n * columns:
            raise ArgumentError(f"x0 has shape {guess.shape}, {(self.n,) if columns == 1 else (self.n, columns)} is needed")
        return guess

    @contextlib.contextmanager
    def _on_device(self, columns):
        """Two vectors on the device for arrays in host memory; small ones are kept for the next call."""
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != columns:
            kept = (columns, *(_arrays.create(self.context, self.n, columns) for _ in range(2)))
        yield kept[1:]
        self._kept = kept if self.n * columns <= _KEPT else None

    def _staged(self, b, guess, x, columns):
        """From host memory to the device and back."""
        with self._on_device(columns) as (vector_b, vector_x):
            self.context.check(lib().cmg_vector_set(vector_b, _arrays.doubles(b)))
            if guess is not None:
                self.context.check(lib().cmg_vector_set(vector_x, _arrays.doubles(guess)))
            self._call(vector_b, vector_x, guess is None)
            self.context.check(lib().cmg_vector_get(vector_x, _arrays.doubles(x)))

    def _solve_views(self, seen_b, seen_x):
        """Solves from and into memory that the caller holds, in fp64 or fp32 (XLA's)."""
        self._check_values()
        for seen, what in ((seen_b, "b"), (seen_x, "x")):
            if seen.n != self.n or seen.dtype is None:
                raise ArgumentError(f"{what} has {seen.n} rows of {seen.dtype}, {self.n} of float64 or float32 are needed")
        if self.context.backend == "cuda" and not seen_b.device:
            x = self.solve(seen_b.host_copy())
            target = np.frombuffer(ffi.buffer(ffi.cast("char *", seen_x.pointer), x.size * np.dtype(seen_x.dtype).itemsize),
                                   dtype=seen_x.dtype)
            target[:] = x.reshape(-1)
            return
        vectors = []
        for seen in (seen_b, seen_x):
            wrapped = _arrays.wrap(self.context, seen)
            vectors.append((wrapped, wrapped if seen.dtype == "float64" else
                            _arrays.create(self.context, seen.n, seen.columns)))
        (given, b), (wanted, x) = vectors
        if b is not given:
            self.context.check(lib().cmg_vector_copy(given, b))
        self._call(b, x, True)
        if x is not wanted:
            self.context.check(lib().cmg_vector_copy(x, wanted))
        if not lib().cmg_outcome_converged(self._report.outcome):
            self._warn(solve_info(self._report))

    def _solve_parts(self, b, x0, out, return_info, **limits):
        """More columns than go together, or none."""
        columns = b.shape[1]
        if _arrays.is_device_array(b):
            raise ArgumentError(f"b has {columns} columns, 1 to {_TOGETHER} are solved at once on the device")
        guess = None if x0 is None else self._guess(x0, columns)
        x, infos = np.empty(b.shape) if out is None else out, []
        place = _arrays.target(x, self.n, columns)
        if out is not None and np.may_share_memory(place, b):
            b = b.copy()
        if guess is not None and out is not None and np.may_share_memory(place, guess):
            guess = guess.copy()
        for first in range(0, columns, _TOGETHER):
            part = slice(first, first + _TOGETHER)
            _, info = self.solve(b[:, part], x0=None if guess is None else guess[:, part], out=place[:, part],
                                 return_info=True, **limits)
            infos += info if isinstance(info, list) else [info]
        return (x, infos) if return_info else x

    def solve_batch(self, b: Any, values: Any = None, x0: Any = None, return_info: bool = False) -> Any:
        """Solves many small systems once, as ``Batch(self, values).solve(b, x0, return_info)`` does: see :class:`Batch`.

        Parameters
        ----------
        b : array of shape (count, n)
        values : array of shape (count, nnz), optional
            Of every system, in the order of the entries of A; by default all have those of the hierarchy.
        x0, return_info
            As of :meth:`Batch.solve`.

        Returns
        -------
        x : array of shape (count, n)
        infos : list of SolveInfo
            Only with `return_info`.
        """
        from .batch import Batch
        return Batch(self, values, None if values is not None else len(b)).solve(b, x0, return_info)

    def precondition(self, r: Any) -> Any:
        """z = C r: one cycle from a zero guess, in fp64 unless the solver was made with precision="mixed".

        Parameters
        ----------
        r : array of n values, or of shape (n, k), k up to 64
            As `b` of :meth:`solve`.

        Returns
        -------
        z : array like r

        Raises
        ------
        ArgumentError
            A shape, dtype or memory that does not fit.
        """
        device = _arrays.is_device_array(r)
        like, r = r, r if device else _arrays.block(r, "r", self.n)
        columns = r.shape[1] if r.ndim == 2 else 1
        shape = (self.n,) if columns == 1 else (self.n, columns)
        with self._entered():
            self._check_values()
            if self.context.backend == "cuda" and not device:
                z = np.empty(shape)
                with self._on_device(columns) as (vector_r, vector_z):
                    self.context.check(lib().cmg_vector_set(vector_r, _arrays.doubles(r)))
                    self.context.check(lib().cmg_solver_precondition(self.ptr, vector_r, vector_z))
                    self.context.check(lib().cmg_vector_get(vector_z, _arrays.doubles(z)))
                return z
            z = _arrays.empty_like(like, shape)
            vector_r = _arrays.wrap(self.context, self._view(r, "r", columns=columns))
            vector_z = _arrays.wrap(self.context, self._view(z, "z", writable=True, columns=columns))
            self.context.check(lib().cmg_solver_precondition(self.ptr, vector_r, vector_z))
            return z

    def aspreconditioner(self) -> LinearOperator:
        """One cycle as a scipy.sparse.linalg.LinearOperator, for SciPy's Krylov methods.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            Of shape (n, n); its transpose is a cycle of :meth:`adjoint`. For SciPy's `cg` as many post- as pre-smoothing
            steps are needed, which is the default.
        """
        return self._operator(self.precondition, lambda r: self.adjoint().precondition(r))

    def as_linear_operator(self) -> LinearOperator:
        """The whole solve, b -> x, as a scipy.sparse.linalg.LinearOperator.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            Of shape (n, n), for ``eigsh(A, sigma=0, OPinv=...)`` and the like.
        """
        return self._operator(self.solve, lambda b: self.adjoint().solve(b))

    def _operator(self, apply, transposed):
        from scipy.sparse.linalg import LinearOperator

        def one(apply):
            return lambda b: apply(np.ascontiguousarray(np.asarray(b).reshape(-1), dtype=np.float64))

        def columns(apply):
            return lambda block: np.hstack([apply(block[:, k:k + 64]).reshape(self.n, -1)
                                            for k in range(0, block.shape[1], 64)])
        return LinearOperator(self.shape, matvec=one(apply), rmatvec=one(transposed), matmat=columns(apply),
                              rmatmat=columns(transposed), dtype=self.dtype)

    def __getstate__(self):
        return {"hierarchy": self.hierarchy, "keywords": self._keywords}

    def __setstate__(self, state):
        self.__init__(state["hierarchy"], **state["keywords"])

    # ------------------------------------------------------------------ new values, and what is inside

    def update(self, values: Any, role: str = "A", level: int = 0) -> None:
        """:meth:`Hierarchy.update` and a refresh of this solver.

        Parameters
        ----------
        values : array of shape (nnz,), or sparse matrix of the same pattern
        role : {"A", "P", "R"}
        level : int

        Raises
        ------
        ArgumentError
            Another pattern, values that are not finite, a zero on the diagonal: hierarchy and solver keep the old values.
        """
        self.hierarchy.update(values, role, level)
        self.refresh()

    def refresh(self) -> None:
        """Takes over the values that :meth:`Hierarchy.update` changed.

        The first call sets the solver up again, with the map from matrix entries to storage; those after it only write
        the new values. With `keep_map=True` among the options the map is built during set-up.

        Raises
        ------
        SingularError, OutOfMemoryError, ...
            As of a set-up. The solver then raises StateError until a refresh succeeds.
        """
        with self._entered():
            self._outdated = True
            if self._adjoint is not self:
                self._adjoint = None
            if self._options.matrix.keep_map:
                self.context.check(lib().cmg_solver_refresh(self.ptr))
            else:
                self._options.matrix.keep_map = True
                try:
                    self._create()
                except BaseException:
                    self._options.matrix.keep_map = False
                    raise
            self._version = self.hierarchy._version
            self._outdated = False

    def adjoint(self) -> Solver:
        """A solver for A^T x = b with the same options.

        Returns
        -------
        Solver
            This one where A is symmetric, else one of A^T, R^T and P^T, which is set up once and kept until
            :meth:`refresh`.
        """
        if self._adjoint is None:
            if self.hierarchy.symmetric():
                self._adjoint = self
            else:
                turned = {**self._keywords, "pre": self._options.post, "post": self._options.pre}
                self._adjoint = Solver(self.hierarchy.transpose(), **turned)
        return self._adjoint

    def notes(self) -> list[str]:
        """What was decided at set-up and why, a line each: smoother, coarse levels, coarsest solve, Dirichlet rows."""
        found, i = [], 0
        while lib().cmg_solver_note(self.ptr, i) != ffi.NULL:
            found.append(text(lib().cmg_solver_note(self.ptr, i)))
            i += 1
        return found

    def plan(self, measure: int = 0) -> Table:
        """The steps of one cycle.

        Parameters
        ----------
        measure : int
            How many times the steps are timed; 0 = not.

        Returns
        -------
        Table
            One row a step: text, matrix, level, rows, nnz, format, bytes by the model of traffic, seconds or None.
        """
        from .study import Table
        steps = []
        with self._entered() if measure else self.context.lock:
            if measure:
                self.context.check(lib().cmg_solver_measure(self.ptr, measure))
            for i in range(lib().cmg_solver_steps(self.ptr)):
                step = ffi.new("cmg_step_info *", {"size": ffi.sizeof("cmg_step_info")})
                self.context.check(lib().cmg_solver_step(self.ptr, i, step))
                steps.append(Step(text(step.text), text(step.matrix), step.level, step.rows, step.nnz,
                                  text(step.format), step.bytes, step.seconds if step.seconds >= 0 else None))
        return Table([dataclasses.asdict(step) for step in steps])

    @property
    def levels(self) -> Table:
        """Levels of the cycle, the algebraic ones included.

        A row each: level, rows, nnz, method (the smoother, or how the coarsest level is solved) and format. Entries and
        format are those of the level's A, on the coarsest level of the factor or inverse that is applied.
        """
        from .study import Table
        found, transfers = {}, ("P", "R", "RA", "RS")
        for step in sorted(self.plan(), key=lambda step: step["matrix"] != "A"):  # A before what stands for it
            level, matrix = step["level"], step["matrix"]
            if matrix not in transfers and matrix and level not in found:
                name = lib().cmg_solver_smoother(self.ptr, level)
                method = text(name) if matrix in ("A", "M") and name != ffi.NULL else matrix
                found[level] = {"level": level, "rows": step["rows"], "nnz": step["nnz"], "method": method, "format": step["format"]}
        return Table(found[level] for level in sorted(found))

    @property
    def complexity(self) -> float:
        """Entries of :attr:`levels` over those of the finest: the operator complexity, with the coarsest's factor for A."""
        levels = self.levels
        return sum(row["nnz"] for row in levels) / max(1, levels[0]["nnz"]) if levels else 0.0

    def __str__(self) -> str:
        method = enum_name("krylov", self._options.krylov)
        if self._report.solve_seconds > 0:
            method += f", {enum_name('krylov', self._report.krylov)} in the last solve"
        lines = [repr(self), f"krylov: {method}", str(self.levels), f"complexity: {self.complexity:.3g}"]
        return "\n".join(lines + self.notes())

    def __repr__(self) -> str:
        return f"<cascademg.Solver of {self.n} unknowns, {self.context.backend}>"
