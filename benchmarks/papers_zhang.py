"""Zhang, Zhang: polynomial PCG and SBELL (2013), see papers.py."""

import lines
import tables_methods
from lines import product
from papers_lines import agrees, cell, over, picture, ratio, recorded, show, span, took, verdict

ZHANG_3 = {"neumann": (1321, 1142, 1024, 932, 862), "least-squares": (898, 690, 564, 477, 413),
           "chebyshev": (1176, 1370, 1356, 1391, 1354)}


def zhang_counts(group, what):
    counted = {(line["family"], line["order"]): line["iterations"] for line in tables_methods.counts(group) if line["way"] == "fp64"}
    jacobi = counted.get(("jacobi", 0))
    if not jacobi:
        return
    rows = [["jacobi", "1938", str(jacobi), f"{100 * (jacobi / 1938 - 1):+.0f} %", ""]]
    for family, paper in ZHANG_3.items():
        ours = [counted.get((family, order)) for order in range(2, 7)]
        both = [(p, o) for p, o in zip(paper, ours) if o]
        if both:
            apart = [100 * (o / p - 1) for p, o in both]
            shares = [abs(p / 1938 - o / jacobi) for p, o in both]
            rows.append([family, " ".join(map(str, paper)), " ".join(str(o or "-") for o in ours),
                         f"{min(apart):+.0f} to {max(apart):+.0f} %", agrees(max(shares) < 0.16)])
    show(f"Table 3: iterations, orders 2 to 6, {what}", "`benchmarks/iterations.py`",
         ["polynomial", "paper", "here", "difference", "share of Jacobi's"], rows,
         verdict(all(a < b for a, b in zip(*([counted[family, m] for m in range(2, 7)] for family in ("least-squares", "neumann")))),
                 "Least squares beats Neumann"),
         "It is not known on which interval their Chebyshev polynomials are.",
         verdict(falls([counted["chebyshev", m] for m in range(2, 7)]) and counted["chebyshev", 6] < counted["least-squares", 6],
                 "Theirs do not gain with the order; these end at lambda / (m + 1)^2, gain and need the fewest", "does not agree"))


def falls(counts):
    return all(a > b for a, b in zip(counts, counts[1:]))


# Tables 4 and 5: seconds on their CPU, orders 2 to 6; Jacobi takes 64.92. Table 5: Jacobi, least squares of order 6
ZHANG_4 = {"neumann": (104.81, 116.17, 129.75, 137.19, 145.42), "least-squares": (68.75, 67.28, 66.31, 65.56, 65.33),
           "chebyshev": (103.75, 158.44, 193.89, 243.17, 273.80)}
ZHANG_5 = {"tri": (666.88, 650.86), "quad": (64.92, 65.33), "tet": (243.11, 327.22), "hex": (43.98, 63.38)}


def solves():
    """Lines of solves, by mesh, backend, format, smoother and precision."""
    return {(line["case"], line["backend"], line["format"], line["smoother"], line["precision"]): line
            for line in lines.read("papers") if line["paper"] == "zhang" and "iterations" in line and line["converged"]}


def zhang_iterations(found):
    jacobi = found["quad", "cuda", "csr", "jacobi", "fp64"]
    rows = [["jacobi", "1938", jacobi["iterations"], f"{100 * (jacobi['iterations'] / 1938 - 1):+.0f} %"]]
    worst, chebyshev = {}, []
    for family, ends in (("neumann", ""), ("least-squares", ""), ("chebyshev", ""), ("chebyshev", ":lower=lanczos")):
        ours = [found["quad", "cuda", "csr", f"{family}:degree={m + 1}{ends}", "fp64"]["iterations"] for m in range(2, 7)]
        apart = [100 * (o / p - 1) for o, p in zip(ours, ZHANG_3[family])]
        worst[family + ends] = max(map(abs, apart))
        chebyshev += [ours] if family == "chebyshev" else []
        rows.append([family + ends, " ".join(map(str, ZHANG_3[family])), " ".join(map(str, ours)),
                     " ".join(f"{a:+.1f}" for a in apart)])
    show("Table 3: iterations, orders 2 to 6, their mesh `quad`, to 1e-7", "`benchmarks/papers.sh BUILD cuda pcg`, clamped on the "
         "left, a load of its own weight: the paper names neither", ["polynomial", "paper", "here", "difference, percent"], rows,
         verdict(worst["least-squares"] < 5, f"With these conditions and the bound by Lanczos least squares is within {worst['least-squares']:.1f} %"),
         verdict(worst["neumann"] > 10, f"Jacobi is {100 * (jacobi['iterations'] / 1938 - 1):.0f} % off, Neumann up to {worst['neumann']:.0f} %",
                 "does not agree"),
         verdict(all(map(falls, chebyshev)), "Their Chebyshev counts grow with the order and ours fall, also with the lower end from Lanczos",
                 "does not agree"))


def zhang_pillar():
    """Table 3 with what the paper leaves open chosen so that Jacobi agrees."""
    found = {line["smoother"]: line["iterations"] for line in lines.read("papers")
             if line["paper"] == "zhang" and line.get("case") == "pillar"}
    rows, worst = [["jacobi", "1938", found["jacobi"], f"{100 * (found['jacobi'] / 1938 - 1):+.1f}"]], {}
    for family, ends in (("least-squares", ""), ("neumann", ":omega=0.75"), ("chebyshev", ":lower=lanczos")):
        ours = [found.get(f"{family}:degree={m + 1}:bound=gershgorin{ends}") for m in range(2, 7)]
        if None in ours:
            continue
        apart = [100 * (o / p - 1) for o, p in zip(ours, ZHANG_3[family])]
        worst[family] = max(map(abs, apart))
        rows.append([family, " ".join(map(str, ZHANG_3[family])), " ".join(map(str, ours)), " ".join(f"{a:+.1f}" for a in apart)])
    show("Table 3 on their mesh, clamped at its lower edge", "`benchmarks/papers.sh BUILD cpu counts`: it stands under its own "
         "weight, and polynomials have the bound by rows, Neumann's with omega = 1 over it",
         ["polynomial", "paper", "here", "difference, percent"], rows,
         "The paper names neither the conditions nor the bound: both, and Neumann's omega, were chosen here so that the counts come near. "
         "Clamped below, Jacobi agrees; the shares of its iterations then fit the bound by rows, a third above the largest eigenvalue, and "
         "not Lanczos's.",
         verdict(abs(found["jacobi"] / 1938 - 1) < 0.02 and max(worst["least-squares"], worst["neumann"]) < 5,
                 f"Least squares is within {worst['least-squares']:.1f} %, Neumann within {worst['neumann']:.1f} %"))
    zhang_intervals()


INTERVALS = {100: ("142800", "47600", "14280", "1428", "142.8"), 400: ("2284000", "761400", "228400", "22840", "2284")}


def zhang_intervals():
    """Whether any interval gives their counts of Chebyshev's polynomials, on a mesh of their size and on a smaller one."""
    paper = [p / 1938 for p in ZHANG_3["chebyshev"]]
    rows, apart = [["paper, 400 x 400", "", *(f"{p:.2f}" for p in paper), ""]], []
    for cells, ratios in INTERVALS.items():
        found = {line["smoother"]: line["iterations"] for line in lines.read("papers") if line.get("case") == f"pillar-{cells}"}
        for ratio_text, times in zip(ratios, (1, 3, 10, 100, 1000)):
            ours = [found[f"chebyshev:degree={m + 1}:bound=gershgorin:ratio={ratio_text}"] / found["jacobi"] for m in range(2, 7)]
            off = max(abs(a - b) for a, b in zip(ours, paper))
            apart += [off] if cells == 400 else []
            rows.append([f"here, {cells} x {cells}", times, *(f"{o:.2f}" for o in ours), cell(off)])
    show("Table 3, Chebyshev on intervals: iterations over Jacobi's", "`benchmarks/papers.sh BUILD cpu intervals`; the upper end by rows",
         ["mesh", "lower end over the least eigenvalue", *map(str, range(2, 7)), "farthest from the paper"], rows,
         "The paper has neither formula nor interval for Chebyshev, its equation (8) is Neumann's. Shares depend on the mesh, so that only "
         "400 x 400 can decide.",
         verdict(min(apart) > 0.1, f"No interval tried there comes nearer than {min(apart):.2f} at its worst order", "not reproduced"))


def zhang_times(found):
    base = found["quad", "cuda", "csr", "jacobi", "fp64"]["solve_seconds"]
    rows, shares = [], {}
    for family, paper in ZHANG_4.items():
        ours = [found["quad", "cuda", "csr", f"{family}:degree={m + 1}", "fp64"]["solve_seconds"] for m in range(2, 7)]
        shares[family] = [t / base for t in ours]
        rows.append([family, " ".join(f"{t / 64.92:.2f}" for t in paper), " ".join(f"{t / base:.2f}" for t in ours),
                     agrees((paper[-1] > paper[0]) == (ours[-1] > ours[0]))])
    show("Table 4: time over Jacobi's, orders 2 to 6, quad, CSR", "the same lines; on a CPU there, on one H200 here",
         ["polynomial", "paper", "here", "trend with the order"], rows,
         f"Jacobi takes {1e3 * base:.0f} ms (64.92 s there).",
         verdict(max(shares["least-squares"]) - min(shares["least-squares"]) < 0.1, "Least squares stays level with the order"),
         verdict(shares["neumann"][-1] > shares["neumann"][0], "Neumann grows"),
         verdict(falls(shares["chebyshev"]), "Chebyshev falls here, as its iterations do", "does not agree"))
    rows, panels, ordered, factors, cycles = [], {}, [], [], []
    for mesh, (jacobi, squares) in ZHANG_5.items():
        line = {(on, f, s, p): found.get((mesh, on, f, s, p)) for on in ("cuda", "cpu") for f in ("csr", "sbell")
                for s in ("jacobi", "least-squares:degree=7") for p in ("fp64", "mixed")}
        took_ms = {key: 1e3 * v["solve_seconds"] if v else None for key, v in line.items()}
        cg = found.get((mesh + "-multigrid", "cuda", "auto", "auto", "fp64"))
        ls = "least-squares:degree=7"
        rows.append([mesh, f"{squares / jacobi:.2f}", cell(over(took_ms["cpu", "csr", ls, "fp64"], took_ms["cpu", "csr", "jacobi", "fp64"])),
                     cell(over(took_ms["cuda", "csr", ls, "fp64"], took_ms["cuda", "csr", "jacobi", "fp64"])),
                     *(cell(took_ms["cuda", f, ls, p], 1) for f in ("csr", "sbell") for p in ("fp64", "mixed")),
                     *(cell(over(took_ms["cpu", "csr", ls, "fp64"], took_ms["cuda", f, ls, p]), 0) for f in ("csr", "sbell")
                       for p in ("fp64", "mixed")), cell(1e3 * cg["solve_seconds"], 1) if cg else ""])
        gpu = {(f, p): took_ms["cuda", f, ls, p] for f in ("csr", "sbell") for p in ("fp64", "mixed")}
        ordered.append(all(gpu["sbell", p] < gpu["csr", p] for p in ("fp64", "mixed")) and
                       all(gpu[f, "mixed"] < gpu[f, "fp64"] for f in ("csr", "sbell")))
        factors += [over(took_ms["cpu", "csr", ls, "fp64"], t) for t in gpu.values() if took_ms["cpu", "csr", ls, "fp64"]]
        cycles.append(1e3 * cg["solve_seconds"] / min(gpu.values()))
        panels[mesh] = {f"{f}, {p}": took_ms["cuda", f, ls, p] for f in ("csr", "sbell") for p in ("fp64", "mixed")}
    show("Table 5 and Figure 10: least squares of order 6", "the same; CPU: 16 cores beside the GPU, CSR in fp64",
         ["mesh", "L-S over Jacobi, paper", "CPU here", "GPU here", "GPU ms: CSR fp64", "CSR mixed", "SBELL fp64", "SBELL mixed",
          "over CPU: CSR fp64 (1.2 to 3.8)", "CSR mixed (1.8 to 4.5)", "SBELL fp64 (5.5 to 6.9)", "SBELL mixed (7.2 to 9.1)",
          "CG + V(1,1) ms"], rows,
         verdict(all(ordered), "SBELL before CSR, mixed before fp64 on every mesh"),
         verdict(min(factors) > 9.1, f"The factors over 16 cores are {span(factors, 0)} (1.2 to 9.1 there)", "agrees in direction"),
         "tri and tet are structured here, and tri has no CPU line.",
         verdict(max(cycles) < 0.5, f"Multigrid on the same matrices, set up from the matrix alone, takes {span(cycles)} of the best polynomial's "
                 "time", "holds"))
    picture("zhang-10", "Zhang Fig. 10: least squares of order 6, ms", panels)


# Tables 1 and 2: unknowns, entries, entries stored by ELLPACK and BELL over them; SELL and SBELL 1.00 everywhere
ZHANG_2 = {"tri": (1060112, 14813544, 1.43), "quad": (321602, 5769604, 1.00), "tet": (624579, 27482265, 1.91),
           "hex": (499125, 38976723, 1.04)}


def zhang_storage():
    found = {line["case"]: line for line in lines.read("storage")}
    rows, most = [], {}
    for name, (unknowns, entries, padded) in ZHANG_2.items():
        line = found[name]
        over_csr = {f: stored / line["entries"] for f, stored in line["stored"].items()}
        most[name] = line["stored"]["ellpack"] / line["rows"]
        rows.append([name, unknowns, line["rows"], entries, line["entries"], f"{padded:.2f}",
                     *(cell(over_csr.get(f), 3) for f in ("ellpack", "bell", "sell", "k1", "sbell"))])
    show("Tables 1 and 2: entries stored over those of CSR", "`cmg bench spmv` of `--dim 2 --cells 400`, `--dim 3 --cells 54` and "
         "meshes of `benchmarks/simplices.py`, `--dirichlet neumann`",
         ["mesh", "unknowns, paper", "here", "entries, paper", "here", "ELLPACK, BELL, paper", "ELLPACK", "BELL", "SELL",
          "SELL, sorted (k1)", "SBELL"], rows,
         verdict(all(found[name]["entries"] == ZHANG_2[name][1] and abs(found[name]["stored"]["ellpack"] / found[name]["entries"] -
                                                                        ZHANG_2[name][2]) < 0.01 for name in ("quad", "hex")),
                 "quad and hex are theirs to the entry, and the padding is within 0.01"),
         verdict(all(abs(found[name]["entries"] / ZHANG_2[name][1] - 1) < 0.03 for name in ("tri", "tet")),
                 "tri and tet are unstructured as theirs and as large within 3 %"),
         verdict(all(line["stored"]["sbell"] < 1.001 * line["entries"] for name, line in found.items() if name in ZHANG_2),
                 "SBELL pads nothing, and neither does SELL where rows are sorted, as theirs must have been"),
         verdict(abs(most["tri"] - 20) > 2 and abs(most["tet"] - 84) > 2, "ELLPACK pads to the node with the most neighbours, which is the mesh's "
                 f"alone: {most['tri']:.0f} and {most['tet']:.0f} entries a row here, 20 and 84 by their ratios", "does not agree"))


def zhang_hexahedra():
    """SBELL beside all others."""
    kinds = ("sbell", "sell", "cusparse-csr", "cusparse-sell", "cusparse-bsr")
    found = {"64": lines.matrices(lines.read("blocks"))["e.cmg"]}
    for name, m in [*recorded("templates").items(), *recorded("blocks").items()]:
        if name.startswith("elastic") and not name.endswith("-64"):  # there sell is of blocks
            found.setdefault(name.rsplit("-", 1)[-1], {"formats": []})["formats"] += m["by"].values()
    rows, factors, sells, vendors, copies, bsr = [], [], [], [], [], []
    for cells, m in sorted(found.items(), key=lambda item: int(item[0])):
        of = {f: product(m, f) for f in kinds}
        base = of["sbell"]["median_seconds"]
        factors.append(min(of[f]["median_seconds"] for f in kinds[1:] if of[f]) / base)
        sells.append(of["sell"]["median_seconds"] / base)
        copies.append(of["sbell"]["share_of_copy"])
        if of["cusparse-csr"]:
            vendors.append(of["cusparse-csr"]["median_seconds"] / base)
        if of["cusparse-bsr"]:
            bsr.append(of["cusparse-bsr"]["median_seconds"] / of["cusparse-csr"]["median_seconds"])
        rows.append([cells + "^3", *(f"{1e6 * of[f]['median_seconds']:.0f}" if of[f] else "" for f in kinds),
                     f"{of['sbell']['gb_per_second']:.0f} ({100 * of['sbell']['share_of_copy']:.0f} %)",
                     *(cell(over(of[f]["median_seconds"], base)) if of[f] else "" for f in ("sell", "cusparse-csr"))])
    show("Figures 8 and 9: SBELL on Q1 hexahedra, elasticity, us", "`benchmarks/papers.sh BUILD cuda templates blocks`",
         ["cells", "SBELL", "SELL", "cuSPARSE CSR", "cuSPARSE SELL", "cuSPARSE BSR", "SBELL, GB/s (of copy)", "over SELL",
          "over cuSPARSE CSR"], rows,
         verdict(1.24 <= min(sells) and max(sells) <= 1.72, f"SBELL is {span(sells)} times as fast as SELL (1.24 to 1.72 there)"),
         verdict(max(vendors) < 1.94, f"Over cuSPARSE's CSR it is {span(vendors)} (1.94 to 5.52 there): cuSPARSE has come nearer", "does not agree"),
         verdict(min(copies) > 0.95, "It moves its bytes at the speed of a copy", "holds"),
         verdict(min(factors) > 1.2, f"It is {span(factors)} times as fast as the fastest of the others", "holds"),
         verdict(min(bsr) > 1, f"cuSPARSE's own blocks take {span(bsr)} times as long as its CSR", "holds"))
    rows, slower = [], []
    for name, m in recorded("blocks").items():
        base = took(m, "compressed", values="fp32")
        slower += [took(m, "compressed", values=v) / base for v in ("fp16", "fp8") if base and took(m, "compressed", values=v)]
        for f in [m["by"].get((f, v, None, None)) for f in ("sbell", "compressed") for v in ("fp32", "fp16", "fp8")]:
            if f:
                rows.append([name.rsplit("-", 1)[-1] + "^3", f["format"], f["values"], f"{1e6 * f['median_seconds']:.0f}",
                             f"{f['bytes'] / 1e6:.0f}", f"{100 * f['share_of_copy']:.0f} %"])
    show("Beside the paper: the same blocks in fewer bits", "the same", ["cells", "format", "values", "us", "MB", "of copy"], rows,
         verdict(min(slower) > 1, f"Blocks of fp16 and fp8 have half and a quarter of the bytes of fp32 and take {span(slower)} times as long: "
                 "unpacking sets the pace", "holds"))


def zhang_ratios(name, m):
    """SBELL beside SELL and cuSPARSE on one of their meshes, and what of it is theirs."""
    sell, vendor = over(took(m, "sell"), took(m, "sbell")), over(took(m, "cusparse-csr"), took(m, "sbell"))
    speed = 100 * over(took(m, "sbell", values="fp32"), took(m, "sbell"))
    quad = name.endswith("quad")
    yield verdict((sell < 1.24) == quad, f"SBELL over SELL {sell:.2f} (1.24 to 1.72 there)", "does not agree" if quad else "agrees")
    yield verdict(vendor < 1.94, f"Over cuSPARSE CSR {vendor:.2f} (1.94 to 5.52 there)", "does not agree")
    yield verdict(51 <= speed <= 75, f"fp64 at {speed:.0f} % of fp32's speed (51 to 75 % there)")


def zhang_pairs(found):
    """Iterations of CG in fp64 and mixed, without a cycle, by what was solved: recorded beside the times of Table 5, and by
    themselves; of equal cases the newest commit's."""
    pairs = {}
    for key, line in found.items():
        if key[3] == "jacobi" or ":degree=" in key[3]:
            pairs.setdefault(" ".join(key[:4]), {})[key[4]] = line
    for line in lines.read("mixed"):
        name = f"{line['cells']} x {line['cells']}, {line['edge']}, to {line['rtol']:g}: {line['smoother']}"
        pairs.setdefault(name, {})["fp64" if line["way"] == "fp64" else "mixed"] = line
    return {name: pair for name, pair in pairs.items() if "fp64" in pair and "mixed" in pair}


def mixed_verdicts(more):
    """Of polynomials and of Jacobi, whose z the algorithm in NumPy rounds as much."""
    polynomials = [m for name, m in more.items() if "jacobi" not in name]
    jacobi = max((m for name, m in more.items() if "jacobi" in name), default=0)
    close = sum(abs(m) <= 0.02 for m in polynomials)
    return (verdict(close >= 0.8 * len(polynomials), f"Polynomials: {close} of {len(polynomials)} cases need fp64's iterations within 2 %, "
                    f"{100 * max(polynomials, default=0):.0f} % more at most"),
            verdict(jacobi > 0.02, f"Jacobi needs up to {100 * jacobi:.0f} % more", "does not agree"))


def zhang_mixed(found):
    pairs = zhang_pairs(found)
    more = {name: pair["mixed"]["iterations"] / pair["fp64"]["iterations"] - 1 for name, pair in pairs.items()}
    show("Algorithm 6 beside fp64: iterations", "`benchmarks/iterations.py --group mixed`, `benchmarks/papers.sh BUILD cuda pcg`",
         ["case", "commit", "fp64", "mixed", "more"],
         [[name, pair["mixed"]["commit"][:7], *(pair[p]["iterations"] for p in ("fp64", "mixed")), f"{100 * more[name]:+.1f} %"]
          for name, pair in pairs.items()], *mixed_verdicts(more))
    ways = {}
    for line in tables_methods.counts("polynomials"):
        ways.setdefault((line["family"], line["order"]), {})[line["way"]] = line["iterations"]
    ways = [w for w in ways.values() if len(w) == 3]
    defect = [w["algorithm 5"] / w["fp64"] for w in ways]
    apart = max(abs(w["algorithm 6"] - w["fp64"]) for w in ways)
    show("Mixed precision on 96 x 96 cells", "`benchmarks/iterations.py`", ["algorithm", "iterations"],
         [["6, preconditioner in fp32", f"{apart} apart at most"], ["5, corrections in fp32", f"{span(defect)} times as many"]],
         verdict(apart <= 1, "On this small case algorithm 6 costs hardly an iteration"),
         verdict(min(defect) > 1.1, "Algorithm 5 costs more, which is why they choose 6"))


def zhang():
    found = solves()
    zhang_pillar()
    zhang_iterations(found)
    zhang_times(found)
    zhang_counts("polynomials", "96 x 96 cells, to 1e-8")
    zhang_mixed(found)
    elastic = {name[:-4]: m for name, m in lines.matrices(lines.read("products")).items() if name.startswith("elasticity")}
    show("Table 2: entries stored over those of CSR", "`benchmarks/gpu.sh BUILD spmv`, distorted meshes",
         ["matrix", "paper ELLPACK, SELL", "ELLPACK", "SELL"],
         [[name, "1.00 to 1.91, 1.00", *(cell(product(m, f)["stored"] / m["entries"]) for f in ("ellpack", "sell"))]
          for name, m in elastic.items()],
         verdict(all(abs(product(elastic["elasticity-q1-3d-64"], f)["stored"] / elastic["elasticity-q1-3d-64"]["entries"] - there) < 0.03
                     for f, there in (("ellpack", 1.04), ("sell", 1.0))), "On Q1 hexahedra 1.04 and 1.00 there"),
         "Rows of Q2 differ more from one to the next than theirs do.")
    zhang_storage()
    for name, m in recorded("zhang").items():
        sizes = (32, 64, 128, 256, 512)
        kinds = [f for f in ("csr", "ellpack", "sell", "bell", "sbell", "cusparse-csr", "cusparse-sell", "cusparse-bsr") if took(m, f)]
        show(f"Figures 6 to 9 on their mesh {name.removeprefix('zhang-')}: us", "`benchmarks/papers.sh BUILD cuda zhang`",
             ["values", *kinds, *(f"SBELL, {n}" for n in sizes)],
             [[values, *(f"{1e6 * took(m, f, values=values):.1f}" for f in kinds),
               *(cell(1e6 * (took(m, "sbell", "warp", n, values) or 0) or None, 1) for n in sizes)] for values in ("fp64", "fp32")],
             *zhang_ratios(name, m))
    zhang_hexahedra()
    sell_over_csr = [ratio(m, "csr", "sell") for m in elastic.values()]
    show("Figure 8: speed over cuSPARSE's CSR", "the same lines", ["matrix", "CSR", "ELLPACK", "SELL"],
         [[name, *(cell(ratio(m, "cusparse-csr", f)) for f in ("csr", "ellpack", "sell"))] for name, m in elastic.items()],
         verdict(min(sell_over_csr) > 1, f"SELL is {span(sell_over_csr)} times as fast as CSR", "agrees in direction"),
         verdict(max(sell_over_csr) < 1.1, "By less than the factors of 1.1 to 4.5 there", "does not agree in size"))
