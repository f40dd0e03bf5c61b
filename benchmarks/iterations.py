#!/usr/bin/env python3
"""Iteration counts that no machine changes, as result lines: they take minutes on any CPU.

    benchmarks/iterations.py --tool build/tools/cmg --output benchmarks/results/iterations.jsonl

refinement: `cmg solve` as it comes, level after level, on built-in shapes and on coarse meshes with bad cells.
published: stand-alone V-cycles on the hierarchies of the FE-gMG authors, with their approximate inverses and with ours;
    wants them in $CMG_SHARED_DATA/hier and is left out without them.
polynomials: the polynomial preconditioners of Zhang and Zhang (2013) without a hierarchy, on plane elasticity, 96 x 96
    cells: CG in fp64, their algorithm 6 (preconditioner in fp32), their algorithm 5 (defect correction).

convection: stand-alone V(1,1) on constant velocities, the table of docs/smoothers/auto.md.
mixed: algorithm 6 beside fp64 on plates clamped at one edge, whose counts are hundreds, on request.
zhang: their mesh `quad` at its full size, on request.

Every line has the command that made it, without the path of the tool.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import cases
import lines

ROOT = os.path.dirname(cases.HERE) + os.sep  # lines name files from here on
SQUARE = [4, 5, 6, 7, 8]
MESHES = [("square, q1", ["--element", "q1"], SQUARE), ("square, q2", ["--element", "q2"], SQUARE),
          ("square, p1", ["--element", "p1"], SQUARE), ("square, p2", ["--element", "p2"], SQUARE),
          ("cube, q1", ["--element", "q1", "--dim", "3"], [2, 3, 4, 5]),
          ("cube, p1", ["--element", "p1", "--dim", "3"], [2, 3, 4, 5]),
          ("cube, q2", ["--element", "q2", "--dim", "3"], [1, 2, 3, 4]),
          ("square, q1, `--distort 0.4`", ["--distort", "0.4", "--levels", "4"], [6, 7, 8]),
          ("square, q1, `--aspect 4`", ["--aspect", "4"], [5, 6, 7])]


def solve(options, generate, more, told):
    """One line: a hierarchy from `cmg generate`, solved."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "h")
        cases.run([options.tool, "generate", *generate, "--to", "petsc", path])
        return solve_file(options, path, more, {**told, "generate": " ".join(generate).replace(ROOT, "")})


def solve_file(options, path, more, told):
    done = subprocess.run([options.tool, "solve", path, *more, "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"cmg solve {path} {' '.join(more)}\n{done.stderr}")
    result = json.loads(done.stdout)
    return {**told, "command": "cmg solve FILE " + " ".join(more), "iterations": result["iterations"],
            "converged": result["converged"], "reason": result["reason"], "unknowns": result["unknowns"],
            "smoother": told.get("smoother", result["smoother"])}


def refinement(options):
    for name, words, powers in MESHES:
        for k, power in enumerate(powers):
            yield solve(options, [*words, "--cells", str(2**power)], [],
                        {"group": "refinement", "mesh": name, "refinements": k})
    for dim, name in cases.MESHES.items():
        for levels in (3, 4) if dim == 3 else (3, 4, 5):
            yield solve(options, ["--mesh", cases.mesh_file(dim), "--levels", str(levels), "--no-output-mesh"], [],
                        {"group": "refinement", "mesh": f"{name}.msh, q1", "refinements": levels - 3})


PUBLISHED = ["jacobi", "file:spai", "spai:tau=0:side=right:symmetric=no:weight=count", "spai:weight=count", "spai",
             "file:sainv", "sainv:drop=0.13:rule=absolute:scale=no:form=product:dirichlet=keep:omega=1", "sainv", "fsai"]


def published(options):
    folder = os.path.join(os.environ.get("CMG_SHARED_DATA", "../shared/data"), "hier")
    for name in ("honei_pa1_q1", "honei_pa2_q1_ell"):
        path = os.path.join(folder, name)
        if not os.path.isdir(path):
            cases.say(f"{path} is not here, left out")
            continue
        for smoother in PUBLISHED:
            if name == "honei_pa1_q1" and smoother == "file:sainv":
                continue  # that hierarchy has none
            for steps in (4, 2, 1):
                yield solve_file(options, path, ["--krylov", "none", "--smoother", smoother, "--pre", str(steps), "--post",
                                                 str(steps), "--max-it", "200", "--no-fallback"],
                                 {"group": "published", "file": name, "smoother": smoother, "steps": steps})


def polynomials(options):
    generate = ["--problem", "elasticity", "--cells", "96", "--levels", "1"]
    ways = (("fp64", ["--krylov", "cg", "--precision", "fp64"]), ("algorithm 6", ["--krylov", "cg", "--precision", "mixed"]),
            ("algorithm 5", ["--krylov", "defect", "--precision", "mixed"]))
    for family in ("jacobi", "neumann", "least-squares", "chebyshev"):
        for order in (0,) if family == "jacobi" else (2, 3, 4, 5, 6):
            smoother = family if family == "jacobi" else f"{family}:degree={order + 1}"
            for name, words in ways:
                yield solve(options, generate, ["--cycle", "none", "--pre", "1", "--post", "0", "--smoother", smoother,
                                                *words, "--max-it", "2000", "--no-fallback"],
                            {"group": "polynomials", "family": family, "order": order, "way": name, "smoother": smoother})


def convection(options):
    for velocity, dim, cells in ((20, 2, 64), (20, 3, 16), (200, 2, 64), (1000, 2, 128)):
        generate = ["--problem", "convection", "--velocity", str(velocity), "--dim", str(dim), "--cells", str(cells)]
        for smoother in ("jacobi:omega=auto", "gauss-seidel", "spai", "ainv", "auto"):
            yield solve(options, generate, ["--krylov", "none", "--smoother", smoother, "--max-it", "200", "--no-fallback"],
                        {"group": "convection", "problem": f"{velocity}, {cells}^{dim}", "smoother": smoother})


def mixed(options):
    """Algorithm 6 beside fp64: plates of n x n cells under their own weight, held at one edge."""
    families = [("jacobi", 0, "")] + [("least-squares", m, ":bound=gershgorin") for m in (2, 3, 4, 6)]
    families += [("neumann", m, ":bound=gershgorin") for m in (2, 6)] + [("least-squares", m, "") for m in (2, 6)]
    for cells, edge, rtol in ((96, "bottom", "1e-8"), (200, "left", "1e-7"), (200, "left", "1e-8")):
        generate = ["--problem", "elasticity", "--cells", str(cells), "--levels", "1", "--dirichlet-labels", edge]
        for family, order, bound in families:
            smoother = f"{family}:degree={order + 1}{bound}" if order else family
            for way, precision in (("fp64", "fp64"), ("algorithm 6", "mixed")):
                yield solve(options, generate, ["--cycle", "none", "--pre", "1", "--post", "0", "--smoother", smoother, "--krylov",
                                                "cg", "--precision", precision, "--rtol", rtol, "--max-it", "4000", "--no-fallback"],
                            {"group": "mixed", "cells": cells, "edge": edge, "rtol": float(rtol), "family": family,
                             "order": order, "way": way, "smoother": smoother, "machine": cases.processor()})


def zhang(options):
    """The mesh `quad` of Zhang and Zhang at its size, clamped on the left, to their 1e-7: minutes a solve."""
    generate = ["--problem", "elasticity", "--cells", "400", "--levels", "1", "--dirichlet-labels", "left"]
    for smoother in ("jacobi", *(f"least-squares:degree={m + 1}" for m in (2, 3, 4, 5, 6)), "neumann:degree=3",
                     "neumann:degree=7", "chebyshev:degree=3", "chebyshev:degree=7"):
        family, _, degree = smoother.partition(":degree=")
        yield solve(options, generate, ["--cycle", "none", "--pre", "1", "--post", "0", "--smoother", smoother, "--krylov",
                                        "cg", "--rtol", "1e-7", "--max-it", "4000", "--no-fallback"],
                    {"group": "zhang", "family": family, "order": int(degree or 1) - 1, "way": "fp64", "smoother": smoother})


GROUPS = {"refinement": refinement, "published": published, "polynomials": polynomials, "convection": convection, "mixed": mixed,
          "zhang": zhang}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="cmg", help="the command [cmg]")
    parser.add_argument("--group", default="refinement,published,polynomials,convection",
                        help=f"list of {','.join(GROUPS)} [all but mixed and zhang, which take minutes a solve]")
    parser.add_argument("--output", metavar="FILE", help="JSON lines; those of other groups in it are kept")
    options = parser.parse_args()
    chosen = options.group.split(",")
    kept = []
    if options.output and os.path.exists(options.output):
        with open(options.output, encoding="utf-8") as file:
            kept = [line for line in map(json.loads, file) if line["group"] not in chosen]
    made = [dict(line, commit=cases.commit(), processor=cases.processor()) for group in chosen for line in GROUPS[group](options)]
    order = list(GROUPS)
    both = sorted([*kept, *made], key=lambda line: order.index(line["group"]))
    with open(options.output or os.devnull, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in both)
    for group in chosen:
        found = [line for line in made if line["group"] == group]
        print(lines.markdown(["group", "what", "iterations"],
                             [[group, line["command"], line["iterations"] if line["converged"] else "-"] for line in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
