#!/usr/bin/env python3
"""Three factors: what the best smoother gains, on which machine, against which baseline.

1. best against tuned Jacobi: both with the damping, steps, Krylov method and storage that suit them
2. best against the baseline of FE-gMG, Jacobi at 0.7 in cycles of 4+4 steps, alone, in fp64 slices,
   on the same device: the best smoother of that very cycle, and the best of all. Where 0.7
   diverges, the baseline is given an estimated damping
3. best on the device against plain multigrid on all CPU cores: the cycle of the baseline, the better
   of CSR and ELLPACK, unknowns in the order in which they come

What is tuned and what is best is searched at a smaller size, by bytes per digit; the few best of each
are then timed at full size. One JSON object a row goes to --output, a table to standard output.

    benchmarks/factors.py --tool build/tools/cmg --backend cuda --size large --output factors.jsonl
"""

import argparse
import json
import os
import sys
import tempfile

import cases
from lines import markdown

CASES = ["q2-2d-distorted", "q2-3d-distorted", "q1-2d-stretched", "q2-2d-stretched", "q1-3d-stretched",
         "q2-3d-stretched", "q1-2d-stretched16", "q2-3d-stretched16", "q1-2d-gmsh", "q2-2d-gmsh", "q1-3d-gmsh",
         "q2-3d-gmsh"]
JACOBI = ["jacobi:omega=auto", *(f"jacobi:omega={w}" for w in ("0.6", "0.7", "0.8", "0.9", "1.0"))]
STRONG = ["spai", "spai:tau=0.1", "spai:weight=count", "fsai", "fsai:adaptive=8", "fsai:power=0:adaptive=8",
          "fsai:adaptive=0", "sainv", "sainv:drop=0.1", "patches", "chebyshev4", "chebyshev4:degree=3"]
PAPER = "krylov=none steps=4 precision=fp64 format=sell"
DAMPINGS = ("0.7", "auto")  # the second counts where 0.7 diverges
BASELINE = [f"smoother=jacobi:omega={w} {PAPER}" for w in DAMPINGS]
PLAIN = [f"smoother=jacobi:omega={w} krylov=none steps=4 precision=fp64 format={f}"
         for w in DAMPINGS for f in ("csr", "ellpack")]
STORAGE = {"cpu": "precision=mixed format=compressed", "cuda": "precision=mixed format=compressed values=fp16"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="cmg", help="the command [cmg]")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cuda", help="[cuda]")
    parser.add_argument("--size", choices=cases.SIZES, default="large", help="[large]")
    parser.add_argument("--search-size", choices=cases.SIZES, default="small", help="[small]")
    parser.add_argument("--case", default=",".join(CASES), help="list: ELEMENT-DIMd-QUALITY")
    parser.add_argument("--keep", type=int, default=3, help="configurations of each kind that are timed [3]")
    parser.add_argument("--set-up", type=float, default=20, metavar="SECONDS",
                        help="leave out what takes longer to set up, judged from the search [20]")
    parser.add_argument("--cpu", default=",".join(c for c in CASES if "gmsh" in c or "distorted" in c),
                        help="list of cases for factor 3; none = skip it")
    parser.add_argument("--repeat", default="5", help="solves a row [5]")
    parser.add_argument("--output", metavar="FILE", help="JSON lines")
    parser.add_argument("--from", dest="given", metavar="FILE", action="append",
                        help="tell the factors in these lines; measure nothing; may be repeated")
    return parser.parse_args()


def bytes_per_digit(row):
    return row["bytes_per_digit_and_unknown"] if row["converged"] else float("inf")


def seconds(row):
    return row["solve_seconds"] if row["converged"] else float("inf")


def words(row):
    """A row as a variant of `cmg compare`."""
    return (f"smoother={row['smoother']} krylov={row['krylov']} steps={row['pre']}+{row['post']} "
            f"precision={row['precision']} format={row['format']} values={row['values']}")


def tell(row):
    if row is None or not row["converged"]:
        return "-"
    how = "alone" if row["krylov"] == "none" else "CG"
    return f"{row['smoother']}, {how} {row['pre']}+{row['post']}: {row['iterations']} it, " \
           f"{1e3 * row['solve_seconds']:.3g} ms"


def search(options, case, path):
    """Variants to be timed: of tuned Jacobi, the best, the best of the paper's cycle."""
    element, dim, quality = case
    storage = STORAGE[options.backend]
    cases.generate(options.tool, cases.recipe(options.search_size, element, dim, quality, "cells"), path)
    jacobi = cases.compare(options.tool, path, JACOBI, [
        *(f"krylov=cg steps={n} {storage}" for n in (1, 2, 3, 4)), *(f"krylov=none steps={n} {storage}" for n in (2, 4))],
        options.backend, 1)
    strong = cases.compare(options.tool, path, STRONG, [
        *(f"krylov=cg steps={n} {storage}" for n in (1, 2)), f"krylov=none steps=2 {storage}", PAPER], options.backend, 1)
    # set-up is taken to grow with the unknowns
    cells, _, refined = cases.SIZES[options.size][element, dim]
    small, _, less = cases.SIZES[options.search_size][element, dim]
    grown = 2.0 ** (dim * (refined - less)) if cases.QUALITIES[quality] is None else (cells / small) ** dim
    strong = [row for row in strong if row["converged"] and row["setup_seconds"] * grown <= options.set_up]
    paper = [row for row in strong if row["format"] == "sell"]
    free = [row for row in strong if row["format"] != "sell"]
    picked = [sorted(rows, key=bytes_per_digit)[:count]
              for rows, count in ((jacobi, options.keep), (free, options.keep), (paper, 2))]
    return [[words(row) for row in rows if row["converged"]] for rows in picked]


def best(rows, wanted):
    rows = [row for row in rows if words(row) in wanted and row["converged"]]
    return min(rows, key=seconds) if rows else None


def first(rows):
    """The baseline among rows: the fastest at the first damping that converges."""
    for damping in DAMPINGS:
        kind = [row for row in rows if row["smoother"] == f"jacobi:omega={damping}" and row["krylov"] == "none" and
                row["pre"] == 4 and row["precision"] == "fp64" and row["converged"]]
        if kind:
            return min(kind, key=seconds)
    return None


def ratio(slow, fast):
    return slow["solve_seconds"] / fast["solve_seconds"] if slow and fast else None


def factors(options, name, case, folder, write):
    """All rows of one case, and its factors last."""
    path = os.path.join(folder, "h")
    element, dim, quality = case
    tuned, strong, same = search(options, case, path)
    recipe = cases.recipe(options.size, element, dim, quality, "cells")
    cases.generate(options.tool, recipe, path)
    wanted = list(dict.fromkeys([*tuned, *strong, *same, *BASELINE]))
    rows = cases.compare(options.tool, path, ["jacobi"], wanted, options.backend, options.repeat, ["--max-it", "400"])
    plain = []
    if name in options.cpu.split(","):
        recipe = cases.recipe(options.size, element, dim, quality, "generated")
        cases.generate(options.tool, recipe, path)
        plain = cases.compare(options.tool, path, ["jacobi"], PLAIN, "cpu", 2, ["--max-it", "400"])
    for row, numbering in [*((row, "cells") for row in rows), *((row, "generated") for row in plain)]:
        write(dict(row, case=name, numbering=numbering, size=options.size))
    found = {"tuned": best(rows, tuned), "best": best(rows, [*strong, *tuned]), "same": best(rows, same),
             "baseline": first(rows), "plain": first(plain)}
    told = {"case": name, "unknowns": rows[0]["unknowns"],
            "jacobi_over_best": ratio(found["tuned"], found["best"]),
            "baseline_over_same_cycle": ratio(found["baseline"], found["same"]),
            "baseline_over_best": ratio(found["baseline"], found["best"]),
            "plain_cpu_over_best": ratio(found["plain"], found["best"])}
    write({"factors": told, **{key: row and tell(row) for key, row in found.items()}})


HEADS = ["case", "unknowns", "tuned Jacobi", "best", "1", "baseline", "best of that cycle", "2: same cycle", "2: best",
         "plain CPU", "3"]


def table_row(line):
    told = line["factors"]
    number = {key: "" if told[key] is None else f"**{told[key]:.2f}**" for key in list(told)[2:]}
    text = {key: line[key] or "" for key in ("tuned", "best", "baseline", "same", "plain")}
    return [told["case"], f"{told['unknowns'] / 1e6:.2f} M", text["tuned"], text["best"], number["jacobi_over_best"],
            text["baseline"], text["same"], number["baseline_over_same_cycle"], number["baseline_over_best"],
            text["plain"], number["plain_cpu_over_best"]]


def measure(options):
    """Factors of all cases; every line goes to the output."""
    output = open(options.output, "w") if options.output else None
    lines = []

    def write(line):
        if "factors" in line:
            lines.append(line)
        if output:
            output.write(json.dumps(line) + "\n")
            output.flush()

    write(cases.machine(options.tool, sorted({options.backend, "cpu"})))
    with tempfile.TemporaryDirectory(prefix="cmg-factors-") as folder:
        for name in options.case.split(","):
            element, dim, quality = name.split("-")
            factors(options, name, (element, int(dim[0]), quality), folder, write)
            cases.say(" | ".join(table_row(lines[-1])))
    if output:
        output.close()
    return lines


def main():
    options = arguments()
    lines = []
    for path in options.given or []:
        with open(path) as file:
            lines += [line for line in map(json.loads, file) if "factors" in line]
    if not options.given:
        lines = measure(options)
    print(markdown(HEADS, map(table_row, lines)))


if __name__ == "__main__":
    sys.exit(main())
