import numpy as np
import pytest
import scipy.sparse.linalg as spla

import cascademg
from conftest import levels


@pytest.fixture
def systems(rng):
    """A hierarchy, and values of five matrices D A D + E with positive diagonal D and E."""
    A, P = levels(32)
    first = A[0].sorted_indices()
    rows = np.repeat(np.arange(first.shape[0]), np.diff(first.indptr))
    values = np.empty((5, first.nnz))
    for k in range(5):
        d = np.exp(np.sin(k + np.arange(first.shape[0]) / 100))
        values[k] = first.data * d[rows] * d[first.indices]
        values[k][rows == first.indices] += k
    return first, P, values, rng.standard_normal((5, first.shape[0]))


def matrix(first, values):
    other = first.copy()
    other.data = values.copy()
    return other


def test_solutions_against_scipy(systems):
    first, P, values, b = systems
    solver = cascademg.Hierarchy(first, P).solver(rtol=1e-11)
    x, infos = solver.solve_batch(b, values, return_info=True)
    assert x.shape == b.shape and len(infos) == 5
    for k in range(5):
        A = matrix(first, values[k])
        exact = spla.spsolve(A.tocsc(), b[k])
        assert np.linalg.norm(x[k] - exact) <= 1e-8 * np.linalg.norm(exact)
        assert infos[k].converged and infos[k].iterations < 20
        assert np.linalg.norm(b[k] - A @ x[k]) <= 1.01e-11 * np.linalg.norm(b[k])


def test_shared_values_guesses_and_updates(systems):
    first, P, values, b = systems
    solver = cascademg.Hierarchy(first, P).solver()
    x = solver.solve_batch(b)
    assert np.linalg.norm(b - (first @ x.T).T) <= 1.01e-8 * np.linalg.norm(b)
    batch = cascademg.Batch(solver, values)
    assert (batch.count, batch.n) == b.shape and "5 systems" in repr(batch)
    x, infos = batch.solve(b.tolist(), return_info=True)
    again, infos = batch.solve(b, x0=x, return_info=True)
    assert all(info.iterations == 0 for info in infos) and np.array_equal(again, x)
    batch.update(2 * values)
    assert np.allclose(batch.solve(b), x / 2, rtol=1e-6, atol=1e-8)
    batch.update(values)
    assert np.array_equal(batch.solve(b), x)


def test_a_system_that_fails_is_said(systems):
    first, P, values, b = systems
    solver = cascademg.Hierarchy(first, P).solver()
    good = solver.solve_batch(b, values)
    values[2, 7] = np.nan
    with pytest.warns(cascademg.ConvergenceWarning, match="1 of 5 systems .* system 2"):
        x = solver.solve_batch(b, values)
    assert all(np.array_equal(x[k], good[k]) for k in (0, 1, 3, 4))
    infos = solver.solve_batch(b, values, return_info=True)[1]
    assert [info.outcome == "not_a_number" for info in infos] == [k == 2 for k in range(5)]


def test_what_does_not_fit_is_refused(systems):
    first, P, values, b = systems
    solver = cascademg.Hierarchy(first, P).solver()
    batch = cascademg.Batch(solver, values)
    for wrong in (lambda: cascademg.Batch(solver), lambda: cascademg.Batch(solver, values, 5), lambda: cascademg.Batch(solver, values[0]),
                  lambda: cascademg.Batch(solver, values[:, 1:]), lambda: cascademg.Batch(solver, count=-1), lambda: batch.solve(b[:3]),
                  lambda: batch.solve(b[0]), lambda: batch.update(values[:3]), lambda: batch.solve(b, x0=b[:, 1:])):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(cascademg.UnsupportedError, match="polynomials"):
        cascademg.Batch(cascademg.Hierarchy(first, P).solver(smoother="fsai"), values)
    x, infos = cascademg.Batch(solver, count=0).solve(np.empty((0, b.shape[1])), return_info=True)
    assert x.shape == (0, b.shape[1]) and infos == []
