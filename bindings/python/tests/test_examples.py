"""The examples: their matrices against SciPy, their gradients against finite differences, their progress."""
import pathlib
import sys

import numpy as np
import pytest
import scipy.sparse.linalg as spla

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


def test_topology():
    import topology
    history, rho, problem = topology.optimise((8, 4, 4), 6, report=lambda line: None)
    assert history[-1] < 0.8 * history[0] and rho.mean() == pytest.approx(0.3, abs=1e-3)
    A = problem.pattern.copy()
    A.data = problem.S @ np.full(len(rho), 0.3) ** 3
    assert abs(A - A.T).max() < 1e-14
    u = spla.spsolve(A.tocsc(), problem.b)
    # the first step of the optimisation has these densities, filtered
    H = topology.cone_filter((8, 4, 4))
    assert np.allclose(H @ np.ones(len(rho)), 1)
    assert history[0] == pytest.approx(problem.b @ u, rel=1e-4)
    eigenvalues = np.linalg.eigvalsh(topology.element_stiffness())
    assert np.sum(np.abs(eigenvalues) < 1e-12) == 6 and eigenvalues.min() > -1e-12
