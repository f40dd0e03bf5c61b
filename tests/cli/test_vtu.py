"""`cmg solve --output x.vtu`, looked at with meshio: places, cells, and the exact solution at every node."""
import os
import subprocess
import sys
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
