"""Differentiable solves for JAX.

``x = solve(solver, b)`` and ``solve(solver, b, values)`` work under jit, grad, jvp, hessian and vmap. They are custom
calls of XLA (jax.ffi): arrays are used in place, in host memory by a solver on the CPU, on the GPU by one of the cuda
backend. Derivatives are dx = A^-1 (db - dA x) and its transpose, each a solve with the same set-up.
"""
from __future__ import annotations

import functools
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np

from . import _arrays, _xla
from ._errors import ArgumentError, StateError
from ._ffi import ffi
from ._library import lib
from .info import solve_info
from .solver import Solver

_COLUMNS = 64  # that go together
_solvers = weakref.WeakValueDictionary()
_structs = []  # stay: XLA may call with the number of a solver that is gone
_registering = threading.Lock()


def _number(solver):
    """A number for XLA to find the solver by: the address of a struct (xla.h), which is even."""
    with _registering:
        _xla.register("cascademg_solve", _run, _after)
        if solver._for_xla is None:
            context = solver.context
            made = ffi.new("cmg_xla_solver *", {
                "ctx": context.ptr, "report": solver._report, "n": solver.n, "device": context.backend == "cuda",
                "stream": ffi.cast("void *", context.stream or 0), "lock": context.lock.share()})
            _structs.append(made)
            _solvers[int(ffi.cast("intptr_t", made))] = solver
            with context.lock:
                solver._for_xla, made.solver = made, solver.ptr
            weakref.finalize(solver, _forget, made, context.lock)
    return int(ffi.cast("intptr_t", solver._for_xla))


def _forget(made, lock):
    with lock:
        made.solver = ffi.NULL


def _after(number, status):
    """What a call without Python (xla.c) has to report: a failure, or a solve that did not converge."""
    solver = _solvers[number]
    solver.context.check(status)
    solver._warn(solve_info(solver._report))


def _run(number, arguments, results, stream):
    """A call of XLA: from b and, where given, values and a stamp to x and the stamp of the values.

    A stamp says which values the solver had. A backward pass brings that of its forward pass: the values need not be
    taken in again when nothing came between.
    """
    solver = _solvers.get(number & ~1)
    if solver is None:
        raise StateError("the solver of a compiled function is gone: keep it as long as the function")
    context = solver.context
    with context.lock:
        if stream is not None:
            if context.backend != "cuda":
                raise ArgumentError("b: the array is in device memory, the solver is on the CPU")
            _xla.settle(stream, context.stream)
        if len(arguments) > 1:
            _take(solver, arguments[1], _read_stamp(context, arguments[2]))
            _write_stamp(context, results[1], _stamp_of(solver))
        used = solver.adjoint() if number & 1 else solver
        used._solve_views(arguments[0], results[0])


def _stamp_of(solver):
    return solver._version % (1 << 24)  # what float32 holds


def _read_stamp(context, seen):
    return float((_arrays.to_host(context, seen) if seen.device else seen.host_copy())[0])


def _write_stamp(context, seen, value):
    if seen.device:
        made = _arrays.create(context, 1)
        context.check(lib().cmg_vector_fill(made, value))
        context.check(lib().cmg_vector_copy(made, _arrays.wrap(context, seen)))
    else:
        ffi.cast("float *", seen.pointer)[0] = value


def _take(solver, values, stamp):
    """New values of A into the solver, unless they are the ones it has."""
    if stamp != _stamp_of(solver):
        nnz = solver.hierarchy._entries(0, "A")
        if (values.n, values.columns) != (nnz, 1):
            raise ArgumentError(f"A of level 0 has {nnz} entries, {values.n} x {values.columns} values are given")
        solver.hierarchy._update_view(values)
        solver.refresh()


# ------------------------------------------------------------------ what JAX sees

def _together(solver, adjoint, b, *given):
    """The custom call: b of n values or n x k, k up to 64; (values, stamp) or nothing."""
    shapes = [jax.ShapeDtypeStruct(b.shape, b.dtype)]
    if given:
        shapes.append(jax.ShapeDtypeStruct((1,), jnp.float32))
    found = jax.ffi.ffi_call("cascademg_solve", shapes)(b, *given, solver=np.int64(_number(solver) | adjoint))
    return found[0], (found[1] if given else None)


def _call(solver, adjoint, b, *given):
    """x and the stamp; under vmap right-hand sides go together as columns, matrices one after the other."""
    @jax.custom_batching.custom_vmap
    def run(b, *given):
        if b.ndim == 1 or b.shape[1] <= _COLUMNS:
            return _together(solver, adjoint, b, *given)
        parts, stamp = [], None
        for first in range(0, b.shape[1], _COLUMNS):
            part, stamp = _together(solver, adjoint, b[:, first:first + _COLUMNS], *given)
            given = (given[0], stamp) if given else given
            parts.append(part)
        return jnp.concatenate(parts, axis=1), stamp

    @run.def_vmap
    def _(size, mapped, b, *given):
        if any(mapped[1:]):
            every = [a if m else jnp.broadcast_to(a, (size, *a.shape)) for a, m in zip((b, *given), mapped)]
            found = jax.lax.map(lambda one: run(*one), tuple(every))
            return found, jax.tree.map(lambda _: True, found)
        columns = jnp.moveaxis(b, 0, 1)
        x, stamp = run(columns.reshape(b.shape[1], -1), *given)
        return (jnp.moveaxis(x.reshape(columns.shape), 1, 0), stamp), (True, None if stamp is None else False)
    return run(b, *given)


_NO_STAMP = np.full(1, -1, dtype=np.float32)


def _pattern(solver):
    """Rows and columns of the entries of A, kept with the solver."""
    if getattr(solver, "_jax_pattern", None) is None:
        _, cols, indptr, (n, _) = solver.hierarchy.arrays()
        with jax.ensure_compile_time_eval():
            rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
            solver._jax_pattern = (jnp.asarray(rows), jnp.asarray(cols))
    return solver._jax_pattern


def product(solver: Solver, values: jax.Array, x: jax.Array) -> jax.Array:
    """A(values) x with the pattern of A, differentiable in both.

    Parameters
    ----------
    solver : cascademg.Solver
    values : jax.Array
        Values of A of level 0 in CSR order, shape (nnz,).
    x : jax.Array
        Shape (n,).

    Returns
    -------
    jax.Array like x
    """
    rows, cols = _pattern(solver)
    return jnp.zeros_like(x).at[rows].add((values * x[cols]).astype(x.dtype))


def _linear(solver, matvec, b, *given):
    """A^-1 b as a linear map of b, which JAX differentiates and transposes to all orders."""
    return jax.lax.custom_linear_solve(matvec, b, solve=lambda _, b: _call(solver, False, b, *given)[0],
                                       transpose_solve=lambda _, b: _call(solver, True, b, *given)[0])


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solve_values(solver, b, values):
    return _call(solver, False, b, values, _NO_STAMP)


@_solve_values.defjvp
def _(solver, primals, tangents):
    """dx = A^-1 (db - dA x)."""
    b, values = primals
    x, stamp = _solve_values(solver, b, values)
    right = tangents[0] - product(solver, tangents[1], x)
    return (x, stamp), (_linear(solver, lambda v: product(solver, values, v), right, values, stamp), jnp.zeros_like(stamp))


def solve(solver: Solver, b: jax.Array, values: jax.Array | None = None) -> jax.Array:
    """Solves A x = b with derivatives for b and for the values of A.

    ``jit``, ``grad``, ``vjp``, ``jvp``, ``linearize``, ``hessian`` and ``vmap`` work, in any order.

    Parameters
    ----------
    solver : cascademg.Solver
        Keep it as long as compiled functions that use it.
    b : jax.Array
        Shape (n,), float64 or float32, in the memory of the solver's backend. Under vmap up to 64 right-hand sides go
        together.
    values : jax.Array, optional
        Values of A of level 0 in CSR order, shape (nnz,); taken into the solver before the solve. Under vmap over
        values the solves follow one another.

    Returns
    -------
    x : jax.Array like b

    Raises
    ------
    ArgumentError
        Shapes that do not fit, as jaxlib's XlaRuntimeError, where the result is waited for.

    Notes
    -----
    A derivative costs a solve a direction (forward) or one for all (reverse), with the set-up of the solve where A is
    symmetric. Derivatives are exact to the tolerance of the solver: choose rtol accordingly.
    """
    b = jnp.asarray(b)
    b = b.astype(jnp.result_type(b.dtype, jnp.float32))
    if values is None:
        return _linear(solver, lambda x: x, b)  # the product is asked for where something of A varies: nothing does
    return _solve_values(solver, b, jnp.asarray(values))[0]
