"""cmg generate: sizes before the work, every option reaches the hierarchy, mistakes are named."""

import os
import re
import shutil
import subprocess
import unittest

import cli

SQUARE = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 7 "wall"
1 8 "open"
$EndPhysicalNames
$Nodes
9
1 0 0 0
2 1 0 0
3 2 0 0
4 0 1 0
5 1.2 0.9 0
6 2 1 0
7 0 2 0
8 1 2 0
9 2 2 0
$EndNodes
$Elements
12
1 1 2 7 1 1 2
2 1 2 7 1 2 3
3 1 2 8 1 3 6
4 1 2 8 1 6 9
5 1 2 8 1 9 8
6 1 2 8 1 8 7
7 1 2 7 1 7 4
8 1 2 7 1 4 1
9 3 2 1 1 1 2 5 4
10 3 2 1 1 2 3 6 5
11 3 2 1 1 4 5 8 7
12 3 2 1 1 5 6 9 8
$EndElements
"""


# [0, 2] x [0, 1], two groups of cells that meet at x = 1
BAR = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
5
1 1 "side"
1 2 "left"
1 3 "right"
2 4 "soft"
2 5 "stiff"
$EndPhysicalNames
$Nodes
6
1 0 0 0
2 1 0 0
3 2 0 0
4 0 1 0
5 1 1 0
6 2 1 0
$EndNodes
$Elements
10
1 1 2 1 1 1 2
2 1 2 1 1 2 3
3 1 2 3 1 3 6
4 1 2 1 1 6 5
5 1 2 1 1 5 4
6 1 2 2 1 4 1
7 2 2 4 1 1 2 5
8 2 2 4 1 1 5 4
9 2 2 5 2 2 3 6
10 2 2 5 2 2 6 5
$EndElements
"""


class Generate(cli.Case):
    def matrix(self, name, *options):
        """A0 of a hierarchy written as Matrix Market files: rows, cols, {(i, j): value}."""
        out = self.path(name)
        self.good("generate", *options, out, "--to", "mtx")
        with open(os.path.join(out, "A0.mtx"), encoding="ascii") as file:
            symmetric = "symmetric" in file.readline()
            lines = [line.split() for line in file if not line.startswith("%")]
        entries = {(int(i), int(j)): float(v) for i, j, v in lines[1:]}
        if symmetric:
            entries.update({(j, i): v for (i, j), v in list(entries.items())})
        return int(lines[0][0]), entries

    def test_groups_of_cells_scale_the_coefficient(self):
        """A bar of two materials, u = 0 at x = 0 and flux 1 at x = 2: u' = 1 / k, which P1 has exactly."""
        mesh = self.write("bar.msh", BAR)
        options = ("--mesh", mesh, "--levels", "3", "--dirichlet-labels", "left", "--flux-labels", "right", "--flux", "1",
                   "--strength", "0", "--to", "mtx")
        for factors, left, right in (("soft=0.5,stiff=4", 0.5, 4), ("5=8", 1, 8)):
            out, x = self.path(f"bar{right}"), self.path("x.mtx")
            self.good("generate", *options, "--group-coefficients", factors, out)
            self.good("solve", out, "--rtol", "1e-12", "--output", x)
            with open(os.path.join(out, "coords0.mtx"), encoding="ascii") as file:
                lines = [line for line in file if not line.startswith("%")]
            numbers = [float(line) for line in lines[1:]]
            places = numbers[:len(numbers) // 2]  # by columns
            for at, u in zip(places, cli.read_vector(x)):
                self.assertAlmostEqual(u, min(at, 1) / left + max(at - 1, 0) / right, places=9)
            # the coarse matrices know of the groups, too: those of nested P1 are Galerkin products
            self.good("generate", *options, "--group-coefficients", factors, "--coarse", "galerkin", out + "g")
            one, other = (cli.read_matrix(os.path.join(folder, "A1.mtx")) for folder in (out, out + "g"))
            for i in range(one.rows):
                for j in one.row[i].keys() | other.row[i].keys():
                    self.assertAlmostEqual(one.row[i].get(j, 0), other.row[i].get(j, 0), places=12)
        for wrong, told in (("steel=2", "no group of cells 'steel'"), ("soft", "group=factor"), ("soft=0", "over 0"),
                            ("soft=2x", "group=factor")):
            self.assertIn(told, self.refused(1, "generate", *options, "--group-coefficients", wrong, self.path("no")))
        self.assertIn("mesh file", self.refused(1, "generate", "--to", "mtx", "--group-coefficients", "a=1", self.path("no")))

    def test_ranks_write_what_one_writes(self):
        """A file of small datasets is the same to the byte; what ranks do not make is refused."""
        options = ("--dim", "3", "--cells", "8", "--distort", "0.2")
        if "no HDF5" in cli.run("generate", *options, self.path("one.h5")).stderr:
            self.skipTest("no HDF5 in this build")
        with open(self.path("one.h5"), "rb") as file:
            one = file.read()
        for ranks in (2, 5):
            self.good("generate", *options, "--ranks", ranks, self.path("many.h5"))
            with open(self.path("many.h5"), "rb") as file:
                self.assertEqual(file.read(), one)
        if shutil.which("mpirun") and "MPI" in self.good("version"):
            mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", cli.TOOL, "generate", *options]
            environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")  # MPI's own
            subprocess.run([*mpirun, self.path("mpi.h5")], check=True, timeout=120, capture_output=True, env=environment)
            with open(self.path("mpi.h5"), "rb") as file:
                self.assertEqual(file.read(), one)
            failed = subprocess.run([*mpirun, self.path("nowhere/mpi.h5")], check=False, timeout=120,
                                    capture_output=True, encoding="utf-8", env=environment)
            self.assertNotEqual(failed.returncode, 0)
            self.assertIn("nowhere", failed.stderr)
        out = self.path("x.h5")
        self.assertIn("squares", self.refused(1, "generate", "--shape", "lshape", "--ranks", "2", out))
        self.assertIn("container", self.refused(1, "generate", "--ranks", "2", self.path("folder")))
        self.assertIn("nowhere", self.refused(2, "generate", "--ranks", "2", self.path("nowhere/x.h5")))
        self.assertFalse(os.path.exists(out))

    def test_sizes_come_first_and_a_dry_run_does_no_more(self):
        text = self.good("generate", "--dim", "3", "--cells", "256", "--dry-run")
        self.assertIn("16581375 unknowns, 444194947 entries", text)
        self.assertIn("memory", text)
        self.assertNotIn("written", text)
        error = self.refused(1, "generate", "--dim", "3", "--cells", "4000", "--dry-run")
        self.assertIn("63952011999 unknowns are more than 2^31 - 1", error)

    def test_five_point_neighbours_and_nine_entries(self):
        rows, A = self.matrix("q1", "--cells", "8")
        self.assertEqual(rows, 49)
        self.assertAlmostEqual(A[25, 25], 8 / 3, places=13)
        for j in (17, 18, 19, 24, 26, 31, 32, 33):
            self.assertAlmostEqual(A[25, j], -1 / 3, places=13)
        self.assertEqual(sum(1 for i, _ in A if i == 25), 9)

    def test_json_has_the_levels_and_fingerprints(self):
        made = self.json("generate", "--cells", "8", "--levels", "3")
        self.assertEqual([level["A"]["rows"] for level in made["levels"]], [49, 9, 1])
        self.assertEqual(made["levels"][0]["P"]["cols"], 9)
        self.assertNotIn("P", made["levels"][2])
        self.assertAlmostEqual(made["rhs_norm"], 7 / 64, places=14)
        self.assertAlmostEqual(made["levels"][2]["A"]["norm"], 8 / 3, places=13)
        again = self.json("generate", "--cells", "8", "--levels", "3", "--numbering", "random")
        self.assertNotEqual(
            made["levels"][0]["A"]["structure"], again["levels"][0]["A"]["structure"]
        )

    def test_a_traction_replaces_the_source(self):
        options = ("--cells", "4", "--levels", "1", "--problem", "elasticity", "--strength", "0")
        still = self.json("generate", *options, "--dirichlet-labels", "left")
        self.assertEqual(still["rhs_norm"], 0)
        pulled = self.json("generate", *options, "--dirichlet-labels", "left",
                           "--flux-labels", "right", "--flux", "0,-2")  # fmt: skip
        # nodal loads of 2 on four edges of length 1/4: 1/4, 1/2, 1/2, 1/2, 1/4
        self.assertAlmostEqual(pulled["rhs_norm"], (2 / 16 + 3 / 4) ** 0.5, places=13)

    def test_every_case_is_listed_and_can_be_sized(self):
        names = [line.split()[0] for line in self.good("generate", "--list").splitlines()[1:]]
        self.assertGreater(len(names), 20)
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertIn("unknowns", self.good("generate", "--case", name, "--dry-run"))

    def test_options_go_on_top_of_a_case(self):
        text = self.good("generate", "--case", "poisson-q1-2d-4096", "--cells=16", "--dry-run")
        self.assertIn("225 unknowns", text)
        self.assertIn("poisson-q1", self.refused(1, "generate", "--case", "poisson-q1", "x"))

    def test_a_mesh_file_with_labels(self):
        mesh = self.write("square.msh", SQUARE)
        options = ("--mesh", mesh, "--levels", "3", "--load", "exponential")
        every, _ = self.matrix("all", *options)
        wall, _ = self.matrix("wall", *options, "--dirichlet-labels", "wall")
        self.assertEqual(every, 7 * 7)
        self.assertEqual(wall, 8 * 8)
        error = self.refused(1, "generate", *options, "--dirichlet-labels", "door", "x")
        self.assertIn("door", error)
        self.assertIn("triangles", self.refused(1, "generate", *options, "--element", "p1", "x"))

    def test_bad_files_and_options_are_named(self):
        triangles = SQUARE.replace("9 3 2 1 1 1 2 5 4", "9 2 2 1 1 1 2 5\n13 2 2 1 1 1 5 4")
        for k, nodes in ((10, "2 3 6 5"), (11, "4 5 8 7"), (12, "5 6 9 8")):
            a, b, c, d = nodes.split()
            triangles = triangles.replace(f"{k} 3 2 1 1 {nodes}", f"{k} 2 2 1 1 {a} {b} {c}\n{k + 4} 2 2 1 1 {a} {c} {d}")
        mesh = self.write("triangles.msh", triangles.replace("$Elements\n12\n", "$Elements\n16\n"))
        self.assertEqual(self.matrix("by_cells", "--mesh", mesh), self.matrix("by_name", "--mesh", mesh, "--element", "p1"))
        self.assertIn("q1", self.refused(1, "generate", "--mesh", mesh, "--element", "q1", "x"))
        mesh = self.write("huge.msh", SQUARE.replace("9 2 2 0\n", "9 1e200 1e200 0\n"))
        self.assertIn("huge.msh", self.refused(2, "generate", "--mesh", mesh, "x"))
        mesh = self.write("bad.msh", SQUARE.replace("9 3 2 1 1 1 2 5 4", "9 3 2 1 1 1 2 5 77"))
        self.assertIn("bad.msh", self.refused(2, "generate", "--mesh", mesh, "x"))
        self.refused(2, "generate", "--mesh", self.path("nowhere.msh"), "x")
        self.assertIn("halved", self.refused(1, "generate", "--cells", "6", "--levels", "3", "x"))
        self.refused(1, "generate", "--shape", "fichera", "x")
        self.refused(1, "generate", "--element", "q3", "x")
        for flux in ("1,2,3,4", "1,x", "", "1,"):
            error = self.refused(1, "generate", "--flux", flux, "--flux-labels", "top", "x")
            self.assertIn("--flux", error)
        self.assertIn("missing", self.refused(1, "generate"))
        self.assertIn("too many", self.refused(1, "generate", "a.cmg", "b.cmg"))

    def test_the_numbering_is_written_and_the_solver_does_not_mind(self):
        iterations = set()
        for numbering in ("generated", "random", "rcm", "cells", "hierarchical", "lexicographic"):
            out = self.path(numbering + ".cmg")
            done = cli.run("generate", "--cells", "32", "--numbering", numbering, out)
            if done.returncode == 1 and "HDF5" in done.stderr:
                self.skipTest("no HDF5")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(self.good("info", out), r"numbering\W+" + numbering)
            solved = self.good("solve", out)
            iterations.add(re.search(r"(\d+) iterations", solved).group(1))
        self.assertEqual(len(iterations), 1, iterations)


if __name__ == "__main__":
    cli.main()
