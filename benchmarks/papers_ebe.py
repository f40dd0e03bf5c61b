"""EbEsym: matrix-free products on GPUs, see papers.py."""

import lines
from papers_lines import cell, missing, over, picture, recorded, show, took, verdict

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
