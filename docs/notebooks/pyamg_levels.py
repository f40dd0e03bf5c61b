# %% [markdown]
# # PyAMG's levels, CascadeMG's cycle
#
# PyAMG has the set-up methods of a research code: Ruge-Stüben, smoothed aggregation, root nodes, AIR. CascadeMG takes the
# levels that PyAMG has made and runs the cycle on all cores, or on a GPU. This notebook does so for a diffusion problem
# that turns its strong direction by 30 degrees:
#
# $$
# -\nabla \cdot (Q\, \operatorname{diag}(1, \varepsilon)\, Q^T \nabla u) = f, \qquad \varepsilon = 10^{-2}.
# $$

# %%
import time

import cascademg
import matplotlib.pyplot as plt
import numpy as np
import pyamg

stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=1e-2, theta=np.pi / 6, type="FE")
A = pyamg.gallery.stencil_grid(stencil, (250, 250), format="csr")
b = np.random.default_rng(1).standard_normal(A.shape[0])
print(f"{A.shape[0]} unknowns, {A.nnz} entries")

# %% [markdown]
# ## On a GPU where there is one
#
# `from_pyamg(ml, backend="cuda")` puts the levels on the device; everything else stays as it is, and CuPy's arrays are
# then used in place. Without a GPU the same lines run on the CPU.

# %%
backend = "cuda" if "cuda" in cascademg.backends() else "cpu"
print("backend:", backend)

# %% [markdown]
# ## Three ways to coarsen
#
# Each hierarchy is solved by PyAMG itself, with conjugate gradients around a V-cycle, and by CascadeMG, which chooses its
# smoother: both count iterations to a relative residual of $10^{-8}$.

# %%
def histories(ml):
    """Relative residuals of PyAMG and of CascadeMG, iteration by iteration, and their seconds."""
    norms, begin = [], time.perf_counter()
    ml.solve(b, tol=1e-8, accel="cg", maxiter=200, residuals=norms)
    theirs = time.perf_counter() - begin
    solver = cascademg.from_pyamg(ml, backend=backend).solver(rtol=1e-8, max_it=200)
    x, info = solver.solve(b, return_info=True)
    assert info.converged and np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
    return np.array(norms) / norms[0], info.residuals / info.residuals[0], theirs, info.solve_seconds


ways = {
    "Ruge-Stüben": pyamg.ruge_stuben_solver(A, max_coarse=200),
    "smoothed aggregation": pyamg.smoothed_aggregation_solver(A, strength=("symmetric", {"theta": 0.0}), max_coarse=200),
    "aggregation by evolution": pyamg.smoothed_aggregation_solver(A, strength=("evolution", {"epsilon": 4.0}), max_coarse=200),
}
found = {name: histories(ml) for name, ml in ways.items()}
for name, (theirs, ours, seconds, own) in found.items():
    print(f"{name:25s} complexity {ways[name].operator_complexity():.2f}: PyAMG {len(theirs) - 1:3d} iterations, "
          f"CascadeMG {len(ours) - 1:3d}")

# %% [markdown]
# PyAMG smooths by Gauss-Seidel, which is sequential; the default here is a Chebyshev polynomial or one that follows lines,
# which runs in parallel. Counts therefore differ from hierarchy to hierarchy. Times are of this machine, one run each, so
# they are drawn but nothing is concluded from them.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[3, 2])
for k, (name, (theirs, ours, *_)) in enumerate(found.items()):
    left.semilogy(theirs, "--", color=f"C{k}", label=f"{name}, PyAMG")
    left.semilogy(ours, "-", color=f"C{k}", label=f"{name}, CascadeMG")
left.set(xlabel="iteration", ylabel="relative residual")
left.legend(fontsize=7)
places = np.arange(len(found))
right.bar(places - 0.2, [times[2] for times in found.values()], 0.4, label="PyAMG")
right.bar(places + 0.2, [times[3] for times in found.values()], 0.4, label="CascadeMG")
right.set_xticks(places, [name.replace(" ", "\n") for name in found], fontsize=7)
right.set(ylabel="seconds of a solve")
right.legend();

# %% [markdown]
# ## The library's own levels
#
# From the matrix alone CascadeMG makes levels by smoothed aggregation that follows strong couplings, and says what it did:

# %%
solver = cascademg.Hierarchy(A, backend=backend).solver(rtol=1e-8)
x, info = solver.solve(b, return_info=True)
print(solver)
print(f"{info.iterations} iterations")
assert info.converged
