"""-pc_type cmg from petsc4py: levels from a DM, from GAMG, by aggregation; new values; what -ksp_view prints."""
import os
import subprocess
import sys
import tempfile
import unittest

library = os.path.abspath(sys.argv.pop())
import petsc4py

petsc4py.init([sys.argv[0], "-dll_append", library])
import numpy as np
from petsc4py import PETSc

PETSC_SELF = PETSc.COMM_SELF


def set_options(**options):
    for key, value in options.items():
        PETSc.Options()[key] = value


def poisson(n, scale=1.0):
    """Five-point Laplacian on n x n points."""
    rows = n * n
    A = PETSc.Mat().createAIJ([rows, rows], nnz=5, comm=PETSc.COMM_SELF)
    for i in range(n):
        for j in range(n):
            row = i * n + j
            A[row, row] = 4.0 * scale
            for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    A[row, (i + di) * n + j + dj] = -scale
    A.assemble()
    return A


def solve(A, seed=1, dm=None, **options):
    set_options(**options)
    ksp = PETSc.KSP().create(PETSc.COMM_SELF)
    ksp.setOperators(A)
    ksp.setType("cg")
    ksp.setTolerances(rtol=1e-9, max_it=200)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.getPC().setType("cmg")
    if dm is not None:
        ksp.setDM(dm)
        ksp.setDMActive(False)
    ksp.setFromOptions()
    b, x = A.createVecRight(), A.createVecRight()
    b.setArray(np.random.default_rng(seed).standard_normal(b.getSize()))
    try:
        ksp.solve(b, x)
    finally:  # a refused one is not for the next
        for key in options:
            PETSc.Options().delValue(key)
    r = b.duplicate()
    A.mult(x, r)
    r.axpy(-1.0, b)
    return ksp, r.norm() / b.norm()


def view(ksp):
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        viewer = PETSc.Viewer().createASCII(file.name, comm=PETSc.COMM_SELF)
        ksp.getPC().view(viewer)
        viewer.flush()
        with open(file.name) as text:
            return text.read()


class TestPC(unittest.TestCase):
    def check(self, ksp, residual, iterations):
        self.assertGreater(ksp.getConvergedReason(), 0)
        self.assertLessEqual(residual, 2e-9)
        self.assertLessEqual(ksp.getIterationNumber(), iterations)

    def test_matrix_alone(self):
        self.check(*solve(poisson(40)), 30)

    def test_levels_of_gamg(self):
        ksp, residual = solve(poisson(40), pc_cmg_levels_from="gamg", pc_cmg_options="smoother=chebyshev4")
        self.check(ksp, residual, 25)
        self.assertIn("smoother=chebyshev4", view(ksp))

    def test_levels_by_a_method(self):
        for method in ("lattice", "classical rows=50", "aggregation"):
            ksp, residual = solve(poisson(70), pc_cmg_coarsen=method)
            self.check(ksp, residual, 25)
            self.assertNotIn(", 1 levels", view(ksp))
        for wrong in ("ruge", "classical rows=-1"):
            with self.assertRaises(PETSc.Error):
                solve(poisson(8), pc_cmg_coarsen=wrong)

    def test_levels_of_a_dm(self):
        dm = PETSc.DMDA().create([65, 65], stencil_width=1, comm=PETSc.COMM_SELF)
        A = dm.createMatrix()
        n = 65
        for i in range(n):
            for j in range(n):
                row = i * n + j
                A[row, row] = 4.0
                for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    if 0 <= i + di < n and 0 <= j + dj < n:
                        A[row, (i + di) * n + j + dj] = -1.0
        A.assemble()
        ksp, residual = solve(A, dm=dm, pc_cmg_levels=4)
        self.check(ksp, residual, 15)
        self.assertIn("4 levels", view(ksp))

    def test_null_space_of_the_matrix(self):
        """Wrong vectors are refused by the library, which shows that they reach it; right ones make it converge."""
        n = 30
        L = PETSc.Mat().createAIJ([n * n, n * n], nnz=5, comm=PETSC_SELF)
        scale = np.random.default_rng(3).uniform(0.5, 2.0, n * n)  # the null space is no constant
        for row in range(n * n):
            i, j = divmod(row, n)
            around = [(i + di) * n + j + dj for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1))
                      if 0 <= i + di < n and 0 <= j + dj < n]
            L[row, row] = len(around) * scale[row] ** 2
            for other in around:
                L[row, other] = -scale[row] * scale[other]
        L.assemble()
        for right in (True, False):
            v = L.createVecRight()
            v.setArray(1 / scale if right else np.arange(n * n) + 1.0)
            v.normalize()
            L.setNullSpace(PETSc.NullSpace().create(vectors=[v], comm=PETSC_SELF))
            ksp = PETSc.KSP().create(PETSC_SELF)
            ksp.setOperators(L)
            ksp.setType("cg")
            ksp.setTolerances(rtol=1e-9, max_it=60)
            ksp.getPC().setType("cmg")
            b, x = L.createVecRight(), L.createVecRight()
            b.setArray(np.random.default_rng(2).standard_normal(n * n))
            b.axpy(-v.dot(b), v)
            if not right:
                with self.assertRaises(PETSc.Error):
                    ksp.setUp()
                continue
            ksp.solve(b, x)
            self.assertGreater(ksp.getConvergedReason(), 0)
            r = b.duplicate()
            L.mult(x, r)
            r.axpy(-1.0, b)
            self.assertLessEqual(r.norm() / b.norm(), 1e-7)

    def test_formats_of_matrices(self):
        for kind in ("baij", "sbaij"):
            A = poisson(16)
            A.setOption(PETSc.Mat.Option.SYMMETRIC, True)
            A = A.convert(kind)
            self.check(*solve(A), 25)

    def test_new_values_on_the_pattern(self):
        A = poisson(32)
        ksp, residual = solve(A, pc_cmg_levels_from="gamg")
        first = ksp.getIterationNumber()
        A.scale(5.0)
        ksp.setOperators(A)
        b, x = A.createVecRight(), A.createVecRight()
        b.set(1.0)
        ksp.solve(b, x)
        self.assertGreater(ksp.getConvergedReason(), 0)
        self.assertLessEqual(ksp.getIterationNumber(), first + 2)
        self.assertIn("new values alone: 1", view(ksp))

    def test_columns_in_one_pass(self):
        A = poisson(24)
        ksp, _ = solve(A, pc_cmg_options="smoother=jacobi")
        pc, n = ksp.getPC(), A.getSize()[0]
        X = PETSc.Mat().createDense([n, 70], comm=PETSC_SELF)
        X.setUp()
        X.getDenseArray()[:, :] = np.random.default_rng(3).standard_normal((n, 70))
        X.assemble()
        Y = X.duplicate()
        pc.matApply(X, Y)
        r, z = A.createVecRight(), A.createVecRight()
        for column in (0, 63, 64, 69):
            r.setArray(X.getDenseArray()[:, column].copy())
            pc.apply(r, z)
            self.assertLess(np.abs(z.getArray() - Y.getDenseArray()[:, column]).max(), 1e-12)

    def solves(self, ksp, A):
        b, x = A.createVecRight(), A.createVecRight()
        b.set(1.0)
        ksp.solve(b, x)
        r = b.duplicate()
        A.mult(x, r)
        r.axpy(-1.0, b)
        self.check(ksp, r.norm() / b.norm(), 30)

    def test_bad_values_are_an_error_and_good_ones_solved_behind_it(self):
        for bad in (float("nan"), float("inf"), 0.0):
            A = poisson(12)
            ksp, _ = solve(A)
            A.setValue(3, 3, bad)
            A.assemble()
            with self.assertRaises(PETSc.Error):
                self.solves(ksp, A)
            A.setValue(3, 3, 4.0)
            A.assemble()
            self.solves(ksp, A)

    def test_another_pattern_of_as_many_entries_is_no_new_values(self):
        A = poisson(12)
        ksp, _ = solve(A)
        order = PETSc.IS().createGeneral(np.random.default_rng(0).permutation(144).astype(PETSc.IntType), comm=PETSC_SELF)
        B = A.permute(order, order)
        ksp.setOperators(B)
        self.solves(ksp, B)
        self.assertIn("new values alone: 0", view(ksp))

    def test_matrices_that_are_no_systems_are_refused(self):
        for shape, entries in (([5, 7], 0), ([5, 5], 1), ([5, 5], 0)):
            A = PETSc.Mat().createAIJ(shape, nnz=1, comm=PETSC_SELF)
            for i in range(entries):
                A[i, i] = 1.0
            A.assemble()
            with self.assertRaises(PETSc.Error):
                solve(A)

    def test_wrong_options_are_refused(self):
        for options in ("smother=jacobi", "pre=-4", "smoother=%s%n", "smoother=" + "x" * 2000):
            with self.assertRaises(PETSc.Error):
                solve(poisson(8), pc_cmg_options=options)


unittest.main(verbosity=1)
