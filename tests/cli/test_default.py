"""Plain `cmg solve` converges on problems of every kind, with no option known."""

import cli

PROBLEMS = {
    "poisson 2D": "--cells 32",
    "poisson 3D": "--dim 3 --cells 12",
    "q2": "--element q2 --cells 16",
    "p2 in 3D": "--element p2 --dim 3 --cells 4",
    "distorted": "--cells 32 --distort 0.3",
    "jump": "--cells 32 --coefficient jump --contrast 100",
    "random coefficient": "--cells 32 --coefficient random --contrast 1e4",
    "checkerboard": "--cells 32 --coefficient checkerboard --contrast 1e4",
    "stretched 30:1": "--cells 64 --aspect 30",
    "stretched 30:1 in 3D": "--cells 16 --dim 3 --aspect 30",
    "graded 100:1": "--cells 64 --grading 100",
    "anisotropy 1000": "--cells 128 --coefficient anisotropic --contrast 1000",
    "anisotropy 1000, rotated": "--cells 64 --coefficient anisotropic --contrast 1000 --angle 30",
    "elasticity, beam": "--problem elasticity --shape beam --cells 16",
    "elasticity, p1, l-shape": "--problem elasticity --element p1 --shape lshape --cells 16",
    "elasticity, p1, bar in 3D": "--problem elasticity --element p1 --dim 3 --shape beam --cells 4",
    "elasticity, q1 in 3D": "--problem elasticity --dim 3 --cells 8",
    "elasticity, nu 0.49": "--problem elasticity --dim 3 --cells 8 --poisson-ratio 0.49",
    "elasticity, free body": "--problem elasticity --cells 16 --dirichlet neumann",
    "neumann": "--cells 32 --dirichlet neumann",
    "identity rows": "--cells 32 --dirichlet identity-keep",
    "heat": "--problem heat --cells 32 --time-step 0.001",
}
UNSYMMETRIC = {
    "convection": "--problem convection --velocity 20 --cells 32",
    "strong convection": "--problem convection --velocity 200 --cells 32",
    "convection in 3D": "--problem convection --velocity 20 --dim 3 --cells 8",
}


class Default(cli.Case):
    def check(self, problems, *options):
        for name, wanted in problems.items():
            with self.subTest(name):
                h = self.path("".join(c if c.isalnum() else "-" for c in name))
                self.good("generate", *wanted.split(), h)
                tried = cli.run("solve", h, *options)
                if "needs a build with LAPACK" in tried.stderr:
                    self.skipTest("no LAPACK in this build")
                told = self.json("solve", h, *options)
                self.assertTrue(told["converged"])
                self.assertLessEqual(told["iterations"], 60)
                self.assertEqual(told["smoother"], "auto")

    def test_symmetric_problems(self):
        self.check(PROBLEMS)

    def test_cycles_alone_on_unsymmetric_problems(self):
        self.check(UNSYMMETRIC, "--krylov", "none")


if __name__ == "__main__":
    cli.main()
