"""`cmg solve`: outcomes and their exit statuses, JSON, files written, independent residuals."""

import json
import math
import os
import resource
import shutil
import struct
import subprocess

import cli

KEYS = """reason iterations relative_residual unknowns levels backend smoother cycle precision
setup_seconds solve_seconds history load_seconds memory_peak_bytes version notes""".split()


class Solve(cli.Case):
    def setUp(self):
        super().setUp()
        self.b = cli.random_vector(31 * 31, 1)
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 32, 4, self.b)

    def test_ones_are_no_test_where_row_sums_are_equal(self):
        n = 300
        for shift, asked in ((0.125, "random"), (0, "A x of random x"), (None, "ones")):
            with self.subTest(shift=shift):
                path = self.path("ring.mtx")
                rows = []
                for i in range(n):  # a ring, or a chain with a Dirichlet end
                    rows += [(i, i, 2 + (shift or 0))]
                    rows += [(i, j % n, -1) for j in (i - 1, i + 1) if shift is not None or 0 <= j < n]
                with open(path, "w", encoding="utf-8") as file:
                    file.write("%%MatrixMarket matrix coordinate real general\n")
                    file.write(f"{n} {n} {len(rows)}\n")
                    file.writelines(f"{i + 1} {j + 1} {v}\n" for i, j, v in rows)
                x_path = self.path("x.txt")
                text = self.good("solve", path, "--output", x_path)
                self.assertIn(f"right-hand side: {asked}", text)
                with open(x_path, encoding="utf-8") as file:
                    x = [float(line) for line in file.read().split()[-n:]]
                b = [0.0] * n
                for i, j, v in rows:
                    b[i] += v * x[j]
                spread = max(b) - min(b)
                if asked == "random":
                    self.assertTrue(1.5 < spread <= 2, spread)
                elif shift == 0:  # singular, and b is of its range
                    self.assertTrue(4 < spread <= 8 and abs(sum(b)) < 1e-6, (spread, sum(b)))
                else:
                    self.assertLess(spread, 1e-6)

    def test_residual_agrees_with_an_independent_computation(self):
        for options in (
            (),
            ("--krylov", "none"),
            ("--cycle", "W"),
            ("--cycle", "F", "--precision", "mixed"),
            ("--format", "k2rs", "--pre", "2", "--post", "0", "--krylov", "none"),
            ("--fmg", "--smoother", "l1-jacobi"),
            ("--no-fuse", "--collapse", "0"),
            ("--fuse-restriction", "--format", "sell", "--warp", "8"),
            ("--coarse", "smoother", "--coarse-steps", "20"),
            ("--format", "compressed", "--no-templates"),
            ("--format", "compressed", "--precision", "mixed", "--values", "fp16"),
            ("--krylov", "fcg", "--pre", "1", "--post", "0"),
            ("--krylov", "defect", "--precision", "mixed", "--inner-rtol", "0.1"),
            ("--cycle", "none", "--precision", "mixed", "--smoother",
             "least-squares:degree=6:form=recurrence"),
        ):
            with self.subTest(options=options):
                x_path = self.path("x.mtx")
                result = self.json("solve", self.h, *options, "--output", x_path)
                for key in KEYS:
                    self.assertIn(key, result)
                self.assertEqual(result["reason"], "converged_rtol")
                self.assertLessEqual(result["relative_residual"], 1e-8)
                x = cli.read_vector(x_path)
                self.assertEqual(len(x), 31 * 31)
                # both are rounded sums of about 10 terms a row, over a residual of 1e-8 ||b||
                ours = cli.relative_residual(self.A, x, self.b)
                self.assertAlmostEqual(ours, result["relative_residual"], delta=1e-13)
                history = result["history"]
                self.assertEqual(len(history), result["iterations"] + 1)
                if "--fmg" in options:  # nested iteration improves the guess first
                    self.assertLess(history[0], cli.norm(self.b))
                else:
                    self.assertAlmostEqual(history[0], cli.norm(self.b), delta=1e-10)
                self.assertAlmostEqual(result["rhs_norm"], cli.norm(self.b), delta=1e-10)
                self.assertEqual(result["unknowns"], 31 * 31)
                self.assertEqual(result["levels"], 4)

    def test_a_single_matrix_is_solved_by_polynomials_alone(self):
        path = os.path.join(self.h, "A0.mtx")
        b = os.path.join(self.h, "b.mtx")
        starts = []
        for krylov in ("cg", "fcg", "defect"):
            result = self.json("solve", path, "--rhs", b, "--krylov", krylov, "--precision", "mixed", "--cycle", "none",
                               "--pre", "1", "--post", "0", "--smoother", "neumann:degree=5", "--max-it", "300")
            self.assertEqual(result["reason"], "converged_rtol")
            self.assertEqual((result["levels"], result["fallbacks"]), (1, 0))
            starts.append(result["starts"])
        self.assertEqual(starts[:2], [1, 1])
        self.assertGreaterEqual(starts[2], 3)

    def test_json_on_standard_output_is_alone(self):
        done = cli.run("solve", self.h, "--json", "-")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["file"], self.h)
        self.assertIn("converged", done.stderr)

    def test_history_is_printed(self):
        result = self.json("solve", self.h)
        text = self.good("solve", self.h, "--history")
        printed = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
        self.assertEqual([int(row[0]) for row in printed], list(range(result["iterations"] + 1)))
        for row, value in zip(printed, result["history"]):
            self.assertAlmostEqual(float(row[1]) / value, 1, delta=1e-6)

    def test_repeat_reports_the_median(self):
        result = self.json("solve", self.h, "--repeat", "5")
        samples = result["solve_seconds_samples"]
        self.assertEqual(len(samples), 5)
        self.assertEqual(sorted(samples)[2], result["solve_seconds"])

    def test_default_right_hand_side_is_said(self):
        self.assertIn("right-hand side: 'b' of the file", self.good("solve", self.h))
        os.remove(os.path.join(self.h, "b.mtx"))
        x_path = self.path("x.mtx")
        text = self.good("solve", self.h, "--output", x_path)
        self.assertIn("right-hand side: ones", text)
        ones = [1.0] * (31 * 31)
        self.assertLess(cli.relative_residual(self.A, cli.read_vector(x_path), ones), 1.1e-8)

    def test_rhs_and_guess_from_files(self):
        other = cli.random_vector(31 * 31, 2)
        cli.write_vector(self.path("other.mtx"), other)
        x_path = self.path("x.mtx")
        self.good("solve", self.h, "--rhs", self.path("other.mtx"), "--output", x_path)
        x = cli.read_vector(x_path)
        self.assertLess(cli.relative_residual(self.A, x, other), 1.1e-8)
        # the solution as guess: nothing is left to do
        again = self.json("solve", self.h, "--rhs", self.path("other.mtx"), "--x0", x_path)
        self.assertEqual(again["iterations"], 0)
        self.assertEqual(again["reason"], "converged_rtol")

    def test_ranks_solve_as_one_does(self):
        """The counts of one rank, and its solution to rounding; what ranks do not share is refused."""
        cli.write_poisson(self.path("r"), 63, 4, rhs=cli.random_vector(62 * 62, 5))
        made = []
        for ranks in (1, 2, 3, 7):
            x = self.path("x.mtx")
            out = self.json("solve", self.path("r"), "--ranks", str(ranks), "--gather", "300", "--output", x)
            self.assertEqual(out["ranks"], ranks)
            made.append((out["iterations"], cli.read_vector(x)))
        for iterations, x in made[1:]:
            self.assertEqual(iterations, made[0][0])
            self.assertLess(cli.norm([a - b for a, b in zip(x, made[0][1])]), 1e-9 * cli.norm(x))
        self.assertIn("k1r", self.refused(1, "solve", self.path("r"), "--ranks", "2", "--format", "k1r"))
        self.assertIn("--ranks", self.refused(1, "solve", self.path("r"), "--ranks", "0"))

    def test_processes_that_it_does_not_see_are_refused(self):
        """Each of them would do all of it; what a batch script runs is one process."""
        cli.write_poisson(self.path("r"), 15, 2)
        for name in ("MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"):
            said = self.refused(1, "solve", self.path("r"), env={name: "2"})
            self.assertIn(f"{name}=2: several processes", said)
            self.assertIn(name, self.refused(1, "generate", self.path("x.h5"), env={name: "2"}))
            self.good("solve", self.path("r"), env={name: "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"})

    def test_ranks_report_what_they_took(self):
        if "HDF5" not in self.good("version"):
            self.skipTest("no HDF5 in this build")
        self.good("generate", "--cells", "100", "--levels", "3", self.path("g.h5"))
        one, two = (self.json("solve", self.path("g.h5"), "--ranks", ranks) for ranks in ("1", "2"))
        self.assertGreater(two["load_seconds"], 0)
        self.assertGreater(two["memory_peak_bytes"], 0.5 * one["memory_peak_bytes"])

    def test_systems_on_ranks_take_the_counts_of_one(self):
        if "HDF5" not in self.good("version"):
            self.skipTest("no HDF5 in this build")
        self.good("generate", "--shape", "annulus", "--element", "p2", "--levels", "2", "--cells", "16",
                  "--problem", "elasticity", self.path("e.h5"))
        one, three = (self.json("solve", self.path("e.h5"), "--ranks", ranks)["iterations"] for ranks in ("1", "3"))
        self.assertEqual(one, three)

    def test_more_ranks_than_rows(self):
        cli.write_poisson(self.path("r"), 63, 4, rhs=cli.random_vector(62 * 62, 5))
        one = self.json("solve", self.path("r"), "--gather", "300")["iterations"]
        many = self.path("many.cmg")
        done = cli.run("convert", self.path("r"), many, "--ranks", "5000")  # METIS has nothing to say
        if done.returncode == 1 and "HDF5" in done.stderr:
            self.skipTest("no HDF5 in this build")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertLess(abs(self.json("solve", many, "--ranks", "7")["iterations"] - one), 2)

    def test_columns_are_solved_at_once(self):
        n = 31 * 31
        columns = [cli.random_vector(n, seed) for seed in (2, 3, 4)]
        alone = []
        for c, column in enumerate(columns):
            cli.write_vector(self.path(f"b{c}.mtx"), column)
            alone.append(self.json("solve", self.h, "--rhs", self.path(f"b{c}.mtx"))["iterations"])
        with open(self.path("B.mtx"), "w") as f:
            f.write(f"%%MatrixMarket matrix array real general\n{n} 3\n")
            f.writelines(f"{v!r}\n" for column in columns for v in column)
        for name in ("X.npy", "X.mtx"):
            result = self.json("solve", self.h, "--rhs", self.path("B.mtx"), "--output", self.path(name))
            self.assertEqual([c["iterations"] for c in result["columns"]], alone)
            self.assertEqual({c["reason"] for c in result["columns"]}, {"converged_rtol"})
        lines = [line for line in open(self.path("X.mtx")).read().splitlines() if line[0] != "%"]
        self.assertEqual(lines[0].split(), [str(n), "3"])
        values = [float(line) for line in lines[1:]]
        for c, column in enumerate(columns):
            self.assertLess(cli.relative_residual(self.A, values[c * n:(c + 1) * n], column), 1.1e-8)
        again = self.json("solve", self.h, "--rhs", self.path("B.mtx"), "--x0", self.path("X.npy"))
        self.assertEqual([c["iterations"] for c in again["columns"]], [0, 0, 0])
        self.refused(2, "solve", self.h, "--rhs", self.path("B.mtx"), "--x0", self.path("b0.mtx"))
        self.refused(2, "compare", self.h, "--quick", "--rhs", self.path("B.mtx"))

    def test_a_batch_is_solved_at_once(self):
        n = len(self.A.row)
        factors = (1, 2.5, -1, 1e6)
        values, b = self.path("values.txt"), self.path("b.txt")
        with open(values, "w", encoding="utf-8") as file:
            file.writelines(f"{f * v!r}\n" for f in factors for row in self.A.row for _, v in sorted(row.items()))
        rhs = [cli.random_vector(n, seed) for seed in range(len(factors))]
        with open(b, "w", encoding="utf-8") as file:
            file.writelines(f"{t!r}\n" for r in rhs for t in r)
        for given in (("--rhs", b), ()):  # one each, or that of the file for all
            told = self.json("solve", self.h, "--batch", values, *given, "--output", self.path("x.txt"), status=3)
            x = cli.read_vector(self.path("x.txt"))
            self.assertEqual((told["converged"], told["unknowns"], len(told["systems"])), (False, n, len(factors)))
            for k, (factor, system) in enumerate(zip(factors, told["systems"])):
                if factor < 0:
                    self.assertEqual(system["reason"], "breakdown")
                    continue
                own = [factor * t for t in x[k * n:(k + 1) * n]]
                left = cli.relative_residual(self.A, own, rhs[k] if given else self.b)
                self.assertEqual(system["reason"], "converged_rtol")
                self.assertLessEqual(left, 1.01e-8)
                self.assertAlmostEqual(system["relative_residual"], left, delta=1e-10)
        text = self.good("solve", self.h, "--batch", values, "--repeat", "2", status=3)
        self.assertIn("3 of 4 converged", text)
        self.assertIn("1 of 4 systems did not converge, the first of them is system 2: breakdown", text)
        for wrong in (("--x0", b), ("--history",), ("--ranks", "2")):
            self.refused(1, "solve", self.h, "--batch", values, *wrong)
        self.refused(1, "solve", self.h, "--batch", values, "--smoother", "fsai")
        self.assertIn("not a multiple", self.refused(2, "solve", self.h, "--batch", b))
        self.assertIn("4 systems have 961 rows", self.refused(2, "solve", self.h, "--batch", values, "--rhs", values))
        self.refused(2, "solve", self.h, "--batch", self.path("none"))

    def test_zero_right_hand_side_is_solved_by_zero(self):
        cli.write_vector(self.path("zero.mtx"), [0.0] * (31 * 31))
        x_path = self.path("x.mtx")
        result = self.json("solve", self.h, "--rhs", self.path("zero.mtx"), "--output", x_path)
        self.assertEqual((result["iterations"], result["reason"]), (0, "converged_atol"))
        self.assertEqual(set(cli.read_vector(x_path)), {0.0})

    def test_levels_can_be_left_out(self):
        result = self.json("solve", self.h, "--level", "1", "--drop-coarsest", "1")
        self.assertEqual((result["unknowns"], result["levels"]), (15 * 15, 2))
        self.assertIn("ones", result["rhs"])

    def test_reference_solution_is_compared(self):
        x_path = os.path.join(self.h, "x.mtx")
        self.good("solve", self.h, "--rtol", "1e-13", "--output", x_path)
        result = self.json("solve", self.h, "--rtol", "1e-6")
        self.assertLess(result["reference_error"], 1e-4)
        self.assertGreater(result["reference_error"], 0)

    def test_outputs_in_every_form(self):
        reference = None
        for name in ("x.mtx", "x.txt", "x.petsc"):
            self.good("solve", self.h, "--output", self.path(name))
            if name.endswith(".petsc"):
                with open(self.path(name), "rb") as file:
                    kind, n = struct.unpack(">ii", file.read(8))
                    values = list(struct.unpack(f">{n}d", file.read(8 * n)))
                self.assertEqual(kind, 1211214)
            else:
                values = cli.read_vector(self.path(name))
            reference = reference or values
            self.assertEqual(values, reference)


class Backends(cli.Case):
    def test_cuda_takes_the_same_iterations(self):
        h = self.path("h")
        cli.write_poisson(h, 32, 4, cli.random_vector(31 * 31, 1))
        if cli.run("solve", h, "--backend", "cuda").returncode != 0:
            self.skipTest("no CUDA device")
        for options in ((), ("--krylov", "none", "--cycle", "W"), ("--precision", "mixed"),
                        ("--krylov", "fcg"),
                        ("--smoother", "chebyshev4:form=recurrence")):
            with self.subTest(options=options):
                cpu = self.json("solve", h, *options)
                cuda = self.json("solve", h, *options, "--backend", "cuda")
                self.assertEqual(cuda["iterations"], cpu["iterations"])
                self.assertEqual(cuda["backend"], "cuda")
                again = self.json("solve", h, *options, "--backend", "cuda")
                self.assertEqual(again["history"], cuda["history"])

    def test_runs_and_thread_counts_repeat_bit_by_bit(self):
        h = self.path("h")
        cli.write_poisson(h, 32, 4, cli.random_vector(31 * 31, 1))
        first = self.json("solve", h, "--threads", "1")
        for threads in ("1", "2", "3"):
            self.assertEqual(self.json("solve", h, "--threads", threads)["history"], first["history"])


class Outcomes(cli.Case):
    """Exit status 3: the best iterate and the history are still written."""

    def setUp(self):
        super().setUp()
        self.b = cli.random_vector(31 * 31, 1)
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 32, 4, self.b)

    def stops(self, reason, *options):
        x_path = self.path("x.mtx")
        result = self.json("solve", self.h, *options, "--output", x_path, status=3)
        self.assertEqual(result["reason"], reason)
        self.assertFalse(result["converged"])
        history = [math.inf if r is None else r for r in result["history"]]
        self.assertEqual(len(history), result["iterations"] + 1)
        self.assertEqual(result["best_iteration"], history.index(min(history)))
        ours = cli.relative_residual(self.A, cli.read_vector(x_path), self.b)
        self.assertAlmostEqual(ours, result["best_relative_residual"], delta=1e-12)
        self.assertAlmostEqual(ours * cli.norm(self.b), min(history), delta=1e-10)
        return result

    def test_iteration_limit(self):
        result = self.stops("iteration_limit", "--max-it", "2")
        self.assertEqual(result["iterations"], 2)
        self.stops("iteration_limit", "--max-it", "0")

    def test_divergence_returns_to_the_best_iterate(self):
        # lambda_max(D^-1 A) is 1.5, so that omega = 1.5 amplifies the roughest errors by 1.25
        result = self.stops("diverged", "--krylov", "none", "--omega", "1.5", "--dtol", "100", "--no-fallback")
        self.assertLess(result["best_iteration"], result["iterations"])

    def test_an_overflowing_guess_is_not_a_number(self):
        cli.write_vector(self.path("huge.mtx"), [(-1) ** i * 1e308 for i in range(31 * 31)])
        result = self.json("solve", self.h, "--x0", self.path("huge.mtx"), status=3)
        self.assertEqual(result["reason"], "not_a_number")
        self.assertEqual(result["history"], [None])
        self.assertIsNone(result["relative_residual"])

    def test_indefinite_matrix_breaks_cg_down(self):
        A = cli.Matrix(40, 40)
        for i in range(40):
            A.row[i] = {i: 1.0 if i % 2 else -2.0 - i}
            for j in (i - 1, i + 1):
                if 0 <= j < 40:
                    A.row[i][j] = 0.25
        cli.write_matrix(self.path("A.mtx"), A)
        done = cli.run("solve", self.path("A.mtx"), "--coarse", "smoother", "--smoother", "jacobi", "--json", self.path("j"))
        self.assertEqual(done.returncode, 3)
        with open(self.path("j")) as file:
            self.assertIn(json.load(file)["reason"], ("breakdown", "indefinite_preconditioner"))


class Files(cli.Case):
    """Exit status 2: files; 4: memory."""

    def setUp(self):
        super().setUp()
        self.h = self.path("h")
        cli.write_poisson(self.h, 8, 2)

    def test_absent_and_malformed_files(self):
        for command in ("solve", "info", "plan"):
            self.assertIn(self.path("no"), self.refused(2, command, self.path("no")))
            bad = self.write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n")
            self.assertTrue(self.refused(2, command, bad).startswith(f"cmg: {bad}:"))
            self.refused(2, command, self.write("empty", ""))
        self.refused(2, "convert", self.path("no"), self.path("out.mtx"))

    def test_levels_that_do_not_chain(self):
        cli.write_matrix(os.path.join(self.h, "P0.mtx"), cli.interpolation(16))
        self.assertRegex(self.refused(2, "solve", self.h), r"P.* 225 ")

    def test_zero_diagonal_and_nan(self):
        text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n"
        self.refused(2, "solve", self.write("zero.mtx", text))
        text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n"
        self.refused(2, "solve", self.write("nan.mtx", text))

    def test_vectors_that_do_not_fit(self):
        cli.write_vector(self.path("short.mtx"), [1.0] * 3)
        for option in ("--rhs", "--x0"):
            error = self.refused(2, "solve", self.h, option, self.path("short.mtx"))
            self.assertIn("3", error)
            self.assertIn("49", error)
            self.assertIn("absent", self.refused(2, "solve", self.h, option, self.path("absent")))

    def test_outputs_that_cannot_be_written(self):
        for option in ("--output", "--json"):
            done = cli.run("solve", self.h, option, self.path("no", "where.mtx"))
            self.assertEqual(done.returncode, 2)
            self.assertIn(self.path("no", "where.mtx"), done.stderr)
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([cli.TOOL, "info", self.h], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2)

    def test_names_are_escaped_in_json(self):
        name = self.path('h "quoted" \\ tab\t line\n \u20ac')
        shutil.copytree(self.h, name)
        self.assertEqual(self.json("solve", name)["file"], name)
        invalid = os.fsdecode(os.fsencode(self.path("latin-")) + b"\xe9")
        shutil.copytree(self.h, invalid)
        self.assertEqual(self.json("info", invalid)["file"], self.path("latin-\ufffd"))

    def test_no_memory(self):
        """A dense inverse that cannot fit under a limit at which the tool itself runs."""
        n = 16000
        A = cli.Matrix(n, n)
        A.row = [{j: 2.0 if i == j else -1.0 for j in (i - 1, i, i + 1) if 0 <= j < n} for i in range(n)]
        cli.write_matrix(self.path("A.mtx"), A)
        limit = 1 << 30

        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        small = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if cli.run("solve", self.h, env=small, preexec_fn=limited).returncode != 0:
            self.skipTest("the tool does not run in 1 GiB of address space (a sanitizer?)")
        self.refused(4, "solve", self.path("A.mtx"), "--coarse", "inverse", env=small, preexec_fn=limited)

    def test_no_threads(self):
        """Threads that cannot be started are a status; OpenMP's runtimes would end the program."""
        limit = 3 << 30

        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        done = cli.run("solve", self.h, "--threads", "1", preexec_fn=limited)
        if done.returncode != 0 or "OpenMP" not in self.good("--version"):
            self.skipTest("no OpenMP, or the tool does not run in 3 GiB of address space (a sanitizer?)")
        text = self.refused(4, "solve", self.h, "--threads", "2048", preexec_fn=limited)
        self.assertRegex(text, r"2048 threads are asked for, \d+ can be started")


if __name__ == "__main__":
    cli.main()
