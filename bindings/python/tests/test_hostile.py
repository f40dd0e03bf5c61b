"""Arrays that do not fit: an exception that says so, never memory that is not theirs, never other numbers."""
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import levels

import cascademg


def csr(**changed):
    parts = {"data": np.array([2.0, 3.0]), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": (2, 2), **changed}
    return parts["data"], parts["indices"], parts["indptr"], parts["shape"]


@pytest.mark.parametrize("changed", [
    {"shape": (3_000_000, 3_000_000)}, {"shape": (2,)}, {"shape": (-2, -2)}, {"indptr": np.array([0, 1, 200_000_000])},
    {"indptr": np.array([0, 1, -5])}, {"indptr": np.array([], int)}, {"indptr": np.array([0.0, 1.9, 2.0])}, {"data": np.ones(1)},
    {"data": np.ones((2, 2))}, {"indices": np.array([0])}, {"indices": np.array([0.0, 1.0])}, {"indices": np.array([0, 2**32 + 1])},
    {"indices": np.array([0, 2**64 - 1], dtype=np.uint64)}, {"indices": np.array([0, 1, 2]).reshape(1, 3)},
], ids=lambda changed: " ".join(f"{k}={v!r}" for k, v in changed.items()))
def test_arrays_that_are_no_csr_are_refused(changed):
    with pytest.raises(cascademg.ArgumentError):
        cascademg.Hierarchy(csr(**changed))


def test_arrays_that_are_longer_than_the_matrix_are_cut():
    h = cascademg.Hierarchy(csr(data=np.array([2.0, 3.0, 9.0]), indices=np.array([0, 1, 1], dtype=np.uint8)))
    h.update(np.array([4.0, 5.0]))
    assert np.array_equal(h.matrix().toarray(), np.diag([4.0, 5.0]))


def test_scipy_matrices_with_replaced_arrays_are_refused():
    for name, value in (("indptr", np.array([0, 1, 2, 3, 400_000_000], np.int32)), ("data", np.ones(1)),
                        ("indices", np.zeros(2, np.int32))):
        matrix = sp.identity(4, format="csr")
        setattr(matrix, name, value)
        with pytest.raises((cascademg.ArgumentError, ValueError, IndexError)):
            cascademg.Hierarchy(matrix)


@pytest.mark.parametrize("columns", [64, 65, 129])
def test_columns_that_do_not_go_together(columns, rng):
    A, P = levels(8)
    b = rng.standard_normal((A[0].shape[0], columns))
    x, infos = cascademg.Hierarchy(A, P).solver().solve(b, return_info=True)
    assert x.shape == b.shape and len(infos) == columns
    assert np.linalg.norm(A[0] @ x - b) <= 1e-7 * np.linalg.norm(b)


def test_jax_arrays_of_other_types_and_shapes_are_refused():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    from cascademg.jax import solve
    A, P = levels(8)
    solver = cascademg.Hierarchy(A, P).solver()
    n, nnz = A[0].shape[0], A[0].nnz
    b = jnp.ones(n)
    for given in ((jnp.ones((n, 2, 3)),), (jnp.ones(n - 1),), (jnp.ones(n, jnp.complex64),), (b, jnp.ones(nnz, jnp.int32)),
                  (b, jnp.ones(nnz, jnp.int8)), (b, jnp.ones(nnz - 1)), (b, jnp.ones((nnz, 2))), (b, jnp.full(nnz, jnp.nan))):
        with pytest.raises(Exception, match="cascademg"):
            solve(solver, *given).block_until_ready()
    x = np.asarray(solve(solver, b))
    assert np.linalg.norm(A[0] @ x - 1) <= 1e-5 * np.sqrt(n)


def test_a_gradient_is_that_of_its_values_whatever_number_they_have():
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    from cascademg.jax import solve
    A, P = levels(8)
    h = cascademg.Hierarchy(A, P)
    h._version = 2**24 + 2  # float32 has no 2^24 + 3, it takes it for the one behind
    solver = h.solver()
    b = jnp.ones(A[0].shape[0], jnp.float32)
    once, twice = (jnp.asarray(scale * A[0].data, jnp.float32) for scale in (1, 2))
    _, back = jax.vjp(lambda b: solve(solver, b, once), b)
    solve(solver, b, twice).block_until_ready()
    gradient = np.asarray(back(b)[0])
    assert np.linalg.norm(A[0].T @ gradient - 1) <= 1e-4 * np.sqrt(len(gradient))
