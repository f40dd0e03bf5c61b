#!/usr/bin/env python3
"""Writes every table of measured figures, and only from result lines.

    benchmarks/tables.py              rewrites the tables in benchmarks/TABLES.md, README.md and docs/
    benchmarks/tables.py --check      says which are not what the lines give; changes nothing
    benchmarks/tables.py --print auto|alpha FILE...    one table from given lines, as benchmarks/gpu.sh does

A table stands between the marks `<!-- table NAME -->` and `<!-- end -->`; NAME is a function of this file. The lines
themselves are in benchmarks/results, lines.py says which file answers which question.
"""

import json
import os
import re
import statistics
import sys

import cases
import lines
import tables_methods  # noqa: F401 - its tables
import tables_peers
from lines import TABLES, latest, markdown, ms, number, pick, read, spread, table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def share(line):
    floor = line and line.get("floor_seconds")
    return f"{100 * floor / line['solve_seconds']:.0f} %" if floor else ""


def gigabytes(line, key="device_bytes"):
    return number(line[key] / 1e9, 2) if line and line.get(key) else ""


# ------------------------------------------------------------------ one GPU: products

STORED = [("cusparse-csr", "fp64", "q1-3d:256"), ("cusparse-sell", "fp64", "q1-3d:256"), ("sell", "fp64", "q1-3d:256"),
          ("k1r", "fp64", "q1-3d:256"), ("sell", "fp32", "q1-3d:256"), ("compressed", "fp64", "noisy-3d:256"),
          ("compressed", "fp32", "noisy-3d:256"), ("compressed", "fp16", "noisy-3d:256"),
          ("compressed", "fp8", "noisy-3d:256"), ("compressed", "fp64", "q1-3d:256"), ("compressed", "fp32", "q1-3d:256")]


@table
def products():
    """y = A x of 3D Q1, 256^3 cells, in several storages."""
    found = lines.matrices(read("products"))
    base = lines.product(found["q1-3d:256"], "cusparse-csr")
    rows = []
    for name, values, matrix in STORED:
        f = lines.product(found[matrix], name, values)
        if f:
            rows.append([f"`{matrix}`", name, values, number(1e3 * f["median_seconds"]),
                         number(base["median_seconds"] / f["median_seconds"]), f"{100 * f['share_of_copy']:.0f} %"])
    return markdown(["matrix", "storage", "values", "ms", "times cuSPARSE CSR", "share of copy"], rows)


OWN = ("csr", "ellpack", "ellr", "ellt", "sell", "k1", "k1r", "k1rs", "k2", "k2r", "k2rs", "compressed", "tune")


def best_of(matrix, names):
    found = [f for f in (lines.product(matrix, name) for name in names) if f]
    return min(found, key=lambda f: f["median_seconds"]) if found else None


@table
def element_products():
    """Matrices of distorted meshes, the best own format beside cuSPARSE's two."""
    rows = []
    for name, matrix in lines.matrices(read("products")).items():
        if name.endswith(".cmg"):
            best, csr = best_of(matrix, OWN), lines.product(matrix, "cusparse-csr")
            vendor = best_of(matrix, ("cusparse-csr", "cusparse-sell"))
            rows.append([name[:-4], f"{matrix['entries'] / 1e6:.0f} M", best["format"], ms(best, "median_seconds"),
                         f"{csr['median_seconds'] / best['median_seconds']:.2f}",
                         f"{vendor['median_seconds'] / best['median_seconds']:.2f}"])
    return markdown(["matrix", "entries", "best", "ms", "times cuSPARSE CSR", "times the better of its two"], rows)


def alike(name):
    return name.removeprefix("alike-").removesuffix(".petsc")


@table
def look_alikes():
    """Look-alikes of published matrices; speed-ups over cuSPARSE CSR."""
    shown = ("tune", "k1", "k1r", "k1rs", "k2", "k2r", "k2rs")
    rows = []
    for name, matrix in sorted(lines.matrices(read("look-alikes")).items()):
        best, csr = best_of(matrix, OWN), lines.product(matrix, "cusparse-csr")
        vendor = best_of(matrix, ("cusparse-csr", "cusparse-sell"))

        def over(f, base):
            return f"{base['median_seconds'] / f['median_seconds']:.2f}" if f else ""

        rows.append([alike(name), matrix["entries"], best["format"], f"{1e6 * best['median_seconds']:.1f}",
                     over(best, csr), over(best, vendor), *(over(lines.product(matrix, s), csr) for s in shown)])
    return markdown(["look-alike", "entries", "best", "us", "over CSR", "over the better", *shown], rows)


def auto_rows(found):
    for m in found:
        for c in m.get("auto_and_tune") or []:
            yield alike(m["matrix"]), m["entries"], c


@table
def auto(found=None):
    """What `auto` took beside what `tune` took."""
    found = list(lines.matrices(read("auto")).values()) if found is None else found
    rows = list(auto_rows(found))
    text = markdown(["matrix", "entries", "values", "auto", "tune", "time of auto / tune"],
                    [[name, entries, c["values"], c["auto"], c["tune"], f"{c['auto_over_tune']:.2f}"]
                     for name, entries, c in rows])
    ratios = sorted(c["auto_over_tune"] for _, _, c in rows)
    return text + (f"\n\n{len(ratios)} cases: median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}, over 1.1 "
                   f"in {sum(r > 1.1 for r in ratios)}." if ratios else "")


# Table 4 of Wong, Kuhl and Darve 2015: name, then GPU and CPU for K1, GPU and CPU for K2; the look-alike is the key
WONG_4 = {
    "scircuit": ("Circuit", 3, 15, 3, 12),
    "mac_econ_fwd500": ("Economics", 3, 12, 3, 13),
    "mc2depi": ("Epidemiology", 2, 20, 2, 21),
    "cop20k_A": ("FEMAccelerator", 3, 12, 3, 12),
    "cant": ("FEMCantilever", 12, 50, 9, 39),
    "rma10": ("FEMHarbor", 7, 27, 7, 28),
    "shipsec1": ("FEMShip", 8, 27, 8, 24),
    "consph": ("FEMSpheres", 10, 34, 10, 34),
    "pdb1HYS": ("Protein", 21, 96, 21, 91),
    "webbase-1M": ("Webbase", "never", "never", 2, 12),
    "pwtk": ("WindTunnel", 8, 26, 8, 24),
}


def products_to_pay(result, way):
    if result[f"{way}_seconds"] is None:
        return "-"
    count = result[f"{way}_products"]
    return "never" if count is None else f"{count:.0f}"


@table
def alpha(found=None):
    """Products of K1 and K2 in place of cuSPARSE's CSR after which a conversion has paid."""
    ways = ("update_from_device", "update", "convert_from_device", "convert")
    found = list(lines.matrices(read("alpha")).values()) if found is None else found
    rows = []
    for m in found:
        name = alike(m["matrix"])
        paper = WONG_4.get(name, (name, "-", "-", "-", "-"))
        kept = {f["format"]: f for f in m["formats"]}
        rows.append([paper[0], f"{paper[1]}, {paper[2]}", f"{paper[3]}, {paper[4]}",
                     *(products_to_pay(kept[f], way) for f in ("k1", "k2") for way in ways)])
    return markdown(["matrix", "paper K1 GPU, CPU", "K2 GPU, CPU",
                     *(f"{f} {w}" for f in ("K1", "K2") for w in ("scatter", "values", "device", "host"))], rows)


# ------------------------------------------------------------------ one GPU: solves

def solves_on_gpu():
    """Name of the storage and the line: the newest of each kind."""
    found = [line for line in read("solve") if line.get("benchmark") == "solve" and line["backend"] == "cuda"]
    for problem in ("q1-3d-256", "q1-3d-128", "q1-3d-64", "q1-2d-4096", "q1-2d-1024", "q1-2d-100"):
        kinds = [("slices, fp64", dict(format="auto", precision="fp64", commit="a72e707")),
                 ("compressed, fp64", dict(format=("auto", "compressed"), precision="fp64", loop="graph",
                                           smoother="jacobi")),
                 ("compressed, fp32 cycle", dict(format="compressed", precision="mixed", smoother="jacobi",
                                                 fuse_restriction=(False, None))),
                 ("the same, smoother `auto`", dict(format="compressed", precision="mixed", smoother="auto",
                                                     krylov=("auto", "cg"), fuse_restriction=(False, None))),
                 ("the same, `--fuse-restriction`", dict(format="compressed", precision="mixed", smoother="jacobi",
                                                         fuse_restriction=True))]
        for name, wanted in kinds:
            line = pick(found, problem=problem, **wanted)
            if line:
                yield problem, name, line


@table
def solves():
    """Solves of Poisson's equation on one H200."""
    return markdown(["problem", "unknowns", "storage", "it", "set-up s", "solve ms", "floor ms", "floor / solve",
                     "device GB", "commit"],
                    [[problem, line["unknowns"], name, line["iterations"], number(line["setup_seconds"]), ms(line),
                      number(1e3 * line["floor_seconds"]) if line.get("floor_seconds") else "", share(line), gigabytes(line), line["commit"][:7]]
                     for problem, name, line in solves_on_gpu()])


@table
def chosen():
    """Solves with everything chosen by the library on one H200."""
    solves = (line for line in read("chosen") if line["benchmark"] == "solve")
    found = latest(solves, lambda line: (line["problem"], line["distort"], line["from"], line["krylov"], line["right_hand_side"],
                                                 line["format"]))
    return markdown(["problem", "unknowns", "given as", "right-hand side", "Krylov method", "it", "relative residual", "solve ms", "floor ms",
                     "floor / solve", "device GB"],
                    [[line["problem"] + lines.distorted(line), line["unknowns"], line["from"], line["right_hand_side"], line["krylov"],
                      line["iterations"], f"{line['relative_residual']:.1e}", ms(line), ms(line, "floor_seconds"), share(line),
                      gigabytes(line)] for line in found])


@table
def batch():
    """Many small systems at once on one H200, each with a time of its own beside it."""
    found = latest(read("batch"), lambda line: (line["problem"], line["values"], line["smoother"]))
    return markdown(["problem", "systems", "unknowns each", "values", "smoother", "it", "set-up ms", "solve ms", "floor ms",
                     "one by one ms", "new values, one by one ms"],
                    [[line["problem"], line["systems"], line["unknowns"], line["values"], line["smoother"],
                      "{} to {}".format(*line["iterations"]), ms(line, "setup_seconds"), ms(line), ms(line, "floor_seconds"),
                      number(1e3 * line["systems"] * line["single_seconds"]),
                      number(1e3 * line["systems"] * line["single_refresh_seconds"])] for line in found])


@table
def first():
    """Set-up and first solution on one H200 from matrices that lie there, smoother `auto`."""
    found = latest((line for line in read("first") if line["benchmark"] == "first" and not line["matrix_alone"]),
                   lambda line: (line["problem"], line["distort"], line["options"], line["dirichlet"], line["whole_transfer"]))
    keys = ("check_seconds", "setup_seconds", "first_setup_seconds", "solve_seconds", "first_solution_seconds",
            "host_setup_seconds", "refresh_seconds")
    return markdown(["problem", "it", "check ms", "set-up ms", "first of a process ms", "solve ms", "first solution ms",
                     "set-up from the host ms", "new values ms"],
                    [[line["problem"] + lines.distorted(line)
                      + (", R A P" if "galerkin=always" in line["options"] else "")
                      + "".join(f", `{word}`" for word in line["options"].split() if word.startswith(("values=", "smoother=")))
                      + (", plain default" if line["options"] == "precision=auto" else "")
                      + (", smoother kept" if "reuse=smoother" in line["options"] else "")
                      + (f", Dirichlet {line['dirichlet']}" if line["dirichlet"] != "eliminate" else "")
                      + (", whole P" if line["whole_transfer"] else ""), line["iterations"],
                      *(ms(line, key) if line[key] else "" for key in keys)] for line in found])


@table
def container():
    """A container from a warm page cache to the first solution on one H200: the run of median time."""
    kinds = {}
    for line in read("container"):
        kinds.setdefault(line["problem"], []).append(line)
    runs = [sorted(found, key=lambda line: line["first_solution_seconds"])[len(found) // 2] for found in kinds.values()]
    return markdown(["problem", "it", "file GB", "read ms", "GB/s", "set-up ms", "solve ms", "first solution ms", "GB/s to it",
                     "host memory GB", "device GB"],
                    [[line["problem"], line["iterations"], number(1e-9 * line["file_bytes"]), ms(line, "load_seconds"),
                      number(line["load_gb_per_second"]), ms(line, "setup_seconds"), ms(line, "solve_seconds"),
                      ms(line, "first_solution_seconds"), number(line["gb_per_second"]),
                      number(1e-9 * line["host_peak_bytes"]), number(1e-9 * line["device_peak_bytes"])] for line in runs])


def how(line):
    words = [line["format"], "fp64" if line["precision"] == "fp64" else "fp32 cycle"]
    if line.get("values") not in (None, "full"):
        words.append(f"values {line['values']}")
    if line.get("krylov") == "defect":
        words.append("defect correction")
    return ", ".join(words)


@table
def distorted():
    """16.6 M unknowns on a distorted mesh with a smooth coefficient, one H200."""
    found = [line for line in read("distorted") if line.get("command") == "solve"]
    copy = next(line for line in read("distorted") if "copy_gb_per_second" in line)["copy_gb_per_second"]
    rows = []
    for k, line in enumerate(found):
        fused = k == len(found) - 1  # recorded last, with --fuse-restriction
        floor = line["bytes"] / copy / 1e9
        rows.append([line["smoother"], how(line) + (", `--fuse-restriction`" if fused else ""), line["iterations"],
                     number(line["setup_seconds"]), ms(line), number(1e3 * floor),
                     f"{100 * floor / line['solve_seconds']:.0f} %", gigabytes(line, "device_memory_peak_bytes")])
    return markdown(["smoother", "storage", "it", "set-up s", "solve ms", "floor ms", "floor / solve", "device GB"], rows)


OTHERS = ["Q2 3D 64^3", "Q2 3D 64^3, distorted 0.4", "Q2 2D 1024^2", "elasticity Q1 3D 64^3", "elasticity Q2 2D 512^2"]


@table
def others():
    """Quadratic elements and elasticity on one H200: iterations / ms."""
    found = [line for line in read("others") if line.get("command") == "solve"]
    rows = []
    for k, name in enumerate(OTHERS):
        trio = found[3 * k : 3 * k + 3]
        rows.append([name, f"{trio[0]['unknowns'] / 1e6:.2f} M",
                     *(f"{line['iterations']} / {ms(line)}" if line["converged"] else line["reason"].replace("_", " ")
                       for line in trio)])
    return markdown(["problem", "unknowns", "Jacobi 0.7, fp64 slices", "Jacobi auto, compressed fp16",
                     "SPAI, compressed fp16"], rows)


@table
def loops():
    """Small grids, and how the iteration is repeated on a GPU: ms (graph launches / synchronisations)."""
    found = [line for line in read("loops") if line.get("benchmark") == "solve" and line["krylov"] == "auto"]
    rows = []
    for problem in dict.fromkeys(line["problem"] for line in found):
        picked = (pick(found, problem=problem, loop=loop, right_hand_side=b)
                  for loop, b in (("graph", "ones"), ("graph", "random"), ("host", "ones")))
        rows.append([problem, *(f"{ms(line)} ({line['graph_launches']}/{line['synchronisations']})" if line else "" for line in picked)])
    return markdown(["problem", "graph", "graph, random b", "host"], rows)


@table
def collapse():
    """One cycle on a GPU by the rows up to which coarse levels become one dense operator."""
    found = [line for line in read("collapse") if line.get("benchmark") == "cycle"]
    kept = {}
    for line in found:
        kept[line["problem"], line["collapse"]] = line
    return markdown(["problem", "collapse up to", "steps", "cycle us", "sum of its steps us"],
                    [[p, "chosen" if c < 0 else c, line["steps"], number(1e6 * line["cycle_seconds"]),
                      number(1e6 * line["steps_seconds"])] for (p, c), line in kept.items()])


@table
def spai_setup():
    """Set-up of SPAI, 128^3 cells, on one H200 and on the 16 cores beside it."""
    found = read("setup")
    rows = []
    for distort in (0, 0.4):
        for smoother in ("spai:tau=0", "spai"):
            gpu, cpu = (pick(found, distort=distort, smoother=smoother, backend=b) for b in ("cuda", "cpu"))
            rows.append([f"distorted {distort}" if distort else "regular", smoother, number(1e3 * gpu["setup_seconds"]),
                         number(1e3 * cpu["setup_seconds"]) if cpu else "", ms(gpu), f"{gpu['solves']:.0f}"])
    return markdown(["mesh", "smoother", "GPU ms", "16 cores ms", "one solve ms", "set-up in solves"], rows)


@table
def spai_there():
    """Set-up with SPAI and FSAI from matrices that lie on one H200."""
    found = latest(read("spai"), lambda line: (line["problem"], line["distort"], line["options"]))
    keys = ("setup_seconds", "refresh_seconds", "host_setup_seconds", "solve_seconds")
    return markdown(["problem", "smoother", "it", "set-up ms", "of it the smoother ms", "new values ms",
                     "set-up from the host ms", "solve ms", "device GB beyond the matrices"],
                    [[line["problem"] + lines.distorted(line),
                      line["options"].partition("smoother=")[2], line["iterations"],
                      ms(line, keys[0]), number(1e3 * line["setup"]["smoother"]), *(ms(line, key) for key in keys[1:]),
                      number(1e-9 * line["setup_device_bytes"])] for line in found])


# ------------------------------------------------------------------ figures quoted in text

def host_and_gpu(**wanted):
    """A solver on 16 cores and on the GPU beside them, 256^3, lines of the newest commit that has both."""
    found = [line for line in read("solve") if line.get("problem") == "q1-3d-256" and lines.matches(line, wanted)]
    commits = [{line["commit"] for line in found if line["backend"] == backend} for backend in ("cpu", "cuda")]
    both = [line["commit"] for line in found if line["commit"] in commits[0] & commits[1]]
    return [pick(found, backend=backend, commit=both[-1]) for backend in ("cpu", "cuda")] if both else [None, None]


SLICES, COMPRESSED = dict(format="auto", precision="fp64"), dict(format="compressed", precision="mixed")


def figures():
    """Words, value, least, most and unit of every figure that is derived from several lines."""
    fused = {(p, n): line for p, n, line in solves_on_gpu()}["q1-3d-256", "the same, `--fuse-restriction`"]
    yield "unknowns a second, 256^3, `--fuse-restriction`", [fused["unknowns"] / fused["solve_seconds"] / 1e9], "billion"
    for what, wanted in (("fp64 slices", SLICES), ("compressed, fp32 cycle", COMPRESSED)):
        host, gpu = host_and_gpu(**wanted)
        if gpu:
            yield f"16 cores over GPU, {what}, commit {gpu['commit'][:7]}", [host["solve_seconds"] / gpu["solve_seconds"]], "times"
    for question, mesh in (("peers", "grid"), ("peers-distorted", "distorted 0.4")):
        runs = tables_peers.runs(question)
        of = f"{mesh}, {len(runs)} runs"
        for what, parts in (("solve", ["solve"]), ("set-up and solve", ["setup", "solve"])):
            yield f"{what}: best peer over this library, {of}", [best(run, False, parts) / best(run, True, parts) for run in runs], "times"
        equal = [(pick(run, **tables_peers.LIKE), pick(run, solver="petsc-mg-cheby1")) for run in runs]
        ratios = [peer["solve_seconds"] / own["solve_seconds"] for own, peer in equal if own and peer]
        yield f"solve: PCMG over fp64 slices, {mesh}, {len(ratios)} runs", ratios, "times"


def best(run, ours, parts):
    """Least seconds in those parts together of this library, or of its peers, in a run."""
    return min(sum(line[f"{part}_seconds"] for part in parts)
               for line in run if (line["solver"] == "cascademg") == ours)


@table
def derived():
    """Figures that are worked out from several lines."""
    return markdown(["figure", "median", "least", "most", "unit"],
                    [[w, number(statistics.median(v)), *(number(end(v)) if len(v) > 1 else "" for end in (min, max)), u]
                     for w, v, u in figures() if v])


@table
def readme():
    """The table of README.md: machine, storage, set-up, solve, command."""
    gpu = {(p, n): line for p, n, line in solves_on_gpu()}
    host = host_and_gpu(**COMPRESSED)[0]
    first_lines = [line for line in read("first") if line["benchmark"] == "first"]
    large = pick(first_lines, problem="q1-3d-256", distort=0, dirichlet="eliminate", whole_transfer=False, matrix_alone=False,
                 options="format=compressed precision=mixed")
    single = pick(read("alone"), benchmark="first", problem="q1-3d-256", distort=0, matrix_alone=True)
    rows = [("H200", large, "matrices on the GPU", "`build/benchmarks/bench_first --backend cuda --cells 256`"),
            ("H200", single, "A alone, on the GPU", "the same with `--matrix 1`"),
            ("H200", gpu["q1-3d-256", "compressed, fp32 cycle"], "compressed, fp32 cycle",
             "`benchmarks/gpu.sh build solve`"),
            ("H200", gpu["q1-3d-64", "compressed, fp32 cycle"], "compressed, fp32 cycle", "the same"),
            ("16 cores beside one", host, "compressed, fp32 cycle", "`benchmarks/gpu.sh build host`")]
    for question, mesh, command in (("peers", "", "`benchmarks/peers.sh build`"),
                                    ("peers-distorted", ", distorted 0.4", "`benchmarks/peers.sh build 128 0.4`")):
        run = tables_peers.median_run(question)
        kinds = [(dict(solver="cascademg", precision="mixed", format="auto"), "compressed, fp32 cycle" if not mesh else "`auto`, fp32 cycle"),
                 (tables_peers.LIKE, "slices, all fp64"), (dict(solver="petsc-mg-cheby1"), "PETSc, CG + PCMG, fp64"),
                 (dict(solver="hypre-boomeramg-tuned"), "hypre, CG + BoomerAMG, tuned")]
        unknowns = pick(run, solver="cascademg")["unknowns"]
        for wanted, name in kinds:
            line = pick(run, **wanted)
            rows.append((f"2 cores, {tables_peers.processor(run)}", {"unknowns": unknowns, **line}, name + mesh, command))
            command = "the same"
    return markdown(["machine", "unknowns", "solver", "set-up s", "solve ms", "command"],
                    [[machine, f"{line['unknowns'] / 1e6:.3g} M", name, spread(line, "setup_seconds", digits=2), ms(line), command]
                     for machine, line, name, command in rows])


# ------------------------------------------------------------------ writing

MARK = re.compile(r"(<!-- table ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.S)


def filled(text):
    def block(found):
        lines.ASKED.clear()
        table_text = TABLES[found[2]]()
        unknown = ", ".join(f"`{name}`" for name in lines.without_commit(lines.ASKED))
        return f"{found[1]}\n{table_text}\n\n" + (f"Commit not recorded: {unknown}.\n\n" if unknown else "") + found[3]
    return MARK.sub(block, text)


def pages():
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [s for s in subfolders if not s.startswith((".", "build"))]
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".md"))


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "--print" and sys.argv[2] in ("auto", "alpha"):
        found = []
        for path in sys.argv[3:]:
            with open(path, encoding="utf-8") as file:
                found += [m for line in file if line.startswith("{") for m in json.loads(line).get("matrices", [])]
        print(TABLES[sys.argv[2]](found))
        return 0
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    stale = count = 0
    for path in pages():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = filled(text)
        count += len(MARK.findall(text))
        if new != text:
            stale += 1
            print(f"{os.path.relpath(path, ROOT)}: " + ("not what the lines give" if check else "written"))
            if not check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(new)
    print(f"{count} tables, {stale} pages " + ("differ" if check else "rewritten"))
    return 1 if check and stale or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
