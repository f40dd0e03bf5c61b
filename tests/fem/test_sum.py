"""Matrices summed up from cell matrices equal those of scikit-fem, with a coefficient a cell."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import scipy.sparse as sp
import skfem
from skfem import helpers

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_skfem import ELEMENTS, distorted, match, write_gmsh  # noqa: E402

PRINT = sys.argv.pop(1)  # sum_print
FIRST = {"tri": "p1", "quad": "q1", "tet": "p1", "hex": "q1"}


def summed(mesh, kind, problem, k):
    """The matrix and its nodes (n x 3), from the program."""
    with tempfile.TemporaryDirectory() as folder:
        msh = os.path.join(folder, "m.msh")
        txt = os.path.join(folder, "k.txt")
        write_gmsh(msh, mesh, kind)
        np.savetxt(txt, k, "%.17g")
        out = subprocess.run([PRINT, msh, problem, txt], check=True, capture_output=True, text=True,
                             timeout=60).stdout.splitlines()
    x = np.array([line.split()[1:] for line in out if line[0] == "x"], float)
    i, j, v = np.array([line.split()[1:] for line in out if line[0] == "A"], float).T
    return sp.csr_matrix((v, (i.astype(int), j.astype(int)))), x


@skfem.BilinearForm
def poisson(u, v, w):
    return w.k * helpers.dot(helpers.grad(u), helpers.grad(v))


@skfem.BilinearForm
def heat(u, v, w):
    return u * v + 0.25 * w.k * helpers.dot(helpers.grad(u), helpers.grad(v))


@skfem.BilinearForm
def elasticity(u, v, w):
    dim = len(w.x)
    E, nu = 2.5, 0.2
    lam = E * nu / (1 - nu**2) if dim == 2 else E * nu / ((1 + nu) * (1 - 2 * nu))
    mu = E / (2 * (1 + nu))
    e = helpers.sym_grad(u)
    return w.k * (lam * helpers.div(u) * helpers.div(v) + 2 * mu * helpers.ddot(e, helpers.sym_grad(v)))


class SumsOfCells(unittest.TestCase):
    def test_all(self):
        for kind, name in FIRST.items():
            mesh = distorted(kind)
            k = np.random.default_rng(5).uniform(0.5, 2, mesh.nelements)
            element = ELEMENTS[kind, name]()
            for problem, form in (("poisson", poisson), ("heat", heat), ("elasticity", elasticity)):
                with self.subTest(kind=kind, problem=problem):
                    nc = mesh.dim() if problem == "elasticity" else 1
                    e = skfem.ElementVector(element) if nc > 1 else element
                    # two Gauss points an axis on Q1, as the library has; exact on P1
                    basis = skfem.Basis(mesh, e, intorder=3 if name == "q1" else 2)
                    theirs = form.assemble(basis, k=np.repeat(k[:, None], basis.X.shape[-1], 1))
                    ours, x = summed(mesh, kind, problem, k)
                    p = match(x[:, : mesh.dim()], basis.doflocs[:, ::nc])
                    p = (p[:, None] * nc + np.arange(nc)).ravel()
                    difference = abs(ours - theirs.tocsr()[p][:, p])
                    self.assertLess(difference.max(), 1e-14 * 8 * abs(theirs).max())


if __name__ == "__main__":
    unittest.main()
