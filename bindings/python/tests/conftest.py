import numpy as np
import pytest
import scipy.sparse as sp


def laplacian_1d(n):
    return sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])


def poisson(n, dim=2):
    """Finite differences on (n - 1)^dim inner points."""
    one, eye = laplacian_1d(n - 1), sp.identity(n - 1)
    if dim == 1:
        return one.tocsr()
    if dim == 2:
        return (sp.kron(one, eye) + sp.kron(eye, one)).tocsr()
    return (sp.kron(sp.kron(one, eye), eye) + sp.kron(sp.kron(eye, one), eye) + sp.kron(sp.kron(eye, eye), one)).tocsr()


def interpolation(n, dim=2):
    """Linear interpolation from n / 2 to n cells along each axis."""
    rows, cols = n - 1, n // 2 - 1
    P = sp.lil_matrix((rows, cols))
    for j in range(cols):
        P[2 * j, j], P[2 * j + 1, j], P[2 * j + 2, j] = 0.5, 1.0, 0.5
    P = P.tocsr()
    out = P
    for _ in range(dim - 1):
        out = sp.kron(out, P)
    return sp.csr_matrix(out)


def levels(n, dim=2, coarsest=4):
    """Galerkin hierarchy of a Poisson problem: lists of A and P."""
    A, P = [poisson(n, dim)], []
    while n > coarsest:
        P.append(interpolation(n, dim))
        A.append((P[-1].T @ A[-1] @ P[-1]).tocsr())
        n //= 2
    return A, P


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def problem(rng):
    A, P = levels(32)
    return A, P, rng.standard_normal(A[0].shape[0])
