"""Differentiable solves for PyTorch.

``x = solve(solver, b, values)`` solves A(values) x = b; its gradients are lambda = A^-T (dL/dx) for b and
-lambda_i x_j for the entry (i, j) of A, its forward derivative A^-1 (db - dA x). All solves use the same set-up (that of
A^T where A is not symmetric).
"""
from __future__ import annotations

import numpy as np
import torch

from .solver import Solver


def _pattern(solver, device):
    kept = getattr(solver, "_torch_pattern", None)
    if kept is None or kept[0].device != device:
        _, cols, indptr, (n, _) = solver.hierarchy.arrays()
        rows = np.repeat(np.arange(n), np.diff(indptr))
        kept = (torch.as_tensor(rows, device=device), torch.as_tensor(cols.astype(np.int64), device=device))
        solver._torch_pattern = kept
    return kept


def _solve(solver, b):
    on_device = solver.context.backend == "cuda"
    given = b.detach().to(torch.float64).contiguous()
    if on_device and not given.is_cuda:
        given = given.cuda()
    elif not on_device and given.is_cuda:
        given = given.cpu()
    x = torch.empty_like(given)
    solver.solve(given, out=x)
    return x.to(device=b.device, dtype=b.dtype)


def _solve_batch(solver, b):
    """Rows of b, up to 64 of them at once."""
    if b.shape[0] == 1:
        return _solve(solver, b[0])[None]
    parts = [_solve(solver, part.T) if part.shape[0] > 1 else _solve(solver, part[0])[:, None] for part in b.split(64)]
    return torch.cat(parts, dim=1).T.contiguous()


def _product(solver, values, x):
    """A(values) x of a vector or a batch of rows."""
    rows, cols = _pattern(solver, x.device)
    return torch.zeros_like(x).index_add(-1, rows, (values * x[..., cols]).to(x.dtype))


class _Solve(torch.autograd.Function):
    """x = A(values)^-1 b, or of A^T, for a vector or a batch of rows; values None: those that the solver has."""

    @staticmethod
    def forward(solver, adjoint, b, values):
        if values is not None:
            _take(solver, values)
        x = _solve_batch(solver.adjoint() if adjoint else solver, b if b.dim() == 2 else b[None])
        return x if b.dim() == 2 else x[0]

    @staticmethod
    def setup_context(ctx, inputs, x):
        ctx.solver, ctx.adjoint, b, values = inputs
        ctx.save_for_backward(x, values)
        ctx.save_for_forward(x, values)

    @staticmethod
    def backward(ctx, gradient):
        x, values = ctx.saved_tensors
        multiplier = _Solve.apply(ctx.solver, not ctx.adjoint, gradient, values)
        by_values = None
        if ctx.needs_input_grad[3]:
            rows, cols = _pattern(ctx.solver, x.device)
            left, right = (x, multiplier) if ctx.adjoint else (multiplier, x)
            by_values = -(left[..., rows] * right[..., cols])
            by_values = (by_values.sum(0) if x.dim() == 2 else by_values).to(values.dtype)
        return None, None, multiplier, by_values

    @staticmethod
    def jvp(ctx, _solver, _adjoint, db, dvalues):
        x, values = ctx.saved_tensors
        right = torch.zeros_like(x) if db is None else db
        if dvalues is not None:
            right = right - _product(ctx.solver, dvalues, x)
        return _Solve.apply(ctx.solver, ctx.adjoint, right, values)

    @staticmethod
    def vmap(info, mapped, solver, adjoint, b, values):
        if mapped[3] is None and b.dim() == 2:
            return _Solve.apply(solver, adjoint, b.movedim(mapped[2], 0), values), 0  # right-hand sides go together
        parts = []
        for k in range(info.batch_size):  # batches of batches, or of matrices: one after the other
            parts.append(_Solve.apply(solver, adjoint, b if mapped[2] is None else b.select(mapped[2], k),
                                      values if mapped[3] is None else values.select(mapped[3], k)))
        return torch.stack(parts), 0


def _take(solver, values):
    """New values of A into the solver, unless they are the ones it has."""
    token = (values.data_ptr(), values._version, tuple(values.shape), solver._version)
    if getattr(solver, "_torch_values", (None,))[0] != token:
        given = values.detach().to(torch.float64).contiguous()
        if given.is_cuda and solver.context.backend != "cuda":
            given = given.cpu()
        # a copy: the caller's tensor may be changed in place between this solve and the next
        solver.update(given.clone() if given.is_cuda else given.numpy().copy())
        # the tensor is kept with its address: another one cannot get that address meanwhile
        solver._torch_values = (*token[:3], solver._version), values.detach()


@torch.compiler.disable
def solve(solver: Solver, b: torch.Tensor, values: torch.Tensor | None = None) -> torch.Tensor:
    """Solves A x = b with derivatives for b and for the values of A.

    Backward and forward mode, their combinations, and ``torch.func.grad``, ``jvp`` and ``vmap`` work. ``torch.compile``
    leaves the solve as it is and compiles what is before and after it; under ``fullgraph=True`` it raises.

    Parameters
    ----------
    solver : cascademg.Solver
    b : torch.Tensor
        n values, or a batch of shape (k, n), up to 64 of which are solved at once. In device memory it is used in place on
        the cuda backend; from elsewhere it is copied to the device and back.
    values : torch.Tensor, optional
        Values of A of level 0 in CSR order, shape (nnz,); taken into the solver before the solve.

    Returns
    -------
    x : torch.Tensor like b

    Raises
    ------
    ArgumentError
        Shapes that do not fit.

    Notes
    -----
    A derivative costs a solve a direction (forward) or one for all (backward), with the set-up of the solve where A is
    symmetric. Derivatives are exact to the tolerance of the solver: choose rtol accordingly.
    """
    return _Solve.apply(solver, False, b, values)
