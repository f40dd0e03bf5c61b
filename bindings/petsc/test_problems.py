"""PETSc's tutorial problems through -dll_append libpetsccmg.so -pc_type cmg, beside PETSc's own preconditioners.

test_problems.py PROBLEMS LIBRARY
"""
import json
import os
import subprocess
import sys
import unittest

library, program = map(os.path.abspath, (sys.argv.pop(), sys.argv.pop()))
TRUE_NORM = "-ksp_norm_type unpreconditioned"


def run(options, refused=False, ranks=1):
    several = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **({"OMP_NUM_THREADS": "1"} if ranks > 1 else {})}
    done = subprocess.run([*several, program, *options.split(), "-dll_append", library], capture_output=True, text=True,
                          env=environment)
    if refused:
        assert done.returncode != 0
        return done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class TestProblems(unittest.TestCase):
    def check(self, line, iterations):
        self.assertTrue(line["converged"], line)
        self.assertLessEqual(line["residual"], 2e-8, line)
        self.assertLessEqual(line["iterations"], iterations, line)

    def test_ex2_by_aggregation(self):
        small, large = (run(f"-problem poisson2 -m {m} -ksp_type cg {TRUE_NORM} -pc_type cmg")[0] for m in (40, 120))
        self.check(small, 20)
        self.check(large, 22)

    def test_ex2_with_levels_of_gamg_needs_no_more_than_gamg(self):
        options = f"-problem poisson2 -m 100 -ksp_type cg {TRUE_NORM}"
        (own,) = run(f"{options} -pc_type cmg -pc_cmg_levels_from gamg")
        (gamg,) = run(f"{options} -pc_type gamg")
        self.check(own, gamg["iterations"] + 1)

    def test_ex45_with_the_levels_of_its_grid(self):
        options = f"-problem poisson3 -m 5 -da_refine 2 -ksp_type gmres -ksp_pc_side right {TRUE_NORM}"
        (own,) = run(f"{options} -pc_type cmg -pc_cmg_options smoother=chebyshev4")
        (mg,) = run(f"{options} -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both")
        self.check(own, mg["iterations"] + 2)

    def test_ex45_takes_interpolations_of_pcmg(self):
        options = f"-problem poisson3 -m 5 -da_refine 2 -ksp_type gmres -ksp_pc_side right {TRUE_NORM}"
        (own,) = run(f"{options} -pc_type cmg -pc_cmg_levels_from mg -cmg_levels_pc_mg_levels 3 "
                     "-cmg_levels_pc_mg_galerkin both")
        self.check(own, 12)

    def test_a_cycle_in_fp32_wants_flexible_gmres(self):
        options = f"-problem poisson3 -m 9 -da_refine 2 {TRUE_NORM} -pc_type cmg -pc_cmg_options precision=mixed"
        (flexible,) = run(f"{options} -ksp_type fgmres")
        self.check(flexible, 10)
        (plain,) = run(f"{options} -ksp_type gmres -ksp_pc_side right")
        self.assertLessEqual(plain["residual"], 1e-6)
        self.assertEqual(plain["iterations"], flexible["iterations"])

    def test_ex56_uses_the_near_null_space(self):
        options = f"-problem elasticity -m 8 -ksp_type cg {TRUE_NORM}"
        (own,) = run(f"{options} -pc_type cmg")
        self.check(own, 25)

    def test_new_values_take_the_same_iterations(self):
        for problem in ("poisson2 -m 60", "elasticity -m 6"):
            first, again = run(f"-problem {problem} -ksp_type cg {TRUE_NORM} -refresh -pc_type cmg")
            self.check(first, 25)
            self.check(again, first["iterations"])

    def test_several_ranks_take_the_iterations_of_one(self):
        for options in (f"-problem poisson2 -m 80 -ksp_type cg {TRUE_NORM} -pc_type cmg -pc_cmg_levels_from gamg",
                        f"-problem poisson2 -m 40 -ksp_type cg {TRUE_NORM} -pc_type cmg -pc_cmg_options smoother=chebyshev4",
                        "-problem poisson3 -m 5 -da_refine 2 -ksp_type gmres -ksp_pc_side right "
                        f"{TRUE_NORM} -pc_type cmg -pc_cmg_options smoother=chebyshev4 -refresh"):
            one, several = run(options), run(options, ranks=2)
            self.assertEqual(len(one), len(several))
            for line in several:
                self.assertEqual(line["ranks"], 2)
                # interpolations of gamg are others on two processes
                self.check(line, one[0]["iterations"] + (4 if "gamg" in options else 1))

    def test_several_ranks_use_the_near_null_space(self):
        options = f"-problem elasticity -m 12 -ksp_type cg {TRUE_NORM} -pc_type cmg"  # smaller ones are factorised by one
        (one,), (several,) = run(options), run(options, ranks=3)
        self.check(several, one["iterations"] + 1)

    def test_a_device_is_used_or_missed(self):
        options = "-problem poisson2 -m 30 -ksp_type cg -pc_type cmg -pc_cmg_context backend=cuda"
        done = subprocess.run([program, *options.split(), TRUE_NORM.split()[0], TRUE_NORM.split()[1], "-dll_append", library],
                              capture_output=True, text=True)
        if done.returncode == 0:
            self.check(json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][0]), 20)
        else:
            self.assertRegex(done.stdout + done.stderr, "CascadeMG: .*(no CUDA|device)")

    def test_one_thread_and_options_of_the_context(self):
        (line,) = run(f"-problem poisson2 -m 30 -ksp_type cg {TRUE_NORM} -pc_type cmg -pc_cmg_context threads=1")
        self.check(line, 20)
        text = run("-problem poisson2 -m 30 -pc_type cmg -pc_cmg_context treads=1", refused=True)
        self.assertIn("treads", text)


unittest.main(verbosity=1)
