"""Tables of methods: smoothers, numberings and what they gain; iteration counts, which no machine changes."""

import math
import re
import statistics

import cases
import lines
from lines import GONE, distorted, latest, markdown, ms, number, outcome, read, table


def tuned(line):
    """Columns of a line: Jacobi is two, at its default damping and at the best of those that were tried."""
    smoother = line["smoother"]
    if smoother == "jacobi":
        return ["jacobi", "jacobi tuned"]
    return ["jacobi tuned" if smoother.startswith("jacobi:omega=") else smoother]


def cost(line):
    if line is None or not line["converged"]:
        return math.inf
    return line.get("solve_seconds") or line["bytes_per_digit_and_unknown"]


def by_case(found, more=()):
    rows = {}
    for line in found:
        row = rows.setdefault((cases.case_name(line), line["quality"], *(line[k] for k in more)), {})
        for head in tuned(line):
            if head not in row or cost(line) < cost(row[head]):
                row[head] = line
    return rows


def smoother_table(question, **wanted):
    found = [line for line in read(question) if "smoother" in line and lines.matches(line, wanted)]
    heads = list(dict.fromkeys(head for line in found for head in tuned(line)))

    def cell(line, best):
        if line is None or not line["converged"]:
            return "" if line is None else "-"
        text = f"{line['iterations']} / {ms(line)} / {line['bytes_per_digit_and_unknown']:.0f}"
        return f"**{text}**" if line is best else text

    return markdown(["element", "mesh", *(f"`{head}`" for head in heads)],
                    [[*case, *(cell(row.get(head), min(row.values(), key=cost)) for head in heads)]
                     for case, row in by_case(found).items()])


@table
def smoothers_gpu():
    """CG around V(1,1) on one H200: iterations / ms / bytes per digit and unknown."""
    return smoother_table("smoothers", krylov="cg", precision="mixed")


@table
def smoothers_paper_cycle():
    """The cycle that FE-gMG compared with, V(4,4) alone in fp64 slices, on one H200."""
    return smoother_table("smoothers", krylov="none", precision="fp64")


@table
def smoothers_cpu():
    """CG around V(1,1) on two cores."""
    return smoother_table("cpu-smoothers", krylov="cg", precision="mixed")


NUMBERINGS = ("lexicographic", "cells", "hierarchical", "random")


def numbering_table(question, value, heads, **wanted):
    found = [line for line in read(question) if "smoother" in line and lines.matches(line, wanted)]
    rows = by_case(found, ["numbering"])
    kept = list(dict.fromkeys(key[:2] for key in rows))

    def cell(case, head):
        picked = [rows.get((*case, n), {}).get(head) for n in NUMBERINGS]
        texts = [value(line) if line and line["converged"] else "" for line in picked]
        return " / ".join(texts) if any(texts) else ""

    return markdown(["element", "mesh", *(f"`{h}`" for h in heads)],
                    [[*case, *(cell(case, head) for head in heads)] for case in kept])


@table
def numberings_gpu():
    """Milliseconds on one H200: lexicographic / cells / hierarchical / random."""
    return numbering_table("numberings", ms, ("jacobi tuned", "spai", "sainv", "fsai"), krylov="cg", precision="mixed")


@table
def numberings_cpu():
    """Milliseconds on two cores: lexicographic / cells / hierarchical / random."""
    return numbering_table("cpu-numberings", ms, ("jacobi tuned", "spai", "fsai"), krylov="cg", precision="mixed")


@table
def numberings_counts():
    """Iterations, and last bytes per digit and unknown of SPAI: lexicographic / cells / hierarchical / random."""
    first = numbering_table("counts", lambda l: str(l["iterations"]),
                            ("jacobi tuned", "spai", "sainv", "fsai", "fsai:power=0:adaptive=8"), krylov="cg")
    last = numbering_table("counts", lambda l: f"{l['bytes_per_digit_and_unknown']:.0f}", ("spai",), krylov="cg")
    return "\n".join(a + b[b.rindex("|", 0, len(b) - 1) + 1 :].replace("`spai`", "bytes, `spai`")
                     for a, b in zip(first.splitlines(), last.splitlines()))


FACTOR_HEADS = ["case", "unknowns", "tuned Jacobi", "best", "factor 1", "baseline", "best of that cycle", "factor 2a",
                "factor 2b", "plain, 16 cores", "factor 3"]


def factor_lines():
    return [line for line in read("factors") if "factors" in line]


@table
def factors():
    """What the best smoother gains: over tuned Jacobi (1), over FE-gMG's baseline (2), over plain CPU multigrid (3)."""
    rows = []
    for line in factor_lines():
        told = line["factors"]
        number_of = {k: "" if told[k] is None else f"**{told[k]:.2f}**" for k in list(told)[2:]}
        text = {k: (line[k] or "").replace("e+03 ms", "000 ms") for k in ("tuned", "best", "baseline", "same", "plain")}
        text["plain"] = re.sub(r"([0-9.]+)e\+03 ms", lambda m: f"{1e3 * float(m[1]):.0f} ms", line["plain"] or "")
        rows.append([told["case"], f"{told['unknowns'] / 1e6:.2f} M", text["tuned"], text["best"],
                     number_of["jacobi_over_best"], text["baseline"], text["same"],
                     number_of["baseline_over_same_cycle"], number_of["baseline_over_best"], text["plain"],
                     number_of["plain_cpu_over_best"]])
    return markdown(FACTOR_HEADS, rows)


# ------------------------------------------------------------------ counts, which no machine changes

@table
def precision():
    """Iterations by storage of the cycle; "limit: fp64 224" is 224 in all after falling back to fp64."""
    found, rows = [line for line in read("precision") if line["storage"] not in GONE], {}
    for line in found:
        rows.setdefault((line["group"], line["case"]), {})[line["storage"]] = line
    heads = list(dict.fromkeys(line["storage"] for line in found))
    return markdown(["group", "case", *heads],
                    [[*case, *(outcome(row[h]) if h in row else "" for h in heads)] for case, row in rows.items()])


def counts(group):
    return [line for line in read("small-counts") if line.get("group") == group]


def grid(found, row, column):
    """Iterations in a table, `row` and `column` being keys of the lines."""
    heads = list(dict.fromkeys(line[column] for line in found))
    kept = {}
    for line in found:
        kept.setdefault(line[row], {})[line[column]] = str(line["iterations"]) if line["converged"] else "-"
    return markdown([row, *map(str, heads)],
                    [[name, *(cells.get(h, "") for h in heads)] for name, cells in kept.items()])


@table
def refinement():
    """Iterations of `cmg solve` as it comes, level after level."""
    return grid(counts("refinement"), "mesh", "refinements")


@table
def published():
    """Stand-alone V-cycles on the hierarchies of the FE-gMG authors: iterations with 4 / 2 / 1 steps."""
    rows = {}
    for line in counts("published"):
        rows.setdefault(line["smoother"], {}).setdefault(line["file"], []).append(
            str(line["iterations"]) if line["converged"] else "-")
    heads = list(dict.fromkeys(line["file"] for line in counts("published")))
    return markdown(["smoother", *heads], [[f"`{s}`", *(" / ".join(r.get(h, [])) for h in heads)]
                                           for s, r in rows.items()])


@table
def polynomials():
    """Plane elasticity without a hierarchy, iterations over the order m: fp64 / algorithm 6 / algorithm 5."""
    rows, orders = {}, []
    for line in counts("polynomials"):
        if line["order"] not in orders:
            orders.append(line["order"])
        rows.setdefault(line["family"], {}).setdefault(line["order"], []).append(str(line["iterations"]))
    return markdown(["P_m", *(f"m = {m}" if m else "Jacobi" for m in orders)],
                    [[f"`{f}`", *(" / ".join(r.get(m, [])) for m in orders)] for f, r in rows.items()])


@table
def convection():
    """Stand-alone V(1,1) on constant velocities: iterations to 1e-8."""
    rows = {}
    for line in counts("convection"):
        rows.setdefault(line["problem"], {})[line["smoother"]] = str(line["iterations"]) if line["converged"] else line["reason"].split("_")[0]
    heads = list(dict.fromkeys(line["smoother"] for line in counts("convection")))
    return markdown(["velocity, cells", *(f"`{head}`" for head in heads)],
                    [[problem, *(found[head] for head in heads)] for problem, found in rows.items()])


@table
def mutants():
    """A run of tests/mutation.py by its verdicts; a share of those that change anything."""
    found = [line["verdict"] for line in read("mutants") if "verdict" in line]
    apart = [found.count(kind) for kind in ("not compiled", "same", "equivalent", "survived")]
    noticed = len(found) - sum(apart)
    return markdown(["flipped", "not compiled", "same machine code", "change nothing", "survived", "noticed", "share"],
                    [[len(found), *apart, noticed, f"{100 * noticed / max(1, noticed + apart[-1]):.1f} %"]])


@table
def python():
    """Calls from Python: what they cost over the library's own seconds, and whether arrays stay where they are."""
    rows = []
    found = read("python")
    calls = latest((line for line in found if line.get("what") in ("overhead", "in place")),
                   lambda line: (line["what"], line["library"], line.get("backend")))
    for line in found:
        if line.get("what") in ("overhead", "in place") and line not in calls:
            continue
        if line.get("what") == "overhead":
            rows.append([f"{line['library']}, {line['backend']}", f"{line['overhead_us']:.0f} us beside a solve of {line['solve_us']:.0f} us"])
        elif line.get("what") == "in place" and line["library"] == "jax":
            rows.append([f"jax, {line['backend']}, jit", f"{line['overhead_us']:.0f} us beside {line['solve_us']:.0f} us; XLA's memory: "
                         + ("in place" if all(line["same_memory"]) else "copied")
                         + (f"; a call of JAX that doubles b {line['doubling_us']:.0f} us, the handler's own part "
                            f"{line['handler_us'] - line['solve_us']:.0f} us" if "handler_us" in line else "")])
        elif line.get("what") == "topology":
            parts = ", ".join(f"{name} {1e3 * seconds:.0f}" for name, seconds in line["parts"].items())
            rows.append([f"topology, {line['elements'] / 1e6:.2f} M cells, {line['options'].get('precision', 'fp64')}, {line['backend']}",
                         f"{1e3 * line['step_seconds']:.0f} ms a step ({parts}), {max(line['iterations'])} iterations at most"])
        elif line.get("what") == "import":
            rows.append([f"import, {'CPU' if line['device'] == 'CPU' else 'host of the H200'}",
                         f"{line['seconds']:.2f} s, of which NumPy {line['numpy_seconds']:.2f} s"])
        elif line.get("what") == "gradients" and "error_b" in line:
            rows.append([f"gradients of {line['library']}, {line['backend']}",
                         f"{line['error_b']:.1e} for b, {line['error_values']:.1e} for values from central differences"])
        elif line.get("what") == "heat inversion":
            rows.append([f"heat inversion, {line['cells']}^2 cells, torch, {line['backend']}",
                         f"{line['report'].rsplit(', ', 1)[1]}, misfit {line['misfit'][0]:.1e} to {line['misfit'][1]:.1e}"])
        elif line["benchmark"] == "columns":
            rows.append([f"{line['columns']} columns, {line['problem']}, distorted 0.2, {line.get('values', line['precision'])}, {line['backend']}",
                         f"{1e3 * line['seconds']:.4g} ms, {line['ratio']:.2f} of single solves"])
    return markdown(["what", "measured"], rows)


# ------------------------------------------------------------------ assembly


def assembly_lines(benchmark, *key):
    return latest((line for line in read("assembly") if line["benchmark"] == benchmark),
                  lambda line: tuple(line[name] for name in key))


def with_floor(line, part):
    return f"{ms(line, part + '_seconds')} [{number(1e3 * line[part + '_floor_seconds'])}]"


@table
def coefficient():
    """From a new coefficient on the device to the solution of an implicit heat step on one H200."""
    parts = ("average", "cells", "sum", "refresh", "solve")
    return markdown(["cells", "solver", "it", *(part + " ms" for part in parts), "whole ms", "floor ms", "set-up of sums s"],
                    [[f"{line['problem'].split('-')[-1]}^3" + distorted(line)
                      + (", R A P" if line["galerkin"] else ""), f"`{line['options']}`", line["iterations"],
                      *(with_floor(line, part) for part in parts), ms(line, "whole_seconds"), ms(line, "floor_seconds"),
                      number(line["sum_setup_seconds"])]
                     for line in assembly_lines("coefficient", "problem", "distort", "galerkin", "options")])


@table
def assembly():
    """Cell matrices and their sums by themselves on one H200."""
    return markdown(["cells", "problem", "entries M", "cell matrices ms", "sum in CSR order ms", "then into storage ms",
                     "sum in storage ms"],
                    [[f"{line['cells'] / 1e6:.2f} M {line['cell']}", line["problem"], number(line["entries"] / 1e6),
                      with_floor(line, "cells"), with_floor(line, "csr"), ms(line, "update_seconds"),
                      ms(line, "store_seconds")]
                     for line in assembly_lines("assembly", "cell", "problem", "n")])


@table
def assembly_petsc():
    """Values of A from the same cell matrices on one core, PETSc's MatSetValuesCOO and the sum matrix."""
    keys = ("upper_cells_seconds", "coo_seconds", "full_sum_seconds", "upper_sum_seconds", "coo_setup_seconds",
            "upper_setup_seconds", "generator_seconds")
    return markdown(["cells", "entries M", "cell matrices ms", "COO ms", "sum ms", "sum of upper triangles ms",
                     "set-up of COO ms", "set-up of the sum ms", "generator by rows ms"],
                    [[f"{line['problem'].split('-')[-1]}^3", number(line["entries"] / 1e6), *(ms(line, key) for key in keys)]
                     for line in assembly_lines("assembly-petsc", "problem", "distort")])


@table
def strategies():
    """Set-up and new values on one H200 with every strategy, and with one switched off: milliseconds."""
    found, rows = read("strategies"), []

    def case(line):
        what = "A alone" if line.get("matrix_alone") else "R A P" if line.get("galerkin") else line["options"].rpartition("=")[2]
        return (line.get("problem", "q1-3d-256") + (f", distorted {line['distort']}" if line["distort"] else ""), what)

    def figures(line):
        return [number(1e3 * line["setup_seconds"]) if "setup_seconds" in line else "", number(1e3 * line["refresh_seconds"])]

    whole = {case(line): line for line in found if not line["without"]}
    for line in found:
        if line["without"] and case(line) in whole:
            rows.append([*case(line), line["without"], *(x for pair in zip(figures(whole[case(line)]), figures(line)) for x in pair)])
    return markdown(["problem", "of", "without", "set-up: all", "without it", "new values: all", "without it"], rows)


@table
def write_backs():
    """Kernels for three write-backs beside those for six, solves on one H200: milliseconds, least and most of the runs."""
    groups = {}
    for line in read("write-backs"):
        key = (line["problem"], line["format"], line["precision"], line["smoother"], line["iterations"])
        groups.setdefault(key, {}).setdefault(line["write_backs"], []).append(1e3 * line["solve_seconds"])
    rows = [[*key, *(f"{number(min(of[n]))} to {number(max(of[n]))}" for n in (6, 3))] for key, of in groups.items() if len(of) == 2]
    return markdown(["problem", "format", "precision", "smoother", "it", "six", "three"], rows)


MEASURED = {"solve": ("solve_seconds",), "first": ("setup_seconds", "refresh_seconds"), "columns": ("seconds",),
            "assembly": ("sums_seconds", "matrix_seconds", "bind_seconds")}


def in_turn(question, of_runs):
    """Milliseconds of every commit of a question, of the runs of each; the ratio is of the last to the first."""
    commits, groups = [], {}
    for line in read(question):
        commits += [line["commit"]] * (line["commit"] not in commits)
        for key in MEASURED[line["benchmark"]]:
            what = re.sub(r" --(backend|repeat|format|precision) \w+", "", line["command"].removeprefix("benchmarks/bench_"))
            groups.setdefault((what.replace("|", ""), key.removesuffix("_seconds")), {}).setdefault(line["commit"], []).append(1e3 * line[key])
    rows = [[f"`{what}`", key, *(number(of_runs(of[commit])) for commit in commits), f"{of_runs(of[commits[-1]]) / of_runs(of[commits[0]]):.2f}"]
            for (what, key), of in groups.items() if len(of) == len(commits)]
    return markdown(["command, bench_", "of", *commits, "ratio"], rows)


@table
def before_after():
    """Two commits in turn in one run on one H200, each twice: milliseconds, the least of both runs."""
    return in_turn("before-after", min)


@table
def turns():
    """Five commits in turn in one run on one H200, each three times: milliseconds, medians."""
    return in_turn("turns", statistics.median)
