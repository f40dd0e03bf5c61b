#!/usr/bin/env python3
"""Iterations with every storage of the cycle: where fewer bits cost some, where they fail, and that
the solver recovers.

Solves each case with `cmg solve` once a storage, with and without falling back, writes one JSON object
a solve, and prints tables in Markdown. Iterations do not depend on the machine.

    benchmarks/precision.py --tool build/tools/cmg --output benchmarks/results/precision-iterations.jsonl

Cases: hierarchies made by others (under CMG_SHARED_DATA, left out without it), preassembled/, generated
distorted meshes, and problems that are hard in few bits.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lines import outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Small problems: one thread, unless the caller wants more.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", **os.environ}
# Everything but the inverse: the schedule also stores what --values would leave alone on a CPU.
NARROW = "A:{0},P:{0},R:{0},M:{0}"
COMPRESSED = ["--format", "compressed"]
STORAGES = {
    "fp64 CSR": ["--format", "csr"],
    "fp64 compressed": COMPRESSED,
    "fp32": ["--precision", "mixed", "--format", "csr"],
    "mixed": ["--precision", "mixed", *COMPRESSED],
    **{name: ["--precision", "mixed", *COMPRESSED, "--no-templates", "--precision-schedule",
              NARROW.format(name)] for name in ("fp16", "fp8")},
    "fp8, inverse too": ["--precision", "mixed", *COMPRESSED, "--no-templates", "--precision-schedule", "fp8"],
}

CG = []
ALONE = ["--krylov", "none", "--pre", "4", "--post", "4"]
SHARED = [
    ("honei_poisson_q1", CG),
    ("honei_poisson_q1", ALONE),
    ("honei_pa1_q1", [*ALONE, "--smoother", "file:spai", "--coarse", "inverse", "--level", "0"]),
    ("honei_pa2_q1_ell", CG),
    ("honei_pa2_q1_ell", ALONE),
    ("honei_pa2_q1_ell", [*ALONE, "--smoother", "file:spai"]),
    ("honei_pa2_q1_ell", [*ALONE, "--smoother", "file:sainv"]),
    ("raptor_rss", CG),
    ("raptor_rss", ALONE),
]
TINY = ["poisson_q1_2d_64", "poisson_q1_2d_64_dirichlet_rows", "poisson_q1_3d_16"]

BENT = ["--distort", "0.2"]
TWO = ["--cells", "64", "--levels", "4"]
SMALL = ["--cells", "32", "--levels", "3"]
THREE = ["--dim", "3", "--cells", "16", "--levels", "3"]
DISTORTED = {
    "Q1 2D": [*TWO, *BENT],
    "Q1 3D": [*THREE, *BENT],
    "Q1 2D, numbered by cells": [*TWO, *BENT, "--numbering", "cells"],
    "Q1 2D, random numbering": [*TWO, *BENT, "--numbering", "random"],
    "Q2 2D": ["--element", "q2", "--cells", "32", "--levels", "4", *BENT],
    "Q2 3D": ["--element", "q2", "--dim", "3", "--cells", "8", "--levels", "3", *BENT],
    "P1 2D": ["--element", "p1", *TWO, *BENT],
    "P1 3D": ["--element", "p1", "--dim", "3", "--cells", "12", "--levels", "3", *BENT],
    "P2 2D": ["--element", "p2", "--cells", "32", "--levels", "4", *BENT],
    "elasticity 2D": ["--problem", "elasticity", "--cells", "32", "--levels", "4", *BENT],
    "elasticity 3D": ["--problem", "elasticity", "--dim", "3", "--cells", "8", "--levels", "3", *BENT],
    "smooth coefficient 3D": [*THREE, *BENT, "--coefficient", "smooth"],
}
HARD = {
    "anisotropy 10^3, 30 degrees": [*TWO, *BENT, "--coefficient", "anisotropic", "--contrast", "1e3",
                                    "--angle", "30"],
    "cells stretched 1 : 4": [*TWO, "--aspect", "4"],
    **{f"jump 10^{k}": [*TWO, *BENT, "--coefficient", "jump", "--contrast", f"1e{k}"] for k in (2, 3, 4)},
    "jump 10^6, 32^2 cells, to 10^-6": [*SMALL, *BENT, "--coefficient", "jump", "--contrast", "1e6"],
    "jump 10^4, aligned": [*TWO, "--coefficient", "jump", "--contrast", "1e4"],
    "jump 10^6, aligned, to 10^-6": [*TWO, "--coefficient", "jump", "--contrast", "1e6"],
    "checkerboard 10^4": [*TWO, *BENT, "--coefficient", "checkerboard", "--contrast", "1e4"],
    "checkerboard 10^8, 32^2 cells": [*SMALL, *BENT, "--coefficient", "checkerboard", "--contrast", "1e8"],
    "random field 10^4": [*TWO, *BENT, "--coefficient", "random", "--contrast", "1e4"],
    "elasticity, random field 10^4": ["--problem", "elasticity", "--cells", "32", "--levels", "4", *BENT,
                                      "--coefficient", "random", "--contrast", "1e4"],
    "elasticity, nu = 0.49": ["--problem", "elasticity", "--cells", "32", "--levels", "4", *BENT,
                              "--poisson-ratio", "0.49"],
    "heat, no boundary, long step": ["--problem", "heat", "--time-step", "1e5", "--dirichlet", "neumann",
                                     *TWO, *BENT, "--load", "exponential"],
    "stiffness 10^12": ["--problem", "elasticity", "--young", "1e12", "--cells", "32", "--levels", "4", *BENT],
    "stiffness 10^-12": ["--problem", "elasticity", "--young", "1e-12", "--cells", "32", "--levels", "4", *BENT],
}
MOST = ["--max-it", "300"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="cmg", help="the command [cmg]")
    parser.add_argument("--output", metavar="FILE", help="JSON lines")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    return parser.parse_args()


def cases(options, folder):
    """Group, name, file and solver options of each case."""
    shared = pathlib.Path(os.environ.get("CMG_SHARED_DATA", ROOT / "../shared/data")) / "hier"
    for name, how in SHARED:
        if (shared / name).is_dir():
            yield "others' hierarchies", f"{name} {label(how)}", str(shared / name), how
        else:
            print(f"left out: {name} (no shared data)", file=sys.stderr)
    for name in TINY:
        for how in (CG, ALONE):
            yield "preassembled", f"{name} {label(how)}", str(ROOT / f"preassembled/tiny/{name}.cmg"), how
    for group, rows in (("distorted meshes", DISTORTED), ("hard in few bits", HARD)):
        for name, generate in rows.items():
            path = os.path.join(folder, "h.petsc")  # a directory: builds without HDF5 read it, too
            shutil.rmtree(path, ignore_errors=True)
            if options.only in name:
                subprocess.run([options.tool, "generate", *generate, "--to", "petsc", path], check=True,
                               capture_output=True, env=ENVIRONMENT)
            # with larger jumps rounding in fp64 ends above 1e-8
            yield group, name, path, ["--rtol", "1e-6"] if name.endswith("to 10^-6") else CG
            if name in ("Q1 2D", "Q1 3D"):
                yield group, f"{name}, FSAI", path, ["--smoother", "fsai"]
                yield group, f"{name}, SPAI", path, ["--smoother", "spai"]


def label(how):
    text = "CG" if "--krylov" not in how else "cycles alone"
    return f"({text}, {how[how.index('--smoother') + 1]})" if "--smoother" in how else f"({text})"


def solve(options, path, how):
    for option, taken in (("--smoother", "jacobi"), ("--krylov", "cg")):
        how = how if option in how else [*how, option, taken]
    done = subprocess.run([options.tool, "solve", path, *MOST, *how, "--json", "-"], capture_output=True, text=True,
                          env=ENVIRONMENT)
    if done.returncode not in (0, 3):
        sys.exit(f"cmg solve {path} {' '.join(how)}\n{done.stderr}")
    return json.loads(done.stdout)


def line_of(group, name, storage, result, strict):
    kept = ("iterations", "converged", "reason", "relative_residual", "fallbacks", "fallback", "precision_used",
            "unknowns", "levels", "krylov", "smoother", "pre", "post", "rtol", "version")
    line = {"benchmark": "precision", "group": group, "case": name, "storage": storage}
    line.update({key: result[key] if key in result else result["options"][key] for key in kept})
    line["without_fallback"] = {key: strict[key] for key in ("iterations", "converged", "reason")}
    return line


def measure(options, write):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for group, name, path, how in cases(options, folder):
            if options.only not in name:
                continue
            for storage, choice in STORAGES.items():
                result = solve(options, path, [*how, *choice])
                narrow = storage != "fp64 CSR" and storage != "fp64 compressed"
                strict = solve(options, path, [*how, *choice, "--no-fallback"]) if narrow else result
                lines.append(line_of(group, name, storage, result, strict))
                write(lines[-1])
    return lines


def print_tables(lines):
    by_case = {}
    for line in lines:
        by_case.setdefault((line["group"], line["case"]), {})[line["storage"]] = line
    for group in dict.fromkeys(key[0] for key in by_case):
        print(f"\n### {group[0].upper()}{group[1:]}\n")
        print("| case | " + " | ".join(STORAGES) + " | fell back |")
        print("|---|" + "---|" * (len(STORAGES) + 1))
        for (owner, name), row in by_case.items():
            if owner == group:
                fell = [storage for storage, line in row.items() if line["fallbacks"] > 0]
                print(f"| {name} | " + " | ".join(outcome(row[s]) for s in STORAGES) + f" | {', '.join(fell)} |")


def print_verdict(lines):
    """What has to hold: lossless storage within one iteration, and recovery where fp64 converges."""
    exact = {(l["group"], l["case"]): l for l in lines if l["storage"] == "fp64 CSR"}
    apart, lost = [], []
    for line in lines:
        reference = exact[line["group"], line["case"]]
        if reference["converged"] and not line["converged"]:
            lost.append(f"{line['case']}: {line['storage']}")
        if line["group"] == "hard in few bits" or not reference["converged"]:
            continue
        gap = abs(line["iterations"] - reference["iterations"])
        if gap > 1 or line["fallbacks"] > 0:
            apart.append(f"{line['case']}: {line['storage']} {line['iterations']} against {reference['iterations']}")
    print(f"\nNot within one iteration of fp64 CSR, hard cases left out: {'; '.join(apart) or 'none'}.")
    print(f"Not solved although fp64 CSR is: {'; '.join(lost) or 'none'}.")


def main():
    options = arguments()
    with open(options.output or os.devnull, "w") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")
            file.flush()
        lines = measure(options, write)
    print_tables(lines)
    print_verdict(lines)


if __name__ == "__main__":
    main()
