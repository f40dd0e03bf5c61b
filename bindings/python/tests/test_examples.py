"""The examples: their matrices against SciPy, their gradients against finite differences, their progress."""
import pathlib
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import cascademg

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))


def test_heat_inversion():
    import heat_inversion
    start, end, error, misfit = heat_inversion.invert(16, 40, report=lambda line: None)
    assert end < 1e-3 * start and error < 0.4
    rng = np.random.default_rng(2)
    at, direction = 0.1 * rng.standard_normal(256), rng.standard_normal(256)
    step = 1e-5
    slope = (misfit(at + step * direction)[0] - misfit(at - step * direction)[0]) / (2 * step)
    assert misfit(at)[1] @ direction == pytest.approx(slope, rel=1e-6)


def test_matrices_of_heat_inversion():
    import heat_inversion
    n = 8
    assembly, k = heat_inversion.Assembly(n), np.random.default_rng(3).uniform(0.5, 2, 64)
    data, cols, indptr, shape = assembly.matrix(k)
    A = sp.csr_matrix((data, cols, indptr), shape=shape)
    full = sp.lil_matrix(((n + 1)**2, (n + 1)**2))
    for j, i in np.ndindex(n, n):
        corners = [j * (n + 1) + i, j * (n + 1) + i + 1, (j + 1) * (n + 1) + i + 1, (j + 1) * (n + 1) + i]
        full[np.ix_(corners, corners)] += k[j * n + i] * heat_inversion.KE
    inner = np.arange((n + 1)**2).reshape(n + 1, n + 1)[1:-1, 1:-1].ravel()
    assert abs(A - full.tocsr()[inner][:, inner]).max() < 1e-14
    g = np.random.default_rng(4).standard_normal(len(data))
    assert g @ assembly.values(k) == pytest.approx(assembly.transposed(g) @ k)
    data, cols, indptr, shape = heat_inversion.interpolation(n)
    P = sp.csr_matrix((data, cols, indptr), shape=shape).toarray()
    one = np.array([[0.5, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [0, 0, 0.5]])
    assert np.array_equal(P, np.kron(one, one))


@pytest.mark.parametrize("backend", cascademg.backends())
def test_heat_inversion_by_autograd(backend):
    torch = pytest.importorskip("torch")
    if backend == "cuda" and not torch.cuda.is_available():
        pytest.skip("no device")
    import heat_inversion
    start, end, error, misfit = heat_inversion.invert_torch(16, 40, report=lambda line: None, backend=backend)
    assert end < 1e-3 * start and error < 0.4
    at = (0.1 * torch.randn(256, dtype=torch.float64)).to(backend).requires_grad_()
    direction = torch.randn(256, dtype=torch.float64).to(backend)
    (gradient,) = torch.autograd.grad(misfit(at), at)
    step = 1e-5
    slope = float(misfit(at.detach() + step * direction) - misfit(at.detach() - step * direction)) / (2 * step)
    assert float(gradient @ direction) == pytest.approx(slope, rel=1e-6)


def by_cells(K, dofs, n):
    """Sum of cell matrices with SciPy; numbers outside are left out."""
    rows, cols = np.repeat(dofs, 24, axis=1).ravel(), np.tile(dofs, (1, 24)).ravel()
    inside = (rows < n) & (cols < n)
    return sp.coo_matrix((K.ravel()[inside], (rows[inside], cols[inside])), shape=(n, n)).tocsr()


def test_topology():
    import topology
    cells, told = (8, 4, 4), []
    history, rho, problem = topology.optimise(cells, 6, report=told.append)
    assert history[-1] < 0.8 * history[0] and rho.mean() == pytest.approx(0.3, abs=1e-3)
    assert all(one["converged"] and one["iterations"] < 30 for one in told)
    # the first step has equal densities
    grid, n = problem.grids[0], problem.grids[0].rows
    A = by_cells(0.3**3 * np.tile(problem.K, (len(problem.dofs), 1, 1)), problem.dofs, n)
    assert history[0] == pytest.approx(problem.b @ spla.spsolve(A.tocsc(), problem.b), rel=1e-4)
    eigenvalues = np.linalg.eigvalsh(topology.element_stiffness())
    assert np.sum(np.abs(eigenvalues) < 1e-12) == 6 and eigenvalues.min() > -1e-12


def test_levels_of_topology():
    """Values summed over cells against SciPy's, and P^T A P on the levels below."""
    import topology
    problem = topology.Cantilever([8, 4, 12])
    modulus = np.random.default_rng(4).uniform(1e-3, 1, 8 * 4 * 12)
    matrices = [sp.csr_matrix((v, g.pattern(), g.indptr), shape=(g.rows, g.rows))
                for v, g in zip(problem.values(modulus), problem.grids)]
    assert len(matrices) == 2 and all(A.has_sorted_indices for A in matrices)
    expected = by_cells(modulus[:, None, None] * problem.K, problem.dofs, problem.grids[0].rows)
    assert abs(matrices[0] - expected).max() < 1e-13
    data, indices, indptr, shape = problem.grids[0].interpolation()
    P = sp.csr_matrix((data, indices, indptr), shape=shape)
    assert abs(matrices[1] - P.T @ expected @ P).max() < 1e-13
    v = np.random.default_rng(5).standard_normal((problem.grids[0].rows, 2))
    energies = problem.energies(v[:, 0])
    assert modulus @ energies == pytest.approx(v[:, 0] @ expected @ v[:, 0])


def test_filter_of_topology():
    import topology
    cells, radius = (5, 4, 3), 2.3
    places = np.stack(np.meshgrid(*[np.arange(c) for c in cells[::-1]], indexing="ij"), axis=-1).reshape(-1, 3)
    near = np.maximum(0, radius - np.linalg.norm(places[:, None] - places[None], axis=2))
    H, rng = near / near.sum(axis=1, keepdims=True), np.random.default_rng(6)
    mean, rho = topology.ConeFilter(cells, radius), rng.random(60)
    assert np.allclose(mean(rho), H @ rho) and np.allclose(mean.transpose(rho), H.T @ rho)
