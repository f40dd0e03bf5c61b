"""What a solve reports: how it ended, its steps, its progress."""
from __future__ import annotations

import dataclasses
import math

import numpy as np

from ._ffi import ffi
from ._library import enum_name, lib, text


@dataclasses.dataclass
class SolveInfo:
    """How a solve ended.

    Attributes
    ----------
    converged : bool
    outcome : str
        "converged_rtol", "least_squares", "iteration_limit", "stagnated", ...
    iterations : int
    relative_residual : float
        True ||b - A x|| / ||b|| in fp64, recomputed at the end, of the b that was given.
    residual, rhs_norm : float
    setup_seconds, solve_seconds : float
    bytes : float
        Moved by the model of traffic.
    precision : str
        Of the cycle at the end.
    fallback : str
        What was changed on the way, "" = nothing.
    nullspace : int
        Vectors of the null space of A that b and x were made orthogonal to.
    removed : float
        Norm of what that took from b: what is outside the range of A.
    range_residual : float
        ||P b - A x|| / ||b|| with P b in the range of A, which the stopping test is about.
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
    nullspace: int
    removed: float
    range_residual: float
    hints: list[str]
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
    seconds: float | None


def solve_info(report):
    n = report.iterations + 1
    history = np.zeros(0)
    if report.history != ffi.NULL:
        history = np.frombuffer(ffi.buffer(report.history, 8 * n), dtype=np.float64).copy()
    return SolveInfo(
        converged=bool(lib().cmg_outcome_converged(report.outcome)),
        outcome=enum_name("outcome", report.outcome), iterations=report.iterations,
        relative_residual=report.relative_residual, residual=report.residual, rhs_norm=report.rhs_norm,
        setup_seconds=report.setup_seconds, solve_seconds=report.solve_seconds, bytes=report.bytes,
        precision=text(report.precision), fallback=text(report.fallback),
        nullspace=report.nullspace, removed=report.removed, range_residual=report.range_residual,
        hints=[h for h in text(report.hint).split("\n") if h],
        residuals=history)


class ProgressBar:
    """tqdm's bar over the digits that a solve has gained; nothing where tqdm is not installed."""

    def __init__(self, rtol):
        try:
            from tqdm.auto import tqdm
            self.bar = tqdm(total=round(-math.log10(rtol), 1) if rtol > 0 else None, unit="digit", desc="solve")
        except ImportError:
            self.bar = None

    def show(self, iteration, residual, rhs_norm):
        if self.bar is not None and residual > 0 and rhs_norm > 0:
            gained = max(0.0, -math.log10(residual / rhs_norm))
            self.bar.n = round(gained if self.bar.total is None else min(gained, self.bar.total), 1)
            self.bar.set_postfix(iteration=iteration, refresh=True)

    def close(self):
        if self.bar is not None:
            self.bar.close()
