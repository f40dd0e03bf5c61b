#!/usr/bin/env python3
"""Algebraic levels of a matrix alone beside PyAMG's smoothed aggregation: iterations of CG to a relative residual of 1e-8.

    benchmarks/aggregation.py --tool build/tools/cmg > lines.jsonl      about two minutes
    benchmarks/aggregation.py --tool build/tools/cmg --small            seconds, to see that it runs

Both get the matrix, the right-hand side of ones and, for elasticity, rigid body modes: here from the coordinates of the
nodes, there as B. PyAMG's defaults are symmetric Gauss-Seidel (by blocks) around its levels, ours Chebyshev of degree 2;
`solve` has no option. Operator complexity counts the entries of all levels over those of A. Needs numpy, scipy, h5py and
pyamg.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import pyamg
import scipy.sparse as sp

import cases

RTOL = 1e-8


def generated(tool, folder, words):
    """A, coordinates and unknowns a node of the finest level."""
    file = os.path.join(folder, "generated.cmg")
    subprocess.run([tool, "generate", *words, "--no-output-mesh", file], check=True, capture_output=True)
    with h5py.File(file) as f:
        g = f["levels/0/A"]
        A = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=tuple(g.attrs["shape"]))
        coords = f["levels/0/coords"][:] if "levels/0/coords" in f else None
        block = int(f.attrs.get("block_size", 1))
    return A, coords, block


def problems(tool, folder, small):
    """(name, A, coordinates, unknowns a node)"""
    plane, space, solid = (64, 12, 8) if small else (256, 40, 16)
    for element in ("q1", "p1", "q2"):
        cells = plane // 2 if element == "q2" else plane
        yield (f"poisson 2D {element}", *generated(tool, folder, ["--element", element, "--cells", str(cells)]))
    for element in ("q1", "p1"):
        yield (f"poisson 3D {element}", *generated(tool, folder, ["--element", element, "--dim", "3", "--cells", str(space)]))
    yield "poisson 2D 5 points", pyamg.gallery.poisson((plane, plane), format="csr"), None, 1
    yield "poisson 3D 7 points", pyamg.gallery.poisson((space, space, space), format="csr"), None, 1
    yield ("poisson 2D q1 distorted", *generated(tool, folder, ["--cells", str(plane), "--distort", "0.3"]))
    for element, dim, cells in (("q1", 2, plane // 2), ("p1", 2, plane // 2), ("q1", 3, solid), ("p1", 3, solid)):
        yield (f"elasticity {dim}D {element}", *generated(tool, folder, ["--element", element, "--dim", str(dim), "--cells",
                                                                        str(cells), "--problem", "elasticity"]))
    for epsilon in (0.1, 0.01, 0.001):
        for angle in (0, 30, 45):
            stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=epsilon, theta=np.pi * angle / 180, type="FE")
            A = pyamg.gallery.stencil_grid(stencil, (plane, plane), format="csr")
            yield f"anisotropic 2D {epsilon:g} at {angle}", A, None, 1


def rigid_body_modes(coords):
    n, dim = coords.shape
    centred = coords - coords.mean(axis=0)
    B = np.zeros((n * dim, 3 if dim == 2 else 6))
    for c in range(dim):
        B[c::dim, c] = 1
    for k, (a, b) in enumerate([(0, 1)] if dim == 2 else [(0, 1), (1, 2), (2, 0)]):
        B[a::dim, dim + k] = -centred[:, b]
        B[b::dim, dim + k] = centred[:, a]
    return B


def write(file, A, coords, block):
    with h5py.File(file, "w") as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": 1, "block_size": block})
        g = f.create_group("levels/0/A")
        g.attrs.update({"encoding-type": "csr_matrix", "shape": np.array(A.shape)})
        g["indptr"], g["indices"], g["data"] = A.indptr.astype("i8"), A.indices.astype("i4"), A.data
        if coords is not None:
            f["levels/0/coords"] = coords
        f["rhs/b"] = np.ones(A.shape[0])


def here(tool, folder, A, coords, block, words):
    file, out = os.path.join(folder, "a.cmg"), os.path.join(folder, "a.json")
    write(file, A, coords, block)
    subprocess.run([tool, "solve", file, *words, "--json", out], capture_output=True, check=False,
                   env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    with open(out) as stream:
        told = json.load(stream)
    return told


def there(A, coords, block, **options):
    b, history = np.ones(A.shape[0]), []
    B = rigid_body_modes(coords) if block > 1 else None
    ml = pyamg.smoothed_aggregation_solver(A.tobsr(blocksize=(block, block)) if block > 1 else A, B=B, **options)
    x = ml.solve(b, tol=RTOL, maxiter=300, accel="cg", residuals=history)
    return len(history) - 1, ml.operator_complexity(), bool(np.linalg.norm(b - A @ x) <= 1.1 * RTOL * np.linalg.norm(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/tools/cmg")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="", help="part of the names that are run")
    parser.add_argument("--solve", default="", help="options for cmg solve")
    args = parser.parse_args()
    over = []
    with tempfile.TemporaryDirectory() as folder:
        for name, A, coords, block in problems(args.tool, folder, args.small):
            if args.only not in name:
                continue
            A = A.tocsr()
            A.sort_indices()
            told = here(args.tool, folder, A, coords, block, args.solve.split())
            iterations, complexity, good = there(A, coords, block)
            over.append(told["iterations"] / iterations)
            print(json.dumps({"benchmark": "aggregation", "problem": name, "unknowns": A.shape[0], "levels": told["levels"],
                              "iterations": told["iterations"], "converged": told["converged"], "fallback": told["fallback"],
                              "pyamg": pyamg.__version__, "pyamg_iterations": iterations, "pyamg_converged": good,
                              "pyamg_complexity": round(complexity, 3), "ratio": round(over[-1], 3), "commit": cases.commit()}), flush=True)
    over.sort()
    print(f"iterations over PyAMG's: median {over[len(over) // 2]:.2f}, most {over[-1]:.2f}, "
          f"within 1.2: {sum(r <= 1.2 for r in over)} of {len(over)}", file=sys.stderr)


if __name__ == "__main__":
    main()
