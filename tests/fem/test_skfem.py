"""Matrices, loads and element matrices of `cmg generate` equal those of scikit-fem on the same distorted mesh.

The meshes are written as gmsh files; unknowns are matched by their coordinates.
"""

import os
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import scipy.sparse as sp
import skfem
from skfem import helpers

TOOL = os.environ.get("CMG_TOOL", "cmg")

ROUNDING = 1e-14
GMSH = {"tri": 2, "quad": 3, "tet": 4, "hex": 5}  # cell types of the format


def distorted(kind):
    """A small mesh of a kind with its inner nodes moved."""
    mesh = {
        "tri": lambda: skfem.MeshTri.init_tensor(np.linspace(0, 1, 5), np.linspace(0, 2, 4)),
        "quad": lambda: skfem.MeshQuad.init_tensor(np.linspace(0, 1, 5), np.linspace(0, 2, 4)),
        "tet": lambda: skfem.MeshTet.init_tensor(*[np.linspace(0, 1, 4)] * 3),
        "hex": lambda: skfem.MeshHex.init_tensor(*[np.linspace(0, 1, 4)] * 3),
    }[kind]()
    p = mesh.p.copy()
    inner = np.setdiff1d(np.arange(p.shape[1]), mesh.boundary_nodes())
    p[:, inner] += np.random.default_rng(3).uniform(-0.07, 0.07, (p.shape[0], len(inner)))
    return type(mesh)(p, mesh.t)


def corners_in_gmsh_order(mesh, kind):
    """Cells with the corners of hexahedra counter-clockwise, bottom then top."""
    cells = mesh.t.T
    if kind != "hex":
        return cells
    around = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    return cells[:, [local_corner(mesh, corner) for corner in around]]


def local_corner(mesh, corner):
    """Number of a corner in scikit-fem's reference hexahedron."""
    reference = mesh.elem.refdom.p.T
    return int(np.argmin(np.abs(reference - np.array(corner)).sum(axis=1)))


def write_gmsh(path, mesh, kind):
    number = GMSH[kind]
    points = np.zeros((mesh.p.shape[1], 3))
    points[:, : mesh.p.shape[0]] = mesh.p.T
    cells = corners_in_gmsh_order(mesh, kind)
    with open(path, "w", encoding="ascii") as file:
        file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n" % len(points))
        for i, x in enumerate(points):
            file.write("%d %.17g %.17g %.17g\n" % (i + 1, *x))
        file.write("$EndNodes\n$Elements\n%d\n" % len(cells))
        for i, cell in enumerate(cells):
            file.write("%d %d 2 0 1 %s\n" % (i + 1, number, " ".join(str(v + 1) for v in cell)))
        file.write("$EndElements\n")


def generate(mesh, kind, element, *options):
    """A, b and coordinates of a one-level hierarchy without Dirichlet conditions."""
    return generated(mesh, kind, element, *options)[:3]


def generated(mesh, kind, element, *options):
    """The same, and the group of its elements with --elements."""
    with tempfile.TemporaryDirectory() as folder:
        msh = os.path.join(folder, "m.msh")
        out = os.path.join(folder, "m.cmg")
        write_gmsh(msh, mesh, kind)
        command = [TOOL, "generate", "--mesh", msh, "--element", element, "--levels", "1"]
        command += ["--dirichlet", "neumann", *options, out]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        with h5py.File(out) as file:
            level = file["levels/0"]
            group = level["A"]
            shape = tuple(int(n) for n in group.attrs["shape"])
            A = sp.csr_matrix((group["data"][()], group["indices"][()], group["indptr"][()]), shape)
            elements = {key: value[()] for key, value in level.get("elements", {}).items()}
            return A, file["rhs/b"][()], level["coords"][()], elements


def element_matrices(elements):
    """One a cell, in the order of its unknowns."""
    count, local = elements["dofs"].shape
    if "template" not in elements:
        return elements["matrices"].reshape(count, local, local)
    number = elements.get("number", np.zeros(count, int))
    return elements["template"].reshape(-1, local, local)[number] * elements["factor"][:, None, None]


ELEMENTS = {
    ("tri", "p1"): skfem.ElementTriP1,
    ("tri", "p2"): skfem.ElementTriP2,
    ("quad", "q1"): skfem.ElementQuad1,
    ("quad", "q2"): skfem.ElementQuad2,
    ("tet", "p1"): skfem.ElementTetP1,
    ("tet", "p2"): skfem.ElementTetP2,
    ("hex", "q1"): skfem.ElementHex1,
    ("hex", "q2"): skfem.ElementHex2,
}


def match(ours, theirs):
    """Positions in `theirs` (dim x n) of the points `ours` (n x dim)."""
    key = lambda x: [tuple(row) for row in np.round(x, 9) + 0.0]
    where = {k: i for i, k in enumerate(key(theirs.T))}
    return np.array([where[k] for k in key(ours)])


@skfem.BilinearForm
def stiffness(u, v, w):
    return helpers.dot(helpers.grad(u), helpers.grad(v))


@skfem.BilinearForm
def mass(u, v, w):
    return u * v


@skfem.BilinearForm
def mass_and_stiffness(u, v, w):
    return u * v + 0.25 * helpers.dot(helpers.grad(u), helpers.grad(v))


@skfem.BilinearForm
def transport(u, v, w):
    dim = len(w.x)
    velocity = np.array([1, 0.5, 0.25][:dim])
    velocity = 3 * velocity / np.linalg.norm(velocity)
    return sum(velocity[d] * u.grad[d] for d in range(dim)) * v


@skfem.LinearForm
def ones(v, w):
    return 1.0 * v


@skfem.BilinearForm
def elasticity(u, v, w):
    dim = len(w.x)
    E, nu = 2.5, 0.2
    lam = E * nu / (1 - nu**2) if dim == 2 else E * nu / ((1 + nu) * (1 - 2 * nu))
    mu = E / (2 * (1 + nu))
    e = helpers.sym_grad(u)
    return lam * helpers.div(u) * helpers.div(v) + 2 * mu * helpers.ddot(e, helpers.sym_grad(v))


class AgainstScikitFem(unittest.TestCase):
    def same(self, ours, theirs):
        difference = abs(ours - theirs)
        worst = difference.max() if sp.issparse(difference) else np.max(difference)
        self.assertLess(worst, 1e-12 * abs(theirs).max())

    def basis(self, mesh, kind, element, e):
        """Exact for straight simplices; on quads and hexes the same Gauss points."""
        order = int(element[1])
        intorder = 2 * order + 1 if kind in ("quad", "hex") else 2 * order
        return skfem.Basis(mesh, e, intorder=intorder)

    def test_scalar_forms(self):
        for (kind, element), E in ELEMENTS.items():
            with self.subTest(kind=kind, element=element):
                mesh = distorted(kind)
                basis = self.basis(mesh, kind, element, E())
                K, M, C = (form.assemble(basis) for form in (stiffness, mass, transport))
                A, _, x = generate(mesh, kind, element)
                self.assertEqual(A.shape, K.shape)
                p = match(x, basis.doflocs)
                self.same(A, K[p][:, p])
                heat, b, _ = generate(mesh, kind, element, "--problem", "heat", "--time-step", "0.25")
                self.same(heat, (M + 0.25 * K)[p][:, p])
                self.same(b, ones.assemble(basis)[p])
                flow, _, _ = generate(mesh, kind, element, "--problem", "convection", "--velocity", "3",
                                      "--reaction", "2")  # fmt: skip
                self.same(flow, (K + C + 2 * M)[p][:, p])

    def test_elasticity(self):
        for (kind, element), E in ELEMENTS.items():
            with self.subTest(kind=kind, element=element):
                mesh = distorted(kind)
                dim = mesh.p.shape[0]
                basis = self.basis(mesh, kind, element, skfem.ElementVector(E()))
                theirs = elasticity.assemble(basis)
                component = np.zeros(basis.N, dtype=int)
                for table in (basis.nodal_dofs, basis.facet_dofs, basis.edge_dofs, basis.interior_dofs):
                    for row, dofs in enumerate(table if table is not None else []):
                        component[dofs] = row % dim
                A, _, x, elements = generated(mesh, kind, element, "--problem", "elasticity", "--young", "2.5",
                                              "--poisson-ratio", "0.2", "--elements")  # fmt: skip
                p = np.empty(A.shape[0], dtype=int)
                for c in range(dim):
                    mine = np.flatnonzero(component == c)
                    p[c::dim] = mine[match(x, basis.doflocs[:, mine])]
                self.assertEqual(A.shape, theirs.shape)
                self.same(A, theirs[p][:, p])
                self.same_elements(elements, elasticity, basis, p)

    def same_elements(self, elements, form, basis, p):
        """Element matrices entry by entry; `p` has scikit-fem's number of each unknown."""
        unknowns = basis.element_dofs
        local = form.elemental(basis).data.reshape(len(unknowns), len(unknowns), -1)
        cell_of = {tuple(sorted(column)): k for k, column in enumerate(unknowns.T)}
        self.assertEqual(len(elements["dofs"]), basis.nelems)
        for dofs, K in zip(elements["dofs"], element_matrices(elements)):
            cell = cell_of[tuple(sorted(p[dofs]))]
            at = [list(unknowns[:, cell]).index(number) for number in p[dofs]]
            theirs = local[:, :, cell][np.ix_(at, at)]
            # a few roundings an entry: the same Gauss points, summed in another order
            self.assertLess(abs(K - theirs).max(), ROUNDING * abs(theirs).max())

    def test_scalar_element_matrices(self):
        for (kind, element), E in ELEMENTS.items():
            with self.subTest(kind=kind, element=element):
                mesh = distorted(kind)
                basis = self.basis(mesh, kind, element, E())
                for form, options in ((stiffness, []), (mass_and_stiffness, ["--problem", "heat", "--time-step", "0.25"])):
                    _, _, x, elements = generated(mesh, kind, element, "--elements", *options)
                    self.same_elements(elements, form, basis, match(x, basis.doflocs))


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
