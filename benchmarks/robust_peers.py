"""Other packages on the problems of robust.py, each given what a user of it would give.

They learn from the container what `cmg solve` learns from it: block size, coordinates (as rigid body modes, which GAMG and
PyAMG take as near null space), and the exact null space that A has. The method follows from A, the same for all: CG where
it is symmetric positive (semi)definite, MINRES and GMRES where it is symmetric indefinite, GMRES where it is unsymmetric.
Where a package has several fair settings all run, and the fastest that solves is reported with its name. A second round
is of equals: the matrix and b alone, nothing else, for `cmg solve` too.

As a program, in a Python with petsc4py: robust_peers.py FOLDER REPEAT RTOL solves what is in FOLDER/problem.npz.
"""

import json
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import scipy.linalg
import scipy.sparse as sp

MOST = 200  # iterations
GAMG = {"defaults": {}, "threshold=0.02": {"pc_gamg_threshold": 0.02}, "threshold=0.08": {"pc_gamg_threshold": 0.08}}
OWN = {"pc_hypre_boomeramg_coarsen_type": "HMIS", "pc_hypre_boomeramg_interp_type": "ext+i", "pc_hypre_boomeramg_P_max": 4}
HYPRE = {"own": OWN}  # the defaults of hypre's manual, which are not those of PETSc
TUNED = {"strong=0.5": {**OWN, "pc_hypre_boomeramg_strong_threshold": 0.5},
         "strong=0.5 aggressive=1": {**OWN, "pc_hypre_boomeramg_strong_threshold": 0.5, "pc_hypre_boomeramg_agg_nl": 1}}
NODAL = {f"nodal={k}{name}": {**OWN, "pc_hypre_boomeramg_nodal_coarsen": k, **more} for k in (1, 6)
         for name, more in (("", {}), (" strong=0.5", {"pc_hypre_boomeramg_strong_threshold": 0.5}))}


def rigid_modes(coords):
    """Translations and rotations of nodes, columns of a matrix with interleaved components."""
    n, dim = coords.shape
    x = coords - coords.mean(axis=0)
    modes = np.zeros((n, dim, dim + (1 if dim == 2 else 3)))
    modes[:, range(dim), range(dim)] = 1
    for k, (i, j) in enumerate([(0, 1)] if dim == 2 else [(0, 1), (1, 2), (2, 0)]):
        modes[:, i, dim + k] = -x[:, j]
        modes[:, j, dim + k] = x[:, i]
    return modes.reshape(n * dim, -1)


def negative(A, steps=150):
    """Whether a symmetric A has a negative eigenvalue, as far as Lanczos sees: no Ritz value is below the least."""
    v = np.random.default_rng(1).standard_normal(A.shape[0])
    v, old, diagonal, beside = v / np.linalg.norm(v), 0, [], []
    for _ in range(min(steps, len(v))):
        w = A @ v - (beside[-1] * old if beside else 0)
        diagonal.append(v @ w)
        w -= diagonal[-1] * v
        size = np.linalg.norm(w)
        if size <= 1e-12 * abs(diagonal[0]):
            break
        beside.append(size)
        old, v = v, w / size
    ritz = scipy.linalg.eigh_tridiagonal(diagonal, beside[:len(diagonal) - 1], eigvals_only=True)
    return bool(ritz[0] < -1e-10 * ritz[-1])


def facts(A, known, plain=False):
    """What A is, and what is known of it: the same for all packages. `plain`: no settings of theirs, either."""
    symmetric = abs(A - A.T).max() <= 1e-12 * abs(A).max()
    size = int(known.get("block_size", 1))
    near = rigid_modes(known["coords"]) if size > 1 and known.get("coords") is not None else np.ones((A.shape[0], 1))
    images = np.linalg.norm(A @ near, axis=0) <= 1e-9 * np.linalg.norm(abs(A) @ abs(near), axis=0)
    return {"symmetric": bool(symmetric), "definite": bool(symmetric and not negative(A)), "block_size": size, "near": near,
            "null": (null := np.linalg.qr(near[:, images])[0]), "range": null, "coords": known.get("coords"),
            "plain": plain}


def methods(f):
    return ["cg"] if f["definite"] else ["minres", "gmres"] if f["symmetric"] else ["gmres"]


def without(Q, v):
    """v without its part in the span of orthonormal columns."""
    return v - Q @ (Q.T @ v)


def good(A, b, f, x, rtol):
    """A residual in the range, at most 1.1 rtol of b there."""
    x = without(f["range"], x)  # what A does not see is rounding to it
    return bool(np.isfinite(x).all() and np.linalg.norm(without(f["range"], b - A @ x)) <= 1.1 * rtol * np.linalg.norm(without(f["range"], b)))


def judged(solve, A, b, f, rtol, again):
    """The least seconds of `again` runs; a tolerance ten times smaller up to three times where that package's own norm was
    met and ours was not."""
    best, count, solved = None, 0, False
    for _ in range(again):
        for tighter in range(4):
            begin = time.perf_counter()
            try:
                x, count = solve(rtol * 0.1**tighter)
            except Exception:  # whatever a peer raises is a failure of it
                return {"solved": False, "iterations": 0, "seconds": round(time.perf_counter() - begin, 5)}
            seconds = time.perf_counter() - begin
            solved = good(A, b, f, x, rtol)
            if solved or count >= MOST or seconds > 10:
                break
        best = seconds if best is None else min(best, seconds)
        if seconds > 5 or not solved:
            break
    return {"solved": solved, "iterations": int(count), "seconds": round(best, 5)}


def fastest(found):
    """Of {setting: result} the fastest that solved, else the first, with the name of its setting."""
    name = min(found, key=lambda k: (not found[k]["solved"], found[k]["seconds"] if found[k]["solved"] else 0))
    return {**found[name], "setting": name, "tried": len(found)}


def peak_of(run, *arguments):
    """The most bytes that NumPy had at once beyond those before."""
    tracemalloc.start()
    run(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def pyamg_peers(A, b, f, rtol, again, memory=False):
    import pyamg
    size, near, results = f["block_size"], f["near"], {}
    blocks = A.tobsr((size, size)) if size > 1 else A
    symmetry = "symmetric" if f["symmetric"] else "nonsymmetric"
    makers = {"pyamg-sa": lambda: pyamg.smoothed_aggregation_solver(blocks, B=near, symmetry=symmetry),
              "pyamg-rootnode": lambda: pyamg.rootnode_solver(blocks, B=near, symmetry=symmetry)}
    if f["plain"]:
        del makers["pyamg-rootnode"]
    if size == 1:
        makers["pyamg-rs"] = lambda: pyamg.ruge_stuben_solver(A)
    for name, make in makers.items():
        found, extra = {}, {}
        for method in methods(f):
            def solve(tol, make=make, method=method):
                residuals, levels = [], make()
                extra["complexity"] = round(levels.operator_complexity(), 3)
                x = levels.solve(without(f["null"], b), tol=tol, maxiter=MOST, residuals=residuals,
                                 accel={"gmres": "fgmres"}.get(method, method))
                return x, len(residuals) - 1
            found[method] = {**judged(solve, A, b, f, rtol, again), **extra}
            if memory and found[method]["solved"]:
                found[method]["peak_bytes"] = peak_of(solve, rtol)
        results[name] = fastest(found)
    return results


def settings(f):
    """PETSc's preconditioners with their settings."""
    size = f["block_size"]
    yield "petsc-gamg", "gamg", {"defaults": {}} if f["plain"] else GAMG
    yield "hypre", "hypre", HYPRE
    if not f["plain"]:
        yield "hypre-tuned", "hypre", NODAL if size > 1 else TUNED


def petsc_peers(folder, A, b, f, rtol, again, python, timeout):
    """GAMG and BoomerAMG, in a process of a Python that has petsc4py."""
    np.savez(os.path.join(folder, "problem.npz"), ptr=A.indptr.astype("i4"), col=A.indices.astype("i4"), val=A.data, b=b,
             coords=np.zeros((0, 0)) if f["coords"] is None else f["coords"],
             **{k: f[k] for k in ("symmetric", "definite", "block_size", "near", "null", "range", "plain")})
    results = {name: {} for name, _, _ in settings(f)}
    try:
        done = subprocess.run([python, os.path.abspath(__file__), folder, str(again), str(rtol)], capture_output=True, text=True,
                              timeout=timeout).stdout
    except subprocess.TimeoutExpired as late:
        done = (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else late.stdout or ""
    for row in map(json.loads, filter(lambda text: text.startswith("{"), done.splitlines())):
        results[row["peer"]][row.pop("setting")] = row
        row.pop("peer")
    return {name: fastest(found) if found else {"solved": False, "iterations": 0, "seconds": None} for name, found in results.items()}


def petsc_solve(PETSc, A, b, f, kind, method, more, tol):
    """One set-up and solve from arrays that are there; x and the iterations."""
    M = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data))
    if f["block_size"] > 1:
        M.setBlockSize(f["block_size"])
    vectors = [PETSc.Vec().createWithArray(v.copy()) for v in f["null"].T]
    if vectors:
        space = PETSc.NullSpace().create(vectors=vectors)
        M.setNullSpace(space)
        M.setTransposeNullSpace(space)
    if f["block_size"] > 1 and f["coords"].size:
        modes = np.linalg.qr(f["near"])[0]
        M.setNearNullSpace(PETSc.NullSpace().create(vectors=[PETSc.Vec().createWithArray(v.copy()) for v in modes.T]))
    x, right = M.createVecs()
    right.setArray(without(f["null"], b))
    ksp = PETSc.KSP().create()
    ksp.setOptionsPrefix("peer_")
    ksp.setOperators(M)
    ksp.setType(method)
    ksp.getPC().setType(kind)
    if kind == "gamg" and f["coords"].size and f["block_size"] > 1:
        ksp.getPC().setCoordinates(f["coords"])
    if method == "gmres":
        ksp.setPCSide(PETSc.PC.Side.RIGHT)
        ksp.setGMRESRestart(100)
    if method != "minres":
        ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    options = PETSc.Options("peer_")
    if vectors:  # a singular coarse matrix
        more = {**more, "pc_hypre_boomeramg_relax_type_coarse": "symmetric-SOR/Jacobi", "mg_coarse_pc_type": "svd"}
    for key, value in more.items():
        options[key] = value
    ksp.setTolerances(rtol=tol, max_it=MOST)
    ksp.setFromOptions()
    ksp.solve(right, x)
    for key in more:
        options.delValue(key)
    return x.getArray().copy(), ksp.getIterationNumber()


def main():
    from petsc4py import PETSc
    folder, again, rtol = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    data = np.load(os.path.join(folder, "problem.npz"))
    n = len(data["b"])
    A = sp.csr_matrix((data["val"], data["col"], data["ptr"]), shape=(n, n))
    f = {k: data[k] if data[k].ndim else data[k].item() for k in ("symmetric", "definite", "block_size", "near", "null", "range",
                                                                         "coords", "plain")}
    for peer, kind, ways in settings(f):
        for name, more in ways.items():
            for method in methods(f):
                result = judged(lambda tol: petsc_solve(PETSc, A, data["b"], f, kind, method, more, tol), A, data["b"], f, rtol, again)
                print(json.dumps({"peer": peer, "setting": f"{method} {name}", **result}), flush=True)


if __name__ == "__main__":
    main()
