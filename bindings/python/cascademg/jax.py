"""Differentiable solves for JAX.

``x = solve(solver, b)`` and ``solve(solver, b, values)`` work under jit, grad and vmap; the library is called back on
the host, so arrays on a device are copied there and back. The gradients are those of cascademg.torch.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np


def _take(solver, values):
    """New values of A into the solver, unless they are the ones it has."""
    if getattr(solver, "_jax_values", None) is None or not np.array_equal(solver._jax_values, values):
        solver.update(values)
        solver._jax_values = values.copy()
        if solver._adjoint is not solver:
            solver._adjoint = None


def _host_solve(solver, adjoint, b, values):
    """b of shape (..., n); values (..., nnz) or None, mapped by vmap where their leading axis is longer than 1."""
    b = np.asarray(b, dtype=np.float64)
    if values is not None:
        values = np.asarray(values, dtype=np.float64)
        if values.ndim > 1 and values.shape[0] > 1:
            rows = np.broadcast_to(b, (values.shape[0], *b.shape[1:]))
            return np.stack([_host_solve(solver, adjoint, row, v) for row, v in zip(rows, values)])
        _take(solver, values.reshape(-1))
    used = solver.adjoint() if adjoint else solver
    flat = b.reshape(-1, b.shape[-1])
    if len(flat) == 1:
        return used.solve(np.ascontiguousarray(flat[0])).reshape(b.shape)
    return np.ascontiguousarray(used.solve(np.ascontiguousarray(flat.T)).T).reshape(b.shape)


def _call(solver, adjoint, b, values):
    shape = jax.ShapeDtypeStruct(b.shape, b.dtype)

    def host(b, *values):
        return _host_solve(solver, adjoint, b, values[0] if values else None).astype(shape.dtype)
    arguments = (b,) if values is None else (b, values)
    return jax.pure_callback(host, shape, *arguments, vmap_method="expand_dims")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve_values(solver, b, values):
    return _call(solver, False, b, values)


def _forward(solver, b, values):
    x = _call(solver, False, b, values)
    return x, (x, values)


def _backward(solver, kept, gradient):
    x, values = kept
    multiplier = _call(solver, True, gradient, values)
    A = solver.hierarchy.matrix().tocsr()
    rows = jnp.asarray(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)))
    cols = jnp.asarray(A.indices)
    return multiplier, -(multiplier[rows] * x[cols]).astype(values.dtype)


_solve_values.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve_fixed(solver, b):
    return _call(solver, False, b, None)


_solve_fixed.defvjp(lambda solver, b: (_call(solver, False, b, None), None),
                    lambda solver, kept, gradient: (_call(solver, True, gradient, None),))


def solve(solver, b, values=None):
    """Solves A x = b with gradients for b and, where `values` of A in CSR order are given, for them."""
    return _solve_fixed(solver, b) if values is None else _solve_values(solver, b, values)
