#!/usr/bin/env python3
"""Smoothers times elements, dimensions, numberings and mesh qualities: the comparison of FE-gMG.

Makes every hierarchy with `cmg generate`, solves with `cmg compare` and writes one JSON object a row
(histories left out), after one on the machine. Every smoother is run as FE-gMG ran it - cycles
alone, 4+4 steps, fp64 slices - and alone and inside CG with the storage that suits the device. Prints
tables in Markdown, and draws bars of the times with --plot.

    benchmarks/smoothers.py --tool build/tools/cmg --size small --output smoothers.jsonl
"""

import argparse
import json
import os
import sys
import tempfile

import cases
from lines import markdown
import plot

SMOOTHERS = [
    "jacobi",
    "jacobi:omega=auto",
    "jacobi:omega=0.9",
    "chebyshev4",
    "chebyshev4:degree=3",
    "spai:tau=0",
    "spai",
    "sainv",
    "fsai",
    "fsai:power=0:adaptive=8",
    "patches",
]
# set-up of a full pattern of 3D Q2 is a least squares problem of 343 x 125 a row: minutes on a CPU
SLOW = {("spai:tau=0", "q2", 3)}
PAPER = "krylov=none steps=4 precision=fp64 format=sell"
VARIANTS = {
    "cpu": ["krylov=none steps=2 precision=mixed format=compressed", "krylov=cg steps=1 precision=mixed format=compressed"],
    "cuda": ["krylov=none steps=2 precision=mixed format=compressed values=fp16",
             "krylov=cg steps=1 precision=mixed format=compressed values=fp16"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="cmg", help="the command [cmg]")
    parser.add_argument("--size", choices=cases.SIZES, default="small", help="[small]")
    parser.add_argument("--backend", default="cpu", help="list of backends [cpu]")
    parser.add_argument("--variants", help="as in cmg compare; default: the paper's, and two that suit the device")
    parser.add_argument("--smoother", default=",".join(SMOOTHERS), help="list of smoothers")
    parser.add_argument("--numbering", default=",".join(cases.NUMBERINGS), help="list of numberings")
    parser.add_argument("--quality", default="smooth,distorted,stretched,gmsh,published",
                        help="list: " + ", ".join(cases.QUALITIES))
    parser.add_argument("--mesh", action="append", default=[], metavar="FILE",
                        help="also this 2D mesh file, refined, as a quality of its own; may be repeated")
    parser.add_argument("--element", default="q1,q2", help="list of elements [q1,q2]")
    parser.add_argument("--dim", default="2,3", help="list of dimensions [2,3]")
    parser.add_argument("--repeat", default="3", help="solves a row [3]")
    parser.add_argument("--remesh", action="store_true", help="make the gmsh meshes anew, where gmsh is found")
    parser.add_argument("--slow", action="store_true", help="full SPAI of 3D Q2 too: minutes a case on a CPU")
    parser.add_argument("--output", metavar="FILE", help="JSON lines")
    parser.add_argument("--plot", metavar="FILE", help="bars of the times to solution, SVG")
    parser.add_argument("--from", dest="given", metavar="FILE", help="tell these lines; measure nothing")
    parser.add_argument("--no-times", action="store_true",
                        help="the lines hold what does not depend on the machine alone")
    return parser.parse_args()


def inputs(options, folder):
    """Element, dimension, quality, numbering and the arguments of `cmg generate`."""
    remesh = folder if options.remesh else None
    for element in options.element.split(","):
        for dim in map(int, options.dim.split(",")):
            for quality in options.quality.split(","):
                for numbering in options.numbering.split(","):
                    yield element, dim, quality, numbering, cases.recipe(
                        options.size, element, dim, quality, numbering, remesh)
        for mesh in options.mesh:
            name = os.path.splitext(os.path.basename(mesh))[0]
            levels = str(cases.SIZES[options.size][element, 2][2])
            for numbering in options.numbering.split(","):
                yield element, 2, name, numbering, ["--element", element, "--mesh", mesh, "--levels", levels,
                                                    "--numbering", numbering, "--no-output-mesh"]


TIMED = ("setup_seconds", "solve_seconds", "cycle_seconds", "memory_bytes", "break_even_solves", "message",
         "status", "iteration_bytes", "cycle_bytes")


def measure(options, folder, write):
    path = os.path.join(folder, "h")
    lines = []
    for element, dim, quality, numbering, recipe in inputs(options, folder):
        cases.say(f"{element} {dim}D {quality} {numbering}" + ("" if recipe else ": no mesh, skipped"))
        if recipe is None:
            continue
        cases.generate(options.tool, recipe, path)
        smoothers = [s for s in options.smoother.split(",") if options.slow or (s, element, dim) not in SLOW]
        for backend in options.backend.split(","):
            variants = [options.variants] if options.variants else [PAPER, *VARIANTS[backend]]
            for row in cases.compare(options.tool, path, smoothers, variants, backend, options.repeat):
                shown = [os.path.basename(word) if word.endswith(".msh") else word for word in recipe]
                row.update(element=element, dim=dim, quality=quality, numbering=numbering, size=options.size,
                           generate=" ".join(shown))
                lines.append(dict(row))
                for key in TIMED if options.no_times else ():
                    del row[key]
                write(row)
    return lines


# ------------------------------------------------------------------ telling


def variant(line):
    """How a row was run, in words."""
    steps = f"{line['pre']}+{line['post']}"
    how = "alone" if line["krylov"] == "none" else "in CG"
    storage = line["precision"] if line["values"] == "full" else f"{line['precision']} {line['values']}"
    return f"{how}, {steps} steps, {storage} {line['format']}"


def columns(line, smoothers):
    """Jacobi is two columns: at its default damping, and at the best of all dampings that were tried."""
    smoother = line["smoother"]
    if smoother == "jacobi":
        return ["jacobi", "jacobi tuned"] if any(s.startswith("jacobi:omega=") for s in smoothers) else ["jacobi"]
    return ["jacobi tuned" if smoother.startswith("jacobi:omega=") else smoother]


def cell(line, best):
    if line is None:
        return ""
    if not line["converged"]:
        return "-"
    figures = [str(line["iterations"])]
    if line.get("solve_seconds") is not None:
        figures.append(f"{1e3 * line['solve_seconds']:.3g}")
    figures.append(f"{line['bytes_per_digit_and_unknown']:.0f}")
    text = " / ".join(figures)
    return f"**{text}**" if line is best else text


def cost(line):
    if not line["converged"]:
        return float("inf")
    return line.get("solve_seconds") or line["bytes_per_digit_and_unknown"]


def print_tables(lines):
    """One table a backend and variant, one line a case, one column a smoother."""
    smoothers = {line["smoother"] for line in lines}
    heads = list(dict.fromkeys(head for line in lines for head in columns(line, smoothers)))
    timed = all("solve_seconds" in line for line in lines)
    print("Iterations / " + ("milliseconds / " if timed else "") + "bytes per digit and unknown")
    for key in dict.fromkeys((line["backend"], variant(line)) for line in lines):
        rows = {}
        for line in lines:
            if (line["backend"], variant(line)) == key:
                case = (cases.case_name(line), line["quality"], line["numbering"])
                row = rows.setdefault(case, {})
                for head in columns(line, smoothers):
                    if head not in row or cost(line) < cost(row[head]):
                        row[head] = line
        print(f"\n{key[0]}, {key[1]}\n")
        print(markdown(["element", "mesh", "numbering", *(f"`{head}`" for head in heads)],
                             [[*case, *(cell(row.get(head), min(row.values(), key=cost)) for head in heads)]
                              for case, row in rows.items()]))


def draw(path, lines):
    """Bars of the fastest variant of every smoother; a panel a case, natural numberings alone."""
    kept = lines[0]["numbering"]
    backend = lines[-1]["backend"]
    smoothers = {line["smoother"] for line in lines}
    panels = {}
    for line in lines:
        if line["numbering"] == kept and line["backend"] == backend and line["converged"]:
            panel = panels.setdefault(f"{cases.case_name(line)} {line['quality']}", {})
            for head in columns(line, smoothers):
                panel[head] = min(panel.get(head, float("inf")), 1e3 * line["solve_seconds"])
    plot.bars(path, f"Milliseconds to 1e-8 on {backend}, fastest variant, numbering {kept}", panels)


def main():
    options = arguments()
    if options.given:
        with open(options.given) as file:
            lines = [line for line in map(json.loads, file) if "smoother" in line]
    else:
        output = open(options.output, "w") if options.output else None

        def write(line):
            if output:
                output.write(json.dumps(line) + "\n")
                output.flush()

        if not options.no_times:
            write(cases.machine(options.tool, options.backend.split(",")))
        with tempfile.TemporaryDirectory(prefix="cmg-smoothers-") as folder:
            lines = measure(options, folder, write)
        if output:
            output.close()
    print_tables(lines)
    if options.plot:
        draw(options.plot, lines)


if __name__ == "__main__":
    sys.exit(main())
