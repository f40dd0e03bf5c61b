"""Comparisons of smoothers and options as tables."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from ._errors import ArgumentError

if TYPE_CHECKING:
    from .hierarchy import Hierarchy
    from .solver import Solver


class Table(list):
    """A list of dictionaries that prints as a table; `frame()` gives a pandas.DataFrame, `plot()` a picture.

    Parameters
    ----------
    *rows
        As those of list: an iterable of dictionaries.
    """

    def columns(self) -> list[str]:
        """Names of the columns in order."""
        return list(dict.fromkeys(key for row in self for key in row))

    def frame(self) -> Any:
        """The rows as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(list(self), columns=self.columns())

    def plot(self, x: str = "seconds", y: str = "iterations", label: str = "smoother") -> Any:
        """A matplotlib figure of one column over another.

        Parameters
        ----------
        x, y : str
            Columns.
        label : str
            Column of the words beside the points.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from matplotlib import pyplot
        figure, axes = pyplot.subplots()
        for row in self:
            axes.plot(row[x], row[y], "o")
            axes.annotate(str(row.get(label, "")), (row[x], row[y]), textcoords="offset points", xytext=(4, 4))
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        return figure

    def __str__(self) -> str:
        def cell(value):
            if value is None:
                return "-"
            return f"{value:.4g}" if isinstance(value, float) else str(value)
        columns = self.columns()
        rows = [[cell(row.get(column)) for column in columns] for row in self]
        widths = [max(len(column), *(len(row[i]) for row in rows)) if rows else len(column)
                  for i, column in enumerate(columns)]
        lines = ["  ".join(column.ljust(width) for column, width in zip(columns, widths)).rstrip()]
        lines += ["  ".join(value.ljust(width) for value, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines)


def plan(hierarchy: Hierarchy | Solver, measure: int = 0, **options: Any) -> Table:
    """The steps of one cycle.

    Parameters
    ----------
    hierarchy : Hierarchy or Solver
    measure : int
        How many times the steps are timed; 0 = not.
    **options
        Those of a solver, where a hierarchy is given.

    Returns
    -------
    Table
        One row a step: text, matrix, level, rows, nnz, format, bytes, seconds.
    """
    from .solver import Solver
    if not isinstance(hierarchy, Solver):
        return hierarchy.solver(**options).plan(measure)
    if options:
        raise ArgumentError(f"plan: the solver has its options already, {', '.join(options)} cannot be given")
    return hierarchy.plan(measure)


def compare(hierarchy: Hierarchy, b: Any = None, smoothers: Sequence[str] = ("jacobi", "chebyshev4", "fsai", "spai"),
            repeat: int = 3, progress: bool = False, **options: Any) -> Table:
    """Solves one system with several smoothers.

    Parameters
    ----------
    hierarchy : Hierarchy
    b : array of n values, optional
        Right-hand side; by default that of the hierarchy, or a random one.
    smoothers : sequence of str
    repeat : int
        Solves timed, in turns over the smoothers; the median is reported with minimum and maximum.
    progress : bool
        Show tqdm's bar where tqdm is installed.
    **options
        Further options of every solver.

    Returns
    -------
    Table
        One row a smoother: iterations, converged, relative_residual, setup_seconds, seconds, fastest, slowest, bytes.

    Notes
    -----
    Costs a set-up and `repeat` solves a smoother; all solvers are held at once.
    """
    if b is None:
        b = hierarchy.vector("rhs")
    if b is None:
        b = np.random.default_rng(1).standard_normal(hierarchy.rows(0))
    solvers, table = [], Table()
    for smoother in smoothers:
        start = time.perf_counter()
        solvers.append((hierarchy.solver(smoother=smoother, **options), time.perf_counter() - start))
    samples = [[] for _ in solvers]
    for turn in _turns(repeat, progress):
        for k, (solver, _) in enumerate(solvers):
            _, info = solver.solve(b, return_info=True)
            samples[k].append(info)
    for smoother, (_, setup), infos in zip(smoothers, solvers, samples):
        seconds = [info.solve_seconds for info in infos]
        table.append({"smoother": smoother, "iterations": infos[-1].iterations, "converged": infos[-1].converged,
                      "relative_residual": infos[-1].relative_residual, "setup_seconds": setup,
                      "seconds": float(np.median(seconds)), "fastest": min(seconds), "slowest": max(seconds),
                      "bytes": infos[-1].bytes})
    return table


def _turns(repeat, progress):
    if progress:
        try:
            from tqdm import tqdm
            return tqdm(range(repeat))
        except ImportError:
            pass
    return range(repeat)
