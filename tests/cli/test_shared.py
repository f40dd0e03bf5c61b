"""Iteration counts on hierarchies made by others, through the tool. Skipped without the data.

The counts were measured by an independent program: stand-alone V-cycles to ||b - A x|| < 1e-8 ||b||,
nu smoothing steps before and after, exact coarse solve. They may differ by one through rounding.
"""

import cli

ELL = ("hier", "honei_pa2_q1_ell")
MTX = ("hier", "honei_poisson_q1")
JACOBI = ("--smoother", "jacobi", "--omega", "0.7")
SPAI = ("--smoother", "file:spai", "--omega", "1")
SAINV = ("--smoother", "file:sainv", "--omega", "1")


class Counts(cli.Case):
    def counts(self, folder, options, expected):
        path = cli.shared(*folder)
        for nu, count in expected.items():
            with self.subTest(nu=nu):
                result = self.json(
                    "solve", path, "--krylov", "none", "--pre", nu, "--post", nu, "--max-it", 200,
                    "--collapse", 0, *options,
                )
                self.assertEqual(result["reason"], "converged_rtol")
                self.assertLessEqual(abs(result["iterations"] - count), 1)

    def test_poisson_as_given(self):
        self.counts(MTX, (*JACOBI, "--dirichlet", "keep"), {4: 12, 2: 47})

    def test_poisson_with_the_boundary_zeroed(self):
        self.counts(MTX, JACOBI, {4: 10, 2: 15, 1: 24})

    def test_poisson_as_given_diverges_with_one_step(self):
        path = cli.shared(*MTX)
        result = self.json("solve", path, "--krylov", "none", *JACOBI, "--dirichlet", "keep", "--galerkin",
                           "missing", "--no-fallback", status=3)
        self.assertIn(result["reason"], ("diverged", "iteration_limit"))

    def test_pa2_as_given(self):
        keep = ("--dirichlet", "keep")
        self.counts(ELL, (*JACOBI, *keep), {4: 18, 2: 39})
        self.counts(ELL, (*SPAI, *keep), {4: 6, 2: 9, 1: 16})
        self.counts(ELL, (*SAINV, *keep), {4: 8, 2: 14})

    def test_pa2_with_the_boundary_zeroed(self):
        drop = ("--drop-coarsest", "1")
        self.counts(ELL, (*JACOBI, *drop), {4: 20, 2: 39, 1: 78})
        self.counts(ELL, (*SPAI, *drop), {4: 7, 2: 10, 1: 19})
        self.counts(ELL, (*SAINV, *drop), {4: 8, 2: 15, 1: 29})

    def test_pa2_from_level_4(self):
        options = ("--drop-coarsest", "1", "--level", "2", "--rhs", cli.shared(*ELL, "rhs_4"))
        self.counts(ELL, (*JACOBI, *options), {4: 17, 2: 32, 1: 64})
        self.counts(ELL, (*SPAI, *options), {4: 6, 2: 8, 1: 15})
        self.counts(ELL, (*SAINV, *options), {4: 6, 2: 11, 1: 20})

    def test_raptor_converges_as_preconditioner(self):
        result = self.json("solve", cli.shared("hier", "raptor_rss"))
        self.assertTrue(result["converged"])


if __name__ == "__main__":
    cli.main()
