"""Levels of MFEM (PyPI: mfem) solved by cascademg: Poisson on a square, uniform refinements, MFEM's own transfers.

Tried with PyMFEM 4.10.
"""
import mfem.ser as mfem
import numpy as np
import scipy.sparse as sp

import cascademg


def csr(M):
    """An mfem.SparseMatrix as a SciPy matrix of its own."""
    arrays = [np.array(a) for a in (M.GetDataArray(), M.GetJArray(), M.GetIArray())]
    return sp.csr_matrix(tuple(arrays), shape=(M.Height(), M.Width()))


def space(mesh):
    return mfem.FiniteElementSpace(mesh, mfem.H1_FECollection(1, mesh.Dimension()))


mesh = mfem.Mesh(8, 8, "QUADRILATERAL")
meshes, spaces, prolongations = [mesh], [space(mesh)], []
for _ in range(4):
    mesh = mfem.Mesh(mesh)  # a copy, so that the coarse one stays
    mesh.UniformRefinement()
    fine = space(mesh)
    handle = mfem.OperatorHandle(mfem.Operator.MFEM_SPARSEMAT)
    fine.GetTransferOperator(spaces[-1], handle)
    prolongations.append(csr(mfem.Opr2SparseMat(handle.Ptr())))
    meshes.append(mesh)
    spaces.append(fine)

a = mfem.BilinearForm(spaces[-1])
a.AddDomainIntegrator(mfem.DiffusionIntegrator(mfem.ConstantCoefficient(1.0)))
f = mfem.LinearForm(spaces[-1])
f.AddDomainIntegrator(mfem.DomainLFIntegrator(mfem.ConstantCoefficient(1.0)))
a.Assemble()
f.Assemble()
fixed = mfem.intArray()
marker = mfem.intArray([1] * mesh.bdr_attributes.Max())
spaces[-1].GetEssentialTrueDofs(marker, fixed)
x, A, B, X = mfem.GridFunction(spaces[-1]), mfem.SparseMatrix(), mfem.Vector(), mfem.Vector()
x.Assign(0.0)
a.FormLinearSystem(fixed, x, f, A, X, B)

h = cascademg.Hierarchy(csr(A), prolongations[::-1])  # coarse matrices are formed as R A P
solution, info = h.solver().solve(np.array(B.GetDataArray()), return_info=True)
print(f"{h.shape[0]} unknowns, {info.iterations} iterations, relative residual {info.relative_residual:.1e}")
