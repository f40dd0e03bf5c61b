"""Topology optimisation by SIMP (Bendsoe and Sigmund 2003): the stiffest cantilever of a given volume.

A density a cell scales Young's modulus by rho^3, so every step has new values of A on the same pattern. Coarse matrices
are P^T A P. The values of every level are linear in the moduli of the cells around a node, and in the same way for all
nodes: one product of two dense arrays a level, which NumPy forms on the CPU and CuPy on the GPU, where nothing but the
compliance leaves the device.

    python topology.py [--cells 24 12 12] [--steps 20] [--volume 0.3] [--backend cuda]
"""
import argparse
import itertools
import time

import numpy as np

import cascademg

CORNERS = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)])


def element_stiffness(nu=0.3):
    """24 x 24 stiffness of the unit cube, E = 1, eight Gauss points, corners x fastest."""
    C = np.zeros((6, 6))
    C[:3, :3] = nu
    C[np.arange(3), np.arange(3)] = 1 - nu
    C[np.arange(3, 6), np.arange(3, 6)] = (1 - 2 * nu) / 2
    C /= (1 + nu) * (1 - 2 * nu)
    K = np.zeros((24, 24))
    for point in (CORNERS - 0.5) / np.sqrt(3) + 0.5:
        shape = np.where(CORNERS == 1, point, 1 - point)
        sign = np.where(CORNERS == 1, 1.0, -1.0)
        gradient = np.stack([sign[:, d] * np.delete(shape, d, axis=1).prod(axis=1) for d in range(3)], axis=1)
        B = np.zeros((6, 24))
        for a, (gx, gy, gz) in enumerate(gradient):
            B[:, 3 * a:3 * a + 3] = [[gx, 0, 0], [0, gy, 0], [0, 0, gz], [gy, gx, 0], [0, gz, gy], [gz, 0, gx]]
        K += B.T @ C @ B / 8
    return K


def child_interpolation():
    """From the corners of a cube to those of its eight halves: 8 x 24 x 24."""
    found = []
    for child in CORNERS:
        at = (child + CORNERS) / 2  # the child's corners in the cube
        weight = np.where(CORNERS[None] == 1, at[:, None], 1 - at[:, None]).prod(axis=2)
        found.append(np.kron(weight, np.eye(3)))
    return np.stack(found)


class Grid:
    """Unknowns of nx x ny x nz cells, three a node, the nodes of the side x = 0 left out as clamped; x runs fastest.

    A row has an entry for three unknowns of each of the 27 nodes around its own, those that exist: `kept` are their
    places in an array of shape (nodes, 3, 27, 3)."""

    def __init__(self, xp, cells):
        self.xp, self.cells = xp, tuple(cells)
        nx, ny, nz = cells
        self.nodes = (nx, ny + 1, nz + 1)
        self.rows = 3 * int(np.prod(self.nodes))
        x, y, z = ((xp.arange(n)[:, None] + xp.arange(-1, 2) >= 0) & (xp.arange(n)[:, None] + xp.arange(-1, 2) < n)
                   for n in self.nodes)
        near = (z[:, None, None, :, None, None] & y[:, None, None, :, None] & x[:, None, None, :]).reshape(-1, 27)
        self.indptr = xp.concatenate([xp.zeros(1, dtype=np.int64), xp.cumsum(xp.repeat(3 * near.sum(axis=1), 3))])
        self.nnz = int(self.indptr[-1])
        self.kept = xp.flatnonzero(xp.broadcast_to(near[:, None, :, None], (self.rows // 3, 3, 27, 3)))

    def number(self, i, j, k):
        """Node numbers on the product of three ranges."""
        nx, ny, _ = self.nodes
        return ((k[:, None, None] * ny + j[:, None]) * nx + i).ravel()

    def pattern(self):
        """Column numbers of A."""
        xp, (nx, ny, _) = self.xp, self.nodes
        step = xp.arange(-1, 2)
        other = xp.arange(self.rows // 3)[:, None] + ((step[:, None, None] * ny + step[:, None]) * nx + step).ravel()
        columns = (3 * other[:, None, :, None] + xp.arange(3)).astype(np.int32)
        return xp.broadcast_to(columns, (len(other), 3, 27, 3)).ravel()[self.kept]

    def values(self, moduli, weights):
        """Values of A, in CSR order, from m moduli a cell, (cells, m), and what each adds to a row as the modulus of one
        of the eight cells at a node (`weights_of`)."""
        xp, (nx, ny, nz) = self.xp, self.cells
        padded = xp.pad(moduli.reshape(nz, ny, nx, -1), ((1, 1), (1, 1), (0, 1), (0, 0)))
        nodes_x, nodes_y, nodes_z = self.nodes
        around = xp.stack([padded[1 - k:1 - k + nodes_z, 1 - j:1 - j + nodes_y, 1 - i:1 - i + nodes_x]
                           for i, j, k in CORNERS], axis=3)
        return (around.reshape(self.rows // 3, -1) @ weights).ravel()[self.kept]

    def interpolation(self):
        """Trilinear interpolation from half as many cells, as (data, indices, indptr, shape)."""
        xp = self.xp
        coarse = (self.cells[0] // 2, self.cells[1] // 2 + 1, self.cells[2] // 2 + 1)
        axes = []
        for d, n in enumerate(self.nodes):
            i = xp.arange(n) + (1 if d == 0 else 0)  # number with the clamped node
            near = xp.stack([i // 2, i // 2 + 1], axis=1) - (1 if d == 0 else 0)
            weight = xp.where(i % 2 == 0, 1.0, 0.5)[:, None] * xp.stack([xp.ones(n), i % 2], axis=1)
            axes.append((near, xp.where(near >= 0, weight, 0.0)))
        (i, wi), (j, wj), (k, wk) = axes
        shape = (*self.nodes[::-1], 2, 2, 2)
        weight = xp.broadcast_to(wk[:, None, None, :, None, None] * wj[:, None, None, :, None] * wi[:, None, None, :], shape)
        node = xp.broadcast_to((k[:, None, None, :, None, None] * coarse[1] + j[:, None, None, :, None]) * coarse[0]
                               + i[:, None, None, :], shape)
        weight, node = (xp.repeat(part.reshape(-1, 1, 8), 3, axis=1) for part in (weight, node))
        column = 3 * node + xp.arange(3)[:, None]
        used = weight > 0
        indptr = xp.concatenate([xp.zeros(1, dtype=np.int64), xp.cumsum(used.sum(axis=2).ravel())])
        return weight[used], column[used].astype(np.int32), indptr, (self.rows, 3 * int(np.prod(coarse)))

    def coarser(self):
        """The grid of half as many cells, None where that is not one."""
        if any(c % 2 or c < 4 for c in self.cells):
            return None
        return Grid(self.xp, [c // 2 for c in self.cells])


def weights_of(cells):
    """What m cell matrices, (m, 24, 24), add to the rows of a node that is each of their corners: (8 m, 3 * 27 * 3)."""
    weights = np.zeros((8, len(cells), 3, 27, 3))
    for (a, at), (b, other) in itertools.product(enumerate(CORNERS), repeat=2):
        weights[a, :, :, (other - at + 1) @ (1, 3, 9)] = cells[:, 3 * a:3 * a + 3, 3 * b:3 * b + 3]
    return weights.reshape(-1, 243)


class Cantilever:
    """A clamped block of cells with a load on the lower edge of its free end; its levels and their values."""

    def __init__(self, cells, xp=np):
        self.xp, self.K = xp, xp.asarray(element_stiffness())
        self.grids = [Grid(xp, cells)]
        while (coarser := self.grids[-1].coarser()) is not None:
            self.grids.append(coarser)
        # a cell has the matrices of its cells of level 0, each with its modulus; from 576 on one of 24 x 24 numbers
        parts, self.levels = element_stiffness()[None], []
        for grid in self.grids:
            summed = None
            if self.levels:
                parts = np.concatenate([T.T @ parts @ T for T in child_interpolation()])
            if len(parts) > 24 * 24:
                summed, parts = xp.asarray(parts.reshape(-1, 24 * 24)), np.eye(24 * 24).reshape(-1, 24, 24)
            self.levels.append((grid, summed, xp.asarray(weights_of(parts))))
        fine = self.grids[0]
        self.b = xp.zeros(fine.rows)
        nx, ny, _ = fine.nodes
        edge = fine.number(xp.asarray([nx - 1]), xp.arange(ny), xp.asarray([0]))
        self.b[3 * edge + 2] = -1.0 / ny
        i, j, k = (xp.arange(n) for n in fine.cells)
        dofs = []
        for corner in CORNERS:
            node = fine.number(i + int(corner[0]) - 1, j + int(corner[1]), k + int(corner[2]))
            clamped = xp.broadcast_to(i + int(corner[0]) == 0, fine.cells[::-1]).ravel()
            dofs.append(xp.where(clamped[:, None], fine.rows, 3 * node[:, None] + xp.arange(3)))
        self.dofs = xp.concatenate(dofs, axis=1)  # the number of rows for a clamped one

    def values(self, modulus):
        """Values of A on all levels."""
        found, moduli = [], modulus
        for grid, summed, weights in self.levels:
            if found:
                nx, ny, nz = grid.cells
                halves = moduli.reshape(nz, 2, ny, 2, nx, 2, -1)
                moduli = self.xp.moveaxis(halves, (1, 3, 5), (3, 4, 5)).reshape(nx * ny * nz, -1)
            moduli = moduli if summed is None else moduli @ summed
            found.append(grid.values(moduli, weights))
        return found

    def energies(self, u):
        """u_e^T K u_e a cell."""
        ue = self.xp.append(u, 0.0)[self.dofs]
        return ((ue @ self.K) * ue).sum(axis=1)


class ConeFilter:
    """Means over the neighbours within a radius, nearer ones weighing more."""

    def __init__(self, cells, radius=1.5, xp=np):
        reach = int(np.ceil(radius)) - 1
        self.shape, self.reach, self.xp = tuple(cells[::-1]), reach, xp
        self.stencil = []
        for d in itertools.product(range(-reach, reach + 1), repeat=3):
            weight = radius - np.linalg.norm(d)
            if weight > 0:
                self.stencil.append((weight, tuple(slice(reach + s, reach + s + n) for s, n in zip(d, self.shape))))
        self.total = self._sum(xp.ones(self.shape))

    def _sum(self, a):
        padded = self.xp.pad(a, self.reach)
        return sum(weight * padded[part] for weight, part in self.stencil)

    def __call__(self, rho):
        return (self._sum(rho.reshape(self.shape)) / self.total).ravel()

    def transpose(self, g):
        return self._sum(g.reshape(self.shape) / self.total).ravel()


def advance(xp, rho, gradient, volume):
    """Optimality criteria with bisection for the multiplier."""
    scaled = rho * xp.sqrt(xp.maximum(-gradient, 0))
    least, most = xp.maximum(rho - 0.2, 0.0), xp.minimum(rho + 0.2, 1.0)
    low, high = 0.0, 1e9
    while (high - low) > 1e-6 * (high + low):
        middle = 0.5 * (low + high)
        trial = xp.minimum(xp.maximum(scaled / np.sqrt(middle), least), most)
        low, high = (middle, high) if float(trial.mean()) > volume else (low, middle)
    return trial


def clock(xp):
    if xp is not np:
        xp.cuda.Device().synchronize()
    return time.perf_counter()


def optimise(cells=(24, 12, 12), steps=20, volume=0.3, smallest=1e-3, report=print, backend="cpu", **options):
    """Compliances of the steps, the densities and the problem. `report` gets a dictionary a step, with the seconds of
    its parts."""
    xp = np
    if backend == "cuda":
        import cupy as xp
    problem = Cantilever(list(cells), xp)
    mean = ConeFilter(cells, xp=xp)
    rho = xp.full(int(np.prod(cells)), volume)
    levels = zip(problem.grids, problem.values(mean(rho)**3))
    A = [(values, grid.pattern(), grid.indptr, (grid.rows, grid.rows)) for grid, values in levels]
    P = [grid.interpolation() for grid in problem.grids[:-1]]
    hierarchy = cascademg.Hierarchy(A, P, block_size=3, backend=backend)
    solver = hierarchy.solver(**{"rtol": 1e-6, "max_it": 200, "keep_map": True, "coarse_limit": 2000, **options})
    u, history = xp.zeros(len(problem.b)), []
    for step in range(steps):
        times = [clock(xp)]
        physical = xp.maximum(mean(rho), smallest)
        values = problem.values(physical**3)
        times.append(clock(xp))
        for level, new in enumerate(values):
            hierarchy.update(new, level=level)
        solver.refresh()
        times.append(clock(xp))
        u, info = solver.solve(problem.b, x0=u, return_info=True)
        times.append(clock(xp))
        energy = problem.energies(u)
        compliance = float(physical**3 @ energy)
        rho = advance(xp, rho, mean.transpose(-3 * physical**2 * energy), volume)
        times.append(clock(xp))
        history.append(compliance)
        parts = dict(zip(("values", "refresh", "solve", "densities"), (float(t) for t in np.diff(times))))
        report({"step": step + 1, "compliance": compliance, "volume": float(rho.mean()), "iterations": info.iterations,
                "converged": info.converged, **parts})
    return history, rho, problem


def line(told):
    parts = ", ".join(f"{name} {1e3 * told[name]:.1f}" for name in ("values", "refresh", "solve", "densities"))
    print(f"step {told['step']:3d}: compliance {told['compliance']:10.4f}, volume {told['volume']:.3f}, "
          f"{told['iterations']:3d} iterations; ms: {parts}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs=3, default=[24, 12, 12])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--volume", type=float, default=0.3)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    arguments = parser.parse_args()
    optimise(arguments.cells, arguments.steps, arguments.volume, report=line, backend=arguments.backend)
