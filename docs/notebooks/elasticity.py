# %% [markdown]
# # Elasticity needs its rigid motions
#
# A body that is moved or turned as a whole has no strain: three translations and three rotations are what the stiffness
# matrix takes nearly to zero. Coarse levels that cannot represent them are slow. This notebook shows by how much, on a
# beam of trilinear elements in space, four times as long as high, that is clamped at its left end and bends under its weight.
# Only the matrix is taken from the generator; the coarse levels are made from it by smoothed aggregation.

# %%
import cascademg
import matplotlib.pyplot as plt
import numpy as np

given = cascademg.generate(element="q1", dim=3, shape="beam", cells=12, levels=1, problem="elasticity")
A, b = given.matrix(), given.vector("rhs")
nodes = given.vector("coords").reshape(-1, 3)
print(f"{A.shape[0]} unknowns on {len(nodes)} nodes, {A.nnz} entries")

# %% [markdown]
# ## What the solver is given
#
# The six rigid motions of a node at $(x, y, z)$ are the columns of
#
# $$
# \begin{pmatrix} 1 & 0 & 0 & 0 & z & -y \\ 0 & 1 & 0 & -z & 0 & x \\ 0 & 0 & 1 & y & -x & 0 \end{pmatrix}.
# $$

# %%
def rigid_motions(points):
    """n x 6 for n = 3 nodes, unknowns of a node together."""
    x, y, z = (points - points.mean(axis=0)).T
    found = np.zeros((len(points), 3, 6))
    found[:, [0, 1, 2], [0, 1, 2]] = 1
    found[:, 1, 3], found[:, 2, 3] = -z, y
    found[:, 0, 4], found[:, 2, 4] = z, -x
    found[:, 0, 5], found[:, 1, 5] = -y, x
    return found.reshape(-1, 6)


B = rigid_motions(nodes)
energy = np.einsum("ij,ij->j", B, A @ B) / (np.einsum("ij,ij->j", B, B) * abs(A).sum(axis=1).max())
print("energies of the motions, relative to the largest row sum:", ", ".join(f"{e:.1e}" for e in energy))

# %% [markdown]
# They would be 0 without the clamped end, where the motions do not vanish. Four solvers that are given more and more:

# %%
knowledge = {
    "nothing": {},
    "block size": {"block_size": 3},
    "block size and coordinates": {"block_size": 3, "coords": nodes},
    "block size and motions": {"block_size": 3, "nullspace": B},
}
histories = {}
for name, facts in knowledge.items():
    solver = cascademg.Hierarchy(A, **facts).solver(rtol=1e-8, max_it=500)
    x, info = solver.solve(b, return_info=True)
    assert info.converged and np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
    histories[name] = info.residuals / info.residuals[0]
    print(f"{name:28s} {info.iterations:4d} iterations, complexity {solver.complexity:.2f}, "
          f"rows {', '.join(str(row['rows']) for row in solver.levels)}")
assert len(histories["block size and motions"]) < len(histories["nothing"])

# %%
figure, axes = plt.subplots(figsize=(7, 4))
for name, history in histories.items():
    axes.semilogy(history, label=name)
axes.set(xlabel="iteration", ylabel="relative residual")
axes.legend();

# %% [markdown]
# From coordinates and block size the library makes the motions itself, so that the last two rows are the same. PETSc has
# `MatSetNearNullSpace` and `PCSetCoordinates` for this, which [the plug-in](../petsc.md) uses.
#
# ## The bent beam

# %%
u = x.reshape(-1, 3)
scale = 0.5 / abs(u).max()
front = nodes[:, 1] < nodes[:, 1].min() + 1e-9
figure, axes = plt.subplots(figsize=(8, 3.5))
axes.scatter(nodes[front, 0], nodes[front, 2], s=2, color="0.8")
bent = nodes + scale * u
drawn = axes.scatter(bent[front, 0], bent[front, 2], s=4, c=np.linalg.norm(u, axis=1)[front], cmap="viridis")
axes.set(aspect="equal", xlabel="x", ylabel="z", title=f"Displacements, {scale:.2g} times as large")
figure.colorbar(drawn, label="displacement");
