"""Topology optimisation by SIMP (Bendsoe and Sigmund 2003): the stiffest cantilever of a given volume.

A density a cell scales Young's modulus by rho^3; every step has new values of A on the same pattern. Finest matrix and
prolongations make the hierarchy, coarse matrices follow as R A P, and `update` takes the new values in.

    python topology.py [--cells 24 12 12] [--steps 20] [--volume 0.3] [--backend cuda]
"""
import argparse
import time

import numpy as np
import scipy.sparse as sp

import cascademg


def element_stiffness(nu=0.3):
    """24 x 24 stiffness of the unit cube, E = 1, eight Gauss points, corners x fastest."""
    C = np.zeros((6, 6))
    C[:3, :3] = nu
    C[np.arange(3), np.arange(3)] = 1 - nu
    C[np.arange(3, 6), np.arange(3, 6)] = (1 - 2 * nu) / 2
    C /= (1 + nu) * (1 - 2 * nu)
    corners = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)])
    K = np.zeros((24, 24))
    for point in (corners - 0.5) / np.sqrt(3) + 0.5:
        shape = np.where(corners == 1, point, 1 - point)
        sign = np.where(corners == 1, 1.0, -1.0)
        gradient = np.stack([sign[:, d] * np.delete(shape, d, axis=1).prod(axis=1) for d in range(3)], axis=1)
        B = np.zeros((6, 24))
        for a, (gx, gy, gz) in enumerate(gradient):
            B[:, 3 * a:3 * a + 3] = [[gx, 0, 0], [0, gy, 0], [0, 0, gz], [gy, gx, 0], [0, gz, gy], [gz, 0, gx]]
        K += B.T @ C @ B / 8
    return K


def nodes_of(cells):
    nx, ny, nz = cells
    index = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nz + 1, ny + 1, nx + 1)
    parts = [index[k:k + nz, j:j + ny, i:i + nx].ravel() for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    return np.stack(parts, axis=1)


def free_numbers(cells):
    """Numbers of the unknowns, -1 on the clamped side x = 0."""
    nx, ny, nz = cells
    x = np.tile(np.arange(nx + 1), (ny + 1) * (nz + 1))
    free = np.repeat(x > 0, 3)
    number = -np.ones(len(free), dtype=np.int64)
    number[free] = np.arange(free.sum())
    return number


def interpolation(cells):
    """Trilinear interpolation from half as many cells along each axis, clamped unknowns taken out."""
    axes = []
    for n in cells:
        P = sp.lil_matrix((n + 1, n // 2 + 1))
        for j in range(n // 2 + 1):
            P[2 * j, j] = 1.0
            for i in (2 * j - 1, 2 * j + 1):
                if 0 <= i <= n:
                    P[i, j] = 0.5
        axes.append(P.tocsr())
    P = sp.kron(sp.kron(sp.kron(axes[2], axes[1]), axes[0]), sp.identity(3)).tocsr()
    fine, coarse = free_numbers(cells) >= 0, free_numbers([n // 2 for n in cells]) >= 0
    return P[fine][:, coarse].tocsr()


class Cantilever:
    """Matrices of a clamped block of cells: values of A are S rho^3."""

    def __init__(self, cells):
        self.cells = cells
        self.K = element_stiffness()
        number = free_numbers(cells)
        dofs = (3 * nodes_of(cells)[:, :, None] + np.arange(3)).reshape(-1, 24)
        self.dofs = number[dofs]
        n = int(number.max()) + 1
        rows, cols = np.repeat(self.dofs, 24, axis=1).ravel(), np.tile(self.dofs, (1, 24)).ravel()
        inside = (rows >= 0) & (cols >= 0)
        self.pattern = sp.coo_matrix((np.ones(inside.sum()), (rows[inside], cols[inside])), shape=(n, n)).tocsr()
        self.pattern.sort_indices()
        key = np.repeat(np.arange(n), np.diff(self.pattern.indptr)) * n + self.pattern.indices
        place = np.searchsorted(key, rows[inside] * n + cols[inside])
        owner = np.repeat(np.arange(len(self.dofs)), 576)[inside]
        self.S = sp.coo_matrix((np.tile(self.K.ravel(), len(self.dofs))[inside], (place, owner)),
                               shape=(self.pattern.nnz, len(self.dofs))).tocsr()
        self.b = np.zeros(n)
        nx, ny, nz = cells
        edge = [(0 * (ny + 1) + j) * (nx + 1) + nx for j in range(ny + 1)]  # lower edge of the free end
        self.b[number[3 * np.array(edge) + 2]] = -1.0 / len(edge)
        self.transfers = []
        while min(cells) >= 4 and all(c % 2 == 0 for c in cells):
            self.transfers.append(interpolation(cells))
            cells = [c // 2 for c in cells]

    def energies(self, u):
        """u_e^T K u_e a cell."""
        padded = np.append(u, 0.0)
        ue = padded[np.where(self.dofs >= 0, self.dofs, len(u))]
        return np.einsum("ei,ij,ej->e", ue, self.K, ue)


def cone_filter(cells, radius=1.5):
    """Weights of the neighbours within a radius, rows adding up to 1."""
    centres = np.stack(np.meshgrid(*[np.arange(c) for c in cells[::-1]], indexing="ij"), axis=-1).reshape(-1, 3)
    from scipy.spatial import cKDTree
    tree = cKDTree(centres)
    near = tree.sparse_distance_matrix(tree, radius, output_type="coo_matrix")
    H = sp.coo_matrix((np.maximum(0, radius - near.data), (near.row, near.col)), shape=near.shape).tocsr()
    H += sp.identity(len(centres)) * (radius if near.diagonal().max(initial=0) == 0 else 0)
    return sp.diags(1 / np.asarray(H.sum(axis=1)).ravel()) @ H


def optimise(cells=(24, 12, 12), steps=20, volume=0.3, smallest=1e-3, report=print, backend="cpu", **options):
    problem = Cantilever(list(cells))
    H = cone_filter(cells)
    rho = np.full(len(problem.dofs), volume)
    problem.pattern.data = problem.S @ rho**3
    hierarchy = cascademg.Hierarchy(problem.pattern, problem.transfers, block_size=3, backend=backend)
    solver = hierarchy.solver(**{"rtol": 1e-6, "max_it": 200, "keep_map": True, **options})
    u, history = np.zeros(len(problem.b)), []
    for step in range(steps):
        start = time.perf_counter()
        physical = np.maximum(H @ rho, smallest)
        solver.update(problem.S @ physical**3)
        u, info = solver.solve(problem.b, x0=u, return_info=True)
        energy = problem.energies(u)
        compliance = float(physical**3 @ energy)
        gradient = H.T @ (-3 * physical**2 * energy)
        low, high = 0.0, 1e9
        while (high - low) > 1e-6 * (high + low):  # optimality criteria with bisection for the multiplier
            middle = 0.5 * (low + high)
            trial = rho * np.sqrt(np.maximum(-gradient, 0) / middle)
            trial = np.clip(np.clip(trial, rho - 0.2, rho + 0.2), 0.0, 1.0)
            low, high = (middle, high) if trial.mean() > volume else (low, middle)
        rho = trial
        history.append(compliance)
        report(f"step {step + 1:3d}: compliance {compliance:10.4f}, volume {rho.mean():.3f}, {info.iterations:3d} "
               f"iterations, {time.perf_counter() - start:.3f} s")
    return history, rho, problem


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs=3, default=[24, 12, 12])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--volume", type=float, default=0.3)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    arguments = parser.parse_args()
    optimise(arguments.cells, arguments.steps, arguments.volume, backend=arguments.backend)
