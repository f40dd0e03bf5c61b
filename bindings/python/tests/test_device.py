"""Solves on a device, from arrays in host memory and from those of CuPy, PyTorch and JAX in the device's."""
import numpy as np
import pytest

import cascademg
from cascademg._library import lib
from conftest import levels

pytestmark = pytest.mark.skipif("cuda" not in cascademg.backends() or lib().cmg_backend_devices(1) == 0, reason="no device")


@pytest.fixture
def device(rng):
    """(A, solver, b) on the device."""
    A, P = levels(32)
    return A[0], cascademg.Hierarchy(A, P, backend="cuda").solver(rtol=1e-10), rng.standard_normal(A[0].shape[0])


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def test_host_arrays_one_call_after_the_other(device, rng):
    A, solver, b = device
    for one in (b, 2 * b, rng.standard_normal((A.shape[0], 3)), b):  # vectors of another shape between
        out = np.empty_like(one)
        assert solver.solve(one, out=out) is out and residual(A, out, one) <= 1e-9
    x, info = solver.solve(b, x0=solver.solve(b), return_info=True)
    assert info.iterations == 0 and residual(A, x, b) <= 1e-9
    _, from_zero = solver.solve(b, return_info=True)  # the guess before is not one of this solve
    assert from_zero.iterations > 0 and from_zero.residuals[0] == pytest.approx(np.linalg.norm(b))


def test_a_failed_call_leaves_the_next_one_right(device):
    A, solver, b = device
    expected = solver.solve(b)

    def fail(*_):
        raise RuntimeError("from the callback")
    with pytest.raises(RuntimeError, match="from the callback"):
        solver.solve(-b, callback=fail)
    assert np.array_equal(solver.solve(b), expected)


def test_precondition_of_host_arrays(device, rng):
    A, solver, b = device
    on_host = cascademg.Hierarchy(*levels(32)).solver()
    for r in (b, rng.standard_normal((A.shape[0], 2)), -b):
        z = on_host.precondition(r)
        assert np.abs(solver.precondition(r) - z).max() <= 1e-12 * np.abs(z).max()


def test_memory_for_the_solution_is_of_float64(device):
    A, solver, b = device
    for wrong in (np.empty(len(b), np.float32), np.empty(len(b) - 1), np.empty(2 * len(b))[::2]):
        with pytest.raises(cascademg.ArgumentError, match="^x"):
            solver.solve(b, out=wrong)


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_arrays_in_device_memory(device, rng, library):
    A, solver, b = device
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
        if module.default_backend() != "gpu":
            pytest.skip("JAX has no GPU")
        from cascademg.jax import solve
        x = module.jit(lambda r: solve(solver, r))(module.device_put(b, module.devices("gpu")[0]))
        assert residual(A, np.asarray(x), b) <= 1e-9
        return
    if library == "torch" and not module.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    put, host = ((lambda a: module.tensor(a, device="cuda")), (lambda a: a.cpu().numpy())) if library == "torch" else (
        module.asarray, module.asnumpy)
    on_device, out = put(b), put(np.zeros_like(b))
    assert solver.solve(on_device, out=out) is out and residual(A, host(out), b) <= 1e-9
    assert type(solver.solve(on_device)) is type(on_device)
    assert solver.solve(on_device, x0=out, return_info=True)[1].iterations == 0
    block = rng.standard_normal((A.shape[0], 3))
    assert residual(A, host(solver.solve(put(block))), block) <= 1e-9
    for wrong in (on_device[::2], put(b.astype(np.float32)), put(b[1:])):
        with pytest.raises(cascademg.ArgumentError, match="^b"):
            solver.solve(wrong)
    with pytest.raises(cascademg.ArgumentError, match="on the CPU"):
        cascademg.Hierarchy(*levels(32)).solver().solve(on_device)
