import numpy as np
import pytest

import cascademg

pyamg = pytest.importorskip("pyamg")
JACOBI = ("jacobi", {"omega": 4.0 / 3.0, "iterations": 1})


def gallery():
    yield "poisson 2D", pyamg.gallery.poisson((60, 60), format="csr"), None
    yield "poisson 3D", pyamg.gallery.poisson((15, 15, 15), format="csr"), None
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.1, theta=np.pi / 6, type="FD")
    yield "anisotropic", pyamg.gallery.stencil_grid(stencil, (50, 50), format="csr"), None
    A, B = pyamg.gallery.linear_elasticity((20, 20), format="bsr")
    yield "elasticity", A, B


@pytest.mark.parametrize("name,A,B", list(gallery()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("kind", ["smoothed_aggregation", "ruge_stuben"])
def test_iterations_of_pyamg(name, A, B, kind):
    if kind == "ruge_stuben" and B is not None:
        pytest.skip("scalar problems only")
    np.random.seed(3)
    options = {"max_coarse": 50, "presmoother": JACOBI, "postsmoother": JACOBI}
    ml = (pyamg.smoothed_aggregation_solver(A, B=B, **options) if kind == "smoothed_aggregation"
          else pyamg.ruge_stuben_solver(A.tocsr(), **options))
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    history = []
    ml.solve(b, tol=1e-8, accel="cg", maxiter=200, residuals=history)
    # PyAMG's Jacobi divides omega by its estimate of the spectral radius of D^-1 A: omega=auto is 4 / (3 lambda)
    solver = cascademg.from_pyamg(ml).solver(smoother="jacobi:omega=auto", krylov="cg", max_it=200, rtol=1e-8)
    x, info = solver.solve(b, return_info=True)
    assert info.converged
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    # PyAMG's iteration stops on the preconditioned norm in CG; count to the same true residual
    x_py, count = np.zeros_like(b), None
    for k in range(1, 60):
        x_py = ml.solve(b, tol=1e-30, accel="cg", maxiter=k)
        if np.linalg.norm(b - A @ x_py) <= 1e-8 * np.linalg.norm(b):
            count = k
            break
    assert count is not None and abs(info.iterations - count) <= 1
