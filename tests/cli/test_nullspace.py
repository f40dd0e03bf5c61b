"""Singular systems through `cmg solve`: exit status 3 without a solution, and the x of LAPACK's least squares."""

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
                words = ("solve", h, "--rhs", self.path("b.npy"), "--rtol", "1e-12", "--output", self.path("x.npy"))
                told = self.json(*words, status=3)
                exact, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-11)
                self.assertEqual(A.shape[0] - rank, vectors)
                self.assertEqual((told["converged"], told["reason"]), (False, "least_squares"))
                self.assertEqual(told["nullspace"], vectors)
                x = np.load(self.path("x.npy"))
                true = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
                for value in (told["relative_residual"], told["history"][-1] / told["rhs_norm"],
                              told["removed"] / told["rhs_norm"]):
                    self.assertAlmostEqual(value, true, delta=1e-10)
                self.assertLess(told["range_residual"], 1.1e-12)
                self.assertAlmostEqual(told["rhs_norm"], np.linalg.norm(b), delta=1e-12 * np.linalg.norm(b))
                asked = self.json(*words, "--least-squares")
                self.assertTrue(asked["converged"])
                self.assertEqual(asked["relative_residual"], told["relative_residual"])
                with open(self.path("o.txt"), "w") as file:
                    file.write("least-squares\n")
                self.assertTrue(self.json(*words, "--options", self.path("o.txt"))["converged"])
                self.assertAlmostEqual(told["removed"], np.linalg.norm(b - A @ exact), delta=1e-8)
                self.assertIn("outside the range of A: there is no solution", " ".join(told["hints"]))
                self.assertIn("outside the range of A: there is no solution", " ".join(asked["hints"]))
                x = np.load(self.path("x.npy"))
                self.assertLess(np.linalg.norm(x - exact), 1e-8 * np.linalg.norm(exact))

    def test_loads(self):
        """What generate writes is compatible; a load to quadrature is not, and its share is reported."""
        for name, (words, _) in BODIES.items():
            with self.subTest(name):
                h = self.generate(words)
                self.assertEqual(self.json("solve", h)["converged"], True)
                with h5py.File(h, "r+") as f:
                    b = f["rhs/b"][:]
                    b[::2] += 1e-4 * np.linalg.norm(b) / np.sqrt(len(b))
                    f["rhs/b"][:] = b
                told = self.json("solve", h, status=3)
                self.assertEqual(told["reason"], "least_squares")
                self.assertLess(told["removed"], 2e-4 * np.linalg.norm(b))
                self.assertGreater(told["removed"], 1e-6 * np.linalg.norm(b))
                self.assertIn("%.3g %% of b" % (100 * told["removed"] / told["rhs_norm"]), told["hints"][0])
        self.good("generate", "--cells", "500", "--dirichlet", "neumann", self.path("large.cmg"))
        self.assertLess(self.json("solve", self.path("large.cmg"))["removed"], 1e-14)

    def test_columns_and_ranks(self):
        h = self.generate(BODIES["neumann"][0])
        A = self.matrix(h)
        n = A.shape[0]
        B = np.stack([A @ np.random.default_rng(2).random(n), np.ones(n), np.sin(np.arange(n))], axis=1)
        np.save(self.path("B.npy"), B)
        told = self.json("solve", h, "--rhs", self.path("B.npy"), "--output", self.path("X.npy"), status=3)
        reasons = [column["reason"] for column in told["columns"]]
        self.assertEqual(reasons, ["converged_rtol", "least_squares", "least_squares"])
        R = np.linalg.norm(B - A @ np.load(self.path("X.npy")), axis=0) / np.linalg.norm(B, axis=0)
        for column, r in zip(told["columns"], R):
            self.assertAlmostEqual(column["relative_residual"], r, delta=1e-9)
        self.assertTrue(self.json("solve", h, "--rhs", self.path("B.npy"), "--least-squares")["converged"])
        np.save(self.path("b.npy"), B[:, 2])
        words = ("solve", h, "--rhs", self.path("b.npy"), "--ranks", "2", "--coarse", "smoother")
        told = self.json(*words, status=3)
        self.assertEqual(told["reason"], "least_squares")
        self.assertAlmostEqual(told["relative_residual"], R[2], delta=1e-9)
        self.assertTrue(self.json(*words, "--least-squares")["converged"])
        np.save(self.path("b.npy"), B[:, 0])
        self.assertEqual(self.json(*words)["reason"], "converged_rtol")

    def test_vectors_of_the_file(self):
        h = self.generate(BODIES["neumann"][0])
        with h5py.File(h, "r+") as f:
            n = f["levels/0/A"].attrs["shape"][0]
            f["levels/0/nullspace"] = np.full((n, 1), 2.0)
            f["levels/0/nullspace"].attrs["exact"] = 1
        self.assertEqual(self.json("solve", h)["nullspace"], 1)
        np.save(self.path("ones.npy"), np.ones(n))
        told = self.json("solve", h, "--rhs", self.path("ones.npy"))
        self.assertEqual((told["converged"], told["iterations"]), (True, 0))
        self.assertAlmostEqual(told["relative_residual"], 1, delta=1e-12)
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
