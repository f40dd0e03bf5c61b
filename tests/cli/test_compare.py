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

    def test_every_combination_comes_once(self):
        lists = {
            "smoother": ["jacobi", "spai:tau=0.1"],
            "krylov": ["none", "cg", "fcg", "defect"],
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
        total = row["iteration_bytes"] * row["iterations"]
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

    def test_the_plot_shows_the_residuals(self):
        plot = self.path("p.svg")
        rows = self.rows(self.h, "--smoother", "jacobi,spai:tau=0,jacobi:omega=3,file:<&>", "--krylov", "none", "--plot",
                         plot)
        document = xml.dom.minidom.parse(plot)
        texts = [(n.firstChild.data, float(n.getAttribute("x")), float(n.getAttribute("y")))
                 for n in document.getElementsByTagName("text")]
        decades = {x: [] for t, x, _ in texts if t.startswith("1e")}  # of each panel, by where its labels stand
        for t, x, y in texts:
            if t.startswith("1e"):
                decades[x].append((float(t[2:]), y - 4))
        self.assertEqual(len(decades), 2)
        curves = [[tuple(map(float, p.split(","))) for p in n.getAttribute("points").split()]
                  for n in document.getElementsByTagName("polyline")]
        ran = [row for row in rows if row["status"] == "CMG_OK"]
        self.assertEqual(len(curves), 2 * len(ran))
        longest = max(row["iterations"] for row in ran)
        (d0, y0), (d1, y1) = decades[min(decades)][:2]
        for row, steps, time in zip(ran, curves[::2], curves[1::2]):
            self.assertEqual(len(steps), row["iterations"] + 1)
            for k, ((x, y), (t, at), r) in enumerate(zip(steps, time, row["history"])):
                self.assertAlmostEqual(d0 + (y - y0) * (d1 - d0) / (y1 - y0), math.log10(r), delta=0.02)
                self.assertEqual(at, y)
                self.assertAlmostEqual(x, steps[0][0] + 330 * k / longest, delta=0.11)
                self.assertAlmostEqual(t, time[0][0] + k * (time[-1][0] - time[0][0]) / row["iterations"], delta=0.11)
        told = " ".join(t for t, _, _ in texts)
        self.assertIn("spai:tau=0", told)
        self.assertIn("iteration", told)
        with open(plot) as file:
            self.assertIn("prefers-color-scheme:dark", file.read())
        self.refused(2, "compare", self.h, "--plot", "/no/x.svg")

    def test_quick_recommends(self):
        path = self.path("quick.json")
        text = self.good("compare", self.h, "--quick", "--repeat", "1", "--json", path)
        with open(path) as file:
            rows = [row for row in json.load(file)["rows"] if row["converged"]]
        spread = sorted(row["spread"] for row in rows)[len(rows) // 2]
        for when, setups, solves in (("one solve, set-up included", 1, 1), ("100 solves, set-up included", 1, 100),
                                     ("a solve, set-up done before", 0, 1)):
            cost = {f"{row['smoother']} {row['pre']}+{row['post']}":
                    setups * row["setup_seconds"] + solves * row["solve_seconds"] for row in rows}
            moved = {f"{row['smoother']} {row['pre']}+{row['post']}": row["iteration_bytes"] * row["iterations"] for row in rows}

            def best_of(names):  # of times that are equal within the spread the one with the fewest bytes
                least = min(cost[name] for name in names)
                return min((name for name in names if cost[name] <= spread * least), key=moved.get)

            jacobis = [name for name in cost if name.startswith("jacobi")]
            best, jacobi = best_of(list(cost)), best_of(jacobis)
            second = best_of([name for name in cost if name not in jacobis]) if best == jacobi else jacobi
            line = next(line for line in text.splitlines() if line.strip().startswith(when))
            self.assertIn(f": {best}, ", line)
            ratio = cost[second] / cost[best]
            ahead = f"{ratio:.2f} times faster than {second}"
            equal = f"as fast as {second} within the spread, {moved[best] / moved[second]:.2f} of its bytes"
            self.assertTrue(line.endswith(ahead if ratio > spread else equal), line)
        self.assertEqual("busy machine" in text, spread > 1.3)

    def test_quick_finds_a_method_for_convection(self):
        if cli.run("generate", "--help").returncode != 0:
            self.skipTest("no generator in this build")
        h = self.path("wind")
        self.good("generate", "--problem", "convection", "--velocity", "200", "--cells", "32", "--to", "mtx", h)
        done = cli.run("compare", h, "--quick", "--repeat", "1", "--max-it", "40", "--json", self.path("j"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("j")) as file:
            rows = json.load(file)["rows"]
        self.assertEqual({row["krylov"] for row in rows}, {"auto"})
        self.assertTrue(any(row["converged"] and row["smoother"] == "ainv" for row in rows))

    def test_several_files_are_distinguished(self):
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

    def test_variants_are_settings_that_go_together(self):
        rows = self.rows(self.h, "--smoother", "jacobi,fsai", "--variants",
                         "krylov=none steps=4 format=sell, precision=mixed omega=0.8,"
                         "smoother=spai:tau=0.1 steps=2+1 krylov=none", "--repeat", "1")
        told = [(row["smoother"], row["krylov"], row["pre"], row["post"], row["format"], row["precision"],
                 row["omega"]) for row in rows]
        self.assertEqual(told, [("jacobi", "none", 4, 4, "sell", "auto", 0), ("fsai", "none", 4, 4, "sell", "auto", 0),
                                ("jacobi", "auto", 1, 1, "auto", "mixed", 0.8), ("fsai", "auto", 1, 1, "auto", "mixed", 0.8),
                                *[("spai:tau=0.1", "none", 2, 1, "auto", "auto", 0)] * 2])
        for text in ("steps=0", "steps", "cycle=X", "colour=red", "omega=-1", "krylov=", "=cg"):
            error = self.refused(1, "compare", self.h, "--variants", f"krylov=none {text}")
            self.assertIn(f"'{text}'", error)

    def test_a_smoother_of_several_rows_is_that_of_one(self):
        """Rows that share a computed smoother against rows that compute it themselves."""
        for smoother in ("spai", "fsai", "sainv", "chebyshev4", "jacobi:omega=auto", "l1-jacobi", "gauss-seidel"):
            with self.subTest(smoother=smoother):
                shared = self.rows(self.h, "--smoother", smoother, "--krylov", "none", "--steps", "1,2",
                                   "--repeat", "1")
                for row in shared:
                    alone = self.rows(self.h, "--smoother", smoother, "--krylov", "none", "--steps",
                                      f"{row['pre']}+{row['post']}", "--repeat", "1")[0]
                    self.assertEqual(row["smoother"], smoother)
                    self.assertEqual(row["iterations"], alone["iterations"])
                    self.assertEqual(row["cycle_bytes"], alone["cycle_bytes"])
                    # the damping is multiplied into a shared matrix: rounding
                    ratio = row["relative_residual"] / alone["relative_residual"]
                    self.assertAlmostEqual(ratio, 1, places=5)

    def benchmark(self, script, *arguments):
        done = subprocess.run(
            [sys.executable, os.path.join(cli.SOURCE, "benchmarks", script), *map(str, arguments)],
            capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_table_of_smoothers_is_made(self):
        lines, plot = self.path("lines.jsonl"), self.path("bars.svg")
        text = self.benchmark(
            "smoothers.py", "--tool", cli.TOOL, "--size", "tiny", "--element", "q1", "--dim", "2", "--quality",
            "smooth,stretched,gmsh", "--numbering", "cells", "--smoother", "jacobi,jacobi:omega=0.8,fsai", "--repeat",
            "1", "--output", lines, "--plot", plot)
        with open(lines) as file:
            machine, *rows = [json.loads(line) for line in file]
        self.assertGreater(machine["cpu"]["copy_gb_per_second"], 0)
        wanted = itertools.product(("smooth", "stretched", "gmsh"), ((4, "none"), (2, "none"), (1, "cg")),
                                   ("jacobi", "jacobi:omega=0.8", "fsai"))
        self.assertEqual([(row["quality"], (row["pre"], row["krylov"]), row["smoother"]) for row in rows], list(wanted))
        table = [line for line in text.splitlines() if line.startswith("| Q1")]
        self.assertEqual(len(table), 9)
        for row in rows:
            if row["smoother"] != "jacobi:omega=0.8":  # one of those that make up "jacobi tuned"
                self.assertTrue(any(f"{row['iterations']} / " in line for line in table if row["quality"] in line))
        again = self.benchmark("smoothers.py", "--from", lines)
        self.assertEqual(again, text)
        names = {node.firstChild.data for node in xml.dom.minidom.parse(plot).getElementsByTagName("text")}
        self.assertLessEqual({"jacobi", "jacobi tuned", "fsai", "Q1 2D gmsh"}, names)

    def test_factors_are_ratios_of_times(self):
        lines = self.path("factors.jsonl")
        text = self.benchmark("factors.py", "--tool", cli.TOOL, "--backend", "cpu", "--size", "tiny", "--search-size",
                              "tiny", "--case", "q1-2d-stretched", "--cpu", "q1-2d-stretched", "--repeat", "1",
                              "--output", lines)
        with open(lines) as file:
            rows = [json.loads(line) for line in file]
        told = rows[-1]["factors"]
        rows = [row for row in rows if "smoother" in row and row["converged"]]
        self.assertTrue(all(row["relative_residual"] <= 1e-8 for row in rows))
        plain = min(row["solve_seconds"] for row in rows
                    if row["format"] in ("csr", "ellpack") and row["smoother"] == "jacobi:omega=0.7")
        best = min(row["solve_seconds"] for row in rows if row["format"] == "compressed")
        baseline = [row for row in rows if row["smoother"] == "jacobi:omega=0.7" and row["format"] == "sell"]
        self.assertEqual(len(baseline), 1)
        self.assertEqual((baseline[0]["krylov"], baseline[0]["pre"], baseline[0]["post"]), ("none", 4, 4))
        self.assertEqual(told["plain_cpu_over_best"], plain / best)
        self.assertEqual(told["baseline_over_best"], baseline[0]["solve_seconds"] / best)
        self.assertIn(f"**{plain / best:.2f}**", text)

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
