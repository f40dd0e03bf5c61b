"""`cmg info`, `cmg plan` and `cmg convert` against what is known of small hierarchies."""

import os

import cli


class Info(cli.Case):
    def setUp(self):
        super().setUp()
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 16, 3, [1.0] * 225)

    def test_levels_are_as_built(self):
        result = self.json("info", self.h)
        self.assertEqual(result["suspicious"], [])
        self.assertEqual(result["rhs"], ["b"])
        self.assertEqual([level["rows"] for level in result["levels"]], [225, 49, 9])
        for l, level in enumerate(result["levels"]):
            lengths = [len(row) for row in cli.stiffness(16 >> l).row]
            self.assertEqual(level["entries"], sum(lengths))
            self.assertEqual((level["row_min"], level["row_max"]), (min(lengths), max(lengths)))
            self.assertAlmostEqual(level["row_mean"], sum(lengths) / len(lengths))
            self.assertEqual(level["asymmetry"], 0)
            self.assertEqual(level["dirichlet_rows"], 0)
        # bilinear elements are nested: R A P is the coarse matrix up to rounding
        self.assertLess(result["levels"][0]["galerkin_defect"], 1e-14)
        self.assertIsNone(result["levels"][2]["galerkin_defect"])
        total = sum(level["entries"] for level in result["levels"])
        self.assertAlmostEqual(result["operator_complexity"], total / self.A.entries())

    def test_galerkin_can_be_left_out(self):
        result = self.json("info", self.h, "--no-galerkin")
        self.assertIsNone(result["levels"][0]["galerkin_defect"])

    def suspicious(self):
        found = "\n".join(self.json("info", self.h)["suspicious"])
        self.assertNotEqual(found, "")
        text = self.good("info", self.h)
        for line in found.splitlines():
            self.assertIn(line, text)
        return found

    def test_zero_rows_and_columns_of_p_are_named(self):
        P = cli.interpolation(16)
        P.row[7] = {0: 0.0}
        for row in P.row:
            row.pop(3, None)
        cli.write_matrix(os.path.join(self.h, "P0.mtx"), P)
        found = self.suspicious()
        self.assertRegex(found, r"level 0: P has \d+ zero rows")
        self.assertIn("level 0: P has 1 zero columns", found)
        self.assertIn("level 0: R A P is not A of level 1", found)

    def test_unsymmetric_negative_and_zero_entries_are_named(self):
        self.A.row[3][4] *= 2
        self.A.row[5][5] *= -1
        self.A.row[0][100] = 0.0
        cli.write_matrix(os.path.join(self.h, "A0.mtx"), self.A)
        found = self.suspicious()
        self.assertIn("level 0: A is unsymmetric", found)
        self.assertIn("level 0: A has 1 negative diagonals", found)
        self.assertIn("level 0: A stores 1 explicit zeros", found)

    def test_dirichlet_rows_with_columns_are_named(self):
        self.A.row[40] = {40: 1.0}
        cli.write_matrix(os.path.join(self.h, "A0.mtx"), self.A)
        found = self.suspicious()
        self.assertIn("level 0: A is symmetric only without its Dirichlet rows", found)
        self.assertIn("level 0: P has nonzeros in 1 Dirichlet rows", found)
        self.assertEqual(self.json("info", self.h)["levels"][0]["dirichlet_rows"], 1)

    def test_singular_and_hardly_coarsening_levels_are_named(self):
        A = cli.Matrix(225, 225)
        for i in range(225):
            A.row[i] = {i: 2.0, (i + 1) % 225: -1.0, (i - 1) % 225: -1.0}
        P = cli.Matrix(225, 225)
        P.row = [{i: 1.0} for i in range(225)]
        for name in ("A0", "A1"):
            cli.write_matrix(os.path.join(self.h, f"{name}.mtx"), A)
        cli.write_matrix(os.path.join(self.h, "P0.mtx"), P)
        for name in ("P1", "A2"):
            os.remove(os.path.join(self.h, f"{name}.mtx"))
        found = self.suspicious()
        self.assertIn("level 0: level 1 has as many rows or more", found)
        self.assertIn("level 1: all row sums vanish", found)
        self.assertIn("right-hand side b: no solution", found)
        cli.write_vector(os.path.join(self.h, "b.mtx"), [(-1.0) ** i for i in range(224)] + [0.0])
        self.assertNotIn("no solution", self.suspicious())


class Plan(cli.Case):
    def setUp(self):
        super().setUp()
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 32, 4)

    def test_totals_are_sums_of_steps(self):
        for options in ((), ("--measure", "--repeat", "3"), ("--cycle", "W", "--collapse", "0")):
            with self.subTest(options=options):
                plan = self.json("plan", self.h, *options)
                steps = plan["steps"]
                self.assertGreater(len(steps), 3)
                self.assertEqual(sum(step["bytes"] for step in steps), plan["bytes"])
                self.assertAlmostEqual(sum(step["share"] for step in steps), 1)
                self.assertAlmostEqual(plan["bytes_per_unknown"], plan["bytes"] / 961)
                self.assertGreater(plan["bandwidth_gb_per_second"], 0)
                self.assertLessEqual(sum(plan["setup"].values()), plan["setup_seconds"])
                self.assertGreater(plan["setup"]["convert"], 0)
                seconds = plan["bytes"] / plan["bandwidth_gb_per_second"] / 1e9
                self.assertAlmostEqual(plan["bandwidth_seconds"] / seconds, 1)
                measured = [step["measured_seconds"] for step in steps]
                self.assertEqual(None in measured, "--measure" not in options)
                finest = [s for s in steps if s["matrix"] == "A" and s["level"] == 0]
                self.assertTrue(all(s["entries"] >= self.A.entries() for s in finest))

    def test_unfused_plans_move_more(self):
        fused = self.json("plan", self.h, "--collapse", "0")
        plain = self.json("plan", self.h, "--collapse", "0", "--no-fuse")
        self.assertGreater(plain["bytes"], fused["bytes"])

    def test_text_shows_every_step(self):
        steps = self.json("plan", self.h)["steps"]
        text = self.good("plan", self.h, "--measure", "--repeat", "1")
        for step in steps:
            self.assertIn(step["text"], text)
        self.assertIn("bytes per unknown", text)
        share = float(text.split("measured: ")[1].split(", ")[1].split(" %")[0])  # of the copy bandwidth
        self.assertTrue(share in (99, 100, 101) or (", from cache" in text) == (share > 100))

    def test_steps_show_what_compression_does(self):
        for options in ((), ("--format", "compressed", "--collapse", "0")):
            plan = self.json("plan", self.h, *options)
            self.assertEqual(sum(step["plain_bytes"] for step in plan["steps"]), plan["plain_bytes"])
            finest = [s for s in plan["steps"] if s["matrix"] == "A" and s["level"] == 0][0]
            info = finest["compression"]
            self.assertEqual(info["entries"], self.A.entries())
            self.assertAlmostEqual(sum(info["row_shares"].values()), 1)
            slices = -(-self.A.rows // 64)
            self.assertEqual((info["slices"], info["slices_looked_at"]), (slices, slices))
            csr = 8 * (self.A.rows + 1) + 12 * self.A.entries()
            self.assertLessEqual(info["plain_bytes"], csr)
            vectors = finest["bytes"] - finest["plain_bytes"]
            if options:
                self.assertEqual(vectors, info["compressed_bytes"] - info["plain_bytes"])


class Compress(cli.Case):
    def test_the_best_numbering_is_the_one_of_fewest_bytes(self):
        h = self.path("h.cmg")
        done = cli.run("generate", h, "--cells", "32", "--numbering", "random", "--distort", "0.2")
        if done.returncode == 1:
            self.skipTest("this build has no HDF5")
        found = self.json("info", h, "--compress", "--rows", "0")["numberings"]
        by_name = {one["numbering"]: one for one in found}
        self.assertEqual(list(by_name)[0], "generated")
        self.assertNotIn("random", by_name)
        self.assertIn("mesh", by_name["cells"]["refusal"])
        can = [one for one in found if one["refusal"] is None]
        for one in can:
            # two products with A, one each with P and R a level, none on the coarsest; CG's product
            total = 0
            coarsest = max(m["level"] for m in one["matrices"])
            for m in one["matrices"]:
                c = m["compression"]
                times = {"A": 2 * (m["level"] < coarsest) + (m["level"] == 0), "P": 1, "R": 1}
                total += times[m["matrix"]] * min(c["plain_bytes"], c["compressed_bytes"])
            self.assertAlmostEqual(one["cycle_bytes"], total)
        best = min(can, key=lambda one: one["cycle_bytes"])
        self.assertTrue(best["best"])
        self.assertLess(best["cycle_bytes"], 0.95 * by_name["generated"]["cycle_bytes"])
        text = cli.run("convert", h, self.path("best.cmg"), "--numbering", "auto", "--rows", "0").stdout
        self.assertIn(f"numbering: {best['numbering']}\n", text)
        for one in can[1:]:
            self.assertIn(one["numbering"], text)
        # now in the file, and nothing is better
        after = self.json("info", self.path("best.cmg"), "--compress", "--rows", "0")
        self.assertEqual(after["attributes"]["numbering"], best["numbering"])
        self.assertAlmostEqual(after["numberings"][0]["cycle_bytes"], best["cycle_bytes"])
        first = self.json("solve", h, "--rtol", "1e-10")
        second = self.json("solve", self.path("best.cmg"), "--rtol", "1e-10")
        self.assertEqual(first["iterations"], second["iterations"])

    def test_values_and_names_are_checked(self):
        h = self.path("h")
        cli.write_poisson(h, 16, 2)
        self.assertIn("mixed", self.refused(1, "info", h, "--compress", "--values", "fp16"))
        self.refused(1, "convert", h, self.path("out"), "--to", "mtx", "--numbering", "best")
        self.refused(1, "convert", h, self.path("out"), "--to", "mtx", "--numbering", "cells")
        halves = self.json("info", h, "--compress", "--precision", "mixed", "--values", "fp16")
        full = self.json("info", h, "--compress", "--precision", "mixed")
        self.assertLess(halves["numberings"][0]["cycle_bytes"], full["numberings"][0]["cycle_bytes"])

    def test_a_numbering_by_name_keeps_the_solve(self):
        h = self.path("h")
        cli.write_poisson(h, 16, 3, cli.random_vector(225, 3))
        self.good("convert", h, self.path("rcm"), "--to", "mtx", "--numbering", "rcm")
        jacobi = ("--smoother", "jacobi")  # others start their estimates from a vector by position
        wanted, got = self.json("solve", h, *jacobi), self.json("solve", self.path("rcm"), *jacobi)
        self.assertEqual(wanted["iterations"], got["iterations"])
        for a, b in zip(wanted["history"], got["history"]):
            self.assertAlmostEqual(a / b, 1, places=6)


class Convert(cli.Case):
    def test_round_trips_keep_the_solve(self):
        h = self.path("h")
        b = cli.random_vector(225, 3)
        cli.write_poisson(h, 16, 3, b)
        wanted = self.json("solve", h)
        kinds = [("mtx", "copy-mtx"), ("petsc", "copy-petsc"), ("container", "copy.cmg")]
        for kind, name in kinds:
            with self.subTest(kind=kind):
                done = cli.run("convert", h, self.path(name), "--to", kind)
                if kind == "container" and done.returncode == 1:
                    self.skipTest("this build has no HDF5")
                self.assertEqual(done.returncode, 0, done.stderr)
                result = self.json("solve", self.path(name))
                self.assertEqual(result["rhs"], "'b' of the file")
                self.assertEqual(result["history"], wanted["history"])

    def test_a_matrix_alone(self):
        A = cli.stiffness(8)
        cli.write_matrix(self.path("A.mtx"), A)
        self.good("convert", self.path("A.mtx"), self.path("A.petsc"))
        result = self.json("info", self.path("A.petsc"))
        self.assertEqual(result["levels"][0]["entries"], A.entries())


if __name__ == "__main__":
    cli.main()
