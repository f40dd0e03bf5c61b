"""What goes in and out as arrays: every kind of b that NumPy takes, and an `out` that is written or rejected."""
import multiprocessing
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


@pytest.fixture
def small():
    A = poisson(16)
    return A, cascademg.Hierarchy(A).solver(rtol=1e-10)


GIVEN = {
    "strided": lambda v: np.column_stack([v, -v])[:, 0], "reversed": lambda v: v[::-1], "integers": lambda v: (9 * v).astype(int),
    "bytes": lambda v: (90 * v).astype(np.int8), "booleans": lambda v: v > 0, "half": lambda v: v.astype(np.float16),
    "single": lambda v: v.astype(np.float32), "long": lambda v: v.astype(np.longdouble), "list": list, "tuple": tuple,
    "swapped": lambda v: v.astype(v.dtype.newbyteorder()), "read-only": lambda v: np.broadcast_to(v[0], v.shape),
    "unaligned": lambda v: np.frombuffer(b"x" + v.tobytes(), np.uint8)[1:].view(np.float64),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_right_hand_sides_of_every_kind(small, rng, kind):
    A, solver = small
    b = GIVEN[kind](rng.standard_normal(A.shape[0]))
    wanted = np.asarray(b, dtype=np.float64)
    assert residual(A, solver.solve(b), wanted) <= 1e-9
    assert residual(A, solver.solve(wanted, x0=b), wanted) <= 1e-9
    assert np.array_equal(solver.precondition(b), solver.precondition(wanted.copy()))
    block = np.asarray(b)[:, None] * np.arange(1, 4) if kind not in ("list", "tuple") else [[v, 2 * v, 3 * v] for v in b]
    X, wanted = solver.solve(block), np.asarray(block, dtype=np.float64)
    assert X.shape == (A.shape[0], 3) and all(residual(A, X[:, k], wanted[:, k]) <= 1e-9 for k in range(3))


@pytest.mark.parametrize("b,error,words", [
    (lambda n: sp.csc_matrix(np.ones((n, 1))), TypeError, "b: a sparse matrix, an array is needed"),
    (lambda n: spla.aslinearoperator(sp.identity(n)), TypeError, "b: a linear operator"),
    (lambda n: np.ones(n) * 1j, ValueError, "b: complex"), (lambda n: ["a"] * n, TypeError, "b: dtype"),
    (lambda n: None, TypeError, "b: dtype"), (lambda n: np.array([None] * n), TypeError, "b: dtype object"),
    (lambda n: np.ones((2, n)), ValueError, r"b has shape \(2, 225\), \(225,\) or \(225, k\) is needed"),
    (lambda n: np.ones((n, 1, 1)), ValueError, "b has shape"), (lambda n: 3.0, ValueError, "b has shape"),
    (lambda n: np.ones(n + 1), ValueError, "b has shape"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_right_hand_sides_that_are_none(small, b, error, words):
    A, solver = small
    with pytest.raises(error, match=words):
        solver.solve(b(A.shape[0]))
    with pytest.raises(error):
        solver.precondition(b(A.shape[0]))


@pytest.mark.parametrize("columns", [1, 3, 64, 65, 130])
def test_out_is_written_or_rejected_whatever_the_columns(small, rng, columns):
    A, solver = small
    n = A.shape[0]
    B = rng.standard_normal((n, columns)) if columns > 1 else rng.standard_normal(n)
    wide = np.full((2 * n, 3 * columns), np.nan)
    places = [np.full(B.shape, np.nan), np.full(B.shape, np.nan, order="F"), wide[::2, ::3].reshape(B.shape) if columns == 1 else None,
              wide[::2, ::3] if columns > 1 else wide[::-2, 1], B.copy()]
    for out in places:
        if out is None:
            continue
        b = B if out is not places[-1] else out  # the last: the solution takes the place of b
        kept = b.copy()
        x = solver.solve(b, out=out)
        assert x is out and np.linalg.norm(kept - A @ out) <= 1e-9 * np.linalg.norm(kept)
    before = np.full(B.shape, 7.0)
    for wrong, error, words in (
            (before.tolist(), TypeError, "out: a list cannot be written"), (tuple(before), TypeError, "out: a tuple cannot be written"),
            (before.astype(np.float32), ValueError, "out: dtype float32"), (before.astype(int), ValueError, "out: dtype int"),
            (before.astype(">f8"), ValueError, "out: dtype >f8"), (before[:-1], ValueError, "out has shape"),
            (np.broadcast_to(7.0, B.shape), ValueError, "out: the array is read-only")):
        with pytest.raises(error, match=words):
            solver.solve(B, out=wrong, return_info=True)
        assert np.all(np.asarray(wrong) == 7)


def test_no_columns_and_one(small, rng):
    A, solver = small
    n = A.shape[0]
    X, infos = solver.solve(np.ones((n, 0)), return_info=True)
    assert X.shape == (n, 0) and infos == []
    b, out = rng.standard_normal((n, 1)), np.full((n, 1), np.nan)
    assert solver.solve(b, out=out) is out and residual(A, out, b) <= 1e-9


def test_guess_that_shares_memory_with_out(small, rng):
    A, solver = small
    b = rng.standard_normal(A.shape[0])
    x = solver.solve(b)
    again, info = solver.solve(b, x0=x, out=x, return_info=True)
    assert again is x and info.iterations == 0
    turned = np.array(x[::-1])
    again, info = solver.solve(b, x0=turned[::-1], out=turned, return_info=True)
    assert info.iterations == 0 and residual(A, turned, b) <= 1e-9


def test_tol_is_rtol(small, rng):
    A, solver = small
    solver = cascademg.Hierarchy(*levels(32)).solver(smoother="jacobi")
    A, b = poisson(32), rng.standard_normal(961)
    x, info = solver.solve(b, tol=1e-3, return_info=True)
    assert info.iterations == solver.solve(b, rtol=1e-3, return_info=True)[1].iterations and residual(A, x, b) <= 1e-3
    with pytest.raises(ValueError, match="tol and rtol"):
        solver.solve(b, tol=1e-3, rtol=1e-4)
    for wrong in ("1e-3", True, np.nan, -1):
        with pytest.raises(ValueError, match="rtol"):
            solver.solve(b, tol=wrong)


@pytest.mark.parametrize("options", [{"smoother": "jacobi\0abc"}, {"rtol": "1e-6 pre=0"}, {"rtol": "1e-6\npre=0"}, {"rtol": True},
                                     {"pre": True}, {"keep_map": "no"}, {"smoother": ""}, {"pre=0 post": 1}, {"cycle": ["V"]},
                                     {"options": "pre=1\0 post=1"}], ids=str)
def test_options_that_are_not_one_value(options):
    with pytest.raises(ValueError):
        cascademg.Hierarchy(poisson(8)).solver(**options)


@pytest.mark.parametrize("matrix", ["abc", 3.0, None, spla.aslinearoperator(sp.identity(3)), np.array([["a"]])])
def test_matrices_that_are_none(matrix):
    with pytest.raises(ValueError, match="level 0"):
        cascademg.Hierarchy(matrix)


def test_null_characters_are_rejected(tmp_path):
    h = cascademg.Hierarchy(poisson(8))
    for call in (lambda: h.set_attribute("element", "q1\0"), lambda: h.write(str(tmp_path) + "/a\0b.mtx"),
                 lambda: h.smooth("jacobi\0", "m"), lambda: cascademg.read("a\0b"), lambda: h.vector("rhs", "b\0")):
        with pytest.raises(ValueError, match="null"):
            call()


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(cascademg.FileError, match="no/x.mtx: No such file"):
        cascademg.Hierarchy(poisson(8)).write(tmp_path / "no" / "x.mtx")


# ------------------------------------------------------------------ new values

@pytest.mark.parametrize("keep_map", [False, True])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_values_that_are_rejected_change_nothing(problem, wrong, keep_map):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    solver = h.solver(rtol=1e-10, keep_map=keep_map)
    first = solver.solve(b)
    values = A[0].data.copy()
    values[A[0].indptr[5]:A[0].indptr[6]] = wrong
    for call in (h.update, solver.update):
        with pytest.raises(cascademg.ArgumentError, match="row 5"):
            call(values)
        assert np.array_equal(h.matrix().toarray(), A[0].toarray())
        assert np.array_equal(solver.solve(b), first)
        assert residual(A[0], h.solver(rtol=1e-10).solve(b), b) <= 1e-9
    with pytest.raises(cascademg.ArgumentError, match="not finite"):
        h.update(np.full(P[0].nnz, np.nan), "P")
    solver.update(2 * A[0].data)
    assert residual(2 * A[0], solver.solve(b), b) <= 1e-9


def test_a_matrix_is_taken_for_new_values(problem, rng):
    A, P, b = problem
    solver = cascademg.Hierarchy(A[0], P).solver(rtol=1e-10)
    other = A[0].copy()
    other.data = A[0].data * 3
    order = np.concatenate([first + rng.permutation(last - first) for first, last in zip(other.indptr[:-1], other.indptr[1:])])
    loose = sp.csr_matrix((5 * A[0].data[order], A[0].indices[order], A[0].indptr), shape=A[0].shape)
    assert not loose.has_sorted_indices
    for matrix in (other, other.tocsc(), loose):
        solver.update(matrix)
        assert residual(matrix, solver.solve(b), b) <= 1e-9
    for matrix in (sp.identity(len(b), format="csr"), A[1], A[0] + sp.eye(len(b), k=7)):
        with pytest.raises(cascademg.ArgumentError, match="pattern"):
            solver.update(matrix)
    for wrong in (np.ones((A[0].nnz, 1)), A[0].data * 1j, [None] * A[0].nnz, "abc"):
        with pytest.raises((ValueError, TypeError)):
            solver.update(wrong)
    assert residual(loose, solver.solve(b), b) <= 1e-9


def test_a_solver_whose_refresh_failed_says_so(problem, monkeypatch):
    A, P, b = problem
    values = [a.data.copy() for a in A]
    h = cascademg.Hierarchy([sp.csr_matrix((v, a.indices, a.indptr)) for v, a in zip(values, A)], P)
    solver = h.solver(rtol=1e-10)
    solver.solve(b)
    values[1][0] = np.nan  # not told of, but level 0 has new values
    with pytest.raises(cascademg.ArgumentError):
        h.update(values[1], level=1)
    with pytest.raises(cascademg.CmgError):
        solver.refresh()
    for call in (solver.solve, solver.precondition):
        with pytest.raises(cascademg.StateError, match="refresh"):
            call(b)
    values[1][0] = A[1].data[0]
    h.update(values[1], level=1)
    solver.refresh()
    assert residual(A[0], solver.solve(b), b) <= 1e-9


# ------------------------------------------------------------------ callbacks and threads

@pytest.mark.parametrize("columns", [1, 4])
def test_a_callback_cannot_use_its_solver_and_can_use_another(problem, rng, columns):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    solver, other = h.solver(rtol=1e-10, smoother="jacobi"), h.solver(rtol=1e-10)
    B = rng.standard_normal((len(b), columns)) if columns > 1 else b
    refused, solved = [], []

    def monitor(iteration, *_):
        calls = (lambda: solver.solve(b), lambda: solver.solve(np.column_stack([b, b]), rtol=0.5), lambda: solver.precondition(b),
                 solver.refresh, lambda: solver.plan(measure=1), lambda: solver.solve(b, callback=lambda *_: True))
        for call in calls:
            with pytest.raises(cascademg.StateError, match="callback"):
                call()
            refused.append(iteration)
        solved.append(residual(A[0], other.solve(b), b))
    X, info = solver.solve(B, callback=monitor, return_info=True)
    assert refused and max(solved) <= 1e-9
    assert np.linalg.norm(B - A[0] @ X) <= 1e-9 * np.linalg.norm(B)
    usual = solver.solve(B, return_info=True)[1]
    assert (info if columns == 1 else info[0]).iterations == (usual if columns == 1 else usual[0]).iterations


def test_threads_wait_where_a_callback_is_at_work(problem):
    A, P, b = problem
    solver, found = cascademg.Hierarchy(A, P).solver(rtol=1e-10, smoother="jacobi"), []
    started = threading.Event()
    thread = threading.Thread(target=lambda: (started.wait(10), found.append(solver.solve(2 * b))))
    thread.start()
    x = solver.solve(b, callback=lambda *_: started.set())
    thread.join(30)
    assert residual(A[0], x, b) <= 1e-9 and residual(A[0], found[0], 2 * b) <= 1e-9


_shared = {}  # what the children of the fork find


def _solve_in_child(which):
    A, b = _shared["A"], _shared["b"]
    if which == "kept":
        x = _shared["solver"].solve(b)
    elif which == "new solver":
        x = cascademg.Hierarchy(A, context=_shared["solver"].context).solver(rtol=1e-10).solve(b)
    elif which == "new values":
        _shared["solver"].update(2 * A.data)
        x = 2 * _shared["solver"].solve(b)
    else:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            context = cascademg.Context(threads=2)
        assert context.threads == 1 and any("fork" in str(w.message) for w in told)
        x = cascademg.Hierarchy(A, context=context).solver(rtol=1e-10).solve(b)
    return residual(A, x, b), _shared["solver"].context.threads


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:os.fork:RuntimeWarning")
def test_forked_processes_solve(rng):
    A = poisson(200)
    context = cascademg.Context(threads=2)
    _shared.update(A=A, b=rng.standard_normal(A.shape[0]), solver=cascademg.Hierarchy(A, context=context).solver(rtol=1e-10))
    assert residual(A, _shared["solver"].solve(_shared["b"]), _shared["b"]) <= 1e-9
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for which in ("kept", "new solver", "new values", "new context"):
            found, threads = pool.apply_async(_solve_in_child, (which,)).get(60)
            assert found <= 1e-9 and threads == 1
    assert context.threads == 2
    _shared.clear()


# ------------------------------------------------------------------ what is printed

def test_levels_of_a_solver():
    A = poisson(200)
    solver = cascademg.Hierarchy(A).solver()
    table = solver.levels
    assert len(table) > 1 and table[0]["rows"] == A.shape[0] and table[0]["nnz"] == A.nnz
    assert solver.complexity == pytest.approx(sum(row["nnz"] for row in table) / A.nnz)
    assert all(str(row["rows"]) in str(solver) for row in table) and all(note in str(solver) for note in solver.notes())
    assert cascademg.plan(solver) == solver.plan()
    with pytest.raises(ValueError, match="options"):
        cascademg.plan(solver, smoother="jacobi")


def test_levels_name_methods_and_the_text_says_why():
    hierarchy = cascademg.generate(element="q1", dim=3, cells=16)
    solver = hierarchy.solver()
    assert [row["method"] for row in solver.levels] == ["chebyshev4"] * 2 + ["collapsed"]
    assert [row["rows"] for row in solver.levels] == [15**3, 7**3, 3**3]
    assert "from level 0 on chebyshev4, as A is symmetric positive definite" in str(solver)
    named = hierarchy.solver(smoother="fsai", coarse="smoother").levels
    assert {row["method"] for row in named} == {"fsai"} and len(named) == hierarchy.levels
    data, indices, indptr, shape = hierarchy.arrays()
    wind = sp.csr_matrix((data, indices, indptr), shape=shape) + sp.diags([10.0, -10.0], [1, -1], shape=shape)
    told = str(cascademg.Hierarchy(wind.tocsr(), [hierarchy.matrix("P", level) for level in range(hierarchy.levels - 1)]).solver())
    assert "as convection rules in A" in told
    ruled = cascademg.Hierarchy((hierarchy.matrix() + 10 * sp.identity(15**3)).tocsr()).solver()
    assert [row["method"] for row in ruled.levels] == ["jacobi"] and "diagonally dominant" in str(ruled)


def test_tol_is_rtol_everywhere(problem):
    A, P, b = problem
    h = cascademg.Hierarchy(A, P)
    x = h.solver(tol=1e-3).solve(b)
    assert np.array_equal(x, h.solver(rtol=1e-3).solve(b)) and np.array_equal(x, h.solver().solve(b, tol=1e-3))
    for call in (lambda: h.solver(tol=1e-3, rtol=1e-3), lambda: h.solver().solve(b, tol=1e-3, rtol=1e-3)):
        with pytest.raises(cascademg.ArgumentError, match="same limit"):
            call()
