"""Gradients of solves against finite differences."""
import gc
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import cascademg
from cascademg._ffi import ffi
from conftest import levels


def make(unsymmetric=False):
    A, P = levels(16)
    if unsymmetric:
        n = A[0].shape[0]
        wind = sp.diags([0.3 * np.ones(n - 1), -0.3 * np.ones(n - 1)], [1, -1]).tocsr()
        A = [(A[0] + wind).tocsr()]
        A[0].sort_indices()  # older versions of SciPy do not; `spsolve` would, in place
        for p in P:
            A.append((p.T @ A[-1] @ p).tocsr())
    options = {"rtol": 1e-13, "krylov": "none" if unsymmetric else "cg", "pre": 2, "post": 2, "smoother": "jacobi"}
    return A, cascademg.Hierarchy([a.copy() for a in A], P).solver(**options)


def differences(A, b, weight, entries, step=1e-5):
    import scipy.sparse.linalg as spla
    found = []
    for k in entries:
        values = []
        for sign in (1, -1):
            changed = A.copy()
            changed.data = A.data.copy()
            changed.data[k] += sign * step
            values.append(weight @ spla.spsolve(changed.tocsc(), b))
        found.append((values[0] - values[1]) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_torch(unsymmetric, rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make(unsymmetric)
    n = A[0].shape[0]
    b = torch.tensor(rng.standard_normal(n), requires_grad=True)
    values = torch.tensor(A[0].data.copy(), requires_grad=True)
    weight = rng.standard_normal(n)
    (torch.tensor(weight) @ solve(solver, b, values)).backward()
    import scipy.sparse.linalg as spla
    exact = spla.spsolve(A[0].T.tocsc(), weight)
    assert np.linalg.norm(b.grad.numpy() - exact) <= 1e-8 * np.linalg.norm(exact)
    entries = rng.choice(A[0].nnz, 8, replace=False)
    expected = differences(A[0], b.detach().numpy(), weight, entries)
    assert np.allclose(values.grad.numpy()[entries], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_torch_batches(unsymmetric, rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make(unsymmetric)
    many, weights = rng.standard_normal((2, 3, A[0].shape[0]))
    batch, values = torch.tensor(many, requires_grad=True), torch.tensor(A[0].data.copy(), requires_grad=True)
    (torch.tensor(weights) * solve(solver, batch, values)).sum().backward()
    check_batch(A[0], many, weights, batch.grad.numpy(), values.grad.numpy(), rng)


def check_batch(A, many, weights, by_b, by_values, rng):
    """Gradients of the sum of weights over all solutions."""
    exact = np.linalg.solve(A.toarray().T, weights.T).T
    assert np.abs(by_b - exact).max() <= 1e-8 * np.abs(exact).max()
    entries = rng.choice(A.nnz, 5, replace=False)
    expected = sum(differences(A, b, weight, entries) for b, weight in zip(many, weights))
    assert np.abs(by_values[entries] - expected).max() <= 1e-6 * np.abs(expected).max()


def test_torch_distinguishes_new_values_at_an_old_address(rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make()
    b, values = torch.tensor(rng.standard_normal(A[0].shape[0])), torch.tensor(A[0].data.copy())
    expected = solve(solver, b, values)
    for factor in (2.0, 4.0, 8.0, 16.0):  # each result is freed before the next is made
        assert torch.allclose(factor * solve(solver, b, factor * values), expected, rtol=1e-9, atol=0)
    values.mul_(2)  # in place
    assert torch.allclose(2 * solve(solver, b, values), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_torch_forward_mode_second_derivatives_and_vmap(unsymmetric, rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make(unsymmetric)
    n, values = A[0].shape[0], torch.tensor(A[0].data)
    rows, cols = torch.tensor(np.repeat(np.arange(n), np.diff(A[0].indptr))), torch.tensor(A[0].indices.astype(np.int64))
    b, db, dv = (torch.tensor(rng.standard_normal(k)) for k in (n, n, len(values)))

    def dense(b, values):
        return torch.linalg.solve(torch.zeros(n, n, dtype=torch.float64).index_put((rows, cols), values), b)

    def ours(b, values):
        return solve(solver, b, values)

    def near(found, expected):
        assert found.shape == expected.shape and (found - expected).abs().max() <= 1e-7 * expected.abs().max()

    def bent(function):
        return lambda b, v: (function(b, v)**2).sum()
    for f, g in zip(torch.func.jvp(ours, (b, values), (db, dv)), torch.func.jvp(dense, (b, values), (db, dv))):
        near(f, g)
    for f, g in zip(*(torch.func.grad(bent(function), (0, 1))(b, values) for function in (ours, dense))):
        near(f, g)

    def again(function):  # backward twice
        v = values.clone().requires_grad_()
        (slope,) = torch.autograd.grad(bent(function)(b, v), v, create_graph=True)
        return torch.autograd.grad(slope @ dv, v)[0]
    near(again(ours), again(dense))
    many = torch.tensor(rng.standard_normal((3, n)))
    exact = torch.stack([dense(one, values) for one in many])
    near(torch.func.vmap(lambda b: solve(solver, b))(many), exact)
    near(torch.func.vmap(lambda b: solve(solver, b), in_dims=1)(many.T.contiguous()), exact)
    factors = torch.tensor([1.0, 2.0, 0.5])
    if not unsymmetric:  # cycles alone, as of the other one, do not converge with coarse matrices of other values
        near(torch.func.vmap(lambda f: ours(b, f * values))(factors.double()), torch.stack([dense(b, f * values) for f in factors]))
    slopes = torch.func.vmap(torch.func.grad(lambda b: bent(ours)(b, values)))(many)
    near(slopes, torch.stack([torch.func.grad(lambda b: bent(dense)(b, values))(one) for one in many]))


def test_torch_arrays_and_sparse_matrices(rng):
    torch = pytest.importorskip("torch")
    A, P = levels(16)
    b = rng.standard_normal(A[0].shape[0])
    expected = cascademg.Hierarchy(A[0], P).solver().solve(b)
    csr = torch.sparse_csr_tensor(torch.tensor(A[0].indptr), torch.tensor(A[0].indices), torch.tensor(A[0].data), A[0].shape)
    for matrix in (csr, csr.to_sparse_coo(), csr.to_dense()):
        solver = cascademg.Hierarchy(matrix, P).solver()
        x = solver.solve(torch.tensor(b))
        assert isinstance(x, torch.Tensor) and np.allclose(x.numpy(), expected, rtol=1e-7)
        solver.update(2 * csr)
        solver.update(torch.tensor(4 * A[0].data))
        assert np.allclose(4 * solver.solve(torch.tensor(b)).numpy(), expected, rtol=1e-7)
    with pytest.raises(TypeError, match="sparse matrix"):
        solver.solve(csr)


def test_torch_compile_leaves_a_solve_as_it_is(rng):
    torch = pytest.importorskip("torch")
    from cascademg.torch import solve
    A, solver = make()
    b, values = torch.tensor(rng.standard_normal(A[0].shape[0])), torch.tensor(A[0].data.copy(), requires_grad=True)

    def loss(values):
        return (solve(solver, 2 * b, values * 3) * b).sum() + values.sum()
    compiled = torch.compile(loss, backend="eager")
    (slope,) = torch.autograd.grad(compiled(values), values)
    (expected,) = torch.autograd.grad(loss(values), values)
    assert torch.allclose(slope, expected, rtol=1e-9) and torch.allclose(compiled(values), loss(values), rtol=1e-9)
    with pytest.raises(Exception, match="disable"):
        torch.compile(lambda b: solve(solver, 2 * b), backend="eager", fullgraph=True)(b)


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_device", jax.devices("cpu")[0])  # where the solvers of these tests are
    return jax


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_jax(unsymmetric, rng, jax):
    from cascademg.jax import solve
    A, solver = make(unsymmetric)
    n = A[0].shape[0]
    b, weight = rng.standard_normal(n), rng.standard_normal(n)
    loss = jax.jit(lambda b, values: weight @ solve(solver, b, values))
    by_b, by_values = jax.grad(loss, argnums=(0, 1))(b, A[0].data)
    import scipy.sparse.linalg as spla
    exact = spla.spsolve(A[0].T.tocsc(), weight)
    assert np.linalg.norm(by_b - exact) <= 1e-8 * np.linalg.norm(exact)
    entries = rng.choice(A[0].nnz, 8, replace=False)
    expected = differences(A[0], b, weight, entries)
    assert np.abs(np.asarray(by_values)[entries] - expected).max() <= 1e-6 * np.abs(expected).max()


def test_jax_maps(rng, jax):
    """Right-hand sides go together, matrices one after the other; gradients are mapped like solves."""
    from cascademg.jax import solve
    A, solver = make()
    n = A[0].shape[0]
    many, factors = rng.standard_normal((70, n)), np.array([1.0, 2.0, 0.5])
    exact = np.linalg.solve(A[0].toarray(), many.T).T
    mapped = jax.jit(jax.vmap(lambda c: solve(solver, c)))(many)
    assert np.abs(mapped - exact).max() <= 1e-9 * np.abs(exact).max()
    nested = jax.vmap(jax.vmap(lambda c: solve(solver, c)))(many[:6].reshape(2, 3, n))
    assert np.abs(nested.reshape(6, n) - exact[:6]).max() <= 1e-9 * np.abs(exact).max()
    values = factors[:, None] * A[0].data
    scaled = jax.vmap(lambda v: solve(solver, many[0], v))(values)
    assert np.abs(scaled - exact[0] / factors[:, None]).max() <= 1e-9 * np.abs(exact).max()
    slopes = jax.vmap(jax.grad(lambda v: solve(solver, many[0], v).sum()))(values)
    alone = [jax.grad(lambda v: solve(solver, many[0], v).sum())(v) for v in values]
    assert np.abs(slopes - np.stack(alone)).max() <= 1e-9 * np.abs(slopes).max()


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_jax_batches(unsymmetric, rng, jax):
    from cascademg.jax import solve
    A, solver = make(unsymmetric)
    many, weights = rng.standard_normal((2, 3, A[0].shape[0]))

    def loss(many, values):
        return (weights * jax.vmap(lambda b: solve(solver, b, values))(many)).sum()
    by_b, by_values = jax.jit(jax.grad(loss, argnums=(0, 1)))(many, A[0].data)
    check_batch(A[0], many, weights, np.asarray(by_b), np.asarray(by_values), rng)


def test_jax_arrays_are_used_in_place(rng, jax, monkeypatch):
    from cascademg.jax import solve
    A, solver = make()
    b, values = jax.numpy.asarray(rng.standard_normal(A[0].shape[0])), jax.numpy.asarray(A[0].data)
    x = jax.jit(lambda b: solve(solver, b))(b).block_until_ready()
    told, seen, original = solver._for_xla, [], type(solver)._solve_views
    assert told.calls == 1  # without Python
    assert [int(ffi.cast("intptr_t", p)) for p in (told.b, told.x)] == [b.unsafe_buffer_pointer(), x.unsafe_buffer_pointer()]
    jax.jit(jax.vmap(lambda b: solve(solver, b)))(jax.numpy.stack([b, b, b])).block_until_ready()
    assert told.calls == 2  # all columns in one
    monkeypatch.setattr(type(solver), "_solve_views",
                        lambda self, given, wanted: (seen.append((given.pointer, wanted.pointer)),
                                                     original(self, given, wanted))[1])
    x = jax.jit(lambda b: solve(solver, b, values))(b).block_until_ready()
    assert seen == [(b.unsafe_buffer_pointer(), x.unsafe_buffer_pointer())] and told.calls == 2


def test_jax_beside_python(rng, jax):
    from cascademg.jax import solve
    A, solver = make()
    b = rng.standard_normal(A[0].shape[0])
    compiled = jax.jit(lambda b: solve(solver, b))
    expected = np.asarray(compiled(b))
    with solver.context.lock:  # as in a call from this thread: the lock is not free
        assert np.array_equal(compiled(b), expected)
    wrong = []

    def work(call):
        for _ in range(50):
            if not np.array_equal(call(b), expected):
                wrong.append(call)
    threads = [threading.Thread(target=work, args=(call,)) for call in (compiled, solver.solve, compiled)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and np.array_equal(solver.solve(b), expected)


def test_jax_reports_what_went_wrong(rng, jax):
    from cascademg.jax import solve
    A, solver = make()
    b = rng.standard_normal(A[0].shape[0])
    short = solver.hierarchy.solver(max_it=1, rtol=1e-13, fallback=False)
    compiled = jax.jit(lambda b: solve(short, b))
    with pytest.warns(cascademg.ConvergenceWarning, match="after 1 iteration,"):
        compiled(b).block_until_ready()
    assert short._for_xla.calls == 1


def test_jax_calls_on_a_device_wait_for_its_stream(rng, jax, monkeypatch):
    """A call as XLA makes it on a GPU, with memory of the host."""
    from cascademg import _xla
    from cascademg.jax import _number
    from cascademg._library import lib
    A, solver = make()
    b, x, asked, waited = rng.standard_normal(A[0].shape[0]), np.empty(A[0].shape[0]), [], []
    number = _number(solver)
    solver._for_xla.device = 1
    xla, _ = _xla._api()

    @xla.callback("XLA_FFI_Error *(XLA_FFI_Stream_Get_Args *)")
    def get(arguments):
        asked.append((arguments.struct_size, int(xla.cast("intptr_t", arguments.ctx))))
        arguments.stream = xla.cast("void *", 77)
        return xla.NULL
    wait = ffi.callback("int(void *)", lambda stream: (waited.append(int(ffi.cast("intptr_t", stream))), 0)[1])
    monkeypatch.setattr(_xla._registered[0], "synchronize", wait)
    kept = [xla.new("int64_t[]", [len(b)]), xla.new("int64_t *", number)]
    buffers = [xla.new("XLA_FFI_Buffer *", {"dtype": 12, "rank": 1, "dims": kept[0], "data": xla.cast("void *", a.ctypes.data)})
               for a in (b, x)]
    scalar = xla.new("XLA_FFI_Scalar *", {"value": kept[1]})
    lists = [xla.new("void *[]", [entry]) for entry in (*buffers, scalar)]
    api = xla.new("XLA_FFI_Api *", {"XLA_FFI_Stream_Get": get})
    frame = xla.new("XLA_FFI_CallFrame *", {"stage": 3, "ctx": xla.cast("void *", 1234), "api": api})
    for part, name, entries in ((frame.args, "args", lists[0]), (frame.rets, "rets", lists[1]), (frame.attrs, "attrs", lists[2])):
        part.size = 1
        setattr(part, name, entries)
    assert lib().cmg_xla_on_device(ffi.cast("void *", int(xla.cast("intptr_t", frame)))) == ffi.NULL
    assert solver._for_xla.calls == 1 and np.linalg.norm(A[0] @ x - b) <= 1e-9 * np.linalg.norm(b)
    assert asked == [(xla.sizeof("XLA_FFI_Stream_Get_Args"), 1234)] and waited == [77]


def test_jax_finds_no_solver_that_is_gone(rng, jax):
    from cascademg.jax import _together
    A, solver = make()
    b = rng.standard_normal(A[0].shape[0])
    compiled = jax.jit(lambda b, s=solver: _together(s, False, b)[0]).lower(b).compile()
    assert np.linalg.norm(A[0] @ compiled(b) - b) <= 1e-9 * np.linalg.norm(b)
    gone = weakref.ref(solver)
    del solver
    jax.clear_caches()
    gc.collect()
    assert gone() is None
    with pytest.raises(Exception, match="is gone"):
        compiled(b).block_until_ready()


def test_jax_takes_values_once_for_solve_and_gradient(rng, jax, monkeypatch):
    from cascademg.jax import solve
    A, solver = make()
    b, taken, original = rng.standard_normal(A[0].shape[0]), [], type(solver).refresh
    monkeypatch.setattr(type(solver), "refresh", lambda self: (taken.append(1), original(self))[1])
    slope = jax.jit(jax.grad(lambda v: solve(solver, b, v).sum()))
    first = np.asarray(slope(2 * A[0].data))  # waits
    assert len(taken) == 1
    solver.update(A[0].data)  # the stamp of an earlier pass no longer tells what the solver has
    assert np.allclose(slope(2 * A[0].data), first, rtol=1e-9, atol=0) and len(taken) == 3


def test_jax_mistakes_and_single_precision(rng, jax):
    from cascademg.jax import solve
    A, solver = make()
    n = A[0].shape[0]
    single = rng.standard_normal(n).astype(np.float32)
    x = solve(solver, single)
    assert x.dtype == np.float32 and np.linalg.norm(A[0] @ np.asarray(x, float) - single) < 1e-5 * np.linalg.norm(single)
    with pytest.raises(Exception, match="rows"):
        jax.block_until_ready(solve(solver, np.ones(n + 1)))
    with pytest.raises(Exception, match="entries"):
        jax.block_until_ready(solve(solver, np.ones(n), np.ones(3)))
    compiled = jax.jit(lambda b, s=solver: solve(s, b)).lower(np.ones(n)).compile()
    assert compiled(np.ones(n)).shape == (n,)


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_jax_forward_mode_and_second_derivatives(unsymmetric, rng, jax):
    """Against dense solves by JAX itself, at one place and in one direction."""
    from cascademg.jax import solve
    A, solver = make(unsymmetric)
    n, values = A[0].shape[0], A[0].data
    rows, cols = np.repeat(np.arange(n), np.diff(A[0].indptr)), A[0].indices
    b, db, dv = rng.standard_normal(n), rng.standard_normal(n), 0.1 * rng.standard_normal(len(values))

    def dense(b, values):
        return jax.numpy.linalg.solve(jax.numpy.zeros((n, n)).at[rows, cols].add(values), b)

    def near(found, expected):
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape and np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()
    for ours, exact in ((lambda b, v: solve(solver, b, v), dense),):
        x, dx = jax.jit(lambda *at: jax.jvp(ours, at, (db, dv)))(b, values)
        near(x, dense(b, values))
        near(dx, jax.jvp(exact, (b, values), (db, dv))[1])
        near(jax.linearize(ours, b, values)[1](db, dv), dx)

        def bent(function):  # not linear in b either
            return lambda b, v: (function(b, v)**2).sum()
        for over in (lambda f: jax.jvp(jax.grad(f, (0, 1)), (b, values), (db, dv))[1],  # forward over reverse
                     lambda f: jax.grad(lambda b, v: jax.jvp(f, (b, v), (db, dv))[1], (0, 1))(b, values)):  # reverse over forward
            for found, expected in zip(over(bent(ours)), over(bent(exact))):
                near(found, expected)
    near(jax.jvp(lambda b: solve(solver, b), (b,), (db,))[1], dense(db, values))
    few = np.zeros((3, n))
    few[np.arange(3), [1, n // 2, n - 1]] = 1
    hessian = jax.jit(jax.hessian(lambda t: (solve(solver, b + t @ few)**2).sum()))(np.zeros(3))
    columns = np.asarray(dense(np.ascontiguousarray(few.T), values))
    near(hessian, 2 * columns.T @ columns)
    near(jax.vmap(lambda d: jax.jvp(lambda v: solve(solver, b, v), (values,), (d,))[1])(np.stack([dv, 2 * dv])),
         np.stack([1, 2])[:, None] * np.asarray(jax.jvp(lambda v: dense(b, v), (values,), (dv,))[1]))


@pytest.mark.parametrize("unsymmetric", [False, True])
def test_lineax(unsymmetric, rng, jax):
    lineax = pytest.importorskip("lineax")
    from cascademg.lineax import CascadeMG, SparseOperator
    A, solver = make(unsymmetric)
    n, values = A[0].shape[0], A[0].data
    b, db, dv = rng.standard_normal(n), rng.standard_normal(n), 0.1 * rng.standard_normal(len(values))

    def x_of(b, values):
        return lineax.linear_solve(SparseOperator(solver, values), b, CascadeMG()).value

    def dense(b, values):
        rows, cols = np.repeat(np.arange(n), np.diff(A[0].indptr)), A[0].indices
        return jax.numpy.linalg.solve(jax.numpy.zeros((n, n)).at[rows, cols].add(values), b)
    found, slope = jax.jit(lambda *at: jax.jvp(x_of, at, (db, dv)))(b, values)
    exact, expected = jax.jvp(dense, (b, values), (db, dv))
    assert np.abs(found - exact).max() <= 1e-9 * np.abs(exact).max()
    assert np.abs(slope - expected).max() <= 1e-8 * np.abs(expected).max()
    ours, theirs = (jax.grad(lambda b, v: (f(b, v)**2).sum(), (0, 1))(b, values) for f in (x_of, dense))
    for one, other in zip(ours, theirs):
        assert np.abs(one - other).max() <= 1e-8 * np.abs(other).max()
    many = rng.standard_normal((3, n))
    mapped = jax.vmap(lambda b: x_of(b, values))(many)
    assert np.abs(mapped - np.linalg.solve(A[0].toarray(), many.T).T).max() <= 1e-9 * np.abs(mapped).max()
    operator = SparseOperator(solver)
    assert np.abs(operator.as_matrix() - A[0].toarray()).max() <= 1e-14 * np.abs(A[0].data).max()
    assert np.abs(operator.T.as_matrix() - A[0].toarray().T).max() <= 1e-14 * np.abs(A[0].data).max()
    back = lineax.linear_solve(operator.T, b, CascadeMG())
    assert np.abs(back.value - np.linalg.solve(A[0].toarray().T, b)).max() <= 1e-9 * np.abs(back.value).max()
    with pytest.raises(TypeError, match="SparseOperator"):
        lineax.linear_solve(lineax.MatrixLinearOperator(jax.numpy.asarray(A[0].toarray())), b, CascadeMG())


def test_lineax_reports_what_did_not_converge(rng, jax):
    lineax = pytest.importorskip("lineax")
    from cascademg.lineax import CascadeMG, SparseOperator
    A, solver = make()
    short = solver.hierarchy.solver(max_it=1, rtol=1e-13, fallback=False)
    with pytest.warns(cascademg.ConvergenceWarning):
        ended = lineax.linear_solve(SparseOperator(short), rng.standard_normal(short.n), CascadeMG(), throw=False)
    assert ended.result == lineax.RESULTS.stagnation
