"""Prolongations between meshes keep the functions of the coarse space; meshes come and go through meshio."""
import os
import pathlib

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


def test_labels_and_regions_come_from_vtk(tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh = square(4, "q1", 0.2)
    left = np.flatnonzero(mesh.points[:, 0] == 0)
    left = left[np.argsort(mesh.points[left, 1])]
    sides = np.column_stack([left[:-1], left[1:]])
    points = np.column_stack([mesh.points, np.zeros(len(mesh.points))])
    marks = [np.arange(len(mesh.cells)) % 2 + 8, np.full(len(sides), 3)]
    meshio.write(tmp_path / "a.vtk", meshio.Mesh(points, [("quad", mesh.cells), ("line", sides)], cell_data={"attribute": marks}))
    read = cascademg.read_mesh(tmp_path / "a.vtk")
    assert np.array_equal(read.regions, marks[0]) and len(read.facets) == 1 and set(read.facets[0][2]) == {3}
    read.write(tmp_path / "a.msh")
    # Dirichlet on the labelled side alone leaves more unknowns than on the whole boundary
    some = cascademg.generate(mesh=str(tmp_path / "a.msh"), element="q1", levels=2, dirichlet_labels="3")
    every = cascademg.generate(mesh=str(tmp_path / "a.msh"), element="q1", levels=2)
    assert some.rows() == 9 * 8 and every.rows() == 7 * 7


TETGEN = {"t.node": "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 1 1 1\n",
          "t.ele": "# two cells\n2 4 1\n0 0 1 2 3 7\n1 1 2 3 4 9\n", "t.face": "1 1\n0 0 1 2 5\n"}


def test_tetgen_files_are_read(tmp_path):
    for name, text in TETGEN.items():
        (tmp_path / name).write_text(text)
    mesh = cascademg.read_mesh(tmp_path / "t.ele")
    assert mesh.element == "p1" and mesh.cells.shape == (2, 4) and mesh.points.shape == (5, 3)
    assert list(mesh.regions) == [7, 9]
    assert mesh.facets[0][0] == "triangle" and list(mesh.facets[0][2]) == [5]


def test_triangle_files_are_read_by_their_corners(tmp_path):
    (tmp_path / "a.node").write_text("7 2 0 1\n" + "".join(f"{k + 1} {x} {y} 1\n" for k, (x, y) in enumerate(
        [(0, 0), (2, 0), (0, 2), (1, 1), (0, 1), (1, 0), (9, 9)])))
    (tmp_path / "a.ele").write_text("1 6 0\n1 1 2 3 4 5 6\n")
    (tmp_path / "a.edge").write_text("1 1\n1 2 1 4\n")
    mesh = cascademg.read_mesh(tmp_path / "a.node")
    assert mesh.cells.tolist() == [[0, 1, 2]] and len(mesh.points) == 3 and mesh.facets[0][1].tolist() == [[1, 0]]


@pytest.mark.parametrize("name,text,message", [
    ("t.node", "5 1 0 0\n0 0\n", "fewer than it says"), ("t.node", "1 1 0 0\n0 0\n", "dimension 1"),
    ("t.node", "2 2 0 0\n0 0 0\n3 1 0\n", "node 1 is expected"), ("t.ele", "1 4 0\n0 0 1 2 9\n", "out of range")])
def test_wrong_tetgen_files_are_refused(tmp_path, name, text, message):
    for each, right in TETGEN.items():
        (tmp_path / each).write_text(text if each == name else right)
    with pytest.raises(cascademg.ArgumentError, match=message):
        cascademg.read_mesh(tmp_path / "t.ele")


@pytest.mark.parametrize("name,nodes,cells", [("chaste_circular_annulus_240.ele", 160, 240), ("heart_ucsd_173.node", 172, 610)])
def test_shared_files_of_triangle_and_tetgen(tmp_path, name, nodes, cells):
    folder = pathlib.Path(os.environ.get("CMG_SHARED_DATA", pathlib.Path(__file__).parents[4] / "shared" / "data")) / "meshes"
    if not (folder / name).exists():
        pytest.skip("the shared meshes are not here")
    pytest.importorskip("meshio")
    mesh = cascademg.read_mesh(folder / name)
    assert len(mesh.points) == nodes and len(mesh.cells) == cells
    mesh.write(tmp_path / "a.msh")
    assert cascademg.generate(mesh=str(tmp_path / "a.msh"), element="p1", levels=2).rows() > 0
