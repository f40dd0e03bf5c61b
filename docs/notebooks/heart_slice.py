# %% [markdown]
# # A beat through a slice of the heart
#
# A wave of electricity makes the heart contract. In a slice through the left ventricle, a ring of muscle, the voltage $v$
# (scaled to 0 at rest and 1 when excited) and a recovery $w$ follow a model of Aliev and Panfilov (1996),
#
# $$
# \frac{\partial v}{\partial t} = \nabla \cdot (D \nabla v) - k v (v - a)(v - 1) - v w, \qquad
# \frac{\partial w}{\partial t} = \left(\varepsilon_0 + \frac{\mu_1 w}{v + \mu_2}\right) \big(-w - k v (v - a - 1)\big),
# $$
#
# in which $D$ conducts four times as well along the fibres, which run around the ring, as across; it is chosen so that fronts
# run at the speed of muscle, about 0.6 mm/ms along them. One unit of time is 12.9 milliseconds. Diffusion is stepped implicitly, so that every step solves with the same matrix: one set-up, hundreds of
# solves. [`examples/heart`](../../examples/heart/README.md) does a whole ventricle in C and on a GPU.

# %%
import cascademg
import matplotlib.pyplot as plt
import numpy as np
from skfem import Basis, BilinearForm, ElementTriP1, MeshQuad

INNER, OUTER = 20.0, 32.0  # millimetres
ALONG, ACROSS = 32.0, 8.0  # mm^2 a unit of time
STEP, UNIT = 0.05, 12.9  # of time; ms of a unit
K, A0, EPS, MU1, MU2 = 8.0, 0.15, 0.002, 0.2, 0.3


def ring(around=384, through=48):
    """A ring of triangles; the first and the last column of nodes are one."""
    angle, radius = np.linspace(0, 2 * np.pi, around + 1)[:-1], np.linspace(INNER, OUTER, through + 1)
    points = np.stack([np.outer(np.cos(angle), radius).ravel(), np.outer(np.sin(angle), radius).ravel()])
    i, j = np.meshgrid(np.arange(around), np.arange(through), indexing="ij")
    at = lambda i, j: ((i % around) * (through + 1) + j).ravel()  # noqa: E731
    return MeshQuad(points, np.stack([at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)])).to_meshtri()


# %% [markdown]
# ## The matrix of a step
#
# $(M + \Delta t\, S)\, v = M \hat v$ with mass matrix $M$, stiffness $S$ and the voltage $\hat v$ after the reaction.

# %%
@BilinearForm
def mass(u, v, w):
    return u * v


@BilinearForm
def diffusion(u, v, w):
    x, y = w.x
    r = np.hypot(x, y)
    along_u = (-y * u.grad[0] + x * u.grad[1]) / r
    along_v = (-y * v.grad[0] + x * v.grad[1]) / r
    plain = u.grad[0] * v.grad[0] + u.grad[1] * v.grad[1]
    return ACROSS * plain + (ALONG - ACROSS) * along_u * along_v


def step_solver(mesh):
    """Mass matrix and solver of a step."""
    basis = Basis(mesh, ElementTriP1())
    M, S = mass.assemble(basis).tocsr(), diffusion.assemble(basis).tocsr()
    return M, cascademg.Hierarchy((M + STEP * S).tocsr()).solver(rtol=1e-8)


mesh = ring()
M, solver = step_solver(mesh)
print(solver)

# %% [markdown]
# A short step makes the mass matrix matter, and the library sees from the matrix what that asks for: the print says so.
#
# ## A beat
#
# The wave is started at a spot of the outer wall. Each solve begins with the voltage of the step before.

# %%
TIMES = [1, 3, 6, 9, 24, 36]


def beat(mesh, M, solver):
    """Voltages at TIMES, the time at which each node is excited, and the iterations of each step."""
    x, y = mesh.p
    v, w = np.where(np.hypot(x - OUTER, y) < 8.0, 1.0, 0.0), np.zeros(mesh.nvertices)
    pictures, arrival, counts = {}, np.full(mesh.nvertices, np.nan), []
    for step in range(1, round(TIMES[-1] / STEP) + 1):
        w += STEP * (EPS + MU1 * w / (v + MU2)) * (-w - K * v * (v - A0 - 1))
        reacted = v + STEP * (-K * v * (v - A0) * (v - 1) - v * w)
        before = v
        v, info = solver.solve(M @ reacted, x0=before, return_info=True)
        assert info.converged
        counts.append(info.iterations)
        passed = np.isnan(arrival) & (v > 0.5)  # between two steps
        arrival[passed] = STEP * (step - (v[passed] - 0.5) / (v[passed] - np.minimum(before[passed], 0.5 - 1e-9)))
        if round(step * STEP, 6) in TIMES:
            pictures[round(step * STEP)] = v.copy()
    return pictures, arrival, counts


pictures, arrival, counts = beat(mesh, M, solver)
print(f"{mesh.nvertices} nodes, {len(counts)} steps, {np.mean(counts):.1f} iterations a step, at most {max(counts)}")
assert not np.isnan(arrival).any(), "the wave passes every node"

# %%
x, y = mesh.p
figure, axes = plt.subplots(2, 3, figsize=(10, 6.4))
for axis, (when, values) in zip(axes.ravel(), pictures.items()):
    drawn = axis.tripcolor(x, y, mesh.t.T, values, shading="gouraud", cmap="magma", vmin=0, vmax=1)
    axis.set(aspect="equal", xticks=[], yticks=[], title=f"{when * UNIT:.0f} ms")
figure.colorbar(drawn, ax=axes, label="voltage");

# %% [markdown]
# Two fronts run around the ring, meet at the far side, and the muscle recovers.
#
# ## Is the mesh fine enough?
#
# Fronts on coarse meshes run at the wrong speed. The same beat with cells of twice the width, and the speed along the fibres
# between angles of 60 and 120 degrees in the middle of the wall:

# %%
def speed(mesh, arrival):
    """Millimetres a millisecond along the middle of the wall."""
    x, y = mesh.p
    angle, radius = np.degrees(np.arctan2(y, x)), np.hypot(x, y)
    middle = abs(radius - (INNER + OUTER) / 2) < 0.13
    passed = [arrival[middle & (abs(angle - a) < 0.1)].mean() for a in (60, 120)]
    return np.radians(60) * (INNER + OUTER) / 2 / ((passed[1] - passed[0]) * UNIT)


half = ring(192, 24)
coarse = beat(half, *step_solver(half))[1]
found = [speed(half, coarse), speed(mesh, arrival)]
print(f"speed with {half.nvertices} nodes {found[0]:.3f} mm/ms, with {mesh.nvertices} nodes {found[1]:.3f} mm/ms")
print(f"the whole ring is excited after {arrival.max() * UNIT:.0f} ms")
assert abs(found[1] - found[0]) < 0.1 * found[1]

# %%
figure, axes = plt.subplots(figsize=(5.5, 5))
lines = axes.tricontourf(x, y, mesh.t.T, UNIT * arrival, 16, cmap="viridis")
axes.set(aspect="equal", xticks=[], yticks=[], title="Arrival of the wave")
figure.colorbar(lines, label="ms");
