"""Mesh files written and read by meshio, against the library's readers and its VTU output.

test_mesh_read.py CONVERT SHARED_DATA (or CMG_SHARED_DATA): every file goes through CONVERT (read, write .vtu), and meshio
compares both sides by cells, places, labels and fields.
"""
import collections
import glob
import os
import subprocess
import sys
import tempfile

import meshio
import numpy as np

CONVERT, SHARED = sys.argv[1], os.environ.get("CMG_SHARED_DATA", sys.argv[2])
CORNERS = {"triangle": 3, "quad": 4, "tetra": 4, "hexahedron": 8}
BASE = {"triangle6": "triangle", "quad9": "quad", "quad8": "quad", "tetra10": "tetra", "hexahedron27": "hexahedron"}
FACETS = {"triangle": "line", "quad": "line", "tetra": "triangle", "hexahedron": "quad"}
failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print("failed:", text)


def cells_as_places(mesh, kind):
    """Each cell as the sorted list of its corners' places, the cells sorted: independent of numbering."""
    rows = []
    for block in mesh.cells:
        if BASE.get(block.type, block.type) == kind:
            corners = mesh.points[block.data[:, :CORNERS[kind]]]
            rows += [sorted(map(tuple, np.round(cell, 9) + 0.0)) for cell in corners]
    return sorted(rows)


def convert(path, folder):
    out = os.path.join(folder, "out.vtu")
    result = subprocess.run([CONVERT, path, out], capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr.strip()
    labels = [line.split("\t") for line in result.stdout.splitlines()]
    return meshio.read(out), labels


def main_kind(mesh):
    found = {BASE.get(block.type, block.type) for block in mesh.cells}
    solid = found & {"tetra", "hexahedron"}
    return (solid or found & {"triangle", "quad"}).pop()


def compare(path, original, folder):
    mesh, labels = convert(path, folder)
    if mesh is None:
        check(False, f"{path}: {labels}")
        return None
    kind = main_kind(original)
    check([block.type for block in mesh.cells] == [kind], f"{path}: one block of {kind}")
    check(cells_as_places(mesh, kind) == cells_as_places(original, kind), f"{path}: cells")
    x = mesh.points
    check(np.allclose(mesh.point_data['u <&"> v'], 1 + 2 * x[:, 0] - 3 * x[:, 1]), f"{path}: scalar field")
    check(np.allclose(mesh.point_data["vector"], np.c_[x[:, 0], -x[:, 1], 0 * x[:, 0]]), f"{path}: vector field")
    check(np.array_equal(mesh.cell_data["number"][0], np.arange(len(mesh.cells[0].data))), f"{path}: cell field")
    return labels


def grid(kind):
    """A small mesh with labelled sides x = 0 (3) and regions (8, 9), places a little out of line."""
    n = 3
    solid = kind in ("tetra", "hexahedron")
    axes = [np.arange(n + 1)] * (3 if solid else 2)
    points = np.array(np.meshgrid(*axes, indexing="ij"), dtype=float).reshape(len(axes), -1).T
    points += 0.1 * np.sin(7.0 * points[:, ::-1] + 1)
    at = {tuple(k): i for i, k in enumerate(np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1).T)}
    cells, sides = [], []
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
    for i in range(n):
        for j in range(n):
            if not solid:
                quad = [at[i + a, j + b] for a, b in ring]
                cells += [quad] if kind == "quad" else [quad[:3], [quad[0], quad[2], quad[3]]]
                if i == 0:
                    sides.append([quad[0], quad[3]])
                continue
            for k in range(n):
                cube = [at[i + a, j + b, k + c] for c in (0, 1) for a, b in ring]
                tets = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]
                cells += [cube] if kind == "hexahedron" else [[cube[m] for m in t] for t in tets]
                if i == 0:
                    face = [cube[m] for m in (0, 3, 7, 4)]
                    sides += [face] if kind == "hexahedron" else [face[:3], [face[0], face[2], face[3]]]
    points = np.c_[points, np.zeros((len(points), 3 - points.shape[1]))]
    tags = [np.array([8 + (c % 2) for c in range(len(cells))]), np.full(len(sides), 3)]
    return meshio.Mesh(points, [(kind, np.array(cells)), (FACETS[kind], np.array(sides))],
                       cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
                       field_data={"left": np.array([3, 2 if solid else 1]), "odd": np.array([9, 3 if solid else 2])})


def check_labels(name, labels, mesh):
    cells, sides = len(mesh.cells[0].data), len(mesh.cells[1].data)
    expected = [["label", "left", "3", str(sides)], ["region", "8", "8", str(cells - cells // 2)],
                ["region", "odd", "9", str(cells // 2)]]
    for row in expected:
        check(labels is not None and row in labels, f"{name}: {row} in {labels}")


def check_written(folder):
    for kind in CORNERS:
        mesh = grid(kind)
        for form, binary in (("gmsh22", False), ("gmsh22", True)):
            path = os.path.join(folder, f"{kind}-{form}-{binary}.msh")
            meshio.write(path, mesh, file_format=form, binary=binary)
            check_labels(path, compare(path, mesh, folder), mesh)
        solid = kind in ("tetra", "hexahedron")
        entity = np.tile([3 if solid else 2, 1], (len(mesh.points), 1))
        plain = meshio.Mesh(mesh.points, mesh.cells, point_data={"gmsh:dim_tags": entity},
                            cell_data={"gmsh:geometrical": mesh.cell_data["gmsh:geometrical"]})
        for binary in (False, True):
            path = os.path.join(folder, f"{kind}-gmsh4-{binary}.msh")
            meshio.write(path, plain, file_format="gmsh", binary=binary)
            compare(path, plain, folder)


def sides(kind, cell):
    rings = {"triangle": [(0, 1), (1, 2), (2, 0)], "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
             "tetra": [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)],
             "hexahedron": [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]}
    return [tuple(sorted(cell[k] for k in side)) for side in rings[kind]]


def boundary_tags(mesh):
    """How many boundary sides carry each physical tag, by counting sides of cells."""
    kind = main_kind(mesh)
    seen = collections.Counter(side for block in mesh.cells if BASE.get(block.type, block.type) == kind
                               for cell in block.data.tolist() for side in sides(kind, cell[:CORNERS[kind]]))
    tags = {}
    for block, physical in zip(mesh.cells, mesh.cell_data["gmsh:physical"]):
        facet = BASE.get(block.type, block.type)
        if facet == FACETS[kind]:
            for nodes, tag in zip(block.data.tolist(), physical.tolist()):
                corners = tuple(sorted(nodes[:4 if facet == "quad" else 3 if facet == "triangle" else 2]))
                if seen[corners] == 1 and tag != 0:
                    tags.setdefault(corners, tag)
    return collections.Counter(tags.values())


def check_shared(folder):
    files = sorted(glob.glob(os.path.join(SHARED, "meshes", "*.msh")))
    if not files:
        print("skipped: the shared meshes are not here")
    for path in files:
        sys.stdout.flush()
        try:
            original = meshio.read(path, file_format="gmsh")
        except BaseException as error:  # meshio ends the program over some files
            print(f"not compared: {os.path.basename(path)}: meshio: {error!r}")
            continue
        labels = compare(path, original, folder)
        if labels is not None and any(np.any(tag) for tag in original.cell_data.get("gmsh:physical", [])):
            found = {int(row[2]): int(row[3]) for row in labels if row[0] == "label" and row[2:] != ["0", row[3]]}
            expected = boundary_tags(original)
            check({k: v for k, v in found.items() if v > 0} == dict(expected), f"{path}: labels {found}, {expected}")
            names = {int(tag): name for name, (tag, dim) in original.field_data.items()}
            for row in labels:
                if row[0] == "label" and int(row[2]) in expected and row[2] != "0":
                    check(row[1] in (names.get(int(row[2])), row[2]), f"{path}: name {row}")


with tempfile.TemporaryDirectory() as work:
    check_written(work)
    check_shared(work)
print(f"{failures} failures")
sys.exit(failures > 0)
