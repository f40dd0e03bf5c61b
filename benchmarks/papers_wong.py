"""Wong, Kuhl, Darve: ELL-WARP (2015), see papers.py."""

import statistics

import lines
import tables
from lines import product
from papers_lines import cell, missing, over, picture, ratio, recorded, show, span, took, verdict, wong_matrices

# Table 2: name, nonzeros, rows, longest row
WONG_2 = {"scircuit": ("Circuit", 958936, 170998, 353), "mac_econ_fwd500": ("Economics", 1273389, 206500, 44),
          "mc2depi": ("Epidemiology", 2100225, 525825, 4), "cop20k_A": ("FEMAccelerator", 2624331, 121192, 81),
          "cant": ("FEMCantilever", 4007383, 62451, 78), "rma10": ("FEMHarbor", 2374001, 46835, 145),
          "shipsec1": ("FEMShip", 7813404, 140874, 102), "consph": ("FEMSpheres", 6010480, 83334, 81),
          "pdb1HYS": ("Protein", 4344765, 36417, 204), "webbase-1M": ("Webbase", 3105536, 1000005, 4700),
          "pwtk": ("WindTunnel", 11634424, 217918, 180)}


def wong_bandwidth(every):
    formats = ("cusparse-csr", "csr", "k1", "k2", "sell", "compressed")
    rows, own, warp = [], 0, 0
    for name, m in every.items():
        found = {f: product(m, f) for f in formats}
        first = min((f for f in formats if found[f]), key=lambda f: found[f]["median_seconds"])
        own, warp = own + (first != "cusparse-csr"), warp + (first in ("k1", "k2", "sell"))
        rows.append([name, *(f"{found[f]['gb_per_second']:.0f}" if found[f] else "" for f in formats), first])
    show("Figures 12 and 17: effective bandwidth, GB/s, by the traffic model of each format",
         "`benchmarks/gpu.sh BUILD spmv`; look-alikes by `cmg bench spmv`", ["matrix", *formats, "fastest"], rows,
         verdict(warp < 0.6 * len(rows), f"A kernel of the ELL-WARP family is the fastest on {warp} of {len(rows)} (K1, K2 or MGPU on 13 of 15 "
                 "there; the columns of look-alikes are random)", "does not agree"),
         verdict(own > 0.9 * len(rows), f"A kernel of this library is the fastest on {own}", "holds"))


def wong_table_4():
    """Products after which a scatter has paid, over the paper's, and how often it never does."""
    found = {tables.alike(name): {f["format"]: f for f in m["formats"]} for name, m in lines.matrices(lines.read("alpha")).items()}
    factors, never = [], 0
    for name, kept in found.items():
        for k, fmt in enumerate(("k1", "k2")):
            paper, ours = tables.WONG_4[name][1 + 2 * k], kept[fmt]["update_from_device_products"]
            never += ours is None
            if ours is not None and paper != "never":
                factors.append(ours / paper)
    print(f"\n### Table 4: products until reordering has paid\n\n`benchmarks/gpu.sh BUILD alpha statistics=FILE`\n\n{tables.alpha()}\n")
    show("Table 4, summed up", "the same lines", ["what", "here", "paper"],
         [["products that a scatter costs, over the paper's", span(factors, 1), ""], ["of 22 never", never, 1]],
         verdict(max(factors) < 10, "A scatter is still one pass over the values, worth a few products", "agrees in order"),
         verdict(never > 5, f"K1 and K2 never pay on {never} of 22, since cuSPARSE has come nearer", "does not agree"))


def wong_reordering():
    rows, device, host = [], [], []
    for name, m in lines.matrices(lines.read("alpha")).items():
        for f in m["formats"]:
            if f["format"] in ("k1", "k2") and f.get("update_from_device_seconds"):
                device.append(f["update_from_device_seconds"] / f["median_seconds"])
                host.append(f["update_seconds"] / f["median_seconds"])
                rows.append([tables.alike(name), f["format"], f"{device[-1]:.1f}", f"{host[-1]:.0f}"])
    show("Figure 13: reordering over one product", "the same lines", ["matrix", "format", "on the GPU", "from the host"], rows,
         verdict(max(device) < 6 and 10 < statistics.median(host) < 100,
                 f"On the GPU at most {max(device):.1f} products, from the host {statistics.median(host):.0f} in the median"))


# Table 6, percent: padding that sorting saves of all that is stored, and time gained with texture memory
WONG_6 = {"scircuit": (59.89, 21.16), "mc2depi": (0.14, -2.10), "rma10": (33.67, 0.00)}


def wong_sorting(every):
    rows, apart, gains = [], [], []
    for name, m in every.items():
        k1, sell = product(m, "k1"), product(m, "sell")
        if k1 and sell and sell["stored"] > m["entries"]:
            saved = 100 * (sell["stored"] - k1["stored"]) / sell["stored"]
            gains.append(100 * (1 - k1["median_seconds"] / sell["median_seconds"]))
            paper = WONG_6.get(name)
            apart += [saved - paper[0]] if paper else []
            rows.append([name, f"{saved:.1f}", paper[0] if paper else "", f"{gains[-1]:.1f}", paper[1] if paper else ""])
    show("Table 6: what sorting gains (K1 against SELL), percent", "the same lines",
         ["matrix", "stored less, of the unsorted", "paper", "time gained", "paper"], rows,
         verdict(max(apart) > 5, f"Sorting saves {span(apart, 0)} points more than there where the matrix is the same: the look-alikes draw their "
                 "row lengths in random order, where rows of a length lie together", "does not agree"),
         verdict(min(gains) < 0 < max(gains), f"Its effect on time has either sign, {min(gains):.0f} to {max(gains):.0f} % (-2 to 23 there)"))


# Tables 3 and 9: best block size of K1, threshold and block size of K2 for one run; hearts by their meshes
WONG_3 = {"scircuit": (64, 80, 160), "mac_econ_fwd500": (64, 7, 96), "mc2depi": (128, 4, 128), "cop20k_A": (64, 58, 64),
          "cant": (64, 19, 224), "rma10": (96, 128, 96), "shipsec1": (96, 28, 128), "consph": (96, 47, 128),
          "heart-3k": (32, 7, 256), "heart-5k": (64, 10, 192), "heart-30k": (64, 21, 64), "pdb1HYS": (64, 172, 96),
          "webbase-1M": (32, 658, 128), "pwtk": (96, 38, 96)}


def best_of(matrix, name, option):
    """Value of an option with the least time, and the time of the default over it."""
    swept = {value: f["median_seconds"] for (n, _, o, value), f in matrix["by"].items()
             if n == name and o == option and f["median_seconds"]}
    if not swept:
        return None, None
    value = min(swept, key=swept.get)
    return value, over(took(matrix, name), swept[value])


def wong_parameters(swept):
    rows, k1, k2 = [], [], []
    for name, m in swept.items():
        block, gain = best_of(m, "k1", "block")
        warp, _ = best_of(m, "k1", "warp")
        threshold, split = best_of(m, "k2", "threshold")
        block2, _ = best_of(m, "k2", "block")
        k1, k2 = [*k1, gain], [*k2, split]
        paper = WONG_3.get(tables.alike(name))
        rows.append([tables.alike(name), " / ".join(map(str, paper)) if paper else "", block, cell(gain), warp, threshold,
                     cell(split), block2])
    show("Tables 3, 8 and 9: best parameters, products in a row", "`benchmarks/papers.sh BUILD cuda statistics=FILE wong`: `cmg bench "
         "spmv --sweep block,threshold,warp`",
         ["matrix", "paper: K1 block / K2 threshold / K2 block", "K1 block", "chosen over best", "rows a slice", "K2 threshold",
          "chosen over best", "K2 block"], rows,
         "Theirs were found by search; that parameters can be chosen beforehand is the paper's claim.",
         verdict(max(k1) < 1.15, f"The block size chosen a priori (128) costs K1 {span(k1)} times the best"),
         verdict(max(k2) > 1.2, f"The threshold chosen from the row lengths costs K2 {span(k2)} times the best", "does not agree"))


def wong_cold(warm, cold):
    formats = ("cusparse-csr", "cusparse-coo", "hyb", "csr", "k1", "k2")
    rows, panels, firsts, hyb, coo, best_warm = [], {}, 0, [], [], []
    for name, m in cold.items():
        speed = {f: m["entries"] * 12e-9 / took(m, f) for f in formats if took(m, f)}
        slow = {f: m["entries"] * 12e-9 / took(warm[name], f) for f in formats if name in warm and took(warm[name], f)}
        first = max(speed, key=speed.get)
        firsts += first in ("k1", "k2")
        ahead = {f: any(of[f] > of["cusparse-csr"] for of in (speed, slow)) for f in ("hyb", "cusparse-coo")}
        hyb += [tables.alike(name)] if ahead["hyb"] else []
        coo += [tables.alike(name)] if ahead["cusparse-coo"] else []
        best_warm += [tables.alike(name)] if max(slow, key=slow.get) == "hyb" else []
        panels[tables.alike(name)] = {f: 1e6 * took(m, f) for f in speed}
        rows.append([tables.alike(name), *(f"{speed[f]:.0f} ({slow.get(f, 0):.0f})" if f in speed else "" for f in formats), first])
    show("Figure 12: one cold run, and in brackets Figure 17: many runs; GB/s of 12 bytes an entry", "the same with `--cold`: the "
         "second cache is emptied, launch and end are in the time", ["matrix", *formats, "fastest cold"], rows,
         verdict(firsts < 0.6 * len(rows), f"K1 or K2 is the fastest cold on {firsts} of {len(rows)} (13 of 15 there): CSR, shared out by entries, leads "
                 "where rows are long or uneven", "does not agree"),
         verdict(not coo, f"COO falls behind cuSPARSE's CSR, cold and warm, on {len(rows) - len(coo)} of {len(rows)}"),
         verdict(hyb, f"HYB, which falls behind there, beats cuSPARSE's CSR cold or warm on {len(hyb)} of {len(rows)} ({', '.join(hyb)}) and is the "
                 f"fastest of all warm on {', '.join(best_warm) or 'none'}", "does not agree"))
    picture("wong-12", "Wong Fig. 12: one cold product, us", panels)


def wong_coalescing(swept):
    rows, factors = [], []
    for name, m in swept.items():
        row = took(m, "csr", "t", 1)
        if row and took(m, "k1"):
            factors.append(row / took(m, "k1"))
            rows.append([tables.alike(name), f"{1e6 * row:.1f}", f"{1e6 * took(m, 'k1'):.1f}", cell(factors[-1]),
                         cell(over(took(m, "csr", "t", 32), took(m, "k1")))])
    show("Figure 14: row-major over column-major (K1)", "the same: `csr --sweep t`", ["matrix", "CSR, a row a thread, us", "K1, us",
                                                                                      "over K1", "CSR, a row a warp, over K1"], rows,
         verdict(sum(f > 1 for f in factors) < len(factors), f"A thread that walks along its row takes {span(factors)} times K1's time and is slower on "
                 f"{sum(f > 1 for f in factors)} of {len(factors)} (on all there, 1.5 to 10); caches of today have taken most of what coalescing "
                 "gained", "does not agree"))


def wong():
    warm, cold = recorded("wong"), recorded("wong", cold=True)
    alikes, elements = wong_matrices()
    every = {**alikes, **elements}
    shares = {key: m["entries"] / WONG_2[key][1] for key, m in alikes.items() if key in WONG_2}
    show("Table 2: matrices", "`benchmarks/look_alikes.py STATISTICS OUT`: look-alikes, only row lengths are the original's",
         ["matrix", "paper: nonzeros, rows, longest", "look-alike", "share of nonzeros"],
         [[name, f"{nz}, {n}, {longest}", f"{m['entries']}, {m['rows']}, {m['longest_row']}", f"{m['entries'] / nz:.2f}"]
          for key, (name, nz, n, longest) in WONG_2.items() if (m := alikes.get(key))],
         verdict(min(shares.values()) > 0.9, f"They have {span(shares.values())} of the nonzeros", "holds"),
         "Not among them: QCD and the three hearts.")
    wong_bandwidth(every)
    wong_table_4()
    wong_reordering()
    wong_sorting(every)
    pairs = (("k1r", "k1"), ("k2r", "k2"), ("k1rs", "k1r"), ("k2rs", "k2r"))
    renumbered = [ratio(m, "k1r", "k1") for m in elements.values()]
    random = [ratio(m, "k1r", "k1") for m in alikes.values()]
    ascending = [ratio(m, "k1rs", "k1r") for m in every.values()]
    show("Figures 18 to 22: renumbered and ascending columns, time over time", "the same lines",
         ["matrix", *(f"{a} / {b}" for a, b in pairs)],
         [[name, *(cell(ratio(m, a, b)) for a, b in pairs)] for name, m in every.items()],
         verdict(0.8 < min(renumbered) and max(renumbered) < 1.03, f"K1r / K1 is {span(renumbered)} on finite element matrices (0.89 to 0.99 there)"),
         verdict(sum(r > 1 for r in random) > len(random) / 2, f"On look-alikes, whose columns are random, K1r loses on {sum(r > 1 for r in random)} of "
                 f"{len(random)}", "does not agree"),
         verdict(0.88 < min(ascending) and max(ascending) < 1.02, f"K1rs / K1r is {span(ascending)} (0.93 to 0.98 there)"))
    wong_parameters(warm)
    wong_cold(warm, cold)
    wong_coalescing(warm)
    print("\nThe monodomain simulation, Table 1 and Figures 2, 3, 15, 16: `benchmarks/papers.py heart`.")
    missing("MGPU itself (its successor in this library is `csr` on CUDA)", "QCD", *([] if any("heart" in n for n in warm) else [
        "the matrices of the heart's meshes (`benchmarks/papers.sh BUILD cuda hearts`)"]))
