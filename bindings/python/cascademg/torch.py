"""Differentiable solves for PyTorch.

``x = solve(solver, b, values)`` solves A(values) x = b; its gradients are lambda = A^-T (dL/dx) for b and
-lambda_i x_j for the entry (i, j) of A. The adjoint solve uses the same set-up (that of A^T where A is not symmetric).
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


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, solver, b, values):
        if values is not None:
            _take(solver, values)
        x = _solve_batch(solver, b if b.dim() == 2 else b[None])
        ctx.solver, ctx.batched = solver, b.dim() == 2
        ctx.save_for_backward(x, values if values is not None else torch.empty(0))
        ctx.has_values = values is not None
        return x if b.dim() == 2 else x[0]

    @staticmethod
    def backward(ctx, gradient):
        x, values = ctx.saved_tensors
        if ctx.has_values:
            _take(ctx.solver, values)
        adjoint = ctx.solver.adjoint()
        multiplier = _solve_batch(adjoint, gradient if ctx.batched else gradient[None])
        by_values = None
        if ctx.has_values:
            rows, cols = _pattern(ctx.solver, x.device)
            by_values = -(multiplier[:, rows] * x[:, cols]).sum(0).to(values.dtype)
        return None, multiplier if ctx.batched else multiplier[0], by_values


def _take(solver, values):
    """New values of A into the solver, unless they are the ones it has."""
    token = (values.data_ptr(), values._version, tuple(values.shape), solver._version)
    if getattr(solver, "_torch_values", (None,))[0] != token:
        given = values.detach().to(torch.float64).contiguous()
        if given.is_cuda and solver.context.backend != "cuda":
            given = given.cpu()
        # a copy: the caller's tensor may be changed in place between this solve and the next
        solver.update(given.clone() if given.is_cuda else given.numpy().copy())
        # the tensor is kept with its address: another one cannot come to lie there meanwhile
        solver._torch_values = (*token[:3], solver._version), values.detach()


def solve(solver: Solver, b: torch.Tensor, values: torch.Tensor | None = None) -> torch.Tensor:
    """Solves A x = b with gradients for b and for the values of A.

    Parameters
    ----------
    solver : cascademg.Solver
    b : torch.Tensor
        n values, or a batch of shape (k, n). In device memory it is used in place on the cuda backend.
    values : torch.Tensor, optional
        Values of A of level 0 in CSR order; taken into the solver before the solve.

    Returns
    -------
    torch.Tensor like b
    """
    return _Solve.apply(solver, b, values)
