import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import cascademg
from conftest import levels, poisson


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("smoother", ["jacobi", "chebyshev4", "fsai", "spai"])
@pytest.mark.parametrize("precision", ["fp64", "mixed"])
def test_solution_against_scipy(problem, smoother, precision):
    A, P, b = problem
    solver = cascademg.Hierarchy(A, P).solver(smoother=smoother, precision=precision, rtol=1e-10)
    x, info = solver.solve(b, return_info=True)
    assert info.converged and info.iterations < 20
    assert residual(A[0], x, b) == pytest.approx(info.relative_residual, rel=1e-3, abs=1e-14)
    assert residual(A[0], x, b) <= 1e-10
    exact = spla.spsolve(A[0].tocsc(), b)
    assert np.linalg.norm(x - exact) <= 1e-8 * np.linalg.norm(exact)
    assert len(info.residuals) == info.iterations + 1 and info.residuals[-1] < info.residuals[0]


def test_galerkin_from_first_matrix_and_prolongations(problem):
    A, P, b = problem
    full = cascademg.Hierarchy(A, P)
    short = cascademg.Hierarchy(A[0], P)
    for level in range(full.levels):
        difference = full.matrix("A", level) - short.matrix("A", level)
        assert difference.nnz == 0 or abs(difference).max() < 1e-12
    one = full.solver(smoother="jacobi").solve(b, return_info=True)[1]
    two = short.solver(smoother="jacobi").solve(b, return_info=True)[1]
    assert one.iterations == two.iterations


def test_formed_levels_follow_new_values(problem, rng):
    A, P, b = problem
    scale = sp.diags(10.0 ** rng.uniform(-3, 3, A[0].shape[0]))
    other = (scale @ A[0] @ scale).tocsr()
    other.sort_indices()
    first = A[0].sorted_indices()
    h = cascademg.Hierarchy(first, P)
    solver = h.solver(smoother="jacobi", keep_map=True, fallback=False)
    assert solver.solve(b, return_info=True)[1].converged
    solver.update(other.data.copy())
    fresh = cascademg.Hierarchy(other, P)
    expected = fresh.solver(smoother="jacobi", fallback=False, max_it=30)
    found, wanted = solver.solve(b, maxiter=30, return_info=True)[1], expected.solve(b, return_info=True)[1]
    assert np.allclose(found.residuals, wanted.residuals, rtol=1e-6)
    assert abs(h.matrix("A", 1) - fresh.matrix("A", 1)).max() <= 1e-12 * abs(fresh.matrix("A", 1)).max()


@pytest.mark.parametrize("reuse", ["none", "bounds", "smoother"])
def test_smoothers_are_kept_as_asked(problem, reuse):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    solver = h.solver(keep_map=True, fallback=False, reuse=reuse)
    for level in range(len(A)):  # less: what is kept of a larger matrix damps the smaller one more
        solver.update(h.matrix("A", level).data / 2, level=level)
    assert residual(A[0] / 2, solver.solve(b), b) < 1e-7


@pytest.mark.parametrize("keep_map", [False, True])
def test_an_adjoint_follows_values_that_are_no_longer_symmetric(keep_map, rng):
    A = levels(16)[0][0]
    other = (A - 0.3 * (sp.triu(A, 1) - sp.tril(A, -1))).tocsr()
    b = rng.standard_normal(A.shape[0])
    solver = cascademg.Hierarchy(A).solver(keep_map=keep_map)
    solver.solve(b)
    solver.update(other)
    assert residual(other.T, solver.adjoint().solve(b), b) < 1e-7


def test_an_adjoint_keeps_the_columns_of_dirichlet_rows(rng):
    A = levels(16)[0][0]
    keep = sp.diags(np.where(np.arange(A.shape[0]) % 7 == 0, 0.0, 1.0))
    A = (keep @ A + sp.identity(A.shape[0]) - keep).tocsr()
    b = rng.standard_normal(A.shape[0])
    solver = cascademg.Hierarchy(A).solver(smoother="spai")
    assert residual(A, solver.solve(b), b) < 1e-7
    assert residual(A.T, solver.adjoint().solve(b), b) < 1e-7


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "triple", "dense"])
def test_forms_of_a_matrix(form, rng):
    A, P = levels(8, coarsest=4)
    b = rng.standard_normal(A[0].shape[0])
    first = {"triple": (A[0].data, A[0].indices, A[0].indptr), "dense": A[0].toarray()}.get(form)
    if first is None:
        first = getattr(A[0], "to" + form)()
    h = cascademg.Hierarchy([first, *A[1:]], P)
    assert abs(h.matrix() - A[0]).max() == 0
    assert residual(A[0], h.solver().solve(b), b) < 1e-7


def test_preconditioner_in_scipy(problem):
    A, P, b = problem
    solver = cascademg.Hierarchy(A, P).solver(smoother="jacobi", krylov="cg", rtol=1e-5)
    steps = []
    x, status = spla.cg(A[0], b, M=solver.aspreconditioner(), callback=steps.append)  # to 1e-5
    assert status == 0 and residual(A[0], x, b) < 1e-4
    _, info = solver.solve(b, return_info=True)
    assert abs(len(steps) - info.iterations) <= 1


def test_preconditioner_is_symmetric_and_linear(problem, rng):
    A, P, _ = problem
    M = cascademg.Hierarchy(A, P).solver(smoother="jacobi").aspreconditioner()
    u, v = rng.standard_normal((2, A[0].shape[0]))
    assert v @ (M @ u) == pytest.approx(u @ (M @ v), rel=1e-10)
    assert np.allclose(M @ (2 * u + v), 2 * (M @ u) + M @ v, rtol=0, atol=1e-10 * np.linalg.norm(u))
    assert np.allclose((M @ np.column_stack([u, v]))[:, 1], M @ v)


def test_transposed_operators_of_an_unsymmetric_matrix(rng):
    A, P = levels(16)
    n = A[0].shape[0]
    A = [(A[0] + sp.diags([0.4 * np.ones(n - 1), -0.2 * np.ones(n - 1)], [1, -1])).tocsr()]
    solver = cascademg.Hierarchy(A, P).solver(smoother="jacobi", krylov="none", pre=2, post=1, rtol=1e-12, max_it=200,
                                              fallback=False)
    u, v = rng.standard_normal((2, n))
    M, inverse = solver.aspreconditioner(), solver.as_linear_operator()
    assert u @ (M @ v) == pytest.approx(M.rmatvec(u) @ v, rel=1e-10)
    assert np.linalg.norm(A[0].T @ inverse.rmatvec(u) - u) <= 1e-11 * np.linalg.norm(u)
    block = rng.standard_normal((n, 3))
    assert np.allclose(inverse.rmatmat(block)[:, 2], inverse.rmatvec(block[:, 2]), rtol=1e-9, atol=1e-12)


def test_operator_solves(problem):
    A, P, b = problem
    inverse = cascademg.Hierarchy(A, P).solver(rtol=1e-12).as_linear_operator()
    assert residual(A[0], inverse @ b, b) < 1e-11
    block = np.column_stack([b, 2 * b])
    assert np.allclose(inverse.matmat(block)[:, 1], 2 * inverse.matmat(block)[:, 0])


def test_initial_guess_and_output_array(problem):
    A, P, b = problem
    solver = cascademg.Hierarchy(A, P).solver(rtol=1e-9)
    x = solver.solve(b)
    again, info = solver.solve(b, x0=x, return_info=True)
    assert info.iterations == 0 and np.array_equal(again, x)
    out = np.full(len(b), np.nan)
    assert solver.solve(b, out=out) is out and residual(A[0], out, b) <= 1e-9
    x32 = solver.solve(b.astype(np.float32))
    assert residual(A[0], x32, b.astype(np.float32)) <= 1e-9


def test_columns(problem, rng):
    A, P, _ = problem
    B = rng.standard_normal((A[0].shape[0], 3))
    X, infos = cascademg.Hierarchy(A, P).solver(rtol=1e-9).solve(B, return_info=True)
    assert X.shape == B.shape and len(infos) == 3
    for k in range(3):
        assert residual(A[0], X[:, k], B[:, k]) <= 1e-9


def test_columns_share_the_products_and_nothing_else(problem, rng):
    A, P, _ = problem
    solver = cascademg.Hierarchy(A, P).solver(rtol=1e-9, smoother="jacobi")
    B = rng.standard_normal((A[0].shape[0], 8))
    B[:, 3] = 0
    alone = [solver.solve(np.ascontiguousarray(B[:, k]), return_info=True) for k in range(8)]
    out = np.full(B.shape, np.nan)
    X, infos = solver.solve(B, out=out, return_info=True)
    assert X is out and [i.iterations for i in infos] == [i.iterations for _, i in alone]
    for k in range(8):
        assert np.linalg.norm(X[:, k] - alone[k][0]) <= 1e-8 * np.linalg.norm(alone[k][0])
        assert len(infos[k].residuals) == infos[k].iterations + 1
    assert np.array_equal(solver.solve(np.asfortranarray(B)), X)
    again, infos = solver.solve(B, x0=X, return_info=True)
    assert [i.iterations for i in infos] == [0] * 8 and np.array_equal(again, X)
    assert solver.solve(B[:, :1]).shape in ((len(B),), (len(B), 1))
    wide = rng.standard_normal((len(B), 70))
    assert residual(A[0], solver.solve(wide)[:, 69], wide[:, 69]) <= 1e-9
    assert np.allclose(solver.precondition(B)[:, 5], solver.precondition(np.ascontiguousarray(B[:, 5])))
    with pytest.raises(ValueError, match="needed"):
        solver.solve(B[:-1])


@pytest.mark.parametrize("columns", [1, 3])
def test_limits_and_callback_of_one_solve(problem, rng, columns):
    A, P, b = problem
    b = b if columns == 1 else rng.standard_normal((len(b), columns))
    solver = cascademg.Hierarchy(A, P).solver(rtol=1e-10, smoother="jacobi")
    first = lambda info: info[0] if isinstance(info, list) else info
    usual = first(solver.solve(b, return_info=True)[1]).iterations
    loose = first(solver.solve(b, rtol=1e-3, return_info=True)[1])
    assert loose.converged and loose.iterations < usual and loose.relative_residual <= 1e-3
    short = first(solver.solve(b, maxiter=2, return_info=True)[1])
    assert short.iterations == 2 and short.outcome == "iteration_limit"
    longer = first(solver.solve(b, maxiter=1000, return_info=True)[1])
    assert longer.iterations == usual and first(solver.solve(b, return_info=True)[1]).iterations == usual
    seen = []
    solver.solve(b, callback=lambda *what: seen.append(what))
    assert [s[0] for s in seen][:usual] == list(range(usual)) and seen[-1][1] < seen[0][1]
    stopped = solver.solve(b, callback=lambda it, r, bb: it == 2, return_info=True)[1]
    assert first(stopped).outcome == "interrupted" and first(stopped).iterations == 2

    def broken(*_):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        solver.solve(b, callback=broken)
    assert first(solver.solve(b, callback="progress", return_info=True)[1]).converged
    with pytest.raises(ValueError, match="maxiter"):
        solver.solve(b, maxiter=0)
    with pytest.raises(ValueError, match="rtol"):
        solver.solve(b, rtol=-1)


def test_solvers_are_pickled(problem):
    A, P, b = problem
    solver = cascademg.Hierarchy(A, P).solver("pre=2 post=2", smoother="jacobi", rtol=1e-9)
    again = pickle.loads(pickle.dumps(solver))
    assert again.solve(b, return_info=True)[1].iterations == solver.solve(b, return_info=True)[1].iterations


def test_new_values(problem):
    A, P, b = problem
    h = cascademg.Hierarchy([a.copy() for a in A], P)
    solver = h.solver(rtol=1e-10, smoother="jacobi")
    solver.solve(b)
    for factor in (3, 0.5, 7):
        scaled = [a * factor for a in A]
        for level, a in enumerate(scaled):
            h.update(a.data, "A", level)
        solver.refresh()
        assert residual(scaled[0], solver.solve(b), b) <= 1e-10
    with pytest.raises(cascademg.ArgumentError, match="entries"):
        h.update(np.ones(3))


def test_new_values_of_a_matrix_whose_columns_are_not_sorted(problem, rng):
    A, P, b = problem
    ends = A[0].indptr
    order = np.concatenate([first + rng.permutation(last - first) for first, last in zip(ends[:-1], ends[1:])])
    loose = sp.csr_matrix((A[0].data[order], A[0].indices[order], ends), shape=A[0].shape)
    assert not loose.has_sorted_indices
    solver = cascademg.Hierarchy([loose, *A[1:]], P).solver(rtol=1e-10, smoother="jacobi")
    solver.update(2 * loose.data)
    x, info = solver.solve(b, return_info=True)
    assert info.converged and residual(2 * A[0], x, b) <= 1e-10
    twice = sp.csr_matrix((np.r_[A[0].data, 1.0], np.r_[A[0].indices, A[0].indices[-1]], np.r_[ends[:-1], ends[-1] + 1]), shape=A[0].shape)
    assert abs(cascademg.Hierarchy(twice).matrix() - twice).max() == 0


def test_singular_and_failed_solves_say_so():
    A = sp.csr_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]))  # indefinite
    solver = cascademg.Hierarchy(A).solver(smoother="jacobi", krylov="cg", cycle="none", max_it=3)
    with pytest.warns(cascademg.ConvergenceWarning):
        solver.solve(np.array([1.0, -1.0]))
    _, info = solver.solve(np.array([1.0, -1.0]), return_info=True)
    assert not info.converged


def test_null_space_and_what_it_takes_from_b():
    n = 40
    L = sp.diags([np.r_[1, np.full(n - 2, 2.0), 1], -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1]).tocsr()
    b = np.sin(np.arange(n) + 0.5) + 3
    solver = cascademg.Hierarchy(L).solver(rtol=1e-10)
    x, info = solver.solve(b, return_info=True)
    assert not info.converged and info.outcome == "least_squares" and info.nullspace == 1
    assert info.relative_residual == pytest.approx(residual(L, x, b), rel=1e-12) and info.range_residual <= 1e-10
    assert info.residuals[-1] == pytest.approx(info.residual, rel=1e-12)
    with pytest.warns(cascademg.ConvergenceWarning, match="of b lies outside the range of A"):
        solver.solve(b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver.solve(b - b.mean())
        asked = cascademg.Hierarchy(L).solver(rtol=1e-10, least_squares=True)
        assert abs(asked.solve(b) - x).max() <= 1e-9 * abs(x).max()
        assert asked.solve(b, return_info=True)[1].converged
    assert info.removed == pytest.approx(abs(b.sum()) / np.sqrt(n), rel=1e-12)
    assert residual(L, x, b - b.mean()) <= 1e-9 and abs(x.mean()) <= 1e-12 * np.linalg.norm(x)


def test_errors_are_exceptions_with_the_library_s_sentence(problem, tmp_path):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    with pytest.raises(ValueError, match=r"b has shape \(960,\), \(961,\)"):
        h.solver().solve(b[:-1])
    with pytest.raises(ValueError, match="smother"):
        h.solver(smother="jacobi")
    with pytest.raises(ValueError, match="nosuch"):
        h.solver(smoother="nosuch")
    with pytest.raises(ValueError, match="pre"):
        h.solver(pre=-1)
    assert h.solver("pre=2 post=2", smoother="jacobi").solve(b, return_info=True)[1].iterations < 10
    with pytest.raises(cascademg.FileError):
        cascademg.read(tmp_path / "nothing.cmg")
    with pytest.raises(OSError):
        cascademg.read(tmp_path / "nothing.cmg")
    with pytest.raises(ValueError):
        cascademg.Hierarchy(A, P[:-1])
    with pytest.raises(cascademg.CmgError, match="225"):
        cascademg.Hierarchy([A[0], A[2]], [P[1]]).solver()
    with pytest.raises(ValueError, match="complex"):
        cascademg.Hierarchy(A[0] * 1j)


def test_arrays_stay_alive(rng):
    A, P = levels(16)
    h = cascademg.Hierarchy([a.copy() for a in A], [p.copy() for p in P])
    reference = A[0].copy()
    del A, P
    junk = [np.full(10000, np.nan) for _ in range(50)]
    b = rng.standard_normal(reference.shape[0])
    assert residual(reference, h.solver().solve(b), b) < 1e-7
    del junk


def test_files_and_pickles(problem, tmp_path):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    h.set_vector("rhs", b)
    h.set_attribute("element", "q1")
    paths = [tmp_path / "plain"]
    try:
        h.write(tmp_path / "h.cmg")
        paths.append(tmp_path / "h.cmg")
    except cascademg.UnsupportedError:
        pass
    h.write(paths[0])
    for path in paths:
        loaded = cascademg.read(path)
        assert loaded.levels == h.levels and abs(loaded.matrix("P", 0) - P[0]).max() == 0
        assert np.array_equal(loaded.vector("rhs"), b)
    if len(paths) == 2:
        copy = pickle.loads(pickle.dumps(h))
        assert copy.attribute("element") == "q1" and abs(copy.matrix() - A[0]).max() == 0
        assert np.array_equal(copy.solver().solve(b), h.solver().solve(b))


def test_threads_wait_for_each_other(problem):
    A, P, b = problem
    solver = cascademg.Hierarchy(A, P).solver(rtol=1e-9)
    expected, found = solver.solve(b), {}

    def work(k):
        for _ in range(5):
            found[k] = solver.solve(b)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(x, expected) for x in found.values())


def test_notes_plan_and_comparison(problem):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    plan = h.solver().plan()
    assert len(plan) > 2 and {"text", "bytes"} <= set(plan[0]) and "text" in str(plan).splitlines()[0]
    table = cascademg.compare(h, b, smoothers=("jacobi", "fsai"), repeat=1)
    assert [row["smoother"] for row in table] == ["jacobi", "fsai"] and all(row["converged"] for row in table)
    assert table[1]["iterations"] <= table[0]["iterations"]
    assert "jacobi" in cascademg.methods() and "cpu" in cascademg.backends()


def test_empty_one_and_odd():
    one = cascademg.Hierarchy(sp.csr_matrix([[4.0]]))
    assert one.solver().solve(np.array([8.0])) == pytest.approx([2.0])
    A = poisson(4, 1)
    assert np.allclose(A @ cascademg.Hierarchy(A).solver().solve(np.ones(3)), np.ones(3))
    x, info = cascademg.Hierarchy(A).solver().solve(np.zeros(3), return_info=True)
    assert info.converged and not x.any()


def test_progress_stops_and_exceptions_come_through():
    def stop(what, done, total):
        raise KeyError("enough")
    context = cascademg.Context(progress=stop)
    A, P = levels(128)
    with pytest.raises((KeyError, cascademg.StateError)):
        cascademg.Hierarchy(A, P, context=context).smooth("spai", "m")
        raise cascademg.StateError("too quick to be asked")


@pytest.mark.parametrize("method", ["aggregation", "classical", "lattice", "auto"])
def test_levels_of_a_matrix(method, rng):
    n = 40  # 5 points, a direction that rules: weak couplings, and a plane graph
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    A = (sp.kron(sp.eye(n), line) + 0.01 * sp.kron(line, sp.eye(n))).tocsr()
    h = cascademg.Hierarchy(A)
    added = h.coarsen(method=method, rows=50)
    assert added == h.levels - 1 >= 2 and h.rows(h.levels - 1) <= 50
    for level in range(added):
        P, fine, coarse = h.matrix("P", level), h.matrix("A", level), h.matrix("A", level + 1)
        assert abs(P.T @ fine @ P - coarse).max() <= 1e-12 * abs(fine).max()
        if method != "aggregation":  # the coarse unknowns are unknowns of the level above
            assert np.bincount(P.indices[(np.diff(P.indptr) == 1)[np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))]],
                               minlength=P.shape[1]).min() >= 1
    b = rng.standard_normal(n * n)
    assert residual(A, h.solver(rtol=1e-10).solve(b), b) <= 1e-9


def test_levels_for_flow(rng):
    n = 40  # upwind differences
    up = sp.diags([-1.0, 1.0], [-1, 0], (n, n))
    A = (sp.kron(sp.eye(n), up) + 0.5 * sp.kron(up, sp.eye(n)) + 1e-3 * sp.eye(n * n)).tocsr()
    h = cascademg.Hierarchy(A)
    assert h.coarsen(method="air", rows=50) >= 2
    for level in range(h.levels - 1):
        P, R, fine, coarse = (h.matrix(*at) for at in (("P", level), ("R", level), ("A", level), ("A", level + 1)))
        assert abs(R @ fine @ P - coarse).max() <= 1e-12 * abs(fine).max()
        on_fine = (R @ fine).multiply(R != 0).tocsc()[:, np.bincount(R.indices, minlength=R.shape[1]) > 1]
        assert abs(on_fine).max() <= 1e-12 * abs(fine).max()  # columns of two rows are fine ones
    b = rng.standard_normal(n * n)
    x, info = h.solver(rtol=1e-10).solve(b, return_info=True)
    assert residual(A, x, b) <= 1e-9 and info.iterations <= 12


def test_levels_that_are_refused():
    h = cascademg.Hierarchy(sp.eye(3, format="csr"))
    with pytest.raises(cascademg.ArgumentError, match="method"):
        h.coarsen(method="best")
    with pytest.raises(cascademg.ArgumentError):
        h.coarsen("strength=2")
    assert h.coarsen() == 0 and h.levels == 1
