#!/usr/bin/env python3
"""PyAMG's levels solved by PyAMG and, through cascademg.from_pyamg, here: iterations and times on its gallery.

    benchmarks/pyamg_levels.py > lines.jsonl      about three minutes
    benchmarks/pyamg_levels.py --small            seconds, to see that it runs

CG around V(1,1) to a relative residual of 1e-8, both from one set-up. `same`: damped Jacobi with one damping on both
sides, so that the iterations are those of one method; `usual`: symmetric Gauss-Seidel there, the default smoother here.
Here both with the default options, and with a cycle in fp32 (CG and the residual stay in fp64; for Jacobi its first step
is folded into R besides, which leaves the iterates as they are). Seconds are the least of some solves in turns, PyAMG with the threads that SciPy takes; with OMP_NUM_THREADS=1 and cpu_clock.c
preloaded they are those of the CPU. Needs numpy, scipy and pyamg.
"""

import argparse
import json
import os
import sys
import time

import numpy as np
import pyamg

import cases
import cascademg

CLOCK = "cpu" if "cpu_clock" in os.environ.get("LD_PRELOAD", "") else "wall"


def problems(small):
    n2, n3, ne = (60, 16, 20) if small else (300, 40, 100)
    yield "poisson 2D", pyamg.gallery.poisson((n2, n2), format="csr"), None
    yield "poisson 3D", pyamg.gallery.poisson((n3, n3, n3), format="csr"), None
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.01, theta=np.pi / 6, type="FE")
    yield "anisotropic 2D", pyamg.gallery.stencil_grid(stencil, (n2, n2), format="csr"), None
    A, B = pyamg.gallery.linear_elasticity((ne, ne), format="bsr")
    yield "elasticity 2D", A, B
    data = pyamg.gallery.load_example("bar")
    yield "bar 3D", data["A"].tobsr(blocksize=(3, 3)), data["B"]


def seconds_of(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


JACOBI = {"smoother": "jacobi:omega=auto", "krylov": "cg", "fallback": False}
OPTIONS = {"same": [JACOBI, {**JACOBI, "precision": "mixed", "fuse_restriction": True}], "usual": [{}, {"precision": "mixed"}]}


def in_turns(ml, b, repeats, variants):
    """PyAMG's iterations and least seconds, and of each variant here (x, info, least seconds): all take turns, so that
    they meet the same machine."""
    levels, history = cascademg.from_pyamg(ml), []
    solvers = [levels.solver(rtol=1e-8, max_it=300, **options) for options in variants]
    found = [solver.solve(b, return_info=True) for solver in solvers]

    def there():
        history.clear()
        return ml.solve(b, tol=1e-8, accel="cg", maxiter=300, residuals=history)
    times = [[] for _ in (there, *solvers)]
    for _ in range(repeats):
        times[0].append(seconds_of(there)[1])
        for own, solver in zip(times[1:], solvers):
            own.append(seconds_of(lambda: solver.solve(b))[1])
    return len(history) - 1, min(times[0]), [(x, info, min(own)) for (x, info), own in zip(found, times[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    for name, A, B in problems(arguments.small):
        b = np.random.default_rng(1).standard_normal(A.shape[0])
        for what in ("same", "usual"):
            # 4/3 over an estimate of the largest eigenvalue of D^-1 A on both sides
            smoother = ("jacobi", {"omega": 4 / 3}) if what == "same" else ("gauss_seidel", {"sweep": "symmetric"})
            ml = pyamg.smoothed_aggregation_solver(A, B=B, presmoother=smoother, postsmoother=smoother)
            there, there_seconds, here = in_turns(ml, b, arguments.repeats, OPTIONS[what])
            for options, (x, info, seconds) in zip(OPTIONS[what], here):
                residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
                print(json.dumps({"benchmark": "pyamg", "problem": name, "what": what, "unknowns": A.shape[0],
                                  "precision": options.get("precision", "fp64"), "options": options,
                                  "levels": len(ml.levels), "pyamg": pyamg.__version__, "pyamg_iterations": there,
                                  "pyamg_seconds": there_seconds, "iterations": info.iterations, "seconds": seconds,
                                  "converged": info.converged, "residual": residual, "faster": there_seconds / seconds,
                                  "clock": CLOCK, "threads": cascademg.Context.default().threads,
                                  "commit": cases.commit(), "command": " ".join(["benchmarks/pyamg_levels.py", *sys.argv[1:]])}), flush=True)


if __name__ == "__main__":
    main()
