"""Solvers: a hierarchy compiled into a cascade, solved again and again."""
import dataclasses
import warnings
from typing import List, Optional

import numpy as np

from . import _arrays
from ._errors import ArgumentError, ConvergenceWarning
from ._ffi import ffi
from ._library import defaults, enum_name, lib, text
from .context import own


@dataclasses.dataclass
class SolveInfo:
    """How a solve ended.

    Attributes
    ----------
    converged : bool
    outcome : str
        "converged_rtol", "iteration_limit", "stagnated", ...
    iterations : int
    relative_residual : float
        True ||b - A x|| / ||b|| in fp64, recomputed at the end.
    residual, rhs_norm : float
    setup_seconds, solve_seconds : float
    bytes : float
        Moved by the model of traffic.
    precision : str
        Of the cycle at the end.
    fallback : str
        What was changed on the way, "" = nothing.
    hints : list of str
        Advice where the solve failed or was slow.
    residuals : numpy.ndarray
        Residual norms, [0] that of the initial guess.
    """

    converged: bool
    outcome: str
    iterations: int
    relative_residual: float
    residual: float
    rhs_norm: float
    setup_seconds: float
    solve_seconds: float
    bytes: float
    precision: str
    fallback: str
    hints: List[str]
    residuals: np.ndarray


@dataclasses.dataclass
class Step:
    """One step of the compiled cycle: `text` as a formula, bytes by the model of traffic, seconds where measured."""

    text: str
    matrix: str
    level: int
    rows: int
    nnz: int
    format: str
    bytes: int
    seconds: Optional[float]


def _info(report):
    n = report.iterations + 1
    history = np.zeros(0)
    if report.history != ffi.NULL:
        history = np.frombuffer(ffi.buffer(report.history, 8 * n), dtype=np.float64).copy()
    fields = dict(ffi.typeof("cmg_report").fields)
    hint = ""
    if "hint" in fields:
        hint = text(report.hint)
    return SolveInfo(
        converged=bool(lib().cmg_outcome_converged(report.outcome)),
        outcome=enum_name("outcome", report.outcome), iterations=report.iterations,
        relative_residual=report.relative_residual, residual=report.residual, rhs_norm=report.rhs_norm,
        setup_seconds=report.setup_seconds, solve_seconds=report.solve_seconds, bytes=report.bytes,
        precision=text(report.precision), fallback=text(report.fallback), hints=[h for h in hint.split("\n") if h],
        residuals=history)


def option_text(options):
    """Keyword options as the text that the library reads: {"pre": 2, "fmg": True} is "pre=2 fmg=true"."""
    words = []
    for key, value in options.items():
        if value is not None:
            word = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
            words.append(f"{key.replace('_', '-')}={word}")
    return " ".join(words)


class Solver:
    """A hierarchy compiled into a cascade of sparse products.

    Parameters
    ----------
    hierarchy : Hierarchy
    **options
        Options of ``cmg solve`` with _ for -: smoother="fsai", krylov="cg", cycle="V", pre=1, post=1,
        precision="mixed", rtol=1e-8, max_it=100, ...; `options="smoother=fsai pre=2"` gives several as one text.

    Notes
    -----
    Setting up costs far more than a solve: keep the solver. New values of the matrices are taken over by
    :meth:`update` or :meth:`refresh`.
    """

    def __init__(self, hierarchy, options="", **keywords):
        self._keywords = {"options": options, **keywords}
        if "maxiter" in keywords:
            keywords["max_it"] = keywords.pop("maxiter")
        keep_map = keywords.pop("keep_map", False)
        self.hierarchy, self.context = hierarchy, hierarchy.context
        self._options = defaults("cmg_solver_options")
        words = " ".join(word for word in (options, option_text(keywords)) if word)
        if lib().cmg_solver_options_set(self._options, words.encode()) != 0:
            raise ArgumentError(text(self._options.refused))
        self._options.matrix.keep_map = keep_map
        self.n = hierarchy.rows(0)
        self._report = ffi.new("cmg_report *")
        self._report.size = ffi.sizeof("cmg_report")
        self._adjoint = None
        self._create()

    def _create(self):
        out = ffi.new("cmg_solver **")
        with self.context.lock:
            self.context.check(lib().cmg_solver_create(self.hierarchy.ptr, self._options, out))
        self.ptr = own("cmg_solver", out[0])

    @property
    def shape(self):
        """Shape of the matrix of level 0."""
        return (self.n, self.n)

    dtype = np.dtype(np.float64)

    # ------------------------------------------------------------------ solving

    def solve(self, b, x0=None, out=None, return_info=False):
        """Solves A x = b.

        Parameters
        ----------
        b : array of n values
            NumPy, or on the cuda backend a CuPy, PyTorch or JAX array in device memory, used in place.
        x0 : array, optional
            Initial guess, by default zero.
        out : array, optional
            Where the solution is written, float64 in the memory of the backend; by default a new array.
        return_info : bool, optional
            Also return a :class:`SolveInfo`.

        Returns
        -------
        x : array like b
        info : SolveInfo
            Only with `return_info`. Without it, a solve that does not converge raises a ConvergenceWarning.
        """
        if getattr(b, "ndim", 1) == 2 and b.shape[1] != 1:
            return self._solve_columns(b, x0, return_info)
        cuda = self.context.backend == "cuda"
        with self.context.lock:
            if cuda and not _arrays.is_device_array(b):
                x = self._staged(b, x0, out)
            else:
                x = self._in_place(b, x0, out)
            info = _info(self._report) if return_info or not lib().cmg_outcome_converged(self._report.outcome) else None
        if return_info:
            return x, info
        if info is not None:
            advice = "; ".join(info.hints)
            warnings.warn(f"{info.outcome} after {info.iterations} iterations, relative residual "
                          f"{info.relative_residual:.3e}" + (f": {advice}" if advice else ""),
                          ConvergenceWarning, stacklevel=2)
        return x

    def _view(self, array, what, writable=False):
        return _arrays.view(array, what, self.n, self.context.backend, writable, self.context.stream)

    def _call(self, b, x):
        self.context.check(lib().cmg_solver_solve(self.ptr, b, x, self._report))

    def _in_place(self, b, x0, out):
        seen = self._view(b, "b")
        if str(seen.dtype) != "float64":
            if seen.device:
                raise ArgumentError(f"b: dtype {seen.dtype}, float64 is needed on the device")
            seen = self._view(seen.keep.astype(np.float64), "b")
        x = out if out is not None else _arrays.empty_like(b, self.n)
        if not _arrays.is_device_array(x) and self.context.backend == "cuda":
            raise ArgumentError(f"an array of {type(b).__module__.split('.')[0]} needs `out`, a float64 array on the device")
        target = self._view(x, "x", writable=True)
        if str(target.dtype) != "float64":
            raise ArgumentError(f"x: dtype {target.dtype}, float64 is needed")
        vector_b, vector_x = _arrays.wrap(self.context, seen), _arrays.wrap(self.context, target)
        if x0 is None:
            self.context.check(lib().cmg_vector_fill(vector_x, 0.0))
        else:
            guess = self._view(x0, "x0")
            self.context.check(lib().cmg_vector_copy(_arrays.wrap(self.context, guess), vector_x))
        self._call(vector_b, vector_x)
        return x

    def _staged(self, b, x0, out):
        seen = _arrays.view(b, "b", self.n, "cpu")
        array = np.ascontiguousarray(seen.keep, dtype=np.float64)
        vector_b, vector_x = _arrays.create(self.context, self.n), _arrays.create(self.context, self.n)
        self.context.check(lib().cmg_vector_set(vector_b, _arrays.doubles(array)))
        if x0 is not None:
            guess = np.ascontiguousarray(x0, dtype=np.float64)
            self.context.check(lib().cmg_vector_set(vector_x, _arrays.doubles(guess)))
        self._call(vector_b, vector_x)
        x = np.empty(self.n) if out is None else out
        target = _arrays.view(x, "x", self.n, "cpu", writable=True)
        self.context.check(lib().cmg_vector_get(vector_x, ffi.cast("double *", target.pointer)))
        return x

    def _solve_columns(self, b, x0, return_info):
        if _arrays.is_device_array(b):
            raise ArgumentError("several right-hand sides are taken from host memory")
        b = np.asarray(b)
        x = np.empty((self.n, b.shape[1]))
        infos = []
        for k in range(b.shape[1]):
            guess = None if x0 is None else np.ascontiguousarray(np.asarray(x0)[:, k])
            x[:, k], info = self.solve(np.ascontiguousarray(b[:, k]), x0=guess, return_info=True)
            infos.append(info)
        return (x, infos) if return_info else x

    def precondition(self, r):
        """z = C r: one cycle from a zero guess."""
        with self.context.lock:
            if self.context.backend == "cuda" and not _arrays.is_device_array(r):
                array = np.ascontiguousarray(np.asarray(r).reshape(-1), dtype=np.float64)
                vector_r, vector_z = _arrays.create(self.context, self.n), _arrays.create(self.context, self.n)
                self.context.check(lib().cmg_vector_set(vector_r, _arrays.doubles(array)))
                self.context.check(lib().cmg_solver_precondition(self.ptr, vector_r, vector_z))
                z = np.empty(self.n)
                self.context.check(lib().cmg_vector_get(vector_z, _arrays.doubles(z)))
                return z
            if not _arrays.is_device_array(r):
                r = np.ascontiguousarray(np.asarray(r).reshape(-1), dtype=np.float64)
            z = _arrays.empty_like(r, self.n)
            vector_r = _arrays.wrap(self.context, self._view(r, "r"))
            vector_z = _arrays.wrap(self.context, self._view(z, "z", writable=True))
            self.context.check(lib().cmg_solver_precondition(self.ptr, vector_r, vector_z))
            return z

    def aspreconditioner(self):
        """One cycle as a scipy.sparse.linalg.LinearOperator, for SciPy's Krylov methods."""
        return self._operator(self.precondition)

    def as_linear_operator(self):
        """The whole solve, b -> x, as a scipy.sparse.linalg.LinearOperator."""
        return self._operator(lambda b: self.solve(np.ascontiguousarray(np.asarray(b).reshape(-1), dtype=np.float64)))

    def _operator(self, apply):
        from scipy.sparse.linalg import LinearOperator

        def columns(block):
            return np.column_stack([apply(np.ascontiguousarray(block[:, k])) for k in range(block.shape[1])])
        return LinearOperator(self.shape, matvec=apply, rmatvec=apply, matmat=columns, dtype=self.dtype)

    # ------------------------------------------------------------------ new values, and what is inside

    def update(self, values, role="A", level=0):
        """New values of a matrix on the same pattern, in CSR order, and a refresh of this solver."""
        self.hierarchy.update(values, role, level)
        self.refresh()

    def refresh(self):
        """Takes over the values that :meth:`Hierarchy.update` changed.

        The first call sets the solver up again, now with the map from matrix entries to storage; those after it only
        write the new values. `keep_map=True` among the options has the map from the start.
        """
        if not self._options.matrix.keep_map:
            self._options.matrix.keep_map = True
            self._create()
            return
        with self.context.lock:
            self.context.check(lib().cmg_solver_refresh(self.ptr))

    def adjoint(self):
        """A solver for A^T x = b with the same options: this one where A is symmetric, else that of A^T, P and R."""
        if self._adjoint is None:
            self._adjoint = self if self.hierarchy.symmetric() else self.hierarchy.transpose()._solver_like(self)
        return self._adjoint

    def notes(self):
        """What was decided at set-up, a line each."""
        found, i = [], 0
        while lib().cmg_solver_note(self.ptr, i) != ffi.NULL:
            found.append(text(lib().cmg_solver_note(self.ptr, i)))
            i += 1
        return found

    def plan(self, measure=0):
        """The steps of one cycle; `measure` > 0 times them that many times."""
        from .study import Table
        steps = []
        with self.context.lock:
            if measure:
                self.context.check(lib().cmg_solver_measure(self.ptr, measure))
            for i in range(lib().cmg_solver_steps(self.ptr)):
                step = ffi.new("cmg_step_info *", {"size": ffi.sizeof("cmg_step_info")})
                self.context.check(lib().cmg_solver_step(self.ptr, i, step))
                steps.append(Step(text(step.text), text(step.matrix), step.level, step.rows, step.nnz,
                                  text(step.format), step.bytes, step.seconds if step.seconds >= 0 else None))
        return Table([dataclasses.asdict(step) for step in steps])

    def __repr__(self):
        return f"<cascademg.Solver of {self.n} unknowns, {self.context.backend}>"
