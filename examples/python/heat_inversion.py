"""Finds a heat conductivity from temperatures: gradients through the solver.

-div(k grad u) = 1 on the unit square, u = 0 on the boundary; u is measured at every node for a known k. Starting from
k = 1, L-BFGS on log k finds k again. The gradient of the misfit with respect to the values of A is
-lambda_i u_j (adjoint solve with the same set-up), that with respect to k follows by the chain rule through the
assembly A(k) = S k, a sparse matrix.

    python heat_inversion.py [--cells 32] [--iterations 60]
"""
import argparse

import numpy as np
import scipy.optimize
import scipy.sparse as sp

import cascademg

KE = np.array([[4, -1, -2, -1], [-1, 4, -1, -2], [-2, -1, 4, -1], [-1, -2, -1, 4]]) / 6.0  # Q1, square cells


def assembly(n):
    """Pattern of A on the inner nodes of n x n cells, and S with values(A) = S k."""
    number = -np.ones((n + 1, n + 1), dtype=np.int64)
    number[1:-1, 1:-1] = np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
    cells = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], axis=-1).reshape(-1, 4)
    rows, cols = np.repeat(cells, 4, axis=1).ravel(), np.tile(cells, (1, 4)).ravel()
    entries = np.tile(KE.ravel(), len(cells))
    owner = np.repeat(np.arange(len(cells)), 16)
    inside = (rows >= 0) & (cols >= 0)
    unknowns = (n - 1) ** 2
    pattern = sp.coo_matrix((np.ones(inside.sum()), (rows[inside], cols[inside])), shape=(unknowns, unknowns)).tocsr()
    pattern.sort_indices()
    # position of every element entry among the values of A
    key = np.repeat(np.arange(unknowns), np.diff(pattern.indptr)) * unknowns + pattern.indices
    place = np.searchsorted(key, rows[inside] * unknowns + cols[inside])
    S = sp.coo_matrix((entries[inside], (place, owner[inside])), shape=(pattern.nnz, len(cells))).tocsr()
    return pattern, S


def interpolation(n):
    """Bilinear interpolation from n / 2 to n cells, inner nodes."""
    P = sp.lil_matrix((n - 1, n // 2 - 1))
    for j in range(n // 2 - 1):
        P[2 * j, j], P[2 * j + 1, j], P[2 * j + 2, j] = 0.5, 1.0, 0.5
    return sp.csr_matrix(sp.kron(P.tocsr(), P.tocsr()))


def invert(n=32, iterations=60, report=print):
    pattern, S = assembly(n)
    transfers, m = [], n
    while m > 4:
        transfers.append(interpolation(m))
        m //= 2
    pattern.data = S @ np.ones(n * n)
    hierarchy = cascademg.Hierarchy(pattern.copy(), transfers)
    solver = hierarchy.solver(rtol=1e-12, keep_map=True)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    b = np.full(pattern.shape[0], 1.0 / n**2)

    def solve(k, right):
        solver.update(S @ k)
        return solver.solve(right)

    x = (np.arange(n) + 0.5) / n
    truth = np.where((x[:, None] - 0.5) ** 2 + (x[None, :] - 0.4) ** 2 < 0.06, 3.0, 1.0).ravel()
    measured = solve(truth, b)

    def misfit(logk):
        k = np.exp(logk)
        u = solve(k, b)
        difference = (u - measured) / np.linalg.norm(measured)
        multiplier = solver.solve(difference / np.linalg.norm(measured))
        by_values = -multiplier[rows] * u[pattern.indices]
        return 0.5 * difference @ difference, (S.T @ by_values) * k

    start = misfit(np.zeros(n * n))[0]
    found = scipy.optimize.minimize(misfit, np.zeros(n * n), jac=True, method="L-BFGS-B",
                                    options={"maxiter": iterations, "ftol": 0, "gtol": 0})
    error = np.linalg.norm(np.exp(found.x) - truth) / np.linalg.norm(truth)
    report(f"{n} x {n} cells: misfit {start:.3e} -> {found.fun:.3e} in {found.nfev} solves, error of k {error:.3f}")
    return start, found.fun, error, misfit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=60)
    arguments = parser.parse_args()
    invert(arguments.cells, arguments.iterations)
