#!/usr/bin/env python3
"""Smoothers times elements, dimensions, numberings and mesh qualities: the comparison of FE-gMG.

Generates every hierarchy with `cmg generate`, solves with `cmg compare`, writes one JSON object per
line and configuration (histories left out), and prints a table in Markdown with iterations and bytes
per digit and unknown, or milliseconds with --times.

    benchmarks/smoothers.py --tool build/tools/cmg --size small --output smoothers.jsonl
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile

# cells along a unit edge by element and dimension, and mesh levels
SIZES = {
    "tiny": {("q1", 2): 32, ("q2", 2): 16, ("q1", 3): 8, ("q2", 3): 4, "levels": 3},
    "small": {("q1", 2): 128, ("q2", 2): 64, ("q1", 3): 24, ("q2", 3): 12, "levels": 3},
    "medium": {("q1", 2): 1024, ("q2", 2): 512, ("q1", 3): 96, ("q2", 3): 48, "levels": 5},
    "large": {("q1", 2): 4096, ("q2", 2): 2048, ("q1", 3): 256, ("q2", 3): 128, "levels": 6},
}
NUMBERINGS = ["lexicographic", "cells", "hierarchical", "random"]
QUALITIES = {
    "smooth": [],
    "distorted": ["--distort", "0.2"],
    "stretched": ["--aspect", "4"],
}
SMOOTHERS = [
    "jacobi",
    "jacobi:omega=auto",
    "chebyshev4",
    "spai",
    "sainv",
    "fsai",
    "fsai:power=0:adaptive=8",
    "patches",
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="cmg", help="the command [cmg]")
    parser.add_argument("--size", choices=SIZES, default="small", help="[small]")
    parser.add_argument("--backend", default="cpu", help="list of backends [cpu]")
    parser.add_argument("--krylov", default="cg", help="list: none, cg [cg]")
    parser.add_argument("--steps", default="1", help="list of smoothing steps [1]")
    parser.add_argument("--smoother", default=",".join(SMOOTHERS), help="list of smoothers")
    parser.add_argument("--numbering", default=",".join(NUMBERINGS), help="list of numberings")
    parser.add_argument("--quality", default=",".join(QUALITIES), help="list: " + ", ".join(QUALITIES))
    parser.add_argument("--mesh", action="append", default=[], metavar="FILE",
                        help="also this mesh file, refined, as a quality of its own; may be repeated")
    parser.add_argument("--element", default="q1,q2", help="list of elements [q1,q2]")
    parser.add_argument("--dim", default="2,3", help="list of dimensions [2,3]")
    parser.add_argument("--repeat", default="3", help="solves a row [3]")
    parser.add_argument("--output", metavar="FILE", help="JSON lines")
    parser.add_argument("--times", action="store_true", help="the table shows milliseconds")
    parser.add_argument("--no-times", action="store_true",
                        help="the lines hold what does not depend on the machine alone")
    return parser.parse_args()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def cases(options):
    """Element, dimension, numbering, quality and the arguments of `cmg generate`."""
    size = SIZES[options.size]
    for element in options.element.split(","):
        for dim in map(int, options.dim.split(",")):
            common = ["--element", element, "--dim", str(dim), "--cells", str(size[element, dim]),
                      "--levels", str(size["levels"])]
            for quality in options.quality.split(","):
                for numbering in options.numbering.split(","):
                    yield element, dim, numbering, quality, [
                        *common, *QUALITIES[quality], "--numbering", numbering]
        for mesh in options.mesh:
            for numbering in options.numbering.split(","):
                name = os.path.splitext(os.path.basename(mesh))[0]
                yield element, 0, numbering, name, ["--element", element, "--mesh", mesh, "--levels",
                                                    str(size["levels"]), "--numbering", numbering]


def compare(options, generate, folder):
    path = os.path.join(folder, "h.cmg")
    result = os.path.join(folder, "rows.json")
    run([options.tool, "generate", *generate, path])
    run([options.tool, "compare", path, "--smoother", options.smoother, "--backend", options.backend,
         "--krylov", options.krylov, "--steps", options.steps, "--repeat", options.repeat, "--json",
         result])
    with open(result) as file:
        return json.load(file)["rows"]


def cell(row, times):
    if not row["converged"]:
        return "-"
    if times:
        return f"{row['iterations']} / {1e3 * row['solve_seconds']:.3g}"
    return f"{row['iterations']} / {row['bytes_per_digit_and_unknown']:.0f}"


TIMED = ("setup_seconds", "solve_seconds", "cycle_seconds", "memory_bytes", "break_even_solves",
         "machine", "format", "message", "status", "outer_bytes", "cycle_bytes", "values")


def print_table(lines, times):
    """One line a case, one column a smoother."""
    columns = []
    table = {}
    for line in lines:
        kind = tuple(line[key] for key in ("smoother", "krylov", "pre", "post", "backend"))
        if kind not in columns:
            columns.append(kind)
        case = tuple(line[key] for key in ("element", "dim", "quality", "numbering"))
        table.setdefault(case, {})[kind] = cell(line, times)
    differs = [len({kind[i] for kind in columns}) > 1 for i in range(5)]
    heads = [" ".join(f"`{part}`" if i == 0 else str(part)
                      for i, part in enumerate(kind) if differs[i] or i == 0) for kind in columns]
    print("| element | mesh | numbering | " + " | ".join(heads) + " |")
    print("|---|---|---|" + "---|" * len(columns))
    for (element, dim, quality, numbering), cells in table.items():
        name = f"{element.upper()} {dim}D" if dim else element.upper()
        print(f"| {name} | {quality} | {numbering} | "
              + " | ".join(cells.get(kind, "") for kind in columns) + " |")


def main():
    options = arguments()
    version = subprocess.run([options.tool, "--version"], capture_output=True, text=True).stdout.strip()
    lines = []
    output = open(options.output, "w") if options.output else None
    with tempfile.TemporaryDirectory(prefix="cmg-smoothers-") as folder:
        for element, dim, numbering, quality, generate in cases(options):
            for row in compare(options, generate, folder):
                del row["history"], row["file"]
                row.update(element=element, dim=dim, numbering=numbering, quality=quality,
                           size=options.size, generate=" ".join(generate), version=version,
                           machine=platform.processor() or platform.machine())
                lines.append(dict(row))
                for key in TIMED if options.no_times else ():
                    del row[key]
                if output:
                    output.write(json.dumps(row) + "\n")
                    output.flush()
    if output:
        output.close()
    print_table(lines, options.times)


if __name__ == "__main__":
    main()
