"""Singular systems through `cmg solve`: exit status 0, and the x of LAPACK's least squares."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

BODIES = {
    "neumann": ("--cells 12 --dirichlet neumann", 1),
    "neumann, p2": ("--cells 6 --element p2 --dirichlet neumann", 1),
    "free body in the plane": ("--cells 8 --problem elasticity --dirichlet neumann", 3),
    "free body": ("--cells 3 --dim 3 --problem elasticity --dirichlet neumann", 6),
}


@unittest.skipIf(h5py is None, "needs numpy and h5py")
class NullSpace(cli.Case):
    def matrix(self, path):
        with h5py.File(path) as f:
            g = f["levels/0/A"]
            shape = tuple(g.attrs["shape"])
            A = np.zeros(shape)
            start, column, value = g["indptr"][:], g["indices"][:], g["data"][:]
            for i in range(shape[0]):
                A[i, column[start[i]:start[i + 1]]] = value[start[i]:start[i + 1]]
        return A

    def generate(self, words):
        h = self.path("h.cmg")
        self.good("generate", *words.split(), h)
        if "needs a build with LAPACK" in cli.run("solve", h).stderr:
            self.skipTest("no LAPACK in this build")
        return h

    def test_least_squares(self):
        for name, (words, vectors) in BODIES.items():
            with self.subTest(name):
                h = self.generate(words)
                A = self.matrix(h)
                b = np.random.default_rng(1).standard_normal(A.shape[0])
                np.save(self.path("b.npy"), b)
                told = self.json("solve", h, "--rhs", self.path("b.npy"), "--rtol", "1e-12", "--output", self.path("x.npy"))
                exact, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-11)
                self.assertEqual(A.shape[0] - rank, vectors)
                self.assertTrue(told["converged"])
                self.assertEqual(told["nullspace"], vectors)
                self.assertAlmostEqual(told["removed"], np.linalg.norm(b - A @ exact), delta=1e-8)
                self.assertIn("null space", " ".join(told["hints"]))
                x = np.load(self.path("x.npy"))
                self.assertLess(np.linalg.norm(x - exact), 1e-8 * np.linalg.norm(exact))

    def test_vectors_of_the_file(self):
        h = self.generate(BODIES["neumann"][0])
        with h5py.File(h, "r+") as f:
            n = f["levels/0/A"].attrs["shape"][0]
            f["levels/0/nullspace"] = np.full((n, 1), 2.0)
            f["levels/0/nullspace"].attrs["exact"] = 1
        self.assertEqual(self.json("solve", h)["nullspace"], 1)
        self.assertEqual(self.json("solve", h, "--no-nullspace")["nullspace"], 0)
        again = self.path("again.cmg")
        self.good("convert", h, again)
        with h5py.File(again) as f:
            self.assertEqual(f["levels/0/nullspace"].attrs["exact"], 1)
        with h5py.File(h, "r+") as f:
            f["levels/0/nullspace"][0, 0] = 3.0
        self.assertIn("marked as exact", self.refused(1, "solve", h))


if __name__ == "__main__":
    cli.main()
