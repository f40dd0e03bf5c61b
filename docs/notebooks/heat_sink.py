# %% [markdown]
# # A heat sink with scikit-fem
#
# A processor heats an aluminium plate from below; the air between its fins takes the heat away. In a cross-section, 37 mm
# wide, the temperature $T$ over that of the air satisfies
#
# $$
# -\nabla \cdot (k \nabla T) = 0, \qquad k \frac{\partial T}{\partial n} = q \text{ below}, \qquad
# k \frac{\partial T}{\partial n} + h T = 0 \text{ elsewhere},
# $$
#
# with the conductivity $k$ = 200 W/(m K), a flux $q$ = 25 kW/m² and a coefficient of heat transfer $h$ = 60 W/(m² K).
# scikit-fem assembles; CascadeMG needs the matrix of the finest mesh and the prolongations between the meshes.

# %%
import time

import cascademg
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from skfem import Basis, BilinearForm, ElementTriP1, FacetBasis, LinearForm, MeshQuad

K, FLUX, AIR = 200.0, 25e3, 60.0  # W/(m K), W/m^2, W/(m^2 K)
FINS, FOOT, HEIGHT, WIDTH, GAP = 8, 4e-3, 24e-3, 2e-3, 3e-3  # metres

# %% [markdown]
# ## Meshes
#
# The profile is a union of rectangles of one millimetre. Each is cut into two triangles, and `refined()` halves all edges:
# it keeps the nodes and appends the midpoints, so that the prolongation is the identity above a matrix with two halves in
# each row.

# %%
def profile():
    """The coarsest mesh: squares of 1 mm in the foot and the fins."""
    step, across = 1e-3, FINS * WIDTH + (FINS - 1) * GAP
    mesh = MeshQuad.init_tensor(np.arange(0, across + step / 2, step), np.arange(0, FOOT + HEIGHT + step / 2, step))
    x, y = mesh.p[:, mesh.t].mean(axis=1)
    fin = (x % (WIDTH + GAP)) < WIDTH
    return mesh.restrict(np.nonzero((y < FOOT) | fin)[0]).to_meshtri()


def prolongation(mesh):
    """P1 on `mesh` to P1 on mesh.refined()."""
    edges = mesh.facets.shape[1]
    halves = sp.coo_matrix((np.full(2 * edges, 0.5), (np.tile(np.arange(edges), 2), mesh.facets.ravel())), (edges, mesh.nvertices))
    return sp.vstack([sp.eye(mesh.nvertices), halves]).tocsr()


meshes = [profile()]
for _ in range(4):
    meshes.append(meshes[-1].refined())
P = [prolongation(mesh) for mesh in reversed(meshes[:-1])]
print("nodes of the meshes:", ", ".join(str(mesh.nvertices) for mesh in meshes))

# %% [markdown]
# ## Assembly on the finest mesh

# %%
@BilinearForm
def conduction(u, v, w):
    return K * (u.grad[0] * v.grad[0] + u.grad[1] * v.grad[1])


@BilinearForm
def cooling(u, v, w):
    return AIR * u * v


@LinearForm
def heating(v, w):
    return FLUX * v


fine = meshes[-1]
element = ElementTriP1()
bottom = fine.facets_satisfying(lambda x: x[1] < 1e-9, boundaries_only=True)
rest = np.setdiff1d(fine.boundary_facets(), bottom)
A = (conduction.assemble(Basis(fine, element)) + cooling.assemble(FacetBasis(fine, element, facets=rest))).tocsr()
b = heating.assemble(FacetBasis(fine, element, facets=bottom))

# %% [markdown]
# ## Solve
#
# Coarse matrices are formed as $P^T A P$. The print shows the levels of the cycle and what the default chose.

# %%
solver = cascademg.Hierarchy(A, P).solver(rtol=1e-10)
T, info = solver.solve(b, return_info=True)
print(solver)
print(f"{info.iterations} iterations, relative residual {info.relative_residual:.1e}")

# %% [markdown]
# The same answer from SciPy's direct solver, and the balance of heat: what comes in below leaves through the rest of the
# boundary.

# %%
begin = time.perf_counter()
direct = spla.spsolve(A.tocsc(), b)
print(f"largest difference from the direct solver: {abs(T - direct).max() / direct.max():.1e} of the hottest place")
out = cooling.assemble(FacetBasis(fine, element, facets=rest)) @ T
print(f"heat in {b.sum():.3f} W/m, out {out.sum():.3f} W/m")
assert info.converged and abs(T - direct).max() <= 1e-7 * direct.max() and abs(out.sum() - b.sum()) <= 1e-6 * b.sum()

# %%
figure, axes = plt.subplots(figsize=(8, 5))
drawn = axes.tripcolor(*(1e3 * fine.p), fine.t.T, T, shading="gouraud", cmap="inferno")
axes.set(aspect="equal", xlabel="mm", ylabel="mm", title=f"Temperature over the air's: {T.min():.1f} to {T.max():.1f} K")
figure.colorbar(drawn, label="K");

# %% [markdown]
# ## Does the number of iterations grow?
#
# Multigrid is worth its name if it does not. The same problem on each mesh, with the levels below it:

# %%
for level in range(1, len(meshes)):
    mesh = meshes[level]
    below = mesh.facets_satisfying(lambda x: x[1] < 1e-9, boundaries_only=True)
    side = np.setdiff1d(mesh.boundary_facets(), below)
    matrix = (conduction.assemble(Basis(mesh, element)) + cooling.assemble(FacetBasis(mesh, element, facets=side))).tocsr()
    load = heating.assemble(FacetBasis(mesh, element, facets=below))
    found = cascademg.Hierarchy(matrix, P[len(meshes) - 1 - level:]).solver(rtol=1e-10).solve(load, return_info=True)[1]
    print(f"{mesh.nvertices:7d} nodes: {found.iterations} iterations")
    assert found.converged and found.iterations <= 20
