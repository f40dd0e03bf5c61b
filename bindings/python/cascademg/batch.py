"""Batches: many small systems of one pattern."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays
from ._errors import ArgumentError
from ._ffi import ffi
from ._library import lib
from .context import own
from .info import SolveInfo, solve_info

if TYPE_CHECKING:
    from .solver import Solver


class Batch:
    """Many small systems on the pattern of a solver's matrix, set up to be solved again and again.

    Each has its own values, level matrices R A P with the solver's P, dampings and coarsest inverse, and is solved by CG
    with the solver's limits, by one thread, or on a GPU by one block.

    Parameters
    ----------
    solver : Solver
        Of a symmetric positive definite matrix with at most 65536 rows; its smoother is Jacobi or a polynomial of it.
        Not needed afterwards.
    values : array of shape (count, nnz), optional
        Of every system, in the order of the entries of A. float64 in the memory of the solver's backend is used in
        place and must not change. By default the systems share the values of the hierarchy.
    count : int, optional
        Systems, where they share values.

    Attributes
    ----------
    count : int
    n : int
        Rows of a system.
    context : Context

    Raises
    ------
    ArgumentError
        A shape, dtype or memory that does not fit.
    UnsupportedError
        A solver whose cycle a batch cannot run.
    """

    def __init__(self, solver: Solver, values: Any = None, count: int | None = None) -> None:
        if (values is None) == (count is None):
            raise ArgumentError("batch: give values of every system, or how many systems share those of the hierarchy")
        self.context, self.n = solver.context, solver.n
        self.count = int(count) if values is None else int(np.shape(values)[0]) if np.ndim(values) == 2 else -1
        self._nnz = solver.hierarchy._entries(0, "A")
        self._values = None if values is None else self._vector(values, "values", self._nnz)
        out = ffi.new("cmg_batch **")
        with solver._entered():
            solver._check_values()
            self.context.check(lib().cmg_batch_create(solver.ptr, self.count, self._values[0] if self._values else ffi.NULL, out))
        self.ptr = own("cmg_batch", out[0])

    def _check(self, array, what, width):
        if tuple(np.shape(array)) != (self.count, width):
            needed = (self.count, width) if self.count >= 0 else f"(count, {width})"
            raise ArgumentError(f"{what} has shape {tuple(np.shape(array))}, {needed} is needed")

    def _vector(self, array, what, width, writable=False):
        """A vector of count x width values, in place where they are in the context's memory, and what owns that."""
        self._check(array, what, width)
        if not _arrays.is_device_array(array):
            array = np.ascontiguousarray(_arrays.numbers(array, what))
            if self.context.backend == "cuda":
                vector = _arrays.create(self.context, array.size)
                self.context.check(lib().cmg_vector_set(vector, _arrays.doubles(array)))
                return vector, None
        seen = _arrays.view(array, what, array.shape[0] * array.shape[1], self.context.backend, writable, self.context.stream)
        if str(seen.dtype) != "float64":
            raise ArgumentError(f"{what}: dtype {seen.dtype}, float64 is needed on the device")
        return _arrays.wrap(self.context, seen), seen

    def update(self, values: Any) -> None:
        """Other values of every system, as at the beginning.

        Parameters
        ----------
        values : array of shape (count, nnz)
            In the order of A's entries.

        Raises
        ------
        ArgumentError
            A shape, dtype or memory that does not fit: the batch keeps what it had.
        """
        vector = self._vector(values, "values", self._nnz)  # which the batch borrows
        with self.context.lock:
            self.context.check(lib().cmg_batch_update(self.ptr, vector[0]))
        self._values = vector

    def solve(self, b: Any, x0: Any = None, return_info: bool = False) -> Any:
        """Solves all systems.

        Parameters
        ----------
        b : array of shape (count, n)
        x0 : array, optional
            Guesses, by default zeros.
        return_info : bool, optional
            Also return a list of :class:`SolveInfo`, one a system; times and bytes in it are those of all.

        Returns
        -------
        x : array of shape (count, n)
            Of NumPy, or where `b` is on the device of its library.
        infos : list of SolveInfo
            Only with `return_info`. Without it, systems that do not converge issue one ConvergenceWarning.

        Raises
        ------
        ArgumentError
            A shape, dtype or memory that does not fit.
        """
        device = _arrays.is_device_array(b)
        vector_b, keep_b = self._vector(b, "b", self.n)
        x = _arrays.empty_like(b, (self.count, self.n)) if device else np.zeros((self.count, self.n))
        if x0 is not None and not device:
            self._check(x0, "x0", self.n)
            x[...] = _arrays.numbers(x0, "x0")
        vector_x, _ = self._vector(x, "x", self.n, writable=True)
        if device:
            guess = None if x0 is None else self._vector(x0, "x0", self.n)
            self.context.check(lib().cmg_vector_fill(vector_x, 0) if guess is None else lib().cmg_vector_copy(guess[0], vector_x))
        report = self._report()
        with self.context.lock:
            self.context.check(lib().cmg_batch_solve(self.ptr, vector_b, vector_x, report))
            infos = [self._info(system) for system in range(self.count)] if return_info else []
        del keep_b
        if not device and self.context.backend == "cuda":
            self.context.check(lib().cmg_vector_get(vector_x, _arrays.doubles(x)))
        if return_info:
            return x, infos
        if self.count > 0 and not lib().cmg_outcome_converged(report.outcome):
            from .solver import Solver
            Solver._warn(solve_info(report))
        return x

    @staticmethod
    def _report():
        report = ffi.new("cmg_report *")
        report.size = ffi.sizeof("cmg_report")
        return report

    def _info(self, system) -> SolveInfo:
        report = self._report()
        self.context.check(lib().cmg_batch_system(self.ptr, system, report))
        return solve_info(report)

    def __repr__(self) -> str:
        return f"<cascademg.Batch of {self.count} systems of {self.n} unknowns, {self.context.backend}>"
