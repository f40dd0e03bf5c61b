"""Storage in fewer bits from the command line: schedules, falling back, and the table of iterations."""

import json
import os
import subprocess
import sys

import cli


class Precision(cli.Case):
    def setUp(self):
        super().setUp()
        self.b = cli.random_vector(31 * 31, 1)
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 32, 4, self.b)

    def overflowing(self):
        """The same with entries that fp32 has no numbers for."""
        folder = self.path("huge")
        cli.write_poisson(folder, 32, 4, self.b)
        for level in range(4):
            path = os.path.join(folder, f"A{level}.mtx")
            A = cli.read_matrix(path)
            for row in A.row:
                for j in row:
                    row[j] *= 1e100
            cli.write_matrix(path, A)
        return folder

    def test_schedules_are_taken(self):
        plain = self.json("solve", self.h)
        for text in ("fp16", "A:fp8,P:fp16,M:fp16", "0:A:fp8; 1-:fp32", "A:fp32,P:fp16,M:fp16;2-:fp32"):
            with self.subTest(schedule=text):
                x_path = self.path("x.mtx")
                result = self.json("solve", self.h, "--precision-schedule", text, "--no-templates", "--output", x_path)
                self.assertEqual((result["reason"], result["options"]["precision_schedule"]), ("converged_rtol", text))
                self.assertLessEqual(abs(result["iterations"] - plain["iterations"]), 1)
                self.assertEqual((result["fallbacks"], result["fallback"]), (0, ""))
                ours = cli.relative_residual(self.A, cli.read_vector(x_path), self.b)
                self.assertAlmostEqual(ours, result["relative_residual"], delta=1e-13)
        self.assertEqual(plain["precision_used"], "fp64")
        self.assertEqual(result["precision_used"], "fp16")

    def test_bad_schedules_are_refused_by_name(self):
        for text, named in (("A:fp4", "'fp4'"), ("Q:fp16", "'Q'"), ("3-1:fp16", "'3-1'"), (";A:fp16", "''")):
            with self.subTest(schedule=text):
                error = self.refused(1, "solve", self.h, "--precision-schedule", text)
                self.assertIn("precision schedule", error)
                self.assertIn(named, error)

    def test_the_plan_shows_the_storage(self):
        plan = self.json("plan", self.h, "--precision-schedule", "A:fp8,P:fp16", "--collapse", "0")
        kinds = {(step["matrix"], step["values"]) for step in plan["steps"] if step["matrix"]}
        self.assertIn(("A", "fp8"), kinds)
        self.assertIn(("P", "fp16"), kinds)
        self.assertIn(("R", "fp32"), kinds)

    def test_a_cycle_that_fails_is_replaced(self):
        huge = self.overflowing()
        narrow = ("--precision", "mixed", "--format", "compressed", "--values", "fp8", "--no-templates")
        wide = self.json("solve", huge)
        result = self.json("solve", huge, *narrow, "--repeat", "2")
        self.assertEqual((result["reason"], result["precision_used"]), ("converged_rtol", "fp64"))
        self.assertEqual(result["fallbacks"], 3)
        self.assertIn("fp32 to fp64 after", result["fallback"])
        self.assertEqual(len(result["history"]), result["iterations"] + 1)
        self.assertEqual(result["iterations"], wide["iterations"])
        text = self.good("solve", huge, *narrow)
        self.assertIn("fell back: fp8 to fp16 after", text)
        kept = self.json("solve", huge, *narrow, "--no-fallback", status=3)
        self.assertEqual((kept["converged"], kept["fallbacks"], kept["precision_used"]), (False, 0, "fp8"))

    def test_the_table_of_iterations_is_made(self):
        lines = self.path("lines.jsonl")
        done = subprocess.run(
            [sys.executable, os.path.join(cli.SOURCE, "benchmarks", "precision.py"), "--tool", cli.TOOL,
             "--only", "elasticity 2D", "--output", lines], capture_output=True, text=True)
        if "HDF5" in done.stderr:
            self.skipTest("no HDF5 in this build")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(lines) as file:
            rows = [json.loads(line) for line in file]
        storages = [row["storage"] for row in rows]
        self.assertEqual(len(storages), len(set(storages)))
        for name in ("fp64 CSR", "fp64 compressed", "fp32", "mixed", "fp16", "fp8"):
            self.assertIn(name, storages)
        self.assertTrue(all(row["converged"] for row in rows))
        for row in rows:
            self.assertIn(f" {row['without_fallback']['iterations']} |", done.stdout)
        self.assertIn("Not solved although fp64 CSR is: none.", done.stdout)


if __name__ == "__main__":
    cli.main()
