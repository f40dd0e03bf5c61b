"""Gradients of solves against finite differences."""
import numpy as np
import pytest
import scipy.sparse as sp

import cascademg
from conftest import levels


def make(unsymmetric=False):
    A, P = levels(16)
    if unsymmetric:
        n = A[0].shape[0]
        wind = sp.diags([0.3 * np.ones(n - 1), -0.3 * np.ones(n - 1)], [1, -1]).tocsr()
        A = [(A[0] + wind).tocsr()]
        for p in P:
            A.append((p.T @ A[-1] @ p).tocsr())
    options = {"rtol": 1e-13, "krylov": "none" if unsymmetric else "cg", "pre": 2, "post": 2, "smoother": "jacobi"}
    return A, cascademg.Hierarchy([a.copy() for a in A], P).solver(**options)


def differences(A, b, weight, entries, step=1e-5):
    import scipy.sparse.linalg as spla
    found = []
    for k in entries:
        values = []
        for sign in (1, -1):
            changed = A.copy()
            changed.data = A.data.copy()
            changed.data[k] += sign * step
            values.append(weight @ spla.spsolve(changed.tocsc(), b))
        found.append((values[0] - values[1]) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_torch(unsymmetric, rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make(unsymmetric)
    n = A[0].shape[0]
    b = torch.tensor(rng.standard_normal(n), requires_grad=True)
    values = torch.tensor(A[0].data.copy(), requires_grad=True)
    weight = rng.standard_normal(n)
    (torch.tensor(weight) @ solve(solver, b, values)).backward()
    import scipy.sparse.linalg as spla
    exact = spla.spsolve(A[0].T.tocsc(), weight)
    assert np.linalg.norm(b.grad.numpy() - exact) <= 1e-8 * np.linalg.norm(exact)
    entries = rng.choice(A[0].nnz, 8, replace=False)
    expected = differences(A[0], b.detach().numpy(), weight, entries)
    assert np.allclose(values.grad.numpy()[entries], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    batch = torch.tensor(rng.standard_normal((3, n)), requires_grad=True)
    solve(solver, batch).sum().backward()
    assert batch.grad.shape == (3, n)


def test_jax(rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from cascademg.jax import solve
    A, solver = make()
    n = A[0].shape[0]
    b, weight = rng.standard_normal(n), rng.standard_normal(n)
    loss = jax.jit(lambda b, values: weight @ solve(solver, b, values))
    by_b, by_values = jax.grad(loss, argnums=(0, 1))(b, A[0].data)
    import scipy.sparse.linalg as spla
    exact = spla.spsolve(A[0].T.tocsc(), weight)
    assert np.linalg.norm(by_b - exact) <= 1e-8 * np.linalg.norm(exact)
    entries = rng.choice(A[0].nnz, 8, replace=False)
    expected = differences(A[0], b, weight, entries)
    assert np.allclose(np.asarray(by_values)[entries], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    mapped = jax.vmap(lambda c: solve(solver, c))(rng.standard_normal((2, n)))
    assert mapped.shape == (2, n)
