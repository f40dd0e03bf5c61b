"""Levels for dolfinx: P1 Poisson on meshes that need not be nested; P from cascademg.transfer.

Tried with dolfinx 0.5, on one process; the names of 0.7 and later are looked for first.
"""
import cascademg
import dolfinx.fem.petsc
import numpy as np
import scipy.sparse as sp
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc


def space(n):
    domain = mesh.create_unit_square(MPI.COMM_SELF, n, n)
    make = getattr(fem, "functionspace", None) or fem.FunctionSpace
    return make(domain, ("Lagrange", 1))


def nodes(V):
    """Places and triangles in the numbering of the unknowns."""
    cells = getattr(V.dofmap.list, "array", V.dofmap.list)
    return V.tabulate_dof_coordinates()[:, :2], np.asarray(cells).reshape(-1, 3)


def boundary(V):
    domain = V.mesh
    domain.topology.create_connectivity(1, 2)
    return fem.locate_dofs_topological(V, 1, mesh.exterior_facet_indices(domain.topology))


spaces = [space(n) for n in (128, 64, 32, 16)]
prolongations = []
for fine, coarse in zip(spaces, spaces[1:]):
    points, cells = nodes(coarse)
    prolongations.append(cascademg.transfer(cascademg.Mesh(points, cells, "p1"), nodes(fine)[0]))

V = spaces[0]
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
one = fem.Constant(V.mesh, PETSc.ScalarType(1))
bc = fem.dirichletbc(PETSc.ScalarType(0), boundary(V), V)
a, L = fem.form(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx), fem.form(one * v * ufl.dx)
A = dolfinx.fem.petsc.assemble_matrix(a, bcs=[bc])
A.assemble()
b = dolfinx.fem.petsc.assemble_vector(L)
dolfinx.fem.petsc.set_bc(b, [bc])

indptr, indices, data = A.getValuesCSR()
h = cascademg.Hierarchy(sp.csr_matrix((data, indices, indptr), shape=A.getSize()), prolongations)
x, info = h.solver().solve(b.array, return_info=True)  # rows of the identity are found and left out of P
print(f"{h.shape[0]} unknowns, {info.iterations} iterations, relative residual {info.relative_residual:.1e}")
