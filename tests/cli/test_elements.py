"""`cmg generate --elements`: the group that is stored adds up to A; solves and products by elements agree with the
assembled matrix. tests/fem/test_skfem.py has the element matrices themselves.
"""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import run  # noqa: E402

try:
    import h5py
    import numpy as np
    import scipy.sparse as sp
except ImportError:
    h5py = None


def read(path):
    """A and elements of the levels that have any; the first must."""
    with h5py.File(path) as f:
        found = []
        for level in range(len(f["levels"])):
            if level == 0 or f"levels/{level}/elements" in f:
                g = f[f"levels/{level}/A"]
                A = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), g.attrs["shape"])
                found.append((level, A, {key: value[:] for key, value in f[f"levels/{level}/elements"].items()}))
        return found


def matrices(e):
    count, local = e["dofs"].shape
    if "template" not in e:
        return e["matrices"].reshape(count, local, local)
    number = e.get("number", np.zeros(count, int))
    return e["template"].reshape(-1, local, local)[number] * e["factor"][:, None, None]


def assembled(e, n):
    """Sum of the elements; rows without any are those of the identity."""
    K, dofs = matrices(e), e["dofs"]
    local = dofs.shape[1]
    i = np.repeat(dofs, local, axis=1).ravel()
    j = np.tile(dofs, (1, local)).ravel()
    keep = (i >= 0) & (j >= 0)
    lone = np.setdiff1d(np.arange(n), dofs)
    return (sp.coo_matrix((K.ravel()[keep], (i[keep], j[keep])), (n, n)) +
            sp.coo_matrix((np.ones(len(lone)), (lone, lone)), (n, n))).tocsr()


@unittest.skipUnless(h5py, "no h5py")
class Elements(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            if "no HDF5" in run("generate", os.path.join(folder, "x.cmg"), "--cells", "2").stderr:
                self.skipTest("no HDF5 in this build")

    def run_cmg(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_elements_add_up_to_the_matrix(self):
        for options in ("--dim 2 --cells 9 --element q1 --distort 0.3", "--dim 3 --cells 5 --element q2",
                        "--dim 3 --cells 16 --element q1 --problem elasticity --coefficient random",
                        "--dim 2 --cells 32 --element q1 --coefficient random",
                        "--dim 2 --cells 6 --element p2 --problem elasticity", "--dim 3 --cells 4 --element p1",
                        "--dim 2 --cells 8 --element q1 --dirichlet identity --numbering random",
                        "--dim 2 --cells 8 --element q1 --numbering cells --general"):
            with self.subTest(options), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.cmg")
                self.run_cmg("generate", path, "--elements", *options.split())
                levels = read(path)
                for level, A, e in levels:
                    apart = abs(assembled(e, A.shape[0]) - A)
                    self.assertLess(apart.max(), 1e-13 * abs(A).max())
                    self.assertTrue(level == 0 or "template" in e)
                if "distort" in options:
                    self.assertEqual(len(levels), 1)
                if "coefficient random" in options:  # 16 fields a side: a coarser cell than that has several
                    self.assertEqual([len(e["template"]) for _, _, e in levels], [1, 1] if "32" in options else [1])
                if "numbering random" in options: # equal cells on every level
                    self.assertGreater(len(levels), 1)

    def test_solves_and_products_by_elements(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.cmg")
            self.run_cmg("generate", path, "--elements", "--dim", "3", "--cells", "8", "--element", "q1", "--problem",
                         "elasticity", "--coefficient", "random")
            counts = []
            for name in ("sell", "nbn", "dbd", "ebe", "ebesym"):
                out = os.path.join(folder, "s.json")
                self.run_cmg("solve", path, "--format", name, "--json", out)
                with open(out, encoding="utf-8") as file:
                    counts.append(json.load(file)["iterations"])
            self.assertEqual(counts, [counts[0]] * 5)
            out = os.path.join(folder, "b.json")
            self.run_cmg("bench", "spmv", path, "--formats", "csr,ebe,nbn,pcsr", "--values", "fp64", "--samples", "3",
                         "--sample-ms", "0", "--sweep", "pad", "--json", out)
            with open(out, encoding="utf-8") as file:
                rows = json.load(file)["matrices"][0]["formats"]
            self.assertTrue(all(r["failure"] is None for r in rows))
            self.assertEqual([r["pad"] for r in rows if r["swept"] == "pad"], [1, 2, 4, 8])

    def test_integers_of_any_width(self):
        """Fixed unknowns, -1, in 64 bits as in 32."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.cmg")
            self.run_cmg("generate", path, "--elements", "--cells", "4", "--levels", "1")
            told = run("info", path).stdout
            with h5py.File(path, "r+") as f:
                e = f["levels/0/elements"]
                dofs = e["dofs"][()]
                self.assertTrue((dofs == -1).any())
                del e["dofs"]
                e.create_dataset("dofs", data=dofs.astype("i8"))
            result = run("info", path)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout.splitlines()[1:], told.splitlines()[1:])

    def test_no_template_is_refused(self):
        """None would be a matrix for every element."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.cmg")
            self.run_cmg("generate", path, "--elements", "--cells", "4")
            with h5py.File(path, "r+") as f:
                e = f["levels/0/elements"]
                local = e["dofs"].shape[1]
                del e["template"]
                e.create_dataset("template", shape=(0, local * local), dtype="f8")
            result = run("info", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn("/levels/0/elements/template is empty", result.stderr)


if __name__ == "__main__":
    unittest.main()
