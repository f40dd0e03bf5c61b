#!/usr/bin/env python3
"""One problem of dolfinx by PETSc, set up and solved twice, the second time with new values; petsc.py runs it.

    benchmarks/petsc_dolfinx.py poisson|jump|elasticity DEGREE CELLS [PETSc options]

The unit cube, CELLS a side in tetrahedra. poisson: a coefficient exp(sin 6x + sin 6y + sin 6z); jump: 1e5 in a box, 1 beside it;
elasticity: Poisson's ratio 0.3, held at one side, with its rigid motions. b is random; CG to 1e-8 of it.
"""

import json
import sys
import time

import numpy as np
import petsc4py

petsc4py.init(sys.argv[:1] + sys.argv[4:])
import dolfinx.fem.petsc as assembly  # noqa: E402
import ufl  # noqa: E402
from dolfinx import fem, mesh  # noqa: E402
from mpi4py import MPI  # noqa: E402
from petsc4py import PETSc  # noqa: E402

kind, degree, cells = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
domain = mesh.create_unit_cube(MPI.COMM_WORLD, cells, cells, cells)
space = (getattr(fem, "functionspace", None) or fem.FunctionSpace) if kind != "elasticity" else fem.VectorFunctionSpace
V = space(domain, ("Lagrange", degree))
u, v, x = ufl.TrialFunction(V), ufl.TestFunction(V), ufl.SpatialCoordinate(domain)
factor = fem.Constant(domain, PETSc.ScalarType(1))
if kind == "elasticity":
    strain = ufl.sym(ufl.grad(u))
    form = factor * ufl.inner(2 * strain + 1.5 * ufl.tr(strain) * ufl.Identity(3), ufl.sym(ufl.grad(v))) * ufl.dx
else:
    inside = ufl.And(abs(x[0] - 0.5) < 0.25, ufl.And(abs(x[1] - 0.5) < 0.25, abs(x[2] - 0.5) < 0.25))
    k = ufl.conditional(inside, 1e5, 1.0) if kind == "jump" else ufl.exp(sum(ufl.sin(6 * x[d]) for d in range(3)))
    form = factor * k * ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
held = mesh.locate_entities_boundary(domain, 2, lambda p: np.isclose(p[0], 0) if kind == "elasticity" else np.full(p.shape[1], True))
zero = np.zeros(3 if kind == "elasticity" else 1, dtype=PETSc.ScalarType)
bc = fem.dirichletbc(zero if kind == "elasticity" else zero[0], fem.locate_dofs_topological(V, 2, held), V)
form = fem.form(form)
A = assembly.assemble_matrix(form, bcs=[bc])
A.assemble()
A.setOption(PETSc.Mat.Option.SPD, True)
b, solution = A.createVecs()
if kind == "elasticity":
    points = A.createVecLeft()
    points.setBlockSize(3)
    points.array[:] = V.tabulate_dof_coordinates()[:len(points.array) // 3].ravel()
    A.setNearNullSpace(PETSc.NullSpace().createRigidBody(points))
random = PETSc.Random().create(MPI.COMM_WORLD)
random.setInterval((-1, 1))
b.setRandom(random)
fem.petsc.set_bc(b, [bc])
solver = PETSc.KSP().create(MPI.COMM_WORLD)
solver.setOperators(A)
solver.setType("cg")
solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
solver.setTolerances(rtol=1e-8, max_it=500)
solver.setFromOptions()
for what in ("first", "refresh"):
    MPI.COMM_WORLD.barrier()
    begin = time.perf_counter()
    solver.setUp()
    MPI.COMM_WORLD.barrier()
    ready = time.perf_counter()
    solver.solve(b, solution)
    MPI.COMM_WORLD.barrier()
    end = time.perf_counter()
    residual = (b - A * solution).norm() / b.norm()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({"benchmark": "petsc", "problem": f"dolfinx-{kind}-p{degree}", "what": what, "unknowns": A.size[0],
                          "pc": solver.getPC().getType(), "ranks": MPI.COMM_WORLD.size, "converged": solver.reason > 0,
                          "iterations": solver.its, "residual": float(f"{residual:.3g}"), "setup_seconds": round(ready - begin, 5),
                          "solve_seconds": round(end - ready, 5)}), flush=True)
    factor.value = 2
    A.zeroEntries()
    assembly.assemble_matrix(A, form, bcs=[bc])
    A.assemble()
    solver.setOperators(A)
