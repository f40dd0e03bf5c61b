# %% [markdown]
# # Smoothers on a preassembled hierarchy
#
# A hierarchy is a file: matrices and prolongations that somebody assembled once. This notebook loads one from
# [`preassembled/`](../../preassembled/README.md), a Poisson problem with quadratic elements that also carries three
# approximate inverses, and looks at what makes a smoother good.

# %%
import pathlib

import cascademg
import matplotlib.pyplot as plt
import numpy as np

folder = pathlib.Path(__file__).resolve().parents[2] / "preassembled" / "tiny"
h = cascademg.read(folder / "poisson_q2_2d_square.cmg")
A, b = h.matrix(), h.vector("rhs")
side = round(np.sqrt(A.shape[0]))
print(h)
for level in range(h.levels):
    print(f"level {level}: {h.rows(level)} rows, {h.matrix('A', level).nnz} entries")

# %% [markdown]
# ## What one step does to an error
#
# A smoother need not make the error small, it has to make it *smooth*, so that a coarser grid can show the rest. The
# stored inverses are matrices, so that a step is one line: $e \leftarrow e - M A e$. An error of random numbers, of which
# only neighbours differ, and what is left after two steps of each:

# %%
inverses = {"Jacobi, damped by 0.7": 0.7 / A.diagonal()}
spai = h.matrix("smoother", name="spai")
factors = [h.matrix("smoother", name="fsai", factor=k) for k in (0, 1)]


def steps(error, count=2):
    """The error after some steps of each smoother."""
    found = {"before": error}
    jacobi = spai_error = fsai_error = error
    for _ in range(count):
        jacobi = jacobi - inverses["Jacobi, damped by 0.7"] * (A @ jacobi)
        spai_error = spai_error - spai @ (A @ spai_error)
        fsai_error = fsai_error - factors[1] @ (factors[0] @ (A @ fsai_error))
    return {**found, "Jacobi": jacobi, "SPAI": spai_error, "FSAI": fsai_error}


error = np.random.default_rng(3).uniform(-1, 1, A.shape[0])
after = steps(error)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2))
for axis, (name, values) in zip(axes, after.items()):
    axis.imshow(values.reshape(side, side), cmap="RdBu", vmin=-1, vmax=1)
    rough = np.sqrt(values @ (A @ values) / (error @ (A @ error)))
    axis.set(title=f"{name}: energy {rough:.2f}", xticks=[], yticks=[])
    assert name == "before" or rough < 0.8

# %% [markdown]
# ## What it does to a solve
#
# `compare` solves the same system with each; `file:spai` takes the stored inverse and has nothing to set up. The
# iterations are those of the table in [`preassembled/`](../../preassembled/README.md), which tests repeat; times are of
# this machine and of a small problem, so only their order of magnitude says something.

# %%
table = cascademg.compare(h, b, smoothers=["jacobi", "l1-jacobi", "chebyshev4", "spai", "file:spai", "file:sainv", "file:fsai"], repeat=5)
print(f"{'smoother':12s} iterations  set-up ms  solve ms  bytes moved")
for row in table:
    print(f"{row['smoother']:12s} {row['iterations']:10d} {1e3 * row['setup_seconds']:10.2f} {1e3 * row['seconds']:9.2f} "
          f"{row['bytes']:12.3g}")
assert all(row["converged"] for row in table)

# %%
figure, axes = plt.subplots(figsize=(6, 4))
for row in table:
    axes.plot(row["bytes"] / A.nnz, row["iterations"], "o")
    axes.annotate(row["smoother"], (row["bytes"] / A.nnz, row["iterations"]), textcoords="offset points", xytext=(5, 4), fontsize=8)
axes.set(xlabel="bytes moved in a solve, an entry of A", ylabel="iterations");

# %% [markdown]
# On large problems a solve takes the time that its bytes take, so the picture is what to look at: few iterations are no
# gain where each of them moves more. The default asks an estimate of the spectrum instead of the user:

# %%
print(h.solver())
