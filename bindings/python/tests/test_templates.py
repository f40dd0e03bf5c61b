import numpy as np
import pytest
import scipy.sparse as sp
from conftest import interpolation, poisson

import cascademg
from cascademg._library import has

STAR = {1: np.array([-1.0, 2, -1]), 2: np.array([[0.0, -1, 0], [-1, 4, -1], [0, -1, 0]])}
STAR[3] = np.zeros((3, 3, 3))
STAR[3][1, 1, :] = STAR[3][1, :, 1] = STAR[3][:, 1, 1] = -1
STAR[3][1, 1, 1] = 6


def test_a_grid_is_the_matrix_of_scipy():
    for dim in (1, 2, 3):
        grid = (7,) * dim
        A = cascademg.Templates.stencil(STAR[dim], grid)
        P = cascademg.Templates.interpolation(grid)
        assert A.shape == (7**dim, 7**dim) and P.shape == (7**dim, 3**dim) and "a grid" in repr(A)
        h = cascademg.Hierarchy([A, None], P)
        assert abs(h.matrix() - poisson(8, dim)).max() == 0
        assert abs(h.matrix("P") - interpolation(8, dim)).max() == 0
        coarse = interpolation(8, dim).T @ poisson(8, dim) @ interpolation(8, dim)
        assert abs(h.matrix("A", 1) - coarse).max() < 1e-14


def test_axes_are_those_of_an_array():
    values = np.arange(27.0).reshape(3, 3, 3) + 1
    h = cascademg.Hierarchy(cascademg.Templates.stencil(values, (2, 3, 4)))
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    padded = np.pad(x, 1)
    expected = sum(values[k, j, i] * padded[k:k + 2, j:j + 3, i:i + 4] for k in range(3) for j in range(3) for i in range(3))
    assert np.abs(h.matrix() @ x.ravel() - expected.ravel()).max() < 1e-12


def test_kinds_and_ids():
    n, rng = 50, np.random.default_rng(2)
    ids = rng.integers(0, 2, n)
    ids[0], ids[-1] = 2, 3
    indptr, offsets = [0, 3, 5, 7, 9], [0, -1, 1, 0, 1, 0, 1, 0, -1]
    ids[-2] = 0
    values = np.array([5, -1, -2, 4, -1.5, 3, -1, 6, -2.5])
    expected = sp.lil_matrix((n, n))
    for i, k in enumerate(ids):
        for e in range(indptr[k], indptr[k + 1]):
            expected[i, i + offsets[e]] = values[e]
    for dtype in (np.uint8, np.uint16, np.int32, np.int64, np.int8):
        T = cascademg.Templates(indptr, offsets, values, ids.astype(dtype))
        h = cascademg.Hierarchy(T)
        assert abs(h.matrix() - expected).max() == 0 and "4 kinds" in repr(T)
    x = h.solver().solve(expected @ np.ones(n))
    assert np.abs(x - 1).max() < 1e-7
    references = np.arange(n) // 2
    P = cascademg.Templates([0, 1], [0], [1.0], np.zeros(n, np.uint8), references, columns=n // 2)
    h = cascademg.Hierarchy([T, None], P)
    assert abs(h.matrix("P") - sp.csr_matrix((np.ones(n), references, np.arange(n + 1)))).max() == 0


def test_new_values():
    A, P = cascademg.Templates.stencil(STAR[2], (15, 15)), cascademg.Templates.interpolation((15, 15))
    h = cascademg.Hierarchy([A, None], P)
    solver = h.solver()
    b = np.ones(225)
    x = solver.solve(b)
    h.update(2 * STAR[2])
    solver.refresh()
    assert np.abs(2 * solver.solve(b) - x).max() < 1e-6 * np.abs(x).max()
    before = h.matrix()
    with pytest.raises(cascademg.ArgumentError, match="level 0: A: kind .* not finite"):
        h.update(STAR[2] * [[1, 1, 1], [1, np.nan, 1], [1, 1, 1]])
    with pytest.raises(cascademg.ArgumentError, match=r"neighbour \(-1, -1, 0\)"):
        h.update(np.ones((3, 3)))
    with pytest.raises(cascademg.ArgumentError, match="stencil of shape"):
        h.update(np.ones(9))
    assert abs(h.matrix() - before).max() == 0
    with pytest.raises(cascademg.StateError, match="has no values"):
        h.update(STAR[2], role="P")


def test_what_is_wrong_is_named():
    T = cascademg.Templates
    with pytest.raises(cascademg.ArgumentError, match="row 2 is of kind 7, there are 1"):
        cascademg.Hierarchy(T([0, 1], [0], [1.0], np.array([0, 0, 7])))
    with pytest.raises(cascademg.ArgumentError, match="row 2 column 3 is out of range"):
        cascademg.Hierarchy(T([0, 2], [0, 1], [2.0, -1], np.zeros(3, np.uint8)))
    with pytest.raises(cascademg.ArgumentError, match="do not go with indptr"):
        T([0, 2], [0], [1.0], [0, 0])
    with pytest.raises(cascademg.ArgumentError, match="references of shape"):
        T([0, 1], [0], [1.0], [0, 0], references=[0])
    with pytest.raises(cascademg.ArgumentError, match="odd number"):
        cascademg.Hierarchy([cascademg.Templates.stencil(STAR[1], (4,)), None], T.interpolation((4,)))
    with pytest.raises(cascademg.ArgumentError, match="32 bits"):
        T([0, 1], [0], [1.0], [2**40])
    with pytest.raises(cascademg.ArgumentError, match="4 axes"):
        T.stencil(STAR[1], (3, 3, 3, 3))


@pytest.mark.skipif(not has("cmg_hierarchy_generate"), reason="a build without the generator")
def test_generated():
    t = cascademg.generate(dim=3, cells=16, templates=True)
    h = cascademg.generate(dim=3, cells=16)
    for level in range(h.levels):
        assert abs(t.matrix("A", level) - h.matrix("A", level)).max() == 0
    assert t.vector() is None and h.vector() is not None
    b = h.vector()
    x, info = t.solver().solve(b, return_info=True)
    y, other = h.solver().solve(b, return_info=True)
    assert info.iterations == other.iterations and np.abs(x - y).max() <= 1e-12 * np.abs(y).max()
    with pytest.raises(cascademg.ArgumentError, match="templates are for Q1"):
        cascademg.generate(dim=3, cells=16, templates=True, coefficient="jump")
