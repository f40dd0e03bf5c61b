"""`cmg coarsen`: algebraic levels of a matrix alone and below a hierarchy, kept in a file."""

import os
import subprocess

import cli


class Coarsen(cli.Case):
    def setUp(self):
        super().setUp()
        n = 40
        A = cli.Matrix(n * n, n * n)
        A.row = [{j: 4.0 if i == j else -1.0 for j in (i - n, i - 1, i, i + 1, i + n)
                  if 0 <= j < n * n and (abs(i - j) != 1 or i // n == j // n)} for i in range(n * n)]
        self.A, self.a = A, self.path("a.mtx")
        cli.write_matrix(self.a, A)

    def folder_holds(self, *names):
        self.assertEqual(sorted(n for n in os.listdir(self.folder.name) if not n.endswith(".lock")), sorted(names))

    def test_matrix_alone(self):
        told = self.json("coarsen", self.a, self.path("h"), "--rows", "100")
        levels = told["levels"] if isinstance(told["levels"], int) else len(told["levels"])
        self.assertGreaterEqual(levels, 3)
        self.folder_holds("a.mtx", "h", "out.json")
        solved = self.json("solve", self.path("h"))
        self.assertTrue(solved["converged"])
        self.assertEqual(solved["levels"], levels)
        self.assertFalse([note for note in solved["notes"] if "algebraic levels" in note])
        again = self.json("solve", self.a, "--smoother", "chebyshev4")  # which asks for levels
        self.assertTrue([note for note in again["notes"] if "algebraic levels" in note])
        self.assertLessEqual(abs(again["iterations"] - solved["iterations"]), 2)
        direct = self.json("solve", self.a)
        self.assertTrue([note for note in direct["notes"] if "direct solve" in note])
        self.assertEqual(direct["iterations"], 1)

    def test_flow(self):
        n = 30  # upwind differences of a wind along x and y
        A = cli.Matrix(n * n, n * n)
        A.row = [{j: 2.1 if i == j else -1.0 if j < i else -0.05 for j in (i - n, i - 1, i, i + 1, i + n)
                  if 0 <= j < n * n and (abs(i - j) != 1 or i // n == j // n)} for i in range(n * n)]
        cli.write_matrix(self.a, A)
        self.json("coarsen", self.a, self.path("h"), "--rows", "50", "--method", "air", "--distance", "1", "--near", "0.2")
        self.assertIn("R0.mtx", os.listdir(self.path("h")))
        solved = self.json("solve", self.path("h"))
        self.assertTrue(solved["converged"] and solved["iterations"] <= 8)
        self.assertTrue([note for note in solved["notes"] if "fc-jacobi" in note])
        self.good("coarsen", self.a, self.path("c"), "--rows", "50")  # which sees the flow
        self.assertIn("R0.mtx", os.listdir(self.path("c")))
        self.refused(1, "coarsen", self.a, self.path("h"), "--distance", "3")

    def test_in_place(self):
        h = self.path("h.cmg")
        if cli.run("convert", self.a, h).returncode != 0:
            self.skipTest("no HDF5 in this build")
        before = os.stat(h).st_ino
        self.good("coarsen", h, "--rows", "100")
        self.assertNotEqual(os.stat(h).st_ino, before)  # written anew beside it, then renamed
        self.folder_holds("a.mtx", "h.cmg")
        self.assertGreaterEqual(self.json("solve", h)["levels"], 3)

    def test_two_at_once(self):
        h = self.path("h.cmg")
        if cli.run("convert", self.a, h).returncode != 0:
            self.skipTest("no HDF5 in this build")
        both = [subprocess.Popen([cli.TOOL, "coarsen", h, "--rows", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(2)]
        for one in both:
            one.communicate()
        self.assertTrue(any(one.returncode == 0 for one in both))
        self.assertTrue(self.json("solve", h)["converged"])

    def test_what_is_refused(self):
        with open(self.a, encoding="utf-8") as file:
            text = file.read()
        self.refused(1, "coarsen", self.a, self.path("h"), "--strength", "2")
        self.refused(2, "coarsen", self.path("absent"), self.path("h"))
        self.assertNotEqual(cli.run("coarsen", self.a, self.path("no", "h.cmg")).returncode, 0)
        self.folder_holds("a.mtx")
        with open(self.a, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)


if __name__ == "__main__":
    cli.main()
