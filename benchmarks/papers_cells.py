"""EbEsym, matrix-free products on GPUs, and the cardiac simulation of Wong, Kuhl, Darve (2015); see papers.py."""

import lines
from papers_lines import cell, missing, over, picture, recorded, show, span, took, verdict

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
    equal, apart = sum(row[-1] == "equal" for row in rows), []
    found = {line["case"]: line for line in lines.read("storage")}
    for name, (cells, unknowns) in EBE_PLATES.items():
        here = found["plate-" + name.lower()]["rows"]
        apart.append(100 * abs(here / unknowns - 1))
        rows.append([name, cells, unknowns, "", here, f"{100 * (here / unknowns - 1):+.2f} % unknowns"])
    show("Tables 1 to 3: meshes", "`cmg generate --case cantilever-c1` and the like; unknowns of C and L count fixed ones, those of H do not",
         ["mesh", "paper cells", "paper unknowns", "cells", "unknowns", ""], rows,
         f"{equal} of {len(EBE_SIZES)} sizes of C and L are equal.",
         verdict(max(apart) < 4, f"H, unstructured there and blocks around the holes here, is as large within {max(apart):.1f} %"))
    rows = []
    for name, n, nodes in (("quadrilateral, elasticity", 8, 4), ("quadrilateral, heat", 4, 4),
                           ("hexahedron, elasticity", 24, 8), ("hexahedron, heat", 8, 8)):
        full, half = 8 * n * n + 4 * nodes, 4 * n * (n + 1) + 4 * nodes
        rows.append([name, full, half, f"{full / half:.2f}"])
    show("Figure 11: bytes an element", "by formula: 8 n^2 for EbE, 4 n (n + 1) for EbEsym, and 4 for the number of each node",
         ["element", "EbE", "EbEsym", "ratio"], rows,
         "1.5 (elasticity) and 1.3 (heat) there, vectors and colours included.")
    rows, panels, losses, beside = [], {}, [], []
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
        if half and gain != "-":
            there = [float(word) for word in gain.split(", ")]
            losses.append([took_us[f] / half / paper for f, paper in zip(("nbn", "dbd", "ebe"), there)])
        assembled = [took_us[f] for f in ("sell", "sbell") if f in took_us]
        if assembled:
            beside.append(min(took_us[f] for f in ("nbn", "dbd", "ebe", "ebesym") if f in took_us) / min(assembled))
        panels[name] = {f: took_us[f] for f in ("nbn", "dbd", "ebe", "ebesym") if f in took_us}
    picture("ebe-9", "EbEsym Fig. 9: a product, us", panels)
    show("Figures 9 to 13: EbEsym over the others, matrices of their own, fp64", "`benchmarks/papers.sh BUILD cuda ebe sizes`, distorted",
         ["mesh", "unknowns", "paper: over NbN, DbD, EbE", "NbN", "DbD", "EbE", "EbE us", "EbEsym us", "SELL us", "SBELL us",
          "EbE, GB/s (of copy)", "EbEsym, GB/s (of copy)", "EbEsym, Gflop/s", "EbE / EbEsym bytes"], rows,
         verdict(all(0.85 < loss[2] < 1.15 for loss in losses), "Half the matrix is worth as much as there over EbE (1.4 and 1.3)"),
         verdict(all(max(loss[:2]) < 0.7 for loss in losses), "NbN and DbD, whose reads have neighbours here, lose far less than there",
                 "does not agree"),
         "EbE adds in a fixed order here instead of by colours: another algorithm than theirs. Its products of hexahedra move their bytes at "
         + " to ".join(f"{100 * share:.0f}" for share in sorted(hexes)[::max(len(hexes) - 1, 1)]) + " % of a copy's speed.",
         verdict(min(beside) > 1, f"Every product by elements with matrices of its own loses to assembled slices today ({min(beside):.2f} to "
                 f"{max(beside):.2f} times their time)", "holds"))
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
         *ebe_templates_verdict())
    ebe_whole()
    picture("ebe-templates", "Element templates, us a product", panels)


def ebe_templates_verdict():
    """What the kernels reach of what bytes and arithmetic allow, on the largest mesh."""
    name, m = max(recorded("templates").items(), key=lambda item: item[1]["rows"])
    gains = {v: over(took(m, "sbell", values=v), took(m, "ebe", values=v)) for v in ("fp64", "fp32")}
    nodes = m["rows"] / 3
    patches = max(f["median_seconds"] for line in lines.read("papers") for other in line.get("matrices", [])
                  if other["matrix"].startswith(name) for f in other["formats"] if (f["format"], f["values"]) == ("ebe", "fp64"))
    yield verdict(min(gains.values()) > 5, f"On {name} {gains['fp64']:.1f} times SBELL's speed in fp64 and {gains['fp32']:.1f} in fp32", "holds")
    copied, computed = 56e-3 * nodes / m["copy"], 2 * 192 * 1e6 * nodes / 34e12
    yield ("There and wherever cells are those of a lattice nothing is read but x and a factor a cell; in the sums and differences of a cell's "
           "corners K falls into blocks of 3 x 3, 192 operations a cell in place of 1152. At the speed of a copy that were "
           f"{copied:.0f} us, at 34 Tflop/s of fp64 (two operations at once) {computed:.0f}.")
    yield verdict(took(m, "ebe") * 1e6 > copied + computed, "It takes longer than both: waits of two barriers a layer, and cells that two blocks "
                  "multiply", "holds")
    yield f"Other meshes have patches: node numbers, colours, the tensor cores ({over(took(m, 'sbell'), patches):.1f} times)."


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
            gain = over(min(seconds[False].values()), min(seconds[True].values()))
            verdicts.append(verdict(gain > 2, f"{mesh}: {gain:.1f} times as fast as the best assembled storage with the best smoother for it",
                                    "holds"))
    show("A whole solve: CG + V(1,1) to 1e-8", "`benchmarks/papers.sh BUILD cuda solves large`",
         ["mesh", "storage", "unknowns", "iterations", "ms", "us an iteration", "ms at the speed of a copy", "set-up s", "over the same, assembled"],
         rows, *verdicts, "A of every level of 16 cells a side and more is multiplied by elements, P and R are rows that repeat.")


def ebe_peer():
    line = lines.pick(lines.read("mfem"), benchmark="mfem")
    show("Beside MFEM: 3D Q1 diffusion, one core, CPU ms", "`benchmarks/mfem_peer.py CMG CPU_CLOCK.so`",
         ["unknowns", "MFEM " + line["mfem"] + ", CSR", "partial assembly", *line["seconds"]],
         [[line["unknowns"], *(f"{1e3 * t:.1f}" for t in (line["mfem_csr_seconds"], line["mfem_partial_seconds"],
                                                          *line["seconds"].values()))]],
         verdict(line["seconds"]["ebe"] < 0.2 * line["mfem_partial_seconds"], "Elements by templates take "
                 f"{over(line['seconds']['ebe'], line['mfem_partial_seconds']):.2f} of the time of MFEM's partial assembly, which is made for higher "
                 "orders; its element assembly was not run", "holds"),
         verdict(min(line["seconds"][f] for f in ("csr", "sell", "compressed")) < line["seconds"]["ebe"],
                 "Assembled matrices are faster still at order 1 on a CPU", "holds"))


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


def share_verdict(rows, on_gpu):
    """Whether assembly comes first and the share of CG grows with the mesh, as in the paper."""
    solve = [int(row[4].split()[0]) for row in rows]
    if not on_gpu:
        return verdict(max(solve) < 50 and solve[-1] > solve[0], f"Assembly first, and the share of CG grows with the mesh, {solve[0]} to {solve[-1]} %")
    return verdict(min(solve) > 50, "Assembly comes first there; on the GPU CG is most of a step from the start", "does not agree")


def heart_cpu():
    """PETSc and this program on the cores of one machine, and shorter time steps."""
    columns = [(config, t) for config in ("petsc-bjacobi", "petsc-jacobi", "jacobi", "multigrid") for t in (1, 2)]
    found = {column: {line["nodes"]: line for line in heart_lines("cpu", config=column[0], threads=column[1], dt=1.0, time=20)}
             for column in columns}
    machine = found["petsc-bjacobi", 1][3111]["machine"]
    nodes = sorted(found["petsc-bjacobi", 1])
    rows = [[n, *(cell(found[c][n]["step_ms"]) for c in columns)] for n in nodes]
    gains = {config: [found[config, 1][n]["step_ms"] / found[config, 2][n]["step_ms"] for n in nodes] for config, _ in columns}
    ahead = [found["multigrid", 1][n]["step_ms"] < found["jacobi", 1][n]["step_ms"] for n in nodes]
    show(f"Beside Fig. 15: cores alone, ms a step, {machine}",
         "`benchmarks/heart.py --petsc ... --threads 1,2 --repeat 3`, `benchmarks/heart.py --configs jacobi,multigrid --threads 1,2 --repeat 3`: "
         "the fastest of two to five runs, at raised priority on a machine with other work; threads wait by spinning.",
         ["nodes", *(f"{config}, {t}" for config, t in columns)], rows,
         verdict(min(gains["petsc-bjacobi"]) > max(min(gains["jacobi"]), min(gains["multigrid"])), "PETSc gains "
                 f"{span(gains['petsc-bjacobi'], 1)} from the second process, this program {span(gains['jacobi'] + gains['multigrid'], 1)} from the "
                 "second thread, less on small meshes, where every wait for both meets the machine's other work", "holds"),
         verdict(ahead == [False, False, True, True], "On one core multigrid passes Jacobi between five and 27 thousand nodes", "holds"))
    rows, steps = [], {}
    for dt in (1.0, 0.5, 0.25, 0.1):
        for config in ("jacobi", "multigrid"):
            for line in heart_lines("cpu", config=config, threads=1, dt=dt, time=20 if dt == 1.0 else 6):
                if line["nodes"] > 20000:
                    steps[line["nodes"], dt, config] = line["step_ms"]
                    rows.append([line["nodes"], dt, config, f"{line['cg_iterations'] / line['newton']:.1f}", cell(line["step_ms"])])
    short = [t / steps[n, dt, "jacobi"] for (n, dt, config), t in steps.items() if config == "multigrid" and dt < 0.5]
    show("Where multigrid beats Jacobi: time steps, one core", "`benchmarks/heart.py --threads 1 --dt DT --ms 6`, the first row a size of 20 ms.",
         ["nodes", "dt, ms", "solver", "CG a Newton", "ms a step"], sorted(rows, key=lambda row: (row[0], -row[1])),
         verdict(min(short) > 1, f"Under half a millisecond the mass dominates and Jacobi wins, by {100 * (min(short) - 1):.0f} to "
                 f"{100 * (max(short) - 1):.0f} %", "holds"),
         "In a run with a longer --dt the program takes it for such steps by itself.")


def heart():
    command = "`benchmarks/heart.py`, meshes by `examples/heart/ellipsoid.py`, dt = 1 ms, first 20 ms (10 from 194 thousand nodes on)."
    for what, rows in (heart_shares("petsc-bjacobi", "one core, PETSc's CG with block Jacobi", backend="cpu", threads=1),
                       heart_shares("petsc-bjacobi", "the same on two processes", backend="cpu", threads=2),
                       heart_shares("jacobi", "GPU, Jacobi (the paper's)", profiled=True),
                       heart_shares("chebyshev", "GPU, Chebyshev", profiled=True),
                       heart_shares("multigrid", "GPU, multigrid set up once", profiled=True)):
        show(f"Figs. 2, 3: shares of a step, {what}", command, HEART_PARTS, rows,
             share_verdict(rows, "GPU" in what))
    one, two = ({line["nodes"]: line for line in heart_lines(config="petsc-bjacobi", backend="cpu", threads=t, time=20)} for t in (1, 2))
    host = {t: {line["nodes"]: line for line in heart_lines(config="jacobi", backend="cpu", threads=t, time=5)} for t in (1, 2, 4, 16)}

    def newton_ms(line):
        return line["step_ms"] * line["steps"] / line["newton"]

    configs = ("jacobi-csr", "jacobi-k1", "jacobi-k2", "jacobi-compressed", "jacobi-cusparse", "jacobi", "chebyshev", "multigrid")
    rows = []
    gains, storage = [], {}
    for config in configs:
        for line in heart_lines(config=config, profiled=False, time=20):
            if line["nodes"] in one:
                gains += [newton_ms(one[line["nodes"]]) / newton_ms(line)] if config == "jacobi" else []
                storage[config] = line["step_ms"]
                others = [found.get(line["nodes"]) for found in (one, two, *(host[t] for t in (1, 2, 4, 16)))]
                rows.append([line["nodes"], config, cell(line["step_ms"]), *(cell(c and newton_ms(c) / newton_ms(line), 0) for c in others)])
    plain = [storage[config] for config in configs[:5] if config != "jacobi-compressed"]
    show("Fig. 15: speed-up over PETSc's CG with block Jacobi on one and two processes, and over this program on cores beside the GPU",
         "Times of a Newton step; PETSc: `benchmarks/heart.py --petsc BUILD/benchmarks/bench_heart_petsc --threads 1,2`, on another "
         f"machine ({next(iter(one.values()))['machine']}); "
         "cores: `benchmarks/heart.py --ms 5 --threads 16,4,2,1 --configs jacobi`.",
         ["nodes", "on the GPU", "ms a step", "over PETSc", "on 2", "over 1 core", "2", "4", "16"], sorted(rows, key=lambda row: row[0]),
         verdict(gains == sorted(gains) and min(gains) > 5, f"With Jacobi {span(gains, 0)} over one core with PETSc, growing with the mesh (5 to 12 there)",
                 "agrees in direction"),
         verdict(max(plain) < 1.1 * min(plain) < storage["jacobi-compressed"], f"Under Jacobi CSR, K1, K2 and cuSPARSE differ by "
                 f"{100 * (max(plain) / min(plain) - 1):.1f} % and compressed slices are {100 * (storage['jacobi-compressed'] / min(plain) - 1):.0f} % "
                 "slower than the fastest: the matrix fits into the cache, and a CG iteration is a handful of launches", "holds"))
    heart_cpu()
    rows, power = [], []
    for line in lines.read("heart"):
        base = one.get(line.get("nodes"))
        if line["benchmark"] == "heart" and line.get("beats") and base:
            power.append(newton_ms(base) / newton_ms(line) * WATTS["cpu"] / WATTS["gpu"])
            for what, watts in (("measured", line["watts"]), ("of the data sheet", WATTS["gpu"])):
                rows.append([line["nodes"], line["config"], what, f"{watts:.0f}", cell(line["step_ms"]), cell(1e-3 * watts * line["step_ms"]),
                             cell(newton_ms(base) / newton_ms(line) * WATTS["cpu"] / watts)])
    show("Fig. 16: the same by power", f"`benchmarks/heart.py --energy`, the GPU's counter over three beats; a core at {WATTS['cpu']:.0f} W "
         "(`--watts CPU,GPU` of this command).",
         ["nodes", "on the GPU", "watts", "W", "ms a step", "J a step", "speed-up over PETSc by power"], rows,
         verdict(min(power) > 1, f"By the watts of the data sheets {span(power, 1)} over one core with PETSc (1.0 to 1.6 over four there)",
                 "agrees in direction"))
    products = [line for line in lines.read("heart") if line["benchmark"] == "assembly"]
    rows = [[line["cell"], line["problem"], line["entries"], *(f"{1e3 * line[k]:.3g}" for k in (
        "cells_seconds", "csr_seconds", "update_seconds", "store_seconds"))]
        for line in products]
    show("Section 4: assembly as a product", "`bench_assembly`; ms.",
         ["cell", "problem", "entries", "cell matrices", "values in CSR order", "reordered", "straight into the storage"], rows,
         verdict(all(line["store_seconds"] < 1.02 * (line["csr_seconds"] + line["update_seconds"]) for line in products),
                 "Straight into the storage costs no more than a sum and a reordering, the paper's conclusion"))
    missing("PETSc on four and sixteen cores", "MGPU")
