# %% [markdown]
# # Topology optimisation
#
# Which shape makes a cantilever stiffest, if only a part of the block may be filled? The SIMP method (Bendsøe and Sigmund,
# 2003) gives every cell a density $\rho$ and the stiffness $\rho^3$, and minimises the compliance
#
# $$
# c(\rho) = f^T u, \qquad A(\rho)\, u = f, \qquad \frac{\partial c}{\partial \rho_e} = -3 \rho_e^2\, u_e^T K u_e,
# $$
#
# under a bound on the volume. Every step needs a solve with new values on the same pattern: `update` takes the values,
# `refresh` keeps everything of the set-up that does not depend on them. The program is
# [`examples/python/topology.py`](../../examples/python/topology.py); here it runs on a small block.

# %%
import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
import topology

cells, told = (32, 8, 16), []
history, rho, problem = topology.optimise(cells, steps=25, volume=0.3, report=told.append)
print("levels:", ", ".join(f"{grid.rows} rows" for grid in problem.grids))
for step in (1, 2, 5, 10, 15, 20, 25):
    row = told[step - 1]
    print(f"step {step:2d}: compliance {row['compliance']:8.3f}, volume {row['volume']:.3f}, {row['iterations']:2d} iterations")
assert all(row["converged"] for row in told) and history[-1] < 0.6 * history[0]
assert abs(rho.mean() - 0.3) < 1e-3

# %% [markdown]
# Densities end between nearly nothing and one, so that stiffness jumps by a factor of about a thousand from cell to cell,
# and the start of each solve is the last displacement. What a step spends:

# %%
parts = ("values", "refresh", "solve", "densities")
total = sum(sum(row[name] for name in parts) for row in told)
print(", ".join(f"{name} {100 * sum(row[name] for row in told) / total:.0f} %" for name in parts))
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.plot(range(1, len(history) + 1), history, "o-")
axes.set(xlabel="step", ylabel="compliance")
right = axes.twinx()
right.bar(range(1, len(history) + 1), [row["iterations"] for row in told], alpha=0.2)
right.set(ylabel="iterations");

# %% [markdown]
# ## The shape
#
# Cells of density over one half, clamped at the left, loaded on the lower edge at the right:

# %%
filled = rho.reshape(cells[::-1]).transpose(2, 1, 0) > 0.5
figure = plt.figure(figsize=(9, 5))
axes = figure.add_subplot(projection="3d", box_aspect=cells)
shade = np.repeat(np.linspace(0.35, 0.9, cells[0])[:, None, None], cells[1], axis=1).repeat(cells[2], axis=2)
axes.voxels(filled, facecolors=plt.cm.viridis(shade), edgecolor=(0, 0, 0, 0.1))
axes.view_init(20, -65)
axes.set_axis_off()
print(f"{filled.mean():.2f} of the cells are filled")
