"""`cmg solve --output x.vtu`, looked at with meshio: places, cells, and the exact solution at every node."""
import base64
import os
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import meshio
import numpy as np

TOOL = os.environ["CMG_TOOL"]


def run(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)


class Vtu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "h.cmg")
        self.out = os.path.join(self.folder.name, "x.vtu")

    def generate(self, *options):
        made = run("generate", self.file, *options)
        if "no HDF5" in made.stderr:
            self.skipTest("no HDF5 in this build")
        self.assertEqual(made.returncode, 0, made.stderr)

    def solve(self, rtol="1e-12"):
        done = run("solve", self.file, "--rtol", rtol, "--output", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return meshio.read(self.out)

    def array(self, name, kind):
        """An appended array by its name: base64 of its bytes behind their number, as VTK has it."""
        with open(self.out, encoding="ascii") as file:
            text = file.read()
        offset = int(re.search(rf'Name="{name}"[^>]*offset="(\d+)"', text).group(1))
        start = text.index("_", text.index("<AppendedData")) + 1 + offset
        length = int.from_bytes(base64.b64decode(text[start:start + 12])[:8], "little")
        behind = start + 12 if text[start + 11] == "=" else start  # the number by itself, or with the bytes
        size = length + (8 if behind == start else 0)
        data = base64.b64decode(text[behind:behind + (size + 2) // 3 * 4])
        return np.frombuffer(data[size - length:size], kind)

    def test_cells_end_where_they_end(self):
        # meshio looks at the kinds of the cells alone
        for dim, corners, element in ((2, 4, "q1"), (3, 8, "q1"), (2, 3, "p1"), (3, 4, "p2")):
            self.generate("--element", element, "--dim", dim, "--cells", 4)
            cells = len(self.solve().cells[0].data)
            self.assertEqual(self.array("offsets", "<i8").tolist(), [corners * (k + 1) for k in range(cells)])
            self.assertEqual(len(self.array("connectivity", "<i4")), corners * cells)
            self.assertEqual(len(set(self.array("types", "u1").tolist())), 1)

    def test_polynomials_are_exact_at_all_nodes(self):
        # the discrete solution of a polynomial of the space's degree is that polynomial, so that x is known at
        # every node, boundary included, without asking the library
        cells = {("q1", 2): "quad", ("q2", 2): "quad", ("p1", 2): "triangle", ("p2", 2): "triangle",
                 ("q1", 3): "hexahedron", ("q2", 3): "hexahedron", ("p1", 3): "tetra", ("p2", 3): "tetra"}
        for (element, dim), kind in cells.items():
            with self.subTest(element=element, dim=dim):
                self.generate("--element", element, "--dim", dim, "--cells", 4, "--load", "polynomial",
                              "--numbering", "random", "--distort", 0.3)
                mesh = self.solve()
                n = 4 * (2 if element[1] == "2" else 1)
                self.assertEqual([block.type for block in mesh.cells], [kind])
                self.assertEqual(len(mesh.points), (n + 1) ** dim)
                self.assertTrue(np.allclose(mesh.points[:, dim:], 0))
                x, exact = mesh.point_data["x"], mesh.point_data["exact"]
                self.assertEqual(x.shape, (len(mesh.points),))
                self.assertLess(np.abs(x - exact).max(), 1e-8 * np.abs(exact).max())
                # a polynomial of degree 1 or 2 in every direction: fitted without remainder
                powers = range(2 if element[1] == "1" else 3)
                grids = np.meshgrid(*[list(powers)] * dim, indexing="ij")
                terms = np.array([g.ravel() for g in grids]).T
                basis = np.stack([np.prod(mesh.points[:, :dim] ** t, axis=1) for t in terms], axis=1)
                remainder = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
                self.assertLess(np.abs(remainder).max(), 1e-8 * np.abs(x).max())

    def test_displacements_are_vectors(self):
        self.generate("--shape", "beam", "--problem", "elasticity", "--cells", 4, "--levels", 2)
        mesh = self.solve("1e-6")
        u = mesh.point_data["x"]
        self.assertEqual(u.shape, (len(mesh.points), 3))
        clamped = mesh.points[:, 0] == 0
        self.assertTrue(clamped.any() and np.all(u[clamped] == 0))
        self.assertGreater(np.abs(u[~clamped, 1]).max(), 0)
        self.assertTrue(np.all(u[:, 2] == 0))

    def test_files_without_a_mesh_are_refused_before_the_work(self):
        self.generate("--cells", 8, "--no-output-mesh")
        done = run("solve", self.file, "--output", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("carries no mesh", done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_other_programs_may_add_the_mesh(self):
        # the documented layout, written with h5py for a square of 8 x 8 cells with eliminated boundary
        n = 8
        self.generate("--cells", n, "--load", "exponential")
        own = self.solve()
        self.generate("--cells", n, "--load", "exponential", "--no-output-mesh")
        at = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
        y, x = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
        inner = np.full((n + 1, n + 1), -1)
        inner[1:-1, 1:-1] = np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
        with h5py.File(self.file, "a") as file:
            file["/mesh/x"] = np.c_[x.ravel(), y.ravel()]
            file["/mesh/cells"] = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]], axis=-1).reshape(-1, 4)
            file["/mesh/unknowns"] = inner.ravel()
            file["/mesh/boundary_values"] = (np.exp(x) * np.cos(y))[inner < 0][:, None]
        mesh = self.solve()
        self.assertTrue(np.array_equal(mesh.cells[0].data, own.cells[0].data))
        self.assertTrue(np.allclose(mesh.points, own.points, atol=1e-14))
        self.assertTrue(np.allclose(mesh.point_data["x"], own.point_data["x"], atol=1e-12))

    def test_wrong_meshes_are_refused(self):
        def replace(file, name, values):
            del file[name]
            file[name] = values

        def at(file, name, place, value):
            file[name][place] = value

        faults = {"cells missing": lambda f: f.__delitem__("/mesh/cells"),
                  "cell of a node that is not": lambda f: at(f, "/mesh/cells", (3, 1), 10 ** 6),
                  "negative node": lambda f: at(f, "/mesh/cells", (3, 1), -1),
                  "four coordinates": lambda f: replace(f, "/mesh/x", np.zeros((81, 4))),
                  "one coordinate": lambda f: replace(f, "/mesh/x", np.zeros((81, 1))),
                  "five corners": lambda f: replace(f, "/mesh/cells", np.zeros((64, 5), dtype=int)),
                  "not a number": lambda f: at(f, "/mesh/x", (5, 0), np.nan),
                  "too few unknowns": lambda f: replace(f, "/mesh/unknowns", np.zeros(80, dtype=int)),
                  "unknown that is not": lambda f: at(f, "/mesh/unknowns", 40, 10 ** 6),
                  "no boundary values": lambda f: f.__delitem__("/mesh/boundary_values"),
                  "wide boundary values": lambda f: replace(f, "/mesh/boundary_values", np.zeros((32, 2)))}
        self.generate("--cells", 8)
        with open(self.file, "rb") as file:
            good = file.read()
        for name, fault in faults.items():
            with self.subTest(fault=name):
                with open(self.file, "wb") as file:
                    file.write(good)
                with h5py.File(self.file, "a") as file:
                    fault(file)
                done = run("solve", self.file, "--output", self.out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("mesh", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
