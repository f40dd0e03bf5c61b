#!/usr/bin/env python3
"""Iteration counts and bytes of solves with every option named: what a change of structure must leave alone.

    benchmarks/counts.py BUILD                       one JSON line a solve on standard output
    benchmarks/counts.py BUILD --against LINES       compare with lines kept earlier; 1 when a count or a byte differs

The problems are the small named cases of `cmg generate`, the preassembled files and a few distorted ones; each is
solved with a spread of smoothers, cycles, formats and precisions (about 150 solves, a minute on two cores).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {
    "poisson-q1-2d-64": ["--case", "poisson-q1-2d-64"],
    "poisson-q2-2d-32": ["--case", "poisson-q2-2d-32"],
    "poisson-p1-2d-lshape": ["--case", "poisson-p1-2d-lshape"],
    "poisson-p1-3d-16": ["--case", "poisson-p1-3d-16"],
    "elasticity-q1-2d-beam": ["--case", "elasticity-q1-2d-beam"],
    "q1-3d-16-distorted": ["--dim", "3", "--cells", "16", "--distort", "0.3", "--coefficient", "random"],
    "q1-2d-64-random-order": ["--cells", "64", "--distort", "0.2", "--numbering", "random"],
    "heat-2d-64": ["--cells", "64", "--problem", "heat", "--dirichlet", "identity"],
}
OPTIONS = [
    "--smoother jacobi --krylov cg",
    "--smoother jacobi --krylov none --pre 2 --post 2",
    "--smoother jacobi --krylov cg --cycle W",
    "--smoother jacobi --krylov cg --cycle F",
    "--smoother jacobi --krylov cg --fmg",
    "--smoother chebyshev4 --krylov cg",
    "--smoother spai --krylov cg",
    "--smoother fsai --krylov cg",
    "--smoother jacobi --krylov cg --format csr",
    "--smoother jacobi --krylov cg --format k1r",
    "--smoother jacobi --krylov cg --format compressed",
    "--smoother jacobi --krylov cg --format compressed --precision mixed",
    "--smoother fsai --krylov defect --format sell --precision mixed",
    "--smoother jacobi --krylov fcg --precision mixed --precision-schedule A:fp16",
]
KEPT = ("iterations", "reason", "bytes")


def solve(tool, path, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([tool, "solve", path, *options.split(), "--threads", "2", "--json", out.name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "OMP_WAIT_POLICY": "passive"}, check=False)
        try:
            result = json.load(open(out.name))
        except ValueError:
            return {"iterations": -1, "reason": "no result", "bytes": 0}
    return {key: result[key] for key in KEPT}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    arguments = parser.parse_args()
    tool = str(arguments.build / "tools" / "cmg")
    kept = {}
    if arguments.against:
        for line in arguments.against.read_text().splitlines():
            entry = json.loads(line)
            kept[entry["problem"], entry["options"]] = entry
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        problems = {path.stem: str(path) for path in sorted((ROOT / "preassembled" / "tiny").glob("*.cmg"))}
        for name, options in GENERATED.items():
            problems[name] = f"{folder}/{name}.cmg"
            subprocess.run([tool, "generate", problems[name], *options], check=True, stdout=subprocess.DEVNULL)
        for name, path in problems.items():
            for options in OPTIONS:
                entry = {"benchmark": "counts", "problem": name, "options": options, **solve(tool, path, options)}
                if not arguments.against:
                    print(json.dumps(entry), flush=True)
                    continue
                if (name, options) not in kept:
                    continue
                before = kept[name, options]
                changed = [f"{key} {before.get(key)} -> {entry[key]}" for key in KEPT if before.get(key) != entry[key]]
                if changed:
                    different += 1
                    print(f"{name} {options}: " + ", ".join(changed), flush=True)
    if arguments.against:
        print(f"{different} of {len(kept)} differ")
    sys.exit(1 if different else 0)


main()
