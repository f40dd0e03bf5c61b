"""A solver for lineax, so that `lineax.linear_solve` and what is built on it (Optimistix, Diffrax) use a cascade.

``lineax.linear_solve(SparseOperator(solver, values), b, CascadeMG())`` solves A(values) x = b under jit, vmap, and forward
and reverse differentiation.
"""
from __future__ import annotations

from typing import Any

import equinox
import jax
import jax.numpy as jnp
import lineax

from .jax import _NO_STAMP, _call, product
from .solver import Solver


class SparseOperator(lineax.AbstractLinearOperator):
    """A with the pattern of a solver's matrix of level 0, or its transpose, as an operator of lineax.

    Parameters
    ----------
    solver : cascademg.Solver
        Keep it as long as compiled functions that use it.
    values : jax.Array
        Values of A in CSR order, shape (nnz,); by default those of the hierarchy when it is made.
    transposed : bool
    tags : frozenset
        Of lineax, {lineax.positive_semidefinite_tag} for example; nothing is asked of them here.
    """

    solver: Solver = equinox.field(static=True)
    values: jax.Array
    transposed: bool = equinox.field(static=True)
    tags: frozenset = equinox.field(static=True)

    def __init__(self, solver: Solver, values: jax.Array | None = None, transposed: bool = False,
                 tags: Any = frozenset()) -> None:
        self.solver, self.transposed, self.tags = solver, transposed, frozenset(tags)
        self.values = jnp.asarray(solver.hierarchy.arrays()[0] if values is None else values)

    def mv(self, vector: jax.Array) -> jax.Array:
        """A x, or A^T x.

        Parameters
        ----------
        vector : jax.Array
            Shape (n,).
        """
        def forth(x):
            return product(self.solver, self.values, x)
        if not self.transposed:
            return forth(vector)
        return jax.linear_transpose(forth, vector)(vector)[0]

    def as_matrix(self) -> jax.Array:
        """A as a dense array: n products, for small systems and checks."""
        return jax.vmap(self.mv, out_axes=1)(jnp.eye(self.solver.n, dtype=self.values.dtype))

    def transpose(self) -> SparseOperator:
        """A^T, with the values as they are."""
        tags = lineax.transpose_tags(self.tags)
        return SparseOperator(self.solver, self.values, not self.transposed, tags)

    def in_structure(self) -> jax.ShapeDtypeStruct:
        """Shape and type of x."""
        return jax.ShapeDtypeStruct((self.solver.n,), self.values.dtype)

    def out_structure(self) -> jax.ShapeDtypeStruct:
        """Shape and type of A x."""
        return self.in_structure()


for _ask in (lineax.is_symmetric, lineax.is_positive_semidefinite, lineax.is_negative_semidefinite, lineax.is_diagonal,
             lineax.is_tridiagonal, lineax.is_lower_triangular, lineax.is_upper_triangular, lineax.has_unit_diagonal):
    _tag = {lineax.is_symmetric: lineax.symmetric_tag, lineax.is_positive_semidefinite: lineax.positive_semidefinite_tag,
            lineax.is_negative_semidefinite: lineax.negative_semidefinite_tag}.get(_ask)
    _ask.register(SparseOperator)(lambda operator, tag=_tag: tag in operator.tags)


@lineax.linearise.register(SparseOperator)
@lineax.materialise.register(SparseOperator)
@lineax.conj.register(SparseOperator)
def _itself(operator):
    return operator


@lineax.diagonal.register(SparseOperator)
def _diagonal(operator):
    return jnp.diagonal(operator.as_matrix())


class CascadeMG(lineax.AbstractLinearSolver):
    """Solves with the cascade of a :class:`SparseOperator`.

    Derivatives are lineax's own: a solve a direction, or one for all. Values are taken into the solver at every solve.
    The result is `RESULTS.successful` where the true relative residual, which one product more gives, is within ten times
    the tolerance of the cascade's solver, and else `RESULTS.stagnation`.
    """

    def init(self, operator: SparseOperator, options: dict[str, Any]) -> SparseOperator:
        """The state of a solve: the operator.

        Parameters
        ----------
        operator : SparseOperator
            Others are rejected: a cascade is set up from a sparse matrix and its levels.
        options : dict
            Nothing is read from it.

        Raises
        ------
        TypeError
            Another operator.
        """
        if not isinstance(operator, SparseOperator):
            raise TypeError(f"cascademg.lineax.CascadeMG needs a SparseOperator of cascademg.lineax, not {type(operator).__name__}")
        return operator

    def compute(self, state: SparseOperator, vector: jax.Array, options: dict[str, Any]) -> tuple[jax.Array, Any, dict]:
        """The solution, how it ended, and {}.

        Parameters
        ----------
        state : SparseOperator
        vector : jax.Array
            b, shape (n,).
        options : dict
            Nothing is read from it.
        """
        solver = state.solver
        x, _ = _call(solver, state.transposed, vector, state.values, _NO_STAMP)
        residual = jnp.linalg.norm(vector - state.mv(x))
        good = residual <= 10 * solver._options.rtol * jnp.linalg.norm(vector)
        result = lineax.RESULTS.where(good, lineax.RESULTS.successful, lineax.RESULTS.stagnation)
        return x, result, {}

    def transpose(self, state: SparseOperator, options: dict[str, Any]) -> tuple[SparseOperator, dict]:
        """The state of the transposed system.

        Parameters
        ----------
        state : SparseOperator
        options : dict
            Handed on as it is.
        """
        return state.transpose(), options

    def conj(self, state: SparseOperator, options: dict[str, Any]) -> tuple[SparseOperator, dict]:
        """The state of the conjugated system, which is the same: values are real.

        Parameters
        ----------
        state : SparseOperator
        options : dict
            Handed on as it is.
        """
        return state, options

    def assume_full_rank(self) -> bool:
        """True: A has an inverse."""
        return True
