#!/usr/bin/env python3
"""A matrix alone: iterations and seconds beside other algebraic multigrids that get the same matrix and right-hand side.

    benchmarks/alone.py --tool build/tools/cmg --peers pyamg --amgcl peers_amgcl > lines.jsonl     half an hour, quiet
    benchmarks/alone.py --tool build/tools/cmg --small              seconds, to see that it runs

Grids of finite differences and volumes, elements without their levels, flow, elasticity with coordinates, and matrices of
others from $CMG_SHARED_DATA/matrices. b is random, the residual 1e-8, and it is computed here. PyAMG: smoothed aggregation,
Ruge-Stueben, root-node, and for flow approximate ideal restriction; AMGCL: smoothed aggregation and Ruge-Stueben, in double
and float (peers_amgcl.cpp). `cmg solve` has no option. Complexity: entries of all A over those of the finest. Bytes: the most that
the library, or NumPy for PyAMG, had at once; what a solver of AMGCL holds. Needs numpy, scipy, h5py and pyamg.
cage10 is left out, as PyAMG does not come to an end there.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
import pyamg
import scipy.io
import scipy.sparse as sp

import cases
import robust_peers

RTOL = 1e-8
SHARED = os.path.join(os.environ.get("CMG_SHARED_DATA", os.path.join(cases.HERE, "..", "..", "shared", "data")), "matrices")


# ------------------------------------------------------------------ matrices

def volumes(shape, coefficient):
    """Cells of a box, harmonic means between them, zero at the rim."""
    k, index, A = coefficient(shape), np.arange(np.prod(shape)).reshape(shape), 0
    diagonal = np.zeros(k.size)
    for axis in range(len(shape)):
        low, high = (np.take(index, range(s, shape[axis] - 1 + s), axis=axis).ravel() for s in (0, 1))
        w = 2 / (1 / k.ravel()[low] + 1 / k.ravel()[high])
        A = A - sp.csr_matrix((np.r_[w, w], (np.r_[low, high], np.r_[high, low])), shape=(k.size, k.size))
        np.add.at(diagonal, low, w)
        np.add.at(diagonal, high, w)
        for rim in (0, -1):
            cells = np.take(index, rim, axis=axis).ravel()
            diagonal[cells] += 2 * k.ravel()[cells]
    return (A + sp.diags(diagonal)).tocsr()


def differences(shape, weights):
    line = {n: sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n)) for n in shape}
    A = 0
    for axis, weight in enumerate(weights):
        term = sp.identity(1)
        for d in reversed(range(len(shape))):  # x is fastest
            term = sp.kron(term, line[shape[d]] if d == axis else sp.identity(shape[d]))
        A = A + weight * term
    return A.tocsr()


def flow(n, wind, diffusion):
    """Upwind differences of -diffusion u'' + wind . u' on the unit square, n x n points."""
    h, x = 1 / (n + 1), np.linspace(0, 1, n + 2)[1:-1]
    X, Y = np.meshgrid(x, x)
    A, one = diffusion / h**2 * differences((n, n), (1, 1)), sp.identity(n)
    back, forward = sp.diags([-1.0, 1.0], [-1, 0], (n, n)), sp.diags([-1.0, 1.0], [0, 1], (n, n))
    for w, D in zip(wind(X.ravel(), Y.ravel()), ((sp.kron(one, back), sp.kron(one, forward)), (sp.kron(back, one), sp.kron(forward, one)))):
        A = A + (sp.diags(np.maximum(w, 0)) @ D[0] + sp.diags(np.minimum(w, 0)) @ D[1]) / h
    return A.tocsr()


COEFFICIENTS = {
    "smooth": lambda shape: np.exp(np.sin(np.indices(shape) / 7.0).sum(axis=0)),
    "half 1e4": lambda shape: np.where(np.indices(shape)[0] * 2 < shape[0], 1e4, 1.0),
    "box 1e6": lambda shape: np.where(np.all([abs(2 * i + 1 - n) < n / 3 for i, n in zip(np.indices(shape), shape)], axis=0), 1e6, 1.0),
    "islands 1e4": lambda shape: np.where((np.indices(shape) % 20 < 3).all(axis=0), 1e4, 1.0),
    "chess 1e4": lambda shape: np.where((np.indices(shape) // 5).sum(axis=0) % 2 == 0, 1e4, 1.0),
    "random 10": lambda shape: 10 ** np.random.default_rng(1).uniform(0, 1, shape),
    "random 1e4": lambda shape: 10 ** np.random.default_rng(1).uniform(0, 4, shape),
}
WINDS = {
    "straight": lambda x, y: (1 + 0 * x, 0.5 + 0 * x),
    "along x": lambda x, y: (1 + 0 * x, 0 * x),
    "turning": lambda x, y: (4 * y * (1 - x), -4 * x * (1 - y)),
    "closed": lambda x, y: (4 * x * (x - 1) * (1 - 2 * y), -4 * y * (y - 1) * (1 - 2 * x)),
}
ELEMENTS = {"plain": [], "distorted": ["--distort", "0.4", "--coefficient", "smooth"], "jump 1e5": ["--coefficient", "jump", "--contrast", "1e5"],
            "anisotropic 100": ["--coefficient", "anisotropic", "--contrast", "100"], "turned 100":
            ["--coefficient", "anisotropic", "--contrast", "100", "--angle", "30"], "random order": ["--numbering", "random"]}
OTHERS = ("494_bus", "Trefethen_500", "add32", "bcsstk16", "gr_30_30", "poisson_100x100", "pyamg_airfoil", "pyamg_bar", "pyamg_knot",
          "pyamg_recirc_flow", "pyamg_unit_square", "sherman1", "fasp_FE", "hypre_beam_hex_459", "hypre_beam_tet_459")


def generated(tool, folder, words):
    """A, and what is known beside it, of the finest level."""
    file = os.path.join(folder, "generated.cmg")
    subprocess.run([tool, "generate", *words, "--no-output-mesh", file], check=True, capture_output=True)
    with h5py.File(file) as f:
        g = f["levels/0/A"]
        A = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=tuple(g.attrs["shape"]))
        block = int(f.attrs.get("block_size", 1))
        return A, {"block_size": block, "coords": f["levels/0/coords"][:]} if block > 1 else {}


def problems(tool, folder, small):
    """(group, name, A, what is known beside it)"""
    plane, space = (40, 10) if small else (200, 32)
    for name, shape, weights in (("5 points", (plane, plane), (1, 1)), ("7 points", (space,) * 3, (1, 1, 1)),
                                 ("7 points, odd sides", (space + 1, space - 3, space + 9), (1, 1, 1)),
                                 *((f"5 points, y {w:g}", (plane, plane), (1, w)) for w in (0.3, 0.1, 0.01, 1e-4)),
                                 *((f"7 points, {y:g}, {z:g}", (space,) * 3, (1, y, z)) for y, z in ((1, 0.01), (0.1, 0.01), (0.01, 0.01), (0.3, 1)))):
        yield "grid", name, differences(shape, weights), {}
    for name, coefficient in COEFFICIENTS.items():
        for shape in ((plane, plane), (space,) * 3):
            yield "volumes", f"{len(shape)}D {name}", volumes(shape, coefficient), {}
    for epsilon in (0.1, 0.01, 0.001):
        for angle in (0, 17, 30, 45):
            stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=epsilon, theta=np.pi * angle / 180, type="FE")
            yield "turned", f"{epsilon:g} at {angle}", pyamg.gallery.stencil_grid(stencil, (plane, plane), format="csr"), {}
    for element, cells in (("q1", (plane, space)), ("p1", (plane, space)), ("q2", (plane // 2, space // 2)), ("p2", (plane // 2, space // 2))):
        for dim in (2, 3):
            for name, more in ELEMENTS.items():
                if name == "turned 100" and dim == 3:
                    continue
                yield "elements", f"{element} {dim}D {name}", *generated(tool, folder, ["--element", element, "--dim", str(dim), "--cells", str(cells[dim - 2]), *more])
    for name, wind in WINDS.items():
        for diffusion in (1e-2, 1e-4, 1e-8):
            yield "flow", f"{name}, diffusion {diffusion:g}", flow(plane, wind, diffusion), {}
    for element, dim, cells in (("q1", 2, plane // 2), ("p1", 2, plane // 2), ("q1", 3, space // 2), ("p1", 3, space // 2)):
        for name, more in (("plain", []), ("distorted", ["--distort", "0.4"])):
            yield "elasticity", f"{element} {dim}D {name}", *generated(tool, folder, [
                "--element", element, "--dim", str(dim), "--cells", str(cells), "--problem", "elasticity", *more])
    for name in OTHERS if not small else ():
        path = os.path.join(SHARED, name + ".mtx")
        if os.path.exists(path):
            yield "others", name, sp.csr_matrix(scipy.io.mmread(path)), {}


# ------------------------------------------------------------------ solvers

def here(tool, folder, A, b, known, words, repeat):
    file, out, x = (os.path.join(folder, name) for name in ("a.cmg", "a.json", "x.npy"))
    with h5py.File(file, "w") as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": 1, "block_size": known.get("block_size", 1)})
        g = f.create_group("levels/0/A")
        g.attrs.update({"encoding-type": "csr_matrix", "shape": np.array(A.shape)})
        g["indptr"], g["indices"], g["data"] = A.indptr.astype("i8"), A.indices.astype("i4"), A.data
        if known.get("coords") is not None:
            f["levels/0/coords"] = known["coords"]
        f["rhs/b"] = b
    best = None
    for _ in range(repeat):
        if os.path.exists(x):
            os.remove(x)
        subprocess.run([tool, "solve", file, *words, "--json", out, "--output", x], capture_output=True, check=False)
        with open(out) as stream:
            told = json.load(stream)
        if best is None or told["setup_seconds"] + told["solve_seconds"] < best["setup_seconds"] + best["solve_seconds"]:
            best = told
    y = np.load(x).ravel() if os.path.exists(x) else np.zeros(len(b))
    best["solved"] = bool(np.linalg.norm(b - A @ y) <= 1.1 * RTOL * np.linalg.norm(b))
    return best


def ideal_restriction(A, b, f, repeat):
    extra = {}

    def solve(tol):
        residuals, levels = [], pyamg.air_solver(A)
        extra["complexity"] = round(levels.operator_complexity(), 3)
        x = levels.solve(b, tol=tol, maxiter=robust_peers.MOST, residuals=residuals, accel="fgmres")
        return x, len(residuals) - 1
    found = robust_peers.judged(solve, A, b, f, RTOL, repeat)
    return {**found, **extra, **({"peak_bytes": robust_peers.peak_of(solve, RTOL)} if found["solved"] else {})}


def amgcl(program, folder, A, b, symmetric, repeat):
    """The fastest setting that solved, else the first."""
    file = os.path.join(folder, "a.bin")
    with open(file, "wb") as f:
        for array in (np.array([A.shape[0], A.nnz]), A.indptr, A.indices):
            array.astype("i8").tofile(f)
        A.data.tofile(f)
        b.tofile(f)
    done = subprocess.run([program, file, "symmetric" if symmetric else "unsymmetric", str(repeat)], capture_output=True, text=True, timeout=300)
    found = {row["setting"]: {"solved": row["residual"] <= 1.1 * RTOL, "iterations": row["iterations"],
                              "seconds": round(row["setup_seconds"] + row["solve_seconds"], 5), "complexity": row.get("complexity"),
                              "bytes": row.get("bytes")} for row in map(json.loads, done.stdout.splitlines())}
    return robust_peers.fastest(found)


def line_of(args, folder, A, known):
    A.sort_indices()
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    told = here(args.tool, folder, A, b, known, args.solve.split(), args.repeat)
    f = robust_peers.facts(A, known)
    f["null"] = f["range"] = np.zeros((len(b), 0))
    peers = {}
    if "pyamg" in args.peers:
        peers.update(robust_peers.pyamg_peers(A, b, f, RTOL, args.repeat, memory=True))
        if not f["symmetric"]:
            peers["pyamg-air"] = ideal_restriction(A, b, f, args.repeat)
    if args.amgcl:
        peers["amgcl"] = amgcl(args.amgcl, folder, A, b, f["symmetric"], args.repeat)
    entries = re.search(r"A of all levels ([\d.]+)", " ".join(told.get("notes", [])))
    solved = {name: peer for name, peer in peers.items() if peer["solved"]}
    seconds = told["setup_seconds"] + told["solve_seconds"]
    line = {"unknowns": A.shape[0], "iterations": told["iterations"], "solved": told["solved"], "setup_seconds": told["setup_seconds"],
            "seconds": round(seconds, 5), "complexity": float(entries[1]) if entries else 1, "peak_bytes": told["memory_peak_bytes"], "fallback": told["fallback"], "method": next((w for w in ("every second", "classical", "ideal", "aggregation")
                                                                          if any(w in note for note in told.get("notes", []))), ""), "peers": peers}
    if solved:
        fewest = min(solved, key=lambda name: solved[name]["iterations"])
        fastest = min(solved, key=lambda name: solved[name]["seconds"])
        line.update({"fewest": fewest, "iterations_over": round(told["iterations"] / max(solved[fewest]["iterations"], 1), 3),
                     "fastest": fastest, "seconds_over": round(seconds / solved[fastest]["seconds"], 3)})
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/tools/cmg")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="", help="part of the names GROUP/NAME that are run")
    parser.add_argument("--solve", default="", help="options for cmg solve")
    parser.add_argument("--peers", default="", help="pyamg")
    parser.add_argument("--amgcl", default="", help="program made of peers_amgcl.cpp")
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which the least seconds count")
    args = parser.parse_args()
    lines, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for group, name, A, known in problems(args.tool, folder, args.small):
            if args.only in f"{group}/{name}":
                lines.append({"benchmark": "alone", "group": group, "problem": name, **line_of(args, folder, A.tocsr(), known),
                              "pyamg": pyamg.__version__, "threads": os.environ.get("OMP_NUM_THREADS"), "commit": cases.commit()})
                print(json.dumps(lines[-1]), flush=True)
    for key in ("iterations_over", "seconds_over"):
        over = sorted(line[key] for line in lines if key in line and line["solved"])
        if over:
            print(f"{key}: median {over[len(over) // 2]:.2f}, most {over[-1]:.2f}, at most 1.2: {sum(r <= 1.2 for r in over)} of {len(over)}", file=sys.stderr)
    lost = [line["problem"] for line in lines if not line["solved"] and "fewest" in line]
    print(f"{len(lines)} matrices in {time.monotonic() - begin:.0f} s; solved by a peer alone: {lost}", file=sys.stderr)


if __name__ == "__main__":
    main()
