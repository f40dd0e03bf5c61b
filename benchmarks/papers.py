#!/usr/bin/env python3
"""The tables and figures of the papers behind the project, each with the paper's number, ours from recorded lines, and
whether the trend agrees.

    benchmarks/papers.py [--pictures FOLDER] fegmg | wong | zhang | dehnavi | ebe | heart | all

--pictures also writes bars as SVG. Nothing is measured here: lines.py says which lines are read, and each table names the command that records them. What has
no line is said at the end of each paper.

fegmg    Geveler, Ribbrock, Goeddeke, Zajac, Turek: FE-gMG on GPUs (2012)
wong     Wong, Kuhl, Darve: ELL-WARP, Int. J. Numer. Meth. Engng 102 (2015)
zhang    Zhang, Zhang: polynomial PCG and SBELL, Math. Probl. Eng. 2013, 398438
dehnavi  Dehnavi, Fernandez, Giannacopoulos: PCSR, IEEE Trans. Magn. 46 (2010)
ebe      EbEsym: matrix-free products on GPUs
heart    the cardiac simulation of Wong, Kuhl, Darve (2015)
"""

import csv
import os
import statistics
import sys

import lines
import papers_lines
import tables
import tables_methods
from papers_lines import agrees, cell, missing, over, picture, ratio, recorded, show, span, took, wong_matrices
from papers_wong import wong
from papers_zhang import zhang

# quantiles of the row lengths of published matrices: CMG_MATRIX_STATISTICS names the file
STATISTICS = os.environ.get("CMG_MATRIX_STATISTICS", os.path.join(
    os.environ.get("CMG_SHARED_DATA", os.path.join(tables.ROOT, "..", "shared", "data")), "reference",
    "seed_matrix_stats.tsv"))


# ------------------------------------------------------------------ FE-gMG


def numbering_gains(question):
    """Time in random order over the best of the other numberings, for every case and smoother."""
    found = [line for line in lines.read(question)
             if "smoother" in line and lines.matches(line, dict(krylov="cg", precision="mixed"))]
    rows = tables_methods.by_case(found, ["numbering"])
    gains = []
    for (*case, numbering), smoothers in rows.items():
        for head, line in smoothers.items() if numbering == "random" else ():
            others = [tables_methods.cost(rows.get((*case, n), {}).get(head)) for n in tables_methods.NUMBERINGS[:3]]
            if line["converged"] and min(others) < float("inf"):
                gains.append(tables_methods.cost(line) / min(others))
    return gains


def gpu_over_cpu():
    """The same solver on 16 cores and on the GPU beside them, two storages, lines of one commit."""
    solves = [line for line in lines.read("solve") if line.get("problem") == "q1-3d-256"]
    for wanted in (dict(format="auto", precision="fp64"), dict(format="compressed", precision="mixed")):
        cpu = lines.pick(solves, backend="cpu", **wanted)
        gpu = lines.pick(solves, backend="cuda", commit=cpu["commit"], **wanted)
        if gpu:
            yield cpu["solve_seconds"] / gpu["solve_seconds"]


def fegmg():
    told = [line["factors"] for line in tables_methods.factor_lines()]
    smoother = {t["case"]: t["baseline_over_same_cycle"] for t in told if t["baseline_over_same_cycle"]}
    total = [t["plain_cpu_over_best"] for t in told if t["plain_cpu_over_best"]]
    numbering = statistics.median(numbering_gains("numberings"))
    combined = [f * numbering for f in smoother.values()]
    gpu = list(gpu_over_cpu())
    show("The factors of the abstract", "`benchmarks/factors.py`, `benchmarks/smoothers.py`, `benchmarks/gpu.sh BUILD host`",
         ["what", "paper", "here", "trend"],
         [["approximate inverse over Jacobi, same cycle", "3.5", span(smoother.values()),
           "on the worst cells" if min(smoother.values()) < 3 < max(smoother.values()) else agrees(min(smoother.values()) > 3)],
          ["the same, and a good numbering over a random one", "7", f"{span(combined)} (numbering alone: {numbering:.2f})",
           "on the worst cells" if min(combined) < 6 < max(combined) else agrees(min(combined) > 6)],
          ["GPU over multithreaded CPU, same solver", "5", f"{span(gpu, 1)} over 16 cores", agrees(min(gpu) > 1)],
          ["all together over plain multigrid on CPUs", "over 40", span(total, 0), agrees(min(total) > 40)]],
         "The smoother's factor depends on the cells: " + ", ".join(f"{c} {f:.2f}" for c, f in smoother.items()) +
         ". On distorted cells it is far from 3.5; stretched and bad ones come near it or pass it.")
    rows = {}
    for line in tables_methods.counts("published"):
        if line["smoother"] in ("jacobi", "file:spai", "file:sainv"):
            rows.setdefault((line["file"], line["smoother"]), []).append(str(line["iterations"]))
    show("Their own hierarchies and approximate inverses, 4 / 2 / 1 steps", "`benchmarks/iterations.py`",
         ["hierarchy", "smoother", "iterations"], [[*key, " / ".join(counts)] for key, counts in rows.items()],
         "Their SPAI and SAINV need a third of Jacobi's iterations: agrees.")
    missing("the absolute times of their machines")


# ------------------------------------------------------------------ Dehnavi

DEHNAVI_1 = {"consph": (98.8, 96.4, 92.2), "cant": (99.2, 98.0, 93.3), "shipsec1": (98.0, 97.3, 96.1),
             "mac_econ_fwd500": (93.8, 80.0, 44.0), "s3dkt3m2": (97.8, 97.7, 68.69)}
DEHNAVI_2 = {"consph": 2.39, "cant": 2.60, "shipsec1": 2.26, "mac_econ_fwd500": 2.38, "s3dkt3m2": 2.64}


def fill(row, n):
    """Percentage of entries among those of rows padded to multiples of n, from the quantiles of the row lengths: straight
    lines up to the third quartile, and the rest at the length that gives the mean."""
    marks = [float(row[k]) for k in ("row_min", "row_q1", "row_median", "row_q3")]
    samples = [marks[k // 100] + (marks[k // 100 + 1] - marks[k // 100]) * (k % 100) / 100 for k in range(300)]
    last = (400 * float(row["row_mean"]) - sum(samples)) / 100
    lengths = [round(s) for s in samples + [min(max(last, marks[3]), float(row["row_max"]))] * 100]
    return 100 * sum(lengths) / sum(-(-length // n) * n for length in lengths)


def dehnavi():
    if os.path.exists(STATISTICS):
        with open(STATISTICS, newline="", encoding="utf-8") as file:
            known = {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}
        rows = []
        for name, paper in DEHNAVI_1.items():
            ours = [fill(known[name], n) for n in (2, 4, 8)]
            worst = max(abs(a - b) for a, b in zip(ours, paper))
            rows.append([name, " ".join(f"{p:.1f}" for p in paper), " ".join(f"{o:.1f}" for o in ours),
                         "agrees" if worst < 3 else f"{worst:.0f} points off"])
        show("Table I: filling ratio for padding 2, 4, 8, in percent", "from the quantiles of the row lengths, no matrix needed",
             ["matrix", "paper", "here", "trend"], rows,
             "The first three agree. The last two differ at 8; the paper's nonzeros a row of these columns (21.24 and 6.1, where "
             "the matrices have 6 and 42) are exchanged or worse.")
    else:
        print(f"\nTable I needs the row statistics of the matrices: CMG_MATRIX_STATISTICS names them ({STATISTICS} is not here).")
    alikes, _ = wong_matrices()
    show("Beside Table II: what a CSR kernel gains on the vendor's today", "look-alikes by `cmg bench spmv`",
         ["matrix", "paper: PCSR over row-per-warp", "CSR over cuSPARSE CSR"],
         [[name, paper, cell(ratio(alikes[name], "cusparse-csr", "csr"))] for name, paper in DEHNAVI_2.items() if name in alikes],
         "Another question, and a smaller factor: today's vendor kernel has most of what PCSR gained.")
    rows = []
    for name, m in recorded("dehnavi").items():
        pad = {n: took(m, "pcsr", "pad", n) for n in (1, 2, 4, 8)}
        fetch = {n: took(m, "pcsr", "prefetch", n) for n in (1, 2, 4, 8)}
        best = min(t for t in [*pad.values(), *fetch.values()] if t)
        rows.append([tables.alike(name.removesuffix(".petsc")), f"{1e6 * best:.1f}",
                     *(f"{100 * (pad[1] / pad[n] - 1):+.0f} %" for n in (2, 4, 8)),
                     *(f"{100 * (fetch[1] / fetch[n] - 1):+.0f} %" for n in (2, 4, 8)),
                     *(cell(over(took(m, "csr", "t", t), best)) for t in (1, 32)),
                     cell(over(took(m, "csr"), best)), cell(over(took(m, "cusparse-csr"), best))])
    show("Figures 6 to 8 and Table II: PCSR", "`benchmarks/papers.sh BUILD cuda statistics=FILE dehnavi`, look-alikes, fp64",
         ["matrix", "us", "padding 2", "4", "8", "prefetch 2", "4", "8", "over row a thread", "over row a warp", "over CSR here",
          "over cuSPARSE CSR"], rows,
         "There padding 4 gained 60 %, prefetching 16 %, and PCSR was 3.4 times as fast as a row a thread and 2.5 times as a row a "
         "warp. Today padding and prefetching still gain, but caches and wide loads have made its comparators faster: PCSR is about "
         "level with a row a thread, behind a row a warp wherever rows are long, and behind CSR and cuSPARSE everywhere. A refutation "
         "for this hardware.")
    missing("the Cell processor and the four-core CPU")


# ------------------------------------------------------------------ EbEsym

EBE_SIZES = {"C1": (100000, 202202), "C2": (400000, 804402), "C3": (900000, 1806602), "C4": (1600000, 3208802),
             "C5": (2500000, 5011002), "L1": (1750000, 3508002), "L2": (3112880, 6236448), "L3": (4480000, 8972802),
             "L4": (5783967, 11582480), "L5": (7000000, 14016002)}

EBE_PLATES = {"H1": (984681, 988734), "H2": (1938537, 1944226), "H3": (3048540, 3055672), "H4": (4215044, 4223429),
              "H5": (6240237, 6250435)}
EBE_GAINS = {"elastic": "5.0, 2.8, 1.4", "heat": "3.0, 3.0, 1.3", "canti": "5.0, 2.8, 1.4", "lbeam": "5.0, 2.8, 1.4",
             "plate": "3.0, 3.0, 1.3"}


def ebe_sizes(name):
    """Cells and unknowns of `cmg generate --case`: 10 n x n cells, or seven squares of n x n."""
    if name[0] == "C":
        n = 100 * int(name[1])
        return 10 * n * n, 2 * (10 * n + 1) * (n + 1)
    n = {"L1": 500, "L2": 668, "L3": 800, "L4": 909, "L5": 1000}[name]
    return 7 * n * n, 2 * ((4 * n + 1) * (n + 1) + (n + 1) * 3 * n)


def ebe():
    rows = [[name, *paper, *ebe_sizes(name), "equal" if ebe_sizes(name) == paper else f"{100 * (ebe_sizes(name)[0] / paper[0] - 1):+.2f} % cells"]
            for name, paper in EBE_SIZES.items()]
    verdict = f"{sum(row[-1] == 'equal' for row in rows)} of {len(rows)} sizes of C and L are equal"
    found = {line["case"]: line for line in lines.read("storage")}
    for name, (cells, unknowns) in EBE_PLATES.items():
        here = found["plate-" + name.lower()]["rows"]
        rows.append([name, cells, unknowns, "", here, f"{100 * (here / unknowns - 1):+.2f} % unknowns"])
    show("Tables 1 to 3: meshes", "`cmg generate --case cantilever-c1` and the like; unknowns of C and L count fixed ones, those of H do not",
         ["mesh", "paper cells", "paper unknowns", "cells", "unknowns", ""], rows,
         verdict + "; H is unstructured there, and blocks around the holes here.")
    rows = []
    for name, n, nodes in (("quadrilateral, elasticity", 8, 4), ("quadrilateral, heat", 4, 4),
                           ("hexahedron, elasticity", 24, 8), ("hexahedron, heat", 8, 8)):
        full, half = 8 * n * n + 4 * nodes, 4 * n * (n + 1) + 4 * nodes
        rows.append([name, full, half, f"{full / half:.2f}"])
    show("Figure 11: bytes an element", "by formula: 8 n^2 for EbE, 4 n (n + 1) for EbEsym, and 4 for the number of each node",
         ["element", "EbE", "EbEsym", "ratio"], rows,
         "1.5 (elasticity) and 1.3 (heat) there, vectors and colours included: agrees in order.")
    rows = []
    panels = {}
    hexes = [m["by"]["ebe", "fp64", None, None]["share_of_copy"] for name, m in recorded("ebe").items() if "hexes" in name]
    for name, m in {**recorded("ebe"), **recorded("sizes")}.items():
        of = {f: m["by"].get((f, "fp64", None, None)) for f in ("nbn", "dbd", "ebe", "ebesym", "sell", "sbell")}
        took_us = {f: 1e6 * p["median_seconds"] for f, p in of.items() if p and p["median_seconds"]}
        gain = next((g for part, g in EBE_GAINS.items() if part in name and "hex" not in name), "-")
        half = took_us.get("ebesym")
        rows.append([name, m["rows"], gain, *(cell(over(took_us.get(f), half)) for f in ("nbn", "dbd", "ebe")),
                     *(cell(took_us.get(f), 0) for f in ("ebe", "ebesym", "sell", "sbell")),
                     *(f"{of[f]['gb_per_second']:.0f} ({100 * of[f]['share_of_copy']:.0f} %)" if of[f] else "" for f in ("ebe", "ebesym")),
                     cell(1e-3 * 2 * of["ebe"]["stored"] / half if half else None, 0),
                     cell(of["ebe"]["bytes"] / of["ebesym"]["bytes"] if half else None)])
        panels[name] = {f: took_us[f] for f in ("nbn", "dbd", "ebe", "ebesym") if f in took_us}
    picture("ebe-9", "EbEsym Fig. 9: a product, us", panels)
    show("Figures 9 to 13: EbEsym over the others, matrices of their own, fp64", "`benchmarks/papers.sh BUILD cuda ebe sizes`, distorted",
         ["mesh", "unknowns", "paper: over NbN, DbD, EbE", "NbN", "DbD", "EbE", "EbE us", "EbEsym us", "SELL us", "SBELL us",
          "EbE, GB/s (of copy)", "EbEsym, GB/s (of copy)", "EbEsym, Gflop/s", "EbE / EbEsym bytes"], rows,
         "Half the matrix is worth as much as there over EbE (1.4 and 1.3): agrees. NbN and DbD, whose reads have neighbours here, "
         "lose far less than there. Memory: 1.5 and 1.3 there. EbE of hexahedra moves its bytes at " +
         " to ".join(f"{100 * share:.0f}" for share in sorted(hexes)[::max(len(hexes) - 1, 1)]) + " % of a copy's speed, more where there are more. Every product by elements with matrices of its own loses to "
         "assembled slices today.")
    ebe_templates()
    ebe_peer()
    wanted = [] if ebe_solves() else ["whole solves (`benchmarks/papers.sh BUILD cuda solves large`)"]
    wanted += ["H1 to H5 as they are, unstructured: cases of nearly the same size stand for them"]
    if not recorded("sizes"):
        wanted.insert(0, "kernel times at the sizes of Tables 1 to 3 (`benchmarks/papers.sh BUILD cuda sizes`)")
    missing(*wanted)


def ebe_templates():
    rows, panels = [], {}
    for matrix, m in recorded("templates").items():
        for (name, values, *_), f in m["by"].items():
            base = took(m, "sbell", values=values)
            if f["median_seconds"] and base and matrix.startswith("elastic"):
                floor = (f["bytes"] + 2 * m["rows"] * (8 if values == "fp64" else 4)) / m["copy"] * 1e-3
                rows.append([matrix, name, values, f"{1e6 * f['median_seconds']:.1f}", f"{f['bytes'] / 1e6:.0f}", f"{floor:.1f}",
                             cell(base / f["median_seconds"]), cell(1e6 * base / floor, 1)])
                panels.setdefault(f"{matrix}, {values}", {})[name] = 1e6 * f["median_seconds"]
    show("Beside the paper: templates with a factor an element, hexahedra, random coefficient, elasticity",
         "`benchmarks/papers.sh BUILD cuda templates`", ["mesh", "format", "values", "us", "MB", "us at the speed of a copy",
                                                         "over SBELL", "at most"], rows,
         ebe_templates_verdict())
    ebe_whole()
    picture("ebe-templates", "Element templates, us a product", panels)


def ebe_templates_verdict():
    """What the kernels reach of what bytes and arithmetic allow, on the largest mesh."""
    name, m = max(recorded("templates").items(), key=lambda item: item[1]["rows"])
    gains = {v: over(took(m, "sbell", values=v), took(m, "ebe", values=v)) for v in ("fp64", "fp32")}
    nodes = m["rows"] / 3
    patches = max(f["median_seconds"] for line in lines.read("papers") for other in line.get("matrices", [])
                  if other["matrix"].startswith(name) for f in other["formats"] if (f["format"], f["values"]) == ("ebe", "fp64"))
    return (f"On {name} {gains['fp64']:.1f} times SBELL's speed in fp64 and {gains['fp32']:.1f} in fp32. There and wherever cells are "
            "those of a lattice nothing is read but x and a factor a cell; in the sums and differences of a cell's corners K falls into "
            f"blocks of 3 x 3, 192 operations a cell in place of 1152. At the speed of a copy that were {56e-3 * nodes / m['copy']:.0f} us, at "
            f"34 Tflop/s of fp64 (two operations at once) {2 * 192 * 1e6 * nodes / 34e12:.0f}: what is left are the waits of two barriers "
            "a layer and cells that two blocks multiply. Other meshes have patches: node numbers, colours, the tensor cores "
            f"({over(took(m, 'sbell'), patches):.1f} times).")


def ebe_solves(backend="cuda"):
    """Lines of bench_elements by mesh and options, the last of each."""
    return {(line["case"], line["options"]): line for line in lines.read("papers")
            if line["paper"] == "solves" and line["backend"] == backend and line["outcome"].startswith("converged") and not line["fallbacks"]}


def ebe_whole():
    """Whole solves: elements against the best assembled storage, with the same smoother and whatever smoother."""
    solved = ebe_solves()
    if not solved:
        return
    rows, verdicts = [], []
    for mesh in sorted({key[0] for key in solved}, key=lambda name: int(name.split("-")[-1])):
        mine = {options: line for (m, options), line in solved.items() if m == mesh}
        seconds = {own: {o: line["solve_seconds"] for o, line in mine.items() if ("format=ebe" in o) == own} for own in (True, False)}
        for options, line in sorted(mine.items()):
            rest = options.split(" ", 1)[1].replace("block-rows=3 ", "")
            same = min((t for o, t in seconds[False].items() if o.split(" ", 1)[1].replace("block-rows=3 ", "") == rest), default=None)
            rows.append([mesh, options.replace("format=", "").replace("smoother=", ""), line["unknowns"], line["iterations"],
                         cell(1e3 * line["solve_seconds"]), cell(1e6 * line["solve_seconds"] / line["iterations"], 0),
                         cell(1e-9 * line["bytes"] / line["copy_gb_per_second"] * 1e3), cell(line["setup_seconds"]),
                         cell(over(same, line["solve_seconds"]), 1) if "format=ebe" in options else ""])
        if seconds[True] and seconds[False]:
            verdicts.append(f"{mesh}: {over(min(seconds[False].values()), min(seconds[True].values())):.1f} times as fast as the best "
                            "assembled storage with the best smoother for it")
    show("A whole solve: CG + V(1,1) to 1e-8", "`benchmarks/papers.sh BUILD cuda solves large`",
         ["mesh", "storage", "unknowns", "iterations", "ms", "us an iteration", "ms at the speed of a copy", "set-up s", "over the same, assembled"],
         rows, "; ".join(verdicts) + ". A of every level of 16 cells a side and more is multiplied by elements, P and R are rows that repeat.")


def ebe_peer():
    line = lines.pick(lines.read("mfem"), benchmark="mfem")
    show("Beside MFEM: 3D Q1 diffusion, one core, CPU ms", "`benchmarks/mfem_peer.py CMG CPU_CLOCK.so`",
         ["unknowns", "MFEM " + line["mfem"] + ", CSR", "partial assembly", *line["seconds"]],
         [[line["unknowns"], *(f"{1e3 * t:.1f}" for t in (line["mfem_csr_seconds"], line["mfem_partial_seconds"],
                                                          *line["seconds"].values()))]],
         "Elements by templates take a fraction of the time of MFEM's partial "
         "assembly, which is made for higher orders; assembled matrices are faster still at order 1 on a CPU.")


WATTS = {"cpu": 15.0, "gpu": 700.0}  # of a core of a server's processor; of an H200, by its data sheet


def heart_lines(backend="cuda", **wanted):
    """Last line a mesh, smallest first."""
    found = {}
    for line in lines.read("heart"):
        if line["benchmark"] == "heart" and lines.matches(line, dict(backend=backend, beats=None, **wanted)):
            found[line["nodes"]] = line
    return [found[n] for n in sorted(found)]


def shares(line):
    parts = line["seconds"]
    return [f"{100 * parts[name] / parts['total']:.0f} %" for name in ("cells", "sums", "prepare", "solve")]


HEART_PARTS = ["nodes", "cells' work", "sums", "preparation", "solve", "Newton a step", "CG a Newton", "ms a step"]


def heart_shares(config, what, **wanted):
    return what, [[line["nodes"], *shares(line), f"{line['newton'] / line['steps']:.1f}",
                   f"{line['cg_iterations'] / line['newton']:.1f}", cell(line["step_ms"])]
                  for line in heart_lines(config=config, **wanted)]


def heart_cpu():
    """PETSc and this program on the cores of one machine, and shorter time steps."""
    columns = [(config, t) for config in ("petsc-bjacobi", "petsc-jacobi", "jacobi", "multigrid") for t in (1, 2)]
    found = {column: {line["nodes"]: line for line in heart_lines("cpu", config=column[0], threads=column[1], dt=1.0, time=20)}
             for column in columns}
    machine = found["petsc-bjacobi", 1][3111]["machine"]
    rows = [[n, *(cell(found[c][n]["step_ms"]) for c in columns)] for n in sorted(found["petsc-bjacobi", 1])]
    show(f"Beside Fig. 15: cores alone, ms a step, {machine}",
         "`benchmarks/heart.py --petsc ... --threads 1,2 --repeat 3`, `benchmarks/heart.py --configs jacobi,multigrid --threads 1,2 --repeat 3`: "
         "the fastest of two to five runs, at raised priority on a machine with other work; threads wait by spinning.",
         ["nodes", *(f"{config}, {t}" for config, t in columns)], rows,
         "PETSc gains 1.4 to 1.7 from the second process. This program's threads gain 1.3 to 1.4 at best and nothing on small meshes, where "
         "every wait for both meets the machine's other work; beside the GPU, on idle cores, they gain 1.6 (Fig. 15). On one core "
         "multigrid passes Jacobi between five and 27 thousand nodes.")
    rows = []
    for dt in (1.0, 0.5, 0.25, 0.1):
        for config in ("jacobi", "multigrid"):
            for line in heart_lines("cpu", config=config, threads=1, dt=dt, time=20 if dt == 1.0 else 6):
                if line["nodes"] > 20000:
                    rows.append([line["nodes"], dt, config, f"{line['cg_iterations'] / line['newton']:.1f}", cell(line["step_ms"])])
    show("Where multigrid beats Jacobi: time steps, one core", "`benchmarks/heart.py --threads 1 --dt DT --ms 6`, the first row a size of 20 ms.",
         ["nodes", "dt, ms", "solver", "CG a Newton", "ms a step"], sorted(rows, key=lambda row: (row[0], -row[1])),
         "The mass rules a short step, and the diagonal does. Under half a millisecond Jacobi wins at these sizes, by 4 to 8 %: in a run "
         "with a longer --dt the program takes it for such steps by itself.")


def heart():
    command = "`benchmarks/heart.py`, meshes by `examples/heart/ellipsoid.py`, dt = 1 ms, first 20 ms (10 from 194 thousand nodes on)."
    for what, rows in (heart_shares("petsc-bjacobi", "one core, PETSc's CG with block Jacobi", backend="cpu", threads=1),
                       heart_shares("petsc-bjacobi", "the same on two processes", backend="cpu", threads=2),
                       heart_shares("jacobi", "GPU, Jacobi (the paper's)", profiled=True),
                       heart_shares("chebyshev", "GPU, Chebyshev", profiled=True),
                       heart_shares("multigrid", "GPU, multigrid set up once", profiled=True)):
        show(f"Figs. 2, 3: shares of a step, {what}", command, HEART_PARTS, rows,
             "Paper: assembly first, and the share of CG grows with the mesh. So it is with PETSc here; on the GPU cells and sums take "
             "little, and CG is most of a step from the start.")
    one, two = ({line["nodes"]: line for line in heart_lines(config="petsc-bjacobi", backend="cpu", threads=t, time=20)} for t in (1, 2))
    host = {t: {line["nodes"]: line for line in heart_lines(config="jacobi", backend="cpu", threads=t, time=5)} for t in (1, 2, 4, 16)}

    def newton_ms(line):
        return line["step_ms"] * line["steps"] / line["newton"]

    configs = ("jacobi-csr", "jacobi-k1", "jacobi-k2", "jacobi-compressed", "jacobi-cusparse", "jacobi", "chebyshev", "multigrid")
    rows = []
    for config in configs:
        for line in heart_lines(config=config, profiled=False, time=20):
            if line["nodes"] in one:
                others = [found.get(line["nodes"]) for found in (one, two, *(host[t] for t in (1, 2, 4, 16)))]
                rows.append([line["nodes"], config, cell(line["step_ms"]), *(cell(c and newton_ms(c) / newton_ms(line), 0) for c in others)])
    show("Fig. 15: speed-up over PETSc's CG with block Jacobi on one and two processes, and over this program on cores beside the GPU",
         "Times of a Newton step; PETSc: `benchmarks/heart.py --petsc BUILD/benchmarks/bench_heart_petsc --threads 1,2`, on another "
         f"machine ({next(iter(one.values()))['machine']}); "
         "cores: `benchmarks/heart.py --ms 5 --threads 16,4,2,1 --configs jacobi`.",
         ["nodes", "on the GPU", "ms a step", "over PETSc", "on 2", "over 1 core", "2", "4", "16"], sorted(rows, key=lambda row: row[0]),
         "Paper: 5 to 12 over one core with PETSc, growing with the mesh: so it does here. K1, K2, CSR and cuSPARSE differ by less "
         "than 10 % under Jacobi: the matrix fits into the cache, and a CG iteration is a handful of launches.")
    heart_cpu()
    rows = []
    for line in lines.read("heart"):
        base = one.get(line.get("nodes"))
        if line["benchmark"] == "heart" and line.get("beats") and base:
            for what, watts in (("measured", line["watts"]), ("of the data sheet", WATTS["gpu"])):
                rows.append([line["nodes"], line["config"], what, f"{watts:.0f}", cell(line["step_ms"]), cell(1e-3 * watts * line["step_ms"]),
                             cell(newton_ms(base) / newton_ms(line) * WATTS["cpu"] / watts)])
    show("Fig. 16: the same by power", f"`benchmarks/heart.py --energy`, the GPU's counter over three beats; a core at {WATTS['cpu']:.0f} W "
         "(`--watts CPU,GPU` of this command).",
         ["nodes", "on the GPU", "watts", "W", "ms a step", "J a step", "speed-up over PETSc by power"], rows,
         "Paper: 1.0 to 1.6 over four cores by the watts of the data sheets.")
    rows = [[line["cell"], line["problem"], line["entries"], *(f"{1e3 * line[k]:.3g}" for k in (
        "cells_seconds", "csr_seconds", "update_seconds", "store_seconds"))]
        for line in lines.read("heart") if line["benchmark"] == "assembly"]
    show("Section 4: assembly as a product", "`bench_assembly`; ms.",
         ["cell", "problem", "entries", "cell matrices", "values in CSR order", "reordered", "straight into the storage"], rows,
         "Written straight into the storage, K needs no reordering: the paper's conclusion.")
    missing("PETSc on four and sixteen cores", "MGPU")


PAPERS = {"fegmg": fegmg, "wong": wong, "zhang": zhang, "dehnavi": dehnavi, "ebe": ebe, "heart": heart}


def main():
    asked = sys.argv[1:]
    if "--pictures" in asked:
        at = asked.index("--pictures")
        papers_lines.PICTURES[:] = asked[at + 1:at + 2]
        del asked[at:at + 2]
    if "--watts" in asked[:-1]:
        at = asked.index("--watts")
        WATTS.update(zip(("cpu", "gpu"), map(float, asked[at + 1].split(","))))
        del asked[at:at + 2]
    if not asked or any(name not in (*PAPERS, "all") for name in asked):
        sys.exit(__doc__)
    for name in PAPERS if "all" in asked else asked:
        print(f"\n## {name}")
        PAPERS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
