#!/usr/bin/env python3
"""Tables of docs/benchmarks.md from the JSON lines of `cmg bench spmv`.

usage: tables.py auto|alpha FILE...

auto:  what --format auto took, what tune took, and the ratio of their times.
alpha: products of K1 and K2 in place of cuSPARSE's CSR after which a conversion has paid, beside Table 4 of Wong, Kuhl
       and Darve 2015.
"""
import json
import sys

# Table 4 there: name, then GPU and CPU for K1, GPU and CPU for K2; the look-alike's name is the key
PAPER = {
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


def matrices(paths):
    for path in paths:
        with open(path) as file:
            for line in file:
                if line.startswith("{"):
                    yield from json.loads(line).get("matrices", [])


def auto_table(paths):
    print("| matrix | entries | values | auto | tune | auto / tune |")
    print("|---|---|---|---|---|---|")
    ratios = []
    for m in matrices(paths):
        for c in m["auto_and_tune"]:
            ratios.append(c["auto_over_tune"])
            print(f"| {m['matrix']} | {m['entries']} | {c['values']} | {c['auto']} | {c['tune']} "
                  f"| {c['auto_over_tune']:.2f} |")
    if ratios:
        ratios.sort()
        print(f"\n{len(ratios)} cases: median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}, "
              f"over 1.1 in {sum(r > 1.1 for r in ratios)}")


def products(result, way):
    if result[f"{way}_seconds"] is None:
        return "-"
    count = result[f"{way}_products"]
    return "never" if count is None else f"{count:.0f}"


def alpha_table(paths):
    ways = ("update_from_device", "update", "convert_from_device", "convert")
    print("| matrix | paper K1 GPU, CPU | K2 GPU, CPU | " +
          " | ".join(f"{f} {w}" for f in ("K1", "K2") for w in ("scatter", "values", "device", "host")) + " |")
    print("|---" * 11 + "|")
    for m in matrices(paths):
        name = m["matrix"].removeprefix("alike-").removesuffix(".petsc")
        paper = PAPER.get(name, (name, "-", "-", "-", "-"))
        found = {f["format"]: f for f in m["formats"]}
        cells = [products(found[f], way) for f in ("k1", "k2") for way in ways]
        print(f"| {paper[0]} | {paper[1]}, {paper[2]} | {paper[3]}, {paper[4]} | " + " | ".join(cells) + " |")


def main():
    tables = {"auto": auto_table, "alpha": alpha_table}
    if len(sys.argv) < 3 or sys.argv[1] not in tables:
        sys.exit(__doc__)
    tables[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
