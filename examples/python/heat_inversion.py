"""Finds a heat conductivity from temperatures: gradients through the solver.

-div(k grad u) = 1 on the unit square, u = 0 on the boundary; u is measured at every node for a known k. Starting from
k = 1, L-BFGS on log k finds k again. With SciPy's L-BFGS the gradient is written out: that of the misfit for the values
of A is -lambda_i u_j (adjoint solve with the same set-up), that for k follows by the chain rule through the assembly
A(k) = S k. With PyTorch's, autograd does both, and on a GPU everything stays there.

    python heat_inversion.py [--cells 32] [--iterations 60] [--torch [--backend cuda]]
"""
import argparse
import time

import numpy as np

import cascademg

KE = np.array([[4, -1, -2, -1], [-1, 4, -1, -2], [-2, -1, 4, -1], [-1, -2, -1, 4]]) / 6.0  # Q1, square cells


class Assembly:
    """A on the inner nodes of n x n cells as a CSR pattern; values[place] += weight k[owner] are its values."""

    def __init__(self, n):
        self.n, self.unknowns = n, (n - 1)**2
        number = -np.ones((n + 1, n + 1), dtype=np.int64)
        number[1:-1, 1:-1] = np.arange(self.unknowns).reshape(n - 1, n - 1)
        cells = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], axis=-1).reshape(-1, 4)
        rows, cols = np.repeat(cells, 4, axis=1).ravel(), np.tile(cells, (1, 4)).ravel()
        inside = (rows >= 0) & (cols >= 0)
        keys, self.place = np.unique(rows[inside] * self.unknowns + cols[inside], return_inverse=True)
        self.rows, self.cols = keys // self.unknowns, (keys % self.unknowns).astype(np.int32)
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.unknowns))])
        self.weight = np.tile(KE.ravel(), len(cells))[inside]
        self.owner = np.repeat(np.arange(len(cells)), 16)[inside]

    def values(self, k):
        return np.bincount(self.place, self.weight * k[self.owner], len(self.cols))

    def transposed(self, by_values):
        """From a gradient for the values to that for k."""
        return np.bincount(self.owner, self.weight * by_values[self.place], self.n**2)

    def matrix(self, k):
        return self.values(k), self.cols, self.indptr, (self.unknowns, self.unknowns)


def interpolation(n):
    """Bilinear interpolation from n / 2 to n cells, inner nodes."""
    i, coarse = np.arange(n - 1), n // 2 - 1
    near = np.stack([(i + 1) // 2, (i + 2) // 2], axis=1) - 1  # the two are one where a coarse node is
    weight = np.where((near >= 0) & (near < coarse), 0.5, 0.0)
    weight[1::2] = [1.0, 0.0]
    product = (weight[:, None, :, None] * weight[None, :, None, :]).reshape(-1, 4)
    cols = (near[:, None, :, None] * coarse + near[None, :, None, :]).reshape(-1, 4)
    used = product > 0
    indptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return product[used], cols[used].astype(np.int32), indptr, ((n - 1)**2, coarse**2)


def make_solver(assembly, backend="cpu"):
    transfers, m = [], assembly.n
    while m > 4:
        transfers.append(interpolation(m))
        m //= 2
    hierarchy = cascademg.Hierarchy(assembly.matrix(np.ones(assembly.n**2)), transfers, backend=backend)
    return hierarchy.solver(rtol=1e-12, keep_map=True)


def conductivity(n):
    """What is to be found: a disc that conducts three times as well."""
    x = (np.arange(n) + 0.5) / n
    return np.where((x[:, None] - 0.5)**2 + (x[None, :] - 0.4)**2 < 0.06, 3.0, 1.0).ravel()


def invert(n=32, iterations=60, report=print):
    """Misfit at the start and at the end, error of k, and the misfit as a function of log k."""
    import scipy.optimize
    assembly = Assembly(n)
    solver = make_solver(assembly)
    b, truth = np.full(assembly.unknowns, 1.0 / n**2), conductivity(n)

    def solve(k, right):
        solver.update(assembly.values(k))
        return solver.solve(right)

    measured = solve(truth, b)

    def misfit(logk):
        k = np.exp(logk)
        u = solve(k, b)
        difference = (u - measured) / np.linalg.norm(measured)
        multiplier = solver.solve(difference / np.linalg.norm(measured))
        by_values = -multiplier[assembly.rows] * u[assembly.cols]
        return 0.5 * difference @ difference, assembly.transposed(by_values) * k

    start = misfit(np.zeros(n * n))[0]
    found = scipy.optimize.minimize(misfit, np.zeros(n * n), jac=True, method="L-BFGS-B",
                                    options={"maxiter": iterations, "ftol": 0, "gtol": 0})
    error = np.linalg.norm(np.exp(found.x) - truth) / np.linalg.norm(truth)
    report(f"{n} x {n} cells: misfit {start:.3e} -> {found.fun:.3e} in {found.nfev} solves, error of k {error:.3f}")
    return start, found.fun, error, misfit


def invert_torch(n=32, iterations=60, report=print, backend="cpu"):
    """The same by autograd."""
    import torch
    from cascademg.torch import solve
    assembly = Assembly(n)
    solver = make_solver(assembly, backend)
    place, owner, weight = (torch.tensor(a, device=backend) for a in (assembly.place, assembly.owner, assembly.weight))
    b = torch.full((assembly.unknowns,), 1.0 / n**2, dtype=torch.float64, device=backend)

    def temperature(k):
        values = torch.zeros(len(assembly.cols), dtype=torch.float64, device=backend)
        return solve(solver, b, values.index_add(0, place, weight * k[owner]))

    truth = torch.tensor(conductivity(n), device=backend)
    measured = temperature(truth)
    logk = torch.zeros(n * n, dtype=torch.float64, device=backend, requires_grad=True)
    optimiser = torch.optim.LBFGS([logk], max_iter=iterations, line_search_fn="strong_wolfe", tolerance_grad=0,
                                  tolerance_change=0)
    solves = []

    def misfit(logk):
        solves.append(time.perf_counter())
        return 0.5 * ((temperature(logk.exp()) - measured) / measured.norm()).square().sum()

    def closure():
        optimiser.zero_grad()
        value = misfit(logk)
        value.backward()
        return value
    start = float(misfit(logk.detach()))
    optimiser.step(closure)
    end = float(misfit(logk.detach()))
    error = float((logk.detach().exp() - truth).norm() / truth.norm())
    report(f"{n} x {n} cells: misfit {start:.3e} -> {end:.3e} in {len(solves)} solves, error of k {error:.3f}, "
           f"{(solves[-1] - solves[1]) / (len(solves) - 2):.4f} s a step")
    return start, end, error, misfit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    arguments = parser.parse_args()
    if arguments.torch:
        invert_torch(arguments.cells, arguments.iterations, backend=arguments.backend)
    else:
        invert(arguments.cells, arguments.iterations)
