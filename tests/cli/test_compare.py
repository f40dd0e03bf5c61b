"""`cmg compare`: rows, outputs, break-even and recommendation."""

import csv
import itertools
import json
import math
import os
import subprocess
import sys
import xml.dom.minidom

import cli


class Compare(cli.Case):
    def setUp(self):
        super().setUp()
        self.h = self.path("h")
        cli.write_poisson(self.h, 32, 3, cli.random_vector(31 * 31, 1))

    def rows(self, *arguments, status=0):
        return self.json("compare", *arguments, status=status)["rows"]

    def test_every_combination_is_there_once(self):
        lists = {
            "smoother": ["jacobi", "spai:tau=0.1"],
            "krylov": ["none", "cg", "fcg"],
            "cycle": ["V", "W"],
            "precision": ["fp64", "mixed"],
            "format": ["csr", "sell"],
        }
        options = [word for name, values in lists.items() for word in (f"--{name}", ",".join(values))]
        rows = self.rows(self.h, "--repeat", "1", "--steps", "1,2+1", *options)
        seen = {tuple(row[name] for name in lists) + (row["pre"], row["post"]) for row in rows}
        wanted = {c + s for c in itertools.product(*lists.values()) for s in ((1, 1), (2, 1))}
        self.assertEqual(len(rows), len(wanted))
        self.assertEqual(seen, wanted)
        for row in rows:
            self.assertTrue(row["converged"])
            self.assertLessEqual(row["relative_residual"], 1e-8)
            self.assertEqual(len(row["history"]), row["iterations"] + 1)

    def test_a_row_is_what_solve_gives(self):
        row = self.rows(self.h, "--smoother", "spai", "--krylov", "none", "--steps", "2")[0]
        solve = self.json("solve", self.h, "--smoother", "spai", "--krylov", "none", "--pre", "2",
                          "--post", "2")
        self.assertEqual(row["iterations"], solve["iterations"])
        self.assertEqual(row["relative_residual"], solve["relative_residual"])
        factor = row["history"][-1] ** (1 / row["iterations"])
        self.assertAlmostEqual(row["convergence_factor"], factor, places=12)

    def test_bytes_are_those_of_the_plan(self):
        row = self.rows(self.h, "--smoother", "spai", "--format", "csr", "--collapse", "0")[0]
        plan = self.json("plan", self.h, "--smoother", "spai", "--format", "csr", "--collapse", "0")
        self.assertEqual(row["cycle_bytes"], plan["bytes"])
        digits = -math.log10(row["history"][-1])
        total = (row["cycle_bytes"] + row["outer_bytes"]) * row["iterations"]
        expected = total / digits / row["unknowns"]
        self.assertAlmostEqual(row["bytes_per_digit_and_unknown"] / expected, 1, places=12)

    def test_break_even_follows_from_the_times(self):
        rows = self.rows(self.h, "--smoother", "jacobi,spai,sainv,chebyshev4")
        cheapest = min(rows, key=lambda row: row["setup_seconds"])
        for row in rows:
            paid = row["setup_seconds"] - cheapest["setup_seconds"]
            saved = cheapest["solve_seconds"] - row["solve_seconds"]
            wanted = 0 if paid <= 0 else math.ceil(paid / saved) if saved > 0 else None
            self.assertEqual(row["break_even_solves"], wanted)

    def test_failures_keep_their_row(self):
        rows = self.rows(self.h, "--smoother", "jacobi,file:absent,jacobi:omega=3")
        self.assertEqual([row["converged"] for row in rows], [True, False, False])
        self.assertEqual(rows[1]["status"], "CMG_ERR_ARG")
        self.assertIn("absent", rows[1]["message"])
        self.assertEqual(rows[2]["status"], "CMG_OK")
        self.assertIsNone(rows[2]["break_even_solves"])
        text = self.good("compare", self.h, "--smoother", "jacobi,file:absent")
        self.assertIn("absent", text)
        self.rows(self.h, "--smoother", "jacobi:omega=3", status=3)

    def test_csv_holds_the_same_rows(self):
        path = self.path("rows.csv")
        rows = self.rows(self.h, "--smoother", "jacobi,file:a", "--csv", path, "--omega", "0,0.5")
        with open(path, newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(len(table), len(rows))
        for line, row in zip(table, rows):
            self.assertEqual(line["smoother"], row["smoother"])
            self.assertEqual(int(line["iterations"]), row["iterations"])
            self.assertEqual(float(line["omega"]), row["omega"])
            self.assertEqual(line["solve_seconds"] == "", row["solve_seconds"] is None)

    def test_plots_are_well_formed(self):
        prefix = self.path("p")
        self.good("compare", self.h, "--smoother", "jacobi,spai:tau=0,file:<&>", "--plot", prefix)
        for kind, element in (("iterations", "polyline"), ("time", "polyline"), ("bars", "rect")):
            document = xml.dom.minidom.parse(f"{prefix}-{kind}.svg")
            self.assertGreaterEqual(len(document.getElementsByTagName(element)), 2)
            text = "".join(
                node.firstChild.data for node in document.getElementsByTagName("text")
            )
            self.assertIn("spai:tau=0", text)

    def test_quick_recommends(self):
        text = self.good("compare", self.h, "--quick", "--repeat", "1")
        self.assertIn("one solve, set-up included: ", text)
        self.assertIn("100 solves, set-up included: ", text)

    def test_several_files_are_told_apart(self):
        other = self.path("other")
        cli.write_poisson(other, 16, 2)
        rows = self.rows(self.h, other, "--smoother", "jacobi")
        self.assertEqual([row["file"] for row in rows], [self.h, other])
        self.assertEqual([row["unknowns"] for row in rows], [31 * 31, 15 * 15])
        text = self.good("compare", self.h, other, "--smoother", "jacobi")
        self.assertIn("other", text)

    def test_numberings_change_the_order_alone(self):
        rows = self.rows(self.h, "--smoother", "jacobi,spai", "--numbering", "generated,rcm,random")
        self.assertEqual([row["numbering"] for row in rows],
                         ["generated"] * 2 + ["rcm"] * 2 + ["random"] * 2)
        for k in (0, 1):  # neither smoother depends on it, but for rounding
            same = {row["iterations"] for row in rows[k::2]}
            self.assertEqual(len(same), 1)
        error = self.refused(1, "compare", self.h, "--numbering", "lexicographic")
        self.assertIn("coordinates", error)

    def test_the_table_of_smoothers_is_made(self):
        lines = self.path("lines.jsonl")
        done = subprocess.run(
            [sys.executable, os.path.join(cli.SOURCE, "benchmarks", "smoothers.py"), "--tool", cli.TOOL,
             "--size", "tiny", "--element", "q1", "--dim", "2", "--quality", "smooth,stretched",
             "--numbering", "cells", "--smoother", "jacobi,fsai", "--repeat", "1", "--output", lines],
            capture_output=True, text=True)
        if "HDF5" in done.stderr:
            self.skipTest("no HDF5 in this build")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(lines) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([(row["quality"], row["smoother"]) for row in rows],
                         [(q, s) for q in ("smooth", "stretched") for s in ("jacobi", "fsai")])
        table = done.stdout.splitlines()
        self.assertEqual(len(table), 4)
        for row in rows:
            self.assertTrue(any(f"| {row['iterations']} / " in line for line in table))

    def test_lists_are_checked(self):
        for option, text in (
            ("--smoother", "jacobi,,spai"),
            ("--smoother", ","),
            ("--steps", "0"),
            ("--steps", "1+"),
            ("--steps", "x"),
            ("--omega", "-1"),
            ("--omega", "1,x"),
            ("--cycle", "V,X"),
            ("--precision", "fp8"),
        ):
            error = self.refused(1, "compare", self.h, option, text)
            self.assertIn(option, error)
        self.refused(2, "compare", self.path("absent"))
        many = ",".join(["1"] * 64)
        self.assertIn("combinations", self.refused(1, "compare", self.h, "--steps", many, "--omega",
                                                   many, "--smoother", "jacobi,spai"))


if __name__ == "__main__":
    cli.main()
