"""Prolongations between meshes keep the functions of the coarse space; meshes come and go through meshio."""
import numpy as np
import pytest

import cascademg
from cascademg._library import has

pytestmark = pytest.mark.skipif(not has("cmg_fem_transfer"), reason="a build without libcmgfem")


def square(n, element, bend):
    """[0, 1]^2 with bent lines: n^2 quads or 2 n^2 triangles."""
    s = np.linspace(0, 1, n + 1)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    move = bend * x * (1 - x) * y * (1 - y)
    a = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    b = a + n + 1
    quads = np.column_stack([a, a + 1, b + 1, b])
    cells = quads if element == "q1" else np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return cascademg.Mesh(np.column_stack([x + move, y - move]), cells)


@pytest.mark.parametrize("element", ["p1", "q1"])
def test_linear_functions_stay(element):
    coarse, fine = square(5, element, 0.4), square(13, element, -0.3)
    assert coarse.element == element
    P = cascademg.transfer(coarse, fine)
    f = lambda m: 1 + m.points @ [2, -3]
    assert np.abs(P @ f(coarse) - f(fine)).max() < 1e-13
    assert abs(P - cascademg.transfer(coarse, fine.points)).nnz == 0


def test_components_are_kept_apart():
    coarse, fine = square(4, "p1", 0.2), square(9, "p1", 0.0)
    P = cascademg.transfer(coarse, fine)
    both = cascademg.transfer(coarse, fine, components=2)
    assert both.shape == (2 * P.shape[0], 2 * P.shape[1])
    assert abs(both[::2, ::2] - P).nnz == 0 and abs(both[1::2, 1::2] - P).nnz == 0 and both[::2, 1::2].nnz == 0


def test_mistakes_are_named():
    mesh = square(3, "q1", 0)
    with pytest.raises(cascademg.CmgError, match="outside"):
        cascademg.transfer(mesh, mesh.points + 7)
    with pytest.raises(cascademg.ArgumentError, match="dimensions"):
        cascademg.transfer(mesh, np.zeros((4, 3)))
    with pytest.raises(cascademg.ArgumentError, match="element q2"):
        cascademg.Mesh(mesh.points, mesh.cells, "q2")


@pytest.mark.parametrize("suffix", [".vtk", ".vtu", ".msh"])
def test_files_go_through_meshio(tmp_path, suffix):
    pytest.importorskip("meshio")
    mesh = square(6, "p1", 0.3)
    mesh.write(tmp_path / f"a{suffix}")
    again = cascademg.read_mesh(tmp_path / f"a{suffix}")
    assert np.array_equal(again.cells, mesh.cells) and np.allclose(again.points, mesh.points, atol=1e-12)
    again.write(tmp_path / "b.msh")
    h = cascademg.generate(mesh=str(tmp_path / "b.msh"), element="p1", levels=2)
    assert h.rows() > 0


def test_tetgen_files_are_read(tmp_path):
    pytest.importorskip("meshio")
    (tmp_path / "t.node").write_text("5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 1 1 1\n")
    (tmp_path / "t.ele").write_text("2 4 0\n0 0 1 2 3\n1 1 2 3 4\n")
    mesh = cascademg.read_mesh(tmp_path / "t.ele")
    assert mesh.element == "p1" and mesh.cells.shape == (2, 4) and mesh.points.shape == (5, 3)
